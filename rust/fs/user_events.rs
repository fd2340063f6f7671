// SPDX-License-Identifier: GPL-2.0

//! `user_events_data` and `user_events_status`: events that programs define and write themselves.
//!
//! The interface is the kernel's, `include/uapi/linux/user_events.h`: a program registers a definition and a bit in
//! its memory by an ioctl, gets an index, and while the bit is set writes records that begin with the index.

use super::{
    file::{
        FileIdentity,
        FileKind,
        Handler::{
            List,
            Own, //
        },
        TraceFile, //
    },
    text_file::no_memory,
    tree::{
        entry,
        EntryKind::File,
        EntryPlace::TopOnly,
        TreeEntry,
        WRITE, //
    },
};
use crate::{
    kapi::compat,
    output::Text,
    sources::user_events::{
        self,
        UserEventUse, //
    },
    user_events::request::{
        self,
        ProgramRegistration, //
    }, //
};
use kernel::{
    iov::IovIterSource,
    prelude::*,
    uaccess::{
        UserPtr,
        UserSlice,
        UserSliceReader, //
    }, //
};

/// Bytes of the index that a record begins with.
const INDEX: usize = 4;

/// The files.
static ENTRIES: &[TreeEntry] = &[
    entry(
        c"user_events_data",
        TopOnly,
        File(Own(WRITE, FileKind::Records, UserEventsData::open)),
    ),
    entry(c"user_events_status", TopOnly, File(List(show_status))),
];

/// Returns the files.
pub(super) fn entries() -> impl Iterator<Item = &'static TreeEntry> {
    ENTRIES.iter()
}

/// `user_events_status`.
fn show_status(_at: &FileIdentity<'_>, text: &mut Text) -> Result {
    user_events::write_status(text).map_err(no_memory)
}

/// `user_events_data`, open.
struct UserEventsData {
    /// The events that were registered here, by their index.
    events: KVec<UserEventUse>,
}

impl UserEventsData {
    fn open(_at: &FileIdentity<'_>) -> Result<KBox<dyn TraceFile>> {
        Ok(KBox::new(
            Self {
                events: KVec::new(),
            },
            GFP_KERNEL,
        )?)
    }

    /// Records `len` bytes, of which `read` gets the next ones. Returns `len`.
    ///
    /// # Errors
    ///
    /// `EFAULT` without an index, `EINVAL` and `ENOENT` for one that is none, and those of
    /// [`UserEvent::write`](user_events::UserEvent::write).
    fn record(&self, len: usize, mut read: impl FnMut(&mut [u8]) -> bool) -> Result<usize> {
        let mut index = [0; INDEX];
        let rest = len.checked_sub(INDEX).ok_or(EFAULT)?;
        if !read(&mut index) {
            return Err(EFAULT);
        }
        let index = usize::try_from(i32::from_ne_bytes(index)).map_err(|_| EINVAL)?;
        let event = self.events.get(index).ok_or(ENOENT)?;
        event.write(rest, read)?;
        Ok(len)
    }

    /// Returns the index of `event`, which is a new one unless it was registered here.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn index_of(&mut self, event: &UserEventUse) -> Result<u32> {
        let mut known = self.events.iter();
        let index = match known.position(|known| known.is_same(event)) {
            Some(index) => index,
            None => {
                self.events.push(event.clone(), GFP_KERNEL)?;
                self.events.len().saturating_sub(1)
            }
        };
        Ok(u32::try_from(index)?)
    }

    /// Registers an event and a bit for the current program.
    fn register(&mut self, argument: UserPtr) -> Result {
        let bytes = argument_of::<{ request::REGISTRATION }>(argument)?;
        let asked = ProgramRegistration::read(&bytes)?;
        // Above are the addresses of the kernel.
        i64::try_from(asked.bit.address).map_err(|_| EFAULT)?;
        let memory = user_events::own_memory()?;
        user_events::may_register(&memory, asked.bit)?;
        let definition = text_at(UserPtr::from_addr(asked.definition as usize))?;
        let event = user_events::register(&definition, asked.flags)?;
        let index = self.index_of(&event)?;
        user_events::register_bit(&memory, &event, asked.bit)?;
        let place = argument.wrapping_byte_add(request::WRITE_INDEX);
        // As in the kernel: the event is registered, whether or not the program learns the index.
        let _ = UserSlice::new(place, INDEX).writer().write(&index);
        Ok(())
    }
}

/// Returns an argument, whose first number says how long it is; what a longer one has besides is 0.
///
/// # Errors
///
/// `EFAULT`, `EINVAL` for a shorter one, and `E2BIG` for one that is longer than a page or has more.
fn argument_of<const LEN: usize>(argument: UserPtr) -> Result<[u8; LEN]> {
    let size: u32 = UserSlice::new(argument, INDEX).reader().read()?;
    let size = size as usize;
    if size > request::LONGEST {
        return Err(E2BIG);
    }
    let more = size.checked_sub(LEN).ok_or(EINVAL)?;
    let mut reader = UserSlice::new(argument, size).reader();
    let mut bytes = [0; LEN];
    reader.read_slice(&mut bytes)?;
    let mut rest = compat::zeroed_bytes(more)?;
    reader.read_slice(&mut rest)?;
    match rest.iter().all(|byte| *byte == 0) {
        true => Ok(bytes),
        false => Err(E2BIG),
    }
}

/// Returns the text at `place`, without its NUL.
///
/// # Errors
///
/// `EFAULT`, `EINVAL` for one that is too long, `ENOMEM`.
fn text_at(place: UserPtr) -> Result<KVec<u8>> {
    let mut text = compat::zeroed_bytes(request::LONGEST_DEFINITION.saturating_add(1))?;
    let len = {
        let reader = UserSlice::new(place, text.len()).reader();
        reader.strcpy_into_buf(&mut text)?.to_bytes().len()
    };
    match len < request::LONGEST_DEFINITION {
        true => {
            text.truncate(len);
            Ok(text)
        }
        false => Err(EINVAL),
    }
}

impl TraceFile for UserEventsData {
    fn write(
        &mut self,
        _at: &FileIdentity<'_>,
        input: &mut UserSliceReader,
        pos: &mut i64,
    ) -> Result<usize> {
        if *pos != 0 {
            return Err(EFAULT);
        }
        self.record(input.len(), |to| input.read_slice(to).is_ok())
    }

    fn write_vector(
        &mut self,
        _at: &FileIdentity<'_>,
        input: &mut IovIterSource<'_>,
    ) -> Result<usize> {
        self.record(input.len(), |to| input.copy_from_iter(to) == to.len())
    }

    fn control(&mut self, _at: &FileIdentity<'_>, command: c_uint, argument: UserPtr) -> Result {
        match command {
            request::REGISTER => self.register(argument),
            request::DELETE => user_events::delete(&text_at(argument)?),
            request::UNREGISTER => {
                let bytes = argument_of::<{ request::UNREGISTRATION }>(argument)?;
                let bit = request::read_unregistration(&bytes)?;
                user_events::unregister_bit(&user_events::own_memory()?, bit)
            }
            _ => Err(ENOTTY),
        }
    }
}
