// SPDX-License-Identifier: GPL-2.0

//! Statically defined probes of programs and libraries (USDT): from the notes of an ELF file to places in it.
//!
//! Each note is a place of a probe: where its instruction is, which word counts the users of the probe, how it is called, and
//! where its arguments are. A file is anyone's, as in [`super::elf`].

use super::elf::{
    entry,
    number,
    Elf,
    FileBytes, //
};

/// Where the notes are.
const NOTES: &str = ".note.stapsdt";
/// Where the linker has put what was at the base that a note has.
const BASE: &str = ".stapsdt.base";
/// What begins a note, and the addresses in it.
const NOTE_HEADER: usize = 12;
const OWNER: [u8; 8] = *b"stapsdt\0";
const KIND: u64 = 3;
const ADDRESSES: usize = 24;
/// Most bytes of the three strings of a note.
const LONGEST: usize = 512;
/// Most bytes of notes that are looked at.
const MOST_BYTES: u64 = 1 << 20;

/// A place of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UsdtSite<'a> {
    /// The offset of its instruction in the file.
    pub(crate) offset: u64,
    /// That of the word that counts its users; 0 if there is none.
    pub(crate) counter: u64,
    /// Where its arguments are, separated by blanks.
    pub(crate) arguments: &'a str,
}

