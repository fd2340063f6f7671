// SPDX-License-Identifier: GPL-2.0

//! Tests of synthetic events: what is taken, what is refused and where, and the records of given values.

use super::{
    command::{skip_spaces, SyntheticCommand, SyntheticDraft},
    error::{SyntheticError, SyntheticRefusal},
    field::SyntheticField,
    print::{SyntheticLayout, SyntheticNames},
    record::{self, SyntheticValue},
    MOST_FIELDS,
};
use crate::text::writer::{ByteWrite, Bytes};
use core::fmt;

/// An event.
#[derive(Debug)]
pub(crate) struct Defined {
    name: String,
    pub(crate) text: String,
    pub(crate) fields: Vec<SyntheticField>,
}

impl Defined {
    pub(crate) fn of(draft: SyntheticDraft<'_>) -> Result<Self, SyntheticRefusal> {
        let name = draft.name()?.to_string();
        let (mut text, mut fields) = (String::new(), Vec::new());
        draft.for_each_field(|field| {
            let len = text.len();
            fields.push(field.write(&mut text, len).unwrap());
            Ok::<_, SyntheticRefusal>(())
        })?;
        Ok(Self { name, text, fields })
    }

    pub(crate) fn layout(&self) -> SyntheticLayout<'_> {
        SyntheticLayout {
            text: &self.text,
            fields: &self.fields,
        }
    }

    pub(crate) fn line(&self) -> String {
        let mut line = String::new();
        self.layout()
            .write_definition(&self.name, &mut line)
            .unwrap();
        line
    }

    /// Returns the record of these values, with zeroes as common fields.
    fn record(&self, values: &[SyntheticValue<'_>]) -> Vec<u8> {
        let fixed = record::fixed_size(&self.fields);
        let size = record::size(&self.fields, fixed, values);
        let mut bytes = vec![0xee; size];
        bytes[..8].fill(0);
        record::fill(&self.fields, fixed, values, &mut bytes);
        bytes
    }

    fn shown(&self, record: &[u8], has_types: bool) -> String {
        let mut out = Bytes::default();
        self.layout()
            .write_values(record, has_types, &mut Numbers, &mut out)
            .unwrap();
        String::from_utf8_lossy(&out.0).into_owned()
    }
}

/// Shows numbers where the kernel has names.
struct Numbers;

impl SyntheticNames for Numbers {
    fn write_symbol(&mut self, address: u64, out: &mut dyn ByteWrite) -> fmt::Result {
        write!(out, "<{address:x}>")
    }

    fn write_gfp(&mut self, flags: u64, out: &mut dyn ByteWrite) -> fmt::Result {
        write!(out, "FLAGS_{flags:x}")
    }
}

fn define(line: &str) -> Result<Defined, SyntheticRefusal> {
    match SyntheticCommand::parse(skip_spaces(line.as_bytes()))? {
        SyntheticCommand::Define(draft) => Defined::of(draft),
        SyntheticCommand::Remove(name) => panic!("{line} removes {name:?}"),
    }
}

fn define_dynamic(line: &str) -> Result<Defined, SyntheticRefusal> {
    Defined::of(SyntheticDraft::parse_dynamic(line.as_bytes())?)
}

#[test]
fn definitions_are_shown_in_one_form() {
    let rows = [
        ("a u64 x", "a\tu64 x\n"),
        ("  _a1\tu64\tx ;; s8 y;", "_a1\tu64 x; s8 y\n"),
        ("a u64 x s32 y pid_t z", "a\tu64 x; s32 y; pid_t z\n"),
        (
            "a unsigned int x; unsigned char y; unsigned long z",
            "a\tunsigned int x; unsigned char y; unsigned long z\n",
        ),
        (
            "a char x; int y; long z; bool b; gfp_t g; s16 s; u16 t; u8 u; s64 v",
            "a\tchar x; int y; long z; bool b; gfp_t g; s16 s; u16 t; u8 u; s64 v\n",
        ),
        ("a char x[16]; char[5] y", "a\tchar[16] x; char[5] y\n"),
        ("a unsigned char x[16]", "a\tunsigned char[16] x\n"),
        ("a char x[]; char[] y", "a\tchar[] x; char[] y\n"),
        ("a char x[0]; char y[0x9]", "a\tchar[0] x; char[0x9] y\n"),
        (
            "a long x[]; unsigned long[] y; long[5] z",
            "a\tlong[] x; unsigned long[] y; long[5] z\n",
        ),
        (
            "a u64 x; u64 x; int common_pid",
            "a\tu64 x; u64 x; int common_pid\n",
        ),
        ("a char x[256]", "a\tchar[256] x\n"),
        ("a xchar[4] y; along[ z", "a\txchar[4] y; along[ z\n"),
    ];
    for (line, want) in rows {
        let defined = define(line).unwrap();
        assert_eq!(defined.line(), want, "{line}");
        assert_eq!(define(&defined.line()).unwrap().line(), want, "{line}");
    }
    for line in ["s:a u64 x", "s:synthetic/a u64 x", "s:a\tu64 x"] {
        assert_eq!(define_dynamic(line).unwrap().line(), "a\tu64 x\n");
    }
}

