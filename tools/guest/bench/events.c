// SPDX-License-Identifier: GPL-2.0
/* rtbench's event as rtrace records it: a probe and a descriptor, no tracepoint. */
#define CREATE_TRACE_POINTS
#include "rtbench_trace.h"
