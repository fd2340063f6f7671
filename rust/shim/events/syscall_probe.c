// SPDX-License-Identifier: GPL-2.0
/*
 * The probes of system calls: one of sys_enter and one of sys_exit per instance
 * serve all calls that are enabled there; Rust says which of the instance's events
 * a call belongs to.
 *
 * These tracepoints call with preemption on and may fault. So what a call's
 * arguments point to is copied to the stack first, and only then does the part
 * begin in which the CPU must stay the same.
 */
#include <linux/ctype.h>
#include <linux/ftrace.h>
#include <linux/uaccess.h>
#include <asm/syscall.h>
#include "syscalls.h"

/* Most bytes of one argument's memory, and what follows a text that is longer. */
#define USER_MOST RT_SYSCALL_USER_MOST
static const char cut[] = "...";
/* So much is read, to see whether there is more; ftrace reads as much. */
#define USER_READ (USER_MOST + sizeof(cut))

struct user_data {
	unsigned int args;
	unsigned int bytes[RT_SYSCALL_USERS];
	char copy[RT_SYSCALL_USERS][USER_READ + 1];
};
static_assert(USER_MOST + sizeof(cut) <= USER_READ);

/* The number of the call; negative for one by the 32-bit interfaces, as in ftrace. */
static notrace int number(struct pt_regs *regs)
{
#ifdef ARCH_TRACE_IGNORE_COMPAT_SYSCALLS
	if (arch_trace_is_compat_syscall(regs))
		return -1;
#endif
	return syscall_get_nr(current, regs);
}

/* A text: dots for what cannot be printed, and a mark when more than @most follow. */
static notrace unsigned int copy_text(char *to, const char __user *from,
				      unsigned int most)
{
	long length = strncpy_from_user(to, from, USER_READ);

	if (length < 0)
		return 0;
	for (long i = 0; i < length; i++)
		if (!isprint(to[i]))
			to[i] = '.';
	if (length > most) {
		memcpy(to + most, cut, sizeof(cut));
		return most + sizeof(cut);
	}
	to[length] = '\0';
	return length + 1;
}

static notrace unsigned int copy_bytes(char *to, const char __user *from,
				       unsigned long length, unsigned int most)
{
	length = min(length, USER_READ);
	if (copy_from_user(to, from, length))
		return 0;
	return min(length, most);
}

/* Reads what the arguments of a call point to. May sleep. */
static notrace void fetch(const struct syscall_metadata *meta,
			  const unsigned long *args, unsigned int most,
			  struct user_data *user)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < meta->nb_args && n < RT_SYSCALL_USERS; i++) {
		const char __user *from = (const char __user *)args[i];
		char *to = user->copy[n];

		if (!(meta->user_mask & BIT(i)))
			continue;
		if (!most)
			user->bytes[n++] = 0;
		else if (meta->user_arg_size >= 0)
			user->bytes[n++] = copy_bytes(to, from,
						      args[meta->user_arg_size], most);
		else
			user->bytes[n++] = copy_text(to, from, most);
	}
	user->args = n;
}

/* After the arguments: where each piece is and how long, then the pieces. */
static notrace void put(struct rt_syscall_enter *entry, unsigned int nb_args,
			const struct user_data *user)
{
	u32 *place = (u32 *)(entry->args + nb_args);
	char *to = (char *)(place + user->args);

	for (unsigned int i = 0; i < user->args; i++) {
		*place++ = (u32)(to - (char *)entry) | user->bytes[i] << 16;
		memcpy(to, user->copy[i], user->bytes[i]);
		to += user->bytes[i];
	}
}

notrace void rt_probe_syscall_enter(void *cookie, struct pt_regs *regs, long id)
{
	const struct syscall_metadata *meta;
	unsigned long args[SYSCALL_DEFINE_MAXARGS];
	struct rt_syscall_enter *entry;
	struct rt_syscall_want want;
	struct rt_reserved reserved;
	struct user_data user;
	unsigned long size;
	int nr = number(regs);

	meta = rt_syscall_meta(nr);
	if (!meta)
		return;
	want = rtrace_syscall(cookie, nr);
	if (!want.file)
		return;

	syscall_get_arguments(current, regs, args);
	user.args = 0;
	if (meta->user_mask)
		fetch(meta, args, want.user_bytes, &user);
	size = struct_size(entry, args, meta->nb_args);
	for (unsigned int i = 0; i < user.args; i++)
		size += sizeof(u32) + user.bytes[i];

	preempt_disable_notrace();
	reserved = rt_reserve(want.file, rt_size(size));
	entry = reserved.entry;
	if (!entry) {
		preempt_enable_notrace();
		return;
	}
	entry->nr = nr;
	memcpy(entry->args, args, meta->nb_args * sizeof(long));
	put(entry, meta->nb_args, &user);
	rtrace_commit(want.file, entry, reserved.token);
}

notrace void rt_probe_syscall_exit(void *cookie, struct pt_regs *regs, long ret)
{
	struct rt_syscall_exit *entry;
	struct rt_syscall_want want;
	struct rt_reserved reserved;
	int nr = number(regs);

	if (!rt_syscall_meta(nr))
		return;
	want = rtrace_syscall(cookie, nr);
	if (!want.file)
		return;

	preempt_disable_notrace();
	reserved = rt_reserve(want.file, rt_size(sizeof(*entry)));
	entry = reserved.entry;
	if (!entry) {
		preempt_enable_notrace();
		return;
	}
	entry->nr = nr;
	entry->ret = syscall_get_return_value(current, regs);
	rtrace_commit(want.file, entry, reserved.token);
}

/* The compiler compares the probes with the tracepoints' prototypes. */
#include <trace/events/syscalls.h>
static inline void check_probes(void)
{
	check_trace_callback_type_sys_enter(rt_probe_syscall_enter);
	check_trace_callback_type_sys_exit(rt_probe_syscall_exit);
}
