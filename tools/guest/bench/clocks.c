// SPDX-License-Identifier: GPL-2.0
/* Clocks, and what the loops themselves cost. */
#include <linux/sched/clock.h>
#include <linux/timekeeping.h>
#include <linux/trace_clock.h>
#include <testapi.h>

#include "bench.h"

static u64 sink;

static noinline void empty(struct bench *bench)
{
	u32 i, events = bench->wanted;
	u64 began = rdtsc();

	for (i = 0; i < events; i++)
		barrier();
	ended(bench, began, 0);
}

static noinline void empty_single(struct bench *bench)
{
	u32 i;

	bench->ticks = 0;
	for (i = 0; i < bench->wanted; i++) {
		u64 began = rdtsc();

		barrier();
		keep_dearest(bench, rdtsc() - began);
	}
}

#define DEFINE_CLOCK(name, read)						\
static noinline void name(struct bench *bench)					\
{										\
	u32 i, events = bench->wanted;						\
	u64 began = rdtsc();							\
										\
	for (i = 0; i < events; i++)						\
		WRITE_ONCE(sink, read);						\
	ended(bench, began, 0);							\
}

DEFINE_CLOCK(read_trace_clock_local, trace_clock_local())
DEFINE_CLOCK(read_sched_clock, sched_clock())
DEFINE_CLOCK(read_mono_fast, ktime_get_mono_fast_ns())
DEFINE_CLOCK(read_rdtsc, rdtsc())
DEFINE_CLOCK(read_rtrace, rtrace_test_clock(handle))

const struct row clock_rows[] = {
	{ .name = "empty", .measure = empty },
	{ .name = "empty.single", .measure = empty_single },
	{ .name = "clock.trace_clock_local", .measure = read_trace_clock_local },
	{ .name = "clock.sched_clock", .measure = read_sched_clock },
	{ .name = "clock.ktime_get_mono_fast_ns", .measure = read_mono_fast },
	{ .name = "clock.rdtsc", .measure = read_rdtsc },
	{ .name = "rtrace.clock", .measure = read_rtrace },
	{}
};
