// SPDX-License-Identifier: GPL-2.0

//! Files that are mapped, and a reader of `trace_pipe_raw` that works that way.
//!
//! Written from the description of the interface alone. Memory that the kernel writes to meanwhile is
//! copied before it is looked at.

use crate::check::Check;
use crate::errno::Op;
use crate::page;
use crate::rawcalls;
use crate::stream::{CpuStream, Record};
use crate::sys;
use crate::tree::Tree;
use std::fs::File;
use std::os::fd::AsRawFd;

pub const PAGE: usize = 4096;

pub const READ: usize = 1;
pub const WRITE: usize = 2;
pub const EXEC: usize = 4;
pub const SHARED: usize = 1;
pub const PRIVATE: usize = 2;

pub const MAYMOVE: usize = 1;

/// The command by which a program reads on.
pub const GET_READER: u32 = 0x5220;

const SYS_MMAP: usize = 9;
const SYS_MPROTECT: usize = 10;
const SYS_MUNMAP: usize = 11;
const SYS_MREMAP: usize = 25;
const SYS_MINCORE: usize = 27;
const SYS_MADVISE: usize = 28;
const SYS_FORK: usize = 57;
const SYS_EXIT: usize = 60;
const SYS_WAIT4: usize = 61;

/// A part of a file in memory.
#[derive(Debug)]
pub struct Area {
    at: usize,
    len: usize,
}

impl Area {
    /// Maps `len` bytes of `file` from `offset` on.
    pub fn of(file: &File, len: usize, prot: usize, flags: usize, offset: usize) -> Op<Self> {
        let fd = file.as_raw_fd() as usize;
        let at = sys::checked(SYS_MMAP, [0, len, prot, flags, fd, offset])?;
        Ok(Area { at, len })
    }

    /// Maps as a reader does.
    pub fn shared(file: &File, len: usize, offset: usize) -> Op<Self> {
        Self::of(file, len, READ, SHARED, offset)
    }

    /// Where it is.
    pub fn address(&self) -> usize {
        self.at
    }

    /// A copy of `len` bytes from `from` on.
    pub fn copy(&self, from: usize, len: usize) -> Vec<u8> {
        assert!(from + len <= self.len, "outside of the mapping");
        let mut bytes = vec![0u8; len];
        for (i, byte) in bytes.iter_mut().enumerate() {
            // SAFETY: Inside of the mapping, which this value owns. Volatile, for the kernel may
            // store there.
            *byte = unsafe { ((self.at + from + i) as *const u8).read_volatile() };
        }
        bytes
    }

    /// The aligned word of 64 bits at `from`.
    pub fn word(&self, from: usize) -> u64 {
        assert!(from + 8 <= self.len, "outside of the mapping");
        // SAFETY: As above, and aligned as the callers ask.
        unsafe { ((self.at + from) as *const u64).read_volatile() }
    }

    pub fn protect(&self, prot: usize) -> Op {
        sys::checked(SYS_MPROTECT, [self.at, self.len, prot, 0, 0, 0]).map(drop)
    }

    /// Advice about `len` bytes of it.
    pub fn advise(&self, advice: usize) -> Op {
        sys::checked(SYS_MADVISE, [self.at, self.len, advice, 0, 0, 0]).map(drop)
    }

    /// Takes away `len` bytes from `from` on.
    pub fn cut(&self, from: usize, len: usize) -> Op {
        sys::checked(SYS_MUNMAP, [self.at + from, len, 0, 0, 0, 0]).map(drop)
    }

    /// Another length of it, or of `old` bytes at its beginning.
    pub fn resize(&mut self, old: usize, len: usize, flags: usize) -> Op {
        self.at = sys::checked(SYS_MREMAP, [self.at, old, len, flags, 0, 0])?;
        self.len = len;
        Ok(())
    }

    /// Moves it somewhere else.
    pub fn relocate(&mut self) -> Op {
        const FIXED: usize = 2;
        const ANYWHERE: usize = 0x22;
        // What is there is replaced.
        let place = sys::checked(SYS_MMAP, [0, self.len, READ, ANYWHERE, usize::MAX, 0])?;
        let flags = MAYMOVE | FIXED;
        self.at = sys::checked(SYS_MREMAP, [self.at, self.len, self.len, flags, place, 0])?;
        Ok(())
    }

    /// Returns whether a child of this process has it, too.
    pub fn is_inherited(&self) -> Op<bool> {
        let child = sys::checked(SYS_FORK, [0; 6])?;
        if child == 0 {
            // One byte per page; the child has its own copy of the stack.
            let mut pages = [0u8; 1];
            let there = sys::checked(
                SYS_MINCORE,
                [self.at, PAGE, (&raw mut pages) as usize, 0, 0, 0],
            );
            let _ = sys::checked(SYS_EXIT, [usize::from(there.is_ok()), 0, 0, 0, 0, 0]);
        }
        let mut status = 0i32;
        sys::checked(SYS_WAIT4, [child, (&raw mut status) as usize, 0, 0, 0, 0])?;
        Ok(status >> 8 & 0xff != 0)
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        let _ = self.cut(0, self.len);
    }
}

