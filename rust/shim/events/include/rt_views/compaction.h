/* SPDX-License-Identifier: GPL-2.0 */
/* From the kernel's struct to the view of compaction.c; see rt_view.h. */

RT_PLACE(compact_control, free_pfn);
RT_PLACE(compact_control, migrate_pfn);

#define RT_COMPACTION_VIEW(control) {					\
	.free_pfn = RT_READ(control, compact_control, free_pfn, unsigned long), \
	.migrate_pfn = RT_READ(control, compact_control, migrate_pfn, unsigned long), \
}
#define RT_NEEDS_CONTROL(reader)					\
	RT_NEEDS(reader, compact_control, free_pfn, 8, INT);		\
	RT_NEEDS(reader, compact_control, migrate_pfn, 8, INT)

static notrace void
rt_view_compaction_begin(void *cookie, struct compact_control *control,
			 unsigned long zone_start, unsigned long zone_end, bool sync)
{
	struct compact_control view = RT_COMPACTION_VIEW(control);

	rt_probe_mm_compaction_begin(cookie, &view, zone_start, zone_end, sync);
}
RT_NEEDS_CONTROL(rt_view_compaction_begin);
#define rt_probe_mm_compaction_begin rt_view_compaction_begin

static notrace void
rt_view_compaction_end(void *cookie, struct compact_control *control,
		       unsigned long zone_start, unsigned long zone_end, bool sync,
		       int status)
{
	struct compact_control view = RT_COMPACTION_VIEW(control);

	rt_probe_mm_compaction_end(cookie, &view, zone_start, zone_end, sync, status);
}
RT_NEEDS_CONTROL(rt_view_compaction_end);
#define rt_probe_mm_compaction_end rt_view_compaction_end
