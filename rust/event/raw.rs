// SPDX-License-Identifier: GPL-2.0

//! The record of a tracepoint whose prototype alone is known.
//!
//! It holds the arguments in their order and with their own sizes, each aligned to its size: that
//! is a *raw event*. `sources::raw_desc` makes one from the kernel's BTF, `sources::raw_probes`
//! writes the records.

use super::{
    btf::{
        c_type::CType,
        functions::{
            ParameterForm,
            Prototype, //
        },
        Btf,
        BtfError, //
    },
    field::COMMON_SIZE, //
};
use core::fmt::{
    self,
    Write, //
};

/// Largest number of arguments of a tracepoint.
pub(crate) const MOST_ARGS: usize = 12;

/// The form in which an argument is printed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ArgKind {
    Signed,
    Unsigned,
    Pointer,
    /// A struct or union: its bytes, as one number.
    Value,
}

/// An argument and its place in the record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawArg<'a> {
    name: Option<&'a str>,
    /// Its place among the arguments, counted from 0.
    number: usize,
    pub(crate) ty: CType<'a>,
    pub(crate) kind: ArgKind,
    pub(crate) size: u8,
    pub(crate) offset: u16,
}

/// The reason why a tracepoint has no raw event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum UnfitReason {
    /// BTF cannot be read.
    Btf(BtfError),
    /// The function is not a tracepoint's.
    NoTracepoint,
    TooMany,
    /// An argument is not passed in one register.
    Passing,
}

impl UnfitReason {
    /// Returns the sentence for the kernel log.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Btf(error) => error.as_str(),
            Self::NoTracepoint => "its prototype is not a tracepoint's",
            Self::TooMany => "it has too many arguments",
            Self::Passing => "an argument is too large for a register",
        }
    }
}

impl From<BtfError> for UnfitReason {
    fn from(error: BtfError) -> Self {
        Self::Btf(error)
    }
}

/// The arguments of a tracepoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args<'a> {
    args: [Option<RawArg<'a>>; MOST_ARGS],
    end: u16,
}

impl<'a> Args<'a> {
    /// Returns the arguments of the tracepoint whose probes have this prototype: those after the
    /// probe's own data pointer. Fails with the [`UnfitReason`] that applies.
    pub(crate) fn new(btf: Btf<'a>, prototype: Prototype) -> Result<Self, UnfitReason> {
        let mut params = btf.params(prototype)?;
        let data = params.next().ok_or(UnfitReason::NoTracepoint)??;
        if data.form != ParameterForm::Pointer {
            return Err(UnfitReason::NoTracepoint);
        }
        let mut args = [None; MOST_ARGS];
        let mut end = COMMON_SIZE as u16;
        for (number, param) in params.enumerate() {
            let param = param?;
            let slot = args.get_mut(number).ok_or(UnfitReason::TooMany)?;
            let (kind, size) = match param.form {
                ParameterForm::Signed(size) => (ArgKind::Signed, size),
                ParameterForm::Unsigned(size) => (ArgKind::Unsigned, size),
                ParameterForm::Pointer => (ArgKind::Pointer, 8),
                ParameterForm::Value(size) => (ArgKind::Value, size),
                ParameterForm::Other => return Err(UnfitReason::Passing),
            };
            let offset = round_up(end, u16::from(size));
            end = offset.wrapping_add(u16::from(size));
            *slot = Some(RawArg {
                name: param.name,
                number,
                ty: btf.type_of(&param)?,
                kind,
                size,
                offset,
            });
        }
        Ok(Self { args, end })
    }

    /// Returns the arguments in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &RawArg<'a>> {
        self.args.iter().flatten()
    }

    /// Returns the bytes of a record, common fields included.
    pub(crate) fn record_size(&self) -> u16 {
        round_up(self.end, 4)
    }

    /// Writes the print format of a record, as in a `TP_printk()`.
    pub(crate) fn write_print_fmt(&self, w: &mut dyn Write) -> fmt::Result {
        w.write_str("\"")?;
        for arg in self.iter() {
            if arg.number != 0 {
                w.write_str(" ")?;
            }
            arg.write_name(w)?;
            w.write_str(match (arg.kind, arg.size) {
                (ArgKind::Pointer, _) => "=%p",
                (ArgKind::Value, 8) => "=0x%llx",
                (ArgKind::Value, _) => "=0x%x",
                (ArgKind::Signed, 8) => "=%lld",
                (ArgKind::Signed, _) => "=%d",
                (ArgKind::Unsigned, 8) => "=%llu",
                (ArgKind::Unsigned, _) => "=%u",
            })?;
        }
        w.write_str("\"")?;
        for arg in self.iter() {
            w.write_str(", REC->")?;
            arg.write_name(w)?;
        }
        Ok(())
    }
}

