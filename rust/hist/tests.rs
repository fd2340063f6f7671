// SPDX-License-Identifier: GPL-2.0

//! The whole way from a command to the text of its histogram, with the events and the texts that were seen
//! in ftrace.

use super::{
    command,
    error::{
        HistErrno,
        HistErrorKind, //
    },
    key::{
        comm_words,
        log2,
        with_ended_key,
        with_name_key,
        KeyEnv,
        NameKey, //
    },
    keys::MOST_WORDS,
    load::{
        LoadedWord,
        NumberLoad,
        WordStep, //
    },
    plan::{
        Plan,
        COMM, //
    },
    print::HistLine,
    sort::{
        self,
        Rows, //
    },
    test_event::{
        TestEvent,
        TestSurroundings,
        SIZE, //
    }, //
};
use crate::text::word::two_words;

mod tallies;

fn record(number: u64, other: i64, name: &str) -> Vec<u8> {
    let mut bytes = vec![0u8; SIZE.into()];
    let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
    let (n, o) = (number.to_le_bytes(), other.to_le_bytes());
    put(4, &114u32.to_le_bytes());
    put(8, &n);
    put(16, &o);
    put(24, &n[..4]);
    put(28, &o[..4]);
    put(32, &n[..2]);
    put(34, &o[..2]);
    put(36, &n[..1]);
    put(37, &o[..1]);
    put(40, &n);
    let fixed = &name.as_bytes()[..name.len().min(15)];
    put(48, fixed);
    // What is after the NUL belongs to nothing.
    put(48 + fixed.len() + 1, &vec![n[0] | 1; 15 - fixed.len()]);
    put(64, &SIZE.to_le_bytes());
    put(66, &(name.len() as u16 + 1).to_le_bytes());
    put(84, &[u8::from(number != 0)]);
    put(96, &(SIZE + name.len() as u16 + 1).to_le_bytes());
    put(98, &24u16.to_le_bytes());
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0);
    for word in [2u64, 0x1000, 0x2000] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The events of the golden texts.
const FEED: &[(u64, i64, &str)] = &[
    (1, -1, "alpha"),
    (2, -2, "beta"),
    (2, 7, "beta"),
    (300, 100, "gamma-gamma-gamma-long"),
    (300, -5, "alpha"),
    (1, 1000, "alpha"),
    (70000, 3, "x"),
    (0, 0, "zero"),
    (u64::MAX, i64::MAX, "max"),
];

/// Where the events are.
const HERE: TestSurroundings = TestSurroundings {
    comm: *b"sh\0?????????????",
    reference: 0,
};

type Logged = Vec<(HistErrorKind, usize)>;

/// Returns the plan of a command, with the text that it has parts of.
fn planned(text: &str, logged: &mut Logged) -> Result<(Plan, Vec<u8>), HistErrno> {
    let whole = format!("hist:{text}");
    let mut log = |kind: HistErrorKind, word: &[u8]| {
        logged.push((kind, crate::text::error_log::place(whole.as_bytes(), word)));
    };
    let (items, _) = command::split(text.as_bytes())?;
    let mut items = items.to_vec();
    command::hide_operators(&mut items);
    let parsed = command::parse(&items, &mut log)?;
    let mut plan = Plan::new();
    plan.resolve(&parsed, &items, &TestEvent, false, &mut log)?;
    Ok((plan, items))
}

fn line(text: &str) -> String {
    let (plan, items) = planned(text, &mut Vec::new()).unwrap();
    let mut out = String::new();
    let line = HistLine {
        plan: &plan,
        text: &items,
        filter: None,
        paused: false,
    };
    line.write_text(&mut out).unwrap();
    out
}

/// A plan, its text, and the words of the entries that the events make.
struct Filled {
    plan: Plan,
    items: Vec<u8>,
    words: Vec<u64>,
}

impl Filled {
    fn rows(&self) -> Rows<'_> {
        Rows {
            words: &self.words,
            key_words: self.plan.key_words(),
            note_words: self.plan.note_words(),
            sums: self.plan.row_sums(),
            kept: 0,
        }
    }

    fn order(&self) -> Vec<sort::SortItem> {
        let rows = 0..self.rows().len() as u32;
        let mut order: Vec<_> = rows.map(sort::SortItem::new).collect();
        sort::sort(&self.plan, self.rows(), &mut order);
        order.truncate(self.plan.most_shown(order.len()));
        order
    }
}

/// Returns the lines of the entries.
fn entries(text: &str) -> Vec<String> {
    let filled = filled(text);
    let mut out = String::new();
    let sorted = (filled.rows(), &filled.order()[..]);
    filled
        .plan
        .write_rows(&filled.items, sorted, &HERE, &mut out)
        .unwrap();
    out.lines().map(str::to_owned).collect()
}

/// Returns the number that is made of one word of a record, if it is.
fn by_word(plan: &Plan, load: &NumberLoad, record: &[u8]) -> Option<u64> {
    let word = load.word()?;
    let bytes = record[word.start as usize..].first_chunk().unwrap();
    let number = word.number(u64::from_le_bytes(*bytes));
    Some(match word.step {
        WordStep::Plain => number,
        WordStep::Log2 => log2(number),
        WordStep::Cpu => HERE.cpu().into(),
        WordStep::Time => HERE.time(plan.usecs),
    })
}

