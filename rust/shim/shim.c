// SPDX-License-Identifier: GPL-2.0
/* The bodies of shim.h, in the same order. */
#include <linux/fs.h>
#include <linux/instruction_pointer.h>

#include "shim.h"

void rt_inode_lock_nested(struct inode *inode, unsigned int depth)
{
	inode_lock_nested(inode, depth);
}

void rt_inode_unlock(struct inode *inode)
{
	inode_unlock(inode);
}

unsigned long tracing_mark_write(void)
{
	return _THIS_IP_;
}
