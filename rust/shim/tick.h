/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A timer that wakes the thread that waits for it, in a hard interrupt of the
 * thread's CPU. No decisions are made here.
 */
#ifndef RTRACE_TICK_H
#define RTRACE_TICK_H

#include <linux/types.h>

struct rt_tick;

/* In Rust, in the interrupt: before and after the thread is woken. See rust/kapi/tick.rs. */
void rtrace_tick_due(const void *data, u64 now);
void rtrace_tick_woken(const void *data);

/* For the current task, which is on one CPU; NULL without memory. */
struct rt_tick *rt_tick_new(const void *data);
/* Cancels the timer. */
void rt_tick_free(struct rt_tick *tick);
/* The time of its clock, in nanoseconds. */
u64 rt_tick_now(void);
/* Sleeps until the timer was due, or the thread is to end. */
void rt_tick_wait(struct rt_tick *tick, u64 until);
/* The same for a task of user space, which may be another one each time: or it has a signal. */
void rt_tick_wait_signal(struct rt_tick *tick, u64 until);

/* Has the current thread run by SCHED_FIFO with this priority. */
int rt_thread_set_fifo(unsigned int priority);

#endif
