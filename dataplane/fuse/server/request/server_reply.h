/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds and sends the reply of a request (see server_reply.c). */
#ifndef PLENUM_SERVER_REPLY_H
#define PLENUM_SERVER_REPLY_H

#include "dataplane/fuse/server/objects/server_types.h"

/* Success with len bytes at server_req_data. */
void server_reply_data(struct server_req *q, size_t len);
/* err: positive errno; 0: success without data. */
void server_reply_err(struct server_req *q, int err);
void server_reply_entry(struct server_req *q, const struct server_entry *e);
void server_reply_attr(struct server_req *q, const struct fuse_attr *attr, bool no_xattrs);
/* Success for a request that changed names in its folder. */
void server_reply_names(struct server_req *q);
/* An open file: e if found or created by name, NULL if the request names the object; attr: NULL
 * if unsuitable for the client's cache check. */
void server_reply_open(struct server_req *q, const struct server_entry *e,
		       const struct fuse_attr *attr, uint64_t fh);
/* attr: of the file after the write, or NULL. */
void server_reply_write(struct server_req *q, uint32_t size, const struct fuse_attr *attr);
/* To a READ with RDMA memory: len bytes at server_req_data, of which `there` were transferred
 * already (all or none). */
void server_reply_bulk(struct server_req *q, uint32_t len, uint32_t there, uint8_t failed);
/* Asks the client to repeat a READ that no leg could transfer. */
void server_reply_retry(struct server_req *q, uint8_t failed);
void server_reply_init(struct server_req *q);
/* len bytes of entries at server_req_data, with n handles (handles_len bytes, each after its
 * length). flags: FUSE_PROTO_RESP_* without data. */
void server_reply_entries(struct server_req *q, size_t len, const uint8_t *handles,
			  size_t handles_len, unsigned n, uint16_t flags);

#endif
