// SPDX-License-Identifier: GPL-2.0
/*
 * Writers in all four contexts that interrupt each other.
 *
 * On every CPU a thread writes without pause, a timer interrupts it and starts a
 * tasklet, and both, like the threads of the other CPUs, send NMIs; each of the
 * four writes numbered payloads. Loading runs this for `ms` milliseconds, and on
 * until there is enough (`least`); then the parameters `written`, `refused` and
 * `nested` tell what was done, and rtguest compares it with what the buffer holds.
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <asm/nmi.h>

#include "nmi.h"

#define CREATE_TRACE_POINTS
#include "rtstress_trace.h"

/* What rtrace exports for tests; looked up by name, because it may be missing. */
void *rtrace_test_open(const char *instance);
int rtrace_test_write(void *handle, const void *payload, unsigned int len);
void rtrace_test_close(void *handle);

enum context { TASK, SOFTIRQ, HARDIRQ, NMI, CONTEXTS };

#define MAX_CPUS 8
#define MAGIC 0x74737472
#define MAX_FILL 60
/* Long enough for an emulated machine to get something else done. */
#define PERIOD_NS (200 * NSEC_PER_USEC)

/* rtguest knows this layout (src/tests/contexts.rs). */
struct payload {
	u32 magic;
	u16 cpu;
	u16 context;
	u32 number;	/* of this context of this CPU, from 0 */
	u32 len;	/* in bytes, all of it */
	u32 sum;	/* over all other words */
	u32 fill[MAX_FILL];
};

struct writer {
	struct task_struct *thread;
	struct hrtimer timer;
	struct tasklet_struct tasklet;
	u32 number[CONTEXTS];
	/* Of the task, when the timer came last. */
	u32 seen;
	u64 period_ns;
	/* How many writes of this CPU are under way; a nested one finds it not 0. */
	unsigned int under_way;
	unsigned long refused;
	unsigned long nested;
	atomic_t nmi_pending;
};

static char *instance = "";
module_param(instance, charp, 0444);
MODULE_PARM_DESC(instance, "rtrace instance to write to; empty: only the tracepoint");

static unsigned int ms = 1000;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "how long to write");

static unsigned int least;
module_param(least, uint, 0444);
MODULE_PARM_DESC(least, "write on, up to 100 times as long, until each context of each CPU has written so often, and a tenth of that was inside another");

static bool hold;
module_param(hold, bool, 0644);
MODULE_PARM_DESC(hold, "go on behind `ms` until this is 0");

static unsigned int pause_us;
module_param(pause_us, uint, 0444);
MODULE_PARM_DESC(pause_us, "the threads rest this long after each write");

static bool readers;
module_param(readers, bool, 0444);
MODULE_PARM_DESC(readers, "the threads are preempted as readers of RCU, and leave it with preemption off");

/* Per CPU and context: cpu * 4 + context. */
static unsigned long written[MAX_CPUS * CONTEXTS];
module_param_array(written, ulong, NULL, 0444);

static unsigned long refused;
module_param(refused, ulong, 0444);

static unsigned long nested;
module_param(nested, ulong, 0444);

static struct writer writers[MAX_CPUS];
static void *handle;
static typeof(&rtrace_test_write) test_write;

/*
 * One numbered payload. The caller cannot leave the CPU, and no second writer of
 * this context can come in between on it.
 */
static notrace void write_one(enum context context)
{
	unsigned int cpu = smp_processor_id();
	struct writer *writer = &writers[cpu];
	u32 number = writer->number[context]++;
	/* All length classes of an event, changing with the number. */
	unsigned int fill = (number * 7 + context * 3) % (MAX_FILL + 1);
	struct payload payload = {
		.magic = MAGIC,
		.cpu = cpu,
		.context = context,
		.number = number,
		.len = offsetof(struct payload, fill[fill]),
	};
	const u32 *words = (const u32 *)&payload;
	u32 sum = 0;
	unsigned int i;

	for (i = 0; i < fill; i++)
		payload.fill[i] = number * 0x9e3779b9u + i * 0x85ebca6bu + context;
	for (i = 0; i < payload.len / 4; i++)
		sum = sum * 31 + words[i];
	payload.sum = sum;

	if (writer->under_way)
		writer->nested++;
	writer->under_way++;
	barrier();
	if (test_write && test_write(handle, &payload, payload.len))
		writer->refused++;
	trace_rtstress_write(&payload, payload.len);
	barrier();
	writer->under_way--;
}

/* Sends an NMI to a CPU of ours, which may be this one. */
static void send_nmi(unsigned int cpu)
{
	atomic_inc(&writers[cpu].nmi_pending);
	send_nmi_to(cpu);
}

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	struct writer *writer = &writers[smp_processor_id()];

	/* Several that were sent may arrive as one. */
	if (atomic_xchg(&writer->nmi_pending, 0))
		write_one(NMI);
	return NMI_HANDLED;
}

static void on_tasklet(struct tasklet_struct *tasklet)
{
	write_one(SOFTIRQ);
	send_nmi(smp_processor_id());
	write_one(SOFTIRQ);
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	unsigned int cpu = smp_processor_id();
	struct writer *writer = &writers[cpu];
	u32 number = writer->number[TASK];

	/*
	 * On a CPU that needs a period for all this the thread would not get on in its write: as
	 * long as that is the same one, the timer comes later and later.
	 */
	if (writer->under_way && number == writer->seen)
		writer->period_ns *= 2;
	else
		writer->period_ns = PERIOD_NS;
	writer->seen = number;
	write_one(HARDIRQ);
	send_nmi(cpu);
	write_one(HARDIRQ);
	tasklet_schedule(&writer->tasklet);
	hrtimer_forward_now(timer, ns_to_ktime(writer->period_ns));
	return HRTIMER_RESTART;
}

