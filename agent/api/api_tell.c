/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends messages to the monitor. */
#include "agent/api/api_internal.h"
#include <poll.h>

int api_tell(struct privsep_msg *m, int fd)
{
	struct pollfd p = {.fd = PRIVSEP_FD_CONTROL, .events = POLLOUT};
	int r;

	/* Uses the role that may send the most types of messages, because this file does not know
	 * the role of the process. The monitor refuses messages that the process may not send. */
	while ((r = privsep_send(PRIVSEP_FD_CONTROL, PRIVSEP_API_TLS, m, fd)) == -EAGAIN)
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return -errno;
	return r;
}
