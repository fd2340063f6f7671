// SPDX-License-Identifier: GPL-2.0

//! An argument of a definition, `[NAME=]FETCH[:TYPE]`, compiled into steps.

use super::{
    command::{
        is_name,
        LineWord, //
    },
    error::{
        Code,
        ProbeError,
        ProbeRefusal, //
    },
    function::ProbedFunction,
    known_types::{
        FieldPath,
        FieldsOrigin,
        KnownTypes,
        TypedValue, //
    },
    number,
    print::RecordHead,
    shape,
    shared_parameters::{
        ProbedFunctions,
        SharedParameter,
        MOST_PLACED,
        PLACED, //
    },
    step::{
        Argument,
        EventField,
        FetchStep,
        KeptParameters,
        LineSpan,
        StepList,
        MOST_NESTED,
        TIME_PLACE,
        WATCHED_PLACE, //
    },
    types::{
        ArgumentType,
        BitField,
        EnumType, //
    },
    MOST_ARGUMENTS, //
};
use crate::event::btf::probed::TypeNumber;

/// How long a call took.
pub(super) const LATENCY: &str = "$latency";
/// A name of an argument has no more bytes.
pub(super) const LONGEST_NAME: usize = 32;
/// Fetch and type have no more.
const LONGEST_BODY: usize = 255;
/// Most bytes of all arguments in the fixed part of a record.
const MOST_FIXED: usize = 3072;
/// Words of a kernel stack.
const STACK_WORDS: u64 = 2048;

/// The registers by their names, in the order of `struct pt_regs`.
pub(crate) const REGISTERS: [&str; 21] = [
    "r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax", "cx", "dx", "si", "di",
    "orig_ax", "ip", "cs", "flags", "sp", "ss",
];

/// Where a probe is hit, which decides what its arguments can be.
pub(crate) enum ProbeSite<'a> {
    /// At the beginning of a function.
    Entry,
    /// Elsewhere in one.
    Inside,
    /// When it returns.
    Return,
    /// When one returns that is given by its address: as in ftrace, neither its parameters nor what it returns have
    /// a name.
    AddressReturn,
    /// At a tracepoint, whose arguments are the parameters. There are no registers.
    Tracepoint,
    /// At the beginning of functions, without registers.
    Begin,
    /// At their return, without registers but with parameters that were kept from the beginning.
    End,
    /// At an instruction of programs, or at returns of a function of theirs. All memory is that of the process.
    User { returns: bool },
    /// After an access to memory that is watched.
    Watched,
    /// At a record of an event, of which this returns the field of a name.
    Event(&'a dyn Fn(&str) -> Option<EventField>),
}

impl ProbeSite<'_> {
    fn has_registers(&self) -> bool {
        matches!(
            self,
            Self::Entry | Self::Inside | Self::Return | Self::AddressReturn | Self::User { .. }
        )
    }

    /// Returns whether parameters can be told there.
    pub(crate) fn has_parameters(&self) -> bool {
        !matches!(
            self,
            Self::Inside | Self::AddressReturn | Self::User { .. } | Self::Watched | Self::Event(_)
        )
    }

    fn returns(&self) -> bool {
        matches!(
            self,
            Self::Return | Self::AddressReturn | Self::End | Self::User { returns: true }
        )
    }

    /// Returns whether what is returned can be told there.
    fn has_return_value(&self) -> bool {
        self.returns() && !matches!(self, Self::AddressReturn)
    }

    /// Returns what records begin with.
    pub(crate) fn head(&self) -> RecordHead {
        match self {
            Self::Event(_) => RecordHead::Event,
            _ if self.returns() => RecordHead::Return,
            _ => RecordHead::Hit,
        }
    }

    /// Returns whether structs of BTF can be named.
    pub(super) fn has_types(&self) -> bool {
        self.has_parameters() || matches!(self, Self::Watched | Self::Event(_))
    }

    fn is_user(&self) -> bool {
        matches!(self, Self::User { .. })
    }
}

/// What another argument may be called.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ArgumentName<'a> {
    Text(&'a str),
    /// `argN`.
    Number(usize),
}

