// SPDX-License-Identifier: GPL-2.0
//! How the records of the tracer `function` are printed: a function and its caller.
//!
//! The records are complete, with the eight common bytes first. What an address is called only the kernel
//! knows; the caller brings a [`Names`].

use core::fmt;

use super::{
    form,
    options::{
        Opt,
        OptionSet, //
    },
    stack::{
        write_address,
        Names, //
    },
    writer::ByteWrite, //
};

/// The offset of the addresses in a record.
const ADDRESSES: usize = 8;

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
    names: &mut dyn Names,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    let [function, caller] = addresses(record);
    write_address(function, options, names, out)?;
    if options.has(Opt::PrintParent) && caller != 0 {
        out.write_str(" <-")?;
        write_address(caller, options, names, out)?;
    }
    out.write_char('\n')
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
    use crate::text::writer::Bytes;

    /// Knows what is at 0x1000 to 0x1fff.
    struct Map;

    impl Names for Map {
        fn write_name(
            &mut self,
            address: u64,
            offset: bool,
            out: &mut dyn ByteWrite,
        ) -> Result<bool, fmt::Error> {
            if !(0x1000..0x2000).contains(&address) {
                return Ok(false);
            }
            out.write_str("known")?;
            if offset {
                write!(out, "+{:#x}/0x1000", address - 0x1000)?;
            }
            Ok(true)
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

    fn text(record: &[u8], options: OptionSet) -> String {
        let mut text = String::new();
        write_text(record, options, &mut Map, &mut text).unwrap();
        text
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
