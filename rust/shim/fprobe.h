/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes at the beginning and at returns of functions. No decisions are made here.
 */
#ifndef RTRACE_FPROBE_H
#define RTRACE_FPROBE_H

#include <linux/types.h>

struct pt_regs;
struct rt_fprobe;

/* How many words of a call can be kept from its beginning to its return. */
enum { RT_FPROBE_WORDS = 14 };

/*
 * Structures with inline parts: one that is not registered, or NULL. It is given back
 * when it is not registered any more. Calls that have not returned may know the address
 * of one for returns, so it is no other memory as long as this module is loaded, and is
 * registered for nothing else: at their end the kernel would call the handler that it
 * has not.
 */
struct rt_fprobe *rt_fprobe_get(bool returns);
void rt_fprobe_put(struct rt_fprobe *probe);
/* Frees those that were given back. */
void rt_fprobe_exit(void);

/*
 * From now on rtrace_function_hit() is called with `data` at the beginning of the
 * functions, one at least, whose calls of hooks are there; if `words` is not negative
 * at their returns, and rtrace_function_begin() at their beginning, which can keep so
 * many, unless that is nothing of one function. With `placed` it is
 * rtrace_function_begin_at() instead. Returns 0, or an error: -EINVAL if the structure
 * is not one for returns and they are asked for, or the other way round.
 */
int rt_fprobe_register(struct rt_fprobe *probe, const void *data, int words,
		       bool placed, unsigned long *addresses, int count);
/* They may still be called until a grace period has passed. */
void rt_fprobe_unregister(struct rt_fprobe *probe);
/* How many calls were not followed since it was got, by all that it was registered for. */
unsigned long rt_fprobe_missed(const struct rt_fprobe *probe);

/*
 * In Rust: a hit, and a call whose return will be one. Of the registers those are
 * valid that parameters, the stack and what is returned are in. Any context; see
 * rust/sources/fprobe.rs.
 */
void rtrace_function_hit(const void *data, unsigned long function,
			 unsigned long returned_to, const struct pt_regs *regs,
			 const u64 *words);
void rtrace_function_begin(const void *data, const struct pt_regs *regs, u64 *words);
void rtrace_function_begin_at(const void *data, unsigned long function,
			      const struct pt_regs *regs, u64 *words);

#endif
