// SPDX-License-Identifier: GPL-2.0
#include <net/udp.h>
#include <trace/events/sock.h>

#define CREATE_TRACE_POINTS
#include <trace/events/udp.h>
