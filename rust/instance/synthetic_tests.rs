// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of synthetic events: what is written is recorded in each instance that wants it.

use super::{
    registry,
    tests::consume,
    Instance, //
};
use crate::{
    events::{
        self,
        Event, //
    },
    kapi::{
        nesting::NestedWriter,
        percpu::CpuPin, //
    },
    sources::synthetic::{
        self,
        LineRefusal, //
        SyntheticRef,
    },
    synthetic::{
        command::SYSTEM,
        record::SyntheticValue, //
    },
    text::options::Opt, //
};
use kernel::prelude::*;

/// Obeys a line that is right.
fn obey(line: &str) -> Result {
    synthetic::obey(line.as_bytes()).map_err(|wrong| match wrong {
        LineRefusal::Error(error) => error,
        LineRefusal::Refused(_) => EINVAL,
        LineRefusal::Exists(_) => EEXIST,
    })
}

/// Takes all records of `event` out of the buffers, and returns their texts, a line each.
fn consumed(inst: &Instance, event: &Event) -> Result<KVec<u8>> {
    let mut texts = KVec::new();
    consume(inst, event, |_, text| {
        texts.extend_from_slice(text, GFP_KERNEL)?;
        texts.push(b'\n', GFP_KERNEL)?;
        Ok(())
    })?;
    Ok(texts)
}

#[kunit_tests(rtrace_synthetic)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_recorded_wherever_it_is_enabled() -> Result {
        obey("kunit_syn s64 n; char fix[8]; char dyn[]; s8 small; gfp_t gf")?;
        let event = events::by_name(SYSTEM, "kunit_syn").ok_or(ENOENT)?;
        let (one, two, none) = (
            registry::create(c"kunit-syn-1")?,
            registry::create(c"kunit-syn-2")?,
            registry::create(c"kunit-syn-3")?,
        );
        one.enable_event(event)?;
        two.enable_event(event)?;
        two.set_filter(event, b"n > 0 && dyn == \"dynamic\"")?;
        let written = SyntheticRef::find(b"kunit_syn").ok_or(ENOENT)?;
        let write = |pin: &CpuPin, n: i64| {
            let values = [
                SyntheticValue::Number(n as u64),
                SyntheticValue::Text(b"fixed\0rest"),
                SyntheticValue::Text(b"dynamic"),
                SyntheticValue::Number(0x1fb),
                SyntheticValue::Number(0x400cc0),
            ];
            written.write(pin, &values);
        };
        CpuPin::with(|pin| {
            write(pin, -7);
            write(pin, 7);
        });
        let texts = (
            consumed(&one, event)?,
            consumed(&two, event)?,
            consumed(&none, event)?,
        );
        let lines = texts.0.split(|byte| *byte == b'\n');
        assert_eq!(lines.filter(|line| !line.is_empty()).count(), 2);
        assert!(texts
            .0
            .starts_with(b"n=-7 fix=fixed dyn=dynamic small=-5 gf=400cc0 ("));
        assert!(texts
            .1
            .starts_with(b"n=7 fix=fixed dyn=dynamic small=-5 gf=400cc0 ("));
        assert!(texts.2.is_empty());

        // As long as it is enabled or referred to it stays.
        one.disable_events([event].into_iter())?;
        assert_eq!(obey("!kunit_syn").err(), Some(EBUSY));
        two.disable_events([event].into_iter())?;
        assert_eq!(obey("!kunit_syn").err(), Some(EBUSY));
        drop(written);
        obey("!kunit_syn")?;
        assert_eq!(obey("!kunit_syn").err(), Some(ENOENT));
        assert!(SyntheticRef::find(b"kunit_syn").is_none());
        registry::remove(&one)?;
        registry::remove(&two)?;
        registry::remove(&none)
    }

    #[test]
    fn too_many_inside_each_other_are_counted() -> Result {
        obey("kunit_deep u64 n")?;
        let event = events::by_name(SYSTEM, "kunit_deep").ok_or(ENOENT)?;
        let inst = registry::create(c"kunit-syn-deep")?;
        inst.set_option(Opt::EventCounts, true)?;
        inst.enable_event(event)?;
        let written = SyntheticRef::find(b"kunit_deep").ok_or(ENOENT)?;
        let write = |pin: &CpuPin| written.write(pin, &[SyntheticValue::Number(1)]);
        CpuPin::with(|pin| {
            let others = [(); 3].map(|()| NestedWriter::enter(pin));
            assert!(others.iter().all(Option::is_some));
            write(pin);
            let last = NestedWriter::enter(pin);
            assert!(last.is_some() && NestedWriter::enter(pin).is_none());
            write(pin);
            drop((others, last));
            write(pin);
        });
        assert_eq!(inst.counts_of(event.id()), (2, 1));
        assert_eq!(&consumed(&inst, event)?[..], b"n=1\nn=1\n");
        registry::remove(&inst)?;
        drop(written);
        obey("!kunit_deep")
    }
}
