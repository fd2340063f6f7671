// SPDX-License-Identifier: GPL-2.0
//! The lines that a stock kernel wrote, and lines of random calls against a model of the call tree.

use super::*;
use core::fmt::Write as _;
use proptest::prelude::*;

/// A function of a module.
const OF_MODULE: u64 = 77;
/// Where functions with a probe at their return go back to.
const RETURN_PROBE: u64 = 78;

struct Names;

impl super::SymbolNames for Names {
    fn write_name(
        &mut self,
        address: u64,
        parts: NameExtent,
        out: &mut dyn ByteWrite,
    ) -> Result<bool, fmt::Error> {
        if address >= 0x1000 {
            return Ok(false);
        }
        write!(out, "f{address}")?;
        if address == OF_MODULE && parts != NameExtent::Function {
            out.write_str(" [loaded]")?;
        }
        Ok(true)
    }

    fn is_return_probe(&self, address: u64) -> bool {
        address == RETURN_PROBE
    }
}

impl Tasks for Names {
    fn comm<'r>(&self, pid: i32, room: &'r mut [u8; 16]) -> &'r [u8] {
        let name: &[u8] = match pid {
            0 => b"<idle>",
            110 => b"sh",
            114 => b"cat",
            _ => b"migration/0",
        };
        room[..name.len()].copy_from_slice(name);
        &room[..name.len()]
    }
}

impl Arguments for Names {
    fn write(&mut self, function: u64, registers: &[u64], out: &mut dyn ByteWrite) -> fmt::Result {
        match function {
            // Its parameters are not known.
            9 => Ok(()),
            _ => write!(out, "a={:#x}", registers[0]),
        }
    }
}

/// The entry of a call with this first argument.
fn entry_with(pid: i32, function: u64, depth: i64, argument: u64) -> Vec<u8> {
    let mut record = entry(pid, function, depth);
    for word in [argument, 0, 0, 0, 0, 0] {
        record.extend_from_slice(&word.to_ne_bytes());
    }
    record
}

fn entry(pid: i32, function: u64, depth: i64) -> Vec<u8> {
    let head = [&ENTRY_ID.to_ne_bytes()[..], &[0, 0], &pid.to_ne_bytes()].concat();
    [
        head,
        function.to_ne_bytes().into(),
        depth.to_ne_bytes().into(),
    ]
    .concat()
}

fn exit(pid: i32, function: u64, depth: i32, ns: u64) -> Vec<u8> {
    let head = [&EXIT_ID.to_ne_bytes()[..], &[0, 0], &pid.to_ne_bytes()].concat();
    let times = [1000u64.to_ne_bytes(), (1000 + ns).to_ne_bytes()].concat();
    let levels = [depth.to_ne_bytes(), 7u32.to_ne_bytes()].concat();
    [head, function.to_ne_bytes().into(), levels, times].concat()
}

/// A record that is neither.
fn marker(pid: i32) -> Vec<u8> {
    [&5u16.to_ne_bytes()[..], &[0, 0], &pid.to_ne_bytes()].concat()
}

/// Prints the records of all CPUs as `trace` does.
fn printed(records: &[(u32, Vec<u8>)], options: OptionSet) -> String {
    printed_as(CallLines::Tracer, records, options)
}

fn printed_as(lines: CallLines, records: &[(u32, Vec<u8>)], options: OptionSet) -> String {
    let mut states = [CpuState::NEW; 8];
    let mut merged = vec![false; records.len()];
    let mut text = String::new();
    for (at, (cpu, record)) in records.iter().enumerate() {
        if merged[at] {
            continue;
        }
        let line = GraphLine {
            state: &mut states[*cpu as usize],
            origin: CallOrigin {
                cpu: *cpu,
                cpu_width: 1,
                pid: common(record).unwrap().1,
                stamp: 12_345_678_999,
                since: lines.have_since().then_some(5_678_999),
                columns: *b"d.h1.",
                options: lines.options(options),
            },
            tasks: &Names,
            out: &mut text,
        };
        match common(record).unwrap().0 {
            ENTRY_ID | RETADDR_ENTRY_ID => {
                let next = (at + 1..records.len()).find(|next| records[*next].0 == *cpu);
                let leaf = next.filter(|next| is_leaf(record, &records[*next].1));
                let exit = leaf.and_then(|next| CallExit::of(&records[next].1));
                leaf.into_iter().for_each(|next| merged[next] = true);
                let entry = CallEntry::of(record).unwrap();
                line.write_entry(&entry, exit.as_ref(), &mut Names, &mut Names)
            }
            EXIT_ID => line.write_exit(&CallExit::of(record).unwrap(), &mut Names),
            _ => line.begin_comment(),
        }
        .unwrap();
        if common(record).unwrap().0 == 5 {
            write!(text, "hi{COMMENT_END}").unwrap();
        }
    }
    text
}

