/* SPDX-License-Identifier: GPL-2.0 */
/*
 * No reader sleeps through an event: rust/kapi/waker.rs on CPUs with store buffers.
 *
 * Two CPUs write events, a third one reads and sleeps. A store goes into the
 * CPU's buffer, from which the machine takes it at some later time, in order
 * (TSO). No CPU loads what it has stored itself, except after a full barrier,
 * so nothing is forwarded from a buffer.
 *
 * Between any two instructions of a writing CPU an interrupt may come: the
 * sleeper's, which drains the buffer, or the irq_work that wakes sleepers.
 *
 * A lost wake-up is a sleeper that waits while no process can go on: an invalid
 * end state. scripts/models checks that there is none, and that there is one
 * with each of
 *   -DNO_INTERRUPT	the sleeper does not interrupt the writers
 *   -DINTERRUPT_FIRST	it does so before it says that it wants to be woken
 *   -DLOOK_FIRST	it looks for events before
 *   -DONE_CPU		it interrupts one of the writing CPUs only
 *   -DWITHDRAW_LATE	the wish is withdrawn after the count of rounds
 *   -DROUND_LATE	the sleeper reads the round after it has looked
 */

#define CPUS	2
#define EVENTS	2	/* of each writing CPU */

/* Names of words. */
#define PUBLISHED	0
#define WANTED		1

/* What memory holds. */
byte published[CPUS];
bit wanted;
byte rounds;

/* Store buffers; the last one is the sleeper's. */
chan buffer[3] = [2] of { bit, byte };

bit asked[CPUS];	/* the sleeper's interrupt is on its way */
bit queued[CPUS];	/* an irq_work is */

#define drained(cpu)	(empty(buffer[cpu]))

/* The machine: takes stores out of the buffer of one CPU. */
proctype drain(byte cpu)
{
	byte value;

end:	do
	:: atomic { buffer[cpu]?PUBLISHED, value -> published[cpu] = value; value = 0 }
	:: atomic { buffer[cpu]?WANTED, value -> wanted = value; value = 0 }
	od
}

inline wake(cpu)
{
#ifdef WITHDRAW_LATE
	drained(cpu);
	rounds++;
	buffer[cpu]!WANTED, 0;
#else
	buffer[cpu]!WANTED, 0;
	drained(cpu);	/* the addition is a locked instruction */
	rounds++;
#endif
}

inline interrupts(cpu)
{
	do
	:: asked[cpu] -> drained(cpu); asked[cpu] = 0
	:: queued[cpu] -> queued[cpu] = 0; wake(cpu)
	:: break
	od
}

proctype writer(byte cpu)
{
	byte event = 0;

	do
	:: event < EVENTS ->
		event++;
		interrupts(cpu);
		buffer[cpu]!PUBLISHED, event;
		interrupts(cpu);
		if
		:: wanted -> interrupts(cpu); queued[cpu] = 1
		:: else
		fi
	:: else -> break
	od;

	/* The CPU has other work. */
end:	do
	:: asked[cpu] -> drained(cpu); asked[cpu] = 0
	:: queued[cpu] -> queued[cpu] = 0; wake(cpu)
	od
}

inline interrupt_writers()
{
#ifndef NO_INTERRUPT
	drained(CPUS);	/* sending is a locked instruction */
	asked[0] = 1;
#ifndef ONE_CPU
	asked[1] = 1;
#endif
	!asked[0];
	!asked[1];
#else
	skip
#endif
}

proctype sleeper()
{
	byte done[CPUS];
	byte round;

	do
	:: done[0] == EVENTS && done[1] == EVENTS -> break
	:: else ->
#ifndef ROUND_LATE
		round = rounds;
#endif
#ifdef INTERRUPT_FIRST
		interrupt_writers();
#endif
#ifndef LOOK_FIRST
		buffer[CPUS]!WANTED, 1;
#ifndef INTERRUPT_FIRST
		interrupt_writers();
#endif
#endif
		if
		:: published[0] > done[0] -> done[0] = published[0]
		:: else ->
			if
			:: published[1] > done[1] -> done[1] = published[1]
			:: else ->
#ifdef ROUND_LATE
				round = rounds;
#endif
#ifdef LOOK_FIRST
				buffer[CPUS]!WANTED, 1;
				interrupt_writers();
#endif
				rounds != round
			fi
		fi
	od
}

init
{
	atomic {
		run drain(0);
		run drain(1);
		run drain(2);
		run writer(0);
		run writer(1);
		run sleeper()
	}
}
