// SPDX-License-Identifier: GPL-2.0

//! The tracers `wakeup`, `wakeup_rt` and `wakeup_dl`: which task they follow from its wake-up until it runs, which
//! latencies count, and their two records as bytes and as text.
//!
//! Priorities are those of the scheduler: the smaller, the more urgent; below 0 tasks have deadlines, below 100 they
//! are of real time.

use super::int;
use crate::text::{
    form,
    rest::RecordRest,
    writer::ByteWrite, //
};
use core::fmt;

/// Bytes of a record.
pub(crate) const RECORD: usize = 24;

/// Bytes of a record of a function.
pub(crate) const FUNCTION: usize = 24;

/// Bytes of the two records of a call.
pub(crate) const CALL_ENTRY: usize = 24;
pub(crate) const CALL_EXIT: usize = 40;

/// The least priority of tasks that are not of real time.
const FIRST_NORMAL: i32 = 100;

/// The priority of a followed task while there is none: every task is more urgent.
pub(crate) const NO_PRIORITY: i32 = i32::MAX;

/// Which tasks a tracer follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum WakeupClass {
    /// All.
    Any = 0,
    /// Those of real time, and those with deadlines.
    RealTime = 1,
    /// Those with deadlines.
    Deadline = 2,
}

impl WakeupClass {
    /// Returns the class whose number this is.
    pub(crate) fn of_number(number: u32) -> Self {
        match number {
            0 => WakeupClass::Any,
            1 => WakeupClass::RealTime,
            _ => WakeupClass::Deadline,
        }
    }

    /// Returns whether tasks of this priority are followed.
    fn admits(self, priority: i32) -> bool {
        match self {
            WakeupClass::Any => true,
            WakeupClass::RealTime => priority < FIRST_NORMAL,
            WakeupClass::Deadline => has_deadline(priority),
        }
    }

    /// Returns whether a task of the priority `woken` is followed, when one of `followed` already is and one of
    /// `running` wakes it up. A task with a deadline always is, and is followed to its end.
    #[inline(always)]
    pub(crate) fn begins(self, followed: i32, woken: i32, running: i32) -> bool {
        if has_deadline(followed) || !self.admits(woken) {
            return false;
        }
        has_deadline(woken) || (woken < followed && woken < running)
    }
}

/// Returns whether tasks of this priority have deadlines.
fn has_deadline(priority: i32) -> bool {
    priority < 0
}

/// A task that was woken up and does not run yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FollowedTask {
    /// Tells it from all tasks that there are.
    pub(crate) task: u64,
    pub(crate) priority: i32,
    /// When it was woken up, in nanoseconds.
    pub(crate) since: u64,
    /// The CPU that it was to run on then.
    pub(crate) cpu: u32,
}

/// What became of the task that a tracer follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowedChange {
    /// Nothing: it is another one, if there is one.
    Nothing,
    /// It is followed no more.
    Ends,
    /// Nor is this one, which begins to run.
    Runs(FollowedTask),
}

/// The task that a tracer follows, if there is one.
#[derive(Debug, Default)]
pub(crate) struct WakeupFollower {
    followed: Option<FollowedTask>,
}

impl WakeupFollower {
    /// Returns one that follows no task.
    pub(crate) const fn new() -> Self {
        Self { followed: None }
    }

    /// Follows no task any more.
    pub(crate) fn forget(&mut self) {
        self.followed = None;
    }

    /// Returns whether a task is followed.
    pub(crate) fn is_following(&self) -> bool {
        self.followed.is_some()
    }

    /// Returns the task that is followed, and its priority; 0 and [`NO_PRIORITY`] without one.
    pub(crate) fn present(&self) -> (u64, i32) {
        self.followed
            .map_or((0, NO_PRIORITY), |of| (of.task, of.priority))
    }

    /// Learns that a task of the priority `running` has woken up `woken`. Returns whether that is followed from now
    /// on; what was followed before is not any more.
    pub(crate) fn woken(&mut self, class: WakeupClass, woken: FollowedTask, running: i32) -> bool {
        let (_, priority) = self.present();
        let begins = class.begins(priority, woken.priority, running);
        if begins {
            self.followed = Some(woken);
        }
        begins
    }

