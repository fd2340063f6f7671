// SPDX-License-Identifier: GPL-2.0
/* The bodies of sampler.h, in the same order. */
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <asm/irq_regs.h>
#include <trace/events/sched.h>

#include "sampler.h"

static DEFINE_PER_CPU(u64, rt_choices);

static void rt_count_choice(void *data, bool preempt)
{
	this_cpu_inc(rt_choices);
}

int rt_choices_hook(void)
{
	return register_trace_sched_entry_tp(rt_count_choice, NULL);
}

void rt_choices_unhook(void)
{
	unregister_trace_sched_entry_tp(rt_count_choice, NULL);
	tracepoint_synchronize_unregister();
}

struct rt_sampler {
	struct hrtimer timer;
	const void *data;
};

static enum hrtimer_restart rt_sampler_due(struct hrtimer *timer)
{
	struct rt_sampler *sampler =
		container_of(timer, struct rt_sampler, timer);
	ktime_t now = hrtimer_cb_get_time(timer);
	struct pt_regs *regs = get_irq_regs();
	bool softirq = preempt_count() & SOFTIRQ_MASK;
	struct rt_look look = {
		.due = ktime_to_ns(hrtimer_get_expires(timer)),
		.now = ktime_to_ns(now),
		.ip = regs ? instruction_pointer(regs) : 0,
		.choices = this_cpu_read(rt_choices),
		.depth = preempt_count() & (PREEMPT_MASK | SOFTIRQ_MASK),
		.idle = is_idle_task(current) && !softirq,
	};
	u64 period = rtrace_sampler_look(sampler->data, &look);

	hrtimer_forward(timer, now, ns_to_ktime(period));
	return HRTIMER_RESTART;
}

struct rt_sampler *rt_sampler_new(const void *data, u64 period)
{
	struct rt_sampler *sampler = kzalloc(sizeof(*sampler), GFP_KERNEL);

	if (!sampler)
		return NULL;
	sampler->data = data;
	hrtimer_setup(&sampler->timer, rt_sampler_due, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_PINNED_HARD);
	hrtimer_start(&sampler->timer, ktime_add_ns(ktime_get(), period),
		      HRTIMER_MODE_ABS_PINNED_HARD);
	return sampler;
}

void rt_sampler_free(struct rt_sampler *sampler)
{
	hrtimer_cancel(&sampler->timer);
	kfree(sampler);
}

void rt_sampler_ask(void)
{
	/* As RCU does it for a task that holds up a grace period. */
	set_tsk_thread_flag(current, TIF_NEED_RESCHED);
	set_preempt_need_resched();
}
