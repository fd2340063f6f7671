// SPDX-License-Identifier: GPL-2.0
#include <linux/blkdev.h>

#define CREATE_TRACE_POINTS
#include <trace/events/block.h>
