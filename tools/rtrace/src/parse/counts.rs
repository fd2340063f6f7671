// SPDX-License-Identifier: GPL-2.0

//! `event_counts`, and `totals` of a CPU: numbers that only grow.

use std::collections::BTreeMap;

/// How often an event was recorded, and how often refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub hits: u64,
    pub lost: u64,
}

impl Count {
    /// Returns what was added since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            hits: self.hits.saturating_sub(before.hits),
            lost: self.lost.saturating_sub(before.lost),
        }
    }
}

/// Returns the count of each event of `event_counts`.
pub fn events(text: &str) -> BTreeMap<String, Count> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let name = words.next()?.to_string();
            let hits = words.next()?.parse().ok()?;
            let lost = words.next()?.parse().ok()?;
            Some((name, Count { hits, lost }))
        })
        .collect()
}

/// What a CPU lost, of `stats` or `totals`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    pub overrun: u64,
    pub commit_overrun: u64,
    pub dropped: u64,
    /// What the buffer says of itself if it does not hold what it promises.
    pub broken: bool,
}

impl Losses {
    /// Returns the number of `overrun: 12` and so on.
    pub fn of(text: &str) -> Self {
        let number = |name: &str| {
            let prefix = format!("{name}: ");
            let line = text.lines().find_map(|line| line.strip_prefix(&prefix));
            line.and_then(|number| number.trim().parse().ok())
                .unwrap_or(0)
        };
        Self {
            overrun: number("overrun"),
            commit_overrun: number("commit overrun"),
            dropped: number("dropped events"),
            broken: text.lines().any(|line| line.starts_with("broken")),
        }
    }

    pub fn all(self) -> u64 {
        self.overrun
            .saturating_add(self.commit_overrun)
            .saturating_add(self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_a_name_and_two_numbers() {
        let text = "raw_syscalls:sys_exit 688 0\nsched:sched_switch 12 3\nnot a count\n";
        let all = events(text);
        assert_eq!(all.len(), 2);
        assert_eq!(all["sched:sched_switch"], Count { hits: 12, lost: 3 });
        let before = Count { hits: 10, lost: 3 };
        assert_eq!(
            all["sched:sched_switch"].since(before),
            Count { hits: 2, lost: 0 }
        );
        // Counting began anew.
        assert_eq!(Count::default().since(before), Count::default());
    }

    #[test]
    fn losses_are_told_apart() {
        let text =
            "entries: 409\noverrun: 673\ncommit overrun: 5\nbytes: 1\noldest event ts:     5.08\n\
                    now ts:     5.1\ndropped events: 7\nread events: 0\n";
        let losses = Losses::of(text);
        assert_eq!(
            (losses.overrun, losses.commit_overrun, losses.dropped),
            (673, 5, 7)
        );
        assert_eq!(losses.all(), 685);
        assert!(!losses.broken);
        assert!(Losses::of("broken: I4, 3 refused\n").broken);
    }
}
