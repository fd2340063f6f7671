// SPDX-License-Identifier: GPL-2.0
/* An event has the name of a function, so that only the module's own is renamed. */
#define rpc_task_timeout rt_module_rpc_task_timeout
#include <linux/sunrpc/sched.h>
#undef rpc_task_timeout
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>

/*
 * Three functions of the module sunrpc, which read public members only: with its
 * own ones it would have to be loaded before rtrace.
 */
static notrace const char *rt_rpc_proc_name(const struct rpc_task *task)
{
	const struct rpc_procinfo *procedure = task->tk_msg.rpc_proc;

	if (!procedure)
		return "no proc";
	return procedure->p_name ?: "NULL";
}
#define rpc_proc_name rt_rpc_proc_name

static notrace const char *rt_svc_proc_name(const struct svc_rqst *request)
{
	if (!request || !request->rq_procinfo)
		return "unknown";
	return request->rq_procinfo->pc_name;
}
#define svc_proc_name rt_svc_proc_name

static notrace unsigned long rpc_task_timeout(const struct rpc_task *task)
{
	unsigned long end = READ_ONCE(task->tk_timeout);
	unsigned long now = jiffies;

	return end && time_before(now, end) ? end - now : 0;
}

#define CREATE_TRACE_POINTS
#include <trace/events/sunrpc.h>
