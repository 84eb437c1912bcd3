/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the HTTP library in the event loop of an unprivileged child: its daemon, its descriptor and
 * its timeouts. api_client.c keeps a connection until the library gets it, and api_request.c
 * handles the requests.
 */
#include "agent/api/api_internal.h"
#include "agent/api/api_stream.h"

/* The monitor limits the number of clients. This limit of the library only has to be at least as
 * high. */
#define CONNECTIONS_MAX 512
#define MEMORY_BYTES 65536 /* memory of a connection, enough for any head that is accepted */
#define IDLE_S 30

static void arm_timer(struct api *a)
{
	MHD_UNSIGNED_LONG_LONG http_ms = 0;
	uint64_t now = clock_now_ns(), at = UINT64_MAX;

	if (MHD_get_timeout(a->daemon, &http_ms) == MHD_YES)
		at = now + http_ms * NSEC_PER_MSEC;
	at = MIN_OF(at, api_request_deadline(a));
	at = MIN_OF(at, api_stream_deadline(a));
	if (at == UINT64_MAX)
		loop_timer_disarm(a->timer);
	else
		loop_timer_arm(a->timer, at > now ? at - now : 0);
}

int api_http_run(struct api *a)
{
	if (MHD_run(a->daemon) != MHD_YES)
		return -EIO;
	arm_timer(a);
	return 0;
}

static int on_http(void *user, int fd, uint32_t revents)
{
	return api_http_run(user);
}

static int on_timer(void *user)
{
	struct api *a = user;
	uint64_t now = clock_now_ns();

	api_request_tick(a, now);
	api_stream_tick(a, now);
	return api_http_run(a);
}

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode toe)
{
	struct api *a = user;

	if (toe == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*context)
			api_client_gone(*context);
		*context = NULL;
		return;
	}
	*context = a->arriving;
	a->arriving = NULL;
}

int api_http_open(struct api *a)
{
	const union MHD_DaemonInfo *info;
	struct loop_source *http;
	int r;

	a->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		api_request_take, a, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)MEMORY_BYTES, MHD_OPTION_NOTIFY_COMPLETED, api_request_done, a,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, a, MHD_OPTION_END);
	if (!a->daemon)
		return -EIO;
	a->run = api_http_run;
	info = MHD_get_daemon_info(a->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return -EIO;
	r = loop_add_timer(a->loop, NSEC_PER_MSEC, on_timer, a, &a->timer);
	if (r >= 0)
		r = loop_add_fd(a->loop, info->epoll_fd, EPOLLIN, false, on_http, a, &http);
	return r;
}
