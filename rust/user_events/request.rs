// SPDX-License-Identifier: GPL-2.0

//! The arguments of the ioctls of `user_events_data`: packed structures, whose first field is their size.

use super::WrongUserEvent;
use crate::event::field_type::{
    number,
    part, //
};

/// The ioctl by which a program registers an event.
pub(crate) const REGISTER: u32 = 0xc008_2a00;
/// The ioctl by which it deletes one.
pub(crate) const DELETE: u32 = 0x4008_2a01;
/// The ioctl by which it ends that a bit is set.
pub(crate) const UNREGISTER: u32 = 0x4008_2a02;

/// Bytes of a [`ProgramRegistration`].
pub(crate) const REGISTRATION: usize = 28;
/// Where the index is that a registration returns.
pub(crate) const WRITE_INDEX: usize = 24;
/// Bytes of what [`read_unregistration`] reads.
pub(crate) const UNREGISTRATION: usize = 16;
/// Most bytes of an argument.
pub(crate) const LONGEST: usize = 4096;
/// Most bytes of a definition, its NUL included.
pub(crate) const LONGEST_DEFINITION: usize = 512;

/// The event stays when nothing uses it any more.
pub(crate) const PERSIST: u16 = 1;
/// There may be other events of this name.
pub(crate) const MULTI_FORMAT: u16 = 2;

/// A bit in the memory of a program that is set while an event is enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EnableBit {
    pub(crate) address: u64,
    pub(crate) bit: u8,
}

/// What a program registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProgramRegistration {
    pub(crate) bit: EnableBit,
    /// Bytes of the word that has the bit: 4 or 8.
    pub(crate) word: u8,
    pub(crate) flags: u16,
    /// The address of the definition.
    pub(crate) definition: u64,
}

/// Returns the number of `size` bytes at `at`.
fn field(bytes: &[u8], at: u32, size: u32) -> u64 {
    number(part(bytes, at, size).unwrap_or_default())
}

impl ProgramRegistration {
    /// Reads the argument.
    ///
    /// # Errors
    ///
    /// That it has flags of which the kernel knows nothing, or no bit of a word of 4 or 8 bytes at an address that
    /// is a multiple of them.
    pub(crate) fn read(bytes: &[u8; REGISTRATION]) -> Result<Self, WrongUserEvent> {
        let read = Self {
            bit: EnableBit {
                address: field(bytes, 8, 8),
                bit: field(bytes, 4, 1) as u8,
            },
            word: field(bytes, 5, 1) as u8,
            flags: field(bytes, 6, 2) as u16,
            definition: field(bytes, 16, 8),
        };
        let mask = u64::from(read.word).wrapping_sub(1);
        let is_right = read.flags & !(PERSIST | MULTI_FORMAT) == 0
            && matches!(read.word, 4 | 8)
            && read.bit.address & mask == 0
            && read.bit.bit < read.word.saturating_mul(8);
        is_right.then_some(read).ok_or(WrongUserEvent)
    }
}

/// Reads the argument by which a program ends that a bit is set.
///
/// # Errors
///
/// That a field is not 0 that has to be.
pub(crate) fn read_unregistration(
    bytes: &[u8; UNREGISTRATION],
) -> Result<EnableBit, WrongUserEvent> {
    let bit = EnableBit {
        address: field(bytes, 8, 8),
        bit: field(bytes, 4, 1) as u8,
    };
    (field(bytes, 5, 3) == 0)
        .then_some(bit)
        .ok_or(WrongUserEvent)
}

impl EnableBit {
    /// Returns the address of the 8 bytes that have it, and its number there.
    pub(crate) fn in_word(self) -> (u64, u8) {
        match self.address & 7 {
            0 => (self.address, self.bit),
            _ => (self.address & !7, self.bit.saturating_add(32)),
        }
    }
}
