// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include <linux/slab.h>
#include <rt_view.h>

/* The view of a slab cache; rt_views/kmem.h fills it. */
struct kmem_cache {
	const char *name;
	unsigned int object_size;
	unsigned int size;
	slab_flags_t flags;
};

#define RT_ABSENT_mm_page_alloc_extfrag 1
RT_ABSENT("kmem", mm_page_alloc_extfrag,
	  "get_pfnblock_migratetype() is not exported");
#define RT_ABSENT_rss_stat 1
RT_ABSENT("kmem", rss_stat, "ptr_to_hashval() is not exported");

#define RT_VIEWS <rt_views/kmem.h>
#define CREATE_TRACE_POINTS
#include <trace/events/kmem.h>
