// SPDX-License-Identifier: GPL-2.0
/*
 * What rtnative has instead of rtbench's event: rtrace's rings come and go. Also
 * what rtrace's sources want of its shim.
 */
#include <linux/clocksource.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/timekeeping.h>

#include "bench.h"
#include "native.h"

/* So long is the cycle counter compared with the kernel's time. */
#define COMPARED_MS 100

static unsigned int khz;
module_param(khz, uint, 0444);
MODULE_PARM_DESC(khz, "of the cycle counter, measured");

const struct row event_rows[] = { {} };

static unsigned int measure_khz(void)
{
	u64 time = ktime_get_ns(), cycles = rdtsc();

	mdelay(COMPARED_MS);
	cycles = rdtsc() - cycles;
	time = ktime_get_ns() - time;
	return div64_u64(cycles * NSEC_PER_MSEC, time);
}

int events_init(void)
{
	u32 mul, shift;

	khz = measure_khz();
	if (!khz)
		return -ENODEV;
	clocks_calc_mult_shift(&mul, &shift, khz, NSEC_PER_MSEC, 0);
	return rtnative_begin(mul, shift);
}

void events_exit(void)
{
	rtnative_end();
}

void *rt_per_cpu_ptr(void *base, unsigned int cpu)
{
	return per_cpu_ptr((void __percpu *)(unsigned long)base, cpu);
}

void *rt_subbuf_alloc(unsigned int cpu, unsigned int order)
{
	struct page *page = alloc_pages_node(cpu_to_node(cpu), GFP_KERNEL | __GFP_ZERO | __GFP_COMP,
					     order);

	return page ? page_address(page) : NULL;
}

struct page *rt_page_of(const void *address)
{
	return virt_to_page(address);
}

unsigned long rt_totalram_pages(void)
{
	return totalram_pages();
}

void rt_cond_resched(void)
{
	cond_resched();
}

void rt_preempt_disable_notrace(void)
{
	preempt_disable_notrace();
}

void rt_preempt_enable_notrace(void)
{
	preempt_enable_notrace();
}
