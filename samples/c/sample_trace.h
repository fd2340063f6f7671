/* SPDX-License-Identifier: GPL-2.0 */
/* The tracepoint of the C sample: an ordinary TRACE_EVENT header. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rtrace_sample

#if !defined(SAMPLE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SAMPLE_TRACE_H

#include <linux/tracepoint.h>

#ifndef SAMPLE_SIDE
#define SAMPLE_SIDE
enum sample_side { SAMPLE_TICK, SAMPLE_TOCK };
#endif

TRACE_DEFINE_ENUM(SAMPLE_TICK);
TRACE_DEFINE_ENUM(SAMPLE_TOCK);

TRACE_EVENT(sample_tick,

	TP_PROTO(unsigned long count, enum sample_side side, const char *who),

	TP_ARGS(count, side, who),

	TP_STRUCT__entry(
		__field(unsigned long, count)
		__field(int, side)
		__string(who, who)
	),

	TP_fast_assign(
		__entry->count = count;
		__entry->side = side;
		__assign_str(who);
	),

	TP_printk("count=%lu side=%s who=%s", __entry->count,
		  __print_symbolic(__entry->side,
				   { SAMPLE_TICK, "tick" },
				   { SAMPLE_TOCK, "tock" }),
		  __get_str(who))
);

#endif /* SAMPLE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE sample_trace
#include <trace/define_trace.h>
