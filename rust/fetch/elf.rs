// SPDX-License-Identifier: GPL-2.0

//! Functions of programs and libraries by their names: from the symbols of an ELF file to offsets in it.
//!
//! A file is anyone's. What its headers say is looked at where it is used, is read in parts, and bounds no loop but
//! those that have a bound of their own.

/// The bytes of a file.
pub(crate) trait FileBytes {
    /// Fills `room` with the bytes from `at` on. Returns whether they are all there, and are still wanted.
    fn read(&self, at: u64, room: &mut [u8]) -> bool;
}

/// Why there is no place for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoFunction {
    /// It is no ELF file of this kind of machine.
    NotElf,
    /// No function has that name.
    Missing,
    /// Several have it.
    Several,
}

/// Bytes of the headers of a file, of a section and of a segment, and of a symbol.
const FILE_HEADER: usize = 64;
const SECTION: usize = 64;
const SEGMENT: usize = 56;
const SYMBOL: usize = 24;
/// Symbols that are read at a time.
const CHUNK: usize = 32;
/// Most symbols of a table that are looked at.
const MOST_SYMBOLS: u64 = 1 << 20;
/// Most bytes of a name.
const LONGEST_NAME: usize = 255;

const IDENTITY: [u8; 6] = *b"\x7fELF\x02\x01";
const X86_64: u64 = 62;
const SYMBOLS: u64 = 2;
const DYNAMIC_SYMBOLS: u64 = 11;
const VERSIONS: u64 = 0x6fff_ffff;
/// Bit of the version of a symbol: programs that are linked now get another one of that name.
const HIDDEN: u64 = 0x8000;
const LOADED: u64 = 1;
const EXECUTED: u64 = 1;
const NO_TYPE: u64 = 0;
const FUNCTION: u64 = 2;

/// Returns the number of `N` bytes at `at` of a header.
pub(super) fn number<const N: usize>(header: &[u8], at: usize) -> u64 {
    let bytes = header.get(at..).and_then(|rest| rest.get(..N));
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(bytes.unwrap_or_default()) {
        *to = *from;
    }
    u64::from_le_bytes(word)
}

/// Returns `N` bytes at `base` and `index` entries of `size` bytes after that.
pub(super) fn entry<const N: usize>(
    file: &impl FileBytes,
    (base, size): (u64, u64),
    index: u64,
) -> Option<[u8; N]> {
    let at = index.checked_mul(size)?.checked_add(base)?;
    let mut bytes = [0; N];
    file.read(at, &mut bytes).then_some(bytes)
}

/// A section.
#[derive(Clone, Copy)]
pub(super) struct Section {
    /// The offset of its name among those of sections.
    name: u64,
    ty: u64,
    /// Where it is in memory.
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
    /// The section that this one refers to.
    link: u64,
}

/// A file, by its header.
pub(super) struct Elf<'f, F> {
    pub(super) file: &'f F,
    /// Where the headers of sections begin, and the bytes of each.
    sections: (u64, u64),
    section_count: u64,
    /// The section that has the names of sections.
    names: u64,
    segments: (u64, u64),
    segment_count: u64,
}

/// Addresses of the functions that have a name.
#[derive(Default)]
struct Matches {
    address: Option<u64>,
    several: bool,
}

impl Matches {
    fn add(&mut self, address: u64) {
        self.several |= self.address.is_some_and(|known| known != address);
        self.address = Some(address);
    }
}

impl<'f, F: FileBytes> Elf<'f, F> {
    /// Returns that of a file; `None` if it is none of this kind of machine.
    pub(super) fn of(file: &'f F) -> Option<Self> {
        let header = entry::<FILE_HEADER>(file, (0, 0), 0)?;
        if !header.starts_with(&IDENTITY) || number::<2>(&header, 18) != X86_64 {
            return None;
        }
        Some(Self {
            file,
            sections: (number::<8>(&header, 40), number::<2>(&header, 58)),
            section_count: number::<2>(&header, 60),
            names: number::<2>(&header, 62),
            segments: (number::<8>(&header, 32), number::<2>(&header, 54)),
            segment_count: number::<2>(&header, 56),
        })
    }

