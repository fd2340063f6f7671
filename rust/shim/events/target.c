// SPDX-License-Identifier: GPL-2.0
/* What scsi_command_size() looks into is in a module, scsi_common. */
#define scsi_command_size_tbl rt_scsi_command_sizes
#include <scsi/scsi_common.h>

/* The length of a command by the upper three bits of its code. */
const unsigned char rt_scsi_command_sizes[8] = { 6, 10, 10, 12, 16, 12, 10, 10 };

#define CREATE_TRACE_POINTS
#include <trace/events/target.h>
