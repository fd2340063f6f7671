// SPDX-License-Identifier: GPL-2.0
/* The bodies of load.h, in the same order. */
#include <linux/cpuhotplug.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "load.h"

static enum cpuhp_state rt_load_state;
static struct tracepoint *rt_load_tracepoint;

static int rt_load_cpu_goes(unsigned int cpu)
{
	rtrace_load_cpu_goes(cpu);
	return 0;
}

static void rt_load_moves(void *data, struct task_struct *task, int to)
{
	rtrace_load_moves(task->pid, task_cpu(task), to);
}

static void rt_load_find(struct tracepoint *tp, void *data)
{
	if (!strcmp(tp->name, "sched_migrate_task"))
		rt_load_tracepoint = tp;
}

int rt_load_watch(void)
{
	int ret;

	for_each_kernel_tracepoint(rt_load_find, NULL);
	if (!rt_load_tracepoint)
		return -ENOENT;
	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "rtrace:load",
					NULL, rt_load_cpu_goes);
	if (ret < 0)
		return ret;
	rt_load_state = ret;
	ret = tracepoint_probe_register(rt_load_tracepoint, rt_load_moves,
					NULL);
	if (ret)
		cpuhp_remove_state_nocalls(rt_load_state);
	return ret;
}

void rt_load_unwatch(void)
{
	tracepoint_probe_unregister(rt_load_tracepoint, rt_load_moves, NULL);
	tracepoint_synchronize_unregister();
	cpuhp_remove_state_nocalls(rt_load_state);
}

struct pid *rt_load_pid(void)
{
	return get_pid(task_pid(current));
}

void rt_load_kill(struct pid *pid)
{
	kill_pid(pid, SIGKILL, 1);
}

void rt_load_forget(struct pid *pid)
{
	put_pid(pid);
}

unsigned int rt_load_stay(void)
{
	migrate_disable();
	return smp_processor_id();
}

void rt_load_leave(void)
{
	migrate_enable();
}

unsigned int rt_load_cpus_allowed(void)
{
	return current->nr_cpus_allowed;
}
