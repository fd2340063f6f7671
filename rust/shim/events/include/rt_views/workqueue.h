/* SPDX-License-Identifier: GPL-2.0 */
/* From the kernel's structs to the views of workqueue.c; see rt_view.h. */

RT_PLACE(pool_workqueue, pool);
RT_PLACE(pool_workqueue, wq);
RT_PLACE(worker_pool, cpu);
RT_PLACE(workqueue_struct, name);

static notrace void
rt_view_workqueue_queue_work(void *cookie, int req_cpu,
			     struct pool_workqueue *pwq, struct work_struct *work)
{
	const void *real_pool = RT_READ(pwq, pool_workqueue, pool, void *);
	const void *real_wq = RT_READ(pwq, pool_workqueue, wq, void *);
	struct worker_pool pool = {
		.cpu = RT_READ(real_pool, worker_pool, cpu, int),
	};
	struct workqueue_struct wq = {
		.name = &RT_READ(real_wq, workqueue_struct, name, char),
	};
	struct pool_workqueue view = { .pool = &pool, .wq = &wq };

	rt_probe_workqueue_queue_work(cookie, req_cpu, &view, work);
}
RT_NEEDS(rt_view_workqueue_queue_work, pool_workqueue, pool, 8, PTR);
RT_NEEDS(rt_view_workqueue_queue_work, pool_workqueue, wq, 8, PTR);
RT_NEEDS(rt_view_workqueue_queue_work, worker_pool, cpu, 4, INT);
RT_NEEDS(rt_view_workqueue_queue_work, workqueue_struct, name, 0, ARRAY);
#define rt_probe_workqueue_queue_work rt_view_workqueue_queue_work
