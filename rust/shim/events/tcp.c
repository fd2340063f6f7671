// SPDX-License-Identifier: GPL-2.0
#include <linux/sock_diag.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#include <trace/events/sock.h>

/* The kernel's sock_gen_cookie() is not exported; this exported one calls it. */
static notrace u64 rt_sock_gen_cookie(struct sock *sk)
{
	u32 halves[2];

	sock_diag_save_cookie(sk, halves);
	return halves[0] | (u64)halves[1] << 32;
}
#define sock_gen_cookie rt_sock_gen_cookie

#define CREATE_TRACE_POINTS
#include <trace/events/tcp.h>
