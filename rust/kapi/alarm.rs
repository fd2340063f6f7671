// SPDX-License-Identifier: GPL-2.0

//! Reports something that was noticed in any context, NMI included, from one where logging is allowed.

use super::{
    deferred::{
        Deferred,
        DeferredWork, //
    },
    words::SharedU64, //
};
use crate::ring::port::SharedWord;
use kernel::{
    prelude::*,
    str::CString, //
};

/// Something that is reported once, until it is allowed again.
#[pin_data]
pub(crate) struct DeferredWarning {
    #[pin]
    notice: Deferred<Notice>,
}

/// What is reported, and how.
struct Notice {
    /// What was noticed first; 0 is nothing.
    what: SharedU64,
    /// The name of what it is about.
    name: CString,
    /// Reports it. Runs in hardirq context.
    say: fn(&CStr, u64),
}

impl DeferredWork for Notice {
    fn run(&self) {
        let what = self.what.load();
        if what != 0 {
            (self.say)(&self.name, what);
        }
    }
}

impl DeferredWarning {
    /// Returns one that has noticed nothing. `say` gets `name` and what was noticed.
    pub(crate) fn new(name: CString, say: fn(&CStr, u64)) -> impl PinInit<Self> {
        pin_init!(Self {
            notice <- Deferred::new(Notice {
                what: SharedU64::zero(),
                name,
                say,
            }),
        })
    }

    /// Has `what`, which is not 0, reported soon, unless something was noticed before. Any context,
    /// NMI included.
    pub(crate) fn raise(&self, what: u64) {
        if self.notice.what.load() == 0 && self.notice.what.cas(0, what) {
            self.notice.queue();
        }
    }

    /// Has what is noticed from now on reported again.
    pub(crate) fn rearm(&self) {
        self.notice.what.store(0);
    }

    /// Returns when what was raised has been reported. Process context.
    #[cfg(CONFIG_KUNIT = "y")]
    pub(crate) fn wait(&self) {
        self.notice.wait();
    }
}
