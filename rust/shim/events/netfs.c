// SPDX-License-Identifier: GPL-2.0
#include <linux/fscache.h>
#include <linux/netfs.h>

#define CREATE_TRACE_POINTS
#include <trace/events/netfs.h>
