// SPDX-License-Identifier: GPL-2.0
/* The bodies of functions.h, in the same order. */
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/ftrace.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/namei.h>
#include <linux/path.h>
#include <linux/sched/task_stack.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uio.h>

#include "functions.h"

struct file *rt_dentry_open(struct vfsmount *mount, struct dentry *dentry)
{
	struct path path = { .mnt = mount, .dentry = dentry };
	struct file *file;

	/* A security module may let the caller open only what has a path for it. */
	scoped_with_kernel_creds()
		file = dentry_open(&path, O_RDONLY, current_cred());
	return file;
}

unsigned long rt_task_stack(void)
{
	return (unsigned long)task_stack_page(current);
}

#ifdef CONFIG_DYNAMIC_FTRACE
static struct ftrace_ops rt_hooks[RT_HOOKS] = {
	[RT_HOOK_RECORDS] = { .func = rtrace_function },
	[RT_HOOK_COUNTS] = { .func = rtrace_profile_hit },
	[RT_HOOK_STACKS] = { .func = rtrace_stack },
	[RT_HOOK_EVENTS] = { .func = rtrace_entry_hit },
};

void rt_hook_forget(unsigned int hook)
{
	ftrace_free_filter(&rt_hooks[hook]);
}

int rt_hook_register(unsigned int hook)
{
	return register_ftrace_function(&rt_hooks[hook]);
}

int rt_hook_select(unsigned int hook, struct rt_addresses addresses)
{
	/* It only reads them. */
	return ftrace_set_filter_ips(&rt_hooks[hook],
				     (unsigned long *)addresses.first,
				     addresses.len, 0, 1);
}

int rt_hook_select_all(unsigned int hook)
{
	return ftrace_set_filter(&rt_hooks[hook], NULL, 0, 1);
}

int rt_hook_unregister(unsigned int hook)
{
	return unregister_ftrace_function(&rt_hooks[hook]);
}

bool rt_is_trampoline(unsigned long address)
{
	const struct ftrace_ops *ops = &rt_hooks[RT_HOOK_RECORDS];

	return address - ops->trampoline < ops->trampoline_size;
}
#else
void rt_hook_forget(unsigned int hook)
{
}

int rt_hook_register(unsigned int hook)
{
	return -ENODEV;
}

int rt_hook_select(unsigned int hook, struct rt_addresses addresses)
{
	return -ENODEV;
}

int rt_hook_select_all(unsigned int hook)
{
	return -ENODEV;
}

int rt_hook_unregister(unsigned int hook)
{
	return -ENODEV;
}

bool rt_is_trampoline(unsigned long address)
{
	return false;
}
#endif

unsigned long rt_irqs_off(void)
{
	unsigned long flags;

	raw_local_irq_save(flags);
	return flags;
}

void rt_irqs_restore(unsigned long flags)
{
	raw_local_irq_restore(flags);
}

/* Takes the root as vfs_get_tree() does, and its superblock, of which there is one. */
static void rt_take_root(struct super_block *sb, void *context)
{
	struct fs_context *fc = context;

	if (fc->root)
		return;
	atomic_inc(&sb->s_active);
	fc->root = dget(sb->s_root);
}

struct vfsmount *rt_tracefs_mount(void)
{
	/* It is no module, so there is no reference to be given back. */
	struct file_system_type *type = get_fs_type("tracefs");
	struct vfsmount *mount = ERR_PTR(-ENODEV);
	struct fs_context *fc;

	if (!type)
		return mount;
	fc = fs_context_for_mount(type, SB_KERNMOUNT);
	if (IS_ERR(fc))
		return ERR_CAST(fc);
	/* Not by kern_mount(): tracefs would forget what its other mounts have set. */
	iterate_supers_type(type, rt_take_root, fc);
	if (fc->root)
		mount = vfs_create_mount(fc);
	put_fs_context(fc);
	return mount;
}

struct vfsmount *rt_sysfs_mount(void)
{
	/* As above. It has no options that a mount could change. */
	struct file_system_type *type = get_fs_type("sysfs");

	return type ? kern_mount(type) : ERR_PTR(-ENODEV);
}

struct dentry *rt_lookup(struct vfsmount *mount, const char *path)
{
	struct dentry *found = dget(mount->mnt_root);

	while (*path && !IS_ERR(found)) {
		struct dentry *folder = found;
		size_t len = strcspn(path, "/");

		if (d_is_dir(folder))
			found = lookup_noperm_positive_unlocked(
				&QSTR_LEN(path, len), folder);
		else
			found = ERR_PTR(-ENOTDIR);
		dput(folder);
		path += len;
		path += *path == '/';
	}
	return found;
}

ssize_t rt_seq_read(struct file *file, struct rt_room room, loff_t *pos)
{
	struct kvec vec = { .iov_base = room.first, .iov_len = room.len };
	struct iov_iter iter;
	struct kiocb kiocb;
	ssize_t ret;

	if (file->f_op->read != seq_read)
		return -EINVAL;
	init_sync_kiocb(&kiocb, file);
	kiocb.ki_pos = *pos;
	iov_iter_kvec(&iter, ITER_DEST, &vec, 1, room.len);
	/* It asks no security module, unlike kernel_read(). */
	ret = seq_read_iter(&kiocb, &iter);
	*pos = kiocb.ki_pos;
	return ret;
}

struct module *rt_module_hold(struct module *module)
{
	return try_module_get(module) ? module : NULL;
}

const char *rt_module_name(const struct module *module)
{
	return module->name;
}

bool rt_within_module(const struct module *module, unsigned long address)
{
	return within_module(address, module);
}

bool rt_within_module_init(const struct module *module, unsigned long address)
{
	return within_module_init(address, module);
}

unsigned long rt_module_init_text(const struct module *module)
{
	return (unsigned long)module->mem[MOD_INIT_TEXT].base;
}

unsigned int rt_module_init_size(const struct module *module)
{
	return module->mem[MOD_INIT_TEXT].size;
}
