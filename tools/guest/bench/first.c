// SPDX-License-Identifier: GPL-2.0
/* Where rtbench's tables of events begin. */
#include <events/first.c>
