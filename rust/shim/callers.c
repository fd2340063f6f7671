// SPDX-License-Identifier: GPL-2.0
/* The bodies of callers.h, in the same order. */
#include <linux/compiler.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>
#include <asm/unwind.h>

#include "callers.h"

#ifdef CONFIG_UNWINDER_ORC
unsigned int rt_callers_of(const struct rt_frame *frame, unsigned long *to,
			   unsigned int most)
{
	struct pt_regs regs = {
		.ip = frame->ip,
		.sp = (unsigned long)(frame + 1),
		.bp = frame->bp,
		.cs = __KERNEL_CS,
	};
	struct unwind_state state;
	unsigned int count = 0;

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
unsigned int rt_callers_of(const struct rt_frame *frame, unsigned long *to,
			   unsigned int most)
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
