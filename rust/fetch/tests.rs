// SPDX-License-Identifier: GPL-2.0

//! Tests of definitions: what is taken, what is refused and where, and what a hit records.

use super::{
    argument::{ArgumentName, Compiler, ProbeSite},
    checker::{check_record, check_steps, Limits},
    command::{self, words, DefiningLine, Head, LineWord, ProbeNames, ProbePlace},
    copied::CopiedArgument,
    enumeration::{EnumNames, Enumerator},
    errno,
    error::{Code, ProbeError, ProbeRefusal},
    event_command::{is_same_event, EventHead, NamelessEvent},
    expand,
    function::ProbedFunction,
    function_command::{FunctionHead, FunctionSite},
    known_types::KnownTypes,
    plain::PlainArgument,
    plain_text::PlainText,
    print,
    run::{FetchProgram, ProbedKernel, ProbedMachine, RecordShape, Rooms, WORDS},
    shared_parameters::{ParameterPlaces, PlacedMachine, ProbedFunctions},
    spread::{self, WordOrigin},
    step::{Argument, EventField, FetchStep, MOST_KEPT, TIME_PLACE},
    user_command::{path_of, UserHead, UserPlace},
    watch_command::{self, WatchHead, WatchPlace, WatchedAccess},
    MOST_ARGUMENTS,
};
use crate::event::btf::{self, builder::Builder, Btf};
use crate::text::writer::ByteWrite;
use core::cell::Cell;

/// A page of memory at [`BASE`], whose strings grow at each read if `grows` is set.
struct Memory {
    registers: [u64; WORDS],
    bytes: Vec<u8>,
    grows: bool,
    reads: Cell<usize>,
    /// Reads that failed, and strings that were cut.
    told: Cell<(usize, usize)>,
}

const BASE: u64 = 0x10_0f80;

impl ProbedKernel for Memory {
    fn faulted(&self) {
        let (faults, cuts) = self.told.get();
        self.told.set((faults + 1, cuts));
    }

    fn was_cut(&self) {
        let (faults, cuts) = self.told.get();
        self.told.set((faults, cuts + 1));
    }

    fn comm(&self) -> [u8; 16] {
        *b"swapper/0\0junk\0\0"
    }

    fn current(&self) -> u64 {
        0xffff_8880_0000_1000
    }

    fn symbol(&self, address: u64, take: impl FnOnce(&[u8])) {
        take(format!("sym{address:x}").as_bytes());
    }

    fn per_cpu(&self, address: u64) -> u64 {
        address.wrapping_add(16)
    }

    fn symbol_address(&self, slot: u8) -> u64 {
        BASE + 8 * u64::from(slot)
    }
}

impl ProbedMachine for Memory {
    type Kernel = Self;

    fn kernel(&self) -> &Self {
        self
    }

    fn registers(&self) -> &[u64; WORDS] {
        &self.registers
    }

    fn read(&self, address: u64, to: &mut [u8], _: bool) -> bool {
        self.reads.set(self.reads.get() + 1);
        let Some(at) = address.checked_sub(BASE) else {
            return false;
        };
        let Some(end) = (at as usize).checked_add(to.len()) else {
            return false;
        };
        let Some(from) = self.bytes.get(at as usize..end) else {
            return false;
        };
        to.copy_from_slice(from);
        if self.grows {
            for byte in to.iter_mut().filter(|byte| **byte == 0) {
                *byte = b'a' + (self.reads.get() % 26) as u8;
            }
            if self.reads.get() % 3 == 0 {
                to.fill(0);
            }
        }
        self.reads.get() % 7 != 0 || !self.grows
    }

    fn comm_address(&self) -> u64 {
        0xffff_8880_0000_1abc
    }

    fn record(&self) -> (&[u8], u64) {
        (&self.bytes[300..372], BASE + 300)
    }

    fn kept(&self, slot: u8) -> u64 {
        0x1000 + u64::from(slot)
    }

    fn time(&self) -> u64 {
        0x1000 + 5_000_000_001
    }

    fn file_address(&self, offset: u64) -> u64 {
        BASE.wrapping_add(offset)
    }
}

fn memory() -> Memory {
    let mut bytes = vec![0; 512];
    bytes[..5].copy_from_slice(b"hello");
    bytes[16..24].copy_from_slice(&(BASE + 100).to_le_bytes());
    // Over the end of the page, which is at 128.
    bytes[100..150].fill(b'x');
    bytes[200..208].copy_from_slice(&u64::MAX.to_le_bytes());
    bytes[300..372].copy_from_slice(&followed());
    let mut registers = [0; WORDS];
    registers[14] = BASE;
    registers[13] = 0xfedc_ba98_7654_3210;
    registers[10] = 65;
    registers[19] = BASE + 192;
    Memory {
        registers,
        bytes,
        grows: false,
        reads: Cell::new(0),
        told: Cell::default(),
    }
}

/// The fields of [`followed`].
fn field(name: &str) -> Option<EventField> {
    let (ty, offset, size, signed) = match name {
        "small" => ("s16", 8, 2, true),
        "big" => ("u64", 16, 8, false),
        "fixed" => ("char[8]", 24, 8, false),
        "dynamic" => ("__data_loc char[]", 32, 4, false),
        "relative" => ("__rel_loc char[]", 36, 4, false),
        "bytes" => ("u8[5]", 40, 5, false),
        "pointer" => ("char *", 48, 8, false),
        "comm" => ("u8", 10, 1, false),
        "late" => ("u32", 1000, 4, false),
        _ => return None,
    };
    EventField::of(ty, offset, size, signed)
}

/// A record that is followed, in the memory at [`BASE`] + 300.
fn followed() -> Vec<u8> {
    let mut record = vec![0; 72];
    record[8..10].copy_from_slice(&(-2i16).to_le_bytes());
    record[10] = 77;
    record[16..24].copy_from_slice(&0x1234_5678_9abc_def0u64.to_le_bytes());
    record[24..30].copy_from_slice(b"inside");
    record[32..36].copy_from_slice(&(6u32 << 16 | 56).to_le_bytes());
    record[36..40].copy_from_slice(&(6u32 << 16 | (64 - 40)).to_le_bytes());
    record[40..45].copy_from_slice(&[1, 2, 3, 4, 5]);
    record[48..56].copy_from_slice(&BASE.to_le_bytes());
    record[56..61].copy_from_slice(b"start");
    record[64..69].copy_from_slice(b"after");
    record
}

fn symbol(name: &str) -> Option<u64> {
    (name == "jiffies").then_some(BASE + 16)
}

/// Compiles all of a line, whose probe is at the beginning of a function.
fn compile(line: &str) -> Result<Vec<Argument>, ProbeRefusal> {
    if let Some(head) = EventHead::parse(DefiningLine::parse(line)) {
        return compile_all(
            head.line,
            &mut Compiler::new(ProbeSite::Event(&field), &symbol),
        );
    }
    if let Some(head) = FunctionHead::parse(line)? {
        head.names()?;
        let site = match head.site {
            FunctionSite::Begin => ProbeSite::Begin,
            FunctionSite::Return => ProbeSite::End,
            FunctionSite::Tracepoint => ProbeSite::Tracepoint,
        };
        return compile_all(line, &mut Compiler::new(site, &symbol));
    }
    if let Some(head) = UserHead::parse(line)? {
        let place = head.place(None)?;
        head.names()?;
        let returns = place.returns;
        return compile_all(
            line,
            &mut Compiler::new(ProbeSite::User { returns }, &symbol),
        );
    }
    if let Some(head) = WatchHead::parse(line)? {
        head.address(symbol, BASE)?;
        head.names()?;
        return compile_all(line, &mut Compiler::new(ProbeSite::Watched, &symbol));
    }
    let head = Head::parse(line)?.ok_or(ProbeRefusal::new(ProbeError::ProbeAddress, 0))?;
    head.names()?;
    let site = match head.place {
        ProbePlace::Address(_) if head.returns => ProbeSite::AddressReturn,
        _ if head.returns => ProbeSite::Return,
        ProbePlace::Symbol { offset: 0, .. } => ProbeSite::Entry,
        _ => ProbeSite::Inside,
    };
    compile_all(line, &mut Compiler::new(site, &symbol))
}

/// Compiles the arguments of a line.
fn compile_all(line: &str, compiler: &mut Compiler<'_>) -> Result<Vec<Argument>, ProbeRefusal> {
    let mut arguments: Vec<Argument> = Vec::new();
    for (index, word) in words(line).skip(2).enumerate() {
        let is_used = |name: ArgumentName<'_>| {
            let mut names = arguments.iter().filter_map(|other| other.name);
            let name = match name {
                ArgumentName::Text(name) => name.to_string(),
                ArgumentName::Number(number) => format!("arg{number}"),
            };
            names.any(|other| other.of(line) == name)
        };
        let argument = compiler.compile(word, index + 1, is_used)?;
        arguments.push(argument);
    }
    Ok(arguments)
}

/// Returns the record and the text of its arguments.
fn record(line: &str, machine: &Memory) -> (Vec<u8>, String) {
    record_of(line, &compile(line).unwrap(), machine)
}

/// Returns the names of the enumeration of the functions of [`types`].
fn names(_: u8) -> EnumNames<'static> {
    const TEXT: &str = "RED GREEN BLUE NONE";
    let rows: Vec<_> = with_function("f", |function| {
        let (_, value) = function.parameter("colour").unwrap();
        let (ty, ..) = function.types().enumeration(value).unwrap();
        let all = function.types().enumerators(ty);
        all.map(|(value, name)| Enumerator::new(value, TEXT.find(name).unwrap(), name))
            .collect()
    });
    EnumNames::new(rows.leak(), TEXT)
}

