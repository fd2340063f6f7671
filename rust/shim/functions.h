/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of the kernel as something that is traced: the hook at their
 * beginning, their list, and whose they are. No decisions are made here.
 */
#ifndef RTRACE_FUNCTIONS_H
#define RTRACE_FUNCTIONS_H

#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/thread_info.h>
#include <linux/types.h>

/* A macro: the longest word of a filter, with its end. */
enum { RT_LONGEST_WORD = KSYM_SYMBOL_LEN + 4 };

#include "spans.h"

struct dentry;
struct file;
struct module;
struct vfsmount;

/* Inline, with structures: opens a file that was looked up, as the kernel itself. */
struct file *rt_dentry_open(struct vfsmount *mount, struct dentry *dentry);

/* Where the hook has the registers with the arguments of a function, and its stack pointer. */
#ifdef CONFIG_HAVE_DYNAMIC_FTRACE_WITH_ARGS
#define RT_REGS_PLACE(name) offsetof(struct __arch_ftrace_regs, regs.name)
#else
#define RT_REGS_PLACE(name) 0
#endif
enum { RT_REGS_DI = RT_REGS_PLACE(di) };
enum { RT_REGS_SI = RT_REGS_PLACE(si) };
enum { RT_REGS_DX = RT_REGS_PLACE(dx) };
enum { RT_REGS_CX = RT_REGS_PLACE(cx) };
enum { RT_REGS_R8 = RT_REGS_PLACE(r8) };
enum { RT_REGS_R9 = RT_REGS_PLACE(r9) };
enum { RT_REGS_SP = RT_REGS_PLACE(sp) };
enum { RT_REGS_FIRST = RT_REGS_PLACE(r15) };

/* Whether hooks are told of the arguments. */
#ifdef CONFIG_HAVE_DYNAMIC_FTRACE_WITH_ARGS
enum { RT_HOOKS_HAVE_ARGS = 1 };
#else
enum { RT_HOOKS_HAVE_ARGS = 0 };
#endif

/* Macros: the bytes of the call of a hook, and of the stack of a task. */
#ifdef MCOUNT_INSN_SIZE
enum { RT_HOOK_CALL = MCOUNT_INSN_SIZE };
#else
enum { RT_HOOK_CALL = 0 };
#endif
enum { RT_STACK_SIZE = THREAD_SIZE };

/* Inline: where the stack of the current task begins. */
unsigned long rt_task_stack(void);

/*
 * What functions call: rtrace_function(), rtrace_profile_hit(), rtrace_stack(),
 * rtrace_entry_hit().
 */
enum { RT_HOOK_RECORDS, RT_HOOK_COUNTS, RT_HOOK_STACKS, RT_HOOK_EVENTS, RT_HOOKS };

/*
 * Macros in a kernel that traces no functions, which says -ENODEV here. A hook is
 * called by the functions whose addresses were selected last for it, or by all.
 * What was selected is memory until it is forgotten.
 */
void rt_hook_forget(unsigned int hook);
int rt_hook_register(unsigned int hook);
int rt_hook_select(unsigned int hook, struct rt_addresses addresses);
int rt_hook_select_all(unsigned int hook);
int rt_hook_unregister(unsigned int hook);

/* The same: whether an address is in the code that calls the first of them. */
bool rt_is_trampoline(unsigned long address);

/* Macros: disable interrupts of this CPU; as they were before. Not traced. */
unsigned long rt_irqs_off(void);
void rt_irqs_restore(unsigned long flags);

/*
 * Members of structures: mounts the kernel's tracefs, for no user to see, and changes
 * nothing of it. -ENODEV where the kernel has none. Not for a task that ends, which has
 * no namespaces.
 */
struct vfsmount *rt_tracefs_mount(void);

/* A macro: the same for sysfs. */
struct vfsmount *rt_sysfs_mount(void);

/*
 * A macro, and members: looks up a path below the root of one of these, as the kernel.
 * Its parts are names, with one slash between them.
 */
struct dentry *rt_lookup(struct vfsmount *mount, const char *path);

/*
 * Inline, with structures: reads on in a file. -EINVAL for one that is not read as
 * those of seq_file are.
 */
ssize_t rt_seq_read(struct file *file, struct rt_room room, loff_t *pos);

/* A function: a module that stays until module_put(), or NULL if it goes. */
struct module *rt_module_hold(struct module *module);

/* A member of a structure: the name of a module. */
const char *rt_module_name(const struct module *module);

/* Inline: whether an address is in a module, or in what of it goes after its init. */
bool rt_within_module(const struct module *module, unsigned long address);
bool rt_within_module_init(const struct module *module, unsigned long address);

/* Members: where the code of a module begins that goes after its init, and its bytes. */
unsigned long rt_module_init_text(const struct module *module);
unsigned int rt_module_init_size(const struct module *module);

/*
 * In Rust: the hooks. Any context; see rust/probes/function.rs, profile.rs, deepest.rs,
 * and rust/sources/entry_hook.rs.
 */
struct ftrace_ops;
void rtrace_function(unsigned long ip, unsigned long parent_ip,
		     struct ftrace_ops *ops, struct ftrace_regs *regs);
void rtrace_profile_hit(unsigned long ip, unsigned long parent_ip,
			struct ftrace_ops *ops, struct ftrace_regs *regs);
void rtrace_stack(unsigned long ip, unsigned long parent_ip,
		  struct ftrace_ops *ops, struct ftrace_regs *regs);
void rtrace_entry_hit(unsigned long ip, unsigned long parent_ip,
		      struct ftrace_ops *ops, struct ftrace_regs *regs);

#endif
