// SPDX-License-Identifier: GPL-2.0

//! The events `osnoise:*`, which the tracer `osnoise` makes while it measures: what took a CPU, one by one.
//!
//! Each function is called with preemption disabled, in any context.

use super::{
    own::{
        OwnEvent,
        WriteRecord, //
    },
    targets::RecordTargets, //
};
use crate::{
    event::field::DeclaredField,
    kapi::strings,
    latency::{
        int,
        long,
        noise::Noise,
        osnoise::OsnoiseSample,
        timerlat::TimerlatSample, //
    },
    probes::COMMON,
    text::{
        rest::RecordRest,
        word,
        writer::ByteWrite, //
    }, //
};
use kernel::fmt;

/// Nanoseconds of a second.
const NS_PER_S: u64 = 1_000_000_000;

/// Most bytes of the name of an interrupt that are recorded, with the NUL.
const MOST_NAME: usize = 64;

/// Returns the field of a number.
const fn number(
    ty: &'static str,
    name: &'static str,
    size: u32,
    signed: bool,
) -> DeclaredField<'static> {
    DeclaredField {
        ty,
        name,
        size,
        align: size,
        len: 0,
        signed,
    }
}

const START: DeclaredField<'static> = number("u64", "start", 8, false);
const DURATION: DeclaredField<'static> = number("u64", "duration", 8, false);
const VECTOR: DeclaredField<'static> = number("int", "vector", 4, true);

/// The arguments of formats that print the start as seconds.
macro_rules! seconds {
    () => {
        "(REC->start) / 1000000000UL, (REC->start) % 1000000000UL, REC->duration"
    };
}

const fn event(
    name: &'static str,
    fields: &'static [DeclaredField<'static>],
    size: usize,
    print_fmt: &'static str,
    write: WriteRecord,
) -> OwnEvent {
    OwnEvent {
        names: ("osnoise", name),
        fields,
        print_fmt,
        size,
        write,
        targets: RecordTargets::none(),
    }
}

/// A time between two readings of the clock that is noise.
pub(super) static SAMPLE_THRESHOLD: OwnEvent = event(
    "sample_threshold",
    &[START, DURATION, number("u64", "interference", 8, false)],
    32,
    concat!(
        "\"start %llu.%09u duration %llu ns interference %llu\", ",
        seconds!(),
        ", REC->interference"
    ),
    |record, out| {
        write_times(record, 8, out)?;
        write!(out, " interference {}", long(record, 24))
    },
);

/// What an interrupt took.
pub(super) static IRQ_NOISE: OwnEvent = event(
    "irq_noise",
    &[
        START,
        DURATION,
        DeclaredField {
            ty: "__data_loc char[]",
            name: "desc",
            size: 4,
            align: 4,
            len: 0,
            signed: false,
        },
        VECTOR,
    ],
    32,
    concat!(
        "\"%s:%d start %llu.%09u duration %llu ns\", __get_str(desc), REC->vector, ",
        seconds!()
    ),
    |record, out| {
        let at = int(record, 24) as u16;
        let name = record.get(usize::from(at)..).unwrap_or_default();
        out.write_bytes(word::c_string(name))?;
        write!(out, ":{} ", int(record, 28) as i32)?;
        write_times(record, 8, out)
    },
);

/// What a soft interrupt took.
pub(super) static SOFTIRQ_NOISE: OwnEvent = event(
    "softirq_noise",
    &[START, DURATION, VECTOR],
    32,
    concat!(
        "\"%8s:%d start %llu.%09u duration %llu ns\", __print_symbolic(REC->vector, ",
        "{ 0, \"HI\" }, { 1, \"TIMER\" }, { 2, \"NET_TX\" }, { 3, \"NET_RX\" }, { 4, \"BLOCK\" }, ",
        "{ 5, \"IRQ_POLL\" }, { 6, \"TASKLET\" }, { 7, \"SCHED\" }, { 8, \"HRTIMER\" }, ",
        "{ 9, \"RCU\" }), REC->vector, ",
        seconds!()
    ),
    |record, out| {
        const NAMES: [&str; 10] = [
            "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
            "RCU",
        ];
        let vector = int(record, 24);
        match NAMES.get(vector as usize) {
            Some(name) => write!(out, "{name:>8}")?,
            None => write!(out, "{vector:#8x}")?,
        }
        write!(out, ":{} ", vector as i32)?;
        write_times(record, 8, out)
    },
);

/// What another thread took.
pub(super) static THREAD_NOISE: OwnEvent = event(
    "thread_noise",
    &[
        DeclaredField {
            ty: "char[16]",
            name: "comm",
            size: 16,
            align: 1,
            len: 16,
            signed: false,
        },
        START,
        DURATION,
        number("pid_t", "pid", 4, true),
    ],
    48,
    concat!(
        "\"%8s:%d start %llu.%09u duration %llu ns\", REC->comm, REC->pid, ",
        seconds!()
    ),
    |record, out| {
        let comm = record.get(COMMON..24).map_or(&b""[..], word::c_string);
        for _ in comm.len()..8 {
            out.write_char(' ')?;
        }
        out.write_bytes(comm)?;
        write!(out, ":{} ", int(record, 40) as i32)?;
        write_times(record, 24, out)
    },
);

