// SPDX-License-Identifier: GPL-2.0
/*
 * A module with a tracepoint of its own, in rtrace as in ftrace: it ticks ten
 * times a second, from a timer.
 */
#include <linux/module.h>
#include <linux/timer.h>
#include <events.h>

#define CREATE_TRACE_POINTS
#include "sample_trace.h"

#define PERIOD (HZ / 10)

static void tick(struct timer_list *timer);
static DEFINE_TIMER(timer, tick);
static unsigned long count;

static void tick(struct timer_list *unused)
{
	count++;
	trace_sample_tick(count, count % 2 ? SAMPLE_TICK : SAMPLE_TOCK, "timer");
	mod_timer(&timer, jiffies + PERIOD);
}

static int __init sample_init(void)
{
	int err;

	err = rtrace_register_events(THIS_MODULE,
				     rt_events_first, rt_events_last,
				     rt_evals_first, rt_evals_last);
	if (err)
		return err;
	mod_timer(&timer, jiffies + PERIOD);
	return 0;
}

static void __exit sample_exit(void)
{
	timer_shutdown_sync(&timer);
	/* Before the tracepoints and the probes go away. */
	rtrace_unregister_events(THIS_MODULE);
}

module_init(sample_init);
module_exit(sample_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("rtrace sample: a tracepoint of a C module");
