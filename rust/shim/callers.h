/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The callers of a probe: the kernel's unwinder begins where the probe returns to, and
 * not at the functions that record. Those are a module's, and take it longest.
 */
#ifndef RTRACE_CALLERS_H
#define RTRACE_CALLERS_H

#include <linux/stddef.h>
#include <linux/thread_info.h>
#include <linux/types.h>
#include <asm/ptrace.h>

struct module;
struct task_struct;

/* Where a probe returns to, on the stack, right before what its caller has there. */
struct rt_frame {
	unsigned long bp;
	unsigned long ip;
};

/*
 * How the unwinder goes on from an address: one of these, and for RT_STEP_UP and
 * RT_STEP_UP_BP two numbers of words. The first, from bit RT_STEP_BY on, is added to the
 * stack pointer or to the frame pointer (to where the registers are, for RT_STEP_USER);
 * the caller's address is right below. The second, from bit RT_STEP_BP on, is subtracted
 * from that to find the caller's frame pointer: 0 if it is the same, RT_STEP_LOST if only
 * the unwinder knows.
 */
enum rt_step {
	RT_STEP_UNKNOWN,	/* not now */
	RT_STEP_OTHER,		/* in a way that only the unwinder knows */
	RT_STEP_LAST,		/* the stack ends */
	RT_STEP_USER,		/* to user space */
	RT_STEP_UP,
	RT_STEP_UP_BP,
};

enum { RT_STEP_BY = 3, RT_STEP_BP = 17, RT_STEP_LOST = 0x3fff };
enum { RT_STEPS = 32 };

/* Of a task's stack: where the registers of user space are, and their code segment. */
#ifdef CONFIG_UNWINDER_ORC
enum { RT_USER_REGS = THREAD_SIZE - TOP_OF_KERNEL_STACK_PADDING - sizeof(struct pt_regs) };
enum { RT_USER_CS = RT_USER_REGS + offsetof(struct pt_regs, cs) };
#else
enum { RT_USER_REGS, RT_USER_CS };
#endif

/* What is learned of a stack: the steps after the first @skip of its addresses. */
struct rt_steps {
	unsigned int skip;
	unsigned int used;
	u32 steps[RT_STEPS];
};

/*
 * Stores where the caller of the probe with this frame goes on, and its callers: @most at
 * most. Returns how many. The probe has not returned. Learns @steps, which may be NULL, but
 * not of code that is made at run time: of the kernel, and of @module, which may be NULL.
 * Any context.
 */
unsigned int rt_callers_of(const struct rt_frame *frame, const struct module *module,
			   unsigned long *to, unsigned int most, struct rt_steps *steps);

/* Calls rtrace_follow() with the frame of its caller's last jump, which is that of a probe. */
void rt_follow(const void *file);

/* Calls rtrace_act() likewise, for a record beside the ring. */
void rt_act(const void *file, void *record);

/* Probes of sched_wakeup and of sched_switch. */
void rt_woken(void *watcher, struct task_struct *task);
void rt_switched(void *watcher, bool preempt, struct task_struct *prev,
		 struct task_struct *next, unsigned int prev_state);

/* In Rust: what they call, with their frames. See rust/probes/entry.rs, rust/probes/triggered.rs and rust/tasks/wakeups.rs. */
void rtrace_follow(const void *file, const struct rt_frame *frame);
void rtrace_act(const void *file, void *record, const struct rt_frame *frame);
void rtrace_woken(const void *watcher, const struct task_struct *task,
		  const struct rt_frame *frame);
void rtrace_switched(const void *watcher, const struct task_struct *prev,
		     const struct task_struct *next, const struct rt_frame *frame);

#endif
