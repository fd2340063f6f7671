/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What rtrace offers to other modules: instances of their own, whose events they switch
 * and into which they print, and events that they define and write without a tracepoint.
 * The functions of instances are those of <linux/trace.h> with an `r` before their names;
 * Documentation/modules.md says what is different and how a module is built.
 *
 * A module that calls any of these keeps rtrace loaded until it goes itself. Whatever it
 * has of rtrace it gives back before: an instance with rtrace_array_put(), an event with
 * rtrace_event_undefine().
 */
#ifndef RTRACE_H
#define RTRACE_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/instruction_pointer.h>
#include <linux/module.h>
#include <linux/stdarg.h>
#include <linux/types.h>

/*
 * The version of this interface. It grows with each change that a module which was built
 * before would not survive: rtrace gives such a module no instance and no event, and says
 * so in the kernel's log.
 */
enum { RTRACE_API = 1 };

/* An instance of rtrace; only rtrace knows what is in it. */
struct rtrace_array;

/* Called by the functions below, which hand over the version that the module was built with. */
int __rtrace_array_get(struct module *owner, u32 api, const char *name,
		       struct rtrace_array **found);

/**
 * rtrace_array_get - find an instance or make it, and say why if not
 * @name: its name: at most 64 letters, digits, `_`, `.` and `-`
 * @found: receives the instance; NULL with an error
 *
 * As rtrace_array_get_by_name().
 *
 * Context: process context, may sleep. No lock of a file system is held.
 * Return: 0, or
 * * -ENOEXEC	the module was built for another version of this interface
 * * -EINVAL	no instance can have the name
 * * -ENAMETOOLONG	it is longer than 64 bytes
 * * -ENODEV	the instance is being removed at this moment
 * * -ENOMEM
 */
static inline int rtrace_array_get(const char *name, struct rtrace_array **found)
{
	return __rtrace_array_get(THIS_MODULE, RTRACE_API, name, found);
}

/**
 * rtrace_array_get_by_name - find an instance or make it
 * @name: its name, as for rtrace_array_get()
 *
 * A new instance begins as one that a user makes by `mkdir`, and users see it in
 * `instances/`. As long as the caller has it, it is not removed: `rmdir` and
 * rtrace_array_destroy() are -EBUSY. rtrace_array_put() gives it back, once for each call.
 *
 * Context: process context, may sleep. No lock of a file system is held.
 * Return: the instance, or NULL if there is none and none can be made.
 */
static inline struct rtrace_array *rtrace_array_get_by_name(const char *name)
{
	struct rtrace_array *found;

	return rtrace_array_get(name, &found) ? NULL : found;
}

/**
 * rtrace_array_put - give an instance back
 * @tr: one of rtrace_array_get_by_name(), or NULL
 *
 * The instance stays, with its records, until a user or rtrace_array_destroy() removes it.
 * After the last rtrace_array_put() the caller uses @tr for nothing but
 * rtrace_array_destroy().
 *
 * Context: process context, may sleep. No print into @tr of the caller is under way.
 */
void rtrace_array_put(struct rtrace_array *tr);

/**
 * rtrace_array_destroy - remove an instance
 * @tr: one of rtrace_array_get_by_name() that the caller has given back
 *
 * Only the address is looked at, so that @tr may have been removed before.
 *
 * Context: process context, may sleep. No lock of a file system is held.
 * Return: 0, or
 * * -EINVAL	@tr is NULL
 * * -ENODEV	there is no such instance any more
 * * -EBUSY	a module has it, or one of its files is open
 */
int rtrace_array_destroy(struct rtrace_array *tr);

/**
 * rtrace_array_set_clr_event - switch events of an instance on or off
 * @tr: the instance
 * @system: the system of the events, or NULL for all
 * @event: their name, or NULL for all
 * @enable: whether they are recorded
 *
 * Each event that is meant is tried, and the first error is returned.
 *
 * Context: process context, may sleep.
 * Return: 0, or
 * * -ENOENT	@tr is NULL
 * * -EINVAL	there is no such event
 * * -EBUSY	another instance has it, and it cannot be shared
 * * -ENOMEM
 */
int rtrace_array_set_clr_event(struct rtrace_array *tr, const char *system,
			       const char *event, bool enable);

/**
 * rtrace_array_set_event - switch events of an instance as its file `set_event` does
 * @tr: the instance
 * @word: `SYSTEM:EVENT`, `SYSTEM:*`, `*:EVENT`, `NAME` or one of these with `:mod:MODULE`
 *	after it; `!` before it switches off. At most 127 bytes, without white space
 *
 * Context: process context, may sleep.
 * Return: as rtrace_array_set_clr_event(). For events of a module that is not loaded: 0,
 * and they are switched on when it comes.
 */
int rtrace_array_set_event(struct rtrace_array *tr, const char *word);