/// Returns the same of a line that was compiled.
fn record_of(line: &str, arguments: &[Argument], machine: &Memory) -> (Vec<u8>, String) {
    let program = FetchProgram {
        line: line.as_bytes(),
        arguments,
        shape: RecordShape::of(16, arguments),
    };
    // Programs have no registers where functions are hooked, and hidden parameters of a return are kept.
    let has_registers = !line.starts_with(['f', 't', 'e', 'w']);
    let limits = Limits {
        line: line.len(),
        kept: MOST_KEPT,
        registers: has_registers,
    };
    for argument in arguments {
        assert_eq!(
            check_steps(argument, &limits),
            Ok(()),
            "{line}: {argument:?}"
        );
    }
    let mut bytes = [0; MOST_ARGUMENTS];
    let (size, _) = program.measure(machine, 4072, &mut bytes);
    let rooms = Rooms::new(&bytes, 4072);
    assert!(size <= 4072.max(program.shape.fixed));
    // Where that is not enough, it is what there is room for.
    program.with_rooms(
        machine,
        64,
        || 4072,
        |again, _| assert!(machine.grows || again == size, "{line}"),
    );
    let mut record = vec![0xee; size];
    program.fill(machine, &rooms, &mut record);
    assert_eq!(check_record(arguments, (16, &record)), Ok(()), "{line}");
    // In one pass it is the same, unless the memory changes.
    let mut gathered = vec![0xee; 4072];
    let size = program.gather(machine, &mut gathered);
    assert!(size <= 4072.max(program.shape.fixed), "{line}");
    let whole = gathered.get(..size).unwrap_or_default();
    assert_eq!(check_record(arguments, (16, whole)), Ok(()), "{line}");
    if !machine.grows {
        assert!(gathered.get(..size) == Some(&record[..]), "{line}");
        let before = machine.reads.get();
        let _ = program.gather(machine, &mut gathered);
        let reads = machine.reads.get() != before;
        assert!(!reads || program.shape.reads_memory, "{line}");
    }
    if let Some(short) = by_plain_text(line, arguments, machine) {
        assert_eq!(check_record(arguments, (16, &short)), Ok(()), "{line}");
        assert!(machine.grows || short == record, "{line}");
    }
    let numbered: Vec<String> = (1..=arguments.len()).map(|n| format!("arg{n}")).collect();
    let named = arguments.iter().zip(&numbered).map(|(argument, number)| {
        let name = argument.name.map_or(number.as_str(), |name| name.of(line));
        (name, argument)
    });
    let mut out = crate::text::writer::Bytes::default();
    let mut symbol = |address, out: &mut dyn ByteWrite| write!(out, "<{address:x}>");
    print::write_values(&mut out, named, &record, 16, &mut symbol, &names).unwrap();
    (record, String::from_utf8_lossy(&out.0).into_owned())
}

/// Returns the record of a line with one short string, among registers and parameters, as it is made without a
/// program; `None` of another line.
fn by_plain_text(line: &str, arguments: &[Argument], machine: &Memory) -> Option<Vec<u8>> {
    let in_registers = !line.starts_with('t');
    let (mut texts, mut numbers, mut at) = (Vec::new(), Vec::new(), 16);
    for argument in arguments {
        texts.extend(PlainText::of(argument, in_registers, at));
        numbers.extend(PlainArgument::of(argument, in_registers, at));
        at += argument.size();
    }
    let [text] = texts[..] else {
        return None;
    };
    if numbers.len() + 1 != arguments.len() {
        return None;
    }
    let short = text.read(machine)?;
    let mut record = vec![0xee; at + short.size()];
    PlainArgument::put_all(&numbers, machine, &mut record);
    text.put(&short, at, &mut record);
    Some(record)
}

/// Strings of all lengths, at the beginning of a page, in it and before its end: those that end among the bytes that are
/// read at a time, in one page, need no program, and others are left to it.
#[test]
fn short_strings_need_no_program() {
    let line = "p f a=%si:u16 s=+0(%di):string b=%si";
    let arguments = compile(line).unwrap();
    let mut seen = [0; 2];
    for start in [0, 16, 63, 64, 65, 127, 128, 200, 360] {
        for len in 0..80 {
            let mut machine = memory();
            machine.bytes.fill(0);
            machine.bytes[start..start + len].fill(b's');
            machine.registers[14] = BASE + start as u64;
            let before_page = 128usize.checked_sub(start).filter(|left| *left > 0);
            let is_short = len < 64 && before_page.is_none_or(|left| left >= 64);
            let record = by_plain_text(line, &arguments, &machine);
            assert_eq!(record.is_some(), is_short, "{len} bytes at {start}");
            seen[usize::from(is_short)] += 1;
            // The program makes the same of it.
            record_of(line, &arguments, &machine);
        }
    }
    assert!(seen.iter().all(|seen| *seen > 100), "{seen:?}");
    for other in [
        "p f s=$comm",
        r#"p f s=\"text""#,
        "p f s=+0(%di):string[2]",
        "p f s=+0(+16(%di)):string",
        "p f s=+0(%di):string t=+0(%di):string",
        "p f s=+0(%di):string a=+0(%di)",
        "p f s=%di:symstr",
    ] {
        let arguments = compile(other).unwrap();
        assert_eq!(by_plain_text(other, &arguments, &memory()), None, "{other}");
    }
    for same in [
        "p f s=+0(%di):string",
        "p f s=+0(%di):ustring",
        "p f s=+0($arg1):string",
        "p f s=@jiffies:string",
        "p f s=@jiffies+84:string",
    ] {
        let arguments = compile(same).unwrap();
        let record = by_plain_text(same, &arguments, &memory());
        assert_eq!(record.is_some(), !same.contains("+84"), "{same}");
        record_of(same, &arguments, &memory());
    }
}

#[test]
fn values_are_those_of_registers_and_memory() {
    let rows = [
        ("p f %si", " arg1=0xfedcba9876543210"),
        ("p f a=%si:u16 b=%si:s8", " a=12816 b=16"),
        ("p f a=%si:x32 c=\\65:char", " a=0x76543210 c='A'"),
        ("p f $arg2:s64", " arg1=-81985529216486896"),
        ("p f s=+0(%di):string", " s=\"hello\""),
        (
            "p f s=+0(+16($arg1)):string",
            " s=\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
        ),
        ("p f s=+0(%r9):string n=+0(%r9):u64", " s=(fault) n=0"),
        ("p f $comm", " arg1=\"swapper/0\""),
        ("p f a=\\\"text\" b=$comm", " a=\"text\" b=\"swapper/0\""),
        ("p f a=\\-1:s32 b=\\0x10", " a=-1 b=0x10"),
        ("p f a=\\+-5:s32 b=\\++5 c=\\+5", " a=-5 b=0x5 c=0x5"),
        ("p f a=$arg+2:s64", " a=-81985529216486896"),
        (
            "p f s=++0(%di):string t=+-0(%di):string",
            " s=\"hello\" t=\"hello\"",
        ),
        ("p f a=-0x8000000000000000(%di)", " a=0x0"),
        ("p f $stack1:s64 p=$stack0:x8", " arg1=-1 p=0x0"),
        ("p f @jiffies:u8", " arg1=228"),
        ("p f s=%si:symbol", " s=<fedcba9876543210>"),
        ("r f $retval:u32", " arg1=65"),
        ("r 0x1234 %ax:u32 l=$latency", " arg1=65 l=5000000001"),
        ("p f -8(+24(%r8))", " arg1=0x0"),
        (
            "e s/e $small:s32 b=$small big",
            " arg1=-2 b=0xfffffffffffffffe big=0x123456789abcdef0",
        ),
        ("e s/e comm $comm", " comm=0x4d arg2=0x4d"),
        (
            "e s/e $COMM a=$COMM:string",
            " arg1=0xffff888000001abc a=\"swapper/0\"",
        ),
        (
            "e s/e fixed:string dynamic:string relative:string",
            " fixed=\"inside\" dynamic=\"start\" relative=\"after\"",
        ),
        (
            "e s/e pointer:string a=+1(pointer):string b=+0($pointer):char",
            " pointer=\"hello\" a=\"ello\" b='h'",
        ),
        (
            "e s/e a=+1(bytes):u16 b=+0(bytes):x32 c=+4(dynamic):char",
            " a=770 b=0x4030201 c='t'",
        ),
        ("e s/e late a=late:string", " late=0x0 a=(fault)"),
        (
            "e s/e a=\\\"text\":string b=\\\"text\":ustring c=$COMM:ustring",
            " a=\"text\" b=(fault) c=(fault)",
        ),
        ("e s/e a=$small:u8 if small == 1", " a=254"),
        ("p /f:0 a=@+1:string b=@+16:u8", " a=\"ello\" b=228"),
        (
            "p /f:0 a=+0(@+16):char b=@+-1:u8 c=@+600:string",
            " a='x' b=0 c=(fault)",
        ),
        (
            "r /f:0 %si:s8 a=$retvalx:u8 b=$comm c=\\\"text\"",
            " arg1=16 a=65 b=\"swapper/0\" c=\"text\"",
        ),
    ];
    for (line, want) in rows {
        assert_eq!(record(line, &memory()).1, want, "{line}");
    }
}

#[test]
fn plain_arguments_are_what_the_program_fills() {
    let machine = memory();
    for (line, suits) in [
        ("p /x:0", true),
        ("p /x:0 %di a=%si:u8 b=%ax:s16 c=%r8:x32 d=%cx", true),
        ("p /x:0 %sp %bp:u32 %orig_ax", true),
        ("p /x:0 %di %r10", false),
        ("p /x:0 %bx %di", false),
        ("p /x:0 a=%flags", false),
        ("p /x:0 a=+8(%ip)", false),
        ("p /x:0 a=+8(%di) b=%si:u8", true),
        ("f x $arg2 a=$arg1:u8 b=$arg6:s16 c=$arg9 d=$arg1:x32", true),
        ("t x $arg2 a=$arg1:u8 b=$arg6:s16 c=$arg9 d=$arg1:x32", true),
    ] {
        let arguments = compile(line).unwrap();
        assert_eq!(RecordShape::of(16, &arguments).suits_hook, suits, "{line}");
        let mut at = 16;
        let plain = arguments
            .iter()
            .map(|argument| {
                let plain = PlainArgument::of(argument, !line.starts_with('t'), at);
                at += argument.size();
                plain
            })
            .collect::<Option<Vec<_>>>();
        assert_eq!(plain.is_some(), !line.contains('('), "{line}");
        let Some(plain) = plain else {
            continue;
        };
        let (wanted, _) = record(line, &machine);
        let mut filled = vec![0; wanted.len()];
        PlainArgument::put_all(&plain, &machine, &mut filled);
        assert_eq!(filled.get(16..), wanted.get(16..), "{line}");
    }
}

#[test]
fn copied_arguments_are_what_the_program_fills() {
    for (line, is_copied) in [
        ("e s/e", true),
        (
            "e s/e $small big b=$small:u64 c=$small:s32 d=big:x8 e=big:s16 f=$small:x32",
            true,
        ),
        ("e s/e $comm a=$comm:x64 b=$comm:s8", true),
        ("e s/e pointer a=$pointer:u32", true),
        ("e s/e big fixed:string", false),
        ("e s/e a=+0(pointer) big", false),
        ("e s/e a=$COMM:string", false),
        ("e s/e dynamic:string", false),
    ] {
        let arguments = compile(line).unwrap();
        let mut at = 16;
        let copied = arguments.iter().map(|argument| {
            let copied = CopiedArgument::of(argument, at);
            at += argument.size();
            copied
        });
        let copied = copied.collect::<Option<Vec<_>>>();
        assert_eq!(copied.is_some(), is_copied, "{line}");
        let (wanted, _) = record(line, &memory());
        let mut filled = vec![0; wanted.len()];
        // What is after the record is of unknown content.
        let mut bytes = followed();
        bytes.extend([0xdb; 8]);
        for argument in copied.into_iter().flatten() {
            let word = bytes[argument.from..].first_chunk().unwrap();
            argument.put(u64::from_le_bytes(*word), &mut filled);
        }
        if is_copied {
            assert_eq!(at, wanted.len(), "{line}");
            assert_eq!(filled.get(16..), wanted.get(16..), "{line}");
        }
    }
    // Common fields but the number of the task are not filled for it.
    for (offset, size, is_copied) in [(0, 2, false), (2, 1, false), (3, 1, false), (4, 4, true)] {
        let common = |_: &str| EventField::of("int", offset, size, size == 4);
        let mut compiler = Compiler::new(ProbeSite::Event(&common), &symbol);
        let arguments = compile_all("e s/e a=$x", &mut compiler).unwrap();
        let copied = CopiedArgument::of(&arguments[0], 16);
        assert_eq!(copied.is_some(), is_copied, "{offset}");
    }
}

