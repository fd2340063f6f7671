// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of printf.c: it writes what the kernel's vsnprintf() writes, into a
 * trace_seq as trace_seq_vprintf() does.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/trace_seq.h>
#include <linux/vmalloc.h>
#include "../events.h"

/* What both are given to write to. */
struct both {
	struct trace_seq ours;
	struct trace_seq kernels;
};

static struct both *both_of(struct kunit *test)
{
	struct both *both = kunit_kzalloc(test, sizeof(*both), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, both);
	trace_seq_init(&both->ours);
	trace_seq_init(&both->kernels);
	return both;
}

static void expect_same(struct kunit *test, const struct both *both, const char *fmt)
{
	unsigned int len = both->kernels.seq.len;

	KUNIT_EXPECT_EQ_MSG(test, both->ours.seq.len, len, "%s", fmt);
	KUNIT_EXPECT_EQ_MSG(test, both->ours.full, both->kernels.full, "%s", fmt);
	KUNIT_EXPECT_MEMEQ_MSG(test, both->ours.buffer, both->kernels.buffer, len, "%s: %.*s",
			       fmt, (int)len, both->ours.buffer);
}

/* Both append the same to what they have. Not __printf(): some formats are odd on purpose. */
static void append(struct kunit *test, struct both *both, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	rt_vprintf(&both->ours, fmt, args);
	va_end(args);
	va_start(args, fmt);
	trace_seq_vprintf(&both->kernels, fmt, args);
	va_end(args);
	expect_same(test, both, fmt);
}

/* Each begins with nothing. */
#define SAME(test, both, fmt, args...)					\
do {									\
	trace_seq_init(&(both)->ours);					\
	trace_seq_init(&(both)->kernels);				\
	append(test, both, fmt, ##args);				\
} while (0)

/* A number in every way that the header of an event may want it. */
static void check_number(struct kunit *test, struct both *both, u64 number)
{
	long value = number;
	int half = number;

	SAME(test, both, "%d", half);
	SAME(test, both, "%i|%u|%x|%X|%o", half, half, half, half, half);
	SAME(test, both, "%hd %hu %hx", (short)half, (unsigned short)half, (unsigned short)half);
	SAME(test, both, "%hhd %hhu %hhx", (signed char)half, (unsigned char)half,
	     (unsigned char)half);
	SAME(test, both, "a=%ld b=%lu c=%lx d=%lX", value, value, value, value);
	SAME(test, both, "%lld,%llu,%llx,%zu,%zd,%td", (long long)value, (long long)value,
	     (long long)value, (size_t)value, (ssize_t)value, (ptrdiff_t)value);
	SAME(test, both, "%7d|%-7d|%07d|%-07d|%1d|%20d", half, half, half, half, half, half);
	SAME(test, both, "%7u|%-7x|%07x|%2x|%030lx|%30lu", half, half, half, half, value, value);
	SAME(test, both, "%#x|%#X|%#10x|%#010x|%#-10x|%#d", half, half, half, half, half, half);
	SAME(test, both, "%#lx|%#18lx|%#018lx|%-#18lx|%#lX", value, value, value, value, value);
	SAME(test, both, "%+d|% d|%.3d|%5.3d|%*d|%-*d", half, half, half, half, 9, half, 9, half);
	SAME(test, both, "%300d|%255d|%256d", half, half, half);
	SAME(test, both, "%c%c", half, 'x');
}

static void numbers(struct kunit *test)
{
	static const u64 edges[] = {
		0, 1, 9, 10, 99, 100, 127, 128, 255, 256, 999, 1000, 9999, 10000, 32767, 32768,
		65535, 65536, 99999, 100000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
		9999999999999999ull, 10000000000000000ull, 0x7fffffffffffffffull,
		0x8000000000000000ull, 10000000000000000000ull, 0xffffffffffffffffull,
	};
	struct both *both = both_of(test);
	struct rnd_state state;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		check_number(test, both, edges[i]);
		check_number(test, both, -edges[i]);
	}
	prandom_seed_state(&state, 7304);
	for (i = 0; i < 2000; i++) {
		u64 number = (u64)prandom_u32_state(&state) << 32 | prandom_u32_state(&state);

		check_number(test, both, number >> prandom_u32_state(&state) % 64);
	}
}

