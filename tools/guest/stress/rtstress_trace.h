/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The same payloads as an event of the kernel's own tracer, so that the checks
 * of rtguest can be tried on a ring buffer that is known to work.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rtstress

#if !defined(RTSTRESS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RTSTRESS_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(rtstress_write,
	TP_PROTO(const void *payload, unsigned int len),
	TP_ARGS(payload, len),
	TP_STRUCT__entry(
		__dynamic_array(u8, payload, len)
	),
	TP_fast_assign(
		memcpy(__get_dynamic_array(payload), payload, len);
	),
	TP_printk("%u bytes", __get_dynamic_array_len(payload))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE rtstress_trace
#include <trace/define_trace.h>
