/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes at any instruction of the kernel and at returns of its functions. No
 * decisions are made here.
 */
#ifndef RTRACE_KPROBE_H
#define RTRACE_KPROBE_H

#include <linux/types.h>

struct pt_regs;
struct rt_kprobe;

/* How many words of a call can be kept from its beginning to its return. */
enum { RT_KPROBE_WORDS = 14 };

/*
 * Structures with inline parts: registers a disabled probe at a symbol, or at an
 * address without one. At returns of a function if `max_active` is not negative;
 * 0 leaves that number to the kernel. If `keeps` is set rtrace_kprobe_begin() is
 * called at the beginning of such a call, too. Returns 0 and the probe, or an error.
 */
int rt_kprobe_register(const char *symbol, unsigned long address,
		       unsigned int offset, int max_active, bool keeps,
		       struct rt_kprobe **probe);
/* Waits until no call of it runs, and frees it. */
void rt_kprobe_put(struct rt_kprobe *probe);
/*
 * Waits, once for all, until no call of them runs, and frees them. Either all of them
 * are at returns or none.
 */
void rt_kprobes_unregister(struct rt_kprobe **probes, int count);
bool rt_kprobe_returns(const struct rt_kprobe *probe);
/* From now on rtrace_kprobe_hit() is called with `data`. */
int rt_kprobe_enable(struct rt_kprobe *probe, const void *data);
/* It may still be hit until a grace period has passed. */
void rt_kprobe_disable(struct rt_kprobe *probe);

unsigned long rt_kprobe_address(const struct rt_kprobe *probe);
bool rt_kprobe_at_entry(const struct rt_kprobe *probe);
/* Whether a function calls hooks there: a probe of calls, whose module has not gone. */
bool rt_kprobe_at_hook(const struct rt_kprobe *probe);
/* Whether the module of the place has gone: the kernel does not hit it any more. */
bool rt_kprobe_is_gone(const struct rt_kprobe *probe);
/* 0, or a refusal of the lockdown. */
int rt_kprobes_locked_down(void);
int rt_kprobe_max_active(const struct rt_kprobe *probe);
unsigned long rt_kprobe_missed(const struct rt_kprobe *probe);

/* The address of a symbol, of data too; 0 if there is none. */
unsigned long rt_symbol_address(const char *name);

struct tracepoint;

/*
 * Where the function with the prototype of a tracepoint's probes calls hooks: after
 * its mark for branches.
 */
unsigned long rt_tracepoint_entry(const struct tracepoint *tracepoint);

/* Offsets of the address of the name in a struct dentry, and of the address of that in a struct file. */
unsigned long rt_dentry_name(void);
unsigned long rt_file_dentry(void);

/*
 * In Rust: a hit, and a call whose return will be one. Any context; see
 * rust/sources/kprobe.rs.
 */
void rtrace_kprobe_hit(const void *data, const struct pt_regs *regs,
		       unsigned long returned_to, const u64 *words);
void rtrace_kprobe_begin(const void *data, const struct pt_regs *regs, u64 *words);

#endif
