/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server of the file system protocol: checks the requests of clients' kernels and executes them
 * on an export directory. io_uring reads file data and the I/O helpers (fs_helper.h) make every
 * other call that can block, so the packet core never waits for a disk. Objects outside the
 * export's root cannot be reached: each name is one component, resolved relative to a directory's
 * descriptor without following symbolic links.
 *
 * Clients name objects by signed handles, which stay valid when the server restarts. The following
 * survives in the export's state descriptor: the journal of requests that must not run twice, the
 * list of mounts, the list of unlinked open files, which the agent pins (keeps open), and until
 * when leases may be valid. Clients reclaim (open again) their open files at a successor. On a file
 * system without file handles, an object can be used only until the process ends, or until too many
 * objects are in use; its clients then get ESTALE. The server manages the file locks of mounts with
 * `locks: cluster` (lock_table.h); locks of other mounts are local to the client's kernel. Clients'
 * kernels check permissions, except where the server squashes or maps users (fuse_rights.h); quotas
 * apply at the server to every user, including root.
 */
#ifndef PLENUM_FUSE_SERVER_H
#define PLENUM_FUSE_SERVER_H

#include "dataplane/launch.h"
#include "dataplane/port/rdma/port_rdma.h"
#include "dataplane/rudp/rudp.h"

struct fuse_server; /* A server: one per worker, with all exports of the worker. */
struct fs_helper;
struct reason;
struct fuse_server_client; /* one session of one mount */

/*
 * Asks the agent to pin a file, which keeps a descriptor of it open after this process has ended.
 * fd: O_PATH descriptor of the file to pin for the export under this key, still owned by the
 * caller; -1: release the pin with this key. Returns false if the agent accepts no message now.
 * Then the file is not pinned, or the caller must retry the release.
 */
typedef bool (*fuse_server_pin_cb)(void *user, uint32_t export_index, uint64_t key, int fd);

/* helpers: the I/O helpers, which make the calls that can block. Their arena must have
 * fuse_server_arena_bytes(), and they must outlive the server. boot: a number that identifies this
 * boot of the host. Returns 0 or a negative errno. */
int fuse_server_new(const struct launch_config *cfg, struct rudp *r, struct launch_stats *stats,
		    fuse_server_pin_cb pin, void *pin_user, struct fs_helper *helpers,
		    uint64_t boot, struct fuse_server **ret);
size_t fuse_server_arena_bytes(void);
struct fuse_server *fuse_server_free(struct fuse_server *srv);
/* Lets bulk data use these RDMA devices. Call it once, before any traffic. The caller still owns
 * rdma; NULL: no devices. */
void fuse_server_rdma(struct fuse_server *srv, struct port_rdma *rdma);
/* Returns how many bytes of the client's file data RDMA has transferred on that port, which must be
 * below LAUNCH_PORTS_MAX. */
void fuse_server_rdma_bytes(const struct fuse_server_client *c, unsigned port, uint64_t *ret_read,
			    uint64_t *ret_write);
/* Asks the client to run an RDMA test via that port. Only one test runs at a time. The caller must
 * call fuse_server_ping_take() in each turn of its loop to get the result. Returns 0, -EBUSY, or
 * -ENOTSUP if the client has no queue pair on that port; *ret_why is then the reason, if it is
 * known. */
int fuse_server_ping(struct fuse_server_client *c, const struct launch_ping *ask, uint64_t now_ns,
		     enum port_rdma_reason *ret_why);
/* Returns true, with the result, if a test has ended. *ret_due_ns: when the running test times
 * out. */
bool fuse_server_ping_take(struct fuse_server *srv, uint64_t now_ns, struct launch_ping *ret,
			   uint64_t *ret_due_ns);
/* Call when a path of the client's session on this port went down. */
void fuse_server_path_down(struct fuse_server_client *c, unsigned port);
/* Asks a new agent to pin all files that its predecessor had pinned. */
void fuse_server_pin_again(struct fuse_server *srv);
/* Returns a descriptor that becomes readable when io_uring has completions; -1: io_uring is
 * unavailable, so all reads are plain system calls. */
int fuse_server_fd(const struct fuse_server *srv);
/* Returns a descriptor that becomes readable when the I/O helpers have results. */
int fuse_server_helpers_fd(const struct fuse_server *srv);
/* Starts requests that wait for their host's turn, and continues long requests. Call it before
 * reading packets, so that this work does not delay the reply to a request that arrives in this
 * turn. Returns the number of started and continued requests. */
unsigned fuse_server_begin(struct fuse_server *srv, uint64_t now_ns);
/* Processes results, submits queued operations, and sends replies. may_sleep: the caller may next
 * wait for the descriptors. Returns the number of results, or -EPIPE if a helper has ended. */
