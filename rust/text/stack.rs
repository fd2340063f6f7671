// SPDX-License-Identifier: GPL-2.0
//! Fills and prints the records of `stacktrace` and `userstacktrace`.
//!
//! Both records are complete, beginning with the eight bytes of the common fields. Only the kernel
//! knows the names of addresses, so callers provide a [`SymbolNames`].

use core::fmt;

use super::{
    options::{
        Opt,
        OptionSet, //
    },
    rest::RecordRest,
    writer::ByteWrite, //
};

/// Bytes before the addresses: the common fields, a number of four bytes, and a gap.
pub(crate) const HEAD: usize = 16;

/// What stands for the address of the code between a function and its tracer.
pub(crate) const TRAMPOLINE: u64 = i32::MAX as u64;

/// What stands for the place to which functions with a probe at their return go back: the kernel's code for that,
/// which the kernel puts in the place of their caller.
const RETURN_PROBED: &str = "[unknown/kretprobe'd]";

/// Number of addresses in each record of `userstacktrace`.
pub(crate) const USER_DEPTH: usize = 8;

/// What is written of the name of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameExtent {
    /// The function.
    Function,
    /// The function, and the module that it is in.
    ModuleFunction,
    /// The function, the offset in it, and the module.
    Place,
}

/// Finds the names of addresses in the kernel.
pub(crate) trait SymbolNames {
    /// Writes these parts of the name of `address`. Returns `false` if it has none, and nothing was written.
    fn write_name(
        &mut self,
        address: u64,
        parts: NameExtent,
        out: &mut dyn ByteWrite,
    ) -> Result<bool, fmt::Error>;

    /// Returns whether functions with a probe at their return go back to `address`.
    fn is_return_probe(&self, address: u64) -> bool;
}

/// Writes these parts of the name of a function, or its address if it has none. Fails when `out` does.
pub(crate) fn write_function(
    address: u64,
    parts: NameExtent,
    names: &mut dyn SymbolNames,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    match names.write_name(address, parts, out)? {
        true => Ok(()),
        false => write!(out, "{address:#x}"),
    }
}

/// Writes `address` in the form that the options ask for.
pub(crate) fn write_address(
    address: u64,
    options: OptionSet,
    names: &mut dyn SymbolNames,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    if address == 0 {
        return out.write_char('0');
    }
    let named = match options.has(Opt::SymOffset) {
        _ if names.is_return_probe(address) => {
            out.write_str(RETURN_PROBED)?;
            true
        }
        true => names.write_name(address, NameExtent::Place, out)?,
        false => names.write_name(address, NameExtent::Function, out)?,
    };
    match named {
        true => {}
        // As the kernel writes a place without a name.
        false if options.has(Opt::SymOffset) => write!(out, "{address:#x}")?,
        false => write!(out, "{address:#010x}")?,
    }
    if options.has(Opt::SymAddr) {
        write!(out, " <{address:016x}>")?;
    }
    Ok(())
}

/// Returns the addresses in a record.
fn addresses(record: &[u8]) -> impl Iterator<Item = u64> + '_ {
    record
        .get(HEAD..)
        .unwrap_or_default()
        .chunks_exact(8)
        .filter_map(<[u8]>::first_chunk)
        .map(|bytes| u64::from_ne_bytes(*bytes))
}

/// Returns the callers in the kernel, the innermost first.
pub(crate) fn callers(record: &[u8]) -> impl Iterator<Item = u64> + '_ {
    addresses(record).take_while(|address| *address != u64::MAX)
}

/// Returns the callers in user space, the innermost first, followed by zeros.
pub(crate) fn user_callers(record: &[u8]) -> [u64; USER_DEPTH] {
    let mut callers = [0; USER_DEPTH];
    let found = addresses(record).take_while(|address| *address != 0);
    for (to, from) in callers.iter_mut().zip(found) {
        *to = from;
    }
    callers
}

/// Returns the process that a record of `userstacktrace` is about.
pub(crate) fn process(record: &[u8]) -> u32 {
    let number = record.get(8..).and_then(<[u8]>::first_chunk);
    number.map_or(0, |number| u32::from_ne_bytes(*number))
}

