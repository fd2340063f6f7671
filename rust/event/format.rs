// SPDX-License-Identifier: GPL-2.0

//! The text of the `format` files, of `header_page` and of `header_event`.
//!
//! Called by the files under `events/`. Everything a tool needs to decode raw sub-buffers is in
//! these texts, so they equal those of tracefs byte for byte.

use super::{
    evals::{
        self,
        Eval, //
    },
    field::{
        self,
        DeclaredField,
        COMMON,
        COMMON_SIZE, //
    },
};
use crate::text::graph;
use core::fmt::{
    self,
    Write, //
};

/// The beginning of the names that the kernel's macros, such as `min()`, give local variables. A
/// number that counts them ends each name.
const UNIQUE: &str = "__UNIQUE_ID_";

/// Returns whether two print formats are equal but for the numbers of local variables, which tell
/// only how many came before in the source of each.
pub(crate) fn prints_alike(one: &str, other: &str) -> bool {
    let mut other = other.split(UNIQUE);
    let mut is_first = true;
    for piece in one.split(UNIQUE) {
        let Some(twin) = other.next() else {
            return false;
        };
        if !is_first && named_only(piece) != named_only(twin) || is_first && piece != twin {
            return false;
        }
        is_first = false;
    }
    other.next().is_none()
}

/// Returns the rest of a name without the digits at its end, and what follows the name.
fn named_only(text: &str) -> (&str, &str) {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let end = text.bytes().take_while(is_name).count();
    let (name, behind) = text.split_at_checked(end).unwrap_or((text, ""));
    (name.trim_end_matches(|c: char| c.is_ascii_digit()), behind)
}

/// Writes the `format` text of one event.
pub(crate) fn write<'a, 'b>(
    w: &mut dyn Write,
    name: &str,
    id: u16,
    fields: impl Iterator<Item = DeclaredField<'a>>,
    print_fmt: &str,
    evals: impl Iterator<Item = Eval<'b>> + Clone,
) -> fmt::Result {
    write!(w, "name: {name}\nID: {id}\nformat:\n")?;
    for field in field::place(COMMON.into_iter(), 0) {
        field.write(w)?;
    }
    w.write_str("\n")?;
    for field in field::place(fields, COMMON_SIZE) {
        field.write(w)?;
    }
    w.write_str("\nprint fmt: ")?;
    evals::write_replaced(w, print_fmt, evals)?;
    w.write_str("\n")
}

/// Writes `header_page`: how a sub-buffer begins. `capacity` is the bytes that it holds after its
/// header.
pub(crate) fn write_header_page(w: &mut dyn Write, capacity: usize) -> fmt::Result {
    w.write_str(concat!(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n",
        "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n",
        "\tfield: char overwrite;\toffset:8;\tsize:1;\tsigned:0;\n",
    ))?;
    writeln!(
        w,
        "\tfield: char data;\toffset:16;\tsize:{capacity};\tsigned:0;"
    )
}

/// Writes `header_event`: how each event in a sub-buffer begins.
pub(crate) fn write_header_event(w: &mut dyn Write) -> fmt::Result {
    w.write_str(concat!(
        "# compressed entry header\n",
        "\ttype_len    :    5 bits\n",
        "\ttime_delta  :   27 bits\n",
        "\tarray       :   32 bits\n",
        "\n",
        "\tpadding     : type == 29\n",
        "\ttime_extend : type == 30\n",
        "\ttime_stamp : type == 31\n",
        "\tdata max type_len  == 28\n",
    ))
}

/// The system of the records that no tracepoint makes.
pub(crate) const INTERNAL_SYSTEM: &str = "ftrace";

/// A kind of record that no tracepoint makes; tools look for it in the system `ftrace`.
pub(crate) struct Internal {
    pub(crate) name: &'static str,
    pub(crate) id: u16,
    fields: &'static [DeclaredField<'static>],
    print_fmt: &'static str,
}

const IP: DeclaredField<'static> = DeclaredField {
    ty: "unsigned long",
    name: "ip",
    size: 8,
    align: 8,
    len: 0,
    signed: false,
};

const ARGS: DeclaredField<'static> = DeclaredField {
    ty: "unsigned long[]",
    name: "args",
    size: 0,
    align: 8,
    len: 0,
    signed: false,
};

const PARENT_IP: DeclaredField<'static> = DeclaredField {
    ty: "unsigned long",
    name: "parent_ip",
    size: 8,
    align: 8,
    len: 0,
    signed: false,
};

