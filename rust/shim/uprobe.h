/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes at instructions of programs and at returns of their functions. No
 * decisions are made here.
 */
#ifndef RTRACE_UPROBE_H
#define RTRACE_UPROBE_H

#include <linux/types.h>

#include "spans.h"

struct file;
struct inode;
struct pt_regs;
struct rt_uprobe;

/*
 * Structures with inline parts: a probe of the file at that path, which it holds.
 * Returns 0 and the probe, or an error.
 */
int rt_uprobe_open(const char *path, struct rt_uprobe **probe);
/* Frees one that is not registered. */
void rt_uprobe_put(struct rt_uprobe *probe);

bool rt_uprobe_is_regular(const struct rt_uprobe *probe);
/* What the kernel knows the file by. */
const struct inode *rt_uprobe_inode(const struct rt_uprobe *probe);

/*
 * The file of a probe, opened to be read by the current task, or NULL; until
 * filp_close().
 */
struct file *rt_uprobe_file(const struct rt_uprobe *probe);
/*
 * Copies what the file has at `at`. Returns false if the room is not filled, or if
 * the task is to be killed.
 */
bool rt_uprobe_read(struct file *file, loff_t at, struct rt_room room);

/*
 * From now on rtrace_user_hit() is called with `data`, at returns if `returns` is
 * set. The word at `counter` of the file, if that is not 0, is one more meanwhile.
 */
int rt_uprobe_register(struct rt_uprobe *probe, loff_t offset, loff_t counter,
		       bool returns, const void *data);
/* It may still be called until rt_uprobe_wait() has returned. */
void rt_uprobe_unregister(struct rt_uprobe *probe);
void rt_uprobe_wait(void);

/*
 * In Rust: a hit at `address`, or a return of the function there to `returned_to`.
 * In a task that may sleep; see rust/sources/uprobe.rs.
 */
void rtrace_user_hit(const void *data, const struct pt_regs *regs,
		     unsigned long address, unsigned long returned_to);

#endif
