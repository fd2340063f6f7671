/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The C functions that Rust calls: inline functions, macros, and exported
 * functions whose prototype no public header has. No decisions are made here.
 * Sorted by name.
 */
#ifndef RTRACE_SHIM_H
#define RTRACE_SHIM_H

#include <linux/types.h>

struct dentry;
struct inode;

/* Exported, but its prototype is in the private fs/internal.h. */
struct dentry *find_next_child(struct dentry *parent, struct dentry *prev);

/* Inline: an inode's lock, with the depth that lockdep shall see. */
void rt_inode_lock_nested(struct inode *inode, unsigned int depth);
void rt_inode_unlock(struct inode *inode);

/* A symbol: its own address. */
unsigned long tracing_mark_write(void);

#endif
