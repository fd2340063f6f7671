// SPDX-License-Identifier: GPL-2.0

//! Everything that a tree's `trace_pipe_raw` files hold, as records.

use crate::check::Check;
use crate::page;
use crate::tree::Tree;
use std::fs::File;
use std::io::Read;

/// Bytes of the largest sub-buffer.
pub const LARGEST: usize = 512 << 10;

/// Bits of the common flags that an interrupt may set between one record of an event and another:
/// lazily, now, and in the preemption counter.
pub const NEED_RESCHED: u8 = 0x02 | 0x04 | 0x20;

#[derive(Debug, Clone)]
pub struct Record {
    pub cpu: usize,
    pub ts: u64,
    pub payload: Vec<u8>,
    /// Events lost right before this one, as the page says.
    pub lost: u64,
}

impl Record {
    pub fn id(&self) -> u16 {
        self.number(0, 2) as u16
    }

    /// The flags byte of the common fields.
    pub fn flags(&self) -> u8 {
        self.number(2, 1) as u8
    }

    /// How often preemption was disabled.
    pub fn preempt_depth(&self) -> u8 {
        self.number(3, 1) as u8 & 0xf
    }

    pub fn pid(&self) -> i32 {
        self.number(4, 4) as i32
    }

    /// A little-endian number inside the record.
    pub fn number(&self, offset: usize, size: usize) -> u64 {
        let bytes = self.payload.get(offset..offset + size).unwrap_or_default();
        bytes
            .iter()
            .rev()
            .fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
}

#[derive(Default)]
pub struct CpuStream {
    pub records: Vec<Record>,
    pub pages: usize,
    /// A page said that events were lost but not how many.
    pub uncounted_loss: bool,
}

impl CpuStream {
    pub fn lost(&self) -> u64 {
        self.records.iter().map(|record| record.lost).sum()
    }

    /// Adds what one page of `cpu` holds.
    pub fn add(&mut self, cpu: usize, bytes: &[u8]) -> Check {
        let page =
            page::decode(bytes).map_err(|e| format!("cpu {cpu} page {}: {e}", self.pages))?;
        self.pages += 1;
        self.uncounted_loss |= page.missed && page.missed_count.is_none();
        let mut lost = page.missed_count.unwrap_or(0);
        for event in page.events {
            let last = self.records.last().map_or(0, |record| record.ts);
            ensure!(
                event.ts >= last,
                "cpu {cpu}: stamp {} after {last}",
                event.ts
            );
            let payload = event.payload.to_vec();
            self.records.push(Record {
                cpu,
                ts: event.ts,
                payload,
                lost: std::mem::take(&mut lost),
            });
        }
        Ok(())
    }
}

/// A consuming reader of one CPU that is kept open, for reading while others write.
pub struct CpuReader {
    cpu: usize,
    name: String,
    file: File,
    pub stream: CpuStream,
}

impl CpuReader {
    pub fn open(tree: &Tree, cpu: usize) -> Check<Self> {
        Self::of(tree, cpu, "trace_pipe_raw")
    }

    /// Of `trace_pipe_raw` or `snapshot_raw`.
    pub fn of(tree: &Tree, cpu: usize, file: &str) -> Check<Self> {
        let name = format!("per_cpu/cpu{cpu}/{file}");
        let file = tree
            .open_nonblock(&name)
            .map_err(|e| format!("open {}: {e}", tree.shown(&name)))?;
        let (name, stream) = (tree.shown(&name), CpuStream::default());
        Ok(CpuReader {
            cpu,
            name,
            file,
            stream,
        })
    }

    /// Reads until the buffer is empty.
    pub fn drain(&mut self) -> Check {
        self.drain_some(usize::MAX)
    }

    /// The same, but at most `most` sub-buffers: writers may be faster than their reader for ever,
    /// above all where the reader's own system calls are events.
    pub fn drain_some(&mut self, most: usize) -> Check {
        let mut bytes = vec![0u8; LARGEST];
        for _ in 0..most {
            match self.file.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(n) if n >= 4096 && n.is_power_of_two() => {
                    self.stream.add(self.cpu, &bytes[..n])?;
                }
                Ok(n) => fail!("{}: a read of a sub-buffer gave {n} bytes", self.name),
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) => fail!("read {}: {e}", self.name),
            }
        }
        Ok(())
    }

    /// The same, and forgets the records but the last one, whose stamp is compared with the next
    /// one's. Returns how many it forgot.
    pub fn drain_and_forget(&mut self, most: usize) -> Check<usize> {
        self.drain_some(most)?;
        let records = &mut self.stream.records;
        let done = records.len().saturating_sub(1);
        records.drain(..done);
        Ok(done)
    }
}

/// Consumes one CPU's buffer until it is empty.
pub fn drain_cpu(tree: &Tree, cpu: usize) -> Check<CpuStream> {
    let mut reader = CpuReader::open(tree, cpu)?;
    reader.drain()?;
    Ok(reader.stream)
}

/// Consumes all CPUs' buffers.
pub fn drain(tree: &Tree) -> Check<Vec<CpuStream>> {
    (0..crate::sys::online_cpus())
        .map(|cpu| drain_cpu(tree, cpu))
        .collect()
}