/// Writers on the fast path have no common fields but the number of the task.
#[test]
fn numbers_of_one_word() {
    let rows = [
        ("u64f", true),
        ("s8f,u16f,s32f", true),
        ("common_pid", true),
        ("common_cpu,u64f.log2", true),
        ("common_type", false),
        ("common_flags", false),
        ("common_preempt_count", false),
        ("u64f.buckets=10", false),
        ("u64f+1", false),
        ("common_timestamp", true),
    ];
    for (keys, is_word) in rows {
        let (plan, _) = planned(&format!("keys={keys}"), &mut Vec::new()).unwrap();
        for load in plan.key_loads() {
            assert_eq!(load.word().is_some(), is_word, "{keys}");
        }
    }
    // All sizes and signs, and numbers at the beginning of a record.
    for number in [0, 1, 0x7f, 0x80, 0xff, 0x8000, 1 << 31, 1 << 63, u64::MAX] {
        let record = record(number, number as i64, "");
        for field in [
            "u64f",
            "s64f",
            "u32f",
            "s32f",
            "u16f",
            "s16f",
            "u8f",
            "s8f",
            "common_pid",
        ] {
            let (plan, _) = planned(&format!("keys={field}"), &mut Vec::new()).unwrap();
            let load = plan.key_loads()[0];
            let is_task = load.word() == Some(LoadedWord::TASK);
            assert_eq!(is_task, field == "common_pid", "{field}");
            assert_eq!(
                by_word(&plan, &load, &record),
                load.read(&plan, &record, &HERE),
                "{field}"
            );
        }
    }
}

/// Writers on the fast path make the key of a task's name of two words.
#[test]
fn names_of_tasks() {
    let (plan, _) = planned("keys=common_comm", &mut Vec::new()).unwrap();
    assert!(plan.is_by_name());
    for other in [
        "keys=common_pid.execname",
        "keys=common_comm,common_cpu",
        "keys=common_comm:c=u64f",
        "keys=common_comm:vals=u64f.max",
    ] {
        let (plan, _) = planned(other, &mut Vec::new()).unwrap();
        assert!(!plan.is_by_name(), "{other}");
    }
    for len in 0..=COMM {
        for (letter, after) in [(b'x', 0), (1, 1), (0xff, 0x80), (b'a', b'b')] {
            let mut name = [after; COMM];
            name[..len].fill(letter);
            name[len..].iter_mut().take(1).for_each(|byte| *byte = 0);
            let mut room = [0; MOST_WORDS];
            let task = TestSurroundings { comm: name, ..HERE };
            let key = plan.key(&[], &task, &mut room).unwrap();
            let words = [0, 8].map(|at| u64::from_le_bytes(*name[at..].first_chunk().unwrap()));
            match with_name_key(words, |quick| Some(quick.to_vec())) {
                Some(quick) => assert_eq!(quick, key, "{name:?}"),
                None => assert_eq!(key, [1], "{name:?}"),
            }
        }
    }
}

/// Writers on the fast path make the key of a string that is not long.
#[test]
fn strings_of_records() {
    for other in [
        "keys=fixed,u64f",
        "keys=u64f",
        "keys=common_comm",
        "keys=fixed:c=u64f",
        "keys=dyn:vals=u64f.max",
    ] {
        let (plan, _) = planned(other, &mut Vec::new()).unwrap();
        assert!(plan.text_key().is_none(), "{other}");
    }
    for field in ["fixed", "dyn"] {
        let (plan, _) = planned(&format!("keys={field}:vals=u64f"), &mut Vec::new()).unwrap();
        let text = plan.text_key().unwrap();
        let by_name = |record: &[u8]| {
            let at = text.as_name()?.offset();
            let words = NameKey::cut(two_words(record.get(at..at + 16)?)?);
            with_name_key(words, |quick| Some(quick.to_vec()))
        };
        let by_dynamic = |record: &[u8]| {
            let key = text.as_dynamic()?;
            let all = key.with_any_key(record, |quick| Some(quick.to_vec()));
            let place = u32::from_le_bytes(*record.get(key.offset()..)?.first_chunk()?);
            let (at, len) = (place as usize & 0xffff, place as usize >> 16);
            let is_ended = record.get(at..at + len)?.last() == Some(&0);
            // What is after the record is not known.
            let behind = [record, &[0xa5; 16]].concat();
            let words = two_words(&behind[at..at + 16])?;
            let short = with_ended_key(words, |quick| Some(quick.to_vec()));
            assert!(!is_ended || short.is_none() || short == all, "{all:?}");
            assert!(!is_ended || short.is_some() || all.as_ref().is_none_or(|key| key[0] >= 3));
            all
        };
        for len in 0..300 {
            let record = record(0xff, 0, &"abcdefghi".repeat(40)[..len]);
            let mut room = [u64::MAX; MOST_WORDS];
            let key = plan.key(&record, &HERE, &mut room).unwrap();
            let quick = text.with_key(&record, |quick| Some(quick.to_vec()));
            match &quick {
                Some(quick) => assert_eq!(quick, key, "{field} {len}"),
                None => assert!(len == 0 || field == "dyn" && len > 64, "{field} {len}"),
            }
            assert_eq!(
                by_dynamic(&record),
                quick.clone().filter(|_| field == "dyn")
            );
            assert_eq!(by_name(&record), quick.filter(|_| field == "fixed"));
        }
        // One without a NUL at its end, and a record that ends too early.
        let mut record = record(1, 1, "alpha");
        record[48..64].fill(b'x');
        let mut room = [0; MOST_WORDS];
        let key = plan.key(&record, &HERE, &mut room).unwrap();
        let quick = text.with_key(&record, |quick| Some(quick.to_vec()));
        assert_eq!(quick.as_deref(), Some(key), "{field}");
        assert_eq!(
            by_dynamic(&record),
            quick.clone().filter(|_| field == "dyn")
        );
        assert_eq!(by_name(&record), quick.filter(|_| field == "fixed"));
        assert!(text.with_key(&record[..60], |_| Some(())).is_none());
        assert!(by_name(&record[..60]).is_none());
        assert!(by_dynamic(&record[..60]).is_none());
    }
}

