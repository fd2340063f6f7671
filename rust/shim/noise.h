/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What takes a CPU: the probes of the tracepoints that tell of it. No decisions
 * are made here.
 */
#ifndef RTRACE_NOISE_H
#define RTRACE_NOISE_H

#include <linux/types.h>

/* In Rust, see rust/tracers/noise.rs: an interrupt or a soft interrupt begins or ends. */
void rtrace_noise_irq_enter(void);
void rtrace_noise_irq_leave(int vector, const char *name);
void rtrace_noise_softirq_enter(void);
void rtrace_noise_softirq_leave(unsigned int vector);
/* In Rust: the CPU goes from one task to another. Called by switches.c. */
void rtrace_noise_switch(unsigned int prev, unsigned int next);

/* Structures with inline parts: begins to call these. -ENOENT without a tracepoint. */
int rt_noise_hook(void);
/* Ends that; returns when no call runs. */
void rt_noise_unhook(void);

/* Inline: what a thread that never sleeps owes RCU, with interrupts enabled or not. */
void rt_noise_quiesce(bool irqs_off);

/* A per-CPU variable: how many NMIs there were on this CPU. */
unsigned int rt_noise_nmis(void);

#endif
