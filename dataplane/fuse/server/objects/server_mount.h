/* SPDX-License-Identifier: BSD-3-Clause */
/* Mounts, their open files, and which worker serves them (see server_mount.c). */
#ifndef PLENUM_SERVER_MOUNT_H
#define PLENUM_SERVER_MOUNT_H

#include "dataplane/fuse/server/objects/server_types.h"

int server_mounts_init(struct fuse_server *srv);
void server_mounts_done(struct fuse_server *srv); /* frees all mounts */
/* Creates the mounts in the export's state that this worker served before, or that no worker
 * serves. Their clients must first reclaim their open files. */
int server_mounts_restore(struct server_export *e);
/* Finds or creates the mount that the hello names. Returns 0, -EBUSY if earlier requests of the
 * mount may still run, at this worker or at another, or another negative errno. */
int server_mount_get(struct fuse_server *srv, struct server_export *e, const struct fuse_hello *h,
		     struct server_mount **ret);
void server_mount_free(struct server_mount *m, bool forget_state);
void server_mount_add_client(struct server_mount *m); /* counts one more session of the mount */
/* Call when a session of the mount, or a reference to it, has ended. Frees the mount if its client
 * has unmounted it and nothing uses it any more. */
void server_mount_put(struct server_mount *m);
/* Among the mounts without a session that have open files, are not in use and were last seen at
 * until_s or earlier, returns the one that has been away for longest. Returns NULL if there is
 * none. */
struct server_mount *server_mount_away(struct fuse_server *srv, uint64_t until_s);
/* Call when the mount has reclaimed its open files. */
void server_mount_reclaimed(struct server_mount *m);
/* Closes the files of clients that have been away for SERVER_LEASE_S. Frees mounts that had no
 * session for a day, or that another worker has adopted. It checks all mounts, so call it only once
 * a second. */
void server_mounts_expire(struct fuse_server *srv);
/* Makes c the only client of the mount whose requests are served. */
void server_mount_attach(struct server_mount *m, struct fuse_server_client *c);
/* Publishes to the other workers how many mounts are reclaiming their files. */
void server_mounts_publish(struct fuse_server *srv);
/* Publishes to the other workers that the files which clients have open at this worker count as
 * open until a successor takes over. */
void server_mounts_end(struct fuse_server *srv);
/*
 * Decides which worker serves the mount of a client at `from` (NULL: unknown). Returns 0 for this
 * worker, -EREMOTE for another worker, whose address is then in srv->elsewhere, or -EBUSY if the
 * client must retry.
 */
int server_mount_place(struct server_export *e, const uint8_t id[16], const struct ip_addr *from);
/* Call for a client of an export that this worker does not have. Returns -EREMOTE if another worker
 * of the host serves the export, like server_mount_place(). Returns -EBUSY if a worker that served
 * the export is away and may come back, or if the client does not follow redirects. Returns -ENOENT
 * if no worker serves the export. */
int server_mount_elsewhere(struct fuse_server *srv, const char *export_name,
			   const struct ip_addr *from, bool follows);
/* Adds an open file of the client's user uid. If it succeeds, the file owns fd, and *ret is the
 * file handle for the client. */
int server_file_new(struct server_mount *m, struct server_node *n, int fd, bool dir, uint32_t uid,
		    uint64_t *ret);
int server_files_init(struct fuse_server *srv);
void server_files_done(struct fuse_server *srv); /* closes all files that wait to be closed */
/* server_files_close() closes all open files of a mount that has no running requests. It closes
 * some in each poll, because a client may have a million open. server_files_end() does the same and
 * then frees the mount, which must be in no list. */
void server_files_close(struct server_mount *m);
void server_files_end(struct server_mount *m);
/* Closes some of the files that wait to be closed. Returns their number. */
unsigned server_files_close_some(struct fuse_server *srv);
/* Adds the number of removed files that the mount has open to *n, and their space to *bytes. Sets
 * `mark` in the files' nodes, and skips nodes that have it already. */
void server_files_held(struct server_mount *m, uint32_t mark, uint32_t *n, uint64_t *bytes);
/* Closes the open files of a client that is away. The client must reclaim them when it comes back,
 * as after a restart of this process. */
void server_mount_drop_files(struct server_mount *m);
/* Finds the open file fh, which must belong to the request's i-th object. Returns -EBADF if it does
 * not, or -EIO if the file is barred. */
int server_file_get(const struct server_req *q, unsigned i, uint64_t fh, bool dir,
		    struct server_file **ret);
/* Bars an open file, or all open files of that object: requests with them fail until they are
 * closed. */
void server_file_bar(struct server_mount *m, uint64_t fh);
void server_files_bar(struct server_mount *m, uint64_t dev, uint64_t ino);
void server_file_release(struct server_mount *m, uint64_t fh);
void server_file_put(struct server_file *f); /* ends the use of a file that server_file_get() has
						returned */
/* Returns whether the mount has the node (which may be NULL) open. */
bool server_file_has_open(const struct server_mount *m, const struct server_node *n);
/* Returns the file that an earlier execution of the same open request has opened; NULL if this
 * worker does not have it open. */
struct server_file *server_file_opened(const struct server_req *q);

/* Begins to move a mount to a worker with fewer mounts, or to the worker to which its client has
 * connected. Call it once a second. */
void server_mounts_balance(struct fuse_server *srv);
/* Hands over those moving mounts that are idle. */
void server_mounts_move(struct fuse_server *srv, uint64_t now_ns);

#endif
