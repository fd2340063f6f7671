// SPDX-License-Identifier: GPL-2.0
/* The bodies of threads.h, in the same order. */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "threads.h"

struct rt_thread {
	struct task_struct *task;
	cpumask_t cpus;
	const void *data;
};

struct rt_cpu_threads {
	struct hlist_node node;
	cpumask_t cpus;
	const char *name;
	const void *data;
	/* By CPU. Changed by the callbacks alone, one at a time for each CPU. */
	struct task_struct *threads[];
};

static enum cpuhp_state rt_threads_state;

static int rt_thread_main(void *data)
{
	rtrace_thread(data);
	/* kthread_stop() is still to come. */
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static int rt_placed_main(void *data)
{
	struct rt_thread *thread = data;

	/* Not before: a thread that begins may run on all CPUs, whatever was set. */
	set_cpus_allowed_ptr(current, &thread->cpus);
	return rt_thread_main((void *)thread->data);
}

static int rt_cpu_comes(unsigned int cpu, struct hlist_node *node)
{
	struct rt_cpu_threads *all =
		hlist_entry(node, struct rt_cpu_threads, node);
	struct task_struct *thread;
	char name[TASK_COMM_LEN];

	if (!cpumask_test_cpu(cpu, &all->cpus))
		return 0;
	snprintf(name, sizeof(name), "%s/%%u", all->name);
	thread = kthread_create_on_cpu(rt_thread_main, (void *)all->data, cpu,
				       name);
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	all->threads[cpu] = thread;
	wake_up_process(thread);
	return 0;
}

static int rt_cpu_goes(unsigned int cpu, struct hlist_node *node)
{
	struct rt_cpu_threads *all =
		hlist_entry(node, struct rt_cpu_threads, node);

	if (all->threads[cpu])
		kthread_stop(all->threads[cpu]);
	all->threads[cpu] = NULL;
	return 0;
}

int rt_threads_init(void)
{
	int ret;

	ret = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "rtrace:online",
				      rt_cpu_comes, rt_cpu_goes);
	if (ret < 0)
		return ret;
	rt_threads_state = ret;
	return 0;
}

void rt_threads_exit(void)
{
	cpuhp_remove_multi_state(rt_threads_state);
}

static void rt_set_cpus(cpumask_t *to, const unsigned long *cpus)
{
	cpumask_clear(to);
	bitmap_copy(cpumask_bits(to), cpus, nr_cpu_ids);
}

int rt_thread_start(const char *name, const unsigned long *cpus, bool one,
		    const void *data, struct rt_thread **made)
{
	struct rt_thread *thread;
	int ret = -EINVAL;

	thread = kzalloc(sizeof(*thread), GFP_KERNEL);
	if (!thread)
		return -ENOMEM;
	thread->data = data;
	rt_set_cpus(&thread->cpus, cpus);
	cpus_read_lock();
	cpumask_and(&thread->cpus, &thread->cpus, cpu_online_mask);
	cpus_read_unlock();
	if (cpumask_empty(&thread->cpus))
		goto error;
	if (one)
		cpumask_copy(&thread->cpus,
			     cpumask_of(cpumask_first(&thread->cpus)));
	thread->task = kthread_run(rt_placed_main, thread, "%s", name);
	if (IS_ERR(thread->task)) {
		ret = PTR_ERR(thread->task);
		goto error;
	}
	*made = thread;
	return 0;
error:
	kfree(thread);
	return ret;
}

void rt_thread_stop(struct rt_thread *thread)
{
	kthread_stop(thread->task);
	kfree(thread);
}

int rt_cpu_threads_start(const char *name, const unsigned long *cpus,
			 const void *data, struct rt_cpu_threads **made)
{
	struct rt_cpu_threads *all;
	int ret;

	all = kzalloc(struct_size(all, threads, nr_cpu_ids), GFP_KERNEL);
	if (!all)
		return -ENOMEM;
	rt_set_cpus(&all->cpus, cpus);
	all->name = name;
	all->data = data;
	/* Calls rt_cpu_comes() for the CPUs that are online, and undoes it if one fails. */
	ret = cpuhp_state_add_instance(rt_threads_state, &all->node);
	if (ret) {
		kfree(all);
		return ret;
	}
	*made = all;
	return 0;
}

void rt_cpu_threads_stop(struct rt_cpu_threads *all)
{
	/* Calls rt_cpu_goes() for the CPUs that are online. */
	cpuhp_state_remove_instance(rt_threads_state, &all->node);
	kfree(all);
}

static void rt_change_bound(bool bound)
{
	unsigned long flags;

	/* As for other changes of what says where a task may run. */
	raw_spin_lock_irqsave(&current->pi_lock, flags);
	if (bound)
		current->flags |= PF_NO_SETAFFINITY;
	else
		current->flags &= ~PF_NO_SETAFFINITY;
	raw_spin_unlock_irqrestore(&current->pi_lock, flags);
}

void rt_thread_loosen(void)
{
	migrate_disable();
	rt_change_bound(false);
}

void rt_thread_fasten(void)
{
	rt_change_bound(true);
	migrate_enable();
}

bool rt_thread_is_to_move(void)
{
	return READ_ONCE(current->migration_pending);
}

bool rt_thread_should_stop(void)
{
	return kthread_should_stop();
}

void rt_thread_sleep(unsigned int ms)
{
	unsigned long left = msecs_to_jiffies(ms) + 1;

	while (left) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		left = schedule_timeout(left);
	}
	__set_current_state(TASK_RUNNING);
}

void rt_thread_sleep_us(u64 us)
{
	ktime_t end = ktime_add_us(ktime_get(), us);

	if (!us) {
		cond_resched_tasks_rcu_qs();
		return;
	}
	do {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
	} while (schedule_hrtimeout(&end, HRTIMER_MODE_ABS));
	__set_current_state(TASK_RUNNING);
}

int rt_thread_move(const unsigned long *cpus)
{
	struct rt_thread *thread;
	unsigned int cpu;
	int ret;

	if (kthread_func(current) != rt_placed_main)
		return -EINVAL;
	/* Its own since it began. */
	thread = kthread_data(current);
	if (!cpumask_equal(&thread->cpus, current->cpus_ptr))
		return -EBUSY;
	cpus_read_lock();
	cpu = raw_smp_processor_id();
	do {
		cpu = cpumask_next_wrap(cpu, cpu_online_mask);
	} while (!test_bit(cpu, cpus) && cpu != raw_smp_processor_id());
	cpumask_copy(&thread->cpus, cpumask_of(cpu));
	ret = set_cpus_allowed_ptr(current, &thread->cpus);
	cpus_read_unlock();
	return ret;
}
