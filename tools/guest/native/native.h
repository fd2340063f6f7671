/* SPDX-License-Identifier: GPL-2.0 */
/* Between rtnative's control in C and its rings in Rust. */
#ifndef RTNATIVE_H
#define RTNATIVE_H

#include <linux/types.h>

struct page;

/* How many nanoseconds a cycle is: cycles * mul >> shift. */
int rtnative_begin(u32 mul, u32 shift);
void rtnative_end(void);

/* Of rtrace's shim, what its sources want. */
void *rt_per_cpu_ptr(void *base, unsigned int cpu);
void *rt_subbuf_alloc(unsigned int cpu, unsigned int order);
struct page *rt_page_of(const void *address);
unsigned long rt_totalram_pages(void);
void rt_cond_resched(void);
void rt_preempt_disable_notrace(void);
void rt_preempt_enable_notrace(void);

#endif