static void strings(struct kunit *test)
{
	static const char text[] = "a string of many words, longer than any register";
	struct both *both = both_of(test);
	unsigned int i;

	for (i = 0; i < sizeof(text); i++) {
		SAME(test, both, "%s", text + i);
		SAME(test, both, "<%s|%8s|%-8s|%48s|%-48s|%.5s|%08s>", text + i, text + i,
		     text + i, text + i, text + i, text + i, text + i);
	}
	/* Addresses that are not followed. */
	SAME(test, both, "1%s2%9s3%-9s4", (char *)NULL, (char *)NULL, (char *)7);
	SAME(test, both, "1%s2%-20s3", (char *)ERR_PTR(-EINVAL), (char *)ERR_PTR(-EFAULT));
}

static void other_conversions(struct kunit *test)
{
	struct both *both = both_of(test);
	unsigned long bits[2] = { 0x8000000000000f01, 0x3 };

	SAME(test, both, "nothing to convert");
	SAME(test, both, "%s", "");
	SAME(test, both, "100%%, %d%%|%5%|", 7);
	SAME(test, both, "%p %px %20px %-20px|%pS %ps.", both, both, both, both,
	     &kunit_kmalloc_array, &kunit_kmalloc_array);
	SAME(test, both, "%p %p", NULL, ERR_PTR(-EINVAL));
	SAME(test, both, "%d %*pbl %d", 1, 128, bits, 2);
	SAME(test, both, "%*pb and %s", 70, bits, "more");
	SAME(test, both, "%pI4 %pM %d", bits, bits, 5);
	SAME(test, both, "%ls|%s", "long", "short");
}

/* The end of a format and of a string may be the end of what can be read. */
static void nothing_behind_is_needed(struct kunit *test)
{
	struct both *both = both_of(test);
	char *page = vmalloc(PAGE_SIZE);
	unsigned int len;

	KUNIT_ASSERT_NOT_NULL(test, page);
	memset(page, 'y', PAGE_SIZE - 1);
	page[PAGE_SIZE - 1] = '\0';
	for (len = 0; len < 40; len++)
		SAME(test, both, "%s|", page + PAGE_SIZE - 1 - len);
	for (len = 0; len < 40; len++) {
		const char *fmt = page + PAGE_SIZE - 1 - len;

		SAME(test, both, fmt, 0);
	}
	vfree(page);
}

/* Whatever has no room leaves nothing and makes the sequence full, at every length. */
static void what_has_no_room(struct kunit *test)
{
	struct both *both = both_of(test);
	unsigned int left;

	for (left = 0; left < 80; left++) {
		unsigned int len = TRACE_SEQ_BUFFER_SIZE - left;
		unsigned int i;

		for (i = 0; i < 8; i++) {
			trace_seq_init(&both->ours);
			trace_seq_init(&both->kernels);
			memset(both->ours.buffer, 'z', len);
			memset(both->kernels.buffer, 'z', len);
			both->ours.seq.len = len;
			both->kernels.seq.len = len;
			switch (i) {
			case 0:
				append(test, both, "only text, of some length");
				break;
			case 1:
				append(test, both, "%30d", 1);
				break;
			case 2:
				append(test, both, "%-30d", 1);
				break;
			case 3:
				append(test, both, "a number %lld and a %s", (long long)left, "string");
				break;
			case 4:
				append(test, both, "%20s%-20s", "right", "left");
				break;
			case 5:
				append(test, both, "%d %pS", 2, &kunit_kmalloc_array);
				break;
			case 6:
				append(test, both, "%c%c%%%d %.9s", 'a', 'b', 3, "0123456789");
				break;
			case 7:
				append(test, both, "%s%p%#x", (char *)NULL, both, left);
				break;
			}
			/* A full one takes no more, others do. */
			append(test, both, "%d", 7);
		}
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(numbers),
	KUNIT_CASE(strings),
	KUNIT_CASE(other_conversions),
	KUNIT_CASE(nothing_behind_is_needed),
	KUNIT_CASE(what_has_no_room),
	{}
};

static struct kunit_suite suite = {
	.name = "rtrace_printf",
	.test_cases = cases,
};
kunit_test_suite(suite);
