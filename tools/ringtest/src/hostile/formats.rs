// SPDX-License-Identifier: GPL-2.0
//! What modules bring: types, names and print formats of events, and records of any bytes.

use super::source::Source;
use crate::event::{
    context::Common,
    evals::{
        write_replaced,
        Eval, //
    },
    field::{
        place,
        DeclaredField,
        COMMON_SIZE, //
    },
    format, //
};

pub fn common_fields(source: &mut Source) {
    let record = source.bytes(12);
    let Some(common) = Common::of(&record) else {
        assert!(record.len() < 8);
        return;
    };

    assert_eq!(
        common.event_type.to_ne_bytes(),
        [record[0], record[1]],
        "the type"
    );
    assert_eq!(common.pid.to_ne_bytes(), record[4..8], "the task");
    for (column, letters) in common.columns().iter().zip([
        ".dbD",
        ".nlbpNLB",
        ".shHzZ",
        ".123456789abcdef",
        ".123456789abcdef",
    ]) {
        assert!(letters.as_bytes().contains(column), "{record:?}");
    }
}

const TYPES: &[&str] = &[
    "__attribute__((",
    "__attribute__(",
    "))",
    ")",
    "(",
    "char",
    "[",
    "]",
    "[16]",
    "__data_loc ",
    "__rel_loc ",
    " ",
    "const",
    "*",
    "btf_type_tag(\"user\")",
    "\u{e9}",
    "",
];

fn declared<'a>(source: &mut Source, ty: &'a str) -> DeclaredField<'a> {
    DeclaredField {
        ty,
        name: "f",
        size: source.number() as u32,
        align: 1 << source.below(5),
        len: source.number() as u32,
        signed: source.once_in(2),
    }
}

pub fn field_lines(source: &mut Source) {
    let ty = source.words(TYPES, 10);
    let declared = declared(source, &ty);
    let mut line = String::new();

    for field in place([declared].into_iter(), COMMON_SIZE) {
        field.write(&mut line).unwrap();
    }
    assert!(line.len() <= ty.len() + 80, "{line}");
    assert!(line.starts_with("\tfield:") && line.ends_with(";\n"));
    let (left, right) = line.split_once(";\toffset:").unwrap();
    let signed = u8::from(declared.signed);
    assert!(
        right.ends_with(&format!(";\tsize:{};\tsigned:{signed};\n", declared.size)),
        "{line}"
    );
    if !ty.contains("__attribute__(") && !ty.contains('[') {
        assert_eq!(left, format!("\tfield:{ty} f"));
    }
    // Attributes that are words of their own, with parentheses that match, leave nothing.
    let outer = format!(
        "{}__attribute__((aligned(8)))",
        "const ".repeat(source.below(2))
    );
    let mut line = String::new();
    for field in place(
        [DeclaredField {
            ty: &outer,
            ..declared
        }]
        .into_iter(),
        0,
    ) {
        field.write(&mut line).unwrap();
    }
    assert!(!line.contains("aligned"), "{line}");
}

pub fn field_places(source: &mut Source) {
    let fields: Vec<DeclaredField<'_>> = (0..source.below(8))
        .map(|_| DeclaredField {
            size: source.below(40) as u32,
            ..declared(source, "t")
        })
        .collect();
    let mut end = COMMON_SIZE;

    for field in place(fields.iter().copied(), COMMON_SIZE) {
        let DeclaredField { align, size, .. } = field.declared;

        assert_eq!(field.offset % align, 0);
        assert!((end..end + align).contains(&field.offset));
        end = field.offset + size;
    }
    // Sizes that no record has: no overflow.
    let huge = declared(source, "t");
    for field in place([huge; 3].into_iter(), source.next() as u32) {
        assert_eq!(field.offset % huge.align, 0);
    }
}

pub fn whole_formats(source: &mut Source) {
    let names: Vec<String> = (0..source.below(5)).map(|i| format!("field{i}")).collect();
    let fields: Vec<DeclaredField<'_>> = names
        .iter()
        .map(|name| DeclaredField {
            name,
            size: source.below(64) as u32,
            ..declared(source, "int")
        })
        .collect();
    let print_fmt = source.words(PRINT, 8);
    let id = source.next() as u16;
    let mut text = String::new();
    let evals = std::iter::empty();

    format::write(
        &mut text,
        "event",
        id,
        fields.iter().copied(),
        &print_fmt,
        evals,
    )
    .unwrap();
    assert!(text.starts_with(&format!("name: event\nID: {id}\nformat:\n")));
    assert!(text.ends_with(&format!("\nprint fmt: {print_fmt}\n")));
    // A tool finds every field where the record has it.
    let found: Vec<(&str, u32, u32)> = text
        .lines()
        .filter_map(|line| {
            let (name, rest) = line
                .strip_prefix("\tfield:int ")?
                .split_once(";\toffset:")?;
            let (offset, rest) = rest.split_once(";\tsize:")?;
            let size = rest.split(';').next()?;
            Some((name, offset.parse().ok()?, size.parse().ok()?))
        })
        .filter(|(name, ..)| name.starts_with("field"))
        .collect();
    let wanted: Vec<(&str, u32, u32)> = place(fields.iter().copied(), COMMON_SIZE)
        .map(|field| (field.declared.name, field.offset, field.declared.size))
        .collect();
    assert_eq!(found, wanted);
}

const PRINT: &[&str] = &[
    "REC->",
    "SOFTIRQ",
    "SOFTIRQ_",
    "A",
    "LONG_NAME",
    "\"",
    "\\",
    "\"%s \\\" SOFTIRQ\"",
    "0x1f",
    "12",
    ".",
    "->",
    ", ",
    "{ ",
    " }",
    "\u{e9}",
    "sizeof",
];

const EVALS: &[Eval<'static>] = &[
    Eval {
        text: "SOFTIRQ",
        value: 3,
    },
    Eval {
        text: "LONG_NAME",
        value: -1,
    },
    // Longer than its name: stays.
    Eval {
        text: "A",
        value: 10,
    },
];

/// What a lone token becomes.
fn replaced(token: &str) -> String {
    match token {
        "SOFTIRQ" => "3".into(),
        "LONG_NAME" => "-1".into(),
        other => other.into(),
    }
}

pub fn replaced_evals(source: &mut Source) {
    let run = |text: &str, evals: &'static [Eval<'static>]| {
        let mut out = String::new();
        write_replaced(&mut out, text, evals.iter().copied()).unwrap();
        out
    };
    let text = source.words(PRINT, 14);

    assert_eq!(run(&text, &[]), text);
    assert!(run(&text, EVALS).len() <= text.len(), "{text}");

    // Where every token stands alone it is known what becomes of it.
    const TOKENS: &[&str] = &[
        "SOFTIRQ",
        "LONG_NAME",
        "A",
        "SOFTIRQ_B",
        "REC->SOFTIRQ",
        "REC->a.LONG_NAME",
        "\"SOFTIRQ A LONG_NAME\"",
        "\"a \\\" SOFTIRQ\"",
        "12",
        "0xA",
        "{",
        "}",
    ];
    let tokens: Vec<&str> = (0..source.below(10))
        .map(|_| *source.pick(TOKENS))
        .collect();
    let wanted: Vec<String> = tokens.iter().map(|token| replaced(token)).collect();
    assert_eq!(run(&tokens.join(" , "), EVALS), wanted.join(" , "));
}
