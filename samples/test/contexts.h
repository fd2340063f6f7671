/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How a test module has from_context(), its own, called in task, softirq, interrupt
 * and NMI, one after the other, on one CPU.
 */
#ifndef RTRACE_TEST_CONTEXTS_H
#define RTRACE_TEST_CONTEXTS_H

#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/nmi.h>
#include <asm/nmi.h>

#include "../../tools/guest/stress/nmi.h"

static void from_context(const char *context);

static atomic_t nmi_wanted;

static void on_tasklet(struct tasklet_struct *unused)
{
	from_context("softirq");
}

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	if (!atomic_cmpxchg(&nmi_wanted, 1, 0))
		return NMI_DONE;
	from_context("NMI");
	return NMI_HANDLED;
}

static void on_work(struct irq_work *unused)
{
	from_context("interrupt");
	atomic_set(&nmi_wanted, 1);
	send_nmi_to(smp_processor_id());
}

static DECLARE_TASKLET(tasklet, on_tasklet);
static struct irq_work work = IRQ_WORK_INIT_HARD(on_work);

/* Calls it in all; contexts_init() was called. */
static void visit_contexts(void)
{
	unsigned int i;

	from_context("task");
	local_bh_disable();
	tasklet_schedule(&tasklet);
	local_bh_enable();
	tasklet_kill(&tasklet);
	irq_work_queue(&work);
	irq_work_sync(&work);
	for (i = 0; i < 10000 && atomic_read(&nmi_wanted); i++)
		usleep_range(100, 200);
}

static int contexts_init(void)
{
	int err = map_apic();

	if (err)
		return err;
	err = register_nmi_handler(NMI_LOCAL, on_nmi, 0, KBUILD_MODNAME);
	if (err)
		unmap_apic();
	return err;
}

static void contexts_exit(void)
{
	tasklet_kill(&tasklet);
	irq_work_sync(&work);
	unregister_nmi_handler(NMI_LOCAL, KBUILD_MODNAME);
	unmap_apic();
}

#endif
