// SPDX-License-Identifier: GPL-2.0

//! What the definition of a dynamic event says of its records, for all kinds.

use super::{
    dynamic::{
        DynamicKind,
        RefusedLine, //
    },
    enum_tables::EnumTables,
    function_table::FunctionTable, //
};
use crate::{
    event::{
        field::{
            self,
            DeclaredField, //
        },
        format, //
    },
    events::{
        as_text,
        Event,
        PrintManner,
        Symbols, //
    },
    fetch::{
        argument::{
            ArgumentName,
            Compiler,
            ProbeSite, //
        },
        command::{
            words,
            LineWord, //
        },
        error::{
            ProbeError,
            ProbeRefusal, //
        },
        expand,
        plain::PlainArgument,
        plain_text::PlainText,
        print::{
            self,
            NamedArgument,
            RecordHead, //
        },
        run::{
            FetchProgram,
            RecordShape, //
        },
        spread::WordOrigin,
        step::{
            Argument,
            FetchStep,
            KeptParameters, //
        },
        user_command::UserPlace, //
    },
    kapi::{
        scratch,
        text_buffer::TextBuffer, //
    },
    probes::{
        operand,
        Filter,
        COMMON, //
    },
    text::{
        options::{
            Opt,
            OptionSet, //
        },
        stack,
        writer::ByteWrite, //
    }, //
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

/// A place in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FilePlace {
    /// The number of the file.
    pub(super) file: u64,
    pub(super) place: UserPlace,
}

impl FilePlace {
    /// Returns whether both are one place, with another word that counts the probes there.
    pub(super) fn contradicts(&self, other: &Self) -> bool {
        (self.file, self.place.offset) == (other.file, other.place.offset)
            && self.place.counter != other.place.counter
    }
}

/// What a definition says of its probe and of its records.
pub(super) struct ProbeLayout {
    /// The line of the definition.
    pub(super) line: KVec<u8>,
    pub(super) arguments: KVec<Argument>,
    /// The names of the arguments, a blank after each.
    pub(super) names: TextBuffer,
    pub(super) head: RecordHead,
    shape: RecordShape,
    /// Parameters that are kept from the beginning of a call to its return.
    pub(super) kept: KeptParameters,
    /// An argument names a symbol that was not there.
    pub(super) lacks_symbol: bool,
    /// Where the arguments are in the line as it was written, if some stand for several.
    places: KVec<usize>,
    /// The names of values of enumerations.
    enumerations: EnumTables,
    /// The functions that the arguments were compiled for, if they are several.
    pub(super) functions: Option<FunctionTable>,
    /// Where the probe is, if that is in a file.
    pub(super) file: Option<FilePlace>,
    /// What a record has to be, or it is not recorded.
    pub(super) filter: Option<KBox<Filter>>,
}

