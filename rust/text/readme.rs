// SPDX-License-Identifier: GPL-2.0
//! The text of the file `README`.

/// The text of `README`: one entry per control file. Programs look for names of files in it.
pub(crate) const README: &str = "\
rtracefs mini-HOWTO

  mount -t rtracefs [-o [gid=<gid>]] nodev /sys/kernel/rtracing

With mode=750 members of the group may read what root may read.

Every directory here is an instance: a set of ring buffers, one per CPU, with
its own switches. The top directory is one; mkdir instances/NAME makes another
and rmdir instances/NAME removes it (not while one of its files is open).

Recording:
  tracing_on            0 stops recording, any other number starts it. What is
                        in the buffers stays there.
  current_tracer        what is recorded besides events: nop, nothing;
                        function, each function that is called; or
                        function_graph, its entry and exit. Changing it empties
                        the buffers.
  available_tracers     the tracers that there are.
  trace_clock           the clocks; the one in brackets makes the stamps. Write
                        a name to choose another: this empties the buffers.
        local           nanoseconds, fast, CPUs may differ a little
        global          nanoseconds, one order for all CPUs, slower
        counter         no time, only one number more per event
        uptime          jiffies since boot
        perf            the clock of perf events
        mono mono_raw boot tai
                        the kernel's clocks of these names, in nanoseconds
        x86-tsc         cycles of the processor
  tracing_cpumask       the CPUs that are recorded, as hexadecimal digits.
  trace_marker          what is written here becomes an event.
  trace_marker_raw      the same for bytes: a number of 32 bits and what is
                        behind it.
  trace_options         all options; write NAME to switch one on, noNAME to
                        switch it off.
        raw hex bin     records as numbers.
        fields          events field by field.
        latency-format  short lines with delays; verbose makes them long.
        stacktrace userstacktrace
                        the callers, in the kernel or in the process, behind
                        each event.
        sym-offset sym-addr sym-userobj
                        how they are shown.
        hash-ptr        pointers in texts are hashed.
        printk-msg-only markers are their texts alone.
        pause-on-trace  nothing is recorded while trace is open.
  options/NAME          the same for one option, as 0 or 1.
  timestamp_mode        how events carry their time: [delta].
  buffer_size_kb        the size of the buffer of each CPU in KiB; write a
                        number to change it. X: the CPUs differ.
  buffer_total_size_kb  the sum over the CPUs.
  buffer_percent        how full a buffer shall be before poll() and splice()
                        of the files of one CPU tell of it. 0: of any event.
  free_buffer           closing it gives the buffers the smallest size; with
                        the option disable_on_free it stops recording, too.

Events:
  available_events      all events as SYSTEM:EVENT, one per line.
  set_event             the events that are on. Write words like SYSTEM:EVENT,
                        SYSTEM:*, EVENT or *:* to switch events on, the same
                        after ! to switch them off. Opening the file with
                        truncation switches all off first.
  set_event_pid         events of these tasks only: pids, one per line. A write
                        adds to the list, opening with truncation empties it.
                        Empty: all tasks.
  set_event_notrace_pid the same: of all tasks but these.
                        With the option event-fork children are added to a
                        list that has their parent, and tasks that end go.
  show_event_filters    the filters of all events.
  show_event_triggers   the triggers of all events.
  event_counts          how often each event was recorded and refused, with
                        the option event-counts.
  syscall_user_buf_size
                        bytes that events of system calls keep of a text or
                        buffer of the user, at most 165; 0 for none.
  events/enable         all events: 0, 1, or X for some of each. Write 0 or 1.
  events/SYSTEM/enable  the events of one system.
  events/SYSTEM/filter  gives all of them a filter.
  events/SYSTEM/EVENT/
        enable          this event.
        filter          which of its records are kept: an expression over its
                        fields like  prev_pid == 0 || prev_comm ~ \"kw*\"
                        with == != < <= > >= & and ~ (for strings), && || !
                        and parentheses. Write 0 to keep all of them.
        format          the fields of its binary record and how it is printed.
        hits            how often it was recorded, with option event-counts.
        id              the number that its records carry.
        lost            how often it was refused, with option event-counts.
        trigger         what it does besides: traceon, traceoff, stacktrace,
                        snapshot, enable_event:SYSTEM:EVENT or disable_event,
                        enable_hist:SYSTEM:EVENT or disable_hist, then :COUNT
                        and  if FILTER as you like; ! before it removes one.
                        The event need not be on: its enable then shows 0*.
                        hist:keys=KEYS[:vals=VALUES][:sort=FIELDS][:size=N]
                        [:<var1>=<field|var_ref|numeric_literal>]
                        [:HANDLER.ACTION] counts events by KEYS and adds up
                        VALUES; others refer to $var1. Values may also be
                        FIELD.min, .max, .avg and .quantiles, and FIELDS
                        FIELD.top=N, the largest N alone. HANDLER:
                        onmatch(SYSTEM.EVENT), onmax(var), onchange(var);
                        ACTION: <synthetic_event>(param list),
                        trace(<synthetic_event>,param list),
                        save(field,...), snapshot()
        hist            what it has counted.
        hist_json       the same, one JSON object per line.
        hist_take       the same, which begins again with nothing: what was
                        counted since the last read. Nothing is lost.
  events/raw/TRACEPOINT tracepoints without another event: their arguments as
                        they are. Not part of all events: write raw:* or a
                        name.
  events/header_page    the layout of a sub-buffer of trace_pipe_raw.
  events/header_event   the layout of the header of an event in it.

