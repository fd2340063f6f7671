// SPDX-License-Identifier: GPL-2.0

//! What other tracers take for the event of rtbench: perf, and programs of BPF with its ring
//! buffer.
//!
//! Each is attached to the same tracepoint, and the same loop makes the events. Whether they arrived is
//! asked of the peer itself, in the memory that it shares with its readers.

use super::inside::{asked, CONTEXTS, EVENT, EVENTS};
use super::kernel::{Cost, Kernel};
use super::table::{Row, Table};
use crate::check::Check;
use crate::errno::{Errno, Op};
use crate::maps::{Area, PAGE, READ, SHARED, WRITE};
use crate::sys;
use crate::tree::Tree;
use crate::Context;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};

const EVENTS_BEFORE: u32 = 100;
/// Bytes of the event without the header of any peer.
const BYTES: usize = 24;

const SYS_PERF_EVENT_OPEN: usize = 298;
const SYS_BPF: usize = 321;

fn call(number: usize, args: [usize; 6]) -> Op<File> {
    let result = sys::checked(number, args)?;
    // SAFETY: Both calls return a new descriptor, which has no other owner.
    Ok(unsafe { File::from_raw_fd(result as i32) })
}

/// Measures the loop in both contexts. Every run makes the same number of events.
fn measure(kernel: &Kernel, table: &mut Table, name: &str) -> Check<u64> {
    let mut made = 0;
    for &(short, long) in CONTEXTS {
        let cost: Cost = kernel.cost(asked("event", short, EVENTS_BEFORE), || {
            made += u64::from(EVENTS_BEFORE + EVENTS);
            Ok(())
        })?;
        let row = Row::new(name).context(long).peer(cost.each());
        table.add(row.same(cost.same == Some(true)));
    }
    Ok(made)
}

/// A peer that this kernel lacks, or does not permit.
fn skipped(name: &str, why: impl std::fmt::Display) {
    println!("{name}: skipped, {why}");
}

pub fn peers(context: &Context, table: &mut Table) -> Check {
    let kernel = Kernel::load()?;
    table.begin_with(
        "peers",
        "one TRACE_EVENT of 24 bytes in others, the loop included: instructions",
        "peer",
    );
    for (name, backward, sample) in [
        ("perf, payload and time", true, RAW | TIME),
        ("perf, the same, oldest first", false, RAW | TIME),
        (
            "perf, as perf record asks",
            false,
            RAW | TIME | IP | TID | CPU | PERIOD,
        ),
    ] {
        match Perf::open(&Tree::at(&context.reference), backward, sample) {
            Ok(perf) => {
                let made = measure(&kernel, table, name)?;
                perf.check(made)?;
            }
            Err(why) => skipped(name, why),
        }
    }
    for (name, program) in [
        ("BPF, a program that does nothing", Program::Empty),
        ("BPF ring buffer, no time", Program::Record { time: false }),
        (
            "BPF ring buffer and ktime_get_ns()",
            Program::Record { time: true },
        ),
    ] {
        match Bpf::attach(program) {
            Ok(bpf) => {
                let made = measure(&kernel, table, name)?;
                bpf.check(made)?;
            }
            Err(why) => skipped(name, why),
        }
    }
    skipped(
        "LTTng",
        "Debian's lttng-modules do not build for this kernel without changes",
    );
    Ok(())
}

const RAW: u64 = 1 << 10;
const TIME: u64 = 1 << 2;
const IP: u64 = 1 << 0;
const TID: u64 = 1 << 1;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;

/// `struct perf_event_attr`, its first version.
#[repr(C)]
#[derive(Default)]
struct PerfAttr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    bp_type: u32,
    config1: u64,
}

/// An event of perf on CPU 0 with its memory.
struct Perf {
    _file: File,
    area: Area,
}

impl Perf {
    const TRACEPOINT: u32 = 2;
    const WATERMARK: u64 = 1 << 14;
    const BACKWARD: u64 = 1 << 27;
    /// `data_head` of `struct perf_event_mmap_page`.
    const HEAD: usize = 1024;

    /// `backward`: it overwrites; else it has room for all events.
    fn open(tree: &Tree, backward: bool, sample: u64) -> Check<Self> {
        let id = tree.get(&format!("{EVENT}/id"))?;
        let id = id.trim().parse().map_err(|_| format!("{id:?} is no id"))?;
        let attr = PerfAttr {
            kind: Self::TRACEPOINT,
            size: size_of::<PerfAttr>() as u32,
            config: id,
            sample_period: 1,
            sample_type: sample,
            flags: if backward {
                Self::BACKWARD
            } else {
                Self::WATERMARK
            },
            // No reader shall be woken.
            wakeup: 1 << 30,
            ..PerfAttr::default()
        };
        let at = (&raw const attr).expose_provenance();
        let file = call(SYS_PERF_EVENT_OPEN, [at, usize::MAX, 0, usize::MAX, 0, 0])
            .map_err(|e| format!("perf_event_open: {e}"))?;
        let pages = if backward { 256 } else { 4096 };
        // A ring that may be written is one that its reader must empty.
        let prot = READ | if backward { 0 } else { WRITE };
        let len = (1 + pages) * PAGE;
        let area = Area::of(&file, len, prot, SHARED, 0).map_err(|e| format!("its memory: {e}"))?;
        Ok(Perf { _file: file, area })
    }

    /// Checks that all events arrived.
    fn check(&self, made: u64) -> Check {
        let head = self.area.word(Self::HEAD) as i64;
        let least = made * BYTES as u64;
        ensure!(
            head.unsigned_abs() >= least,
            "perf has {head} bytes of {made} events"
        );
        Ok(())
    }
}

