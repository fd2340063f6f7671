// SPDX-License-Identifier: GPL-2.0
/*
 * Turns a record into text: an event's with the printer that its TRACE_EVENT
 * header gave, and one of callers in user space. Called by Rust with a copy of
 * the record, in process context.
 */
#include <linux/ctype.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "../events.h"

/* Room for a format; one that is longer is used as it is. */
#define RT_FORMAT_MOST 2048

struct rt_printer {
	struct trace_seq text;
	struct trace_seq parts;
	u32 flags;
	char format[RT_FORMAT_MOST];
};

struct rt_printer *rt_printer_new(void)
{
	return kvzalloc(sizeof(struct rt_printer), GFP_KERNEL);
}

void rt_printer_free(struct rt_printer *printer)
{
	kvfree(printer);
}

static struct rt_written rt_printed(struct rt_printer *printer)
{
	static const char too_big[] = "[LINE TOO BIG]";

	if (trace_seq_has_overflowed(&printer->text))
		return (struct rt_written) { too_big, sizeof(too_big) - 1 };
	return (struct rt_written) { printer->text.buffer,
				     trace_seq_used(&printer->text) };
}

/* The value of an argument, widened by its own sign. */
static s64 rt_raw_value(const struct rt_raw_arg *arg, const void *rec)
{
	const void *at = rec + arg->offset;
	unsigned int above = 64 - 8 * arg->size;
	u64 value = 0;

	memcpy(&value, at, arg->size);
	return arg->kind == RT_RAW_SIGNED ? (s64)(value << above) >> above : value;
}

static void rt_print_raw(struct trace_seq *s, const struct rt_raw_arg *args,
			 const void *rec)
{
	const struct rt_raw_arg *arg;

	for (arg = args; arg->type; arg++) {
		s64 value = rt_raw_value(arg, rec);

		rt_printf(s, "%s%s=", arg == args ? "" : " ", arg->name);
		switch (arg->kind) {
		case RT_RAW_SIGNED:
			rt_printf(s, "%lld", value);
			break;
		case RT_RAW_UNSIGNED:
			rt_printf(s, "%llu", value);
			break;
		case RT_RAW_POINTER:
			rt_print(s, "%p", (void *)value);
			break;
		default:
			rt_printf(s, "0x%llx", value);
		}
	}
}

/* The text stays in @printer until the next call. Not NUL-terminated. */
struct rt_written rt_printer_format(struct rt_printer *printer,
				    const struct rt_event_desc *desc,
				    const void *rec, u32 flags)
{
	trace_seq_init(&printer->text);
	printer->flags = flags;
	if (desc->print)
		desc->print(&printer->text, &printer->parts, rec);
	else
		rt_print_raw(&printer->text, (const void *)desc->fields, rec);
	return rt_printed(printer);
}

/* The format with %px for every plain %p. */
static const char *rt_open_format(struct rt_printer *printer, const char *fmt)
{
	char *to = printer->format;
	char *end = to + RT_FORMAT_MOST - 3;

	while (*fmt && to < end) {
		*to++ = *fmt++;
		if (fmt[-1] != '%' || !*fmt)
			continue;
		*to++ = *fmt++;
		if (fmt[-1] == 'p' && !isalnum(*fmt))
			*to++ = 'x';
	}
	*to = '\0';
	return *fmt ? NULL : printer->format;
}

void rt_print(struct trace_seq *s, const char *fmt, ...)
{
	struct rt_printer *printer = container_of(s, struct rt_printer, text);
	va_list args;

	if (printer->flags & RT_PRINT_POINTERS)
		fmt = rt_open_format(printer, fmt) ?: fmt;
	va_start(args, fmt);
	rt_vprintf(s, fmt, args);
	va_end(args);
}

bool rt_print_types(const struct trace_seq *s)
{
	const struct rt_printer *printer = container_of(s, struct rt_printer, text);

	return printer->flags & RT_PRINT_TYPES;
}

const char *rt_print_bitmask(struct trace_seq *p, const void *mask,
			     unsigned int bytes)
{
	struct rt_printer *printer = container_of(p, struct rt_printer, parts);
	const char *text = trace_seq_buffer_ptr(p);
	bool list = printer->flags & RT_PRINT_LISTS;

	trace_seq_printf(p, list ? "%*pbl" : "%*pb", bytes * 8, mask);
	trace_seq_putc(p, '\0');
	return text;
}

/* The process may have ended, then nothing is known of its files. */
static struct mm_struct *rt_memory_of(pid_t process)
{
	struct task_struct *task;

	guard(rcu)();
	task = pid_task(find_vpid(process), PIDTYPE_PID);
	return task ? get_task_mm(task) : NULL;
}

static bool rt_print_file(struct trace_seq *s, struct mm_struct *mm,
			  unsigned long address)
{
	struct vm_area_struct *area;
	bool found = false;

	mmap_read_lock(mm);
	area = find_vma(mm, address);
	if (area && area->vm_file) {
		found = true;
		if (trace_seq_path(s, file_user_path(area->vm_file)))
			trace_seq_printf(s, "[+0x%lx]",
					 address - area->vm_start);
	}
	mmap_read_unlock(mm);
	return found;
}

struct rt_written rt_printer_user_stack(struct rt_printer *printer, pid_t process,
					struct rt_addresses addresses, u32 flags)
{
	struct mm_struct *mm = NULL;
	struct trace_seq *s = &printer->text;
	size_t i;

	trace_seq_init(s);
	if (flags & RT_PRINT_FILES)
		mm = rt_memory_of(process);
	trace_seq_puts(s, "<user stack trace>\n");
	for (i = 0; i < addresses.len && addresses.first[i]; i++) {
		unsigned long address = addresses.first[i];

		trace_seq_puts(s, " => ");
		if (!mm || !rt_print_file(s, mm, address) ||
		    flags & RT_PRINT_ADDRESSES)
			trace_seq_printf(s, " <%016lx>", address);
		trace_seq_putc(s, '\n');
	}
	if (mm)
		mmput(mm);
	return rt_printed(printer);
}
