// SPDX-License-Identifier: GPL-2.0
/*
 * Turns a record into text with the printer that its TRACE_EVENT header gave.
 * Called by Rust with a copy of the record, in process context.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include "../events.h"

struct rt_printer {
	struct trace_seq text;
	struct trace_seq parts;
};

struct rt_printer *rt_printer_new(void)
{
	return kvzalloc(sizeof(struct rt_printer), GFP_KERNEL);
}

void rt_printer_free(struct rt_printer *printer)
{
	kvfree(printer);
}

/* The text stays in @printer until the next call. Not NUL-terminated. */
unsigned long rt_printer_format(struct rt_printer *printer,
				const struct rt_event_desc *desc,
				const void *rec, const char **text)
{
	static const char too_big[] = "[LINE TOO BIG]";

	trace_seq_init(&printer->text);
	desc->print(&printer->text, &printer->parts, rec);
	if (trace_seq_has_overflowed(&printer->text)) {
		*text = too_big;
		return sizeof(too_big) - 1;
	}
	*text = printer->text.buffer;
	return trace_seq_used(&printer->text);
}

const char *rt_print_bitmask(struct trace_seq *p, const void *mask,
			     unsigned int bytes)
{
	const char *text = trace_seq_buffer_ptr(p);

	trace_seq_printf(p, "%*pb", bytes * 8, mask);
	trace_seq_putc(p, '\0');
	return text;
}
