// SPDX-License-Identifier: GPL-2.0
//! Stacks that are read by what was learned of their functions, beside an unwinder that knows all of them.
//!
//! Functions have frames of any length, save the frame pointer or not, use it as a number or as the base of their
//! frame, and are called in any order. They are interrupted, on the stack of the task or that of interrupts, which the
//! interrupt switches to. What is known of them is what steps of that unwinder told. Whatever part of them that is, and
//! with a table that is too small for them: a walk that says that it has found all callers has found what the unwinder
//! does.

use std::collections::HashMap;

use crate::random::Random;
use crate::ring::port::SharedWord;
use crate::sim::Word;
use crate::unwind::frames::{CodeSite, FrameTable, ASKED, PLACES};
use crate::unwind::learn::{step_of, LearnedStack, UnwinderStop};
use crate::unwind::walk::{
    lost_since, walk, walk_on, SavedRegisters, StackPoint, WalkEnd, WordStack,
};

const TEXT: u64 = 0xffff_ffff_8100_0000;
/// The ends of the stacks of a task and of interrupts, which are near each other.
const TOP: u64 = 0xffff_c900_0001_0000;
const IRQ_TOP: u64 = TOP - 0x1000;
/// The bytes of registers; those of user space are at the top.
const REGS: u64 = 168;
/// Their first word, the others of use are after it: the address, the stack pointer and the frame pointer.
const OF_USER: u64 = 3;
const OF_KERNEL: u64 = 16;

/// A call in a function, where the unwinder goes on, or where it was interrupted.
#[derive(Clone, Copy)]
struct Function {
    site: CodeSite,
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
            site: CodeSite::Call(TEXT + index * 16 + random.below(64) * 0x10_0000),
            words,
            saves,
            dynamic,
            number: (saves.is_some() && !dynamic && random.below(2) == 0).then(|| random.below(4)),
        }
    }

    /// The same code, interrupted: it may be at the beginning or the end of a function, where its frame is another one.
    fn interrupted(self, random: &mut Random) -> Self {
        Self {
            site: CodeSite::Interrupted(self.site.address()),
            ..Self::any(random, 0)
        }
    }
}

/// Stacks, from their ends down, and what the unwinder says of them.
#[derive(Clone)]
struct Stack {
    task: Vec<u64>,
    irq: Vec<u64>,
    /// Where the code goes on that has run last, and what called it.
    callers: Vec<CodeSite>,
    bp: u64,
    /// Whether it was called on the stack of interrupts.
    is_irq: bool,
}

impl Stack {
    /// The one of a task that has entered at `entry`, whose registers are `gap` words above the stack pointer.
    fn new(random: &mut Random, entry: u64, gap: u64) -> Self {
        let mut stack = Self {
            task: vec![],
            irq: vec![],
            callers: vec![],
            bp: random.below(4),
            is_irq: false,
        };
        stack.enter(entry, gap, OF_USER);
        stack
    }

    fn words(&mut self) -> &mut Vec<u64> {
        match self.is_irq {
            true => &mut self.irq,
            false => &mut self.task,
        }
    }

    fn sp(&self) -> u64 {
        match self.is_irq {
            true => IRQ_TOP - self.irq.len() as u64 * 8,
            false => TOP - self.task.len() as u64 * 8,
        }
    }

    fn point(&self) -> StackPoint {
        StackPoint {
            address: self.callers[0].address(),
            sp: self.sp(),
            bp: self.bp,
        }
    }

    fn addresses(&self) -> Vec<u64> {
        self.callers.iter().map(|site| site.address()).collect()
    }

    /// Calls `function`.
    fn call(&mut self, random: &mut Random, function: &Function) {
        let more = if function.dynamic {
            random.below(20)
        } else {
            0
        };
        // From the end of the frame down: the address, and the rest.
        let mut frame: Vec<u64> = (0..function.words + more)
            .map(|_| random.below(4))
            .collect();
        frame[0] = self.callers[0].address();
        let end = self.sp();
        if let Some(below) = function.saves {
            frame[below as usize - 1] = self.bp;
        }
        if function.dynamic {
            self.bp = end - 16;
        }
        self.bp = function.number.unwrap_or(self.bp);
        self.words().extend(frame);
        self.callers.insert(0, function.site);
    }

