/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends and receives messages with a descriptor. Both functions are in one file because a receiver
 * that overlooks a truncated or unexpected descriptor leaks it.
 */
#include "netcfg/base/os/fdpass.h"
#include <string.h>
#include <sys/socket.h>

union control_buffer {
	char buf[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

int fdpass_send(int sock, const void *msg, size_t len, int fd)
{
	union control_buffer control = {.buf = {0}};
	struct iovec iov = {.iov_base = (void *)msg, .iov_len = len};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *c;

		mh.msg_control = control.buf;
		mh.msg_controllen = sizeof(control.buf);
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(sock, &mh, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int take_descriptor(struct msghdr *mh)
{
	int fd = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		    c->cmsg_len >= CMSG_LEN(sizeof(int)))
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

ssize_t fdpass_recv(int sock, void *msg, size_t size, int *ret_fd, bool *ret_whole)
{
	/* msg_controllen excludes the padding at the end: otherwise the kernel would store a second
	 * descriptor there. The kernel closes descriptors that do not fit. */
	union control_buffer control;
	struct iovec iov = {.iov_base = msg, .iov_len = size};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.buf,
			    .msg_controllen = CMSG_LEN(sizeof(int))};
	ssize_t n = recvmsg(sock, &mh, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);

	*ret_fd = -1;
	if (n < 0)
		return -errno;
	*ret_fd = take_descriptor(&mh);
	if (ret_whole)
		*ret_whole = !(mh.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	return n;
}
