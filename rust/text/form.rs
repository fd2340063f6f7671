// SPDX-License-Identifier: GPL-2.0
//! The forms of `trace` and `trace_pipe` under the options `raw`, `hex` and `bin`.
//!
//! They are meant for programs, of which few are left: task, CPU and time as numbers, followed by
//! what the type of the record has for that form. Almost no type has anything for it; then its
//! number follows.

use core::fmt;

use super::{
    options::{
        Opt,
        OptionSet, //
    },
    writer::ByteWrite, //
};

/// A form in which records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Lines for people.
    Text,
    /// Decimal numbers.
    Raw,
    /// Hexadecimal digits.
    Hex,
    /// The bytes of the numbers.
    Bin,
}

impl Form {
    /// Returns the form that the options ask for. The densest one wins.
    pub(crate) fn of(options: OptionSet) -> Self {
        [
            (Opt::Bin, Form::Bin),
            (Opt::Hex, Form::Hex),
            (Opt::Raw, Form::Raw),
        ]
        .into_iter()
        .find(|(opt, _)| options.has(*opt))
        .map_or(Form::Text, |(_, form)| form)
    }

    /// Writes the end of a record whose body has been written.
    pub(crate) fn write_end(self, out: &mut dyn ByteWrite) -> fmt::Result {
        match self {
            Form::Hex => out.write_char('\n'),
            _ => Ok(()),
        }
    }
}

/// The task, the CPU and the time of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) pid: i32,
    pub(crate) cpu: u32,
    pub(crate) stamp: u64,
}

impl Origin {
    /// Writes what precedes a record; nothing for lines of text, which have a prefix of their own.
    pub(crate) fn write(&self, form: Form, out: &mut dyn ByteWrite) -> fmt::Result {
        let (pid, cpu, stamp) = (
            self.pid.to_ne_bytes(),
            self.cpu.to_ne_bytes(),
            self.stamp.to_ne_bytes(),
        );
        match form {
            Form::Text => Ok(()),
            Form::Raw => write!(out, "{} {} {} ", self.pid, self.cpu, self.stamp),
            Form::Hex => {
                write_hex(&pid, out)?;
                write_hex(&cpu, out)?;
                write_hex(&stamp, out)
            }
            Form::Bin => {
                out.write_bytes(&pid)?;
                out.write_bytes(&cpu)?;
                out.write_bytes(&stamp)
            }
        }
    }
}

/// Writes a number, given as its bytes in memory, in hexadecimal digits.
pub(crate) fn write_hex(bytes: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
    for byte in bytes.iter().rev() {
        write!(out, "{byte:02x}")?;
    }
    out.write_char(' ')
}

/// Writes a record whose type has nothing for this form: only the number of the type.
pub(crate) fn write_type(event_type: u16, out: &mut dyn ByteWrite) -> fmt::Result {
    writeln!(out, "type: {event_type}")
}

/// Writes a record whose type is unknown.
pub(crate) fn write_unknown(form: Form, event_type: u16, out: &mut dyn ByteWrite) -> fmt::Result {
    match form {
        Form::Text => writeln!(out, "Unknown type {event_type}"),
        Form::Raw => writeln!(out, "{event_type} ?"),
        Form::Hex | Form::Bin => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::writer::Bytes;

    fn written(form: Form, body: impl FnOnce(&mut Bytes) -> fmt::Result) -> Vec<u8> {
        let mut out = Bytes::default();
        let origin = Origin {
            pid: 113,
            cpu: 1,
            stamp: 3_702_645_858,
        };

        origin.write(form, &mut out).unwrap();
        body(&mut out).unwrap();
        form.write_end(&mut out).unwrap();
        out.0
    }

    #[test]
    fn what_a_stock_kernel_wrote() {
        let body = |out: &mut Bytes| write_type(386, out);

        assert_eq!(written(Form::Raw, body), b"113 1 3702645858 type: 386\n");
        assert_eq!(
            written(Form::Hex, body),
            b"00000071 00000001 00000000dcb1e462 type: 386\n\n"
        );
        assert_eq!(
            written(Form::Bin, body),
            [
                &[113, 0, 0, 0, 1, 0, 0, 0, 0x62, 0xe4, 0xb1, 0xdc, 0, 0, 0, 0][..],
                b"type: 386\n"
            ]
            .concat()
        );
        assert_eq!(written(Form::Text, body), b"type: 386\n");
    }

    #[test]
    fn unknown_types() {
        let of = |form| written(form, |out| write_unknown(form, 4711, out));

        assert_eq!(of(Form::Text), b"Unknown type 4711\n");
        assert_eq!(of(Form::Raw), b"113 1 3702645858 4711 ?\n");
        assert_eq!(of(Form::Hex), b"00000071 00000001 00000000dcb1e462 \n");
        assert_eq!(of(Form::Bin).len(), 16);
    }

    #[test]
    fn a_negative_pid_is_a_word_in_hex() {
        let mut out = Bytes::default();
        let origin = Origin {
            pid: -2,
            cpu: 0,
            stamp: u64::MAX,
        };
        origin.write(Form::Hex, &mut out).unwrap();
        assert_eq!(out.0, b"fffffffe 00000000 ffffffffffffffff ");
    }

    #[test]
    fn the_densest_form_wins() {
        let none = OptionSet::DEFAULT;
        let raw = none.with(Opt::Raw, true);
        let hex = raw.with(Opt::Hex, true);

        assert_eq!(Form::of(none), Form::Text);
        assert_eq!(Form::of(raw), Form::Raw);
        assert_eq!(Form::of(hex), Form::Hex);
        assert_eq!(Form::of(hex.with(Opt::Bin, true)), Form::Bin);
        assert_eq!(Form::of(none.with(Opt::Bin, true)), Form::Bin);
    }
}
