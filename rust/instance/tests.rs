// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of instances: their life, one event from writer to reader, and broken rings.

use super::{
    registry,
    Instance, //
};
use crate::{
    actions::dummy as action,
    buffers::{
        consumer::{
            Consumer,
            NextEvent, //
        },
        selftest,
        Bank,
        Buf,
        CpuSel, //
    },
    events::{
        self,
        Event,
        PrintManner,
        Printer, //
    },
    kapi::{
        pages::Image,
        percpu::CpuPin, //
    },
    ring::{
        spoil::SpoiledWord,
        violation::Violation, //
    },
    sources::dummy,
    text::{
        clock::ClockId,
        options::Opt,
        size::SizeKb, //
    },
    tracers::{
        self,
        dummy::DummyTracer, //
    }, //
};
use kernel::{
    prelude::*,
    sync::atomic::Relaxed, //
};

/// Takes all records out of the buffers, which are of `event`, and calls `each` with each and its text.
pub(super) fn consume(
    inst: &Instance,
    event: &Event,
    mut each: impl FnMut(&[u8], &[u8]) -> Result,
) -> Result {
    let mut printer = Printer::new()?;
    for cpu in CpuSel::All.iter() {
        let mut consumer = Consumer::new(cpu);
        while consumer.look(inst.buffers())? {
            while let Some(NextEvent { record, .. }) = consumer.next() {
                assert!(record.starts_with(&event.id().to_le_bytes()));
                let manner = PrintManner::of(inst.options());
                each(&record, printer.text(event, record, manner).ok_or(EINVAL)?)?;
                assert!(consumer.take(inst.buffers()));
            }
        }
    }
    Ok(())
}

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
    fn an_event_of_any_source_is_recorded_and_printed() -> Result {
        let event = events::by_name(dummy::NAMES.0, dummy::NAMES.1).ok_or(ENOENT)?;
        let (inst, other) = (
            registry::create(c"kunit-source")?,
            registry::create(c"kunit-other")?,
        );
        dummy::beat(1);
        inst.enable_event(event)?;
        assert!(inst.event_enabled(event));
        assert_eq!(other.enable_event(event).err(), Some(EBUSY));
        assert!(!other.event_enabled(event));
        dummy::beat(2);
        dummy::beat(3);
        inst.disable_events([event].into_iter())?;
        dummy::beat(4);
        let mut numbers = KVec::new();
        consume(&inst, event, |record, text| {
            let number = record.get(8..).and_then(<[u8]>::first_chunk);
            numbers.push(number.copied().map(u32::from_le_bytes), GFP_KERNEL)?;
            assert_eq!(text, b"a beat");
            Ok(())
        })?;
        // The task may have moved to a CPU that is read earlier.
        numbers.sort_unstable();
        assert_eq!(&numbers[..], [Some(2), Some(3)]);
        let name_of_field = event.field("number", |field| field.offset);
        assert_eq!(name_of_field, Some(8));
        registry::remove(&inst)?;
        registry::remove(&other)
    }

    #[test]
    fn an_action_follows_the_events_of_its_instance_while_its_option_is_on() -> Result {
        let followed = || action::FOLLOWED.load(Relaxed);
        let event = events::by_name(dummy::NAMES.0, dummy::NAMES.1).ok_or(ENOENT)?;
        let inst = registry::create(c"kunit-action")?;
        inst.enable_event(event)?;
        dummy::beat(1);
        inst.set_option(action::OPTION, true)?;
        assert_eq!(followed(), 0);
        dummy::beat(2);
        dummy::beat(3);
        assert_eq!(followed(), 2);
        // Another action comes and goes; this one is not affected.
        inst.set_option(Opt::EventCounts, true)?;
        dummy::beat(4);
        inst.set_option(Opt::EventCounts, false)?;
        dummy::beat(5);
        assert_eq!(followed(), 4);
        assert_eq!(inst.counts_of(event.id()), (1, 0));
        inst.set_tracing_on(false);
        dummy::beat(6);
        inst.set_tracing_on(true);
        inst.set_option(action::OPTION, false)?;
        dummy::beat(7);
        assert_eq!(followed(), 4);
        inst.disable_events([event].into_iter())?;
        registry::remove(&inst)
    }

    #[test]
    fn a_marker_is_read_once_and_keeps_its_text() -> Result {
        let inst = registry::create(c"kunit-marker")?;
        assert_eq!(inst.marker(b"hello", 0x1234)?, 5);
        let mut found = 0;
        for cpu in CpuSel::All.iter() {
            let mut consumer = Consumer::new(cpu);
            while consumer.look(inst.buffers())? {
                while let Some(event) = consumer.next() {
                    let text = event.record.get(16..).ok_or(EINVAL)?;
                    assert!(text.starts_with(b"hello\n\0"));
                    assert!(consumer.take(inst.buffers()));
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
        inst.buffers().resize(CpuSel::All, 64)?;
        assert_eq!(inst.buffers().size(CpuSel::All), SizeKb::Kb(67));
        let entries = || {
            CpuSel::All
                .iter()
                .map(|cpu| inst.stats(cpu).entries)
                .sum::<u64>()
        };
        assert_eq!(entries(), 1);
        assert_eq!(
            inst.buffers().resize(CpuSel::All, u64::MAX).err(),
            Some(ENOMEM)
        );
        assert_eq!(inst.buffers().size(CpuSel::All), SizeKb::Kb(67));
        inst.clear(CpuSel::All)?;
        assert_eq!(entries(), 0);
        registry::remove(&inst)
    }

    #[test]
    fn no_cache_line_has_the_words_of_two_cpus() -> Result {
        let inst = registry::create(c"kunit-lines")?;
        // The tables of the smallest rings are the most likely to share a cache line.
        for kb in [64, 8] {
            inst.buffers().resize(CpuSel::All, kb)?;
            let mut all = KVec::new();
            for cpu in CpuSel::All.iter() {
                let pair = inst.buffers().rings().of(cpu).ok_or(ENODEV)?;
                for bank in Bank::BOTH {
                    all.push((cpu, pair.of(bank)), GFP_KERNEL)?;
                }
            }
            for (cpu, ring) in &all {
                let own = [ring.written(), ring.written_apart()];
                assert!(own.iter().all(|part| !part.meets(ring.shared())));
                for (_, other) in all.iter().filter(|(other, _)| other != cpu) {
                    let others = [other.written(), other.written_apart(), other.shared()];
                    let mut pairs = own.iter().flat_map(|a| others.iter().map(|b| a.meets(*b)));
                    assert!(!pairs.any(|meets| meets));
                }
            }
        }
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

/// Broken rings, from the finding until they are cleared. The log gets the line about a broken ring
/// of an instance whose name begins with `kunit-`, which scripts/splats.sh expects.
#[kunit_tests(rtrace_selftest)]
mod broken {
    use super::*;

    #[test]
    fn rings_in_use_are_whole() -> Result {
        let inst = registry::create(c"kunit-whole")?;
        for size in [64, 8, 128] {
            for _ in 0..20 {
                inst.marker(b"event", 0)?;
            }
            assert_eq!(inst.buffers().selftest(CpuSel::All), 0);
            for cpu in CpuSel::All.iter() {
                inst.buffers()
                    .raw_read(Buf::Live, cpu, &mut Image::none(), usize::MAX)?;
            }
            assert_eq!(inst.buffers().selftest(CpuSel::All), 0);
            inst.buffers().resize(CpuSel::All, size)?;
            inst.marker(b"kept", 0)?;
        }
        inst.set_clock(ClockId::Mono)?;
        assert_eq!(inst.buffers().selftest(CpuSel::All), 0);
        assert!(!selftest::told());
        registry::remove(&inst)
    }

    #[test]
    fn what_the_selftest_finds_disables_tells_once_and_is_mended_by_clear() -> Result {
        let inst = registry::create(c"kunit-found")?;
        inst.marker(b"event", 0)?;
        let cpus = CpuSel::All.iter().count();
        assert_eq!(inst.buffers().selftest(CpuSel::All), 0);
        for cpu in CpuSel::All.iter() {
            inst.buffers().spoil(cpu, SpoiledWord::Overrun, 1)?;
        }
        assert_eq!(inst.buffers().selftest(CpuSel::All), cpus);
        inst.buffers().alarm().wait();
        assert!(selftest::told());
        assert_eq!(inst.buffers().selftest(CpuSel::All), cpus);
        inst.buffers().alarm().wait();
        assert!(!selftest::told());

        assert_eq!(inst.marker(b"event", 0).err(), Some(EBADF));
        let mut refused = 0;
        for cpu in CpuSel::All.iter() {
            let broken = inst.stats(cpu).broken.ok_or(EINVAL)?;
            assert_eq!(broken.violation, Violation::Sum);
            refused += broken.refused;
            let mut line = Find::default();
            inst.stats(cpu).write_text(ClockId::Local, &mut line)?;
            assert!(line.0);
        }
        // One refusal per CPU for the finding, and one for the marker.
        assert_eq!(refused, cpus as u64 + 1);

        inst.clear(CpuSel::All)?;
        assert_eq!(inst.buffers().selftest(CpuSel::All), 0);
        inst.marker(b"event", 0)?;
        for cpu in CpuSel::All.iter() {
            assert_eq!(inst.stats(cpu).broken, None);
            let mut line = Find::default();
            inst.stats(cpu).write_text(ClockId::Local, &mut line)?;
            assert!(!line.0);
        }
        registry::remove(&inst)
    }

    #[test]
    fn what_a_writer_meets_disables_and_tells() -> Result {
        let inst = registry::create(c"kunit-met")?;
        inst.marker(b"event", 0)?;
        let used = CpuSel::All.iter().find(|cpu| inst.stats(*cpu).entries != 0);
        for cpu in CpuSel::All.iter() {
            inst.buffers().spoil(cpu, SpoiledWord::Closing, 1 << 40)?;
        }
        // A writer that leaves a sub-buffer finds the damage: that of the second text of this
        // length. So does that of the first text in an empty ring, because it takes the slow path
        // of commit: the task may have moved to another CPU.
        static LONG: [u8; 3000] = [b'x'; 3000];
        let texts: [&[u8]; 3] = [&LONG, &LONG, b"too late"];
        let (cpu, met) = CpuPin::with(|pin| (pin.cpu(), texts.map(|text| inst.marker(text, 0))));
        let second = match used == Some(cpu) {
            true => Ok(3000),
            false => Err(EBADF),
        };
        assert_eq!(met, [Ok(3000), second, Err(EBADF)]);
        inst.buffers().alarm().wait();
        assert!(selftest::told());
        let broken = |cpu| inst.stats(cpu).broken.is_some();
        assert_eq!(CpuSel::All.iter().filter(|cpu| broken(*cpu)).count(), 1);
        // The other rings are damaged in the same way; a ring that is known to be broken is not
        // examined again.
        let cpus = CpuSel::All.iter().count();
        assert_eq!(inst.buffers().selftest(CpuSel::All), cpus);
        inst.buffers().resize(CpuSel::All, 64)?;
        assert_eq!(inst.buffers().selftest(CpuSel::All), 0);
        inst.marker(b"event", 0)?;
        registry::remove(&inst)
    }

    #[test]
    fn one_tracer_at_a_time_runs_and_none_that_failed() -> Result {
        static WORKS: DummyTracer = DummyTracer::new(false);
        static FAILS: DummyTracer = DummyTracer::new(true);
        let running = || WORKS.running.load(Relaxed);

        let inst = registry::create(c"kunit-tracer")?;
        assert_eq!(inst.tracer_name(), "nop");
        inst.set_tracer(&WORKS)?;
        // Choosing the same tracer again does nothing.
        inst.set_tracer(&WORKS)?;
        assert_eq!((inst.tracer_name(), running()), ("dummy", 1));
        inst.set_tracer(tracers::NOP)?;
        assert_eq!((inst.tracer_name(), running()), ("nop", 0));
        assert_eq!(inst.set_tracer(&FAILS).err(), Some(EIO));
        assert_eq!(inst.tracer_name(), "nop");
        // A tracer stops when its instance is removed.
        inst.set_tracer(&WORKS)?;
        registry::remove(&inst)?;
        assert_eq!(running(), 0);
        Ok(())
    }

    /// Looks for the line about a broken ring in a text that is written in pieces.
    #[derive(Default)]
    struct Find(bool);

    impl core::fmt::Write for Find {
        fn write_str(&mut self, piece: &str) -> core::fmt::Result {
            self.0 |= piece.starts_with("broken: ");
            Ok(())
        }
    }
}
