// SPDX-License-Identifier: GPL-2.0
/*
 * What libtracefs does with dynamic events, through all of its calls for them: each kind
 * is made, listed, looked up as an event, refused while it is in use, and removed. It
 * prints what it is told, without numbers that differ from run to run, so that a run on
 * rtracefs and one on tracefs print the same. Run by scripts/dynamic-clients.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefs.h>

#define SYSTEM "dynev"

/* Prints a definition as the library has it. */
static void show(const char *what, struct tracefs_dynevent *dynevent)
{
	char *system = NULL, *event = NULL, *prefix = NULL, *addr = NULL, *format = NULL;
	int type = tracefs_dynevent_info(dynevent, &system, &event, &prefix, &addr, &format);

	printf("%s: type %d %s/%s prefix %s place %s format %s\n", what, type, system, event,
	       prefix, addr, format);
	free(system);
	free(event);
	free(prefix);
	free(addr);
	free(format);
}

/* Prints all of some kinds. */
static void list(unsigned int types, const char *system)
{
	struct tracefs_dynevent **all = tracefs_dynevent_get_all(types, system);
	int i;

	for (i = 0; all && all[i]; i++)
		show("  listed", all[i]);
	printf("  %d of types %#x in %s\n", i, types, system ? system : "all");
	tracefs_dynevent_list_free(all);
}

/* Prints the fields of the event that a definition makes. */
static void fields(struct tep_handle *tep, struct tracefs_dynevent *dynevent)
{
	struct tep_event *event = tracefs_dynevent_get_event(tep, dynevent);
	struct tep_format_field *field = event ? event->format.fields : NULL;

	printf("  event %s:%s:", event ? event->system : "none", event ? event->name : "");
	for (; field; field = field->next)
		printf(" %s %s at %d size %d;", field->type, field->name, field->offset, field->size);
	printf("\n  print %s\n", event ? event->print_fmt.format : "");
}

/* Makes it, looks at it, has it refused while it is enabled, and removes it. */
static void live(const char *what, struct tracefs_dynevent *dynevent, const char *event)
{
	struct tep_handle *tep;
	struct tracefs_dynevent *found;
	int made, type;

	if (!dynevent) {
		printf("%s: not allocated: %s\n", what, strerror(errno));
		return;
	}
	made = tracefs_dynevent_create(dynevent);
	printf("%s: create %d %s\n", what, made, made ? strerror(errno) : "");
	if (made)
		goto out;
	show(what, dynevent);
	printf("%s: again %d\n", what, tracefs_dynevent_create(dynevent));
	type = tracefs_dynevent_info(dynevent, NULL, NULL, NULL, NULL, NULL);
	list(type, SYSTEM);
	found = tracefs_dynevent_get(type, SYSTEM, event);
	printf("%s: found %d\n", what, found != NULL);
	tracefs_dynevent_free(found);
	tep = tracefs_local_events(NULL);
	if (tep)
		fields(tep, dynevent);
	tep_free(tep);
	printf("%s: enable %d\n", what, tracefs_event_enable(NULL, SYSTEM, event));
	made = tracefs_dynevent_destroy(dynevent, false);
	printf("%s: in use %d %s\n", what, made, made ? strerror(errno) : "");
	printf("%s: removed by force %d\n", what, tracefs_dynevent_destroy(dynevent, true));
	list(TRACEFS_DYNEVENT_ALL, SYSTEM);
out:
	tracefs_dynevent_free(dynevent);
}

/* Makes one that stays until all are removed. */
static void leave(const char *what, struct tracefs_dynevent *dynevent)
{
	int made = dynevent ? tracefs_dynevent_create(dynevent) : -1;

	printf("%s: left %d\n", what, made);
	tracefs_dynevent_free(dynevent);
}

/* Makes a synthetic event of fork and exec, which is one of the kinds. */
static struct tracefs_synth *synthetic(struct tep_handle *tep)
{
	struct tracefs_synth *synth;