enum Program {
    Empty,
    Record { time: bool },
}

/// A program on the tracepoint, and its ring buffer.
struct Bpf {
    _link: File,
    /// Of the position of the producer, if there is a ring buffer.
    position: Option<Area>,
}

/// What a program of BPF is made of.
#[repr(C)]
#[derive(Clone, Copy)]
struct Insn {
    code: u8,
    registers: u8,
    offset: i16,
    value: i32,
}

fn insn(code: u8, to: u8, from: u8, offset: i16, value: i32) -> Insn {
    Insn {
        code,
        registers: to | from << 4,
        offset,
        value,
    }
}

impl Bpf {
    const MAP_CREATE: usize = 0;
    const PROG_LOAD: usize = 5;
    const RAW_TRACEPOINT_OPEN: usize = 17;
    const MAP_RINGBUF: u32 = 27;
    const PROG_RAW_TRACEPOINT: u32 = 17;
    const ROOM: u32 = 8 << 20;
    /// Precedes each record.
    const HEADER: usize = 8;

    /// Calls bpf() with a union bpf_attr that begins with these bytes.
    fn bpf(command: usize, attr: &[u8]) -> Op<File> {
        let at = attr.as_ptr().expose_provenance();
        call(SYS_BPF, [command, at, attr.len(), 0, 0, 0])
    }

    /// Returns code that reads two numbers of the event into a record of 24 bytes.
    fn program(ring: &File, program: &Program) -> Vec<Insn> {
        const MOV: u8 = 0xbf;
        const MOV_VALUE: u8 = 0xb7;
        const CALL: u8 = 0x85;
        const LOAD: u8 = 0x79;
        const STORE: u8 = 0x7b;
        const STORE_VALUE: u8 = 0x7a;
        let mut code = Vec::new();
        if let &Program::Record { time } = program {
            code.push(insn(MOV, 6, 1, 0, 0));
            // The address of a map, in two: 1 says that the value is its descriptor.
            code.push(insn(0x18, 1, 1, 0, ring.as_raw_fd()));
            code.push(insn(0, 0, 0, 0, 0));
            code.push(insn(MOV_VALUE, 2, 0, 0, BYTES as i32));
            code.push(insn(MOV_VALUE, 3, 0, 0, 0));
            // bpf_ringbuf_reserve()
            code.push(insn(CALL, 0, 0, 0, 131));
            let mut record = vec![insn(MOV, 7, 0, 0, 0)];
            if time {
                // bpf_ktime_get_ns()
                record.push(insn(CALL, 0, 0, 0, 5));
                record.push(insn(STORE, 7, 0, 0, 0));
            } else {
                record.push(insn(STORE_VALUE, 7, 0, 0, 0));
            }
            for argument in [0, 8] {
                record.push(insn(LOAD, 1, 6, argument, 0));
                record.push(insn(STORE, 7, 1, argument + 8, 0));
            }
            record.push(insn(MOV, 1, 7, 0, 0));
            // BPF_RB_NO_WAKEUP, bpf_ringbuf_submit()
            record.push(insn(MOV_VALUE, 2, 0, 0, 1));
            record.push(insn(CALL, 0, 0, 0, 132));
            // Without a place all of that is skipped.
            code.push(insn(0x15, 0, 0, record.len() as i16, 0));
            code.extend(record);
        }
        code.push(insn(MOV_VALUE, 0, 0, 0, 0));
        code.push(insn(0x95, 0, 0, 0, 0));
        code
    }

    fn attach(program: Program) -> Check<Self> {
        let failed = |what: &'static str| move |e: Errno| format!("{what}: {e}");
        let map = [Self::MAP_RINGBUF, 0, 0, Self::ROOM].map(u32::to_ne_bytes);
        let ring = Self::bpf(Self::MAP_CREATE, map.as_flattened()).map_err(failed("a ring"))?;

        let code = Self::program(&ring, &program);
        let license = c"GPL";
        let mut attr = Vec::new();
        attr.extend(Self::PROG_RAW_TRACEPOINT.to_ne_bytes());
        attr.extend((code.len() as u32).to_ne_bytes());
        attr.extend(code.as_ptr().expose_provenance().to_ne_bytes());
        attr.extend(license.as_ptr().expose_provenance().to_ne_bytes());
        attr.extend([0; 24]);
        let loaded = Self::bpf(Self::PROG_LOAD, &attr).map_err(failed("a program"))?;

        let name = c"rtbench_event";
        let mut attr = Vec::new();
        attr.extend(name.as_ptr().expose_provenance().to_ne_bytes());
        attr.extend((loaded.as_raw_fd() as u64).to_ne_bytes());
        let link = Self::bpf(Self::RAW_TRACEPOINT_OPEN, &attr).map_err(failed("a link"))?;

        let position = match program {
            Program::Empty => None,
            // After the page of the consumer's position.
            Program::Record { .. } => {
                Some(Area::shared(&ring, PAGE, PAGE).map_err(failed("its memory"))?)
            }
        };
        Ok(Bpf {
            _link: link,
            position,
        })
    }

    /// Checks that all events arrived.
    fn check(&self, made: u64) -> Check {
        let Some(position) = &self.position else {
            return Ok(());
        };
        let (found, wanted) = (position.word(0), made * (BYTES + Self::HEADER) as u64);
        ensure!(found == wanted, "BPF has {found} bytes of {made} events");
        Ok(())
    }
}
