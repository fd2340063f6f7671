// SPDX-License-Identifier: GPL-2.0
//! What the options for looking at records make of them: numbers, delays, stacks, fields.

use std::fmt;

use super::{
    printers::print,
    source::Source, //
};
use crate::event::{
    field::{
        DeclaredField,
        Field, //
    },
    values, //
};
use crate::text::{
    clock::ClockId,
    form::{
        Form,
        Origin, //
    },
    latency::{
        self,
        Moment, //
    },
    options::OptionSet,
    stack,
    writer::ByteWrite, //
};

/// Finds no names.
struct Nameless;

impl stack::SymbolNames for Nameless {
    fn write_name(
        &mut self,
        _address: u64,
        _parts: stack::NameExtent,
        _out: &mut dyn ByteWrite,
    ) -> Result<bool, fmt::Error> {
        Ok(false)
    }

    fn is_return_probe(&self, _address: u64) -> bool {
        false
    }
}

impl values::KernelValues for Nameless {
    fn write_symbol(&mut self, address: u64, w: &mut dyn ByteWrite) -> fmt::Result {
        write!(w, "{address:#x}")
    }

    fn code_begin(&self) -> u64 {
        u64::MAX
    }

    fn write_string(&mut self, _address: u64, _w: &mut dyn ByteWrite) -> fmt::Result {
        Ok(())
    }
}

pub fn stacks(source: &mut Source) {
    let record = source.bytes(120);
    let options = OptionSet::from_bits(source.next());
    let found = print(source, record.len() * 6 + 60, |out| {
        stack::write_callers(&record, options, &mut Nameless, out)
    });
    let lines = String::from_utf8(found).unwrap().lines().count();

    assert_eq!(lines, 1 + stack::callers(&record).count());
    let user = stack::user_callers(&record);
    let used = user.iter().take_while(|address| **address != 0).count();
    assert!(user[used..].iter().all(|address| *address == 0));
}

pub fn origins(source: &mut Source) {
    let options = OptionSet::from_bits(source.next());
    let origin = Origin {
        pid: source.next() as i32,
        cpu: source.next() as u32,
        stamp: source.number(),
    };
    let form = Form::of(options);
    let found = print(source, 60, |out| origin.write(form, out));

    match form {
        Form::Text => assert_eq!(found, b""),
        Form::Bin => assert_eq!(found.len(), 16),
        Form::Hex => assert_eq!(found.len(), 35),
        Form::Raw => {
            let text = format!("{} {} {} ", origin.pid, origin.cpu, origin.stamp);
            assert_eq!(found, text.as_bytes());
        }
    }
}

pub fn latencies(source: &mut Source) {
    let comm = source.bytes(16);
    let prefix = latency::LatencyPrefix {
        comm: &comm,
        pid: source.next() as i32,
        cpu: source.next() as u32,
        columns: *b".....",
        flags: source.next() as u8,
        depth: source.next() as u8,
        number: source.number(),
        moment: Moment {
            stamp: source.number(),
            next: source.number(),
            begin: source.number(),
            clock: *source.pick(ClockId::ALL),
        },
    };
    let verbose = source.once_in(2);
    let found = print(source, 200, |out| prefix.write_text(verbose, out));

    assert!(found.ends_with(b": "));
    assert!(found.len() >= if verbose { 60 } else { 30 });
}

/// Fields of any type and size, in a record of any bytes.
pub fn field_values(source: &mut Source) {
    const TYPES: [&str; 8] = [
        "int",
        "char[4]",
        "__data_loc char[]",
        "__rel_loc char[]",
        "__data_loc u8[]",
        "__rel_loc u8[]",
        "const char *",
        "__data_loc cpumask_t[]",
    ];
    let record = source.bytes(60);
    let mut fields = Vec::new();
    for _ in 0..source.below(5) {
        let ty = *source.pick(&TYPES);
        let size = *source.pick(&[1, 2, 4, 8, 3, 0, 40, u32::MAX]);
        fields.push(Field {
            declared: DeclaredField {
                ty,
                name: "f",
                size,
                align: 1,
                len: 0,
                signed: false,
            },
            offset: *source.pick(&[0, 8, 50, 59, 60, u32::MAX]),
        });
    }
    let found = print(source, record.len() * 30 + 200, |mut out| {
        values::write_fields(&record, fields.iter().copied(), &mut Nameless, &mut out)
    });

    assert!(found.ends_with(b"\n"));
}
