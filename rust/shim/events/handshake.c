// SPDX-License-Identifier: GPL-2.0
#include <linux/ipv6.h>
#include <linux/net.h>
#include <net/inet_sock.h>
#include <net/sock.h>
#include <rt_view.h>

/* The view of a request; rt_views/handshake.h fills it. */
struct handshake_req {
	struct sock *hr_sk;
};

#define RT_VIEWS <rt_views/handshake.h>
#define CREATE_TRACE_POINTS
#include <trace/events/handshake.h>
