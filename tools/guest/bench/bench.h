/* SPDX-License-Identifier: GPL-2.0 */
/* What the loops of rtbench and their control (main.c) share. */
#ifndef RTBENCH_H
#define RTBENCH_H

#include <linux/compiler.h>
#include <linux/types.h>
#ifdef CONFIG_UML
/* The header of x86 wants a machine. */
static __always_inline u64 rdtsc(void)
{
	u32 low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high));
	return (u64)high << 32 | low;
}
#else
#include <asm/tsc.h>
#endif

/* One measurement: what is asked for, and what came out. */
struct bench {
	u32 wanted;		/* events */
	u32 done;
	u32 failed;		/* of those, refused */
	u64 ticks;
};

/* Measures itself: nothing but the loop is between its two looks at the clock. */
typedef void (*bench_fn)(struct bench *bench);

struct row {
	const char *name;
	bench_fn measure;
	/* What is to be done first, so many times; NULL: what is measured. */
	bench_fn before;
	/* Empties the buffer and sets it up; NULL: rtguest has done so. */
	void (*begin)(void);
	void (*end)(void);
	bool sleeps;		/* only in the context of a task */
};

/* Each ends with a NULL name. */
extern const struct row clock_rows[], kernel_ring_rows[], rtrace_ring_rows[], event_rows[];

/* The instance of rtrace that rtguest has chosen, or NULL. */
extern void *handle;

int kernel_ring_init(void);
void kernel_ring_exit(void);

/*
 * A product's rtrace has none of these (testapi.h), and rtbench measures events there: the
 * loader leaves them NULL, no instance can be chosen, and no row that calls them runs.
 */
asm(".weak rtrace_test_open, rtrace_test_close, rtrace_test_reserve, rtrace_test_commit,"
    "rtrace_test_discard, rtrace_test_clock, rtrace_test_consume, rtrace_test_read_pages");

/* Of rtbench alone. */
void cycle_end(void);

/* What a module measures besides rings: rtbench an event, rtnative nothing. */
int events_init(void);
void events_exit(void);

/* The payload, stored as TP_fast_assign() would. */
static __always_inline void fill(void *payload, unsigned int len)
{
	u64 *words = payload;
	unsigned int i;

#pragma GCC unroll 16
	for (i = 0; i < len / sizeof(u64); i++)
		WRITE_ONCE(words[i], i);
}

static __always_inline void ended(struct bench *bench, u64 began, u32 failed)
{
	bench->ticks = rdtsc() - began;
	bench->done = bench->wanted;
	bench->failed = failed;
}

/* The dearest of many events that were measured one by one. */
static __always_inline void keep_dearest(struct bench *bench, u64 ticks)
{
	if (ticks > bench->ticks)
		bench->ticks = ticks;
	bench->done = 1;
}

#endif
