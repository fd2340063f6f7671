// SPDX-License-Identifier: GPL-2.0
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/sched/numa_balancing.h>
#include <rt_view.h>

#ifdef CONFIG_NUMA_BALANCING
RT_PLACE(numa_group, gid);

/*
 * The kernel's task_numa_group_id() is not exported. The probes call this with
 * preemption off, which is what keeps the group alive.
 */
static notrace pid_t rt_task_numa_group_id(struct task_struct *task)
{
	const void *group = rcu_dereference_all(task->numa_group);

	return group ? RT_READ(group, numa_group, gid, pid_t) : 0;
}
#define task_numa_group_id rt_task_numa_group_id
#define RT_VIEWS <rt_views/sched.h>
#endif

#define CREATE_TRACE_POINTS
#include <trace/events/sched.h>
