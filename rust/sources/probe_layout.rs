// SPDX-License-Identifier: GPL-2.0

//! What the definition of a dynamic event says of its records, for all kinds.

use super::dynamic::{
    DynamicKind,
    RefusedLine, //
};
use crate::{
    event::{
        field::Declared,
        format, //
    },
    events::Event,
    fetch::{
        argument::{
            ArgumentName,
            Compiler,
            ProbeSite, //
        },
        command::words,
        error::{
            Code,
            ProbeError,
            ProbeRefusal, //
        },
        print::{
            self,
            NamedArgument,
            RecordHead, //
        },
        run::FetchProgram,
        step::Argument,
        MOST_ARGUMENTS, //
    },
    kapi::{
        symbol::Symbol,
        text_buffer::TextBuffer, //
    },
    probes::COMMON,
    text::writer::ByteWrite, //
};
use core::iter;
use kernel::{
    fmt::{
        self,
        Write, //
    },
    prelude::*, //
};

/// Names that no argument has.
const RESERVED: &[&str] = &[
    "common_type",
    "common_flags",
    "common_preempt_count",
    "common_pid",
    "common_tgid",
    "__probe_ip",
    "__probe_ret_ip",
    "__probe_func",
];

/// What a definition says of its probe and of its records.
pub(super) struct ProbeLayout {
    /// The line of the definition.
    pub(super) line: KVec<u8>,
    pub(super) arguments: KVec<Argument>,
    /// The names of the arguments, a blank after each.
    pub(super) names: TextBuffer,
    pub(super) head: RecordHead,
}

impl ProbeLayout {
    /// Returns the bytes of a record before its arguments.
    pub(super) fn head(&self) -> usize {
        let words = self.head.fields().len();
        words.wrapping_mul(8).wrapping_add(COMMON)
    }

    /// Returns what fills the rest of a record.
    pub(super) fn program(&self) -> FetchProgram<'_> {
        FetchProgram {
            line: &self.line,
            arguments: &self.arguments,
            head: self.head(),
        }
    }

    /// Returns the bytes of a record without its strings.
    pub(super) fn size(&self) -> usize {
        self.program().fixed()
    }

    /// Returns the arguments with their names.
    pub(super) fn named(&self) -> impl Iterator<Item = NamedArgument<'_>> + Clone {
        iter::zip(self.names.text().split(' '), self.arguments.iter())
    }

    /// Returns all fields of a record after the common ones.
    pub(super) fn fields(&self) -> impl Iterator<Item = Declared<'_>> {
        let head = self.head.fields().iter().copied();
        Iterator::chain(head, self.named().map(print::field))
    }

    /// Writes the text of the `format` file of the event. Fails when `w` does.
    pub(super) fn write_format(&self, event: &Event, w: &mut dyn fmt::Write) -> fmt::Result {
        let mut text = TextBuffer::new();
        print::write_format(&mut text, self.head, self.named())?;
        let (name, id) = (event.name(), event.id());
        format::write(w, name, id, self.fields(), text.text(), [].into_iter())
    }

    /// Writes the arguments of a record. Fails when `out` does.
    pub(super) fn write_values(&self, record: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
        let mut symbol =
            |address, out: &mut dyn ByteWrite| out.write_str(Symbol::at(address).text());
        print::write_values(out, self.named(), record, self.head(), &mut symbol)
    }

    /// Checks that `line` has not too many arguments.
    pub(super) fn check_count(line: &str) -> Result<(), ProbeRefusal> {
        match words(line).nth(MOST_ARGUMENTS.saturating_add(2)) {
            None => Ok(()),
            Some(_) => {
                let at = words(line).nth(2).map_or(0, |word| word.at);
                let error = ProbeError::TooManyArguments;
                Err(ProbeRefusal::with(error, at, Code::TooBig))
            }
        }
    }

    /// Compiles the arguments of `line`, which follow its first two words, for records that begin with `head`.
    pub(super) fn compile(
        line: &str,
        head: RecordHead,
        compiler: &mut Compiler<'_>,
        kind: &dyn DynamicKind,
    ) -> Result<Self, RefusedLine> {
        let mut copy = KVec::new();
        copy.extend_from_slice(line.as_bytes(), GFP_KERNEL)
            .map_err(Error::from)?;
        let mut arguments: KVec<Argument> = KVec::new();
        let mut names = TextBuffer::new();
        Self::check_count(line).map_err(|refusal| kind.refused(refusal))?;
        for (word, number) in words(line).skip(2).zip(1usize..) {
            let is_used = |name: ArgumentName<'_>| {
                let mut others = names.text().split(' ');
                match name {
                    ArgumentName::Text(name) => {
                        RESERVED.contains(&name) || others.any(|other| other == name)
                    }
                    ArgumentName::Number(number) => others.any(|other| {
                        let digits = other.strip_prefix("arg").filter(|n| !n.starts_with('0'));
                        digits.is_some_and(|digits| digits.parse() == Ok(number))
                    }),
                }
            };
            let argument = compiler
                .compile(word, number, is_used)
                .map_err(|refusal| kind.refused(refusal))?;
            if compiler.lacks_symbol && matches!(compiler.site, ProbeSite::Event(_)) {
                return Err(ENOENT.into());
            }
            match argument.name {
                Some(name) => write!(names, "{} ", name.of(line)),
                None => write!(names, "arg{number} "),
            }
            .map_err(|_| ENOMEM)?;
            arguments.push(argument, GFP_KERNEL).map_err(Error::from)?;
        }
        Ok(Self {
            line: copy,
            arguments,
            names,
            head,
        })
    }
}
