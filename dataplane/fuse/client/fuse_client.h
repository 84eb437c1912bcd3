/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client side of the file system protocol: reads the kernel's requests from /dev/fuse of one
 * mount, sends them as rudp calls to the compute worker that serves the export, and writes the
 * answers back. It owns the session, the requests in flight, and the nodes and open files that the
 * kernel knows, with the handles that the server made for them. All this is in the mount's state
 * descriptor, so that a successor process can adopt it; the kernel resends the requests that a dead
 * worker left unanswered (FUSE_NOTIFY_RESEND). The client reopens all files at a server that has
 * restarted; a file that the server cannot find again fails with ESTALE, and is never replaced by
 * another file.
 *
 * Requests wait while the server is away; on a soft mount they fail with EIO after its timeout.
 * Requests fail while the server refuses the mount: with EACCES if this host may not use the
 * export, EROFS if this host may only read, ENOENT if there is no such export, or ESTALE if the
 * export was removed.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_H

#include "dataplane/launch.h"
#include "dataplane/port/rdma/port_rdma.h"
#include "dataplane/rudp/rudp.h"

struct fuse_client;

/* While a server refuses the session, the client retries at least every five seconds. After this
 * time without a refusal, the server counts as away. */
#define FUSE_CLIENT_REFUSAL_LAST_NS (11 * NSEC_PER_SEC)

/* Creates the client of a mount. index: the mount's index in cfg->mounts, or LAUNCH_MOUNTS_MAX plus
 * its index in cfg->shared. cfg must stay valid. proc_fd: a procfs, used to detect processes that
 * are being killed; -1: every process with a signal counts as being killed. Makes the mount's
 * descriptor of /dev/fuse non-blocking. Returns 0, -EBUSY if another process is still this mount
 * worker, or another negative errno. */
int fuse_client_new(const struct launch_config *cfg, unsigned index, int proc_fd, struct rudp *r,
		    struct launch_stats *stats, uint64_t now_ns, struct fuse_client **ret);
/* Returns the number of a mount worker that has left unfinished requests and has been away for so
 * long that it may not return; 0 if no mount worker is in this state. */
unsigned fuse_client_find_orphan(struct fuse_client *f, uint64_t now_ns);
/* Creates a client that finishes the requests of an absent mount worker in its place. index: the
 * mount's index in cfg->mounts. number: the mount worker's number, as fuse_client_find_orphan()
 * returned it. Returns 0, -EBUSY if another process has become this mount worker, or another
 * negative errno. */
int fuse_client_new_successor(const struct launch_config *cfg, unsigned index, unsigned number,
			      int proc_fd, struct rudp *r, struct launch_stats *stats,
			      uint64_t now_ns, struct fuse_client **ret);
/* Returns whether a client made by fuse_client_new_successor() has finished the requests of the
 * absent mount worker. */
bool fuse_client_is_finished(const struct fuse_client *f);
struct fuse_client *fuse_client_free(struct fuse_client *f);
/* Like fuse_client_free(), but for a process that continues: also ends the session. */
struct fuse_client *fuse_client_close(struct fuse_client *f, uint64_t now_ns);
/* Enables these RDMA devices for bulk data; call it once, before there is traffic. The caller still
 * owns rdma; NULL: no devices. */
void fuse_client_set_rdma(struct fuse_client *f, struct port_rdma *rdma,
			  const struct launch_config *cfg);
/* Tells the client that the host's kernel does not use SELinux: requests for the SELinux label of a
 * file without extended attributes then fail with EOPNOTSUPP instead of ENODATA. Call it once,
 * before there is traffic. */
void fuse_client_set_unlabelled(struct fuse_client *f);
/* Changes the limits of the mount. Call it for the owner of the mount; its mount workers follow. */
void fuse_client_set_limits(struct fuse_client *f, const struct launch_limits *to);
/* ret_now: whether the limits hold requests back now. ret_waited_ns: how long requests of the mount
 * have waited for that, all together. */
void fuse_client_get_limited(const struct fuse_client *f, uint64_t now_ns, bool *ret_now,
			     uint64_t *ret_waited_ns);
/* Returns why the mount's data cannot use RDMA on this port, or PORT_RDMA_OK if it can. */
enum port_rdma_reason fuse_client_rdma_reason(const struct fuse_client *f, unsigned port);
/* Returns how many bytes of file data RDMA has transferred over this port, which must be below
 * PORT_RDMA_LEGS_MAX. */
void fuse_client_rdma_bytes(const struct fuse_client *f, unsigned port, uint64_t *ret_read,
			    uint64_t *ret_write);
