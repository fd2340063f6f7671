// SPDX-License-Identifier: GPL-2.0
#include <linux/types.h>

/* What this event takes apart is known to the driver alone. */
#define RT_ABSENT_ifs_sbaf 1

union ifs_sbaf {
	u64 data;
};

union ifs_sbaf_status {
	u64 data;
};

#define CREATE_TRACE_POINTS
#include <trace/events/intel_ifs.h>
