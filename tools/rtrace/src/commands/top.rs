// SPDX-License-Identifier: GPL-2.0

//! `rtrace top`: how often events happen. An instance of its own counts them (`event-counts`); what
//! it records goes to the smallest buffer, which nobody reads.

use crate::args::Top;
use crate::commands::screen::Screen;
use crate::instance::{Definition, Instance};
use crate::output::{grouped, Colour, Output};
use crate::parse::counts::{self, Count, Losses};
use crate::parse::hist;
use crate::stop;
use crate::tree::Tree;
use anyhow::Result;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What is counted unless something else is asked for, as far as the kernel has it.
const USUAL: &[&str] = &[
    "sched",
    "irq",
    "timer",
    "raw_syscalls",
    "workqueue",
    "signal",
    "block",
    "net",
];
/// KiB of each CPU's buffer.
const SIZE: &str = "8";
/// Rows of a table that is no screen.
const ROWS: usize = 20;
/// How many tasks that waited long are shown.
const WORST: usize = 5;
/// The time between two looks at the keys and signals.
const STEP: Duration = Duration::from_millis(50);

/// An event in an interval.
pub struct Row {
    pub event: String,
    pub per_second: f64,
    pub total: Count,
}

/// What a CPU lost in an interval.
pub struct Loss {
    /// The folder of the instance, empty for the top one.
    pub instance: String,
    pub cpu: String,
    pub lost: u64,
}

/// A task that waited, in microseconds.
pub struct Wait {
    pub task: String,
    pub wakeups: u64,
    pub max: u64,
    pub p99: String,
}

/// What an interval had.
pub struct Table {
    pub seconds: f64,
    pub rows: Vec<Row>,
    pub losses: Vec<Loss>,
    pub waits: Option<Vec<Wait>>,
}

impl Table {
    pub fn per_second(&self) -> f64 {
        self.rows.iter().map(|row| row.per_second).sum()
    }

    fn object(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let per_second = (row.per_second * 10.0).round() / 10.0;
            json!({
                "event": row.event, "per_second": per_second, "total": row.total.hits,
                "refused": row.total.lost,
            })
        });
        let losses = self
            .losses
            .iter()
            .map(|loss| json!({"instance": loss.instance, "cpu": loss.cpu, "lost": loss.lost}));
        let mut value = json!({
            "seconds": self.seconds, "events": rows.collect::<Vec<_>>(),
            "losses": losses.collect::<Vec<_>>(),
        });
        if let Some(waits) = &self.waits {
            let waits = waits.iter().map(|wait| {
                json!({"task": wait.task, "wakeups": wait.wakeups, "max_us": wait.max, "p99_us": wait.p99})
            });
            value["waits"] = waits.collect();
        }
        value
    }
}

/// The counting instance.
struct Counter<'a> {
    instance: Instance<'a>,
    /// Goes after the instance, whose actions need it.
    waits: Option<Definition<'a>>,
    name: String,
    before: BTreeMap<String, Count>,
    losses: BTreeMap<(String, String), u64>,
    since: Instant,
}

impl<'a> Counter<'a> {
    fn new(tree: &'a Tree, top: &Top) -> Result<Self> {
        let name = format!("rtrace_wait_{}", std::process::id());
        let waits = match top.latency {
            false => None,
            true => {
                let line = format!("s:synthetic/{name} u64 us; char comm[16]");
                Some(Definition::new(tree, &line, &format!("synthetic/{name}"))?)
            }
        };
        let instance = Instance::new(tree, "top")?;
        let mut counter = Self {
            instance,
            waits,
            name,
            before: BTreeMap::new(),
            losses: BTreeMap::new(),
            since: Instant::now(),
        };
        counter.begin(top)?;
        Ok(counter)
    }