    /// Registers of such a kind, and an entry.
    fn enter(&mut self, entry: u64, gap: u64, kind: u64) {
        let point = (kind == OF_KERNEL).then(|| self.point());
        let mut regs = vec![0; (REGS / 8 + gap) as usize];
        regs[REGS as usize / 8 - 1] = kind;
        if let Some(StackPoint { address, sp, bp }) = point {
            regs[REGS as usize / 8 - 4..][..3].copy_from_slice(&[bp, sp, address]);
        }
        self.words().extend(regs);
        self.callers.insert(0, CodeSite::Call(entry));
    }

    /// Goes on on the stack of interrupts, if this is not it.
    fn switch(&mut self) {
        if !self.is_irq {
            self.irq.push(self.sp());
            self.is_irq = true;
        }
    }
}

/// The word at `address` of a stack that ends at `top`.
fn word_of(words: &[u64], top: u64, address: u64) -> Option<u64> {
    let below = top.checked_sub(address)?;
    (below % 8 == 0 && below > 0).then_some(())?;
    words.get((below / 8) as usize - 1).copied()
}

impl WordStack for Stack {
    fn word(&self, address: u64) -> Option<u64> {
        word_of(&self.task, TOP, address).or_else(|| word_of(&self.irq, IRQ_TOP, address))
    }

    fn registers(&self, address: u64) -> Option<SavedRegisters> {
        let word = |at: u64| self.word(address.wrapping_add(at * 8));
        match word(0)? {
            OF_USER => (address == TOP - REGS).then_some(SavedRegisters::User),
            OF_KERNEL => Some(SavedRegisters::Kernel(StackPoint {
                address: word(1)?,
                sp: word(2)?,
                bp: word(3)?,
            })),
            _ => None,
        }
    }

    fn before_switch(&self, address: u64) -> Option<u64> {
        (address == IRQ_TOP - 8).then(|| self.irq.first().copied())?
    }
}

impl LearnedStack for Stack {
    fn are_together(&self, one: u64, other: u64) -> bool {
        let both = |words: &[u64], top| {
            word_of(words, top, one).is_some() && word_of(words, top, other).is_some()
        };
        both(&self.task, TOP) || both(&self.irq, IRQ_TOP)
    }
}

/// Calls `functions`, the outermost first, from an entry whose registers are `gap` words above its stack pointer.
fn call(random: &mut Random, entry: u64, gap: u64, functions: &[Function]) -> Stack {
    let mut stack = Stack::new(random, entry, gap);
    for function in functions {
        stack.call(random, function);
    }
    stack
}

/// The unwinder: it knows all functions, and how many words above the stack pointer entries have their registers.
struct Unwinder {
    functions: HashMap<CodeSite, Function>,
    entries: HashMap<u64, u64>,
}

impl Unwinder {
    fn of(functions: &[Function], entry: u64, gap: u64) -> Self {
        let functions = functions.iter().map(|of| (of.site, *of));
        Self {
            functions: functions.collect(),
            entries: HashMap::from([(entry, gap)]),
        }
    }

    /// Returns the function of the same site that it knows already, or knows this one from now on.
    fn known(&mut self, function: Function) -> Function {
        *self.functions.entry(function.site).or_insert(function)
    }

