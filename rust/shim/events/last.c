// SPDX-License-Identifier: GPL-2.0
/* Where the tables of events end: linked after the objects of the headers. */
#include "../events.h"

const struct rt_event_desc rt_events_last[0] __aligned(8) __section("rt_events");
const struct rt_eval rt_evals_last[0] __aligned(8) __section("rt_evals");
const struct rt_layout rt_layouts_last[0] __aligned(8) __section("rt_layouts");
const struct rt_absent rt_absent_last[0] __aligned(8) __section("rt_absent");
