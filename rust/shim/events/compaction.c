// SPDX-License-Identifier: GPL-2.0
#include <linux/compaction.h>
#include <linux/mm_types.h>
#include <rt_view.h>

/* The view of what a compaction works on; rt_views/compaction.h fills it. */
struct compact_control {
	unsigned long free_pfn;
	unsigned long migrate_pfn;
};

#define RT_VIEWS <rt_views/compaction.h>
#define CREATE_TRACE_POINTS
#include <trace/events/compaction.h>