/// Writes a record of `stacktrace`: its line, and one line for each caller.
pub(crate) fn write_callers(
    record: &[u8],
    options: OptionSet,
    names: &mut dyn SymbolNames,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    out.write_str("<stack trace>\n")?;
    for address in callers(record) {
        out.write_str(" => ")?;
        if address == TRAMPOLINE {
            out.write_str("[FTRACE TRAMPOLINE]\n")?;
            continue;
        }
        write_address(address, options, names, out)?;
        out.write_char('\n')?;
    }
    Ok(())
}

/// Fills a record of either kind after its common fields: the number, then the addresses.
pub(crate) fn fill(payload: &mut [u8], number: u32, addresses: &[u64]) {
    let rest = RecordRest::of(payload).int(number).int(0);
    rest.longs(addresses.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Knows the addresses 0x1000 to 0x1fff.
    struct Map;

    impl SymbolNames for Map {
        fn write_name(
            &mut self,
            address: u64,
            parts: NameExtent,
            out: &mut dyn ByteWrite,
        ) -> Result<bool, fmt::Error> {
            if !(0x1000..0x2000).contains(&address) {
                return Ok(false);
            }
            out.write_str("known")?;
            if parts == NameExtent::Place {
                write!(out, "+{:#x}/0x1000", address - 0x1000)?;
            }
            Ok(true)
        }

        fn is_return_probe(&self, address: u64) -> bool {
            address == 0x1ffe
        }
    }

    fn record(number: u32, addresses: &[u64]) -> Vec<u8> {
        let mut payload = vec![0xee; 8 + 8 * addresses.len()];

        fill(&mut payload, number, addresses);
        [&[4, 0, 0, 1, 9, 0, 0, 0], &payload[..]].concat()
    }

    fn text(addresses: &[u64], options: OptionSet) -> String {
        let mut text = String::new();

        write_callers(&record(3, addresses), options, &mut Map, &mut text).unwrap();
        text
    }

    #[test]
    fn a_stack() {
        let none = OptionSet::DEFAULT;
        let some = [0x1002, 0x77, 0, 0x1fff];

        assert_eq!(
            text(&some, none),
            "<stack trace>\n => known\n => 0x00000077\n => 0\n => known\n"
        );
        assert_eq!(
            text(&some[..2], none.with(Opt::SymOffset, true)),
            "<stack trace>\n => known+0x2/0x1000\n => 0x77\n"
        );
        assert_eq!(
            text(&some[..3], none.with(Opt::SymAddr, true)),
            "<stack trace>\n => known <0000000000001002>\n\
             \x20=> 0x00000077 <0000000000000077>\n => 0\n"
        );
        assert_eq!(text(&[], none), "<stack trace>\n");
        let named = " => [unknown/kretprobe'd]";
        for (options, shown) in [
            (none, format!("{named}\n => known\n")),
            (
                none.with(Opt::SymOffset, true).with(Opt::SymAddr, true),
                format!("{named} <0000000000001ffe>\n => known+0xffd/0x1000 <0000000000001ffd>\n"),
            ),
        ] {
            assert_eq!(
                text(&[0x1ffe, 0x1ffd], options),
                format!("<stack trace>\n{shown}")
            );
        }
        // The end mark of older kernels.
        assert_eq!(
            text(&[0x1000, u64::MAX, 0x1000], none),
            "<stack trace>\n => known\n"
        );
    }

    #[test]
    fn a_record_is_number_gap_addresses() {
        let bytes = record(0x01020304, &[5, 6]);

        assert_eq!(bytes[8..16], [4, 3, 2, 1, 0, 0, 0, 0]);
        assert_eq!(bytes.len(), 32);
        assert_eq!(callers(&bytes).collect::<Vec<_>>(), [5, 6]);
        assert_eq!(process(&bytes), 0x01020304);
        assert_eq!(callers(&bytes[..31]).collect::<Vec<_>>(), [5]);
        assert_eq!(callers(&bytes[..10]).count(), 0);
        assert_eq!(process(&bytes[..10]), 0);
    }

    #[test]
    fn user_callers_end_at_a_zero() {
        assert_eq!(
            user_callers(&record(1, &[7, 8, 0, 9, 0, 0, 0, 0])),
            [7, 8, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(user_callers(&record(1, &[1; 9])), [1; 8]);
        assert_eq!(user_callers(&[]), [0; 8]);
    }

    #[test]
    fn filling_never_leaves_the_record() {
        for len in 0..40 {
            let mut payload = vec![0xee; len];

            fill(&mut payload, 1, &[2; 9]);
            assert_eq!(payload.len(), len);
        }
    }
}
