// SPDX-License-Identifier: GPL-2.0
//! Stacks that are read by what was learned of their functions, beside an unwinder that knows all of them.
//!
//! Functions have frames of any length, save the frame pointer or not, use it as a number or as the base of their
//! frame, and are called in any order. Whatever part of them is known, and with a table that is too small for them:
//! a walk that says that it has found all callers has found what the unwinder does.

use crate::ring::port::SharedWord;
use crate::sim::Word;
use crate::unwind::frames::{FrameStep, FrameTable, PLACES};
use crate::unwind::walk::{walk, StackPoint, WalkEnd, WordStack};

const TEXT: u64 = 0xffff_ffff_8100_0000;
const TOP: u64 = 0xffff_c900_0001_0000;
/// The bytes of the registers of user space, which are at the top.
const REGS: u64 = 168;

/// A sequence of numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % most
    }
}

/// A call in a function, where the unwinder goes on.
#[derive(Clone, Copy)]
struct Function {
    address: u64,
    /// Words from the stack pointer to the end of the frame.
    words: u64,
    /// Where it keeps its caller's frame pointer, in words below the end, if it does.
    saves: Option<u64>,
    /// Its frame has any length, more than `words`: the unwinder goes by the frame pointer, two words below the end.
    dynamic: bool,
    /// What it leaves in the frame pointer for those that it calls, if it saves the one of its caller.
    number: Option<u64>,
}

impl Function {
    fn any(random: &mut Random, index: u64) -> Self {
        let words = 3 + random.below(12);
        let dynamic = random.below(4) == 0;
        let saves = (dynamic || random.below(2) == 0).then(|| match dynamic {
            true => 2,
            false => 2 + random.below(words - 2),
        });
        Self {
            // Some fall into the same places of a table.
            address: TEXT + index * 16 + random.below(64) * 0x10_0000,
            words,
            saves,
            dynamic,
            number: (saves.is_some() && !dynamic && random.below(2) == 0).then(|| random.below(4)),
        }
    }

    /// The step, with the frame pointer's place or without.
    fn step(&self, lost: bool) -> FrameStep {
        let (kind, by) = match self.dynamic {
            true => (FrameStep::UP_BP, 2),
            false => (FrameStep::UP, self.words),
        };
        let bp = match (self.saves, lost) {
            (None, _) => 0,
            (Some(_), true) => FrameStep::LOST,
            (Some(below), false) => below as u32,
        };
        FrameStep::of_word(kind | (by as u32) << FrameStep::BY | bp << FrameStep::BP).unwrap()
    }
}

/// A stack, and what the unwinder says of it.
struct Stack {
    words: Vec<u64>,
    from: u64,
    callers: Vec<u64>,
    point: StackPoint,
}

impl WordStack for Stack {
    fn word(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.from)?;
        (offset % 8 == 0).then_some(())?;
        self.words.get((offset / 8) as usize).copied()
    }

    fn is_user(&self, address: u64) -> bool {
        address == TOP - REGS
    }
}

/// Calls `functions`, the outermost first, from an entry whose registers are `gap` words above its stack pointer.
fn call(random: &mut Random, entry: u64, gap: u64, functions: &[Function]) -> Stack {
    let mut words = vec![0; ((REGS / 8) + gap) as usize];
    let (mut address, mut bp) = (entry, random.below(4));
    let mut callers = vec![entry];
    for function in functions {
        let length = function.words
            + if function.dynamic {
                random.below(20)
            } else {
                0
            };
        // From the end of the frame down: the address, and the rest.
        let mut frame: Vec<u64> = (0..length).map(|_| random.below(4)).collect();
        frame[0] = address;
        let end = TOP - words.len() as u64 * 8;
        if let Some(below) = function.saves {
            frame[below as usize - 1] = bp;
        }
        if function.dynamic {
            bp = end - 16;
        }
        bp = function.number.unwrap_or(bp);
        words.extend(frame);
        address = function.address;
        callers.insert(0, address);
    }
    words.reverse();
    let from = TOP - words.len() as u64 * 8;
    Stack {
        words,
        from,
        callers,
        point: StackPoint {
            address,
            sp: from,
            bp,
        },
    }
}

fn table() -> FrameTable<Word> {
    let words = core::array::from_fn::<_, PLACES, _>(|_| Word::new(0));
    FrameTable::of(words, Word::new(0), Word::new(0))
}

fn user(gap: u64) -> FrameStep {
    FrameStep::of_word(FrameStep::USER | (gap as u32) << FrameStep::BY).unwrap()
}