fn on_cpu_0(records: &[Vec<u8>], options: OptionSet) -> String {
    let records: Vec<_> = records.iter().map(|record| (0, record.clone())).collect();
    printed(&records, options)
}

/// What all rows of the tests below print.
fn calls() -> Vec<Vec<u8>> {
    vec![
        entry(110, 1, 1),
        entry(110, 2, 4),
        exit(110, 2, 4, 755),
        marker(110),
        exit(110, 9, 3, 16_392),
        exit(110, 1, 1, 2_484),
    ]
}

#[test]
fn lines_are_those_of_the_kernel() {
    let default = [
        " 0)               |    f1() {",
        " 0)   0.755 us    |          f2();",
        " 0)               |          /* hi */",
        " 0) + 16.392 us   |        } /* f9 */",
        " 0)   2.484 us    |    }",
        "",
    ];
    let options = OptionSet::DEFAULT;
    assert_eq!(on_cpu_0(&calls(), options), default.join("\n"));

    let one = |options| on_cpu_0(&calls()[1..3], options);
    let rows = [
        (
            options.with(Opt::GraphCpu, false),
            "  0.755 us    |          f2();\n",
        ),
        (
            options.with(Opt::GraphDuration, false),
            " 0)         f2();\n",
        ),
        (
            options.with(Opt::GraphAbstime, true),
            "   12.345678 |   0)   0.755 us    |          f2();\n",
        ),
        (
            options.with(Opt::GraphProc, true),
            " 0)     sh-110     |   0.755 us    |          f2();\n",
        ),
        (
            options.with(Opt::LatencyFormat, true),
            " 0)  d.h1. |   0.755 us    |          f2();\n",
        ),
        (options.with(Opt::ContextInfo, false), "        f2();\n"),
    ];
    for (options, expected) in rows {
        assert_eq!(one(options), expected);
    }
    let last = |options| {
        let text = on_cpu_0(&calls(), options);
        text[text.rfind(" 0)").unwrap()..].to_string()
    };
    assert_eq!(
        last(options.with(Opt::GraphTail, true)),
        " 0)   2.484 us    |    } /* f1 */\n"
    );
    assert_eq!(
        last(options.with(Opt::GraphOverrun, true)),
        " 0)   2.484 us    |    }\n (Overruns: 7)\n"
    );
}

#[test]
fn functions_of_modules_have_its_name() {
    let records = [
        entry(110, 1, 0),
        entry(110, OF_MODULE, 1),
        exit(110, OF_MODULE, 1, 755),
        entry_with(110, OF_MODULE, 1, 0xff),
        entry(110, OF_MODULE, 2),
        marker(110),
        exit(110, OF_MODULE, 2, 755),
        exit(110, OF_MODULE, 1, 755),
    ];
    let options = OptionSet::DEFAULT.with(Opt::GraphTail, true);
    let text = on_cpu_0(&records, options);
    let calls: Vec<_> = text.lines().filter_map(|l| l.split_once("|  ")).collect();
    let calls: Vec<_> = calls.iter().map(|(_, call)| call.trim_start()).collect();
    assert_eq!(
        calls,
        [
            "f1() {",
            "f77 [loaded]();",
            "f77 [loaded](a=0xff) {",
            "f77 [loaded]() {",
            "/* hi */",
            "} /* f77 [loaded] */",
            "} /* f77 [loaded] */",
        ]
    );
}

