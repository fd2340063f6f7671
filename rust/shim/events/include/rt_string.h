/* SPDX-License-Identifier: GPL-2.0 */
/*
 * strscpy() as the assignments of records get it: the same strings, copied by
 * words in place.
 *
 * The kernel's hardened form looks for the end of a string whose object gcc does
 * not know byte by byte, and then calls a function that looks for it once more.
 * The first look is for an object that ends before the string does, or a room
 * that is too short. Where gcc sees that the room is long enough, and that the
 * object is so, too, or nothing of it, that look finds nothing, and is left out.
 */
#ifndef RT_STRING_H
#define RT_STRING_H

#include <linux/args.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/unaligned.h>
#include <asm/word-at-a-time.h>

/* The longest room that is filled in place, a word after the other. */
#define RT_STRSCPY_MOST 64

/*
 * Copies the string at @from, or what fits, to the @size bytes at @to, which end
 * with a NUL then. Returns its length, or -E2BIG when it did not fit. @size is a
 * multiple of a word. What the room has after the word with the NUL stays as it
 * was. @from need not be readable after its NUL: a word may reach into a page that
 * is not there.
 */
static __always_inline ssize_t rt_strscpy_words(char *to, const char *from, size_t size)
{
	const struct word_at_a_time ones = WORD_AT_A_TIME_CONSTANTS;
	size_t at;

#pragma GCC unroll 8
	for (at = 0; at < size; at += sizeof(unsigned long)) {
		unsigned long word = load_unaligned_zeropad(from + at);
		unsigned long found;

		if (has_zero(word, &found, &ones)) {
			found = create_zero_mask(prep_zero_mask(word, found, &ones));
			put_unaligned(word & zero_bytemask(found),
				      (unsigned long *)(to + at));
			return at + find_zero(found);
		}
		if (at + sizeof(word) == size)
			word &= ~0UL >> BITS_PER_BYTE;
		put_unaligned(word, (unsigned long *)(to + at));
	}
	return -E2BIG;
}

static __always_inline ssize_t rt_strscpy(char *to, const char *from, size_t size)
{
	if (__builtin_constant_p(size) && size && size <= RT_STRSCPY_MOST &&
	    size % sizeof(unsigned long) == 0 &&
	    __builtin_object_size(to, 1) >= size && __builtin_object_size(from, 1) >= size)
		return rt_strscpy_words(to, from, size);
	return sized_strscpy(to, from, size);
}

/* The second argument is left out where the room is an array. */
#define RT_STRSCPY_SIZE0(to, ...) (sizeof(to) + __must_be_array(to))
#define RT_STRSCPY_SIZE1(to, size) (size)
#define RT_STRSCPY(to, from, ...)						\
	rt_strscpy(to, from, CONCATENATE(RT_STRSCPY_SIZE, COUNT_ARGS(__VA_ARGS__))(to, __VA_ARGS__))

#endif /* RT_STRING_H */
