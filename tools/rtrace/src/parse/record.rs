// SPDX-License-Identifier: GPL-2.0

//! A line of `trace_pipe_json`.

use serde::Deserialize;
use serde_json::{Map, Value};

/// An event, or the number of events that were lost before the next one of the CPU.
#[derive(Debug, Deserialize)]
pub struct Record {
    pub cpu: u32,
    pub lost: Option<u64>,
    /// Nanoseconds, unless the clock counts something else.
    #[serde(default)]
    pub ts: u64,
    #[serde(default)]
    pub comm: String,
    #[serde(default)]
    pub pid: i64,
    pub tgid: Option<i64>,
    #[serde(default)]
    pub flags: String,
    #[serde(default)]
    pub system: String,
    #[serde(default)]
    pub event: String,
    /// The number of an event that has no name.
    pub r#type: Option<u64>,
    #[serde(default)]
    pub fields: Map<String, Value>,
}

impl Record {
    /// Returns what a line says.
    pub fn of(line: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
    }

    /// Returns a field that is a number.
    pub fn number(&self, field: &str) -> Option<i64> {
        self.fields.get(field)?.as_i64()
    }

    /// Returns a field that is a text.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_its_fields() {
        let line = r#"{"cpu":1,"ts":17284993652999,"comm":"bash","pid":1977,"flags":"d..2.","system":"sched","event":"sched_waking","fields":{"comm":"cat","pid":131,"prio":120,"target_cpu":1}}"#;
        let record = Record::of(line).expect("an event");
        assert_eq!(
            (record.cpu, record.ts, record.pid),
            (1, 17284993652999, 1977)
        );
        assert_eq!(
            (record.number("pid"), record.text("comm")),
            (Some(131), Some("cat"))
        );
        assert_eq!((record.lost, record.tgid), (None, None));
    }

    #[test]
    fn an_event_without_a_name_has_a_number() {
        let record = Record::of(r#"{"cpu":0,"ts":5,"flags":".....","type":77}"#).expect("an event");
        assert_eq!((record.r#type, &record.event[..]), (Some(77), ""));
        assert_eq!(record.flags, ".....");
    }

    #[test]
    fn a_loss_is_a_line_of_its_own() {
        let record = Record::of(r#"{"cpu":0,"lost":17}"#).expect("a loss");
        assert_eq!(record.lost, Some(17));
        assert!(Record::of("{").is_err());
    }
}
