// SPDX-License-Identifier: GPL-2.0

//! KUnit tests of what comes before what: the turns of instances.

use super::{
    registry,
    Instance, //
};
use crate::hooks::FunctionsFollower;
use core::cell::Cell;
use kernel::{
    prelude::*,
    sync::Arc, //
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
}
