/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends the worker's messages to the agent. */
#include "dataplane/worker/worker.h"
#include "netcfg/base/os/fdpass.h"

#include <sys/socket.h>

void worker_send(struct worker *w, enum launch_msg_type type, int code, unsigned index,
		 const char *text)
{
	struct launch_msg m = {.type = type, .code = code, .index = index};

	/* Drop events while no agent runs: the space in the socket is reserved for messages that
	 * the next agent needs. */
	if (w->control_fd < 0 || (w->orphan_ns && type == LAUNCH_MSG_EVENT))
		return;
	reason_copy_text(m.text, sizeof(m.text), text ? text : "");
	/* If the channel is full, the message is lost, because the worker must never block. The
	 * statistics page shows the current state in any case. */
	(void)send(w->control_fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void worker_send_port(struct worker *w, unsigned index, const struct launch_port *port)
{
	const struct launch_msg m = {.type = LAUNCH_MSG_HAS_PORT, .index = index, .port = *port};

	if (w->control_fd >= 0)
		(void)send(w->control_fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void worker_send_ping(struct worker *w, const struct launch_ping *p)
{
	const struct launch_msg m = {.type = LAUNCH_MSG_PINGED, .ping = *p};

	if (w->control_fd >= 0 && !w->orphan_ns)
		(void)send(w->control_fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void worker_send_lock(void *user, const struct launch_msg *m)
{
	struct worker *w = user;

	/* The server sends the message again when there is an agent. */
	if (w->control_fd >= 0 && !w->orphan_ns)
		(void)send(w->control_fd, m, sizeof(*m), MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool worker_hold(void *user, uint32_t export_index, uint64_t key, int fd)
{
	struct worker *w = user;
	struct launch_msg m = {.type = LAUNCH_MSG_HOLD, .index = export_index, .key = key};

	if (w->control_fd < 0)
		return true;
	if (fd >= 0)
		return fdpass_send(w->control_fd, &m, sizeof(m), fd) != -EAGAIN;
	/*
	 * While no agent runs, the caller must retry the release. The next agent takes over the
	 * descriptors that the service manager or the descriptor holder has kept. If the agent
	 * missed this release, the agent would keep the file open for ever.
	 */
	if (w->orphan_ns)
		return false;
	m.type = LAUNCH_MSG_DROP;
	if (fdpass_send(w->control_fd, &m, sizeof(m), -1) == -EAGAIN)
		return false;
	/* Release the pin under the key of earlier versions too: their keys also depended on the
	 * worker. */
	m.key = (w->cfg->boot_id + export_index) * 0x9e3779b97f4a7c15U ^ key;
	return fdpass_send(w->control_fd, &m, sizeof(m), -1) != -EAGAIN;
}
