// SPDX-License-Identifier: GPL-2.0
#include <linux/hrtimer.h>
#include <linux/tick.h>
#include <linux/timer.h>

#define CREATE_TRACE_POINTS
#include <trace/events/timer.h>
