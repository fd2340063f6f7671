// SPDX-License-Identifier: GPL-2.0

//! An instance that is nothing but rings.

use crate::{
    buffers::Buffers,
    kapi::{
        clock::ClockId,
        words::SharedU64, //
    },
    probes::Sink,
    ring::port::SharedWord, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*,
    sync::Arc, //
};

#[pin_data]
pub(crate) struct Instance {
    #[pin]
    sink: Sink,
}

impl Instance {
    /// Its rings.
    pub(crate) fn buffers(&self) -> &Buffers {
        self.sink.buffers()
    }
}

/// The two instances: one that has room for all events of a row and refuses more, and a small one that
/// overwrites. Both as large as the kernel's ring buffers in rtbench's `kernel_ring.c`.
pub(crate) mod registry {
    use super::*;
    use core::{
        mem::offset_of,
        ptr::{
            null_mut,
            with_exposed_provenance_mut, //
        }, //
    };

    const ROOM: usize = 16 << 20;
    const SMALL: usize = 256 << 10;

    struct Both {
        room: Arc<Instance>,
        small: Arc<Instance>,
    }

    /// Address of [`Both`], 0 without.
    static BOTH: SharedU64 = SharedU64::zero();

    fn make(size: usize, overwrite: bool) -> Result<Arc<Instance>> {
        let buffers = Buffers::new(size / PAGE_SIZE, overwrite)?;
        Arc::pin_init(
            pin_init!(Instance {
                sink <- Sink::new(buffers),
            }),
            GFP_KERNEL,
        )
    }

    /// # Safety
    ///
    /// Called once before everything else.
    pub(crate) unsafe fn fill() -> Result {
        let both = Both {
            room: make(ROOM, false)?,
            small: make(SMALL, true)?,
        };
        let both = KBox::into_raw(KBox::new(both, GFP_KERNEL)?);
        BOTH.store(both.expose_provenance() as u64);
        Ok(())
    }

    /// # Safety
    ///
    /// Called once, after everything else.
    pub(crate) unsafe fn empty() {
        let both = with_exposed_provenance_mut::<Both>(BOTH.load() as usize);
        // SAFETY: `fill` made it, and the caller uses it no more.
        drop(unsafe { KBox::from_raw(both) });
    }

    /// RING.CLOCK: `room`, `small` or `off`, the first one with recording off; and `called` or `inline`.
    fn find(name: &CStr) -> Result<Arc<Instance>> {
        let both = with_exposed_provenance_mut::<Both>(BOTH.load() as usize);
        // SAFETY: `fill` has made it.
        let both = unsafe { &*both };
        let (inst, off, clock) = match name.to_bytes() {
            b"room.called" => (&both.room, false, ClockId::Called),
            b"room.inline" => (&both.room, false, ClockId::Inline),
            b"small.called" => (&both.small, false, ClockId::Called),
            b"small.inline" => (&both.small, false, ClockId::Inline),
            b"off.called" => (&both.room, true, ClockId::Called),
            b"off.inline" => (&both.room, true, ClockId::Inline),
            _ => return Err(ENOENT),
        };
        inst.sink.set_clock(clock);
        // SAFETY: Rows and this come one after the other: they are parameters of one module.
        unsafe { inst.buffers().reset(off, clock) };
        Ok(inst.clone())
    }

    /// Opens the instance `name`, which is empty then: as in rtrace a handle is what a writer uses of it, and holds a
    /// reference to it. Returns null for other names.
    #[no_mangle]
    extern "C" fn rtrace_test_open(name: *const c_char) -> *mut c_void {
        // SAFETY: The caller passes a string.
        match find(unsafe { CStr::from_char_ptr(name) }) {
            Ok(inst) => {
                let inst = Arc::into_raw(inst);
                // SAFETY: Just now the address of an instance.
                (unsafe { &raw const (*inst).sink }).cast_mut().cast()
            }
            Err(_) => null_mut(),
        }
    }

    /// Closes a handle.
    ///
    /// # Safety
    ///
    /// It is from [`rtrace_test_open`], not closed, and used no more.
    #[no_mangle]
    unsafe extern "C" fn rtrace_test_close(handle: *mut c_void) {
        let inst = handle
            .wrapping_byte_sub(offset_of!(Instance, sink))
            .cast::<Instance>();
        // SAFETY: `rtrace_test_open` gave this reference away, and the caller closes it once.
        drop(unsafe { Arc::from_raw(inst) });
    }
}