/// Calls `each` with the places of the probe of that provider and that name, in their order. An error of it ends that.
///
/// # Errors
///
/// Those of `each`.
pub(crate) fn for_each_site<E>(
    file: &impl FileBytes,
    (provider, name): (&str, &str),
    each: &mut dyn FnMut(UsdtSite<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let Some(elf) = Elf::of(file) else {
        return Ok(());
    };
    let Some(notes) = elf.section_called(NOTES) else {
        return Ok(());
    };
    let base = elf.section_called(BASE).map(|base| base.address);
    let end = notes.size.min(MOST_BYTES);
    let mut at = 0u64;
    while at < end {
        let place = notes.offset.saturating_add(at);
        let Some(header) = entry::<NOTE_HEADER>(file, (place, 0), 0) else {
            return Ok(());
        };
        let padded = |len: u64| len.saturating_add(3) & !3;
        let owner_len = padded(number::<4>(&header, 0));
        let len = number::<4>(&header, 4);
        let head = (NOTE_HEADER as u64).saturating_add(owner_len);
        let size = head.saturating_add(padded(len));
        if at.saturating_add(size) > notes.size {
            return Ok(());
        }
        at = at.saturating_add(size);
        let owner = entry::<{ OWNER.len() }>(file, (place, NOTE_HEADER as u64), 1);
        if owner != Some(OWNER) || number::<4>(&header, 8) != KIND {
            continue;
        }
        let mut content = [0; ADDRESSES + LONGEST];
        let room = content.get_mut(..(len as usize).min(ADDRESSES + LONGEST));
        let room = room.unwrap_or_default();
        if !file.read(place.saturating_add(head), room) {
            return Ok(());
        }
        let (addresses, strings) = room.split_at_checked(ADDRESSES).unwrap_or_default();
        let mut strings = strings.split(|byte| *byte == 0);
        let mut string = || core::str::from_utf8(strings.next()?).ok();
        let (Some(own_provider), Some(own_name), Some(arguments)) = (string(), string(), string())
        else {
            continue;
        };
        if (own_provider, own_name) != (provider, name) {
            continue;
        }
        let moved = base.map_or(0, |base| base.wrapping_sub(number::<8>(addresses, 8)));
        let offset = elf.offset_of(number::<8>(addresses, 0).wrapping_add(moved), true);
        let counter = match number::<8>(addresses, 16) {
            0 => Some(0),
            address => elf.offset_of(address.wrapping_add(moved), false),
        };
        if let (Some(offset), Some(counter)) = (offset, counter) {
            each(UsdtSite {
                offset,
                counter,
                arguments,
            })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::elf::builder::{for_each_broken, Bytes, FileBuilder};
    use super::*;

    /// A note: owner, kind, addresses, strings.
    fn note(owner: &[u8], kind: u32, addresses: [u64; 3], strings: &str) -> Vec<u8> {
        let mut content: Vec<u8> = addresses.iter().flat_map(|a| a.to_le_bytes()).collect();
        content.extend(strings.bytes());
        let mut note: Vec<u8> = [owner.len() as u32, content.len() as u32, kind]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        for part in [owner, &content] {
            note.extend(part);
            note.resize(note.len().div_ceil(4) * 4, 0);
        }
        note
    }

    fn file(base: Option<u64>) -> Vec<u8> {
        let notes: Vec<u8> = [
            note(b"GNU\0", 3, [0x1410, 0x9000, 0], "libc\0setjmp\0\0"),
            note(
                &OWNER,
                3,
                [0x1410, 0x9000, 0],
                "libc\0setjmp\08@%rdi -4@%esi\0",
            ),
            note(&OWNER, 2, [0x1418, 0x9000, 0], "libc\0setjmp\0\0"),
            note(&OWNER, 3, [0x1420, 0x9000, 0x2008], "libc\0counted\0\0"),
            note(&OWNER, 3, [0x1430, 0x9000, 0], "libc\0setjmp\0-8@$5\0"),
            note(&OWNER, 3, [0x1440, 0x9000, 0], "libm\0setjmp\0\0"),
            note(&OWNER, 3, [0x1600, 0x9000, 0], "libc\0outside\0\0"),
            note(&OWNER, 3, [0x1450, 0x9000, 0x1450], "libc\0counts_code\0\0"),
            note(&OWNER, 3, [0x1450, 0x9000, 0], "libc"),
        ]
        .concat();
        let mut file = FileBuilder::new();
        file.segment(0x400, 0x1400, 0x200, true);
        file.segment(0x800, 0x2000, 0x100, false);
        file.section(NOTES, 7, 0, notes);
        if let Some(base) = base {
            file.section(BASE, 1, base, vec![0]);
        }
        file.finish()
    }

    fn sites(file: &[u8], provider: &str, name: &str) -> Vec<(u64, u64, String)> {
        let mut found = Vec::new();
        let file = Bytes(file.to_vec());
        let ended = for_each_site(&file, (provider, name), &mut |site| {
            found.push((site.offset, site.counter, site.arguments.to_string()));
            Ok::<(), ()>(())
        });
        assert_eq!(ended, Ok(()));
        found
    }

    #[test]
    fn sites_by_name() {
        let whole = file(Some(0x9000));
        let args = |text: &str| text.to_string();
        assert_eq!(
            sites(&whole, "libc", "setjmp"),
            [
                (0x410, 0, args("8@%rdi -4@%esi")),
                (0x430, 0, args("-8@$5"))
            ]
        );
        assert_eq!(sites(&whole, "libm", "setjmp"), [(0x440, 0, args(""))]);
        assert_eq!(sites(&whole, "libc", "counted"), [(0x420, 0x808, args(""))]);
        for name in ["outside", "counts_code", "setjm", "setjmp2", ""] {
            assert_eq!(sites(&whole, "libc", name), [], "{name}");
        }
        // What was linked for another address, and what no linker has moved.
        let moved = file(Some(0x9010));
        assert_eq!(sites(&moved, "libm", "setjmp"), [(0x450, 0, args(""))]);
        assert_eq!(sites(&file(None), "libm", "setjmp"), [(0x440, 0, args(""))]);
        assert_eq!(sites(b"#!/bin/sh", "libc", "setjmp"), []);
    }

    #[test]
    fn an_error_ends_it() {
        let file = Bytes(file(None));
        let mut calls = 0;
        let ended = for_each_site(&file, ("libc", "setjmp"), &mut |_| {
            calls += 1;
            Err(7)
        });
        assert_eq!((ended, calls), (Err(7), 1));
    }

    /// Whatever is in a file, and wherever it ends, there is an answer.
    #[test]
    fn broken_files() {
        for_each_broken(&file(Some(0x9000)), 50_000, |bytes, _| {
            sites(&bytes, "libc", "setjmp");
        });
    }
}