    fn section(&self, index: u64) -> Option<Section> {
        let header = entry::<SECTION>(self.file, self.sections, index)?;
        Some(Section {
            name: number::<4>(&header, 0),
            ty: number::<4>(&header, 4),
            address: number::<8>(&header, 16),
            offset: number::<8>(&header, 24),
            size: number::<8>(&header, 32),
            link: number::<4>(&header, 40),
        })
    }

    /// Returns the sections of a type, with their numbers.
    fn sections(&self, ty: u64) -> impl Iterator<Item = (u64, Section)> + '_ {
        let all = (0..self.section_count).map_while(|index| Some((index, self.section(index)?)));
        all.filter(move |(_, section)| section.ty == ty)
    }

    /// Returns the first section of that name.
    pub(super) fn section_called(&self, name: &str) -> Option<Section> {
        let names = self.section(self.names)?;
        let mut all = (0..self.section_count).map_while(|index| self.section(index));
        all.find(|section| self.is_called(names, section.name, name))
    }

    /// Returns whether the string at `at` of `strings` is `name`.
    fn is_called(&self, strings: Section, at: u64, name: &str) -> bool {
        let mut bytes = [0; LONGEST_NAME + 1];
        let Some(room) = bytes.get_mut(..name.len().saturating_add(1)) else {
            return false;
        };
        let is_inside = at
            .checked_add(room.len() as u64)
            .is_some_and(|end| end <= strings.size);
        let Some(place) = strings.offset.checked_add(at).filter(|_| is_inside) else {
            return false;
        };
        self.file.read(place, room) && room.split_last() == Some((&0, name.as_bytes()))
    }

    /// Adds the functions of a table of symbols that are called `name`; those that are `hidden`, or the others.
    fn add_symbols(
        &self,
        (index, table): (u64, Section),
        (name, hidden): (&str, bool),
        found: &mut Matches,
    ) {
        let Some(strings) = self.section(table.link) else {
            return;
        };
        let versions = self
            .sections(VERSIONS)
            .find(|(_, versions)| versions.link == index);
        let is_hidden = |at: u64| {
            let (_, versions) = versions?;
            let version = entry::<2>(self.file, (versions.offset, 2), at)?;
            Some(number::<2>(&version, 0) & HIDDEN != 0)
        };
        let count = table.size.checked_div(SYMBOL as u64).unwrap_or(0);
        let count = count.min(MOST_SYMBOLS);
        let mut chunk = [0; SYMBOL * CHUNK];
        let mut first = 0u64;
        while first < count {
            let len = count.saturating_sub(first).min(CHUNK as u64);
            let bytes = chunk.get_mut(..(len as usize).saturating_mul(SYMBOL));
            let bytes = bytes.unwrap_or_default();
            let at = first.saturating_mul(SYMBOL as u64);
            if !self.file.read(table.offset.saturating_add(at), bytes) {
                return;
            }
            for (symbol, at) in bytes.chunks_exact(SYMBOL).zip(first..) {
                let (ty, address) = (number::<1>(symbol, 4) & 0xf, number::<8>(symbol, 8));
                let is_defined = number::<2>(symbol, 6) != 0 && address != 0;
                if is_defined
                    && matches!(ty, FUNCTION | NO_TYPE)
                    && self.is_called(strings, number::<4>(symbol, 0), name)
                    && is_hidden(at).unwrap_or(false) == hidden
                {
                    found.add(address);
                }
            }
            first = first.saturating_add(len);
        }
    }

    /// Returns the offset in the file of what is at `address` in memory: of an instruction, or of data.
    pub(super) fn offset_of(&self, address: u64, executed: bool) -> Option<u64> {
        (0..self.segment_count)
            .map_while(|index| entry::<SEGMENT>(self.file, self.segments, index))
            .filter(|header| number::<4>(header, 0) == LOADED)
            .filter(|header| (number::<4>(header, 4) & EXECUTED != 0) == executed)
            .find_map(|header| {
                let within = address.checked_sub(number::<8>(&header, 16))?;
                let is_inside = within < number::<8>(&header, 32);
                number::<8>(&header, 8)
                    .checked_add(within)
                    .filter(|_| is_inside)
            })
    }
}

