/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From an HTTP request to the one message that asks the monitor for it, by one table of paths.
 * Pure: no socket, no library of HTTP. Runs in the unprivileged api process; everything in a
 * request is the client's word.
 */
#ifndef PLENUM_AGENT_API_ROUTE_H
#define PLENUM_AGENT_API_ROUTE_H

#include "agent/base/privsep.h"
#include <jansson.h>

#define API_WAIT_S_MAX 60

struct api_request {
	const char *method, *path;	     /* path: decoded, without the query */
	const char *since, *wait, *instance; /* of the query; NULL: not given */
	const char *unknown;  /* the first that this path does not take; NULL: none */
	const char *if_match; /* the header; NULL: not given */
	const char *body;     /* NULL where body_len is 0 */
	size_t body_len;
	bool read_only; /* of a client who may only look */
};

struct api_error { /* becomes {"error":{...}} */
	unsigned http_status;
	const char *code; /* static text */
	char message[256];
	const char *allow; /* methods, for 405; else NULL */
};

/* 0 with the message (request number not set) and how long its answer may be held back for want of
 * events; -EINVAL with *ret_error. */
int api_route(const struct api_request *rq, struct privsep_msg *ret, unsigned *ret_wait_s,
	      struct api_error *ret_error);
/* A body of JSON that api_route has accepted, in one line; heap; NULL: out of memory. */
char *api_body_normalise(const char *body, size_t len);
/* Heap; NULL: out of memory. */
char *api_error_to_json(const struct api_error *e);

#endif