fn filled(text: &str) -> Filled {
    let (plan, items) = planned(text, &mut Vec::new()).unwrap();
    let mut found: Vec<(Vec<u64>, Vec<u64>)> = Vec::new();
    for (number, other, name) in FEED {
        let record = record(*number, *other, name);
        let mut room = [u64::MAX; MOST_WORDS];
        let key = plan.key(&record, &HERE, &mut room).unwrap().to_vec();
        let (added, count) = plan.added(&record, &HERE);
        // Each load gives what the expression gives that it was found for.
        if !plan.is_variable() {
            let keys = plan.keys().iter().map(|key| key.node);
            for (load, node) in plan.key_loads().iter().zip(keys) {
                let loaded = load.read(&plan, &record, &HERE);
                assert_eq!(loaded, plan.evaluate(node, &record, &HERE), "{text}");
                assert!(by_word(&plan, load, &record).is_none_or(|word| Some(word) == loaded));
            }
        }
        for (load, node) in plan.value_loads().iter().zip(plan.values()) {
            let loaded = load.read(&plan, &record, &HERE);
            assert_eq!(loaded, plan.evaluate(*node, &record, &HERE), "{text}");
            assert!(by_word(&plan, load, &record).is_none_or(|word| Some(word) == loaded));
        }
        let at = match found.iter().position(|(other, _)| *other == key) {
            Some(at) => at,
            None => {
                found.push((key, vec![0; plan.sums()]));
                found.len() - 1
            }
        };
        let sums = &mut found[at].1;
        sums[0] += 1;
        for (sum, more) in sums[1..].iter_mut().zip(&added[..count]) {
            *sum = sum.wrapping_add(*more);
        }
        plan.tally(&record, &HERE, |at, number| {
            sums[at] = match at <= plan.raised() {
                true => sums[at].max(number),
                false => sums[at].wrapping_add(number),
            };
        });
    }
    let mut words = Vec::new();
    for (key, sums) in &found {
        let mut key = key.clone();
        key.resize(plan.key_words(), 0);
        words.extend(key);
        words.extend(&comm_words(HERE.comm())[..plan.note_words()]);
        let settled = plan.settle(sums, |word| {
            words.push(word);
            Ok::<(), ()>(())
        });
        assert_eq!(settled, Ok(()));
    }
    Filled { plan, items, words }
}

/// Checks the objects of the entries that commands make.
fn check_json(rows: &[(&str, &[&str])]) {
    for (text, wanted) in rows {
        let filled = filled(text);
        let mut out = String::new();
        let sorted = (filled.rows(), &filled.order()[..]);
        let (plan, items) = (&filled.plan, &filled.items[..]);
        plan.write_json(items, sorted, &HERE, &mut out).unwrap();
        let wanted: String = wanted
            .iter()
            .map(|entry| format!("{{\"keys\":{entry}}}\n"))
            .collect();
        assert_eq!(out, wanted, "{text}");
    }
}

