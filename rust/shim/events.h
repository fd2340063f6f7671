/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the expanded TRACE_EVENT headers hand to Rust, and the three functions
 * that their probes call. rust/sources/ reads the tables once, at load.
 */
#ifndef RT_EVENTS_H
#define RT_EVENTS_H

#include <linux/build_bug.h>
#include <linux/types.h>
#include <asm/unistd.h>

#include "spans.h"

struct module;
struct tracepoint;

/*
 * Rust only hands these two back to C, and bindgen is not told what they point
 * to.
 */
#ifdef __BINDGEN__
typedef const void *rt_fields_t;
typedef void *rt_print_t;
#else
#include <linux/trace_events.h>
#include <linux/trace_seq.h>

typedef const struct trace_event_fields *rt_fields_t;
typedef void (*rt_print_t)(struct trace_seq *s, struct trace_seq *p,
			   const void *rec);

/* What a TP_printk() is printed with. */
__printf(2, 3)
void rt_print(struct trace_seq *s, const char *fmt, ...);

/* trace_seq_vprintf() and trace_seq_printf(), made cheap. */
__printf(2, 0)
void rt_vprintf(struct trace_seq *s, const char *fmt, va_list args);
__printf(2, 3)
void rt_printf(struct trace_seq *s, const char *fmt, ...);

/* Whether RT_PRINT_TYPES is asked for; @s as a print function gets it. */
bool rt_print_types(const struct trace_seq *s);

/* What __get_bitmask() and __get_cpumask() stand for in a TP_printk(). */
const char *rt_print_bitmask(struct trace_seq *p, const void *mask,
			     unsigned int bytes);
#endif

/*
 * One event. Descriptors form an array in the section rt_events; first.c and
 * last.c are its bounds. The size is a multiple of the alignment, so that the
 * linker leaves no gap between the descriptors of two objects.
 */
struct rt_event_desc {
	const char *system;
	const char *name;
	const char *tp_name;
	const char *print_fmt;
	rt_fields_t fields;	/* ends at a NULL type */
	void *probe;		/* void (*)(void *cookie, <tracepoint's prototype>) */
	/*
	 * Writes the text of @rec to @s, with @p for its parts; no newline. NULL
	 * for a raw event: @fields then points to its struct rt_raw_arg.
	 */
	rt_print_t print;
	u16 size;		/* of the fixed part, struct trace_entry included */
	u16 kind;		/* enum rt_event_kind */
	u16 nr;			/* of a system call: which */
	u16 ftrace_id;		/* of a system call: ftrace's number of the event */
};
static_assert(sizeof(struct rt_event_desc) == 64);

enum rt_event_kind {
	RT_EVENT_PLAIN,		/* with a probe of its own */
	/* One probe per instance serves all calls: see rtrace_syscall(). */
	RT_EVENT_SYSCALL_ENTER,
	RT_EVENT_SYSCALL_EXIT,
};

/*
 * An argument of a raw event, which is made at load, and how it is printed. The
 * last one of an event has a NULL type.
 */
struct rt_raw_arg {
	const char *type;
	const char *name;
	u16 offset;		/* in the record */
	u8 size;		/* 1, 2, 4 or 8 */
	u8 kind;		/* enum rt_raw_kind */
	u32 unused;
};

enum rt_raw_kind {
	RT_RAW_SIGNED,
	RT_RAW_UNSIGNED,
	RT_RAW_POINTER,
	RT_RAW_VALUE,		/* a struct or union that fits into a register */
};

enum { RT_RAW_MOST_ARGS = 12 };

/* The value of an enumerator or sizeof() that print_fmt names (section rt_evals). */
struct rt_eval {
	const char *system;	/* the very string of the descriptors it is for */
	const char *text;
	long value;
};

/*
 * A member of a struct that no public header knows, which @probe reads (section
 * rt_layouts). @offset receives the place that BTF gives; an event whose probe
 * needs a member that BTF does not know is not offered. @member may be the names
 * of members inside each other, with dots between them.
 */
