// SPDX-License-Identifier: GPL-2.0
/* Where this module's tables of events end. */
#include <events/last.c>
