/* SPDX-License-Identifier: GPL-2.0 */
/* From the structs of the module ib_umad to the views of ib_umad.c; see rt_view.h. */

RT_PLACE(ib_umad_file, port);
RT_PLACE(ib_umad_port, ib_dev);
RT_PLACE(ib_umad_port, port_num);

static notrace void
rt_view_ib_umad(void *cookie, struct ib_umad_file *file,
		struct ib_user_mad_hdr *umad_hdr, struct ib_mad_hdr *mad_hdr)
{
	const void *port = RT_READ(file, ib_umad_file, port, void *);
	struct ib_umad_port port_view = {
		.ib_dev = RT_READ(port, ib_umad_port, ib_dev, struct ib_device *),
		.port_num = RT_READ(port, ib_umad_port, port_num, u32),
	};
	struct ib_umad_file view = { .port = &port_view };

	rt_probe_ib_umad_template(cookie, &view, umad_hdr, mad_hdr);
}
RT_NEEDS(rt_view_ib_umad, ib_umad_file, port, 8, PTR);
RT_NEEDS(rt_view_ib_umad, ib_umad_port, ib_dev, 8, PTR);
RT_NEEDS(rt_view_ib_umad, ib_umad_port, port_num, 4, INT);
#define rt_probe_ib_umad_template rt_view_ib_umad
