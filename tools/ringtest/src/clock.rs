// SPDX-License-Identifier: GPL-2.0
//! The C side of `rust/kapi/clock`: one of each per-CPU variable, where `gs` of base 0 finds it.

#[path = "../../../rust/kapi/clock/latch.rs"]
pub mod latch;

/// As in `rust/shim/shim.h`.
#[repr(C, align(16))]
pub struct rt_scale {
    pub factor: u64,
    pub sequence: u32,
    pub busy: u32,
}

/// As in `rust/shim/shim.c`.
#[expect(non_upper_case_globals, reason = "the name of C")]
pub static mut rt_scale: rt_scale = rt_scale {
    factor: 0,
    sequence: u32::MAX,
    busy: 0,
};
