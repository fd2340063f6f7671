// SPDX-License-Identifier: GPL-2.0
//! Faults of single words, and the violation that the check must name.

use super::{all_words, stage, Rig, Scene, SCENES, SLOTS};
use crate::ring::spoil::SpoiledWord;
use crate::ring::violation::Violation;

/// The change of one word, or of two, and what must be found.
struct Fault {
    scene: Scene,
    words: fn(&Rig) -> Vec<(SpoiledWord, u64)>,
    found: Violation,
}

const fn fault(
    scene: Scene,
    words: fn(&Rig) -> Vec<(SpoiledWord, u64)>,
    found: Violation,
) -> Fault {
    Fault {
        scene,
        words,
        found,
    }
}

/// Bits of a slot word: DETACH, Empty against Full, the lowest of page and number.
const DETACH: u64 = 1;
const FULL: u64 = 2 << 1;
const PAGE: u64 = 1 << 3;
const NUMBER: u64 = 1 << 23;
/// The bit of the word of active writers: the fast paths are not free.
const LONG: u64 = 1 << 32;
/// Bits of a position of order 0: 4 bytes, 4096 bytes, one event, one sub-buffer.
const BYTES: u64 = 1;
const FAR: u64 = 1 << 10;
const EVENT: u64 = 1 << 11;
const SEQ: u64 = 1 << 21;

use Scene::*;
use SpoiledWord as W;
use Violation as V;

const FAULTS: &[Fault] = &[
    fault(Lapped, |_| vec![(W::Nest, 1)], V::Nest),
    fault(Lapped, |_| vec![(W::Pos, FAR)], V::Position),
    fault(Fresh, |_| vec![(W::Pos, EVENT)], V::Position),
    fault(Lapped, |_| vec![(W::Pos, SEQ)], V::Closing),
    fault(Lapped, |_| vec![(W::Closing, 1)], V::Closing),
    fault(Lapped, |_| vec![(W::Pos, BYTES)], V::Commit),
    fault(Lapped, |r| vec![(W::Slot(r.place(0)), NUMBER)], V::Number),
    fault(
        Lapped,
        |r| vec![(W::Slot(r.place(1)), NUMBER << 40)],
        V::Number,
    ),
    fault(Drained, |r| vec![(W::Slot(r.place(2)), NUMBER)], V::Number),
    fault(Lapped, |r| vec![(W::Slot(r.place(0)), 3 << 1)], V::State),
    fault(Lapped, |r| vec![(W::Slot(r.place(2)), FULL)], V::State),
    fault(Drained, |r| vec![(W::Slot(r.place(2)), FULL)], V::State),
    fault(Lapped, |_| vec![(W::ReaderNext, 1 << 20)], V::State),
    fault(Drained, |_| vec![(W::ReaderNext, 1 << 20)], V::Reader),
    fault(Taken, |_| vec![(W::CurrentSeq, 1 << 20)], V::State),
    fault(Lapped, |_| vec![(W::Hint, PAGE)], V::Hint),
    fault(Lapped, |_| vec![(W::Hint, NUMBER << 30)], V::Hint),
    fault(Lapped, |r| vec![(W::LiveSubBuf(r.index(1)), 0)], V::Hint),
    fault(Lapped, |r| vec![(W::Commit(r.index(1)), SEQ)], V::Tag),
    fault(Lapped, |r| vec![(W::Commit(r.index(0)), SEQ << 9)], V::Tag),
    fault(Drained, |r| vec![(W::Commit(r.index(1)), SEQ << 9)], V::Tag),
    fault(Fresh, |r| vec![(W::Commit(r.index(0)), BYTES)], V::Tag),
    fault(Lapped, |_| vec![(W::Commit(3), SEQ << 9)], V::Tag),
    fault(
        Ahead,
        |r| vec![(W::Commit((r.index(0) + 1) % 3), 1 << 30)],
        V::Tag,
    ),
    fault(Lapped, |r| vec![(W::Commit(r.index(0)), BYTES)], V::Commit),
    fault(
        Attached,
        |r| vec![(W::Commit(r.index(0)), EVENT)],
        V::Commit,
    ),
    fault(Padded, |r| vec![(W::Padded(r.index(0)), 1)], V::Commit),
    fault(Lapped, |r| vec![(W::Commit(r.index(1)), BYTES)], V::End),
    fault(
        Lapped,
        |r| vec![(W::Commit(r.index(1)), EVENT << 2)],
        V::End,
    ),
    fault(Lapped, |r| vec![(W::End(r.index(2)), BYTES)], V::End),
    fault(Lapped, |r| vec![(W::Padded(r.index(2)), 1)], V::End),
    fault(Drained, |r| vec![(W::Padded(r.index(1)), 1)], V::End),
    fault(Lapped, |r| vec![(W::Slot(r.place(1)), DETACH)], V::Detach),
    fault(Attached, |r| vec![(W::Slot(r.place(0)), DETACH)], V::Detach),
    fault(Attached, |_| vec![(W::CurrentIndex, 1)], V::Detach),
    fault(Attached, |_| vec![(W::CurrentAttached, 1)], V::State),
    fault(Lapped, |r| vec![(W::Slot(r.place(1)), PAGE)], V::Place),
    fault(
        Lapped,
        |r| vec![(W::Slot(r.place(1)), PAGE << 12)],
        V::Place,
    ),
    fault(Stolen, |_| vec![(W::CurrentIndex, 1)], V::Place),
    fault(Taken, |_| vec![(W::CurrentIndex, 8)], V::Place),
    fault(Lapped, |_| vec![(W::ReaderSpare, 1), (W::Spare, 1)], V::Tag),
    fault(Lapped, |_| vec![(W::ReaderSpare, 1)], V::Spare),
    fault(Attached, |_| vec![(W::Spare, 1)], V::Spare),
    fault(Lapped, |r| vec![(W::Header(r.index(1)), 29)], V::Records),
    fault(Lapped, |r| vec![(W::Header(r.index(0)), 30)], V::Records),
    fault(Lapped, |r| vec![(W::HeadLength(r.index(1)), 4)], V::Head),
    fault(Lapped, |r| vec![(W::HeadLength(r.index(0)), 4)], V::Head),
    fault(Fresh, |r| vec![(W::HeadLength(r.index(0)), 4)], V::Head),
    fault(Stolen, |r| vec![(W::HeadStamp(r.index(0)), 1)], V::Head),
    fault(Taken, |_| vec![(W::CurrentOffset, 4)], V::Reader),
    fault(Taken, |_| vec![(W::CurrentOffset, 1 << 13)], V::Reader),
    fault(Attached, |_| vec![(W::CurrentEvents, 2)], V::Reader),
    fault(Attached, |_| vec![(W::CurrentTime, 1)], V::Reader),
    fault(Taken, |_| vec![(W::ReaderNext, 2)], V::Reader),
    fault(Lapped, |_| vec![(W::Total, 1)], V::Base),
    fault(Lapped, |r| vec![(W::Base(r.index(1)), 1)], V::Base),
    fault(Lapped, |_| vec![(W::ReaderSerial, 1 << 20)], V::Base),
    fault(Looking, |_| vec![(W::CurrentLost, 1 << 20)], V::Serial),
    fault(Stolen, |_| vec![(W::ReaderSerial, 4)], V::Serial),
    fault(
        Looking,
        |_| vec![(W::CurrentCounted, 1), (W::CurrentLost, 1)],
        V::Serial,
    ),
    fault(
        Lapped,
        |r| vec![(W::Time(0), 1), (W::Stamp(r.index(2)), 0)],
        V::Pair,
    ),
    // The fast paths would be free but for the preceding event.
    fault(Lapped, |_| vec![(W::Own, BYTES)], V::Pair),
    fault(Lapped, |_| vec![(W::Own, SEQ)], V::Pair),
    fault(Discarded, |_| vec![(W::Nest, LONG)], V::Pair),
    // They would be free but for padding.
    fault(Holed, |_| vec![(W::Nest, LONG)], V::Nest),
    fault(
        Lapped,
        |r| {
            vec![
                (W::Stamp(r.index(0)), 1 << 40),
                (W::HeadStamp(r.index(0)), 1 << 40),
            ]
        },
        V::Pair,
    ),
    fault(
        Lapped,
        |r| {
            vec![
                (W::Stamp(r.index(1)), 1 << 40),
                (W::HeadStamp(r.index(1)), 1 << 40),
            ]
        },
        V::Time,
    ),
    fault(Lapped, |r| vec![(W::Stamp(r.index(1)), 1 << 40)], V::Head),
    fault(Lapped, |_| vec![(W::Overrun, 1)], V::Sum),
    fault(Drained, |_| vec![(W::ReaderRead, 1)], V::Sum),
];