/// What arguments are compiled for.
pub(crate) struct Compiler<'a> {
    pub(crate) site: ProbeSite<'a>,
    /// Returns the address of a symbol.
    symbol: &'a dyn Fn(&str) -> Option<u64>,
    /// Returns whether what has this address may have another one later, for a probe that looks symbols up itself.
    moves: Option<&'a dyn Fn(u64) -> bool>,
    /// The symbols that it looks up.
    slots: u8,
    /// Where the line is in memory whose arguments are compiled.
    line: usize,
    /// What BTF knows of the function.
    function: Option<ProbedFunction<'a>>,
    /// What it knows of the functions, if they are several.
    functions: Option<ProbedFunctions<'a>>,
    /// Where the first of them has the parameters that not all have at one place.
    placed: [u16; MOST_PLACED],
    placed_count: u8,
    /// What it knows of types.
    pub(super) types: Option<KnownTypes<'a>>,
    /// Set when a symbol was not found, which ftrace says later.
    pub(crate) lacks_symbol: bool,
    /// Bytes of the arguments in the fixed part of a record.
    size: usize,
    /// The parameters that are kept from the beginning of a call to its return.
    kept: KeptParameters,
    /// What the steps of an argument leave, if BTF knows its type.
    pub(super) value: Option<TypedValue>,
    /// The place that ftrace would name if something was wrong.
    pub(super) place: usize,
    /// The enumerations whose names are shown, by their numbers.
    enumerations: [TypeNumber; MOST_ARGUMENTS],
    enumeration_count: u8,
}

impl<'a> Compiler<'a> {
    /// Returns one of arguments at `site`, for which `symbol` returns the addresses of symbols.
    pub(crate) fn new(site: ProbeSite<'a>, symbol: &'a dyn Fn(&str) -> Option<u64>) -> Self {
        Self {
            site,
            symbol,
            moves: None,
            slots: 0,
            line: 0,
            function: None,
            functions: None,
            placed: [0; MOST_PLACED],
            placed_count: 0,
            types: None,
            lacks_symbol: false,
            size: 0,
            kept: KeptParameters::default(),
            value: None,
            place: 0,
            enumerations: [TypeNumber::VOID; MOST_ARGUMENTS],
            enumeration_count: 0,
        }
    }

    /// Returns the enumerations whose names are shown, by their numbers.
    pub(crate) fn enumerations(&self) -> &[TypeNumber] {
        let all = self.enumerations.get(..self.enumeration_count.into());
        all.unwrap_or_default()
    }