/// Returns `offset` rounded up to a multiple of `size`, a power of two.
fn round_up(offset: u16, size: u16) -> u16 {
    let mask = size.wrapping_sub(1);
    offset.wrapping_add(mask) & !mask
}

impl RawArg<'_> {
    /// Writes the name of the argument; one without a name is called after its number.
    pub(crate) fn write_name(&self, w: &mut dyn Write) -> fmt::Result {
        match self.name {
            Some(name) => w.write_str(name),
            None => write!(w, "arg{}", self.number.wrapping_add(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::btf::builder::Builder, super::btf::count, *};

    const INT: u8 = 1;
    const PTR: u8 = 2;
    const STRUCT: u8 = 4;
    const FUNC: u8 = 12;
    const PROTO: u8 = 13;

    /// Passes the arguments of an `f` with these parameters to `check`. The types are 1 `int`, 2
    /// `bool`, 3 `u16`, 4 `unsigned long`, 5 `struct x *`, 6 `struct x` of 4 bytes, 7 `struct y`
    /// of 24.
    fn of(params: &[(&str, u32)], check: impl FnOnce(Result<Args<'_>, UnfitReason>)) {
        let mut b = Builder::new();
        b.ty("int", INT, 0, false, 4);
        b.words(&[1 << 24 | 32]);
        b.ty("bool", INT, 0, false, 1);
        b.words(&[4 << 24 | 8]);
        b.ty("u16", INT, 0, false, 2);
        b.words(&[16]);
        b.ty("long unsigned int", INT, 0, false, 8);
        b.words(&[64]);
        b.ty("", PTR, 0, false, 6);
        b.ty("x", STRUCT, 1, false, 4);
        b.member("m", 1, 0);
        b.ty("y", STRUCT, 0, false, 24);
        b.ty("", PROTO, params.len() as u32, false, 0);
        for &(name, ty) in params {
            let name = b.string(name);
            b.words(&[name, ty]);
        }
        b.ty("f", FUNC, 0, false, 8);
        let bytes = b.build();
        let mut index = vec![0; count(&bytes).unwrap()];
        let btf = Btf::new(&bytes, &mut index).unwrap();
        let mut found = None;
        btf.functions(|_, proto| found = Some(proto)).unwrap();
        check(Args::new(btf, found.unwrap()));
    }

    #[test]
    fn arguments_become_fields() {
        let params = [
            ("__data", 5),
            ("preempt", 2),
            ("next", 5),
            ("", 3),
            ("ret", 1),
            ("flags", 4),
            ("state", 6),
            ("last", 2),
        ];
        of(&params, |args| {
            let args = args.unwrap();
            let fields: Vec<_> = args
                .iter()
                .map(|arg| {
                    let mut name = String::new();
                    arg.write_name(&mut name).unwrap();
                    format!(
                        "{} {name} {}+{} {:?}",
                        arg.ty, arg.offset, arg.size, arg.kind
                    )
                })
                .collect();
            assert_eq!(
                fields,
                [
                    "bool preempt 8+1 Unsigned",
                    "struct x * next 16+8 Pointer",
                    "u16 arg3 24+2 Unsigned",
                    "int ret 28+4 Signed",
                    "long unsigned int flags 32+8 Unsigned",
                    "struct x state 40+4 Value",
                    "bool last 44+1 Unsigned",
                ]
            );
            assert_eq!(args.record_size(), 48);
            let mut text = String::new();
            args.write_print_fmt(&mut text).unwrap();
            assert_eq!(
                text,
                "\"preempt=%u next=%p arg3=%u ret=%d flags=%llu state=0x%x last=%u\", REC->preempt, \
                 REC->next, REC->arg3, REC->ret, REC->flags, REC->state, REC->last"
            );
        });
    }

    #[test]
    fn a_tracepoint_without_arguments_has_an_empty_record() {
        of(&[("__data", 5)], |args| {
            let args = args.unwrap();
            let mut text = String::new();
            args.write_print_fmt(&mut text).unwrap();
            assert_eq!((text.as_str(), args.record_size()), ("\"\"", 8));
        });
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_reason() {
        let many = |n| vec![("p", 5); n];
        of(&many(13), |args| {
            assert_eq!(args.unwrap().iter().count(), 12)
        });
        of(&many(14), |args| {
            assert_eq!(args.err(), Some(UnfitReason::TooMany))
        });
        of(&[], |args| {
            assert_eq!(args.err(), Some(UnfitReason::NoTracepoint))
        });
        of(&[("i", 1)], |args| {
            assert_eq!(args.err(), Some(UnfitReason::NoTracepoint));
        });
        of(&[("p", 5), ("y", 7)], |args| {
            assert_eq!(args.err(), Some(UnfitReason::Passing));
        });
        of(&[("p", 5), ("gone", 99)], |args| {
            assert_eq!(args.err(), Some(UnfitReason::Btf(BtfError::Malformed)));
        });
    }
}
