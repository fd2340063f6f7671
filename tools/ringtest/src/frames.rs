// SPDX-License-Identifier: GPL-2.0
//! Stacks that are read by what was learned of their functions, beside an unwinder that knows all of them.
//!
//! Functions have frames of any length, save the frame pointer or not, use it as a number or as the base of their
//! frame, and are called in any order. What is known of them is what steps of that unwinder told. Whatever part of them
//! that is, and with a table that is too small for them: a walk that says that it has found all callers has found what
//! the unwinder does.

use std::collections::HashMap;

use crate::random::Random;
use crate::ring::port::SharedWord;
use crate::sim::Word;
use crate::unwind::frames::{FrameTable, ASKED, PLACES};
use crate::unwind::learn::{step_of, UnwinderStop};
use crate::unwind::walk::{walk, StackPoint, WalkEnd, WordStack};

const TEXT: u64 = 0xffff_ffff_8100_0000;
const TOP: u64 = 0xffff_c900_0001_0000;
/// The bytes of the registers of user space, which are at the top.
const REGS: u64 = 168;

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
}

/// A stack, and what the unwinder says of it.
#[derive(Clone)]
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

/// The unwinder: it knows all functions, and how many words above the stack pointer the entry has its registers.
struct Unwinder {
    functions: HashMap<u64, Function>,
    entry: u64,
    gap: u64,
}

impl Unwinder {
    fn of(functions: &[Function], entry: u64, gap: u64) -> Self {
        let functions = functions.iter().map(|of| (of.address, *of));
        Self {
            functions: functions.collect(),
            entry,
            gap,
        }
    }

    fn step(&self, stack: &Stack, from: StackPoint) -> UnwinderStop {
        if from.address == self.entry {
            return UnwinderStop::User(from.sp + self.gap * 8);
        }
        let next = || {
            let function = self.functions.get(&from.address)?;
            let sp = match function.dynamic {
                true => from.bp.wrapping_add(16),
                false => from.sp + function.words * 8,
            };
            let bp = match function.saves {
                Some(below) => stack.word(sp.wrapping_sub(below * 8))?,
                None => from.bp,
            };
            let address = stack.word(sp.wrapping_sub(8))?;
            Some(UnwinderStop::Call(StackPoint { address, sp, bp }))
        };
        next().unwrap_or(UnwinderStop::Other)
    }

    /// Where it is on the way through a stack, after so many callers.
    fn at(&self, stack: &Stack, callers: usize) -> StackPoint {
        let mut point = stack.point;
        for _ in 0..callers {
            let UnwinderStop::Call(next) = self.step(stack, point) else {
                panic!("the stack has {callers} callers");
            };
            point = next;
        }
        point
    }

    /// Learns of the step after so many callers.
    fn learn(&self, table: &FrameTable<Word>, stack: &Stack, callers: usize) {
        let from = self.at(stack, callers);
        let again = |bp| self.step(stack, StackPoint { bp, ..from });
        let before = UnwinderStop::Call(from);
        if let Some(step) = step_of(
            |_| Some(stack.clone()),
            before,
            self.step(stack, from),
            again,
        ) {
            table.learn(from.address, step);
        }
    }
}

fn table() -> FrameTable<Word> {
    let words = core::array::from_fn::<_, PLACES, _>(|_| Word::new(0));
    FrameTable::of(words, core::array::from_fn::<_, ASKED, _>(|_| Word::new(0)))
}

