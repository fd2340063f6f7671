// SPDX-License-Identifier: GPL-2.0

//! The hook of the stack tracer, and the deepest stack of a task that it has seen when a function was called.
//!
//! The hook compares the stack pointer with the deepest one so far, and that is all, but for the call that is
//! deeper. Nothing here waits: a hook that finds another one, or a reader, at the rows leaves them as they are,
//! and so does an NMI.

use super::{
    exit::Exit,
    manner::Nesting, //
};
use crate::{
    kapi::{
        context,
        function_hook,
        hook_registers::EntryRegisters,
        kernel_stacks::{
            self,
            TaskStack, //
        },
        percpu::CpuPin,
        publisher::PublishedRef,
        stack,
        words::SharedU64, //
    },
    ring::port::SharedWord,
    text::depths, //
};
use kernel::prelude::*;

/// The most rows; as many as ftrace has.
const MOST_ROWS: usize = 499;

/// A return address, and how many bytes of the stack are used up to it.
struct StackRow {
    address: SharedU64,
    depth: SharedU64,
}

/// The deepest stack, and how deep it is.
pub(crate) struct DeepestStack {
    /// 1 while the rows are written or read.
    taken: SharedU64,
    /// Bytes of the stack. Users may set any number.
    max: SharedU64,
    count: SharedU64,
    /// The deepest first.
    rows: KVVec<StackRow>,
    /// What the walk of a stack calls is not looked at.
    nesting: Nesting,
}

impl DeepestStack {
    /// Returns that before any call was seen.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        let mut rows = KVVec::with_capacity(MOST_ROWS, GFP_KERNEL)?;
        for _ in 0..MOST_ROWS {
            let row = StackRow {
                address: SharedU64::zero(),
                depth: SharedU64::zero(),
            };
            rows.push(row, GFP_KERNEL)?;
        }
        Ok(Self {
            taken: SharedU64::zero(),
            max: SharedU64::zero(),
            count: SharedU64::zero(),
            rows,
            nesting: Nesting::new()?,
        })
    }

    /// Returns how deep it is, in bytes.
    #[inline(always)]
    pub(crate) fn max(&self) -> u64 {
        self.max.load()
    }

    /// Runs `f` while no other one looks at the rows; not at all if there is another one. Any context.
    fn try_with<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        if !self.taken.cas(0, 1) {
            return None;
        }
        let result = f();
        // Release: pairs with the full order of the next one's `cas`.
        self.taken.store_release(0);
        Some(result)
    }

    /// Sets how deep a stack has to be to be seen. Process context, one caller at a time. Returns whether that
    /// was possible; a hook may be at the rows.
    pub(crate) fn try_set_max(&self, bytes: u64) -> bool {
        self.try_with(|| self.max.store(bytes)).is_some()
    }

    /// Copies the rows to the end of `to`, as far as there is room. Process context, one caller at a time.
    /// Returns whether that was possible; a hook may be at the rows.
    pub(crate) fn try_copy(&self, to: &mut KVec<(u64, u64)>) -> bool {
        let copied = self.try_with(|| {
            let count = self.count.load() as usize;
            for row in self.rows.iter().take(count) {
                let _ = to.push_within_capacity((row.address.load(), row.depth.load()));
            }
        });
        copied.is_some()
    }

    /// Returns the most rows that there can be.
    pub(crate) const fn most_rows() -> usize {
        MOST_ROWS
    }

    /// Notes the stack. Interrupts are disabled, and what is called is not recorded.
    #[inline(never)]
    fn note(&self, address: u64, pin: &CpuPin, stack: &TaskStack) {
        let size = stack.bytes();
        // It may have become deeper meanwhile.
        if size <= self.max.load() {
            return;
        }
        let returns_to = address.wrapping_add(function_hook::CALL);
        stack::with_callers(pin, |callers| {
            let at = callers.iter().position(|caller| *caller == returns_to);
            let (hook, callers) = match at.and_then(|at| callers.split_at_checked(at)) {
                Some(parts) => parts,
                None => return,
            };
            // An interrupt of a hook, or a task switch at its end, is as deep as the hook makes it.
            if hook.iter().any(|caller| callers.contains(caller)) {
                return;
            }
            self.max.store(size);
            let mut rows = self.rows.iter();
            let mut count = 0u64;
            let word = |at| stack.word(at);
            depths::find(callers, stack.words(), word, |caller, at| {
                if let Some(row) = rows.next() {
                    row.address.store(caller);
                    row.depth.store(stack.bytes_from(at));
                    count = count.wrapping_add(1);
                }
            });
            self.count.store(count);
        });
    }
}

/// Where the hook notes what it sees. Hooks that began before another one was set may still follow the one before it.
pub(crate) static DEEPEST: PublishedRef<DeepestStack> = PublishedRef::none();

/// Looks at the stack of the function at `address`.
///
/// # Safety
///
/// Called by the kernel at the beginning of a function, with its registers at `regs`.
#[no_mangle]
unsafe extern "C" fn rtrace_stack(
    address: u64,
    _caller: u64,
    _ops: *mut c_void,
    regs: EntryRegisters<'_>,
) {
    let exit = Exit::begin();
    // SAFETY: Preemption is disabled until `exit` ends, which goes along with what is used of the result.
    let Some(deepest) = (unsafe { DEEPEST.get_unpinned() }) else {
        return exit.end();
    };
    // With the address to which the function returns from the hook.
    let pointer = regs.stack_pointer().wrapping_sub(8);
    if kernel_stacks::depth(pointer) > deepest.max() {
        return deeper(deepest, address, pointer, exit);
    }
    exit.end();
}

/// Goes on with [`rtrace_stack`] where the stack seems to be deeper than all before.
#[inline(never)]
extern "C" fn deeper(deepest: &DeepestStack, address: u64, pointer: u64, exit: Exit) {
    let pin = exit.pin().pin();
    let is_inside = deepest.nesting.is_inside(pin);
    if let Some(stack) = TaskStack::of_current(pointer).filter(|_| !is_inside) {
        if !context::raw().in_nmi() {
            deepest.nesting.enter(pin, false, || {
                deepest.try_with(|| deepest.note(address, pin, &stack));
            });
        }
    }
    exit.end();
}
