// SPDX-License-Identifier: GPL-2.0
//! The state of the CPU in which an event happened.
//!
//! Every record begins with eight bytes that describe it, [`Common`]. The writer makes them from
//! raw words of the CPU and the current task ([`ContextWords::word`], hot: once per event); `trace` and
//! `trace_pipe` print them as five columns. The bits and letters are those of ftrace, so its tools
//! read them.
//!
//! The raw words are those of x86-64 in Linux 7.3, where the preemption counter has 64 bits; `kapi/compat.rs` brings
//! that of older kernels into this form:
//!
//! | bits | of `preempt_count` |
//! |---|---|
//! | 0..8 | depth of disabled preemption |
//! | 8 | serving a soft interrupt |
//! | 9..16 | bottom halves are off |
//! | 16..24 | depth of disabled hard interrupts |
//! | 24..28 | hard interrupt |
//! | 28..32 | NMI |
//! | 63 | set while no reschedule is wanted |
//!
//! With `CONFIG_PREEMPT_RT` bits 8 to 16 are in the task, which has its soft interrupts handled in its turn.

const IRQS_OFF: u8 = 0x01;
const NEED_RESCHED_LAZY: u8 = 0x02;
const NEED_RESCHED: u8 = 0x04;
const HARDIRQ: u8 = 0x08;
const SOFTIRQ: u8 = 0x10;
const PREEMPT_RESCHED: u8 = 0x20;
const NMI: u8 = 0x40;
const BH_OFF: u8 = 0x80;

/// The bit of `thread_info.flags` that asks for a reschedule.
pub(crate) const TIF_NEED_RESCHED: u32 = 4;

/// The bit of `thread_info.flags` that asks for a reschedule when convenient.
pub(crate) const TIF_NEED_RESCHED_LAZY: u32 = 5;

const WANTS_RESCHED: u8 = 1 << TIF_NEED_RESCHED;

const WANTS_RESCHED_LAZY: u8 = 1 << TIF_NEED_RESCHED_LAZY;

/// The highest depth that a nibble of a record holds.
const DEEPEST: u64 = 15;

const NO_RESCHED_WANTED: u64 = 1 << 63;

/// In `preempt_count`: the bits about soft interrupts.
#[cfg(CONFIG_PREEMPT_RT)]
pub(crate) const SOFTIRQ_BITS: u64 = 0xff00;

/// In `preempt_count`: one hard interrupt, and one soft interrupt.
const HARD: u64 = 1 << 24;
const SOFT: u64 = 1 << 8;

/// The interrupt flag in the flags register of the processor: set while interrupts are on.
const RFLAGS_IF_SHIFT: u32 = 9;
const INTERRUPTS_ON: u32 = 1 << RFLAGS_IF_SHIFT;

/// The lowest bits of the flags and of the depths in the first word of a record.
const FLAGS_SHIFT: u32 = 16;
const DEPTHS_SHIFT: u32 = 24;

/// The words that the writer reads of the CPU and of the current task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContextWords {
    /// The preemption counter of this CPU, all 64 bits.
    pub(crate) preempt_count: u64,
    /// The flags register.
    pub(crate) rflags: u64,
    /// The lowest bits of `thread_info.flags` of the current task.
    pub(crate) thread_flags: u8,
    /// How often the current task disabled its migration, in the lower half; the upper half says
    /// whether the end of that is awaited.
    pub(crate) migration: u32,
    /// The id of the current task.
    pub(crate) pid: i32,
}

/// The constant part of an event's common fields: its type, and how often its writer has disabled
/// preemption, as a word to which the rest is added.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Base(u32);

impl Base {
    /// Creates the base of events of this type. `own` is how often their writer has disabled
    /// preemption to record them: 1 for a tracepoint, 0 for a marker. As in ftrace it is
    /// subtracted from the saturated depth.
    pub(crate) const fn new(event_type: u16, own: u32) -> Self {
        // Interrupts are off until they are found on: see `ContextWords::put_together`.
        let off = (IRQS_OFF as u32) << FLAGS_SHIFT;
        Self((event_type as u32 | off).wrapping_sub(own << DEPTHS_SHIFT))
    }
}

