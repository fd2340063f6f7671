// SPDX-License-Identifier: GPL-2.0

//! Why a definition is refused: the texts are those of ftrace.

/// The number that the writer gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// `EINVAL`.
    Invalid,
    /// `ENOENT`.
    Missing,
    /// `ERANGE`.
    Range,
    /// `E2BIG`.
    TooBig,
    /// `EEXIST`.
    Exists,
    /// `EILSEQ`.
    Sequence,
    /// `EOPNOTSUPP`.
    Unsupported,
    /// `ENODEV`.
    NoDevice,
}

macro_rules! errors {
    ($($name:ident: $text:literal;)*) => {
        /// What is wrong with a definition.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum ProbeError {
            $(
                #[doc = $text]
                $name,
            )*
        }

        impl ProbeError {
            /// Returns its text in `error_log`.
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

errors! {
    AccessAddress: "Invalid access memory address";
    AccessFormat: "Access memory address requires @";
    AccessLength: "This memory access length is not supported";
    AccessType: "Bad memory access type";
    AddressSuffix: "Invalid probed address suffix";
    AllArgumentsTwice: "$arg* can be used only once in the parameters";
    ArgumentBodyMissing: "No argument expression";
    ArgumentName: "Argument name must follow the same rules as C identifiers";
    ArgumentNameMissing: "Argument name is not specified";
    ArgumentNameTooLong: "Argument name is too long";
    ArgumentNameUsed: "This argument name is already used";
    ArgumentNumber: "Invalid argument number";
    ArgumentTooLong: "Argument expression is too long";
    ArgumentsTooLong: "$arg* failed because the argument list is too long";
    ArrayNumber: "Invalid array size";
    ArrayOpen: "Array is not closed";
    ArraySuffix: "Array has wrong suffix";
    ArrayTooBig: "Array number is too big";
    AttachedEvent: "Attached event does not exist";
    BitField: "Invalid bitfield";
    Boundary: "Probe point is not an instruction boundary";
    Btf: "BTF is not available or not supported";
    BtfType: "Failed to get BTF type info.";
    CommDereferenced: "$comm can not be dereferenced";
    DifferentArgument: "Argument type or name is different from existing probe";
    DifferentProbe: "Probe type is different from existing probe";
    DereferenceBrace: "Dereference needs a brace";
    DereferenceOffset: "Invalid dereference offset";
    DereferenceOpen: "Dereference brace is not closed";
    EventField: "This event field is not found.";
    EventInfo: "This requires both group and event name to attach";
    EventExists: "Given group/event name is already used by another event";
    EventName: "Event name must follow the same rules as C identifiers";
    EventNameMissing: "Event name is not specified";
    EventNameTooLong: "Event name is too long";
    EventTooBig: "Event too big (too many fields?)";
    Fetch: "Invalid fetch argument";
    FilterMissing: "No filter rule after 'if'";
    FieldsOpen: "List of fields is not closed";
    FieldsSuffix: "List of fields has wrong suffix";
    FileMissing: "Failed to find the given file";
    FileOffset: "File offset is not available for kernel probes";
    FileOffsetValue: "Invalid file offset value";
    FilePlace: "Invalid uprobe offset";
    GroupName: "Group name must follow the same rules as C identifiers";
    GroupNameMissing: "Group name is not specified";
    GroupNameTooLong: "Group name is too long";
    Hyphen: "Failed to parse single hyphen. Forgot '>'?";
    Immediate: "Invalid immediate value";
    ImmediateOpen: "String is not closed with '\"'";
    MaxActive: "Invalid maxactive number";
    MaxActiveKind: "Maxactive is only for function exit";
    MaxActiveTooBig: "Maxactive is too big";
    MemoryAddress: "Invalid memory address";
    NoEnumeration: "This is not an enumeration of BTF.";
    NoErrorNumber: "This is not an error number.";
    NoField: "This field is not found.";
    NoFunctionTypes: "No BTF entry for this probe point";
    NoParameter: "This variable is not found at this probe point";
    NoPointer: "This is not a pointer to union/structure.";
    NoReturnValue: "This function returns 'void' type";
    NoText: "This type does not fit for string.";
    NotAtEntry: "$arg* can be used only on function entry or exit";
    NotRegular: "Not a regular file";
    NotUnique: "The symbol is not unique";
    ParameterTypes: "This variable has different types in these functions";
    PerCpu: "Per-cpu variable access is only for kernel probes";
    ProbeAddress: "Invalid probed address or symbol";
    Reference: "Invalid reference counter offset";
    ReferenceOpen: "Reference counter brace is not closed";
    ReferenceSuffix: "Reference counter has wrong suffix";
    Registration: "Failed to register probe event";
    RegisterName: "Invalid register name";
    ReturnPlace: "Retprobe address must be an function entry";
    ReturnValueOnProbe: "$retval is not available on probe";
    SameProbe: "There is already the exact same probe event";
    StackNumber: "Invalid stack number";
    StringMemory: "String accepts only memory argument";
    StringType: "$comm and immediate-string only accepts string type";
    SymbolMemory: "Symbol String doesn't accept data/userdata";
    SymbolOfUser: "Symbol is not available with uprobe";
    TooManyArguments: "Too many arguments are specified";
    TooManyKept: "Too many entry arguments specified";
    TooManyNested: "Too many nested typecasts/dereferences";
    TooManySteps: "Dereference is too much nested";
    TracepointName: "Invalid character in tracepoint name";
    Type: "Unknown type is specified";
    TypecastArrow: "Typecast field option does not support -> operator";
    TypecastField: "Typecast requires a field access";
    TypecastSymbol: "@SYM+/-OFFSET with typecast needs parentheses";
    TypecastUnaligned: "Typecast field option is not byte-aligned";
    ValueStruct: "Non pointer structure/union argument is not supported.";
    Variable: "Invalid $-variable specified";
    WatchMaxActive: "Watchpoint probe does not support maxactive";
    WatchSibling: "Watchpoint probe does not support sibling probes";
}

/// A definition that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProbeRefusal {
    pub(crate) error: ProbeError,
    /// Offset in the command of the byte that the caret points to.
    pub(crate) at: usize,
    pub(crate) code: Code,
}

impl ProbeRefusal {
    /// Returns one with `EINVAL`.
    pub(crate) fn new(error: ProbeError, at: usize) -> Self {
        Self::with(error, at, Code::Invalid)
    }

    /// Returns one with `EEXIST`.
    pub(crate) fn exists(error: ProbeError, at: usize) -> Self {
        Self::with(error, at, Code::Exists)
    }

    /// Returns one with `code`.
    pub(crate) fn with(error: ProbeError, at: usize, code: Code) -> Self {
        Self { error, at, code }
    }
}