struct rt_layout {
	const void *probe;
	const char *type;
	const char *member;
	u32 *offset;		/* in bytes; in bits for RT_MEMBER_BIT */
	u16 bytes;		/* size the member must have; 0: any */
	u16 kind;		/* enum rt_member_kind */
	u32 of_module;		/* the struct is the module's that has the tracepoint */
};

enum rt_member_kind {
	RT_MEMBER_INT,		/* an integer or an enumeration */
	RT_MEMBER_PTR,
	RT_MEMBER_ARRAY,
	RT_MEMBER_BIT,		/* a bit field of one bit */
};

/* An event that is left out (section rt_absent). */
struct rt_absent {
	const char *system;
	const char *name;
	const char *why;
	bool (*when)(void);	/* NULL: always, it was not even compiled */
};

/* One field, flattened out of the unions and bit fields of its C form. */
struct rt_field {
	const char *type;
	const char *name;
	u32 size;
	u32 align;
	u32 len;
	bool is_signed;
};

extern const struct rt_event_desc rt_events_first[], rt_events_last[];
extern const struct rt_eval rt_evals_first[], rt_evals_last[];
extern const struct rt_layout rt_layouts_first[], rt_layouts_last[];
extern const struct rt_absent rt_absent_first[], rt_absent_last[];

/* Field number @index of an event; false after the last one. */
bool rt_event_field(const struct rt_event_desc *desc, unsigned int index,
		    struct rt_field *field);

/*
 * What a probe calls, with preemption off; defined in Rust. The entry begins
 * with a struct trace_entry, which the probe neither reads nor writes. A NULL
 * entry means that nothing is to be recorded; then neither of the others is
 * called. rtrace_commit() enables preemption, so that it is the last that a probe
 * does, and rtrace_discard() leaves that to the probe.
 */
struct rt_reserved {
	void *entry;
	u64 token;
};

/*
 * How rtrace_reserve() wants the size of a record: the 4-byte words of more than
 * 8 and at most 112 bytes, else a number that fits in no sub-buffer and has the
 * bytes in it. A constant where the size is one.
 * ring::packed in Rust is the same.
 */
static __always_inline u64 rt_size(size_t bytes)
{
	if (bytes > 8 && bytes <= 112)
		return (bytes + 3) / 4;
	return (u64)bytes << 20 | 1 << 19;
}

struct rt_reserved rtrace_reserve(void *cookie, u64 size);

/*
 * Calls @function, rtrace_reserve() or one like it, so that gcc does not see that
 * its result comes in two registers: it would keep a frame in the probe for that.
 */
#define RT_CALL_RESERVE(function, cookie, size)					\
({										\
	struct rt_reserved __result;						\
	void *__cookie_in = (cookie);						\
	u64 __size_in = (size);							\
										\
	asm volatile("call " #function						\
		     : "=a" (__result.entry), "=d" (__result.token),		\
		       "+D" (__cookie_in), "+S" (__size_in), ASM_CALL_CONSTRAINT\
		     : : "rcx", "r8", "r9", "r10", "r11", "memory", "cc");	\
	__result;								\
})

static __always_inline struct rt_reserved rt_reserve(void *cookie, u64 size)
{
	return RT_CALL_RESERVE(rtrace_reserve, cookie, size);
}

void rtrace_commit(void *cookie, void *entry, u64 token);
void rtrace_discard(void *cookie, void *entry, u64 token);

/*
 * The events of system calls: two descriptors for each that ftrace has, made at
 * load. NULL without memory.
 */
struct rt_event_desc *rt_syscalls_new(unsigned int *count);
void rt_syscalls_free(struct rt_event_desc *descs);
const char *rt_syscall_name(unsigned long nr);

enum {
	RT_SYSCALLS = NR_syscalls,
	/* Bytes that are recorded of what an argument points to: at most, at first. */
	RT_SYSCALL_USER_MOST = 165,
#ifdef CONFIG_FTRACE_SYSCALLS
	RT_SYSCALL_USER_BYTES = CONFIG_TRACE_SYSCALL_BUF_SIZE_DEFAULT,
#else
	RT_SYSCALL_USER_BYTES = 0,
#endif
};

