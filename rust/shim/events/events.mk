# SPDX-License-Identifier: GPL-2.0
# The objects of the expanded TRACE_EVENT headers, and the flags they need.
# Included by the top Kbuild: $(rt-events). The objects between first and last, the
# bounds of the tables, must stay in this order.

# In the order in which ftrace lists them. An event of a subsystem that is off
# has no tracepoint and is not offered; a line has a condition where the header
# then does not compile, or where nobody would miss it.
rt-events-$(CONFIG_X86_LOCAL_APIC) += irq_vectors
rt-events-y += nmi x86_fpu
rt-events-$(CONFIG_X86_MCE) += mce
rt-events-y += tlb exceptions task cpuhp irq signal workqueue notifier ipi sched
rt-events-y += lock printk rcu
rt-events-$(CONFIG_SWIOTLB) += swiotlb
rt-events-$(CONFIG_HAVE_SYSCALL_TRACEPOINTS) += syscalls
rt-events-$(CONFIG_MODULES) += module
rt-events-y += timer alarmtimer csd
rt-events-$(CONFIG_CGROUPS) += cgroup
rt-events-y += error_report power
rt-events-$(CONFIG_PM) += rpm
rt-events-$(CONFIG_NET) += xdp
rt-events-$(CONFIG_CONTEXT_TRACKING_USER) += context_tracking
rt-events-$(CONFIG_RSEQ) += rseq
rt-events-y += filemap oom readahead vmscan percpu kmem mmap_lock mmap
rt-events-$(CONFIG_MIGRATION) += migrate
rt-events-y += vmalloc
rt-events-$(CONFIG_KSM) += ksm
rt-events-$(CONFIG_TRANSPARENT_HUGEPAGE) += thp
rt-events-$(CONFIG_MEMCG) += memcg
rt-events-$(CONFIG_MEMORY_FAILURE) += memory_failure
rt-events-$(CONFIG_MEMORY_ISOLATION) += page_isolation
rt-events-$(CONFIG_CMA) += cma
rt-events-y += timestamp writeback
rt-events-$(CONFIG_FSNOTIFY) += fsnotify
rt-events-$(CONFIG_FILE_LOCKING) += filelock
rt-events-$(CONFIG_COREDUMP) += coredump
rt-events-y += capability
rt-events-$(CONFIG_BLOCK) += block
rt-events-$(CONFIG_BLK_WBT) += wbt
rt-events-y += msr
rt-events-$(CONFIG_GPIOLIB) += gpio
rt-events-$(CONFIG_PWM) += pwm
rt-events-$(CONFIG_PCI) += pci
rt-events-$(CONFIG_REGULATOR) += regulator
rt-events-$(CONFIG_IOMMU_API) += iommu
rt-events-$(CONFIG_DMA_SHARED_BUFFER) += dma_buf dma_fence
rt-events-$(CONFIG_SPI) += spi
rt-events-$(CONFIG_MDIO_BUS) += mdio
rt-events-$(CONFIG_RTC_CLASS) += rtc
rt-events-$(CONFIG_I2C) += i2c smbus
rt-events-$(CONFIG_HWMON) += hwmon
rt-events-$(CONFIG_NET) += neigh
rt-events-$(CONFIG_PAGE_POOL) += page_pool
rt-events-$(CONFIG_BRIDGE) += bridge
rt-events-$(CONFIG_NET) += qdisc
rt-events-$(CONFIG_INET) += fib tcp udp
rt-events-$(CONFIG_NET) += sock napi net skb netlink
rt-events-$(CONFIG_INET) += icmp
rt-events-y += maple_tree

rt-events := $(patsubst %,rust/shim/events/%.o, \
	access exports printer syscall_print syscall_probe syscall_table \
	first $(rt-events-y) last)

# Before the kernel's own folders, so that <trace/define_trace.h> is ours.
$(addprefix $(obj)/,$(rt-events)): NOSTDINC_FLAGS += -I$(src)/rust/shim/events/include

# Expanded macros have no lines to step through, and would be nine tenths of the
# module.
$(foreach object,$(rt-events),$(eval CFLAGS_$(object) := -g0))

# This header names itself by a path that only its own folder resolves.
CFLAGS_rust/shim/events/irq_vectors.o += -I$(srctree)/arch/x86/include/asm/trace