impl ContextWords {
    /// Returns the first word of a record: type, flags and depths. The second one is [`Self::pid`].
    #[inline(always)]
    pub(crate) fn word(&self, base: Base) -> u32 {
        match self.usual_word(base) {
            Some(word) => word,
            None => self.any_word(base),
        }
    }

    /// Returns the same as [`Self::word`] in a task that may migrate and that no reschedule is
    /// wanted of, or in one interrupt or soft interrupt above such a task, or one in the other:
    /// bottom halves on, preemption not disabled more than 15 times. `None` otherwise.
    #[inline(always)]
    pub(crate) fn usual_word(&self, base: Base) -> Option<u32> {
        const _: () = assert!(HARD >> 5 == (HARDIRQ as u64) << FLAGS_SHIFT);
        const _: () = assert!(SOFT << 12 == (SOFTIRQ as u64) << FLAGS_SHIFT);
        let wanted = self.thread_flags & (WANTS_RESCHED | WANTS_RESCHED_LAZY);
        if u32::from(wanted) | self.migration != 0 {
            return None;
        }
        // The inverted bit 63 makes `count` large when a reschedule is wanted.
        let count = self.count();
        let mut rest = (count as u32) << DEPTHS_SHIFT;
        if count > DEEPEST {
            if count & !(HARD | SOFT | DEEPEST) != 0 {
                return None;
            }
            // The depth is too small to reach the flags.
            rest |= (((count >> 5) | (count << 12)) & ((HARD >> 5) | (SOFT << 12))) as u32;
        }
        Some(self.put_together(base, rest))
    }

    /// Returns the same as [`Self::word`], in any context, without its fast path.
    #[inline(always)]
    pub(crate) fn any_word(&self, base: Base) -> u32 {
        let (count, migration) = (self.count(), u64::from(self.migration as u16));
        let depths = (count & 0xff).min(DEEPEST) | (migration.min(DEEPEST) << 4);
        let flags = rare_flags(count, self.thread_flags) << FLAGS_SHIFT;
        self.put_together(base, flags as u32 | ((depths as u32) << DEPTHS_SHIFT))
    }

    /// Returns whether the CPU handles a hard interrupt.
    #[inline(always)]
    pub(crate) fn in_hardirq(&self) -> bool {
        rare_flags(self.count(), 0) & u64::from(HARDIRQ) != 0
    }

    /// Returns whether the CPU handles an NMI.
    pub(crate) fn in_nmi(&self) -> bool {
        rare_flags(self.count(), 0) & u64::from(NMI) != 0
    }

    /// Returns whether interrupts are on.
    #[inline(always)]
    pub(crate) fn is_interruptible(&self) -> bool {
        self.rflags as u32 & INTERRUPTS_ON != 0
    }

    /// Returns whether the CPU runs a task and preemption is on, but for the `own` times that the caller has it off.
    #[inline(always)]
    pub(crate) fn is_preemptible(&self, own: u32) -> bool {
        self.preempt_count as u32 == own
    }

    /// Returns the preemption counter with bit 63 inverted.
    #[inline(always)]
    fn count(&self) -> u64 {
        self.preempt_count ^ NO_RESCHED_WANTED
    }

    /// Returns the first word, whose depths and flags, all but "interrupts are off", are `rest`.
    #[inline(always)]
    fn put_together(&self, base: Base, rest: u32) -> u32 {
        // The processor's flag means the opposite of the one in `base`, so it is subtracted.
        let on = (self.rflags as u32 & INTERRUPTS_ON) << (FLAGS_SHIFT - RFLAGS_IF_SHIFT);
        base.0.wrapping_add(rest).wrapping_sub(on)
    }
}

/// Returns whether the CPU runs a task, by its preemption counter.
#[inline(always)]
pub(crate) fn is_usual_level(preempt_count: u64) -> bool {
    preempt_count as u32 & 0xff00_0100 == 0
}

/// Returns what the CPU does above a task, by its preemption counter: 0 nothing, 1 a soft interrupt, 2 a hard one, 3 an
/// NMI.
#[inline(always)]
pub(crate) fn interrupt_level(preempt_count: u64) -> u32 {
    let count = preempt_count as u32;
    if is_usual_level(preempt_count) {
        return 0;
    }
    match count {
        _ if count & 0xf000_0000 != 0 => 3,
        _ if count & 0x0f00_0000 != 0 => 2,
        _ => 1,
    }
}