#[test]
fn tracers_of_latencies_have_their_own_columns() {
    let latency = OptionSet::DEFAULT.with(Opt::LatencyFormat, true);
    let printed = |options| {
        let records: Vec<_> = calls().into_iter().map(|record| (0, record)).collect();
        printed_as(CallLines::Latency, &records, options)
    };
    // As a PREEMPT_RT kernel prints them.
    let head = "     5678 us |   0)     sh-110     |  d.h1. | ";
    let lines = [
        format!("{head}              |    f1() {{"),
        format!("{head}  0.755 us    |          f2();"),
        format!("{head}              |          /* hi */"),
        format!("{head}+ 16.392 us   |        }} /* f9 */"),
        format!("{head}  2.484 us    |    }}"),
        String::new(),
    ];
    assert_eq!(printed(latency), lines.join("\n"));
    let without = printed(OptionSet::DEFAULT);
    assert_eq!(without, lines.join("\n").replace(" d.h1. | ", ""));
    // Nothing of what the tracer `function_graph` is told.
    let mut told = latency;
    for opt in Opt::ALL
        .iter()
        .filter(|opt| opt.name().starts_with("funcgraph-"))
    {
        told = told.with(*opt, !told.has(*opt));
    }
    assert_eq!(printed(told), lines.join("\n"));
    let header = [
        "#                                       _-----=> irqs-off        ",
        "#                                      / _----=> need-resched    ",
        "#                                     | / _---=> hardirq/softirq ",
        "#                                     || / _--=> preempt-depth   ",
        "#                                     ||| /                      ",
        "#   REL TIME      CPU  TASK/PID       ||||     DURATION                  FUNCTION CALLS",
        "#      |          |     |    |        ||||      |   |                     |   |   |   |",
        "",
    ];
    let mut text = String::new();
    write_header(CallLines::Latency, told, &mut text).unwrap();
    assert_eq!(text, header.join("\n"));
}

#[test]
fn numbers_of_call_lines() {
    for lines in [CallLines::Tracer, CallLines::Latency] {
        assert_eq!(CallLines::of_number(lines as u32), Some(lines));
    }
    assert_eq!(CallLines::of_number(0), None);
}

/// The entry of a call that returns to this place.
fn called_from(entry: &[u8], place: u64) -> Vec<u8> {
    let mut record = RETADDR_ENTRY_ID.to_ne_bytes().to_vec();
    record.extend_from_slice(&entry[2..24]);
    record.extend_from_slice(&place.to_ne_bytes());
    record.extend_from_slice(&entry[24..]);
    record
}

#[test]
fn places_of_calls_are_comments() {
    let value = |record: Vec<u8>| [record, 0x17u64.to_ne_bytes().into()].concat();
    let records = [
        called_from(&entry_with(110, 1, 0, 0xff), 12),
        called_from(&entry(110, 9, 1), 13),
        exit(110, 9, 1, 755),
        called_from(&entry(110, 9, 1), RETURN_PROBE),
        exit(110, 9, 1, 755),
        called_from(&entry(110, 2, 1), 0xffff_ffff_8000_0000),
        value(exit(110, 2, 1, 755)),
        entry(110, 3, 1),
        exit(110, 3, 1, 755),
        exit(110, 1, 0, 2_484),
    ];
    let lines = |options| {
        let text = on_cpu_0(&records, options);
        let calls = text.lines().map(|line| line.split_once("|  ").unwrap().1);
        calls.map(str::to_string).collect::<Vec<_>>()
    };
    let options = OptionSet::DEFAULT.with(Opt::GraphRetaddr, true);
    let far = "0xffffffff80000000";
    let nested = ["  f3();", "}"].map(str::to_string);
    let expected = |far: &str| {
        let mut lines = vec![
            "f1(a=0xff) { /* <-f12 */".to_string(),
            "  f9(); /* <-f13 */".to_string(),
            "  f9(); /* <-[unknown/kretprobe'd] */".to_string(),
            format!("  f2(); /* <-{far} */"),
        ];
        lines.extend(nested.clone());
        lines
    };
    assert_eq!(lines(options), expected(far));
    let both = lines(options.with(Opt::GraphRetval, true));
    assert_eq!(both, expected(&format!("{far} ret=0x17")));
    let addresses = lines(options.with(Opt::SymAddr, true));
    assert_eq!(addresses[1], "  f9(); /* <-f13 <000000000000000d> */");
    // It is in the record, and not shown without the option.
    let plain = lines(OptionSet::DEFAULT);
    assert_eq!(plain[..2], ["f1(a=0xff) {", "  f9();"]);
    assert_eq!(CallEntry::of(&records[0][..31]), None);
}

