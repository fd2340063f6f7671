/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What probes are told of a call of a function; see rust/sources/registers.rs.
 */
#ifndef RTRACE_CALLS_H
#define RTRACE_CALLS_H

#include <linux/types.h>

/*
 * A hit: what the probe was registered with, and the words that were kept from the
 * beginning of the call to its return, or NULL. Two registers.
 */
struct rt_hit_call {
	const void *data;
	const u64 *words;
};

/* A call that begins: the same, and room for those words. */
struct rt_begun_call {
	const void *data;
	u64 *words;
};

#endif
