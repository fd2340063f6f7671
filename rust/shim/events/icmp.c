// SPDX-License-Identifier: GPL-2.0
#include <linux/icmp.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <net/icmp.h>
#include <net/udp.h>

#define CREATE_TRACE_POINTS
#include <trace/events/icmp.h>
