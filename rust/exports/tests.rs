// SPDX-License-Identifier: GPL-2.0

//! KUnit tests: rtrace as a module that uses what it offers to Rust modules (`include/rtrace.rs`).

use super::{
    check_version,
    instances::set_event,
    user::{
        self,
        print,
        Instance as Used, //
    }, //
};
use crate::{
    buffers::{
        consumer::Consumer,
        CpuSel, //
    },
    event::format,
    events,
    instance::{
        registry,
        Instance, //
    },
    kapi::c,
    sources::dummy,
    text::{
        builtin::marker_text,
        options::Opt, //
    }, //
};
use core::ptr;
use kernel::{
    fmt,
    prelude::*,
    str::CString,
    sync::atomic::{
        Atomic,
        Relaxed, //
    }, //
};

const _: () = assert!(user::API == c::RT_API);

/// Takes all records out of the buffers, and calls `each` with each of them.
pub(super) fn consume(inst: &Instance, mut each: impl FnMut(&[u8]) -> Result) -> Result {
    for cpu in CpuSel::All.iter() {
        let mut consumer = Consumer::new(cpu);
        while consumer.look(inst.buffers())? {
            while let Some(event) = consumer.next() {
                each(&event.record)?;
                assert!(consumer.take(inst.buffers()));
            }
        }
    }
    Ok(())
}

/// Takes all prints out of the buffers.
fn prints(inst: &Instance, mut each: impl FnMut(&[u8])) -> Result {
    consume(inst, |record| {
        assert!(record.starts_with(&format::PRINT.id.to_le_bytes()));
        each(marker_text(record));
        Ok(())
    })
}

/// Prints while it is printed.
struct Nested<'a>(&'a Used, u64, &'a Atomic<u64>);

impl fmt::Display for Nested<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(used, below, printed) = *self;
        if let Some(inner) = below.checked_sub(1) {
            let text = print!(used, "{below}{}", Nested(used, inner, printed));
            printed.fetch_add(u64::from(text > 0), Relaxed);
        }
        f.write_str("-")
    }
}

#[kunit_tests(rtrace_exports)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_kept_until_the_last_user_has_given_it_back() -> Result {
        let first = Used::get(c"kunit-held")?;
        let inst = registry::find(c"kunit-held")?;
        let second = Used::get(c"kunit-held")?;
        assert_eq!(registry::remove(&inst).err(), Some(EBUSY));
        assert_eq!(second.destroy().err(), Some(EBUSY));
        assert!(!inst.is_going());
        first.destroy()?;
        assert!(inst.is_going());
        assert_eq!(registry::find(c"kunit-held").err(), Some(ENOENT));
        // Its name is free, and the new one has nothing of the old.
        let again = Used::get(c"kunit-held")?;
        assert!(!ptr::eq(
            &raw const *registry::find(c"kunit-held")?,
            &raw const *inst
        ));
        again.destroy()
    }

    #[test]
    fn an_instance_that_is_given_back_stays_for_users() -> Result {
        drop(Used::get(c"kunit-left")?);
        let inst = registry::find(c"kunit-left")?;
        registry::remove(&inst)
    }

    #[test]
    fn names_that_no_instance_can_have_are_refused() {
        for name in [c"", c".", c"..", c"a b", c"a/b"] {
            assert_eq!(Used::get(name).err(), Some(EINVAL));
        }
    }

    #[test]
    fn modules_of_another_version_get_no_instance() {
        for api in [0, user::API - 1, user::API + 1, u32::MAX] {
            assert_eq!(check_version("kunit", api).err(), Some(ENOEXEC));
            assert_eq!(Used::get_for(api, c"kunit-other").err(), Some(ENOEXEC));
        }
        assert_eq!(registry::find(c"kunit-other").err(), Some(ENOENT));
    }

    #[test]
    fn events_are_switched_by_name() -> Result {
        let event = events::by_name(dummy::NAMES.0, dummy::NAMES.1).ok_or(ENOENT)?;
        let used = Used::get(c"kunit-switch")?;
        let inst = registry::find(c"kunit-switch")?;
        let none = Some(c"none");
        for (system, name) in [(none, None), (None, none), (none, none)] {
            assert_eq!(used.set_named(system, name, true).err(), Some(EINVAL));
        }
        let name = CString::try_from_fmt(fmt!("{}", dummy::NAMES.1))?;
        used.set_named(None, Some(&name), true)?;
        assert!(inst.event_enabled(event));
        used.set_named(None, Some(&name), false)?;
        assert!(!inst.event_enabled(event));
        let word = CString::try_from_fmt(fmt!("{}:{}", dummy::NAMES.0, dummy::NAMES.1))?;
        used.set_event(&word)?;
        assert!(inst.event_enabled(event));
        let off = CString::try_from_fmt(fmt!("!{}:{}", dummy::NAMES.0, dummy::NAMES.1))?;
        used.set_event(&off)?;
        assert!(!inst.event_enabled(event));
        for word in ["", " ", "none:none", "a b", "!"] {
            assert_eq!(set_event(&inst, word.as_bytes()).err(), Some(EINVAL));
        }
        used.destroy()
    }

    #[test]
    fn prints_inside_each_other_are_recorded_eight_deep() -> Result {
        let used = Used::get(c"kunit-nested")?;
        let inst = registry::find(c"kunit-nested")?;
        for (inside, expected) in [(0, 1), (7, 8), (8, 8), (12, 8), (7, 8)] {
            let printed = Atomic::new(0);
            assert_eq!(print!(used, "{}", Nested(&used, inside, &printed)), 1);
            assert_eq!(printed.load(Relaxed), expected - 1);
            let mut seen = 0u64;
            prints(&inst, |text| {
                assert!(text.ends_with(b"-"));
                seen += 1;
            })?;
            assert_eq!(seen, expected);
        }
        used.destroy()
    }

    #[test]
    fn prints_are_recorded_as_they_are() -> Result {
        const LONGEST: usize = c::RT_PRINT_ROOM as usize - 1;
        let used = Used::get(c"kunit-print")?;
        let inst = registry::find(c"kunit-print")?;
        assert_eq!(print!(used, "{} of {}\n", 1, "two"), 9);
        assert_eq!(print!(used, "no newline"), 10);
        assert_eq!(print!(used, "{:>2000}", 7), LONGEST);
        let mut texts = KVec::new();
        prints(&inst, |text| {
            let mut copy = KVec::new();
            let _ = copy.extend_from_slice(text, GFP_KERNEL);
            let _ = texts.push(copy, GFP_KERNEL);
        })?;
        let has = |wanted: &[u8]| texts.iter().any(|text| text[..] == *wanted);
        assert_eq!(texts.len(), 3);
        assert!(has(b"1 of two\n") && has(b"no newline"));
        assert!(texts.iter().any(|text| text.len() == LONGEST));
        // Neither while recording is off, nor without the option.
        inst.set_tracing_on(false);
        assert_eq!(print!(used, "lost"), 0);
        inst.set_tracing_on(true);
        inst.set_option(Opt::TracePrintk, false)?;
        assert_eq!(print!(used, "lost"), 0);
        inst.set_option(Opt::TracePrintk, true)?;
        assert_eq!(print!(used, "kept"), 4);
        used.destroy()
    }
}
