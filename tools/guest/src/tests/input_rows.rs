// SPDX-License-Identifier: GPL-2.0

//! What is written to which control file by the tests of `input`.

/// A control file, what is written besides `common`, and how to get back.
pub struct Row {
    pub file: &'static str,
    pub extra: &'static [&'static str],
    /// Written after an input that changed something; empty: nothing can have changed.
    pub restore: &'static str,
    pub state: State,
}

#[derive(PartialEq)]
pub enum State {
    /// Reading back must give the same text on both trees.
    Same,
    /// The text lists things that the trees do not share; it must only be kept by a refusal.
    Own,
    /// The same text on both, which tells of a refusal: that alone changes it.
    Told,
    /// Reading would consume or block, or shows stamps.
    None,
}

const fn row(
    file: &'static str,
    extra: &'static [&'static str],
    restore: &'static str,
    state: State,
) -> Row {
    Row {
        file,
        extra,
        restore,
        state,
    }
}

/// Which instances have the files, says `files`.
pub const ROWS: &[Row] = &[
    row(
        "tracing_on",
        &["00", "10", "18446744073709551615", "yes", "0\n\n"],
        "1",
        State::Same,
    ),
    row(
        "buffer_size_kb",
        &["8", "9", "100", "0 "],
        "1410",
        State::Same,
    ),
    row(
        "per_cpu/cpu0/buffer_size_kb",
        &["8", "9", "100"],
        "1410",
        State::Same,
    ),
    row(
        "trace_clock",
        &["local", "mono ", " mono", "Mono", "mon", "monoo", "[local]"],
        "local",
        State::Same,
    ),
    row(
        "current_tracer",
        &["nop", "nop ", " nop", "no", "nopp", "nosuch"],
        "nop",
        State::Same,
    ),
    row(
        "trace_options",
        &[
            "nosuch",
            "nonosuch",
            "no",
            "overwrite",
            "nooverwrite",
            "overwrite ",
            " overwrite",
            "nonooverwrite",
            "overwrite markers",
            "OVERWRITE",
            "options/overwrite",
        ],
        "overwrite",
        State::Own,
    ),
    row(
        "set_event",
        &[
            "sched:sched_switch",
            "sched:",
            ":sched_switch",
            "sched:nosuch",
            "nosuch:nosuch",
            "nosuch",
            "nosuch:",
            "!",
            "!sched",
            "!nosuch",
            "sched:sched_switch:",
            "sched/sched_switch",
            "sched:sched_sw*",
            "sched_switch",
            "sched:*nosuch*",
            "sched:sched_switch nosuch",
            "nosuch sched:sched_waking",
            "sched:[",
            "SCHED:SCHED_SWITCH",
            "!sched:sched_switch",
            "sched:sched_switch:mod:rtrace",
        ],
        "!sched:*",
        State::Same,
    ),
    row(
        "events/sched/sched_switch/enable",
        &["true", "01", "1 ", "1\n"],
        "0",
        State::Same,
    ),
    row("events/sched/enable", &["1\n", "X", "?"], "0", State::Same),
    row("events/signal/enable", &["1 ", "*"], "0", State::Same),
    row(
        "events/sched/sched_switch/filter",
        &[
            "prev_pid == 1",
            "prev_pid == 1 ",
            "prev_pid",
            "prev_pid ==",
            "prev_pid = 1",
            "prev_pid == x",
            "prev_pid == 1 &&",
            "prev_pid == 1 && nosuch == 1",
            "(prev_pid == 1",
            "prev_pid == 1)",
            "!(prev_pid == 1) || next_pid & 1",
            "prev_comm == \"a",
            "prev_comm > 1",
            "prev_comm ~ \"*a*\"",
            "prev_pid ~ \"1\"",
            "prev_pid == 1 | 2",
            "CPU & CPUS{",
            "CPU & CPUS{0-99999}",
            "prev_pid.function == schedule",
            "prev_pid == 99999999999999999999",
            "&& prev_pid == 1",
            "()",
        ],
        "0",
        State::Told,
    ),
    row(
        "events/signal/filter",
        &[
            "sig == 1",
            "sig ==",
            "group == 1",
            "nosuch == 1",
            "common_pid == 1",
            "sig == 1 && code == 2",
        ],
        "0",
        State::Told,
    ),
    row(
        "set_event_pid",
        &[
            "1 2 3", "0", "1 x", "x 1", "-5", "4194304", "99999999", "1,2", "1\n2\n",
        ],
        " ",
        State::Same,
    ),
    row(
        "set_event_notrace_pid",
        &["1 2 3", "0", "1 x", "-5", "4194304", "99999999", "1,2"],
        " ",
        State::Same,
    ),
    row(
        "tracing_cpumask",
        &[
            "3",
            "f\n",
            "ff",
            "ffffffff",
            "1,00000001",
            "g",
            "1,",
            ",1",
            "0,0,0,0,1",
            "1 ",
        ],
        "1",
        State::Same,
    ),
    row(
        "buffer_percent",
        &["50", "100", "101", "0\n", "100 "],
        "50",
        State::Same,
    ),
    row(
        "syscall_user_buf_size",
        &["63", "165", "166", "1000", "0 "],
        "63",
        State::Same,
    ),
    row("snapshot", &["3", "0\n", "1 "], "0", State::Own),
    row("per_cpu/cpu0/snapshot", &["3", "0\n"], "", State::Own),
    row("per_cpu/cpu0/snapshot_raw", &[], "", State::None),
    row("error_log", &["anything"], "", State::None),
    row(
        "trace_marker",
        &["two\nlines", "\n\n", "%s%n"],
        "",
        State::None,
    ),
    row(
        "trace_marker_raw",
        &["\x01\0\0", "\x01\0\0\0", "\x01\0\0\0more"],
        "",
        State::None,
    ),
    row("timestamp_mode", &["delta", "absolute"], "", State::Same),
    row("events/sched/sched_switch/id", &[], "", State::Own),
    row("events/sched/sched_switch/format", &[], "", State::Own),
    row("events/header_page", &[], "", State::Same),
    row("events/header_event", &[], "", State::Same),
    row("buffer_total_size_kb", &["8"], "", State::Same),
    row("per_cpu/cpu0/stats", &[], "", State::None),
    row("trace_pipe", &[], "", State::None),
    row("per_cpu/cpu0/trace_pipe", &[], "", State::None),
    row("per_cpu/cpu0/trace_pipe_raw", &[], "", State::None),
    row("trace", &[], "", State::None),
    row("per_cpu/cpu0/trace", &[], "", State::None),
    // The last of an instance: what it does to the other sizes tracefs does not show.
    row(
        "buffer_subbuf_size_kb",
        &["1", "4", "5", "8", "512", "513", "1024", "8 ", "4\n"],
        "4",
        State::Same,
    ),
    row("README", &[], "", State::Own),
    row("available_events", &[], "", State::Own),
    row("available_tracers", &["nop"], "", State::Own),
    row("saved_cmdlines", &[], "", State::None),
    row("saved_tgids", &[], "", State::None),
    row(
        "saved_cmdlines_size",
        &["8192", "32768", "32769", "0\n", "1\n"],
        "1",
        State::Own,
    ),
];

/// Inputs that every file gets.
pub fn common() -> Vec<(String, Vec<u8>)> {
    let short: &[&[u8]] = &[
        b"",
        b"\n",
        b" ",
        b"garbage",
        b"-1",
        b"0",
        b"2",
        b"+1",
        b"1x",
        b"1 1",
        b" 1",
        b"0x1",
        b"010",
        b"4294967296000000000000",
        b"18446744073709551616",
        b"\xff\xfe\x00\x01",
        b"1\0",
        b"\0",
        b"\0\x31",
    ];
    let mut inputs: Vec<_> = short
        .iter()
        .map(|bytes| (bytes.escape_ascii().to_string(), bytes.to_vec()))
        .collect();
    for (what, len) in [
        ("long", 64),
        ("page", 4096),
        ("more", 5000),
        ("much", 70_000),
    ] {
        inputs.push((format!("{what}: 1 * {len}"), vec![b'1'; len]));
        inputs.push((format!("{what}: a * {len}"), vec![b'a'; len]));
    }
    inputs
}