    /// Learns that a CPU goes from the task `prev` to `next`. Returns what became of the followed task.
    ///
    /// A task that is woken up while it still runs is not waiting for a CPU: it is followed until it leaves its CPU,
    /// and has no latency.
    pub(crate) fn switched(&mut self, prev: u64, next: u64) -> FollowedChange {
        match self.followed {
            Some(followed) if followed.task == next => {
                self.forget();
                FollowedChange::Runs(followed)
            }
            Some(followed) if followed.task == prev => {
                self.forget();
                FollowedChange::Ends
            }
            _ => FollowedChange::Nothing,
        }
    }

    /// Learns that the task is gone. Returns what became of the followed one.
    pub(crate) fn freed(&mut self, task: u64) -> FollowedChange {
        match self.followed {
            Some(followed) if followed.task == task => {
                self.forget();
                FollowedChange::Ends
            }
            _ => FollowedChange::Nothing,
        }
    }
}

/// Returns whether a latency counts: with a threshold each that reaches it, else one that is longer than the
/// longest. All in nanoseconds.
pub(crate) fn counts(latency: u64, threshold: u64, longest: u64) -> bool {
    match threshold {
        0 => latency > longest,
        threshold => latency >= threshold,
    }
}

/// A task in a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskWords {
    pub(crate) pid: u32,
    pub(crate) priority: i32,
    /// The number of its state.
    pub(crate) state: u32,
}

/// A record: a task woke up another one, or a CPU went from one task to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WakeupRecord {
    pub(crate) prev: TaskWords,
    pub(crate) next: TaskWords,
    /// The CPU of `next`.
    pub(crate) cpu: u32,
}

impl WakeupRecord {
    /// Fills a record after its common fields, which take eight bytes.
    pub(crate) fn fill(&self, rest: &mut [u8]) {
        let (prev, next) = (self.prev, self.next);
        RecordRest::of(rest)
            .int(prev.pid)
            .int(next.pid)
            .int(self.cpu)
            .byte(prev.priority as u8)
            .byte(prev.state as u8)
            .byte(next.priority as u8)
            .byte(next.state as u8);
    }
}

/// Fills a record of a function after its common fields: the innermost of `callers`, and its caller.
pub(crate) fn fill_function(rest: &mut [u8], callers: &[u64]) {
    RecordRest::of(rest).longs(callers.iter().copied().chain([0, 0]).take(2));
}

/// Fills the record of the entry of a call of `function`, at the depth 0, after its common fields.
pub(crate) fn fill_call_entry(rest: &mut [u8], function: u64) {
    RecordRest::of(rest).longs([function, 0]);
}

/// Fills the record of its exit: it began and ended at `now`.
pub(crate) fn fill_call_exit(rest: &mut [u8], function: u64, now: u64) {
    RecordRest::of(rest).longs([function, 0, now, now]);
}

/// A record as a reader finds it.
struct SeenWakeup {
    prev_pid: u32,
    next_pid: u32,
    cpu: u32,
    prev_priority: u8,
    prev_state: u8,
    next_priority: u8,
    next_state: u8,
}

impl SeenWakeup {
    fn of(record: &[u8]) -> Self {
        let [prev_priority, prev_state, next_priority, next_state] = int(record, 20).to_ne_bytes();
        Self {
            prev_pid: int(record, 8),
            next_pid: int(record, 12),
            cpu: int(record, 16),
            prev_priority,
            prev_state,
            next_priority,
            next_state,
        }
    }
}

/// The letters of states, by number.
const STATES: [char; 9] = ['R', 'S', 'D', 'T', 't', 'X', 'Z', 'P', 'I'];

fn letter(state: u8) -> char {
    STATES.get(usize::from(state)).copied().unwrap_or('?')
}

/// Which of the two records it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeupStep {
    /// A task was woken up.
    Woken,
    /// It runs.
    Runs,
}

impl WakeupStep {
    /// Returns what is between the two tasks in the text.
    fn mark(self) -> &'static str {
        match self {
            WakeupStep::Woken => "  +",
            WakeupStep::Runs => "==>",
        }
    }

    /// Returns what stands for the state of the first task where there is one letter.
    fn state(self, seen: &SeenWakeup) -> char {
        match self {
            WakeupStep::Woken => '+',
            WakeupStep::Runs => letter(seen.prev_state),
        }
    }
}

/// Returns the number of the second task of a record.
pub(crate) fn next_pid(record: &[u8]) -> i32 {
    int(record, 12) as i32
}