#[test]
fn records_are_packed() {
    let (record, _) = record("p f a=%si:u8 s=+0(%di):string b=%si:u16", &memory());
    let mut want = vec![0xee; 16];
    want.push(0x10);
    want.extend((6u32 << 16 | 23).to_le_bytes());
    want.extend([0x10, 0x32]);
    want.extend(b"hello\0");
    assert_eq!(record, want);
}

#[test]
fn refusals_have_ftraces_place() {
    use ProbeError::*;
    let rows: &[(&str, ProbeError, usize, Code)] = &[
        ("p10 f", MaxActiveKind, 1, Code::Invalid),
        ("r0 f", MaxActive, 1, Code::Invalid),
        ("r4097:x f", MaxActiveTooBig, 1, Code::Invalid),
        ("p f%retur", AddressSuffix, 3, Code::Invalid),
        ("p f+x", ProbeAddress, 2, Code::Invalid),
        ("p f-1", ProbeAddress, 2, Code::Invalid),
        ("p: f", EventNameMissing, 2, Code::Invalid),
        ("p:/x f", GroupNameMissing, 2, Code::Invalid),
        ("p:1/x f", GroupName, 2, Code::Invalid),
        ("p:a/1x f", EventName, 4, Code::Invalid),
        ("p f $foo", Variable, 4, Code::Invalid),
        ("p f a=$foo", Variable, 6, Code::Invalid),
        ("p f =$foo", ArgumentNameMissing, 4, Code::Invalid),
        ("p f 1=$foo", ArgumentName, 4, Code::Invalid),
        ("p f a=", ArgumentBodyMissing, 6, Code::Invalid),
        ("p f a=%ax a=%bx", ArgumentNameUsed, 10, Code::Invalid),
        ("p f %rax", RegisterName, 4, Code::Invalid),
        ("p f %ax:u5", Type, 8, Code::Invalid),
        ("p f %ax:string", StringMemory, 8, Code::Invalid),
        ("p f $comm:u8", StringType, 10, Code::Invalid),
        ("p f $retval", ReturnValueOnProbe, 4, Code::Invalid),
        ("p f+4 $arg1", NotAtEntry, 6, Code::Invalid),
        ("p 0x1234 $arg1", NotAtEntry, 9, Code::Invalid),
        ("p 0x1234 $retval", ReturnValueOnProbe, 9, Code::Invalid),
        ("r 0x1234 a=$arg1", NotAtEntry, 11, Code::Invalid),
        ("r 0x1234 a=$retval", ReturnValueOnProbe, 11, Code::Invalid),
        ("r 0x1234 file", Btf, 9, Code::Invalid),
        ("p f $arg0", ArgumentNumber, 4, Code::Invalid),
        ("p f $stack2049", StackNumber, 4, Code::Invalid),
        ("p f +0", DereferenceBrace, 4, Code::Invalid),
        ("p f +x(%ax)", DereferenceOffset, 4, Code::Invalid),
        ("p f --8(%ax)", DereferenceOffset, 4, Code::Invalid),
        ("p f -+8(%ax)", DereferenceOffset, 4, Code::Invalid),
        ("p f +++8(%ax)", DereferenceOffset, 4, Code::Invalid),
        ("p f -0x8000000000000001(%ax)", DereferenceOffset, 4, Code::Range),
        ("p f ++8($foo)", Variable, 8, Code::Invalid),
        ("p f +-8($foo)", Variable, 7, Code::Invalid),
        ("p f +u-8($foo)", Variable, 7, Code::Invalid),
        ("p f a=$arg++1", Variable, 6, Code::Invalid),
        ("p f \\+++5", Immediate, 5, Code::Invalid),
        ("p f \\-+5", Immediate, 5, Code::Invalid),
        ("p f \\+0xffffffffffffffff", Immediate, 5, Code::Range),
        ("p f +0(%ax", DereferenceOpen, 10, Code::Invalid),
        ("p f +0($comm)", CommDereferenced, 7, Code::Invalid),
        ("p f \\x", Immediate, 5, Code::Invalid),
        ("p f \\\"x", ImmediateOpen, 7, Code::Invalid),
        ("p f @+8", FileOffset, 4, Code::Invalid),
        ("p f file", NoFunctionTypes, 4, Code::Missing),
        ("p f+4 file", Btf, 6, Code::Invalid),
        ("p f \\99999999999999999999", Immediate, 5, Code::Range),
        ("p f a=%ax:u8[2", ArrayOpen, 14, Code::Invalid),
        ("p f a=%ax:u8[2]x", ArraySuffix, 15, Code::Invalid),
        ("p f a=%ax:u8[0]", ArrayNumber, 13, Code::Invalid),
        ("p f a=%ax:u8[x]", ArrayNumber, 13, Code::Invalid),
        ("p f a=%ax:u8[65]", ArrayTooBig, 13, Code::Invalid),
        ("p f a=%ax:u8[2]", StringMemory, 10, Code::Invalid),
        ("p f a=+u0(%ax):u8[2]", StringMemory, 18, Code::Invalid),
        ("p f $comm:string[2]", StringType, 10, Code::Invalid),
        ("p f a=%ax:b1@8/8", BitField, 10, Code::Invalid),
        ("p f a=+0(%ax):b0@0/8", BitField, 17, Code::Invalid),
        ("p f a=%ax:b1@0/7", Type, 10, Code::Invalid),
        ("p f a=%ax:b1", Type, 10, Code::Invalid),
        ("p f a=%ax:b1x0/8", BitField, 10, Code::Invalid),
        ("p f a=$comm:symstr", StringType, 12, Code::Invalid),
        ("p f a=$current:symstr", SymbolMemory, 15, Code::Invalid),
        ("p f a=+u0(%ax):symstr", SymbolMemory, 18, Code::Invalid),
        ("p f a=+0(%ax):symstr[2]", StringMemory, 17, Code::Invalid),
        ("p f a=+0(%ax):u64[64] b=+0(%ax):u64[64] c=+0(%ax):u64[64] d=+0(%ax):u64[64] e=+0(%ax):u64[64] f=+0(%ax):u64[64] g=+8(%ax):u8", EventTooBig, 117, Code::TooBig),
        ("e s/e $nosuch", Variable, 6, Code::Invalid),
        ("e s/e a=nosuch", EventField, 8, Code::Invalid),
        ("e s/e %ax", Variable, 6, Code::Invalid),
        ("e s/e $stack", Variable, 6, Code::Invalid),
        ("e s/e $retval", Variable, 6, Code::Invalid),
        ("e s/e this_cpu_ptr(big)", PerCpu, 6, Code::Invalid),
        ("e s/e big big", ArgumentNameUsed, 10, Code::Invalid),
        ("e s/e arg2=$big $big", ArgumentNameUsed, 16, Code::Invalid),
        ("e s/e +0($COMM)", CommDereferenced, 9, Code::Invalid),
        ("w", ArgumentBodyMissing, 0, Code::Invalid),
        ("w10 w@jiffies", WatchMaxActive, 1, Code::Invalid),
        ("w jiffies", AccessFormat, 2, Code::Invalid),
        ("w a@jiffies", AccessType, 2, Code::Invalid),
        ("w w@nosuch", AccessAddress, 4, Code::Missing),
        ("w rw@nosuch:8", AccessAddress, 5, Code::Missing),
        ("w w@m:jiffies", AccessAddress, 4, Code::Missing),
        ("w w@", AccessAddress, 4, Code::Missing),
        ("w w@jiffies+1", AccessAddress, 4, Code::Invalid),
        ("w w@0x10", AccessAddress, 4, Code::Invalid),
        ("w w@jiffies-0x20:8", AccessAddress, 4, Code::Invalid),
        ("w w@jiffies+x", ProbeAddress, 11, Code::Invalid),
        ("w w@jiffies+2147483648", ProbeAddress, 11, Code::Invalid),
        ("w w@jiffies:16", AccessLength, 12, Code::Invalid),
        ("w w@jiffies:", AccessLength, 12, Code::Invalid),
        ("w: w@jiffies", EventNameMissing, 2, Code::Invalid),
        ("w w@jiffies %ax", Variable, 12, Code::Invalid),
        ("w w@jiffies $arg1", Variable, 12, Code::Invalid),
        ("w w@jiffies $stack", Variable, 12, Code::Invalid),
        ("w w@jiffies $retval", Variable, 12, Code::Invalid),
        ("w w@jiffies $latency", Variable, 12, Code::Invalid),
        ("w w@jiffies $values", Variable, 12, Code::Invalid),
        ("w w@jiffies file", Btf, 12, Code::Invalid),
        ("w w@jiffies $addr:string", StringMemory, 18, Code::Invalid),
    ];
    for (line, error, at, code) in rows {
        let want = ProbeRefusal::with(*error, *at, *code);
        assert_eq!(compile(line).err(), Some(want), "{line}");
    }
    assert!(compile("p f +0(+0(+0(+0(+0(+0(+0(+0(%ax))))))))").is_ok());
    let nested = compile("p f +0(+0(+0(+0(+0(+0(+0(+0(+0(%ax)))))))))").err();
    assert_eq!(
        nested.map(|why| (why.error, why.code)),
        Some((TooManyNested, Code::TooBig))
    );
}

#[test]
fn conditions_of_lines() {
    for (line, text, condition) in [
        ("p f", "p f", None),
        (
            "p f a=%di if a > 1 && b",
            "p f a=%di",
            Some((13, "a > 1 && b")),
        ),
        ("p f if a", "p f", Some((7, "a"))),
        ("p f if if", "p f", Some((7, "if"))),
        ("p f if", "p f", Some((7, ""))),
        ("p if", "p if", None),
        ("if if if", "if if", Some((9, ""))),
        ("p f iff if=%di", "p f iff if=%di", None),
        ("", "", None),
    ] {
        let parsed = DefiningLine::parse(line);
        let found = parsed.condition.map(|word| (word.at, word.text));
        assert_eq!((parsed.text, found), (text, condition), "{line}");
    }
}

