// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of what comes before what: the turns of instances, and names of tasks before what records.

use super::{
    registry,
    Instance, //
};
use crate::{
    events,
    hooks::FunctionsFollower,
    sources::dummy,
    tasks::names,
    tracers::{
        self,
        dummy::DummyTracer, //
    }, //
};
use core::cell::Cell;
use kernel::{
    prelude::*,
    sync::{
        atomic::Relaxed,
        Arc, //
    }, //
};

/// Returns whether `follower` is `inst`.
fn is_same(follower: &dyn FunctionsFollower, inst: &Arc<Instance>) -> bool {
    core::ptr::addr_eq(follower, Arc::as_ptr(inst))
}

#[kunit_tests(rtrace_order)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_that_goes_takes_no_other_s_turn() -> Result {
        let goes = registry::create(c"kunit-goes")?;
        let stays = registry::create(c"kunit-stays")?;
        let (removed, turns) = (Cell::new(None), Cell::new(0));
        registry::for_each_follower(&|follower| {
            if is_same(follower, &goes) {
                removed.set(Some(registry::remove(&goes)));
            }
            if is_same(follower, &stays) {
                turns.set(turns.get() + 1);
            }
        });
        assert_eq!((removed.get(), turns.get()), (Some(Ok(())), 1));
        registry::remove(&stays)
    }

    #[test]
    fn names_are_remembered_from_before_an_event_until_after_it() -> Result {
        let event = events::by_name(dummy::NAMES.0, dummy::NAMES.1).ok_or(ENOENT)?;
        let inst = registry::create(c"kunit-names")?;
        assert!(!names::are_remembered());
        inst.enable_event(event)?;
        assert!(dummy::NAMED.load(Relaxed) && names::are_remembered());
        // An event that is on stays one.
        inst.enable_event(event)?;
        // One that cannot be enabled is none.
        let other = registry::create(c"kunit-other")?;
        assert_eq!(other.enable_event(event).err(), Some(EBUSY));
        inst.disable_events([event].into_iter())?;
        assert!(!names::are_remembered());
        registry::remove(&inst)?;
        registry::remove(&other)
    }

    #[test]
    fn names_are_remembered_from_before_a_tracer_until_after_it() -> Result {
        static WORKS: DummyTracer = DummyTracer::new(false);
        static FAILS: DummyTracer = DummyTracer::new(true);
        let inst = registry::create(c"kunit-tracer")?;
        for tracer in [&WORKS, &FAILS] {
            assert!(!names::are_remembered());
            let started = inst.set_tracer(tracer).is_ok();
            assert!(tracer.named.load(Relaxed));
            assert_eq!(names::are_remembered(), started);
            inst.set_tracer(tracers::NOP)?;
        }
        assert!(!names::are_remembered());
        registry::remove(&inst)
    }
}