    /// Returns what BTF knows of types.
    pub(crate) fn types(&self) -> Option<KnownTypes<'a>> {
        self.types
    }

    /// Returns the parameters that are kept from the beginning of a call to its return.
    pub(crate) fn kept(&self) -> &KeptParameters {
        &self.kept
    }

    /// Returns the same for a probe that looks symbols up each time it is called again: those that are not there, and
    /// those of whose address `moves` says that it may be another one later.
    pub(crate) fn with_lookup(self, moves: &'a dyn Fn(u64) -> bool) -> Self {
        Self {
            moves: Some(moves),
            ..self
        }
    }

    /// Returns the same with what BTF knows of the function.
    pub(crate) fn of_function(self, function: Option<ProbedFunction<'a>>) -> Self {
        let types = function.map(|function| function.types()).or(self.types);
        Self {
            function,
            types,
            ..self
        }
    }

    /// Returns the same with what BTF knows of functions that all have the arguments.
    pub(crate) fn of_functions(self, functions: Option<ProbedFunctions<'a>>) -> Self {
        Self { functions, ..self }
    }

    /// Returns where the first of the functions has the parameters that not all have at one place.
    pub(crate) fn placed(&self) -> &[u16] {
        let all = self.placed.get(..self.placed_count.into());
        all.unwrap_or_default()
    }

    /// Returns the same with what BTF knows of types.
    pub(crate) fn of_types(self, types: Option<KnownTypes<'a>>) -> Self {
        Self { types, ..self }
    }

    /// Compiles the argument in `word`, the one of this number, counted from 1. `is_used` says whether
    /// another one has a name.
    pub(crate) fn compile(
        &mut self,
        word: LineWord<'_>,
        number: usize,
        is_used: impl Fn(ArgumentName<'_>) -> bool,
    ) -> Result<Argument, ProbeRefusal> {
        debug_assert!(number <= MOST_ARGUMENTS);
        self.line = word.text.as_ptr().addr().wrapping_sub(word.at);
        let refuse = |error| ProbeRefusal::new(error, word.at);
        let (name, body) = match word.text.split_once('=') {
            Some((name, _)) if name.len() > LONGEST_NAME => {
                return Err(refuse(ProbeError::ArgumentNameTooLong));
            }
            Some(("", _)) => return Err(refuse(ProbeError::ArgumentNameMissing)),
            Some((name, _)) if !is_name(name) => return Err(refuse(ProbeError::ArgumentName)),
            Some((name, body)) => (Some(name), body),
            // One that is a name is called by it.
            None => {
                let name = word.text.split(':').next().unwrap_or_default();
                (Some(name).filter(|name| is_name(name)), word.text)
            }
        };
        if is_used(name.map_or(ArgumentName::Number(number), ArgumentName::Text)) {
            return Err(refuse(ProbeError::ArgumentNameUsed));
        }
        let name = name.map(|name| LineSpan::new(word.at, name));
        let at = word
            .at
            .saturating_add(word.text.len().saturating_sub(body.len()));
        if body.len() > LONGEST_BODY {
            let error = ProbeError::ArgumentTooLong;
            return Err(ProbeRefusal::with(error, at, Code::TooBig));
        }
        if body.is_empty() {
            return Err(ProbeRefusal::new(ProbeError::ArgumentBodyMissing, at));
        }
        let (fetch, ty) = match shape::split_type(body) {
            Some((fetch, ty)) => (fetch, Some(ty)),
            None => (body, None),
        };
        let type_at = match ty {
            Some(_) => at.saturating_add(fetch.len()).saturating_add(1),
            None => at,
        };
        let is_text = !matches!(self.site, ProbeSite::Event(_))
            && (matches!(fetch, "$comm" | "$COMM") || fetch.starts_with("\\\""));
        let (ty, count) = match ty {
            Some(ty) => shape::array(LineWord {
                at: type_at,
                text: ty,
            })?,
            None => ("", 0),
        };
        let ty = Some(ty).filter(|_| type_at != at);
        let given = ty.unwrap_or_default();
        let ty = match ty {
            Some(ty) if is_text && (ty != "string" || count != 0) => {
                return Err(ProbeRefusal::new(ProbeError::StringType, type_at));
            }
            None if is_text => ArgumentType::Text,
            None if fetch == LATENCY => ArgumentType::TIME,
            None => ArgumentType::DEFAULT,
            Some(ty) => ArgumentType::of_name(ty)
                .filter(|ty| !self.site.is_user() || !ty.is_symbol())
                .ok_or_else(|| ProbeRefusal::new(ProbeError::Type, type_at))?,
        };
        let mut steps = StepList::new();
        (self.value, self.place) = (None, at);
        self.fetch(LineWord { at, text: fetch }, &mut steps, 0)?;
        let is_given = type_at != at;
        let (ty, known_bits) = match (self.known_type(), ty) {
            (Some(known), _) if !is_given => known,
            (_, ArgumentType::Error(_) | ArgumentType::Enumeration(_)) => self
                .named_type(ty, &steps)
                .map_err(|error| ProbeRefusal::new(error, type_at))?,
            _ => (ty, BitField::default()),
        };
        if given.contains("string") {
            self.point_to_text(given, &mut steps)?;
        }
        // As in ftrace, the offsets count from what is in the outermost dereference.
        let inner = self.place.saturating_sub(at);
        let bits = BitField::parse(given, ty.size());
        let bits = match given.starts_with('b') {
            true => bits,
            false => Some(known_bits),
        };
        let body = LineSpan::new(at, body);
        let whole = (ty, count, bits.unwrap_or_default());
        let argument = Argument::new(name, body, whole, steps);
        self.size = self.size.saturating_add(argument.size());
        if self.size > MOST_FIXED {
            let at = at.saturating_add(inner);
            let error = ProbeError::EventTooBig;
            return Err(ProbeRefusal::with(error, at, Code::TooBig));
        }
        let wrong = match argument.steps().last() {
            Some(last) if !shape::suits(ty, last) => Some(match ty {
                ArgumentType::SymbolText => ProbeError::SymbolMemory,
                _ => ProbeError::StringMemory,
            }),
            _ if bits.is_none() => Some(ProbeError::BitField),
            Some(last) if count != 0 && !shape::suits_array(ty, last) => {
                Some(ProbeError::StringMemory)
            }
            _ => None,
        };
        match wrong {
            Some(error) => Err(ProbeRefusal::new(error, type_at.saturating_add(inner))),
            None => Ok(argument),
        }
    }

    /// Returns the type that BTF knows of the value, and its bits.
    fn known_type(&self) -> Option<(ArgumentType, BitField)> {
        Some(self.types?.argument_type(self.value?))
    }

    /// Calls `take` with the name of each number in the struct that the value of `fetch` points to. `at` is where they are
    /// asked for.
    pub(super) fn scalars(
        &mut self,
        fetch: LineWord<'_>,
        at: usize,
        take: &mut dyn FnMut(&str),
    ) -> Result<(), ProbeRefusal> {
        (self.value, self.place) = (None, fetch.at);
        // These steps are not kept.
        let slots = self.slots;
        self.fetch(fetch, &mut StepList::new(), 0)?;
        self.slots = slots;
        let known = self.types.zip(self.value);
        let is_there = known.is_some_and(|(types, value)| types.scalars(value, take));
        match is_there {
            true => Ok(()),
            false => Err(ProbeRefusal::new(ProbeError::NoPointer, at)),
        }
    }

    /// Returns the type of a value that is shown by its name, which is as large as the value, and its bits.
    fn named_type(
        &mut self,
        ty: ArgumentType,
        steps: &StepList,
    ) -> Result<(ArgumentType, BitField), ProbeError> {
        let known = self.types.zip(self.value);
        if let ArgumentType::Error(_) = ty {
            let ty = match (known, steps.all()) {
                (Some((types, value)), _) => {
                    types.error_type(value).ok_or(ProbeError::NoErrorNumber)?
                }
                (None, [FetchStep::Field(field)]) if field.size() == 8 => ArgumentType::Error(8),
                (None, _) => ty,
            };
            return Ok((ty, BitField::default()));
        }
        let (types, value) = known.ok_or(ProbeError::NoEnumeration)?;
        let (number, signed, size) = types.enumeration(value).ok_or(ProbeError::NoEnumeration)?;
        let ty = ArgumentType::Enumeration(EnumType {
            size,
            signed,
            number: self.number_of(number),
        });
        Ok((ty, types.bits(value, size.into())))
    }

    /// Returns the number that an enumeration has in this definition.
    fn number_of(&mut self, ty: TypeNumber) -> u8 {
        let mut numbered = (0u8..).zip(self.enumerations());
        if let Some((number, _)) = numbered.find(|(_, known)| **known == ty) {
            return number;
        }
        let number = self.enumeration_count;
        // There are no more than arguments.
        if let Some(place) = self.enumerations.get_mut(usize::from(number)) {
            *place = ty;
            self.enumeration_count = number.saturating_add(1);
        }
        number
    }

    /// Has the steps leave the address of a string, if BTF knows the value.
    fn point_to_text(&self, ty: &str, steps: &mut StepList) -> Result<(), ProbeRefusal> {
        let (Some(types), Some(value)) = (self.types, self.value) else {
            return Ok(());
        };
        let step = types
            .text_step(value, ty.starts_with('u'))
            .map_err(|error| ProbeRefusal::new(error, self.place))?;
        if let Some(step) = step {
            self.push(step, steps)?;
        }
        Ok(())
    }

    /// Adds a step where there may be no room.
    pub(super) fn push(&self, step: FetchStep, steps: &mut StepList) -> Result<(), ProbeRefusal> {
        steps.push(step);
        match steps.is_full() {
            true => Err(ProbeRefusal::new(ProbeError::TooManySteps, self.place)),
            false => Ok(()),
        }
    }

    /// Compiles `word`, which is inside of `depth` dereferences.
    pub(super) fn fetch(
        &mut self,
        word: LineWord<'_>,
        steps: &mut StepList,
        depth: usize,
    ) -> Result<(), ProbeRefusal> {
        let at = word.at;
        let refuse = |error| Err(ProbeRefusal::new(error, at));
        let Some((first, rest)) = word.text.split_at_checked(1) else {
            return refuse(ProbeError::Fetch);
        };
        match first {
            "$" => {
                let step = self.variable(word, steps)?;
                step.into_iter().for_each(|step| steps.push(step));
            }
            "%" if !self.site.has_registers() => return refuse(ProbeError::Variable),
            "%" => match REGISTERS.iter().position(|name| *name == rest) {
                Some(place) => steps.push(FetchStep::Register(place as u8)),
                None => return refuse(ProbeError::RegisterName),
            },
            "@" => {
                let address = self.address(rest, at)?;
                steps.push(address);
                steps.push(FetchStep::Load {
                    offset: 0,
                    user: false,
                });
            }
            "+" | "-" => self.dereference(word, steps, depth)?,
            "\\" => match rest.strip_prefix('"') {
                Some(text) => match text.strip_suffix('"') {
                    Some(text) => {
                        steps.push(FetchStep::Literal(LineSpan::new(
                            at.saturating_add(2),
                            text,
                        )));
                    }
                    None => {
                        let end = at.saturating_add(word.text.len());
                        return Err(ProbeRefusal::new(ProbeError::ImmediateOpen, end));
                    }
                },
                None => {
                    let value = number::immediate(rest).map_err(|code| {
                        ProbeRefusal::with(ProbeError::Immediate, at.saturating_add(1), code)
                    })?;
                    steps.push(FetchStep::Immediate(value));
                }
            },
            "(" => {
                nested(at, depth)?;
                self.cast(word, steps, depth)?;
            }
            _ if self.site.is_user() && is_per_cpu(word.text) => {
                nested(at, depth)?;
                return refuse(ProbeError::PerCpu);
            }
            _ if matches!(self.site, ProbeSite::Event(_)) && is_per_cpu(word.text) => {
                return refuse(ProbeError::PerCpu);
            }
            _ if is_per_cpu(word.text) => {
                nested(at, depth)?;
                self.per_cpu(word, steps, depth)?;
            }
            _ if first.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_') => match self.site {
                ProbeSite::Event(field) => match field(word.text) {
                    Some(field) => steps.push(FetchStep::Field(field)),
                    None => return refuse(ProbeError::EventField),
                },
                // Names of parameters, which only BTF knows.
                _ if self.site.has_parameters() => self.parameter_by_name(word, steps)?,
                _ => return refuse(ProbeError::Btf),
            },
            _ => return refuse(ProbeError::Fetch),
        }
        Ok(())
    }

    /// Compiles what begins with a dollar sign; `None` when the steps are there.
    fn variable(
        &mut self,
        word: LineWord<'_>,
        steps: &mut StepList,
    ) -> Result<Option<FetchStep>, ProbeRefusal> {
        let at = word.at;
        let refuse = |error| Err(ProbeRefusal::new(error, at));
        let name = word.text.get(1..).unwrap_or_default();
        if let ProbeSite::Event(field) = self.site {
            return match (field(name), name) {
                (Some(field), _) => Ok(Some(FetchStep::Field(field))),
                (None, "comm" | "COMM") => Ok(Some(FetchStep::Comm)),
                (None, _) => refuse(ProbeError::Variable),
            };
        }
        if let ProbeSite::Watched = self.site {
            let watched = FetchStep::Kept(self.kept.slot(WATCHED_PLACE));
            match name {
                "addr" => return Ok(Some(watched)),
                "value" => {
                    steps.push(watched);
                    return Ok(Some(FetchStep::Load {
                        offset: 0,
                        user: false,
                    }));
                }
                // Those of the task are not in ftrace.
                "comm" | "COMM" | "current" => {}
                _ if name.starts_with("current-") => {}
                _ => return refuse(ProbeError::Variable),
            }
        }
        let step = match name {
            "comm" | "COMM" => FetchStep::Comm,
            "current" if !self.site.is_user() => FetchStep::Current,
            _ if name.starts_with("current-") && !self.site.is_user() => {
                return self.current(word, steps).map(|()| None);
            }
            "stack" => FetchStep::StackPointer,
            // Not in ftrace.
            _ if word.text == LATENCY && self.keeps() => {
                FetchStep::Latency(self.kept.slot(TIME_PLACE))
            }
            _ if name.starts_with("retval") => return self.returned(word, steps).map(|()| None),
            _ => match (name.strip_prefix("stack"), name.strip_prefix("arg")) {
                (Some(number), _) => match decimal(number) {
                    // That of a process has no known end.
                    Ok(word) if word <= STACK_WORDS || self.site.is_user() => {
                        FetchStep::Stack(word as u32)
                    }
                    Ok(_) => return refuse(ProbeError::StackNumber),
                    Err(code) => return Err(ProbeRefusal::with(ProbeError::Variable, at, code)),
                },
                (_, Some(number)) => self.parameter(number, at)?,
                _ => return refuse(ProbeError::Variable),
            },
        };
        Ok(Some(step))
    }

    /// Returns whether words are kept from the beginning of a call to its return.
    fn keeps(&self) -> bool {
        matches!(
            self.site,
            ProbeSite::Return | ProbeSite::AddressReturn | ProbeSite::End
        )
    }

    /// Returns the step that leaves the parameter in that place.
    fn parameter_step(&mut self, place: u16) -> FetchStep {
        match self.keeps() {
            true => FetchStep::Kept(self.kept.slot(place)),
            false => FetchStep::Parameter(place),
        }
    }

    /// Compiles the number of a parameter.
    fn parameter(&mut self, number: &str, at: usize) -> Result<FetchStep, ProbeRefusal> {
        let number = decimal(number.strip_prefix('+').unwrap_or(number))
            .map_err(|code| ProbeRefusal::with(ProbeError::Variable, at, code))?;
        match number.checked_sub(1) {
            Some(place) if place < STACK_WORDS && !self.site.has_parameters() => {
                Err(ProbeRefusal::new(ProbeError::NotAtEntry, at))
            }
            Some(place) if place < STACK_WORDS => Ok(self.parameter_step(place as u16)),
            _ => Err(ProbeRefusal::new(ProbeError::ArgumentNumber, at)),
        }
    }

    /// Compiles the name of a parameter, with fields of what it points to perhaps.
    fn parameter_by_name(
        &mut self,
        word: LineWord<'_>,
        steps: &mut StepList,
    ) -> Result<(), ProbeRefusal> {
        let missing = |error| Err(ProbeRefusal::with(error, word.at, Code::Missing));
        let path = FieldPath::parse(word.text, word.at)?;
        if let Some(functions) = self.functions {
            let shared = match functions.parameter(path.name) {
                Ok(shared) => shared,
                Err(error @ ProbeError::ParameterTypes) => {
                    return Err(ProbeRefusal::new(error, word.at));
                }
                Err(error) => return missing(error),
            };
            let Some(place) = self.shared_place(&shared) else {
                let error = ProbeError::TooManyKept;
                return Err(ProbeRefusal::with(error, word.at, Code::TooBig));
            };
            let step = self.parameter_step(place);
            steps.push(step);
            return self.follow(shared.value, path, steps);
        }
        let function = match self.function {
            Some(function) if function.names().next().is_some() => function,
            _ => return missing(ProbeError::NoFunctionTypes),
        };
        match function.parameter(path.name) {
            None => missing(ProbeError::NoParameter),
            Some((place, value)) => {
                let step = self.parameter_step(place);
                steps.push(step);
                self.follow(value, path, steps)
            }
        }
    }

    /// Returns the place of a parameter of all functions: its own, or one that stands for those; `None` if there are too
    /// many of these.
    fn shared_place(&mut self, shared: &SharedParameter) -> Option<u16> {
        if shared.is_everywhere {
            return Some(shared.first);
        }
        let mut placed = (PLACED..).zip(self.placed());
        if let Some((place, _)) = placed.find(|(_, first)| **first == shared.first) {
            return Some(place);
        }
        let number = self.placed_count;
        *self.placed.get_mut(usize::from(number))? = shared.first;
        self.placed_count = number.saturating_add(1);
        Some(PLACED.saturating_add(number.into()))
    }

    /// Compiles what the function returns, with fields of what that points to perhaps.
    fn returned(&mut self, word: LineWord<'_>, steps: &mut StepList) -> Result<(), ProbeRefusal> {
        let missing = |error, at| Err(ProbeRefusal::with(error, at, Code::Missing));
        if !self.site.has_return_value() {
            return Err(ProbeRefusal::new(ProbeError::ReturnValueOnProbe, word.at));
        }
        if self.site.is_user() {
            // As in ftrace, whatever follows the name.
            steps.push(FetchStep::Returned);
            return Ok(());
        }
        let path = FieldPath::parse(word.text, word.at)?;
        if path.name != "$retval" {
            let error = match self.function {
                Some(_) => ProbeError::NoParameter,
                None => ProbeError::NoFunctionTypes,
            };
            return missing(error, word.at);
        }
        steps.push(FetchStep::Returned);
        match (self.function, path.fields) {
            (None, None) => Ok(()),
            (None, Some((_, at))) => missing(ProbeError::NoFunctionTypes, at),
            (Some(function), _) => match function.returned() {
                Some(value) => self.follow(value, path, steps),
                None => missing(ProbeError::NoReturnValue, word.at),
            },
        }
    }

    /// Compiles the fields that follow a value.
    fn follow(
        &mut self,
        value: TypedValue,
        path: FieldPath<'_>,
        steps: &mut StepList,
    ) -> Result<(), ProbeRefusal> {
        self.value = Some(value);
        match path.fields {
            Some(fields) => self.follow_fields(FieldsOrigin::Pointed(value), fields, steps),
            None => Ok(()),
        }
    }

    /// Compiles fields where BTF is known.
    pub(super) fn follow_fields(
        &mut self,
        from: FieldsOrigin,
        fields: (&str, usize),
        steps: &mut StepList,
    ) -> Result<(), ProbeRefusal> {
        if let Some(types) = self.types {
            let (value, place) = types.fields(from, fields, steps)?;
            (self.value, self.place) = (Some(value), place);
        }
        Ok(())
    }

    /// Compiles fields of the current task.
    fn current(&mut self, word: LineWord<'_>, steps: &mut StepList) -> Result<(), ProbeRefusal> {
        let path = FieldPath::parse(word.text, word.at)?;
        let types = self.types;
        let ty = types.and_then(|types| types.structure("task_struct"));
        let missing = || ProbeRefusal::with(ProbeError::NoFunctionTypes, word.at, Code::Missing);
        let from = FieldsOrigin::Struct {
            ty: ty.ok_or_else(missing)?,
            before: 0,
        };
        steps.push(FetchStep::Current);
        match path.fields {
            Some(fields) => self.follow_fields(from, fields, steps),
            None => Ok(()),
        }
    }

    /// Returns the step that leaves the address after an at sign.
    fn address(&mut self, text: &str, at: usize) -> Result<FetchStep, ProbeRefusal> {
        let address = match (text.bytes().next(), text.strip_prefix('+')) {
            (Some(b'0'..=b'9'), _) => number::unsigned(text)
                .map_err(|code| ProbeRefusal::with(ProbeError::MemoryAddress, at, code))?,
            (_, Some(offset)) if self.site.is_user() => {
                let offset = number::signed(offset)
                    .map_err(|code| ProbeRefusal::with(ProbeError::FileOffsetValue, at, code))?;
                return Ok(FetchStep::FileOffset(offset as u64));
            }
            (_, Some(_)) => return Err(ProbeRefusal::new(ProbeError::FileOffset, at)),
            _ if self.site.is_user() => {
                return Err(ProbeRefusal::new(ProbeError::SymbolOfUser, at));
            }
            _ => {
                let end = text.find(['+', '-']).unwrap_or(text.len());
                let (name, offset) = text.split_at_checked(end).unwrap_or((text, ""));
                let offset = match offset {
                    "" => 0,
                    offset => number::signed(offset)
                        .map_err(|code| ProbeRefusal::with(ProbeError::MemoryAddress, at, code))?,
                };
                let known = (self.symbol)(name);
                self.lacks_symbol |= known.is_none();
                if self.moves.is_some_and(|moves| known.is_none_or(moves)) {
                    return Ok(self.looked_up(name, offset));
                }
                known.unwrap_or(0).wrapping_add_signed(offset)
            }
        };
        Ok(FetchStep::Immediate(address))
    }

    /// Returns the step that leaves what is `offset` after a symbol that the probe looks up.
    fn looked_up(&mut self, name: &str, offset: i64) -> FetchStep {
        let slot = self.slots;
        // An argument has one at most.
        self.slots = slot.saturating_add(1);
        // Inside of a dereference the place that ftrace would name is another one.
        let start = name.as_ptr().addr().wrapping_sub(self.line);
        FetchStep::Symbol {
            slot,
            name: LineSpan::new(start, name),
            offset,
        }
    }

    /// Compiles a dereference.
    fn dereference(
        &mut self,
        word: LineWord<'_>,
        steps: &mut StepList,
        depth: usize,
    ) -> Result<(), ProbeRefusal> {
        let at = word.at;
        nested(at, depth)?;
        let sign = word.text.get(..1).unwrap_or_default();
        let rest = word.text.get(1..).unwrap_or_default();
        let (user, rest) = match rest.strip_prefix('u') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let Some((offset, inner)) = rest.split_once('(') else {
            return Err(ProbeRefusal::new(ProbeError::DereferenceBrace, at));
        };
        let offset = match sign {
            "-" => number::negated(offset),
            // "+-8(" and "++8(" are taken as well, "--8(" is not.
            _ => number::signed(offset),
        }
        .map_err(|code| ProbeRefusal::with(ProbeError::DereferenceOffset, at, code))?;
        let inner_at = at.saturating_add(inner_offset(word.text));
        let Some((inside, _)) = inner.rsplit_once(')') else {
            let end = inner_at.saturating_add(inner.len());
            return Err(ProbeRefusal::new(ProbeError::DereferenceOpen, end));
        };
        let inside = LineWord {
            at: inner_at,
            text: inside,
        };
        self.fetch(inside, steps, depth.saturating_add(1))?;
        // Nothing is known of what is there.
        (self.value, self.place) = (None, inner_at);
        let last = steps.all().last();
        if matches!(last, Some(FetchStep::Comm | FetchStep::Literal(_))) {
            return Err(ProbeRefusal::new(ProbeError::CommDereferenced, inner_at));
        }
        self.push(FetchStep::Load { offset, user }, steps)
    }
}