int fuse_server_poll(struct fuse_server *srv, uint64_t now_ns, bool may_sleep);
/* Like fuse_server_poll() with may_sleep. Call it before waiting, after calls of fuse_server_poll()
 * without may_sleep. Returns false if there were results, so that the caller must not wait. */
bool fuse_server_arm(struct fuse_server *srv);
/* Returns when to call fuse_server_poll() even if no descriptor is readable. */
uint64_t fuse_server_due_ns(const struct fuse_server *srv, uint64_t now_ns);
unsigned fuse_server_in_flight(const struct fuse_server *srv);

/* The requests that a client makes in its hello. */
struct fuse_server_asked {
	uint8_t mount_id[16];
	bool by_mount_worker; /* the client is a mount worker of that mount */
	/* Names of the client's host and of the export, as the client gives them. */
	char host[PLENUM_NAME_MAX], export_name[PLENUM_NAME_MAX];
};
/* Implements rudp's callback `accept`. from: the client's address; NULL: unknown. Returns 0, or
 * refuses the client with -ENOENT if there is no such export; -ENXIO if the export's directory is
 * missing; -EPROTO if the data is not a hello; -EROFS if the export is read-only; -EREMCHG if the
 * client expects another host; -EACCES if no rule of the export matches; -EADDRNOTAVAIL if the
 * client's address is not listed for the name that it claims; -EDESTADDRREQ if none is listed for
 * the name; -ENOSPC if there are too many clients; -EDQUOT if there are too many mount workers;
 * -EREMOTE if another worker of the host serves the mount (fuse_server_elsewhere()); -EBUSY if
 * earlier requests of the mount may still be running, or if another worker of the host has the
 * export and is away. */
int fuse_server_accept(struct fuse_server *srv, struct rudp_session *s, const struct ip_addr *from,
		       const void *hello, size_t len, struct fuse_server_client **ret);
/* Returns the export and mount that the client of the last fuse_server_accept() requested, or NULL
 * if the client's data was not a hello. Valid until the next call of fuse_server_accept(). */
const struct fuse_server_asked *fuse_server_asked(const struct fuse_server *srv);
/* Reads what the client asks for from its data. Returns 0, or -EPROTO if the data is not a hello.
 */
int fuse_server_read_asked(const void *hello, size_t len, struct fuse_server_asked *ret);
/* Returns the worker to which the last redirected client must connect, as "ADDRESS/PORT" with a
 * hexadecimal port. */
const char *fuse_server_elsewhere(const struct fuse_server *srv);
/* Breaks the file lock with this id for an operator. Returns 0; -ENOENT if there is no such lock;
 * -EALREADY if the lock is being broken or was broken; -EAGAIN if the request still waits for the
 * lock; -ENOSPC if too many locks of the mount are being broken; or -EBUSY if another worker keeps
 * the table of locks reserved. */
int fuse_server_lock_break(struct fuse_server *srv, uint64_t id);
/* Registers the function by which the server sends LAUNCH_MSG_LOCK_KEEP and LAUNCH_MSG_LOCK_FORGET
 * to the agent. The server repeats a message until the answer arrives. */
void fuse_server_lock_records(struct fuse_server *srv,
			      void (*ask)(void *user, const struct launch_msg *m), void *user);
/* Call when the agent has answered such a message. */
void fuse_server_lock_answer(struct fuse_server *srv, const struct launch_msg *m);
/* Returns the most important reason of four: the file system of an export hangs; lock requests
 * fail; the open files run out; or removed files still use space, because absent clients have them
 * open. If none of these applies, the reason is not set. */
const struct reason *fuse_server_reason(const struct fuse_server *srv);
/* Returns whether the client's session may be ended because it leaves replies unacknowledged: reply
 * buffers must be short, either for all hosts together or for the client's host. */
bool fuse_server_client_may_end(const struct fuse_server_client *c);
/* Returns the name that the client claims for its host. */
const char *fuse_server_client_host(const struct fuse_server_client *c);
/* Returns the index of the client's export in the configuration. */
unsigned fuse_server_client_export(const struct fuse_server_client *c);
/* Describes the client's session: how many requests are being executed, how many have not begun,
 * and when the client loses its file locks if it sends no further packet (by clock_now_ns(); 0: the
 * server does not manage the client's locks). */
void fuse_server_describe(const struct fuse_server_client *c, uint64_t now_ns,
			  uint32_t *ret_in_flight, uint32_t *ret_waiting, uint64_t *ret_lease_ns);
/* Writes the clients' mounts and the number of open files to the statistics page; the caller must
 * hold the seqlock of the page. The amount of work is bounded. */
void fuse_server_publish(struct fuse_server *srv);
/* Implements rudp's callback `buf_get`. peer: fuse_server_peer() of the session; 0: there is no
 * session, and no limit per peer applies. */
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
/* Call when the session has ended. The client's open files stay open for its next session (which
 * has the same mount_id). */
void fuse_server_client_gone(struct fuse_server_client *c);

#endif
