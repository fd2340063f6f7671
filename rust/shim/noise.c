// SPDX-License-Identifier: GPL-2.0
/* The bodies of noise.h, in the same order. */
#include <linux/hardirq.h>
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "noise.h"

static void rt_irq_entry(void *data, int irq, struct irqaction *action)
{
	rtrace_noise_irq_enter();
}

static void rt_irq_exit(void *data, int irq, struct irqaction *action, int ret)
{
	rtrace_noise_irq_leave(irq, action->name ?: "");
}

static void rt_vector_entry(void *data, int vector)
{
	rtrace_noise_irq_enter();
}

static void rt_vector_exit(void *data, int vector)
{
	rtrace_noise_irq_leave(vector, data);
}

/* With PREEMPT_RT soft interrupts run in threads, which are noise themselves. */
#ifndef CONFIG_PREEMPT_RT
static void rt_softirq_entry(void *data, unsigned int vector)
{
	rtrace_noise_softirq_enter();
}

static void rt_softirq_exit(void *data, unsigned int vector)
{
	rtrace_noise_softirq_leave(vector);
}
#endif

#define RT_VECTOR_CALLED(name, told)                                           \
	{ #name "_entry", rt_vector_entry, false, told },                      \
		{ #name "_exit", rt_vector_exit, false, told }
#define RT_VECTOR(name) RT_VECTOR_CALLED(name, #name)

static struct rt_noise_probe {
	const char *name;
	void *probe;
	/* Whether there is no measuring without it. */
	bool needed;
	/* What it is told. */
	void *data;
	struct tracepoint *tracepoint;
} rt_noise_probes[] = {
	{ "irq_handler_entry", rt_irq_entry, true },
	{ "irq_handler_exit", rt_irq_exit, true },
	RT_VECTOR(local_timer),
	RT_VECTOR(spurious_apic),
	RT_VECTOR(error_apic),
	RT_VECTOR(x86_platform_ipi),
	RT_VECTOR(irq_work),
	RT_VECTOR(reschedule),
	RT_VECTOR(call_function),
	RT_VECTOR(call_function_single),
	RT_VECTOR(threshold_apic),
	/* As in ftrace. */
	RT_VECTOR_CALLED(deferred_error_apic, "deferred_error"),
	RT_VECTOR(thermal_apic),
#ifndef CONFIG_PREEMPT_RT
	{ "softirq_entry", rt_softirq_entry, true },
	{ "softirq_exit", rt_softirq_exit, true },
#endif
};

static void rt_noise_find(struct tracepoint *tp, void *data)
{
	struct rt_noise_probe *probe = rt_noise_probes;

	for (; probe < rt_noise_probes + ARRAY_SIZE(rt_noise_probes); probe++)
		if (!strcmp(tp->name, probe->name))
			probe->tracepoint = tp;
}

static void rt_noise_unhook_until(struct rt_noise_probe *end)
{
	struct rt_noise_probe *probe = rt_noise_probes;

	for (; probe < end; probe++)
		if (probe->tracepoint)
			tracepoint_probe_unregister(probe->tracepoint,
						    probe->probe, probe->data);
	tracepoint_synchronize_unregister();
}

int rt_noise_hook(void)
{
	struct rt_noise_probe *probe = rt_noise_probes;
	int ret;

	for_each_kernel_tracepoint(rt_noise_find, NULL);
	for (; probe < rt_noise_probes + ARRAY_SIZE(rt_noise_probes); probe++) {
		if (!probe->tracepoint && !probe->needed)
			continue;
		ret = -ENOENT;
		if (probe->tracepoint)
			ret = tracepoint_probe_register(probe->tracepoint,
							probe->probe,
							probe->data);
		if (ret) {
			rt_noise_unhook_until(probe);
			return ret;
		}
	}
	return 0;
}

void rt_noise_unhook(void)
{
	rt_noise_unhook_until(rt_noise_probes + ARRAY_SIZE(rt_noise_probes));
}

void rt_noise_quiesce(bool irqs_off)
{
	if (irqs_off) {
		rcu_momentary_eqs();
		return;
	}
	local_irq_disable();
	rcu_momentary_eqs();
	local_irq_enable();
}

unsigned int rt_noise_nmis(void)
{
	return this_cpu_read(irq_stat.counts[IRQ_COUNT_NMI]);
}
