// SPDX-License-Identifier: GPL-2.0
/* The bodies of callers.h, in the same order. */
#include <linux/compiler.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>
#include <asm/unwind.h>

#include "callers.h"

#ifdef CONFIG_UNWINDER_ORC
/* Whether what the unwinder knows of @ip stays until a module goes. */
static bool is_lasting(unsigned long ip, const struct module *module)
{
	return (ip >= __START_KERNEL_map && ip < MODULES_VADDR) ||
	       (module && within_module(ip, module));
}

static struct rt_unwinder_stop stop_of(const struct unwind_state *state)
{
	struct rt_unwinder_stop stop = {
		.at = RT_AT_OTHER,
		.ip = state->ip,
		.sp = state->sp,
		.bp = state->bp,
	};

	if (state->error)
		return stop;
	if (state->stack_info.type == STACK_TYPE_UNKNOWN) {
		stop.at = RT_AT_END;
	} else if (state->regs) {
		stop.regs = (unsigned long)state->regs;
		if (!state->full_regs)
			return stop;
		if (!user_mode(state->regs))
			stop.at = RT_AT_INTERRUPTED;
		else if (state->regs == task_pt_regs(current))
			stop.at = RT_AT_USER;
	} else if (state->stack_info.type == STACK_TYPE_TASK ||
		   state->stack_info.type == STACK_TYPE_IRQ) {
		stop.at = RT_AT_CALL;
	}
	return stop;
}

struct rt_unwinder_stop rt_unwind_with(const struct unwind_state *before, unsigned long bp)
{
	struct unwind_state state = *before;
	struct pt_regs regs;

	/* What was interrupted may have its frame's end in another register, which counts as unknown. */
	if (state.regs && state.full_regs) {
		regs = *state.regs;
		regs.di = regs.dx = regs.r10 = regs.r13 = 0;
		state.regs = &regs;
	}
	state.bp = bp;
	unwind_next_frame(&state);
	return stop_of(&state);
}

unsigned int rt_learn_callers(const struct rt_frame *frame, const struct module *module,
			      const void *stacks, unsigned int known, unsigned long *to,
			      unsigned int most)
{
	struct rt_unwinder_stop from, after;
	struct unwind_state state, before;
	unsigned int count;

	/* From the functions that record: after them all is as it was when they were called. */
	unwind_start(&state, current, NULL, (unsigned long *)(frame + 1) - 1);
	if (state.ip != frame->ip || state.sp != (unsigned long)(frame + 1))
		return 0;
	from = stop_of(&state);
	for (count = 0; count < most && !unwind_done(&state); count++, from = after) {
		to[count] = unwind_get_return_address(&state);
		if (!to[count])
			break;
		before = state;
		unwind_next_frame(&state);
		after = stop_of(&state);
		if (count < known)
			continue;
		if (is_lasting(to[count], module))
			rtrace_learn_step(stacks, &before, &from, &after);
		else
			rtrace_give_up_step(&from);
	}
	return count;
}

unsigned long rt_irq_stack_end(void)
{
	struct unwind_state state;

	unwind_start(&state, current, NULL, __builtin_frame_address(0));
	return state.stack_info.type == STACK_TYPE_IRQ ? (unsigned long)state.stack_info.end : 0;
}

unsigned int rt_callers_of(const struct rt_frame *frame, unsigned long *to, unsigned int most)
{
	struct pt_regs regs = {
		.ip = frame->ip,
		.sp = (unsigned long)(frame + 1),
		.bp = frame->bp,
		.cs = __KERNEL_CS,
	};

	return rt_callers_at((unsigned long)&regs, to, most);
}

unsigned int rt_callers_at(unsigned long regs, unsigned long *to, unsigned int most)
{
	struct pt_regs *from = (struct pt_regs *)regs;
	struct unwind_state state;
	unsigned int count = 0;

	if (most)
		to[count++] = from->ip;
	/* The first one that it tells is the caller of that. */
	unwind_start(&state, current, from, NULL);
	for (; count < most && !unwind_done(&state); unwind_next_frame(&state)) {
		unsigned long address = unwind_get_return_address(&state);

		if (!address)
			break;
		to[count++] = address;
	}
	return count;
}
#else
/* Other unwinders begin with the registers themselves, and nothing is learned of them. */
struct rt_unwinder_stop rt_unwind_with(const struct unwind_state *before, unsigned long bp)
{
	return (struct rt_unwinder_stop){ .at = RT_AT_OTHER };
}

unsigned int rt_learn_callers(const struct rt_frame *frame, const struct module *module,
			      const void *stacks, unsigned int known, unsigned long *to,
			      unsigned int most)
{
	return 0;
}

unsigned long rt_irq_stack_end(void)
{
	return 0;
}

unsigned int rt_callers_of(const struct rt_frame *frame, unsigned long *to, unsigned int most)
{
	return stack_trace_save(to, most, 0);
}

unsigned int rt_callers_at(unsigned long regs, unsigned long *to, unsigned int most)
{
	return 0;
}
#endif

void rt_follow(const void *file)
{
	rtrace_follow(file, __builtin_frame_address(0));
	/* Not as the last jump: the frame is there until then. */
	barrier();
}

void rt_act(const void *file, void *record)
{
	rtrace_act(file, record, __builtin_frame_address(0));
	barrier();
}

void rt_woken(void *watcher, struct task_struct *task)
{
	rtrace_woken(watcher, task, __builtin_frame_address(0));
	barrier();
}

void rt_switched(void *watcher, bool preempt, struct task_struct *prev,
		 struct task_struct *next, unsigned int prev_state)
{
	rtrace_switched(watcher, prev, next, __builtin_frame_address(0));
	barrier();
}
