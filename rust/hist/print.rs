// SPDX-License-Identifier: GPL-2.0

//! The line of a `hist` trigger, which the parser reads again, and the text of its histogram.

use super::{
    expr::{
        Atom,
        ExprNode,
        ExprSource, //
        Modifier,
    },
    plan::{
        Plan,
        SortField, //
    },
    sort::{
        Rows,
        SortItem,
        SortRow, //
    },
    tally::{
        range,
        Tally,
        MOST_VALUES,
        QUANTILES, //
    }, //
};
use crate::text::{
    piece::Piece,
    writer::ByteWrite, //
};
use core::{
    fmt,
    str, //
};

/// What addresses and numbers of system calls are called.
pub(crate) trait HistNames {
    /// Calls `show` with the name of an address, with its offset in the function if `offset`; of one that
    /// has no name with the number.
    fn symbol(
        &self,
        address: u64,
        offset: bool,
        show: &mut dyn FnMut(&str) -> fmt::Result,
    ) -> fmt::Result;
    /// Calls `show` with the name of a system call, if it has one.
    fn syscall(
        &self,
        number: u64,
        show: &mut dyn FnMut(Option<&str>) -> fmt::Result,
    ) -> fmt::Result;
}

/// The largest value of a sum, and all of them together.
#[derive(Clone, Copy, Default)]
struct Stat {
    max: u64,
    total: u64,
}

/// Characters of a bar.
const BAR: usize = 20;
const BARS: &str = "####################";

/// A trigger, as its file shows it.
pub(crate) struct HistLine<'a> {
    pub(crate) plan: &'a Plan,
    /// Its command, without the filter.
    pub(crate) text: &'a [u8],
    pub(crate) filter: Option<&'a [u8]>,
    pub(crate) paused: bool,
}

/// Returns hundredths of a percent, as many as ftrace's word of them has. `None` if there are none.
fn percentage(value: u64, total: u64) -> Option<u32> {
    const WHOLE: u64 = 10_000;
    let part = match value < u64::MAX / WHOLE {
        true => value.saturating_mul(WHOLE).checked_div(total),
        false => value.checked_div(total / WHOLE),
    };
    let part = part.or(if value == 0 { Some(0) } else { None });
    // The largest one stands for an error there.
    part.map(|part| part as u32)
        .filter(|part| *part != u32::MAX)
}

