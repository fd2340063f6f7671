// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/mm_inline.h>

#define CREATE_TRACE_POINTS
#include <trace/events/pagemap.h>
