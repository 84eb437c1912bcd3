/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends messages to the monitor. */
#include "agent/api/api_internal.h"
#include <poll.h>

int api_tell(struct privsep_msg *m, int fd)
{
	struct pollfd p = {.fd = PRIVSEP_FD_CONTROL, .events = POLLOUT};
	int r;

	/* The code allows every message; the monitor's table refuses those that the role may not
	 * send. */
	while ((r = privsep_send(PRIVSEP_FD_CONTROL, PRIVSEP_ADMIN, m, fd)) == -EAGAIN)
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return -errno;
	return r;
}
