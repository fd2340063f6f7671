// SPDX-License-Identifier: GPL-2.0
/*
 * Writers in all contexts, deep inside each other, for as long as rtguest wants.
 *
 * Each CPU has a thread that writes numbered payloads into up to three instances
 * and through a tracepoint. While the tracepoint's record is being filled, more
 * events are written, an interrupt is raised at once, in it an NMI, and behind it a
 * softirq, each of which does the same; a timer and the NMIs of other CPUs come at
 * any instant. CPUs may come and go meanwhile.
 *
 * `run` starts and stops this; `once` makes a single event in a context of choice;
 * /proc/rtsoak tells what was done (struct tally), exactly when nothing runs.
 */
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <asm/nmi.h>
#include <events.h>

#include "nmi.h"

#define CREATE_TRACE_POINTS
#include "rtsoak_trace.h"

enum context { TASK, SOFTIRQ, HARDIRQ, NMI, CONTEXTS };

#define MAX_CPUS 8
/* Instances; the stream behind them is the tracepoint's. */
#define RINGS 3
#define STREAMS (RINGS + 1)
#define MAGIC 0xa5
#define MAX_FILL 3
/* Events of one context inside each other; one more than a ring allows in all. */
#define MAX_INNER 2
#define PERIOD_NS (500 * NSEC_PER_USEC)
/* rtguest keeps a bit for each number below this. */
#define MOST_NUMBERS (1u << 23)

/* rtguest knows this layout (src/soak/record.rs). */
struct payload {
	u32 who;	/* magic:8 words of fill:8 cpu:8 stream:4 context:4 */
	u32 number;	/* of this context, stream and CPU, from 0 */
	u32 sum;
	u32 fill[MAX_FILL];
};

/* Why a write was refused; see rtrace_test_write(). */
enum reason { DISABLED, FULL, COMMIT_OVERRUN, RECURSION, OTHER, REASONS };

/* What one context of one CPU did to one stream. */
struct tally {
	u32 number;	/* attempts */
	u32 recorded;
	u32 refused[REASONS];
};

/*
 * Of one CPU. A word that is indexed by a context is written by that context only,
 * events inside events leave before the word is stored, so plain accesses do.
 */
struct soaker {
	struct task_struct *thread;
	struct hrtimer timer;
	struct tasklet_struct tasklet;
	struct irq_work work;
	atomic_t nmi_pending;
	struct tally tally[STREAMS][CONTEXTS];
	u32 random[CONTEXTS];
	u32 inner[CONTEXTS];	/* writes under way */
	u32 depth;		/* of all contexts; an interrupt leaves it as it was */
	u32 deepest[CONTEXTS];
	unsigned long nested[CONTEXTS];
	unsigned long arrived[CONTEXTS];
	bool once[CONTEXTS];
};

static struct soaker soakers[MAX_CPUS];
static void *handles[RINGS];
static unsigned int rings;
static bool writing;
static atomic_long_t in_all;
static u64 began_ns, ended_ns;
static int cpuhp_state = -1;

static char *instances = "";
module_param(instances, charp, 0444);
MODULE_PARM_DESC(instances, "up to three rtrace instances to write to, with commas");

static unsigned long events = 1000000;
module_param(events, ulong, 0644);
MODULE_PARM_DESC(events, "writing ends when that many were recorded");

static unsigned int seed = 1;
module_param(seed, uint, 0644);

static unsigned int pause_us;
module_param(pause_us, uint, 0644);
MODULE_PARM_DESC(pause_us, "the threads rest this long now and then");

static u32 random(struct soaker *soaker, enum context context)
{
	u32 x = soaker->random[context];

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	soaker->random[context] = x;
	return x >> 3;
}

notrace u32 rtsoak_sum(u32 who, u32 number)
{
	return (who ^ 0x9e3779b9u) * 0x85ebca6bu + number * 0xc2b2ae35u;
}

static void count(struct tally *tally, int err)
{
	switch (err) {
	case 0:
		tally->recorded++;
		return;
	case -EBADF:
		tally->refused[DISABLED]++;
		return;
	case -ENOSPC:
		tally->refused[FULL]++;
		return;
	case -EBUSY:
		tally->refused[COMMIT_OVERRUN]++;
		return;
	case -EDEADLK:
		tally->refused[RECURSION]++;
		return;
	default:
		tally->refused[OTHER]++;
	}
}

