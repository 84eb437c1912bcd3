/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of open files by user, mount and client host, for the shares in server_quota.h. This
 * module owns the counts; server_mount.c owns the files. */
#ifndef PLENUM_SERVER_QUOTA_COUNT_H
#define PLENUM_SERVER_QUOTA_COUNT_H

#include "dataplane/fuse/server/objects/server_types.h"

int server_quota_init(struct fuse_server *srv);
void server_quota_done(struct fuse_server *srv);
/* Counts one more open file for this user of the mount. Returns the user's count, or NULL if memory
 * is short. */
struct server_user *server_quota_take(struct server_mount *m, uint32_t uid);
void server_quota_give(struct server_mount *m, struct server_user *u, bool closing);
/* Call when all files of the mount are being closed: they then no longer count for the mount's
 * client host. */
void server_quota_closing(struct server_mount *m);
uint32_t server_quota_of_user(const struct server_mount *m, uint32_t uid);
/* Records that the client of the mount is now at address `from` (NULL: unknown), and claims to be
 * the host `host`. Returns 0 or -ENOMEM. */
int server_quota_client(struct server_mount *m, const struct ip_addr *from, const char *host);
/* Detaches the mount from its client host. Call it after the mount's files were closed, and before
 * the mount is freed. */
void server_quota_leave(struct server_mount *m);

#endif
