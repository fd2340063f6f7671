// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel does not export the function that prints where a module of memory
 * is. The print format calls it by this name, and so has ours.
 */
#include <linux/cper.h>
#include <linux/trace_seq.h>

#if IS_ENABLED(CONFIG_ACPI_EXTLOG)
const char *cper_mem_err_unpack(struct trace_seq *p,
				struct cper_mem_err_compact *compact)
{
	const char *text = trace_seq_buffer_ptr(p);
	char part[CPER_REC_LEN];

	if (cper_mem_err_location(compact, part))
		trace_seq_puts(p, part);
	if (cper_dimm_err_location(compact, part))
		trace_seq_puts(p, part);
	trace_seq_putc(p, '\0');
	return text;
}
#endif

#define CREATE_TRACE_POINTS
#define TRACE_INCLUDE_PATH ras
#include <ras/ras_event.h>