/// Returns the offset in `file` of the function called `name`: one that other programs can call, else one that the
/// file has for itself, else an older version of the former.
pub(crate) fn function_offset(file: &impl FileBytes, name: &str) -> Result<u64, NoFunction> {
    let elf = Elf::of(file).ok_or(NoFunction::NotElf)?;
    for (ty, hidden) in [
        (DYNAMIC_SYMBOLS, false),
        (SYMBOLS, false),
        (DYNAMIC_SYMBOLS, true),
    ] {
        let mut found = Matches::default();
        // A file has at most one of each.
        if let Some(table) = elf.sections(ty).next() {
            elf.add_symbols(table, (name, hidden), &mut found);
        }
        match found {
            Matches { several: true, .. } => return Err(NoFunction::Several),
            Matches {
                address: Some(address),
                ..
            } => return elf.offset_of(address, true).ok_or(NoFunction::Missing),
            _ => {}
        }
    }
    Err(NoFunction::Missing)
}

/// Files for tests.
#[cfg(test)]
pub(super) mod builder {
    use super::*;

    pub(in super::super) struct Bytes(pub(in super::super) Vec<u8>);

    impl FileBytes for Bytes {
        fn read(&self, at: u64, room: &mut [u8]) -> bool {
            let at = usize::try_from(at).ok();
            let end = at.and_then(|at| at.checked_add(room.len()));
            let bytes = at.zip(end).and_then(|(at, end)| self.0.get(at..end));
            bytes.is_some_and(|bytes| {
                room.copy_from_slice(bytes);
                true
            })
        }
    }

    /// Calls `f` with each beginning of a file, and with so many copies of which some bytes are others; and with a random
    /// number.
    pub(in super::super) fn for_each_broken(
        whole: &[u8],
        copies: usize,
        mut f: impl FnMut(Vec<u8>, u64),
    ) {
        for len in 0..whole.len() {
            f(whole[..len].to_vec(), 0);
        }
        let mut state = 0x1234_5678_9abc_def1u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..copies {
            let mut bytes = whole.to_vec();
            for _ in 0..1 + random() % 4 {
                let at = random() as usize % bytes.len();
                bytes[at] = match random() % 3 {
                    0 => 0xff,
                    1 => 0,
                    _ => random() as u8,
                };
            }
            f(bytes, random());
        }
    }