/// The keys and values of JSON, of the same events.
#[test]
fn json() {
    let rows: &[(&str, &[&str])] = &[
        (
            "keys=s8f:sort=s8f if s8f < 1",
            &[
                r#"{"s8f":-24},"hitcount":1,"values":{}"#,
                r#"{"s8f":-5},"hitcount":1,"values":{}"#,
                r#"{"s8f":-2},"hitcount":1,"values":{}"#,
                r#"{"s8f":-1},"hitcount":2,"values":{}"#,
                r#"{"s8f":0},"hitcount":1,"values":{}"#,
                r#"{"s8f":3},"hitcount":1,"values":{}"#,
                r#"{"s8f":7},"hitcount":1,"values":{}"#,
                r#"{"s8f":100},"hitcount":1,"values":{}"#,
            ],
        ),
        (
            // By the sum, which has no sign there.
            "keys=s8f:vals=s8f:sort=s8f",
            &[
                r#"{"s8f":0},"hitcount":1,"values":{"s8f":0}"#,
                r#"{"s8f":3},"hitcount":1,"values":{"s8f":3}"#,
                r#"{"s8f":7},"hitcount":1,"values":{"s8f":7}"#,
                r#"{"s8f":100},"hitcount":1,"values":{"s8f":100}"#,
                r#"{"s8f":-24},"hitcount":1,"values":{"s8f":-24}"#,
                r#"{"s8f":-5},"hitcount":1,"values":{"s8f":-5}"#,
                r#"{"s8f":-1},"hitcount":2,"values":{"s8f":-2}"#,
                r#"{"s8f":-2},"hitcount":1,"values":{"s8f":-2}"#,
            ],
        ),
        (
            "keys=u64f.signed:vals=u64f.signed,u64f:sort=u64f",
            &[
                r#"{"u64f":0},"hitcount":1,"values":{"u64f":0,"u64f":0}"#,
                r#"{"u64f":1},"hitcount":2,"values":{"u64f":2,"u64f":2}"#,
                r#"{"u64f":2},"hitcount":2,"values":{"u64f":4,"u64f":4}"#,
                r#"{"u64f":300},"hitcount":2,"values":{"u64f":600,"u64f":600}"#,
                r#"{"u64f":70000},"hitcount":1,"values":{"u64f":70000,"u64f":70000}"#,
                r#"{"u64f":-1},"hitcount":1,"values":{"u64f":-1,"u64f":18446744073709551615}"#,
            ],
        ),
        (
            "keys=u16f.log2:vals=u8f,hitcount.percent:sort=u16f",
            &[
                r#"{"u16f":{"from":0,"to":1}},"hitcount":3,"values":{"u8f":2,"hitcount":3}"#,
                r#"{"u16f":{"from":2,"to":2}},"hitcount":2,"values":{"u8f":4,"hitcount":2}"#,
                r#"{"u16f":{"from":257,"to":512}},"hitcount":2,"values":{"u8f":88,"hitcount":2}"#,
                r#"{"u16f":{"from":4097,"to":8192}},"hitcount":1,"values":{"u8f":112,"hitcount":1}"#,
                r#"{"u16f":{"from":32769,"to":65536}},"hitcount":1,"values":{"u8f":255,"hitcount":1}"#,
            ],
        ),
        (
            "keys=flag,common_pid.execname:vals=u8f+1:sort=flag",
            &[
                r#"{"flag":0,"common_pid":{"comm":"sh","pid":114}},"hitcount":1,"values":{"u8f+1":1}"#,
                r#"{"flag":1,"common_pid":{"comm":"sh","pid":114}},"hitcount":8,"values":{"u8f+1":469}"#,
            ],
        ),
        (
            "keys=u16f.syscall,common_comm:sort=u16f",
            &[
                r#"{"u16f":"sys_read","common_comm":"sh"},"hitcount":1,"values":{}"#,
                r#"{"u16f":"sys_write","common_comm":"sh"},"hitcount":2,"values":{}"#,
                r#"{"u16f":"sys_open","common_comm":"sh"},"hitcount":2,"values":{}"#,
                r#"{"u16f":"sys_fanotify_init","common_comm":"sh"},"hitcount":2,"values":{}"#,
                r#"{"u16f":4464,"common_comm":"sh"},"hitcount":1,"values":{}"#,
                r#"{"u16f":65535,"common_comm":"sh"},"hitcount":1,"values":{}"#,
            ],
        ),
        (
            "keys=common_stacktrace,common_pid.sym",
            &[
                r#"{"common_stacktrace":["inner+0x1/0x2","outer+0x3/0x4"],"common_pid":"0x72"},"hitcount":9,"values":{}"#,
            ],
        ),
        (
            "keys=u8f.buckets=100:sort=u8f",
            &[
                r#"{"u8f":{"from":0,"to":99}},"hitcount":7,"values":{}"#,
                r#"{"u8f":{"from":100,"to":199}},"hitcount":1,"values":{}"#,
                r#"{"u8f":{"from":200,"to":299}},"hitcount":1,"values":{}"#,
            ],
        ),
        (
            "keys=u64f.log2:sort=u64f.descending:size=128",
            &[
                r#"{"u64f":{"from":9223372036854775809,"to":18446744073709551615}},"hitcount":1,"values":{}"#,
                r#"{"u64f":{"from":65537,"to":131072}},"hitcount":1,"values":{}"#,
                r#"{"u64f":{"from":257,"to":512}},"hitcount":2,"values":{}"#,
                r#"{"u64f":{"from":2,"to":2}},"hitcount":2,"values":{}"#,
                r#"{"u64f":{"from":0,"to":1}},"hitcount":3,"values":{}"#,
            ],
        ),
    ];
    check_json(rows);
    // The line of the trigger, whatever is in its filter, and the totals.
    let filled = filled("keys=u8f:size=128");
    let line = HistLine {
        plan: &filled.plan,
        text: &filled.items,
        filter: Some(b"name == \"a\\b\""),
        paused: true,
    };
    let mut out = String::new();
    line.write_json_head(&mut out).unwrap();
    super::json::write_json_totals((9, 1), 5, &mut out).unwrap();
    assert_eq!(
        out,
        concat!(
            r#"{"trigger":"hist:keys=u8f:vals=hitcount:sort=hitcount:size=128 if name == \"a\\b\"","active":false}"#,
            "\n",
            r#"{"hits":9,"entries":5,"dropped":1}"#,
            "\n",
        )
    );
}

