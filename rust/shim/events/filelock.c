// SPDX-License-Identifier: GPL-2.0
#include <linux/filelock.h>

#define CREATE_TRACE_POINTS
#include <trace/events/filelock.h>