/* One event. The caller cannot leave the CPU. */
static notrace int write_one(struct soaker *soaker, enum context context, u32 stream)
{
	u32 cpu = soaker - soakers;
	struct tally *tally = &soaker->tally[stream][context];
	u32 number = tally->number++;
	/* Of one length in ring 1, so that its pages have room for counts of losses. */
	u32 fill = stream == 1 ? 1 : number & MAX_FILL;
	u32 who = MAGIC << 24 | cpu << 8 | stream << 4 | context;
	struct payload payload;
	int err = 0;
	u32 i;

	if (soaker->depth)
		soaker->nested[context]++;
	soaker->depth++;
	soaker->inner[context]++;
	if (soaker->depth > soaker->deepest[context])
		soaker->deepest[context] = soaker->depth;
	barrier();
	if (stream == RINGS) {
		trace_rtsoak_event(who, number);
	} else {
		payload.who = who | fill << 16;
		payload.number = number;
		payload.sum = rtsoak_sum(payload.who, number);
		for (i = 0; i < fill; i++)
			payload.fill[i] = payload.sum ^ (i + 1);
		err = rtrace_test_write(handles[stream], &payload,
					offsetof(struct payload, fill[fill]));
		count(tally, err);
	}
	barrier();
	soaker->inner[context]--;
	soaker->depth--;
	return err;
}

static notrace int write_any(struct soaker *soaker, enum context context)
{
	u32 stream = random(soaker, context) % (rings + 1);

	return write_one(soaker, context, stream < rings ? stream : RINGS);
}

/* The caller cannot leave its CPU, so the target stays online. */
static void send_nmi(unsigned int cpu)
{
	atomic_inc(&soakers[cpu].nmi_pending);
	send_nmi_to(cpu);
}

/* The tracepoint's record is half filled. */
notrace void rtsoak_inside(u32 who)
{
	struct soaker *soaker = &soakers[smp_processor_id()];
	enum context context = who & 3;
	u32 dice = random(soaker, context);

	soaker->tally[RINGS][context].recorded++;
	if (dice % 4 == 0 && soaker->inner[context] <= MAX_INNER)
		write_any(soaker, context);
	if (!READ_ONCE(writing))
		return;
	if (context == HARDIRQ && dice & 0x10)
		send_nmi(smp_processor_id());
	else if (context < HARDIRQ && dice & 0x30)
		irq_work_queue(&soaker->work);
}

/* Whether a context has but one event to write. */
static bool only_one(struct soaker *soaker, enum context context)
{
	soaker->arrived[context]++;
	if (!soaker->once[context])
		return false;
	soaker->once[context] = false;
	write_one(soaker, context, 0);
	return true;
}

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	struct soaker *soaker = &soakers[smp_processor_id()];

	/* Several that were sent may arrive as one. */
	if (atomic_xchg(&soaker->nmi_pending, 0) && !only_one(soaker, NMI))
		write_any(soaker, NMI);
	return NMI_HANDLED;
}

static void on_tasklet(struct tasklet_struct *tasklet)
{
	struct soaker *soaker = &soakers[smp_processor_id()];

	if (only_one(soaker, SOFTIRQ))
		return;
	write_any(soaker, SOFTIRQ);
	write_any(soaker, SOFTIRQ);
}

static void interrupt(struct soaker *soaker)
{
	write_any(soaker, HARDIRQ);
	if (!READ_ONCE(writing))
		return;
	if (random(soaker, HARDIRQ) % 2)
		send_nmi(smp_processor_id());
	if (random(soaker, HARDIRQ) % 4 == 0)
		tasklet_schedule(&soaker->tasklet);
}

static void on_work(struct irq_work *work)
{
	struct soaker *soaker = &soakers[smp_processor_id()];

	if (!only_one(soaker, HARDIRQ))
		interrupt(soaker);
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	soakers[smp_processor_id()].arrived[HARDIRQ]++;
	interrupt(&soakers[smp_processor_id()]);
	if (!READ_ONCE(writing))
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(PERIOD_NS));
	return HRTIMER_RESTART;
}

