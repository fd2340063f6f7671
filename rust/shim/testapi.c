// SPDX-License-Identifier: GPL-2.0
/* What modules of tests may use: only in a module that was built with RTRACE_TEST=1. */
#include <linux/export.h>
#include "testapi.h"

EXPORT_SYMBOL_GPL(rtrace_test_open);
EXPORT_SYMBOL_GPL(rtrace_test_write);
EXPORT_SYMBOL_GPL(rtrace_test_close);
EXPORT_SYMBOL_GPL(rtrace_test_reserve);
EXPORT_SYMBOL_GPL(rtrace_test_commit);
EXPORT_SYMBOL_GPL(rtrace_test_discard);
EXPORT_SYMBOL_GPL(rtrace_test_clock);
EXPORT_SYMBOL_GPL(rtrace_test_consume);
EXPORT_SYMBOL_GPL(rtrace_test_read_pages);
