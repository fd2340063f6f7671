// SPDX-License-Identifier: GPL-2.0
/* The bodies of switches.h, in the same order. */
#include <linux/sched.h>

#include "noise.h"
#include "switches.h"

/* By itself, so that other switches need no frame. */
static noinline void rt_noisy_switch(struct task_struct *prev,
				     struct task_struct *next)
{
	/* First, as it reads the clock. */
	rtrace_noise_switch(prev->pid, next->pid);
	rtrace_names_switch(prev, next);
}

void rt_switch(void *noise, bool preempt, struct task_struct *prev,
	       struct task_struct *next, unsigned int prev_state)
{
	if (READ_ONCE(*(const u64 *)noise))
		rt_noisy_switch(prev, next);
	else
		rtrace_names_switch(prev, next);
}