/* Adds what this CPU recorded since it was added last, and ends the writing. */
static void add_up(struct soaker *soaker, unsigned long *known)
{
	unsigned long sum = 0;
	bool full = false;
	u32 stream, context;

	for (stream = 0; stream < STREAMS; stream++)
		for (context = 0; context < CONTEXTS; context++) {
			struct tally *tally = &soaker->tally[stream][context];

			sum += READ_ONCE(tally->recorded);
			full |= READ_ONCE(tally->number) >= MOST_NUMBERS - 100000;
		}
	if (atomic_long_add_return(sum - *known, &in_all) >= events || full) {
		if (READ_ONCE(writing))
			ended_ns = ktime_get_ns();
		WRITE_ONCE(writing, false);
	}
	*known = sum;
}

static int thread(void *unused)
{
	unsigned int cpu = raw_smp_processor_id(), turn = 0;
	struct soaker *soaker = &soakers[cpu];
	unsigned long known = 0;

	/* A CPU that was away has been added up before. */
	add_up(soaker, &known);
	atomic_long_sub(known, &in_all);
	while (!kthread_should_stop()) {
		unsigned int other, i;
		int err = 0;

		if (!READ_ONCE(writing)) {
			schedule_timeout_interruptible(1);
			continue;
		}
		preempt_disable();
		other = cpumask_next_wrap(cpu, cpu_online_mask);
		if (other < MAX_CPUS && turn % 2 == 0)
			send_nmi(other);
		for (i = 0; i < 8; i++)
			err |= write_any(soaker, TASK);
		if (turn % 4 == 0)
			irq_work_queue(&soaker->work);
		preempt_enable();
		if (++turn % 32 == 0)
			add_up(soaker, &known);
		/* Who is refused has time: the numbers are for events. */
		if (err)
			usleep_range(50, 100);
		else if (pause_us && turn % 4 == 0)
			usleep_range(pause_us, 2 * pause_us);
		cond_resched();
	}
	return 0;
}

static int cpu_comes(unsigned int cpu)
{
	struct soaker *soaker;
	struct task_struct *task;

	if (cpu >= MAX_CPUS)
		return 0;
	soaker = &soakers[cpu];
	task = kthread_create_on_cpu(thread, NULL, cpu, "rtsoak/%u");
	if (IS_ERR(task))
		return PTR_ERR(task);
	soaker->thread = get_task_struct(task);
	hrtimer_start(&soaker->timer, ns_to_ktime(PERIOD_NS), HRTIMER_MODE_REL_PINNED_HARD);
	wake_up_process(task);
	return 0;
}

/* Runs on the CPU that goes. */
static int cpu_goes(unsigned int cpu)
{
	struct soaker *soaker;

	if (cpu >= MAX_CPUS)
		return 0;
	soaker = &soakers[cpu];
	kthread_stop(soaker->thread);
	put_task_struct(soaker->thread);
	hrtimer_cancel(&soaker->timer);
	irq_work_sync(&soaker->work);
	tasklet_kill(&soaker->tasklet);
	return 0;
}

static void stop(void)
{
	unsigned int cpu, i;

	if (cpuhp_state < 0)
		return;
	WRITE_ONCE(writing, false);
	cpuhp_remove_state(cpuhp_state);
	cpuhp_state = -1;
	/* An NMI that was sent comes at once, but one CPU may be slow to see it. */
	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		for (i = 0; i < 1000 && atomic_read(&soakers[cpu].nmi_pending); i++)
			usleep_range(100, 200);
	if (ended_ns < began_ns)
		ended_ns = ktime_get_ns();
}

static int start(void)
{
	unsigned int cpu, context;
	int err;

	stop();
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		struct soaker *soaker = &soakers[cpu];

		memset(soaker->tally, 0, sizeof(soaker->tally));
		memset(soaker->deepest, 0, sizeof(soaker->deepest));
		memset(soaker->nested, 0, sizeof(soaker->nested));
		memset(soaker->arrived, 0, sizeof(soaker->arrived));
		for (context = 0; context < CONTEXTS; context++)
			soaker->random[context] = (seed + 16 * cpu + context) * 0x9e3779b9u | 1;
	}
	atomic_long_set(&in_all, 0);
	ended_ns = 0;
	began_ns = ktime_get_ns();
	WRITE_ONCE(writing, true);
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "rtsoak:online", cpu_comes, cpu_goes);
	if (err < 0)
		return err;
	cpuhp_state = err;
	return 0;
}

static int set_run(const char *text, const struct kernel_param *kp)
{
	bool on;
	int err = kstrtobool(text, &on);

	if (err)
		return err;
	if (on)
		return start();
	stop();
	return 0;
}

