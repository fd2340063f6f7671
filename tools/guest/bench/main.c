// SPDX-License-Identifier: GPL-2.0
/*
 * The control of rtbench, for rtguest (tools/guest/src/bench), and of rtnative, for
 * scripts/bench-native: `instance` chooses an instance of rtrace, `run` measures one
 * row and reads as what came out of it.
 *
 * Where instructions are counted and the time stamp counter is their number, a row
 * gives the same each time, because no interrupt comes: it runs with interrupts off, or
 * in the interrupt of a timer. tools/guest/bench/plugin.c recognises the two marks
 * around it.
 */
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <testapi.h>

#include "bench.h"

/* See bench.h. */
extern typeof(rtrace_test_open) rtrace_test_open __weak;

#define MOST_EVENTS 100000
/* A no-op whose displacement no compiler would write. */
#define MARK(which)								\
do {										\
	asm volatile(".byte 0x0f, 0x1f, 0x80, " which ", 'r', 't', 'b'" ::: "memory");	\
} while (0)
#define MARK_BEGIN "1"
#define MARK_END "2"

void *handle;

static struct bench bench;
static const struct row *row;
static struct hrtimer timer;
static DECLARE_COMPLETION(measured);

static void measure(void)
{
	MARK(MARK_BEGIN);
	row->measure(&bench);
	MARK(MARK_END);
}

static enum hrtimer_restart on_timer(struct hrtimer *unused)
{
	measure();
	complete(&measured);
	return HRTIMER_NORESTART;
}

static void measure_in_hardirq(void)
{
	reinit_completion(&measured);
	hrtimer_start(&timer, ns_to_ktime(100 * NSEC_PER_USEC), HRTIMER_MODE_REL_HARD);
	wait_for_completion(&measured);
	hrtimer_cancel(&timer);
}

static const struct row *find(const char *name)
{
	const struct row *const tables[] = { clock_rows, kernel_ring_rows, rtrace_ring_rows,
					     event_rows };
	const struct row *found;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		for (found = tables[i]; found->name; found++)
			if (!strcmp(found->name, name))
				return found;
	return NULL;
}

/* ROW task|off|hardirq EVENTS BEFORE */
static int set_run(const char *text, const struct kernel_param *kp)
{
	char name[40], context[8];
	unsigned long flags;
	u32 events, before;

	if (sscanf(text, "%39s %7s %u %u", name, context, &events, &before) != 4 ||
	    !events || events > MOST_EVENTS || before > MOST_EVENTS)
		return -EINVAL;
	row = find(name);
	if (!row)
		return -ENOENT;
	if (row->sleeps != !strcmp(context, "task"))
		return -EINVAL;
	if (strstarts(name, "rtrace.") && !handle)
		return -ENODEV;
	if (row->begin)
		row->begin();

	bench.wanted = before;
	local_irq_save(flags);
	(row->before ?: row->measure)(&bench);
	local_irq_restore(flags);

	bench.wanted = events;
	if (!strcmp(context, "hardirq")) {
		measure_in_hardirq();
	} else if (!strcmp(context, "off")) {
		local_irq_save(flags);
		measure();
		local_irq_restore(flags);
	} else {
		measure();
	}
	if (row->end)
		row->end();
	return 0;
}

/* TICKS EVENTS REFUSED */
static int get_run(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%llu %u %u\n", bench.ticks, bench.done, bench.failed);
}

static const struct kernel_param_ops run_ops = { .set = set_run, .get = get_run };
module_param_cb(run, &run_ops, NULL, 0600);
MODULE_PARM_DESC(run, "measure: ROW task|off|hardirq EVENTS BEFORE; reads TICKS EVENTS REFUSED");

static int set_instance(const char *text, const struct kernel_param *kp)
{
	char name[64];

	if (strscpy(name, text) < 0)
		return -EINVAL;
	if (handle)
		rtrace_test_close(handle);
	handle = NULL;
	text = strim(name);
	if (!*text)
		return 0;
	if (!rtrace_test_open)
		return -EOPNOTSUPP;
	handle = rtrace_test_open(text);
	return handle ? 0 : -ENOENT;
}

static const struct kernel_param_ops instance_ops = { .set = set_instance };
module_param_cb(instance, &instance_ops, NULL, 0200);
MODULE_PARM_DESC(instance, "the instance of rtrace to write to; empty: none");

static int __init bench_init(void)
{
	int err = kernel_ring_init();

	if (err)
		return err;
	hrtimer_setup(&timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	err = events_init();
	if (err)
		kernel_ring_exit();
	return err;
}

static void __exit bench_exit(void)
{
	events_exit();
	if (handle)
		rtrace_test_close(handle);
	kernel_ring_exit();
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_DESCRIPTION("Loops that `make bench` and `make bench-native` measure");
MODULE_LICENSE("GPL");