#[test]
fn removals_are_known_by_their_first_word() {
    let rows: [(&str, &[u8]); 5] = [
        ("!a", b"a"),
        ("!a u64 x", b"a"),
        ("!a\tnonsense", b"a"),
        ("!", b""),
        ("!a;b", b"a;b"),
    ];
    for (line, want) in rows {
        match SyntheticCommand::parse(line.as_bytes()) {
            Ok(SyntheticCommand::Remove(name)) => assert_eq!(name, want, "{line}"),
            other => panic!("{line}: {other:?}"),
        }
    }
}

#[test]
fn refusals_have_ftraces_place() {
    use SyntheticError::*;
    let rows = [
        ("a", Command, 0),
        ("a u64", Command, 0),
        ("a;u64 x", Command, 0),
        ("a\u{b}u64\u{b}x", Command, 0),
        ("1a u64 x", Name, 0),
        ("a-b u64 x", Name, 0),
        ("a; u64 x y z", Command, 0),
        ("a b; c", Command, 0),
        ("a u64 x; s33 y", Type, 9),
        ("a u64 x y", Field, 8),
        ("a u64 x; u64", Field, 2),
        ("a u64 1x", Name, 6),
        ("a u64 [4]", Name, 6),
        ("a u64 x[4]", Type, 2),
        ("a short x", Type, 2),
        ("a unsigned x", IncompleteType, 2),
        ("a u64 x; unsigned", IncompleteType, 9),
        ("a unsigned u64 x", Type, 11),
        ("a unsigned short x", Type, 11),
        ("a char x[257]", Array, 7),
        ("a char x[1234]", Array, 7),
        ("a char x[0x10]", Array, 7),
        ("a char x[1", Array, 7),
        ("a char x[1]y", Array, 7),
        ("a char x[a]", Array, 7),
        ("a char x[-1]", Array, 7),
        ("a char[4] x[5]", Array, 10),
        ("a char[257] x", Type, 2),
        ("a char[4]] x", Type, 2),
        ("a u64 x; ; u3 y", Type, 11),
        // Where the word is found first.
        ("uu uu u", Type, 0),
    ];
    for (line, error, at) in rows {
        assert_eq!(
            define(line).err(),
            Some(SyntheticRefusal { error, at }),
            "{line}"
        );
    }
    let rows = [
        ("s:a", Command, 0),
        ("s:a u64", Command, 0),
        ("s: u64 x y", Command, 0),
        ("s:synthetic/ u64 x y", Command, 0),
        ("s:other/a u64 x", DynamicCommand, 0),
        ("s:a u64 x/y", DynamicCommand, 0),
        ("s:1a u64 x", Name, 2),
        ("s:!a u64 x", Name, 2),
        ("s:synthetic/a s u64 x", Type, 0),
    ];
    for (line, error, at) in rows {
        assert_eq!(
            define_dynamic(line).err(),
            Some(SyntheticRefusal { error, at }),
            "{line}"
        );
    }
}

#[test]
fn there_are_64_fields_at_most() {
    let fields = |count: usize| {
        let fields: Vec<String> = (0..count).map(|at| format!("u8 f{at}")).collect();
        format!("a {}", fields.join("; "))
    };
    let most = define(&fields(MOST_FIELDS)).unwrap();
    assert_eq!(most.fields.len(), MOST_FIELDS);
    assert_eq!(record::fixed_size(&most.fields), 8 + 8 * MOST_FIELDS);
    assert_eq!(
        define(&fields(MOST_FIELDS + 1)).err(),
        Some(SyntheticRefusal {
            error: SyntheticError::TooManyFields,
            at: 0
        })
    );
    // The form of the one that is too many is looked at first.
    let wrong = format!("{}; short x", fields(MOST_FIELDS));
    assert_eq!(
        define(&wrong).err().map(|refusal| refusal.error),
        Some(SyntheticError::Type)
    );
}

