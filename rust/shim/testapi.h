/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What modules of tests call, of a rtrace that was built with RTRACE_TEST=1; a
 * product has none of it.
 */
#ifndef RT_TESTAPI_H
#define RT_TESTAPI_H

#include "events.h"

/*
 * Raw records from any context; defined in Rust. Open and close in process
 * context; a handle keeps its instance. The write returns 0, or why the event
 * was refused: -EBADF recording is off, -ENOSPC full, -EBUSY commit overrun,
 * -EDEADLK too many nested writers, -E2BIG, -EIO broken.
 */
void *rtrace_test_open(const char *instance);
int rtrace_test_write(void *handle, const void *bytes, unsigned int len);
void rtrace_test_close(void *handle);

/*
 * The steps of a writer and of readers, to be measured (tools/guest/bench). The
 * first three as rtrace_reserve() and its partners, with a handle for the cookie
 * and no common fields: the bytes are no record of an event. The clock is that of
 * the instance; preemption is off. The last two consume what there is of one CPU,
 * event by event or by sub-buffers, in process context, and return how many.
 */
struct rt_reserved rtrace_test_reserve(void *handle, u64 size);
void rtrace_test_commit(void *handle, void *entry, u64 token);
void rtrace_test_discard(void *handle, void *entry, u64 token);

/*
 * Reserve and commit as calls that gcc knows no more of than it must: see
 * RT_CALL_RESERVE(). The entry is not looked at.
 */
static __always_inline struct rt_reserved rt_test_reserve(void *handle, u64 size)
{
	return RT_CALL_RESERVE(rtrace_test_reserve, handle, size);
}

static __always_inline void rt_test_commit(void *handle, u64 token)
{
	asm volatile("call rtrace_test_commit"
		     : "+D" (handle), "+d" (token), ASM_CALL_CONSTRAINT
		     : : "rax", "rcx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
}

u64 rtrace_test_clock(void *handle);
long rtrace_test_consume(void *handle, unsigned int cpu);
long rtrace_test_read_pages(void *handle, unsigned int cpu);

#endif /* RT_TESTAPI_H */
