/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes of the roles `api`, `admin` and `api-tls`. They run the same code, but have
 * different clients and may send different messages to the monitor; `api-tls` serves clients of the
 * network, over TLS. This file starts and ends the process and handles the monitor's messages.
 */
#include "agent/api/api_internal.h"
#include "agent/api/api_snapshot.h"
#include "agent/api/api_stream.h"
#include "agent/api/tls/tls_server.h"
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* A connection with TLS needs three descriptors. */
#define FILES_MAX 4096

static void handle(struct api *a, const struct privsep_msg *m, int *fd)
{
	struct privsep_msg pong = {.type = PRIVSEP_PONG};

	switch ((enum privsep_type)m->type) {
	case PRIVSEP_CONNECTION:
		if (a->tls)
			tls_server_accept(a->tls, m->connection, fd_take(*fd));
		else
			api_client_accept(a, m->connection, m->peer.barred, fd_take(*fd));
		break;
	case PRIVSEP_DROP:
		api_client_drop(a, m->connection);
		if (a->tls)
			tls_server_drop(a->tls, m->connection);
		break;
	case PRIVSEP_ROLE:
		api_request_role(a, m);
		break;
	case PRIVSEP_TLS_FILES:
		if (a->tls)
			api_tls_take_files(a, m, *fd);
		break;
	case PRIVSEP_REPLY:
		api_request_reply(a, m, fd);
		break;
	case PRIVSEP_SHARED_ANSWER:
		api_request_seen(a, m, *fd);
		break;
	case PRIVSEP_EVENT_NOTE:
		a->generation++;
		a->next_event = m->event_note.next;
		a->instance = m->event_note.instance;
		api_request_note(a, a->next_event);
		api_stream_note(a);
		break;
	case PRIVSEP_PING:
		api_tell(&pong, -1);
		break;
	default: /* privsep_recv() accepts no other types */
		break;
	}
}

/* Handles all messages that have arrived. Returns 0 if all are handled, 1 if the monitor has
 * exited, or negative errno. */
static int take_messages(struct api *a)
{
	struct privsep_msg m;
	const char *why = "";
	int passed = -1, r;

	while ((r = privsep_recv(PRIVSEP_FD_CONTROL, PRIVSEP_MONITOR, &m, &passed, &why)) > 0) {
		handle(a, &m, &passed);
		cleanup_close(&passed);
		passed = -1;
	}
	if (r == 0)
		return 1;
	if (r == -EAGAIN)
		return 0;
	log_err("invalid message from the monitor: %s", r == -EBADMSG ? why : strerror(-r));
	return r;
}

/* Handles messages outside of the event loop. If the monitor has exited, on_monitor() ends the
 * process later. */
static void catch_up(struct api *a)
{
	a->ended = a->ended ? a->ended : take_messages(a);
}

static int on_monitor(void *user, int fd, uint32_t revents)
{
	struct api *a = user;

	catch_up(a);
	if (a->ended < 0)
		return a->ended;
	if (a->ended > 0) { /* the monitor has exited, so this process exits */
		loop_exit(a->loop, 0);
		return 0;
	}
	a->run(a);
	return 0;
}

static int open_all(struct api *a)
{
	struct loop_source *monitor;
	int r = loop_new(&a->loop);

	if (r >= 0)
		r = api_snapshots_new(&a->snapshots);
	if (r >= 0)
		r = api_run_open(a);
	if (r >= 0 && a->role == PRIVSEP_API_TLS)
		r = api_tls_open(a);
	if (r >= 0)
		r = loop_add_fd(a->loop, PRIVSEP_FD_CONTROL, EPOLLIN, false, on_monitor, a,
				&monitor);
	return r;
}

int api_main(enum privsep_role role, enum log_level level)
{
	struct rlimit files = {FILES_MAX, FILES_MAX}, no_core = {0, 0};
	struct api a = {.role = role, .catch_up = catch_up};
	char name[16];
	int r;

	/* Without this, ps(1) would show the name of /proc/self/exe. */
	snprintf(name, sizeof(name), "plenumd-%s", privsep_role_to_string(role));
	prctl(PR_SET_NAME, name);
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_CORE, &no_core);
	r = api_sandbox_enter();
	if (r < 0) {
		log_err("%s: cannot drop privileges: %s", name, strerror(-r));
		return 1;
	}
	r = open_all(&a);
	if (r >= 0)
		r = api_sandbox_seal(role);
	if (r >= 0)
		r = loop_run(a.loop);
	if (r < 0)
		log_err("%s: %s", name, strerror(-r));
	/* Exits without cleanup: the kernel releases all resources, and a sanitizer's exit handlers
	 * use system calls that the sandbox forbids. */
	_exit(r < 0 ? 1 : 0);
}
