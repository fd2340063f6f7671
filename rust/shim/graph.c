// SPDX-License-Identifier: GPL-2.0
/* The bodies of graph.h. */
#include <linux/errno.h>
#include <linux/fprobe.h>

#include "graph.h"

#ifdef CONFIG_FPROBE
/*
 * The kernel finds the hook of a call that ends by its address, so these never
 * move: what a call was told of a number that has another meaning now is of
 * another generation.
 */
static struct rt_graph_probe {
	struct fprobe probe;
	unsigned int number;
	unsigned int generation;
} rt_graph_probes[RT_GRAPH_PROBES];

static int rt_graph_enter(struct fprobe *probe, unsigned long ip,
			  unsigned long ret_ip, struct ftrace_regs *regs,
			  void *data)
{
	const struct rt_graph_probe *own =
		container_of(probe, struct rt_graph_probe, probe);

	return rtrace_graph_entry(own->number, own->generation, ip, regs,
				  data);
}

static void rt_graph_leave(struct fprobe *probe, unsigned long ip,
			   unsigned long ret_ip, struct ftrace_regs *regs,
			   void *data)
{
	const struct rt_graph_probe *own =
		container_of(probe, struct rt_graph_probe, probe);

	rtrace_graph_exit(own->generation, ip, data, regs);
}

int rt_graph_register(unsigned int number, unsigned int generation,
		      unsigned long *addresses, int count)
{
	struct rt_graph_probe *own = &rt_graph_probes[number];

	own->number = number;
	own->generation = generation;
	own->probe = (struct fprobe) {
		.entry_handler = rt_graph_enter,
		.exit_handler = rt_graph_leave,
		.entry_data_size = 2 * sizeof(u64),
	};
	return register_fprobe_ips(&own->probe, addresses, count);
}

int rt_graph_unregister(unsigned int number)
{
	return unregister_fprobe(&rt_graph_probes[number].probe);
}

unsigned long rt_return_value(struct ftrace_regs *regs)
{
	return ftrace_regs_get_return_value(regs);
}
#else
int rt_graph_register(unsigned int number, unsigned int generation,
		      unsigned long *addresses, int count)
{
	return -ENODEV;
}

int rt_graph_unregister(unsigned int number)
{
	return -ENODEV;
}

unsigned long rt_return_value(struct ftrace_regs *regs)
{
	return 0;
}
#endif
