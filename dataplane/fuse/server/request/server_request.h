/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends requests and calls, and sets the identity with which requests run. Every request and every
 * call of a client ends exactly once, in one of these functions.
 */
#ifndef PLENUM_FUSE_SERVER_REQUEST_H
#define PLENUM_FUSE_SERVER_REQUEST_H

#include "dataplane/fuse/server/objects/server_types.h"

/* server_finish.c */
/* Completes the request: sends the reply, which is the len bytes at server_req_data() and the tail
 * that follows them, and releases everything. error: 0 or a negative errno. */
void server_req_finish(struct server_req *q, int error, size_t len, size_t tail_len);
/* Queues the request for a retry. */
void server_req_requeue(struct server_req *q);
/* Replies with an error to a message of which the server has made no request. buf: the message. */
void server_req_refuse(struct fuse_server *srv, struct rudp_call *call, const void *buf, size_t len,
		       int err);
/* Ends a call whose answer the client no longer needs. */
void server_call_end(struct rudp_call *call);

/* server_rights.c */
/* Permanently gives up the capability to exceed quotas. Returns 0 or a negative errno. */
int server_creds_init(struct fuse_server *srv);
/* Returns whether a write by this thread would have this identity now. */
bool server_creds_are(const struct fuse_server *srv, uint32_t uid, uint32_t gid);
/* Sets the identity with which this thread writes. Returns 0 or a negative errno. After an error
 * the caller must not write, because the thread has another identity. */
int server_creds_set(struct fuse_server *srv, uint32_t uid, uint32_t gid);
/* Maps the request's users and groups to this host's and sets q->helper_flags. Returns 0, or
 * -EINVAL if an id is not mapped. */
int server_rights_enter(struct server_req *q);
/* Copies the attributes, and maps owner and group to the client's. */
void server_rights_attr(const struct server_req *q, const struct fuse_attr *from,
			struct fuse_attr *ret);

#endif
