// SPDX-License-Identifier: GPL-2.0
#include <linux/kernel.h>
#include <xen/interface/xen.h>
#include <xen/interface/xen-mca.h>

/* The kernel's own names are private. The header knows the numbers. */
static notrace const char *xen_hypercall_name(unsigned int number)
{
#define HYPERCALL(name) [__HYPERVISOR_##name] = "(" #name ")",
	static const char *const names[] = {
#include <asm/xen-hypercalls.h>
	};
#undef HYPERCALL

	return number < ARRAY_SIZE(names) && names[number] ? names[number] : "";
}

#define CREATE_TRACE_POINTS
#include <trace/events/xen.h>
