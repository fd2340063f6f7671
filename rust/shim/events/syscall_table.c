// SPDX-License-Identifier: GPL-2.0
/*
 * Which system calls are there, and what are their arguments?
 *
 * The numbers and names come from the table that the kernel's own entry code is
 * built from. What the arguments are called and which of them ftrace follows into
 * the user's memory is in the metadata of SYSCALL_DEFINE(), which the kernel does
 * not export; but it hands out ftrace's events (trace_get_event_file()), and each
 * event of a call points to the metadata. They are of the kernel image and stay.
 *
 * Called once, at load; probes and printers only read.
 */
#include <linux/slab.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>
#include "syscalls.h"

#define SYSTEM "syscalls"
/* Longest "sys_enter_" and name; longer names are no system calls. */
#define NAME_SIZE 64

#define __SYSCALL(nr, function) [nr] = #function,
#define __SYSCALL_NORETURN __SYSCALL
static const char * const functions[NR_syscalls] = {
#ifdef CONFIG_FTRACE_SYSCALLS
#include <asm/syscalls_64.h>
#endif
};

static const struct syscall_metadata *metas[NR_syscalls] __ro_after_init;

const struct syscall_metadata *rt_syscall_meta(int nr)
{
	return nr >= 0 && nr < NR_syscalls ? metas[nr] : NULL;
}

/* "sys_read"; NULL for a call without events. */
const char *rt_syscall_name(unsigned long nr)
{
	return nr < NR_syscalls && metas[nr] ? metas[nr]->name : NULL;
}

/* ftrace's number of an event; 0 when it has no such event. */
unsigned int rt_ftrace_id(const char *system, const char *name)
{
	struct trace_event_file *file = trace_get_event_file(NULL, system, name);
	unsigned int id;

	if (IS_ERR(file))
		return 0;
	id = file->event_call->event.type;
	trace_put_event_file(file);
	return id;
}

#ifdef CONFIG_FTRACE_SYSCALLS

/* The metadata of the call that @function serves, if ftrace has events of it. */
static const struct syscall_metadata *find(const char *function)
{
	const struct syscall_metadata *meta;
	struct trace_event_file *file;
	char name[NAME_SIZE];

	if (!strstarts(function, "sys_"))
		return NULL;
	snprintf(name, sizeof(name), "sys_enter_%s", function + strlen("sys_"));
	file = trace_get_event_file(NULL, SYSTEM, name);
	if (IS_ERR(file))
		return NULL;
	meta = file->event_call->data;
	trace_put_event_file(file);
	if (meta->syscall_nr < 0 || meta->syscall_nr >= NR_syscalls ||
	    meta->nb_args > SYSCALL_DEFINE_MAXARGS ||
	    hweight16(meta->user_mask) > RT_SYSCALL_USERS)
		return NULL;
	return meta;
}

/* The descriptions of all calls, in one piece of memory. */
struct plan {
	unsigned int descs;
	unsigned int fields;
	unsigned int chars;
};

/* Adds what @meta needs: two events, fields of the first, names of user data. */
static void plan_for(struct plan *plan, const struct syscall_metadata *meta)
{
	plan->descs += 2;
	plan->fields += 1 + meta->nb_args + hweight16(meta->user_mask) + 1;
	for (unsigned int i = 0; i < meta->nb_args; i++)
		if (meta->user_mask & BIT(i))
			plan->chars += strlen(meta->args[i]) + sizeof("___val");
}

static const struct trace_event_fields exit_fields[] = {
	{ .type = "int", .name = "__syscall_nr", .size = 4, .align = 4, .is_signed = 1 },
	{ .type = "long", .name = "ret", .size = 8, .align = 8, .is_signed = 1 },
	{}
};

/* The members of these structs are constants, but the memory is ours. */
static struct trace_event_fields *
add_field(struct trace_event_fields *to, const struct trace_event_fields *field)
{
	memcpy(to, field, sizeof(*to));
	return to + 1;
}

/* Writes the fields of sys_enter_*, and moves both pointers past what it used. */
static void define_fields(const struct syscall_metadata *meta,
			  struct trace_event_fields **fields, char **chars)
{
	struct trace_event_fields *field = *fields;

	field = add_field(field, &exit_fields[0]);
	for (unsigned int i = 0; i < meta->nb_args; i++)
		field = add_field(field, &(struct trace_event_fields) {
			.type = meta->types[i],
			.name = meta->args[i],
			.size = sizeof(long),
			.align = sizeof(long),
		});
	for (unsigned int i = 0; i < meta->nb_args; i++) {
		if (!(meta->user_mask & BIT(i)))
			continue;
		field = add_field(field, &(struct trace_event_fields) {
			.type = "__data_loc char[]",
			.name = *chars,
			.size = sizeof(u32),
			.align = sizeof(u32),
		});
		*chars += sprintf(*chars, "__%s_val", meta->args[i]) + 1;
	}
	/* The end of the list is zero from the beginning. */
	*fields = field + 1;
}

static void describe(struct rt_event_desc *desc, struct trace_event_call *call,
		     int nr)
{
	desc->system = SYSTEM;
	desc->name = trace_event_name(call);
	desc->print_fmt = call->print_fmt;
	desc->ftrace_id = call->event.type;
	desc->nr = nr;
}

struct rt_event_desc *rt_syscalls_new(unsigned int *count)
{
	struct trace_event_fields *fields;
	struct rt_event_desc *descs, *desc;
	struct plan plan = {};
	char *chars;

	for (unsigned int i = 0; i < NR_syscalls; i++) {
		const struct syscall_metadata *meta;

		meta = functions[i] ? find(functions[i]) : NULL;
		if (!meta || metas[meta->syscall_nr])
			continue;
		metas[meta->syscall_nr] = meta;
		plan_for(&plan, meta);
	}

	desc = descs = kvzalloc(plan.descs * sizeof(*descs) +
				plan.fields * sizeof(*fields) + plan.chars,
				GFP_KERNEL);
	if (!descs)
		return NULL;
	fields = (void *)(descs + plan.descs);
	chars = (void *)(fields + plan.fields);
	for (unsigned int i = 0; i < NR_syscalls; i++) {
		const struct syscall_metadata *meta = metas[i];

		if (!meta)
			continue;
		describe(desc, meta->enter_event, i);
		desc->kind = RT_EVENT_SYSCALL_ENTER;
		desc->tp_name = "sys_enter";
		desc->probe = rt_probe_syscall_enter;
		desc->print = rt_print_syscall_enter;
		desc->size = offsetof(struct rt_syscall_enter, args) +
			meta->nb_args * sizeof(long) +
			hweight16(meta->user_mask) * sizeof(u32);
		desc->fields = fields;
		define_fields(meta, &fields, &chars);
		desc++;

		describe(desc, meta->exit_event, i);
		desc->kind = RT_EVENT_SYSCALL_EXIT;
		desc->tp_name = "sys_exit";
		desc->probe = rt_probe_syscall_exit;
		desc->print = rt_print_syscall_exit;
		desc->size = sizeof(struct rt_syscall_exit);
		desc->fields = exit_fields;
		desc++;
	}
	*count = plan.descs;
	return descs;
}

#else

struct rt_event_desc *rt_syscalls_new(unsigned int *count)
{
	*count = 0;
	return kvzalloc(sizeof(struct rt_event_desc), GFP_KERNEL);
}

#endif /* CONFIG_FTRACE_SYSCALLS */

void rt_syscalls_free(struct rt_event_desc *descs)
{
	kvfree(descs);
}
