// SPDX-License-Identifier: GPL-2.0

//! The stacks of the kernel that a CPU uses: that of the current task, and that of the CPU's interrupts.

use super::{
    c,
    words::LocalU64, //
};
use crate::{
    ring::port::LocalWord,
    unwind::{
        learn::LearnedStack,
        walk::{
            SavedRegisters,
            StackPoint,
            WordStack, //
        }, //
    }, //
};
use core::arch::asm;
use kernel::types::NotThreadSafe;

/// The bytes of the stack of a task.
const SIZE: u64 = c::RT_STACK_SIZE as u64;
const WORD: u64 = u64::BITS as u64 / 8;
/// Where the registers of user space are on a stack.
const USER_REGS: u64 = c::RT_USER_REGS as u64;
/// The bytes of the stack of a CPU's interrupts.
const IRQ_SIZE: u64 = c::RT_IRQ_STACK_SIZE as u64;

/// Returns how many bytes of a stack are used up to `address`, if it is on the stack of a task.
#[inline(always)]
pub(crate) fn depth(address: u64) -> u64 {
    SIZE.wrapping_sub(address & SIZE.wrapping_sub(1))
}

/// A part of the stack of the current task, from an address to where the stack began.
///
/// # Invariants
///
/// It is a multiple of 8 bytes from `from` to the end of the stack, and stays with the task.
pub(crate) struct TaskStack {
    from: u64,
    _of_task: NotThreadSafe,
}

impl TaskStack {
    /// Returns the part from `address`, if that is on the stack of the current task, and not on that of an
    /// interrupt. Any context.
    pub(crate) fn of_current(address: u64) -> Option<Self> {
        let offset = address.checked_sub(c::rt_task_stack() as u64)?;
        let is_there = offset < SIZE && address % WORD == 0;
        // INVARIANT: The stack is aligned to its size, which is a multiple of a word.
        is_there.then_some(Self {
            from: address,
            _of_task: NotThreadSafe,
        })
    }

    /// Returns the bytes of the part.
    pub(crate) fn bytes(&self) -> u64 {
        depth(self.from)
    }

    /// Returns its words.
    pub(crate) fn words(&self) -> usize {
        (self.bytes() / WORD) as usize
    }

    /// Returns the bytes from a word on.
    pub(crate) fn bytes_from(&self, at: usize) -> u64 {
        self.bytes()
            .saturating_sub((at as u64).saturating_mul(WORD))
    }

    /// Returns a word; 0 for one that is not in the part.
    pub(crate) fn word(&self, at: usize) -> u64 {
        let address = self.from.saturating_add((at as u64).saturating_mul(WORD));
        StackPart::of(self).word(address).unwrap_or(0)
    }
}

/// A part of a stack, or nothing.
///
/// # Invariants
///
/// It is mapped for as long as this is there, and consists of whole words.
#[derive(Clone, Copy)]
struct StackPart {
    from: u64,
    bytes: u64,
}

impl StackPart {
    // INVARIANT: There is nothing that would have to be mapped.
    const NONE: Self = Self { from: 0, bytes: 0 };

    /// Returns the part that `stack` is.
    #[inline(always)]
    fn of(stack: &TaskStack) -> Self {
        // INVARIANT: That of the stack, which its type keeps to the task.
        Self {
            from: stack.from,
            bytes: stack.bytes(),
        }
    }

    /// Returns whether the word at `address` is in it.
    #[inline(always)]
    fn has(&self, address: u64) -> bool {
        // A number that is none of a word's is a large one when its lower bits are the upper ones.
        let offset = address.wrapping_sub(self.from);
        offset.rotate_right(WORD.trailing_zeros()) < self.bytes / WORD
    }

    /// Returns that word.
    #[inline(always)]
    fn word(&self, address: u64) -> Option<u64> {
        if !self.has(address) {
            return None;
        }
        let word: u64;
        // SAFETY: It reads a word of a stack that is mapped (invariant, and compared above). No sanitizer sees the
        // instruction: to them what is between the variables of a function is no memory.
        unsafe {
            asm!("mov {word}, qword ptr [{address}]", word = out(reg) word, address = in(reg) address,
                options(nostack, preserves_flags, readonly))
        };
        Some(word)
    }
}

