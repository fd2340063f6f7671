// SPDX-License-Identifier: GPL-2.0
//! How often the loops of a writer may turn.
//!
//! rust/ring/writer.rs states these bounds and why they hold. Every reservation, commit and discard
//! of every schedule is held to them.

use crate::sim::Ops;
use crate::trail::schedule;

/// The largest numbers of an exploration: own operations of one call, and turns of its loops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Most {
    /// Operations of `reserve`.
    pub reserve: u32,
    /// The same, of those during which no other actor came.
    pub reserve_alone: u32,
    /// Operations of a commit or a discard.
    pub commit: u32,
    /// The same, of those during which no other actor came.
    pub commit_alone: u32,
    /// Turns of `place`.
    pub place: u32,
    /// Turns of `cross`, all its calls in one reservation together.
    pub cross: u32,
    /// Turns of `publish`.
    pub publish: u32,
}

impl Most {
    /// The larger of each.
    pub fn max(self, other: Self) -> Self {
        Most {
            reserve: self.reserve.max(other.reserve),
            reserve_alone: self.reserve_alone.max(other.reserve_alone),
            commit: self.commit.max(other.commit),
            commit_alone: self.commit_alone.max(other.commit_alone),
            place: self.place.max(other.place),
            cross: self.cross.max(other.cross),
            publish: self.publish.max(other.publish),
        }
    }
}

/// A moment, or what was done between two.
pub struct Mark {
    /// Own operations.
    pub ops: Ops,
    /// Writers that began.
    pub began: u32,
    /// Times that a reader changed a slot.
    pub changes: u32,
}

impl Mark {
    /// What was done from `start` to this moment.
    pub fn since(&self, start: &Mark) -> Mark {
        let (now, then) = (&self.ops, &start.ops);
        Mark {
            ops: Ops {
                steps: now.steps.wrapping_sub(then.steps),
                looks: now.looks.wrapping_sub(then.looks),
                zeros: now.zeros.wrapping_sub(then.zeros),
                acquires: now.acquires.wrapping_sub(then.acquires),
                failed: now.failed.wrapping_sub(then.failed),
                changed: now.changed.wrapping_sub(then.changed),
            },
            began: self.began.wrapping_sub(start.began),
            changes: self.changes.wrapping_sub(start.changes),
        }
    }

    /// Checks the operations of a reservation that read the clock `turns` times.
    pub fn reserve(&self, turns: u32, refused: bool) -> Most {
        let (nested, changes) = (self.began, self.changes);
        // The fast path, one turn, and another one for each writer that came in between; none
        // because of a reader.
        assert!(
            turns <= 2 + nested,
            "{turns} turns, {nested} nested in {}",
            schedule()
        );
        // A turn of `cross` has one acquiring load, and so has the look whether recording is off.
        let cross = self.ops.acquires - 1;
        assert!(
            cross <= turns * 2 && cross <= turns + changes,
            "{cross} turns of cross, {changes} changes by readers in {}",
            schedule()
        );
        self.close();
        let publish = match refused {
            // Loads of the position to reserve.
            true => self.publish(turns + 1),
            false => 0,
        };
        Most {
            reserve: self.ops.steps,
            reserve_alone: self.steps_alone(),
            place: turns,
            cross,
            publish,
            ..Most::default()
        }
    }

    /// Checks the operations of a commit or a discard.
    pub fn commit(&self, discard: bool) -> Most {
        self.close();
        // Each sub-buffer is closed at the second try.
        assert!(
            self.ops.failed <= self.ops.changed,
            "{} tries failed, {} sub-buffers closed in {}",
            self.ops.failed,
            self.ops.changed,
            schedule()
        );
        Most {
            commit: self.ops.steps,
            commit_alone: self.steps_alone(),
            // A discard loads the position to give back, and once more if that was declined.
            publish: self.publish(2 * u32::from(discard)),
            ..Most::default()
        }
    }

    fn steps_alone(&self) -> u32 {
        match (self.began, self.changes) {
            (0, 0) => self.ops.steps,
            _ => 0,
        }
    }

    /// A change of a slot fails only because another actor changed it meanwhile.
    fn close(&self) {
        assert!(
            self.ops.failed <= self.began + self.changes,
            "{} changes of slots failed, {} nested, {} changes by readers in {}",
            self.ops.failed,
            self.began,
            self.changes,
            schedule()
        );
    }

    /// Turns of `publish`: each loads the position twice, and once more if it empties `nest`.
    /// `others` loads of the position were neither its own nor those of the fast path, which loads
    /// it once, or twice if it empties `nest`.
    fn publish(&self, others: u32) -> u32 {
        let own = self.ops.looks.saturating_sub(others + self.ops.zeros + 1);
        let publish = own / 2;
        assert!(
            publish <= 1 + self.began,
            "{publish} turns of publish, {} nested in {}",
            self.began,
            schedule()
        );
        publish
    }
}