impl Plan {
    /// Returns what is left of `item` after a field as the line shows it, if it begins with that.
    pub(super) fn strip_field<'i>(
        &self,
        node: u8,
        text: &[u8],
        item: &'i [u8],
    ) -> Option<&'i [u8]> {
        let mut rest = PrefixMatch(Some(item));
        self.write_field(node, text, &mut rest).ok()?;
        rest.0
    }

    /// Returns whether a field has this name in entries.
    pub(super) fn is_called(&self, node: u8, text: &[u8], name: &[u8]) -> bool {
        let mut rest = PrefixMatch(Some(name));
        let _ = self.write_label(node, text, &mut rest);
        rest.0 == Some(&[])
    }

    /// Writes what a key or a value is called in entries.
    pub(super) fn write_label(
        &self,
        node: u8,
        text: &[u8],
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        match self.nodes.get(node) {
            ExprNode::Atom(atom) => {
                out.write_bytes(label(&atom, text))?;
                match atom.modifier.name().filter(|_| atom.modifier.is_tally()) {
                    Some(name) => write!(out, ".{name}"),
                    None => Ok(()),
                }
            }
            _ => self.write_expression(node, text, out),
        }
    }

    /// Writes the keys as the line has them.
    pub(crate) fn write_keys(&self, text: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
        let mut separator = "";
        for key in self.keys() {
            out.write_str(separator)?;
            self.write_field(key.node, text, out)?;
            separator = ",";
        }
        Ok(())
    }

    /// Writes what it is called in the line.
    fn write_field(&self, node: u8, text: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
        match self.nodes.get(node) {
            ExprNode::Atom(atom) => {
                match atom.source {
                    ExprSource::Constant(value) => write!(out, "{value}")?,
                    ExprSource::Cpu => out.write_str("common_cpu")?,
                    ExprSource::Comm if atom.modifier != Modifier::Execname => {
                        out.write_str("common_comm")?;
                    }
                    ExprSource::Stack => return out.write_str("common_stacktrace"),
                    ExprSource::StackAt(_) => {
                        out.write_bytes(atom.name.text(text))?;
                        return out.write_str(".stacktrace");
                    }
                    _ => out.write_bytes(atom.name.text(text))?,
                }
                write_modifier(&atom, out)
            }
            _ => self.write_expression(node, text, out),
        }
    }

    fn write_expression(&self, node: u8, text: &[u8], out: &mut dyn ByteWrite) -> fmt::Result {
        match self.nodes.get(node) {
            ExprNode::Atom(atom) => {
                match atom.source {
                    ExprSource::Constant(value) => write!(out, "{value}")?,
                    _ => out.write_bytes(atom.name.text(text))?,
                }
                write_modifier(&atom, out)
            }
            ExprNode::Binary(op, left, right) => {
                self.write_expression(left, text, out)?;
                out.write_char(op.sign())?;
                self.write_expression(right, text, out)
            }
            ExprNode::Negated(operand) => {
                out.write_str("-(")?;
                self.write_expression(operand, text, out)?;
                out.write_str(")")
            }
        }
    }

    pub(super) fn write_key(
        &self,
        text: &[u8],
        row: SortRow<'_>,
        names: &dyn HistNames,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let mut stack = false;
        out.write_str("{ ")?;
        for (index, key) in self.keys().iter().enumerate() {
            if index != 0 {
                out.write_str(", ")?;
            }
            let words = key.part(row.key);
            let value = words.first().copied().unwrap_or(0);
            let atom = self.nodes.atom(key.node);
            let source = atom.map(|atom| atom.source);
            if let Some(source @ (ExprSource::Stack | ExprSource::StackAt(_))) = source {
                stack = true;
                self.write_field(key.node, text, out)?;
                // As in ftrace: the first caller of a field is in its line.
                if source == ExprSource::Stack {
                    out.write_str(":\n")?;
                }
                for address in words.iter().take_while(|word| **word != 0) {
                    names.symbol(*address, true, &mut |name| writeln!(out, "{:9}{name}", ""))?;
                }
                continue;
            }
            self.write_label(key.node, text, out)?;
            out.write_str(": ")?;
            match atom.map_or(Modifier::None, |atom| atom.modifier) {
                Modifier::Hex => write!(out, "{value:x}")?,
                Modifier::Signed => write!(out, "{:10}", value as i64)?,
                Modifier::Sym => {
                    write!(out, "[{value:x}] ")?;
                    names.symbol(value, false, &mut |name| write!(out, "{name:<45}"))?;
                }
                Modifier::SymOffset => {
                    write!(out, "[{value:x}] ")?;
                    names.symbol(value, true, &mut |name| write!(out, "{name:<55}"))?;
                }
                Modifier::Execname => {
                    write_text(row.note, 16, out)?;
                    write!(out, "[{value:10}]")?;
                }
                Modifier::Syscall => names.syscall(value, &mut |name| {
                    let name = name.unwrap_or("unknown_syscall");
                    write!(out, "{name:<30}[{value:3}]")
                })?,
                Modifier::Log2 => write!(out, "~ 2^{value:<2}")?,
                Modifier::Buckets(divisor) => {
                    let last = value.wrapping_add(divisor).wrapping_sub(1);
                    write!(out, "~ {value}-{last}")?;
                }
                _ if matches!(source, Some(ExprSource::Text(_) | ExprSource::Comm)) => {
                    write_text(words, 50, out)?;
                }
                _ => write_right("", value, out)?,
            }
        }
        out.write_str(if stack { "}" } else { " }" })
    }

    fn write_value(
        &self,
        (node, value, stat): (u8, u64, Stat),
        text: &[u8],
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let Some(atom) = self.nodes.atom(node) else {
            // As in ftrace: what an expression adds up can be sorted by.
            return Ok(());
        };
        out.write_str("  ")?;
        out.write_bytes(label(&atom, text))?;
        match atom.modifier {
            Modifier::Percent => match percentage(value, stat.total) {
                None => out.write_str(" (%):[ERROR]"),
                Some(part) => write!(out, " (%): {:3}.{:02}", part / 100, part % 100),
            },
            Modifier::Graph => {
                let part = percentage(value, stat.max);
                let len = |part: u32| part.wrapping_mul(BAR as u32) as usize / 10_000;
                let bar = part.map(len);
                let bar = bar.map_or("[ERROR]", |len| BARS.get(..len.min(BAR)).unwrap_or(BARS));
                match part {
                    None => write!(out, ": {bar:>BAR$}"),
                    Some(_) => write!(out, ": {bar:<BAR$}"),
                }
            }
            Modifier::Hex => write!(out, ": {value:10x}"),
            Modifier::Signed => write!(out, ": {:10}", value as i64),
            _ => write_right(": ", value, out),
        }
    }

    /// Writes what a row has of a value that is no sum.
    fn write_tally(
        &self,
        (node, tally): (u8, Tally),
        value: &[u64],
        text: &[u8],
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        if !tally.is_quantiles() {
            out.write_str("  ")?;
            self.write_label(node, text, out)?;
            out.write_str(": ")?;
            return tally.write_number(value, 10, out);
        }
        let atom = self.nodes.atom(node);
        let name = atom.map(|atom| label(&atom, text)).unwrap_or_default();
        for ((_, part), bucket) in QUANTILES.iter().zip(value) {
            let (first, last) = range(*bucket);
            out.write_str("  ")?;
            out.write_bytes(name)?;
            match first == last {
                true => write!(out, ".{part}: {first}")?,
                false => write!(out, ".{part}: ~ {first}-{last}")?,
            }
        }
        Ok(())
    }

    fn stats(&self, rows: Rows<'_>) -> [Stat; MOST_VALUES] {
        let mut stats = [Stat::default(); MOST_VALUES];
        for (index, (stat, node)) in stats.iter_mut().zip(self.values()).enumerate() {
            let modifier = self.nodes.atom(*node).map(|atom| atom.modifier);
            if !matches!(modifier, Some(Modifier::Percent | Modifier::Graph)) {
                continue;
            }
            for row in 0..rows.len() as u32 {
                let sum = self.row_value(rows.row(row), index).first().copied();
                let value = sum.unwrap_or(0);
                stat.max = stat.max.max(value);
                stat.total = stat.total.wrapping_add(value);
            }
        }
        stats
    }

    /// Writes the entries, in this order.
    pub(crate) fn write_rows(
        &self,
        text: &[u8],
        (rows, order): (Rows<'_>, &[SortItem]),
        names: &dyn HistNames,
        out: &mut dyn ByteWrite,
    ) -> fmt::Result {
        let stats = self.stats(rows);
        for row in order {
            let row = rows.row(row.row());
            self.write_key(text, row, names, out)?;
            let hits = row.sums.first().copied().unwrap_or(0);
            if !self.no_hitcount {
                write_right(" hitcount: ", hits, out)?;
            }
            let mut index = 0usize;
            for (node, stat) in self.values().iter().zip(stats) {
                let value = self.row_value(row, index);
                match self.tallies.shown(index) {
                    Some((tally, _)) if tally.is_no_sum() => {
                        self.write_tally((*node, tally), value, text, out)?;
                    }
                    _ => {
                        let sum = value.first().copied().unwrap_or(0);
                        self.write_value((*node, sum, stat), text, out)?;
                    }
                }
                index = index.saturating_add(1);
            }
            self.write_kept(text, row, out)?;
            out.write_str("\n")?;
        }
        Ok(())
    }
}

