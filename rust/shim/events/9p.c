// SPDX-License-Identifier: GPL-2.0
#include <linux/fs_context.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <net/9p/9p.h>
#include <net/9p/client.h>

#define CREATE_TRACE_POINTS
#include <trace/events/9p.h>