/// The record of the tracer `function`: a function and its caller. Its arguments follow when the record is
/// longer.
pub(crate) const FUNCTION: Internal = Internal {
    name: "function",
    id: 1,
    fields: &[IP, PARENT_IP, ARGS],
    print_fmt: "\" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip",
};

/// A number of a record of the tracer `function_graph`.
const fn number(ty: &'static str, name: &'static str, size: u32) -> DeclaredField<'static> {
    DeclaredField {
        ty,
        name,
        size,
        align: size,
        len: 0,
        signed: false,
    }
}

/// The record of an entry of the tracer `function_graph`: the function and how deep its call is.
pub(crate) const GRAPH_ENTRY: Internal = Internal {
    name: "funcgraph_entry",
    id: graph::ENTRY_ID,
    fields: &[
        number("unsigned long", "func", 8),
        number("unsigned long", "depth", 8),
        ARGS,
    ],
    print_fmt: "\"--> %ps (%lu)\", (void *)REC->func, REC->depth",
};

/// The record of an entry with the option `funcgraph-retaddr`: that, and where the call returns to.
pub(crate) const GRAPH_RETADDR_ENTRY: Internal = Internal {
    name: "fgraph_retaddr_entry",
    id: graph::RETADDR_ENTRY_ID,
    fields: &[
        number("unsigned long", "func", 8),
        number("unsigned long", "depth", 8),
        number("unsigned long", "retaddr", 8),
        ARGS,
    ],
    print_fmt: concat!(
        r#""--> %ps (%lu) <- %ps", "#,
        "(void *)REC->func, REC->depth, (void *)REC->retaddr",
    ),
};

/// The record of an exit of the tracer `function_graph`.
pub(crate) const GRAPH_EXIT: Internal = Internal {
    name: "funcgraph_exit",
    id: graph::EXIT_ID,
    fields: &[
        number("unsigned long", "func", 8),
        number("unsigned int", "depth", 4),
        number("unsigned int", "overrun", 4),
        number("unsigned long long", "calltime", 8),
        number("unsigned long long", "rettime", 8),
    ],
    print_fmt: concat!(
        r#""<-- %ps (%u) (start: %llx  end: %llx) over: %u", "#,
        "(void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth",
    ),
};

/// The record of the option `func-no-repeats`: a function and its caller, how often it was called from there
/// again, and how long before this record that was last.
pub(crate) const FUNC_REPEATS: Internal = Internal {
    name: "func_repeats",
    id: 20,
    fields: &[
        IP,
        PARENT_IP,
        DeclaredField {
            ty: "u16",
            name: "count",
            size: 2,
            align: 2,
            len: 0,
            signed: false,
        },
        DeclaredField {
            ty: "u16",
            name: "top_delta_ts",
            size: 2,
            align: 2,
            len: 0,
            signed: false,
        },
        DeclaredField {
            ty: "u32",
            name: "bottom_delta_ts",
            size: 4,
            align: 4,
            len: 0,
            signed: false,
        },
    ],
    print_fmt: concat!(
        "\" %ps <-%ps\t(repeats:%u  delta: -%llu)\", (void *)REC->ip, (void *)REC->parent_ip, ",
        "REC->count, (((u64)(REC)->top_delta_ts << 32) | (REC)->bottom_delta_ts)",
    ),
};

/// The record of `trace_marker`: the writer's address and a string.
pub(crate) const PRINT: Internal = Internal {
    name: "print",
    id: 5,
    fields: &[
        IP,
        DeclaredField {
            ty: "char[]",
            name: "buf",
            size: 0,
            align: 1,
            len: 0,
            signed: false,
        },
    ],
    print_fmt: "\"%ps: %s\", (void *)REC->ip, REC->buf",
};

/// Bytes of that record before its text: the common fields and the address.
pub(crate) const PRINT_HEAD: usize = COMMON_SIZE as usize + 8;

/// The record of `trace_marker_raw`: an id of the user's choice and bytes.
pub(crate) const RAW_DATA: Internal = Internal {
    name: "raw_data",
    id: 19,
    fields: &[
        DeclaredField {
            ty: "unsigned int",
            name: "id",
            size: 4,
            align: 4,
            len: 0,
            signed: false,
        },
        DeclaredField {
            ty: "char[]",
            name: "buf",
            size: 0,
            align: 1,
            len: 0,
            signed: false,
        },
    ],
    print_fmt: "\"id:%04x %08x\", REC->id, (int)REC->buf[0]",
};