/// Writes the text of a record whose second task has the name `comm`.
pub(crate) fn write_text(
    step: WakeupStep,
    record: &[u8],
    comm: &[u8],
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    let seen = SeenWakeup::of(record);
    write!(
        out,
        " {:7}:{:3}:{} {} [{:03}] {:7}:{:3}:{} ",
        seen.prev_pid as i32,
        seen.prev_priority,
        letter(seen.prev_state),
        step.mark(),
        seen.cpu as i32,
        seen.next_pid as i32,
        seen.next_priority,
        letter(seen.next_state),
    )?;
    out.write_bytes(comm)?;
    out.write_char('\n')
}

/// Writes a record under the option `raw`.
pub(crate) fn write_raw(step: WakeupStep, record: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    let seen = SeenWakeup::of(record);
    writeln!(
        out,
        "{} {} {} {} {} {} {}",
        seen.prev_pid as i32,
        seen.prev_priority,
        step.state(&seen),
        seen.cpu as i32,
        seen.next_pid as i32,
        seen.next_priority,
        letter(seen.next_state),
    )
}

/// Writes a record under the option `hex`.
pub(crate) fn write_hex(step: WakeupStep, record: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    let seen = SeenWakeup::of(record);
    form::write_hex(&seen.prev_pid.to_ne_bytes(), out)?;
    form::write_hex(&[seen.prev_priority], out)?;
    form::write_hex(&[step.state(&seen) as u8], out)?;
    form::write_hex(&seen.cpu.to_ne_bytes(), out)?;
    form::write_hex(&seen.next_pid.to_ne_bytes(), out)?;
    form::write_hex(&[seen.next_priority], out)?;
    form::write_hex(&u32::from(letter(seen.next_state)).to_ne_bytes(), out)
}