/*
 * The event that call @nr is to be recorded as, for the cookie of a probe of
 * system calls; defined in Rust. A NULL file: none. Valid until the probe returns.
 */
struct rt_syscall_want {
	void *file;		/* cookie for rtrace_reserve() */
	u64 user_bytes;
};

struct rt_syscall_want rtrace_syscall(void *cookie, int nr);

/* ftrace's number of an event of the kernel; 0 when it has no such event. */
unsigned int rt_ftrace_id(const char *system, const char *name);

/* The buffers for printing records; one user at a time each. */
struct rt_printer;

enum rt_print_flags {
	RT_PRINT_POINTERS = 1,	/* the addresses themselves for %p */
	RT_PRINT_LISTS = 2,	/* masks as lists */
	RT_PRINT_FILES = 4,	/* addresses in user space by file */
	RT_PRINT_ADDRESSES = 8,	/* and as numbers */
	RT_PRINT_TYPES = 16,	/* arguments of system calls with their types */
};

struct rt_printer *rt_printer_new(void);
void rt_printer_free(struct rt_printer *printer);
/* What they return stays until the next call for the printer. */
struct rt_written rt_printer_format(struct rt_printer *printer,
				    const struct rt_event_desc *desc,
				    const void *rec, u32 flags);
struct rt_written rt_printer_user_stack(struct rt_printer *printer, pid_t process,
					struct rt_addresses addresses, u32 flags);

/* A member of a structure: the name of a tracepoint. */
const char *rt_tracepoint_name(const struct tracepoint *tracepoint);

/* Tracepoint number @index of a module; NULL after the last one. */
struct tracepoint *rt_module_tracepoint(struct module *module,
					unsigned int index);

/*
 * Event number @index of those that ftrace has of a module, which are tracepoints
 * of it; false after the last one.
 */
struct rt_module_event {
	const char *system;
	const char *name;
	const char *print_fmt;
	struct tracepoint *tracepoint;
};

bool rt_module_event(struct module *module, unsigned int index,
		     struct rt_module_event *event);

/* Whether a module was built apart from the kernel, by other headers perhaps. */
bool rt_module_is_foreign(const struct module *module);

/*
 * Waits until no probe that was unregistered before still runs, and no code that ran with
 * preemption disabled.
 */
void rt_tracepoint_synchronize(void);

/*
 * What a module with events of its own was built with: the version of what its probes
 * and descriptors mean, and the bytes of the structures. The version grows with each
 * change of these that the bytes do not show.
 */
enum {
	RT_EVENTS_VERSION = 1,
	RT_EVENTS_LAYOUT = RT_EVENTS_VERSION << 24 | sizeof(struct rt_event_desc) << 16 |
			   sizeof(struct rt_eval) << 8 | sizeof(struct rt_reserved),
};
static_assert(sizeof(struct rt_event_desc) < 256 && sizeof(struct rt_eval) < 256 &&
	      sizeof(struct rt_reserved) < 256);

/* Both are defined in Rust. The first one is called by the function below. */
int __rtrace_register_events(struct module *owner, u32 layout,
			     const struct rt_event_desc *first,
			     const struct rt_event_desc *last,
			     const struct rt_eval *evals_first,
			     const struct rt_eval *evals_last);
void rtrace_unregister_events(struct module *owner);

/*
 * Adds the events of @owner, the calling module, whose tracepoints must exist. The
 * descriptors stay valid until rtrace_unregister_events() returns. -ENOEXEC if @owner was
 * built for another layout, which the kernel's log tells. Process context.
 */
static inline int rtrace_register_events(struct module *owner,
					 const struct rt_event_desc *first,
					 const struct rt_event_desc *last,
					 const struct rt_eval *evals_first,
					 const struct rt_eval *evals_last)
{
	return __rtrace_register_events(owner, RT_EVENTS_LAYOUT, first, last,
					evals_first, evals_last);
}

#endif /* RT_EVENTS_H */
