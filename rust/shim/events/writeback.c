// SPDX-License-Identifier: GPL-2.0
#include <linux/backing-dev.h>
#include <linux/pagemap.h>
#include <linux/writeback.h>
#include <rt_view.h>

/* The view of a piece of writeback work; rt_views/writeback.h fills it. */
struct wb_writeback_work {
	long nr_pages;
	struct super_block *sb;
	enum writeback_sync_modes sync_mode;
	unsigned int for_kupdate;
	unsigned int range_cyclic;
	unsigned int for_background;
	enum wb_reason reason;
};

#define RT_ABSENT_global_dirty_state 1
RT_ABSENT("writeback", global_dirty_state, "global_wb_domain is not exported",
	  NULL);

#define RT_VIEWS <rt_views/writeback.h>
#define CREATE_TRACE_POINTS
#include <trace/events/writeback.h>
