// SPDX-License-Identifier: GPL-2.0
//! The shipped ring under weak memory: writer and reader are threads of a model checker.
//!
//! tools/ringtest shows what nested writers and whole calls of a reader do to each other if memory
//! is simple. Here a reader runs beside the writer operation by operation. loom also explores every
//! value that a load may return under the C11 rules, for small rings; shuttle runs larger rings
//! with simple memory. The sources are those of the module itself.

#![deny(warnings)]
// The callers of the ring are in the module, which is not part of this package.
#![allow(dead_code)]

#[path = "../../../rust/hist/map.rs"]
pub mod map;
#[path = "../../../rust/ring/mod.rs"]
pub mod ring;

#[cfg(test)]
mod edges;
#[cfg(test)]
mod machine;
#[cfg(test)]
mod many;
#[cfg(test)]
mod maps;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod storms;
#[cfg(test)]
mod wake;
#[cfg(test)]
mod weak;
#[cfg(test)]
mod world;
