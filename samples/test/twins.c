// SPDX-License-Identifier: GPL-2.0
/*
 * The same calls of the kernel's trace_array_*() and of rtrace_array_*(), each for an
 * instance called `twins`: what they answer is compared here, and what they print, from
 * task, softirq, interrupt and NMI, by scripts/guest-samples. `step` is written:
 *
 *	print	prints into both
 *	end	gives both back and removes them
 *
 * and the kernel's log has a line for each answer that differs, and one for all.
 */
#include <linux/module.h>
#include <linux/trace.h>
#include <linux/trace_events.h>
#include <rtrace.h>

#include "contexts.h"

enum { KERNEL, RTRACE, TWINS };

static const char name[] = "twins";
static void *twins[TWINS];
static unsigned int answers, differences;

/* One answer of each. */
static void compare(const char *call, int kernel, int rtrace)
{
	answers++;
	if (kernel == rtrace)
		return;
	differences++;
	pr_info("twins: %s: %d in the kernel, %d in rtrace\n", call, kernel, rtrace);
}

#define BOTH(call, ...)								\
	compare(#call "(" #__VA_ARGS__ ")", trace_array_##call(__VA_ARGS__),	\
		rtrace_array_##call(__VA_ARGS__))

/* With the instances of both as the first argument. */
#define OF_BOTH(call, ...)							\
	compare(#call "(" #__VA_ARGS__ ")",					\
		trace_array_##call(twins[KERNEL], ##__VA_ARGS__),		\
		rtrace_array_##call(twins[RTRACE], ##__VA_ARGS__))

static void from_context(const char *context)
{
	OF_BOTH(printk, _THIS_IP_, "from %s\n", context);
}

static void print_all(void)
{
	OF_BOTH(printk, _THIS_IP_, "%s, %d and %#lx\n", "a text", -5, 0xabcUL);
	/* Cut off. */
	OF_BOTH(printk, _THIS_IP_, "%01500d\n", 7);
	OF_BOTH(printk, _THIS_IP_, "%s", "");
	OF_BOTH(printk, _THIS_IP_, "one line ");
	OF_BOTH(printk, _THIS_IP_, "of two prints\n");
	/* One after the other, as the records of both are sorted by time. */
	visit_contexts();
}

static int begin(void)
{
	BOTH(init_printk, NULL);
	BOTH(printk, NULL, _THIS_IP_, "nowhere\n");
	BOTH(destroy, NULL);
	BOTH(set_clr_event, NULL, "sched", "sched_switch", true);
	trace_array_put(NULL);
	rtrace_array_put(NULL);

	twins[KERNEL] = trace_array_get_by_name(name, NULL);
	twins[RTRACE] = rtrace_array_get_by_name(name);
	compare("get_by_name", !!twins[KERNEL], !!twins[RTRACE]);
	if (!twins[KERNEL] || !twins[RTRACE]) {
		trace_array_put(twins[KERNEL]);
		rtrace_array_put(twins[RTRACE]);
		return -ENOMEM;
	}
	/* Once more, and back. */
	compare("get_by_name, again", trace_array_get_by_name(name, NULL) == twins[KERNEL],
		rtrace_array_get_by_name(name) == twins[RTRACE]);
	OF_BOTH(destroy);
	trace_array_put(twins[KERNEL]);
	rtrace_array_put(twins[RTRACE]);
	OF_BOTH(destroy);

	OF_BOTH(set_clr_event, "sched", "sched_switch", true);
	OF_BOTH(set_clr_event, "sched", "no_such", true);
	OF_BOTH(set_clr_event, "no_such", NULL, true);
	OF_BOTH(set_clr_event, NULL, "sched_waking", true);
	OF_BOTH(set_clr_event, NULL, "no_such", false);
	OF_BOTH(set_clr_event, "irq", NULL, true);
	OF_BOTH(set_clr_event, NULL, NULL, false);
	OF_BOTH(init_printk);
	return 0;
}

static void end(void)
{
	if (!twins[KERNEL])
		return;
	trace_array_put(twins[KERNEL]);
	rtrace_array_put(twins[RTRACE]);
	OF_BOTH(destroy);
	OF_BOTH(destroy);
	twins[KERNEL] = NULL;
}

static int set_step(const char *text, const struct kernel_param *kp)
{
	if (sysfs_streq(text, "print"))
		print_all();
	else if (sysfs_streq(text, "end"))
		end();
	else
		return -EINVAL;
	pr_info("twins: %u answers, %u differ\n", answers, differences);
	return 0;
}

static const struct kernel_param_ops step_ops = { .set = set_step };
module_param_cb(step, &step_ops, NULL, 0200);
MODULE_PARM_DESC(step, "print or end");

static int __init twins_init(void)
{
	int err = contexts_init();

	if (err)
		return err;
	err = begin();
	if (err)
		contexts_exit();
	return err;
}

static void __exit twins_exit(void)
{
	end();
	contexts_exit();
}

module_init(twins_init);
module_exit(twins_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("rtrace test: the kernel's instances and those of rtrace do the same");
