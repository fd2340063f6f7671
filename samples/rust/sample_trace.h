/* SPDX-License-Identifier: GPL-2.0 */
/* The tracepoint of the Rust sample. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rtrace_sample_rust

#if !defined(SAMPLE_RUST_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SAMPLE_RUST_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(sample_write,

	TP_PROTO(size_t length, const u8 *begin, size_t begin_length),

	TP_ARGS(length, begin, begin_length),

	TP_STRUCT__entry(
		__field(size_t, length)
		__dynamic_array(u8, begin, begin_length)
	),

	TP_fast_assign(
		__entry->length = length;
		memcpy(__get_dynamic_array(begin), begin, begin_length);
	),

	TP_printk("length=%zu begin=%s", __entry->length,
		  __print_hex(__get_dynamic_array(begin),
			      __get_dynamic_array_len(begin)))
);

#endif /* SAMPLE_RUST_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE sample_trace
#include <trace/define_trace.h>
