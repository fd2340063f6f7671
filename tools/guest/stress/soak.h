/* SPDX-License-Identifier: GPL-2.0 */
/* What the writers of rtsoak (soak.c) and their control (soak_main.c) share. */
#ifndef RTSOAK_H
#define RTSOAK_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/types.h>

enum context { TASK, SOFTIRQ, HARDIRQ, NMI, CONTEXTS };

#define MAX_CPUS 8
/* Events of a dive: each takes some hundred bytes of the stack. */
#define MAX_DIVE 20
/* Writers inside each other that a ring allows. */
#define MAX_NEST 8
/* Instances; the stream after them is the tracepoint's. */
#define RINGS 3
#define STREAMS (RINGS + 1)
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
	unsigned long deep[CONTEXTS];	/* writes inside more than a ring allows */
	unsigned long arrived[CONTEXTS];
	bool once[CONTEXTS];
	bool calm;		/* no interrupt but the timer's, no NMI but its */
	u32 dive;		/* events that are still to be inside each other */
};

extern struct soaker soakers[MAX_CPUS];
/* The instances that are written to. */
extern void *handles[RINGS];
extern unsigned int rings;
/* Set while the writers are at work. */
extern bool writing;
/* Events recorded, not quite up to date, and how many end the writing. */
extern atomic_long_t in_all;
extern unsigned long events;
extern u64 ended_ns;
extern unsigned int pause_us;
/* A thread's turns without an interrupt or an NMI of its own making, after each one that has them. */
extern unsigned int calm_turns;

/* The thread of CPU @data. */
int soak_thread(void *data);
/* One event for instance 0, from this CPU. Preemption is off. */
void soak_once(enum context context);
/* So many events of the tracepoint, each inside the one before. Preemption is off. */
void soak_dive(u32 events);

/* The last event of this CPU for each instance: it tells of losses before it. */
void soak_last(void *unused);

int soak_prepare(void);
void soak_finish(void);

#endif
