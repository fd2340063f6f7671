// SPDX-License-Identifier: GPL-2.0

//! KUnit tests: rtrace as a module that defines events and writes them (`include/events.rs`).

use super::{
    tests::consume,
    user::{
        event,
        DefinedEvent,
        EventType,
        Instance as Used, //
    }, //
};
use crate::{
    event::field::COMMON_SIZE,
    events,
    instance::{
        registry,
        Instance, //
    }, //
};
use kernel::prelude::*;

event! {
    /// All kinds of fields.
    Whole = "kunit_direct:whole"(
        byte: u8,
        negative: i16,
        size: usize,
        yes: bool,
        name: [u8; 4],
        bytes: &[u8],
        text: &str,
        c_text: &CStr,
    );
    /// No fields.
    Bare = "kunit_direct:bare"();
    /// The name of another.
    Same = "kunit_direct:bare"(number: u32);
    /// A name that no event can have.
    Wrong = "kunit_direct:a/b"();
    /// A string that is longer than an array can be.
    TooLong = "kunit_direct:too_long"(text: [u8; 1025]);
    /// Of a system that is none.
    Nowhere = "nowhere"();
}

/// Takes all records out of the buffers.
fn records(inst: &Instance) -> Result<KVec<KVec<u8>>> {
    let mut records = KVec::new();
    consume(inst, |record| {
        let mut copy = KVec::new();
        copy.extend_from_slice(record, GFP_KERNEL)?;
        Ok(records.push(copy, GFP_KERNEL)?)
    })?;
    Ok(records)
}

/// Records [`Whole`].
fn write_whole() {
    Whole::record(
        7,
        -2,
        1 << 40,
        true,
        *b"name",
        b"\x01\x02\x03",
        "text",
        c"c",
    );
}

#[kunit_tests(rtrace_direct_events)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_all_fields() -> Result {
        let defined = DefinedEvent::<Whole>::new()?;
        let used = Used::get(c"kunit-whole")?;
        let inst = registry::find(c"kunit-whole")?;
        let event = events::by_name("kunit_direct", "whole").ok_or(ENOENT)?;
        assert_eq!(event.module(), Some("rtrace"));
        // Not enabled.
        assert!(!Whole::place().is_enabled());
        write_whole();
        assert!(records(&inst)?.is_empty());
        used.set_event(c"kunit_direct:whole")?;
        assert!(Whole::place().is_enabled());
        write_whole();
        let records = records(&inst)?;
        assert_eq!(records.len(), 1);
        let record = records.first().ok_or(ENOENT)?;
        let own = record.get(COMMON_SIZE as usize..).ok_or(ENOENT)?;
        // The offsets are from the end of each word.
        const WHOLE: &[u8] = b"\x07\xfe\xff\0\0\0\0\0\x01\0\0\x01name\
            \x08\0\x03\0\x07\0\x05\0\x08\0\x02\0\x01\x02\x03text\0c\0";
        assert_eq!(&own[..WHOLE.len()], WHOLE);
        assert!(own[WHOLE.len()..].iter().all(|byte| *byte == 0));
        used.set_event(c"!kunit_direct:whole")?;
        assert!(!Whole::place().is_enabled());
        drop(defined);
        used.destroy()
    }

    #[test]
    fn an_event_is_gone_when_it_is_undefined() -> Result {
        let defined = DefinedEvent::<Bare>::new()?;
        let used = Used::get(c"kunit-gone")?;
        let inst = registry::find(c"kunit-gone")?;
        used.set_event(c"kunit_direct:bare")?;
        Bare::record();
        drop(defined);
        assert!(!Bare::place().is_enabled());
        assert!(events::by_name("kunit_direct", "bare").is_none());
        assert_eq!(used.set_event(c"kunit_direct:bare").err(), Some(EINVAL));
        Bare::record();
        // Its record stays. It is another event when it comes back.
        let again = DefinedEvent::<Bare>::new()?;
        used.set_event(c"kunit_direct:bare")?;
        Bare::record();
        let records = records(&inst)?;
        assert_eq!(records.len(), 2);
        let id = |index: usize| {
            let record: Option<&KVec<u8>> = records.get(index);
            record.and_then(|record| record.first_chunk::<2>()).copied()
        };
        assert!(id(0) != id(1));
        drop(again);
        used.destroy()
    }

    #[test]
    fn what_is_no_event_is_refused() -> Result {
        let defined = DefinedEvent::<Bare>::new()?;
        assert_eq!(DefinedEvent::<Bare>::new().err(), Some(EBUSY));
        assert_eq!(DefinedEvent::<Same>::new().err(), Some(EEXIST));
        assert_eq!(DefinedEvent::<Wrong>::new().err(), Some(EINVAL));
        assert_eq!(DefinedEvent::<TooLong>::new().err(), Some(EINVAL));
        assert_eq!(DefinedEvent::<Nowhere>::new().err(), Some(EINVAL));
        drop(defined);
        // What was refused has left nothing.
        drop(DefinedEvent::<Same>::new()?);
        drop(DefinedEvent::<Bare>::new()?);
        Ok(())
    }
}