    fn begin(&mut self, top: &Top) -> Result<()> {
        let instance = &self.instance;
        instance.put("buffer_size_kb", SIZE)?;
        instance.put("options/event-counts", "1")?;
        instance.leave_self_out()?;
        if self.waits.is_some() {
            let name = &self.name;
            let actions = [
                (
                    "sched/sched_waking",
                    "hist:keys=pid:t0=common_timestamp.usecs".to_string(),
                ),
                (
                    "sched/sched_switch",
                    format!(
                        "hist:keys=next_pid:us=common_timestamp.usecs-$t0:\
                         onmatch(sched.sched_waking).{name}($us,next_comm)"
                    ),
                ),
                (
                    &format!("synthetic/{name}"),
                    "hist:keys=comm:vals=us.quantiles,us.max:sort=us.max.descending".to_string(),
                ),
            ];
            for (event, command) in actions {
                instance.put(&format!("events/{event}/trigger"), &command)?;
            }
        }
        if top.events.is_empty() {
            let tree = instance.tree();
            let there = |name: &&&str| tree.has(&format!("events/{name}"));
            let usual: Vec<String> = USUAL
                .iter()
                .filter(there)
                .map(|name| name.to_string())
                .collect();
            instance.enable(&usual)?;
        } else {
            instance.enable(&top.events)?;
        }
        self.losses = self.all_losses()?.collect();
        self.before = counts::events(&instance.get("event_counts")?);
        self.since = Instant::now();
        Ok(())
    }

    /// Returns what each CPU of each other instance lost so far.
    fn all_losses(&self) -> Result<impl Iterator<Item = ((String, String), u64)>> {
        let tree = self.instance.tree();
        let mut all = Vec::new();
        let others = tree
            .names("instances")
            .into_iter()
            .map(|name| format!("instances/{name}/"));
        for folder in std::iter::once(String::new()).chain(others) {
            if folder.contains("/rtrace-top-") {
                continue;
            }
            for cpu in tree.names(&format!("{folder}per_cpu")) {
                // An instance may go at any time.
                if let Ok(text) = tree.get(&format!("{folder}per_cpu/{cpu}/totals")) {
                    let folder = folder.trim_end_matches('/').to_string();
                    all.push(((folder, cpu), Losses::of(&text).all()));
                }
            }
        }
        Ok(all.into_iter())
    }

    /// Returns what happened since the last table.
    fn table(&mut self) -> Result<Table> {
        let now = counts::events(&self.instance.show("event_counts")?);
        let seconds = self.since.elapsed().as_secs_f64();
        self.since = Instant::now();
        let mut rows: Vec<Row> = now
            .iter()
            .map(|(event, total)| {
                let before = self.before.get(event).copied().unwrap_or_default();
                Row {
                    event: event.clone(),
                    per_second: total.since(before).hits as f64 / seconds,
                    total: *total,
                }
            })
            .collect();
        rows.sort_by(|a, b| {
            b.per_second
                .total_cmp(&a.per_second)
                .then(a.event.cmp(&b.event))
        });
        self.before = now;
        let all: BTreeMap<_, _> = self.all_losses()?.collect();
        let losses = all.iter().filter_map(|((instance, cpu), lost)| {
            let before = self
                .losses
                .get(&(instance.clone(), cpu.clone()))
                .copied()
                .unwrap_or(0);
            let lost = lost.saturating_sub(before);
            (lost > 0).then(|| Loss {
                instance: instance.clone(),
                cpu: cpu.clone(),
                lost,
            })
        });
        let losses = losses.collect();
        self.losses = all;
        Ok(Table {
            seconds,
            rows,
            losses,
            waits: self.waits()?,
        })
    }

    /// Returns the tasks that waited longest, and begins anew.
    fn waits(&self) -> Result<Option<Vec<Wait>>> {
        if self.waits.is_none() {
            return Ok(None);
        }
        let text = self
            .instance
            .show(&format!("events/synthetic/{}/hist_take", self.name))?;
        Ok(Some(waits(&text)))
    }
}

/// Returns the tasks of a histogram, the longest wait first.
fn waits(text: &str) -> Vec<Wait> {
    let lines = hist::lines(text);
    let mut waits: Vec<Wait> = lines
        .iter()
        .map(|line| {
            let value = |name: &str| {
                line.values
                    .iter()
                    .find(|(n, _)| n == name)
                    .map(|(_, v)| v.clone())
            };
            let number = |name: &str| value(name).and_then(|text| text.parse().ok()).unwrap_or(0);
            Wait {
                task: line
                    .key
                    .strip_prefix("comm: ")
                    .unwrap_or(&line.key)
                    .trim()
                    .to_string(),
                wakeups: number("hitcount"),
                max: number("us.max"),
                p99: value("us.p99")
                    .unwrap_or_default()
                    .trim_start_matches("~ ")
                    .to_string(),
            }
        })
        .collect();
    waits.sort_by(|a, b| b.max.cmp(&a.max));
    waits.truncate(WORST);
    waits
}

