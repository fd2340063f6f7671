// SPDX-License-Identifier: GPL-2.0
/* The bodies of program.h, in the same order. */
#include <linux/bitops.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/sched/mm.h>

#include "program.h"

bool rt_program_is_gone(const struct mm_struct *mm)
{
	return !atomic_read(&mm->mm_users);
}

/* Pins the page at `address`; 0, -EAGAIN, -ESRCH or an error of the kernel. */
static int rt_program_try_pin(struct mm_struct *mm, unsigned long address,
			      unsigned int flags, struct page **page)
{
	long pinned = 0;

	if (!mmget_not_zero(mm))
		return -ESRCH;
	if (mmap_read_trylock(mm)) {
		pinned = pin_user_pages_remote(mm, address, 1, flags, page, NULL);
		mmap_read_unlock(mm);
	}
	mmput_async(mm);
	if (pinned < 0)
		return pinned;
	return pinned ? 0 : -EAGAIN;
}

/* The same without a wait; 0, or an error of the two functions below. */
static int rt_program_pin(struct mm_struct *mm, unsigned long address,
			  unsigned int flags, struct page **page)
{
	int ret = rt_program_try_pin(mm, address, flags | FOLL_NOFAULT, page);

	/* What the kernel says of a page that is not there is not whether it can be. */
	return ret && ret != -ESRCH ? -EAGAIN : ret;
}

/* Where in its page the 8 bytes are that `address` is in. */
static unsigned long rt_place_of(unsigned long address)
{
	return round_down(offset_in_page(address), sizeof(long));
}

int rt_program_bit(struct mm_struct *mm, unsigned long address, unsigned int bit)
{
	struct page *page;
	unsigned long *place;
	int ret = rt_program_pin(mm, address, 0, &page);

	if (ret)
		return ret;
	place = kmap_local_page(page) + rt_place_of(address);
	ret = test_bit(bit % BITS_PER_LONG, place);
	kunmap_local(place);
	unpin_user_page(page);
	return ret;
}

int rt_program_set_bit(struct mm_struct *mm, unsigned long address,
		       unsigned int bit, bool set)
{
	struct page *page;
	unsigned long *place;
	int ret = rt_program_pin(mm, address, FOLL_WRITE, &page);

	if (ret)
		return ret;
	place = kmap_local_page(page) + rt_place_of(address);
	if (set)
		set_bit(bit % BITS_PER_LONG, place);
	else
		clear_bit(bit % BITS_PER_LONG, place);
	kunmap_local(place);
	unpin_user_pages_dirty_lock(&page, 1, true);
	return 0;
}

int rt_program_ask_for(struct mm_struct *mm, unsigned long address)
{
	struct page *page;
	int ret = rt_program_try_pin(mm, address, FOLL_WRITE | FOLL_NOWAIT, &page);

	if (!ret)
		unpin_user_page(page);
	return ret;
}

int rt_program_fault_in(struct mm_struct *mm, unsigned long address)
{
	bool unlocked = false;
	int ret;

	if (!mmget_not_zero(mm))
		return -ESRCH;
	mmap_read_lock(mm);
	ret = fixup_user_fault(mm, address, FAULT_FLAG_WRITE | FAULT_FLAG_REMOTE,
			       &unlocked);
	mmap_read_unlock(mm);
	mmput_async(mm);
	return ret;
}
