/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server of the file system protocol: checks the requests of clients' kernels and executes them
 * on an export directory. io_uring reads file data and the I/O helpers (fs_helper.h) make every
 * other call that can block, so the packet core never waits for a disk. Objects outside the
 * export's root cannot be reached: each name is one component, resolved relative to a directory's
 * descriptor without following symbolic links.
 *
 * Clients name objects by signed handles, so the server may lose its memory. Two things survive in
 * the export's state descriptor: the journal of requests that must not run twice, and the list of
 * unlinked open files, which the agent pins. Clients reclaim their open files at a successor.
 * Objects of file systems without file handles can be used only until the process ends, or until
 * too many are in use; their clients then get ESTALE. Locks are local to the client's kernel.
 * Clients' kernels check permissions; quotas apply here to every user, including root.
 */
#ifndef PLENUM_FUSE_SERVER_H
#define PLENUM_FUSE_SERVER_H

#include "dataplane/launch.h"
#include "dataplane/port/rdma/port_rdma.h"
#include "dataplane/rudp/rudp.h"

struct fuse_server; /* one per worker, with all its exports */
struct fs_helper;
struct reason;
struct fuse_server_client; /* one session of one mount */

/*
 * Asks the agent to keep a descriptor open after this process has ended. fd: O_PATH, which the
 * caller keeps: pin it for the export under this key; -1: release that pin. Returns false if that
 * is not possible now: a pin is then missing, and a release is retried.
 */
typedef bool (*fuse_server_pin_cb)(void *user, uint32_t export_index, uint64_t key, int fd);

/* helpers: make the calls that can block, in an arena of fuse_server_arena_bytes(); they must
 * outlive the server. boot: identifies the boot of the host. */
int fuse_server_new(const struct launch_config *cfg, struct rudp *r, struct launch_stats *stats,
		    fuse_server_pin_cb pin, void *pin_user, struct fs_helper *helpers,
		    uint64_t boot, struct fuse_server **ret);
size_t fuse_server_arena_bytes(void);
struct fuse_server *fuse_server_free(struct fuse_server *srv);
/* Lets bulk data use these RDMA devices; call it once, before any traffic. The caller keeps rdma;
 * NULL: there are none. */
void fuse_server_rdma(struct fuse_server *srv, struct port_rdma *rdma);
/* Bytes of file data of the client that were transferred via RDMA on that port, below
 * LAUNCH_PORTS_MAX. */
void fuse_server_rdma_bytes(const struct fuse_server_client *c, unsigned port, uint64_t *ret_read,
			    uint64_t *ret_write);
/* Asks the client to run an RDMA test via that port; only one at a time. Call
 * fuse_server_ping_take() each turn for the result. Returns 0; -EBUSY; or -ENOTSUP: the client has
 * no pair on that port, and *ret_why is the reason if it is known. */
int fuse_server_ping(struct fuse_server_client *c, const struct launch_ping *ask, uint64_t now_ns,
		     enum port_rdma_reason *ret_why);
/* Returns false if no test has ended; *ret_due_ns: when the running one times out. */
bool fuse_server_ping_take(struct fuse_server *srv, uint64_t now_ns, struct launch_ping *ret,
			   uint64_t *ret_due_ns);
/* Call when a path of the client's session via this port went down. */
void fuse_server_path_down(struct fuse_server_client *c, unsigned port);
/* Asks a restarted agent to pin again all files that its predecessor had pinned. */
void fuse_server_pin_again(struct fuse_server *srv);
/* A descriptor that is readable when io_uring has completions; -1: io_uring is unavailable and all
 * calls are synchronous. */
int fuse_server_fd(const struct fuse_server *srv);
/* A descriptor that is readable when the I/O helpers have results. */
int fuse_server_helpers_fd(const struct fuse_server *srv);
/* Starts requests that wait for their host's turn, and continues long ones. It is called before
 * packets are read, so that this work does not delay the reply to a request that arrives now.
 * Returns the number of requests. */
unsigned fuse_server_begin(struct fuse_server *srv, uint64_t now_ns);
/* Processes results, submits queued operations and replies. may_sleep: the caller may wait for the
 * descriptors next. Returns the number of results; -EPIPE: a helper has ended. */
int fuse_server_poll(struct fuse_server *srv, uint64_t now_ns, bool may_sleep);
/* The same for a caller that has polled without may_sleep and is about to wait. Returns false if
 * there were results. */
bool fuse_server_arm(struct fuse_server *srv);
/* When to poll even if no descriptor is readable. */
uint64_t fuse_server_due_ns(const struct fuse_server *srv, uint64_t now_ns);
unsigned fuse_server_in_flight(const struct fuse_server *srv);

/* The callbacks of rudp. fuse_server_accept returns -ENOENT: no such export; -ENXIO: its directory
 * is missing; -EPROTO: not a hello; -EROFS: read-only; -EREMCHG: the client expects another host;
 * -EACCES: no rule of the export matches; -EADDRNOTAVAIL: the client's address is not one of those
 * listed for the name that it claims; -EDESTADDRREQ: none is listed, see fuse_server_claimed;
 * -ENOSPC: too many clients; -EDQUOT: too many mount workers; -EREMOTE: another worker of the host
 * serves the mount, see fuse_server_elsewhere; -EBUSY: earlier requests of the mount may still be
 * running. from: the client's address; NULL: unknown. */
int fuse_server_accept(struct fuse_server *srv, struct rudp_session *s, const struct ip_addr *from,
		       const void *hello, size_t len, struct fuse_server_client **ret);
/* The name that the last refused client claimed. */
const char *fuse_server_claimed(const struct fuse_server *srv);
/* "ADDRESS/PORT" of the worker that the last redirected client should use; the port is
 * hexadecimal. */
const char *fuse_server_elsewhere(const struct fuse_server *srv);
/* Why the server gives clients less than they ask for, or keeps more than it should; not set if
 * neither is so. */
const struct reason *fuse_server_reason(const struct fuse_server *srv);
/* Whether the session may end if the client leaves replies unacknowledged, because reply buffers
 * are short for all hosts, or for the client's host. */
bool fuse_server_client_may_end(const struct fuse_server_client *c);
/* The name that the client claims. */
const char *fuse_server_client_host(const struct fuse_server_client *c);
/* The index of its export in the configuration. */
unsigned fuse_server_client_export(const struct fuse_server_client *c);
/* Puts the clients' mounts and the number of open files on the statistics page, whose seqlock the
 * caller holds. A bounded amount of work. */
void fuse_server_publish(struct fuse_server *srv);
/* peer: fuse_server_peer of the session; 0: there is no session, and the limit of a peer does not
 * apply. */
void *fuse_server_buf_get(struct fuse_server *srv, unsigned peer, size_t len);
static inline unsigned fuse_server_peer(const struct rudp_session *s)
{
	return s ? rudp_session_index(s) + 1 : 0;
}
void fuse_server_buf_put(struct fuse_server *srv, void *buf);
/* now_ns: when the request's last packet was received. */
void fuse_server_request(struct fuse_server_client *c, struct rudp_call *call, void *buf,
			 size_t len, uint64_t now_ns);
void fuse_server_call_cancelled(struct fuse_server_client *c, struct rudp_call *call);
void fuse_server_sent(struct fuse_server *srv, void *token);
/* Call when the session has ended. The client's open files are kept for its next session (same
 * mount_id). */
void fuse_server_client_gone(struct fuse_server_client *c);

#endif
