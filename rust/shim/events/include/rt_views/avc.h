/* SPDX-License-Identifier: GPL-2.0 */
/* From the kernel's struct to the view of avc.c; see rt_view.h. */

RT_PLACE(selinux_audit_data, requested);
RT_PLACE(selinux_audit_data, denied);
RT_PLACE(selinux_audit_data, audited);
RT_PLACE(selinux_audit_data, result);

static notrace void
rt_view_selinux_audited(void *cookie, struct selinux_audit_data *audit,
			char *scontext, char *tcontext, const char *tclass)
{
	struct selinux_audit_data view = {
		.requested = RT_READ(audit, selinux_audit_data, requested, u32),
		.denied = RT_READ(audit, selinux_audit_data, denied, u32),
		.audited = RT_READ(audit, selinux_audit_data, audited, u32),
		.result = RT_READ(audit, selinux_audit_data, result, int),
	};

	rt_probe_selinux_audited(cookie, &view, scontext, tcontext, tclass);
}
RT_NEEDS(rt_view_selinux_audited, selinux_audit_data, requested, 4, INT);
RT_NEEDS(rt_view_selinux_audited, selinux_audit_data, denied, 4, INT);
RT_NEEDS(rt_view_selinux_audited, selinux_audit_data, audited, 4, INT);
RT_NEEDS(rt_view_selinux_audited, selinux_audit_data, result, 4, INT);
#define rt_probe_selinux_audited rt_view_selinux_audited
