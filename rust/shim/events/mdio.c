// SPDX-License-Identifier: GPL-2.0
#include <linux/phy.h>

#define CREATE_TRACE_POINTS
#include <trace/events/mdio.h>
