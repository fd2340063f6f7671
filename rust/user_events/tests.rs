// SPDX-License-Identifier: GPL-2.0

//! Definitions, arguments and records: what the kernel takes, and what it refuses.

use super::{
    command::{
        is_same,
        UserCommand, //
    },
    field::UserField,
    parts::DynamicField,
    print::{
        self,
        BytesForm, //
    },
    record::{
        self,
        DynamicRule, //
    },
    request::{
        self,
        EnableBit,
        ProgramRegistration, //
    },
    WrongUserEvent, //
};
use crate::text::writer::Bytes;

/// Returns the fields of a definition.
fn fields(text: &str) -> Result<Vec<UserField>, WrongUserEvent> {
    let mut fields = Vec::new();
    let command = UserCommand::parse(text.as_bytes())?;
    command.for_each_field(|field| {
        fields.push(field);
        Ok::<_, WrongUserEvent>(())
    })?;
    Ok(fields)
}

/// Returns types, names, sizes and offsets.
fn shown(text: &str) -> Vec<String> {
    let own = text.split_once(' ').map_or("", |(_, own)| own);
    let fields = fields(text).unwrap_or_else(|_| panic!("{text}"));
    let show = |field: &UserField| {
        let (ty, name) = (field.ty(own), field.name(own));
        format!("{ty}|{name}|{}|{}", field.size, field.offset)
    };
    fields.iter().map(show).collect()
}

#[test]
fn fields_are_those_of_the_kernel() {
    let rows: [(&str, &[&str]); 12] = [
        ("a", &[]),
        ("a ", &[]),
        ("a ;; ;", &[]),
        ("a u32 b", &["u32|b|4|8"]),
        ("a u32 b;", &["u32|b|4|8"]),
        ("a  \tu8 b;u64 c", &["u8|b|1|8", "u64|c|8|9"]),
        (
            "a unsigned int b; short c;unsigned char d",
            &["unsigned int|b|4|8", "short|c|2|12", "unsigned char|d|1|14"],
        ),
        (
            "a char[20] b; unsigned char[0x10] c",
            &["char[20]|b|20|8", "unsigned char[0x10]|c|16|28"],
        ),
        ("a char[3]x] b", &["char[3]x]|b|3|8"]),
        ("a struct x y 20; u8 z", &["struct x|y|20|8", "u8|z|1|28"]),
        (
            "a __data_loc char[] b; __rel_loc unsigned char[] c",
            &[
                "__data_loc char[]|b|4|8",
                "__rel_loc unsigned char[]|c|4|12",
            ],
        ),
        ("a __data_loc nonsense b", &["__data_loc nonsense|b|4|8"]),
    ];
    for (text, want) in rows {
        assert_eq!(shown(text), want, "{text}");
    }
}

#[test]
fn wrong_definitions_are_refused() {
    for text in [
        "",
        " u32 a",
        "a:f u32 b",
        "a:",
        "a/b",
        ".",
        "..",
        "enable",
        "filter",
        "a\tb",
        "a\u{7f}",
        "a u32",
        "a u32 ",
        "a u32  b",
        "a u32 b c",
        "a u32 b ",
        "a long b",
        "a u32\tb",
        "a u32 b\n",
        "a unsigned b",
        "a unsigned long b",
        "a unsigned  int b",
        "a char[0] b",
        "a char[1025] b",
        "a char[] b",
        "a char[-1] b",
        "a char[12345678] b",
        "a char[1 b",
        "a char[x] b",
        "a struct x",
        "a struct x y",
        "a struct x y 0",
        "a struct x y -1",
        "a struct x y z",
        "a struct x y 0x10",
        "a struct x y 1 2",
        "a struct x y 4294967295",
        "a __data_loc b",
        "a __data_loc char[]",
        "a u8 b; u32",
        "a struct x y 2147483640; struct x z 10",
    ] {
        assert_eq!(fields(text), Err(WrongUserEvent), "{text:?}");
    }
    assert!(UserCommand::parse(b"a\xff").is_err());
    assert!(UserCommand::parse(&[b'a'; 256]).is_err());
    assert!(UserCommand::parse(&[b'a'; 255]).is_ok());
    let line = UserCommand::parse_dynamic(b"u: \ta u32 b").unwrap();
    assert_eq!((line.name, line.fields), ("a", "u32 b"));
}

