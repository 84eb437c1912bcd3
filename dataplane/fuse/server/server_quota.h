/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of open files. Each file that a client has open takes one of the worker's descriptors,
 * which are finite: without shares one user takes all, and every open and lookup of every client
 * fails. A user of a mount, a mount and a client may each have a multiple of what is free, so a
 * lone one gets most of the descriptors and there is always some room for others. Also closes the
 * files of clients that are away. Owns the counts; server_mount.c owns the files.
 */
#ifndef PLENUM_SERVER_QUOTA_H
#define PLENUM_SERVER_QUOTA_H

#include "dataplane/fuse/server/fuse_server_internal.h"

int server_quota_init(struct fuse_server *srv);
void server_quota_done(struct fuse_server *srv);
/* Whether the user of the request may have one more file open; otherwise replies ENFILE. */
bool server_quota_allows(struct server_req *q);
/* Counts one more file of the mount's user. NULL: out of memory. */
struct server_user *server_quota_take(struct server_mount *m, uint32_t uid);
void server_quota_give(struct server_mount *m, struct server_user *u);
uint32_t server_quota_of_user(const struct server_mount *m, uint32_t uid);
/* The client of the mount is at this address now (NULL: unknown) and calls itself `host`. 0;
 * -ENOMEM. */
int server_quota_client(struct server_mount *m, const struct ip_addr *from, const char *host);
/* Detaches the mount from its client. Call it after the mount's files are closed, before the mount
 * is freed. */
void server_quota_leave(struct server_mount *m);
/* Call once a second: closes files of clients that are away, and looks whether files are short. */
void server_quota_tick(struct fuse_server *srv, uint64_t now_ns);

#endif
