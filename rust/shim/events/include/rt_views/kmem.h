/* SPDX-License-Identifier: GPL-2.0 */
/* From the allocator's struct kmem_cache to the view of kmem.c; see rt_view.h. */

RT_PLACE(kmem_cache, name);
RT_PLACE(kmem_cache, object_size);
RT_PLACE(kmem_cache, size);
RT_PLACE(kmem_cache, flags);

static notrace void
rt_view_kmem_cache_alloc(void *cookie, unsigned long call_site, const void *ptr,
			 struct kmem_cache *cache, gfp_t gfp_flags, int node)
{
	struct kmem_cache view = {
		.name = RT_READ(cache, kmem_cache, name, char *),
		.object_size = RT_READ(cache, kmem_cache, object_size, unsigned int),
		.size = RT_READ(cache, kmem_cache, size, unsigned int),
		.flags = RT_READ(cache, kmem_cache, flags, slab_flags_t),
	};

	rt_probe_kmem_cache_alloc(cookie, call_site, ptr, &view, gfp_flags, node);
}
RT_NEEDS(rt_view_kmem_cache_alloc, kmem_cache, name, 8, PTR);
RT_NEEDS(rt_view_kmem_cache_alloc, kmem_cache, object_size, 4, INT);
RT_NEEDS(rt_view_kmem_cache_alloc, kmem_cache, size, 4, INT);
RT_NEEDS(rt_view_kmem_cache_alloc, kmem_cache, flags, sizeof(slab_flags_t), INT);
#define rt_probe_kmem_cache_alloc rt_view_kmem_cache_alloc

static notrace void
rt_view_kmem_cache_free(void *cookie, unsigned long call_site, const void *ptr,
			const struct kmem_cache *cache)
{
	struct kmem_cache view = {
		.name = RT_READ(cache, kmem_cache, name, char *),
	};

	rt_probe_kmem_cache_free(cookie, call_site, ptr, &view);
}
RT_NEEDS(rt_view_kmem_cache_free, kmem_cache, name, 8, PTR);
#define rt_probe_kmem_cache_free rt_view_kmem_cache_free
