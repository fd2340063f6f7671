// SPDX-License-Identifier: GPL-2.0

//! A Rust module with an event of its own that needs no C and no tracepoint: only rtrace has it.
//!
//! Each write to `/dev/rtrace_event` is one: `echo hello > /dev/rtrace_event`.

#[path = "../../rust/exports/include/rtrace.rs"]
mod rtrace;

use kernel::{
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

rtrace::event! {
    /// The device was written to: how many bytes, what they begin with, and whether that is all.
    DeviceWrite = "rtrace_sample_event:device_write"(
        length: usize,
        begin: &[u8],
        what: &str,
        whole: bool,
    );
}

/// Bytes of a write that its event shows.
const SHOWN: usize = 16;

/// An open `/dev/rtrace_event`.
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
        let begin = bytes.get(..shown).unwrap_or_default();
        let what = match begin.is_ascii() {
            true => "text",
            false => "bytes",
        };
        DeviceWrite::record(length, begin, what, shown == length);
        Ok(length)
    }
}

// The device goes first.
#[pin_data]
struct Sample {
    #[pin]
    _device: MiscDeviceRegistration<Device>,
    _event: rtrace::DefinedEvent<DeviceWrite>,
}

impl kernel::InPlaceModule for Sample {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            _event: rtrace::DefinedEvent::new()?,
            _device <- MiscDeviceRegistration::register(MiscDeviceOptions {
                name: c"rtrace_event",
            }),
        })
    }
}

module! {
    type: Sample,
    name: "rtrace_sample_event",
    authors: ["rtrace"],
    description: "rtrace sample: an event that Rust code defines and writes",
    license: "GPL",
}
