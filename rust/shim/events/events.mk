# SPDX-License-Identifier: GPL-2.0
# The objects of the expanded TRACE_EVENT headers, and the flags they need.
# Included by the top Kbuild: $(rt-events). The objects between first and last, the
# bounds of the tables, must stay in this order.

# RTRACE_ALL_EVENTS=1: also those of drivers that this kernel does not have, to see
# whether they compile.
#
# In the order in which ftrace lists them. An event of a subsystem that is off
# has no tracepoint and is not offered; a line has a condition where the header
# then does not compile, or where it would not be missed.
rt-events-y += initcall
rt-events-$(CONFIG_XEN) += xen
rt-events-$(CONFIG_X86_LOCAL_APIC) += irq_vectors
rt-events-y += nmi x86_fpu
rt-events-$(CONFIG_X86_MCE) += mce
rt-events-$(CONFIG_HYPERV) += hyperv
rt-events-y += tlb exceptions task cpuhp irq signal workqueue notifier ipi sched
rt-events-$(CONFIG_SCHED_CLASS_EXT) += sched_ext
rt-events-y += lock printk rcu
rt-events-$(CONFIG_GENERIC_IRQ_MATRIX_ALLOCATOR) += irq_matrix
rt-events-$(CONFIG_HAS_DMA) += dma
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
rt-events-y += pagemap vmalloc
rt-events-$(CONFIG_COMPACTION) += compaction
rt-events-$(CONFIG_KSM) += ksm
rt-events-$(CONFIG_TRANSPARENT_HUGEPAGE) += thp
rt-events-$(CONFIG_MEMCG) += memcg
rt-events-$(CONFIG_DAMON) += damon
rt-events-$(CONFIG_MEMORY_FAILURE) += memory_failure
rt-events-$(CONFIG_MEMORY_ISOLATION) += page_isolation
rt-events-$(CONFIG_CMA) += cma
rt-events-y += timestamp writeback
rt-events-$(CONFIG_FSNOTIFY) += fsnotify
rt-events-$(CONFIG_FILE_LOCKING) += filelock
rt-events-$(CONFIG_FS_VERITY) += fsverity
rt-events-$(CONFIG_COREDUMP) += coredump
rt-events-$(CONFIG_FS_DAX) += fs_dax
rt-events-$(CONFIG_HUGETLBFS) += hugetlbfs
rt-events-y += capability
rt-events-$(CONFIG_BLOCK) += block
rt-events-$(CONFIG_BLK_WBT) += wbt
rt-events-$(CONFIG_IO_URING) += io_uring
rt-events-$(CONFIG_SECURITY_SELINUX) += avc
rt-events-y += msr
rt-events-$(CONFIG_GPIOLIB) += gpio
rt-events-$(CONFIG_PWM) += pwm
rt-events-$(CONFIG_PCI) += pci pci_controller
rt-events-$(CONFIG_COMMON_CLK) += clk
rt-events-$(CONFIG_REGULATOR) += regulator
rt-events-$(CONFIG_IOMMU_API) += iommu
rt-events-$(CONFIG_DMA_SHARED_BUFFER) += dma_buf dma_fence
rt-events-$(CONFIG_SPI) += spi
rt-events-$(CONFIG_SPI_MEM) += spi_mem
rt-events-$(CONFIG_PHYLIB) += mdio
rt-events-$(CONFIG_RTC_CLASS) += rtc
rt-events-$(CONFIG_I2C) += i2c smbus
rt-events-$(CONFIG_HWMON) += hwmon
rt-events-$(CONFIG_PM_DEVFREQ) += devfreq
rt-events-$(CONFIG_TSM_MEASUREMENTS) += tsm_mr
rt-events-$(CONFIG_RAS) += ras
rt-events-$(CONFIG_NET) += neigh
rt-events-$(CONFIG_PAGE_POOL) += page_pool
rt-events-$(CONFIG_BRIDGE) += bridge
rt-events-$(CONFIG_NET) += qdisc
rt-events-$(CONFIG_INET) += fib tcp udp
rt-events-$(CONFIG_NET) += sock napi net skb netlink
rt-events-$(CONFIG_INET) += icmp
rt-events-$(CONFIG_BPF_SYSCALL) += bpf_test_run
rt-events-$(CONFIG_IPV6) += fib6
rt-events-$(CONFIG_MPTCP) += mptcp
rt-events-$(CONFIG_NET_DEVLINK) += devlink
rt-events-$(CONFIG_NET_HANDSHAKE) += handshake
rt-events-y += maple_tree

