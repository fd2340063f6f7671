// SPDX-License-Identifier: GPL-2.0
#include <net/ipv6.h>
#include <net/neighbour.h>

#define CREATE_TRACE_POINTS
#include <trace/events/neigh.h>
