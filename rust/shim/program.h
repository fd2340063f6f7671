/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of programs, which other tasks change. No decisions are made here.
 */
#ifndef RTRACE_PROGRAM_H
#define RTRACE_PROGRAM_H

#include <linux/types.h>

struct mm_struct;

/* A member of a structure: whether no task has this memory any more. */
bool rt_program_is_gone(const struct mm_struct *mm);

/*
 * Macros and inline: a bit of the 8 bytes at `address`, without a wait. -EAGAIN when
 * its page is not there, may not be written or the memory is locked; -ESRCH when it
 * is gone. The first one returns the bit.
 */
int rt_program_bit(struct mm_struct *mm, unsigned long address, unsigned int bit);
int rt_program_set_bit(struct mm_struct *mm, unsigned long address,
		       unsigned int bit, bool set);

/*
 * Flags: has the page at `address` be there to be written; asks for it and returns
 * -EAGAIN if it has to be waited for, or the memory is locked. FOLL_NOWAIT does not
 * bind file systems: one that is frozen, or that reads the page without readahead,
 * has it sleep, with the memory locked for reading.
 */
int rt_program_ask_for(struct mm_struct *mm, unsigned long address);

/* Flags: has the page at `address` be there to be written. Sleeps, as long as that takes. */
int rt_program_fault_in(struct mm_struct *mm, unsigned long address);

#endif