/// Returns, for each entry, its key without the names, and with its count.
fn short(text: &str) -> String {
    let of = |line: &String| {
        let (key, rest) = line[2..].split_once(" }").unwrap();
        let key: Vec<_> = key
            .split(", ")
            .map(|part| part.split_once(": ").unwrap().1.trim())
            .collect();
        let mut parts = rest
            .split("  ")
            .map(str::trim)
            .filter(|part| !part.is_empty());
        let numbers: Vec<_> = parts
            .by_ref()
            .filter_map(|part| {
                part.rsplit_once(' ')
                    .map_or(Some(part), |part| Some(part.1))
            })
            .filter(|part| !part.ends_with(':'))
            .collect();
        format!("{}:{}", key.join(","), numbers.join("/"))
    };
    entries(text).iter().map(of).collect::<Vec<_>>().join(" ")
}

/// What ftrace shows, of the same events.
#[test]
fn goldens() {
    const M: &str = "18446744073709551615";
    let rows: &[(&str, &str)] = &[
        ("keys=u64f", "M:1 70000:1 0:1 300:2 1:2 2:2"),
        (
            "key=s64f",
            "100:1 3:1 1000:1 18446744073709551611:1 18446744073709551614:1 9223372036854775807:1 M:1 7:1 0:1",
        ),
        (
            "keys=s64f:sort=s64f",
            "18446744073709551611:1 18446744073709551614:1 M:1 0:1 3:1 7:1 100:1 1000:1 9223372036854775807:1",
        ),
        (
            "keys=s64f:sort=s64f.descending",
            "9223372036854775807:1 1000:1 100:1 7:1 3:1 0:1 M:1 18446744073709551614:1 18446744073709551611:1",
        ),
        (
            "keys=s32f:sort=s32f",
            "18446744073709551611:1 18446744073709551614:1 M:2 0:1 3:1 7:1 100:1 1000:1",
        ),
        (
            "keys=s8f:sort=s8f",
            "18446744073709551592:1 18446744073709551611:1 18446744073709551614:1 M:2 0:1 3:1 7:1 100:1",
        ),
        ("keys=u8f:sort=u8f", "0:1 1:2 2:2 44:2 112:1 255:1"),
        (
            "keys=u16f:sort=hitcount.descending,u16f",
            "1:2 2:2 300:2 0:1 4464:1 65535:1",
        ),
        (
            "keys=s16f.hex",
            "0:1 3:1 3e8:1 fffffffffffffffb:1 fffffffffffffffe:1 64:1 7:1 ffffffffffffffff:2",
        ),
        (
            "keys=u64f.hex:vals=s64f.hex",
            "ffffffffffffffff:1/7fffffffffffffff 11170:1/3 0:1/0 12c:2/5f 1:2/3e7 2:2/5",
        ),
        ("keys=u64f.log2", "~ 2^17:1 ~ 2^64:1 ~ 2^1:2 ~ 2^9:2 ~ 2^0:3"),
        (
            "keys=s64f.log2:sort=s64f",
            "~ 2^0:1 ~ 2^2:1 ~ 2^3:1 ~ 2^7:1 ~ 2^10:1 ~ 2^63:1 ~ 2^64:3",
        ),
        (
            "keys=u64f.buckets=10",
            "~ 70000-70009:1 ~ 18446744073709551610-3:1 ~ 300-309:2 ~ 0-9:5",
        ),
        (
            "keys=s64f.buckets=100",
            "~ 1000-1099:1 ~ 100-199:1 ~ 9223372036854775800-9223372036854775899:1 \
             ~ 18446744073709551600-83:3 ~ 0-99:3",
        ),
        (
            "keys=dyn",
            "x:1 max:1 gamma-gamma-gamma-long:1 zero:1 beta:2 alpha:3",
        ),
        // Cut where the string ends, unlike in ftrace, which has two entries for `alpha`.
        ("keys=fixed:sort=fixed", "alpha:3 beta:2 gamma-gamma-gam:1 max:1 x:1 zero:1"),
        (
            "keys=dyn,u64f:vals=s64f:sort=dyn,u64f.descending",
            "alpha,300:1/18446744073709551611 alpha,1:2/999 beta,2:2/5 gamma-gamma-gamma-long,300:1/100 \
             max,M:1/9223372036854775807 x,70000:1/3 zero,0:1/0",
        ),
        (
            "keys=u64f:vals=u32f,s32f:sort=u32f.descending",
            "M:1/4294967295/M 70000:1/70000/3 300:2/600/95 2:2/4/5 1:2/2/999 0:1/0/0",
        ),
        ("keys=flag", "0:1 1:8"),
        ("keys=u64f+1", "70001:1 1:1 0:1 3:2 301:2 2:2"),
        (
            "keys=u64f-s64f",
            "4:1 9223372036854775808:1 18446744073709550617:1 305:1 69997:1 200:1 \
             18446744073709551611:1 2:1 0:1",
        ),
        (
            "keys=u64f,s64f,u32f",
            "2,7,2:1 1,1000,1:1 2,18446744073709551614,2:1 300,100,300:1 300,18446744073709551611,300:1 \
             70000,3,70000:1 M,9223372036854775807,4294967295:1 1,M,1:1 0,0,0:1",
        ),
        ("keys=hitcount", "1:9"),
    ];
    for (text, wanted) in rows {
        assert_eq!(short(text), wanted.replace('M', M), "{text}");
    }
}

