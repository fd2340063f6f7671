/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Expands one TRACE_EVENT header seven times. What fields, dynamic arrays and
 * assignments mean comes from the kernel's own trace/stages/, so a record has
 * the very bytes that ftrace would write; what is made of them is ours:
 *
 *   stage 1  struct trace_event_raw_X, and the enumerators (rt_evals)
 *   stage 2  struct trace_event_data_offsets_X
 *   stage 3  rt_print_X(): record to text
 *   stage 4  rt_fields_X[]: for the `format` file
 *   stage 5  rt_offsets_X(): how long the dynamic arrays are
 *   stage 6  rt_probe_X(): reserve, fill, commit
 *   stage 7  the descriptors (rt_events), and the check of each probe's type
 *
 * A C file steers its header with macros defined before the inclusion:
 *   RT_ABSENT_<event or class>  (as 1) leaves that event or class out
 *   RT_VIEWS                    a file <name> to include between stages 6 and 7; it may
 *                               define rt_probe_X as another function's name
 *
 * There is no include guard: define_trace.h includes this once per header.
 */
#include <linux/args.h>
#include <linux/cleanup.h>
#include <linux/kconfig.h>
#include <linux/preempt.h>
#include <linux/trace_events.h>
#include "../../events.h"
#include "rt_string.h"

#ifndef TRACE_SYSTEM_VAR
#define TRACE_SYSTEM_VAR TRACE_SYSTEM
#endif

/* RT_KEEP(X, tokens): the tokens, or nothing when RT_ABSENT_X is defined as 1. */
#undef RT_KEEP
#undef RT_KEEP_IF_NOT_0
#undef RT_KEEP_IF_NOT_1
#define RT_KEEP_IF_NOT_0(...) __VA_ARGS__
#define RT_KEEP_IF_NOT_1(...)
#define RT_KEEP(call, ...) \
	CONCATENATE(RT_KEEP_IF_NOT_, __is_defined(RT_ABSENT_##call))(__VA_ARGS__)

/* Tracepoints without an event, and events that this configuration lacks. */
#undef DECLARE_TRACE
#define DECLARE_TRACE(name, proto, args)
#undef DECLARE_TRACE_CONDITION
#define DECLARE_TRACE_CONDITION(name, proto, args, cond)
#undef DECLARE_TRACE_EVENT
#define DECLARE_TRACE_EVENT(name, proto, args)
#undef DECLARE_TRACE_EVENT_CONDITION
#define DECLARE_TRACE_EVENT_CONDITION(name, proto, args, cond)
#undef TRACE_EVENT_NOP
#define TRACE_EVENT_NOP(name, proto, args, tstruct, assign, print)
#undef DEFINE_EVENT_NOP
#define DEFINE_EVENT_NOP(template, name, proto, args)
#undef DECLARE_EVENT_CLASS_NOP
#define DECLARE_EVENT_CLASS_NOP(name, proto, args, tstruct, assign, print)
#undef TRACE_EVENT_FLAGS
#define TRACE_EVENT_FLAGS(name, value)
#undef TRACE_EVENT_PERF_PERM
#define TRACE_EVENT_PERF_PERM(name, expr...)

/* Every way to declare an event comes down to one class and one event. */
#undef TRACE_EVENT
#define TRACE_EVENT(name, proto, args, tstruct, assign, print)		\
	DECLARE_EVENT_CLASS(name, PARAMS(proto), PARAMS(args),		\
			    PARAMS(tstruct), PARAMS(assign), PARAMS(print)); \
	DEFINE_EVENT(name, name, PARAMS(proto), PARAMS(args))
#undef TRACE_EVENT_CONDITION
#define TRACE_EVENT_CONDITION(name, proto, args, cond, tstruct, assign, print) \
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct),	\
		    PARAMS(assign), PARAMS(print))
#undef TRACE_EVENT_FN
#define TRACE_EVENT_FN(name, proto, args, tstruct, assign, print, reg, unreg) \
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct),	\
		    PARAMS(assign), PARAMS(print))