/// Checks that what is at `at` may be inside of `depth` others.
fn nested(at: usize, depth: usize) -> Result<(), ProbeRefusal> {
    match depth < MOST_NESTED {
        true => Ok(()),
        false => {
            let error = ProbeError::TooManyNested;
            Err(ProbeRefusal::with(error, at, Code::TooBig))
        }
    }
}

/// Parses a number in base 10. Fails with `Invalid` or `Range`.
fn decimal(text: &str) -> Result<u64, Code> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match is_number {
        true => text.parse().map_err(|_| Code::Range),
        false => Err(Code::Invalid),
    }
}

/// Returns the offset of what is inside of a dereference, as ftrace counts it: the `u` does not count, nor does a `+`
/// before a `-`.
fn inner_offset(text: &str) -> usize {
    let begin = text.find('(').map_or(0, |at| at.saturating_add(1));
    let is_user = text.get(1..2) == Some("u");
    let rest = text.get(if is_user { 2 } else { 1 }..);
    let has_both = text.starts_with('+') && rest.is_some_and(|rest| rest.starts_with('-'));
    let left_out = u8::from(is_user).saturating_add(u8::from(has_both));
    begin.saturating_sub(usize::from(left_out))
}

/// Returns whether `text` begins as the access to a variable of this CPU.
pub(super) fn is_per_cpu(text: &str) -> bool {
    text.starts_with("this_cpu_ptr(") || text.starts_with("this_cpu_read(")
}
