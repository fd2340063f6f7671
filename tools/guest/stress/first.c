// SPDX-License-Identifier: GPL-2.0
/* Where rtsoak's tables of events begin. */
#include <events/first.c>
