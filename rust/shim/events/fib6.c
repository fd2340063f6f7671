// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/rtnetlink.h>

/* What a route of that type answers with; the kernel's own table is private. */
static notrace int ip6_rt_type_to_error(u8 fib6_type)
{
	switch (fib6_type) {
	case RTN_BLACKHOLE:
	case RTN_NAT:
	case RTN_XRESOLVE:
		return -EINVAL;
	case RTN_UNREACHABLE:
		return -EHOSTUNREACH;
	case RTN_PROHIBIT:
		return -EACCES;
	case RTN_THROW:
		return -EAGAIN;
	default:
		return 0;
	}
}

#define CREATE_TRACE_POINTS
#include <trace/events/fib6.h>
