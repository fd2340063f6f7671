// SPDX-License-Identifier: GPL-2.0

//! The tables of `rtguest bench`: printed row by row, and kept for programs.

use std::fmt::Write as _;

/// What the two tracers are compared in.
pub struct Row {
    part: &'static str,
    name: String,
    context: &'static str,
    unit: &'static str,
    ftrace: Option<f64>,
    /// Of a third one.
    peer: Option<f64>,
    rtrace: Option<f64>,
    /// Whether all runs agreed. `None`: the smallest of many is shown.
    same: Option<bool>,
}

impl Row {
    /// Without numbers, of a task that may be interrupted, in instructions.
    pub fn new(name: &str) -> Self {
        Row {
            part: "",
            name: name.into(),
            context: "task",
            unit: "instructions",
            ftrace: None,
            peer: None,
            rtrace: None,
            same: None,
        }
    }

    pub fn context(self, context: &'static str) -> Self {
        Row { context, ..self }
    }

    pub fn unit(self, unit: &'static str) -> Self {
        Row { unit, ..self }
    }

    pub fn same(self, same: bool) -> Self {
        Row {
            same: Some(same),
            ..self
        }
    }

    pub fn both(self, ftrace: f64, rtrace: f64) -> Self {
        let (ftrace, rtrace) = (Some(ftrace), Some(rtrace));
        Row {
            ftrace,
            rtrace,
            ..self
        }
    }

    /// A number without a counterpart in ftrace.
    pub fn own(self, number: f64) -> Self {
        let rtrace = Some(number);
        Row { rtrace, ..self }
    }

    /// A number without a counterpart in rtrace.
    pub fn kernel(self, number: f64) -> Self {
        let ftrace = Some(number);
        Row { ftrace, ..self }
    }

    /// A number of a third one.
    pub fn peer(self, number: f64) -> Self {
        let peer = Some(number);
        Row { peer, ..self }
    }
}

/// Returns a number with `digits` digits after the point, or nothing.
fn shown(number: Option<f64>, digits: usize) -> String {
    number.map_or_else(|| "-".into(), |n| format!("{n:.digits$}"))
}

#[derive(Default)]
pub struct Table {
    part: &'static str,
    rows: Vec<Row>,
}

impl Table {
    /// The rows that follow are of `part`, and compare rtrace with ftrace.
    pub fn begin(&mut self, part: &'static str, title: &str) {
        self.begin_with(part, title, "ftrace");
    }

    /// As [`Self::begin`], with another one in ftrace's place.
    pub fn begin_with(&mut self, part: &'static str, title: &str, other: &str) {
        self.part = part;
        println!(
            "\n{title}\n{:<48} {:<9} {other:>10} {:>10} {:>7}",
            "", "context", "rtrace", "ratio"
        );
    }

    /// Keeps a row and prints it.
    pub fn add(&mut self, row: Row) {
        let ratio = row
            .ftrace
            .zip(row.rtrace)
            .map(|(ftrace, rtrace)| rtrace / ftrace);
        let ratio = ratio.filter(|ratio| ratio.is_finite());
        println!(
            "{:<48} {:<9} {:>10} {:>10} {:>7}{}",
            row.name,
            row.context,
            shown(row.ftrace.or(row.peer), 2),
            shown(row.rtrace, 2),
            shown(ratio, 3),
            match row.same {
                Some(false) => "  the runs differ",
                _ => "",
            }
        );
        self.rows.push(Row {
            part: self.part,
            ..row
        });
    }

    /// All rows for programs.
    pub fn json(&self) -> String {
        let number = |n: Option<f64>| n.map_or_else(|| "null".into(), |n| format!("{n:.3}"));
        let mut text = String::from("{\"rows\": [\n");
        for (index, row) in self.rows.iter().enumerate() {
            let comma = if index + 1 < self.rows.len() { "," } else { "" };
            let _ = writeln!(
                text,
                "  {{\"part\": \"{}\", \"name\": \"{}\", \"context\": \"{}\", \"unit\": \"{}\", \
                 \"ftrace\": {}, \"peer\": {}, \"rtrace\": {}, \"same\": {}}}{comma}",
                row.part,
                row.name,
                row.context,
                row.unit,
                number(row.ftrace),
                number(row.peer),
                number(row.rtrace),
                row.same.map_or("null".into(), |same| same.to_string()),
            );
        }
        text + "]}\n"
    }
}