#undef TRACE_EVENT_FN_COND
#define TRACE_EVENT_FN_COND(name, proto, args, cond, tstruct, assign, print, \
			    reg, unreg)					\
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct),	\
		    PARAMS(assign), PARAMS(print))
#undef TRACE_EVENT_SYSCALL
#define TRACE_EVENT_SYSCALL(name, proto, args, tstruct, assign, print,	\
			    reg, unreg)					\
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct),	\
		    PARAMS(assign), PARAMS(print))
#undef DECLARE_EVENT_SYSCALL_CLASS
#define DECLARE_EVENT_SYSCALL_CLASS DECLARE_EVENT_CLASS
#undef DEFINE_EVENT_FN
#define DEFINE_EVENT_FN(template, name, proto, args, reg, unreg)	\
	DEFINE_EVENT(template, name, PARAMS(proto), PARAMS(args))
#undef DEFINE_EVENT_CONDITION
#define DEFINE_EVENT_CONDITION(template, name, proto, args, cond)	\
	DEFINE_EVENT(template, name, PARAMS(proto), PARAMS(args))

/* Evals are for the header that defines them: one string object per header. */
#undef RT_SYSTEM
#define RT_SYSTEM CONCATENATE(rt_system_, TRACE_SYSTEM_VAR)
static const char RT_SYSTEM[] = __stringify(TRACE_SYSTEM);

#undef TRACE_DEFINE_ENUM
#define TRACE_DEFINE_ENUM(a)						\
	static const struct rt_eval __used __aligned(8)			\
	__section("rt_evals") rt_eval_##a = {				\
		.system = RT_SYSTEM, .text = #a, .value = (long)(a) }
#undef TRACE_DEFINE_SIZEOF
#define TRACE_DEFINE_SIZEOF(a)						\
	static const struct rt_eval __used __aligned(8)			\
	__section("rt_evals") rt_eval_sizeof_##a = {			\
		.system = RT_SYSTEM, .text = "sizeof(" #a ")",		\
		.value = (long)sizeof(a) }

/* Stage 1 */
#include <trace/stages/stage1_struct_define.h>
#undef DEFINE_EVENT
#define DEFINE_EVENT(template, name, proto, args)
#undef DEFINE_EVENT_PRINT
#define DEFINE_EVENT_PRINT(template, name, proto, args, print)
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(call, proto, args, tstruct, assign, print)	\
RT_KEEP(call,								\
struct trace_event_raw_##call {						\
	struct trace_entry ent;						\
	tstruct								\
	char __data[];							\
};)
#include TRACE_INCLUDE(TRACE_INCLUDE_FILE)

/* Stage 2 */
#include <trace/stages/stage2_data_offsets.h>
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(call, proto, args, tstruct, assign, print)	\
RT_KEEP(call, struct trace_event_data_offsets_##call { tstruct };)
#include TRACE_INCLUDE(TRACE_INCLUDE_FILE)

/* Stage 3 */
#include <trace/stages/stage3_trace_output.h>
/* The caller ends the line. */
#undef TP_printk
#define TP_printk(fmt, args...) fmt, args
/* The kernel's form wants a trace iterator with a private trace array. */
#undef __get_bitmask
#define __get_bitmask(field)						\
	rt_print_bitmask(p, __get_dynamic_array(field),			\
			 __get_dynamic_array_len(field))
#undef __get_rel_bitmask
#define __get_rel_bitmask(field)					\
	rt_print_bitmask(p, __get_rel_dynamic_array(field),		\
			 __get_rel_dynamic_array_len(field))
#undef RT_PRINT
#define RT_PRINT(call, record, print)					\
static __maybe_unused notrace void					\
rt_print_##call(struct trace_seq *s, struct trace_seq *p, const void *rec) \
{									\
	struct trace_event_raw_##record __maybe_unused *field = (void *)rec; \
									\
	trace_seq_init(p);						\
	rt_print(s, print);						\
}
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(call, proto, args, tstruct, assign, print)	\
RT_KEEP(call, RT_PRINT(call, call, PARAMS(print)))
#undef DEFINE_EVENT_PRINT
#define DEFINE_EVENT_PRINT(template, call, proto, args, print)		\
RT_KEEP(call, RT_PRINT(call, template, PARAMS(print)))
#include TRACE_INCLUDE(TRACE_INCLUDE_FILE)

/* Stage 4 */
#include <trace/stages/stage4_event_fields.h>
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(call, proto, args, tstruct, assign, print)	\
RT_KEEP(call,								\
static const struct trace_event_fields __maybe_unused rt_fields_##call[] = { \
	tstruct {}							\
};)
#undef DEFINE_EVENT_PRINT
#define DEFINE_EVENT_PRINT(template, name, proto, args, print)
#include TRACE_INCLUDE(TRACE_INCLUDE_FILE)

