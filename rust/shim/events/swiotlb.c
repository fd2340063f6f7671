// SPDX-License-Identifier: GPL-2.0
#include <linux/swiotlb.h>

#define CREATE_TRACE_POINTS
#include <trace/events/swiotlb.h>
