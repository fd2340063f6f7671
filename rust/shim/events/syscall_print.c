// SPDX-License-Identifier: GPL-2.0
/*
 * The text of a record of a system call: sys_read(fd: 3, …), sys_read -> 0x1. The
 * form is ftrace's, for people and scripts that read it.
 */
#include <linux/ctype.h>
#include <linux/fcntl.h>
#include <linux/trace_events.h>
#include "syscalls.h"

/* A piece of the user's memory in a record. */
struct piece {
	const unsigned char *at;
	unsigned int bytes;
};

/* Piece number @n; its place follows the arguments. */
static struct piece piece(const struct rt_syscall_enter *entry,
			  unsigned int nb_args, unsigned int n)
{
	u32 place = ((const u32 *)(entry->args + nb_args))[n];

	return (struct piece) {
		.at = (const unsigned char *)entry + (place & 0xffff),
		.bytes = place >> 16,
	};
}

static void print_text(struct trace_seq *s, struct piece text)
{
	rt_printf(s, " \"%.*s\"", text.bytes, text.at);
}

static bool printable(unsigned char byte)
{
	return isascii(byte) && isprint(byte);
}

/* Bytes in hexadecimal, then as text if there is any; @all: how many there were. */
static void print_bytes(struct trace_seq *s, struct piece bytes, int all)
{
	const char *more = (int)bytes.bytes < all ? "..." : NULL;
	bool any = false;

	trace_seq_puts(s, " (");
	for (unsigned int i = 0; i < bytes.bytes; i++) {
		rt_printf(s, i ? ":%02x" : "%02x", bytes.at[i]);
		any |= printable(bytes.at[i]);
	}
	if (more)
		rt_printf(s, ", %s", more);
	trace_seq_putc(s, ')');
	if (!any)
		return;
	trace_seq_puts(s, " \"");
	for (unsigned int i = 0; i < bytes.bytes; i++)
		trace_seq_putc(s, printable(bytes.at[i]) ? bytes.at[i] : '.');
	trace_seq_putc(s, '"');
	if (more)
		trace_seq_puts(s, more);
}

/* openat(2) is the one call whose flags have names. */
static void print_open_flags(struct trace_seq *s, unsigned long flags)
{
	static const struct {
		unsigned long bits;
		const char *name;
	} names[] = {
		{ O_TMPFILE, "O_TMPFILE" },
		{ O_WRONLY, "O_WRONLY" },
		{ O_RDWR, "O_RDWR" },
		{ O_CREAT, "O_CREAT" },
		{ O_EXCL, "O_EXCL" },
		{ O_NOCTTY, "O_NOCTTY" },
		{ O_TRUNC, "O_TRUNC" },
		{ O_APPEND, "O_APPEND" },
		{ O_NONBLOCK, "O_NONBLOCK" },
		{ O_DSYNC, "O_DSYNC" },
		{ O_DIRECT, "O_DIRECT" },
		{ O_LARGEFILE, "O_LARGEFILE" },
		{ O_DIRECTORY, "O_DIRECTORY" },
		{ O_NOFOLLOW, "O_NOFOLLOW" },
		{ O_NOATIME, "O_NOATIME" },
		{ O_CLOEXEC, "O_CLOEXEC" },
	};
	bool first = true;

	if (!(flags & O_ACCMODE)) {
		trace_seq_puts(s, flags ? "O_RDONLY|" : "O_RDONLY");
		if (!flags)
			return;
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		if ((flags & names[i].bits) != names[i].bits)
			continue;
		flags &= ~names[i].bits;
		rt_printf(s, first ? "%s" : "|%s", names[i].name);
		first = false;
	}
	if (flags)
		rt_printf(s, first ? "0x%lx" : "|0x%lx", flags);
}

/* What stands between the parentheses of an openat(2). */
static void print_openat(struct trace_seq *s, const struct rt_syscall_enter *entry,
			 const struct syscall_metadata *meta)
{
	/* An int, and shown as one: what has no name keeps its sign. */
	unsigned long flags = (int)entry->args[2];

	rt_printf(s, "%s: %lu, %s: %lu", meta->args[0], entry->args[0],
		  meta->args[1], entry->args[1]);
	if (meta->user_mask)
		print_text(s, piece(entry, meta->nb_args, 0));
	trace_seq_puts(s, ", flags: ");
	print_open_flags(s, flags);
	/* Else the mode means nothing. */
	if (flags & (O_CREAT | O_TMPFILE))
		rt_printf(s, ", %s: 0%03o", meta->args[3],
			  (unsigned int)entry->args[3]);
}

static void print_args(struct trace_seq *s, const struct rt_syscall_enter *entry,
		       const struct syscall_metadata *meta)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < meta->nb_args; i++) {
		unsigned long value = entry->args[i];

		if (i)
			trace_seq_puts(s, ", ");
		if (rt_print_types(s))
			rt_printf(s, "%s ", meta->types[i]);
		rt_printf(s, value < 10 ? "%s: %lu" : "%s: 0x%lx",
			  meta->args[i], value);
		if (!(meta->user_mask & BIT(i)))
			continue;
		if (meta->user_arg_size < 0 || meta->user_arg_is_str)
			print_text(s, piece(entry, meta->nb_args, n++));
		else
			print_bytes(s, piece(entry, meta->nb_args, n++),
				    entry->args[meta->user_arg_size]);
	}
}

void rt_print_syscall_enter(struct trace_seq *s, struct trace_seq *p,
			    const void *rec)
{
	const struct rt_syscall_enter *entry = rec;
	const struct syscall_metadata *meta = rt_syscall_meta(entry->nr);

	if (!meta)
		return;
	rt_printf(s, "%s(", meta->name);
	if (meta->syscall_nr == __NR_openat && !rt_print_types(s))
		print_openat(s, entry, meta);
	else
		print_args(s, entry, meta);
	trace_seq_putc(s, ')');
}

void rt_print_syscall_exit(struct trace_seq *s, struct trace_seq *p,
			   const void *rec)
{
	const struct rt_syscall_exit *entry = rec;
	const struct syscall_metadata *meta = rt_syscall_meta(entry->nr);

	if (meta)
		rt_printf(s, "%s -> 0x%lx", meta->name, entry->ret);
}
