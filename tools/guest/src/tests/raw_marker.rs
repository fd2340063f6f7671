// SPDX-License-Identifier: GPL-2.0

//! `trace_marker_raw`: bytes of every length, as text and as a record, beside tracefs.

use super::golden::without_stamp;
use super::{pair, test, Test};
use crate::check::{Check, Report};
use crate::errno::*;
use crate::stream::{drain_cpu, NEED_RESCHED};
use crate::sys;
use crate::tree::Tree;
use crate::Context;
use std::io::Read;

pub const TESTS: &[Test] = &[
    test("raw_marker.lines", 30, lines),
    test("raw_marker.limits", 30, limits),
    test("raw_marker.record", 20, record),
    test("raw_marker.longest", 60, longest),
];

/// Returns a number followed by `len - 4` bytes.
fn marker(len: usize) -> Vec<u8> {
    let number = 0xfedc_ba98_u32.to_ne_bytes();
    let rest = (4..len).map(|at| (at * 7 + 1) as u8);
    number.into_iter().chain(rest).take(len).collect()
}

/// What `trace` says of one marker, without its stamp.
fn line_of(tree: &Tree, bytes: &[u8]) -> Check<(Op<usize>, Vec<String>)> {
    tree.clear()?;
    let taken = tree.write("trace_marker_raw", bytes);
    let text = tree.get("trace")?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok((taken, lines.map(without_stamp).collect()))
}

/// Lines of whole words are those of tracefs. Of others tracefs shows up to three bytes of whatever was
/// there before, and rtracefs shows zeros. Markers of more than eight KiB it does not show.
fn lines(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for len in (4..40).chain([112, 113, 116, 255, 1000, 2000]) {
        let bytes = marker(len);
        let ((taken, found), (wanted_taken, wanted)) =
            (line_of(&own, &bytes)?, line_of(&reference, &bytes)?);
        ensure_eq!(taken, Ok(len), "a marker of {len} bytes");
        ensure_eq!(taken, wanted_taken, "a marker of {len} bytes");
        let padding = " 00".repeat(len.next_multiple_of(4) - len);
        let shown = |lines: &[String]| -> String {
            let line = lines.concat();
            line[..line.len() - padding.len()].to_string()
        };
        report.expect(found.len() == 1 && shown(&found) == shown(&wanted), || {
            format!("{len} bytes: {found:?}, tracefs {wanted:?}")
        });
        report.expect(
            !context.is_rtracefs() || found.concat().ends_with(&padding),
            || format!("{len} bytes: {found:?} does not end with zeros"),
        );
    }
    report.finish()
}

/// A refused write records nothing.
fn limits(context: &Context) -> Check {
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    let mut both = |what: &str, bytes: &[u8], wanted: Op<usize>| -> Check {
        for tree in [&own, &reference] {
            let (found, lines) = line_of(tree, bytes)?;
            report.expect(
                found == wanted && lines.len() == usize::from(found.is_ok()),
                || format!("{what}: {found:?}, not {wanted:?}; {lines:?}"),
            );
        }
        Ok(())
    };
    for len in [0, 1, 3] {
        both("too short", &marker(len), Err(EINVAL))?;
    }
    both("the longest", &marker(4064), Ok(4064))?;
    for len in [4065, 4096, 4097, 70_000] {
        both("too long", &marker(len), Err(EINVAL))?;
    }
    for (file, off, on, wanted) in [
        ("tracing_on", "0", "1", EBADF),
        ("options/markers", "0", "1", EINVAL),
    ] {
        for tree in [&own, &reference] {
            tree.set(file, off)?;
        }
        both(file, &marker(8), Err(wanted))?;
        for tree in [&own, &reference] {
            tree.set(file, on)?;
        }
    }
    for tree in [&own, &reference] {
        let file = tree
            .open_write("trace_marker_raw")
            .map_err(|e| format!("open: {e}"))?;
        for (len, wanted) in [(3, EINVAL), (8, EFAULT), (4096, EFAULT), (4097, EINVAL)] {
            let found = sys::write_from_nowhere(&file, len);
            report.expect(found == Err(wanted), || {
                format!("{len} bytes from nowhere: {found:?}, not {wanted:?}")
            });
        }
        report.expect(tree.open("trace_marker_raw").is_ok(), || {
            "root may open it for reading".into()
        });
    }
    report.finish()
}

/// The bytes of the record are those of `events/ftrace/raw_data/format`.
fn record(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut records = vec![];
    for tree in [&own, &reference] {
        let bytes = marker(24);
        ensure_eq!(tree.write("trace_marker_raw", &bytes), Ok(24), "a marker");
        let stream = drain_cpu(tree, 0)?;
        let payloads: Vec<_> = stream.records.iter().map(|r| r.payload.clone()).collect();
        ensure_eq!(payloads.len(), 1, "records");
        ensure_eq!(payloads[0][8..], bytes[..], "the bytes of the marker");
        let mut record = payloads[0].clone();
        // One may be written while another task wants the CPU, and the other not.
        record[2] &= !NEED_RESCHED;
        records.push(record);
    }
    ensure_eq!(records[0], records[1], "the record and that of tracefs");
    Ok(())
}

/// What one marker left: what its write returned, its line (of bytes there are too many for one), and whether all that
/// was taken is in a sub-buffer of `size` bytes.
fn left_by(
    tree: &Tree,
    file: &str,
    bytes: &[u8],
    size: usize,
) -> Check<(Op<usize>, Vec<String>, bool)> {
    tree.clear()?;
    let taken = tree.write(file, bytes);
    let text = tree.get("trace")?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let lines = lines.filter(|_| file == "trace_marker");
    let lines = lines.map(without_stamp).collect();
    let raw = tree.open_nonblock("per_cpu/cpu0/trace_pipe_raw");
    let mut raw = raw.map_err(|error| format!("open: {error}"))?;
    let mut image = vec![0; size];
    let read = raw.read(&mut image).unwrap_or(0);
    let recorded = &bytes[..taken.unwrap_or(1).min(bytes.len())];
    let mut places = image[..read].windows(recorded.len());
    Ok((taken, lines, places.any(|place| place == recorded)))
}

/// How long a marker can be follows from the size of the sub-buffers, up to 4096 bytes; all of it is there to be read.
fn longest(context: &Context) -> Check {
    sys::pin_to(0);
    let (own, reference) = pair(context)?;
    let mut report = Report::default();
    for kb in [4, 8, 16, 512] {
        for tree in [&own, &reference] {
            tree.set("buffer_size_kb", "2048")?;
            tree.set("buffer_subbuf_size_kb", &kb.to_string())?;
        }
        for len in [4000, 4053, 4054, 4055, 4064, 4065, 4070, 4096, 4097, 9000] {
            for (file, bytes) in [
                ("trace_marker", "z".repeat(len).into_bytes()),
                ("trace_marker_raw", marker(len)),
            ] {
                let found = left_by(&own, file, &bytes, kb * 1024)?;
                let wanted = left_by(&reference, file, &bytes, kb * 1024)?;
                let whole = found.2 || found.0.is_err();
                report.expect(whole && found == wanted, || {
                    let short = |(taken, lines, has): (Op<usize>, Vec<String>, bool)| {
                        let text: usize = lines.iter().map(String::len).sum();
                        format!("{taken:?}, {} lines of {text}, there: {has}", lines.len())
                    };
                    let (found, wanted) = (short(found), short(wanted));
                    format!("{kb} KiB, {file}, {len} bytes: {found}; tracefs {wanted}")
                });
            }
        }
    }
    report.finish()
}
