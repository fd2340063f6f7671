/* SPDX-License-Identifier: GPL-2.0 */
/* From the kernel's structs to the views of fsverity.c; see rt_view.h. */

RT_PLACE(merkle_tree_params, digest_size);
RT_PLACE(merkle_tree_params, block_size);
RT_PLACE(merkle_tree_params, num_levels);
RT_PLACE(merkle_tree_params, tree_size);
RT_PLACE(fsverity_info, root_hash);
RT_PLACE(fsverity_info, file_digest);

static notrace __always_inline struct merkle_tree_params
rt_merkle_view(const void *params)
{
	return (struct merkle_tree_params) {
		.digest_size = RT_READ(params, merkle_tree_params, digest_size, unsigned int),
		.block_size = RT_READ(params, merkle_tree_params, block_size, unsigned int),
		.num_levels = RT_READ(params, merkle_tree_params, num_levels, unsigned int),
		.tree_size = RT_READ(params, merkle_tree_params, tree_size, u64),
	};
}
#define RT_NEEDS_MERKLE(reader)						\
	RT_NEEDS(reader, merkle_tree_params, digest_size, 4, INT);	\
	RT_NEEDS(reader, merkle_tree_params, block_size, 4, INT);	\
	RT_NEEDS(reader, merkle_tree_params, num_levels, 4, INT);	\
	RT_NEEDS(reader, merkle_tree_params, tree_size, 8, INT)

static notrace void
rt_view_fsverity_enable(void *cookie, const struct inode *inode,
			const struct merkle_tree_params *params)
{
	struct merkle_tree_params view = rt_merkle_view(params);

	rt_probe_fsverity_enable(cookie, inode, &view);
}
RT_NEEDS_MERKLE(rt_view_fsverity_enable);
#define rt_probe_fsverity_enable rt_view_fsverity_enable

static notrace void
rt_view_fsverity_tree_done(void *cookie, const struct inode *inode,
			   const struct fsverity_info *file,
			   const struct merkle_tree_params *params)
{
	struct merkle_tree_params view = rt_merkle_view(params);
	struct fsverity_info file_view = {
		.root_hash = RT_ADDRESS(file, fsverity_info, root_hash),
		.file_digest = RT_ADDRESS(file, fsverity_info, file_digest),
	};

	rt_probe_fsverity_tree_done(cookie, inode, &file_view, &view);
}
RT_NEEDS_MERKLE(rt_view_fsverity_tree_done);
RT_NEEDS(rt_view_fsverity_tree_done, fsverity_info, root_hash, 0, ARRAY);
RT_NEEDS(rt_view_fsverity_tree_done, fsverity_info, file_digest, 0, ARRAY);
#define rt_probe_fsverity_tree_done rt_view_fsverity_tree_done

static notrace void
rt_view_fsverity_verify(void *cookie, const struct inode *inode,
			const struct merkle_tree_params *params, u64 position)
{
	struct merkle_tree_params view = rt_merkle_view(params);

	rt_probe_fsverity_verify_data_block(cookie, inode, &view, position);
}
RT_NEEDS_MERKLE(rt_view_fsverity_verify);
#define rt_probe_fsverity_verify_data_block rt_view_fsverity_verify