#[test]
fn each_fault_is_named() {
    for (i, f) in FAULTS.iter().enumerate() {
        let mut rig = stage(f.scene);
        let words = (f.words)(&rig);
        for (word, bits) in &words {
            assert!(rig.spoil(*word, *bits), "fault {i}: no {word:?}");
        }
        let found = rig.check();
        assert_eq!(found, Err(f.found), "fault {i}: {words:?} in {:?}", f.scene);
    }
}

#[test]
fn every_violation_is_made_by_a_fault() {
    for v in Violation::ALL {
        assert!(FAULTS.iter().any(|f| f.found == v), "{v:?}");
    }
}

/// In none of the scenes the last event is of a nested writer of that level.
fn unused(word: SpoiledWord) -> bool {
    matches!(word, W::Time(1..))
}

#[test]
fn no_bit_of_any_word_leads_the_check_astray() {
    for word in all_words() {
        let mut found = 0;
        for scene in SCENES {
            for bit in 0..64 {
                let mut rig = stage(scene);
                if rig.spoil(word, 1 << bit) {
                    found += u32::from(rig.check().is_err());
                    // And back: the check itself has changed nothing.
                    rig.spoil(word, 1 << bit);
                    assert_eq!(rig.check(), Ok(()), "{word:?} bit {bit} in {scene:?}");
                }
            }
        }
        assert!(found > 0 || unused(word), "no bit of {word:?} was missed");
    }
}

#[test]
fn words_that_writers_share_with_the_reader_have_no_bit_to_spare() {
    for scene in [Lapped, Attached, Taken, Stolen, Drained] {
        for word in [W::Pos, W::Closing, W::Total, W::Nest, W::Overrun] {
            for bit in 0..64 {
                if (word, 1 << bit) == (W::Nest, LONG) {
                    // It may be set at any time.
                    continue;
                }
                let mut rig = stage(scene);
                rig.spoil(word, 1 << bit);
                assert!(rig.check().is_err(), "{word:?} bit {bit} in {scene:?}");
            }
        }
        for at in 0..SLOTS as u64 {
            for bit in 0..64 {
                let mut rig = stage(scene);
                rig.spoil(W::Slot(at), 1 << bit);
                assert!(rig.check().is_err(), "slot {at} bit {bit} in {scene:?}");
            }
        }
    }
}