/// What a measurement has found.
pub(super) static OSNOISE_SAMPLE: OwnEvent = event(
    "osnoise_sample",
    &[
        number("u64", "runtime", 8, false),
        number("u64", "noise", 8, false),
        number("u64", "max_sample", 8, false),
        number("int", "hw_count", 4, true),
        number("int", "irq_count", 4, true),
        number("int", "nmi_count", 4, true),
        number("int", "softirq_count", 4, true),
        number("int", "thread_count", 4, true),
    ],
    56,
    concat!(
        "\"runtime=%llu noise=%llu max_sample=%llu hw_count=%d irq_count=%d nmi_count=%d ",
        "softirq_count=%d thread_count=%d\", REC->runtime, REC->noise, REC->max_sample, ",
        "REC->hw_count, REC->irq_count, REC->nmi_count, REC->softirq_count, REC->thread_count"
    ),
    |record, out| {
        write!(
            out,
            "runtime={} noise={} max_sample={} hw_count={} irq_count={} nmi_count={} softirq_count={} \
             thread_count={}",
            long(record, 8),
            long(record, 16),
            long(record, 24),
            int(record, 32) as i32,
            int(record, 36) as i32,
            int(record, 40) as i32,
            int(record, 44) as i32,
            int(record, 48) as i32,
        )
    },
);

/// How late a timer or the thread was that it wakes.
pub(super) static TIMERLAT_SAMPLE: OwnEvent = event(
    "timerlat_sample",
    &[
        number("u64", "timer_latency", 8, false),
        number("unsigned int", "seqnum", 4, false),
        number("int", "context", 4, true),
    ],
    24,
    concat!(
        "\"timer_latency=%llu seqnum=%u context=%d\", REC->timer_latency, REC->seqnum, ",
        "REC->context"
    ),
    |record, out| {
        let (latency, number) = (long(record, 8), int(record, 16));
        let context = int(record, 20) as i32;
        write!(
            out,
            "timer_latency={latency} seqnum={number} context={context}"
        )
    },
);

/// Writes the start and the duration that are at `at` of a record.
fn write_times(record: &[u8], at: usize, out: &mut dyn ByteWrite) -> fmt::Result {
    let start = long(record, at);
    let (seconds, ns) = (start / NS_PER_S, start % NS_PER_S);
    let duration = long(record, at.wrapping_add(8));
    write!(out, "start {seconds}.{ns:09} duration {duration} ns")
}

/// Returns what is left to fill of a record: what is after the common fields.
#[inline(always)]
fn rest(record: &mut [u8]) -> RecordRest<'_> {
    RecordRest::of(record.get_mut(COMMON..).unwrap_or_default())
}

/// A time between two readings of the clock is noise, in which so many sections began.
pub(crate) fn sample_threshold(noise: Noise, interference: u64) {
    SAMPLE_THRESHOLD.record(0, |record| {
        rest(record)
            .long(noise.start)
            .long(noise.duration)
            .long(interference);
    });
}

/// Returns whether interrupts are told of: a caller need not measure the name of one that is not. Any context.
#[inline(always)]
pub(crate) fn has_irq_noise() -> bool {
    IRQ_NOISE.is_on()
}

/// The interrupt of this name ended.
pub(crate) fn irq_noise(vector: i32, name: &[u8], noise: Noise) {
    let name = name.get(..MOST_NAME.wrapping_sub(1)).unwrap_or(name);
    let len = name.len().wrapping_add(1);
    let place = (len as u32).wrapping_shl(16) | IRQ_NOISE.size as u32;
    IRQ_NOISE.record(len, |record| {
        rest(record)
            .long(noise.start)
            .long(noise.duration)
            .int(place)
            .int(vector as u32)
            .bytes(name)
            .byte(0);
    });
}

/// A soft interrupt ended. Not inline: the caller's path for an event that is off needs no frame then.
#[inline(never)]
pub(crate) fn softirq_noise(vector: u32, noise: Noise) {
    SOFTIRQ_NOISE.record(0, |record| {
        rest(record)
            .long(noise.start)
            .long(noise.duration)
            .int(vector)
            .int(0);
    });
}

/// Returns whether threads are told of: a caller need not tell of one that is not. Any context.
#[inline(always)]
pub(crate) fn has_thread_noise() -> bool {
    THREAD_NOISE.is_on()
}

/// The current task, which is about to leave the CPU, has taken it. Not inline, as [`softirq_noise`].
#[inline(never)]
pub(crate) fn thread_noise(pid: u32, noise: Noise) {
    let comm = strings::comm();
    THREAD_NOISE.record(0, |record| {
        rest(record)
            .bytes(&comm)
            .long(noise.start)
            .long(noise.duration)
            .int(pid)
            .int(0);
    });
}

/// A measurement ended.
pub(crate) fn osnoise_sample(sample: &OsnoiseSample) {
    OSNOISE_SAMPLE.record(0, |record| {
        rest(record)
            .long(sample.runtime)
            .long(sample.noise)
            .long(sample.longest)
            .int(sample.hardware)
            .int(sample.irqs)
            .int(sample.nmis)
            .int(sample.softirqs)
            .int(sample.threads)
            .int(0);
    });
}

/// A timer was due, or the thread that it wakes runs.
pub(crate) fn timerlat_sample(sample: &TimerlatSample) {
    TIMERLAT_SAMPLE.record(0, |record| {
        rest(record)
            .long(sample.latency)
            .int(sample.number)
            .int(sample.context as u32);
    });
}
