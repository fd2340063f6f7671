// SPDX-License-Identifier: GPL-2.0

//! Which type a JSON value has in a trace, and its bytes. The types are those that [`super::tsdl`]
//! declares; nothing is known beforehand, each value tells its own.

use serde_json::{Map, Value};

/// The type of a value. Two events with fields of one shape are of one class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A byte that is 0.
    Null,
    /// A byte.
    Bool,
    /// 8 bytes.
    Signed,
    /// 8 bytes, for what is no signed number of 8 bytes.
    Unsigned,
    /// 8 bytes.
    Float,
    /// Its bytes, which end with a NUL.
    Text,
    /// Values of one shape, after their number.
    List(Box<Shape>),
    Object(Members),
}

/// The members of an object, in its order.
pub type Members = Vec<(String, Shape)>;

/// How many objects and lists may be inside each other; what is deeper is shown as JSON.
const DEEPEST: usize = 16;

/// Appends a text. It ends at its first NUL, so one inside becomes U+FFFD.
pub fn put_text(text: &str, out: &mut Vec<u8>) {
    for (at, part) in text.split('\0').enumerate() {
        if at > 0 {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
        out.extend_from_slice(part.as_bytes());
    }
    out.push(0);
}

/// Appends the members of an object. Returns their shapes.
pub fn put_members(object: &Map<String, Value>, out: &mut Vec<u8>) -> Members {
    members(object, 0, out)
}

fn members(object: &Map<String, Value>, depth: usize, out: &mut Vec<u8>) -> Members {
    object
        .iter()
        .map(|(name, value)| (name.clone(), put(value, depth, out)))
        .collect()
}

/// Appends a value that is inside `depth` others. Returns its shape.
fn put(value: &Value, depth: usize, out: &mut Vec<u8>) -> Shape {
    match value {
        Value::Array(_) | Value::Object(_) if depth == DEEPEST => put_json(value, out),
        Value::Null => {
            out.push(0);
            Shape::Null
        }
        Value::Bool(value) => {
            out.push((*value).into());
            Shape::Bool
        }
        Value::Number(number) => {
            let (word, shape) = match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(signed), _, _) => (signed as u64, Shape::Signed),
                (_, Some(unsigned), _) => (unsigned, Shape::Unsigned),
                (_, _, Some(float)) => (float.to_bits(), Shape::Float),
                _ => return put_json(value, out),
            };
            out.extend(word.to_le_bytes());
            shape
        }
        Value::String(text) => {
            put_text(text, out);
            Shape::Text
        }
        Value::Array(list) => Shape::List(Box::new(put_list(list, depth, out))),
        Value::Object(object) => Shape::Object(members(object, depth + 1, out)),
    }
}

/// Appends a list. Returns the shape of its elements: if they have several, each becomes a text; an
/// empty list could have had numbers.
fn put_list(list: &[Value], depth: usize, out: &mut Vec<u8>) -> Shape {
    out.extend((list.len() as u64).to_le_bytes());
    let begin = out.len();
    let mut of_all = None;
    for element in list {
        let shape = put(element, depth + 1, out);
        if *of_all.get_or_insert_with(|| shape.clone()) != shape {
            out.truncate(begin);
            for element in list {
                put_plain(element, out);
            }
            return Shape::Text;
        }
    }
    of_all.unwrap_or(Shape::Signed)
}

/// Appends a value as a text: a text as it is, anything else as JSON.
fn put_plain(value: &Value, out: &mut Vec<u8>) -> Shape {
    match value {
        Value::String(text) => put_text(text, out),
        _ => return put_json(value, out),
    }
    Shape::Text
}

/// Appends a value as JSON.
fn put_json(value: &Value, out: &mut Vec<u8>) -> Shape {
    put_text(&value.to_string(), out);
    Shape::Text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str) -> (Shape, Vec<u8>) {
        let mut bytes = Vec::new();
        let value = serde_json::from_str(json).expect(json);
        (put(&value, 0, &mut bytes), bytes)
    }

    fn list(of: Shape) -> Shape {
        Shape::List(Box::new(of))
    }

    /// Returns the bytes of numbers.
    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn each_kind_of_value_has_its_shape_and_bytes() {
        let rows = [
            ("null", Shape::Null, vec![0]),
            ("false", Shape::Bool, vec![0]),
            ("true", Shape::Bool, vec![1]),
            ("7", Shape::Signed, words(&[7])),
            ("-2", Shape::Signed, words(&[u64::MAX - 1])),
            ("9223372036854775807", Shape::Signed, words(&[u64::MAX / 2])),
            (
                "9223372036854775808",
                Shape::Unsigned,
                words(&[u64::MAX / 2 + 1]),
            ),
            ("18446744073709551615", Shape::Unsigned, words(&[u64::MAX])),
            // Larger than any integer.
            (
                "18446744073709551616",
                Shape::Float,
                words(&[(u64::MAX as f64).to_bits()]),
            ),
            ("-0.5", Shape::Float, words(&[(-0.5f64).to_bits()])),
            ("\"\"", Shape::Text, vec![0]),
            ("\"a\\n\u{e4}\"", Shape::Text, b"a\n\xc3\xa4\0".to_vec()),
            (
                "\"a\\u0000b\"",
                Shape::Text,
                "a\u{fffd}b\0".as_bytes().to_vec(),
            ),
        ];
        for (json, shape, bytes) in rows {
            assert_eq!(shown(json), (shape, bytes), "{json}");
        }
    }

    #[test]
    fn lists_have_a_length_and_one_shape() {
        assert_eq!(
            shown("[1,-1]"),
            (list(Shape::Signed), words(&[2, 1, u64::MAX]))
        );
        assert_eq!(shown("[]"), (list(Shape::Signed), words(&[0])));
        assert_eq!(shown("[true]").0, list(Shape::Bool));
        assert_eq!(
            shown("[[1],[]]"),
            (list(list(Shape::Signed)), words(&[2, 1, 1, 0]))
        );
        let object = Shape::Object(vec![("a".to_string(), Shape::Null)]);
        assert_eq!(shown(r#"[{"a":null}]"#).0, list(object));
    }

    #[test]
    fn a_list_of_several_shapes_is_one_of_texts() {
        let (shape, bytes) = shown(r#"["vfs_read+0x4",null,5,18446744073709551615]"#);
        let texts = b"vfs_read+0x4\0null\x005\x0018446744073709551615\0";
        assert_eq!(shape, list(Shape::Text));
        assert_eq!(bytes, [&words(&[4])[..], texts].concat());
        assert_eq!(shown("[[1],[true],{}]").0, list(Shape::Text));
    }

    #[test]
    fn members_keep_their_order() {
        let (shape, bytes) = shown(r#"{"b":1,"a":{"":"x"}}"#);
        let inner = Shape::Object(vec![(String::new(), Shape::Text)]);
        let members = vec![("b".to_string(), Shape::Signed), ("a".to_string(), inner)];
        assert_eq!(shape, Shape::Object(members));
        assert_eq!(bytes, [&words(&[1])[..], b"x\0"].concat());
    }

    #[test]
    fn what_is_deep_is_a_text() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let json = format!("{}1{}", open.repeat(100), close.repeat(100));
            let (mut shape, bytes) = shown(&json);
            let mut depth = 0;
            loop {
                shape = match shape {
                    Shape::List(of) => *of,
                    Shape::Object(mut members) => members.remove(0).1,
                    _ => break,
                };
                depth += 1;
            }
            assert_eq!((depth, shape), (DEEPEST, Shape::Text));
            assert!(bytes.ends_with(b"}\0") || bytes.ends_with(b"]\0"));
        }
    }
}