/// Writes a short text, and a number that is aligned to the right in ten columns: most of what entries have, which
/// are many.
fn write_right(before: &str, number: u64, out: &mut dyn ByteWrite) -> fmt::Result {
    let mut piece = Piece::new();
    piece.bytes_of(before.as_bytes())?;
    piece.right(number, 10)?;
    piece.write_to(out)
}

/// Returns what an atom is called in entries: a reference by the name of its variable.
fn label<'t>(atom: &Atom, text: &'t [u8]) -> &'t [u8] {
    let name = atom.name.text(text);
    name.rsplit(|byte| *byte == b'$').next().unwrap_or_default()
}

fn write_modifier(atom: &Atom, out: &mut dyn ByteWrite) -> fmt::Result {
    if let Some(name) = atom.modifier.name() {
        write!(out, ".{name}")?;
    }
    match atom.modifier {
        Modifier::Buckets(divisor) => write!(out, "={divisor}"),
        _ => Ok(()),
    }
}

/// Writes the string that words have, with blanks up to `width` bytes.
pub(super) fn write_text(words: &[u64], width: usize, out: &mut dyn ByteWrite) -> fmt::Result {
    let mut len = 0usize;
    'words: for word in words {
        for byte in word.to_le_bytes() {
            if byte == 0 {
                break 'words;
            }
            out.write_bytes(&[byte])?;
            len = len.saturating_add(1);
        }
    }
    write!(out, "{:1$}", "", width.saturating_sub(len))
}

