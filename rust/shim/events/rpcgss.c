// SPDX-License-Identifier: GPL-2.0
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/gss_api.h>
#include <linux/sunrpc/gss_err.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/auth_gss.h>

#define CREATE_TRACE_POINTS
#include <trace/events/rpcgss.h>
