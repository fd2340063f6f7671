// SPDX-License-Identifier: GPL-2.0

//! A file with machine code of known bytes, mapped as programs are, for probes in programs.

use crate::check::Check;
use crate::maps::{Area, EXEC, PAGE, PRIVATE, READ, WRITE};
use crate::sys;
use std::fs::File;
use std::path::PathBuf;

/// Offset of a function that returns the sum of its first two parameters. It begins with an instruction of one byte
/// that does nothing.
pub const SUM: usize = 0;
/// Offset of the instruction that adds.
pub const ADDS: usize = 1;
/// Offset of a function that returns the word that its second parameter points to. It begins with a push.
pub const WORD: usize = 0x10;
/// Offset of a function that calls its first parameter.
pub const CALLS: usize = 0x20;
/// Offset of a function that calls itself as often as its first parameter says.
pub const RECURSES: usize = 0x40;
/// Offset of a string.
pub const TEXT: usize = 0x80;
/// Offset of a word that counts probes, in a page that is writable.
pub const COUNTER: usize = PAGE + 0x20;

/// What the string is.
pub const TEXT_THERE: &str = "in the file";

const CODE: &[(usize, &[u8])] = &[
    // nop; lea rax, [rdi + rsi]; ret
    (SUM, &[0x90, 0x48, 0x8d, 0x04, 0x37, 0xc3]),
    // push rbp; mov rbp, rsp; mov rax, [rsi]; pop rbp; ret
    (
        WORD,
        &[0x55, 0x48, 0x89, 0xe5, 0x48, 0x8b, 0x06, 0x5d, 0xc3],
    ),
    // sub rsp, 8; call rdi; add rsp, 8; ret
    (
        CALLS,
        &[
            0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3,
        ],
    ),
    // test rdi, rdi; je +8; dec rdi; call itself; ret
    (
        RECURSES,
        &[
            0x48, 0x85, 0xff, 0x74, 0x08, 0x48, 0xff, 0xcf, 0xe8, 0xf3, 0xff, 0xff, 0xff, 0xc3,
        ],
    ),
    (TEXT, TEXT_THERE.as_bytes()),
];

/// The file, mapped in this process; removed when this goes.
pub struct Program {
    pub path: PathBuf,
    code: Area,
    data: Area,
}

impl Program {
    /// Writes and maps the file of that name.
    pub fn new(name: &str) -> Check<Self> {
        let path = PathBuf::from(format!("/tmp/{name}"));
        let mut bytes = vec![0; 2 * PAGE];
        for (at, code) in CODE {
            bytes[*at..at + code.len()].copy_from_slice(code);
        }
        let write = || {
            std::fs::create_dir_all("/tmp")?;
            let _ = std::fs::remove_file(&path);
            std::fs::write(&path, &bytes)?;
            File::open(&path)
        };
        let file = match write() {
            Ok(file) => file,
            Err(error) => fail!("{}: {error}", path.display()),
        };
        let map = |access, offset| {
            let area = Area::of(&file, PAGE, access, PRIVATE, offset);
            area.map_err(|error| format!("map {}: {error:?}", path.display()))
        };
        let (code, data) = (map(READ | EXEC, 0)?, map(READ | WRITE, PAGE)?);
        Ok(Self { path, code, data })
    }

    /// Calls the function at `offset`.
    pub fn call(&self, offset: usize, parameters: [usize; 3]) -> usize {
        sys::call_code(self.code.address() + offset, parameters)
    }

    /// The address of a byte of the file.
    pub fn address(&self, offset: usize) -> usize {
        match offset.checked_sub(PAGE) {
            Some(offset) => self.data.address() + offset,
            None => self.code.address() + offset,
        }
    }

    /// How often the word that counts probes was counted up.
    pub fn counted(&self) -> u64 {
        self.data.word(COUNTER - PAGE) & 0xffff
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
