// SPDX-License-Identifier: GPL-2.0

//! Chooses the calls of a sequence.

use super::files::{named, File, BUSY, FILES};
use super::{Bytes, Call, Step, What, SLOTS};
use crate::chance::Chance;

/// Flags of open() besides the access, which is one of the first three.
const FLAGS: &[i32] = &[
    0, 0, 0, 0, 0, 0,          // Mostly none.
    0o1000,     // O_TRUNC
    0o2000,     // O_APPEND
    0o40000,    // O_DIRECT
    0o100,      // O_CREAT
    0o200000,   // O_DIRECTORY
    0o1000000,  // O_NOATIME
    0o4010000,  // O_SYNC
    0o10000000, // O_PATH
    0o3,        // No access
];

/// Lengths of reads.
const LENGTHS: &[usize] = &[
    0, 1, 2, 7, 16, 100, 100, 1000, 4095, 4096, 4096, 4097, 8192, 65536,
];

const POSITIONS: &[i64] = &[
    0,
    0,
    0,
    1,
    2,
    5,
    10,
    100,
    4095,
    4096,
    100_000,
    -1,
    -2,
    0x7fff_ffff,
    0x8000_0000,
    i64::MAX,
];

/// RWF_HIPRI, _DSYNC, _SYNC, _NOWAIT, _APPEND, one that is not known.
const RWF: &[usize] = &[0, 0, 0, 0, 1, 2, 4, 8, 16, 0x4000];

/// TCGETS, FIONREAD, FIONBIO is left out: all reads must return. TRACE_MMAP_IOCTL_GET_READER, two of no file.
const COMMANDS: &[u32] = &[0x5401, 0x541b, 0x5220, 0x5220, 0, 0xffff_ffff];

fn one<T: Copy>(chance: &mut Chance, from: &[T]) -> T {
    from[chance.below(from.len())]
}

fn file(chance: &mut Chance) -> &'static File {
    match chance.below(3) {
        0 => named(chance.pick(BUSY)),
        _ => &FILES[chance.below(FILES.len())],
    }
}

/// Something that this file takes or refuses; seldom anything else. Names of events and sizes are not changed:
/// that could switch events on, which happen by themselves, or ask for all memory.
fn value(chance: &mut Chance, file: &File) -> Bytes {
    let File { name, values, .. } = *file;
    let exact = ["set_event", "enable", "_kb"];
    let exact = exact.iter().any(|end| name.ends_with(end));
    Bytes(match chance.below(12) {
        0 if !exact => chance.text(values),
        1 if !exact => chance.pick(values).repeat(900).into_bytes(),
        _ => chance.pick(values).as_bytes().to_vec(),
    })
}

/// Files by slot, as far as the chooser knows.
#[derive(Default)]
pub struct Chooser {
    open: [Option<&'static File>; SLOTS],
}

impl Chooser {
    fn call(&mut self, chance: &mut Chance, slot: usize, open: &File) -> Call {
        match chance.below(40) {
            0..=7 => Call::Read {
                len: one(chance, LENGTHS),
            },
            8..=10 => Call::ReadAt {
                len: one(chance, LENGTHS),
                at: one(chance, POSITIONS),
                flags: one(chance, RWF),
            },
            11 => Call::ReadPieces {
                lens: [one(chance, LENGTHS), one(chance, LENGTHS)],
            },
            12..=15 => Call::Write {
                bytes: value(chance, open),
            },
            16 | 17 => Call::WriteAt {
                bytes: value(chance, open),
                at: one(chance, POSITIONS),
                flags: one(chance, RWF),
            },
            18 => {
                let bytes = value(chance, open);
                let cut = chance.below(bytes.0.len() + 1);
                Call::WritePieces { bytes, cut }
            }
            19..=22 => Call::Seek {
                at: one(chance, POSITIONS),
                whence: one(chance, &[0, 0, 0, 1, 1, 2, 3, 4, 5]),
            },
            // Of most files it is known to differ.
            23..=27 if !open.is_spliced() && chance.below(8) != 0 => Call::Read { len: 4096 },
            23..=25 => Call::Splice {
                len: one(chance, LENGTHS),
                flags: one(chance, &[2, 2, 3]),
            },
            26 | 27 => Call::Send {
                len: one(chance, LENGTHS),
                at: one(
                    chance,
                    &[None, None, Some(0), Some(3), Some(0x8000_0000), Some(-1)],
                ),
            },
            28 | 29 => Call::Poll {
                events: one(chance, &[1, 2, 4, 0x7f]),
            },
            30 => Call::Control {
                command: one(chance, COMMANDS),
                argument: 0,
            },
            31 => Call::Flags {
                flags: one(chance, &[0, 0o2000, 0o40000, 0o1000000]),
            },
            32 => Call::Map {
                len: one(chance, &[1, 4096, 8192, 1 << 20, 0]),
                protection: one(chance, &[1, 1, 3, 5, 0]),
                shared: chance.below(4) != 0,
                at: one(chance, &[0, 0, 0, 4096, 1]),
            },
            33 => Call::Unmap,
            34 => Call::Truncate {
                len: one(chance, &[0, 1, 5000, -1]),
            },
            35 => Call::Sync,
            36 => Call::Allocate {
                mode: one(chance, &[0, 1, 3]),
            },
            37 => {
                let to = chance.below(SLOTS);
                self.open[to] = self.open[slot];
                Call::Dup { to }
            }
            _ => {
                self.open[slot] = None;
                Call::Close
            }
        }
    }

    pub fn next(&mut self, chance: &mut Chance) -> Step {
        let task = usize::from(chance.below(4) == 0);
        let slot = chance.below(SLOTS);
        let what = match (chance.below(10), self.open[slot]) {
            (0..=2, _) => {
                let file = match chance.below(2) {
                    0 => named("trace_marker"),
                    _ => file(chance),
                };
                let bytes = value(chance, file);
                What::Put { file, bytes }
            }
            (3..=8, Some(open)) => What::On {
                slot,
                call: self.call(chance, slot, open),
            },
            _ => {
                let file = file(chance);
                self.open[slot] = Some(file);
                let flags = one(chance, &[0, 0, 1, 2]) | one(chance, FLAGS);
                What::On {
                    slot,
                    call: Call::Open { file, flags },
                }
            }
        };
        Step { task, what }
    }
}