#[test]
fn arguments_are_in_the_parentheses() {
    let records = [
        entry_with(110, 1, 0, 0xff),
        entry_with(110, 9, 1, 2),
        exit(110, 9, 1, 755),
        entry_with(110, 2, 1, 3),
        exit(110, 2, 1, 755),
        exit(110, 1, 0, 2_484),
    ];
    let expected = [
        " 0)               |  f1(a=0xff) {",
        " 0)   0.755 us    |    f9();",
        " 0)   0.755 us    |    f2(a=0x3);",
        " 0)   2.484 us    |  } /* f1 */",
        "",
    ];
    let options = OptionSet::DEFAULT.with(Opt::GraphTail, true);
    assert_eq!(on_cpu_0(&records, options), expected.join("\n"));
    // A record that is cut has none.
    let cut = CallEntry::of(&records[0][..71]).unwrap();
    assert_eq!(cut, CallEntry::of(&entry(110, 1, 0)).unwrap());
}

#[test]
fn return_values_are_numbers_or_errors() {
    let rows = [
        (0, "0x0", "0x0"),
        (1, "0x1", "0x1"),
        (-5i64 as u64, "-5", "0xfffffffffffffffb"),
        (-4095i64 as u64, "-4095", "0xfffffffffffff001"),
        (-4096i64 as u64, "0xfffffffffffff000", "0xfffffffffffff000"),
        // An int.
        (0xffff_fffb, "-5", "0xfffffffb"),
        (0xffff_f000, "0xfffff000", "0xfffff000"),
        (0x8000_0000, "0x80000000", "0x80000000"),
        (0x1_ffff_fffb, "0x1fffffffb", "0x1fffffffb"),
        (0x7fff_ffff, "0x7fffffff", "0x7fffffff"),
    ];
    let retval = OptionSet::DEFAULT.with(Opt::GraphRetval, true);
    for (value, as_usual, as_hex) in rows {
        let with_value = |mut exit: Vec<u8>| {
            exit.extend_from_slice(&u64::to_ne_bytes(value));
            exit
        };
        let records = [
            entry_with(110, 1, 0, 0xff),
            entry(110, 2, 1),
            with_value(exit(110, 2, 1, 755)),
            with_value(exit(110, 1, 0, 2_484)),
        ];
        for (options, shown) in [
            (retval, as_usual),
            (retval.with(Opt::GraphTail, true), as_usual),
            (retval.with(Opt::GraphRetvalHex, true), as_hex),
        ] {
            let expected = [
                " 0)               |  f1(a=0xff) {".to_string(),
                format!(" 0)   0.755 us    |    f2(); /* ret={shown} */"),
                format!(" 0)   2.484 us    |  }} /* f1 ret={shown} */"),
                String::new(),
            ];
            assert_eq!(on_cpu_0(&records, options), expected.join("\n"));
        }
        let errors = OptionSet::DEFAULT.with(Opt::GraphErrors, true);
        let expected = format!(" 0)   2.484 us    |  }} /* f1 ret={as_usual} */\n");
        assert_eq!(on_cpu_0(&records[3..], errors), expected);
        // Without the option, and without the value.
        let hex = OptionSet::DEFAULT.with(Opt::GraphRetvalHex, true);
        assert!(!on_cpu_0(&records, hex).contains("ret="));
        assert!(!on_cpu_0(&calls(), retval).contains("ret="));
    }
}

