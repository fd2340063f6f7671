// SPDX-License-Identifier: GPL-2.0

//! The metadata of a trace: a text in the language of the Common Trace Format, which tells a reader
//! how the bytes lie that [`super::packet`] and [`super::shape`] make, and which events there are.

use super::shape::{Members, Shape};
use anyhow::{bail, Result};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// All but the classes of events.
const PREAMBLE: &str = concat!(
    r#"/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;
typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := double_t;
typealias enum : uint8_t { "false" = 0, "true" = 1 } := bool_t;
typealias enum : uint8_t { "null" = 0 } := null_t;

trace {
	major = 1;
	minor = 8;
	byte_order = le;
	packet.header := struct {
		uint32_t magic;
		uint32_t stream_id;
	};
};

env {
	tracer_name = "rtrace";
	tracer_version = ""#,
    env!("CARGO_PKG_VERSION"),
    r#"";
};

clock {
	name = "monotonic";
	description = "Nanoseconds of the recording's clock, whose 0 is no date";
	freq = 1000000000;
	offset = 0;
};

typealias integer {
	size = 64; align = 8; signed = false;
	map = clock.monotonic.value;
} := stamp_t;

stream {
	id = 0;
	packet.context := struct {
		stamp_t timestamp_begin;
		stamp_t timestamp_end;
		uint64_t content_size;
		uint64_t packet_size;
		uint64_t events_discarded;
		uint32_t cpu_id;
	};
	event.header := struct {
		uint32_t id;
		stamp_t timestamp;
	};
	event.context := struct {
		string _comm;
		int64_t _pid;
		int64_t _tgid;
		string _flags;
	};
};
"#
);

/// How many classes a trace may have. The kernel has some thousand events, of a few shapes each.
const MOST_CLASSES: usize = 1 << 16;
/// The words of the language that begin like the name of a field.
const KEYWORDS: [&str; 3] = ["_Bool", "_Complex", "_Imaginary"];

/// What a trace says of its events.
pub struct Metadata {
    text: String,
    ids: HashMap<(String, Members), u32>,
}

