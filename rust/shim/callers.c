// SPDX-License-Identifier: GPL-2.0
/* The bodies of callers.h, in the same order. */
#include <linux/array_size.h>
#include <linux/compiler.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>
#include <asm/unwind.h>

#include "callers.h"

#ifdef CONFIG_UNWINDER_ORC
#define WORD		sizeof(unsigned long)
/* The words of a frame that are looked at for the frame pointer of its caller. */
#define MOST_WORDS	512

/* Whether what the unwinder knows of @ip stays until a module goes. */
static bool is_lasting(unsigned long ip, const struct module *module)
{
	return (ip >= __START_KERNEL_map && ip < MODULES_VADDR) ||
	       (module && within_module(ip, module));
}

/* @state after a step with another frame pointer. */
static struct unwind_state step_with(const struct unwind_state *state, unsigned long bp)
{
	struct unwind_state other = *state;

	other.bp = bp;
	unwind_next_frame(&other);
	return other;
}

static bool is_at(const struct unwind_state *state, unsigned long sp)
{
	return state->stack_info.type == STACK_TYPE_TASK && !state->regs && state->sp == sp;
}

/*
 * Which word below the frame's end at @end is the frame pointer @bp of its caller: that is
 * one of those from @sp on. If several are the same, nothing tells which.
 */
static u32 place_of(unsigned long bp, unsigned long sp, unsigned long end)
{
	u32 place = RT_STEP_LOST, at;

	for (at = 2; at < MOST_WORDS && end - at * WORD >= sp; at++) {
		if (READ_ONCE_NOCHECK(*(unsigned long *)(end - at * WORD)) != bp)
			continue;
		if (place != RT_STEP_LOST)
			return RT_STEP_LOST;
		place = at;
	}
	return end - at * WORD >= sp ? RT_STEP_LOST : place;
}

static u32 step_by(enum rt_step step, unsigned long from, unsigned long to, u32 bp)
{
	unsigned long by = to - from;

	if (by % WORD || by / WORD >= RT_STEP_LOST)
		return RT_STEP_OTHER;
	return step | by / WORD << RT_STEP_BY | bp << RT_STEP_BP;
}

/*
 * How the unwinder has gone from @before to @after. What it went by shows in steps with
 * other frame pointers: they come to the same place, or to one that is as far away.
 */
static u32 step_of(struct unwind_state *before, struct unwind_state *after)
{
	unsigned long end = after->sp, bp;
	struct unwind_state other;
	enum rt_step step;
	bool is_kept;

	if (after->error)
		return RT_STEP_OTHER;
	if (unwind_done(after))
		return RT_STEP_LAST;
	/* No address, and not the one that it is. */
	bp = before->bp == 1 ? 2 : 1;
	other = step_with(before, bp);
	if (after->regs) {
		if (after->regs != task_pt_regs(current) || !user_mode(after->regs) ||
		    other.regs != after->regs || before->stack_info.type != STACK_TYPE_TASK)
			return RT_STEP_OTHER;
		return step_by(RT_STEP_USER, before->sp, (unsigned long)after->regs, 0);
	}
	if (before->stack_info.type != STACK_TYPE_TASK || !is_at(after, end) || after->signal)
		return RT_STEP_OTHER;
	/* A hook of returns has its own address there. */
	if (READ_ONCE_NOCHECK(*(unsigned long *)(end - WORD)) != after->ip)
		return RT_STEP_UNKNOWN;
	if (is_at(&other, end)) {
		step = RT_STEP_UP;
	} else {
		other = step_with(before, before->bp - WORD);
		if (!is_at(&other, end - WORD))
			return RT_STEP_OTHER;
		bp = before->bp + WORD;
		other = step_with(before, bp);
		if (!is_at(&other, end + WORD))
			return RT_STEP_OTHER;
		step = RT_STEP_UP_BP;
	}
	/* Both, as one of them alone may be a number that the frame has kept. */
	is_kept = other.bp == bp && after->bp == before->bp;
	return step_by(step, step == RT_STEP_UP ? before->sp : before->bp, end,
		       is_kept ? 0 : place_of(after->bp, before->sp, end));
}

/* As rt_callers_of(), from the functions that record on: what is learned of it costs more. */
static unsigned int learn_callers(const struct rt_frame *frame, const struct module *module,
				  unsigned long *to, unsigned int most, struct rt_steps *steps)
{
	const unsigned long *caller = (const unsigned long *)(frame + 1);
	struct unwind_state state, before;
	unsigned int count;

	unwind_start(&state, current, NULL, (unsigned long *)caller - 1);
	if (state.ip != frame->ip || state.sp != (unsigned long)caller)
		return 0;
	for (count = 0; count < most && !unwind_done(&state); count++) {
		to[count] = unwind_get_return_address(&state);
		if (!to[count])
			break;
		before = state;
		unwind_next_frame(&state);
		if (count < steps->skip || steps->used >= ARRAY_SIZE(steps->steps))
			continue;
		steps->steps[steps->used++] = is_lasting(to[count], module) ?
			step_of(&before, &state) : RT_STEP_OTHER;
	}
	return count;
}

unsigned int rt_callers_of(const struct rt_frame *frame, const struct module *module,
			   unsigned long *to, unsigned int most, struct rt_steps *steps)
{
	struct pt_regs regs = {
		.ip = frame->ip,
		.sp = (unsigned long)(frame + 1),
		.bp = frame->bp,
		.cs = __KERNEL_CS,
	};
	struct unwind_state state;
	unsigned int count = steps ? learn_callers(frame, module, to, most, steps) : 0;

	if (count)
		return count;
	if (most)
		to[count++] = frame->ip;
	/* The first one that it tells is the caller of that. */
	unwind_start(&state, current, &regs, NULL);
	for (; count < most && !unwind_done(&state); unwind_next_frame(&state)) {
		unsigned long address = unwind_get_return_address(&state);

		if (!address)
			break;
		to[count++] = address;
	}
	return count;
}
#else
/* Other unwinders begin with the registers themselves. */
unsigned int rt_callers_of(const struct rt_frame *frame, const struct module *module,
			   unsigned long *to, unsigned int most, struct rt_steps *steps)
{
	return stack_trace_save(to, most, 0);
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
