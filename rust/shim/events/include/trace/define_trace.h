/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Found before the kernel's <trace/define_trace.h>, which every
 * TRACE_EVENT header includes last: it expands the header with the stages of
 * rt_stages.h instead, and so defines probes and descriptors but no tracepoint.
 *
 * NOSTDINC_FLAGS puts this folder before the kernel's (see events.mk). Which
 * header is being expanded follows the kernel's convention: TRACE_SYSTEM,
 * TRACE_INCLUDE_FILE and TRACE_INCLUDE_PATH.
 */
#ifdef CREATE_TRACE_POINTS
#undef CREATE_TRACE_POINTS

#include <linux/stringify.h>

#undef TRACE_INCLUDE
#undef RT_TRACE_INCLUDE
#ifndef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE TRACE_SYSTEM
#define RT_UNDEF_TRACE_INCLUDE_FILE
#endif
#ifndef TRACE_INCLUDE_PATH
#define RT_TRACE_INCLUDE(file) <trace/events/file.h>
#else
#define RT_TRACE_INCLUDE(file) __stringify(TRACE_INCLUDE_PATH/file.h)
#endif
#define TRACE_INCLUDE(file) RT_TRACE_INCLUDE(file)

#define TRACE_HEADER_MULTI_READ
#include <rt_stages.h>
#undef TRACE_HEADER_MULTI_READ

/* <linux/tracepoint.h> defines its own again for the next header. */
#undef DECLARE_EVENT_CLASS
#undef DECLARE_EVENT_CLASS_NOP
#undef DECLARE_EVENT_SYSCALL_CLASS
#undef DECLARE_TRACE
#undef DECLARE_TRACE_CONDITION
#undef DECLARE_TRACE_EVENT
#undef DECLARE_TRACE_EVENT_CONDITION
#undef DEFINE_EVENT
#undef DEFINE_EVENT_CONDITION
#undef DEFINE_EVENT_FN
#undef DEFINE_EVENT_NOP
#undef DEFINE_EVENT_PRINT
#undef TRACE_EVENT
#undef TRACE_EVENT_CONDITION
#undef TRACE_EVENT_FN
#undef TRACE_EVENT_FN_COND
#undef TRACE_EVENT_NOP
#undef TRACE_EVENT_SYSCALL

#ifdef RT_UNDEF_TRACE_INCLUDE_FILE
#undef RT_UNDEF_TRACE_INCLUDE_FILE
#undef TRACE_INCLUDE_FILE
#endif

#define CREATE_TRACE_POINTS
#endif /* CREATE_TRACE_POINTS */
