// SPDX-License-Identifier: GPL-2.0
/*
 * The control of rtsoak: `run` starts and stops the writers, `once` makes a single
 * event in a context of choice, `text` one with texts, /proc/rtsoak tells what was
 * done, exactly when nothing runs. CPUs may come and go meanwhile.
 */
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <testapi.h>

#include "rtsoak_trace.h"
#include "soak.h"

static u64 began_ns;
static int cpuhp_state = -1;

static char *instances = "";
module_param(instances, charp, 0444);
MODULE_PARM_DESC(instances, "up to three rtrace instances to write to, with commas");

module_param(events, ulong, 0644);
MODULE_PARM_DESC(events, "writing ends when that many were recorded");

static unsigned int seed = 1;
module_param(seed, uint, 0644);

module_param(pause_us, uint, 0644);
MODULE_PARM_DESC(pause_us, "the threads rest this long now and then");

module_param(calm_turns, uint, 0644);
MODULE_PARM_DESC(calm_turns, "so many turns of a thread raise no interrupt and no NMI, after each one that does");

static unsigned int copies;
module_param(copies, uint, 0444);
MODULE_PARM_DESC(copies, "so many more events of the tracepoint of rtsoak_text");

static unsigned int generation;
module_param(generation, uint, 0444);
MODULE_PARM_DESC(generation, "a number in the definition of each copy, which differs with it");

static int nice;
module_param(nice, int, 0644);
MODULE_PARM_DESC(nice, "of the threads");

static int cpu_comes(unsigned int cpu)
{
	struct soaker *soaker;
	struct task_struct *task;

	if (cpu >= MAX_CPUS)
		return 0;
	soaker = &soakers[cpu];
	task = kthread_create_on_cpu(soak_thread, (void *)(unsigned long)cpu, cpu, "rtsoak/%u");
	if (IS_ERR(task))
		return PTR_ERR(task);
	soaker->thread = get_task_struct(task);
	sched_set_normal(task, nice);
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
	/* An NMI that was sent comes at once, but the host may have other things to do than a CPU. */
	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		for (i = 0; i < 100000 && atomic_read(&soakers[cpu].nmi_pending); i++)
			usleep_range(100, 200);
	on_each_cpu(soak_last, NULL, 1);
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
		memset(soaker->deep, 0, sizeof(soaker->deep));
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
	unsigned int context;
	int err = kstrtouint(text, 10, &context);

	if (err || context >= CONTEXTS || !rings)
		return -EINVAL;
	preempt_disable();
	soak_once(context);
	preempt_enable();
	return 0;
}

static const struct kernel_param_ops once_ops = { .set = set_once };
module_param_cb(once, &once_ops, NULL, 0200);
MODULE_PARM_DESC(once, "write one event from this context: 0 task ... 3 NMI");

/* Events inside each other. While no writer is at work. */
static int set_dive(const char *text, const struct kernel_param *kp)
{
	unsigned int count;
	int err = kstrtouint(text, 10, &count);

	if (err || !count || count > MAX_DIVE || READ_ONCE(writing))
		return -EINVAL;
	preempt_disable();
	soak_dive(count);
	preempt_enable();
	return 0;
}

static const struct kernel_param_ops dive_ops = { .set = set_dive };
module_param_cb(dive, &dive_ops, NULL, 0200);
MODULE_PARM_DESC(dive, "write so many events, each inside the one before");

/* One rtsoak_text and one rtsoak_copied; the pointer of some leads nowhere. */
static int set_text(const char *value, const struct kernel_param *kp)
{
	static char text[256];
	const char *ptr = text;

	if (strscpy(text, value) < 0)
		return -EINVAL;
	strreplace(text, '\n', '\0');
	if (!strcmp(text, "null"))
		ptr = NULL;
	else if (!strcmp(text, "nowhere"))
		ptr = (const char *)8UL;
	trace_rtsoak_text(text, ptr);
	trace_rtsoak_copied(text);
	return 0;
}

static const struct kernel_param_ops text_ops = { .set = set_text };
module_param_cb(text, &text_ops, NULL, 0200);
MODULE_PARM_DESC(text, "make an event with this text");

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
			seq_printf(m, "%s %u %u %lu %lu %lu\n", names[context], cpu,
				   soaker->deepest[context], soaker->nested[context],
				   soaker->arrived[context], soaker->deep[context]);
		}
	return 0;
}

static void close_all(void)
{
	while (rings)
		rtrace_test_close(handles[--rings]);
}

/*
 * Events that differ from rtsoak_text in their names and print formats alone. A
 * system of their own: their folder comes and goes with them.
 */
static struct rt_event_desc *copied;

static void free_copies(void)
{
	unsigned int i;

	for (i = 0; copied && i < copies; i++) {
		kfree(copied[i].name);
		kfree(copied[i].print_fmt);
	}
	kvfree(copied);
}

static int register_copies(void)
{
	const struct rt_event_desc *text = rt_events_first;
	unsigned int i;

	if (!copies)
		return 0;
	while (text < rt_events_last && strcmp(text->name, "rtsoak_text"))
		text++;
	copied = kvcalloc(copies, sizeof(*copied), GFP_KERNEL);
	if (text == rt_events_last || !copied)
		return -ENOMEM;
	for (i = 0; i < copies; i++) {
		copied[i] = *text;
		copied[i].system = "rtcopies";
		copied[i].name = kasprintf(GFP_KERNEL, "copy_%u", i);
		copied[i].print_fmt = kasprintf(GFP_KERNEL, "\"%%.16s %u\", REC->name", generation);
		if (!copied[i].name || !copied[i].print_fmt)
			return -ENOMEM;
	}
	return rtrace_register_events(THIS_MODULE, copied, copied + copies,
				      rt_evals_first, rt_evals_last);
}

static int __init soak_init(void)
{
	char *rest = instances, *name;
	int err = -ENOENT;

	while ((name = strsep(&rest, ",")) && rings < RINGS) {
		handles[rings] = rtrace_test_open(name);
		if (!handles[rings])
			goto out_close;
		rings++;
	}
	err = rtrace_register_events(THIS_MODULE, rt_events_first, rt_events_last,
				     rt_evals_first, rt_evals_last);
	if (err)
		goto out_close;
	err = register_copies();
	if (err)
		goto out_events;
	err = soak_prepare();
	if (err)
		goto out_events;
	if (!proc_create_single("rtsoak", 0400, NULL, show)) {
		err = -ENOMEM;
		goto out_finish;
	}
	return 0;

out_finish:
	soak_finish();
out_events:
	rtrace_unregister_events(THIS_MODULE);
	free_copies();
out_close:
	close_all();
	return err;
}

static void __exit soak_exit(void)
{
	remove_proc_entry("rtsoak", NULL);
	stop();
	soak_finish();
	rtrace_unregister_events(THIS_MODULE);
	free_copies();
	close_all();
}

module_init(soak_init);
module_exit(soak_exit);
MODULE_DESCRIPTION("Endless writers in all contexts for the guest tests of rtrace");
MODULE_LICENSE("GPL");
