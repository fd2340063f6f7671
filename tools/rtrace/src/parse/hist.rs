// SPDX-License-Identifier: GPL-2.0

//! Histograms: the lines of `hist_json`, and the text of `hist_take`.

use crate::parse::symbol;
use serde_json::Value;

/// The sums of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub hits: u64,
    pub entries: u64,
    pub dropped: u64,
}

/// Returns the entries of `hist_json`, and the sums of its last line.
pub fn entries(text: &str) -> (Vec<Value>, Totals) {
    let mut entries = Vec::new();
    let mut totals = Totals::default();
    for line in text.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if value.get("keys").is_some() {
            entries.push(value);
        } else if let Some(hits) = value.get("hits").and_then(Value::as_u64) {
            let number = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0);
            totals = Totals {
                hits,
                entries: number("entries"),
                dropped: number("dropped"),
            };
        }
    }
    (entries, totals)
}

/// Returns a name as a part of a folded stack, in which `;` and blanks mean something.
fn part(name: &str) -> String {
    name.replace([';', ' '], "_")
}

/// Returns an entry with the keys `common_comm` and `common_stacktrace` as a line of a folded stack, the
/// outermost function first. The weight is the hits, or that value; None if it is below 0.
pub fn folded(entry: &Value, value: Option<&str>) -> Option<String> {
    let keys = entry.get("keys")?;
    let weight = match value {
        None => entry.get("hitcount")?.as_u64()?,
        Some(name) => entry.get("values")?.get(name)?.as_u64()?,
    };
    let stack = keys.get("common_stacktrace")?.as_array()?;
    let mut names: Vec<String> = keys
        .get("common_comm")
        .and_then(Value::as_str)
        .map(part)
        .into_iter()
        .collect();
    let functions = stack.iter().rev().filter_map(Value::as_str);
    names.extend(functions.map(|symbol| part(symbol::function(symbol))));
    Some(format!("{} {weight}", names.join(";")))
}

/// An entry of a histogram as text: its keys, and its values by name.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    pub key: String,
    pub values: Vec<(String, String)>,
}

/// Returns the entries in the text of `hist` or `hist_take`: `{ comm: sh } hitcount: 3  us.max: 52`.
pub fn lines(text: &str) -> Vec<Line> {
    text.lines()
        .filter_map(|line| {
            let (key, rest) = line.strip_prefix("{ ")?.split_once(" }")?;
            let mut values = Vec::new();
            let mut words = rest.split_whitespace().peekable();
            while let Some(name) = words.next().and_then(|word| word.strip_suffix(':')) {
                let mut value = Vec::new();
                while let Some(word) = words.next_if(|word| !word.ends_with(':')) {
                    value.push(word);
                }
                values.push((name.to_string(), value.join(" ")));
            }
            Some(Line {
                key: key.trim().to_string(),
                values,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"trigger":"hist:keys=common_comm,common_stacktrace:vals=bytes_alloc","active":true}
{"keys":{"common_comm":"my; sh","common_stacktrace":["kmalloc+0x12/0x40","vfs_read+0x1/0x2","entry"]},"hitcount":3,"values":{"bytes_alloc":96}}
{"hits":4,"entries":1,"dropped":1}
"#;

    #[test]
    fn entries_are_told_from_the_lines_around_them() {
        let (entries, totals) = entries(JSON);
        assert_eq!(entries.len(), 1);
        let all = Totals {
            hits: 4,
            entries: 1,
            dropped: 1,
        };
        assert_eq!(totals, all);
    }

    #[test]
    fn a_stack_is_folded_with_its_outermost_function_first() {
        let (entries, _) = entries(JSON);
        let by_hits = folded(&entries[0], None).expect("a line");
        assert_eq!(by_hits, "my__sh;entry;vfs_read;kmalloc 3");
        let by_bytes = folded(&entries[0], Some("bytes_alloc")).expect("a line");
        assert!(by_bytes.ends_with(" 96"));
        assert_eq!(folded(&entries[0], Some("nothing")), None);
        let (below, _) = super::entries(&JSON.replace("\"bytes_alloc\":96", "\"bytes_alloc\":-96"));
        assert_eq!(folded(&below[0], Some("bytes_alloc")), None);
    }

    #[test]
    fn a_line_has_its_key_and_its_values_by_name() {
        let text = "# event histogram\n\n{ comm: sh        } hitcount:          3  us.p99: ~ 5120-5631  us.max:       5277\n\nTotals:\n    Hits: 15\n";
        let all = lines(text);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].key, "comm: sh");
        let values: Vec<_> = all[0]
            .values
            .iter()
            .map(|(n, v)| (&n[..], &v[..]))
            .collect();
        assert_eq!(
            values,
            [
                ("hitcount", "3"),
                ("us.p99", "~ 5120-5631"),
                ("us.max", "5277")
            ]
        );
    }
}