/// Where the stack of a CPU's interrupts ends, once that is known. It stays there.
///
/// # Invariants
///
/// The number is 0 or what the kernel has said.
pub(super) struct IrqStackEnd(LocalU64);

impl IrqStackEnd {
    /// Returns one that is not known.
    pub(super) fn unknown() -> Self {
        // INVARIANT: It is 0.
        Self(LocalWord::new(0))
    }

    /// Returns it, if the current stack is that of interrupts of this CPU, which has this.
    fn get(&self) -> Option<u64> {
        if self.0.get() == 0 {
            // INVARIANT: The kernel says so, or 0.
            self.0.set(c::rt_irq_stack_end() as u64);
        }
        Some(self.0.get()).filter(|end| *end != 0)
    }
}

/// The stacks that callers of a probe are on.
pub(crate) struct KernelStacks {
    task: StackPart,
    irq: StackPart,
    _of_cpu: NotThreadSafe,
}

impl KernelStacks {
    /// Returns those from `sp` on, the stack pointer of a probe, on the stack of the current task or on that of interrupts
    /// of this CPU, whose end is `end`: not in an NMI, which has another one. Any context; preemption is disabled while the
    /// result is used.
    pub(super) fn of_probe(sp: u64, end: &IrqStackEnd) -> Option<Self> {
        if let Some(stack) = TaskStack::of_current(sp) {
            return Some(Self::of_task(stack));
        }
        let bytes = end.get()?.wrapping_sub(sp);
        let stack = TaskStack::of_current(c::rt_task_stack() as u64)?;
        (bytes <= IRQ_SIZE && sp % WORD == 0).then_some(Self {
            // INVARIANT: It is a part of the stack of this CPU's interrupts.
            irq: StackPart { from: sp, bytes },
            ..Self::of_task(stack)
        })
    }

    fn of_task(stack: TaskStack) -> Self {
        Self {
            task: StackPart::of(&stack),
            irq: StackPart::NONE,
            _of_cpu: NotThreadSafe,
        }
    }
}

/// Returns what the registers at `address` are, whose words `word` gives.
#[inline(always)]
fn registers_at(address: u64, word: impl Fn(u64) -> Option<u64>) -> Option<SavedRegisters> {
    let at = |offset| word(address.wrapping_add(u64::from(offset)));
    // The lower bits are the level of privileges.
    if at(c::RT_SAVED_CS)? & 3 != 0 {
        let is_first = address & SIZE.wrapping_sub(1) == USER_REGS;
        return is_first.then_some(SavedRegisters::User);
    }
    Some(SavedRegisters::Kernel(StackPoint {
        address: at(c::RT_SAVED_IP)?,
        sp: at(c::RT_SAVED_SP)?,
        bp: at(c::RT_SAVED_BP)?,
    }))
}

impl WordStack for TaskStack {
    #[inline(always)]
    fn word(&self, address: u64) -> Option<u64> {
        StackPart::of(self).word(address)
    }

    #[inline(always)]
    fn registers(&self, address: u64) -> Option<SavedRegisters> {
        registers_at(address, |address| WordStack::word(self, address))
    }

    fn before_switch(&self, _address: u64) -> Option<u64> {
        None
    }
}

impl WordStack for KernelStacks {
    #[inline(always)]
    fn word(&self, address: u64) -> Option<u64> {
        self.task.word(address).or_else(|| self.irq.word(address))
    }

    #[inline(always)]
    fn registers(&self, address: u64) -> Option<SavedRegisters> {
        registers_at(address, |address| self.word(address))
    }

    #[inline(always)]
    fn before_switch(&self, address: u64) -> Option<u64> {
        let last = self
            .irq
            .from
            .wrapping_add(self.irq.bytes)
            .wrapping_sub(WORD);
        (address == last).then(|| self.irq.word(address)).flatten()
    }
}

impl LearnedStack for KernelStacks {
    fn are_together(&self, one: u64, other: u64) -> bool {
        [self.task, self.irq]
            .iter()
            .any(|part| part.has(one) && part.has(other))
    }
}