/* Stage 5 */
#include <trace/stages/stage5_get_offsets.h>
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(call, proto, args, tstruct, assign, print)	\
RT_KEEP(call,								\
static notrace inline int						\
rt_offsets_##call(struct trace_event_data_offsets_##call *__data_offsets, \
		  proto)						\
{									\
	struct trace_event_raw_##call __maybe_unused *entry;		\
	int __maybe_unused __item_length;				\
	int __data_size = 0;						\
									\
	tstruct								\
	return __data_size;						\
})
#include TRACE_INCLUDE(TRACE_INCLUDE_FILE)

/*
 * Stage 6. Tracepoints call with preemption on (system calls may even fault);
 * from the sizes to the commit, which enables preemption, the CPU must stay the
 * same. Strings are copied by rt_string.h.
 */
#include <trace/stages/stage6_event_callback.h>
#pragma push_macro("strscpy")
#undef strscpy
#define strscpy RT_STRSCPY
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(call, proto, args, tstruct, assign, print)	\
RT_KEEP(call,								\
static __maybe_unused notrace void rt_probe_##call(void *__cookie, proto) \
{									\
	struct trace_event_data_offsets_##call __maybe_unused __data_offsets; \
	struct trace_event_raw_##call *entry;				\
	struct rt_reserved __reserved;					\
	int __data_size;						\
									\
	preempt_disable_notrace();					\
	__data_size = rt_offsets_##call(&__data_offsets, args);		\
	__reserved = rt_reserve(__cookie,				\
				    rt_size(sizeof(*entry) + __data_size)); \
	entry = __reserved.entry;					\
	if (!entry) {							\
		preempt_enable_notrace();				\
		return;							\
	}								\
	tstruct								\
	{ assign; }							\
	rtrace_commit(__cookie, entry, __reserved.token);		\
})
#include TRACE_INCLUDE(TRACE_INCLUDE_FILE)
#pragma pop_macro("strscpy")

#ifdef RT_VIEWS
#include RT_VIEWS
#undef RT_VIEWS
#endif

/* Stage 7 */
#include <trace/stages/stage7_class_define.h>
#undef RT_DESCRIBE
#define RT_DESCRIBE(template, call, text)				\
static inline void rt_check_##call(void)				\
{									\
	check_trace_callback_type_##call(rt_probe_##template);		\
}									\
static const struct rt_event_desc __used __aligned(8)			\
__section("rt_events") rt_event_##call = {				\
	.system = RT_SYSTEM,						\
	.name = #call,							\
	.tp_name = #call,						\
	.print_fmt = rt_print_fmt_##text,				\
	.fields = rt_fields_##template,					\
	.probe = rt_probe_##template,					\
	.print = rt_print_##text,					\
	.size = sizeof(struct trace_event_raw_##template),		\
};
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(call, proto, args, tstruct, assign, print)	\
RT_KEEP(call,								\
static const char __maybe_unused rt_print_fmt_##call[] = print;)
#undef DEFINE_EVENT
#define DEFINE_EVENT(template, call, proto, args)			\
RT_KEEP(call, RT_DESCRIBE(template, call, template))
#undef DEFINE_EVENT_PRINT
#define DEFINE_EVENT_PRINT(template, call, proto, args, print)		\
RT_KEEP(call,								\
static const char rt_print_fmt_##call[] = print;			\
RT_DESCRIBE(template, call, call))
#include TRACE_INCLUDE(TRACE_INCLUDE_FILE)
