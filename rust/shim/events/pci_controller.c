// SPDX-License-Identifier: GPL-2.0
#include <linux/pci.h>

#define CREATE_TRACE_POINTS
#include <trace/events/pci_controller.h>
