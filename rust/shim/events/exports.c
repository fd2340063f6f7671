// SPDX-License-Identifier: GPL-2.0
/*
 * What a module that brings its own events may use: the probes that it expands
 * call the first three, its printers the next two, its init and exit two more.
 * The rest is for tests.
 */
#include <linux/export.h>
#include "../events.h"

EXPORT_SYMBOL_GPL(rtrace_reserve);
EXPORT_SYMBOL_GPL(rtrace_commit);
EXPORT_SYMBOL_GPL(rtrace_discard);
EXPORT_SYMBOL_GPL(rt_print);
EXPORT_SYMBOL_GPL(rt_print_bitmask);
EXPORT_SYMBOL_GPL(rtrace_register_events);
EXPORT_SYMBOL_GPL(rtrace_unregister_events);
EXPORT_SYMBOL_GPL(rtrace_test_open);
EXPORT_SYMBOL_GPL(rtrace_test_write);
EXPORT_SYMBOL_GPL(rtrace_test_close);
EXPORT_SYMBOL_GPL(rtrace_test_reserve);
EXPORT_SYMBOL_GPL(rtrace_test_commit);
EXPORT_SYMBOL_GPL(rtrace_test_discard);
EXPORT_SYMBOL_GPL(rtrace_test_clock);
EXPORT_SYMBOL_GPL(rtrace_test_consume);
EXPORT_SYMBOL_GPL(rtrace_test_read_pages);