# Mostly of modules: sources/modules.rs offers them while theirs is loaded.
rt-events-$(CONFIG_NET_9P) += 9p
rt-events-$(CONFIG_DRM_ACCEL_AMDXDNA) += amdxdna
rt-events-$(CONFIG_SND_SOC) += asoc
rt-events-$(CONFIG_DLM) += dlm
rt-events-$(CONFIG_FIREWIRE) += firewire
rt-events-$(CONFIG_FIREWIRE_OHCI) += firewire_ohci
rt-events-$(CONFIG_FSCACHE) += fscache
rt-events-$(CONFIG_TRACE_GPU_MEM) += gpu_mem
rt-events-$(CONFIG_I2C_SLAVE) += i2c_slave
rt-events-$(CONFIG_INFINIBAND_USER_MAD) += ib_umad
rt-events-$(CONFIG_INTEL_IFS) += intel_ifs
rt-events-$(CONFIG_INTEL_ISH_HID) += intel_ish
rt-events-$(CONFIG_SCSI_ISCSI_ATTRS) += iscsi
rt-events-$(CONFIG_JBD2) += jbd2
rt-events-$(CONFIG_KVM) += kvm
rt-events-$(CONFIG_MQ_IOSCHED_KYBER) += kyber
rt-events-$(CONFIG_ATA) += libata
rt-events-$(CONFIG_MLXSW_SPECTRUM) += mlxsw
rt-events-$(CONFIG_MMC) += mmc
rt-events-$(CONFIG_BLK_DEV_NBD) += nbd
rt-events-$(CONFIG_NETFS_SUPPORT) += netfs
rt-events-$(CONFIG_NILFS2_FS) += nilfs2
rt-events-$(CONFIG_OBJAGG) += objagg
rt-events-$(CONFIG_SCSI_QLA_FC) += qla
rt-events-$(CONFIG_QRTR) += qrtr
rt-events-$(CONFIG_INFINIBAND) += rdma_core
rt-events-$(CONFIG_SUNRPC_GSS) += rpcgss
rt-events-$(CONFIG_IP_SCTP) += sctp
rt-events-$(CONFIG_SND_SOC_SOF) += sof
rt-events-$(CONFIG_SND_SOC_SOF_HDA_COMMON) += sof_intel
rt-events-$(CONFIG_SUNRPC) += sunrpc
rt-events-$(CONFIG_TARGET_CORE) += target
rt-events-$(CONFIG_VIDEO_DEV) += v4l2
rt-events-$(CONFIG_VIDEOBUF2_CORE) += vb2
rt-events-$(CONFIG_VIRTIO_VSOCKETS_COMMON) += vsock_virtio_transport_common
rt-events-$(CONFIG_WATCHDOG_CORE) += watchdog

rt-events := $(patsubst %,rust/shim/events/%.o, \
	access exports printer printf $(if $(filter y,$(CONFIG_KUNIT)),printf_test) \
	syscall_print syscall_probe syscall_table \
	first $(rt-events-y) $(rt-events-m) $(if $(RTRACE_ALL_EVENTS),$(rt-events-)) last)

# Before the kernel's own folders, so that <trace/define_trace.h> is ours.
$(addprefix $(obj)/,$(rt-events)): NOSTDINC_FLAGS += -I$(src)/rust/shim/events/include

# Expanded macros have no lines to step through, and would be nine tenths of the
# module.
$(foreach object,$(rt-events),$(eval CFLAGS_$(object) := -g0))

# This header names itself by a path that only its own folder resolves.
CFLAGS_rust/shim/events/irq_vectors.o += -I$(srctree)/arch/x86/include/asm/trace

