/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bytes and words of Rust's, as one argument in two registers: see
 * rust/kapi/foreign.rs.
 */
#ifndef RTRACE_SPANS_H
#define RTRACE_SPANS_H

#include <linux/types.h>

/* Room for `len` bytes, which a function writes. */
struct rt_room {
	void *first;
	size_t len;
};

/* `len` bytes that a function has written. */
struct rt_written {
	const void *first;
	size_t len;
};

/* `len` addresses, which a function reads. */
struct rt_addresses {
	const u64 *first;
	size_t len;
};

#endif