/*
 * From the moment that a reader of RCU which was preempted leaves, until preemption
 * is on, an interrupt that takes RCU and leaves it raises its softirq.
 */
static void read_rcu(void)
{
	unsigned long end = jiffies + HZ / 20;

	rcu_read_lock();
#ifdef CONFIG_PREEMPT_RCU
	while (!READ_ONCE(current->rcu_read_unlock_special.b.blocked) && time_before(jiffies, end))
		cpu_relax();
#endif
	preempt_disable();
	rcu_read_unlock();
	udelay(2 * PERIOD_NS / NSEC_PER_USEC);
	preempt_enable();
}

static int thread(void *unused)
{
	unsigned int cpu = raw_smp_processor_id();
	struct writer *writer = &writers[cpu];
	unsigned int turn = 0;

	writer->period_ns = PERIOD_NS;
	hrtimer_setup(&writer->timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&writer->timer, ns_to_ktime(PERIOD_NS), HRTIMER_MODE_REL_PINNED_HARD);
	while (!kthread_should_stop()) {
		unsigned int other = cpumask_next_wrap(cpu, cpu_online_mask);

		preempt_disable();
		write_one(TASK);
		preempt_enable();
		if (++turn % 8 == 0 && other < MAX_CPUS)
			send_nmi(other);
		if (readers)
			read_rcu();
		if (pause_us)
			usleep_range(pause_us, 2 * pause_us);
		cond_resched();
	}
	hrtimer_cancel(&writer->timer);
	tasklet_kill(&writer->tasklet);
	return 0;
}

static int start(void)
{
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		struct task_struct *task;

		if (cpu >= MAX_CPUS)
			break;
		tasklet_setup(&writers[cpu].tasklet, on_tasklet);
		task = kthread_create_on_cpu(thread, NULL, cpu, "rtstress/%u");
		if (IS_ERR(task))
			return PTR_ERR(task);
		writers[cpu].thread = get_task_struct(task);
		wake_up_process(task);
	}
	return 0;
}

static void stop(void)
{
	unsigned int cpu, i;

	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (!writers[cpu].thread)
			continue;
		kthread_stop(writers[cpu].thread);
		put_task_struct(writers[cpu].thread);
	}
	/* An NMI that was sent comes at once, but the host may have other things to do than a CPU. */
	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		for (i = 0; i < 100000 && atomic_read(&writers[cpu].nmi_pending); i++)
			usleep_range(100, 200);
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		for (i = 0; i < CONTEXTS; i++)
			written[cpu * CONTEXTS + i] = writers[cpu].number[i];
		refused += writers[cpu].refused;
		nested += writers[cpu].nested;
	}
}

/* Whether all has been done as often as the user wants it at least. */
static bool enough(void)
{
	unsigned long sum = 0;
	unsigned int cpu, i;

	for_each_online_cpu(cpu) {
		if (cpu >= MAX_CPUS)
			break;
		for (i = 0; i < CONTEXTS; i++)
			if (READ_ONCE(writers[cpu].number[i]) < least)
				return false;
		sum += READ_ONCE(writers[cpu].nested);
	}
	return sum >= least / 10;
}

static int open_instance(void)
{
	typeof(&rtrace_test_open) open;

	if (!*instance)
		return 0;
	open = symbol_get(rtrace_test_open);
	if (!open)
		return -ENOENT;
	handle = open(instance);
	symbol_put(rtrace_test_open);
	if (IS_ERR_OR_NULL(handle))
		return handle ? PTR_ERR(handle) : -ENODEV;
	test_write = symbol_get(rtrace_test_write);
	return test_write ? 0 : -ENOENT;
}

static void close_instance(void)
{
	typeof(&rtrace_test_close) close;

	if (test_write)
		symbol_put(rtrace_test_write);
	test_write = NULL;
	if (IS_ERR_OR_NULL(handle))
		return;
	close = symbol_get(rtrace_test_close);
	if (close) {
		close(handle);
		symbol_put(rtrace_test_close);
	}
	handle = NULL;
}

static int __init rtstress_init(void)
{
	unsigned int i;
	int err;

	err = open_instance();
	if (err)
		goto out_close;
	err = map_apic();
	if (err)
		goto out_close;
	err = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "rtstress");
	if (err)
		goto out_unmap;
	err = start();
	for (i = 0; !err && i < 100 && (!i || !enough()); i++)
		msleep(ms);
	/* The caller that asked for more may have died. */
	for (i = 0; !err && i < 12000 && READ_ONCE(hold); i++)
		msleep(10);
	stop();
	unregister_nmi_handler(NMI_LOCAL, "rtstress");
out_unmap:
	unmap_apic();
out_close:
	close_instance();
	return err;
}

static void __exit rtstress_exit(void)
{
	/* Everything ended before the module was loaded; only the numbers were left. */
}

module_init(rtstress_init);
module_exit(rtstress_exit);
MODULE_DESCRIPTION("Writers in all contexts for the guest tests of rtrace");
MODULE_LICENSE("GPL");
