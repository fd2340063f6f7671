// SPDX-License-Identifier: GPL-2.0
/* Where this module's tables of events begin. */
#include <events/first.c>
