/* SPDX-License-Identifier: BSD-3-Clause */
/* Mounts, their open files, and which worker serves them (see server_mount.c). */
#ifndef PLENUM_SERVER_MOUNT_H
#define PLENUM_SERVER_MOUNT_H

#include "dataplane/fuse/server/objects/server_types.h"

int server_mounts_init(struct fuse_server *srv);
void server_mounts_done(struct fuse_server *srv); /* frees all mounts */
/* Adopts the mounts in the export's state. */
int server_mounts_restore(struct server_export *e);
/* Finds or creates the mount. -EBUSY: former requests may still run, here or at another worker. */
int server_mount_get(struct fuse_server *srv, struct server_export *e, const struct fuse_hello *h,
		     struct server_mount **ret);
void server_mount_free(struct server_mount *m, bool forget_state);
void server_mount_add_client(struct server_mount *m); /* one session more */
/* Call when a session or a reference has ended; frees the mount if it is gone and unused. */
void server_mount_put(struct server_mount *m);
/* Of the mounts without a session that have open files, are not in use and were last seen at or
 * before until_s, the one away for longest; NULL: none. */
struct server_mount *server_mount_away(struct fuse_server *srv, uint64_t until_s);
/* The mount has reclaimed its open files. */
void server_mount_reclaimed(struct server_mount *m);
/* Ends the leases of clients that are away; frees mounts that had no session for a day or belong to
 * another worker now. Looks at all mounts: call once a second. */
void server_mounts_expire(struct fuse_server *srv);
/* Makes c the mount's only served session. */
void server_mount_attach(struct server_mount *m, struct fuse_server_client *c);
/* Publishes how many mounts are reclaiming. */
void server_mounts_publish(struct fuse_server *srv);
/* Tells peers that open files stay open until a successor takes over. */
void server_mounts_end(struct fuse_server *srv);
/*
 * Decides which worker serves the mount of a client at `from` (NULL: unknown). 0: this one;
 * -EREMOTE: another, see srv->elsewhere; -EBUSY: the client should retry.
 */
int server_mount_place(struct server_export *e, const uint8_t id[16], const struct ip_addr *from);
/* Adds an open file of the client's user uid; owns fd on success. *ret: the client's file handle.
 */
int server_file_new(struct server_mount *m, struct server_node *n, int fd, bool dir, uint32_t uid,
		    uint64_t *ret);
int server_files_init(struct fuse_server *srv);
void server_files_done(struct fuse_server *srv); /* closes all that wait to be closed */
/* Closes all open files of a mount without running requests, some in each poll: one client can have
 * a million. The other frees the mount as well, which must be in no list. */
void server_files_close(struct server_mount *m);
void server_files_end(struct server_mount *m);
/* Closes some of the files that wait for it. Their number. */
unsigned server_files_close_some(struct fuse_server *srv);
/* Adds the removed files that the mount has open, and their space, except those with this mark,
 * which it sets. */
void server_files_held(struct server_mount *m, uint32_t mark, uint32_t *n, uint64_t *bytes);
/* The client is away: closes its open files, and waits for it to reclaim them, as after a restart
 * of this process. */
void server_mount_drop_files(struct server_mount *m);
/* Finds the open file fh, which must belong to the request's i-th object. -EBADF. */
int server_file_get(const struct server_req *q, unsigned i, uint64_t fh, bool dir,
		    struct server_file **ret);
void server_file_release(struct server_mount *m, uint64_t fh);
void server_file_put(struct server_file *f); /* one user less */
/* Whether the client has the node (may be NULL) open. */
bool server_file_has_open(const struct server_mount *m, const struct server_node *n);
/* The open file of a repeated open request; NULL: not open here. */
struct server_file *server_file_opened(const struct server_req *q);

/* Starts moving a mount to a peer with fewer mounts, or to the peer that has a client of it.
 * Call once a second. */
void server_mounts_balance(struct fuse_server *srv);
/* Hands over moving mounts that are idle. */
void server_mounts_move(struct fuse_server *srv, uint64_t now_ns);

#endif
