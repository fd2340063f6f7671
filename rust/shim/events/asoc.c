// SPDX-License-Identifier: GPL-2.0
#include <sound/jack.h>
#include <sound/soc.h>

/* Two events name a card by functions of the module snd_soc_core. */
#define RT_ABSENT_snd_soc_dapm 1
#define RT_ABSENT_snd_soc_bias_level_start 1
#define RT_ABSENT_snd_soc_bias_level_done 1

#define CREATE_TRACE_POINTS
#include <trace/events/asoc.h>
