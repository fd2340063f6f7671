// SPDX-License-Identifier: GPL-2.0
//! The deepest stack: where return addresses are on it, and how it is shown.

use super::writer::ByteWrite;
use core::fmt;

/// Finds the return addresses of `trace`, the innermost first, on a stack of so many words, of which `word`
/// returns one; the innermost is at 0. Calls `found` with each address that is there and its place. One that is
/// missing is left out.
pub(crate) fn find(
    trace: &[u64],
    words: usize,
    word: impl Fn(usize) -> u64,
    mut found: impl FnMut(u64, usize),
) {
    let (mut start, mut rest) = (0usize, trace);
    while let [_, others @ ..] = rest {
        let (before, first) = (rest.len(), start);
        for at in first..words {
            let [address, deeper @ ..] = rest else {
                return;
            };
            if word(at) == *address {
                found(*address, at);
                start = at.wrapping_add(1);
                rest = deeper;
            }
        }
        if rest.len() == before {
            rest = others;
        }
    }
}

/// What the file says when there is nothing to show.
const DISABLED: &str = "\
#
#  Stack tracer disabled
#
# To enable the stack tracer, either add 'stacktrace' to the
# kernel command line
# or 'echo 1 > /proc/sys/kernel/stack_tracer_enabled'
#
";

/// Writes the rows, each an address and how many bytes of the stack are used up to it, the deepest first.
/// `name` writes the name of an address.
pub(crate) fn write_stack(
    rows: &[(u64, u64)],
    disabled: bool,
    mut name: impl FnMut(u64, &mut dyn ByteWrite) -> fmt::Result,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    let count = rows.len();
    write!(
        out,
        "        Depth    Size   Location    ({count} entries)\n        -----    ----   --------\n"
    )?;
    if disabled {
        out.write_str(DISABLED)?;
    }
    let mut deeper = rows.iter().skip(1);
    for (at, (address, depth)) in (0u32..).zip(rows) {
        let below = deeper.next().map_or(0, |row| row.1);
        let size = depth.wrapping_sub(below) as i32;
        write!(out, "{at:3}) {:8}   {size:5}   ", *depth as i32)?;
        name(*address, out)?;
        out.write_char('\n')?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(trace: &[u64], stack: &[u64]) -> Vec<(u64, usize)> {
        let mut rows = Vec::new();
        find(
            trace,
            stack.len(),
            |at| stack[at],
            |address, at| rows.push((address, at)),
        );
        rows
    }

    #[test]
    fn addresses_are_found_in_their_order() {
        let stack = [10, 1, 20, 2, 2, 10, 30, 3];
        assert_eq!(found(&[10, 20, 30], &stack), [(10, 0), (20, 2), (30, 6)]);
        // The second 10 is that of a recursion.
        assert_eq!(found(&[10, 20, 10], &stack), [(10, 0), (20, 2), (10, 5)]);
        assert_eq!(found(&[], &stack), []);
        assert_eq!(found(&[10], &[]), []);
    }

    #[test]
    fn what_is_missing_is_left_out() {
        let stack = [10, 1, 20, 2, 30];
        assert_eq!(
            found(&[10, 77, 20, 30], &stack),
            [(10, 0), (20, 2), (30, 4)]
        );
        assert_eq!(found(&[77, 78], &stack), []);
        assert_eq!(found(&[10, 20, 77], &stack), [(10, 0), (20, 2)]);
        // None is found twice.
        assert_eq!(found(&[10, 10, 30], &stack), [(10, 0), (30, 4)]);
    }

    fn shown(rows: &[(u64, u64)], disabled: bool) -> String {
        let mut text = String::new();
        write_stack(
            rows,
            disabled,
            |address, out| write!(out, "f{address}+0x1/0x2"),
            &mut text,
        )
        .unwrap();
        text
    }

    #[test]
    fn lines_are_those_of_the_kernel() {
        assert_eq!(
            shown(&[(1, 1064), (2, 1056), (3, 24)], false),
            concat!(
                "        Depth    Size   Location    (3 entries)\n",
                "        -----    ----   --------\n",
                "  0)     1064       8   f1+0x1/0x2\n",
                "  1)     1056    1032   f2+0x1/0x2\n",
                "  2)       24      24   f3+0x1/0x2\n",
            )
        );
        let nothing = shown(&[], true);
        assert_eq!(
            nothing.lines().filter(|line| line.starts_with('#')).count(),
            7
        );
        assert!(nothing.starts_with("        Depth    Size   Location    (0 entries)\n"));
    }
}
