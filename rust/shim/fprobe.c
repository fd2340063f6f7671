// SPDX-License-Identifier: GPL-2.0
/* The bodies of fprobe.h, in the same order. */
#include <linux/errno.h>
#include <linux/fprobe.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/security.h>
#include <linux/slab.h>

#include "fprobe.h"

#ifdef CONFIG_FPROBE
struct rt_fprobe {
	struct fprobe probe;
	const void *data;
	/* A call that began under another registration has another one. */
	u64 generation;
	/* That of a registration that keeps nothing of calls. */
	unsigned long function;
	/* What the kernel has missed before it was registered for the last time. */
	unsigned long missed;
	bool returns;
	struct rt_fprobe *next;
};

/* Those that are not for returns, and those that are. */
static struct rt_fprobe *rt_fprobes[2];
static DEFINE_MUTEX(rt_fprobes_lock);

struct rt_fprobe *rt_fprobe_get(bool returns)
{
	struct rt_fprobe *probe;

	mutex_lock(&rt_fprobes_lock);
	probe = rt_fprobes[returns];
	if (probe)
		rt_fprobes[returns] = probe->next;
	mutex_unlock(&rt_fprobes_lock);
	if (!probe) {
		probe = kzalloc(sizeof(*probe), GFP_KERNEL);
		if (!probe)
			return NULL;
		probe->returns = returns;
	}
	probe->missed = 0;
	probe->probe.nmissed = 0;
	return probe;
}

void rt_fprobe_put(struct rt_fprobe *probe)
{
	mutex_lock(&rt_fprobes_lock);
	probe->next = rt_fprobes[probe->returns];
	rt_fprobes[probe->returns] = probe;
	mutex_unlock(&rt_fprobes_lock);
}

static void rt_fprobe_free_all(struct rt_fprobe *probe)
{
	while (probe) {
		struct rt_fprobe *next = probe->next;

		kfree(probe);
		probe = next;
	}
}

void rt_fprobe_exit(void)
{
	rt_fprobe_free_all(rt_fprobes[false]);
	rt_fprobe_free_all(rt_fprobes[true]);
}

static int rt_fprobe_hit(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			 struct ftrace_regs *fregs, void *data)
{
	const struct rt_fprobe *own = container_of(fp, struct rt_fprobe, probe);

	rtrace_function_hit(own->data, ip, 0, &arch_ftrace_regs(fregs)->regs, NULL);
	return 0;
}

static int rt_fprobe_begin(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			   struct ftrace_regs *fregs, void *data)
{
	const struct rt_fprobe *own = container_of(fp, struct rt_fprobe, probe);
	u64 *words = data;

	words[0] = own->generation;
	rtrace_function_begin(own->data, &arch_ftrace_regs(fregs)->regs, words + 1);
	return 0;
}

static int rt_fprobe_begin_at(struct fprobe *fp, unsigned long ip,
			      unsigned long ret_ip, struct ftrace_regs *fregs,
			      void *data)
{
	const struct rt_fprobe *own = container_of(fp, struct rt_fprobe, probe);
	u64 *words = data;

	words[0] = own->generation;
	rtrace_function_begin_at(own->data, ip, &arch_ftrace_regs(fregs)->regs,
				 words + 1);
	return 0;
}

static void rt_fprobe_end(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			  struct ftrace_regs *fregs, void *data)
{
	const struct rt_fprobe *own = container_of(fp, struct rt_fprobe, probe);
	const u64 *words = data;

	if (words && words[0] == own->generation)
		rtrace_function_hit(own->data, ip, ret_ip, &arch_ftrace_regs(fregs)->regs,
				    words + 1);
}

/*
 * Of one function nothing needs to be kept, not even which registration a call began
 * under: its return is one of that function whichever that was.
 */
static void rt_fprobe_return(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			     struct ftrace_regs *fregs, void *data)
{
	const struct rt_fprobe *own = container_of(fp, struct rt_fprobe, probe);

	if (ip == own->function)
		rtrace_function_hit(own->data, ip, ret_ip, &arch_ftrace_regs(fregs)->regs,
				    NULL);
}

int rt_fprobe_register(struct rt_fprobe *probe, const void *data, int words,
		       bool placed, unsigned long *addresses, int count)
{
	int ret = security_locked_down(LOCKDOWN_KPROBES);

	if (ret)
		return ret;
	if (probe->returns != (words >= 0))
		return -EINVAL;
	probe->data = data;
	probe->generation = ktime_get_ns();
	probe->missed += probe->probe.nmissed;
	probe->function = addresses[0];
	if (words < 0)
		probe->probe = (struct fprobe) { .entry_handler = rt_fprobe_hit };
	else if (!words && count == 1)
		probe->probe = (struct fprobe) { .exit_handler = rt_fprobe_return };
	else
		probe->probe = (struct fprobe) {
			.entry_handler = placed ? rt_fprobe_begin_at : rt_fprobe_begin,
			.exit_handler = rt_fprobe_end,
			.entry_data_size = (words + 1) * sizeof(u64),
		};
	return register_fprobe_ips(&probe->probe, addresses, count);
}

void rt_fprobe_unregister(struct rt_fprobe *probe)
{
	unregister_fprobe(&probe->probe);
}

unsigned long rt_fprobe_missed(const struct rt_fprobe *probe)
{
	return probe->missed + probe->probe.nmissed;
}
#else
struct rt_fprobe *rt_fprobe_get(bool returns)
{
	return NULL;
}

void rt_fprobe_put(struct rt_fprobe *probe)
{
}

void rt_fprobe_exit(void)
{
}

int rt_fprobe_register(struct rt_fprobe *probe, const void *data, int words,
		       bool placed, unsigned long *addresses, int count)
{
	return -ENODEV;
}

void rt_fprobe_unregister(struct rt_fprobe *probe)
{
}

unsigned long rt_fprobe_missed(const struct rt_fprobe *probe)
{
	return 0;
}
#endif
