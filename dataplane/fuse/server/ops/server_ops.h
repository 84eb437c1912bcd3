/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations on names, attributes, files, directories and extended attributes. Each operation
 * sends one reply, at once or later. server_req.c selects the operation by the request's opcode.
 * The operations do not depend on how the server receives messages.
 */
#ifndef PLENUM_FUSE_SERVER_OPS_H
#define PLENUM_FUSE_SERVER_OPS_H

#include "dataplane/fuse/server/objects/server_types.h"

void server_op_lookup(struct server_req *q);
void server_op_getattr(struct server_req *q);
void server_op_setattr(struct server_req *q);
void server_op_readlink(struct server_req *q);
void server_op_mknod(struct server_req *q);
void server_op_mkdir(struct server_req *q);
void server_op_symlink(struct server_req *q);
void server_op_link(struct server_req *q);
void server_op_remove(struct server_req *q); /* unlink, rmdir and rename */
void server_op_statfs(struct server_req *q);
void server_op_open(struct server_req *q);
void server_op_create(struct server_req *q);
void server_op_release(struct server_req *q);
void server_op_read(struct server_req *q);
void server_op_write(struct server_req *q);
void server_op_fsync(struct server_req *q);
/* Locks: SETLK and SETLKW, GETLK, FLUSH. */
void server_op_setlk(struct server_req *q);
void server_op_getlk(struct server_req *q);
void server_op_flush(struct server_req *q);
void server_op_fallocate(struct server_req *q);
void server_op_lseek(struct server_req *q);
void server_op_copy(struct server_req *q);
void server_op_readdir(struct server_req *q);
void server_op_readdirplus(struct server_req *q);
void server_op_fsyncdir(struct server_req *q);
void server_op_getxattr(struct server_req *q);
void server_op_listxattr(struct server_req *q);
void server_op_removexattr(struct server_req *q);
void server_op_setxattr(struct server_req *q);
/* Replies with the recorded outcome of a request that was executed before. */
void server_op_replay(struct server_req *q, const struct helper_result *r);
/* Replies like server_op_replay(), for requests that open a file. */
void server_open_replay(struct server_req *q, const struct helper_result *r);
/* Replies with the open file f, which an earlier execution of the request has opened in this
 * process. */
void server_open_reply(struct server_req *q, struct server_file *f);

/* Shared by the files of this folder. */

/* Returns whether the request is an OPENDIR that asks for the complete listing in its reply, if the
 * directory is small enough. */
bool server_dir_lists(const struct server_req *q);
void server_dir_list_ask(struct server_req *q, struct helper_call *call);
void server_dir_reply_open(struct server_req *q, const struct server_node *n, uint64_t fh);

#endif
