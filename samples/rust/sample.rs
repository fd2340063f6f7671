// SPDX-License-Identifier: GPL-2.0

//! A Rust module with a tracepoint of its own, in rtrace as in ftrace.
//!
//! Each write to `/dev/rtrace_sample` is an event: `echo hello > /dev/rtrace_sample`.

use kernel::{
    error::to_result,
    fs::{
        File,
        Kiocb, //
    },
    iov::IovIterSource,
    miscdevice::{
        MiscDevice,
        MiscDeviceOptions,
        MiscDeviceRegistration, //
    },
    prelude::*,
};

// As in glue.h.
extern "C" {
    fn sample_trace_write(length: usize, begin: *const u8, begin_length: usize);
    fn sample_register() -> c_int;
    fn sample_unregister();
}

/// Bytes of a write that its event shows.
const SHOWN: usize = 16;

/// Keeps the module's events registered in rtrace.
struct Events;

impl Events {
    fn register() -> Result<Self> {
        // SAFETY: The module is being loaded, and its tables are part of it.
        to_result(unsafe { sample_register() })?;
        Ok(Self)
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        // SAFETY: `register` has registered them, and this drops them once.
        unsafe { sample_unregister() };
    }
}

/// An open `/dev/rtrace_sample`.
struct Device;

#[vtable]
impl MiscDevice for Device {
    type Ptr = KBox<Self>;

    fn open(_file: &File, _misc: &MiscDeviceRegistration<Self>) -> Result<KBox<Self>> {
        Ok(KBox::new(Self, GFP_KERNEL)?)
    }

    fn write_iter(_kiocb: Kiocb<'_, Self::Ptr>, iov: &mut IovIterSource<'_>) -> Result<usize> {
        let length = iov.len();
        let mut bytes = [0; SHOWN];
        let shown = iov.copy_from_iter(&mut bytes);
        if shown < length.min(SHOWN) {
            return Err(EFAULT);
        }
        // SAFETY: `bytes` is an array, and its first `shown` bytes have been filled.
        unsafe { sample_trace_write(length, bytes.as_ptr(), shown) };
        Ok(length)
    }
}

// The device goes first: a program that writes to it needs the tracepoint.
#[pin_data]
struct Sample {
    #[pin]
    _device: MiscDeviceRegistration<Device>,
    _events: Events,
}

impl kernel::InPlaceModule for Sample {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            _events: Events::register()?,
            _device <- MiscDeviceRegistration::register(MiscDeviceOptions {
                name: c"rtrace_sample",
            }),
        })
    }
}

module! {
    type: Sample,
    name: "rtrace_sample_rust",
    authors: ["rtrace"],
    description: "rtrace sample: a tracepoint that Rust code calls",
    license: "GPL",
}