static int get_run(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%d\n", READ_ONCE(writing));
}

static const struct kernel_param_ops run_ops = { .set = set_run, .get = get_run };
module_param_cb(run, &run_ops, NULL, 0644);
MODULE_PARM_DESC(run, "1: start to write; 0: stop. Reads 0 when the last event was written");

/* One event for instance 0, from this CPU. */
static int set_once(const char *text, const struct kernel_param *kp)
{
	struct soaker *soaker;
	unsigned int context;
	int err = kstrtouint(text, 10, &context);

	if (err || context >= CONTEXTS || !rings)
		return -EINVAL;
	preempt_disable();
	soaker = &soakers[smp_processor_id() % MAX_CPUS];
	soaker->once[context] = true;
	switch ((enum context)context) {
	case TASK:
		only_one(soaker, TASK);
		break;
	case SOFTIRQ:
		tasklet_schedule(&soaker->tasklet);
		break;
	case HARDIRQ:
		irq_work_queue(&soaker->work);
		break;
	default:
		send_nmi(smp_processor_id());
	}
	preempt_enable();
	return 0;
}

static const struct kernel_param_ops once_ops = { .set = set_once };
module_param_cb(once, &once_ops, NULL, 0200);
MODULE_PARM_DESC(once, "write one event from this context: 0 task ... 3 NMI");

static int show(struct seq_file *m, void *unused)
{
	static const char * const names[CONTEXTS] = { "task", "softirq", "hardirq", "nmi" };
	u32 cpu, stream, context, i;

	seq_printf(m, "ns %llu\n", ended_ns > began_ns ? ended_ns - began_ns : 0);
	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		for (context = 0; context < CONTEXTS; context++) {
			struct soaker *soaker = &soakers[cpu];

			for (stream = 0; stream < STREAMS; stream++) {
				struct tally *tally = &soaker->tally[stream][context];

				seq_printf(m, "tally %u %u %u %u %u", cpu, stream, context,
					   tally->number, tally->recorded);
				for (i = 0; i < REASONS; i++)
					seq_printf(m, " %u", tally->refused[i]);
				seq_putc(m, '\n');
			}
			seq_printf(m, "%s %u %u %lu %lu\n", names[context], cpu,
				   soaker->deepest[context], soaker->nested[context],
				   soaker->arrived[context]);
		}
	return 0;
}

static void close_all(void)
{
	while (rings)
		rtrace_test_close(handles[--rings]);
}

static int __init soak_init(void)
{
	char *rest = instances, *name;
	unsigned int cpu;
	int err = -ENOENT;

	while ((name = strsep(&rest, ",")) && rings < RINGS) {
		handles[rings] = rtrace_test_open(name);
		if (!handles[rings])
			goto out_close;
		rings++;
	}
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		struct soaker *soaker = &soakers[cpu];

		hrtimer_setup(&soaker->timer, on_timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
		tasklet_setup(&soaker->tasklet, on_tasklet);
		init_irq_work(&soaker->work, on_work);
		memset32(soaker->random, cpu + 1, CONTEXTS);
	}
	err = map_apic();
	if (err)
		goto out_close;
	err = rtrace_register_events(THIS_MODULE, rt_events_first, rt_events_last,
				     rt_evals_first, rt_evals_last);
	if (err)
		goto out_unmap;
	err = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "rtsoak");
	if (err)
		goto out_events;
	if (!proc_create_single("rtsoak", 0400, NULL, show)) {
		err = -ENOMEM;
		goto out_nmi;
	}
	return 0;

out_nmi:
	unregister_nmi_handler(NMI_LOCAL, "rtsoak");
out_events:
	rtrace_unregister_events(THIS_MODULE);
out_unmap:
	unmap_apic();
out_close:
	close_all();
	return err;
}

static void __exit soak_exit(void)
{
	unsigned int cpu;

	remove_proc_entry("rtsoak", NULL);
	stop();
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		tasklet_kill(&soakers[cpu].tasklet);
		irq_work_sync(&soakers[cpu].work);
	}
	unregister_nmi_handler(NMI_LOCAL, "rtsoak");
	rtrace_unregister_events(THIS_MODULE);
	unmap_apic();
	close_all();
}

module_init(soak_init);
module_exit(soak_exit);
MODULE_DESCRIPTION("Endless writers in all contexts for the guest tests of rtrace");
MODULE_LICENSE("GPL");
