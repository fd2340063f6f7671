/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For probes that read a struct which no public header defines. The C file of
 * the header defines that struct itself, as a view: only the members that the
 * header reads, in any order. A function of the real prototype fills a view
 * from the kernel's object and calls the expanded probe with it. Where the
 * members are in the kernel's object is found at load, in the kernel's BTF.
 *
 *   RT_PLACE(thing, size);			room for the place of thing's `size`
 *   RT_NEEDS(probe, thing, size, 4, INT);	probe reads it, an integer of 4 bytes
 *   RT_READ(object, thing, size, unsigned int)	its value
 *   RT_READ_BIT(object, thing, flag)		the same for a bit field of one bit
 *   RT_ADDRESS(object, thing, name)		its address, of an array
 *   RT_NEEDS_AT(probe, thing, id, "key.id", 4, INT)	`id` is a member of a member
 *
 * With RT_OF_MODULE defined before, the struct is one of the module that has the
 * tracepoints: it is looked for in the module's BTF, when the module comes.
 */
#ifndef RT_VIEW_H
#define RT_VIEW_H

#include <linux/cache.h>
#include <linux/kconfig.h>
#include "../../events.h"

#ifdef RT_OF_MODULE
#define RT_PLACE(type, member) \
	static u32 rt_place_##type##_##member __read_mostly
#else
#define RT_PLACE(type, member) \
	static u32 rt_place_##type##_##member __ro_after_init
#endif

#define RT_NEEDS(reader, struct_type, struct_member, size, member_kind)	\
	RT_NEEDS_AT(reader, struct_type, struct_member, #struct_member, size, member_kind)

#define RT_NEEDS_AT(reader, struct_type, struct_member, path, size, member_kind) \
	static const struct rt_layout __used __aligned(8)		\
	__section("rt_layouts")						\
	rt_needs_##reader##_##struct_type##_##struct_member = {		\
		.probe = reader,					\
		.type = #struct_type,					\
		.member = path,						\
		.offset = &rt_place_##struct_type##_##struct_member,	\
		.bytes = size,						\
		.kind = RT_MEMBER_##member_kind,			\
		.of_module = IS_ENABLED(RT_OF_MODULE),			\
	}

#define RT_READ(object, type, member, as) \
	(*(as const *)((const char *)(object) + rt_place_##type##_##member))

#define RT_ADDRESS(object, type, member) \
	((const void *)((const char *)(object) + rt_place_##type##_##member))

#define RT_READ_BIT(object, type, member)				\
	(((const u8 *)(object))[rt_place_##type##_##member / 8] >>	\
	 (rt_place_##type##_##member % 8) & 1)

/*
 * Has the event left out, and the kernel log say why: always when @holds is
 * NULL (then RT_ABSENT_<event> also has to keep it from being compiled), else
 * when it returns true at load.
 */
#define RT_ABSENT(from_system, event, reason, holds)			\
	static const struct rt_absent __used __aligned(8)		\
	__section("rt_absent") rt_absent_##event = {			\
		.system = from_system, .name = #event, .why = reason,	\
		.when = holds }

#endif /* RT_VIEW_H */