/// The record of the tracer `hwlat`: how long a CPU did nothing that it was asked to, and when.
pub(crate) const HWLAT: Internal = Internal {
    name: "hwlat",
    id: 16,
    fields: &[
        number("u64", "duration", 8),
        number("u64", "outer_duration", 8),
        number("u64", "nmi_total_ts", 8),
        DeclaredField {
            signed: true,
            ..number("s64", "tv_sec", 8)
        },
        DeclaredField {
            signed: true,
            ..number("long", "tv_nsec", 8)
        },
        number("unsigned int", "nmi_count", 4),
        number("unsigned int", "seqnum", 4),
        number("unsigned int", "count", 4),
    ],
    print_fmt: concat!(
        r#""cnt:%u\tts:%010llu.%010lu\tinner:%llu\touter:%llu\tcount:%d\tnmi-ts:%llu\tnmi-count:%u\n", "#,
        "REC->seqnum, REC->tv_sec, REC->tv_nsec, REC->duration, REC->outer_duration, REC->count, ",
        "REC->nmi_total_ts, REC->nmi_count",
    ),
};

/// The record of the tracer `osnoise`: what a period took from a thread that could always run.
pub(crate) const OSNOISE: Internal = Internal {
    name: "osnoise",
    id: 17,
    fields: &[
        number("u64", "noise", 8),
        number("u64", "runtime", 8),
        number("u64", "max_sample", 8),
        number("unsigned int", "hw_count", 4),
        number("unsigned int", "nmi_count", 4),
        number("unsigned int", "irq_count", 4),
        number("unsigned int", "softirq_count", 4),
        number("unsigned int", "thread_count", 4),
    ],
    print_fmt: concat!(
        r#""noise:%llu\tmax_sample:%llu\thw:%u\tnmi:%u\tirq:%u\tsoftirq:%u\tthread:%u\n", "#,
        "REC->noise, REC->max_sample, REC->hw_count, REC->nmi_count, REC->irq_count, ",
        "REC->softirq_count, REC->thread_count",
    ),
};

/// The record of the tracer `timerlat`: how late a timer or the thread was that it wakes.
pub(crate) const TIMERLAT: Internal = Internal {
    name: "timerlat",
    id: 18,
    fields: &[
        number("unsigned int", "seqnum", 4),
        DeclaredField {
            signed: true,
            ..number("int", "context", 4)
        },
        number("u64", "timer_latency", 8),
    ],
    print_fmt: concat!(
        r#""seq:%u\tcontext:%d\ttimer_latency:%llu\n", "#,
        "REC->seqnum, REC->context, REC->timer_latency",
    ),
};

/// The record of the tracers `irqsoff_sampled` and `preemptoff_sampled`: how long it was off, as bounds in nanoseconds.
/// ftrace has no such record, and is far from this number.
pub(crate) const OFF_SAMPLED: Internal = Internal {
    name: "off_sampled",
    id: 31,
    fields: &[
        number("u64", "lower", 8),
        number("u64", "upper", 8),
        number("unsigned int", "looks", 4),
        DeclaredField {
            signed: true,
            ..number("int", "pid", 4)
        },
        number("unsigned int", "what", 4),
    ],
    print_fmt: concat!(
        r#""%s off: at least %llu ns, at most %llu ns, looks: %u, pid: %d", "#,
        r#"__print_symbolic(REC->what, { 0, "interrupts" }, { 1, "preemption" }), "#,
        "REC->lower, REC->upper, REC->looks, REC->pid",
    ),
};

/// The fields of the records of the tracers `wakeup`.
const SWITCH: [DeclaredField<'static>; 7] = [
    number("unsigned int", "prev_pid", 4),
    number("unsigned int", "next_pid", 4),
    number("unsigned int", "next_cpu", 4),
    number("unsigned char", "prev_prio", 1),
    number("unsigned char", "prev_state", 1),
    number("unsigned char", "next_prio", 1),
    number("unsigned char", "next_state", 1),
];

/// The arguments of their print formats.
macro_rules! switch_fmt {
    ($mark:literal) => {
        concat!(
            "\"%u:%u:%u  ",
            $mark,
            " %u:%u:%u [%03u]\", REC->prev_pid, REC->prev_prio, REC->prev_state, ",
            "REC->next_pid, REC->next_prio, REC->next_state, REC->next_cpu",
        )
    };
}

/// The record of the tracers `wakeup` of a task that runs.
pub(crate) const CONTEXT_SWITCH: Internal = Internal {
    name: "context_switch",
    id: 2,
    fields: &SWITCH,
    print_fmt: switch_fmt!("==>"),
};

/// The record of the tracers `wakeup` of a task that was woken up.
pub(crate) const WAKEUP: Internal = Internal {
    name: "wakeup",
    id: 3,
    fields: &SWITCH,
    print_fmt: switch_fmt!("==+"),
};

