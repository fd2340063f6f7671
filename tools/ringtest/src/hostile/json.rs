// SPDX-License-Identifier: GPL-2.0
//! JSON of any bytes, and of records that any format describes.

use std::fmt::Write;

use super::source::Source;
use crate::event::json as records;
use crate::text::{json, writer::ByteWrite};

/// What a reader makes of a string: a second opinion on its quotes, escapes and characters.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut chars = text.strip_prefix('"')?.chars();
    let mut found = String::new();
    loop {
        match chars.next()? {
            '"' => return Some((found, chars.as_str())),
            '\\' => found.push(match chars.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    let code = chars.as_str().get(..4)?;
                    chars = chars.as_str()[4..].chars();
                    char::from_u32(u32::from_str_radix(code, 16).ok()?)?
                }
                same @ ('"' | '\\') => same,
                _ => return None,
            }),
            ..' ' => return None,
            plain => found.push(plain),
        }
    }
}

pub fn json_strings(source: &mut Source) {
    const PARTS: &[&str] = &[
        "\"",
        "\\",
        "\\u0041",
        "\n",
        "\0",
        "\u{7f}",
        "\u{e9}",
        "\u{1f600}",
        "a",
    ];

    let mut bytes = source.pieces(PARTS, 8);
    source.spoil(&mut bytes);
    let mut text = String::new();

    json::write_string(&bytes, &mut text).unwrap();
    let (found, rest) = unquoted(&text).unwrap_or_else(|| panic!("{bytes:?} became {text}"));
    assert_eq!(found, String::from_utf8_lossy(&bytes));
    assert_eq!(rest, "");
}

/// Passes one value without members.
fn passed(text: &str) -> Option<&str> {
    for word in ["null", "true", "false"] {
        if let Some(rest) = text.strip_prefix(word) {
            return Some(rest);
        }
    }
    if text.starts_with('"') {
        return Some(unquoted(text)?.1);
    }
    if let Some(mut rest) = text.strip_prefix('[') {
        if let Some(rest) = rest.strip_prefix(']') {
            return Some(rest);
        }
        loop {
            rest = passed(rest)?;
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => return rest.strip_prefix(']'),
            }
        }
    }
    let rest = text.strip_prefix('-').unwrap_or(text);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    (digits == 1 || digits > 1 && !rest.starts_with('0')).then(|| &rest[digits..])
}

/// Any lines, most of them nearly those of a format, and any record.
pub fn json_records(source: &mut Source) {
    const TYPES: &[&str] = &[
        "int",
        "unsigned long",
        "char",
        "bool",
        "u8",
        "void *",
        "const char *",
        "__data_loc char[]",
        "__rel_loc u16[]",
        "__data_loc cpumask_t[]",
        "struct list_head",
        "[",
        "]",
        "",
    ];
    const NAMES: &[&str] = &[
        " f",
        " f[4]",
        " f[0]",
        " f[]",
        " f[99999999999]",
        " *f",
        " \"",
        " common_x",
        "f",
        " \u{e9}[2]",
    ];

    let mut format = String::from("name: x\nID: 1\nformat:\n");
    for _ in 0..source.below(5) {
        let (ty, name) = (source.words(TYPES, 2), source.words(NAMES, 2));
        let (offset, size) = (
            source.below(40) as u64,
            *source.pick(&[0, 1, 2, 4, 8, 16, 3]),
        );
        let offset = if source.once_in(20) {
            source.number()
        } else {
            offset
        };
        let signed = source.below(3);
        writeln!(
            format,
            "\tfield:{ty}{name};\toffset:{offset};\tsize:{size};\tsigned:{signed};"
        )
        .unwrap();
    }
    let record = source.bytes(60);
    let mut addresses = 0;
    let mut text = String::new();
    let mut address = |_: u64, out: &mut dyn ByteWrite| {
        addresses += 1;
        out.write_str("\"an address\"")
    };

    records::write_fields(&format, &record, &mut address, &mut text).unwrap();
    let mut rest = text.as_str();
    let mut members = 0;
    while !rest.is_empty() {
        let member = rest.strip_prefix(',').filter(|_| members > 0);
        let member = member.unwrap_or(rest);
        let value = unquoted(member).and_then(|(_, behind)| passed(behind.strip_prefix(':')?));
        rest = value.unwrap_or_else(|| panic!("{format}{record:?}\n{text}"));
        members += 1;
    }
    assert_eq!(members, records::members(&format).count());
    assert_eq!(text.matches("\"an address\"").count(), addresses);
    let mut out = String::new();
    records::write_raw_data(&record, &mut out).unwrap();
    assert_eq!(out.matches('"').count(), 6);
}
