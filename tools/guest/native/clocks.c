// SPDX-License-Identifier: GPL-2.0
#include "../bench/clocks.c"