#[test]
fn durations_have_seven_digits_and_a_mark() {
    let rows = [
        (5, "  0.005 us    |  "),
        (10_000, "  10.000 us   |  "),
        (10_001, "+ 10.001 us   |  "),
        (100_001, "! 100.001 us  |  "),
        (1_000_000, "! 1000.000 us |  "),
        (1_000_001, "# 1000.001 us |  "),
        (12_345_678, "* 12345.67 us |  "),
        (123_456_789, "@ 123456.7 us |  "),
        (1_234_567_890, "$ 1234567 us  |  "),
        (12_345_678_901, "$ 12345678 us |  "),
        (123_456_789_012, "$ 123456789 us |  "),
    ];
    for (ns, expected) in rows {
        let mut text = String::new();
        columns::write_columns(
            &mut None,
            &CallOrigin {
                cpu: 0,
                cpu_width: 1,
                pid: 1,
                stamp: 0,
                since: None,
                columns: [b'.'; 5],
                options: OptionSet::DEFAULT.with(Opt::GraphCpu, false),
            },
            &Names,
            &columns::Fill::Time(ns),
            0,
            &mut text,
        )
        .unwrap();
        assert_eq!(text, expected, "{ns}");
    }
}

#[test]
fn another_task_is_announced() {
    let records = [
        entry(110, 1, 0),
        entry(114, 2, 0),
        exit(114, 2, 0, 5),
        entry(-1, 0x1000, 0),
    ];
    let rule = " ------------------------------------------\n";
    let expected = [
        " 0)               |  f1() {\n",
        rule,
        " 0)     sh-110     =>    cat-114    \n",
        rule,
        "\n 0)   0.005 us    |  f2();\n",
        rule,
        " 0)    cat-114     =>   migrati--1  \n",
        rule,
        "\n 0)               |  0x1000() {\n",
    ];
    assert_eq!(on_cpu_0(&records, OptionSet::DEFAULT), expected.concat());
}

#[test]
fn the_header_has_the_columns() {
    let header = |options| {
        let mut text = String::new();
        write_header(CallLines::Tracer, options, &mut text).unwrap();
        text
    };
    let options = OptionSet::DEFAULT;
    assert_eq!(
        header(options),
        "# CPU  DURATION                  FUNCTION CALLS\n\
         # |     |   |                     |   |   |   |\n"
    );
    let all = options
        .with(Opt::GraphAbstime, true)
        .with(Opt::GraphProc, true)
        .with(Opt::LatencyFormat, true);
    let text = header(all);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 7);
    assert_eq!(
        lines[2],
        format!("#{}| / _---=> hardirq/softirq ", " ".repeat(37))
    );
    assert_eq!(
        lines[5],
        "#     TIME        CPU  TASK/PID       ||||     DURATION                  FUNCTION CALLS"
    );
}

#[test]
fn records_that_are_too_short_are_none() {
    let records = calls();
    for len in 0..records[0].len() {
        assert!(CallEntry::of(&records[0][..len]).is_none());
        assert!(!is_leaf(&records[1][..len], &records[2]));
    }
    for len in 0..records[2].len() {
        assert!(CallExit::of(&records[2][..len]).is_none());
        assert!(!is_leaf(&records[1], &records[2][..len]));
    }
    assert!(is_leaf(&records[1], &records[2]) && is_entry(&records[1]));
    assert!(!is_leaf(&records[1], &exit(114, 2, 4, 1)) && !is_entry(&records[2]));
}

/// A call and the calls inside it.
#[derive(Clone, Debug)]
struct Call {
    function: u64,
    /// The first argument, if arguments were recorded.
    argument: Option<u64>,
    inner: Vec<Call>,
}

fn any_call() -> impl Strategy<Value = Call> {
    let head = || (1u64..20, any::<Option<u64>>());
    let leaf = head().prop_map(|(function, argument)| Call {
        function,
        argument,
        inner: vec![],
    });
    leaf.prop_recursive(6, 40, 5, move |inner| {
        let inner = prop::collection::vec(inner, 0..5);
        (head(), inner).prop_map(|((function, argument), inner)| Call {
            function,
            argument,
            inner,
        })
    })
}