#[test]
fn what_is_read_is_what_the_unwinder_says() {
    let mut random = Random(1);
    let (mut whole, mut new, mut lost) = (0, 0, 0);
    for round in 0..200 {
        let table = table();
        let functions: Vec<_> = (0..1 + random.below(3000))
            .map(|index| Function::any(&mut random, index))
            .collect();
        let entry = TEXT - 16;
        let gap = random.below(3);
        let losses = if round % 2 == 0 { 0 } else { 8 };
        for function in &functions {
            let is_lost = losses != 0 && function.address / 16 % losses == 0;
            if random.below(7) != 0 {
                table.learn(function.address, function.step(is_lost));
            }
        }
        table.learn(entry, user(gap));
        for _ in 0..200 {
            let depth = random.below(20);
            let chain: Vec<_> = (0..depth)
                .map(|_| functions[random.below(functions.len() as u64) as usize])
                .collect();
            let stack = call(&mut random, entry, gap, &chain);
            let mut room = [0; 16];
            match walk(&table, &stack, stack.point, &mut room) {
                WalkEnd::Whole(found) => {
                    assert_eq!(found, stack.callers.len().min(16));
                    assert_eq!(room[..found], stack.callers[..found]);
                    whole += 1;
                }
                WalkEnd::New(known) => {
                    assert_eq!(room[..=known], stack.callers[..=known]);
                    new += 1;
                    // The unwinder was asked about it: next time it is known.
                    if let Some(function) = functions.iter().find(|of| of.address == room[known]) {
                        table.learn(function.address, function.step(false));
                    } else {
                        table.learn(entry, user(gap));
                    }
                }
                WalkEnd::Lost(at) => {
                    let function = functions.iter().find(|of| of.address == room[at]).unwrap();
                    assert!(function.saves.is_some() && losses != 0);
                    table.learn(function.address, function.step(false));
                    lost += 1;
                }
                WalkEnd::Other => panic!("nothing here is that"),
            }
        }
    }
    assert!(
        whole > 10_000 && new > 1_000 && lost > 100,
        "{whole} {new} {lost}"
    );
}

#[test]
fn what_only_the_unwinder_knows_is_left_to_it() {
    let table = table();
    let (caller, hook, entry) = (TEXT + 16, TEXT + 32, TEXT + 48);
    let frame = Function {
        address: caller,
        words: 4,
        saves: None,
        dynamic: false,
        number: None,
    };
    let mut stack = call(&mut Random(1), entry, 0, &[frame]);
    let mut room = [0; 16];
    let mut end = |table: &_, stack: &Stack| walk(table, stack, stack.point, &mut room);
    assert_eq!(end(&table, &stack), WalkEnd::New(0));
    table.learn(caller, frame.step(false));
    assert_eq!(end(&table, &stack), WalkEnd::New(1));
    table.learn(entry, user(0));
    assert_eq!(end(&table, &stack), WalkEnd::Whole(2));
    // Registers that are not those of user space: an exception in the kernel.
    table.learn(entry, user(1));
    assert_eq!(end(&table, &stack), WalkEnd::Other);
    table.learn(entry, FrameStep::of_word(FrameStep::LAST).unwrap());
    assert_eq!(end(&table, &stack), WalkEnd::Whole(2));
    // A hook of the return has its own address there.
    stack.words[3] = hook;
    assert_eq!(end(&table, &stack), WalkEnd::New(1));
    table.give_up(hook);
    assert_eq!(end(&table, &stack), WalkEnd::Other);
    // What is known is not given up.
    table.give_up(caller);
    stack.words[3] = entry;
    assert_eq!(end(&table, &stack), WalkEnd::Whole(2));
    // No address of the kernel's code, though the lower half is that of one.
    stack.words[3] = entry & 0xffff_ffff;
    assert_eq!(end(&table, &stack), WalkEnd::New(1));
    table.give_up(entry & 0xffff_ffff);
    stack.words[3] = entry;
    assert_eq!(end(&table, &stack), WalkEnd::Whole(2));
    // Out of the stack.
    table.learn(
        caller,
        FrameStep::of_word(FrameStep::UP | 5000 << FrameStep::BY).unwrap(),
    );
    assert_eq!(end(&table, &stack), WalkEnd::Other);
    // Code has gone.
    table.forget();
    assert_eq!(end(&table, &stack), WalkEnd::New(0));
}

#[test]
fn the_unwinder_is_not_asked_again_and_again() {
    let table = table();
    let asked = |address| (0..160).filter(|_| table.is_to_ask(address)).count();
    assert_eq!(asked(TEXT), 10);
    assert_eq!(asked(TEXT + 16), 10);
    assert!(table.is_to_ask(TEXT) && table.is_to_ask(TEXT + 16) && table.is_to_ask(TEXT));
}