#[test]
fn lines_of_entries() {
    let string = "{ dyn: x                                                  } hitcount:          1";
    assert_eq!(entries("keys=dyn")[0], string);
    let comm =
        "{ common_comm: sh                                                 } hitcount:          9";
    assert_eq!(entries("keys=common_comm"), [comm]);
    assert_eq!(entries("keys=comm"), [comm.replace("common_comm", "comm")]);
    assert_eq!(
        entries("keys=common_pid.execname:sort=common_pid"),
        ["{ common_pid: sh              [       114] } hitcount:          9"]
    );
    assert_eq!(
        entries("keys=u64f.syscall")[2],
        "{ u64f: sys_read                      [  0] } hitcount:          1"
    );
    assert_eq!(
        entries("keys=ptr.sym")[0],
        "{ ptr: [ffffffffffffffff] 0xffffffffffffffff                            } hitcount:          1"
    );
    let graph = entries("keys=u64f:vals=hitcount.percent,hitcount.graph:NOHC");
    assert_eq!(
        graph[2],
        "{ u64f:          0 }  hitcount (%):  11.11  hitcount: ##########          "
    );
    let share = entries("keys=u64f:vals=u32f.percent,u32f.graph:sort=u32f");
    assert_eq!(
        share[5],
        "{ u64f: 18446744073709551615 } hitcount:          1  u32f (%):  99.99  u32f: ####################"
    );
    assert_eq!(
        entries("keys=u64f:vals=5")[3],
        "{ u64f:        300 } hitcount:          2  :         10"
    );
    assert_eq!(
        entries("keys=stacktrace,u64f:sort=u64f")[0..4],
        [
            "{ common_stacktrace:",
            "         inner+0x1/0x2",
            "         outer+0x3/0x4",
            ", u64f:          0} hitcount:          1",
        ]
    );
    assert_eq!(
        entries("keys=s32f.signed:vals=s8f.signed:sort=s32f")[..3],
        [
            "{ s32f:         -5 } hitcount:          1  s8f:         -5",
            "{ s32f:         -2 } hitcount:          1  s8f:         -2",
            "{ s32f:         -1 } hitcount:          2  s8f:         -2",
        ]
    );
    // The field of that name, too, but for a key that is just this: those are the callers.
    assert_eq!(
        entries("keys=stacktrace.stacktrace,u64f:sort=u64f")[0],
        "{ stacktrace.stacktrace         inner+0x1/0x2"
    );
    for key in ["stk.stacktrace", "stk"] {
        assert_eq!(
            entries(&format!("keys=u64f,{key}:sort=u64f"))[0..3],
            [
                "{ u64f:          0, stk.stacktrace         inner+0x1/0x2",
                "         outer+0x3/0x4",
                "} hitcount:          1",
            ]
        );
    }
    // Exactly, unlike ftrace.
    assert_eq!(short("keys=u8f/3:sort=u8f/3"), "0:5 14:2 37:1 85:1");
}

