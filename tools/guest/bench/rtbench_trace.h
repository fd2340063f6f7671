/* SPDX-License-Identifier: GPL-2.0 */
/* The events whose cost is measured: a record of 24 bytes, common fields included, and those of strings. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rtbench

#if !defined(RTBENCH_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RTBENCH_TRACE_H

#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(rtbench_numbers,
	TP_PROTO(u64 number, u64 value),
	TP_ARGS(number, value),
	TP_STRUCT__entry(
		__field(u64, number)
		__field(u64, value)
	),
	TP_fast_assign(
		__entry->number = number;
		__entry->value = value;
	),
	TP_printk("number=%llu value=%llu", __entry->number, __entry->value)
);

DEFINE_EVENT(rtbench_numbers, rtbench_event,
	TP_PROTO(u64 number, u64 value),
	TP_ARGS(number, value)
);

/* The end of what the other one begins. */
DEFINE_EVENT(rtbench_numbers, rtbench_end,
	TP_PROTO(u64 number, u64 value),
	TP_ARGS(number, value)
);

/* A string of a fixed length. */
TRACE_EVENT(rtbench_name,
	TP_PROTO(const char *text),
	TP_ARGS(text),
	TP_STRUCT__entry(
		__array(char, name, 16)
	),
	TP_fast_assign(
		memcpy(__entry->name, text, sizeof(__entry->name));
	),
	TP_printk("name=%s", __entry->name)
);

/* One of a fixed length and one of any. */
TRACE_EVENT(rtbench_string,
	TP_PROTO(const char *text),
	TP_ARGS(text),
	TP_STRUCT__entry(
		__array(char, name, 16)
		__string(text, text)
	),
	TP_fast_assign(
		memcpy(__entry->name, text, sizeof(__entry->name));
		__assign_str(text);
	),
	TP_printk("name=%s text=%s", __entry->name, __get_str(text))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE rtbench_trace
#include <trace/define_trace.h>
