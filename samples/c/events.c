// SPDX-License-Identifier: GPL-2.0
/* Expanded by rtrace's stages: probes and descriptors, no tracepoints. */
#define CREATE_TRACE_POINTS
#include "sample_trace.h"
