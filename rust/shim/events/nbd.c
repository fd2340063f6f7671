// SPDX-License-Identifier: GPL-2.0
#include <linux/blk-mq.h>
#include <linux/nbd.h>

#define CREATE_TRACE_POINTS
#include <trace/events/nbd.h>