/// What the first page of a mapping says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    pub meta_page_size: u32,
    pub struct_len: u32,
    pub subbuf_size: u32,
    pub subbufs: u32,
    pub lost: u64,
    pub id: u32,
    pub consumed: u32,
    pub flags: u64,
    pub entries: u64,
    pub overrun: u64,
    pub read: u64,
    pub pages_lost: u64,
    pub pages_touched: u64,
}

impl Meta {
    pub fn of(area: &Area) -> Self {
        let half = |at: usize| {
            let word = area.word(at & !7);
            (word >> (8 * (at & 7))) as u32
        };
        Meta {
            meta_page_size: half(0),
            struct_len: half(4),
            subbuf_size: half(8),
            subbufs: half(12),
            lost: area.word(16),
            id: half(24),
            consumed: half(28),
            flags: area.word(32),
            entries: area.word(40),
            overrun: area.word(48),
            read: area.word(56),
            pages_lost: area.word(64),
            pages_touched: area.word(72),
        }
    }
}

/// A reader of one CPU that has all of the buffer mapped, in two parts as the kernel's description
/// has it.
pub struct MapReader {
    cpu: usize,
    pub file: File,
    head: Area,
    data: Area,
    /// The sub-buffer that it is in: id, stamp, events that it has.
    place: Option<(u32, u64, usize)>,
    /// There is no other reader.
    pub alone: bool,
    pub stream: CpuStream,
}

impl MapReader {
    pub fn open(tree: &Tree, cpu: usize) -> Check<Self> {
        let name = format!("per_cpu/cpu{cpu}/trace_pipe_raw");
        let file = tree
            .open_nonblock(&name)
            .map_err(|e| format!("open {}: {e}", tree.shown(&name)))?;
        let head = Area::shared(&file, PAGE, 0).map_err(|e| format!("map the head: {e}"))?;
        let meta = Meta::of(&head);
        let len = meta.subbuf_size as usize * meta.subbufs as usize;
        let data = Area::shared(&file, len, meta.meta_page_size as usize)
            .map_err(|e| format!("map {len} bytes: {e}"))?;
        Ok(MapReader {
            cpu,
            file,
            head,
            data,
            place: None,
            alone: true,
            stream: CpuStream::default(),
        })
    }

    pub fn meta(&self) -> Meta {
        Meta::of(&self.head)
    }

    /// Asks for what comes next.
    pub fn get(&self) -> Op {
        rawcalls::ioctl(&self.file, GET_READER).map(drop)
    }

    /// The bytes of a sub-buffer as they are now.
    pub fn image(&self, id: u32) -> Vec<u8> {
        let size = self.meta().subbuf_size as usize;
        let at = id as usize * size;
        // The length in one piece and first: what follows it may grow meanwhile.
        let length = self.data.word(at + 8);
        let mut bytes = self.data.copy(at, size);
        bytes[8..16].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    /// Takes what the kernel gives next; says whether there was something. Without another reader,
    /// that is as many events as were consumed.
    pub fn step(&mut self) -> Check<bool> {
        let cpu = self.cpu;
        let before = self.meta();
        self.get().map_err(|e| format!("get the reader: {e}"))?;
        let meta = self.meta();
        if (meta.id, meta.consumed, meta.read) == (before.id, before.consumed, before.read) {
            return Ok(false);
        }
        let mut image = self.image(meta.id);
        let decoded = page::decode(&image)?;
        let (stamp, len, told) = (decoded.ts, decoded.len, decoded.missed_count);
        ensure!(
            len >= meta.consumed as usize,
            "cpu {cpu}: {} bytes consumed of {len}",
            meta.consumed
        );
        ensure!(
            meta.lost == 0 || told.is_none_or(|told| told == meta.lost),
            "cpu {cpu}: the header tells of {told:?} lost, the first page of {}",
            meta.lost
        );
        // What came since is not ours yet.
        image[8..16].copy_from_slice(&u64::from(meta.consumed).to_le_bytes());
        let page = page::decode(&image)?;
        let had = match self.place {
            Some((id, at, had)) if (id, at) == (meta.id, stamp) => had,
            _ => 0,
        };
        let new = page.events.len().saturating_sub(had);
        ensure!(
            !self.alone || new as u64 == meta.read - before.read,
            "cpu {cpu}: {new} events behind {had} of a sub-buffer, {} were consumed",
            meta.read - before.read
        );
        let mut lost = 0;
        if had == 0 {
            self.stream.pages += 1;
            lost = told.unwrap_or(meta.lost);
        }
        self.place = Some((meta.id, stamp, page.events.len()));
        for event in page.events.iter().skip(had) {
            let last = self.stream.records.last().map_or(0, |record| record.ts);
            ensure!(
                event.ts >= last,
                "cpu {cpu}: stamp {} after {last}",
                event.ts
            );
            self.stream.records.push(Record {
                cpu,
                ts: event.ts,
                payload: event.payload.to_vec(),
                lost: std::mem::take(&mut lost),
            });
        }
        Ok(true)
    }

    /// Takes everything that is left.
    pub fn drain(&mut self) -> Check {
        while self.step()? {}
        Ok(())
    }
}
