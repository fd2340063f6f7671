// SPDX-License-Identifier: GPL-2.0
/*
 * Holds a CPU for a known time, in a context of choice, and tells when that was.
 *
 * Loading does it `count` times on `cpu`, each time for at least `us`
 * microseconds. The parameters `begins` and `ends` say from when to when each
 * time, in nanoseconds of sched_clock() on that CPU, which is what rtrace's and
 * ftrace's clock `local` is. rtguest compares that with what tracers report.
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <asm/nmi.h>

#include "nmi.h"

#define MOST 64

static char *how = "preempt";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "preempt or irqs: a thread with that disabled; softirq, hardirq, nmi; wake: as preempt, after it woke a thread of real time");

static unsigned int cpu;
module_param(cpu, uint, 0444);

static unsigned int us = 1000;
module_param(us, uint, 0444);

static unsigned int count = 1;
module_param(count, uint, 0444);

static unsigned int pause_us = 10000;
module_param(pause_us, uint, 0444);
MODULE_PARM_DESC(pause_us, "rest between two times");

static unsigned long begins[MOST], ends[MOST];
/* Of `wake`: before the thread was woken, and when it ran. */
static unsigned long before[MOST], ran[MOST];
static unsigned int done, ran_often;
module_param_array(begins, ulong, &done, 0444);
module_param_array(ends, ulong, &done, 0444);
module_param_array(before, ulong, &ran_often, 0444);
module_param_array(ran, ulong, &ran_often, 0444);

static struct hrtimer timer;
static struct task_struct *woken;
static bool in_nmi;

/* A CPU may read its counter before it has done what precedes it. */
static notrace u64 now(void)
{
	u64 value;

	rmb();
	value = sched_clock();
	rmb();
	return value;
}

/* The caller can not leave the CPU. */
static notrace void hold(void)
{
	u64 begin = now(), end;

	do {
		end = now();
	} while (end - begin < (u64)us * NSEC_PER_USEC);
	begins[done] = begin;
	ends[done] = end;
	smp_store_release(&done, done + 1);
}

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	if (smp_processor_id() != cpu || !xchg(&in_nmi, false))
		return NMI_DONE;
	hold();
	return NMI_HANDLED;
}

static void on_tasklet(struct tasklet_struct *tasklet)
{
	hold();
}

static DECLARE_TASKLET(tasklet, on_tasklet);

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	if (!strcmp(how, "softirq"))
		tasklet_schedule(&tasklet);
	else
		hold();
	return HRTIMER_NORESTART;
}

static int wait_to_run(void *unused)
{
	sched_set_fifo(current);
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		schedule();
		if (ran_often < done) {
			ran[ran_often] = now();
			smp_store_release(&ran_often, ran_often + 1);
		}
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static void hold_once(void)
{
	unsigned long flags;

	if (!strcmp(how, "nmi")) {
		WRITE_ONCE(in_nmi, true);
		send_nmi_to(cpu);
	} else if (!strcmp(how, "hardirq") || !strcmp(how, "softirq")) {
		hrtimer_start(&timer, ns_to_ktime(NSEC_PER_MSEC), HRTIMER_MODE_REL_PINNED_HARD);
	} else if (!strcmp(how, "irqs")) {
		local_irq_save(flags);
		hold();
		local_irq_restore(flags);
	} else {
		preempt_disable();
		if (woken) {
			before[done] = now();
			wake_up_process(woken);
		}
		hold();
		preempt_enable();
	}
}

static int thread(void *unused)
{
	unsigned int i, wait;

	hrtimer_setup(&timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	for (i = 0; i < count && i < MOST; i++) {
		hold_once();
		/* The host may have other things to do than a CPU. */
		for (wait = 0; wait < 100000; wait++) {
			if (smp_load_acquire(&done) > i &&
			    (!woken || smp_load_acquire(&ran_often) > i))
				break;
			usleep_range(100, 200);
		}
		usleep_range(pause_us, pause_us + 100);
	}
	hrtimer_cancel(&timer);
	tasklet_kill(&tasklet);
	/* kthread_stop() is still to come. */
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

static int run(void)
{
	unsigned int on = cpu;
	struct task_struct *task;

	/* What an NMI interrupts is not the one who sends it. */
	if (!strcmp(how, "nmi"))
		on = cpumask_next_wrap(cpu, cpu_online_mask);
	if (!strcmp(how, "wake")) {
		woken = kthread_create_on_cpu(wait_to_run, NULL, cpu, "rtwoken/%u");
		if (IS_ERR(woken))
			return PTR_ERR(woken);
		wake_up_process(woken);
		msleep(20);
	}
	task = kthread_create_on_cpu(thread, NULL, on, "rtdelay/%u");
	if (!IS_ERR(task)) {
		wake_up_process(task);
		while (READ_ONCE(done) < min(count, MOST) || (woken && READ_ONCE(ran_often) < min(count, MOST)))
			msleep(5);
		kthread_stop(task);
	}
	if (woken)
		kthread_stop(woken);
	return PTR_ERR_OR_ZERO(task);
}

static int __init rtdelay_init(void)
{
	int err;

	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -EINVAL;
	err = map_apic();
	if (err)
		return err;
	err = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "rtdelay");
	if (!err) {
		err = run();
		unregister_nmi_handler(NMI_LOCAL, "rtdelay");
	}
	unmap_apic();
	return err;
}

static void __exit rtdelay_exit(void)
{
	/* Everything ended before the module was loaded; only the numbers were left. */
}

module_init(rtdelay_init);
module_exit(rtdelay_exit);
MODULE_DESCRIPTION("Known delays for the guest tests of rtrace");
MODULE_LICENSE("GPL");
