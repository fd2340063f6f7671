// SPDX-License-Identifier: GPL-2.0
/*
 * printf() for the lines of events. The kernel's takes a structure apart for each
 * conversion and strings byte by byte, and is most of what a line costs. This one
 * knows what nearly all events print, whole numbers and strings, and copies words.
 *
 * What it does not know, and what does not fit, goes to the kernel's, so that there
 * is one truth about both.
 */
#include <linux/bitops.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/hex.h>
#include <linux/string.h>
#include <linux/trace_seq.h>
#include <linux/unaligned.h>
#include <asm/word-at-a-time.h>
#include "../events.h"

/* A conversion that is wider is the kernel's. */
#define WIDEST 255
/* A % with what belongs to it, when the kernel is asked for it alone. */
#define LONGEST 16

/* What stands between a % and the letter of its conversion. */
struct spec {
	bool left;
	bool zeros;
	bool prefix;
	unsigned int width;
	unsigned int size;
};

/* The letter after the rest, which goes to @spec. */
static const char *read_spec(const char *fmt, struct spec *spec)
{
	*spec = (struct spec) { .size = sizeof(int) };
	for (;; fmt++) {
		if (*fmt == '0')
			spec->zeros = true;
		else if (*fmt == '-')
			spec->left = true;
		else if (*fmt == '#')
			spec->prefix = true;
		else
			break;
	}
	while (isdigit(*fmt) && spec->width <= WIDEST)
		spec->width = spec->width * 10 + (*fmt++ - '0');
	if (*fmt == 'l') {
		spec->size = sizeof(long);
		fmt += fmt[1] == 'l' ? 2 : 1;
	} else if (*fmt == 'h') {
		spec->size = fmt[1] == 'h' ? sizeof(char) : sizeof(short);
		fmt += fmt[1] == 'h' ? 2 : 1;
	} else if (*fmt == 'z') {
		spec->size = sizeof(size_t);
		fmt++;
	}
	return fmt;
}

#ifdef CONFIG_DCACHE_WORD_ACCESS
#define load_text load_unaligned_zeropad
#else
/* The next bytes of a string, zeros after its end. */
static unsigned long load_text(const char *from)
{
	unsigned long word = 0;
	unsigned int i;

	for (i = 0; i < sizeof(word) && from[i]; i++)
		word |= (unsigned long)(u8)from[i] << i * BITS_PER_BYTE;
	return word;
}
#endif

/*
 * Copies up to the NUL, or the first @stop, to what ends at @end. Advances @from to
 * it, and returns where it would be; NULL when there is no room. Up to seven bytes
 * after it are read and written, but never after @end; what cannot be read there
 * is zeros.
 */
static __always_inline char *copy_text(char *to, const char *end, const char **from, char stop)
{
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	const char *at = *from;

	for (; end - to >= (long)sizeof(unsigned long); to += sizeof(long), at += sizeof(long)) {
		unsigned long word = load_text(at);
		unsigned long found, stops;

		put_unaligned(word, (unsigned long *)to);
		found = has_zero(word, &stops, &constants);
		if (stop)
			found |= has_zero(word ^ REPEAT_BYTE(stop), &stops, &constants);
		if (found) {
			/* Only what is above the lowest may be wrong. */
			unsigned int bytes = __ffs(found) / BITS_PER_BYTE;

			*from = at + bytes;
			return to + bytes;
		}
	}
	return NULL;
}

static unsigned int decimal_digits(u64 value)
{
	unsigned int digits = 1;

	for (; value >= 10000; value /= 10000)
		digits += 4;
	return digits + (value >= 10) + (value >= 100) + (value >= 1000);
}

static unsigned int hex_digits(u64 value)
{
	return value ? DIV_ROUND_UP(fls64(value), 4) : 1;
}

/* Writes a number; NULL when there is no room. @kind: the letter, one of diuxX. */
static char *put_number(char *to, const char *end, u64 value, const struct spec *spec, char kind)
{
	bool hex = (kind | 0x20) == 'x';
	bool minus = false;
	unsigned int digits, bytes, i;
	unsigned int blanks = 0;

	if ((kind == 'd' || kind == 'i') && (s64)value < 0) {
		minus = true;
		value = -value;
	}
	digits = hex ? hex_digits(value) : decimal_digits(value);
	bytes = digits + minus + (hex && spec->prefix ? 2 : 0);
	if (spec->width > bytes)
		blanks = spec->width - bytes;
	if (end - to <= bytes + blanks)
		return NULL;
	if (!spec->left && !spec->zeros)
		for (; blanks; blanks--)
			*to++ = ' ';
	if (minus)
		*to++ = '-';
	if (hex && spec->prefix) {
		*to++ = '0';
		*to++ = kind;
	}
	if (!spec->left)
		for (; blanks; blanks--)
			*to++ = '0';
	if (hex) {
		for (i = digits; i--; value >>= 4)
			to[i] = hex_asc_upper[value & 0xf] | (kind & 0x20);
	} else {
		for (i = digits; i--; value /= 10)
			to[i] = '0' + value % 10;
	}
	to += digits;
	for (; blanks; blanks--)
		*to++ = ' ';
	return to;
}

