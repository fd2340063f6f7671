// SPDX-License-Identifier: GPL-2.0

//! `error_log`: which of its entries came with a write that was refused.

/// Returns the newest entry of `after`, without its time, if `before` does not end with it.
pub fn newest(before: &str, after: &str) -> Option<String> {
    let begin = after
        .match_indices('[')
        .map(|(at, _)| at)
        .filter(|at| *at == 0 || after[..*at].ends_with('\n'))
        .last()?;
    let entry = &after[begin..];
    if before.ends_with(entry) {
        return None;
    }
    let text = entry.split_once("] ").map_or(entry, |(_, text)| text);
    Some(text.trim_end_matches('\n').to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "[    5.524247] event filter parse error: error: Field not found
  Command: prev_stat == 0
                     ^
";
    const SECOND: &str = "[    6.000001] hist:sched:sched_switch: error: Couldn't find field
  Command: keys=x[0]
                ^
";

    #[test]
    fn the_entry_that_is_new_is_the_reason() {
        let log = format!("{FIRST}{SECOND}");
        let newest_entry = newest(FIRST, &log).expect("an entry");
        assert_eq!(
            newest_entry,
            "hist:sched:sched_switch: error: Couldn't find field\n  Command: keys=x[0]\n                ^"
        );
        assert!(newest("", FIRST)
            .expect("an entry")
            .starts_with("event filter parse error"));
    }

    #[test]
    fn an_old_entry_is_not_the_reason() {
        assert_eq!(newest(FIRST, FIRST), None);
        assert_eq!(newest("", ""), None);
    }
}