/// Writes a table as text.
fn plain(out: Output, table: &Table) -> Result<()> {
    let heading = format!(
        "{:<40} {:>12} {:>14} {:>9}",
        "EVENT", "PER SECOND", "TOTAL", "REFUSED"
    );
    out.line(&format!(
        "{} events a second in {:.1} s",
        grouped(table.per_second().round() as u64),
        table.seconds
    ))?;
    out.line(&out.paint(Colour::Bold, &heading))?;
    for row in table
        .rows
        .iter()
        .filter(|row| row.total.hits > 0)
        .take(ROWS)
    {
        out.line(&format!(
            "{:<40} {:>12.1} {:>14} {:>9}",
            row.event, row.per_second, row.total.hits, row.total.lost
        ))?;
    }
    for loss in &table.losses {
        let place = if loss.instance.is_empty() {
            "the top instance"
        } else {
            &loss.instance
        };
        let text = format!("{} of {place} lost {} events", loss.cpu, loss.lost);
        out.line(&out.paint(Colour::Red, &text))?;
    }
    if let Some(waits) = &table.waits {
        let heading = format!(
            "{:<40} {:>12} {:>14} {:>9}",
            "WAITED FOR A CPU", "WAKE-UPS", "99 % (us)", "MAX (us)"
        );
        out.line(&out.paint(Colour::Bold, &heading))?;
        for wait in waits {
            out.line(&format!(
                "{:<40} {:>12} {:>14} {:>9}",
                wait.task, wait.wakeups, wait.p99, wait.max
            ))?;
        }
    }
    out.line("")
}

/// Waits for the end of an interval. Returns whether to go on.
fn pause(interval: Duration, screen: &mut Option<Screen>) -> Result<bool> {
    let until = Instant::now() + interval;
    loop {
        if stop::asked().is_some() {
            return Ok(false);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(true);
        }
        match screen {
            Some(screen) => screen.keys(left.min(STEP))?,
            None => std::thread::sleep(left.min(STEP)),
        }
    }
}

/// Counts and shows. Returns the exit status.
pub fn run(tree: &Tree, out: Output, top: &Top) -> Result<u8> {
    let mut counter = Counter::new(tree, top)?;
    let has_screen = out.terminal && !out.json;
    // Goes before the counter, so that its messages are read.
    let mut screen = has_screen.then(Screen::new).transpose()?;
    let mut left = top.count;
    while left != Some(0) && pause(top.interval, &mut screen)? {
        let table = counter.table()?;
        match &mut screen {
            Some(screen) => screen.show(table)?,
            None if out.json => out.object(&table.object())?,
            None => plain(out, &table)?,
        }
        left = left.map(|left| left - 1);
    }
    Ok(stop::status().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_waits_come_first() {
        let text = "\
{ comm: sh            } hitcount:          3  us.p50: ~ 768-831  us.p90: 7  us.p99: ~ 5120-5631  us.p99.9: 7  us.max:       5277
{ comm: rcu_preempt   } hitcount:          4  us.p50: ~ 96-103  us.p90: 7  us.p99: 7  us.p99.9: 7  us.max:       9000
";
        let all = waits(text);
        let rows: Vec<_> = all
            .iter()
            .map(|w| (&w.task[..], w.wakeups, w.max, &w.p99[..]))
            .collect();
        assert_eq!(
            rows,
            [("rcu_preempt", 4, 9000, "7"), ("sh", 3, 5277, "5120-5631")]
        );
    }

    #[test]
    fn a_table_is_an_object() {
        let table = Table {
            seconds: 0.5,
            rows: vec![Row {
                event: "a:b".into(),
                per_second: 12.34,
                total: Count { hits: 6, lost: 1 },
            }],
            losses: Vec::new(),
            waits: None,
        };
        let value = table.object();
        assert_eq!(
            value["events"][0],
            json!({"event": "a:b", "per_second": 12.3, "total": 6, "refused": 1})
        );
        assert!(value.get("waits").is_none());
    }
}
