// SPDX-License-Identifier: GPL-2.0
#include <linux/interrupt.h>

#define CREATE_TRACE_POINTS
#include <trace/events/irq.h>
