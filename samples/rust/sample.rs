// SPDX-License-Identifier: GPL-2.0

//! A Rust module with a tracepoint of its own, in rtrace as in ftrace.
//!
//! Each write to `/dev/rtrace_sample` is an event: `echo hello > /dev/rtrace_sample`. How many bytes it had is printed into
//! an instance of the module's own as well, `instances/sample_rust`.

#[path = "../../rust/exports/include/rtrace.rs"]
mod rtrace;

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

/// Keeps the module's instance as long as the module is there.
struct OwnInstance(Option<rtrace::Instance>);

impl OwnInstance {
    /// The name of the instance.
    const NAME: &CStr = c"sample_rust";

    fn make() -> Result<Self> {
        Ok(Self(Some(rtrace::Instance::get(Self::NAME)?)))
    }
}

impl Drop for OwnInstance {
    fn drop(&mut self) {
        if self.0.take().is_some_and(|instance| instance.destroy().is_err()) {
            pr_info!("the instance stays: a user has it\n");
        }
    }
}

/// An open `/dev/rtrace_sample`, which has the module's instance, too.
struct Device {
    instance: rtrace::Instance,
}

#[vtable]
impl MiscDevice for Device {
    type Ptr = KBox<Self>;

    fn open(_file: &File, _misc: &MiscDeviceRegistration<Self>) -> Result<KBox<Self>> {
        let instance = rtrace::Instance::get(OwnInstance::NAME)?;
        Ok(KBox::new(Self { instance }, GFP_KERNEL)?)
    }

    fn write_iter(kiocb: Kiocb<'_, Self::Ptr>, iov: &mut IovIterSource<'_>) -> Result<usize> {
        let length = iov.len();
        let mut bytes = [0; SHOWN];
        let shown = iov.copy_from_iter(&mut bytes);
        if shown < length.min(SHOWN) {
            return Err(EFAULT);
        }
        // SAFETY: `bytes` is an array, and its first `shown` bytes have been filled.
        unsafe { sample_trace_write(length, bytes.as_ptr(), shown) };
        let first = bytes.first().copied().unwrap_or(0);
        rtrace::print!(kiocb.file().instance, "{length} bytes, the first {first:#04x}\n");
        Ok(length)
    }
}

// The device goes first: a program that writes to it needs the tracepoint and the instance.
#[pin_data]
struct Sample {
    #[pin]
    _device: MiscDeviceRegistration<Device>,
    _events: Events,
    _instance: OwnInstance,
}

impl kernel::InPlaceModule for Sample {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            _events: Events::register()?,
            _instance: OwnInstance::make()?,
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
    description: "rtrace sample: a tracepoint that Rust code calls, and an instance of its own",
    license: "GPL",
}
