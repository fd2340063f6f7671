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
struct unwind_state;

/* Where a probe returns to, on the stack, right before what its caller has there. */
struct rt_frame {
	unsigned long bp;
	unsigned long ip;
};

/*
 * Where the unwinder is: at a call, on the stack of the task or of an interrupt; at registers
 * at @regs, those with which the task has left user space, or those of what was interrupted in
 * the kernel; at the end; or somewhere else.
 */
enum rt_unwinder_at { RT_AT_CALL, RT_AT_USER, RT_AT_INTERRUPTED, RT_AT_END, RT_AT_OTHER };
struct rt_unwinder_stop {
	enum rt_unwinder_at at;
	unsigned long ip, sp, bp, regs;
};

/*
 * Where the registers of user space are on a task's stack; where some of them are from there,
 * and the bytes of the stack of a CPU's interrupts.
 */
#ifdef CONFIG_UNWINDER_ORC
enum { RT_USER_REGS = THREAD_SIZE - TOP_OF_KERNEL_STACK_PADDING - sizeof(struct pt_regs) };
enum {
	RT_SAVED_IP = offsetof(struct pt_regs, ip),
	RT_SAVED_SP = offsetof(struct pt_regs, sp),
	RT_SAVED_BP = offsetof(struct pt_regs, bp),
	RT_SAVED_CS = offsetof(struct pt_regs, cs),
};
enum { RT_IRQ_STACK_SIZE = IRQ_STACK_SIZE };
#else
enum { RT_USER_REGS, RT_SAVED_IP, RT_SAVED_SP, RT_SAVED_BP, RT_SAVED_CS, RT_IRQ_STACK_SIZE };
#endif

/*
 * Stores where the caller of the probe with this frame goes on, and its callers: @most at
 * most. Returns how many. The probe has not returned. Any context.
 */
unsigned int rt_callers_of(const struct rt_frame *frame, unsigned long *to, unsigned int most);

/* The same of what was interrupted: its registers are at @regs, on a stack that is in use. */
unsigned int rt_callers_at(unsigned long regs, unsigned long *to, unsigned int most);

/*
 * The same of a probe, and tells rtrace_learn_step() how the unwinder goes on from those after the
 * first @known ones; rtrace_give_up_step() of code that is made at run time: not the kernel's and
 * not that of @module, which may be NULL. @stacks goes to them. Returns 0 if it cannot begin at the
 * probe. Any context.
 */
unsigned int rt_learn_callers(const struct rt_frame *frame, const struct module *module,
			      const void *stacks, unsigned int known, unsigned long *to,
			      unsigned int most);

/* Returns where the stack of this CPU's interrupts ends, if it is the current one, or 0. Any context. */
unsigned long rt_irq_stack_end(void);

/* Where the unwinder comes to from @before with another frame pointer. */
struct rt_unwinder_stop rt_unwind_with(const struct unwind_state *before, unsigned long bp);

/* Calls rtrace_follow() with the frame of its caller's last jump, which is that of a probe. */
void rt_follow(const void *file);

/* Calls rtrace_act() likewise, for a record beside the ring. */
void rt_act(const void *file, void *record);

/* Probes of sched_wakeup and of sched_switch. */
void rt_woken(void *watcher, struct task_struct *task);
void rt_switched(void *watcher, bool preempt, struct task_struct *prev,
		 struct task_struct *next, unsigned int prev_state);

/* In Rust: a step of the unwinder, and one of which nothing is learned. See rust/kapi/stack.rs. */
void rtrace_learn_step(const void *stacks, const struct unwind_state *before,
		       const struct rt_unwinder_stop *from, const struct rt_unwinder_stop *to);
void rtrace_give_up_step(const struct rt_unwinder_stop *from);

/* In Rust: what they call, with their frames. See rust/probes/entry.rs, rust/probes/triggered.rs and rust/tasks/wakeups.rs. */
void rtrace_follow(const void *file, const struct rt_frame *frame);
void rtrace_act(const void *file, void *record, const struct rt_frame *frame);
void rtrace_woken(const void *watcher, const struct task_struct *task,
		  const struct rt_frame *frame);
void rtrace_switched(const void *watcher, const struct task_struct *prev,
		     const struct task_struct *next, const struct rt_frame *frame);

#endif
