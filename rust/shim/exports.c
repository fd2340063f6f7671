// SPDX-License-Identifier: GPL-2.0
/*
 * Prints of other modules, which Rust cannot take as their arguments vary, and what
 * these modules may call. scripts/check-product holds the list.
 */
#include <linux/export.h>
#include <linux/instruction_pointer.h>
#include <linux/preempt.h>
#include <linux/sprintf.h>

#include "exports.h"

int rtrace_array_vprintk(struct rtrace_array *tr, unsigned long ip, const char *fmt,
			 va_list args)
{
	int recorded = 0;
	char *text;

	if (!tr)
		return -ENOENT;
	preempt_disable_notrace();
	text = rtrace_print_begin(tr);
	if (text)
		recorded = rtrace_print_end(tr, ip ?: _RET_IP_, text,
					    vscnprintf(text, RT_PRINT_ROOM, fmt, args));
	preempt_enable_notrace();
	return recorded;
}
EXPORT_SYMBOL_GPL(rtrace_array_vprintk);

int rtrace_array_printk(struct rtrace_array *tr, unsigned long ip, const char *fmt, ...)
{
	va_list args;
	int recorded;

	va_start(args, fmt);
	recorded = rtrace_array_vprintk(tr, ip ?: _RET_IP_, fmt, args);
	va_end(args);
	return recorded;
}
EXPORT_SYMBOL_GPL(rtrace_array_printk);

EXPORT_SYMBOL_GPL(__rtrace_array_get);
EXPORT_SYMBOL_GPL(rtrace_array_put);
EXPORT_SYMBOL_GPL(rtrace_array_destroy);
EXPORT_SYMBOL_GPL(rtrace_array_set_clr_event);
EXPORT_SYMBOL_GPL(rtrace_array_set_event);
EXPORT_SYMBOL_GPL(rtrace_array_init_printk);
EXPORT_SYMBOL_GPL(__rtrace_event_define);
EXPORT_SYMBOL_GPL(rtrace_event_undefine);
EXPORT_SYMBOL_GPL(rtrace_event_record);