Events that users define, where the kernel has kprobes:
  kprobe_events         one definition per line; writing appends, opening with
                        truncation removes all.
        p[:[GROUP/]EVENT] PLACE [ARGUMENT]...   a hit of an instruction
        r[MAX][:[GROUP/]EVENT] PLACE [ARGUMENT]...   a return of a function
        -:[GROUP/]EVENT   removes it, unless it is enabled
        PLACE: [MODULE:]SYMBOL[+OFFSET] or an address; %return after it is r
               if FILTER at the end: other hits are not recorded; FIELDs of
               the event itself. Also after f, t and lines of programs
        ARGUMENT: [NAME=]FETCH[:TYPE]
        FETCH: %REGISTER, $stack, $stackN, $retval, $comm, $current, $argN,
               @ADDRESS, @SYMBOL[+-OFFSET], +|-[u]OFFSET(FETCH), \\VALUE,
               \\\"TEXT\", NAME of a parameter, NAME->FIELD, $arg*,
               (STRUCT[,MEMBER])FETCH->FIELD, $current->FIELD,
               this_cpu_read(FETCH), this_cpu_ptr(FETCH)
        TYPE: u8 to u64, s8 to s64, x8 to x64, char, symbol, string, ustring,
              symstr, errno, enum, %pd/%pD, bWIDTH@OFFSET/SIZE, and TYPE[N]
  uprobe_events         the same of programs, where the kernel has uprobes:
        p[:[GROUP/]EVENT] <path>:<offset>[(ref_ctr_offset)] [ARGUMENT]...
        r[:[GROUP/]EVENT] <path>:<offset>[(ref_ctr_offset)] [ARGUMENT]...
        place (uprobe): <path>:<offset>[%return][(ref_ctr_offset)]
               or with a function: <path>:FUNCTION[+OFFSET]
               or a probe of the program: <path>@PROVIDER:NAME, with $argN
        FETCH: as above, of the memory of the program; @+OFFSET is of the
               file. No $argN, $current, @SYMBOL, names, symbol or symstr
  dynamic_events        the same, and those of synthetic_events:
        s:[synthetic/]NAME TYPE FIELD[; TYPE FIELD]...
                        events of functions and of tracepoints:
        f[:[GROUP/]EVENT] PATTERN[%return] [ARGUMENT]...
        t[:[GROUP/]EVENT] TRACEPOINT [ARGUMENT]...
        FETCH: as above but registers, and for a return only $retval and
               $latency, the nanoseconds of the call
                        watchpoints, recorded after an access to <len> bytes:
        w[:[<group>/][<event>]] [r|w|rw]@<addr>[:<len>] [ARGUMENT]...
        <addr>: an address or [MODULE:]SYMBOL[+-OFFSET]
        FETCH: $addr, $value, $comm, $current, and as above but registers
                        and event probes, recorded when another event is:
        e[:[GROUP/]EVENT] SYSTEM.EVENT [ARGUMENT]... [if FILTER]
        FETCH: $FIELD or FIELD of that event, $comm, and as above but registers
  dynamic_profile       of each definition the hits, those that its own filter
                        left out, those that were missed, and why; what could
                        not be read, and strings that were cut.
  kprobe_profile        event, hits and missed hits of each definition.
  uprobe_profile        file, event and hits of each definition.

Events of values that other events had:
  synthetic_events      one definition per line; writing appends, opening with
                        truncation removes all.
        NAME TYPE FIELD[; TYPE FIELD]...
        !NAME             removes it, unless it is in use
        TYPE: s8 to s64, u8 to u64, [unsigned] char, int or long, bool, pid_t,
              gfp_t; char FIELD[N] and char FIELD[] are strings, and
              long FIELD[] is a stack
        examples: echo 'lat u64 ns; pid_t pid' >> synthetic_events
                  echo 'off pid_t pid; long[] stack' >> synthetic_events

Events that programs define and write themselves:
  user_events_data      the kernel's interface, linux/user_events.h: ioctls
                        register and unregister an event and a bit that is
                        set while it is enabled; a record begins with the index
  user_events_status    the events, and which of them are enabled.
  dynamic_events        the events, and those that persist:
        u:NAME [TYPE FIELD[; TYPE FIELD]...]
        -:NAME FIELDS     removes it, unless it is in use
        example: echo 'u:job u32 id; char[16] what' >> dynamic_events

