// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of instances: their life, and one event from writer to reader.

use super::{
    registry,
    CpuSel,
    PageCopy, //
};
use crate::{
    ring::cursor::Cursor,
    text::size::SizeKb, //
};
use kernel::prelude::*;

#[kunit_tests(rtrace_instance)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_removal_waits_for_users() -> Result {
        let inst = registry::create(c"kunit-life")?;
        assert_eq!(registry::create(c"kunit-life").err(), Some(EEXIST));
        let user = inst.get()?;
        assert_eq!(registry::remove(&inst).err(), Some(EBUSY));
        drop(user);
        registry::remove(&inst)?;
        assert_eq!(inst.get().err(), Some(ENODEV));
        let again = registry::create(c"kunit-life")?;
        registry::remove(&again)
    }

    #[test]
    fn a_marker_is_read_once_and_keeps_its_text() -> Result {
        let inst = registry::create(c"kunit-marker")?;
        assert_eq!(inst.marker(b"hello", 0x1234)?, 5);
        let mut found = 0;
        for cpu in CpuSel::All.iter() {
            let mut copy = PageCopy::default();
            while inst.peek_next(cpu, &mut copy)? {
                let data = copy.bytes.get(..copy.len).ok_or(EINVAL)?;
                for event in Cursor::at(data, copy.rd, copy.rd_ts) {
                    let event = event.map_err(|_| EINVAL)?;
                    assert!(event
                        .payload
                        .get(16..)
                        .ok_or(EINVAL)?
                        .starts_with(b"hello\n\0"));
                    assert!(inst.consume(cpu, copy.seq, event.next, event.time, 1));
                    found += 1;
                }
            }
            assert_eq!(inst.stats(cpu).entries, 0);
        }
        assert_eq!(found, 1);
        registry::remove(&inst)
    }

    #[test]
    fn a_resize_keeps_what_was_not_read() -> Result {
        let inst = registry::create(c"kunit-resize")?;
        inst.marker(b"kept", 0)?;
        inst.resize(CpuSel::All, 64)?;
        assert_eq!(inst.buffer_kb(CpuSel::All), SizeKb::Kb(67));
        let entries = || {
            CpuSel::All
                .iter()
                .map(|cpu| inst.stats(cpu).entries)
                .sum::<u64>()
        };
        assert_eq!(entries(), 1);
        assert_eq!(inst.resize(CpuSel::All, u64::MAX).err(), Some(ENOMEM));
        assert_eq!(inst.buffer_kb(CpuSel::All), SizeKb::Kb(67));
        inst.clear(CpuSel::All)?;
        assert_eq!(entries(), 0);
        registry::remove(&inst)
    }

    #[test]
    fn nothing_is_recorded_while_tracing_is_off() -> Result {
        let inst = registry::create(c"kunit-off")?;
        inst.set_tracing_on(false);
        assert_eq!(inst.marker(b"lost", 0).err(), Some(EBADF));
        inst.set_tracing_on(true);
        inst.marker(b"seen", 0)?;
        registry::remove(&inst)
    }

    #[test]
    fn one_pipe_per_cpu() -> Result {
        let inst = registry::create(c"kunit-pipe")?;
        let all = inst.pipe_open(CpuSel::All)?;
        assert_eq!(inst.pipe_open(CpuSel::One(0)).err(), Some(EBUSY));
        drop(all);
        let one = inst.pipe_open(CpuSel::One(0))?;
        assert_eq!(inst.pipe_open(CpuSel::All).err(), Some(EBUSY));
        assert_eq!(inst.pipe_open(CpuSel::One(0)).err(), Some(EBUSY));
        drop(one);
        drop(inst.pipe_open(CpuSel::All)?);
        registry::remove(&inst)
    }
}
