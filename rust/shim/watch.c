// SPDX-License-Identifier: GPL-2.0
/* The bodies of watch.h, in the same order. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/hw_breakpoint.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "watch.h"

struct rt_watch {
	struct hlist_node node;
	struct perf_event_attr attr;
	const void *data;
	bool is_set;
	/* By CPU. Changed by the callbacks alone, one at a time for each CPU. */
	struct perf_event *events[];
};

static enum cpuhp_state rt_watches_state;

static void rt_watch_hit(struct perf_event *event,
			 struct perf_sample_data *sample, struct pt_regs *regs)
{
	const struct rt_watch *watch = event->overflow_handler_context;

	rtrace_watch_hit(watch->data, regs);
}
NOKPROBE_SYMBOL(rt_watch_hit);

static int rt_watch_cpu_comes(unsigned int cpu, struct hlist_node *node)
{
	struct rt_watch *watch = hlist_entry(node, struct rt_watch, node);
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&watch->attr, cpu, NULL,
						 rt_watch_hit, watch);
	if (!IS_ERR(event)) {
		watch->events[cpu] = event;
		return 0;
	}
	if (cpu_active(cpu))
		return PTR_ERR(event);
	/* It is coming, and that others have its registers must not keep it away. */
	pr_warn("CPU %u does not watch %pS: %ld\n", cpu,
		(void *)(unsigned long)watch->attr.bp_addr, PTR_ERR(event));
	return 0;
}

static int rt_watch_cpu_goes(unsigned int cpu, struct hlist_node *node)
{
	struct rt_watch *watch = hlist_entry(node, struct rt_watch, node);

	if (watch->events[cpu])
		perf_event_release_kernel(watch->events[cpu]);
	watch->events[cpu] = NULL;
	return 0;
}

int rt_watches_init(void)
{
	int ret;

	ret = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "rtrace:watch",
				      rt_watch_cpu_comes, rt_watch_cpu_goes);
	if (ret < 0)
		return ret;
	rt_watches_state = ret;
	return 0;
}

void rt_watches_exit(void)
{
	cpuhp_remove_multi_state(rt_watches_state);
}

struct rt_watch *rt_watch_get(void)
{
	struct rt_watch *watch;

	return kzalloc(struct_size(watch, events, nr_cpu_ids), GFP_KERNEL);
}

void rt_watch_put(struct rt_watch *watch)
{
	kfree(watch);
}

int rt_watch_set(struct rt_watch *watch, unsigned long address,
		 unsigned int len, bool only_writes, const void *data)
{
	int ret;

	hw_breakpoint_init(&watch->attr);
	watch->attr.bp_addr = address;
	watch->attr.bp_len = len;
	watch->attr.bp_type = only_writes ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
	watch->data = data;
	/* Calls rt_watch_cpu_comes() for the CPUs that are online, and undoes it if one fails. */
	ret = cpuhp_state_add_instance(rt_watches_state, &watch->node);
	watch->is_set = !ret;
	return ret;
}

void rt_watch_clear(struct rt_watch *watch)
{
	/* Calls rt_watch_cpu_goes() for the CPUs that are online. */
	if (watch->is_set)
		cpuhp_state_remove_instance(rt_watches_state, &watch->node);
	watch->is_set = false;
}

bool rt_watch_is_own(unsigned long address, unsigned int len)
{
	return within_module(address, THIS_MODULE) ||
	       within_module(address + len - 1, THIS_MODULE);
}
