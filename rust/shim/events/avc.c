// SPDX-License-Identifier: GPL-2.0
#include <rt_view.h>

/* The view of what SELinux audits; rt_views/avc.h fills it. */
struct selinux_audit_data {
	u32 requested;
	u32 denied;
	u32 audited;
	int result;
};

#define RT_VIEWS <rt_views/avc.h>
#define CREATE_TRACE_POINTS
#include <trace/events/avc.h>
