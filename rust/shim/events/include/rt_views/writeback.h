/* SPDX-License-Identifier: GPL-2.0 */
/* From the kernel's struct to the view of writeback.c; see rt_view.h. */

RT_PLACE(wb_writeback_work, nr_pages);
RT_PLACE(wb_writeback_work, sb);
RT_PLACE(wb_writeback_work, sync_mode);
RT_PLACE(wb_writeback_work, for_kupdate);
RT_PLACE(wb_writeback_work, range_cyclic);
RT_PLACE(wb_writeback_work, for_background);
RT_PLACE(wb_writeback_work, reason);

static notrace void
rt_view_writeback_work(void *cookie, struct bdi_writeback *wb,
		       struct wb_writeback_work *work)
{
	struct wb_writeback_work view = {
		.nr_pages = RT_READ(work, wb_writeback_work, nr_pages, long),
		.sb = RT_READ(work, wb_writeback_work, sb, struct super_block *),
		.sync_mode = RT_READ(work, wb_writeback_work, sync_mode, int),
		.for_kupdate = RT_READ_BIT(work, wb_writeback_work, for_kupdate),
		.range_cyclic = RT_READ_BIT(work, wb_writeback_work, range_cyclic),
		.for_background = RT_READ_BIT(work, wb_writeback_work, for_background),
		.reason = RT_READ(work, wb_writeback_work, reason, int),
	};

	rt_probe_writeback_work_class(cookie, wb, &view);
}
RT_NEEDS(rt_view_writeback_work, wb_writeback_work, nr_pages, 8, INT);
RT_NEEDS(rt_view_writeback_work, wb_writeback_work, sb, 8, PTR);
RT_NEEDS(rt_view_writeback_work, wb_writeback_work, sync_mode, 4, INT);
RT_NEEDS(rt_view_writeback_work, wb_writeback_work, for_kupdate, 0, BIT);
RT_NEEDS(rt_view_writeback_work, wb_writeback_work, range_cyclic, 0, BIT);
RT_NEEDS(rt_view_writeback_work, wb_writeback_work, for_background, 0, BIT);
RT_NEEDS(rt_view_writeback_work, wb_writeback_work, reason, 4, INT);
#define rt_probe_writeback_work_class rt_view_writeback_work

static notrace void
rt_view_writeback_queue_io(void *cookie, struct bdi_writeback *wb,
			   struct wb_writeback_work *work,
			   unsigned long dirtied_before, int moved)
{
	struct wb_writeback_work view = {
		.reason = RT_READ(work, wb_writeback_work, reason, int),
	};

	rt_probe_writeback_queue_io(cookie, wb, &view, dirtied_before, moved);
}
RT_NEEDS(rt_view_writeback_queue_io, wb_writeback_work, reason, 4, INT);
#define rt_probe_writeback_queue_io rt_view_writeback_queue_io
