// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_mad.h>
#include <rdma/ib_user_mad.h>
#include <rdma/ib_verbs.h>

#define RT_OF_MODULE 1
#include <rt_view.h>

/* The views of an open port; rt_views/ib_umad.h fills them. */
struct ib_umad_port {
	struct ib_device *ib_dev;
	u32 port_num;
};

struct ib_umad_file {
	struct ib_umad_port *port;
};

#define RT_VIEWS <rt_views/ib_umad.h>
#define CREATE_TRACE_POINTS
#include <trace/events/ib_umad.h>
