// SPDX-License-Identifier: GPL-2.0
/*
 * What Rust cannot do for itself: tracepoints are made and called by C macros,
 * as the kernel crate binds only tracepoints of its own tree.
 */
#include <linux/module.h>
#include <events.h>
#include "glue.h"

#define CREATE_TRACE_POINTS
#include "sample_trace.h"

void sample_trace_write(size_t length, const u8 *begin, size_t begin_length)
{
	trace_sample_write(length, begin, begin_length);
}

int sample_register(void)
{
	return rtrace_register_events(THIS_MODULE,
				      rt_events_first, rt_events_last,
				      rt_evals_first, rt_evals_last);
}

void sample_unregister(void)
{
	rtrace_unregister_events(THIS_MODULE);
}
