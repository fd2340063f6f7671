// SPDX-License-Identifier: GPL-2.0
/* The bits of the controller's registers, by IEEE 1394 OHCI 1.1, as the driver names them. */
#include <linux/types.h>
#include <asm/byteorder.h>

#define OHCI1394_reqTxComplete		0x00000001
#define OHCI1394_respTxComplete		0x00000002
#define OHCI1394_RQPkt			0x00000010
#define OHCI1394_RSPkt			0x00000020
#define OHCI1394_isochTx		0x00000040
#define OHCI1394_isochRx		0x00000080
#define OHCI1394_postedWriteErr		0x00000100
#define OHCI1394_selfIDComplete		0x00010000
#define OHCI1394_busReset		0x00020000
#define OHCI1394_regAccessFail		0x00040000
#define OHCI1394_cycle64Seconds		0x00200000
#define OHCI1394_cycleInconsistent	0x00800000
#define OHCI1394_unrecoverableError	0x01000000
#define OHCI1394_cycleTooLong		0x02000000

#define OHCI1394_SelfIDCount_selfIDError_MASK		0x80000000
#define OHCI1394_SelfIDCount_selfIDError_SHIFT		31
#define OHCI1394_SelfIDCount_selfIDGeneration_MASK	0x00ff0000
#define OHCI1394_SelfIDCount_selfIDGeneration_SHIFT	16
#define OHCI1394_SELF_ID_RECEIVE_Q0_GENERATION_MASK	0x00ff0000
#define OHCI1394_SELF_ID_RECEIVE_Q0_GENERATION_SHIFT	16
#define OHCI1394_SELF_ID_RECEIVE_Q0_TIMESTAMP_MASK	0x0000ffff
#define OHCI1394_SELF_ID_RECEIVE_Q0_TIMESTAMP_SHIFT	0

/* In quadlets. */
static notrace u32 ohci1394_self_id_count_get_size(u32 reg)
{
	return (reg & 0x000007fc) >> 2;
}

/* Only on a big-endian machine may the driver leave a header as it is. */
static notrace u32 cond_le32_to_cpu(__le32 value, bool has_be_header_quirk)
{
	return le32_to_cpu(value);
}

#define CREATE_TRACE_POINTS
#include <trace/events/firewire_ohci.h>
