/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A timer that looks at its CPU in a hard interrupt, again and again. No
 * decisions are made here.
 */
#ifndef RTRACE_SAMPLER_H
#define RTRACE_SAMPLER_H

#include <linux/types.h>

struct rt_sampler;

/* What a look finds. */
struct rt_look {
	/* By the clock of the timer, in nanoseconds: when it was due, and came. */
	u64 due;
	u64 now;
	/* Where the CPU was; 0 if that is not known. */
	u64 ip;
	/* How often this CPU has begun to choose its next task. */
	u64 choices;
	/* How often preemption, and soft interrupts, were disabled there. */
	u32 depth;
	/* The idle task was there, and no soft interrupt. */
	bool idle;
};

/*
 * In Rust, in the interrupt: returns the nanoseconds until the next look. See
 * rust/kapi/sampler.rs.
 */
u64 rtrace_sampler_look(const void *data, const struct rt_look *look);

/* Counts choices of tasks from now on. One user at a time. */
int rt_choices_hook(void);
void rt_choices_unhook(void);

/* On the CPU of the current thread, which is on one alone; NULL without memory. */
struct rt_sampler *rt_sampler_new(const void *data, u64 period);
/* Waits until it looks no more. */
void rt_sampler_free(struct rt_sampler *sampler);
/* In a look: has the CPU choose its next task as soon as preemption is enabled. */
void rt_sampler_ask(void);

#endif
