// SPDX-License-Identifier: GPL-2.0
/*
 * A module that was built for another rtrace: it says so as <rtrace.h> and <events.h> of
 * that one would have it, and is refused. `what` is instance or events.
 */
#include <linux/module.h>
#include <linux/string.h>
#include <events.h>
#include <rtrace.h>

static char *what = "instance";
module_param(what, charp, 0);

static int __init old_init(void)
{
	struct rtrace_array *instance;
	/* What such a module has there is nothing that this rtrace can read. */
	const void *tables = (const void *)8UL;
	int err;

	if (!strcmp(what, "events"))
		return __rtrace_register_events(THIS_MODULE, RT_EVENTS_LAYOUT - (8 << 16),
						tables, tables + 64, tables, tables + 24);
	err = __rtrace_array_get(THIS_MODULE, RTRACE_API + 1, "old", &instance);
	if (!err)
		rtrace_array_put(instance);
	return err;
}

static void __exit old_exit(void)
{
}

module_init(old_init);
module_exit(old_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("rtrace test: a module that was built for another version");
