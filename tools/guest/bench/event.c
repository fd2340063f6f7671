// SPDX-License-Identifier: GPL-2.0
/* A whole event, for each tracer that has enabled it. */
#include <linux/module.h>
#include <linux/trace_events.h>
#include <events.h>
#include <rtrace.h>

#include "bench.h"

void rtbench_function(void);
void rtbench_inside(void);

#define CREATE_TRACE_POINTS
#include "rtbench_trace.h"

static const char text[16] = "block/sda";

/* Defines a function that does @what in a loop; @i is how often it has. */
#define LOOP(function, what)						\
static noinline void function(struct bench *bench)			\
{									\
	u32 i, wanted = bench->wanted;					\
	u64 began = rdtsc();						\
									\
	for (i = 0; i < wanted; i++) {					\
		what;							\
	}								\
	ended(bench, began, 0);						\
}

LOOP(make_events, trace_rtbench_event(i, 42))
LOOP(make_pairs, trace_rtbench_event(i, 42); trace_rtbench_end(i, 43))
LOOP(make_names, trace_rtbench_name(text))
LOOP(make_strings, trace_rtbench_string(text))

/*
 * The same numbers as an event that this module defines and writes itself, and as the one
 * that a module can have of ftrace without a tracepoint: a synthetic one.
 */
static struct rtrace_event direct;
static struct synth_field_desc synthetic_fields[] = {
	{ .type = "u64", .name = "number" },
	{ .type = "u64", .name = "value" },
};
static struct trace_event_file *synthetic;

static noinline void write_direct(struct bench *bench)
{
	u32 i, events = bench->wanted, failed = 0;
	u64 began = rdtsc();

	for (i = 0; i < events; i++) {
		if (rtrace_event_enabled(&direct)) {
			const u64 numbers[] = { i, 42 };
			const struct rtrace_part part = { numbers, sizeof(numbers) };

			failed += !!rtrace_event_record(&direct, &part, 1);
		}
	}
	ended(bench, began, failed);
}

static noinline void write_synthetic(struct bench *bench)
{
	u32 i, events = bench->wanted, failed = 0;
	u64 began = rdtsc();

	for (i = 0; i < events; i++) {
		u64 numbers[] = { i, 42 };

		failed += !synthetic || synth_event_trace_array(synthetic, numbers, ARRAY_SIZE(numbers));
	}
	ended(bench, began, failed);
}

/* What is not there refuses all events. */
static void find_synthetic(void)
{
	synthetic = trace_get_event_file("rtg-bench", "synthetic", "rtbench_direct");
	if (IS_ERR(synthetic))
		synthetic = NULL;
}

static void leave_synthetic(void)
{
	if (synthetic)
		trace_put_event_file(synthetic);
	synthetic = NULL;
}

static int direct_init(void)
{
	int err = rtrace_event_define(&direct, NULL, "rtbench_direct u64 number; u64 value");

	if (err)
		return err;
	err = synth_event_create("rtbench_direct", synthetic_fields,
				 ARRAY_SIZE(synthetic_fields), THIS_MODULE);
	if (err)
		rtrace_event_undefine(&direct);
	return err;
}

static void direct_exit(void)
{
	synth_event_delete("rtbench_direct");
	rtrace_event_undefine(&direct);
}

/* What a dynamic event records of this module: a string of 24 bytes with its end. */
extern const char rtbench_text[];
const char rtbench_text[] = "a string of twenty-four";

/* Traced by the tracer function, and nothing else. */
noinline void rtbench_function(void)
{
	barrier();
}

LOOP(call_function, rtbench_function())

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

LOOP(call_inside, rtbench_inside())

const struct row event_rows[] = {
	{ .name = "call", .measure = call_function },
	{ .name = "inside", .measure = call_inside },
	{ .name = "event", .measure = make_events },
	{ .name = "pair", .measure = make_pairs },
	{ .name = "name", .measure = make_names },
	{ .name = "string", .measure = make_strings },
	{ .name = "direct", .measure = write_direct },
	{ .name = "synthetic", .measure = write_synthetic,
	  .begin = find_synthetic, .end = leave_synthetic },
	{}
};

int events_init(void)
{
	int err = direct_init();

	if (err)
		return err;
	err = rtrace_register_events(THIS_MODULE, rt_events_first, rt_events_last,
				     rt_evals_first, rt_evals_last);
	if (err)
		direct_exit();
	return err;
}

void events_exit(void)
{
	cycle_end();
	rtrace_unregister_events(THIS_MODULE);
	direct_exit();
}
