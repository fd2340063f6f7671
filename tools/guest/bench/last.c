// SPDX-License-Identifier: GPL-2.0
/* Where rtbench's tables of events end. */
#include <events/last.c>
