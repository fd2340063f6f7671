/* SPDX-License-Identifier: GPL-2.0 */
/* From the kernel's struct to the view of hyperv.c; see rt_view.h. */

RT_PLACE(flush_tlb_info, mm);
RT_PLACE(flush_tlb_info, start);
RT_PLACE(flush_tlb_info, end);

static notrace void
rt_view_flush_tlb_multi(void *cookie, const struct cpumask *cpus,
			const struct flush_tlb_info *flush)
{
	struct flush_tlb_info view = {
		.mm = RT_READ(flush, flush_tlb_info, mm, struct mm_struct *),
		.start = RT_READ(flush, flush_tlb_info, start, unsigned long),
		.end = RT_READ(flush, flush_tlb_info, end, unsigned long),
	};

	rt_probe_hyperv_mmu_flush_tlb_multi(cookie, cpus, &view);
}
RT_NEEDS(rt_view_flush_tlb_multi, flush_tlb_info, mm, 8, PTR);
RT_NEEDS(rt_view_flush_tlb_multi, flush_tlb_info, start, 8, INT);
RT_NEEDS(rt_view_flush_tlb_multi, flush_tlb_info, end, 8, INT);
#define rt_probe_hyperv_mmu_flush_tlb_multi rt_view_flush_tlb_multi