const CALLERS: DeclaredField<'static> = DeclaredField {
    ty: "unsigned long[8]",
    name: "caller",
    size: 64,
    align: 8,
    len: 8,
    signed: false,
};

/// The print format of both stacks.
const CALLERS_FMT: &str = concat!(
    r#""\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n\t=> %ps\n" "\t=> %ps\n\t=> %ps\n", "#,
    "(void *)REC->caller[0], (void *)REC->caller[1], (void *)REC->caller[2], ",
    "(void *)REC->caller[3], (void *)REC->caller[4], (void *)REC->caller[5], ",
    "(void *)REC->caller[6], (void *)REC->caller[7]",
);

/// The record of `stacktrace`: the functions that led to the event before it. There may be more of
/// them than the eight that the format names.
pub(crate) const KERNEL_STACK: Internal = Internal {
    name: "kernel_stack",
    id: 4,
    fields: &[
        DeclaredField {
            ty: "int",
            name: "size",
            size: 4,
            align: 4,
            len: 0,
            signed: true,
        },
        CALLERS,
    ],
    print_fmt: CALLERS_FMT,
};

/// The record of `userstacktrace`: the process and the places in it that led to the event before
/// it.
pub(crate) const USER_STACK: Internal = Internal {
    name: "user_stack",
    id: 13,
    fields: &[
        DeclaredField {
            ty: "unsigned int",
            name: "tgid",
            size: 4,
            align: 4,
            len: 0,
            signed: false,
        },
        CALLERS,
    ],
    print_fmt: CALLERS_FMT,
};

/// The kinds of records of the system `ftrace`.
pub(crate) const INTERNAL: [&Internal; 15] = [
    &CONTEXT_SWITCH,
    &GRAPH_RETADDR_ENTRY,
    &FUNC_REPEATS,
    &GRAPH_ENTRY,
    &GRAPH_EXIT,
    &FUNCTION,
    &HWLAT,
    &KERNEL_STACK,
    &OFF_SAMPLED,
    &OSNOISE,
    &PRINT,
    &RAW_DATA,
    &TIMERLAT,
    &USER_STACK,
    &WAKEUP,
];

