/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What bindgen reads: our own headers, and the kernel's headers with what the
 * kernel crate does not bind, or not as safe functions.
 */
#include <linux/bitmap.h>
#include <linux/clocksource.h>
#include <linux/delay.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sort.h>
#include <linux/timekeeping.h>
#include <linux/trace_clock.h>
#include <linux/tracepoint.h>

#include "callers.h"
#include "cpus.h"
#include "events.h"
#include "exports.h"
#include "fprobe.h"
#include "functions.h"
#include "graph.h"
#include "kprobe.h"
#include "load.h"
#include "noise.h"
#include "program.h"
#include "sampler.h"
#include "shim.h"
#include "switches.h"
#include "threads.h"
#include "tick.h"
#include "uprobe.h"
#include "watch.h"
