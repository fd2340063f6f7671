// SPDX-License-Identifier: GPL-2.0
/*
 * A thread that a timer wakes up once in `cycle_us` microseconds, and that sleeps again: what a cycle of the
 * tracer timerlat takes before anything is told of it.
 */
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/kstrtox.h>
#include <linux/kthread.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>

#include "bench.h"

static struct task_struct *thread;
static unsigned int period;
static struct hrtimer timer;

static enum hrtimer_restart on_timer(struct hrtimer *unused)
{
	wake_up_process(thread);
	return HRTIMER_NORESTART;
}

static int run(void *unused)
{
	ktime_t next = ktime_get();

	while (!kthread_should_stop()) {
		next = ktime_add_us(next, period);
		set_current_state(TASK_INTERRUPTIBLE);
		hrtimer_start(&timer, next, HRTIMER_MODE_ABS_PINNED_HARD);
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	hrtimer_cancel(&timer);
	return 0;
}

static int begin(unsigned int us)
{
	struct task_struct *created = kthread_create(run, NULL, "rtbench/cycle");

	if (IS_ERR(created))
		return PTR_ERR(created);
	period = us;
	thread = created;
	hrtimer_setup(&timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	kthread_bind(thread, 0);
	sched_set_fifo(thread);
	wake_up_process(thread);
	return 0;
}

/* Ends the thread, if there is one. */
void cycle_end(void)
{
	if (thread)
		kthread_stop(thread);
	thread = NULL;
}

/* Parameters of a module are written one at a time. */
static int set_cycle(const char *text, const struct kernel_param *kp)
{
	unsigned int us;
	int err = kstrtouint(text, 0, &us);

	if (err)
		return err;
	cycle_end();
	return us ? begin(us) : 0;
}

static const struct kernel_param_ops cycle_ops = { .set = set_cycle };
module_param_cb(cycle_us, &cycle_ops, NULL, 0200);
MODULE_PARM_DESC(cycle_us, "a thread of CPU 0 is woken up once in so many microseconds; 0: none");
