// SPDX-License-Identifier: GPL-2.0
/* The bodies of kprobe.h, in the same order. */
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/tracepoint-defs.h>

#include "kprobe.h"

struct rt_kprobe {
	struct kretprobe ret;
	const void *data;
	bool returns;
};

static int rt_kprobe_hit(struct kprobe *kp, struct pt_regs *regs)
{
	struct rt_kprobe *probe = container_of(kp, struct rt_kprobe, ret.kp);

	rtrace_kprobe_hit(probe->data, regs, 0, NULL);
	return 0;
}
NOKPROBE_SYMBOL(rt_kprobe_hit);

#ifdef CONFIG_KRETPROBES
static int rt_kprobe_begin(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	struct kretprobe *ret = get_kretprobe(instance);

	if (ret)
		rtrace_kprobe_begin(container_of(ret, struct rt_kprobe, ret)->data,
				    regs, (u64 *)instance->data);
	return 0;
}
NOKPROBE_SYMBOL(rt_kprobe_begin);

static int rt_kprobe_return(struct kretprobe_instance *instance,
			    struct pt_regs *regs)
{
	struct kretprobe *ret = get_kretprobe(instance);

	/*
	 * Null: it was unregistered while the function ran. The registers have the
	 * caller; the instance has a trampoline when the function has two such probes.
	 */
	if (ret)
		rtrace_kprobe_hit(container_of(ret, struct rt_kprobe, ret)->data,
				  regs, instruction_pointer(regs),
				  ret->data_size ? (u64 *)instance->data : NULL);
	return 0;
}
NOKPROBE_SYMBOL(rt_kprobe_return);
#endif

int rt_kprobe_register(const char *symbol, unsigned long address,
		       unsigned int offset, int max_active, bool keeps,
		       struct rt_kprobe **made)
{
	struct rt_kprobe *probe;
	int ret;

	ret = security_locked_down(LOCKDOWN_KPROBES);
	if (ret)
		return ret;
	probe = kzalloc(sizeof(*probe), GFP_KERNEL);
	if (!probe)
		return -ENOMEM;
	probe->returns = max_active >= 0;
	probe->ret.kp.symbol_name = symbol;
	probe->ret.kp.addr = (kprobe_opcode_t *)address;
	probe->ret.kp.offset = offset;
	probe->ret.kp.flags = KPROBE_FLAG_DISABLED;
	if (!probe->returns) {
		probe->ret.kp.pre_handler = rt_kprobe_hit;
		ret = register_kprobe(&probe->ret.kp);
#ifdef CONFIG_KRETPROBES
	} else {
		probe->ret.handler = rt_kprobe_return;
		probe->ret.maxactive = max_active;
		if (keeps) {
			probe->ret.entry_handler = rt_kprobe_begin;
			probe->ret.data_size = RT_KPROBE_WORDS * sizeof(u64);
		}
		ret = register_kretprobe(&probe->ret);
#else
	} else {
		ret = -EOPNOTSUPP;
#endif
	}
	if (ret) {
		kfree(probe);
		return ret;
	}
	/* The caller's string goes. */
	probe->ret.kp.symbol_name = NULL;
	if (within_module((unsigned long)probe->ret.kp.addr, THIS_MODULE)) {
		rt_kprobe_put(probe);
		return -EINVAL;
	}
	*made = probe;
	return 0;
}

/* Their addresses are those of the probes that the kernel knows. */
static_assert(offsetof(struct rt_kprobe, ret) == 0);
static_assert(offsetof(struct kretprobe, kp) == 0);

void rt_kprobe_put(struct rt_kprobe *probe)
{
	rt_kprobes_unregister(&probe, 1);
}

void rt_kprobes_unregister(struct rt_kprobe **probes, int count)
{
	int i;

	if (count && probes[0]->returns)
		unregister_kretprobes((struct kretprobe **)probes, count);
	else
		unregister_kprobes((struct kprobe **)probes, count);
	for (i = 0; i < count; i++)
		kfree(probes[i]);
}

bool rt_kprobe_returns(const struct rt_kprobe *probe)
{
	return probe->returns;
}

int rt_kprobe_enable(struct rt_kprobe *probe, const void *data)
{
	int ret = security_locked_down(LOCKDOWN_KPROBES);

	probe->data = data;
	return ret ?: enable_kprobe(&probe->ret.kp);
}

void rt_kprobe_disable(struct rt_kprobe *probe)
{
	disable_kprobe(&probe->ret.kp);
}

unsigned long rt_kprobe_address(const struct rt_kprobe *probe)
{
	return (unsigned long)probe->ret.kp.addr;
}

bool rt_kprobe_at_entry(const struct rt_kprobe *probe)
{
	return probe->ret.kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY;
}

bool rt_kprobe_at_hook(const struct rt_kprobe *probe)
{
	u32 flags = probe->ret.kp.flags;

	return !probe->returns && (flags & KPROBE_FLAG_FTRACE) &&
	       !(flags & KPROBE_FLAG_GONE);
}

bool rt_kprobe_is_gone(const struct rt_kprobe *probe)
{
	return probe->ret.kp.flags & KPROBE_FLAG_GONE;
}

int rt_kprobes_locked_down(void)
{
	return security_locked_down(LOCKDOWN_KPROBES);
}

int rt_kprobe_max_active(const struct rt_kprobe *probe)
{
	return probe->ret.maxactive;
}

unsigned long rt_kprobe_missed(const struct rt_kprobe *probe)
{
	return probe->ret.kp.nmissed + probe->ret.nmissed;
}

unsigned long rt_symbol_address(const char *name)
{
	/* At the beginning of a function it would be moved after an ENDBR. */
	struct kprobe probe = {
		.symbol_name = name,
		.offset = 1,
		.flags = KPROBE_FLAG_DISABLED,
	};

	/* It fails after it has looked the address up, but for some code. */
	if (!register_kprobe(&probe))
		unregister_kprobe(&probe);
	return probe.addr ? (unsigned long)probe.addr - 1 : 0;
}

unsigned long rt_tracepoint_entry(const struct tracepoint *tracepoint)
{
	struct kprobe probe = {
		.addr = (kprobe_opcode_t *)tracepoint->probestub,
		.flags = KPROBE_FLAG_DISABLED,
	};

	/* The address is moved first, whether it can be probed or not. */
	if (!register_kprobe(&probe))
		unregister_kprobe(&probe);
	return (unsigned long)probe.addr;
}

unsigned long rt_dentry_name(void)
{
	return offsetof(struct dentry, d_name.name);
}

unsigned long rt_file_dentry(void)
{
	return offsetof(struct file, f_path.dentry);
}
