/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Watchpoints: the debug registers of all CPUs, which the kernel's perf gives out. No
 * decisions are made here.
 */
#ifndef RTRACE_WATCH_H
#define RTRACE_WATCH_H

#include <linux/types.h>

struct pt_regs;
struct rt_watch;

/* Before the first watchpoint is set, and after the last one was cleared. */
int rt_watches_init(void);
void rt_watches_exit(void);

/* Structures with inline parts: a watchpoint that is not set, or NULL without memory. */
struct rt_watch *rt_watch_get(void);
/* Frees one that is not set. */
void rt_watch_put(struct rt_watch *watch);

/*
 * From now on rtrace_watch_hit() is called with `data` after an access to the `len`
 * bytes at `address`, or only after one that writes. On all CPUs or, with an error, on
 * none; a CPU that comes later is watched if it has a register left.
 */
int rt_watch_set(struct rt_watch *watch, unsigned long address,
		 unsigned int len, bool only_writes, const void *data);
/* It is called no more when this returns. */
void rt_watch_clear(struct rt_watch *watch);

/* Macro: whether some of the bytes are this module's. */
bool rt_watch_is_own(unsigned long address, unsigned int len);

/* In Rust: an access. Any context, as an NMI; see rust/sources/wprobe.rs. */
void rtrace_watch_hit(const void *data, const struct pt_regs *regs);

#endif
