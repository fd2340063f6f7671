// SPDX-License-Identifier: GPL-2.0
//! The kernel's type information: right ones of any shape, and broken ones.

use super::source::Source;
use crate::event::{
    btf::{
        count,
        Btf,
        BtfError,
        BtfShape, //
        Question,
    },
    raw::Args, //
};

const INT: u32 = 1;
const PTR: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const TYPEDEF: u32 = 8;
const CONST: u32 = 10;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;

/// The section of all variables.
const SECTION: &str = ".data";

/// BTF in the making.
struct Made {
    types: Vec<u32>,
    strings: Vec<u8>,
}

impl Made {
    fn name(&mut self, text: &str) -> u32 {
        let at = self.strings.len() as u32;

        self.strings.extend(text.bytes());
        self.strings.push(0);
        at
    }

    fn head(&mut self, name: &str, kind: u32, count: u32, third: u32) {
        let name = self.name(name);

        self.types.extend([name, kind << 24 | count, third]);
    }

    fn bytes(&self) -> Vec<u8> {
        let types = self.types.len() as u32 * 4;
        let mut bytes = vec![0x9f, 0xeb, 1, 0];

        for word in [24, 0, types, types, self.strings.len() as u32]
            .iter()
            .chain(&self.types)
        {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(&self.strings);
        bytes
    }
}

/// A member that the generator put somewhere.
struct Member {
    of: String,
    name: String,
    shape: BtfShape,
    place: u32,
}

/// A variable that the generator put somewhere.
struct Variable {
    name: String,
    /// Offset and size.
    place: (u32, u32),
    /// Its struct.
    of: String,
}

/// Numbers of the types that `make` always begins with, and what they are.
const BASIC: [(u32, BtfShape); 5] = [
    (1, BtfShape::Int(4)),
    (2, BtfShape::Ptr),
    (3, BtfShape::Array),
    (4, BtfShape::Int(8)),
    // A typedef of a const int.
    (6, BtfShape::Int(4)),
];

fn make(source: &mut Source) -> (Vec<u8>, Vec<Member>, Vec<Variable>) {
    let mut made = Made {
        types: vec![],
        strings: vec![0],
    };
    let mut members = vec![];

    made.head("int", INT, 0, 4);
    made.types.push(32);
    made.head("", PTR, 0, 1);
    made.head("", ARRAY, 0, 0);
    made.types.extend([1, 1, 24]);
    made.head("long", INT, 0, 8);
    made.types.push(64);
    made.head("", CONST, 0, 1);
    made.head("t", TYPEDEF, 0, 5);
    let structs = source.below(4) as u32;
    for number in 0..structs {
        let of = format!("s{number}");
        let count = source.below(4) as u32;

        made.head(&of, STRUCT, count, 64);
        for index in 0..count {
            let (ty, shape) = *source.pick(&BASIC);
            let (name, place) = (format!("m{index}"), source.below(1 << 20) as u32);
            let at = made.name(&name);

            made.types.extend([at, ty, place * 8]);
            members.push(Member {
                of: of.clone(),
                name,
                shape,
                place,
            });
        }
    }
    let mut variables = vec![];
    if structs > 0 && source.once_in(2) {
        for number in 0..source.below(4) {
            let (name, of) = (format!("v{number}"), source.below(structs as usize) as u32);

            made.head(&name, VAR, 0, BASIC[4].0 + 1 + of);
            made.types.push(0);
            variables.push(Variable {
                name,
                place: (source.below(1 << 20) as u32, source.below(1 << 20) as u32),
                of: format!("s{of}"),
            });
        }
        made.head(SECTION, DATASEC, variables.len() as u32, 1 << 21);
        for (number, variable) in variables.iter().enumerate() {
            let ty = BASIC[4].0 + 1 + structs + number as u32;
            made.types.extend([ty, variable.place.0, variable.place.1]);
        }
    }
    (made.bytes(), members, variables)
}

/// Where a variable is, and where a member is in it.
fn ask_variable(
    bytes: &[u8],
    name: &str,
    member: &str,
    shape: BtfShape,
) -> Result<((u32, u32), Result<u32, BtfError>), BtfError> {
    let mut index = vec![0; count(bytes)?];
    let btf = Btf::new(bytes, &mut index)?;
    let variable = btf.variable(SECTION, name)?;

    assert!(variable.offset.checked_add(variable.size).is_some());
    Ok((
        (variable.offset, variable.size),
        btf.place_in_variable(&variable, member, shape),
    ))
}

/// Asks; the index is as long as the types need.
fn ask(bytes: &[u8], of: &str, member: &str, shape: BtfShape) -> Result<u32, BtfError> {
    let count = count(bytes)?;
    assert!(count <= bytes.len() / 12, "more types than bytes");
    let mut index = vec![0; count];
    let mut questions = [Question::new(of, member, shape)];

    Btf::new(bytes, &mut index)?.answer(&mut questions)?;
    questions[0].place
}

pub fn right_btf_answers(source: &mut Source) {
    let (bytes, members, variables) = make(source);

    for variable in &variables {
        for member in members.iter().filter(|member| member.of == variable.of) {
            assert_eq!(
                ask_variable(&bytes, &variable.name, &member.name, member.shape),
                Ok((variable.place, Ok(member.place)))
            );
        }
        let found = ask_variable(&bytes, &variable.name, "nothing", BtfShape::Ptr);
        assert_eq!(found, Ok((variable.place, Err(BtfError::NoMember))));
    }
    assert_eq!(
        ask_variable(&bytes, "nobody", "m0", BtfShape::Ptr),
        Err(BtfError::NoVariable)
    );
    for member in &members {
        assert_eq!(
            ask(&bytes, &member.of, &member.name, member.shape),
            Ok(member.place)
        );
    }
    assert_eq!(
        ask(&bytes, "nobody", "m0", BtfShape::Ptr),
        Err(BtfError::NoStruct)
    );
    if let Some(member) = members.first() {
        let found = ask(&bytes, &member.of, "nothing", BtfShape::Ptr);
        assert_eq!(found, Err(BtfError::NoMember));
        let found = ask(&bytes, &member.of, &member.name, BtfShape::Int(2));
        assert_eq!(found, Err(BtfError::OtherType));
    }
}

pub fn broken_btf_is_refused(source: &mut Source) {
    let (mut bytes, members, variables) = make(source);

    source.spoil(&mut bytes);
    for variable in &variables {
        let ask = || ask_variable(&bytes, &variable.name, "m0", BtfShape::Int(4));
        assert_eq!(ask(), ask());
    }
    for member in &members {
        // Whatever it answers: no place is outside of what a word can say, and asking again gives
        // the same.
        let found = ask(&bytes, &member.of, &member.name, member.shape);
        assert_eq!(found, ask(&bytes, &member.of, &member.name, member.shape));
    }
    // An index that is too short is refused, whatever the bytes are.
    if let Ok(count @ 1..) = count(&bytes) {
        let mut index = vec![0; count - 1];
        assert_eq!(
            Btf::new(&bytes, &mut index).err(),
            Some(BtfError::Malformed)
        );
    }
}

/// Functions of any parameters, in the kernel's BTF or in a module's, right and spoilt: an event that is
/// made of one has a record in which each argument has its place, and texts that its readers take apart.
pub fn broken_prototypes_make_whole_events(source: &mut Source) {
    let (mut kernel, ..) = make(source);
    let mut module = vec![];
    let split = source.once_in(2);
    let mut made = Made {
        types: vec![],
        strings: vec![0],
    };
    let first = if split { count(&kernel).unwrap() } else { 0 } as u32;

    made.head("", PTR, 0, source.below(12) as u32);
    made.head("struct name", STRUCT, 0, source.number() as u32);
    let params = source.below(16) as u32;
    made.head("", FUNC_PROTO, params, 0);
    for number in 0..params {
        let at = match source.below(4) {
            0 => 0,
            1 => source.number() as u32,
            _ => made.name(&format!("a{number}")),
        };
        let ty = match source.below(3) {
            0 => first + 1,
            1 => source.below(12) as u32,
            _ => source.number() as u32,
        };
        made.types.extend([at, ty]);
    }
    made.head("f", FUNC, 0, first + 3);
    if split {
        module = made.bytes();
    } else {
        kernel = made.bytes();
    }
    let spoilt = source.once_in(2);
    if spoilt {
        source.spoil(if split { &mut module } else { &mut kernel });
    }

    assert_eq!(events_of(&kernel, &module), events_of(&kernel, &module));
}

/// The print formats of events of all functions.
fn events_of(kernel: &[u8], module: &[u8]) -> Result<Vec<String>, BtfError> {
    let mut index = vec![0; count(kernel)?];
    let mut own_index = vec![0; if module.is_empty() { 0 } else { count(module)? }];
    let kernel = Btf::new(kernel, &mut index)?;
    let btf = match module {
        [] => kernel,
        own => Btf::new(own, &mut own_index)?.of_module(&kernel),
    };
    let mut functions = vec![];
    btf.functions(|_, prototype| functions.push(prototype))?;
    let mut texts = vec![];
    for prototype in functions {
        let Ok(args) = Args::new(btf, prototype) else {
            continue;
        };
        let mut end = 8;
        for arg in args.iter() {
            let (offset, size) = (u32::from(arg.offset), u32::from(arg.size));
            assert!([1, 2, 4, 8].contains(&size) && offset % size == 0 && offset >= end);
            end = offset + size;
            let ty = arg.ty.to_string();
            assert!(ty
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_ *".contains(&b)));
        }
        assert!((end..end + 4).contains(&u32::from(args.record_size())));
        let mut text = String::new();
        args.write_print_fmt(&mut text).unwrap();
        let count = |what: &str| text.matches(what).count();
        assert_eq!(
            (count("%"), count(", REC->")),
            (args.iter().count(), args.iter().count())
        );
        assert_eq!(count("\""), 2);
        texts.push(text);
    }
    Ok(texts)
}
