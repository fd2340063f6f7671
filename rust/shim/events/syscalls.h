/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The events of single system calls, which no header declares: what the files
 * syscall_table.c, syscall_probe.c and syscall_print.c share.
 */
#ifndef RT_SYSCALLS_H
#define RT_SYSCALLS_H

#include <linux/syscalls.h>
#include <linux/trace_seq.h>
#include <trace/syscall.h>
#include "../events.h"

/* At most that many arguments of a call point to what is recorded with it. */
#define RT_SYSCALL_USERS 3

/* What a record of sys_enter_* is; @args, then a word for each user argument. */
struct rt_syscall_enter {
	struct trace_entry ent;
	int nr;
	unsigned long args[];
};

/* What a record of sys_exit_* is. */
struct rt_syscall_exit {
	struct trace_entry ent;
	int nr;
	long ret;
};

/* The kernel's description of call @nr; NULL when ftrace has no event of it. */
const struct syscall_metadata *rt_syscall_meta(int nr);

void rt_probe_syscall_enter(void *cookie, struct pt_regs *regs, long id);
void rt_probe_syscall_exit(void *cookie, struct pt_regs *regs, long ret);

void rt_print_syscall_enter(struct trace_seq *s, struct trace_seq *p,
			    const void *rec);
void rt_print_syscall_exit(struct trace_seq *s, struct trace_seq *p,
			   const void *rec);

#endif /* RT_SYSCALLS_H */
