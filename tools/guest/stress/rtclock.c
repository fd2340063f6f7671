// SPDX-License-Identifier: GPL-2.0
/*
 * Shows whether rtrace's clock `local` is the kernel's sched_clock().
 *
 * Loading writes numbered payloads on every CPU, each between two calls of
 * sched_clock() on it. A payload says what the call before it gave, and what
 * the one after the previous payload did; rtguest compares that with the stamps.
 */
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>

/* What rtrace exports for tests; looked up by name, as in rtstress. */
void *rtrace_test_open(const char *instance);
int rtrace_test_write(void *handle, const void *payload, unsigned int len);
void rtrace_test_close(void *handle);

#define MAGIC 0x6b6c6374
/* Payloads that are written with interrupts off. */
#define BATCH 100

/* rtguest knows this layout (src/tests/clock.rs). */
struct payload {
	u32 magic;
	u32 number;
	u64 before;
	u64 behind_last;
};

struct run {
	void *handle;
	typeof(&rtrace_test_write) write;
	u32 number;
	u64 behind;
	int err;
};

static char *instance = "";
module_param(instance, charp, 0444);
MODULE_PARM_DESC(instance, "rtrace instance to write to");

static unsigned int batches = 100;
module_param(batches, uint, 0444);
MODULE_PARM_DESC(batches, "of 100 payloads on each CPU");

/* A CPU may read its counter before it has done what precedes it. */
static u64 sched_clock_in_order(void)
{
	u64 value;

	rmb();
	value = sched_clock();
	rmb();
	return value;
}

static void write_batch(void *data)
{
	struct run *run = data;
	unsigned int i;

	for (i = 0; i < BATCH && !run->err; i++) {
		struct payload payload = {
			.magic = MAGIC,
			.number = run->number++,
			.behind_last = run->behind,
		};

		payload.before = sched_clock_in_order();
		run->err = run->write(run->handle, &payload, sizeof(payload));
		run->behind = sched_clock_in_order();
	}
}

static int write_all(void *handle, typeof(&rtrace_test_write) write)
{
	unsigned int cpu, i;
	int err;

	for_each_online_cpu(cpu) {
		struct run run = { .handle = handle, .write = write };

		for (i = 0; i < batches; i++) {
			err = smp_call_function_single(cpu, write_batch, &run, 1);
			if (!err)
				err = run.err;
			if (err)
				return err;
			cond_resched();
		}
	}
	return 0;
}

static int __init rtclock_init(void)
{
	typeof(&rtrace_test_open) open = symbol_get(rtrace_test_open);
	typeof(&rtrace_test_write) write = symbol_get(rtrace_test_write);
	typeof(&rtrace_test_close) close = symbol_get(rtrace_test_close);
	void *handle;
	int err = -ENOENT;

	if (open && write && close) {
		handle = open(instance);
		err = -ENODEV;
		if (handle) {
			err = write_all(handle, write);
			close(handle);
		}
	}
	if (open)
		symbol_put(rtrace_test_open);
	if (write)
		symbol_put(rtrace_test_write);
	if (close)
		symbol_put(rtrace_test_close);
	return err;
}

static void __exit rtclock_exit(void)
{
	/* Everything ended before the module was loaded. */
}

module_init(rtclock_init);
module_exit(rtclock_exit);
MODULE_DESCRIPTION("Events between two readings of sched_clock() for the guest tests of rtrace");
MODULE_LICENSE("GPL");
