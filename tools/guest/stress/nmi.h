/* SPDX-License-Identifier: GPL-2.0 */
/* How a stress module sends an NMI to a CPU. */
#ifndef RTSTRESS_NMI_H
#define RTSTRESS_NMI_H

#include <linux/io.h>
#include <linux/percpu.h>
#include <asm/apicdef.h>
#include <asm/msr.h>
#include <asm/smp.h>

/* The registers of the local APIC; none with x2APIC. */
static void __iomem *apic;

static int map_apic(void)
{
	u64 base;

	rdmsrq(MSR_IA32_APICBASE, base);
	if (base & X2APIC_ENABLE)
		return 0;
	apic = ioremap(base & PAGE_MASK & GENMASK_ULL(51, 0), PAGE_SIZE);
	return apic ? 0 : -ENOMEM;
}

static void unmap_apic(void)
{
	if (apic)
		iounmap(apic);
}

/* Any context but NMI; the CPU is online and stays so. */
static void send_nmi_to(unsigned int cpu)
{
	u32 id = per_cpu(x86_cpu_to_apicid, cpu);
	unsigned long flags;

	if (!apic) {
		/* x2APIC: one register holds the target and the command. */
		wrmsrq(APIC_BASE_MSR + (APIC_ICR >> 4),
		       ((u64)id << 32) | APIC_DM_NMI | APIC_INT_ASSERT);
		return;
	}
	/* Two registers: no other code may use them in between. */
	local_irq_save(flags);
	writel(SET_XAPIC_DEST_FIELD(id), apic + APIC_ICR2);
	writel(APIC_DM_NMI | APIC_INT_ASSERT, apic + APIC_ICR);
	local_irq_restore(flags);
}

#endif
