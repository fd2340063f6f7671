// SPDX-License-Identifier: GPL-2.0
/*
 * A module with an event that has no tracepoint. `step` is written:
 *
 *	contexts	writes it from task, softirq, interrupt and NMI
 *	storm		defines and undefines another one while all CPUs write it
 *
 * With forget=1 the module goes without undefining the event.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/string.h>
#include <rtrace.h>

#include "contexts.h"

static bool forget;
module_param(forget, bool, 0);

static struct rtrace_event event;
static u64 count;

static void from_context(const char *context)
{
	struct {
		u64 count;
		char letter;
		u32 context;
	} __packed fields = { ++count, context[0] };
	const struct rtrace_part parts[] = {
		{ &fields, sizeof(fields) },
		{ context, strlen(context) },
	};

	if (rtrace_event_enabled(&event))
		WARN_ON_ONCE(rtrace_event_record(&event, parts, ARRAY_SIZE(parts)));
}

/* Written whether it is enabled or not, and whether it is defined or not. */
static struct rtrace_event stormy;
static atomic_t written, wrong;

static int write_stormy(void *unused)
{
	while (!kthread_should_stop()) {
		const u64 number = 7;
		const struct rtrace_part parts[] = { { &number, sizeof(number) } };

		switch (rtrace_event_record(&stormy, parts, ARRAY_SIZE(parts))) {
		case 0:
			atomic_inc(&written);
			break;
		case -EBADF:
			break;
		default:
			atomic_inc(&wrong);
		}
		cond_resched();
	}
	return 0;
}

static int storm(void)
{
	enum { WRITERS = 4, ROUNDS = 30 };
	struct task_struct *writers[WRITERS];
	struct rtrace_array *instance;
	unsigned int i;
	int err = rtrace_array_get("storm", &instance);

	if (err)
		return err;
	for (i = 0; i < WRITERS; i++)
		writers[i] = kthread_run(write_stormy, NULL, "rtstorm/%u", i);
	for (i = 0; i < ROUNDS && !err; i++) {
		err = rtrace_event_define(&stormy, NULL, "stormy u64 number");
		if (err)
			break;
		err = rtrace_array_set_event(instance, "rtrace_direct:stormy");
		usleep_range(1000, 2000);
		rtrace_event_undefine(&stormy);
	}
	for (i = 0; i < WRITERS; i++)
		if (!IS_ERR(writers[i]))
			kthread_stop(writers[i]);
	rtrace_array_put(instance);
	err = err ?: rtrace_array_destroy(instance);
	if (!err && (atomic_read(&wrong) || !atomic_read(&written) || stormy.enabled))
		err = -EPROTO;
	return err;
}

static int set_step(const char *text, const struct kernel_param *kp)
{
	if (sysfs_streq(text, "storm"))
		return storm();
	if (!sysfs_streq(text, "contexts"))
		return -EINVAL;
	visit_contexts();
	return 0;
}

static const struct kernel_param_ops step_ops = { .set = set_step };
module_param_cb(step, &step_ops, NULL, 0200);
MODULE_PARM_DESC(step, "contexts or storm");

/* What rtrace answers to what is no event. */
static int refused(void)
{
	static struct rtrace_event other;
	const struct rtrace_part part = { &other, sizeof(other) };

	if (rtrace_event_define(&event, NULL, "other u8 x") != -EBUSY ||
	    rtrace_event_define(&other, NULL, "direct u8 x") != -EEXIST ||
	    rtrace_event_define(&other, NULL, "other no_such x") != -EINVAL ||
	    rtrace_event_define(&other, "a/b", "other u8 x") != -EINVAL ||
	    rtrace_event_define(&other, NULL, NULL) != -EINVAL ||
	    __rtrace_event_define(THIS_MODULE, RTRACE_API + 1, &other, NULL, "other u8 x") != -ENOEXEC ||
	    rtrace_event_record(&other, &part, 1) != -EBADF ||
	    rtrace_event_record(&event, &part, 1) != -EINVAL ||
	    rtrace_event_record(&event, NULL, 0) != -EINVAL)
		return -EPROTO;
	/* There is none. */
	rtrace_event_undefine(&other);
	return 0;
}

static int __init direct_init(void)
{
	int err = contexts_init();

	if (err)
		return err;
	err = rtrace_event_define(&event, NULL,
				  "direct u64 count; char letter; __rel_loc char[] context");
	if (err)
		goto out_contexts;
	err = refused();
	if (err)
		goto out_undefine;
	return 0;

out_undefine:
	rtrace_event_undefine(&event);
out_contexts:
	contexts_exit();
	return err;
}

static void __exit direct_exit(void)
{
	if (!forget)
		rtrace_event_undefine(&event);
	contexts_exit();
}

module_init(direct_init);
module_exit(direct_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("rtrace test: an event without a tracepoint, from all contexts");
