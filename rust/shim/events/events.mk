# SPDX-License-Identifier: GPL-2.0
# The objects of the expanded TRACE_EVENT headers, and the flags they need.
# Included by the top Kbuild. The objects between first and last, which are the
# bounds of the tables, must stay in this order.

# Before the kernel's own folders, so that <trace/define_trace.h> is ours.
NOSTDINC_FLAGS += -I$(src)/rust/shim/events/include

# In the order in which ftrace lists them.
rt-events-$(CONFIG_X86_LOCAL_APIC) += irq_vectors
rt-events-y += nmi task irq signal workqueue sched printk rcu
rt-events-$(CONFIG_HAVE_SYSCALL_TRACEPOINTS) += syscalls
rt-events-$(CONFIG_MODULES) += module
rt-events-y += timer power oom percpu kmem writeback
rt-events-$(CONFIG_BLOCK) += block
rt-events-y += msr
rt-events-$(CONFIG_NET) += napi net skb

# It names itself by a path that only its own folder resolves.
CFLAGS_rust/shim/events/irq_vectors.o := -I$(srctree)/arch/x86/include/asm/trace

rt-events := $(patsubst %,rust/shim/events/%.o, \
	access exports printer first $(rt-events-y) last)
rtrace-y += $(rt-events)
