/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends messages to a worker. supervise_messages.c reads its answers. */
#include "agent/base/stats_page.h"
#include "agent/supervise/supervise_internal.h"
#include "netcfg/base/os/fdpass.h"
#include <stdio.h>
#include <string.h>

int sup_send(struct sup_worker *w, enum launch_msg_type type, int32_t code, uint32_t index)
{
	struct launch_msg msg = {.type = type, .code = code, .index = index};

	if (w->control_fd < 0)
		return -ENOTCONN;
	return fdpass_send(w->control_fd, &msg, sizeof(msg),
			   type == LAUNCH_MSG_ADOPT ? w->sup->alive[0] : -1);
}

int sup_set_log_level(struct sup *s, uint32_t worker_id, enum log_level level)
{
	const struct launch_msg msg = {.type = LAUNCH_MSG_LOG_LEVEL, .code = (int32_t)level};

	for (const struct sup_worker *w = s->workers; w; w = w->next)
		if (w->id == worker_id && w->state == SUP_UP && w->control_fd >= 0)
			return stats_page_has_sessions(w->watch)
				       ? fdpass_send(w->control_fd, &msg, sizeof(msg), -1)
				       : -EPROTONOSUPPORT;
	return -ENOTCONN;
}

int sup_send_text(struct sup_worker *w, enum launch_msg_type type, uint32_t index, const char *text)
{
	struct launch_msg msg = {.type = type, .index = index};

	if (w->control_fd < 0)
		return -ENOTCONN;
	snprintf(msg.text, sizeof(msg.text), "%s", text);
	return fdpass_send(w->control_fd, &msg, sizeof(msg), -1);
}

int sup_send_fault(struct sup_worker *w, const struct launch_fault *f)
{
	struct launch_msg msg = {.type = LAUNCH_MSG_FAULT, .fault = *f};

	return w->control_fd < 0 ? -ENOTCONN : fdpass_send(w->control_fd, &msg, sizeof(msg), -1);
}

int sup_send_keys(struct sup_worker *w)
{
	struct launch_msg msg = {.type = LAUNCH_MSG_KEYS, .code = (int32_t)w->config.n_secrets};
	int r;

	if (w->control_fd < 0)
		return -ENOTCONN;
	memcpy(msg.keys, w->config.secrets, sizeof(msg.keys));
	r = fdpass_send(w->control_fd, &msg, sizeof(msg), -1);
	explicit_bzero(&msg, sizeof(msg));
	return r;
}

int sup_send_limits(struct sup_worker *w, uint32_t index, const struct launch_limits *limits)
{
	const struct launch_msg msg = {
		.type = LAUNCH_MSG_LIMITS, .index = index, .limits = *limits};

	return w->control_fd < 0 ? -ENOTCONN : fdpass_send(w->control_fd, &msg, sizeof(msg), -1);
}

int sup_send_revoked(struct sup_worker *w, const struct launch_revoked *r)
{
	struct launch_msg msg = {.type = LAUNCH_MSG_REVOKED, .key = r->epoch};

	if (w->control_fd < 0)
		return -ENOTCONN;
	memcpy(msg.text, r->host, sizeof(r->host));
	return fdpass_send(w->control_fd, &msg, sizeof(msg), -1);
}

int sup_send_port(struct sup_worker *w, uint32_t index, const struct launch_port *port)
{
	const struct launch_msg msg = {.type = LAUNCH_MSG_PORT, .index = index, .port = *port};

	return w->control_fd < 0 ? -ENOTCONN : fdpass_send(w->control_fd, &msg, sizeof(msg), -1);
}

int sup_capture(struct sup *s, uint32_t worker_id, const struct launch_capture *lc, int fd)
{
	struct launch_msg msg = {.type = LAUNCH_MSG_CAPTURE, .code = lc != NULL};

	if (lc)
		msg.capture = *lc;
	for (const struct sup_worker *w = s->workers; w; w = w->next)
		if (w->id == worker_id && w->control_fd >= 0)
			return fdpass_send(w->control_fd, &msg, sizeof(msg), fd);
	return -ENOTCONN;
}

int sup_locks_fd(const struct sup *s)
{
	return exports_locks(&s->exports);
}

int sup_lock_break(struct sup *s, uint64_t id)
{
	const struct launch_msg msg = {.type = LAUNCH_MSG_LOCK_BREAK, .key = id};

	for (const struct sup_worker *w = s->workers; w; w = w->next)
		if (w->config.role == LAUNCH_COMPUTE && w->state == SUP_UP && w->control_fd >= 0 &&
		    fdpass_send(w->control_fd, &msg, sizeof(msg), -1) == 0)
			return 0;
	return -ENOTCONN;
}

int sup_ping(struct sup *s, uint32_t worker_id, const struct launch_ping *p)
{
	const struct launch_msg msg = {.type = LAUNCH_MSG_PING, .ping = *p};
	struct sup_worker *w = s->workers;

	while (w && w->id != worker_id)
		w = w->next;
	if (!w || w->control_fd < 0)
		return -ENOTCONN;
	if (w->ping_asked && w->pinged.id != w->ping_asked && clock_now_ns() < w->ping_until_ns)
		return -EBUSY;
	if (fdpass_send(w->control_fd, &msg, sizeof(msg), -1) < 0)
		return -ENOTCONN;
	w->ping_asked = p->id;
	w->ping_want = *p;
	w->ping_until_ns = clock_now_ns() + (LAUNCH_PING_S_MAX + 1) * NSEC_PER_SEC;
	w->pinged = (struct launch_ping){.id = 0};
	return 0;
}
