// SPDX-License-Identifier: GPL-2.0
/* The bodies of tick.h, in the same order. */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <uapi/linux/sched/types.h>

#include "tick.h"

struct rt_tick {
	struct hrtimer timer;
	struct task_struct *thread;
	const void *data;
	bool due;
};

static enum hrtimer_restart rt_tick_due(struct hrtimer *timer)
{
	struct rt_tick *tick = container_of(timer, struct rt_tick, timer);

	rtrace_tick_due(tick->data, ktime_to_ns(hrtimer_cb_get_time(timer)));
	WRITE_ONCE(tick->due, true);
	wake_up_process(tick->thread);
	rtrace_tick_woken(tick->data);
	return HRTIMER_NORESTART;
}

struct rt_tick *rt_tick_new(const void *data)
{
	struct rt_tick *tick = kzalloc(sizeof(*tick), GFP_KERNEL);

	if (!tick)
		return NULL;
	hrtimer_setup(&tick->timer, rt_tick_due, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_PINNED_HARD);
	tick->thread = get_task_struct(current);
	tick->data = data;
	return tick;
}

void rt_tick_free(struct rt_tick *tick)
{
	hrtimer_cancel(&tick->timer);
	put_task_struct(tick->thread);
	kfree(tick);
}

u64 rt_tick_now(void)
{
	return ktime_get_ns();
}

void rt_tick_wait(struct rt_tick *tick, u64 until)
{
	WRITE_ONCE(tick->due, false);
	set_current_state(TASK_INTERRUPTIBLE);
	hrtimer_start(&tick->timer, ns_to_ktime(until),
		      HRTIMER_MODE_ABS_PINNED_HARD);
	while (!READ_ONCE(tick->due) && !kthread_should_stop()) {
		schedule();
		set_current_state(TASK_INTERRUPTIBLE);
	}
	__set_current_state(TASK_RUNNING);
}

void rt_tick_wait_signal(struct rt_tick *tick, u64 until)
{
	/* After a signal it may still be running, and wake the task that waited. */
	hrtimer_cancel(&tick->timer);
	if (tick->thread != current) {
		put_task_struct(tick->thread);
		tick->thread = get_task_struct(current);
	}
	WRITE_ONCE(tick->due, false);
	set_current_state(TASK_INTERRUPTIBLE);
	hrtimer_start(&tick->timer, ns_to_ktime(until),
		      HRTIMER_MODE_ABS_PINNED_HARD);
	while (!READ_ONCE(tick->due) && !signal_pending(current)) {
		schedule();
		set_current_state(TASK_INTERRUPTIBLE);
	}
	__set_current_state(TASK_RUNNING);
}

int rt_thread_set_fifo(unsigned int priority)
{
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_FIFO,
		.sched_priority = priority,
	};

	return sched_setattr_nocheck(current, &attr);
}
