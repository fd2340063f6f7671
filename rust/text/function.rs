// SPDX-License-Identifier: GPL-2.0
//! How the records of the tracer `function` are printed: a function and its caller, perhaps with arguments or
//! the number of repeats.
//!
//! The records are complete, with the eight common bytes first. What an address is called only the kernel
//! knows; the caller brings a [`SymbolNames`].

use core::fmt;

use super::{
    form,
    options::{
        Opt,
        OptionSet, //
    },
    stack::{
        write_address,
        SymbolNames, //
    },
    time::Seconds,
    writer::ByteWrite, //
};

/// The offset of the addresses in a record.
const ADDRESSES: usize = 8;

/// The offset of the arguments in a record that has them, and how many words they are.
const ARGUMENTS: usize = 24;
pub(super) const MOST_ARGUMENTS: usize = 6;

/// Knows the parameters of functions.
pub(crate) trait Arguments {
    /// Writes the arguments of the function at `function`, which got these words in registers; nothing for a
    /// function whose parameters are not known.
    fn write(&mut self, function: u64, registers: &[u64], out: &mut dyn ByteWrite) -> fmt::Result;
}

/// When a record was made, by its clock.
#[derive(Clone, Copy, Default)]
pub(crate) struct CallTime {
    pub(crate) stamp: u64,
    /// The clock counts nanoseconds.
    pub(crate) is_ns: bool,
}

/// Returns the words in registers that the function got; `None` for a record without them.
pub(super) fn registers(record: &[u8]) -> Option<[u64; MOST_ARGUMENTS]> {
    registers_at(record, ARGUMENTS)
}

/// Returns the words in registers that are at this place of a record; `None` for a record without them.
pub(super) fn registers_at(record: &[u8], at: usize) -> Option<[u64; MOST_ARGUMENTS]> {
    let bytes: &[u8; 8 * MOST_ARGUMENTS] = record.get(at..)?.first_chunk()?;
    let mut registers = [0; MOST_ARGUMENTS];
    for (register, bytes) in registers.iter_mut().zip(bytes.chunks_exact(8)) {
        *register = bytes
            .first_chunk()
            .map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    }
    Some(registers)
}

/// Returns the number of repeats in a record of them, and how long before the record the last one was.
fn repeats(record: &[u8]) -> (u16, u64) {
    let bytes = record.get(ARGUMENTS..).and_then(<[u8]>::first_chunk);
    let numbers = bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    (
        numbers as u16,
        (((numbers >> 16) & 0xffff) << 32) | (numbers >> 32),
    )
}

/// Returns the function and its caller, 0 for what the record does not have.
fn addresses(record: &[u8]) -> [u64; 2] {
    let mut found = [0; 2];
    let bytes = record.get(ADDRESSES..).unwrap_or_default();
    for (address, bytes) in found.iter_mut().zip(bytes.chunks_exact(8)) {
        *address = bytes
            .first_chunk()
            .map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    }
    found
}

/// Writes the line of a record.
pub(crate) fn write_text(
    record: &[u8],
    options: OptionSet,
    names: &mut dyn SymbolNames,
    arguments: &mut dyn Arguments,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    let [function, caller] = addresses(record);
    write_address(function, options, names, out)?;
    if let Some(registers) = registers(record) {
        out.write_char('(')?;
        arguments.write(function, &registers, out)?;
        out.write_char(')')?;
    }
    write_caller(caller, options, names, out)?;
    out.write_char('\n')
}

fn write_caller(
    caller: u64,
    options: OptionSet,
    names: &mut dyn SymbolNames,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    if options.has(Opt::PrintParent) && caller != 0 {
        out.write_str(" <-")?;
        write_address(caller, options, names, out)?;
    }
    Ok(())
}

/// Writes the line of a record of repeats, which was made at `moment`.
pub(crate) fn write_repeats(
    record: &[u8],
    moment: CallTime,
    options: OptionSet,
    names: &mut dyn SymbolNames,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    let [function, caller] = addresses(record);
    write_address(function, options, names, out)?;
    write_caller(caller, options, names, out)?;
    let (count, ago) = repeats(record);
    let last = moment.stamp.wrapping_sub(ago);
    write!(out, " (repeats: {count}, last_ts: ")?;
    match moment.is_ns {
        true => write!(out, "{}", Seconds(last))?,
        false => write!(out, "{last:12}")?,
    }
    out.write_str(")\n")
}

/// Writes the numbers of a record of repeats under the option `raw`.
pub(crate) fn write_raw_repeats(record: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    let ([function, caller], (count, ago)) = (addresses(record), repeats(record));
    writeln!(out, "{function} {caller} {count} {ago}")
}

