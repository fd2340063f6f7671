// SPDX-License-Identifier: GPL-2.0

//! BTF for tests.

use super::{
    MAGIC,
    VERSION, //
};

/// A builder of BTF, type by type; names go to the string table.
pub(crate) struct Builder {
    types: Vec<u8>,
    strings: Vec<u8>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            types: Vec::new(),
            strings: vec![0],
        }
    }

    pub(crate) fn words(&mut self, words: &[u32]) {
        for word in words {
            self.types.extend(word.to_le_bytes());
        }
    }

    pub(crate) fn string(&mut self, text: &str) -> u32 {
        let at = self.strings.len() as u32;
        self.strings.extend(text.bytes());
        self.strings.push(0);
        at
    }

    pub(crate) fn ty(&mut self, name: &str, kind: u8, count: u32, flag: bool, third: u32) {
        let name = self.string(name);
        let info = u32::from(kind) << 24 | count | u32::from(flag) << 31;
        self.words(&[name, info, third]);
    }

    pub(crate) fn member(&mut self, name: &str, ty: u32, offset: u32) {
        let name = self.string(name);
        self.words(&[name, ty, offset]);
    }

    pub(crate) fn build(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend([VERSION, 0]);
        let types = self.types.len() as u32;
        for word in [24, 0, types, types, self.strings.len() as u32] {
            bytes.extend(u32::to_le_bytes(word));
        }
        bytes.extend(&self.types);
        bytes.extend(&self.strings);
        bytes
    }
}

/// Calls `ask` with the bytes cut at each length, which must fail, and with each byte changed,
/// which may do anything but panic.
pub(crate) fn cut_and_flip<T, E>(bytes: &[u8], ask: impl Fn(&[u8]) -> Result<T, E>) {
    for length in 0..bytes.len() {
        assert!(ask(&bytes[..length]).is_err(), "{length}");
    }
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut broken = bytes.to_vec();
            broken[at] = value;
            let _ = ask(&broken);
        }
    }
}