/// Returns every flag but "interrupts are off". `count` has bit 63 set when a reschedule is wanted.
#[inline(always)]
fn rare_flags(count: u64, thread_flags: u8) -> u64 {
    let when = |condition: bool, flag: u8| if condition { u64::from(flag) } else { 0 };

    when(count & 0xf000_0000 != 0, NMI)
        | when(count & 0x0f00_0000 != 0, HARDIRQ)
        | when(count & 0x0000_0100 != 0, SOFTIRQ)
        | when(count & 0x0000_fe00 != 0, BH_OFF)
        | when(count & NO_RESCHED_WANTED != 0, PREEMPT_RESCHED)
        | when(thread_flags & WANTS_RESCHED != 0, NEED_RESCHED)
        | when(thread_flags & WANTS_RESCHED_LAZY != 0, NEED_RESCHED_LAZY)
}

/// The first eight bytes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Common {
    /// The event's number, as in its `id` file.
    pub(crate) event_type: u16,
    flags: u8,
    depths: u8,
    /// The id of the task that ran.
    pub(crate) pid: i32,
}

impl Common {
    /// Reads the common bytes of a record. `None` when the record is too short to have them.
    pub(crate) fn of(record: &[u8]) -> Option<Self> {
        let word = u64::from_le_bytes(*record.first_chunk()?);

        Some(Common {
            event_type: word as u16,
            flags: (word >> 16) as u8,
            depths: (word >> 24) as u8,
            pid: (word >> 32) as i32,
        })
    }

    /// Returns the flags as one number, as `verbose` lines show them.
    pub(crate) fn flags(&self) -> u8 {
        self.flags
    }

    /// Returns how often preemption was disabled, at most 15.
    pub(crate) fn preempt_depth(&self) -> u8 {
        self.depths & 0xf
    }

    /// Returns the five columns: interrupts and bottom halves, reschedule, interrupt context,
    /// depth of disabled preemption, depth of disabled migration.
    #[inline]
    pub(crate) fn columns(&self) -> [u8; 5] {
        // As for nearly all tasks.
        if self.flags == 0 && self.depths == 0 {
            return *b".....";
        }
        self.any_columns()
    }

