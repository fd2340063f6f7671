/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Switches of CPUs from one task to another: one probe that tells all parts of the
 * module which are told of each. Two probes would have the kernel go through a list.
 */
#ifndef RTRACE_SWITCHES_H
#define RTRACE_SWITCHES_H

#include <linux/types.h>

struct task_struct;

/*
 * The probe of `sched_switch`. `noise` is a word of 64 bits: not 0 while
 * rtrace_noise_switch() is to be called, see noise.h.
 */
void rt_switch(void *noise, bool preempt, struct task_struct *prev,
	       struct task_struct *next, unsigned int prev_state);

/* In Rust, see rust/tasks/names.rs. */
void rtrace_names_switch(const struct task_struct *prev,
			 const struct task_struct *next);

#endif
