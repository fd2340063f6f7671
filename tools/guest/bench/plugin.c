// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU's translator: counts what each instruction of the kernel does
 * between two marks: those that rtbench (main.c) puts around a row, or those that
 * rtguest puts around the reading of a file. scripts/breakdown builds it, boots a
 * guest with it and reads what it writes.
 *
 *	-plugin plugin.so,out=FILE
 *
 * FILE has a line `window N` for each window, followed by a line for each
 * instruction: address, how often it ran, loads, stores, its text.
 *
 * Nothing is counted until the first mark is seen, because the guest is slow then: what
 * was translated by that time is translated anew, so the first window is not whole.
 *
 * Debian packages no header for plugins; this is version 4 of QEMU's interface.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_info;
struct qemu_plugin_insn;
struct qemu_plugin_tb;

enum { QEMU_PLUGIN_CB_NO_REGS };
enum { QEMU_PLUGIN_MEM_RW = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*callback)(qemu_plugin_id_t,
							    struct qemu_plugin_tb *));
void qemu_plugin_reset(qemu_plugin_id_t id, void (*done)(qemu_plugin_id_t));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t len);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
char *qemu_plugin_insn_disas(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*callback)(unsigned int, void *),
					    int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*callback)(unsigned int, qemu_plugin_meminfo_t,
						       uint64_t, void *),
				      int flags, int which, void *data);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

#define EXPORT __attribute__((visibility("default")))

EXPORT int qemu_plugin_version = 4;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			       char **argv);

/* One instruction. */
struct place {
	uint64_t address;
	uint64_t runs;
	uint64_t loads;
	uint64_t stores;
	char *text;
	struct place *next;
};

#define BUCKETS (1 << 16)
/* The kernel is in the upper half. */
#define KERNEL (1ull << 63)

static struct place *places[BUCKETS];
static FILE *out;
static bool counting;
static unsigned int windows;

/* What MARK() in main.c is, but for its fourth byte. */
static const uint8_t mark[7] = { 0x0f, 0x1f, 0x80, 0, 'r', 't', 'b' };
enum { MARK_NONE, MARK_BEGIN, MARK_END, MARK_AT = 3 };

static int mark_of(const struct qemu_plugin_insn *insn)
{
	uint8_t bytes[sizeof(mark)];
	int which;

	if (qemu_plugin_insn_data(insn, bytes, sizeof(bytes)) != sizeof(bytes))
		return MARK_NONE;
	which = bytes[MARK_AT];
	bytes[MARK_AT] = 0;
	return memcmp(bytes, mark, sizeof(mark)) ? MARK_NONE : which;
}

static struct place *place_at(uint64_t address)
{
	struct place **at = &places[address * 0x9e3779b97f4a7c15ull >> 48];

	while (*at && (*at)->address != address)
		at = &(*at)->next;
	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (!*at)
			abort();
		(*at)->address = address;
	}
	return *at;
}

static void runs(unsigned int cpu, void *data)
{
	struct place *place = data;

	place->runs += counting;
}

static void accesses(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	struct place *place = data;

	if (!counting)
		return;
	if (qemu_plugin_mem_is_store(info))
		place->stores++;
	else
		place->loads++;
}

static void begins(unsigned int cpu, void *data)
{
	counting = true;
}

static void ends(unsigned int cpu, void *data)
{
	size_t i;

	counting = false;
	fprintf(out, "window %u\n", windows++);
	for (i = 0; i < BUCKETS; i++) {
		struct place *place;

		for (place = places[i]; place; place = place->next) {
			if (place->runs)
				fprintf(out, "%llx %llu %llu %llu %s\n",
					(unsigned long long)place->address,
					(unsigned long long)place->runs,
					(unsigned long long)place->loads,
					(unsigned long long)place->stores, place->text);
			place->runs = 0;
			place->loads = 0;
			place->stores = 0;
		}
	}
	fflush(out);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, insns = qemu_plugin_tb_n_insns(tb);

	for (i = 0; i < insns; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t address = qemu_plugin_insn_vaddr(insn);
		struct place *place;

		switch (mark_of(insn)) {
		case MARK_BEGIN:
			qemu_plugin_register_vcpu_insn_exec_cb(insn, begins,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
			continue;
		case MARK_END:
			qemu_plugin_register_vcpu_insn_exec_cb(insn, ends,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
			continue;
		}
		if (address < KERNEL)
			continue;
		place = place_at(address);
		free(place->text);
		place->text = qemu_plugin_insn_disas(insn);
		qemu_plugin_register_vcpu_insn_exec_cb(insn, runs, QEMU_PLUGIN_CB_NO_REGS, place);
		qemu_plugin_register_vcpu_mem_cb(insn, accesses, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, place);
	}
}

static void armed(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
}

/* Waits for the first mark. */
static void look_for_mark(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	static bool seen;
	size_t i, insns = qemu_plugin_tb_n_insns(tb);

	for (i = 0; i < insns && !seen; i++) {
		if (mark_of(qemu_plugin_tb_get_insn(tb, i)) == MARK_NONE)
			continue;
		seen = true;
		qemu_plugin_reset(id, armed);
	}
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			out = fopen(argv[i] + 4, "w");
	if (!out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, look_for_mark);
	return 0;
}
