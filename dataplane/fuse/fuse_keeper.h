/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keeper of file handles: a process beside a compute worker that opens files by handle for it.
 * The kernel lets whoever may do that open any file of the file system, exported or not, so the
 * worker, which reads what strangers send, must not. The keeper opens only what it has signed, and
 * it signs only what the worker showed it: an open descriptor on the export's own mount, which the
 * worker can have reached only by walking down from the export's root. Signatures lie beside the
 * handles in the state (fuse_back_state.h), so that the worker's successor can go on with them;
 * their key lies with the agent and never comes to the worker.
 *
 * The keeper writes signatures into the state itself and outlives the worker until it has done all
 * that it was asked, so a node whose answer has left is signed, however the worker ends. A
 * successor's keeper waits for that.
 */
#ifndef PLENUM_DATAPLANE_FUSE_KEEPER_H
#define PLENUM_DATAPLANE_FUSE_KEEPER_H

#include "dataplane/fuse/fuse_back_state.h"
#include <sys/types.h>

#define FUSE_KEEPER_BATCH_MAX 64U /* descriptors in one message: the kernel takes 253 */

struct fuse_keeper {
	int sock; /* to the process; reads as closed when it has ended; -1: there is none */
};

/*
 * Starts the process. Call it while the caller has one thread, full privilege and the old root.
 * state_fd, key_fd: the state, and LAUNCH_KEY_BYTES that only the process reads. 0; negative errno
 * with a line in why (LAUNCH_REASON_MAX bytes): -EBUSY where a predecessor's keeper does not come
 * to its end.
 */
int fuse_keeper_start(struct fuse_keeper *k, int state_fd, int key_fd, char *why);
/*
 * Hands over the roots of the exports, which are known by their place from now on; the process then
 * gives up all it does not need and runs as uid, gid. *ret_handles: bit per export, its file system
 * gives handles. 0; negative errno with a line in why.
 */
int fuse_keeper_roots(struct fuse_keeper *k, const int *fds, unsigned n, uid_t uid, gid_t gid,
		      uint32_t *ret_handles, char *why);
/* Has the nodes signed that lie at these places in the state and that the descriptors (borrowed)
 * show. Waits for room only. 0; negative errno: the process is gone. */
int fuse_keeper_sign(struct fuse_keeper *k, unsigned export_index, const uint64_t *offsets,
		     const int *fds, unsigned n);
/* A new O_PATH descriptor of the node at this place. -ESTALE: not signed, or there no more;
 * -EMFILE; -EPIPE: the process is gone. */
int fuse_keeper_open(struct fuse_keeper *k, unsigned export_index, uint64_t offset);
void fuse_keeper_done(struct fuse_keeper *k);

#endif
