/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of the unprivileged children: api.c has the loop and the connection to the
 * monitor, api_http.c the clients and the HTTP library, api_sandbox.c drops privileges.
 */
#ifndef PLENUM_AGENT_API_INTERNAL_H
#define PLENUM_AGENT_API_INTERNAL_H

#include "agent/api/api_route.h"
#include "agent/base/child/child_role.h"
#include "agent/base/loop.h"

struct MHD_Daemon;
struct api_call;

struct api_client { /* one connection handed over by the monitor */
	struct api *api;
	uint64_t id;
	int fd;			    /* -1 once the library owns it */
	struct loop_source *source; /* until its head is complete */
	size_t n_discarded;
	bool refused; /* answered; further bytes are read and discarded */
	struct api_client *next;
};

struct api {
	enum privsep_role role;
	struct loop *loop;
	struct MHD_Daemon *daemon;
	struct api_client *clients,
		*arriving; /* the connection that is being passed to the library */
	struct api_call *waiting;
	struct loop_source *timer;
	uint64_t next_event, instance; /* number of the monitor's latest event */
};

/* ---- api.c ---- */

/* Blocks while the monitor does not read: it always does, sooner or later. */
int api_tell(struct privsep_msg *m, int fd);

/* ---- api_http.c ---- */

int api_http_open(struct api *a);
int api_http_run(struct api *a);
/* Takes fd. */
void api_http_accept(struct api *a, uint64_t connection, int fd);
void api_http_drop(struct api *a, uint64_t connection);
/* Takes *fd. */
void api_http_reply(struct api *a, const struct privsep_msg *m, int *fd);
void api_http_note(struct api *a, const struct privsep_event_note *n);

/* ---- api_sandbox.c ---- */

/* The first and the last step of the sandbox, as in sandbox.h. */
int api_sandbox_enter(void);
int api_sandbox_seal(void);

#endif
