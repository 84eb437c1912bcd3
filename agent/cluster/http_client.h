/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HTTP requests from the event loop, by libcurl: no call blocks. Connections are kept and used
 * again. The object owns all its requests and descriptors. It resolves no names, because its
 * process cannot read files: a URL has an address. One object per loop; not thread-safe.
 */
#ifndef PLENUM_AGENT_HTTP_CLIENT_H
#define PLENUM_AGENT_HTTP_CLIENT_H

#include "agent/base/cluster_report.h"
#include "agent/base/loop.h"

struct http_client;
struct http_call;

struct http_request {
	const char *url, *body; /* the body is JSON, sent by POST; copied */
	const char *headers[3]; /* further header lines; NULL: none */
	const char *ca;		/* certificates in PEM for https; borrowed until the end */
	unsigned timeout_s;	/* of the whole request; 0: none, for a stream */
	unsigned connect_timeout_s;
	/* Called for each part of the answer's body. A false result ends the request. */
	bool (*on_data)(void *user, long status, const char *data, size_t len);
	/* Called once at the end. trouble: CLUSTER_FINE if an answer arrived completely; `text` has
	 * the error otherwise. The call is freed afterwards. */
	void (*on_end)(void *user, enum cluster_trouble trouble, long status, const char *text);
	void *user;
};

/* Initialises libcurl and TLS, which read files: a process calls it before it loses access to them.
 * Returns 0 or -EIO. */
int http_client_prepare(void);
int http_client_new(struct loop *loop, struct http_client **ret);
struct http_client *http_client_free(struct http_client *h); /* accepts NULL, returns NULL */
/* Begins a POST. Returns 0, or negative errno if nothing was started. */
int http_client_post(struct http_client *h, const struct http_request *rq, struct http_call **ret);
/* Ends the request without callbacks. Accepts NULL, returns NULL. */
struct http_call *http_call_free(struct http_call *c);

#endif