#[test]
fn the_same_words_are_the_same_event() {
    let rows = [
        ("u32 a", "u32 a", true),
        ("u32 a", "  u32   a", true),
        ("u32 a", "u32 a;", true),
        ("u32 a;", "u32 a", true),
        ("u32 a;u8 b", "u32 a; u8 b", true),
        ("u32 a;u8 b", "u32 a;\tu8 b;", true),
        ("u32 a;u8 b", "u32 a; u8 c", false),
        ("u32 a;u8 b", "u32 a", false),
        ("u32 a", "u32 a; u8 b", false),
        ("u32 a", "u32 a;;", false),
        ("u32 a", "", false),
        ("", "", true),
        ("", " ", true),
        ("", "u32 a", false),
        ("", ";", false),
        ("unsigned int a", "unsigned int a", true),
        ("unsigned int a", "unsigned a", false),
        ("struct x y 20", "struct x y 20", true),
        ("struct x y 20", "struct x y 20;", true),
        ("struct x y +20", "struct x y 20", true),
        ("struct x y 20", "struct x y 020", false),
        ("struct x y 20", "struct x y", false),
        ("struct x y 20", "struct x y 21", false),
        ("struct x y 20;u8 z", "struct x y 20;u8 z", true),
        ("struct x y 20;u8 z", "struct x y 20 u8 z", false),
        ("u32 a;u32 b", "u32 a u32 b", false),
    ];
    for (own, given, want) in rows {
        let fields = fields(&format!("e {own}")).unwrap();
        assert_eq!(is_same(&fields, own, given), want, "{own:?} {given:?}");
    }
}

#[test]
fn texts_are_those_of_the_kernel() {
    let rows = [
        ("e", "u:e\n", "\"\""),
        ("e u32 a", "u:e u32 a\n", "\"a=%u\", REC->a"),
        (
            "e struct x a 20;s64 b;char[4] c",
            "u:e struct x a 20; s64 b; char[4] c\n",
            "\"a=%llu b=%lld c=%s\", REC->a, REC->b, REC->c",
        ),
        (
            "e __data_loc char[] a; __rel_loc char[] b; __data_loc u8[] c",
            "u:e __data_loc char[] a; __rel_loc char[] b; __data_loc u8[] c\n",
            "\"a=%s b=%s c=%llu\", __get_str(a), __get_rel_str(b), REC->c",
        ),
    ];
    for (text, line, format) in rows {
        let own = text.split_once(' ').map_or("", |(_, own)| own);
        let fields = fields(text).unwrap();
        let (mut w, mut printed) = (Bytes::default(), String::new());
        print::write_definition("e", &fields, own, &mut w).unwrap();
        print::write_format(&fields, own, BytesForm::Word, &mut printed).unwrap();
        assert_eq!(String::from_utf8(w.0).unwrap(), line);
        assert_eq!(printed, format);
    }
}

#[test]
fn bytes_of_other_modules_are_in_the_format() {
    let own = "u8 a; __rel_loc u8[] b; __data_loc u16[] c; __rel_loc char[] d";
    let fields = fields(&format!("e {own}")).unwrap();
    let mut printed = String::new();
    print::write_format(&fields, own, BytesForm::Hex, &mut printed).unwrap();
    assert_eq!(
        printed,
        "\"a=%u b=%s c=%s d=%s\", REC->a, \
         __print_hex(__get_rel_dynamic_array(b), __get_rel_dynamic_array_len(b)), \
         __print_hex(__get_dynamic_array(c), __get_dynamic_array_len(c)), __get_rel_str(d)"
    );
}

