// SPDX-License-Identifier: GPL-2.0
/* rtbench's events as rtrace records them: probes and descriptors, no tracepoints. */
#define CREATE_TRACE_POINTS
#include "rtbench_trace.h"
