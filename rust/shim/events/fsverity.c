// SPDX-License-Identifier: GPL-2.0
#include <linux/fs.h>
#include <rt_view.h>

/* The views of a file's tree of hashes; rt_views/fsverity.h fills them. */
struct merkle_tree_params {
	unsigned int digest_size;
	unsigned int block_size;
	unsigned int num_levels;
	u64 tree_size;
};

struct fsverity_info {
	const u8 *root_hash;
	const u8 *file_digest;
};

#define RT_VIEWS <rt_views/fsverity.h>
#define CREATE_TRACE_POINTS
#include <trace/events/fsverity.h>