Functions, where the kernel can trace them:
  available_filter_functions
                        all that can be traced, one per line.
  available_filter_functions_addrs
                        the same with their addresses.
  set_ftrace_filter     the functions that the tracer function records; none:
                        all. Opening the file with truncation empties it; what
                        is written counts when it is closed.
        accepts: func_full_name or glob-matching-pattern, or the number of a
                        line of available_filter_functions
        modules:        PATTERN:mod:MODULE; waits for one that is not loaded
        commands:       FUNCTION:COMMAND[:COUNT], done when it is called:
                        traceon, traceoff, snapshot, stacktrace,
                        enable_event:SYSTEM:EVENT, disable_event:SYSTEM:EVENT,
                        dump, cpudump
        !word           takes them out again
  set_ftrace_notrace    the functions that are not recorded.
  set_ftrace_pid        only functions that these tasks call: pids, one per
                        line, written as set_event_pid.
  set_ftrace_notrace_pid
                        the same: of all tasks but these.
                        With the option function-fork children are added.
  set_graph_function    functions: function_graph records their calls, and all
                        calls in these, and no others. None: all.
  set_graph_notrace     functions whose calls it does not record, nor what is
                        called in these.
  max_graph_depth       how many levels of calls it records; 0: all.
  tracing_thresh        microseconds: it records only calls that take as long,
                        when they end. 0: all.
  tracing_max_latency   microseconds: the longest latency that the tracer has
                        seen.
  hwlat_detector/       window and width: how often and how long the tracer
                        hwlat searches, in microseconds; mode: where.
  latency_sampler/      period_us: how often irqsoff_sampled and
                        preemptoff_sampled look at each CPU, in microseconds.
  osnoise/              what the tracers osnoise and timerlat measure, and what
                        stops tracing: cpus, options, period_us, runtime_us,
                        timerlat_period_us, stop_tracing_us and
                        stop_tracing_total_us, print_stack. Without the option
                        OSNOISE_WORKLOAD tasks measure for timerlat that read
                        per_cpu/cpuN/timerlat_fd, once for each tick.
  function_profile_enabled
                        1: counts and times the calls of the functions of
                        set_ftrace_filter, for trace_stat/functionN.
  function_profile_time 0: a profiler that is enabled then counts, without
                        times.
  trace_stat/           functionN: what it has counted on that CPU.
  stack_tracer_enabled  1: looks for the deepest stack of a task, at the calls
                        of the functions of stack_trace_filter.
  stack_trace           that stack; stack_max_size: its bytes, 0 to begin anew.
  enabled_functions     the functions that are hooked, by whomever.
  touched_functions     the functions that ever were.

Reading:
  trace                 the events of all CPUs in the order of time. Reading
                        takes nothing away. Opening the file with truncation
                        empties the buffers: echo > trace
  trace_pipe            the same, but what was read is gone, and a reader waits
                        for events. It ends when tracing_on becomes 0.
                        With the option pipe-share each open file reads all
                        events for itself, and nothing is taken away.
  trace_pipe_json       the same, one JSON object per event and line.
  trace_durations       how long the calls of function_graph in the buffer
                        took: for each function, by powers of two.
  trace_folded          the calls of function_graph in the buffer, added up by
                        what led to them: TASK;FUNCTION;... NANOSECONDS.
  per_cpu/cpuN/trace, trace_pipe and trace_pipe_json
                        the events of one CPU.
  per_cpu/cpuN/trace_pipe_raw
                        whole sub-buffers in binary, in ftrace's format.
  snapshot              the events of the snapshot. Write 1 to take one, 0 to
                        give its memory back, 2 to empty it.
  per_cpu/cpuN/snapshot the snapshot of one CPU; can be emptied.
  per_cpu/cpuN/snapshot_raw
                        the snapshot in binary, in ftrace's format.
  per_cpu/cpuN/stats    how many events the buffer holds, lost and gave away.
  per_cpu/cpuN/totals   the same since the instance was made, and how many were
                        in the buffer when it was emptied.
  per_cpu/cpuN/buffer_size_kb
                        the size of the buffer of one CPU.
  error_log             the last commands that were refused, and why. Opening
                        it with truncation empties it.
  features              what this version has, one item per line.
  saved_cmdlines        pid and name of the tasks that were seen.
  saved_cmdlines_size   for how many tasks there is room; write a number.
  saved_tgids           pid and thread group of the tasks that were seen, with
                        the option record-tgid.
";

#[cfg(test)]
mod tests {
    use super::{
        super::clock::ClockId,
        *, //
    };

    #[test]
    fn it_fits_a_terminal_and_names_every_clock() {
        for line in README.lines() {
            assert!(line.len() < 80, "{line}");
            assert_eq!(line.trim_end(), line);
        }
        for clock in ClockId::ALL {
            assert!(README.split_whitespace().any(|word| word == clock.name()));
        }
    }
}
