/* SPDX-License-Identifier: BSD-3-Clause */
/* Mounts, their open files, and which worker serves them (see server_mount.c). */
#ifndef PLENUM_SERVER_MOUNT_H
#define PLENUM_SERVER_MOUNT_H

#include "dataplane/fuse/server/objects/server_types.h"

int server_mounts_init(struct fuse_server *srv);
void server_mounts_done(struct fuse_server *srv); /* frees all mounts */
/* Adopts the mounts in the export's state. */
int server_mounts_restore(struct server_export *e);
/* Finds or creates the mount. Returns -EBUSY if earlier requests may still run, here or at another
 * worker. */
int server_mount_get(struct fuse_server *srv, struct server_export *e, const struct fuse_hello *h,
		     struct server_mount **ret);
void server_mount_free(struct server_mount *m, bool forget_state);
void server_mount_add_client(struct server_mount *m); /* counts one more session of the mount */
/* Call when a session or a reference has ended; frees the mount if it was unmounted and is unused.
 */
void server_mount_put(struct server_mount *m);
/* Finds the mount that has been away for longest among those without a session that have open
 * files, are not in use and were last seen at or before until_s; NULL if there is none. */
struct server_mount *server_mount_away(struct fuse_server *srv, uint64_t until_s);
/* Call when the mount has reclaimed its open files. */
void server_mount_reclaimed(struct server_mount *m);
/* Ends the leases of clients that are away. Frees mounts that had no session for a day or now
 * belong to another worker. It checks all mounts, so call it once a second. */
void server_mounts_expire(struct fuse_server *srv);
/* Makes c the only session of the mount that is served. */
void server_mount_attach(struct server_mount *m, struct fuse_server_client *c);
/* Tells peers how many mounts are reclaiming their files. */
void server_mounts_publish(struct fuse_server *srv);
/* Tells peers that open files stay open until a successor takes over. */
void server_mounts_end(struct fuse_server *srv);
/*
 * Decides which worker serves the mount of a client at `from` (NULL: unknown). Returns 0: this
 * worker; -EREMOTE: another one, see srv->elsewhere; -EBUSY: the client should retry.
 */
int server_mount_place(struct server_export *e, const uint8_t id[16], const struct ip_addr *from);
/* Adds an open file of the client's user uid; takes over fd if it succeeds. *ret: the file handle
 * for the client. */
int server_file_new(struct server_mount *m, struct server_node *n, int fd, bool dir, uint32_t uid,
		    uint64_t *ret);
int server_files_init(struct fuse_server *srv);
void server_files_done(struct fuse_server *srv); /* closes all files that wait to be closed */
/* server_files_close closes all open files of a mount without running requests, some in each poll,
 * because a client can have a million. The other function also frees the mount, which must be in no
 * list. */
void server_files_close(struct server_mount *m);
void server_files_end(struct server_mount *m);
/* Closes some of the files that wait to be closed. Returns their number. */
unsigned server_files_close_some(struct fuse_server *srv);
/* Adds to *n and *bytes the removed files that the mount has open, and their space, except those
 * that have this mark already; sets the mark. */
void server_files_held(struct server_mount *m, uint32_t mark, uint32_t *n, uint64_t *bytes);
/* The client is away: closes its open files and expects it to reclaim them, as after a restart of
 * this process. */
void server_mount_drop_files(struct server_mount *m);
/* Finds the open file fh, which must belong to the request's i-th object. Returns -EBADF if it does
 * not. */
int server_file_get(const struct server_req *q, unsigned i, uint64_t fh, bool dir,
		    struct server_file **ret);
void server_file_release(struct server_mount *m, uint64_t fh);
void server_file_put(struct server_file *f); /* one user less */
/* Whether the client has the node (may be NULL) open. */
bool server_file_has_open(const struct server_mount *m, const struct server_node *n);
/* The file that an earlier execution of the same open request has opened; NULL: it is not open
 * here. */
struct server_file *server_file_opened(const struct server_req *q);

/* Begins to move a mount to a peer with fewer mounts, or to the peer to which its client has
 * connected. Call once a second. */
void server_mounts_balance(struct fuse_server *srv);
/* Hands over moving mounts that are idle. */
void server_mounts_move(struct fuse_server *srv, uint64_t now_ns);

#endif
