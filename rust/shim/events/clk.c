// SPDX-License-Identifier: GPL-2.0
#include <linux/clk-provider.h>
#include <rt_view.h>

/* The view of a clock; rt_views/clk.h fills it. */
struct clk_core {
	const char *name;
};

#define RT_VIEWS <rt_views/clk.h>
#define CREATE_TRACE_POINTS
#include <trace/events/clk.h>
