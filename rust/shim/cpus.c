// SPDX-License-Identifier: GPL-2.0
/* The bodies of cpus.h, in the same order. */
#include <linux/cpuhotplug.h>

#include "cpus.h"

static enum cpuhp_state rt_dead_cpus_state;

static int rt_cpu_is_dead(unsigned int cpu)
{
	rtrace_cpu_is_dead(cpu);
	return 0;
}

int rt_dead_cpus_init(void)
{
	int ret;

	/* What is prepared before a CPU comes is undone after it has died. */
	ret = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "rtrace:dead",
					NULL, rt_cpu_is_dead);
	if (ret < 0)
		return ret;
	rt_dead_cpus_state = ret;
	return 0;
}

void rt_dead_cpus_exit(void)
{
	cpuhp_remove_state_nocalls(rt_dead_cpus_state);
}