impl Call {
    fn record(&self, pid: i32, depth: i32, records: &mut Vec<Vec<u8>>) {
        records.push(match self.argument {
            Some(argument) => entry_with(pid, self.function, depth.into(), argument),
            None => entry(pid, self.function, depth.into()),
        });
        self.inner
            .iter()
            .for_each(|call| call.record(pid, depth + 1, records));
        records.push(exit(pid, self.function, depth, 5));
    }

    fn model(&self, cpu: u32, depth: usize, text: &mut String) {
        let (function, blanks) = (self.function, "  ".repeat(depth));
        let arguments = match self.argument {
            Some(argument) if function != 9 => format!("a={argument:#x}"),
            _ => String::new(),
        };
        let call = format!("{blanks}f{function}({arguments})");
        if self.inner.is_empty() {
            writeln!(text, " {cpu})   0.005 us    |  {call};").unwrap();
            return;
        }
        writeln!(text, " {cpu})               |  {call} {{").unwrap();
        self.inner
            .iter()
            .for_each(|call| call.model(cpu, depth + 1, text));
        writeln!(text, " {cpu})   0.005 us    |  {blanks}}}").unwrap();
    }
}

proptest! {
    /// The CPUs record at the same time; on each one task calls after the other.
    #[test]
    fn lines_are_the_tree_of_calls(
        cpus in prop::collection::vec(prop::collection::vec((any::<bool>(), any_call()), 1..4), 1..4),
        order in prop::collection::vec(0usize..4, 0..400),
    ) {
        let mut queues = vec![];
        let mut models = vec![];
        for (cpu, calls) in (0u32..).zip(&cpus) {
            let (mut records, mut model, mut last) = (vec![], String::new(), None);
            for (first, call) in calls {
                let (pid, name) = if *first { (110, "    sh-110    ") } else { (114, "   cat-114    ") };
                if let Some((before, before_name)) = last.replace((pid, name)) {
                    if before != pid {
                        let rule = " ------------------------------------------";
                        writeln!(model, "{rule}\n {cpu}) {before_name} => {name}\n{rule}\n").unwrap();
                    }
                }
                call.record(pid, 0, &mut records);
                call.model(cpu, 0, &mut model);
            }
            queues.push(records.into_iter().map(move |record| (cpu, record)));
            models.push(model);
        }
        let mut all = vec![];
        for cpu in order.into_iter().chain((0..4).flat_map(|cpu| [cpu; 2000])) {
            all.extend(queues.get_mut(cpu).and_then(|queue| queue.next()));
        }
        for (cpu, model) in (0u32..).zip(&models) {
            // What other CPUs record changes nothing but the order.
            let own: Vec<_> = all.iter().filter(|row| row.0 == cpu).cloned().collect();
            prop_assert_eq!(&printed(&own, OptionSet::DEFAULT), model);
            let mark = format!(" {cpu}) ");
            let text = printed(&all, OptionSet::DEFAULT);
            let found = text.lines().filter(|line| line.starts_with(&mark));
            let wanted = model.lines().filter(|line| line.starts_with(&mark));
            prop_assert!(found.eq(wanted));
        }
    }

    #[test]
    fn any_bytes_are_printed(record in prop::collection::vec(any::<u8>(), 0..90), next in prop::collection::vec(any::<u8>(), 0..60)) {
        is_leaf(&record, &next);
        let mut state = CpuState::NEW;
        let mut text = String::new();
        for lines in [CallLines::Tracer, CallLines::Latency] {
            let options = OptionSet::DEFAULT.with(Opt::LatencyFormat, true);
            let origin = CallOrigin {
                cpu: 8191, cpu_width: 4, pid: i32::MIN, stamp: u64::MAX,
                since: lines.have_since().then_some(u64::MAX),
                columns: [b'.'; 5], options: lines.options(options),
            };
            let line = GraphLine { state: &mut state, origin, tasks: &Names, out: &mut text };
            if let Some(entry) = CallEntry::of(&record) {
                line.write_entry(&entry, CallExit::of(&next).as_ref(), &mut Names, &mut Names).unwrap();
            } else if let Some(exit) = CallExit::of(&next) {
                line.write_exit(&exit, &mut Names).unwrap();
            }
        }
        prop_assert!(text.len() < 10_000);
    }
}
