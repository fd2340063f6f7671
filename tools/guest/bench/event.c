// SPDX-License-Identifier: GPL-2.0
/* A whole event, for each tracer that has enabled it. */
#include <linux/module.h>
#include <events.h>

#include "bench.h"

void rtbench_function(void);
void rtbench_inside(void);

#define CREATE_TRACE_POINTS
#include "rtbench_trace.h"

static noinline void make_events(struct bench *bench)
{
	u32 i, events = bench->wanted;
	u64 began = rdtsc();

	for (i = 0; i < events; i++)
		trace_rtbench_event(i, 42);
	ended(bench, began, 0);
}

static noinline void make_strings(struct bench *bench)
{
	static const char text[16] = "block/sda";
	u32 i, events = bench->wanted;
	u64 began = rdtsc();

	for (i = 0; i < events; i++)
		trace_rtbench_string(text);
	ended(bench, began, 0);
}

/* What a dynamic event records of this module: a string of 24 bytes with its end. */
extern const char rtbench_text[];
const char rtbench_text[] = "a string of twenty-four";

/* Traced by the tracer function, and nothing else. */
noinline void rtbench_function(void)
{
	barrier();
}

static noinline void call_function(struct bench *bench)
{
	u32 i, calls = bench->wanted;
	u64 began = rdtsc();

	for (i = 0; i < calls; i++)
		rtbench_function();
	ended(bench, began, 0);
}

/*
 * Probed sixteen bytes behind its beginning, at an instruction that is as long as a jump: the
 * kernel can put one there.
 */
noinline void rtbench_inside(void)
{
	asm volatile(".balign 16\n\t"
		     "mov $1, %%eax\n\t"
		     "mov $2, %%eax\n\t"
		     : : : "eax");
}

static noinline void call_inside(struct bench *bench)
{
	u32 i, calls = bench->wanted;
	u64 began = rdtsc();

	for (i = 0; i < calls; i++)
		rtbench_inside();
	ended(bench, began, 0);
}

const struct row event_rows[] = {
	{ .name = "call", .measure = call_function },
	{ .name = "inside", .measure = call_inside },
	{ .name = "event", .measure = make_events },
	{ .name = "string", .measure = make_strings },
	{}
};

int events_init(void)
{
	return rtrace_register_events(THIS_MODULE, rt_events_first, rt_events_last,
				      rt_evals_first, rt_evals_last);
}

void events_exit(void)
{
	rtrace_unregister_events(THIS_MODULE);
}
