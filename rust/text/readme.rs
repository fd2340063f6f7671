// SPDX-License-Identifier: GPL-2.0
//! What the file `README` says.

/// The text of `README`: one entry per control file. Programs look for names of files in it.
pub(crate) const README: &str = "\
rtracefs mini-HOWTO

Every directory here is an instance: a set of ring buffers, one per CPU, with
its own switches. The top directory is one; mkdir instances/NAME makes another
and rmdir instances/NAME removes it (not while one of its files is open).

Recording:
  tracing_on            0 stops recording, any other number starts it. What is
                        in the buffers stays there.
  current_tracer        always nop: events are recorded, nothing else.
  available_tracers     the tracers that there are (nop).
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
  trace_marker          what is written here becomes an event.
  trace_options         all options; write NAME to switch one on, noNAME to
                        switch it off.
  options/NAME          the same for one option, as 0 or 1.
  buffer_size_kb        the size of the buffer of each CPU in KiB; write a
                        number to change it. X: the CPUs differ.
  buffer_total_size_kb  the sum over the CPUs.

Events:
  available_events      all events as SYSTEM:EVENT, one per line.
  set_event             the events that are on. Write words like SYSTEM:EVENT,
                        SYSTEM:*, EVENT or *:* to switch events on, the same
                        after ! to switch them off. Opening the file with
                        truncation switches all off first.
  events/enable         all events: 0, 1, or X for some of each. Write 0 or 1.
  events/SYSTEM/enable  the events of one system.
  events/SYSTEM/EVENT/
        enable          this event.
        format          the fields of its binary record and how it is printed.
        id              the number that its records carry.
  events/header_page    the layout of a sub-buffer of trace_pipe_raw.
  events/header_event   the layout of the header of an event in it.

Reading:
  trace                 the events of all CPUs in the order of time. Reading
                        takes nothing away. Opening the file with truncation
                        empties the buffers: echo > trace
  trace_pipe            the same, but what was read is gone, and a reader waits
                        for events. It ends when tracing_on becomes 0.
  per_cpu/cpuN/trace and per_cpu/cpuN/trace_pipe
                        the events of one CPU.
  per_cpu/cpuN/trace_pipe_raw
                        whole sub-buffers in binary, in ftrace's format.
  per_cpu/cpuN/stats    how many events the buffer holds, lost and gave away.
  per_cpu/cpuN/buffer_size_kb
                        the size of the buffer of one CPU.
  saved_cmdlines        pid and name of the tasks that were seen.
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
