// SPDX-License-Identifier: GPL-2.0
/* The parts of the quadlets on the wire, by IEEE 1394, as the driver names them. */
#include <linux/minmax.h>
#include <linux/types.h>

#define ASYNC_HEADER_Q0_DESTINATION_MASK	0xffff0000
#define ASYNC_HEADER_Q0_DESTINATION_SHIFT	16
#define ASYNC_HEADER_Q0_TCODE_MASK	0x000000f0
#define ASYNC_HEADER_Q0_TCODE_SHIFT	4
#define ASYNC_HEADER_Q0_TLABEL_MASK	0x0000fc00
#define ASYNC_HEADER_Q0_TLABEL_SHIFT	10
#define ASYNC_HEADER_Q1_OFFSET_HIGH_MASK	0x0000ffff
#define ASYNC_HEADER_Q1_OFFSET_HIGH_SHIFT	0
#define ASYNC_HEADER_Q1_RCODE_MASK	0x0000f000
#define ASYNC_HEADER_Q1_RCODE_SHIFT	12
#define ASYNC_HEADER_Q1_SOURCE_MASK	0xffff0000
#define ASYNC_HEADER_Q1_SOURCE_SHIFT	16
#define ASYNC_HEADER_QUADLET_COUNT	4
#define SELF_ID_PHY_ID_MASK	0x3f000000
#define SELF_ID_PHY_ID_SHIFT	24
#define SELF_ID_ZERO_CONTENDER_MASK	0x00000800
#define SELF_ID_ZERO_CONTENDER_SHIFT	11
#define SELF_ID_ZERO_GAP_COUNT_MASK	0x003f0000
#define SELF_ID_ZERO_GAP_COUNT_SHIFT	16
#define SELF_ID_ZERO_INITIATED_RESET_MASK	0x00000002
#define SELF_ID_ZERO_INITIATED_RESET_SHIFT	1
#define SELF_ID_ZERO_LINK_ACTIVE_MASK	0x00400000
#define SELF_ID_ZERO_LINK_ACTIVE_SHIFT	22
#define SELF_ID_ZERO_POWER_CLASS_MASK	0x00000700
#define SELF_ID_ZERO_POWER_CLASS_SHIFT	8
#define SELF_ID_ZERO_SCODE_MASK	0x0000c000
#define SELF_ID_ZERO_SCODE_SHIFT	14

/* A sequence has the status of 3 ports in its first quadlet, and of 8 in each other. */
#define RT_SELF_ID_QUADLETS 4

static notrace unsigned int self_id_sequence_get_port_capacity(unsigned int quadlets)
{
	return quadlets * 8 - 5;
}

static notrace u8 self_id_sequence_get_port_status(const u32 *sequence,
						   unsigned int quadlets,
						   unsigned int port)
{
	unsigned int place = port + 5;

	if (place / 8 >= min(quadlets, RT_SELF_ID_QUADLETS))
		return 0;
	return sequence[place / 8] >> (16 - place % 8 * 2) & 3;
}

#define CREATE_TRACE_POINTS
#include <trace/events/firewire.h>
