/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to the I/O helpers for requests (see server_helper.c). */
#ifndef PLENUM_SERVER_HELPER_H
#define PLENUM_SERVER_HELPER_H

#include "dataplane/fuse/server/objects/server_types.h"

/*
 * Returns a helper call for the request, on its i-th object, as its user. NULL: the request has got
 * a reply, or is queued for a retry. A request that must not run twice must not change anything
 * before its record is submitted.
 */
struct helper_call *server_helper_call(struct server_req *q, enum helper_op op, unsigned i);
/* Returns the call unused. */
void server_helper_drop(struct server_req *q, struct helper_call *call);
/* Adds a second object. Returns false in the cases of NULL above; the call is then freed. */
bool server_helper_add_object(struct server_req *q, struct helper_call *call, unsigned i);
/* Uses this open file instead of the handle in the request. */
void server_helper_use_file(struct server_req *q, struct helper_ref *ref, struct server_file *f);
/* Submits the call. once: with the request's record. If it fails, the error becomes the reply;
 * other results are passed to then(), which takes over fd (-1: none). */
void server_helper_submit(struct server_req *q, struct helper_call *call, enum helpers_queue queue,
			  bool once,
			  void (*then)(struct server_req *q, const struct helper_result *r,
				       int fd));
/* The same, but then() also gets errors. */
void server_helper_submit_raw(struct server_req *q, struct helper_call *call,
			      enum helpers_queue queue, bool once,
			      void (*then)(struct server_req *q, const struct helper_result *r,
					   int fd));
/* Cancels the request's call unless a helper has started it. */
void server_helper_interrupt(struct server_req *q);
int server_helpers_init(struct fuse_server *srv); /* obtains the handles of the exports' roots */
int server_helpers_poll(struct fuse_server *srv, bool may_sleep);

#endif
