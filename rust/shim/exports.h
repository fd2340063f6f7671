/* SPDX-License-Identifier: GPL-2.0 */
/* How a print of another module is recorded; see exports/include/rtrace.h. */
#ifndef RT_EXPORTS_H
#define RT_EXPORTS_H

#include "../exports/include/rtrace.h"
#include "events.h"

enum {
	/* The longest text of a print, with its NUL: ftrace's TRACE_BUF_SIZE. */
	RT_PRINT_ROOM = 1024,
	RT_API = RTRACE_API,
};

#ifndef __BINDGEN__
/*
 * Both are defined in Rust. The first returns RT_PRINT_ROOM bytes for a text, or NULL
 * if nothing is to be printed. The second records the first @len bytes of it, gives the
 * room back and returns how many it has recorded. Any context, with preemption off from
 * the first one to the end of the second.
 */
char *rtrace_print_begin(struct rtrace_array *tr);
int rtrace_print_end(struct rtrace_array *tr, unsigned long ip, char *text, unsigned int len);
#endif

#endif /* RT_EXPORTS_H */
