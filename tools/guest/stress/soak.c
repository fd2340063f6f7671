// SPDX-License-Identifier: GPL-2.0
/*
 * Writers in all contexts, deep inside each other.
 *
 * Each CPU has a thread that writes numbered payloads into up to three instances
 * and through a tracepoint. While the tracepoint's record is being filled, more
 * events are written, an interrupt is raised at once, in it an NMI, and after it a
 * softirq, each of which does the same; a timer and the NMIs of other CPUs come at
 * any instant.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <asm/nmi.h>
#include <testapi.h>

#include "nmi.h"
#include "soak.h"

#define CREATE_TRACE_POINTS
#include "rtsoak_trace.h"

#define MAGIC 0xa5
#define MAX_FILL 3
/* Events of one context inside each other; one more than a ring allows in all. */
#define MAX_INNER 2
/* A long row of events inside one, now and then. */
#define BURST 400
#define BURST_EVERY 8192
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

struct soaker soakers[MAX_CPUS];
void *handles[RINGS];
unsigned int rings;
bool writing;
atomic_long_t in_all;
unsigned long events = 1000000;
u64 ended_ns;
unsigned int pause_us;
unsigned int calm_turns;

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
	if (soaker->depth > MAX_NEST)
		soaker->deep[context]++;
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
	u32 i;

	soaker->tally[RINGS][context].recorded++;
	if (soaker->dive) {
		if (--soaker->dive)
			write_one(soaker, context, RINGS);
		return;
	}
	if (dice % 4 == 0 && soaker->inner[context] <= MAX_INNER)
		write_any(soaker, context);
	/* Once around a small ring and back to the half filled record. */
	if (context == TASK && dice % BURST_EVERY == 1 && soaker->inner[context] == 1)
		for (i = 0; i < BURST; i++)
			write_one(soaker, context, 0);
	if (!READ_ONCE(writing) || READ_ONCE(soaker->calm))
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

/* What this CPU has recorded; says in @full whether its numbers are used up. */
static unsigned long recorded(struct soaker *soaker, bool *full)
{
	unsigned long sum = 0;
	u32 stream, context;

	for (stream = 0; stream < STREAMS; stream++)
		for (context = 0; context < CONTEXTS; context++) {
			struct tally *tally = &soaker->tally[stream][context];

			sum += READ_ONCE(tally->recorded);
			*full |= READ_ONCE(tally->number) >= MOST_NUMBERS - 100000;
		}
	return sum;
}

/* Adds what this CPU recorded since it was added last, and ends the writing. */
static void add_up(struct soaker *soaker, unsigned long *known)
{
	bool full = false;
	unsigned long sum = recorded(soaker, &full);

	if (atomic_long_add_return(sum - *known, &in_all) >= events || full) {
		if (READ_ONCE(writing))
			ended_ns = ktime_get_ns();
		WRITE_ONCE(writing, false);
	}
	*known = sum;
}

int soak_thread(void *data)
{
	unsigned int cpu = (unsigned long)data, turn = 0;
	struct soaker *soaker = &soakers[cpu];
	bool full = false;
	/* A CPU that was away has been added up before. */
	unsigned long known = recorded(soaker, &full);

	while (!kthread_should_stop()) {
		unsigned int other, i;
		int err = 0;

		if (!READ_ONCE(writing)) {
			schedule_timeout_interruptible(1);
			continue;
		}
		preempt_disable();
		/* A CPU on its way out pushes its threads away before it ends this one. */
		if (smp_processor_id() != cpu) {
			preempt_enable();
			schedule_timeout_interruptible(1);
			continue;
		}
		WRITE_ONCE(soaker->calm, turn % (calm_turns + 1) != 0);
		other = cpumask_next_wrap(cpu, cpu_online_mask);
		if (other < MAX_CPUS && !soaker->calm)
			send_nmi(other);
		for (i = 0; i < 8; i++)
			err |= write_any(soaker, TASK);
		if (turn % 4 == 0 && !soaker->calm)
			irq_work_queue(&soaker->work);
		if (!hrtimer_active(&soaker->timer))
			hrtimer_start(&soaker->timer, ns_to_ktime(PERIOD_NS),
				      HRTIMER_MODE_REL_PINNED_HARD);
		preempt_enable();
		if (++turn % 32 == 0)
			add_up(soaker, &known);
		/* A refused writer has time: the numbers are for events. */
		if (err)
			usleep_range(50, 100);
		else if (pause_us && turn % 4 == 0)
			usleep_range(pause_us, 2 * pause_us);
		cond_resched();
	}
	return 0;
}

void soak_once(enum context context)
{
	struct soaker *soaker = &soakers[smp_processor_id() % MAX_CPUS];

	soaker->once[context] = true;
	switch (context) {
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
}

void soak_dive(u32 events)
{
	struct soaker *soaker = &soakers[smp_processor_id() % MAX_CPUS];

	soaker->dive = events;
	write_one(soaker, TASK, RINGS);
	/* An event that is refused has none inside it. */
	soaker->dive = 0;
}

void soak_last(void *unused)
{
	enum context context = in_hardirq() ? HARDIRQ : TASK;
	unsigned int cpu = smp_processor_id(), ring;

	for (ring = 0; cpu < MAX_CPUS && ring < rings; ring++)
		write_one(&soakers[cpu], context, ring);
}

int soak_prepare(void)
{
	unsigned int cpu;
	int err;

	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		struct soaker *soaker = &soakers[cpu];

		hrtimer_setup(&soaker->timer, on_timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
		tasklet_setup(&soaker->tasklet, on_tasklet);
		soaker->work = IRQ_WORK_INIT_HARD(on_work);
		memset32(soaker->random, cpu + 1, CONTEXTS);
	}
	err = map_apic();
	if (err)
		return err;
	err = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "rtsoak");
	if (err)
		unmap_apic();
	return err;
}

void soak_finish(void)
{
	unsigned int cpu;

	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		tasklet_kill(&soakers[cpu].tasklet);
		irq_work_sync(&soakers[cpu].work);
	}
	unregister_nmi_handler(NMI_LOCAL, "rtsoak");
	unmap_apic();
}
