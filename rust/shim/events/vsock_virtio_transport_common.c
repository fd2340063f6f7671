// SPDX-License-Identifier: GPL-2.0
#include <net/af_vsock.h>
#include <uapi/linux/virtio_vsock.h>

#define CREATE_TRACE_POINTS
#include <trace/events/vsock_virtio_transport_common.h>
