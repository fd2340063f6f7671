// SPDX-License-Identifier: GPL-2.0
/*
 * A module with an instance of its own, into which it prints from a timer: users find it
 * in instances/sample, with the task switches between the ticks.
 */
#include <linux/module.h>
#include <linux/timer.h>
#include <rtrace.h>

#define PERIOD (HZ / 10)

static void tick(struct timer_list *timer);
static DEFINE_TIMER(timer, tick);
static struct rtrace_array *instance;
static unsigned long count;

static void tick(struct timer_list *unused)
{
	rtrace_array_printk(instance, _THIS_IP_, "tick %lu\n", ++count);
	mod_timer(&timer, jiffies + PERIOD);
}

/* Gives the instance back and removes it, unless users have a file of it open. */
static void leave(void)
{
	rtrace_array_set_clr_event(instance, NULL, NULL, false);
	rtrace_array_put(instance);
	if (rtrace_array_destroy(instance))
		pr_info("the instance `sample` stays: a user has it\n");
}

static int __init sample_init(void)
{
	int err;

	err = rtrace_array_get("sample", &instance);
	if (err)
		return err;
	err = rtrace_array_init_printk(instance);
	if (!err)
		err = rtrace_array_set_event(instance, "sched:sched_switch");
	if (err) {
		leave();
		return err;
	}
	mod_timer(&timer, jiffies + PERIOD);
	return 0;
}

static void __exit sample_exit(void)
{
	/* No print is under way when the instance is given back. */
	timer_shutdown_sync(&timer);
	leave();
}

module_init(sample_init);
module_exit(sample_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("rtrace sample: a C module that prints into an instance of its own");