/// Writes a record under the option `bin`.
pub(crate) fn write_bin(record: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    let seen = SeenWakeup::of(record);
    out.write_bytes(&seen.prev_pid.to_ne_bytes())?;
    out.write_bytes(&[seen.prev_priority, seen.prev_state])?;
    out.write_bytes(&seen.cpu.to_ne_bytes())?;
    out.write_bytes(&seen.next_pid.to_ne_bytes())?;
    out.write_bytes(&[seen.next_priority, seen.next_state])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::writer::Bytes;

    fn woken(task: u64, priority: i32) -> FollowedTask {
        FollowedTask {
            task,
            priority,
            since: task * 100,
            cpu: 1,
        }
    }

    /// Returns the tasks that are followed in turn when tasks of these priorities are woken up, each by one of the
    /// priority beside it.
    fn followed(class: WakeupClass, rows: &[(i32, i32)]) -> Vec<u64> {
        let mut follower = WakeupFollower::new();
        let mut all = Vec::new();
        for (task, (priority, running)) in (1..).zip(rows) {
            if follower.woken(class, woken(task, *priority), *running) {
                all.push(task);
            }
        }
        all
    }

    #[test]
    fn each_class_follows_its_own() {
        let rows = [(119, 120), (50, 120), (-1, 120)];
        assert_eq!(followed(WakeupClass::Any, &rows), [1, 2, 3]);
        assert_eq!(followed(WakeupClass::RealTime, &rows), [2, 3]);
        assert_eq!(followed(WakeupClass::Deadline, &rows), [3]);
        for class in [
            WakeupClass::Any,
            WakeupClass::RealTime,
            WakeupClass::Deadline,
        ] {
            assert_eq!(WakeupClass::of_number(class as u32), class);
        }
        assert!(WakeupClass::RealTime.admits(99));
        assert!(!WakeupClass::RealTime.admits(100));
    }

    #[test]
    fn the_more_urgent_one_is_followed() {
        let any = |rows: &[(i32, i32)]| followed(WakeupClass::Any, rows);
        assert_eq!(any(&[(120, 120)]), [], "as urgent as the one that runs");
        assert_eq!(any(&[(50, 40)]), [], "less urgent than that");
        assert_eq!(any(&[(60, 120), (60, 120)]), [1], "as urgent as followed");
        assert_eq!(any(&[(60, 120), (70, 120)]), [1], "less urgent");
        assert_eq!(any(&[(60, 120), (59, 120)]), [1, 2], "more urgent");
        assert_eq!(
            any(&[(60, 120), (59, 59)]),
            [1],
            "the running one is as well"
        );
        assert_eq!(any(&[(-1, -1)]), [1], "deadlines are always followed");
        assert_eq!(any(&[(-1, 120), (-1, 120), (0, 120)]), [1], "to the end");
        assert_eq!(any(&[(0, 120), (-1, 0)]), [1, 2], "before all others");
    }

    #[test]
    fn a_task_is_followed_until_it_runs() {
        let mut follower = WakeupFollower::new();
        assert_eq!(follower.present(), (0, NO_PRIORITY));
        assert!(follower.woken(WakeupClass::Any, woken(7, 50), 120));
        assert_eq!(follower.present(), (7, 50));
        assert_eq!(follower.switched(1, 2), FollowedChange::Nothing);
        assert!(follower.is_following());
        assert_eq!(follower.switched(1, 7), FollowedChange::Runs(woken(7, 50)));
        assert!(!follower.is_following());
        assert_eq!(follower.switched(1, 7), FollowedChange::Nothing, "once");
        assert!(follower.woken(WakeupClass::Any, woken(8, 99), 120));
        assert_eq!(follower.freed(7), FollowedChange::Nothing);
        assert!(follower.is_following());
        assert_eq!(follower.freed(8), FollowedChange::Ends);
        assert!(!follower.is_following());
    }

    /// What has seen that a task is followed comes too late: another one is by then, of which it says nothing.
    #[test]
    fn the_one_before_changes_nothing() {
        let mut follower = WakeupFollower::new();
        assert!(follower.woken(WakeupClass::Any, woken(7, 50), 120));
        assert!(follower.woken(WakeupClass::Any, woken(8, 40), 120));
        for change in [
            follower.switched(1, 7),
            follower.switched(7, 1),
            follower.freed(7),
        ] {
            assert_eq!(change, FollowedChange::Nothing);
        }
        assert_eq!(follower.present(), (8, 40));
    }

    /// The two records of a call, which the printer of calls joins to one line.
    #[test]
    fn a_call_that_took_no_time() {
        use crate::text::graph::{is_leaf, CallExit, ENTRY_ID, EXIT_ID};
        let head = |id: u16| [&id.to_ne_bytes()[..], &[0, 1, 7, 0, 0, 0]].concat();
        let (mut entry, mut exit) = ([0xffu8; CALL_ENTRY], [0xffu8; CALL_EXIT]);
        entry[..8].copy_from_slice(&head(ENTRY_ID));
        exit[..8].copy_from_slice(&head(EXIT_ID));
        fill_call_entry(&mut entry[8..], 0x1234);
        fill_call_exit(&mut exit[8..], 0x1234, 99);
        assert!(is_leaf(&entry, &exit));
        let seen = CallExit::of(&exit).unwrap();
        assert_eq!(
            (seen.function(), seen.depth(), seen.duration()),
            (0x1234, 0, 0)
        );
        assert_eq!(exit[32..40], 99u64.to_ne_bytes());
    }

    #[test]
    fn a_task_that_runs_does_not_wait() {
        let mut follower = WakeupFollower::new();
        // Woken up by another CPU before it sleeps: it sleeps later, and what follows is no latency.
        assert!(follower.woken(WakeupClass::Any, woken(7, 50), 120));
        assert_eq!(follower.switched(7, 0), FollowedChange::Ends);
        assert_eq!(follower.switched(0, 7), FollowedChange::Nothing);
        assert!(follower.woken(WakeupClass::Any, woken(7, 50), 120));
        assert_eq!(follower.switched(0, 7), FollowedChange::Runs(woken(7, 50)));
    }

    /// What a follower says of random wake-ups and switches is what a list of all of them says.
    #[test]
    fn random_lives() {
        let mut random = 88172645463325252u64;
        let mut below = |n: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 20) % n
        };
        let priority = |task: u64| [-1, 10, 50, 98, 110, 120, 120, 120][task as usize];
        for _ in 0..3000 {
            let class = WakeupClass::of_number(below(3) as u32);
            let mut follower = WakeupFollower::new();
            // The wake-ups since a task was last followed to its end, and which one counts.
            let mut best: Option<FollowedTask> = None;
            let mut runs = [6u64, 7];
            for time in 0..60 {
                let cpu = below(2) as usize;
                if below(2) == 0 {
                    let task = below(8);
                    let woken = FollowedTask {
                        task,
                        priority: priority(task),
                        since: time,
                        cpu: cpu as u32,
                    };
                    let running = priority(runs[cpu]);
                    let is_first = match best {
                        None => true,
                        Some(of) if of.priority < 0 => false,
                        Some(of) => woken.priority < of.priority || woken.priority < 0,
                    };
                    let is_meant = match class {
                        WakeupClass::Any => true,
                        WakeupClass::RealTime => woken.priority < 100,
                        WakeupClass::Deadline => woken.priority < 0,
                    };
                    let is_urgent = woken.priority < running || woken.priority < 0;
                    let expected = is_first && is_meant && is_urgent;
                    if expected {
                        best = Some(woken);
                    }
                    assert_eq!(follower.woken(class, woken, running), expected);
                } else {
                    let next = below(8);
                    if runs.contains(&next) {
                        continue;
                    }
                    let prev = core::mem::replace(&mut runs[cpu], next);
                    let expected = match best {
                        Some(of) if of.task == next => FollowedChange::Runs(of),
                        Some(of) if of.task == prev => FollowedChange::Ends,
                        _ => FollowedChange::Nothing,
                    };
                    assert_eq!(follower.switched(prev, next), expected);
                    if best.is_some_and(|of| of.task == next || of.task == prev) {
                        best = None;
                    }
                }
                assert_eq!(follower.is_following(), best.is_some());
            }
        }
    }

    #[test]
    fn which_latencies_count() {
        for (latency, threshold, longest, expected) in [
            (0, 0, 0, false),
            (1, 0, 0, true),
            (5, 0, 5, false),
            (6, 0, 5, true),
            (5, 5, 900, true),
            (4, 5, 0, false),
        ] {
            assert_eq!(
                counts(latency, threshold, longest),
                expected,
                "{latency} {threshold} {longest}"
            );
        }
    }

    fn record() -> [u8; RECORD] {
        let mut record = [0xff; RECORD];
        let task = |pid, priority, state| TaskWords {
            pid,
            priority,
            state,
        };
        let seen = WakeupRecord {
            prev: task(131, 120, 1),
            next: task(69, 49, 0),
            cpu: 2,
        };
        seen.fill(&mut record[8..]);
        record
    }

    #[test]
    fn texts() {
        let record = record();
        let text = |write: &dyn Fn(&mut Bytes) -> fmt::Result| {
            let mut out = Bytes::default();
            write(&mut out).unwrap();
            out.0
        };
        assert_eq!(next_pid(&record), 69);
        let step = |step| text(&|out| write_text(step, &record, b"irq/25", out));
        let line = b"     131:120:S   + [002]      69: 49:R irq/25\n";
        assert_eq!(step(WakeupStep::Woken), line);
        let line = b"     131:120:S ==> [002]      69: 49:R irq/25\n";
        assert_eq!(step(WakeupStep::Runs), line);
        let step = |step| text(&|out| write_raw(step, &record, out));
        assert_eq!(step(WakeupStep::Woken), b"131 120 + 2 69 49 R\n");
        assert_eq!(step(WakeupStep::Runs), b"131 120 S 2 69 49 R\n");
        let hex = text(&|out| write_hex(WakeupStep::Runs, &record, out));
        assert_eq!(hex, b"00000083 78 53 00000002 00000045 31 00000052 ");
        let bin = text(&|out| write_bin(&record, out));
        assert_eq!(bin, [131, 0, 0, 0, 120, 1, 2, 0, 0, 0, 69, 0, 0, 0, 49, 0]);
    }

    #[test]
    fn functions_are_two_callers() {
        for (callers, expected) in [
            (&[][..], [0, 0]),
            (&[7], [7, 0]),
            (&[7, 8], [7, 8]),
            (&[7, 8, 9], [7, 8]),
        ] {
            let mut rest = [0xff; FUNCTION - 8];
            fill_function(&mut rest, callers);
            let found: Vec<u64> = rest
                .chunks_exact(8)
                .map(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap()))
                .collect();
            assert_eq!(found, expected);
            fill_function(&mut rest[..9], callers);
        }
    }

    #[test]
    fn short_records_and_strange_states() {
        let mut record = record();
        record[21] = 200;
        for len in 0..=RECORD {
            for step in [WakeupStep::Woken, WakeupStep::Runs] {
                let mut out = Bytes::default();
                write_text(step, &record[..len], b"x", &mut out).unwrap();
                write_raw(step, &record[..len], &mut out).unwrap();
                write_hex(step, &record[..len], &mut out).unwrap();
                write_bin(&record[..len], &mut out).unwrap();
            }
        }
        assert_eq!(letter(200), '?');
    }
}
