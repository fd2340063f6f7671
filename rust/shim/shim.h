/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The C functions that Rust calls: inline functions, macros, and exported
 * functions whose prototype no public header has. No decisions are made here.
 * Sorted by name.
 */
#ifndef RTRACE_SHIM_H
#define RTRACE_SHIM_H

#include <linux/types.h>

struct dentry;
struct inode;
struct irq_work;

/* Exported, but its prototype is in the private fs/internal.h. */
struct dentry *find_next_child(struct dentry *parent, struct dentry *prev);

/* A macro: lets others run; may sleep. */
void rt_cond_resched(void);

/* Inline: whether the current task is about to be killed. */
bool rt_fatal_signal_pending(void);

/* Inline: fills a structure. */
void rt_init_irq_work(struct irq_work *work, void (*func)(struct irq_work *));

/* Inline: an inode's lock, with the depth that lockdep shall see. */
void rt_inode_lock_nested(struct inode *inode, unsigned int depth);
void rt_inode_unlock(struct inode *inode);

/* Inline in a kernel without security modules: 0, or a refusal of the lockdown. */
int rt_locked_down(void);

/* A macro: where a CPU's part of a per-CPU allocation is. */
void *rt_per_cpu_ptr(void *base, unsigned int cpu);

/* Macros: preemption, with the kernel's own way to the scheduler. */
void rt_preempt_disable_notrace(void);
void rt_preempt_enable_notrace(void);

/*
 * Macros: zeroed pages near a CPU, or NULL; tries hard, but neither warns nor
 * wakes the OOM killer.
 */
void *rt_subbuf_alloc(unsigned int cpu, unsigned int order);

/* Inline: pages that the kernel manages. */
unsigned long rt_totalram_pages(void);

/* A symbol: its own address. */
unsigned long tracing_mark_write(void);

#endif