/// Each line is read again, and means the same.
#[test]
fn lines_read_back() {
    let rows: &[(&str, &str)] = &[
        ("keys=u64f", "hist:keys=u64f:vals=hitcount:sort=hitcount:size=2048 [active]\n"),
        (
            "key=s64f.log2,cpu:val=u32f.percent:sort=s64f,u32f.descending:size=200:NOHC",
            "hist:keys=s64f.log2,common_cpu:vals=u32f.percent:sort=s64f.log2,u32f.percent.descending:size=256\
             :nohitcount [active]\n",
        ),
        (
            "keys=s8f.signed:vals=s16f.signed",
            "hist:keys=s8f.signed:vals=hitcount,s16f.signed:sort=hitcount:size=2048 [active]\n",
        ),
        (
            "keys=u64f:size=auto",
            "hist:keys=u64f:vals=hitcount:sort=hitcount:size=auto [active]\n",
        ),
        (
            "keys=stk",
            "hist:keys=stk.stacktrace:vals=hitcount:sort=hitcount:size=2048 [active]\n",
        ),
        (
            "keys=u64f.buckets=0x64,COMM,stacktrace:sort=u64f",
            "",
        ),
        (
            "keys=ptr.sym-offset:vals=hitcount,u64f.hex,s64f:sort=ptr",
            "hist:keys=ptr.sym-offset:vals=hitcount,u64f.hex,s64f:sort=ptr.sym-offset:size=2048 [active]\n",
        ),
        (
            "keys=common_timestamp.usecs:sort=common_timestamp",
            "hist:keys=common_timestamp.usecs:vals=hitcount:sort=common_timestamp.usecs:size=2048\
             :clock=global [active]\n",
        ),
        (
            "keys=u64f:a=s64f:b=$a+1,c=$t0:vals=$s.e.t0,$v:c2=common_timestamp.usecs-s.e.$t0",
            "",
        ),
        (
            "keys=u64f:a=s64f:b=$a+1,c=$t0:vals=s.f.$both,$v:d=common_timestamp.usecs-s.e.$t0\
             :onmatch(s.e).trace(syn, aa,$bb :onmatch(s.f).other($a)x",
            "hist:keys=u64f:vals=hitcount,s.f.$both,$v:a=s64f,b=s64f+1,c=$t0,d=common_timestamp.usecs-s.e.$t0\
             :sort=hitcount:size=2048:clock=global:onmatch(s.e).trace(syn,aa,$bb):onmatch(s.f).other($a) [active]\n",
        ),
        (
            "keys=-(u64f+1*2),s64f.hex*3:vals=1+2*3:sort=hitcount.ascending",
            "hist:keys=-(u64f+2),s64f.hex*3:vals=hitcount,7:sort=hitcount:size=2048 [active]\n",
        ),
    ];
    for (text, wanted) in rows {
        if wanted.is_empty() {
            // Too long a key, and a name that is none.
            assert!(planned(text, &mut Vec::new()).is_err(), "{text}");
            continue;
        }
        let printed = line(text);
        assert_eq!(printed, *wanted);
        let again = printed
            .trim_start_matches("hist:")
            .split(" [")
            .next()
            .unwrap();
        assert_eq!(line(again), printed, "{text}");
        let (one, first) = planned(text, &mut Vec::new()).unwrap();
        let (two, second) = planned(again, &mut Vec::new()).unwrap();
        assert!(one.is_same(&first, &two, &second), "{text}");
    }
    let (one, first) = planned("keys=u64f", &mut Vec::new()).unwrap();
    for text in [
        "keys=s64f",
        "keys=u64f.hex",
        "keys=u64f,s64f",
        "keys=u64f:vals=s64f",
        "keys=u64f:sort=u64f",
    ] {
        let (two, second) = planned(text, &mut Vec::new()).unwrap();
        assert!(!one.is_same(&first, &two, &second), "{text}");
    }
}

