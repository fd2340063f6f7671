/* SPDX-License-Identifier: GPL-2.0 */
/* The probes that call rt_task_numa_group_id() of sched.c. */

RT_NEEDS(rt_probe_sched_move_numa, numa_group, gid, 4, INT);
RT_NEEDS(rt_probe_sched_numa_pair_template, numa_group, gid, 4, INT);
RT_NEEDS(rt_probe_sched_skip_cpuset_numa, numa_group, gid, 4, INT);