impl ProbeLayout {
    /// Keeps where the words of the line come from.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn set_places(&mut self, origins: &[WordOrigin]) -> Result {
        for origin in origins.iter().skip(2) {
            self.places.push(origin.begin(), GFP_KERNEL)?;
        }
        Ok(())
    }

    /// Returns whether the registers that a function's hook gets are enough.
    pub(super) fn suits_hook(&self) -> bool {
        self.shape.suits_hook
    }

    /// Returns whether the probe is on a tracepoint.
    fn is_of_tracepoint(&self) -> bool {
        self.line.first() == Some(&b't')
    }

    /// Has only those records made that `condition` lets through.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and what is wrong with the filter.
    pub(super) fn set_condition(
        &mut self,
        condition: Option<LineWord<'_>>,
        kind: &dyn DynamicKind,
    ) -> Result<(), RefusedLine> {
        let Some(condition) = condition else {
            return Ok(());
        };
        if condition.text.is_empty() {
            // ftrace counts a blank after each word.
            let refusal = ProbeRefusal::new(ProbeError::FilterMissing, condition.at);
            return Err(kind.refused(refusal));
        }
        scratch::prepare_all_levels()?;
        let field = |name: &str| {
            let mut fields = field::place(self.fields(), COMMON as u32);
            fields
                .find(|field| field.declared.name == name)
                .map(operand)
        };
        let filter = Filter::of_fields(&field, self.size(), condition.text.as_bytes())?;
        let filter = filter
            .map_err(|wrong| RefusedLine::of_filter((wrong.kind.text(), wrong.at), condition))?;
        self.filter = Some(filter);
        Ok(())
    }

    /// Returns the arguments if each is a register or a parameter as it is, but for one that may be a plain string, and
    /// all hits are recorded.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn plain(&self) -> Result<Option<(KVec<PlainArgument>, Option<PlainText>)>> {
        let (mut plain, mut text) = (KVec::new(), None);
        let in_registers = !self.is_of_tracepoint();
        for (argument, at) in self.placed() {
            if text.is_none() {
                text = PlainText::of(argument, in_registers, at);
                if text.is_some() {
                    continue;
                }
            }
            let Some(one) = PlainArgument::of(argument, in_registers, at) else {
                return Ok(None);
            };
            plain.push(one, GFP_KERNEL)?;
        }
        Ok(self.filter.is_none().then_some((plain, text)))
    }

    /// Returns what fills a record after its common fields and its head.
    #[inline(always)]
    pub(super) fn program(&self) -> FetchProgram<'_> {
        FetchProgram {
            line: &self.line,
            arguments: &self.arguments,
            shape: self.shape,
        }
    }

    /// Returns whether its arguments are in memory, some of them.
    #[inline(always)]
    pub(super) fn reads_memory(&self) -> bool {
        self.shape.reads_memory
    }

    /// Returns the bytes of a record without its strings.
    pub(super) fn size(&self) -> usize {
        self.shape.fixed
    }

    /// Returns the arguments with their names.
    pub(super) fn named(&self) -> impl Iterator<Item = NamedArgument<'_>> + Clone {
        iter::zip(self.names.text().split(' '), self.arguments.iter())
    }

    /// Returns the arguments, each with its offset in a record.
    pub(super) fn placed(&self) -> impl Iterator<Item = (&Argument, usize)> {
        self.arguments
            .iter()
            .scan(self.shape.head, |end, argument| {
                let at = *end;
                *end = at.saturating_add(argument.size());
                Some((argument, at))
            })
    }

    /// Returns the symbols that are looked up when the probe is called again, each after its slot.
    pub(super) fn symbols(&self) -> impl Iterator<Item = (u8, &str)> {
        let line = as_text(Some(&self.line));
        let steps = self.arguments.iter().flat_map(Argument::steps);
        steps.filter_map(move |step| match step {
            FetchStep::Symbol { slot, name, .. } => Some((*slot, name.of(line))),
            _ => None,
        })
    }

    /// Returns all fields of a record after the common ones.
    pub(super) fn fields(&self) -> impl Iterator<Item = DeclaredField<'_>> {
        let head = self.head.fields().iter().copied();
        Iterator::chain(head, self.named().map(print::field))
    }

    /// Writes the text of the `format` file of the event. Fails when `w` does.
    pub(super) fn write_format(&self, event: &Event, w: &mut dyn fmt::Write) -> fmt::Result {
        let mut text = TextBuffer::new();
        let names = |number| self.enumerations.names(number);
        print::write_format(&mut text, self.head, self.named(), &names)?;
        let (name, id) = (event.name(), event.id());
        format::write(w, name, id, self.fields(), text.text(), [].into_iter())
    }

    /// Writes the arguments as the line of the definition in the list has them. Fails when `w` does.
    pub(super) fn write_definition(&self, w: &mut dyn fmt::Write) -> fmt::Result {
        let line = as_text(Some(&self.line));
        for (name, argument) in self.named() {
            write!(w, " {name}={}", argument.body.of(line))?;
        }
        Ok(())
    }

    /// Writes where a hit was, as a record says. Fails when `out` does.
    pub(super) fn write_place(
        &self,
        record: &[u8],
        manner: PrintManner,
        symbols: &mut Symbols,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let place = word(record, COMMON);
        let returns = self.head == RecordHead::Return;
        if self.file.is_some() {
            return match returns {
                true => {
                    let returned_to = word(record, COMMON.wrapping_add(8));
                    write!(out, "({returned_to:#x} <- {place:#x})")
                }
                false => write!(out, "({place:#x})"),
            };
        }
        out.write_str("(")?;
        if returns {
            let returned_to = word(record, COMMON.wrapping_add(8));
            write_address((returned_to, true), manner, symbols, out)?;
            out.write_str(" <- ")?;
        }
        write_address((place, !returns), manner, symbols, out)?;
        out.write_str(")")
    }

    /// Writes the arguments of a record. Fails when `out` does.
    pub(super) fn write_values(
        &self,
        record: &[u8],
        symbols: &mut Symbols,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let mut symbol = |address, out: &mut dyn ByteWrite| {
            symbols.with_text(address, |text| out.write_bytes(text))
        };
        let names = |number| self.enumerations.names(number);
        print::write_values(
            out,
            self.named(),
            record,
            self.shape.head,
            &mut symbol,
            &names,
        )
    }

    /// Checks that `other`, which `line` has compiled to, makes the same records: one event may have both probes, as in
    /// ftrace.
    pub(super) fn accepts(&self, line: &str, other: &Self) -> Result<(), ProbeRefusal> {
        if self.head != other.head || self.is_of_tracepoint() != other.is_of_tracepoint() {
            return Err(ProbeRefusal::exists(ProbeError::DifferentProbe, 0));
        }
        let mut pairs = iter::zip(self.named(), other.named()).zip(0usize..);
        let is_other =
            |((own_name, own), (name, argument)): (NamedArgument<'_>, NamedArgument<'_>)| {
                own_name != name || own.ty != argument.ty || own.count != argument.count
            };
        // A record does not say which of the probes has made it.
        let has_other_names = !self.enumerations.is_same(&other.enumerations);
        let (own, others) = (self.arguments.len(), other.arguments.len());
        let different = match own == others {
            true => pairs
                .find(|(pair, _)| is_other(*pair))
                .map(|(_, number)| number)
                .or(has_other_names.then_some(0)),
            false => Some(own.min(others)),
        };
        match different {
            Some(number) => {
                let place = other.places.get(number).copied();
                let at = place.unwrap_or_else(|| expand::argument_at(line, number));
                Err(ProbeRefusal::exists(ProbeError::DifferentArgument, at))
            }
            None => Ok(()),
        }
    }

    /// Returns whether `other`, which makes the same records, is of the same place with the same arguments.
    pub(super) fn is_same_probe(&self, other: &Self, kind: &dyn DynamicKind) -> bool {
        let lines = (as_text(Some(&self.line)), as_text(Some(&other.line)));
        let place = |line| words(line).nth(1).map_or("", |word| word.text);
        let is_same_place = match self.file {
            Some(_) => self.file == other.file,
            None => kind.is_same_place(place(lines.0), place(lines.1)),
        };
        let is_same = |(own, argument): (&Argument, &Argument)| {
            own.body.of(lines.0) == argument.body.of(lines.1)
        };
        is_same_place && iter::zip(&self.arguments, &other.arguments).all(is_same)
    }

    /// Compiles the arguments of the line `expanded`, which follow its first two words. It was made of the
    /// line `given`, which carets point into.
    pub(super) fn compile(
        (given, line): (&str, &str),
        compiler: &mut Compiler<'_>,
        kind: &dyn DynamicKind,
    ) -> Result<Self, RefusedLine> {
        let mut copy = KVec::new();
        copy.extend_from_slice(line.as_bytes(), GFP_KERNEL)
            .map_err(Error::from)?;
        let mut arguments: KVec<Argument> = KVec::new();
        let mut names = TextBuffer::new();
        expand::check_count(given, line).map_err(|refusal| kind.refused(refusal))?;
        let refused = |refusal: ProbeRefusal| {
            let at = expand::place_in(given, line, refusal.at);
            kind.refused(ProbeRefusal { at, ..refusal })
        };
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
            let argument = compiler.compile(word, number, is_used).map_err(refused)?;
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
        let head = compiler.site.head();
        let words = head.fields().len();
        let before = words.wrapping_mul(8).wrapping_add(COMMON);
        Ok(Self {
            shape: RecordShape::of(before, &arguments),
            line: copy,
            arguments,
            names,
            head,
            kept: *compiler.kept(),
            lacks_symbol: compiler.lacks_symbol,
            places: KVec::new(),
            enumerations: EnumTables::of(compiler)?,
            functions: None,
            file: None,
            filter: None,
        })
    }
}

/// Returns the word at `at` of a record.
fn word(record: &[u8], at: usize) -> u64 {
    let bytes = record.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Writes the name of an address, with the place in the function and the module if `offset` is set.
fn write_address(
    (address, offset): (u64, bool),
    manner: PrintManner,
    symbols: &mut Symbols,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    let options = OptionSet::DEFAULT
        .with(Opt::SymOffset, offset)
        .with(Opt::SymAddr, manner.has_addresses());
    stack::write_address(address, options, symbols, out)
}