#[test]
fn events_that_are_followed() {
    let head = EventHead::parse(DefiningLine::parse(
        "exyz:g/e sys.event a=$b if x == 1 && y",
    ))
    .unwrap();
    let names = ProbeNames {
        group: Some("g"),
        event: Some("e"),
    };
    assert_eq!(head.names(), Ok(names));
    assert_eq!(head.followed(), Ok(("sys", "event")));
    assert_eq!(head.line, "exyz:g/e sys.event a=$b");
    assert_eq!(
        head.filter.map(|word| (word.at, word.text)),
        Some((27, "x == 1 && y"))
    );
    let missing = |first| {
        let missing = ProbeRefusal::new(ProbeError::EventInfo, 2);
        Err(NamelessEvent(first, missing))
    };
    let followed = |line| {
        EventHead::parse(DefiningLine::parse(line))
            .unwrap()
            .followed()
    };
    assert_eq!(followed("e event"), missing(None));
    assert_eq!(followed("e sys/"), missing(None));
    let wrong = ProbeRefusal::new(ProbeError::EventName, 6);
    assert_eq!(followed("e sys/1x"), missing(Some(wrong)));
    let head = EventHead::parse(DefiningLine::parse("e s/e if")).unwrap();
    assert_eq!(
        (head.line, head.filter.map(|word| word.at)),
        ("e s/e", Some(9))
    );
    for line in ["e", "p f", "", "e:g/e"] {
        assert!(
            EventHead::parse(DefiningLine::parse(line)).is_none(),
            "{line}"
        );
    }
    for (given, same) in [
        ("s/e", true),
        ("s.e", true),
        ("s/f", false),
        ("e", false),
        ("/e", false),
    ] {
        assert_eq!(is_same_event("s.e", given), same, "{given}");
    }
}

#[test]
fn names_and_places() {
    for (one, other, wanted) in [
        ("vfs_read", "vfs_read+0", true),
        ("vfs_read", "vfs_read%return", true),
        ("vfs_read+4", "vfs_read+0x4", true),
        ("vfs_read", "vfs_write", false),
        ("m:f", "f", false),
        ("0x10", "16", true),
        ("f%x", "f%x", false),
    ] {
        assert_eq!(command::is_same_place(one, other), wanted, "{one} {other}");
    }
    let head = Head::parse("r10:a/b mod:sym+0x10%return").unwrap().unwrap();
    assert!(head.returns);
    assert_eq!(head.max_active, 10);
    let names = ProbeNames {
        group: Some("a"),
        event: Some("b"),
    };
    assert_eq!(head.names(), Ok(names));
    let mut text = String::new();
    head.write_place(&mut text).unwrap();
    text.push(' ');
    head.write_default_name(&mut text).unwrap();
    assert_eq!(text, "mod:sym+16 r_mod_sym_16");
    let long = format!("p mod:{}", "x".repeat(57));
    let head = Head::parse(&long).unwrap().unwrap();
    let mut text = String::new();
    head.write_default_name(&mut text).unwrap();
    assert_eq!(text, format!("p_mod_{}", "x".repeat(57)));
    let head = Head::parse("r sym+123456").unwrap().unwrap();
    let mut text = String::new();
    head.write_default_name(&mut text).unwrap();
    assert_eq!(text, "r_sym_123456");
    assert!(Head::parse("p").unwrap().is_none());
    assert!(Head::parse("f vfs_read").unwrap().is_none());
    assert!(Head::parse("p /bin/sh:0x10").unwrap().is_none());
    let word = LineWord { at: 2, text: "g/" };
    assert_eq!(ProbeNames::parse(word).map(|names| names.event), Ok(None));
}

#[test]
fn watchpoints() {
    let symbol_place = |name, offset| WatchPlace::Symbol { name, offset };
    use WatchedAccess::*;
    for (line, access, place, len, shown, name) in [
        (
            "w w@var",
            Write,
            symbol_place("var", 0),
            4,
            "w@var:4",
            "var",
        ),
        (
            "w @var:8",
            Any,
            symbol_place("var", 0),
            8,
            "rw@var:8",
            "var",
        ),
        (
            "w rw@var+0x10:2",
            Any,
            symbol_place("var", 16),
            2,
            "rw@var+16:2",
            "var",
        ),
        (
            "w r@a.b-1:0x1",
            Read,
            symbol_place("a.b", -1),
            1,
            "r@a.b-1:1",
            "a_b",
        ),
        (
            "w w@mod:var",
            Write,
            symbol_place("mod:var", 0),
            4,
            "w@mod:var:4",
            "mod_var",
        ),
        (
            "w w@mod:var+4:8",
            Write,
            symbol_place("mod:var", 4),
            8,
            "w@mod:var+4:8",
            "mod_var",
        ),
        (
            "w w@0xffff888000001000:8",
            Write,
            WatchPlace::Address(0xffff_8880_0000_1000),
            8,
            "w@0xffff888000001000:8",
            "w_0xffff888000001000",
        ),
    ] {
        let head = WatchHead::parse(line).unwrap().unwrap();
        let own = (head.access, head.place, head.len);
        assert_eq!(own, (access, place, len), "{line}");
        let (mut text, mut default) = (String::new(), String::new());
        head.write_place(&mut text).unwrap();
        head.write_default_name(&mut default).unwrap();
        assert_eq!((text.as_str(), default.as_str()), (shown, name), "{line}");
        // What is listed is the same place.
        let given = words(line).nth(1).unwrap().text;
        assert!(watch_command::is_same_place(shown, given), "{line}");
    }
    for (own, given) in [
        ("w@var:4", "rw@var:4"),
        ("w@var:4", "w@var:8"),
        ("w@var:4", "w@var+4:4"),
        ("w@var:4", "w@other:4"),
        ("w@var:4", "var"),
    ] {
        assert!(!watch_command::is_same_place(own, given), "{own} {given}");
    }
    for line in ["", "p f", "e s/e", "f f", "t t", "r f"] {
        assert!(WatchHead::parse(line).unwrap().is_none(), "{line}");
    }
    let long = format!("w @{}", "x".repeat(100));
    let mut name = String::new();
    let head = WatchHead::parse(&long).unwrap().unwrap();
    head.write_default_name(&mut name).unwrap();
    assert_eq!(name.len(), 63);
    // What is watched is the only word, however often it is asked for.
    let mut compiler = Compiler::new(ProbeSite::Watched, &symbol);
    let line = "w w@jiffies a=$addr b=$value:u16 c=+8($addr):string d=$value e=@jiffies f=$comm g=$current";
    let arguments = compile_all(line, &mut compiler).unwrap();
    assert_eq!(compiler.kept().places().len(), 1);
    let load = |offset| FetchStep::Load {
        offset,
        user: false,
    };
    let watched = FetchStep::Kept(0);
    for (argument, steps) in arguments.iter().zip([
        [watched].as_slice(),
        &[watched, load(0)],
        &[watched, load(8)],
        &[watched, load(0)],
    ]) {
        assert_eq!(argument.steps(), steps);
    }
    let (_, text) = record_of(line, &arguments, &memory());
    let wanted = " a=0x1000 b=0 c=(fault) d=0x0 e=0x100fe4 f=\"swapper/0\" g=0xffff888000001000";
    assert_eq!(text, wanted);
}

/// Symbols that are not there, and those that may move, are the probe's to look up; others are where they are.
#[test]
fn symbols_that_move_are_looked_up() {
    let known = |name: &str| match name {
        "stays" => Some(BASE + 16),
        "moves" => Some(BASE + 200),
        _ => None,
    };
    let moves = |address: u64| address == BASE + 200;
    let line = "p f a=@stays b=@moves+8:u32 c=+u0(@late+8) d=this_cpu_ptr(@moves) e=@stays+1 f=@moves-16:x8";
    let mut compiler = Compiler::new(ProbeSite::Inside, &known).with_lookup(&moves);
    let arguments = compile_all(line, &mut compiler).unwrap();
    assert!(compiler.lacks_symbol);
    let symbol_of = |argument: &Argument| match argument.steps()[0] {
        FetchStep::Symbol { slot, name, offset } => Some((slot, name.of(line), offset)),
        _ => None,
    };
    let found: Vec<_> = arguments.iter().map(symbol_of).collect();
    let wanted = [
        None,
        Some((0, "moves", 8)),
        Some((1, "late", 8)),
        Some((2, "moves", 0)),
        None,
        Some((3, "moves", -16)),
    ];
    assert_eq!(found, wanted);
    // The slots are 8 bytes after each other there.
    let (_, text) = record_of(line, &arguments, &memory());
    let wanted = " a=0x100fe4 b=0 c=0x7878787878787878 d=0x100fa0 e=0x100f f=0x0";
    assert_eq!(text, wanted);
    // The address of a string is known before the hit if it stays.
    for (line, is_plain) in [
        ("p f a=@stays:string", true),
        ("p f a=@moves:string", false),
    ] {
        let mut compiler = Compiler::new(ProbeSite::Inside, &known).with_lookup(&moves);
        let arguments = compile_all(line, &mut compiler).unwrap();
        let plain = PlainText::of(&arguments[0], true, 16);
        assert_eq!(plain.is_some(), is_plain, "{line}");
    }
    // Without a probe that does so they are what they are now, as for event probes.
    let mut compiler = Compiler::new(ProbeSite::Inside, &known);
    let arguments = compile_all("p f a=@moves", &mut compiler).unwrap();
    assert_eq!(arguments[0].steps()[0], FetchStep::Immediate(BASE + 200));
    assert!(!compiler.lacks_symbol);
}

#[test]
fn places_in_files() {
    let rows = [
        ("p:a/b /bin/sh:0x10", "/bin/sh", (16, 0, false), "p_sh_0x10"),
        (
            "r a/b:c-d.so:020",
            "a/b:c-d.so",
            (16, 0, true),
            "p_b:c_0x10",
        ),
        ("px /x/y_z:5%return(0x8)", "/x/y_z", (5, 8, true), "p_y_0x5"),
        ("r9 ./é:0(1)", "./é", (0, 1, true), "p_é_0x0"),
    ];
    for (line, path, (offset, counter, returns), name) in rows {
        let head = UserHead::parse(line).unwrap().unwrap();
        assert_eq!(head.path.text, path, "{line}");
        let place = UserPlace {
            offset,
            counter,
            returns,
        };
        assert_eq!(head.place(None), Ok(place), "{line}");
        let mut text = String::new();
        head.write_default_name(offset, &mut text).unwrap();
        assert_eq!(text, name, "{line}");
        let mut shown = format!("{path}:");
        place.write(&mut shown).unwrap();
        assert_eq!(path_of(&shown), path);
        let again = format!("p {shown}");
        let again = UserHead::parse(&again)
            .unwrap()
            .unwrap()
            .place(None)
            .unwrap();
        assert_eq!((again.offset, again.counter), (offset, counter), "{shown}");
    }
    let long = format!("p /{}:1", "x".repeat(90));
    let mut name = String::new();
    let head = UserHead::parse(&long).unwrap().unwrap();
    head.write_default_name(1, &mut name).unwrap();
    assert_eq!(name.len(), 63);
    for line in [
        "p",
        "p /x",
        "p /x:",
        "p x/y:z",
        "p x:1",
        "f /x:1",
        "e /x:1",
        "p /x:%return",
        "p /x:é",
    ] {
        assert!(UserHead::parse(line).unwrap().is_none(), "{line}");
    }
}

