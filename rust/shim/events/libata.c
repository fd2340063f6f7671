// SPDX-License-Identifier: GPL-2.0
/*
 * The module libata has the functions that its header prints bits with, and does
 * not export them. They are called by these names in the print formats too, so
 * that ours have the same names. Only printing uses them.
 */
#include <linux/ata.h>
#include <linux/libata.h>
#include <linux/trace_seq.h>

struct rt_ata_name {
	u32 bits;
	const char *name;
};

/* "{ ONE OTHER }": the names of which a bit is set. */
static void rt_ata_braces(struct trace_seq *p, u32 value,
			  const struct rt_ata_name *names, size_t count)
{
	size_t i;

	trace_seq_puts(p, "{ ");
	for (i = 0; i < count; i++) {
		if (value & names[i].bits)
			trace_seq_printf(p, "%s ", names[i].name);
	}
	trace_seq_putc(p, '}');
}

static const char *rt_ata_bits(struct trace_seq *p, u32 value,
			       const struct rt_ata_name *names, size_t count)
{
	const char *text = trace_seq_buffer_ptr(p);

	rt_ata_braces(p, value, names, count);
	trace_seq_putc(p, '\0');
	return text;
}

/* The number first, and no braces for 0. */
static const char *rt_ata_flags(struct trace_seq *p, u32 value,
				const struct rt_ata_name *names, size_t count)
{
	const char *text = trace_seq_buffer_ptr(p);

	trace_seq_printf(p, "%x", value);
	if (value)
		rt_ata_braces(p, value, names, count);
	trace_seq_putc(p, '\0');
	return text;
}

static const char *libata_trace_parse_status(struct trace_seq *p, unsigned char status)
{
	static const struct rt_ata_name names[] = {
		{ ATA_BUSY, "BUSY" }, { ATA_DRDY, "DRDY" }, { ATA_DF, "DF" },
		{ ATA_DSC, "DSC" }, { ATA_DRQ, "DRQ" }, { ATA_CORR, "CORR" },
		{ ATA_SENSE, "SENSE" }, { ATA_ERR, "ERR" },
	};

	return rt_ata_bits(p, status, names, ARRAY_SIZE(names));
}

static const char *libata_trace_parse_host_stat(struct trace_seq *p, unsigned char stat)
{
	static const struct rt_ata_name names[] = {
		{ ATA_DMA_INTR, "INTR" }, { ATA_DMA_ERR, "ERR" },
		{ ATA_DMA_ACTIVE, "ACTIVE" },
	};

	return rt_ata_bits(p, stat, names, ARRAY_SIZE(names));
}

static const char *libata_trace_parse_eh_action(struct trace_seq *p, unsigned int action)
{
	static const struct rt_ata_name names[] = {
		{ ATA_EH_REVALIDATE, "REVALIDATE" },
		{ ATA_EH_SOFTRESET | ATA_EH_HARDRESET, "RESET" },
		{ ATA_EH_ENABLE_LINK, "ENABLE_LINK" }, { ATA_EH_PARK, "PARK" },
	};

	return rt_ata_flags(p, action, names, ARRAY_SIZE(names));
}

static const char *libata_trace_parse_eh_err_mask(struct trace_seq *p, unsigned int mask)
{
	static const struct rt_ata_name names[] = {
		{ AC_ERR_DEV, "DEV" }, { AC_ERR_HSM, "HSM" },
		{ AC_ERR_TIMEOUT, "TIMEOUT" }, { AC_ERR_MEDIA, "MEDIA" },
		{ AC_ERR_ATA_BUS, "ATA_BUS" }, { AC_ERR_HOST_BUS, "HOST_BUS" },
		{ AC_ERR_SYSTEM, "SYSTEM" }, { AC_ERR_INVALID, "INVALID" },
		{ AC_ERR_OTHER, "OTHER" }, { AC_ERR_NODEV_HINT, "NODEV_HINT" },
		{ AC_ERR_NCQ, "NCQ" },
	};

	return rt_ata_flags(p, mask, names, ARRAY_SIZE(names));
}

static const char *libata_trace_parse_qc_flags(struct trace_seq *p, unsigned int flags)
{
	static const struct rt_ata_name names[] = {
		{ ATA_QCFLAG_ACTIVE, "ACTIVE" }, { ATA_QCFLAG_DMAMAP, "DMAMAP" },
		{ ATA_QCFLAG_IO, "IO" }, { ATA_QCFLAG_RESULT_TF, "RESULT_TF" },
		{ ATA_QCFLAG_CLEAR_EXCL, "CLEAR_EXCL" }, { ATA_QCFLAG_QUIET, "QUIET" },
		{ ATA_QCFLAG_RETRY, "RETRY" }, { ATA_QCFLAG_EH, "FAILED" },
		{ ATA_QCFLAG_SENSE_VALID, "SENSE_VALID" },
		{ ATA_QCFLAG_EH_SCHEDULED, "EH_SCHEDULED" },
	};

	return rt_ata_flags(p, flags, names, ARRAY_SIZE(names));
}

