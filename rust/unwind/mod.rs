// SPDX-License-Identifier: GPL-2.0
//! What is known of the kernel's functions: how the unwinder goes on to their callers. A stack of such functions is read
//! without it.
//!
//! The place where a function's caller goes on is, for most calls in it, as far from the stack pointer, or from the frame
//! pointer, each time: the compiler has said so, once for each address, in a table that the kernel does not export. So
//! each step is learned of the unwinder itself, when it is taken first, and counts until a module goes.
//!
//! What is found in this way is what the unwinder would find: a step depends on nothing but the address and on the
//! words that a walk reads as well. Where it does, or is not known, the unwinder is asked for the whole stack; or, after
//! the callers of an interrupt, for those of what was interrupted.
//!
//! - `frames`: the steps that are known.
//! - `learn`: what a step of the unwinder tells.
//! - `walk`: a stack is read by them.

pub(crate) mod frames;
pub(crate) mod learn;
pub(crate) mod walk;
