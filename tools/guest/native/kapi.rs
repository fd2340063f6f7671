// SPDX-License-Identifier: GPL-2.0

//! rtrace's `kapi`, as far as rings need it.

pub(crate) mod clock;
#[path = "../../../rust/kapi/pages.rs"]
pub(crate) mod pages;
#[path = "../../../rust/kapi/percpu.rs"]
pub(crate) mod percpu;
#[path = "../../../rust/kapi/port.rs"]
pub(crate) mod port;
#[path = "../../../rust/kapi/raw_cell.rs"]
mod raw_cell;
#[path = "../../../rust/kapi/whole_record.rs"]
pub(crate) mod whole_record;
#[path = "../../../rust/kapi/words.rs"]
pub(crate) mod words;

/// The one CPU.
mod cpus {
    /// Returns one more than the highest number that a CPU can have.
    pub(super) fn most() -> u32 {
        1
    }

    /// Returns whether there can be such a CPU.
    pub(super) fn is_possible(number: u32) -> bool {
        number < most()
    }
}

/// A task that makes rings.
mod task {
    /// Succeeds: no signal is sent to it.
    pub(super) fn go_on() -> kernel::error::Result {
        Ok(())
    }
}

/// What C gives us: `control.c`, and functions of the kernel.
pub(crate) mod c {
    use kernel::{
        bindings,
        ffi::{
            c_long,
            c_uint,
            c_ulong,
            c_void, //
        }, //
    };

    #[allow(non_camel_case_types, reason = "the name of C")]
    #[repr(C)]
    pub(crate) struct rt_reserved {
        pub(crate) entry: *mut c_void,
        pub(crate) token: u64,
    }

    #[expect(improper_ctypes, reason = "a page is the kernel's business")]
    unsafe extern "C" {
        pub(crate) unsafe fn rt_per_cpu_ptr(base: *mut c_void, cpu: c_uint) -> *mut c_void;
        pub(crate) safe fn rt_subbuf_alloc(cpu: c_uint, order: c_uint) -> *mut c_void;
        pub(crate) safe fn rt_page_of(address: *const c_void) -> *mut bindings::page;
        pub(crate) safe fn rt_totalram_pages() -> c_ulong;
        pub(crate) safe fn rt_cond_resched();
        pub(crate) safe fn rt_preempt_disable_notrace();
        pub(crate) unsafe fn rt_preempt_enable_notrace();
        pub(crate) unsafe fn sched_clock() -> u64;
        pub(crate) unsafe fn ktime_get_mono_fast_ns() -> u64;
        pub(crate) safe fn si_mem_available() -> c_long;
        pub(crate) safe fn pcpu_alloc_noprof(
            size: usize,
            align: usize,
            reserved: bool,
            gfp: bindings::gfp_t,
        ) -> *mut c_void;
    }
}
