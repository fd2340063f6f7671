/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads of the kernel: one, or one on each CPU of a set, CPUs that come later
 * included. No decisions are made here.
 */
#ifndef RTRACE_THREADS_H
#define RTRACE_THREADS_H

#include <linux/types.h>

struct rt_cpu_threads;
struct rt_thread;

/* In Rust: what a thread does until it should stop; see rust/kapi/threads.rs. */
void rtrace_thread(const void *data);

/* Structures with inline parts: CPUs tell of coming and going from now on. */
int rt_threads_init(void);
void rt_threads_exit(void);

/*
 * Starts a thread that may run on the CPUs of the set, which has a bit for each
 * possible CPU; only on the first one that is online if `one`. -EINVAL if none is
 * online.
 */
int rt_thread_start(const char *name, const unsigned long *cpus, bool one,
		    const void *data, struct rt_thread **made);
/* Waits until it has ended. */
void rt_thread_stop(struct rt_thread *thread);

/*
 * Starts a thread on each CPU of the set, whose name is that of the CPU after a
 * slash. The name has to stay.
 */
int rt_cpu_threads_start(const char *name, const unsigned long *cpus,
			 const void *data, struct rt_cpu_threads **made);
/* Waits until all have ended. */
void rt_cpu_threads_stop(struct rt_cpu_threads *threads);

/*
 * For the thread itself, which is bound to its CPU: control groups take it and users
 * may say where else it may run, but it stays where it is; undoes that. In pairs.
 */
void rt_thread_loosen(void);
void rt_thread_fasten(void);
/* For a loosened thread: whether a task waits for it to go to another CPU. */
bool rt_thread_is_to_move(void);
/* For the thread itself: whether it is to end; sleeps, less if it is to end. */
bool rt_thread_should_stop(void);
void rt_thread_sleep(unsigned int ms);
/* The same; lets others run if it is not at all. */
void rt_thread_sleep_us(u64 us);
/*
 * For the thread itself, which was started or moved to one CPU: moves it to the
 * next CPU of the set that is online. -EBUSY if it may run anywhere else than on
 * that one by now, -EINVAL for any other thread.
 */
int rt_thread_move(const unsigned long *cpus);

#endif
