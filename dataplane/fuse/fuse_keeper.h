/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keeper of file handles: a process beside a compute worker that opens files by handle for it.
 * The kernel lets whoever may do that open any file of the file system, exported or not, so the
 * worker, which reads what strangers send, must not. The keeper opens only what it has signed, and
 * it signs only what the worker showed it: an open descriptor on the export's own mount, which the
 * worker can have reached only by walking down from the export's root. The signed handle goes to
 * the client, which gives it back with each request, to this worker or a successor. The key never
 * comes to the worker.
 */
#ifndef PLENUM_DATAPLANE_FUSE_KEEPER_H
#define PLENUM_DATAPLANE_FUSE_KEEPER_H

#include "dataplane/fuse/fuse_handle.h"
#include "dataplane/launch.h"
#include <sys/types.h>

#define FUSE_KEEPER_BATCH_MAX 64U /* descriptors in one message: the kernel takes 253 */

struct fuse_keeper {
	int sock;      /* to the process; reads as closed when it has ended; -1: there is none */
	uint64_t boot; /* names this run of the host's kernel */
};

/*
 * Starts the process. Call it while the caller has one thread, full privilege and the old root.
 * key_fd: LAUNCH_KEY_BYTES that only the process reads. 0; negative errno with a line in why
 * (LAUNCH_REASON_MAX bytes).
 */
int fuse_keeper_start(struct fuse_keeper *k, int key_fd, char *why);
/*
 * Hands over the roots of the exports, which are known by their place from now on; the process then
 * gives up all it does not need and runs as uid, gid. *ret_handles: bit per export, its file system
 * gives handles. 0; negative errno with a line in why.
 */
int fuse_keeper_roots(struct fuse_keeper *k, const struct launch_export *exports, unsigned n,
		      uid_t uid, gid_t gid, uint32_t *ret_handles, char *why);
/* The signed handles of what the descriptors (borrowed, at most FUSE_KEEPER_BATCH_MAX) show; of no
 * length where one is not on the export's own mount. 0; negative errno: the process is gone. */
int fuse_keeper_sign(struct fuse_keeper *k, unsigned export_index, const int *fds, unsigned n,
		     struct fuse_handle *ret);
/* A new O_PATH descriptor of what a signed handle names. -ESTALE: not signed for this export, or
 * there no more; -EMFILE; -EPIPE: the process is gone. */
int fuse_keeper_open(struct fuse_keeper *k, unsigned export_index, const struct fuse_handle *h);
void fuse_keeper_done(struct fuse_keeper *k);

#endif