/**
 * rtrace_array_init_printk - prepare for prints
 * @tr: an instance
 *
 * Before this has succeeded once, prints are lost, or recorded by chance. It takes eight
 * pages for each CPU, once for all instances, which stay until rtrace goes.
 *
 * Context: process context, may sleep.
 * Return: 0, -ENOENT if @tr is NULL, or -ENOMEM.
 */
int rtrace_array_init_printk(struct rtrace_array *tr);

/**
 * rtrace_array_printk - print a text into an instance
 * @tr: the instance
 * @ip: where that is in the code, usually _THIS_IP_; 0 for where this is called
 * @fmt: a format of printk()
 *
 * The text becomes one record, the event `print` of ftrace, at the time of the call. Its
 * end is cut off after 1023 bytes. It is formatted at once: what the arguments point to, and
 * the format, are not needed afterwards. A print whose instance is full, or whose recording
 * is off, is lost and counted as events are. What a print costs, it costs only where it is
 * called.
 *
 * Context: any, NMI included. Prints that interrupt each other on a CPU are recorded, up to
 * eight deep.
 * Return: how many bytes were recorded, 0 if none were; -ENOENT if @tr is NULL.
 */
__printf(3, 4)
int rtrace_array_printk(struct rtrace_array *tr, unsigned long ip, const char *fmt, ...);

/**
 * rtrace_array_vprintk - print a text into an instance
 * @tr: the instance
 * @ip: as for rtrace_array_printk()
 * @fmt: a format of printk()
 * @args: what is formatted
 *
 * Context: any, NMI included.
 * Return: as rtrace_array_printk().
 */
__printf(3, 0)
int rtrace_array_vprintk(struct rtrace_array *tr, unsigned long ip, const char *fmt,
			 va_list args);

/**
 * struct rtrace_event - an event of a module, which has no tracepoint
 * @enabled: how many instances record it; see rtrace_event_enabled()
 * @defined: what rtrace knows of it
 *
 * A variable of the module, zeros before the event is defined. Only rtrace changes it.
 */
struct rtrace_event {
	u32 enabled;
	const void *defined;
};

/**
 * struct rtrace_part - bytes of a record
 * @bytes: where they are; not looked at if there are none
 * @len: how many
 */
struct rtrace_part {
	const void *bytes;
	size_t len;
};

/* Called by rtrace_event_define(). */
int __rtrace_event_define(struct module *owner, u32 api, struct rtrace_event *event,
			  const char *system, const char *definition);

/**
 * rtrace_event_define - define an event
 * @event: a variable of the module that stays until rtrace_event_undefine() has returned
 * @system: the name of the event's system, or NULL for that of the module
 * @definition: its name and its fields, `NAME TYPE FIELD; TYPE FIELD; ...`
 *
 * Types are those of user events: `u8` to `u64`, `s8` to `s64`, `char[N]`,
 * `struct NAME FIELD SIZE`, and `__rel_loc TYPE[]` for bytes of any number, a string if
 * TYPE is char. Fields follow each other in a record without gaps. The event is in
 * `events/SYSTEM/NAME` of all instances and has all that others have: a filter, triggers,
 * histograms, probes that follow it.
 *
 * Context: process context, may sleep. No lock of a file system is held.
 * Return: 0, or
 * * -ENOEXEC	the module was built for another version of this interface
 * * -EINVAL	these are no names or no fields
 * * -EBUSY	@event is defined
 * * -EEXIST	another event has the name
 * * -ENOSPC	there are too many events
 * * -ENOMEM
 */
static inline int rtrace_event_define(struct rtrace_event *event, const char *system,
				      const char *definition)
{
	return __rtrace_event_define(THIS_MODULE, RTRACE_API, event, system, definition);
}

/**
 * rtrace_event_undefine - remove an event
 * @event: one of rtrace_event_define(), or a variable without one
 *
 * When this returns no instance records the event any more; its records stay and keep their
 * text. A module that goes without it has its events removed, and is told of in the
 * kernel's log.
 *
 * Context: process context, may sleep. No lock of a file system is held.
 */
void rtrace_event_undefine(struct rtrace_event *event);

/**
 * rtrace_event_enabled - ask whether an event is recorded anywhere
 * @event: the event
 *
 * What an event costs that is off: a load and a branch. Asked before its fields are made.
 *
 * Context: any, NMI included.
 */
static inline bool rtrace_event_enabled(const struct rtrace_event *event)
{
	return unlikely(READ_ONCE(event->enabled));
}

/**
 * rtrace_event_record - record an event
 * @event: the event
 * @parts: first the bytes of all fields, in which a `__rel_loc` field has four of any
 *	value; then one part for each of these fields, whose NUL is added if it is a string
 * @number: how many parts
 *
 * An event whose instance is full, or whose recording is off, is lost and counted there, as
 * one that is longer than a sub-buffer is.
 *
 * Context: any, NMI included.
 * Return: 0, -EBADF if the event is not defined, or -EINVAL if the parts are not those of
 * its fields.
 */
int rtrace_event_record(struct rtrace_event *event, const struct rtrace_part *parts,
			unsigned int number);

#endif /* RTRACE_H */
