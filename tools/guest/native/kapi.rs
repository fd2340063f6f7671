// SPDX-License-Identifier: GPL-2.0

//! rtrace's `kapi`, as far as rings need it.

pub(crate) mod clock;
#[path = "../../../rust/kapi/cpus.rs"]
pub(crate) mod cpus;
#[path = "../../../rust/kapi/pages.rs"]
pub(crate) mod pages;
#[path = "../../../rust/kapi/percpu.rs"]
pub(crate) mod percpu;
#[path = "../../../rust/kapi/port.rs"]
pub(crate) mod port;
#[path = "../../../rust/kapi/words.rs"]
pub(crate) mod words;

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
        pub(crate) unsafe fn rt_subbuf_alloc(cpu: c_uint, order: c_uint) -> *mut c_void;
        pub(crate) safe fn rt_page_of(address: *const c_void) -> *mut bindings::page;
        pub(crate) safe fn rt_totalram_pages() -> c_ulong;
        pub(crate) safe fn rt_cond_resched();
        pub(crate) safe fn rt_fatal_signal_pending() -> bool;
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
