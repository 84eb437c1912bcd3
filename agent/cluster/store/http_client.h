/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends HTTP requests from the event loop with libcurl; no call blocks. Connections stay open for
 * later requests. The object owns all its requests and descriptors. A URL must have an address
 * instead of a name, because the process cannot read the files that resolving a name needs. One
 * object per loop; not thread-safe.
 */
#ifndef PLENUM_AGENT_HTTP_CLIENT_H
#define PLENUM_AGENT_HTTP_CLIENT_H

#include "agent/base/cluster_report.h"
#include "agent/base/loop.h"

struct http_client;
struct http_call;

struct http_request {
	/* the request is a POST with this JSON as its body; both texts are copied */
	const char *url, *body;
	const char *headers[3]; /* further header lines; NULL: none */
	const char *ca;		/* certificates in PEM for https; borrowed until the request ends */
	unsigned timeout_s;	/* time limit of the whole request; 0: none, for a stream */
	unsigned connect_timeout_s;
	/* Called for each part of the answer's body. If it returns false, the request ends. */
	bool (*on_data)(void *user, long status, const char *data, size_t len);
	/* Called once at the end; the call is freed afterwards. trouble is CLUSTER_FINE if an
	 * answer arrived completely; otherwise `text` has the error. */
	void (*on_end)(void *user, enum cluster_trouble trouble, long status, const char *text);
	void *user;
};

/* Initialises libcurl and TLS, which read files. Call it before the process loses access to files.
 * Returns 0 or -EIO. */
int http_client_prepare(void);
int http_client_new(struct loop *loop, struct http_client **ret);
struct http_client *http_client_free(struct http_client *h); /* accepts NULL, returns NULL */
/* Begins a POST. Returns 0 with the call in *ret. On failure returns negative errno, and no
 * callback follows. */
int http_client_post(struct http_client *h, const struct http_request *rq, struct http_call **ret);
/* Ends the request; no callback follows. Accepts NULL, returns NULL. */
struct http_call *http_call_free(struct http_call *c);

#endif
