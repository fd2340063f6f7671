// SPDX-License-Identifier: GPL-2.0
/*
 * What a module that brings its own events may use: the probes that it expands
 * call the first three, its printers the next two, its init and exit the last two.
 * What other modules may call besides is in ../exports.c. scripts/check-product holds
 * the list.
 */
#include <linux/export.h>
#include "../events.h"

EXPORT_SYMBOL_GPL(rtrace_reserve);
EXPORT_SYMBOL_GPL(rtrace_commit);
EXPORT_SYMBOL_GPL(rtrace_discard);
EXPORT_SYMBOL_GPL(rt_print);
EXPORT_SYMBOL_GPL(rt_print_bitmask);
EXPORT_SYMBOL_GPL(__rtrace_register_events);
EXPORT_SYMBOL_GPL(rtrace_unregister_events);
