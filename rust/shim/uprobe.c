// SPDX-License-Identifier: GPL-2.0
/* The bodies of uprobe.h, in the same order. */
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uprobes.h>

#include "uprobe.h"

struct rt_uprobe {
	struct uprobe_consumer consumer;
	struct path path;
	struct uprobe *uprobe;
	const void *data;
};

static int rt_uprobe_hit(struct uprobe_consumer *consumer,
			 struct pt_regs *regs, __u64 *cookie)
{
	struct rt_uprobe *probe = container_of(consumer, struct rt_uprobe, consumer);

	rtrace_user_hit(probe->data, regs, instruction_pointer(regs), 0);
	return 0;
}

static int rt_uprobe_return(struct uprobe_consumer *consumer,
			    unsigned long function, struct pt_regs *regs,
			    __u64 *cookie)
{
	struct rt_uprobe *probe = container_of(consumer, struct rt_uprobe, consumer);

	rtrace_user_hit(probe->data, regs, function, instruction_pointer(regs));
	return 0;
}

int rt_uprobe_open(const char *path, struct rt_uprobe **made)
{
	struct rt_uprobe *probe;
	int ret;

	probe = kzalloc(sizeof(*probe), GFP_KERNEL);
	if (!probe)
		return -ENOMEM;
	ret = kern_path(path, LOOKUP_FOLLOW, &probe->path);
	if (ret) {
		kfree(probe);
		return ret;
	}
	*made = probe;
	return 0;
}

void rt_uprobe_put(struct rt_uprobe *probe)
{
	path_put(&probe->path);
	kfree(probe);
}

bool rt_uprobe_is_regular(const struct rt_uprobe *probe)
{
	return d_is_reg(probe->path.dentry);
}

const struct inode *rt_uprobe_inode(const struct rt_uprobe *probe)
{
	return d_real_inode(probe->path.dentry);
}

struct file *rt_uprobe_file(const struct rt_uprobe *probe)
{
	struct file *file = dentry_open(&probe->path, O_RDONLY | O_LARGEFILE,
					current_cred());

	return IS_ERR(file) ? NULL : file;
}

bool rt_uprobe_read(struct file *file, loff_t at, struct rt_room room)
{
	ssize_t done;

	while (room.len) {
		if (fatal_signal_pending(current))
			return false;
		done = kernel_read(file, room.first, room.len, &at);
		if (done <= 0)
			return false;
		room.first += done;
		room.len -= done;
	}
	return true;
}

int rt_uprobe_register(struct rt_uprobe *probe, loff_t offset, loff_t counter,
		       bool returns, const void *data)
{
	struct uprobe *uprobe;

	probe->data = data;
	probe->consumer.handler = returns ? NULL : rt_uprobe_hit;
	probe->consumer.ret_handler = returns ? rt_uprobe_return : NULL;
	uprobe = uprobe_register(d_real_inode(probe->path.dentry), offset, counter,
				 &probe->consumer);
	if (IS_ERR(uprobe))
		return PTR_ERR(uprobe);
	probe->uprobe = uprobe;
	return 0;
}

void rt_uprobe_unregister(struct rt_uprobe *probe)
{
	if (probe->uprobe)
		uprobe_unregister_nosync(probe->uprobe, &probe->consumer);
	probe->uprobe = NULL;
}

void rt_uprobe_wait(void)
{
	uprobe_unregister_sync();
}
