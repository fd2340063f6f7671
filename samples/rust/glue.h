/* SPDX-License-Identifier: GPL-2.0 */
/* The C functions that sample.rs declares. */
#include <linux/types.h>

void sample_trace_write(size_t length, const u8 *begin, size_t begin_length);
int sample_register(void);
void sample_unregister(void);
