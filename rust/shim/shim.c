// SPDX-License-Identifier: GPL-2.0
/* The bodies of shim.h, in the same order. */
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/fsnotify.h>
#include <linux/gfp.h>
#include <linux/instruction_pointer.h>
#include <linux/irq_work.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/percpu.h>
#include <linux/pipe_fs_i.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/security.h>
#include <linux/smp.h>
#include <linux/splice.h>
#include <linux/sprintf.h>
#include <linux/topology.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include <linux/utsname.h>
#include <linux/workqueue.h>
#include <asm/hypervisor.h>

#include "compat.h"
#include "shim.h"

static_assert(KSYM_SYMBOL_LEN <= RT_SYMBOL_LEN);

/* Of no change: the kernel's number would be this in its 2^31st alone. */
DEFINE_PER_CPU(struct rt_scale, rt_scale) = { .sequence = U32_MAX };
DEFINE_PER_CPU(u64, rt_nesting);
DEFINE_PER_CPU(void *, rt_scratch);

void rt_cond_resched(void)
{
	cond_resched();
}

void rt_dentry_keep(struct dentry *dentry)
{
	spin_lock(&dentry->d_lock);
	dentry->d_flags |= DCACHE_PERSISTENT;
	dget_dlock(dentry);
	spin_unlock(&dentry->d_lock);
}

bool rt_dir_emit(struct dir_context *ctx, const char *name, int len, u64 ino,
		 bool folder)
{
	return dir_emit(ctx, name, len, ino, folder ? DT_DIR : DT_REG);
}

bool rt_dir_emit_dots(struct file *file, struct dir_context *ctx)
{
	return dir_emit_dots(file, ctx);
}

bool rt_fatal_signal_pending(void)
{
	return fatal_signal_pending(current);
}

/* A disabled probe changes nothing, but its address is looked up. */
unsigned long rt_function_address(const char *name)
{
	struct kprobe probe = {
		.symbol_name = name,
		.flags = KPROBE_FLAG_DISABLED,
	};
	unsigned long address;

	if (register_kprobe(&probe))
		return 0;
	address = (unsigned long)probe.addr;
	unregister_kprobe(&probe);
	return address;
}

void rt_init_irq_work(struct irq_work *work, void (*func)(struct irq_work *))
{
	init_irq_work(work, func);
}

void rt_init_work(struct work_struct *work, void (*func)(struct work_struct *))
{
	INIT_WORK(work, func);
}

void rt_inode_add_link(struct inode *inode)
{
	spin_lock(&inode->i_lock);
	inc_nlink(inode);
	spin_unlock(&inode->i_lock);
}

void rt_inode_lock_nested(struct inode *inode, unsigned int depth)
{
	inode_lock_nested(inode, depth);
}

void rt_inode_unlock(struct inode *inode)
{
	inode_unlock(inode);
}

bool rt_is_recorder(unsigned long address)
{
	return within_module(address, THIS_MODULE);
}

bool rt_may_observe(void)
{
	return perfmon_capable();
}

int rt_mount_point_make(const char *name)
{
	return sysfs_create_mount_point(kernel_kobj, name);
}

void rt_mount_point_remove(const char *name)
{
	sysfs_remove_mount_point(kernel_kobj, name);
}

int rt_locked_down(void)
{
	return security_locked_down(LOCKDOWN_TRACEFS);
}

void rt_on_each_cpu(void (*func)(void *arg), void *arg)
{
	on_each_cpu(func, arg, 1);
}

void rt_queue_work(struct work_struct *work)
{
	queue_work(system_dfl_wq, work);
}

static void rt_nothing(void *arg)
{
}

void rt_interrupt_others(void)
{
	smp_call_function(rt_nothing, NULL, 1);
}

loff_t rt_file_size(const struct file *file)
{
	return i_size_read(file_inode(file));
}

long rt_file_read(struct file *file, loff_t at, struct rt_room room)
{
	long ret;

	scoped_with_kernel_creds()
		ret = kernel_read(file, room.first, room.len, &at);
	return ret;
}

struct page *rt_page_of(const void *address)
{
	return virt_to_page(address);
}

bool rt_lookup_makes(unsigned int flags)
{
	return flags & (LOOKUP_CREATE | LOOKUP_EXCL | LOOKUP_RENAME_TARGET);
}

void *rt_per_cpu_ptr(void *base, unsigned int cpu)
{
	return per_cpu_ptr((void __percpu *)(unsigned long)base, cpu);
}

