/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPUs that have gone offline. No decisions are made here.
 */
#ifndef RTRACE_CPUS_H
#define RTRACE_CPUS_H

/* From now on rtrace_cpu_is_dead() is called for them. Sleeps. */
int rt_dead_cpus_init(void);
/* It is called no more when this returns. Sleeps. */
void rt_dead_cpus_exit(void);

/*
 * In Rust: the CPU runs nothing until it comes again, which waits for this. Process
 * context, on another CPU; see rust/tracers/irqsoff.rs.
 */
void rtrace_cpu_is_dead(unsigned int cpu);

#endif
