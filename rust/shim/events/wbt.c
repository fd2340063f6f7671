// SPDX-License-Identifier: GPL-2.0
#include <linux/backing-dev.h>
#include <linux/blk_types.h>
#include <linux/blkdev.h>

#define CREATE_TRACE_POINTS
#include <trace/events/wbt.h>