const ALL: &str = "ev s64 lat; char fix[16]; char dyn[]; pid_t pid; gfp_t gf; long stack[]; s8 sb";

#[test]
fn formats_are_those_of_tracefs() {
    let defined = define(ALL).unwrap();
    let fields = crate::event::field::place(defined.layout().declared(), 8);
    let mut text = String::new();
    fields.for_each(|field| field.write(&mut text).unwrap());
    assert_eq!(
        text,
        "\tfield:s64 lat;\toffset:8;\tsize:8;\tsigned:1;\n\
         \tfield:char fix[];\toffset:16;\tsize:16;\tsigned:1;\n\
         \tfield:__data_loc char[] dyn;\toffset:272;\tsize:8;\tsigned:1;\n\
         \tfield:pid_t pid;\toffset:280;\tsize:4;\tsigned:1;\n\
         \tfield:gfp_t gf;\toffset:288;\tsize:4;\tsigned:0;\n\
         \tfield:__data_loc long[] stack;\toffset:296;\tsize:8;\tsigned:1;\n\
         \tfield:s8 sb;\toffset:304;\tsize:1;\tsigned:1;\n"
    );
    let mut text = String::new();
    defined.layout().write_format(&mut text).unwrap();
    assert_eq!(
        text,
        "\"lat=%lld fix=%s dyn=%s pid=%d gf=%x stack=%s sb=%d\", REC->lat, REC->fix, __get_str(dyn), \
         REC->pid, REC->gf, __get_stacktrace(stack), REC->sb"
    );
    for (line, signed) in [
        ("a unsigned char x[4]", false),
        ("a unsigned long x[]", true),
        ("a bool x", true),
        ("a unsigned int x", false),
        ("a gfp_t x", false),
    ] {
        assert_eq!(define(line).unwrap().fields[0].is_signed, signed, "{line}");
    }
}

#[test]
fn records_and_texts_of_values() {
    use SyntheticValue::*;
    let defined = define(ALL).unwrap();
    let mut values = [
        Number(-5i64 as u64),
        Text(b"hello-world-this-is-longer"),
        Text(b"some\0junk"),
        Number(0x1_0000_0073),
        Number(0xcc0),
        Stack(&[0x10, 0x20, 0x30]),
        Number(-5i64 as u64),
    ];
    let record = defined.record(&values);
    let mut want = vec![0; 8];
    want.extend((-5i64).to_le_bytes());
    want.extend(b"hello-world-this-is-longer");
    want.resize(272, 0);
    want.extend(((5u64 << 16) | 312).to_le_bytes());
    want.extend(0x73u64.to_le_bytes());
    want.extend(0xcc0u64.to_le_bytes());
    want.extend(((32u64 << 16) | 317).to_le_bytes());
    want.extend(0xfbu64.to_le_bytes());
    want.extend(b"some\0");
    for word in [3u64, 0x10, 0x20, 0x30] {
        want.extend(word.to_le_bytes());
    }
    assert_eq!(record, want);
    assert_eq!(
        defined.shown(&record, false),
        "lat=-5 fix=hello-world-this-is-longer dyn=some pid=115 gf=cc0  (FLAGS_cc0\0)stack=STACK:\n\
         => <10>\n=> <20>\n=> <30>\nsb=-5"
    );
    // A stack that a record has, and one that it has not.
    let stack = &record[317..349];
    let mut others = values;
    others[5] = RecordedStack(stack);
    assert_eq!(defined.record(&others), record);
    (others[5], values[5]) = (RecordedStack(&stack[..4]), Stack(&[]));
    assert_eq!(defined.record(&others), defined.record(&values));
    let defined = define("a u64 x; gfp_t g").unwrap();
    let record = defined.record(&[Number(u64::MAX), Number(1)]);
    assert_eq!(
        defined.shown(&record, true),
        "%llu x=18446744073709551615 %x g=1 (FLAGS_1\0)"
    );
    // What is missing or of another kind.
    let defined = define(ALL).unwrap();
    let record = defined.record(&[Text(b"x"), Number(7)]);
    assert_eq!(record.len(), 312 + 1 + 8);
    assert_eq!(
        defined.shown(&record, false),
        "lat=0 fix= dyn= pid=0 gf=0  (FLAGS_0\0)stack=STACK:\nsb=0"
    );
}

