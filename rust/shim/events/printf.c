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
/* One more than the highest number of eight digits, and what such a number may take. */
#define LONG 100000000
#define SHORT_ROOM (1 + sizeof(u64))

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
	const char *last = end - sizeof(long), *at = *from;

	for (; to <= last; to += sizeof(long), at += sizeof(long)) {
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

/*
 * The eight decimal digits of a number below 10^8, the highest one in the lowest byte. The
 * halves of a word are divided at once, then its quarters.
 */
static __always_inline u64 eight_digits(u32 value)
{
	u64 fours = value / 10000 | (u64)(value % 10000) << 32;
	/* By 100, what is below 10000; then by ten, what is below 100. */
	u64 high = fours * 5243 >> 19 & 0x7f0000007f;
	u64 twos = high | (fours - high * 100) << 16;

	high = twos * 103 >> 10 & 0x000f000f000f000f;
	return high | (twos - high * 10) << 8;
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

/* Writes a number below 10^8 where at least nine bytes are. */
static __always_inline char *put_short(char *to, u32 value, bool minus)
{
	u64 text = eight_digits(value);
	unsigned int above = __ffs(text | 1UL << 56) & ~7;

	*to = '-';
	to += minus;
	if (value < 10) {
		*to = '0' + value;
		return to + 1;
	}
	put_unaligned((text | REPEAT_BYTE('0')) >> above, (u64 *)to);
	return to + sizeof(text) - above / BITS_PER_BYTE;
}

/* Writes a number; NULL when there is no room. @kind: the letter, one of diuxX. */
static noinline char *put_number(char *to, const char *end, u64 value, const struct spec *spec,
				 char kind)
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

/*
 * Writes a number of base ten; NULL when there is no room. Nearly all are below 10^8, either way,
 * and have no width.
 */
static __always_inline char *put_decimal(char *to, const char *end, u64 value,
					 const struct spec *spec, char kind)
{
	bool minus = kind != 'u' && (s64)value < 0;
	u64 number = minus ? -value : value;

	if (number < LONG && !spec->width && end - to > (long)SHORT_ROOM)
		return put_short(to, number, minus);
	return put_number(to, end, value, spec, kind);
}

/* The values of a format, to be taken one after the other by several functions. */
struct values {
	va_list args;
};

/*
 * Writes the conversion at @fmt and advances @fmt, unless it is left to the kernel. NULL when
 * there is no room.
 */
static noinline char *convert(struct trace_seq *s, char *to, const char *end, const char **fmt,
			      struct values *values)
{
	const char *percent = *fmt;
	struct spec spec;
	const char *letter = read_spec(percent + 1, &spec);
	const char *string;
	u64 value;

	if (spec.width > WIDEST)
		return to;
	switch (*letter) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
		*fmt = letter + 1;
		value = spec.size == sizeof(u64) ? va_arg(values->args, u64) :
						   va_arg(values->args, u32);
		value = cut(value, spec.size, *letter);
		if ((*letter | 0x20) == 'x')
			return put_number(to, end, value, &spec, *letter);
		return put_decimal(to, end, value, &spec, *letter);
	case 's':
		if (spec.size != sizeof(int) || letter - percent >= LONGEST - 1)
			return to;
		*fmt = letter + 1;
		string = va_arg(values->args, const char *);
		if (followed(string))
			return put_string(to, end, string, &spec);
		return print_one(s, to, percent, *fmt, string);
	case 'p':
		while (isalnum(*letter))
			letter++;
		if (spec.size != sizeof(int) || letter - percent >= LONGEST)
			return to;
		*fmt = letter;
		return print_one(s, to, percent, letter, va_arg(values->args, const void *));
	case 'c':
		if (letter != percent + 1 || end - to <= 1)
			return to;
		*fmt = letter + 1;
		*to++ = va_arg(values->args, int);
		return to;
	case '%':
		if (letter != percent + 1 || end - to <= 1)
			return to;
		*fmt = letter + 1;
		*to++ = '%';
		return to;
	default:
		return to;
	}
}

/* As trace_seq_vprintf(). */
void rt_vprintf(struct trace_seq *s, const char *fmt, va_list args)
{
	static const struct spec plain = { .size = sizeof(int) };
	const char *whole = fmt, *end = s->seq.buffer + s->seq.size;
	size_t before = s->seq.len;
	char *to = s->seq.buffer + before;
	struct values values;

	if (s->full)
		return;
	va_copy(values.args, args);
	for (;;) {
		const char *string;

		to = copy_text(to, end, &fmt, '%');
		if (!to)
			goto no_room;
		if (!*fmt)
			break;
		/* As nearly all are. */
		if (fmt[1] == 's') {
			string = va_arg(values.args, const char *);
			if (followed(string))
				to = copy_text(to, end, &string, '\0');
			else
				to = print_one(s, to, fmt, fmt + 2, string);
			fmt += 2;
		} else if (fmt[1] == 'd') {
			fmt += 2;
			to = put_decimal(to, end, va_arg(values.args, int), &plain, 'd');
		} else {
			const char *next = fmt;

			to = convert(s, to, end, &next, &values);
			if (next == fmt)
				goto rest;
			fmt = next;
		}
		if (!to)
			goto no_room;
	}
	s->seq.len = to - s->seq.buffer;
	goto done;
rest:
	s->seq.len = to - s->seq.buffer;
	trace_seq_vprintf(s, fmt, values.args);
	if (s->full)
		s->seq.len = before;
	goto done;
no_room:
	s->seq.len = before;
	trace_seq_vprintf(s, whole, args);
done:
	va_end(values.args);
}

/* As trace_seq_printf(). */
void rt_printf(struct trace_seq *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	rt_vprintf(s, fmt, args);
	va_end(args);
}