/* Compares the RDMA link types of the servers of these clients; entries may be NULL. If some legs
 * or servers use InfiniBand and others Ethernet, all clients stop RDMA until the link types
 * agree. */
void fuse_client_rdma_check_mixed(struct fuse_client *const *clients, unsigned n);
/* Starts an RDMA test over one leg; `ask` must be valid. Only one test runs at a time. Returns 0,
 * after which fuse_client_ping_take() will return the result; or -EBUSY. */
int fuse_client_ping(struct fuse_client *f, const struct launch_ping *ask, uint64_t now_ns);
/* Returns true once after the test has ended, with its result. */
bool fuse_client_ping_take(struct fuse_client *f, struct launch_ping *ret);
int fuse_client_fd(const struct fuse_client *f); /* the descriptor from which requests are read;
						    poll it for reading */
/* For a mount worker. _is_reading: returns whether the mount worker reads requests from the kernel
 * at present. _kernel_fd: returns the descriptor from which the mount worker reads requests; other
 * workers poll this descriptor too. */
bool fuse_client_is_reading(const struct fuse_client *f);
int fuse_client_kernel_fd(const struct fuse_client *f);
/* Returns the eventfd by which the workers of the mount wake one another, to be polled
 * edge-triggered; -1 if there is none. */
int fuse_client_bell(const struct fuse_client *f);
/* Returns whether the session only finishes old requests and then ends. */
bool fuse_client_is_finishing(const struct fuse_client *f);
/* For a mount worker: returns whether the server reported recently that it does not support mount
 * workers. The client asks the server again later. */
bool fuse_client_is_unsupported(const struct fuse_client *f, uint64_t now_ns);
/* For a mount worker: it stops reading requests from the kernel. It returns to the owner of the
 * mount all requests that it has not sent to the server. */
void fuse_client_quiesce(struct fuse_client *f);
/* Reads up to a burst of requests from /dev/fuse. Without `all` it reads only as many as the
 * recently active programs are likely to have sent. Returns how many requests it has read: 0 if
 * none is pending or likely, or if all slots are in use; -ENODEV if the mount was unmounted. The
 * descriptor signals further requests only after a call with `all` has returned 0. */
int fuse_client_pull(struct fuse_client *f, bool all, uint64_t now_ns);
/* Call when the descriptor of /dev/fuse reports the unmount. Otherwise a mount worker that takes
 * no more requests would learn of the unmount only from the owner. The next pull handles the
 * unmount. */
void fuse_client_set_unmounted(struct fuse_client *f);
/* Connects to the server, sends what is due, ends requests that have timed out, and returns unused
 * memory to the system. Returns when to call it next, UINT64_MAX if no deadline is set. */
uint64_t fuse_client_tick(struct fuse_client *f, uint64_t now_ns);
unsigned fuse_client_in_flight(const struct fuse_client *f);
/* Returns how many unanswered requests were sent to the server. A stopping worker waits for these.
 * Its successor gets all others from the kernel again. */
unsigned fuse_client_sent(const struct fuse_client *f);
/* Returns whether the mount has ended, but the server has not been informed yet. A stopping worker
 * waits for this, because otherwise the server would keep the mount's open files for a
 * successor. */
bool fuse_client_owes_goodbye(const struct fuse_client *f, uint64_t now_ns);
/* For a worker that stops: begins to send the data that the client holds for programs. Returns
 * whether some are left. */
bool fuse_client_owes_data(struct fuse_client *f);
/* Returns whether the server serves the mount now. */
bool fuse_client_is_ready(const struct fuse_client *f);
/* Returns how many files programs have open on the mount, not counting directories. Not for a mount
 * worker. */
uint32_t fuse_client_open_files(const struct fuse_client *f);
/* Returns the session with the server, or NULL while the client has no session. */
const struct rudp_session *fuse_client_session(const struct fuse_client *f);
/* Returns how long requests have been waiting for an absent server; 0 if none waits, or if the
 * server is present. */
uint64_t fuse_client_waits_ns(const struct fuse_client *f, uint64_t now_ns);
/* Returns the number of requests that failed because the server exceeded a soft mount's timeout. */
uint64_t fuse_client_timeouts(const struct fuse_client *f);

/* rudp's callbacks for sessions whose rudp_session_user is a fuse_client. */
void *fuse_client_buf_get(struct fuse_client *f, uint64_t cookie, size_t len);
void fuse_client_buf_put(struct fuse_client *f, void *buf);
void fuse_client_response(struct fuse_client *f, uint64_t cookie, int status, void *buf, size_t len,
			  uint64_t now_ns);
void fuse_client_event(struct fuse_client *f, enum rudp_event e, int code, uint64_t now_ns);

#endif
