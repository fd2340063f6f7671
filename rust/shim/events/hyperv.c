// SPDX-License-Identifier: GPL-2.0
#include <linux/mm_types.h>
#include <asm/tlbflush.h>
#include <rt_view.h>

/* The view of a flush, which modules are not shown; rt_views/hyperv.h fills it. */
struct flush_tlb_info {
	struct mm_struct *mm;
	unsigned long start;
	unsigned long end;
};

#define RT_VIEWS <rt_views/hyperv.h>
#define CREATE_TRACE_POINTS
#include <asm/trace/hyperv.h>
