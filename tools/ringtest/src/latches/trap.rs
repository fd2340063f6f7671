// SPDX-License-Identifier: GPL-2.0
//! Runs code on a processor that stops after each instruction.

use std::arch::asm;
use std::cell::Cell;

/// As in the kernel's `struct ucontext` of x86-64: what precedes the registers, and these.
#[repr(C)]
pub struct Stopped {
    front: [u64; 5],
    registers: [u64; 17],
}

const RDX: usize = 12;
const RAX: usize = 13;
const RIP: usize = 16;

extern "C" {
    /// The kernel hands all three to every handler.
    fn signal(number: i32, handler: extern "C" fn(i32, *const u8, *mut Stopped)) -> usize;
}

const SIGTRAP: i32 = 5;

thread_local! {
    /// What runs after each instruction of this thread.
    static ON_STEP: Cell<Option<fn()>> = const { Cell::new(None) };
    /// What `rdtsc` reads there.
    static COUNTER: Cell<u64> = const { Cell::new(0) };
}

extern "C" fn on_trap(_signal: i32, _info: *const u8, stopped: *mut Stopped) {
    // SAFETY: The kernel made it for this handler, and no other code has it meanwhile.
    let registers = unsafe { &mut (*stopped).registers };
    // SAFETY: The previous instruction was just executed; the shortest have one byte, and what
    // precedes it is code, too.
    let front = unsafe { *((registers[RIP] - 2) as *const [u8; 2]) };
    if front == [0x0f, 0x31] {
        registers[RAX] = COUNTER.get() & u64::from(u32::MAX);
        registers[RDX] = COUNTER.get() >> 32;
    }
    if let Some(on_step) = ON_STEP.get() {
        on_step();
    }
}

/// Runs `f`; `rdtsc` reads `counter` there, and `on_step` runs after each instruction. It uses
/// atomic words alone.
pub fn in_steps<R>(counter: u64, on_step: Option<fn()>, f: impl FnOnce() -> R) -> R {
    COUNTER.set(counter);
    ON_STEP.set(on_step);
    // SAFETY: No other code here uses this signal, and the handler is always this one.
    unsafe { signal(SIGTRAP, on_trap) };
    // SAFETY: Sets the trap flag: the handler runs after each instruction from here on.
    unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    let result = f();
    // SAFETY: Clears the trap flag that was set above.
    unsafe { asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq") };
    result
}

/// Runs `f` with this counter.
pub fn at_counter<R>(counter: u64, f: impl FnOnce() -> R) -> R {
    in_steps(counter, None, f)
}