/// What ftrace logs for each, and where the caret stands.
#[test]
fn refusals_have_the_text_and_the_place_that_ftrace_gives() {
    use HistErrorKind::*;
    let rows: &[(&str, HistErrno, &[(HistErrorKind, usize)])] = &[
        ("keys=", HistErrno::Inval, &[(EmptyAssignment, 5)]),
        (
            "keys=u64f:vals=",
            HistErrno::Inval,
            &[(EmptyAssignment, 15)],
        ),
        ("keys=nosuch", HistErrno::Inval, &[(FieldNotFound, 10)]),
        ("keys=nothing", HistErrno::Inval, &[(FieldNotFound, 10)]),
        ("keys=u64f,", HistErrno::Inval, &[(FieldNotFound, 0)]),
        ("keys=u64f.", HistErrno::Inval, &[(BadModifier, 0)]),
        ("keys=u64f.foo", HistErrno::Inval, &[(BadModifier, 15)]),
        (
            "keys=u64f.buckets=0",
            HistErrno::Inval,
            &[(BadModifier, 23)],
        ),
        ("keys=u64f.percent", HistErrno::Inval, &[(BadModifier, 15)]),
        (
            "keys=s8f.stacktrace",
            HistErrno::Inval,
            &[(BadModifier, 10)],
        ),
        ("keys=s8f.execname", HistErrno::Inval, &[(BadModifier, 14)]),
        (
            "keys=u64f:vals=s8f.log2",
            HistErrno::Inval,
            &[(BadModifier, 20)],
        ),
        (
            "keys=u64f:vals=stacktrace",
            HistErrno::Inval,
            &[(BadModifier, 20)],
        ),
        ("keys=u64f:size=auto:x=s8f", HistErrno::Inval, &[]),
        (
            "keys=u64f:vals=stk.stacktrace",
            HistErrno::Inval,
            &[(BadModifier, 20)],
        ),
        (
            "keys=u64f:sort=junk",
            HistErrno::Inval,
            &[(BadSortField, 20)],
        ),
        (
            "keys=u64f:sort=u64f.junk",
            HistErrno::Inval,
            &[(BadSortModifier, 25)],
        ),
        (
            "keys=u64f:sort=u64f,",
            HistErrno::Inval,
            &[(EmptySortField, 15)],
        ),
        (
            "keys=u64f:sort=.ascending",
            HistErrno::Inval,
            &[(EmptySortField, 15)],
        ),
        (
            "keys=u64f:sort=u64f,hitcount,u64f",
            HistErrno::Inval,
            &[(TooManySortFields, 15)],
        ),
        (
            "keys=u64f:nohitcount",
            HistErrno::NoEnt,
            &[(ValueNeeded, 0)],
        ),
        (
            "keys=u64f:NOHC:vals=hitcount",
            HistErrno::NoEnt,
            &[(ValueNeeded, 0)],
        ),
        (
            "keys=u8f+s8f+1+2+3",
            HistErrno::Inval,
            &[(TooManySubexpressions, 10)],
        ),
        (
            "keys=-(s8f)+1",
            HistErrno::Inval,
            &[(MinusInSubexpression, 12)],
        ),
        ("keys=u64f/0", HistErrno::Dom, &[(DivisionByZero, 15)]),
        ("keys=12abc", HistErrno::Inval, &[(NumberExpected, 10)]),
        (
            "keys=18446744073709551616",
            HistErrno::Inval,
            &[(NumberExpected, 10)],
        ),
        (
            "keys=common_comm+1",
            HistErrno::Inval,
            &[(StringOperand, 10)],
        ),
        ("keys=1+dyn", HistErrno::Inval, &[(StringOperand, 12)]),
        (
            "keys=common_timestamp.usecs-u64f",
            HistErrno::Inval,
            &[(UnitsDiffer, 0)],
        ),
        (
            "keys=$nosuch",
            HistErrno::Inval,
            &[(VariableNotFound, 11), (FieldNotFound, 10)],
        ),
        ("keys=$t0", HistErrno::Inval, &[(ReferenceInKey, 10)]),
        ("keys=u64f-$v", HistErrno::Inval, &[(ReferenceInKey, 10)]),
        (
            "keys=u64f:x=u64f,yy",
            HistErrno::Inval,
            &[(MalformedAssignment, 22)],
        ),
        (
            "keys=u64f:there=u64f",
            HistErrno::Inval,
            &[(VariableExists, 15)],
        ),
        (
            "keys=u64f:x=$both",
            HistErrno::Inval,
            &[
                (VariableNotUnique, 18),
                (VariableNotFound, 18),
                (FieldNotFound, 17),
            ],
        ),
        (
            "keys=u64f:x=$t0+u64f",
            HistErrno::Inval,
            &[(UnitsDiffer, 0)],
        ),
        (
            "keys=u64f:x=u64f.log2",
            HistErrno::Inval,
            &[(BadModifier, 17)],
        ),
        (
            "keys=u64f:onmatch(t.e).syn(aa)",
            HistErrno::Inval,
            &[(NoSuchEvent, 6)],
        ),
        ("keys=u64f:onmatch", HistErrno::Inval, &[]),
        ("keys=arr", HistErrno::NoMem, &[]),
        ("vals=u64f", HistErrno::Inval, &[]),
        ("keys=u64f:foo", HistErrno::Inval, &[]),
        ("keys=u64f,s64f,u8f,s8f", HistErrno::Inval, &[]),
        ("keys=u64f:vals=s64f,u8f,s8f", HistErrno::Inval, &[]),
        ("keys=dyn,comm", HistErrno::Inval, &[]),
        ("keys=u64f:size=0", HistErrno::Inval, &[]),
        ("keys=u64f:vals=-s64f", HistErrno::Inval, &[]),
        ("keys=u64f+", HistErrno::Inval, &[]),
        ("keys=+u64f", HistErrno::Inval, &[]),
    ];
    for (text, errno, logged) in rows {
        let mut seen = Vec::new();
        let answer = planned(text, &mut seen);
        assert_eq!(answer.err(), Some(*errno), "{text}");
        assert_eq!(seen, *logged, "{text}");
    }
    // Taken as ftrace takes them.
    for text in [
        "keys=u64f:vals=hitcount,s64f,u8f",
        "keys=u64f:vals=s64f,u8f,hitcount",
        "keys=a.b.u64f",
        "keys=u64f:vals=u8f.percentage",
        "keys=common_pid.execname:vals=common_pid.execname",
    ] {
        assert!(planned(text, &mut Vec::new()).is_ok(), "{text}");
    }
}

/// Every text gets an answer, and what is taken reads back.
#[test]
fn random_texts_are_answered() {
    const PARTS: &[&str] = &[
        "keys=",
        "vals=",
        "sort=",
        ":",
        ",",
        "u64f",
        "s8f",
        "dyn",
        "common_pid",
        ".hex",
        ".log2",
        ".sym-offset",
        ".buckets=",
        "10",
        "+",
        "-",
        "*",
        "/",
        "(",
        ")",
        "$",
        "=",
        " if ",
        "size=",
        "stacktrace",
        ".",
        "hitcount",
        "x",
        "nohitcount",
        ".descending",
        "common_timestamp",
        ".usecs",
        ":y=",
        "$t0",
        "s.f.$both",
        ":onmatch(s.e).trace(",
        ":onmatch(s.f).syn(",
        "\u{fc}",
    ];
    let mut state = 1u64;
    let mut next = |most: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % most
    };
    let mut taken = 0;
    for _ in 0..200_000 {
        let count = 1 + next(9);
        let parts: Vec<_> = (0..count).map(|_| PARTS[next(PARTS.len())]).collect();
        let text = format!("keys={}", parts.concat());
        let Ok((plan, first)) = planned(&text, &mut Vec::new()) else {
            continue;
        };
        taken += 1;
        let printed = line(&text);
        let again = printed
            .trim_start_matches("hist:")
            .split(" [")
            .next()
            .unwrap();
        let (other, second) = planned(again, &mut Vec::new()).expect(again);
        assert!(plan.is_same(&first, &other, &second), "{text:?} {again:?}");
        assert_eq!(line(again), printed, "{text:?}");
    }
    assert!(taken > 1000, "{taken}");
}
