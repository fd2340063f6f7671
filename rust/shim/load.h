/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A task of user space that waits for a timer: what happens to it. No decisions
 * are made here.
 */
#ifndef RTRACE_LOAD_H
#define RTRACE_LOAD_H

#include <linux/types.h>

struct pid;

/*
 * In Rust, see rust/tracers/load.rs. A CPU goes offline; process context. The
 * task with this pid goes from one CPU to another; any context.
 */
void rtrace_load_cpu_goes(unsigned int cpu);
void rtrace_load_moves(unsigned int pid, unsigned int from, unsigned int to);

/* Structures with inline parts: begins to call these, -ENOENT without a tracepoint. */
int rt_load_watch(void);
/* Ends that; returns when no call runs. */
void rt_load_unwatch(void);

/* Inline: the current task, to be killed and forgotten by any task. */
struct pid *rt_load_pid(void);
void rt_load_kill(struct pid *pid);
void rt_load_forget(struct pid *pid);

/* Inline: has the current task stay on its CPU, which is returned, though it sleeps. */
unsigned int rt_load_stay(void);
void rt_load_leave(void);
/* How many CPUs the current task may run on. */
unsigned int rt_load_cpus_allowed(void);

#endif
