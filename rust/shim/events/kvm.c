// SPDX-License-Identifier: GPL-2.0
#include <linux/kvm_host.h>

#define CREATE_TRACE_POINTS
#include <trace/events/kvm.h>