const char *rt_preemption_kind(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_BUILD))
		return IS_ENABLED(CONFIG_PREEMPT_RT) ? "PREEMPT_RT" : "PREEMPT";
	return IS_ENABLED(CONFIG_PREEMPT_VOLUNTARY_BUILD) ? "VOLUNTARY" : "NONE";
}

const char *rt_preemption_mode(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_BUILD))
		return NULL;
	if (!IS_ENABLED(CONFIG_PREEMPT_DYNAMIC))
		return IS_ENABLED(CONFIG_PREEMPT_LAZY) ? "LAZY" : NULL;
	if (preempt_model_lazy())
		return "(lazy)";
	if (preempt_model_full())
		return "(full)";
	return preempt_model_voluntary() ? "(voluntary)" : "(none)";
}

int rt_forbid_pwrite(struct inode *inode, struct file *file)
{
	file->f_mode &= ~FMODE_PWRITE;
	return 0;
}

bool rt_pipe_has_room(struct pipe_inode_info *pipe)
{
	return pipe->readers &&
	       !pipe_full(pipe->head, pipe->tail, pipe->max_usage);
}

ssize_t rt_pipe_push(struct pipe_inode_info *pipe, void *base, unsigned int len)
{
	struct pipe_buffer buffer = {
		.page = virt_to_page(base),
		.len = len,
		.ops = &nosteal_pipe_buf_ops,
	};

	return add_to_pipe(pipe, &buffer);
}

notrace void rt_preempt_disable_notrace(void)
{
	preempt_disable_notrace();
}

notrace void rt_preempt_enable_notrace(void)
{
	preempt_enable_notrace();
}

#ifdef CONFIG_PREEMPTION
notrace void rt_preempt_schedule_notrace(void)
{
	__preempt_schedule_notrace();
}
#endif

const char *rt_release(void)
{
	return init_uts_ns.name.release;
}

void *rt_subbuf_alloc(unsigned int cpu, unsigned int order)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL |
		    __GFP_NOWARN | __GFP_COMP;
	int node = cpu < nr_cpu_ids && cpu_possible(cpu) ?
			   cpu_to_node(cpu) : NUMA_NO_NODE;
	struct page *page = alloc_pages_node(node, gfp, order);

	return page ? page_address(page) : NULL;
}

unsigned int rt_task_cpu(const struct task_struct *task)
{
	return task_cpu(task);
}

unsigned int rt_task_state(struct task_struct *task)
{
	return task_state_index(task);
}

u32 rt_task_user(struct task_struct *task)
{
	return __kuid_val(task_uid(task));
}

void rt_tell_made(struct dentry *folder)
{
	fsnotify_mkdir(d_inode(folder->d_parent), folder);
}

void rt_tell_modified(struct inode *inode)
{
	fsnotify_inode(inode, FS_MODIFY);
}

size_t rt_text_of_hashed(struct rt_room text, unsigned long address)
{
	return scnprintf(text.first, text.len, "%p", (void *)address);
}

size_t rt_text_of_gfp(struct rt_room text, u32 flags)
{
	gfp_t gfp = (__force gfp_t)flags;

	return scnprintf(text.first, text.len, "%pGg", &gfp);
}

unsigned long rt_totalram_pages(void)
{
	return totalram_pages();
}

bool rt_under_hypervisor(void)
{
	return !hypervisor_is_type(X86_HYPER_NATIVE);
}

u32 rt_user_here(u32 user)
{
	return from_kuid_munged(current_user_ns(), KUIDT_INIT(user));
}

/* As compilers lay out what a function with a frame pointer saves. */
struct rt_user_frame {
	unsigned long caller_frame;
	unsigned long return_address;
};

notrace unsigned int rt_user_stack(u32 *process, u64 *addresses,
				   unsigned int most)
{
	const struct pt_regs *regs = task_pt_regs(current);
	unsigned long frame = regs->bp;
	unsigned int found = 0;
	struct rt_user_frame saved;

	*process = current->tgid;
	if (!most || current->flags & (PF_KTHREAD | PF_USER_WORKER))
		return 0;
	addresses[found++] = regs->ip;
	while (found < most) {
		if (copy_from_user_nofault(&saved, (void __user *)frame,
					   sizeof(saved)))
			break;
		if (frame < regs->sp || !saved.return_address)
			break;
		addresses[found++] = saved.return_address;
		frame = saved.caller_frame;
	}
	return found;
}

unsigned long tracing_mark_write(void)
{
	return _THIS_IP_;
}

/* Not a word of Rust's module!. The same is said elsewhere: scripts/check-version. */
MODULE_VERSION("0.1");
