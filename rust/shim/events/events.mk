# SPDX-License-Identifier: GPL-2.0
# The objects of the expanded TRACE_EVENT headers, and the flags they need.
# Included by the top Kbuild; $(rt-events) are the objects, in link order: the
# tables' bounds are the first and the last.

# Before the kernel's own folders, so that <trace/define_trace.h> is ours.
NOSTDINC_FLAGS += -I$(src)/rust/shim/events/include

rt-events-y := sched irq timer signal task workqueue power module printk rcu
rt-events-y += nmi msr kmem percpu oom writeback
rt-events-$(CONFIG_X86_LOCAL_APIC) += irq_vectors
rt-events-$(CONFIG_HAVE_SYSCALL_TRACEPOINTS) += syscalls
rt-events-$(CONFIG_BLOCK) += block
rt-events-$(CONFIG_NET) += net skb napi

# It names itself by a path that only its own folder resolves.
CFLAGS_rust/shim/events/irq_vectors.o := -I$(srctree)/arch/x86/include/asm/trace

rt-events := $(patsubst %,rust/shim/events/%.o, \
	exports printer first $(rt-events-y) last)