/* Widened from the bytes that the format asks for, as an int or longer was passed. */
static u64 cut(u64 value, unsigned int size, char kind)
{
	bool is_signed = kind == 'd' || kind == 'i';

	switch (size) {
	case sizeof(u64):
		return value;
	case sizeof(u32):
		return is_signed ? (u64)(s32)value : (u32)value;
	case sizeof(u16):
		return is_signed ? (u64)(s16)value : (u16)value;
	default:
		return is_signed ? (u64)(s8)value : (u8)value;
	}
}

/* Writes a string; NULL when there is no room. */
static char *put_string(char *to, const char *end, const char *string, const struct spec *spec)
{
	const char *start = to;
	unsigned int len;

	if (spec->width && !spec->left) {
		len = strnlen(string, spec->width);
		if (end - to <= spec->width)
			return NULL;
		for (; len < spec->width; len++)
			*to++ = ' ';
	}
	to = copy_text(to, end, &string, '\0');
	if (!to || !spec->left)
		return to;
	len = to - start;
	if (len < spec->width && end - to <= spec->width - len)
		return NULL;
	for (; len < spec->width; len++)
		*to++ = ' ';
	return to;
}

/* Of what vsnprintf() would not follow it writes a name. */
static bool followed(const char *string)
{
	return (unsigned long)string >= PAGE_SIZE && !IS_ERR(string);
}

/* Has the kernel print a conversion alone; where the text goes on, or NULL. */
static char *print_one(struct trace_seq *s, char *to, const char *fmt, const char *end,
		       const void *value)
{
	char one[LONGEST];

	memcpy(one, fmt, end - fmt);
	one[end - fmt] = '\0';
	s->seq.len = to - s->seq.buffer;
	trace_seq_printf(s, one, value);
	return s->full ? NULL : s->seq.buffer + s->seq.len;
}

/* As trace_seq_vprintf(). */
void rt_vprintf(struct trace_seq *s, const char *fmt, va_list args)
{
	const char *whole = fmt, *end = s->seq.buffer + s->seq.size;
	size_t before = s->seq.len;
	char *to = s->seq.buffer + before;
	struct spec spec;
	va_list again;

	if (s->full)
		return;
	va_copy(again, args);
	for (;;) {
		const char *percent;
		const char *string;
		u64 value;

		to = copy_text(to, end, &fmt, '%');
		if (!to)
			goto no_room;
		if (!*fmt)
			break;
		percent = fmt;
		fmt = read_spec(fmt + 1, &spec);
		if (spec.width > WIDEST)
			goto rest;
		switch (*fmt) {
		case 'd':
		case 'i':
		case 'u':
		case 'x':
		case 'X':
			value = spec.size == sizeof(u64) ? va_arg(args, u64) : va_arg(args, u32);
			to = put_number(to, end, cut(value, spec.size, *fmt), &spec, *fmt);
			fmt++;
			break;
		case 's':
			if (spec.size != sizeof(int) || fmt - percent >= LONGEST - 1)
				goto rest;
			fmt++;
			string = va_arg(args, const char *);
			if (followed(string))
				to = put_string(to, end, string, &spec);
			else
				to = print_one(s, to, percent, fmt, string);
			break;
		case 'p':
			while (isalnum(*fmt))
				fmt++;
			if (spec.size != sizeof(int) || fmt - percent >= LONGEST)
				goto rest;
			to = print_one(s, to, percent, fmt, va_arg(args, const void *));
			break;
		case 'c':
			if (fmt != percent + 1 || end - to <= 1)
				goto rest;
			fmt++;
			*to++ = va_arg(args, int);
			break;
		case '%':
			if (fmt != percent + 1 || end - to <= 1)
				goto rest;
			fmt++;
			*to++ = '%';
			break;
		default:
			goto rest;
		}
		if (!to)
			goto no_room;
		continue;
rest:
		s->seq.len = to - s->seq.buffer;
		trace_seq_vprintf(s, percent, args);
		if (s->full)
			s->seq.len = before;
		goto done;
	}
	s->seq.len = to - s->seq.buffer;
	goto done;
no_room:
	s->seq.len = before;
	trace_seq_vprintf(s, whole, again);
done:
	va_end(again);
}

/* As trace_seq_printf(). */
void rt_printf(struct trace_seq *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	rt_vprintf(s, fmt, args);
	va_end(args);
}