#[test]
fn what_is_read_is_what_the_unwinder_says() {
    let mut random = Random::new(1);
    let (mut whole, mut new, mut lost) = (0, 0, 0);
    for _ in 0..200 {
        let table = table();
        let functions: Vec<_> = (0..1 + random.below(3000))
            .map(|index| Function::any(&mut random, index))
            .collect();
        let unwinder = Unwinder::of(&functions, TEXT - 16, random.below(3));
        for _ in 0..400 {
            let depth = random.below(20);
            let chain: Vec<_> = (0..depth)
                .map(|_| functions[random.below(functions.len() as u64) as usize])
                .collect();
            let stack = call(&mut random, unwinder.entry, unwinder.gap, &chain);
            // The unwinder is not always asked.
            let mut learn = |callers| {
                if random.below(3) != 0 {
                    (callers..stack.callers.len().min(16))
                        .for_each(|callers| unwinder.learn(&table, &stack, callers));
                }
            };
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
                    learn(known);
                }
                WalkEnd::Lost(at) => {
                    let function = unwinder.functions.get(&room[at]).unwrap();
                    assert!(function.saves.is_some());
                    learn(at);
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

/// A function with such a frame.
fn function(address: u64, words: u64, saves: Option<u64>, number: Option<u64>) -> Function {
    Function {
        address,
        words,
        saves,
        dynamic: false,
        number,
    }
}

#[test]
fn what_only_the_unwinder_knows_is_left_to_it() {
    let table = table();
    let (caller, hook, entry) = (TEXT + 16, TEXT + 32, TEXT + 48);
    let frame = function(caller, 4, None, None);
    let unwinder = Unwinder::of(&[frame], entry, 0);
    let mut stack = call(&mut Random::new(1), entry, 0, &[frame]);
    let mut room = [0; 16];
    let mut end = |table: &_, stack: &Stack| walk(table, stack, stack.point, &mut room);
    assert_eq!(end(&table, &stack), WalkEnd::New(0));
    unwinder.learn(&table, &stack, 0);
    assert_eq!(end(&table, &stack), WalkEnd::New(1));
    unwinder.learn(&table, &stack, 1);
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
    assert!(!table.is_to_ask(entry & 0xffff_ffff));
    table.give_up(entry & 0xffff_ffff);
    stack.words[3] = entry;
    assert_eq!(end(&table, &stack), WalkEnd::Whole(2));
    // Registers that are not those of user space: an exception in the kernel.
    let mut other = call(&mut Random::new(1), entry, 1, &[frame]);
    assert_eq!(end(&table, &other), WalkEnd::Other);
    // Out of the stack.
    other.words.truncate(2);
    assert_eq!(end(&table, &other), WalkEnd::Other);
    // Code has gone.
    table.forget();
    assert_eq!(end(&table, &stack), WalkEnd::New(0));
}

#[test]
fn what_a_step_does_not_tell_is_not_learned() {
    let (caller, entry) = (TEXT + 16, TEXT + 48);
    let point = StackPoint {
        address: caller,
        sp: TOP,
        bp: 7,
    };
    let stack = call(&mut Random::new(1), entry, 0, &[]);
    let of = |_| Some(stack.clone());
    let end = |before, after| {
        let step = step_of(of, before, after, |_| after);
        step.map(|step| {
            let table = table();
            table.learn(caller, step);
            walk(&table, &stack, point, &mut [0; 16])
        })
    };
    let call = UnwinderStop::Call(point);
    // What was interrupted is looked up by another address than a call.
    assert_eq!(end(UnwinderStop::Other, UnwinderStop::End), None);
    assert_eq!(end(call, UnwinderStop::End), Some(WalkEnd::Whole(1)));
    assert_eq!(end(call, UnwinderStop::Other), Some(WalkEnd::Other));
    // Registers that do not depend on the stack pointer alone.
    let regs = UnwinderStop::User(TOP - REGS);
    let step = step_of(of, call, regs, |bp| UnwinderStop::User(bp));
    assert!(step == step_of(of, call, UnwinderStop::Other, |_| call));
    // The address at the frame's end is not that which the unwinder tells: a hook of returns.
    let behind = UnwinderStop::Call(StackPoint {
        sp: stack.from + 8,
        ..point
    });
    assert_eq!(end(call, behind), None);
}

/// Each value that is tried in place of a frame pointer, as that of a caller and of the function.
#[test]
fn a_frame_pointer_may_be_any_number() {
    for inner in 0..5 {
        for outer in 0..5 {
            for saves in [None, Some(2), Some(3)] {
                let entry = TEXT - 16;
                // The outer one leaves its number; the one in between, which may save it, another one; the inner one is
                // where the walk begins.
                let functions = [
                    function(TEXT, 3, Some(2), Some(outer)),
                    function(TEXT + 16, 4, saves, saves.map(|_| inner)),
                    function(TEXT + 32, 3, None, None),
                ];
                let unwinder = Unwinder::of(&functions, entry, 0);
                let table = table();
                let mut random = Random::new(1);
                let stack = call(&mut random, entry, 0, &functions);
                (0..4).for_each(|callers| unwinder.learn(&table, &stack, callers));
                // Beside other numbers of the same functions.
                let others = [
                    function(TEXT, 3, Some(2), Some(77)),
                    function(TEXT + 16, 4, saves, saves.map(|_| 78)),
                    function(TEXT + 48, 12, Some(2), None),
                    functions[2],
                ];
                let with_base = Function {
                    dynamic: true,
                    ..function(TEXT + 64, 5, Some(2), None)
                };
                let chain = [with_base, others[0], others[1], others[3]];
                let unwinder = Unwinder::of(&chain, entry, 0);
                let stack = call(&mut random, entry, 0, &chain);
                let base = call(&mut random, entry, 0, &[with_base]);
                (0..2).for_each(|callers| unwinder.learn(&table, &base, callers));
                let mut room = [0; 16];
                match walk(&table, &stack, stack.point, &mut room) {
                    WalkEnd::Whole(found) => assert_eq!(room[..found], stack.callers),
                    // Which word it was could not be told.
                    end => assert!(matches!(end, WalkEnd::Lost(_)), "{end:?} {inner} {outer}"),
                }
            }
        }
    }
}

#[test]
fn the_unwinder_is_not_asked_again_and_again() {
    let table = table();
    let asked = |address| (0..160).filter(|_| table.is_to_ask(address)).count();
    assert_eq!(asked(TEXT), 10);
    assert_eq!(asked(TEXT + 16), 10);
    // In turn.
    let both = (0..320).filter(|at| table.is_to_ask(TEXT + 16 * (at % 2)));
    assert_eq!(both.count(), 20);
}