#[test]
fn functions_in_files() {
    let rows = [
        ("p /x:malloc", "malloc", Ok((0x100, 0, false))),
        ("r /x:_a.b@c(0x10)", "_a.b@c", Ok((0x100, 16, true))),
        ("p /x:f+0x10%return(1)", "f", Ok((0x110, 1, true))),
        ("p /x:f+", "f", Err((ProbeError::FilePlace, 7))),
        ("p /x:f+1g", "f", Err((ProbeError::FilePlace, 7))),
        ("p /x:f%x", "f", Err((ProbeError::AddressSuffix, 6))),
    ];
    for (line, name, wanted) in rows {
        let head = UserHead::parse(line).unwrap().unwrap();
        assert_eq!(head.function(), Some(name), "{line}");
        let place = head.place(Some(0x100));
        let place = place.map(|place| (place.offset, place.counter, place.returns));
        let place = place.map_err(|refusal| (refusal.error, refusal.at));
        assert_eq!(place, wanted, "{line}");
    }
    let head = UserHead::parse("p /x:nosuch").unwrap().unwrap();
    let refusal = ProbeRefusal::new(ProbeError::FilePlace, 5);
    assert_eq!(head.place(None), Err(refusal));
    let head = UserHead::parse("p /x:0x10").unwrap().unwrap();
    assert_eq!(head.function(), None);
}

#[test]
fn wrong_places_in_files_have_ftraces_place() {
    use ProbeError::*;
    let rows: &[(&str, ProbeError, usize, Code)] = &[
        ("p /x:0x", FilePlace, 5, Code::Invalid),
        ("p /x:99999999999999999999", FilePlace, 5, Code::Range),
        ("p /x:0%retur", AddressSuffix, 6, Code::Invalid),
        ("p /x:0(", ReferenceOpen, 7, Code::Invalid),
        ("p /x:0(12", ReferenceOpen, 9, Code::Invalid),
        ("p /x:0()", Reference, 7, Code::Invalid),
        ("p /x:0(99999999999999999999)", Reference, 7, Code::Range),
        ("p /x:0(1)y", ReferenceSuffix, 9, Code::Invalid),
        ("p /x:0 %ax:symbol", Type, 11, Code::Invalid),
        ("p /x:0 %ax:symstr", Type, 11, Code::Invalid),
        ("p /x:0 $current", Variable, 7, Code::Invalid),
        ("p /x:0 $arg1", NotAtEntry, 7, Code::Invalid),
        ("p /x:0 $arg*", Variable, 7, Code::Invalid),
        ("p /x:0 $retval", ReturnValueOnProbe, 7, Code::Invalid),
        ("p /x:0 file", Btf, 7, Code::Invalid),
        ("p /x:0 a=(x)%di->y", Btf, 9, Code::Unsupported),
        ("p /x:0 this_cpu_read(%di)", PerCpu, 7, Code::Invalid),
        ("p /x:0 @jiffies", SymbolOfUser, 7, Code::Invalid),
        ("p /x:0 @+x", FileOffsetValue, 7, Code::Invalid),
    ];
    for (line, error, at, code) in rows {
        let want = ProbeRefusal::with(*error, *at, *code);
        assert_eq!(compile(line).unwrap_err(), want, "{line}");
    }
}

/// BTF of the functions `f(struct outer *outer, char *text, enum colour colour)` and `g(void)`.
fn types() -> Vec<u8> {
    const INT: u8 = 1;
    const PTR: u8 = 2;
    const ARRAY: u8 = 3;
    const STRUCT: u8 = 4;
    const ENUM: u8 = 6;
    const FUNC: u8 = 12;
    const FUNC_PROTO: u8 = 13;
    let mut b = Builder::new();
    b.ty("int", INT, 0, false, 4);
    b.words(&[1 << 24 | 32]);
    b.ty("char", INT, 0, false, 1);
    b.words(&[8]);
    b.ty("", PTR, 0, false, 2);
    b.ty("", ARRAY, 0, false, 0);
    b.words(&[2, 1, 16]);
    // Number 5.
    b.ty("outer", STRUCT, 6, true, 64);
    b.member("pid", 1, 0);
    b.member("bits", 1, 37 | 3 << 24);
    b.member("text", 4, 0);
    b.member("name", 3, 128);
    b.member("next", 6, 128);
    b.member("in", 8, 64);
    b.ty("", PTR, 0, false, 5);
    b.ty("colour", ENUM, 4, true, 4);
    for (name, value) in [("RED", 0), ("GREEN", 1), ("BLUE", 7), ("NONE", u32::MAX)] {
        let name = b.string(name);
        b.words(&[name, value]);
    }
    b.ty("inner", STRUCT, 1, false, 16);
    b.member("value", 6, 64);
    b.ty("", FUNC_PROTO, 3, false, 1);
    for (name, ty) in [("outer", 6), ("text", 3), ("colour", 7)] {
        let name = b.string(name);
        b.words(&[name, ty]);
    }
    b.ty("f", FUNC, 0, false, 9);
    b.ty("", FUNC_PROTO, 0, false, 0);
    b.ty("g", FUNC, 0, false, 11);
    // Number 13.
    for (function, parameters) in [
        ("h", [("text", 3), ("outer", 6), ("colour", 7)]),
        ("i", [("text", 1), ("", 6), ("colour", 7)]),
    ] {
        b.ty("", FUNC_PROTO, 3, false, 1);
        for (name, ty) in parameters {
            let name = b.string(name);
            b.words(&[name, ty]);
        }
        b.ty(
            function,
            FUNC,
            0,
            false,
            if function == "h" { 13 } else { 15 },
        );
    }
    b.build()
}