    /// Goes on from a stop, with such a frame pointer.
    fn step(&self, stack: &Stack, from: UnwinderStop, bp: u64) -> UnwinderStop {
        let next = || {
            let (site, from) = (
                from.site()?,
                StackPoint {
                    bp,
                    ..from.point()?
                },
            );
            let entry = match site {
                CodeSite::Call(address) => self.entries.get(&address),
                CodeSite::Interrupted(_) => None,
            };
            if let Some(gap) = entry {
                let regs = from.sp + gap * 8;
                return Some(UnwinderStop::Registers(regs, stack.registers(regs)?));
            }
            let function = self.functions.get(&site)?;
            let sp = stack.before_switch(from.sp).unwrap_or(from.sp);
            let sp = match function.dynamic {
                true => from.bp.wrapping_add(16),
                false => sp + function.words * 8,
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
    fn at(&self, stack: &Stack, callers: usize) -> UnwinderStop {
        let mut stop = UnwinderStop::Call(stack.point());
        for _ in 0..callers {
            let point = stop.point().expect("the stack has as many callers");
            stop = self.step(stack, stop, point.bp);
        }
        stop
    }

    /// Learns of the step after so many callers.
    fn learn(&self, table: &FrameTable<Word>, stack: &Stack, callers: usize) {
        let before = self.at(stack, callers);
        let point = before.point().expect("the stack has as many callers");
        let site = before
            .site()
            .expect("it is where the unwinder goes on from");
        assert_eq!(site, stack.callers[callers]);
        let again = |bp| self.step(stack, before, bp);
        let after = again(point.bp);
        if let Some(step) = step_of(stack, before, after, again) {
            table.learn(site, step);
        }
    }
}

fn table() -> FrameTable<Word> {
    let words = core::array::from_fn::<_, PLACES, _>(|_| Word::new(0));
    FrameTable::of(words, core::array::from_fn::<_, ASKED, _>(|_| Word::new(0)))
}

/// A walk through all that there is.
fn read(table: &FrameTable<Word>, stack: &Stack, room: &mut [u64]) -> WalkEnd {
    let end = walk(table, stack, stack.point(), room);
    walk_on(table, stack, end, room)
}

/// How often walks ended so.
#[derive(Debug, Default)]
struct Ends {
    whole: u64,
    new: u64,
    lost: u64,
    interrupted: u64,
}

/// Walks through stacks that `make` makes of functions and an unwinder of them, and of which more and more is learned.
fn walk_many(make: impl Fn(&mut Random, &[Function], &mut Unwinder) -> Stack) -> Ends {
    let mut random = Random::new(1);
    let mut ends = Ends::default();
    for _ in 0..200 {
        let table = table();
        let functions: Vec<_> = (0..1 + random.below(3000))
            .map(|index| Function::any(&mut random, index))
            .collect();
        let mut unwinder = Unwinder::of(&functions, ENTRY, random.below(3));
        for _ in 0..400 {
            let stack = make(&mut random, &functions, &mut unwinder);
            let callers = stack.addresses();
            let mut room = [0; 24];
            // The unwinder is not always asked.
            let mut learn = |known| {
                if random.below(3) != 0 {
                    (known..callers.len().min(24))
                        .for_each(|known| unwinder.learn(&table, &stack, known));
                }
            };
            match read(&table, &stack, &mut room) {
                WalkEnd::Whole(found) => {
                    assert_eq!(found, callers.len().min(24));
                    assert_eq!(room[..found], callers[..found]);
                    ends.whole += 1;
                }
                WalkEnd::New(known) => {
                    assert_eq!(room[..=known], callers[..=known]);
                    ends.new += 1;
                    learn(known);
                }
                WalkEnd::Lost(known) => {
                    assert_eq!(room[..=known], callers[..=known]);
                    let at = lost_since(&table, &room[..known]).unwrap();
                    let saves = |site| {
                        let function = unwinder.functions.get(&site);
                        function.is_some_and(|function| function.saves.is_some())
                    };
                    let sites = [CodeSite::Call(room[at]), CodeSite::Interrupted(room[at])];
                    assert!(sites.into_iter().any(saves));
                    learn(at);
                    ends.lost += 1;
                }
                WalkEnd::Interrupted(known, regs) => {
                    assert_eq!(room[..=known], callers[..=known]);
                    let at = unwinder.at(&stack, known);
                    assert!(matches!(at, UnwinderStop::Registers(told, _) if told == regs));
                    ends.interrupted += 1;
                    learn(known);
                }
                WalkEnd::Other => panic!("nothing here is that"),
            }
        }
    }
    ends
}

/// Where a task has entered the kernel, and where an interrupt has.
const ENTRY: u64 = TEXT - 16;
const IRQ_ENTRY: u64 = TEXT - 32;

/// Calls any of `functions`, `most` at most.
fn call_any(random: &mut Random, stack: &mut Stack, functions: &[Function], most: u64) {
    for _ in 0..random.below(most) {
        let function = &functions[random.below(functions.len() as u64) as usize];
        stack.call(random, function);
    }
}

#[test]
fn what_is_read_is_what_the_unwinder_says() {
    let ends = walk_many(|random, functions, unwinder| {
        let mut stack = Stack::new(random, ENTRY, unwinder.entries[&ENTRY]);
        call_any(random, &mut stack, functions, 20);
        stack
    });
    assert!(
        ends.whole > 10_000 && ends.new > 1_000 && ends.lost > 100,
        "{ends:?}"
    );
}

/// Interrupts of a task and of each other; one function has switched to their stack, which is another one each time.
#[test]
fn what_was_interrupted_is_read_as_well() {
    let ends = walk_many(|random, functions, unwinder| {
        let mut stack = Stack::new(random, ENTRY, unwinder.entries[&ENTRY]);
        let gap = *unwinder.entries.entry(IRQ_ENTRY).or_insert(1);
        for _ in 0..random.below(3) {
            call_any(random, &mut stack, functions, 7);
            let at = random.below(functions.len().min(40) as u64) as usize;
            let interrupted = unwinder.known(functions[at].interrupted(random));
            stack.call(random, &interrupted);
            stack.enter(IRQ_ENTRY, gap, OF_KERNEL);
            call_any(random, &mut stack, functions, 3);
            if !stack.is_irq {
                let switching = unwinder.known(Function {
                    site: CodeSite::Call(IRQ_ENTRY - 16 - 16 * random.below(4)),
                    ..Function::any(random, 0)
                });
                stack.call(random, &switching);
                stack.switch();
            }
        }
        call_any(random, &mut stack, functions, 7);
        stack
    });
    assert!(
        ends.whole > 10_000 && ends.new > 1_000 && ends.lost > 100 && ends.interrupted > 100,
        "{ends:?}"
    );
}

/// A function with such a frame.
fn function(address: u64, words: u64, saves: Option<u64>, number: Option<u64>) -> Function {
    Function {
        site: CodeSite::Call(address),
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
    let mut end = |table: &_, stack: &Stack| read(table, stack, &mut room);
    assert_eq!(end(&table, &stack), WalkEnd::New(0));
    unwinder.learn(&table, &stack, 0);
    assert_eq!(end(&table, &stack), WalkEnd::New(1));
    unwinder.learn(&table, &stack, 1);
    assert_eq!(end(&table, &stack), WalkEnd::Whole(2));
    // A hook of the return has its own address there.
    let place = stack.task.len() - 4;
    stack.task[place] = hook;
    assert_eq!(end(&table, &stack), WalkEnd::New(1));
    table.give_up(CodeSite::Call(hook));
    assert_eq!(end(&table, &stack), WalkEnd::Other);
    // What is known is not given up.
    table.give_up(CodeSite::Call(caller));
    stack.task[place] = entry;
    assert_eq!(end(&table, &stack), WalkEnd::Whole(2));
    // No address of the kernel's code, though the lower half is that of one.
    let half = CodeSite::Call(entry & 0xffff_ffff);
    stack.task[place] = half.address();
    assert_eq!(end(&table, &stack), WalkEnd::New(1));
    assert!(!table.is_to_ask(half));
    table.give_up(half);
    stack.task[place] = entry;
    assert_eq!(end(&table, &stack), WalkEnd::Whole(2));
    // Registers that are at another place than those of user space.
    let mut other = call(&mut Random::new(1), entry, 1, &[frame]);
    assert_eq!(end(&table, &other), WalkEnd::Other);
    // Out of the stack.
    other.task.truncate(2);
    assert_eq!(end(&table, &other), WalkEnd::Other);
    // Code has gone.
    table.forget();
    assert_eq!(end(&table, &stack), WalkEnd::New(0));
}

/// An interrupt on the stack of the task: its callers, and then those of what it interrupted.
#[test]
fn what_was_interrupted_is_another_site_than_a_call() {
    let (table, mut random) = (table(), Random::new(1));
    let (caller, irq) = (TEXT + 16, TEXT + 32);
    let frame = function(caller, 4, None, None);
    let interrupted = Function {
        site: CodeSite::Interrupted(caller),
        ..function(caller, 7, Some(3), None)
    };
    let mut unwinder = Unwinder::of(
        &[frame, interrupted, function(irq, 3, None, None)],
        ENTRY,
        0,
    );
    unwinder.entries.insert(IRQ_ENTRY, 1);
    let mut stack = call(&mut random, ENTRY, 0, &[frame, interrupted]);
    stack.enter(IRQ_ENTRY, 1, OF_KERNEL);
    stack.call(&mut random, &function(irq, 3, None, None));
    let regs = stack.sp() + 4 * 8;
    let mut room = [0; 16];
    let mut end = |table: &_, stack: &Stack| read(table, stack, &mut room);
    (0..2).for_each(|known| unwinder.learn(&table, &stack, known));
    // Of the call in the same function nothing is learned of what was interrupted there, and the other way round.
    unwinder.learn(&table, &stack, 3);
    assert_eq!(end(&table, &stack), WalkEnd::Interrupted(2, regs));
    unwinder.learn(&table, &stack, 2);
    assert_eq!(end(&table, &stack), WalkEnd::New(4));
    unwinder.learn(&table, &stack, 4);
    assert_eq!(end(&table, &stack), WalkEnd::Whole(5));
    // The unwinder goes on from the registers where nothing else is known.
    table.forget();
    (0..5)
        .filter(|known| *known != 2)
        .for_each(|known| unwinder.learn(&table, &stack, known));
    table.give_up(CodeSite::Interrupted(caller));
    assert_eq!(end(&table, &stack), WalkEnd::Interrupted(2, regs));
    // What is interrupted once is not worth to be learned.
    let asked = |times| {
        (0..times)
            .filter(|_| table.is_to_ask(CodeSite::Interrupted(irq)))
            .count()
    };
    assert_eq!([asked(1), asked(1), asked(15)], [0, 1, 0]);
    // The registers are not those that the unwinder tells.
    let stop = |known| unwinder.at(&stack, known);
    let UnwinderStop::Registers(at, SavedRegisters::Kernel(told)) = stop(2) else {
        panic!("{:?}", stop(2));
    };
    for told in [
        StackPoint { bp: 99, ..told },
        StackPoint {
            sp: told.sp + 8,
            ..told
        },
    ] {
        let after = UnwinderStop::Registers(at, SavedRegisters::Kernel(told));
        let step = step_of(&stack, stop(1), after, |_| after);
        assert!(step == step_of(&stack, stop(1), UnwinderStop::Other, |_| after));
    }
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
    let end = |before, after| {
        let step = step_of(&stack, before, after, |_| after);
        step.map(|step| {
            let table = table();
            table.learn(CodeSite::Call(caller), step);
            walk(&table, &stack, point, &mut [0; 16])
        })
    };
    let call = UnwinderStop::Call(point);
    assert_eq!(end(UnwinderStop::Other, UnwinderStop::End), None);
    assert_eq!(end(call, UnwinderStop::End), Some(WalkEnd::Whole(1)));
    assert_eq!(end(call, UnwinderStop::Other), Some(WalkEnd::Other));
    let untold = step_of(&stack, call, UnwinderStop::Other, |_| call);
    // Registers that do not depend on the stack pointer alone, or are on another stack.
    let user = |regs| UnwinderStop::Registers(regs, SavedRegisters::User);
    let regs = user(TOP - REGS);
    assert!(untold == step_of(&stack, call, regs, user));
    let mut other = stack.clone();
    other.switch();
    let from = UnwinderStop::Call(other.point());
    assert!(untold == step_of(&other, from, regs, |_| regs));
    // A caller on another stack, and no switch.
    other.irq.push(0);
    let (from, to) = (
        UnwinderStop::Call(other.point()),
        UnwinderStop::Call(StackPoint {
            address: other.task[0],
            sp: TOP,
            bp: 0,
        }),
    );
    assert!(untold == step_of(&other, from, to, |_| to));
    // The address at the frame's end is not that which the unwinder tells: a hook of returns.
    let behind = UnwinderStop::Call(StackPoint {
        sp: stack.sp() + 8,
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
                match read(&table, &stack, &mut room) {
                    WalkEnd::Whole(found) => assert_eq!(room[..found], stack.addresses()),
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
    let to_ask = |address| table.is_to_ask(CodeSite::Call(address));
    let asked = |address| (0..160).filter(|_| to_ask(address)).count();
    assert_eq!(asked(TEXT), 10);
    assert_eq!(asked(TEXT + 16), 10);
    // In turn.
    let both = (0..320).filter(|at| to_ask(TEXT + 16 * (at % 2)));
    assert_eq!(both.count(), 20);
}
