/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls of functions of the kernel that are followed from entry to exit. No
 * decisions are made here.
 */
#ifndef RTRACE_GRAPH_H
#define RTRACE_GRAPH_H

#include <linux/types.h>

struct ftrace_regs;

/* How many sets of functions can be hooked; each has a number below it. */
enum { RT_GRAPH_PROBES = 32 };

/*
 * Structures that only C knows: hooks the functions at these addresses under a
 * number that is free, and ends that. The generation is what the hooks are told.
 */
int rt_graph_register(unsigned int number, unsigned int generation,
		      unsigned long *addresses, int count);
int rt_graph_unregister(unsigned int number);

/* An inline function: what a function returns, of the registers at its end. */
unsigned long rt_return_value(struct ftrace_regs *regs);

/* In Rust: the hooks. Any context; see rust/probes/graph.rs. */
int rtrace_graph_entry(unsigned int number, unsigned int generation,
		       unsigned long ip, void *regs, void *data);
void rtrace_graph_exit(unsigned int generation, unsigned long ip, const void *data,
		       void *regs);

#endif
