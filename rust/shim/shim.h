/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The C functions that Rust calls: inline functions, macros, and exported
 * functions whose prototype no public header has. No decisions are made here.
 * Sorted by name.
 */
#ifndef RTRACE_SHIM_H
#define RTRACE_SHIM_H

#include <linux/percpu-defs.h>
#include <linux/trace_mmap.h>
#include <linux/types.h>

#include "spans.h"

struct dentry;
struct dir_context;
struct file;
struct inode;
struct irq_work;
struct module;
struct page;
struct pipe_inode_info;
struct task_struct;
struct work_struct;

/* Room for the name of an address; a macro in the kernel. */
#define RT_SYMBOL_LEN 768

/* A macro: the command by which a program that has a buffer mapped reads on. */
enum { RT_GET_READER = TRACE_MMAP_IOCTL_GET_READER };

/*
 * A per-CPU variable that instructions of ours address by its name: what one CPU
 * keeps of the clock `local`, see rust/kapi/clock/latch.rs. In one cache line.
 */
struct rt_scale {
	u64 factor;
	u32 sequence;
	u32 busy;
} __aligned(16);
DECLARE_PER_CPU(struct rt_scale, rt_scale);

/*
 * Others: how many writers are inside each other, see rust/kapi/nesting.rs, and where
 * a CPU fills records beside the ring, see rust/kapi/scratch.rs.
 */
DECLARE_PER_CPU(u64, rt_nesting);
DECLARE_PER_CPU(void *, rt_scratch);

/* Exported, but its prototype is in the private fs/internal.h. */
struct dentry *find_next_child(struct dentry *parent, struct dentry *prev);

/* A macro: lets others run; may sleep. */
void rt_cond_resched(void);

/* Inline: the tree keeps a reference, as with d_make_persistent(). */
void rt_dentry_keep(struct dentry *dentry);

/* Macros: makes pwrite() of a file that is opened ESPIPE, as seq_open() does; 0. */
int rt_forbid_pwrite(struct inode *inode, struct file *file);

/* Inline: tell readdir() of a name; false when it has no more room. */
bool rt_dir_emit(struct dir_context *ctx, const char *name, int len, u64 ino,
		 bool folder);
bool rt_dir_emit_dots(struct file *file, struct dir_context *ctx);

/* Inline: whether the current task is about to be killed. */
bool rt_fatal_signal_pending(void);

/* Layout and flags of struct kprobe: where a function begins, or 0. */
unsigned long rt_function_address(const char *name);

/* Inline: fills a structure. */
void rt_init_irq_work(struct irq_work *work, void (*func)(struct irq_work *));

/* A macro: fills a structure. */
void rt_init_work(struct work_struct *work, void (*func)(struct work_struct *));

/* Inline: one more link, while others may add one too. */
void rt_inode_add_link(struct inode *inode);

/* Inline: an inode's lock, with the depth that lockdep shall see. */
void rt_inode_lock_nested(struct inode *inode, unsigned int depth);
void rt_inode_unlock(struct inode *inode);

/* Inline: whether a function of ours is there. */
bool rt_is_recorder(unsigned long address);

/* Inline: whether the current task may observe the system. */
bool rt_may_observe(void);

/* A variable: makes and removes a folder of /sys/kernel to mount at. */
int rt_mount_point_make(const char *name);
void rt_mount_point_remove(const char *name);

/* Inline in a kernel without security modules: 0, or a refusal of the lockdown. */
int rt_locked_down(void);

/* Inline: calls a function on each CPU that is online, and waits. */
void rt_on_each_cpu(void (*func)(void *arg), void *arg);

/* Inline: has work done in any order with other work. */
void rt_queue_work(struct work_struct *work);

/* Takes a function: interrupts every other CPU that is online, and waits. */
void rt_interrupt_others(void);

/* Inline: the size of an open file. */
loff_t rt_file_size(const struct file *file);
/*
 * Reads an open file from `at` on, as the kernel itself. Returns how many bytes it had
 * there, or an error.
 */
long rt_file_read(struct file *file, loff_t at, struct rt_room room);

/* A macro: the page that an address of allocated memory is in. */
struct page *rt_page_of(const void *address);

/* Macros: whether a lookup is for a name that the caller wants to make. */
bool rt_lookup_makes(unsigned int flags);

/* A macro: where a CPU's part of a per-CPU allocation is. */
void *rt_per_cpu_ptr(void *base, unsigned int cpu);

/* Configuration and inline: how the kernel preempts; the mode may be NULL. */
const char *rt_preemption_kind(void);
const char *rt_preemption_mode(void);

/*
 * Inline: whether a pipe that the caller has locked takes one more buffer.
 * After it, a structure: moves pages into the pipe, which owns the reference
 * from then on, also when it fails (then it has dropped them).
 */
bool rt_pipe_has_room(struct pipe_inode_info *pipe);
ssize_t rt_pipe_push(struct pipe_inode_info *pipe, void *base, unsigned int len);

/* Macros: preemption, with the kernel's own way to the scheduler. */
void rt_preempt_disable_notrace(void);
void rt_preempt_enable_notrace(void);
#ifdef CONFIG_PREEMPTION
/* Asks the scheduler, when the preemption count has become 0. */
void rt_preempt_schedule_notrace(void);
#endif

/* A member of a type with private parts: the kernel's release. */
const char *rt_release(void);

/*
 * Macros: zeroed pages near a CPU, or NULL; tries hard, but neither warns nor
 * wakes the OOM killer. A pipe or a mapping may keep them by one reference.
 */
void *rt_subbuf_alloc(unsigned int cpu, unsigned int order);

/* Inline: the CPU that a task runs on or is to run on, and the number of its state. */
unsigned int rt_task_cpu(const struct task_struct *task);
unsigned int rt_task_state(struct task_struct *task);

/* A macro: the user of a task, as the kernel numbers users. */
u32 rt_task_user(struct task_struct *task);

/* Inline: tells programs that watch a folder that this one was made in it. */
void rt_tell_made(struct dentry *folder);

/* Inline: tells programs that watch a file that it was changed. */
void rt_tell_modified(struct inode *inode);

/* A format of printk: an address as a number that hides it. */
size_t rt_text_of_hashed(struct rt_room text, unsigned long address);

/* A format of printk: the names of the flags of an allocation. */
size_t rt_text_of_gfp(struct rt_room text, u32 flags);

/* Inline: pages that the kernel manages. */
unsigned long rt_totalram_pages(void);

/* Inline: whether the kernel found a hypervisor that it has code for. */
bool rt_under_hypervisor(void);

/* Inline: the number of a user in the user namespace of the current task. */
u32 rt_user_here(u32 user);

/*
 * Macros and inline: where the current task entered the kernel, and its callers
 * as frame pointers tell; nothing for a kernel thread. Not from NMI.
 */
unsigned int rt_user_stack(u32 *process, u64 *addresses, unsigned int most);

/* A symbol: its own address. */
unsigned long tracing_mark_write(void);

#endif
