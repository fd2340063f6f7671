// SPDX-License-Identifier: GPL-2.0
#include <linux/workqueue.h>
#include <rt_view.h>

/* The views of what a work is queued to; rt_views/workqueue.h fills them. */
struct worker_pool {
	int cpu;
};

struct workqueue_struct {
	const char *name;
};

struct pool_workqueue {
	struct worker_pool *pool;
	struct workqueue_struct *wq;
};

#define RT_VIEWS <rt_views/workqueue.h>
#define CREATE_TRACE_POINTS
#include <trace/events/workqueue.h>
