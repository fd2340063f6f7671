// SPDX-License-Identifier: GPL-2.0
/* The bodies of shim.h, in the same order. */
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/instruction_pointer.h>
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/topology.h>

#include "shim.h"

void rt_cond_resched(void)
{
	cond_resched();
}

bool rt_fatal_signal_pending(void)
{
	return fatal_signal_pending(current);
}

void rt_init_irq_work(struct irq_work *work, void (*func)(struct irq_work *))
{
	init_irq_work(work, func);
}

void rt_inode_lock_nested(struct inode *inode, unsigned int depth)
{
	inode_lock_nested(inode, depth);
}

void rt_inode_unlock(struct inode *inode)
{
	inode_unlock(inode);
}

int rt_locked_down(void)
{
	return security_locked_down(LOCKDOWN_TRACEFS);
}

void *rt_per_cpu_ptr(void *base, unsigned int cpu)
{
	return per_cpu_ptr((void __percpu *)(unsigned long)base, cpu);
}

notrace void rt_preempt_disable_notrace(void)
{
	preempt_disable_notrace();
}

notrace void rt_preempt_enable_notrace(void)
{
	preempt_enable_notrace();
}

void *rt_subbuf_alloc(unsigned int cpu, unsigned int order)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL |
		    __GFP_NOWARN;
	struct page *page = alloc_pages_node(cpu_to_node(cpu), gfp, order);

	return page ? page_address(page) : NULL;
}

unsigned long rt_totalram_pages(void)
{
	return totalram_pages();
}

unsigned long tracing_mark_write(void)
{
	return _THIS_IP_;
}
