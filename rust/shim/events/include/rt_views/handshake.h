/* SPDX-License-Identifier: GPL-2.0 */
/* From the kernel's struct to the view of handshake.c; see rt_view.h. */

RT_PLACE(handshake_req, hr_sk);

static notrace void
rt_view_handshake_fd(void *cookie, const struct net *net,
		     const struct handshake_req *request, const struct sock *sk, int fd)
{
	struct handshake_req view = {
		.hr_sk = RT_READ(request, handshake_req, hr_sk, struct sock *),
	};

	rt_probe_handshake_fd_class(cookie, net, &view, sk, fd);
}
RT_NEEDS(rt_view_handshake_fd, handshake_req, hr_sk, 8, PTR);
#define rt_probe_handshake_fd_class rt_view_handshake_fd
