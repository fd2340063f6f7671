// SPDX-License-Identifier: GPL-2.0

//! An event's `format` file: its id, and where its fields are. With it two
//! records of the same event can be compared without looking at padding.

use crate::check::Check;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub kind: Kind,
    pub offset: usize,
    pub size: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// All bytes count.
    Plain,
    /// The bytes up to the first NUL count.
    Text,
    /// A word that says where in the record the bytes are; `relative` to its own end or not.
    Elsewhere { relative: bool, text: bool },
}

#[derive(Debug, Clone)]
pub struct Format {
    pub id: u16,
    pub fields: Vec<Field>,
}

impl Format {
    pub fn parse(text: &str) -> Check<Self> {
        let id = text
            .lines()
            .find_map(|line| line.strip_prefix("ID: ")?.parse().ok())
            .ok_or_else(|| format!("no ID in {text:?}"))?;
        let fields = text
            .lines()
            .filter(|line| line.starts_with("\tfield:"))
            .map(|line| field(line).ok_or_else(|| format!("not a field: {line:?}")))
            .collect::<Check<_>>()?;
        Ok(Format { id, fields })
    }

    /// The bytes of a record that carry meaning, field by field.
    pub fn values<'a>(&'a self, record: &'a [u8]) -> impl Iterator<Item = (&'a Field, &'a [u8])> {
        self.fields
            .iter()
            .map(move |field| (field, value(field, record)))
    }
}

/// The text of a `format` file without the numbers that each tracer gives anew: the id, and those of
/// local variables in macros such as `min()`.
pub fn without_id(text: &str) -> String {
    const UNIQUE: &str = "__UNIQUE_ID_";
    let lines = text.lines().filter(|line| !line.starts_with("ID: "));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let mut pieces = text.split(UNIQUE);
    let mut result = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, behind) = piece.split_at(piece.find(|c| !is_name(c)).unwrap_or(piece.len()));
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
        result += &format!("{UNIQUE}{name}{behind}");
    }
    result
}

fn field(line: &str) -> Option<Field> {
    let mut parts = line.trim().split(';').map(str::trim);
    let declaration = parts.next()?.strip_prefix("field:")?;
    let mut number = |label| parts.next()?.strip_prefix(label)?.parse().ok();
    let (offset, size) = (number("offset:")?, number("size:")?);

    let (plain, array) = match declaration.split_once('[') {
        Some((plain, _)) => (plain, true),
        None => (declaration, false),
    };
    let name = plain.rsplit([' ', '*']).next()?.to_string();
    let text = declaration.contains("char") && !declaration.contains("unsigned char");
    let kind = if declaration.starts_with("__data_loc") {
        Kind::Elsewhere {
            relative: false,
            text,
        }
    } else if declaration.starts_with("__rel_loc") {
        Kind::Elsewhere {
            relative: true,
            text,
        }
    } else if text && array {
        Kind::Text
    } else {
        Kind::Plain
    };
    // `__data_loc char[] name` has the name after the brackets.
    let name = match kind {
        Kind::Elsewhere { .. } => declaration.rsplit(' ').next()?.to_string(),
        _ => name,
    };
    Some(Field {
        name,
        kind,
        offset,
        size,
    })
}

fn value<'a>(field: &Field, record: &'a [u8]) -> &'a [u8] {
    let bytes = record
        .get(field.offset..field.offset + field.size)
        .unwrap_or_default();
    let up_to_nul = |bytes: &'a [u8]| bytes.split(|b| *b == 0).next().unwrap_or_default();
    match field.kind {
        Kind::Plain => bytes,
        Kind::Text => up_to_nul(bytes),
        Kind::Elsewhere { relative, text } => {
            let word = bytes.try_into().map_or(0, u32::from_le_bytes);
            let base = if relative {
                field.offset + field.size
            } else {
                0
            };
            let (offset, len) = (base + (word & 0xffff) as usize, (word >> 16) as usize);
            let bytes = record.get(offset..offset + len).unwrap_or_default();
            if text {
                up_to_nul(bytes)
            } else {
                bytes
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name: x\nID: 77\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:0;\n\
        \tfield:__data_loc char[] name;\toffset:16;\tsize:4;\tsigned:0;\n\
        \tfield:const void * ptr;\toffset:24;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned long args[6];\toffset:32;\tsize:48;\tsigned:0;\n\n\
        print fmt: \"%s\"\n";

    #[test]
    fn names_and_kinds() {
        let format = Format::parse(TEXT).unwrap();
        assert_eq!(format.id, 77);
        let names: Vec<_> = format
            .fields
            .iter()
            .map(|f| (f.name.as_str(), f.kind))
            .collect();
        let elsewhere = Kind::Elsewhere {
            relative: false,
            text: true,
        };
        assert_eq!(
            names,
            [
                ("common_type", Kind::Plain),
                ("comm", Kind::Text),
                ("name", elsewhere),
                ("ptr", Kind::Plain),
                ("args", Kind::Plain),
            ]
        );
    }

    #[test]
    fn bytes_behind_the_nul_do_not_count() {
        let format = Format::parse(TEXT).unwrap();
        let mut record = vec![0u8; 96];
        record[8..16].copy_from_slice(b"ab\0junk.");
        record[16..20].copy_from_slice(&(6u32 << 16 | 80).to_le_bytes());
        record[80..86].copy_from_slice(b"long\0!");
        let values: Vec<_> = format.values(&record).map(|(_, bytes)| bytes).collect();
        assert_eq!((values[1], values[2]), (&b"ab"[..], &b"long"[..]));
    }
}
