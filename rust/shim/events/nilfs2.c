// SPDX-License-Identifier: GPL-2.0
#include <linux/blk_types.h>
#include <linux/fs.h>

/* The stages that this event names are known to the file system alone. */
#define RT_ABSENT_nilfs2_collection_stage_transition 1

struct nilfs_transaction_info;

#define CREATE_TRACE_POINTS
#include <trace/events/nilfs2.h>
