/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds and sends the reply of a request (see server_reply.c). */
#ifndef PLENUM_SERVER_REPLY_H
#define PLENUM_SERVER_REPLY_H

#include "dataplane/fuse/server/objects/server_types.h"

/* Replies success, with the len bytes at server_req_data(). */
void server_reply_data(struct server_req *q, size_t len);
/* Replies an error, or success without data. err: a positive errno, or 0 for success. */
void server_reply_err(struct server_req *q, int err);
void server_reply_entry(struct server_req *q, const struct server_entry *e);
void server_reply_attr(struct server_req *q, const struct fuse_attr *attr, bool no_xattrs);
/* Replies success to a request that changed names in its folder. */
void server_reply_names(struct server_req *q);
/* Replies with an open file. e: the entry, if the file was found or created by name; NULL: the
 * request names the file by handle. attr: the file's attributes, by which the client checks its
 * cached pages; NULL: they are not reliable enough for that. */
void server_reply_open(struct server_req *q, const struct server_entry *e,
		       const struct fuse_attr *attr, uint64_t fh);
/* Replies to a WRITE. attr: the file's attributes after the write, or NULL. */
void server_reply_write(struct server_req *q, uint32_t size, const struct fuse_attr *attr);
/* Replies to a READ for which the client has offered memory. len: number of bytes at
 * server_req_data(). there: how many of these bytes (all or none) are already in the client's
 * memory. failed: bit mask of the legs that failed. */
void server_reply_bulk(struct server_req *q, uint32_t len, uint32_t there, uint8_t failed);
/* Asks the client to repeat a READ whose data no leg could transfer. failed: bit mask of the legs
 * that failed. */
void server_reply_retry(struct server_req *q, uint8_t failed);
/* Replies success to a lock request. unlocked: the mount has no lock on the file any more. */
void server_reply_lock(struct server_req *q, bool unlocked);
void server_reply_init(struct server_req *q);
/* Replies with the len bytes of entries at server_req_data() and n handles, which are handles_len
 * bytes at `handles`, each preceded by its length. flags: FUSE_PROTO_RESP_* flags that need no
 * data. */
void server_reply_entries(struct server_req *q, size_t len, const uint8_t *handles,
			  size_t handles_len, unsigned n, uint16_t flags);

#endif