#[test]
fn long_values_are_cut() {
    use SyntheticValue::*;
    let defined = define("a char x[4]; char y[]; long z[]").unwrap();
    let (text, callers) = ([b'x'; 5000], [1; 64]);
    let record = defined.record(&[Text(&text), Text(&text), Stack(&callers)]);
    assert_eq!(record.len(), 8 + 256 + 16 + 4096 + 31 * 8);
    assert_eq!(&record[8..264], &[&[b'x'; 255][..], &[0]].concat());
    assert_eq!(
        &record[280..280 + 4096],
        &[&[b'x'; 4095][..], &[0]].concat()
    );
    assert_eq!(&record[4376..4384], &30u64.to_le_bytes());
}

#[test]
fn fields_take_what_ftrace_lets_them_take() {
    let defined =
        define("a u64 n; char f[16]; char d[]; long s[]; int i; pid_t p; bool b").unwrap();
    let takes = |at: usize, ty: &str, size: u32, signed: bool, stack: bool| {
        defined.fields[at].takes(&defined.text, ty, (size, signed), stack)
    };
    assert!(takes(0, "u64", 8, false, false));
    assert!(takes(0, "unsigned long", 8, false, false));
    assert!(!takes(0, "s64", 8, true, false));
    assert!(!takes(0, "u32", 4, false, false));
    assert!(takes(1, "char[16]", 16, true, false));
    assert!(!takes(1, "char[8]", 8, true, false));
    assert!(takes(2, "char[8]", 8, true, false));
    assert!(takes(2, "__data_loc char[]", 4, true, false));
    assert!(takes(3, "unsigned long", 8, false, true));
    assert!(!takes(3, "unsigned long", 8, false, false));
    assert!(!takes(0, "u64", 8, false, true));
    assert!(takes(4, "pid_t", 4, true, false));
    assert!(takes(5, "int", 4, true, false));
    assert!(!takes(6, "u8", 1, false, false));
}

/// Words put together at random are refused, with a caret inside of the line, or define what reads back; and
/// the bytes of a record are as many as were measured, whatever the values.
#[test]
fn random_lines() {
    const PARTS: &[&str] = &[
        "u64",
        "s8",
        "char",
        "long",
        "unsigned",
        "[",
        "]",
        "[]",
        "[16]",
        "[256]",
        "0x",
        "9",
        "x",
        "y_1",
        ";",
        ";",
        " ",
        " ",
        " ",
        "\t",
        "bool",
        "gfp_t",
        "!",
        "s:",
        "synthetic/",
        "/",
        "é",
        "char[4] c",
        "u32 v",
        "long[] st",
        "\u{b}",
        "__data_loc",
    ];
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let long: Vec<u8> = (0..300).map(|at| (at % 255) as u8).collect();
    let callers: Vec<u64> = (0..40).collect();
    let mut taken = 0;
    for round in 0..400_000 {
        let mut line = String::from(["ev ", "s:ev "][round % 2]);
        for _ in 0..next(14) {
            line.push_str(PARTS[next(PARTS.len())]);
        }
        let result = match round % 2 {
            0 => define(&line),
            _ => define_dynamic(&line),
        };
        let defined = match result {
            Err(refusal) => {
                assert!(refusal.at <= line.len(), "{line}: {refusal:?}");
                continue;
            }
            Ok(defined) => defined,
        };
        taken += 1;
        let shown = defined.line();
        assert_eq!(define(&shown).map(|again| again.line()), Ok(shown.clone()));
        let values: Vec<SyntheticValue<'_>> = (0..next(8))
            .map(|_| match next(3) {
                0 => SyntheticValue::Number(u64::MAX),
                1 => SyntheticValue::Text(&long[next(300)..]),
                _ => SyntheticValue::Stack(&callers[next(40)..]),
            })
            .collect();
        let record = defined.record(&values);
        assert!(!record[8..].is_empty());
        let _ = defined.shown(&record, next(2) == 0);
        let _ = defined.shown(&record[..next(record.len())], false);
    }
    assert!(taken > 2000, "{taken}");
}
