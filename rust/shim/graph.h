/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls of functions of the kernel that are followed from entry to exit. No
 * decisions are made here.
 */
#ifndef RTRACE_GRAPH_H
#define RTRACE_GRAPH_H

#include <linux/types.h>

struct ftrace_regs;

/* Whose hooks functions call. */
enum { RT_GRAPH_OF_TRACERS, RT_GRAPH_OF_PROFILER, RT_GRAPH_USERS };

/* How many sets of functions each can hook; a set has a number below it. */
enum { RT_GRAPH_PROBES = 32 };

/*
 * What the kernel keeps with a call: what the hook at the entry leaves there, or
 * a number of the task besides.
 */
enum { RT_GRAPH_OF_CALL, RT_GRAPH_OF_TASK, RT_GRAPH_KINDS };

/*
 * Structures that only C knows: hooks the functions at these addresses under a
 * number of the user's that is free, and ends that. The generation is what the
 * hooks are told.
 */
int rt_graph_register(unsigned int user, unsigned int kind, unsigned int number,
		      unsigned int generation, unsigned long *addresses,
		      int count);
int rt_graph_unregister(unsigned int user, unsigned int number);

/* An inline function: what a function returns, of the registers at its end. */
unsigned long rt_return_value(struct ftrace_regs *regs);

/* An inline function: where a function returns to, of the registers at its entry. */
unsigned long rt_return_address(struct ftrace_regs *regs);

/* An inline function: the same, of the registers at its end. */
unsigned long rt_returned_to(struct ftrace_regs *regs);

/*
 * In Rust: the hooks. `set` is the number of their set, and in the upper 16 bits its
 * generation. Any context; see rust/probes/graph.rs.
 */
int rtrace_graph_entry(u64 set, unsigned long ip, unsigned long caller, void *regs,
		       void *data);
void rtrace_graph_exit(u64 set, unsigned long ip, unsigned long caller, void *regs,
		       const void *data);
int rtrace_graph_task_entry(u64 set, unsigned long ip, unsigned long caller,
			    void *regs, void *data);
void rtrace_graph_task_exit(u64 set, unsigned long ip, unsigned long caller,
			    void *regs, const void *data);

/* In Rust: those of the profiler. Any context; see rust/probes/profile.rs. */
int rtrace_profile_entry(unsigned int number, unsigned int generation,
			 unsigned long ip, void *data);
void rtrace_profile_exit(unsigned int generation, const void *data);
int rtrace_profile_task_entry(unsigned int number, unsigned int generation,
			      unsigned long ip, void *data);
void rtrace_profile_task_exit(unsigned int generation, const void *data);

#endif
