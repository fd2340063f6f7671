// SPDX-License-Identifier: GPL-2.0
/*
 * Where the tables of events begin: events.mk links this object before those of
 * the headers. A module that registers its own events links it likewise.
 */
#include "../events.h"

const struct rt_event_desc rt_events_first[0] __aligned(8) __section("rt_events");
const struct rt_eval rt_evals_first[0] __aligned(8) __section("rt_evals");
const struct rt_layout rt_layouts_first[0] __aligned(8) __section("rt_layouts");
const struct rt_absent rt_absent_first[0] __aligned(8) __section("rt_absent");
