/* SPDX-License-Identifier: GPL-2.0 */
/* From the kernel's structs to the views of irq_matrix.c; see rt_view.h. */

RT_PLACE(irq_matrix, online_maps);
RT_PLACE(irq_matrix, global_available);
RT_PLACE(irq_matrix, global_reserved);
RT_PLACE(irq_matrix, total_allocated);
RT_PLACE(cpumap, online);
RT_PLACE(cpumap, available);
RT_PLACE(cpumap, allocated);
RT_PLACE(cpumap, managed);

static notrace __always_inline struct irq_matrix
rt_matrix_view(const void *matrix)
{
	return (struct irq_matrix) {
		.online_maps = RT_READ(matrix, irq_matrix, online_maps, unsigned int),
		.global_available = RT_READ(matrix, irq_matrix, global_available, unsigned int),
		.global_reserved = RT_READ(matrix, irq_matrix, global_reserved, unsigned int),
		.total_allocated = RT_READ(matrix, irq_matrix, total_allocated, unsigned int),
	};
}
#define RT_NEEDS_MATRIX(reader)						\
	RT_NEEDS(reader, irq_matrix, online_maps, 4, INT);		\
	RT_NEEDS(reader, irq_matrix, global_available, 4, INT);		\
	RT_NEEDS(reader, irq_matrix, global_reserved, 4, INT);		\
	RT_NEEDS(reader, irq_matrix, total_allocated, 4, INT)

static notrace void
rt_view_irq_matrix_global(void *cookie, struct irq_matrix *matrix)
{
	struct irq_matrix view = rt_matrix_view(matrix);

	rt_probe_irq_matrix_global(cookie, &view);
}
RT_NEEDS_MATRIX(rt_view_irq_matrix_global);
#define rt_probe_irq_matrix_global rt_view_irq_matrix_global

static notrace void
rt_view_irq_matrix_global_update(void *cookie, int bit, struct irq_matrix *matrix)
{
	struct irq_matrix view = rt_matrix_view(matrix);

	rt_probe_irq_matrix_global_update(cookie, bit, &view);
}
RT_NEEDS_MATRIX(rt_view_irq_matrix_global_update);
#define rt_probe_irq_matrix_global_update rt_view_irq_matrix_global_update

static notrace void
rt_view_irq_matrix_cpu(void *cookie, int bit, unsigned int cpu,
		       struct irq_matrix *matrix, struct cpumap *map)
{
	struct irq_matrix view = rt_matrix_view(matrix);
	struct cpumap map_view = {
		.online = RT_READ(map, cpumap, online, bool),
		.available = RT_READ(map, cpumap, available, unsigned int),
		.allocated = RT_READ(map, cpumap, allocated, unsigned int),
		.managed = RT_READ(map, cpumap, managed, unsigned int),
	};

	rt_probe_irq_matrix_cpu(cookie, bit, cpu, &view, &map_view);
}
RT_NEEDS_MATRIX(rt_view_irq_matrix_cpu);
RT_NEEDS(rt_view_irq_matrix_cpu, cpumap, online, 1, INT);
RT_NEEDS(rt_view_irq_matrix_cpu, cpumap, available, 4, INT);
RT_NEEDS(rt_view_irq_matrix_cpu, cpumap, allocated, 4, INT);
RT_NEEDS(rt_view_irq_matrix_cpu, cpumap, managed, 4, INT);
#define rt_probe_irq_matrix_cpu rt_view_irq_matrix_cpu
