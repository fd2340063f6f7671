/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The callers of a probe: the kernel's unwinder begins where the probe returns to, and
 * not at the functions that record. Those are a module's, and take it longest.
 */
#ifndef RTRACE_CALLERS_H
#define RTRACE_CALLERS_H

#include <linux/types.h>

struct task_struct;

/* Where a probe returns to, on the stack, right before what its caller has there. */
struct rt_frame {
	unsigned long bp;
	unsigned long ip;
};

/*
 * Stores where the caller of the probe with this frame goes on, and its callers: @most at
 * most. Returns how many. The probe has not returned. Any context.
 */
unsigned int rt_callers_of(const struct rt_frame *frame, unsigned long *to,
			   unsigned int most);

/* Calls rtrace_follow() with the frame of its caller's last jump, which is that of a probe. */
void rt_follow(const void *file);

/* Calls rtrace_act() likewise, for a record beside the ring. */
void rt_act(const void *file, void *record);

/* Probes of sched_wakeup and of sched_switch. */
void rt_woken(void *watcher, struct task_struct *task);
void rt_switched(void *watcher, bool preempt, struct task_struct *prev,
		 struct task_struct *next, unsigned int prev_state);

/* In Rust: what they call, with their frames. See rust/probes/entry.rs, rust/probes/triggered.rs and rust/tasks/wakeups.rs. */
void rtrace_follow(const void *file, const struct rt_frame *frame);
void rtrace_act(const void *file, void *record, const struct rt_frame *frame);
void rtrace_woken(const void *watcher, const struct task_struct *task,
		  const struct rt_frame *frame);
void rtrace_switched(const void *watcher, const struct task_struct *prev,
		     const struct task_struct *next, const struct rt_frame *frame);

#endif
