/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends messages to the monitor, and notes which connections have something to do. */
#include "agent/api/api_internal.h"
#include "agent/base/child/child_monitor.h"

/* Minimum time between two messages that tell the monitor about answers that the monitor did not
 * make. */
#define TELL_NS NSEC_PER_SEC

int api_tell(struct privsep_msg *m, int fd)
{
	/* Uses the role that may send the most types of messages, because this file does not know
	 * the role of the process. The monitor refuses messages that the process may not send. */
	return child_monitor_tell(PRIVSEP_API_TLS, m, fd);
}

int api_tell_wait(struct api_call *c, enum privsep_type type)
{
	struct privsep_msg m = {.type = type, .connection = c->client->id};

	c->client->monitor_waits = true;
	return api_tell(&m, -1);
}

void api_tell_next(struct api_client *cl)
{
	struct privsep_msg m = {.type = PRIVSEP_NEXT, .connection = cl->id};
	const uint64_t now = clock_now_ns();

	if (!cl->monitor_waits && now - cl->told_ns < TELL_NS)
		return;
	cl->monitor_waits = false;
	cl->told_ns = now;
	api_tell(&m, -1);
}

void api_ready(struct api_client *cl)
{
	struct api *a = cl->api;

	if (cl->is_ready)
		return;
	cl->is_ready = true;
	cl->next_ready = NULL;
	*a->ready_end = cl;
	a->ready_end = &cl->next_ready;
}
