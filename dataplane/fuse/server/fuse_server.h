/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server end of the file system protocol: requests of clients' kernels, checked and carried out
 * on an export directory. File data moves by io_uring, all else that may wait is done by hands
 * (fs_helper.h), so the core never blocks on a disk. Nothing outside the export's root can be
 * reached: every name is one component, resolved relative to a directory's descriptor without
 * following symbolic links. Clients name objects by signed handles; this end keeps nothing that it
 * could not lose, but for the journal of requests that must not run twice and the list of files
 * that are open without a name, which the agent holds: both lie in the export's state descriptor.
 * What clients have open they tell a successor again. Objects of file systems that give no handles
 * end with the process (the client is told ESTALE), and when too many of them are in use. Locks are
 * the client's kernel's own. Clients' kernels check permissions; here quotas hold for everybody,
 * root included.
 */
#ifndef PLENUM_FUSE_SERVER_H
#define PLENUM_FUSE_SERVER_H

#include "dataplane/launch.h"
#include "dataplane/port/rdma/port_rdma.h"
#include "dataplane/rudp/rudp.h"

struct fuse_server; /* all exports of this worker */
struct fs_helper;
struct fuse_server_client; /* one client session of one mount */

/*
 * Who holds descriptors over the process's death. fd: borrowed, O_PATH, to be held for the export
 * under this key; -1: let that one go. false: not now; a descriptor is then not held, letting go is
 * tried again.
 */
typedef bool (*fuse_server_pin_cb)(void *user, uint32_t export_index, uint64_t key, int fd);

/* hands (borrowed): do what may wait, in an arena of fuse_server_arena_bytes(). boot: names this
 * run of the host's kernel. */
int fuse_server_new(const struct launch_config *cfg, struct rudp *r, struct launch_stats *stats,
		    fuse_server_pin_cb pin, void *pin_user, struct fs_helper *helpers,
		    uint64_t boot, struct fuse_server **ret);
size_t fuse_server_arena_bytes(void);
struct fuse_server *fuse_server_free(struct fuse_server *srv);
/* Once, before there is traffic: bulk data may go by these devices (borrowed; NULL: none). */
void fuse_server_rdma(struct fuse_server *srv, struct port_rdma *rdma);
/* File data of the client's that went so by that port, below LAUNCH_PORTS_MAX. */
void fuse_server_rdma_bytes(const struct fuse_server_client *c, unsigned port, uint64_t *ret_read,
			    uint64_t *ret_write);
/* Has the client try RDMA by that port of ours; one at a time, and what became of it is taken by
 * fuse_server_ping_take(), which is to be asked each turn while there is one. 0; -EBUSY; -ENOTSUP:
 * no pair with it goes by that port, and *ret_why is why, as far as it is known here. */
int fuse_server_ping(struct fuse_server_client *c, const struct launch_ping *ask, uint64_t now_ns,
		     enum port_rdma_reason *ret_why);
/* False: there is none that is over; *ret_due_ns: when there is one at the latest. */
bool fuse_server_ping_take(struct fuse_server *srv, uint64_t now_ns, struct launch_ping *ret,
			   uint64_t *ret_due_ns);
/* A path of the client's session has gone down that leads by this port. */
void fuse_server_path_down(struct fuse_server_client *c, unsigned port);
/* Has another agent hold what the former one held. */
void fuse_server_pin_again(struct fuse_server *srv);
/* io_uring completions: poll for reading; -1: there is no io_uring, all is done at once. */
int fuse_server_fd(const struct fuse_server *srv);
/* Hands' answers: the same. */
int fuse_server_helpers_fd(const struct fuse_server *srv);
/* Reaps completions and submits what is queued; answers go to rudp. may_sleep: the caller may wait
 * for the descriptors next. Number reaped; -EPIPE: a hand has ended. */
int fuse_server_poll(struct fuse_server *srv, uint64_t now_ns, bool may_sleep);
/* The same for a caller that has polled without may_sleep and is about to wait. False: there was
 * something, and answers go to rudp. */
bool fuse_server_arm(struct fuse_server *srv);
/* When to poll though no descriptor says so. */
uint64_t fuse_server_due_ns(const struct fuse_server *srv, uint64_t now_ns);
unsigned fuse_server_in_flight(const struct fuse_server *srv);

/* rudp's callbacks. accept: -ENOENT no such export, -EPROTO not a hello, -EROFS, -EREMCHG: the
 * client means another host; -EACCES: no rule of the export fits it; -ENOSPC: as many clients are
 * served as may be; -EDQUOT: as may be by a lane; -EREMOTE: another worker of the host serves the
 * mount, fuse_server_elsewhere says where; -EBUSY: what was asked for the mount before may be at
 * work still. from: whence it speaks; NULL: not known. */
int fuse_server_accept(struct fuse_server *srv, struct rudp_session *s, const struct ip_addr *from,
		       const void *hello, size_t len, struct fuse_server_client **ret);
/* "ADDRESS/PORT" of the worker that the last client was sent to; the port is hexadecimal. */
const char *fuse_server_elsewhere(const struct fuse_server *srv);
/* As the client calls itself. */
const char *fuse_server_client_host(const struct fuse_server_client *c);
/* peer: fuse_server_peer of the session; 0: nobody, who has no share to keep to. */
void *fuse_server_buf_get(struct fuse_server *srv, unsigned peer, size_t len);
static inline unsigned fuse_server_peer(const struct rudp_session *s)
{
	return s ? rudp_session_index(s) + 1 : 0;
}
void fuse_server_buf_put(struct fuse_server *srv, void *buf);
void fuse_server_request(struct fuse_server_client *c, struct rudp_call *call, void *buf,
			 size_t len);
void fuse_server_call_gone(struct fuse_server_client *c, struct rudp_call *call);
void fuse_server_sent(struct fuse_server *srv, void *token);
/* The session ended; what the client has open is kept for its next session (same mount_id). */
void fuse_server_client_gone(struct fuse_server_client *c);

#endif
