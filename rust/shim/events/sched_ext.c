// SPDX-License-Identifier: GPL-2.0
#include <linux/types.h>

/* This event asks the scheduler for the path of a cgroup. */
#define RT_ABSENT_sched_ext_exit 1

struct scx_sched;

#define CREATE_TRACE_POINTS
#include <trace/events/sched_ext.h>
