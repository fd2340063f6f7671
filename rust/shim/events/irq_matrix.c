// SPDX-License-Identifier: GPL-2.0
#include <linux/types.h>
#include <rt_view.h>

/* The views of the allocator of vectors; rt_views/irq_matrix.h fills them. */
struct irq_matrix {
	unsigned int global_available;
	unsigned int global_reserved;
	unsigned int total_allocated;
	unsigned int online_maps;
};

struct cpumap {
	unsigned int available;
	unsigned int allocated;
	unsigned int managed;
	bool online;
};

#define RT_VIEWS <rt_views/irq_matrix.h>
#define CREATE_TRACE_POINTS
#include <trace/events/irq_matrix.h>
