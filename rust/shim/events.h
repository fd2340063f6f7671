/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the expanded TRACE_EVENT headers hand to Rust, and the three functions
 * that their probes call. rust/kapi/events.rs reads the tables once, at load.
 */
#ifndef RT_EVENTS_H
#define RT_EVENTS_H

#include <linux/build_bug.h>
#include <linux/types.h>

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
	/* Writes the text of @rec to @s, with @p for its parts; no newline. */
	rt_print_t print;
	u32 size;		/* of the fixed part, struct trace_entry included */
	u32 flags;		/* zero */
};
static_assert(sizeof(struct rt_event_desc) == 64);

/* The value of an enumerator or sizeof() that print_fmt names (section rt_evals). */
struct rt_eval {
	const char *system;	/* the very string of the descriptors it is for */
	const char *text;
	long value;
};

/*
 * A member of a struct that only vmlinux knows, which @probe reads (section
 * rt_layouts). @offset receives the place that the kernel's BTF gives; an event
 * whose probe needs a member that BTF does not know is not offered.
 */
struct rt_layout {
	const void *probe;
	const char *type;
	const char *member;
	u32 *offset;		/* in bytes; in bits for RT_MEMBER_BIT */
	u16 bytes;		/* size the member must have; 0: any */
	u16 kind;		/* enum rt_member_kind */
	u32 unused;
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

/* Field number @index of an event; false behind the last one. */
bool rt_event_field(const struct rt_event_desc *desc, unsigned int index,
		    struct rt_field *field);

/*
 * What a probe calls, with preemption off; defined in Rust. The entry begins
 * with a struct trace_entry whose fields are already written. A NULL entry
 * means that nothing is to be recorded; then neither of the others is called.
 */
struct rt_reserved {
	void *entry;
	u64 token;
};

struct rt_reserved rtrace_reserve(void *cookie, unsigned long size);
void rtrace_commit(void *cookie, u64 token);
void rtrace_discard(void *cookie, void *entry, u64 token);

/* The buffers for printing records; one user at a time each. */
struct rt_printer;

struct rt_printer *rt_printer_new(void);
void rt_printer_free(struct rt_printer *printer);
unsigned long rt_printer_format(struct rt_printer *printer,
				const struct rt_event_desc *desc,
				const void *rec, const char **text);

/* Tracepoint number @index of a module; NULL behind the last one. */
struct tracepoint *rt_module_tracepoint(struct module *module,
					unsigned int index);

/* Waits until no probe that was unregistered before still runs. */
void rt_tracepoint_synchronize(void);

/*
 * Events of another module; defined in Rust. @owner's tracepoints must exist,
 * and the descriptors stay valid until rtrace_unregister_events() returns.
 */
int rtrace_register_events(struct module *owner,
			   const struct rt_event_desc *first,
			   const struct rt_event_desc *last,
			   const struct rt_eval *evals_first,
			   const struct rt_eval *evals_last);
void rtrace_unregister_events(struct module *owner);

/*
 * Raw records from any context; defined in Rust. Open and close in process
 * context; a handle keeps its instance. The write returns 0, or why the event
 * was refused: -EBADF recording is off, -ENOSPC full, -EBUSY commit overrun,
 * -EDEADLK too many nested writers, -E2BIG, -EIO broken.
 */
void *rtrace_test_open(const char *instance);
int rtrace_test_write(void *handle, const void *bytes, unsigned int len);
void rtrace_test_close(void *handle);

#endif /* RT_EVENTS_H */