static const char *libata_trace_parse_tf_flags(struct trace_seq *p, unsigned int flags)
{
	static const struct rt_ata_name names[] = {
		{ ATA_TFLAG_LBA48, "LBA48" }, { ATA_TFLAG_ISADDR, "ISADDR" },
		{ ATA_TFLAG_DEVICE, "DEV" }, { ATA_TFLAG_WRITE, "WRITE" },
		{ ATA_TFLAG_LBA, "LBA" }, { ATA_TFLAG_FUA, "FUA" },
		{ ATA_TFLAG_POLLING, "POLL" },
	};

	return rt_ata_flags(p, flags, names, ARRAY_SIZE(names));
}

/* What a command that has subcommands is asked to do; NULL when there is no name. */
static const char *rt_ata_subcommand(u8 command, u8 feature, u8 sectors)
{
	static const struct {
		u8 command;
		u8 sub;
		const char *name;
	} names[] = {
		{ ATA_CMD_FPDMA_RECV, ATA_SUBCMD_FPDMA_RECV_RD_LOG_DMA_EXT,
		  "READ_LOG_DMA_EXT" },
		{ ATA_CMD_FPDMA_RECV, ATA_SUBCMD_FPDMA_RECV_ZAC_MGMT_IN, "ZAC_MGMT_IN" },
		{ ATA_CMD_FPDMA_SEND, ATA_SUBCMD_FPDMA_SEND_WR_LOG_DMA_EXT,
		  "WRITE_LOG_DMA_EXT" },
		{ ATA_CMD_FPDMA_SEND, ATA_SUBCMD_FPDMA_SEND_DSM, "DATASET_MANAGEMENT" },
		{ ATA_CMD_NCQ_NON_DATA, ATA_SUBCMD_NCQ_NON_DATA_ABORT_QUEUE,
		  "ABORT_QUEUE" },
		{ ATA_CMD_NCQ_NON_DATA, ATA_SUBCMD_NCQ_NON_DATA_SET_FEATURES,
		  "SET_FEATURES" },
		{ ATA_CMD_NCQ_NON_DATA, ATA_SUBCMD_NCQ_NON_DATA_ZERO_EXT, "ZERO_EXT" },
		{ ATA_CMD_NCQ_NON_DATA, ATA_SUBCMD_NCQ_NON_DATA_ZAC_MGMT_OUT,
		  "ZAC_MGMT_OUT" },
		{ ATA_CMD_ZAC_MGMT_IN, ATA_SUBCMD_ZAC_MGMT_IN_REPORT_ZONES,
		  "REPORT_ZONES" },
		{ ATA_CMD_ZAC_MGMT_OUT, ATA_SUBCMD_ZAC_MGMT_OUT_CLOSE_ZONE,
		  "CLOSE_ZONE" },
		{ ATA_CMD_ZAC_MGMT_OUT, ATA_SUBCMD_ZAC_MGMT_OUT_FINISH_ZONE,
		  "FINISH_ZONE" },
		{ ATA_CMD_ZAC_MGMT_OUT, ATA_SUBCMD_ZAC_MGMT_OUT_OPEN_ZONE, "OPEN_ZONE" },
		{ ATA_CMD_ZAC_MGMT_OUT, ATA_SUBCMD_ZAC_MGMT_OUT_RESET_WRITE_POINTER,
		  "RESET_WRITE_POINTER" },
	};
	bool in_count = command == ATA_CMD_FPDMA_RECV || command == ATA_CMD_FPDMA_SEND;
	u8 sub = in_count ? sectors & 0x5f : feature;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].command == command && names[i].sub == sub)
			return names[i].name;
	}
	return NULL;
}

static const char *libata_trace_parse_subcmd(struct trace_seq *p, unsigned char command,
					     unsigned char feature, unsigned char sectors)
{
	const char *text = trace_seq_buffer_ptr(p);
	const char *name = rt_ata_subcommand(command, feature, sectors);

	if (name)
		trace_seq_printf(p, " %s", name);
	trace_seq_putc(p, '\0');
	return text;
}

#define CREATE_TRACE_POINTS
#include <trace/events/libata.h>
