// SPDX-License-Identifier: GPL-2.0
#include <linux/hugetlb.h>

#define CREATE_TRACE_POINTS
#include <trace/events/hugetlbfs.h>