    #[inline(never)]
    fn any_columns(&self) -> [u8; 5] {
        [
            self.off_column(),
            self.resched_column(),
            self.interrupt_column(),
            depth_column(self.depths & 0xf),
            depth_column(self.depths >> 4),
        ]
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn off_column(&self) -> u8 {
        match (self.has(IRQS_OFF), self.has(BH_OFF)) {
            (true, true) => b'D',
            (true, false) => b'd',
            (false, true) => b'b',
            (false, false) => b'.',
        }
    }

    fn resched_column(&self) -> u8 {
        let now = self.has(NEED_RESCHED);
        let lazy = self.has(NEED_RESCHED_LAZY);

        match (now, lazy, self.has(PREEMPT_RESCHED)) {
            (true, true, true) => b'B',
            (true, false, true) => b'N',
            (false, true, true) => b'L',
            (true, true, false) => b'b',
            (true, false, false) => b'n',
            (false, false, true) => b'p',
            (false, true, false) => b'l',
            (false, false, false) => b'.',
        }
    }

    fn interrupt_column(&self) -> u8 {
        match (self.has(NMI), self.has(HARDIRQ), self.has(SOFTIRQ)) {
            (true, true, _) => b'Z',
            (true, false, _) => b'z',
            (false, true, true) => b'H',
            (false, true, false) => b'h',
            (false, false, true) => b's',
            (false, false, false) => b'.',
        }
    }
}

fn depth_column(depth: u8) -> u8 {
    match depth {
        0 => b'.',
        1..=9 => b'0'.wrapping_add(depth),
        _ => b'a'.wrapping_add(depth.wrapping_sub(10)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task in the usual state, with preemption disabled once, by the probe.
    const CALM: ContextWords = ContextWords {
        preempt_count: NO_RESCHED_WANTED | 1,
        rflags: 0x246,
        thread_flags: 0,
        migration: 0,
        pid: 1234,
    };

    fn bytes(raw: ContextWords, base: Base) -> Vec<u8> {
        let words = [raw.word(base), raw.pid as u32];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn record(raw: ContextWords, own: u32) -> Common {
        Common::of(&bytes(raw, Base::new(310, own))).unwrap()
    }

    fn columns(raw: ContextWords) -> String {
        String::from_utf8(record(raw, 1).columns().to_vec()).unwrap()
    }

    #[test]
    fn levels_are_those_of_interrupts() {
        let (soft, hard, nmi) = (SOFT, HARD, 1 << 28);
        for (count, level) in [
            (0, 0),
            (1, 0),
            // Bottom halves are off.
            (2 << 8 | 3, 0),
            (soft, 1),
            (soft | 2 << 8, 1),
            (hard | soft | 1, 2),
            (2 * hard, 2),
            (nmi | hard, 3),
            (nmi | soft, 3),
            (3 * nmi, 3),
        ] {
            assert_eq!(
                interrupt_level(NO_RESCHED_WANTED | count),
                level,
                "{count:x}"
            );
            assert_eq!(interrupt_level(count), level, "{count:x}");
        }
    }

    #[test]
    fn the_word_is_type_flags_depths_pid() {
        let raw = ContextWords {
            preempt_count: NO_RESCHED_WANTED | 3,
            rflags: 0,
            migration: 5,
            pid: -2,
            ..CALM
        };
        assert_eq!(
            bytes(raw, Base::new(0x1234, 1)),
            [0x34, 0x12, 0x01, 0x52, 0xfe, 0xff, 0xff, 0xff]
        );
        assert_eq!(Common::of(&[0; 7]), None);
        assert_eq!(record(raw, 1).flags(), IRQS_OFF);
        assert_eq!(record(raw, 1).preempt_depth(), 2);
        assert_eq!(record(CALM, 1).event_type, 310);
        assert_eq!(record(CALM, 1).pid, 1234);
    }

    /// Returns the flags and depths as ftrace makes them, one condition after the other.
    fn oracle(raw: ContextWords, own: u32) -> (u8, u8) {
        let count = raw.preempt_count as u32;
        let mut flags = 0;
        let conditions = [
            (raw.rflags & 0x200 == 0, 0x01),
            (raw.thread_flags & 0x20 != 0, 0x02),
            (raw.thread_flags & 0x10 != 0, 0x04),
            (count & 0x0f00_0000 != 0, 0x08),
            (count & 0x0000_0100 != 0, 0x10),
            (raw.preempt_count >> 63 == 0, 0x20),
            (count & 0xf000_0000 != 0, 0x40),
            ((count & 0xff00) >> 9 != 0, 0x80),
        ];
        for (condition, flag) in conditions {
            flags |= if condition { flag } else { 0 };
        }
        let depth = (count & 0xff).min(15) as u8;
        let migration = (raw.migration & 0xffff).min(15) as u8;

        (flags, ((migration << 4) | depth) - own as u8)
    }

    #[test]
    fn every_combination_is_what_ftrace_makes_of_it() {
        let mut seen = [false; 256];

        for bits in 0u64..1 << 8 {
            let bit = |n: u64| (bits >> n) & 1;
            for depth in 1..=255 {
                for migration in [0, 1, 14, 15, 16, 255, 0xffff, 0x1_0000, 0x1_0001, u32::MAX] {
                    for hard_disabled in [0, 1, 0x80] {
                        let raw = ContextWords {
                            preempt_count: depth
                                | (bit(0) << 8)
                                | (bit(1) << 9)
                                | (hard_disabled << 16)
                                | (bit(2) << 24)
                                | (bit(3) << 28)
                                | (bit(4) << 63),
                            rflags: (bit(5) << 9) | 0x46,
                            thread_flags: ((bit(6) << 4) | (bit(7) << 5) | 0xcf) as u8,
                            migration,
                            pid: 7,
                        };
                        for own in [0, 1] {
                            let common = record(raw, own);

                            assert_eq!((common.flags, common.depths), oracle(raw, own), "{raw:?}");
                            seen[usize::from(common.flags)] = true;
                        }
                    }
                }
            }
        }
        assert!(seen.iter().all(|seen| *seen));
    }

    #[test]
    fn nested_counts_set_the_same_flags() {
        for (count, flags) in [
            (0x0200, BH_OFF),
            (0xfe00, BH_OFF),
            (0xff00, BH_OFF | SOFTIRQ),
        ] {
            let raw = ContextWords {
                preempt_count: NO_RESCHED_WANTED | 1 | count,
                ..CALM
            };
            assert_eq!(record(raw, 1).flags, flags);
        }
        for nibble in 1..16 {
            let hard = ContextWords {
                preempt_count: NO_RESCHED_WANTED | 1 | (nibble << 24),
                ..CALM
            };
            let nmi = ContextWords {
                preempt_count: NO_RESCHED_WANTED | 1 | (nibble << 28),
                ..CALM
            };
            assert_eq!(record(hard, 1).flags, HARDIRQ);
            assert_eq!(record(nmi, 1).flags, NMI);
            assert!(nmi.in_nmi() && !hard.in_nmi());
        }
    }

    #[test]
    fn columns_of_whole_states() {
        let count = |count: u64| ContextWords {
            preempt_count: NO_RESCHED_WANTED | count,
            ..CALM
        };
        let rows = [
            (CALM, "....."),
            (count(2), "...1."),
            (count(14), "...d."),
            (count(16), "...e."),
            (count(255), "...e."),
            (count(0x0201), "b...."),
            (count(0x0101), "..s.."),
            (
                ContextWords {
                    rflags: 0,
                    ..count(0x0001_0001)
                },
                "d....",
            ),
            (
                ContextWords {
                    rflags: 0,
                    ..count(0x0100_0002)
                },
                "d.h1.",
            ),
            (
                ContextWords {
                    rflags: 0,
                    ..count(0x0100_0301)
                },
                "D.H..",
            ),
            (
                ContextWords {
                    rflags: 0,
                    ..count(0x1000_0001)
                },
                "d.z..",
            ),
            (
                ContextWords {
                    rflags: 0,
                    ..count(0x1100_0001)
                },
                "d.Z..",
            ),
            (
                ContextWords {
                    thread_flags: 0x20,
                    ..CALM
                },
                ".l...",
            ),
            (
                ContextWords {
                    thread_flags: 0x10,
                    ..CALM
                },
                ".n...",
            ),
            (
                ContextWords {
                    thread_flags: 0x10,
                    preempt_count: 1,
                    ..CALM
                },
                ".N...",
            ),
            (
                ContextWords {
                    migration: 2,
                    ..CALM
                },
                "....2",
            ),
            (
                ContextWords {
                    migration: 1000,
                    ..CALM
                },
                "....f",
            ),
        ];
        for (raw, expected) in rows {
            assert_eq!(columns(raw), expected, "{raw:?}");
        }
    }

    #[test]
    fn columns_of_every_flag_byte() {
        // The letter of each column for each value of the flags that it depends on, lowest flag
        // first.
        let off = |flags: u8| ['.', 'd', 'b', 'D'][usize::from((flags & 1) | ((flags >> 6) & 2))];
        let resched = |flags: u8| {
            let index = ((flags >> 1) & 3) | ((flags >> 3) & 4);
            ['.', 'l', 'n', 'b', 'p', 'L', 'N', 'B'][usize::from(index)]
        };
        let interrupt = |flags: u8| {
            let index = ((flags >> 3) & 3) | ((flags >> 4) & 4);
            ['.', 'h', 's', 'H', 'z', 'Z', 'z', 'Z'][usize::from(index)]
        };
        for flags in 0..=255u8 {
            for depths in 0..=255u8 {
                let common = Common::of(&[0, 0, flags, depths, 0, 0, 0, 0]).unwrap();
                let depth = |n: u8| match n {
                    0 => '.',
                    n => char::from_digit(n.into(), 16).unwrap(),
                };
                let expected = [
                    off(flags),
                    resched(flags),
                    interrupt(flags),
                    depth(depths & 15),
                    depth(depths >> 4),
                ];
                assert_eq!(common.columns().map(char::from), expected, "{flags:#x}");
            }
        }
    }
}
