// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-fence.h>

#define CREATE_TRACE_POINTS
#include <trace/events/dma_fence.h>
