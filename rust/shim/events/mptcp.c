// SPDX-License-Identifier: GPL-2.0
#include <linux/types.h>
#include <net/inet_sock.h>
#include <net/mptcp.h>
#include <net/sock.h>

/* Two events look into structs of MPTCP alone, by its own functions. */
#define RT_ABSENT_mptcp_subflow_get_send 1
#define RT_ABSENT_mptcp_rcvbuf_grow 1

struct mptcp_sock;
struct mptcp_subflow_context;

#define CREATE_TRACE_POINTS
#include <trace/events/mptcp.h>