	synth = tracefs_synth_alloc(tep, "forked", "sched", "sched_process_fork", "sched",
				    "sched_process_exec", "child_pid", "pid", "task");
	if (!synth)
		return NULL;
	tracefs_synth_add_start_field(synth, "child_pid", "child");
	return synth;
}

int main(int argc, char **argv)
{
	const char *file = argc > 1 ? argv[1] : "/bin/busybox";
	struct tracefs_synth *synth;
	struct tep_handle *tep;

	live("kprobe", tracefs_kprobe_alloc(SYSTEM, "k", "vfs_read", "count=%dx:u64 $comm"), "k");
	live("kretprobe",
	     tracefs_kretprobe_alloc(SYSTEM, "kr", "vfs_read", "ret=$retval:s64", 0), "kr");
	live("kretprobe of 20",
	     tracefs_kretprobe_alloc(SYSTEM, "kr", "vfs_read", "ret=$retval:s64", 20), "kr");
	live("uprobe", tracefs_uprobe_alloc(SYSTEM, "u", file, 0x1000, "a=%di"), "u");
	live("uretprobe", tracefs_uretprobe_alloc(SYSTEM, "ur", file, 0x1000, "r=$retval"), "ur");
	live("eprobe",
	     tracefs_eprobe_alloc(SYSTEM, "e", "sched", "sched_switch", "pid=$prev_pid"), "e");
	live("wrong symbol", tracefs_kprobe_alloc(SYSTEM, "no", "no_such_function", NULL), "no");
	live("wrong argument", tracefs_kprobe_alloc(SYSTEM, "no", "vfs_read", "a=%nosuch"), "no");
	live("wrong event", tracefs_eprobe_alloc(SYSTEM, "no", "sched", "nosuch", "a=$b"), "no");
	live("wrong file", tracefs_uprobe_alloc(SYSTEM, "no", "/nosuch/file", 0, NULL), "no");

	printf("raw %d\n", tracefs_kprobe_raw(SYSTEM, "raw", "vfs_write", "a=%di:x64"));
	printf("raw of a return %d\n",
	       tracefs_kretprobe_raw(SYSTEM, "rawret", "vfs_write", "v=$retval"));
	list(TRACEFS_DYNEVENT_KPROBE | TRACEFS_DYNEVENT_KRETPROBE, NULL);
	printf("raw removed %d\n", tracefs_kprobe_destroy(SYSTEM, "raw", "vfs_write", NULL, true));
	printf("raw removed %d\n", tracefs_kprobe_destroy(SYSTEM, "rawret", "vfs_write", NULL, true));

	tep = tracefs_local_events(NULL);
	synth = tep ? synthetic(tep) : NULL;
	printf("synthetic %d\n", synth ? tracefs_synth_create(synth) : -1);
	list(TRACEFS_DYNEVENT_SYNTH, NULL);
	if (synth) {
		printf("synthetic removed %d\n", tracefs_synth_destroy(synth));
		tracefs_synth_free(synth);
	}
	tep_free(tep);

	leave("kprobe", tracefs_kprobe_alloc(SYSTEM, "k", "vfs_read", NULL));
	leave("kretprobe", tracefs_kretprobe_alloc("other", "kr", "vfs_read", NULL, 0));
	leave("uprobe", tracefs_uprobe_alloc(NULL, "u", file, 0x1000, NULL));
	leave("eprobe", tracefs_eprobe_alloc(NULL, "e", "sched", "sched_switch", NULL));
	list(TRACEFS_DYNEVENT_ALL, NULL);
	tracefs_event_enable(NULL, SYSTEM, "k");
	printf("all of eprobes %d\n", tracefs_dynevent_destroy_all(TRACEFS_DYNEVENT_EPROBE, false));
	printf("all %d\n", tracefs_dynevent_destroy_all(TRACEFS_DYNEVENT_ALL, false));
	list(TRACEFS_DYNEVENT_ALL, NULL);
	printf("all by force %d\n", tracefs_dynevent_destroy_all(TRACEFS_DYNEVENT_ALL, true));
	list(TRACEFS_DYNEVENT_ALL, NULL);
	return 0;
}
