// SPDX-License-Identifier: GPL-2.0
#include <media/v4l2-common.h>
#include <media/v4l2-dev.h>
#include <media/v4l2-fh.h>

#define CREATE_TRACE_POINTS
#include <trace/events/v4l2.h>
