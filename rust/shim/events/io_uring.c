// SPDX-License-Identifier: GPL-2.0
#include <linux/array_size.h>
#include <linux/io_uring.h>
#include <uapi/linux/io_uring.h>
#include <rt_view.h>

/*
 * The kernel's io_uring_get_opcode() is not exported. It answers with the names of
 * the operations, all of them without what they begin with.
 */
#define RT_OP(name) [IORING_OP_##name] = #name
static const char *const rt_io_uring_names[] = {
	RT_OP(NOP), RT_OP(READV), RT_OP(WRITEV), RT_OP(FSYNC),
	RT_OP(READ_FIXED), RT_OP(WRITE_FIXED), RT_OP(POLL_ADD),
	RT_OP(POLL_REMOVE), RT_OP(SYNC_FILE_RANGE), RT_OP(SENDMSG),
	RT_OP(RECVMSG), RT_OP(TIMEOUT), RT_OP(TIMEOUT_REMOVE), RT_OP(ACCEPT),
	RT_OP(ASYNC_CANCEL), RT_OP(LINK_TIMEOUT), RT_OP(CONNECT),
	RT_OP(FALLOCATE), RT_OP(OPENAT), RT_OP(CLOSE), RT_OP(FILES_UPDATE),
	RT_OP(STATX), RT_OP(READ), RT_OP(WRITE), RT_OP(FADVISE),
	RT_OP(MADVISE), RT_OP(SEND), RT_OP(RECV), RT_OP(OPENAT2),
	[IORING_OP_EPOLL_CTL] = "EPOLL", RT_OP(SPLICE), RT_OP(PROVIDE_BUFFERS),
	RT_OP(REMOVE_BUFFERS), RT_OP(TEE), RT_OP(SHUTDOWN), RT_OP(RENAMEAT),
	RT_OP(UNLINKAT), RT_OP(MKDIRAT), RT_OP(SYMLINKAT), RT_OP(LINKAT),
	RT_OP(MSG_RING), RT_OP(FSETXATTR), RT_OP(SETXATTR), RT_OP(FGETXATTR),
	RT_OP(GETXATTR), RT_OP(SOCKET), RT_OP(URING_CMD), RT_OP(SEND_ZC),
	RT_OP(SENDMSG_ZC), RT_OP(READ_MULTISHOT), RT_OP(WAITID),
	RT_OP(FUTEX_WAIT), RT_OP(FUTEX_WAKE), RT_OP(FUTEX_WAITV),
	RT_OP(FIXED_FD_INSTALL), RT_OP(FTRUNCATE), RT_OP(BIND),
	RT_OP(LISTEN), RT_OP(RECV_ZC), RT_OP(EPOLL_WAIT), RT_OP(READV_FIXED),
	RT_OP(WRITEV_FIXED), RT_OP(PIPE), RT_OP(NOP128), RT_OP(URING_CMD128),
};
#undef RT_OP

static notrace const char *rt_io_uring_get_opcode(u8 opcode)
{
	return opcode < ARRAY_SIZE(rt_io_uring_names) ? rt_io_uring_names[opcode] : "INVALID";
}
#define io_uring_get_opcode rt_io_uring_get_opcode

/* A kernel with more operations knows names that we do not. */
static bool rt_io_uring_is_newer(void)
{
	return ARRAY_SIZE(rt_io_uring_names) != IORING_OP_LAST;
}
#define RT_NEEDS_NAMES(event)						\
	RT_ABSENT("io_uring", event, "it has operations that are not named here", \
		  rt_io_uring_is_newer)
RT_NEEDS_NAMES(io_uring_queue_async_work);
RT_NEEDS_NAMES(io_uring_defer);
RT_NEEDS_NAMES(io_uring_fail_link);
RT_NEEDS_NAMES(io_uring_submit_req);
RT_NEEDS_NAMES(io_uring_poll_arm);
RT_NEEDS_NAMES(io_uring_task_add);
RT_NEEDS_NAMES(io_uring_req_failed);

#define CREATE_TRACE_POINTS
#include <trace/events/io_uring.h>