    pub(in super::super) fn put(bytes: &mut [u8], at: usize, value: u64, len: usize) {
        bytes[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
    }

    /// A file of segments, and of sections with names.
    #[derive(Default)]
    pub(in super::super) struct FileBuilder {
        segments: Vec<u8>,
        sections: Vec<(String, u64, u64, Vec<u8>)>,
    }

    impl FileBuilder {
        pub(in super::super) fn new() -> Self {
            Self::default()
        }

        /// Adds a segment, of which nothing but its header is there.
        pub(in super::super) fn segment(
            &mut self,
            offset: u64,
            address: u64,
            size: u64,
            executed: bool,
        ) {
            let mut header = vec![0; SEGMENT];
            put(&mut header, 0, LOADED, 4);
            put(&mut header, 4, 4 | u64::from(executed), 4);
            put(&mut header, 8, offset, 8);
            put(&mut header, 16, address, 8);
            put(&mut header, 32, size, 8);
            self.segments.extend(header);
        }

        pub(in super::super) fn section(
            &mut self,
            name: &str,
            ty: u64,
            address: u64,
            content: Vec<u8>,
        ) {
            self.sections.push((name.into(), ty, address, content));
        }

        pub(in super::super) fn finish(mut self) -> Vec<u8> {
            let mut bytes = vec![0; FILE_HEADER];
            bytes[..6].copy_from_slice(&IDENTITY);
            put(&mut bytes, 18, X86_64, 2);
            put(&mut bytes, 32, FILE_HEADER as u64, 8);
            put(&mut bytes, 54, SEGMENT as u64, 2);
            put(&mut bytes, 56, (self.segments.len() / SEGMENT) as u64, 2);
            bytes.extend(&self.segments);
            // The names are in the last section.
            let mut names = vec![0];
            let mut places = Vec::new();
            for name in self.sections.iter().map(|section| &section.0) {
                places.push(names.len() as u64);
                names.extend(name.bytes());
                names.push(0);
            }
            places.push(0);
            self.section("", 3, 0, names);
            let mut headers = Vec::new();
            for ((_, ty, address, content), name) in self.sections.iter().zip(places) {
                let mut header = vec![0; SECTION];
                put(&mut header, 0, name, 4);
                put(&mut header, 4, *ty, 4);
                put(&mut header, 16, *address, 8);
                put(&mut header, 24, bytes.len() as u64, 8);
                put(&mut header, 32, content.len() as u64, 8);
                headers.extend(header);
                bytes.extend(content);
            }
            let at = bytes.len() as u64;
            put(&mut bytes, 40, at, 8);
            put(&mut bytes, 58, SECTION as u64, 2);
            put(&mut bytes, 60, self.sections.len() as u64, 2);
            put(&mut bytes, 62, self.sections.len() as u64 - 1, 2);
            bytes.extend(headers);
            bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::builder::{for_each_broken, put, Bytes};
    use super::*;

    /// A symbol: name, type, section, address, version.
    type Symbol = (&'static str, u8, u16, u64, u16);

    /// A file with a segment whose address is 0x1000 beyond its offset 0x400, and two tables of symbols.
    fn file(dynamic: &[Symbol], own: &[Symbol]) -> Vec<u8> {
        let mut bytes = vec![0; FILE_HEADER];
        bytes[..6].copy_from_slice(&IDENTITY);
        put(&mut bytes, 18, X86_64, 2);
        put(&mut bytes, 32, 64, 8);
        put(&mut bytes, 54, SEGMENT as u64, 2);
        put(&mut bytes, 56, 2, 2);
        let mut segment = vec![0; 2 * SEGMENT];
        // Not what is executed.
        put(&mut segment, 0, LOADED, 4);
        put(&mut segment, 32, 0x10000, 8);
        put(&mut segment, SEGMENT, LOADED, 4);
        put(&mut segment, SEGMENT + 4, EXECUTED | 4, 4);
        put(&mut segment, SEGMENT + 8, 0x400, 8);
        put(&mut segment, SEGMENT + 16, 0x1400, 8);
        put(&mut segment, SEGMENT + 32, 0x200, 8);
        bytes.extend(segment);
        let mut strings = vec![0];
        let mut tables = Vec::new();
        for symbols in [dynamic, own] {
            let (mut table, mut versions) = (vec![0; SYMBOL], vec![0; 2]);
            for (name, ty, section, address, version) in symbols {
                let mut symbol = vec![0; SYMBOL];
                put(&mut symbol, 0, strings.len() as u64, 4);
                put(&mut symbol, 4, u64::from(*ty) | 0x10, 1);
                put(&mut symbol, 6, u64::from(*section), 2);
                put(&mut symbol, 8, *address, 8);
                strings.extend(name.bytes());
                strings.push(0);
                table.extend(symbol);
                versions.extend(version.to_le_bytes());
            }
            tables.push((table, versions));
        }
        let mut sections = vec![(0, Vec::new(), 0)];
        let (own, dynamic) = (tables.pop().unwrap(), tables.pop().unwrap());
        sections.push((3, strings, 0));
        sections.push((DYNAMIC_SYMBOLS, dynamic.0, 1));
        sections.push((VERSIONS, dynamic.1, 2));
        sections.push((SYMBOLS, own.0, 1));
        let mut headers = Vec::new();
        for (ty, content, link) in &sections {
            let mut header = vec![0; SECTION];
            put(&mut header, 4, *ty, 4);
            put(&mut header, 24, bytes.len() as u64, 8);
            put(&mut header, 32, content.len() as u64, 8);
            put(&mut header, 40, *link, 4);
            headers.extend(header);
            bytes.extend(content);
        }
        let at = bytes.len() as u64;
        put(&mut bytes, 40, at, 8);
        put(&mut bytes, 58, SECTION as u64, 2);
        put(&mut bytes, 60, sections.len() as u64, 2);
        bytes.extend(headers);
        bytes
    }

    const DYNAMIC: &[Symbol] = &[
        ("malloc", 2, 9, 0x1410, 2),
        ("undefined", 2, 0, 0x1420, 2),
        ("data", 1, 9, 0x1430, 2),
        ("memcpy", 2, 9, 0x1440, 0x8003),
        ("memcpy", 2, 9, 0x1450, 4),
        ("old", 2, 9, 0x1460, 0x8003),
        ("far", 2, 9, 0x1600, 2),
        ("assembled", 0, 9, 0x1470, 2),
        ("malloc_trim", 2, 9, 0x1480, 2),
    ];
    const OWN: &[Symbol] = &[
        ("helper", 2, 9, 0x1500, 0),
        ("twice", 2, 9, 0x1510, 0),
        ("twice", 2, 9, 0x1520, 0),
        ("same", 2, 9, 0x1530, 0),
        ("same", 2, 9, 0x1530, 0),
        ("malloc", 2, 9, 0x15f0, 0),
    ];

    #[test]
    fn functions_by_name() {
        let rows: &[(&str, Result<u64, NoFunction>)] = &[
            ("malloc", Ok(0x410)),
            ("undefined", Err(NoFunction::Missing)),
            ("data", Err(NoFunction::Missing)),
            ("memcpy", Ok(0x450)),
            ("old", Ok(0x460)),
            ("far", Err(NoFunction::Missing)),
            ("assembled", Ok(0x470)),
            ("malloc_trim", Ok(0x480)),
            ("malloc_", Err(NoFunction::Missing)),
            ("helper", Ok(0x500)),
            ("twice", Err(NoFunction::Several)),
            ("same", Ok(0x530)),
            ("", Err(NoFunction::Missing)),
        ];
        let file = Bytes(file(DYNAMIC, OWN));
        for (name, wanted) in rows {
            assert_eq!(function_offset(&file, name), *wanted, "{name}");
        }
        let long = "x".repeat(LONGEST_NAME + 1);
        assert_eq!(function_offset(&file, &long), Err(NoFunction::Missing));
    }

    #[test]
    fn many_symbols() {
        const NAMES: [&str; 3] = ["one", "two", "three"];
        for count in [1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK] {
            let mut symbols: Vec<Symbol> = (0..count)
                .map(|at| (NAMES[at % 3], 1, 9, 0x1400, 2))
                .collect();
            symbols[count - 1] = ("last", 2, 9, 0x1401, 2);
            let file = Bytes(file(&symbols, &[]));
            assert_eq!(function_offset(&file, "last"), Ok(0x401), "{count}");
        }
    }

    #[test]
    fn other_files() {
        let whole = file(DYNAMIC, OWN);
        assert_eq!(
            function_offset(&Bytes(b"#!/bin/sh\n".to_vec()), "malloc"),
            Err(NoFunction::NotElf)
        );
        for (at, value) in [(4, 1), (5, 2), (18, 183)] {
            let mut other = whole.clone();
            other[at] = value;
            let found = function_offset(&Bytes(other), "malloc");
            assert_eq!(found, Err(NoFunction::NotElf), "{at}");
        }
    }

    /// Whatever is in a file, and wherever it ends, there is an answer.
    #[test]
    fn broken_files() {
        const NAMES: [&str; 3] = ["malloc", "twice", "old"];
        for_each_broken(&file(DYNAMIC, OWN), 100_000, |bytes, random| {
            let _ = function_offset(&Bytes(bytes), NAMES[random as usize % 3]);
        });
    }
}
