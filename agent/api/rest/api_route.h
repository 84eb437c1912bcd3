/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns an HTTP request into a message to the monitor, by the table in resource.h. Pure: no socket,
 * no HTTP library. Runs in the unprivileged api process; a request contains only the client's
 * claims.
 */
#ifndef PLENUM_AGENT_API_ROUTE_H
#define PLENUM_AGENT_API_ROUTE_H

#include "agent/base/privsep.h"
#include <jansson.h>

#define API_WAIT_S_MAX 60
#define API_ALLOW_MAX 64 /* all methods together */

struct api_request {
	const char *method, *path;	     /* path: decoded, without the query */
	const char *since, *wait, *instance; /* query parameters; NULL: not given */
	const char *severity, *from, *until, *source, *limit, *after;
	const char *unknown; /* the first parameter that the path does not take; NULL: none */
	const char *if_match, *accept, *content_type, *last_event_id,
		*prefer;  /* headers; NULL: not given */
	const char *body; /* NULL where body_len is 0 */
	size_t body_len;
	bool read_only; /* the client's socket allows reading only */
};

struct api_error { /* an answer in the form of problem.h */
	unsigned http_status;
	const char *code; /* static text */
	char message[256];
	char allow[API_ALLOW_MAX]; /* the allowed methods, for 405; else "" */
};

/* 0 with the message (without its request number) and the time that its answer may be held back
 * for lack of events. An enum resource_local: the answer is openapi_document() of it. -EINVAL with
 * *ret_error. HEAD is the caller's: it routes as GET. */
int api_route(const struct api_request *rq, struct privsep_msg *ret, unsigned *ret_wait_s,
	      struct api_error *ret_error);
/* The methods of a path as the header Allow lists them; "" if the path does not exist. */
void api_route_methods(const char *path, char buf[static API_ALLOW_MAX]);
/* A JSON body that api_route() has accepted, in one line; heap; NULL: out of memory. */
char *api_body_normalise(const char *body, size_t len);
/* The problem as in problem.h. Heap; NULL: out of memory. */
char *api_error_to_json(const struct api_error *e);

#endif