#[test]
fn a_record_of_parts_is_a_record() {
    let own = "u8 a; __rel_loc char[] b; __data_loc u8[] c; __data_loc char[] d; __rel_loc u8[] e";
    let fields = fields(&format!("e {own}")).unwrap();
    let dynamic: Vec<_> = fields
        .iter()
        .filter_map(|field| DynamicField::of(field, own))
        .collect();
    let rules: Vec<_> = fields
        .iter()
        .filter_map(|field| DynamicRule::of(field, own))
        .collect();
    let fixed = 8 + record::least(&fields);
    let write = |record: &mut [u8], parts: &[&[u8]]| {
        let tails = dynamic.iter().zip(parts);
        tails.fold(fixed, |at, (field, part)| field.write(record, at, part))
    };
    let size = |parts: &[&[u8]]| {
        let tails = dynamic.iter().zip(parts);
        fixed + tails.map(|(field, part)| field.len(part)).sum::<usize>()
    };
    for parts in [
        [&b"ab"[..], b"\x01\x02\x03", b"text", b"end"],
        [b"", b"", b"", b""],
        [b"", b"\xff", b"", b"\xff\xfe"],
        [&[b'x'; 1000], &[1; 3], &[b'y'; 60_000], &[2; 4000]],
    ] {
        let mut bytes = vec![0xee; size(&parts)];
        assert_eq!(write(&mut bytes, &parts), bytes.len());
        assert!(record::is_valid(&rules, &bytes));
        // Each part is where its word says.
        let place = |offset: usize, base: usize| {
            let word = u32::from_le_bytes(bytes[offset..offset + 4].try_into().unwrap());
            let at = base + (word & 0xffff) as usize;
            &bytes[at..at + (word >> 16) as usize]
        };
        assert_eq!(place(9, 13), [parts[0], b"\0"].concat());
        assert_eq!(place(13, 0), parts[1]);
        assert_eq!(place(17, 0), [parts[2], b"\0"].concat());
        assert_eq!(place(21, 25), parts[3]);
        // A record without room has what there is room for, and nothing panics.
        for len in (0..bytes.len().min(80)).chain([bytes.len() - 1]) {
            write(&mut vec![0; len], &parts);
        }
    }
}

/// Returns whether a record of `__data_loc char[]`, `__rel_loc char[]` or bytes, with this word and what follows,
/// is one.
fn is_valid(ty: &str, word: (u16, u16), rest: &[u8]) -> bool {
    let own = format!("{ty} a");
    let fields = fields(&format!("e {own}")).unwrap();
    let rules: Vec<_> = fields
        .iter()
        .filter_map(|field| DynamicRule::of(field, &own))
        .collect();
    let mut bytes = vec![0; 8];
    bytes.extend(word.0.to_le_bytes());
    bytes.extend(word.1.to_le_bytes());
    bytes.extend(rest);
    assert_eq!(record::least(&fields), 4);
    record::is_valid(&rules, &bytes)
}

#[test]
fn dynamic_fields_lie_inside_and_end_with_nul() {
    let (data, rel, bytes) = ("__data_loc char[]", "__rel_loc char[]", "__data_loc u8[]");
    let rows: [(&str, (u16, u16), &[u8], bool); 16] = [
        (data, (12, 3), b"ab\0", true),
        (data, (12, 2), b"ab\0", false),
        (data, (12, 4), b"ab\0", false),
        (data, (13, 2), b"ab\0", true),
        (data, (0xffff, 0xffff), b"ab\0", false),
        (data, (0, 0), b"ab\0", false),
        (data, (1, 0), b"ab\0", true),
        (data, (15, 0), b"ab\0", true),
        (data, (16, 0), b"ab\0", false),
        (rel, (0, 3), b"ab\0", true),
        (rel, (0, 2), b"ab\0", false),
        (rel, (1, 3), b"ab\0", false),
        (rel, (0, 0), b"ab\0", true),
        (bytes, (12, 3), b"abc", true),
        (bytes, (12, 4), b"abc", false),
        (bytes, (0, 0), b"", true),
    ];
    for (ty, word, rest, want) in rows {
        assert_eq!(is_valid(ty, word, rest), want, "{ty} {word:?} {rest:?}");
    }
    // No bytes at all.
    let own = "__data_loc char[] a";
    let rule = DynamicRule::of(&fields(&format!("e {own}")).unwrap()[0], own).unwrap();
    for len in 0..12 {
        assert!(!record::is_valid(&[rule], &vec![0; len]));
    }
}

