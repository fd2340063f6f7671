/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What bindgen reads: our own headers, and the kernel's headers whose types
 * the kernel crate does not bind.
 */
#include <linux/clocksource.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/sched/clock.h>

#include "events.h"
#include "shim.h"
