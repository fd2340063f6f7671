/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The event of rtsoak. While its record is being filled, rtsoak_inside() writes
 * other events and has the CPU interrupted: the most complete nesting there is.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rtsoak

#if !defined(RTSOAK_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RTSOAK_TRACE_H

#include <linux/tracepoint.h>

#ifndef RTSOAK_INSIDE
#define RTSOAK_INSIDE
void rtsoak_inside(u32 who);
u32 rtsoak_sum(u32 who, u32 number);
#endif

/* The fields lie where those of the other payloads do: see struct payload in soak.c. */
TRACE_EVENT(rtsoak_event,
	TP_PROTO(u32 who, u32 number),
	TP_ARGS(who, number),
	TP_STRUCT__entry(
		__field(u32, who)
		__field(u32, number)
		__field(u32, sum)
	),
	TP_fast_assign(
		__entry->who = who;
		rtsoak_inside(who);
		__entry->number = number;
		__entry->sum = rtsoak_sum(who, number);
	),
	TP_printk("%x %x %x", __entry->who, __entry->number, __entry->sum)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE rtsoak_trace
#include <trace/define_trace.h>
