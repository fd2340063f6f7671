// SPDX-License-Identifier: GPL-2.0
/*
 * A module with an event that needs no tracepoint and no header of its own: it ticks ten
 * times a second, from a timer, in events/rtrace_sample_direct/tick.
 */
#include <linux/module.h>
#include <linux/timer.h>
#include <rtrace.h>

#define PERIOD (HZ / 10)

static void tick(struct timer_list *timer);
static DEFINE_TIMER(timer, tick);
static struct rtrace_event event;
static u64 count;

static void tick(struct timer_list *unused)
{
	count++;
	if (rtrace_event_enabled(&event)) {
		/* As in the definition, without gaps; rtrace fills `side`. */
		struct {
			u64 count;
			u32 side;
		} __packed fields = { .count = count };
		const char *side = count % 2 ? "tick" : "tock";
		const struct rtrace_part parts[] = {
			{ &fields, sizeof(fields) },
			{ side, 4 },
		};

		rtrace_event_record(&event, parts, ARRAY_SIZE(parts));
	}
	mod_timer(&timer, jiffies + PERIOD);
}

static int __init sample_init(void)
{
	int err;

	err = rtrace_event_define(&event, NULL, "tick u64 count; __rel_loc char[] side");
	if (err)
		return err;
	mod_timer(&timer, jiffies + PERIOD);
	return 0;
}

static void __exit sample_exit(void)
{
	timer_shutdown_sync(&timer);
	rtrace_event_undefine(&event);
}

module_init(sample_init);
module_exit(sample_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("rtrace sample: an event of a C module without a tracepoint");
