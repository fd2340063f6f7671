// SPDX-License-Identifier: GPL-2.0
/* The kernel's ring buffer by itself, through the functions that it exports. */
#include <linux/mm.h>
#include <linux/ring_buffer.h>
#include <linux/smp.h>

#include "bench.h"

/* The one with room for all events of a row refuses, the other one overwrites. */
#define ROOM (16 << 20)
#define SMALL (256 << 10)

static struct trace_buffer *room, *small, *current_ring;
static struct buffer_data_read_page *page;
static int page_cpu;

#define DEFINE_WRITE(len)							\
static noinline void write_##len(struct bench *bench)				\
{										\
	struct trace_buffer *ring = current_ring;				\
	u32 i, events = bench->wanted, failed = 0;				\
	u64 began = rdtsc();							\
										\
	for (i = 0; i < events; i++) {						\
		struct ring_buffer_event *event;				\
										\
		event = ring_buffer_lock_reserve(ring, len);			\
		if (unlikely(!event)) {						\
			failed++;						\
			continue;						\
		}								\
		fill(ring_buffer_event_data(event), len);			\
		ring_buffer_unlock_commit(ring);				\
	}									\
	ended(bench, began, failed);						\
}

DEFINE_WRITE(16)
DEFINE_WRITE(32)
DEFINE_WRITE(64)
DEFINE_WRITE(128)

static noinline void discard(struct bench *bench)
{
	struct trace_buffer *ring = current_ring;
	u32 i, events = bench->wanted, failed = 0;
	u64 began = rdtsc();

	for (i = 0; i < events; i++) {
		struct ring_buffer_event *event;

		event = ring_buffer_lock_reserve(ring, 16);
		if (unlikely(!event)) {
			failed++;
			continue;
		}
		ring_buffer_discard_commit(ring, event);
	}
	ended(bench, began, failed);
}

static noinline void dearest(struct bench *bench)
{
	u32 i;

	bench->ticks = 0;
	for (i = 0; i < bench->wanted; i++) {
		struct ring_buffer_event *event;
		u64 began = rdtsc();

		event = ring_buffer_lock_reserve(current_ring, 16);
		if (likely(event)) {
			fill(ring_buffer_event_data(event), 16);
			ring_buffer_unlock_commit(current_ring);
		}
		keep_dearest(bench, rdtsc() - began);
	}
}

static noinline void consume(struct bench *bench)
{
	int cpu = raw_smp_processor_id();
	unsigned long lost;
	u64 time, began;
	u32 events = 0;

	began = rdtsc();
	while (ring_buffer_consume(current_ring, cpu, &time, &lost))
		events++;
	ended(bench, began, 0);
	bench->done = events;
}

static noinline void read_pages(struct bench *bench)
{
	u32 pages = 0;
	u64 began = rdtsc();

	while (ring_buffer_read_page(current_ring, page, PAGE_SIZE, page_cpu, 0) >= 0)
		pages++;
	ended(bench, began, 0);
	bench->done = pages;
}

static void begin_room(void)
{
	current_ring = room;
	ring_buffer_reset(room);
}

static void begin_small(void)
{
	current_ring = small;
	ring_buffer_reset(small);
}

static void begin_off(void)
{
	begin_room();
	ring_buffer_record_off(room);
}

static void end_off(void)
{
	ring_buffer_record_on(room);
}

const struct row kernel_ring_rows[] = {
	{ .name = "kernel.write.16", .measure = write_16, .begin = begin_room },
	{ .name = "kernel.write.32", .measure = write_32, .begin = begin_room },
	{ .name = "kernel.write.64", .measure = write_64, .begin = begin_room },
	{ .name = "kernel.write.128", .measure = write_128, .begin = begin_room },
	{ .name = "kernel.over.16", .measure = write_16, .begin = begin_small },
	{ .name = "kernel.over.32", .measure = write_32, .begin = begin_small },
	{ .name = "kernel.over.64", .measure = write_64, .begin = begin_small },
	{ .name = "kernel.over.128", .measure = write_128, .begin = begin_small },
	{ .name = "kernel.dearest", .measure = dearest, .begin = begin_room },
	{ .name = "kernel.over.dearest", .measure = dearest, .begin = begin_small },
	{ .name = "kernel.discard", .measure = discard, .before = write_16, .begin = begin_room },
	{ .name = "kernel.off", .measure = write_16, .begin = begin_off, .end = end_off },
	{ .name = "kernel.consume", .measure = consume, .before = write_16, .begin = begin_room,
	  .sleeps = true },
	{ .name = "kernel.pages", .measure = read_pages, .before = write_16, .begin = begin_room,
	  .sleeps = true },
	{}
};

int kernel_ring_init(void)
{
	int err = -ENOMEM;

	room = ring_buffer_alloc(ROOM, 0);
	if (!room)
		return err;
	small = ring_buffer_alloc(SMALL, RB_FL_OVERWRITE);
	if (!small)
		goto out_room;
	page_cpu = raw_smp_processor_id();
	err = ring_buffer_alloc_read_page(room, page_cpu, &page);
	if (!err)
		return 0;
	ring_buffer_free(small);
out_room:
	ring_buffer_free(room);
	return err;
}

void kernel_ring_exit(void)
{
	ring_buffer_free_read_page(room, page_cpu, page);
	ring_buffer_free(small);
	ring_buffer_free(room);
}
