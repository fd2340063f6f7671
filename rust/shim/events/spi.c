// SPDX-License-Identifier: GPL-2.0
#include <linux/spi/spi.h>

#define CREATE_TRACE_POINTS
#include <trace/events/spi.h>
