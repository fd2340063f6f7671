// SPDX-License-Identifier: GPL-2.0
/*
 * rtrace's ring by itself. The caller of a ring buffer's functions has preemption
 * disabled, as that of a probe has; the kernel's do it themselves.
 */
#include <linux/preempt.h>
#include <linux/smp.h>
#include <testapi.h>

#include "bench.h"

#define DEFINE_WRITE(len)							\
static noinline void write_##len(struct bench *bench)				\
{										\
	u32 i, events = bench->wanted, failed = 0;				\
	void *ring = handle;							\
	u64 began = rdtsc();							\
										\
	for (i = 0; i < events; i++) {						\
		struct rt_reserved reserved;					\
										\
		preempt_disable_notrace();					\
		reserved = rt_test_reserve(ring, rt_size(len));			\
		if (likely(reserved.entry)) {					\
			fill(reserved.entry, len);				\
			rt_test_commit(ring, reserved.token);			\
		} else {							\
			failed++;						\
		}								\
		preempt_enable_notrace();					\
	}									\
	ended(bench, began, failed);						\
}

DEFINE_WRITE(16)
DEFINE_WRITE(32)
DEFINE_WRITE(64)
DEFINE_WRITE(128)

static noinline void discard(struct bench *bench)
{
	u32 i, events = bench->wanted, failed = 0;
	void *ring = handle;
	u64 began = rdtsc();

	for (i = 0; i < events; i++) {
		struct rt_reserved reserved;

		preempt_disable_notrace();
		reserved = rt_test_reserve(ring, rt_size(16));
		if (likely(reserved.entry))
			rtrace_test_discard(ring, reserved.entry, reserved.token);
		else
			failed++;
		preempt_enable_notrace();
	}
	ended(bench, began, failed);
}

static noinline void dearest(struct bench *bench)
{
	u32 i;

	bench->ticks = 0;
	for (i = 0; i < bench->wanted; i++) {
		struct rt_reserved reserved;
		u64 began = rdtsc();

		preempt_disable_notrace();
		reserved = rt_test_reserve(handle, rt_size(16));
		if (likely(reserved.entry)) {
			fill(reserved.entry, 16);
			rt_test_commit(handle, reserved.token);
		}
		preempt_enable_notrace();
		keep_dearest(bench, rdtsc() - began);
	}
}

static __always_inline void drain(struct bench *bench, long (*of_cpu)(void *handle, unsigned int cpu))
{
	unsigned int cpu = raw_smp_processor_id();
	u64 began = rdtsc();
	long count = of_cpu(handle, cpu);

	ended(bench, began, count < 0);
	bench->done = max(count, 0L);
}

static noinline void consume(struct bench *bench)
{
	drain(bench, rtrace_test_consume);
}

static noinline void read_pages(struct bench *bench)
{
	drain(bench, rtrace_test_read_pages);
}

const struct row rtrace_ring_rows[] = {
	{ .name = "rtrace.write.16", .measure = write_16 },
	{ .name = "rtrace.write.32", .measure = write_32 },
	{ .name = "rtrace.write.64", .measure = write_64 },
	{ .name = "rtrace.write.128", .measure = write_128 },
	{ .name = "rtrace.dearest", .measure = dearest },
	{ .name = "rtrace.discard", .measure = discard, .before = write_16 },
	{ .name = "rtrace.consume", .measure = consume, .before = write_16, .sleeps = true },
	{ .name = "rtrace.pages", .measure = read_pages, .before = write_16, .sleeps = true },
	{}
};
