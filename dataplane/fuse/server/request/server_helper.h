/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to the I/O helpers for requests (see server_helper.c). */
#ifndef PLENUM_SERVER_HELPER_H
#define PLENUM_SERVER_HELPER_H

#include "dataplane/fuse/server/objects/server_types.h"

/*
 * Returns a helper call on the request's i-th object, with the identity of the request's user.
 * Returns NULL if the request was answered instead, or was queued for a retry. If the request
 * must not be executed twice, it must change nothing before the call is submitted with its journal
 * record.
 */
struct helper_call *server_helper_call(struct server_req *q, enum helper_op op, unsigned i);
/* Gives a call back that was not submitted. */
void server_helper_drop(struct server_req *q, struct helper_call *call);
/* Adds the request's i-th object as the call's second object. If this fails, frees the call and
 * returns false: the request was answered, or was queued for a retry. */
bool server_helper_add_object(struct server_req *q, struct helper_call *call, unsigned i);
/* Makes the call use this open file instead of the handle in the request. */
void server_helper_use_file(struct server_req *q, struct helper_ref *ref, struct server_file *f);
/* Submits the call. once: passes the request's journal record to the helper, so that the request
 * runs only once. If the call fails, the error becomes the reply. If the call succeeds, then() gets
 * the result and owns fd (-1: no descriptor). */
void server_helper_submit(struct server_req *q, struct helper_call *call, enum helpers_queue queue,
			  bool once,
			  void (*then)(struct server_req *q, const struct helper_result *r,
				       int fd));
/* Like server_helper_submit(), but then() also gets errors. */
void server_helper_submit_raw(struct server_req *q, struct helper_call *call,
			      enum helpers_queue queue, bool once,
			      void (*then)(struct server_req *q, const struct helper_result *r,
					   int fd));
/* Cancels the request's call unless a helper has started it. */
void server_helper_interrupt(struct server_req *q);
int server_helpers_init(struct fuse_server *srv); /* obtains the handles of the exports' roots */
int server_helpers_poll(struct fuse_server *srv, bool may_sleep);

#endif
