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
	/* The number, and the generation above it, as the hooks of tracers get it. */
	u64 set;
	unsigned int number;
	unsigned int generation;
} rt_graph_probes[RT_GRAPH_USERS][RT_GRAPH_PROBES];

/* Hooks, each of which calls one in Rust with who it is and with these. */
#define RT_GRAPH_ENTER(name, hook, ...)					\
static int name(struct fprobe *probe, unsigned long ip,			\
		unsigned long ret_ip, struct ftrace_regs *regs,		\
		void *data)						\
{									\
	const struct rt_graph_probe *own =				\
		container_of(probe, struct rt_graph_probe, probe);	\
									\
	return hook(__VA_ARGS__);					\
}

#define RT_GRAPH_LEAVE(name, hook, ...)					\
static void name(struct fprobe *probe, unsigned long ip,		\
		 unsigned long ret_ip, struct ftrace_regs *regs,	\
		 void *data)						\
{									\
	const struct rt_graph_probe *own =				\
		container_of(probe, struct rt_graph_probe, probe);	\
									\
	hook(__VA_ARGS__);						\
}

/* What the kernel hands over, in the same registers. */
#define RT_GRAPH_CALL own->set, ip, ret_ip, regs, data

RT_GRAPH_ENTER(rt_graph_enter, rtrace_graph_entry, RT_GRAPH_CALL)
RT_GRAPH_LEAVE(rt_graph_leave, rtrace_graph_exit, RT_GRAPH_CALL)
RT_GRAPH_ENTER(rt_graph_task_enter, rtrace_graph_task_entry, RT_GRAPH_CALL)
RT_GRAPH_LEAVE(rt_graph_task_leave, rtrace_graph_task_exit, RT_GRAPH_CALL)
RT_GRAPH_ENTER(rt_profile_enter, rtrace_profile_entry, own->number,
	       own->generation, ip, data)
RT_GRAPH_LEAVE(rt_profile_leave, rtrace_profile_exit, own->generation, data)
RT_GRAPH_ENTER(rt_profile_task_enter, rtrace_profile_task_entry, own->number,
	       own->generation, ip, data)
RT_GRAPH_LEAVE(rt_profile_task_leave, rtrace_profile_task_exit, own->generation,
	       data)

static const struct {
	fprobe_entry_cb enter;
	fprobe_exit_cb leave;
} rt_graph_handlers[RT_GRAPH_USERS][RT_GRAPH_KINDS] = {
	[RT_GRAPH_OF_TRACERS] = {
		[RT_GRAPH_OF_CALL] = { rt_graph_enter, rt_graph_leave },
		[RT_GRAPH_OF_TASK] = { rt_graph_task_enter, rt_graph_task_leave },
	},
	[RT_GRAPH_OF_PROFILER] = {
		[RT_GRAPH_OF_CALL] = { rt_profile_enter, rt_profile_leave },
		[RT_GRAPH_OF_TASK] = { rt_profile_task_enter,
				       rt_profile_task_leave },
	},
};

/* The bytes that the hooks of each kind have for a call. */
static const size_t rt_graph_call_size[RT_GRAPH_KINDS] = {
	[RT_GRAPH_OF_CALL] = 2 * sizeof(u64),
	[RT_GRAPH_OF_TASK] = 3 * sizeof(u64),
};

int rt_graph_register(unsigned int user, unsigned int kind, unsigned int number,
		      unsigned int generation, unsigned long *addresses,
		      int count)
{
	struct rt_graph_probe *own = &rt_graph_probes[user][number];

	own->set = (u64)generation << 48 | number;
	own->number = number;
	own->generation = generation;
	own->probe = (struct fprobe) {
		.entry_handler = rt_graph_handlers[user][kind].enter,
		.exit_handler = rt_graph_handlers[user][kind].leave,
		.entry_data_size = rt_graph_call_size[kind],
	};
	return register_fprobe_ips(&own->probe, addresses, count);
}

int rt_graph_unregister(unsigned int user, unsigned int number)
{
	if (user >= RT_GRAPH_USERS || number >= RT_GRAPH_PROBES)
		return -EINVAL;
	return unregister_fprobe(&rt_graph_probes[user][number].probe);
}

unsigned long rt_return_value(struct ftrace_regs *regs)
{
	return ftrace_regs_get_return_value(regs);
}

unsigned long rt_return_address(struct ftrace_regs *regs)
{
	return ftrace_regs_get_return_address(regs);
}

unsigned long rt_returned_to(struct ftrace_regs *regs)
{
	return ftrace_regs_get_instruction_pointer(regs);
}
#else
int rt_graph_register(unsigned int user, unsigned int kind, unsigned int number,
		      unsigned int generation, unsigned long *addresses,
		      int count)
{
	return -ENODEV;
}

int rt_graph_unregister(unsigned int user, unsigned int number)
{
	return -ENODEV;
}

unsigned long rt_return_value(struct ftrace_regs *regs)
{
	return 0;
}

unsigned long rt_return_address(struct ftrace_regs *regs)
{
	return 0;
}

unsigned long rt_returned_to(struct ftrace_regs *regs)
{
	return 0;
}
#endif