/// Writes both addresses under the option `raw`.
pub(crate) fn write_raw(record: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    let [function, caller] = addresses(record);
    writeln!(out, "{function:x} {caller:x}")
}

/// Writes both addresses under the option `hex`.
pub(crate) fn write_hex(record: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    for address in addresses(record) {
        form::write_hex(&address.to_ne_bytes(), out)?;
    }
    Ok(())
}

/// Writes both addresses under the option `bin`.
pub(crate) fn write_bin(record: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    for address in addresses(record) {
        out.write_bytes(&address.to_ne_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{
        stack::NameExtent,
        writer::Bytes, //
    };

    /// Knows what is at 0x1000 to 0x1fff.
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

        fn is_return_probe(&self, _: u64) -> bool {
            false
        }
    }

    fn record(function: u64, caller: u64) -> Vec<u8> {
        [
            &[1, 0, 0, 1, 9, 0, 0, 0],
            &function.to_ne_bytes()[..],
            &caller.to_ne_bytes(),
        ]
        .concat()
    }

    impl Arguments for Map {
        fn write(
            &mut self,
            function: u64,
            registers: &[u64],
            out: &mut dyn ByteWrite,
        ) -> fmt::Result {
            write!(out, "{function:x}: {registers:?}")
        }
    }

    fn text(record: &[u8], options: OptionSet) -> String {
        let mut text = String::new();
        write_text(record, options, &mut Map, &mut Map, &mut text).unwrap();
        text
    }

    #[test]
    fn arguments_are_there_when_the_record_has_six_words_more() {
        let mut bytes = record(0x1004, 0x1234);
        for word in 1..7u64 {
            assert_eq!(text(&bytes, OptionSet::DEFAULT), "known <-known\n");
            bytes.extend(word.to_ne_bytes());
        }
        let line = "known(1004: [1, 2, 3, 4, 5, 6]) <-known\n";
        assert_eq!(text(&bytes, OptionSet::DEFAULT), line);
    }

    #[test]
    fn repeats_have_a_number_and_the_time_of_the_last() {
        let mut bytes = record(0x1004, 0x1234);
        bytes.extend(19u16.to_ne_bytes());
        bytes.extend(1u16.to_ne_bytes());
        bytes.extend(5_000_000u32.to_ne_bytes());
        let text = |is_ns| {
            let stamp = 12_345_678_901;
            let (mut text, moment) = (String::new(), CallTime { stamp, is_ns });
            write_repeats(&bytes, moment, OptionSet::DEFAULT, &mut Map, &mut text).unwrap();
            text
        };
        let head = "known <-known (repeats: 19, last_ts:";
        assert_eq!(text(true), format!("{head}     8.045712)\n"));
        assert_eq!(text(false), format!("{head}   8045711605)\n"));
        let mut raw = String::new();
        write_raw_repeats(&bytes, &mut raw).unwrap();
        assert_eq!(raw, "4100 4660 19 4299967296\n");
    }

    #[test]
    fn lines() {
        let (options, both) = (OptionSet::DEFAULT, record(0x1004, 0x1234));
        let rows = [
            (options, "known <-known\n"),
            (options.with(Opt::PrintParent, false), "known\n"),
            (
                options.with(Opt::SymOffset, true),
                "known+0x4/0x1000 <-known+0x234/0x1000\n",
            ),
            (
                options.with(Opt::SymAddr, true),
                "known <0000000000001004> <-known <0000000000001234>\n",
            ),
        ];
        for (options, expected) in rows {
            assert_eq!(text(&both, options), expected);
        }
        assert_eq!(text(&record(0x1004, 0), options), "known\n");
        assert_eq!(text(&record(0x77, 0x1000), options), "0x00000077 <-known\n");
        assert_eq!(text(&both[..23], options), "known\n");
        assert_eq!(text(&[], options), "0\n");
    }

    // The forms are those that a stock kernel wrote.
    #[test]
    fn numbers() {
        let record = record(0xffff_ffff_a97c_8c34, 0xffff_ffff_a97e_7ba5);
        let written = |write: fn(&[u8], &mut dyn ByteWrite) -> fmt::Result| {
            let mut out = Bytes::default();
            write(&record, &mut out).unwrap();
            out.0
        };
        assert_eq!(written(write_raw), b"ffffffffa97c8c34 ffffffffa97e7ba5\n");
        assert_eq!(written(write_hex), b"ffffffffa97c8c34 ffffffffa97e7ba5 ");
        assert_eq!(written(write_bin), record[8..]);
    }
}
