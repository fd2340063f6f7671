// SPDX-License-Identifier: GPL-2.0
#include <linux/maple_tree.h>
#include <linux/mm.h>

#define CREATE_TRACE_POINTS
#include <trace/events/mmap.h>
