// SPDX-License-Identifier: GPL-2.0
#include <linux/oom.h>

#define CREATE_TRACE_POINTS
#include <trace/events/oom.h>
