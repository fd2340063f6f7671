// SPDX-License-Identifier: GPL-2.0
#include <linux/pm_qos.h>
#include <linux/cpufreq.h>

#define CREATE_TRACE_POINTS
#include <trace/events/power.h>
