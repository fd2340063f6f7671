/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What C knows of the kernel's version; no other file of C does. rust/kapi/compat.rs
 * and rust/event/context.rs read and change the preemption counter by themselves, so
 * the kernel must have it as they say: a build fails where it does not.
 */
#ifndef RTRACE_COMPAT_H
#define RTRACE_COMPAT_H

#include <linux/build_bug.h>
#include <linux/preempt.h>
#include <linux/version.h>

static_assert(PREEMPT_SHIFT == 0 && SOFTIRQ_SHIFT == 8);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)
static_assert(sizeof(__preempt_count) == 8 && HARDIRQ_SHIFT == 24 && NMI_SHIFT == 28);
static_assert(PREEMPT_NEED_RESCHED == 1UL << 63);
#else
static_assert(sizeof(__preempt_count) == 4 && HARDIRQ_SHIFT == 16 && NMI_SHIFT == 20);
static_assert(PREEMPT_NEED_RESCHED == 1U << 31);
#endif

#endif
