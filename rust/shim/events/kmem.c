// SPDX-License-Identifier: GPL-2.0
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sprintf.h>
#include <rt_view.h>

/* The view of a slab cache; rt_views/kmem.h fills it. */
struct kmem_cache {
	const char *name;
	unsigned int object_size;
	unsigned int size;
	slab_flags_t flags;
};

/* Of the kernel's functions that the header calls, two are not exported. */

/* A page block's bits lie next to those of its neighbours, in a public bitmap. */
static notrace enum migratetype
rt_get_pfnblock_migratetype(const struct page *page, unsigned long pfn)
{
#ifdef CONFIG_SPARSEMEM
	const unsigned long *bitmap = __pfn_to_section(pfn)->usage->pageblock_flags;
	unsigned long index = pfn & (PAGES_PER_SECTION - 1);
#else
	const struct zone *zone = page_zone(page);
	const unsigned long *bitmap = zone->pageblock_flags;
	unsigned long index = pfn - pageblock_start_pfn(zone->zone_start_pfn);
#endif
	unsigned long bit = (index >> pageblock_order) * NR_PAGEBLOCK_BITS;
	unsigned long bits = READ_ONCE(bitmap[BIT_WORD(bit)]) >> (bit % BITS_PER_LONG);

#ifdef CONFIG_MEMORY_ISOLATION
	if (bits & PAGEBLOCK_ISO_MASK)
		return MIGRATE_ISOLATE;
#endif
	return bits & PAGEBLOCK_MIGRATETYPE_MASK;
}
#define get_pfnblock_migratetype rt_get_pfnblock_migratetype

/* "%p" prints the same hash; before there is a key for it, it prints no number. */
static notrace int rt_ptr_to_hashval(const void *ptr, unsigned long *hash)
{
	char text[2 * sizeof(ptr) + 1];

	snprintf(text, sizeof(text), "%p", ptr);
	return kstrtoul(text, 16, hash) ? -EBUSY : 0;
}
#define ptr_to_hashval rt_ptr_to_hashval

static bool rt_pointers_are_plain(void)
{
	const void *some = &rt_pointers_are_plain;
	unsigned long hash;

	return !rt_ptr_to_hashval(some, &hash) && hash == (unsigned long)some;
}
RT_ABSENT("kmem", rss_stat, "\"%p\" does not hash pointers (no_hash_pointers)",
	  rt_pointers_are_plain);

#define RT_VIEWS <rt_views/kmem.h>
#define CREATE_TRACE_POINTS
#include <trace/events/kmem.h>