impl Internal {
    /// Returns the fields in their order in the record.
    pub(crate) fn declared(&self) -> impl Iterator<Item = DeclaredField<'static>> {
        self.fields.iter().copied()
    }

    /// Writes the `format` text.
    pub(crate) fn write_format(&self, w: &mut dyn Write) -> fmt::Result {
        write(
            w,
            self.name,
            self.id,
            self.declared(),
            self.print_fmt,
            core::iter::empty(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `events/sched/sched_wakeup/format` of Linux 7.3.4, but for the id.
    const SCHED_WAKEUP: &str = concat!(
        "name: sched_wakeup\nID: 77\nformat:\n",
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n",
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n",
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n",
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n",
        "\n",
        "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n",
        "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n",
        "\n",
        "print fmt: \"comm=%s pid=%d\", REC->comm, REC->pid\n",
    );

    #[test]
    fn numbers_of_local_variables_do_not_count() {
        let min = |x: u32, y: u32| {
            format!(
                "\"%d\", ({{ int __UNIQUE_ID_x__{x} = (REC->a); int __UNIQUE_ID_y__{y} = (128); \
                 __UNIQUE_ID_x__{x} < __UNIQUE_ID_y__{y}; }}), REC->b1"
            )
        };
        assert!(prints_alike("\"\"", "\"\""));
        assert!(prints_alike(&min(7, 8), &min(1023, 1024)));
        let rows = [
            ("", "__UNIQUE_ID_x__1"),
            ("__UNIQUE_ID_x__1", ""),
            ("__UNIQUE_ID_x__1", "__UNIQUE_ID_y__1"),
            ("__UNIQUE_ID_x__1 = 1", "__UNIQUE_ID_x__1 = 2"),
            ("a1 __UNIQUE_ID_x__1", "a2 __UNIQUE_ID_x__1"),
            ("__UNIQUE_ID_x__1", "__UNIQUE_ID_x__1 __UNIQUE_ID_x__1"),
        ];
        for (one, other) in rows {
            assert!(!prints_alike(one, other), "{one:?} {other:?}");
            assert!(!prints_alike(other, one), "{other:?} {one:?}");
        }
        assert!(!prints_alike(&min(1, 2), &min(1, 2).replace("b1", "b2")));
    }

    #[test]
    fn event_format_equals_that_of_tracefs() {
        let of = |ty, name, size, align, len, signed| DeclaredField {
            ty,
            name,
            size,
            align,
            len,
            signed,
        };
        let fields = [
            of("char[TASK_COMM_LEN]", "comm", 16, 1, 16, false),
            of("pid_t", "pid", 4, 4, 0, true),
        ];
        let mut text = String::new();
        write(
            &mut text,
            "sched_wakeup",
            77,
            fields.into_iter(),
            "\"comm=%s pid=%d\", REC->comm, REC->pid",
            core::iter::empty(),
        )
        .unwrap();
        assert_eq!(text, SCHED_WAKEUP);
    }

    #[test]
    fn header_page_equals_that_of_tracefs() {
        let mut text = String::new();
        write_header_page(&mut text, 4080).unwrap();
        assert_eq!(
            text,
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
             \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
             \tfield: char overwrite;\toffset:8;\tsize:1;\tsigned:0;\n\
             \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"
        );
    }

    #[test]
    fn header_event_has_the_bits_of_the_ring() {
        let mut text = String::new();
        write_header_event(&mut text).unwrap();
        assert_eq!(text.len(), 205);
        assert!(text.starts_with("# compressed entry header\n\ttype_len    :    5 bits\n"));
        assert!(text.ends_with("\ttime_stamp : type == 31\n\tdata max type_len  == 28\n"));
    }

    #[test]
    fn internal_formats_equal_those_of_tracefs() {
        let head = |name, id| {
            format!("name: {name}\nID: {id}\n")
                + SCHED_WAKEUP
                    .split_once("ID: 77\n")
                    .unwrap()
                    .1
                    .split_once("\n\n")
                    .unwrap()
                    .0
                + "\n\n"
        };
        let want = [
            head("print", 5)
                + "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n\
                   \tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\n\
                   print fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n",
            head("raw_data", 19)
                + "\tfield:unsigned int id;\toffset:8;\tsize:4;\tsigned:0;\n\
                   \tfield:char buf[];\toffset:12;\tsize:0;\tsigned:0;\n\n\
                   print fmt: \"id:%04x %08x\", REC->id, (int)REC->buf[0]\n",
        ];
        for (internal, want) in [PRINT, RAW_DATA].into_iter().zip(want) {
            let mut text = String::new();
            internal.write_format(&mut text).unwrap();
            assert_eq!(text, want);
        }
    }

    #[test]
    fn formats_of_the_graph_equal_those_of_tracefs() {
        let text = |internal: &Internal| {
            let mut text = String::new();
            internal.write_format(&mut text).unwrap();
            text.split_once("\n\n").unwrap().1.to_string()
        };
        assert_eq!(
            text(&GRAPH_ENTRY),
            "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n\
             \tfield:unsigned long depth;\toffset:16;\tsize:8;\tsigned:0;\n\
             \tfield:unsigned long args[];\toffset:24;\tsize:0;\tsigned:0;\n\n\
             print fmt: \"--> %ps (%lu)\", (void *)REC->func, REC->depth\n"
        );
        assert_eq!(
            text(&GRAPH_RETADDR_ENTRY),
            "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n\
             \tfield:unsigned long depth;\toffset:16;\tsize:8;\tsigned:0;\n\
             \tfield:unsigned long retaddr;\toffset:24;\tsize:8;\tsigned:0;\n\
             \tfield:unsigned long args[];\toffset:32;\tsize:0;\tsigned:0;\n\n\
             print fmt: \"--> %ps (%lu) <- %ps\", (void *)REC->func, REC->depth, (void *)REC->retaddr\n"
        );
        assert_eq!(
            text(&GRAPH_EXIT),
            "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n\
             \tfield:unsigned int depth;\toffset:16;\tsize:4;\tsigned:0;\n\
             \tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;\n\
             \tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n\
             \tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n\n\
             print fmt: \"<-- %ps (%u) (start: %llx  end: %llx) over: %u\", \
             (void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth\n"
        );
    }

    #[test]
    fn formats_of_stacks_equal_those_of_tracefs() {
        let callers = "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n";
        let rows = [
            (
                KERNEL_STACK,
                "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n",
            ),
            (
                USER_STACK,
                "\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n",
            ),
        ];
        for (internal, number) in rows {
            let mut text = String::new();
            internal.write_format(&mut text).unwrap();
            let (head, print) = text.split_once("\nprint fmt: ").unwrap();
            assert!(head.ends_with(&format!("\n\n{number}{callers}")), "{head}");
            assert_eq!(print.matches(r"\t=> %ps\n").count(), 8);
            assert_eq!(print.matches("(void *)REC->caller[").count(), 8);
            assert!(print.ends_with("REC->caller[7]\n"));
        }
        assert!(INTERNAL.windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}
