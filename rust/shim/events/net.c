// SPDX-License-Identifier: GPL-2.0
#include <linux/netdevice.h>

/* The kernel's netdev_drivername() is not exported; it reads public members only. */
static inline const char *rt_netdev_drivername(const struct net_device *dev)
{
	const struct device *parent = dev->dev.parent;
	const char *name = parent && parent->driver ? parent->driver->name : NULL;

	return name ?: "";
}
#define netdev_drivername rt_netdev_drivername

#define CREATE_TRACE_POINTS
#include <trace/events/net.h>