impl Metadata {
    /// Returns what is said of a trace without events.
    pub fn new() -> Self {
        Self {
            text: PREAMBLE.to_string(),
            ids: HashMap::new(),
        }
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the number of the class of the events with this name and these fields.
    ///
    /// # Errors
    ///
    /// More classes than a reader can be expected to take.
    pub fn class(&mut self, name: &str, fields: Members) -> Result<u32> {
        let key = (name.to_string(), fields);
        if let Some(id) = self.ids.get(&key) {
            return Ok(*id);
        }
        if self.ids.len() == MOST_CLASSES {
            bail!("more than {MOST_CLASSES} kinds of events, {name} with other fields is one more");
        }
        let id = self.ids.len() as u32;
        let fields = struct_of(&key.1, 1);
        let name = escaped(name);
        self.text += &format!(
            "\nevent {{\n\tid = {id};\n\tname = \"{name}\";\n\tstream_id = 0;\n\tfields := {fields};\n}};\n"
        );
        self.ids.insert(key, id);
        Ok(id)
    }
}

/// Returns a text as it is between quotes.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '"' | '\\' => escaped.extend(['\\', character]),
            '\0' => escaped.push(char::REPLACEMENT_CHARACTER),
            control if control.is_ascii_control() => {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\{:03o}", u32::from(control));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Returns an identifier for a field. Its first underscore, which readers take off, keeps it from being
/// a word of the language; what cannot be in an identifier is the number of the character.
fn identifier(name: &str) -> String {
    let mut identifier = String::from("_");
    for character in name.chars() {
        match character {
            '_' | '0'..='9' | 'A'..='Z' | 'a'..='z' => identifier.push(character),
            _ => identifier += &format!("_x{:x}_", u32::from(character)),
        }
    }
    if name.is_empty() {
        identifier += "unnamed";
    }
    identifier
}

/// The names in a struct.
struct NameSet(HashSet<String>);

impl NameSet {
    fn new() -> Self {
        Self(KEYWORDS.map(String::from).into())
    }

    /// Takes a name, or if that is taken the first one with a number that is not.
    fn take(&mut self, name: &str) -> String {
        let numbered = (2u64..).map(|number| format!("{name}_{number}"));
        let mut names = std::iter::once(name.to_string()).chain(numbered);
        let free = names.find(|name| !self.0.contains(name));
        let free = free.unwrap_or_default();
        self.0.insert(free.clone());
        free
    }
}

/// Returns a struct with these members, which is inside `depth` others.
fn struct_of(members: &[(String, Shape)], depth: usize) -> String {
    let indent = "\t".repeat(depth);
    let mut names = NameSet::new();
    let mut text = String::from("struct {\n");
    for (name, shape) in members {
        let name = names.take(&identifier(name));
        text += &match shape {
            Shape::List(of) => {
                let length = names.take(&format!("_{name}_length"));
                let of = type_of(of, depth + 1);
                format!("{indent}\tuint64_t {length};\n{indent}\t{of} {name}[{length}];\n")
            }
            _ => format!("{indent}\t{} {name};\n", type_of(shape, depth + 1)),
        };
    }
    text + &indent + "}"
}

/// Returns a type. A list is a struct here: an array has no length of its own.
fn type_of(shape: &Shape, depth: usize) -> String {
    let name = match shape {
        Shape::Null => "null_t",
        Shape::Bool => "bool_t",
        Shape::Signed => "int64_t",
        Shape::Unsigned => "uint64_t",
        Shape::Float => "double_t",
        Shape::Text => "string",
        Shape::List(_) => return struct_of(&[("list".to_string(), shape.clone())], depth),
        Shape::Object(members) => return struct_of(members, depth),
    };
    name.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(rows: &[(&str, Shape)]) -> Members {
        rows.iter()
            .map(|(name, shape)| (name.to_string(), shape.clone()))
            .collect()
    }

    fn list(of: Shape) -> Shape {
        Shape::List(Box::new(of))
    }

    /// Returns what is said of one class.
    fn declared(name: &str, fields: Members) -> String {
        let mut metadata = Metadata::new();
        metadata.class(name, fields).expect("a class");
        metadata.text()[PREAMBLE.len()..].to_string()
    }

    #[test]
    fn the_text_begins_with_its_format() {
        let text = Metadata::new().text().to_string();
        assert!(text.starts_with("/* CTF 1.8 */\n"), "{text}");
        assert_eq!(text.matches('{').count(), text.matches('}').count());
    }

    #[test]
    fn a_class_has_its_name_and_fields() {
        let object = Shape::Object(members(&[("x", Shape::Null)]));
        let fields = members(&[
            ("prev_pid", Shape::Signed),
            ("comm", Shape::Text),
            ("args", list(Shape::Unsigned)),
            ("o", object),
        ]);
        assert_eq!(
            declared("sched:sched_switch", fields),
            "\nevent {\n\tid = 0;\n\tname = \"sched:sched_switch\";\n\tstream_id = 0;\n\
             \tfields := struct {\n\
             \t\tint64_t _prev_pid;\n\
             \t\tstring _comm;\n\
             \t\tuint64_t __args_length;\n\
             \t\tuint64_t _args[__args_length];\n\
             \t\tstruct {\n\t\t\tnull_t _x;\n\t\t} _o;\n\
             \t};\n};\n"
        );
    }

    #[test]
    fn a_list_of_lists_is_one_of_structs() {
        let text = declared("a:b", members(&[("l", list(list(Shape::Bool)))]));
        let inner =
            "struct {\n\t\t\tuint64_t __list_length;\n\t\t\tbool_t _list[__list_length];\n\t\t}";
        assert!(text.contains(&format!("{inner} _l[__l_length];")), "{text}");
    }

    #[test]
    fn a_class_is_one_of_name_and_shape() {
        let mut metadata = Metadata::new();
        let rows = [
            ("a:b", Shape::Text, 0),
            ("a:b", Shape::Null, 1),
            ("a:c", Shape::Text, 2),
            ("a:b", Shape::Text, 0),
        ];
        for (name, shape, id) in rows {
            let fields = members(&[("f", shape)]);
            assert_eq!(metadata.class(name, fields).expect("a class"), id);
        }
        assert_eq!(metadata.text().matches("\nevent {").count(), 3);
    }

    #[test]
    fn names_of_fields_are_identifiers() {
        let rows = [
            ("int", "_int"),
            ("_x", "__x"),
            ("9", "_9"),
            ("", "_unnamed"),
            ("a b", "_a_x20_b"),
            ("\"};\n", "__x22__x7d__x3b__xa_"),
            ("\u{e4}\u{1f600}", "__xe4__x1f600_"),
            ("\0", "__x0_"),
        ];
        for (name, expected) in rows {
            assert_eq!(identifier(name), expected, "{name}");
        }
    }

    #[test]
    fn no_two_fields_have_one_name() {
        let fields = members(&[
            ("Bool", Shape::Signed),
            ("a b", Shape::Signed),
            ("a_x20_b", Shape::Signed),
            ("l", list(Shape::Signed)),
            ("_l_length", Shape::Signed),
        ]);
        let text = declared("a:b", fields);
        for name in [
            "_Bool_2",
            "_a_x20_b",
            "_a_x20_b_2",
            "__l_length",
            "__l_length_2",
        ] {
            assert_eq!(text.matches(&format!("_t {name};")).count(), 1, "{text}");
        }
    }

    #[test]
    fn quotes_and_control_characters_do_not_end_a_name() {
        assert_eq!(
            escaped("a\"b\\c\n\x07\x7f\0\u{e4}"),
            "a\\\"b\\\\c\\012\\007\\177\u{fffd}\u{e4}"
        );
    }

    #[test]
    fn classes_have_an_end() {
        let mut metadata = Metadata::new();
        for number in 0..MOST_CLASSES {
            metadata
                .class(&number.to_string(), vec![])
                .expect("a class");
        }
        assert!(metadata.class("one more", vec![]).is_err());
        assert_eq!(metadata.class("7", vec![]).expect("a class"), 7);
    }
}