impl HistLine<'_> {
    /// Writes the line.
    pub(crate) fn write_text(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        self.write_command(out)?;
        out.write_str(match self.paused {
            true => " [paused]\n",
            false => " [active]\n",
        })
    }

    /// Writes what of the line is the command.
    pub(super) fn write_command(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        let (plan, text) = (self.plan, self.text);
        out.write_str("hist:")?;
        if let Some(name) = plan.name {
            out.write_bytes(name.text(text))?;
            out.write_str(":")?;
        }
        out.write_str("keys=")?;
        plan.write_keys(text, out)?;
        out.write_str(":vals=")?;
        let mut separator = "";
        if !plan.no_hitcount {
            out.write_str("hitcount")?;
            separator = ",";
        }
        for node in plan.values() {
            out.write_str(separator)?;
            separator = ",";
            plan.write_field(*node, text, out)?;
        }
        for (index, variable) in plan.variables().iter().enumerate() {
            out.write_str(if index == 0 { ":" } else { "," })?;
            out.write_bytes(variable.name.text(text))?;
            out.write_str("=")?;
            plan.write_field(variable.node, text, out)?;
        }
        out.write_str(":sort=")?;
        for (index, key) in plan.sorts().iter().enumerate() {
            out.write_str(if index == 0 { "" } else { "," })?;
            let node = match key.field {
                SortField::HitCount => None,
                SortField::Value(at) => plan.values().get(usize::from(at)).copied(),
                SortField::Key(at) => plan.keys().get(usize::from(at)).map(|key| key.node),
            };
            match node {
                None => out.write_str("hitcount")?,
                Some(node) => plan.write_field(node, text, out)?,
            }
            match key.top {
                Some(most) => write!(out, ".top={most}")?,
                None if key.descending => out.write_str(".descending")?,
                None => {}
            }
        }
        match plan.grows {
            true => out.write_str(":size=auto")?,
            false => write!(out, ":size={}", 1u64.wrapping_shl(plan.size_bits))?,
        }
        if plan.timestamps {
            out.write_str(":clock=")?;
            match plan.clock {
                Some(clock) => out.write_bytes(clock.text(text))?,
                None => out.write_str("global")?,
            }
        }
        if plan.no_hitcount {
            out.write_str(":nohitcount")?;
        }
        for action in plan.actions(text) {
            out.write_char(':')?;
            action.write_text(out)?;
        }
        if let Some(filter) = self.filter {
            out.write_str(" if ")?;
            out.write_bytes(filter)?;
        }
        Ok(())
    }

    /// Writes what comes before the entries of the histogram.
    pub(crate) fn write_head(&self, out: &mut dyn ByteWrite) -> fmt::Result {
        out.write_str("# event histogram\n#\n# trigger info: ")?;
        self.write_text(out)?;
        out.write_str("#\n\n")
    }
}

/// Writes what comes after the entries.
pub(crate) fn write_totals(
    (hits, drops): (u64, u64),
    entries: usize,
    out: &mut dyn ByteWrite,
) -> fmt::Result {
    writeln!(
        out,
        "\nTotals:\n    Hits: {hits}\n    Entries: {entries}\n    Dropped: {drops}"
    )
}

/// Compares what is written with the beginning of a text, and keeps the rest of it; `None` if it differs.
struct PrefixMatch<'a>(Option<&'a [u8]>);

impl fmt::Write for PrefixMatch<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_bytes(text.as_bytes())
    }
}

impl ByteWrite for PrefixMatch<'_> {
    fn write_bytes(&mut self, bytes: &[u8]) -> fmt::Result {
        // As `command::hide_operators` has left it.
        let bytes = match bytes {
            b"sym-offset" => b"symXoffset",
            bytes => bytes,
        };
        self.0 = self.0.and_then(|rest| rest.strip_prefix(bytes));
        Ok(())
    }
}
