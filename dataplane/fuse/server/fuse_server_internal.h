/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to this folder: the way from a client's message to a running request. server_receive.c
 * receives messages. server_wait.c holds requests that wait for their host's turn or for a reply
 * buffer. server_fetch.c fetches data by RDMA. server_req.c starts requests.
 */
#ifndef PLENUM_FUSE_SERVER_INTERNAL_H
#define PLENUM_FUSE_SERVER_INTERNAL_H

#include "dataplane/fuse/server/objects/server_types.h"
#include "dataplane/fuse/server/request/server_request.h"

/* server_req.c */
/* Starts a validated request. data: the buffer for its reply, which may have up to out_max
 * bytes. */
void server_req_start(struct fuse_server_client *c, struct rudp_call *call,
		      struct fuse_in_header *in, size_t len, const struct fuse_server_args *args,
		      uint8_t *data, size_t out_max);
void server_retry_run(struct fuse_server *srv);

/* server_wait.c */
/* Starts a validated request whose data have arrived: at once, or when it is the host's turn and a
 * reply buffer is free. If the client has sent the same request before and the server is still
 * executing it, the request is not started again. The reply of the running request then goes to
 * this call. */
void server_req_take(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len,
		     const struct fuse_server_args *args);
/* Starts waiting requests, one of each host in turn, if a reply buffer is free that the client may
 * use. The amount of work is bounded. Returns the number of started requests.
 */
unsigned server_wait_run(struct fuse_server *srv, uint64_t now_ns);
/* Takes a waiting request out of the queue. Returns its buffer, which the caller then owns, or NULL
 * if this request does not wait. */
void *server_wait_take(const struct server_mount *m, uint64_t unique, struct server_wait *ret);
/* Drops the client's waiting requests; if call is not NULL, only the request of this call. */
void server_wait_drop(struct fuse_server *srv, struct fuse_server_client *c,
		      const struct rudp_call *call);

/* server_fetch.c */
/* Fetches the data of a WRITE via RDMA, then starts the request. */
void server_fetch(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len,
		  const struct fuse_server_args *args);
/* Retries the transfers that are waiting for a queue pair or buffer. */
void server_fetch_run(struct fuse_server *srv);
/* Call when the client no longer waits for the reply to this call. */
void server_fetch_call_gone(struct fuse_server *srv, const struct rudp_call *call);
/* Call when the client's session has ended, before server_rdma_client_gone(). */
void server_fetch_client_gone(struct fuse_server_client *c);

#endif