/// Calls `check` with the function of that name.
fn with_function<R>(name: &str, check: impl FnOnce(ProbedFunction<'_>) -> R) -> R {
    let bytes = types();
    let mut index = vec![0; btf::count(&bytes).unwrap()];
    let btf = Btf::new(&bytes, &mut index).unwrap();
    check(ProbedFunction::new(btf, btf.function(name).unwrap(), 0))
}

/// Expands and compiles a line, whose probe is at the function that it names.
fn compile_typed(line: &str) -> Result<(String, Vec<Argument>), ProbeRefusal> {
    let name = words(line).nth(1).unwrap().text;
    with_function(name, |function| {
        let site = match line.starts_with('r') {
            true => ProbeSite::Return,
            false => ProbeSite::Entry,
        };
        let mut compiler = Compiler::new(site, &symbol).of_function(Some(function));
        let (mut given, mut origins) = (String::new(), Vec::new());
        let mut take = |origin| {
            origins.push(origin);
            Ok(())
        };
        spread::spread(line, &mut compiler, &mut given, &mut take)?.unwrap();
        assert!(given == line || spread::has_spread(line), "{line}: {given}");
        let placed = |refusal: ProbeRefusal| ProbeRefusal {
            at: WordOrigin::place(&origins, refusal.at),
            ..refusal
        };
        let mut expanded = String::new();
        expand::expand(&given, true, Some(&function), &mut expanded)
            .map_err(placed)?
            .unwrap();
        let compiled = compile_all(&expanded, &mut compiler);
        let compiled = compiled.map_err(|refusal| {
            placed(ProbeRefusal {
                at: expand::place_in(&given, &expanded, refusal.at),
                ..refusal
            })
        })?;
        Ok((expanded, compiled))
    })
}

/// Names of parameters that all functions have are those of each, wherever it has them.
#[test]
fn names_of_several_functions() {
    let bytes = types();
    let mut index = vec![0; btf::count(&bytes).unwrap()];
    let btf = btf::Btf::new(&bytes, &mut index).unwrap();
    let prototype = |name: &str| btf.function(name);
    let misfit = Cell::new(None);
    let line = "f x a=outer b=colour c=text d=outer->pid e=text:string f=$arg1";
    let compiled = |functions: &[_], site, line: &str| {
        misfit.set(None);
        let functions = ProbedFunctions::new(btf, functions, &misfit);
        let compiler = Compiler::new(site, &symbol).of_types(Some(KnownTypes::new(btf)));
        let mut compiler = compiler.of_functions(Some(functions));
        let arguments = compile_all(line, &mut compiler)?;
        let (placed, kept) = (compiler.placed().to_vec(), *compiler.kept());
        let places = |name| functions.places(prototype(name).unwrap(), &placed);
        Ok::<_, ProbeRefusal>((arguments, [places("f"), places("h")], kept))
    };
    let both = [prototype("f"), prototype("h")];
    let (arguments, places, _) = compiled(&both, ProbeSite::Begin, line).unwrap();
    // In both the third parameter, and the first and the second of one.
    assert_eq!(arguments[1].steps(), [FetchStep::Parameter(2)]);
    assert_eq!(PlainArgument::of(&arguments[0], true, 16), None);
    assert!(PlainArgument::of(&arguments[1], true, 16).is_some());
    let program = FetchProgram {
        line: line.as_bytes(),
        arguments: &arguments,
        shape: RecordShape::of(16, &arguments),
    };
    let mut machine = memory();
    machine.registers[12] = 7;
    for (places, [outer, text]) in places.into_iter().zip([[14, 13], [13, 14]]) {
        machine.registers[outer] = BASE + 100;
        machine.registers[text] = BASE;
        let first = machine.registers[14];
        let machine = PlacedMachine::new(&machine, places);
        let mut bytes = [0; MOST_ARGUMENTS];
        let (size, _) = program.measure(&machine, 4072, &mut bytes);
        let rooms = Rooms::new(&bytes, 4072);
        let mut record = vec![0xee; size];
        program.fill(&machine, &rooms, &mut record);
        let named = ["a", "b", "c", "d", "e", "f"].into_iter().zip(&arguments);
        let mut shown = crate::text::writer::Bytes::default();
        let mut symbol = |_, _: &mut dyn ByteWrite| Ok(());
        print::write_values(&mut shown, named, &record, 16, &mut symbol, &names).unwrap();
        let wanted = format!(
            " a={:#x} b=7 c={BASE:#x} d=2021161080 e=\"hello\" f={first:#x}",
            BASE + 100
        );
        assert_eq!(String::from_utf8_lossy(&shown.0), wanted);
    }
    // Until a call returns its own are kept.
    let line = "f x%return a=outer b=colour c=text d=outer e=$arg1";
    let (_, places, kept) = compiled(&both, ProbeSite::End, line).unwrap();
    let own = |places: ParameterPlaces| {
        let own = kept.places().iter().map(|place| places.own(*place));
        own.collect::<Vec<_>>()
    };
    assert_eq!(places.map(own), [[0, 2, 1, 0], [1, 2, 0, 0]]);

    use ProbeError::*;
    for (functions, line, error, at, code, odd) in [
        (
            vec!["f", "h"],
            "f x nosuch",
            NoParameter,
            4,
            Code::Missing,
            Some(0),
        ),
        (
            vec!["f", "h", "i"],
            "f x a=outer",
            NoParameter,
            6,
            Code::Missing,
            Some(2),
        ),
        (
            vec!["f", "i"],
            "f x colour a=text",
            ParameterTypes,
            13,
            Code::Invalid,
            Some(1),
        ),
        (
            vec!["f", "nosuch"],
            "f x colour",
            NoFunctionTypes,
            4,
            Code::Missing,
            Some(1),
        ),
        (
            vec![],
            "f x colour",
            NoFunctionTypes,
            4,
            Code::Missing,
            None,
        ),
        (
            vec!["f", "h"],
            "f x outer->nosuch",
            NoField,
            11,
            Code::Missing,
            None,
        ),
    ] {
        let functions: Vec<_> = functions.into_iter().map(prototype).collect();
        let refused = compiled(&functions, ProbeSite::Begin, line).err();
        let wanted = ProbeRefusal::with(error, at, code);
        assert_eq!((refused, misfit.get()), (Some(wanted), odd), "{line}");
    }
    assert!(expand::names_parameters("f x* a=+0(file)") && !expand::names_parameters("f x* $arg1"));
}

#[test]
fn names_and_types_are_those_of_the_function() {
    let x = "x".repeat(50);
    let rows = [
        ("p f outer", " outer=0x100f80"),
        ("p f $arg1:u16 a=$arg1", " outer=3968 a=0x100f80"),
        ("p f outer->pid", " arg1=1819043176"),
        ("p f b=outer->bits c=outer->bits:u8", " b=3 c=111"),
        ("p f t=outer->text:string", " t=\"hello\""),
        ("p f t=outer->text", " t=0x6f6c6c6568"),
        ("p f n=outer->name:string", &format!(" n=\"{x}\"")),
        ("p f n=outer->next->pid", " n=2021161080"),
        ("p f n=outer->in.value", " n=0x100fe4"),
        ("p f n=outer->in.value->pid:x16", " n=0x7878"),
        ("p f n=+4(outer->next):x8", " n=0x78"),
        ("p f colour", " colour=0"),
        ("r f $retval", " arg1=65"),
        ("p f (outer)%di->pid", " arg1=1819043176"),
        ("p f a=(outer)(+0x10(outer))->pid:x16", " a=0x7878"),
        ("p f a=(outer)+0x10(outer)->pid:x16", " a=0x7878"),
        ("p f a=(outer)outer->next->pid:x16", " a=0x7878"),
        ("p f a=(inner,value)$arg1->value", " a=0x6f6c6c6568"),
        ("p f a=+4((outer)%di->next):x8", " a=0x78"),
        ("p f a=this_cpu_ptr(outer)", " a=0x100f90"),
        ("p f a=this_cpu_read(outer)", " a=0x100fe4"),
        ("p f a=this_cpu_read(@0x100f80)", " a=0x100fe4"),
        ("p f a=(outer)this_cpu_read(%di)->pid:x16", " a=0x7878"),
        ("r f a=$retval:x64", " a=0x41"),
    ];
    for (line, want) in rows {
        let (expanded, arguments) = compile_typed(line).unwrap();
        let (_, text) = record_of(&expanded, &arguments, &memory());
        assert_eq!(text, want, "{line}");
    }
    for (line, want) in [
        ("p f $arg*", "p f outer text colour"),
        ("p f a=\\1 $arg* b=%di", "p f a=\\1 outer text colour b=%di"),
        ("p f $arg3:s8 $arg1", "p f colour:s8 outer"),
        ("p g $arg3 a=%di", "p g $arg3 a=%di"),
    ] {
        assert_eq!(
            compile_typed(line).map(|(line, _)| line).as_deref(),
            Ok(want)
        );
        assert!(expand::names_types(line), "{line}");
    }
    for line in [
        "p f",
        "p f %di a=$stack b=\\1",
        "p f +0($stack):string",
        "p f file=@x",
    ] {
        assert!(!expand::names_types(line), "{line}");
    }
    for line in [
        "p f a=+0(+8(file)):string",
        "p f a=(x)%di->y",
        "p f $current->pid",
        "p f a=this_cpu_read(file)",
    ] {
        assert!(expand::names_types(line), "{line}");
    }
    for (line, wanted) in [
        ("r f a=(x)$arg1->y", true),
        ("r f a=(x)(+0(file))->y", true),
        ("r f a=this_cpu_ptr($arg1)", true),
        ("r f a=(x)%di->arg", false),
        ("r f a=(x", false),
        ("r f $current->pid", false),
    ] {
        assert_eq!(expand::needs_kept(line), wanted, "{line}");
    }
}

/// Numbers of errors and of enumerations are recorded as they are, and shown by their names.
#[test]
fn numbers_with_names() {
    let mut machine = memory();
    // A value, its type at `p` and what is shown; the first is `%ax` as it is.
    let rows: &[(u64, &str, &str)] = &[
        (0, "%ax:errno", "0"),
        (65, "%ax:errno", "65"),
        (-2i64 as u64, "%ax:errno", "ENOENT"),
        // An int, whose upper half is not defined.
        (0xffff_fffe, "%ax:errno", "ENOENT"),
        (-41i64 as u64, "%ax:errno", "-41"),
        (-134i64 as u64, "%ax:errno", "EFTYPE"),
        (-135i64 as u64, "%ax:errno", "-135"),
        (-511i64 as u64, "%ax:errno", "-511"),
        (-512i64 as u64, "%ax:errno", "ERESTARTSYS"),
        (-520i64 as u64, "%ax:errno", "-520"),
        (-531i64 as u64, "%ax:errno", "ENOGRACE"),
        (-532i64 as u64, "%ax:errno", "-532"),
        (i32::MIN as u64, "%ax:errno", "-2147483648"),
        (0, "\\-22:errno", "EINVAL"),
    ];
    for (value, fetch, want) in rows {
        machine.registers[10] = *value;
        let (_, text) = record(&format!("p f v={fetch}"), &machine);
        assert_eq!(text, format!(" v={want}"), "{value:#x}");
    }
    // What BTF knows: f returns an int, its parameters are a pointer, a pointer and an enumeration.
    let rows: &[(&str, usize, u64, usize, &str)] = &[
        ("r f v=$retval:errno", 10, -5i64 as u64, 4, "EIO"),
        ("r f v=$retval:errno", 10, 0xffff_fffb, 4, "EIO"),
        ("p f v=outer:errno", 14, -12i64 as u64, 8, "ENOMEM"),
        (
            "p f v=outer:errno",
            14,
            0xffff_8880_0000_1000,
            8,
            "0xffff888000001000",
        ),
        ("p f v=outer:errno", 14, 0, 8, "0x0"),
        ("p f v=outer:errno", 14, 0xffff_fffe, 8, "0xfffffffe"),
        ("p f v=colour:enum", 12, 1, 4, "GREEN"),
        ("p f v=colour:enum", 12, 7, 4, "BLUE"),
        ("p f v=colour:enum", 12, 5, 4, "5"),
        ("p f v=colour:enum", 12, 0xffff_ffff, 4, "NONE"),
        ("p f v=colour:enum", 12, 0xffff_fffe, 4, "-2"),
        ("p f v=colour", 12, 7, 4, "7"),
    ];
    for (line, register, value, size, want) in rows {
        let (expanded, arguments) = compile_typed(line).unwrap();
        machine.registers[*register] = *value;
        let (record, text) = record_of(&expanded, &arguments, &machine);
        assert_eq!(text, format!(" v={want}"), "{line} {value:#x}");
        assert_eq!(record[16..], value.to_le_bytes()[..*size], "{line}");
    }
    // In memory, and several.
    machine.bytes[64..76].copy_from_slice(b"\x01\0\0\0\x09\0\0\0\xf3\xff\xff\xff");
    let line = "p f v=+64(%di):errno[3]";
    machine.registers[14] = BASE;
    assert_eq!(record(line, &machine).1, " v={1,9,EACCES}");
    // A field of a record that is followed: as large as it is.
    let text = |fetch: &str| record(&format!("e s/e v={fetch}"), &memory()).1;
    assert_eq!(text("small:errno"), " v=ENOENT");
    assert_eq!(text("big:errno"), " v=1311768467463790320");
    let refused: &[(&str, ProbeError, usize)] = &[
        ("p f v=text:enum", ProbeError::NoEnumeration, 11),
        ("p f v=%di:enum", ProbeError::NoEnumeration, 10),
        ("p f outer->name:enum[2]", ProbeError::NoEnumeration, 16),
        ("p f outer->in:errno", ProbeError::NoErrorNumber, 14),
        ("p f colour:enum8", ProbeError::Type, 11),
    ];
    for (line, error, at) in refused {
        let want = ProbeRefusal::new(*error, *at);
        assert_eq!(compile_typed(line).unwrap_err(), want, "{line}");
    }
}

/// Fields that are named together are arguments of their own, called as the path to them.
#[test]
fn fields_that_are_named_together() {
    let rows: &[(&str, &str)] = &[
        ("p f outer->{pid}", "outer_pid=outer->pid"),
        (
            "p f a=%ax outer->{pid,in.value:x32,next->pid} b=%di",
            "a=%ax outer_pid=outer->pid outer_in_value=outer->in.value:x32 \
             outer_next_pid=outer->next->pid b=%di",
        ),
        (
            "p f outer->next->{pid,bits}:u8",
            "outer_next_pid=outer->next->pid:u8 outer_next_bits=outer->next->bits:u8",
        ),
        (
            "p f o=outer->{pid:s64,name}:x64",
            "o_pid=outer->pid:s64 o_name=outer->name:x64",
        ),
        (
            "p f (outer)%di->{pid,bits}",
            "pid=(outer)%di->pid bits=(outer)%di->bits",
        ),
        (
            "p f outer->{name,text}:string",
            "outer_name=outer->name:string outer_text=outer->text:string",
        ),
        // Arrays and structs are no numbers.
        (
            "p f outer->*",
            "outer_pid=outer->pid outer_bits=outer->bits outer_name=outer->name \
             outer_next=outer->next",
        ),
        (
            "p f x=outer->next->*:x8",
            "x_pid=outer->next->pid:x8 x_bits=outer->next->bits:x8 \
             x_name=outer->next->name:x8 x_next=outer->next->next:x8",
        ),
        ("p f t=\\\"->*\"", "t=\\\"->*\""),
        // A name that has no room for that of the fetch.
        (
            "p f a23456789012345678901234567=outer->*",
            "a23456789012345678901234567_pid=outer->pid \
             a23456789012345678901234567_bits=outer->bits \
             a23456789012345678901234567_name=outer->name \
             a23456789012345678901234567_next=outer->next",
        ),
        (
            "p f a234567890123456789012345678=outer->*",
            "a234567890123456789012345678_pid=outer->pid bits=outer->bits name=outer->name \
             next=outer->next",
        ),
    ];
    for (line, want) in rows {
        let (expanded, arguments) = compile_typed(line).unwrap_or_else(|e| panic!("{line}: {e:?}"));
        assert_eq!(expanded, format!("p f {want}"), "{line}");
        assert_eq!(arguments.len(), want.split(' ').count(), "{line}");
    }
    // What stands for all ends where there is no room for more.
    let many = "a=%di ".repeat(126);
    let mut number = 0;
    let many = many
        .replace("a=", "a=")
        .split(' ')
        .fold(String::new(), |line, word| {
            number += 1;
            match word {
                "" => line,
                word => format!("{line}{}{number}{} ", &word[..1], &word[1..]),
            }
        });
    let (expanded, arguments) = compile_typed(&format!("p f {many}outer->*")).unwrap();
    assert_eq!(arguments.len(), 128);
    assert!(
        expanded.ends_with(" outer_pid=outer->pid outer_bits=outer->bits"),
        "{expanded}"
    );
    // The caret is in the line as it was written.
    use ProbeError::*;
    let refused: &[(&str, ProbeError, usize, Code)] = &[
        ("p f outer->{pid,none}", NoField, 16, Code::Missing),
        (
            "p f a=%di outer->{pid,in.none:u8}",
            NoField,
            25,
            Code::Missing,
        ),
        ("p f outer->{pid,bits:u9,text}", Type, 21, Code::Invalid),
        ("p f outer->{pid,bits}:u9", Type, 22, Code::Invalid),
        ("p f outer->{pid,pid}", ArgumentNameUsed, 16, Code::Invalid),
        (
            "p f outer->{pid,pid} a=%none",
            ArgumentNameUsed,
            16,
            Code::Invalid,
        ),
        (
            "p f outer->{pid,bits} a=%none",
            RegisterName,
            24,
            Code::Invalid,
        ),
        ("p f outer->{pid", FieldsOpen, 15, Code::Invalid),
        ("p f outer->{pid}x", FieldsSuffix, 16, Code::Invalid),
        ("p f outer->{pid}:", Type, 17, Code::Invalid),
        ("p f outer->{}", ArgumentBodyMissing, 12, Code::Invalid),
        (
            "p f outer->{pid,,bits}",
            ArgumentBodyMissing,
            16,
            Code::Invalid,
        ),
        (
            "p f outer->{pid,:u8}",
            ArgumentBodyMissing,
            16,
            Code::Invalid,
        ),
        ("p f none->{pid}", NoParameter, 4, Code::Missing),
        ("p f outer->none->{pid}", NoField, 11, Code::Missing),
        ("p f none->*", NoParameter, 4, Code::Missing),
        ("p f outer->*x", FieldsSuffix, 12, Code::Invalid),
        ("p f text->*", NoPointer, 10, Code::Invalid),
        ("p f %di->*", NoPointer, 9, Code::Invalid),
        ("p f (outer)%di->*", TypecastField, 14, Code::Invalid),
        ("p f +0(outer->{pid})", FieldsSuffix, 19, Code::Invalid),
        (
            "p f a23456789012345678901234567=outer->{pid,name,bitsy}",
            ArgumentNameTooLong,
            49,
            Code::Invalid,
        ),
    ];
    for (line, error, at, code) in refused {
        let want = ProbeRefusal::with(*error, *at, *code);
        assert_eq!(compile_typed(line).unwrap_err(), want, "{line}");
    }
}

/// Readers of raw records find the names in the print format: numbers without sign, as wide as the field.
#[test]
fn names_of_numbers_in_the_print_format() {
    let format = |line: &str| {
        let (expanded, arguments) = compile_typed(line).unwrap();
        let name = |argument: &Argument| argument.name.unwrap().of(&expanded).to_string();
        let named: Vec<_> = arguments.iter().map(name).collect();
        let named = named.iter().map(String::as_str).zip(&arguments);
        let types = named.clone().map(|row| print::field(row).ty.to_string());
        let fields: Vec<_> = types.collect();
        let mut out = String::new();
        let head = print::RecordHead::Hit;
        print::write_format(&mut out, head, named, &names).unwrap();
        (fields, out)
    };
    let (fields, text) = format("p f c=colour:enum p=outer:errno a=+0(%di):errno[2]");
    assert_eq!(fields, ["s32", "u64", "s32[]"]);
    let want = concat!(
        r#""(%lx) c=%s p=0x%Lx%s a={%d,%d}", REC->__probe_ip, "#,
        r#"__print_symbolic(REC->c, { 0, "RED" }, { 1, "GREEN" }, { 7, "BLUE" }, "#,
        r#"{ 4294967295, "NONE" }), "#,
        r#"REC->p, (REC->p >= 18446744073709547521) ? "#,
        r#"__print_symbolic(REC->p, { 18446744073709551615, " EPERM" }, "#,
    );
    assert!(text.starts_with(want), "{text}");
    assert!(
        text.ends_with(r#" " ENOGRACE" }) : "", REC->a[0], REC->a[1]"#),
        "{text}"
    );
    let (fields, text) = format("r f v=$retval:errno");
    assert_eq!(fields, ["s32"]);
    let want = r#" v=%d%s", REC->__probe_ip, REC->v, (REC->v >= 4294963201) ? __print_symbolic("#;
    assert!(
        text.contains(want) && text.contains(r#"{ 4294967294, " ENOENT" }"#),
        "{text}"
    );
    // Each number has one name and is read back.
    for (number, name) in errno::all() {
        assert_eq!(errno::name(number.wrapping_neg()), Some(name));
        assert_eq!(errno::name(number), None);
    }
    assert_eq!(errno::all().count(), 151);
    assert_eq!((errno::name(0), errno::name(1 << 63)), (None, None));
}

#[test]
fn names_that_are_wrong_have_ftraces_place() {
    use ProbeError::*;
    let long = format!("p f{}", " $arg3".repeat(19));
    let rows: &[(&str, ProbeError, usize, Code)] = &[
        ("p f nosuch", NoParameter, 4, Code::Missing),
        ("p f a=+0(nosuch)", NoParameter, 9, Code::Missing),
        ("p g nosuch", NoFunctionTypes, 4, Code::Missing),
        ("p f $arg4", NoParameter, 4, Code::Missing),
        ("p f %di $arg1x", Variable, 8, Code::Missing),
        ("p f $arg0", ArgumentNumber, 4, Code::Invalid),
        ("p f $argx", Variable, 4, Code::Invalid),
        ("p f $arg* %di $arg*", AllArgumentsTwice, 14, Code::Invalid),
        ("p g $arg* $arg1", Btf, 10, Code::Unsupported),
        ("p f $arg* foo", NoParameter, 14, Code::Missing),
        (
            "p f a=%di $arg* b=%si c=%si c=%di",
            ArgumentNameUsed,
            34,
            Code::Invalid,
        ),
        ("p f $arg1:u9", Type, 10, Code::Invalid),
        ("p f outer->nosuch", NoField, 11, Code::Missing),
        ("p f outer->next->nosuch", NoField, 17, Code::Missing),
        ("p f outer->in.nosuch", NoField, 14, Code::Missing),
        ("p f outer->pid->x", NoPointer, 16, Code::Invalid),
        ("p f outer->pid.x", BtfType, 15, Code::Invalid),
        ("p f text->x", BtfType, 10, Code::Invalid),
        ("p f outer.pid", ValueStruct, 10, Code::Unsupported),
        ("p f outer-x", Hyphen, 9, Code::Invalid),
        ("p f outer:string", NoText, 4, Code::Invalid),
        ("p f a=outer->pid:string", NoText, 13, Code::Invalid),
        ("r g $retval", NoReturnValue, 4, Code::Missing),
        ("r f $retvals", NoParameter, 4, Code::Missing),
        ("p f (outer)$arg1", TypecastField, 16, Code::Invalid),
        ("p f (outer)(%di)", TypecastField, 16, Code::Invalid),
        ("p f (outer)+8(%di)", TypecastField, 18, Code::Invalid),
        ("p f (nosuch)%di->pid", NoPointer, 5, Code::Invalid),
        ("p f (outer", DereferenceOpen, 10, Code::Invalid),
        ("p f (outer)(%di->x", DereferenceOpen, 11, Code::Invalid),
        ("p f (outer)+8(%di->x", DereferenceOpen, 20, Code::Invalid),
        ("p f (outer)+8->x", DereferenceBrace, 11, Code::Invalid),
        (
            "p f (outer)@jiffies+8->x",
            TypecastSymbol,
            11,
            Code::Invalid,
        ),
        (
            "p f (outer,bits)%di->pid",
            TypecastUnaligned,
            11,
            Code::Invalid,
        ),
        (
            "p f (outer,next->pid)%di->x",
            TypecastArrow,
            15,
            Code::Invalid,
        ),
        ("p f (outer)%di->nosuch", NoField, 16, Code::Missing),
        ("p f $current->pid", NoFunctionTypes, 4, Code::Missing),
        ("p f this_cpu_ptr(%di", DereferenceOpen, 20, Code::Invalid),
        // After the end of the line, as in ftrace.
        (
            "p f this_cpu_ptr(%di):string",
            StringMemory,
            35,
            Code::Invalid,
        ),
        (
            "p f this_cpu_ptr($comm)",
            CommDereferenced,
            17,
            Code::Invalid,
        ),
        (&long, ArgumentsTooLong, 112, Code::TooBig),
    ];
    for (line, error, at, code) in rows {
        let want = ProbeRefusal::with(*error, *at, *code);
        assert_eq!(compile_typed(line).err(), Some(want), "{line}");
    }
    let fields = |count: usize| format!("p f a=outer{}->pid", "->next".repeat(count));
    assert!(compile_typed(&fields(13)).is_ok());
    let refusal = compile_typed(&fields(14)).err().unwrap();
    assert_eq!(refusal.error, TooManySteps);
}

/// There is no room for another step either where what follows the fields is a dereference or a string.
#[test]
fn steps_have_an_end() {
    let dereference = |count: usize| format!("p f a=+0(outer{})", "->next".repeat(count));
    let text = |count: usize| format!("p f a=outer{}->name:string", "->next".repeat(count));
    let most = |line: &str| compile_typed(line).unwrap().1[0].steps().len();
    assert_eq!((most(&dereference(13)), most(&text(12))), (15, 15));
    let at = |line: &str, what: &str| line.rfind(what).unwrap();
    for (line, what) in [(dereference(14), "outer"), (text(13), "name")] {
        let want = ProbeRefusal::new(ProbeError::TooManySteps, at(&line, what));
        assert_eq!(compile_typed(&line).err(), Some(want), "{line}");
    }
}

#[test]
fn names_of_files() {
    let offsets = expand::PathOffsets {
        name: 0x28,
        dentry: 0x48,
    };
    let expanded = |line: &str| {
        let mut out = String::new();
        let has_room = expand::expand_paths(line, offsets, &mut out).unwrap();
        (has_room, out)
    };
    for (line, want) in [
        ("p f", "p f"),
        ("p f a=%di:%px x:%pd[2]", "p f a=%di:%px x:%pd[2]"),
        (
            "p f x=$arg1:%pD dentry:%pd",
            "p f x=+0x0(+0x28(+0x48($arg1))):string +0x0(+0x28(dentry)):string",
        ),
        ("p:%pd f:%pD", "p:%pd f:%pD"),
    ] {
        assert_eq!(expanded(line), (true, want.into()));
    }
    // Each has 32 bytes and an end, of 256.
    let line = |count: usize| format!("p f{}", " $arg1:%pD".repeat(count));
    assert!(expanded(&line(7)).0);
    assert!(!expanded(&line(8)).0);
    let given = "p f x=%di:%pd y=%zz";
    let whole = expanded(given).1;
    assert_eq!(
        expand::place_in(given, &whole, whole.find("%di").unwrap()),
        13
    );
    assert_eq!(
        expand::place_in(given, &whole, whole.find("%zz").unwrap()),
        16
    );
}

#[test]
fn functions_and_tracepoints() {
    let head = FunctionHead::parse("t:g/e sched_switch prev")
        .unwrap()
        .unwrap();
    assert_eq!(head.names().unwrap().event, Some("e"));
    assert_eq!((head.target, head.target_at), ("sched_switch", 6));
    let head = FunctionHead::parse("t 9x").unwrap().unwrap();
    let mut name = String::new();
    head.write_default_name(&mut name).unwrap();
    assert_eq!(name, "_9x");
    for line in ["t", "f", "p f", "e s/e", ""] {
        assert!(FunctionHead::parse(line).unwrap().is_none(), "{line}");
    }
    use ProbeError::*;
    for (line, error, at) in [
        ("t10 x", MaxActive, 1),
        ("tx:e x", MaxActive, 1),
        ("t:1 x%return", AddressSuffix, 5),
        ("t x/y", TracepointName, 3),
        ("t:1 x a=+0($retval)", ReturnValueOnProbe, 11),
        ("f10 x", MaxActive, 1),
        ("f x%retur", AddressSuffix, 3),
    ] {
        let want = ProbeRefusal::new(error, at);
        assert_eq!(FunctionHead::parse(line).err(), Some(want), "{line}");
    }
    assert!(FunctionHead::parse("t x $retvals").is_ok());
    for (line, site, name) in [
        ("f x", FunctionSite::Begin, "x__entry"),
        ("f x%return", FunctionSite::Return, "x__exit"),
        ("f x a=+0($retval)", FunctionSite::Return, "x__exit"),
        ("f x $retvals", FunctionSite::Begin, "x__entry"),
        ("f m:x.cold", FunctionSite::Begin, "m_x_cold__entry"),
        ("f *x*", FunctionSite::Begin, "*x___entry"),
        ("t x", FunctionSite::Tracepoint, "x"),
    ] {
        let head = FunctionHead::parse(line).unwrap().unwrap();
        let mut own = String::new();
        head.write_default_name(&mut own).unwrap();
        assert_eq!((head.site, own.as_str()), (site, name), "{line}");
    }
    assert_eq!(
        compile("t x %di").err(),
        Some(ProbeRefusal::new(Variable, 4))
    );
}

#[test]
fn parameters_are_kept_until_a_call_returns() {
    let mut compiler = Compiler::new(ProbeSite::End, &symbol);
    let line = "f x%return a=$arg2 b=$arg9 c=+0($arg2) d=$retval:s32";
    let arguments = compile_all(line, &mut compiler).unwrap();
    assert_eq!(compiler.kept().places(), [1, 8]);
    let (_, text) = record_of(line, &arguments, &memory());
    assert_eq!(text, " a=0x1000 b=0x1001 c=0x0 d=65");
    let all = |count: usize| {
        let arguments = (1..=count).map(|n| format!(" a{n}=$arg{n}"));
        format!("f x%return{}", arguments.collect::<String>())
    };
    for (count, overflows) in [(14, false), (15, true)] {
        let mut compiler = Compiler::new(ProbeSite::End, &symbol);
        compile_all(&all(count), &mut compiler).unwrap();
        assert_eq!(compiler.kept().overflows(), overflows, "{count}");
    }
}

/// How long a call took is told at returns alone, and its beginning is kept once.
#[test]
fn latencies_are_those_of_calls() {
    for site in [ProbeSite::End, ProbeSite::Return] {
        let mut compiler = Compiler::new(site, &symbol);
        let line = "f x%return ns=$latency $latency:u32 us=$latency:x64 b=$arg2";
        let arguments = compile_all(line, &mut compiler).unwrap();
        assert_eq!(compiler.kept().places(), [TIME_PLACE, 1]);
        let (_, text) = record_of(line, &arguments, &memory());
        let wanted = " ns=5000000001 arg2=705032705 us=0x12a05f201 b=0x1001";
        assert_eq!(text, wanted);
    }
    for site in [
        ProbeSite::Entry,
        ProbeSite::Inside,
        ProbeSite::Begin,
        ProbeSite::Tracepoint,
        ProbeSite::User { returns: true },
        ProbeSite::Event(&field),
    ] {
        let mut compiler = Compiler::new(site, &symbol);
        let refused = compile_all("p x a=$latency", &mut compiler).err();
        assert_eq!(refused, Some(ProbeRefusal::new(ProbeError::Variable, 6)));
    }
    let mut compiler = Compiler::new(ProbeSite::End, &symbol);
    let refused = compile_all("f x a=$latencies", &mut compiler).err();
    assert_eq!(refused, Some(ProbeRefusal::new(ProbeError::Variable, 6)));
    assert!(expand::needs_kept("r x $latency") && !expand::needs_kept("r x $latencies"));
}

/// What is told of a record: faults and cut strings, when it is measured and filled, and when it is gathered.
fn told(line: &str, machine: &Memory) -> [(usize, usize); 2] {
    let arguments = compile(line).unwrap();
    let program = FetchProgram {
        line: line.as_bytes(),
        arguments: &arguments,
        shape: RecordShape::of(16, &arguments),
    };
    program.with_rooms(
        machine,
        4072,
        || 4072,
        |size, rooms| {
            program.fill(machine, rooms, &mut vec![0; size]);
        },
    );
    let filled = machine.told.take();
    // What has room in a longer record is not cut.
    if filled.1 == 0 {
        program.with_rooms(machine, 64, || 4072, |_, _| ());
        assert_eq!(machine.told.take().1, 0, "{line}");
    }
    program.gather(machine, &mut vec![0; 4072]);
    [filled, machine.told.take()]
}

/// What cannot be read is told, each value and each string, and which strings have no room for all of their bytes.
#[test]
fn faults_and_cut_strings_are_told() {
    for (line, faults) in [
        ("p f a=%di b=+0(%di):string c=+16(%di) d=$comm", 0),
        ("p f a=+0(%r9) b=+0(%r9):string", 2),
        ("p f a=+0(+0(%r9)) b=+0(+8(%r9)):string", 2),
        ("p f a=+0(%r9):u8[3] b=+0(%r9):string[2]", 5),
        ("p f a=$stack1 b=$stack60", 1),
        ("e s/e a=+0($big):string b=+8(+0($big)) c=late", 3),
    ] {
        assert_eq!(told(line, &memory()), [(faults, 0); 2], "{line}");
    }
    // One string has room for 4052 bytes with its NUL: 16 are before it, and 4 say where it is; two have 4048.
    for (letters, cuts) in [
        (2023, [0, 0]),
        (2024, [0, 1]),
        (4047, [0, 1]),
        (4048, [0, 2]),
        (4051, [0, 2]),
        (4052, [1, 2]),
        (9000, [1, 2]),
    ] {
        let mut machine = memory();
        machine.bytes = vec![b'x'; letters];
        // Memory is read by as many bytes at a time.
        machine.bytes.extend([0; 64]);
        let one = "p f a=+0(%di):string";
        let two = format!("{one} b=+0(%di):string");
        for (line, cuts) in [(one, cuts[0]), (&two, cuts[1])] {
            let seen = told(line, &machine);
            assert_eq!(seen, [(0, cuts); 2], "{line}, {letters} letters");
        }
    }
    // What ends with the memory has no end.
    let mut machine = memory();
    machine.bytes = vec![b'x'; 4051];
    assert_eq!(told("p f a=+0(%di):string", &machine), [(0, 1); 2]);
}

/// What lines are made of.
const PARTS: &[&str] = &[
    "+",
    "-",
    "u",
    "0",
    "8",
    "(",
    ")",
    "%",
    "ax",
    "di",
    "$",
    "arg",
    "1",
    "stack",
    "comm",
    "retval",
    "@",
    "jiffies",
    "\\",
    "\"",
    "x",
    ":",
    "string",
    "u8",
    "s64",
    "symbol",
    "=",
    "a",
    " ",
    " ",
    "+0(",
    "+8(%di)",
    ":string",
    "ustring",
    "%di",
    "$comm",
    "é",
    "dynamic",
    "$big",
    "if",
    "fixed:string",
    ":u8[3]",
    "string[2]",
    "[",
    "]",
    ":b4@4/8",
    ":symstr",
    "(outer)",
    "(outer,",
    "->",
    "this_cpu_read(",
    "this_cpu_ptr(",
    ":%pd",
    ":errno",
    ":enum",
];

const HEADS: &[&str] = &[
    "p f ",
    "r:g/e f ",
    "e s/e ",
    "t x ",
    "f x%return ",
    "p /x:",
    "r /x:1 @+0 ",
    "w @jiffies ",
];

/// Returns how far right the caret of a refusal may be in a line of `len` bytes. Where the type does not suit the value,
/// ftrace adds the offset of what is in the outermost parentheses to that of the type.
fn last_caret(error: ProbeError, len: usize) -> usize {
    match error {
        ProbeError::StringMemory | ProbeError::SymbolMemory | ProbeError::BitField => 2 * len,
        _ => len,
    }
}

/// Puts `lines` lines together at random: each is refused, with a caret where ftrace may have one, or compiled, and then
/// it stays within its record, however the memory changes meanwhile. Returns how many were compiled.
pub(crate) fn try_random_lines(mut seed: u64, lines: usize) -> usize {
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let mut compiled = 0;
    for round in 0..lines {
        let mut line = String::from(HEADS[round % HEADS.len()]);
        for _ in 0..next(14) {
            line.push_str(PARTS[next(PARTS.len())]);
        }
        match compile(&line) {
            Err(refusal) => {
                let last = last_caret(refusal.error, line.len());
                assert!(refusal.at <= last, "{line}: {refusal:?}");
            }
            Ok(_) => {
                let mut machine = memory();
                machine.grows = true;
                // Which read fails, or finds the end of a string, is another one each time.
                machine.reads.set(next(21));
                let (record, _) = record(&line, &machine);
                assert!(record.len() <= 4072, "{line}");
                compiled += 1;
            }
        }
    }
    compiled
}

#[test]
fn random_lines_keep_to_their_record() {
    let compiled = try_random_lines(0x2545_f491_4f6c_dd1d, 520_000);
    assert!(compiled > 4000, "{compiled}");
}
