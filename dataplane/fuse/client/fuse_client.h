/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client end of the file system protocol: reads requests of the kernel from /dev/fuse of one
 * mount, sends them as rudp calls to the compute worker that serves the export, writes the answers
 * back. Owns the session, the requests in flight, and what the kernel knows of the export: nodes
 * and open files, by the handles that the server made for them. All that lies in the mount's state
 * descriptor, so that a successor goes on with it; requests that a dead worker left unanswered are
 * asked for again (FUSE_NOTIFY_RESEND). A server that has forgotten everything is told again what
 * is open; what it cannot find again is ESTALE, never another file.
 *
 * Requests wait while the peer is away; on a soft mount up to its time, then they fail with EIO.
 */
#ifndef PLENUM_DATAPLANE_FUSE_FRONT_H
#define PLENUM_DATAPLANE_FUSE_FRONT_H

#include "dataplane/launch.h"
#include "dataplane/port/rdma/port_rdma.h"
#include "dataplane/rudp/rudp.h"

struct fuse_client;

/* index: which of cfg->mounts; from LAUNCH_MOUNTS_MAX on, of cfg->lanes; cfg stays. proc_fd: a
 * procfs, by which processes that are being killed are told from others; -1: all that have a signal
 * are taken for such. The fuse fd is made non-blocking. 0; negative errno; -EBUSY: another process
 * still has the lane. */
int fuse_client_new(const struct launch_config *cfg, unsigned index, int proc_fd, struct rudp *r,
		    struct launch_stats *stats, uint64_t now_ns, struct fuse_client **ret);
/* A lane of the mount that was left with something begun, and for so long that nobody may come for
 * it; 0: there is none. */
unsigned fuse_client_orphan(struct fuse_client *f, uint64_t now_ns);
/* Ends what such a lane, of cfg->mounts[index], had begun. 0; -EBUSY: somebody has come. */
int fuse_client_new_heir(const struct launch_config *cfg, unsigned index, unsigned lane,
			 int proc_fd, struct rudp *r, struct launch_stats *stats, uint64_t now_ns,
			 struct fuse_client **ret);
/* Whether an heir is done. */
bool fuse_client_is_spent(const struct fuse_client *f);
struct fuse_client *fuse_client_free(struct fuse_client *f);
/* The same while the process goes on: its session ends, too. */
struct fuse_client *fuse_client_part(struct fuse_client *f, uint64_t now_ns);
/* Once, before there is traffic: bulk data may go by these devices (borrowed; NULL: none). */
void fuse_client_rdma(struct fuse_client *f, struct port_rdma *rdma,
		      const struct launch_config *cfg);
/* Once, before there is traffic: the host's kernel has no SELinux, and so asks for no labels. */
void fuse_client_unlabelled(struct fuse_client *f);
/* Why none go by that port; PORT_RDMA_OK: they do. */
enum port_rdma_reason fuse_client_rdma_reason(const struct fuse_client *f, unsigned port);
/* File data that went so by that port, below PORT_RDMA_LEGS_MAX. */
void fuse_client_rdma_bytes(const struct fuse_client *f, unsigned port, uint64_t *ret_read,
			    uint64_t *ret_write);
/* Judges what the servers of these (NULL: none) have said of their RDMA: where it is InfiniBand
 * with one or by one leg, and Ethernet with another, it is refused to all, until that is no more
 * so. */
void fuse_client_rdma_judge(struct fuse_client *const *fronts, unsigned n);
/* Has RDMA over one leg tried, which must be valid; one at a time. 0: fuse_client_ping_take()
 * tells; -EBUSY. */
int fuse_client_ping(struct fuse_client *f, const struct launch_ping *ask, uint64_t now_ns);
/* Once it is over: true, once, with what came of it. */
bool fuse_client_ping_take(struct fuse_client *f, struct launch_ping *ret);
int fuse_client_fd(const struct fuse_client *f); /* poll for reading */
/* Of a lane: whether it reads the kernel's requests now, and by what, where others wait, too. */
bool fuse_client_reads(const struct fuse_client *f);
int fuse_client_kernel_fd(const struct fuse_client *f);
/* By which its lanes wake it, edge-triggered; -1: it has none. */
int fuse_client_bell(const struct fuse_client *f);
/* Its session is one that ends what was begun, and itself. */
bool fuse_client_is_owing(const struct fuse_client *f);
/* A lane whose server knew none when it was last asked, which is again done only later. */
bool fuse_client_is_useless(const struct fuse_client *f, uint64_t now_ns);
/* A lane takes no more, and leaves to the owner what it has not sent. */
void fuse_client_rest(struct fuse_client *f);
/* Reads up to a burst of requests from /dev/fuse; without `all` only as long as those who asked
 * lately do not all wait for answers. >0: number taken; 0: none waiting, or likely to, or all slots
 * in use; -ENODEV: unmounted. The descriptor tells of requests that come after one with `all` that
 * has returned 0. */
int fuse_client_pull(struct fuse_client *f, bool all, uint64_t now_ns);
/* The descriptor says that it is unmounted: a lane that takes no more need not hear it from its
 * owner. The next pull does what is to be done then. */
void fuse_client_unmounted(struct fuse_client *f);
/* Timeouts. Returns the next deadline, UINT64_MAX for none. */
uint64_t fuse_client_tick(struct fuse_client *f, uint64_t now_ns);
unsigned fuse_client_in_flight(const struct fuse_client *f);
/* How many of those are with the peer. A worker that stops waits for these; the others its
 * successor asks for again. */
unsigned fuse_client_sent(const struct fuse_client *f);
/* The peer serves the mount. */
bool fuse_client_is_ready(const struct fuse_client *f);
/* With its server; NULL: there is none at present. */
const struct rudp_session *fuse_client_session(const struct fuse_client *f);
/* For how long requests have been waiting for a peer that is away; 0: none, or it is there. */
uint64_t fuse_client_waits_ns(const struct fuse_client *f, uint64_t now_ns);
/* Requests that failed because the peer did not answer in a soft mount's time. */
uint64_t fuse_client_timeouts(const struct fuse_client *f);

/* rudp's callbacks for sessions whose rudp_session_user is a fuse_client. */
void *fuse_client_buf_get(struct fuse_client *f, uint64_t cookie, size_t len);
void fuse_client_buf_put(struct fuse_client *f, void *buf);
void fuse_client_response(struct fuse_client *f, uint64_t cookie, int status, void *buf, size_t len,
			  uint64_t now_ns);
void fuse_client_event(struct fuse_client *f, enum rudp_event e, int code, uint64_t now_ns);

#endif
