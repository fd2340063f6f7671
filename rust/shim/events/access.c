// SPDX-License-Identifier: GPL-2.0
/*
 * For Rust: what only C can read, as unions, bit fields and inline functions.
 * Sorted by name.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/tracepoint.h>
#include "../events.h"

static bool rt_raw_field(const struct rt_raw_arg *args, unsigned int index,
			 struct rt_field *field)
{
	const struct rt_raw_arg *arg = args + index;

	if (!arg->type)
		return false;
	*field = (struct rt_field) {
		.type = arg->type,
		.name = arg->name,
		.size = arg->size,
		.align = arg->size,
		.is_signed = arg->kind == RT_RAW_SIGNED,
	};
	return true;
}

/* Union and bit field. */
bool rt_event_field(const struct rt_event_desc *desc, unsigned int index,
		    struct rt_field *field)
{
	const struct trace_event_fields *f;

	if (!desc->print)
		return rt_raw_field((const void *)desc->fields, index, field);
	f = desc->fields + index;
	if (!f->type)
		return false;
	*field = (struct rt_field) {
		.type = f->type,
		.name = f->name,
		.size = f->size,
		.align = f->align,
		.len = f->len,
		.is_signed = f->is_signed,
	};
	return true;
}

const char *rt_tracepoint_name(const struct tracepoint *tracepoint)
{
	return tracepoint->name;
}

/* Inline: a module's tracepoints are kept as relative addresses. */
struct tracepoint *rt_module_tracepoint(struct module *module,
					unsigned int index)
{
	if (index >= module->num_tracepoints)
		return NULL;
	return tracepoint_ptr_deref(module->tracepoints_ptrs + index);
}

/* Only some members are read, after a union. */
bool rt_module_event(struct module *module, unsigned int index,
		     struct rt_module_event *event)
{
	const struct trace_event_call *call;
	unsigned int i;

	for (i = 0; i < module->num_trace_events; i++) {
		call = module->trace_events[i];
		/* Others have no tracepoint, or that of another event. */
		if (!(call->flags & TRACE_EVENT_FL_TRACEPOINT) ||
		    call->flags & TRACE_EVENT_FL_CUSTOM || index--)
			continue;
		*event = (struct rt_module_event) {
			.system = call->class->system,
			.name = call->tp->name,
			.print_fmt = call->print_fmt,
			.tracepoint = call->tp,
		};
		return true;
	}
	return false;
}

bool rt_module_is_foreign(const struct module *module)
{
	return test_bit(TAINT_OOT_MODULE, &module->taints);
}

/*
 * Inline. What records without a tracepoint has preemption disabled, and RCU alone promises
 * to wait for that. SRCU has it do so meanwhile, as it is made now: nothing is left to
 * wait for in the end.
 */
void rt_tracepoint_synchronize(void)
{
	unsigned long begin = get_state_synchronize_rcu();

	tracepoint_synchronize_unregister();
	cond_synchronize_rcu(begin);
}
