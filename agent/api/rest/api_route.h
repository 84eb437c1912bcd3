/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts an HTTP request to a message for the monitor, with the table in resource.h. Uses no
 * socket. Runs in the unprivileged children. Trusts nothing in a request.
 */
#ifndef PLENUM_AGENT_API_ROUTE_H
#define PLENUM_AGENT_API_ROUTE_H

#include "agent/base/privsep.h"
#include <jansson.h>

#define API_WAIT_S_MAX 60
#define API_ALLOW_MAX 64 /* maximum length of a list of all methods */

struct api_request {
	const char *method, *path;	     /* path: decoded, without query */
	const char *since, *wait, *instance; /* query parameters; NULL: absent */
	const char *severity, *from, *until, *source, *limit, *after;
	const char *unknown; /* a parameter that the path does not take; NULL: none */
	const char *if_match, *accept, *content_type, *last_event_id,
		*prefer;			/* headers; NULL: absent */
	const char *host, *origin, *fetch_site; /* headers; only browsers set the last two */
	const char *body;			/* NULL if body_len is 0 */
	size_t body_len;
	bool read_only; /* the client's socket is the read-only one */
};

struct api_error { /* an error answer (problem.h) */
	unsigned http_status;
	const char *code; /* static text */
	char message[256];
	char allow[API_ALLOW_MAX]; /* for status 405: the allowed methods; else "" */
};

/* Returns 0 with the message, whose connection the caller sets, and the time for which the answer
 * may be held back if there are no events. Returns an enum resource_local if the answer is the
 * document that openapi_document() makes. Returns -EINVAL with *ret_error if the request is
 * invalid. The caller converts HEAD to GET. */
int api_route(const struct api_request *rq, struct privsep_msg *ret, unsigned *ret_wait_s,
	      struct api_error *ret_error);
/* Lists the methods of a path for the header Allow; "": the path does not exist. */
void api_route_methods(const char *path, char buf[static API_ALLOW_MAX]);
/* Returns a JSON body, which api_route() has accepted, printed on one line, as a string on the
 * heap; NULL if memory is short. */
char *api_body_normalise(const char *body, size_t len);
/* Returns the error as JSON (problem.h) on the heap, or NULL if memory is short. */
char *api_error_to_json(const struct api_error *e);

#endif