#[test]
fn arguments_of_ioctls() {
    let bytes = |bit: u8, word: u8, flags: u16, address: u64| {
        let mut bytes = [0u8; request::REGISTRATION];
        bytes[4] = bit;
        bytes[5] = word;
        bytes[6..8].copy_from_slice(&flags.to_le_bytes());
        bytes[8..16].copy_from_slice(&address.to_le_bytes());
        bytes[16..24].copy_from_slice(&77u64.to_le_bytes());
        ProgramRegistration::read(&bytes)
    };
    let right = bytes(31, 4, 3, 0x1004).unwrap();
    assert_eq!((right.definition, right.flags, right.bit.bit), (77, 3, 31));
    assert_eq!(right.bit.in_word(), (0x1000, 63));
    assert_eq!(bytes(63, 8, 0, 0x1008).unwrap().bit.in_word(), (0x1008, 63));
    for wrong in [
        bytes(32, 4, 0, 0x1000),
        bytes(64, 8, 0, 0x1000),
        bytes(0, 4, 4, 0x1000),
        bytes(0, 4, 0, 0x1002),
        bytes(0, 8, 0, 0x1004),
        bytes(0, 2, 0, 0x1000),
        bytes(0, 0, 0, 0x1000),
    ] {
        assert_eq!(wrong, Err(WrongUserEvent));
    }
    let mut bytes = [0u8; request::UNREGISTRATION];
    bytes[4] = 5;
    bytes[8] = 8;
    let bit = EnableBit { address: 8, bit: 5 };
    assert_eq!(request::read_unregistration(&bytes), Ok(bit));
    for at in [5, 6, 7] {
        let mut wrong = bytes;
        wrong[at] = 1;
        assert_eq!(request::read_unregistration(&wrong), Err(WrongUserEvent));
    }
}

/// Any bytes are either a definition whose texts read back as the same, or refused; nothing panics.
#[test]
fn random_definitions_read_back() {
    const WORDS: [&str; 24] = [
        "u32 a",
        "char[4] b",
        "unsigned int c",
        "struct x y 20",
        "__data_loc char[] s",
        "; ",
        ";",
        ";",
        "u32",
        "char[4]",
        "unsigned",
        "struct",
        "x",
        "20",
        " ",
        "__data_loc",
        "char[]",
        "__rel_loc",
        "\t",
        "[",
        "]",
        "a",
        ":",
        "\u{e9}",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % most as u64) as usize
    };
    let mut taken = 0;
    for _ in 0..200_000 {
        let mut own = String::new();
        for _ in 0..next(9) {
            own += WORDS[next(WORDS.len())];
            own += ["", " "][next(2)];
        }
        let Ok(fields) = fields(&format!("e {own}")) else {
            continue;
        };
        taken += usize::from(fields.len() > 1);
        let mut w = Bytes::default();
        print::write_definition("e", &fields, &own, &mut w).unwrap();
        let line = String::from_utf8(w.0).unwrap();
        let again = line.trim_end().strip_prefix("u:e").unwrap().trim_start();
        let doubled = fields.iter().any(|field| field.ty(&own).ends_with(' '));
        assert!(
            doubled || is_same(&fields, &own, again),
            "{own:?} {again:?}"
        );
    }
    assert!(taken > 100, "{taken}");
}
