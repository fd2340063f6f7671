/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The events of rtsoak. While the record of the first is being filled, rtsoak_inside()
 * writes other events and has the CPU interrupted: the most complete nesting there
 * is. The second has one text in every way that a record can have a text, the third in
 * arrays that it may not fit.
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

TRACE_EVENT(rtsoak_text,
	TP_PROTO(const char *text, const char *ptr),
	TP_ARGS(text, ptr),
	TP_STRUCT__entry(
		__array(char, name, 16)
		__string(dyn, text)
		__rel_string(rel, text)
		__field(const char *, ptr)
	),
	TP_fast_assign(
		/* A long one has no end in the record. */
		memset(__entry->name, 0, sizeof(__entry->name));
		memcpy(__entry->name, text, strnlen(text, sizeof(__entry->name)));
		__assign_str(dyn);
		__assign_rel_str(rel);
		__entry->ptr = ptr;
	),
	TP_printk("%.16s|%s|%s", __entry->name, __get_str(dyn), __get_rel_str(rel))
);

/* A guard stands after each array, and is there before the text is copied. */
TRACE_EVENT(rtsoak_copied,
	TP_PROTO(const char *text),
	TP_ARGS(text),
	TP_STRUCT__entry(
		__array(char, one, 8)
		__field(char, guard_of_one)
		__array(char, two, 16)
		__field(char, guard_of_two)
		__array(char, odd, 20)
		__field(char, guard_of_odd)
		__array(char, most, 64)
		__field(char, guard_of_most)
		__array(char, more, 72)
		__field(char, guard_of_more)
	),
	TP_fast_assign(
		memset((char *)__entry + offsetof(typeof(*__entry), one), '#',
		       offsetofend(typeof(*__entry), guard_of_more) -
		       offsetof(typeof(*__entry), one));
		strscpy(__entry->one, text);
		strscpy(__entry->two, text, 16);
		strscpy(__entry->odd, text);
		strscpy(__entry->most, text, sizeof(__entry->most));
		strscpy(__entry->more, text);
	),
	TP_printk("%s|%s|%s|%s|%s|%c%c%c%c%c", __entry->one, __entry->two, __entry->odd,
		  __entry->most, __entry->more, __entry->guard_of_one,
		  __entry->guard_of_two, __entry->guard_of_odd, __entry->guard_of_most,
		  __entry->guard_of_more)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE rtsoak_trace
#include <trace/define_trace.h>
