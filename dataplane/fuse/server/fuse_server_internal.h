/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to this folder: the structures of the server and the functions that its files share. Per
 * file: fuse_server.c: entry points, sessions. server_req.c: life of a request. server_helper.c:
 * calls to I/O helpers. server_reply.c: building replies. server_ring.c: io_uring. server_rights.c,
 * fuse_rights.c: identity of requests. server_rdma.c, server_ping.c: bulk data via RDMA, RDMA
 * tests. server_check.c: validation.
 *
 * server_lease.c: leases for clients' caches. server_share.c: state shared by a host's workers.
 * server_mount.c: mounts, open files, placement. server_node.c: handles and descriptors of objects.
 * server_pin.c: unlinked open files. server_meta.c, server_file.c, server_dir.c, server_xattr.c:
 * the operations. server_state.c, server_buf.c: persistent state, buffers.
 */
#ifndef PLENUM_FUSE_SERVER_INTERNAL_H
#define PLENUM_FUSE_SERVER_INTERNAL_H

#include "dataplane/fuse/helper/fs_helper.h"
#include "dataplane/fuse/helper/fuse_handle.h"
#include "dataplane/fuse/helper/fuse_ids.h"
#include "dataplane/fuse/proto/fuse_hello.h"
#include "dataplane/fuse/server/fuse_rights.h"
#include "dataplane/fuse/server/fuse_server.h"
#include "dataplane/fuse/server/server_buf.h"
#include "dataplane/fuse/server/server_check.h"
#include "dataplane/fuse/server/server_share.h"
#include "dataplane/fuse/server/server_state.h"
#include "dataplane/port/rdma/port_rdma.h"
#include <fcntl.h>
#include <liburing.h>
#include <sys/stat.h>

struct server_pin_request {
	uint32_t word; /* word of the record; 0: nothing requested */
	uint64_t key;
};

struct server_export {
	const struct launch_export *cfg;
	struct fuse_server *server;
	struct server_node *root;
	int root_fd;
	dev_t root_dev;
	ino_t root_ino;
	int mount_id;
	bool handles;	   /* the file system supports file handles */
	bool in_memory;	   /* on a memory file system: reads and writes never block */
	bool ring_unfit;   /* io_uring delays reads from memory on this kernel: not used for them */
	uint64_t verifier; /* sent in the reply to INIT */
	struct journal *journal;
	struct state *state;
	unsigned n_reclaiming;	/* mounts that still have to reclaim their files */
	unsigned n_in_grace;	/* those of them in their grace period */
	bool sweep_due;		/* a sweep may release pins */
	uint32_t n_provisional; /* provisional pins of this process */
	struct server_pin_request
		*pin_requests;	/* by record: the pins that this process requested */
	uint32_t repin_next;	/* next record for server_helper_repin() */
	uint64_t last_table_id; /* last number used in a FUSE_HANDLE_TABLE handle */
	uint32_t n_open;	/* files open at clients, without directories */
	uint64_t name_hash;	/* hash of its name, for peers */
	uint64_t sweep_ns;	/* next sweep */
};

/* An object of an export, cached while in use or recently used. */
struct server_node {
	struct server_node *next;     /* in the chain by handle */
	struct server_node *next_ino; /* FUSE_HANDLE_TABLE: in the chain by inode number */
	struct server_node *newer, *older;
	struct server_list *list; /* the LRU list with the node; NULL: none */
	struct server_export *export;
	uint64_t dev, ino;
	mode_t fmt;
	uint32_t tick;	 /* fuse_server.tick at the last use */
	uint32_t refs;	 /* open files, and running requests */
	uint32_t n_open; /* open files of clients */
	int fd;		 /* O_PATH; -1: none now */
	bool unlinked;	 /* keeps its descriptor although unlinked */
	struct fuse_handle handle;
	struct state_pin *pin; /* the pin requested from the agent */
};

struct server_list { /* LRU list */
	struct server_node *first, *last;
	uint32_t n;
};

struct server_entry { /* the object behind a name */
	struct server_node *node;
	struct fuse_attr attr;
	bool no_xattrs; /* has no extended attributes */
};

struct server_file { /* an open file of a client */
	struct server_mount *mount;
	struct server_node *node;
	uint32_t index;
	uint32_t reuse; /* upper half of the file handle */
	int fd;		/* free record: index of the next free one */
	uint32_t busy;	/* requests that use fd */
	bool used, is_dir;
	bool released;	 /* close when busy is 0 */
	bool nonblock;	 /* O_NONBLOCK is set, so reads can be batched */
	bool ring_unfit; /* setting it failed: no batches */
	uint64_t known;	 /* size known from the last read */
};
#define SERVER_FILES_PER_CHUNK 128U

struct server_mount {
	struct server_mount *next;
	struct fuse_server *server;
	struct server_export *export;
	uint8_t id[16];
	uint64_t last_seen_s; /* CLOCK_BOOTTIME of the last session's end */
	unsigned n_clients;
	struct fuse_server_client *client; /* client of the newest session; NULL: it has ended */
	unsigned n_refs;		   /* running requests and unacknowledged replies */
	bool gone;			   /* unmounted: freed with the last reference */
	bool mount_worker;	   /* a mount worker: its mount reclaims the files of both */
	bool reclaiming;	   /* adopted: has to reclaim its open files first */
	bool in_grace;		   /* reclaiming, and in its grace period */
	uint64_t grace_until_ns;   /* end of the grace period */
	uint64_t served_by;	   /* number of the newest client; older sessions are not served */
	uint32_t moving_to;	   /* worker that gets the mount when it is idle; 0: none */
	uint64_t moving_ns;	   /* start of the move */
	uint64_t no_move_until_ns; /* no move before */

	struct server_file **file_chunks;
	uint32_t n_file_chunks;
	int free_file; /* free list; -1: empty */

	unsigned journal; /* number in the export's journal */
	uint64_t number;  /* hash of the mount's id: the same at every worker of the host */
	struct {
		uint64_t unique, fh;
	} opened[FUSE_PROTO_CALLS_MAX]; /* results of recent opens, for repeated requests */
};

struct fuse_server_client {
	struct fuse_server *server;
	struct server_mount *mount;
	struct fuse_server_client *prev, *next; /* in fuse_server.clients, until gone */
	struct fuse_server_client *next_dying;
	char host[PLENUM_NAME_MAX];
	unsigned n_reqs;
	uint64_t number;	      /* increases with each accepted client */
	unsigned peer;		      /* its number for buffer shares */
	struct rudp_session *session; /* NULL: ended */
	struct port_rdma_peer *rdma;  /* queue pairs by leg; NULL: never requested */
	uint64_t rdma_spent_ns;	      /* budget for making queue pairs used until then */
	struct fuse_rights rights;
	bool init_done;
	bool follows; /* follows redirects */
	enum fuse_hello_purpose purpose;
	bool read_only;
	bool gone;
	bool failed;	   /* its first EIO was logged */
	uint32_t features; /* negotiated FUSE_PROTO_FEATURE_* */
	struct {
		uint64_t read_bytes, write_bytes;
	} by_rdma[LAUNCH_PORTS_MAX];
};

#define SERVER_LEASES_MAX 4 /* two objects, and the names in both */

/* A running request, in the headroom of its reply's buffer. */
struct server_req {
	struct server_req *prev, *next;	   /* in fuse_server.active */
	struct fuse_server_client *client; /* NULL after the reply */
	struct server_mount *mount;
	struct rudp_call *call; /* NULL: the client no longer waits */
	struct fuse_in_header *in;
	size_t in_len;
	size_t out_max;		       /* room for reply data behind the header */
	struct journal_record *record; /* of a request that must not run twice, else NULL */
	uint64_t ticket;	       /* right to execute the record's request; 0: it has run */
	uint64_t unique;
	struct fuse_server_args args;
	bool resent;	       /* marked as possibly sent before */
	bool ids_mapped;       /* uid, gid and arguments are mapped to this host's */
	uint32_t helper_flags; /* for all its helper calls */

	/* While a helper executes it. */
	struct helper_call *helper_call;
	void (*then)(struct server_req *q, const struct helper_result *r, int fd);
	struct server_node *pins[2];
	uint8_t tries;
	bool freed_descriptors; /* one retry after EMFILE */
	bool errors_end;	/* an error of the call becomes the reply */
	bool submitted;		/* with the record, which the helper closes */
	bool no_victim;
	uint16_t name_at; /* offset of a name in the arguments */
	void (*retry_op)(struct server_req *q);
	void *temp; /* from the reply pool */
	size_t temp_bytes;
	size_t list_bytes; /* OPENDIR: bytes of the complete listing; 0: none */
	/* Next in the retry queue, the queue of waiting replies or the batch of reads. */
	struct server_req *retry;
	struct server_lease *leases[SERVER_LEASES_MAX]; /* that it changes */
	bool untracked;		 /* changes an object without a slot in the lease table */
	uint64_t changes_before; /* this worker's change count at the start */
	uint64_t begun_ns;	 /* start time; 0: without peers */

	/* During an RDMA transfer of its data. */
	struct port_rdma_op bulk;
	uint8_t bulk_leg;
	bool bulk_stale; /* a newer session repeated the request: the old client memory is invalid
			  */

	/* While io_uring executes it. */
	void (*done)(struct server_req *q, int res);
	struct server_file *file, *file2; /* in use by it */
	uint8_t *data;
	uint64_t offset;
	uint32_t want, got;
	int op, op_flags;
	bool ring_unfit; /* io_uring returned it: use a system call */
	uint32_t turn;	 /* fuse_server.ring_turn at submission */
};
_Static_assert(sizeof(struct server_req) + sizeof(struct fuse_out_header) <= BUF_HEADROOM_BYTES,
	       "a request and its reply header fit into the headroom");

/* A request that waits for a reply buffer, in the headroom of its own buffer. */
struct server_wait {
	struct server_wait *next;
	struct fuse_server_client *client;
	struct rudp_call *call;
	size_t len;
};

/* A WRITE whose data is being fetched, in the headroom of the destination buffer. */
struct server_fetch {
	struct port_rdma_op op;
	struct server_fetch *prev, *next;
	struct fuse_server_client *client;
	struct rudp_call *call; /* NULL: the client no longer waits */
	struct fuse_proto_bulk bulk;
	size_t len; /* of the whole message */
	uint8_t leg, failed;
	bool waits; /* the working legs are busy */
};
_Static_assert(sizeof(struct server_fetch) <= BUF_HEADROOM_BYTES, "a fetch fits into the headroom");

/* The running RDMA test that a client requested; one at a time. */
struct server_ping {
	struct fuse_server_client *client; /* NULL: none */
	struct rudp_call *call;		   /* NULL: the client no longer waits */
	uint64_t unique;
	struct fuse_proto_ping ask, answer;
	uint8_t *data; /* a registered buffer */
	struct server_ping_op {
		struct port_rdma_op op;
		struct fuse_server *server;
		uint64_t begun_ns;
	} ops[FUSE_PROTO_PING_DEPTH_MAX];
	unsigned n_begun, n_under_way;
	bool failed, ordered;
	uint64_t begun_ns, pause_until_ns; /* no further test before */
};

/* An RDMA test that an operator at this server ordered, with one client on one leg: the client
 * learns of it when it next checks its pairs, and the tests that it then requests add up. */
struct server_ping_order {
	struct launch_ping run;		   /* id 0: none */
	struct fuse_server_client *client; /* NULL: its session has ended */
	unsigned leg;
	bool over; /* the result in run waits to be taken */
	uint64_t until_ns;
	uint32_t each_ns[LAUNCH_PING_COUNT_MAX];
};

struct fuse_server {
	struct launch_stats *stats;
	const struct launch_config *cfg;
	const char *host; /* this host's name */
	fuse_server_pin_cb pin;
	void *pin_user;
	struct server_export exports[LAUNCH_EXPORTS_MAX];
	unsigned n_exports;
	struct server_mount *mounts; /* list */
	unsigned n_mounts;
	unsigned n_live;      /* sessions, at most LAUNCH_SESSIONS_MAX */
	unsigned n_finishing; /* further sessions that finish a mount worker's requests */
	unsigned n_moving;    /* mounts */
	uint64_t moving_ns;   /* last check */
	uint64_t n_accepted;  /* clients ever accepted */
	bool ending;	      /* shutting down: pins and open files stay for the successor */
	uint64_t incarnation;
	struct buf_pool requests, answers;
	struct server_wait *wait_head, **wait_tail;
	unsigned n_wait;
	struct port_rdma *rdma; /* NULL: none, or buffers not registered */
	struct port_rdma_pool *rdma_pool;
	uint64_t rdma_spent_ns; /* budget of all clients for making queue pairs used until then */
	struct server_fetch *fetches;
	unsigned n_fetches, n_fetches_waiting; /* those that wait for a pair */
	/* WRITEs whose transfer cannot start: no buffer, or busy pairs. */
	struct server_wait *fetch_head, **fetch_tail;
	unsigned n_fetch_wait;
	/* READs whose data must go via RDMA, on busy pairs. */
	struct server_req *reply_head, **reply_tail;
	struct server_req *active;
	unsigned n_active;
	struct fuse_server_client *clients; /* list */
	struct fuse_server_client *dying;   /* ended, to be freed */

	struct io_uring ring;
	bool ring_ok;
	unsigned n_ring;   /* submitted or queued, not reaped */
	unsigned n_queued; /* those not submitted yet */
	uint32_t ring_turn;
	/* Small reads from memory in this turn: one is a system call, several are a batch. */
	struct server_req *reads, **reads_tail;

	struct fs_helper *helpers;
	unsigned n_helper_calls; /* calls in flight */
	bool helpers_ended;
	int root_error; /* result of server_root_init() */
	struct share share;
	char elsewhere[IP_ADDR_STR_MAX + 8];  /* worker for the last redirected client */
	uint64_t predecessor_leases_until_ns; /* a predecessor's leases may last until then */
	uint64_t predecessor_mount;	      /* the only mount that may have one; 0: several */
	uint64_t boot;			      /* identifies the host's boot */
	struct server_req *retry_head, **retry_tail; /* wait for a free call or a record */

	struct server_node **by_handle, **by_ino; /* hash chains */
	struct server_list open_nodes;		  /* FUSE_HANDLE_FILE with a descriptor */
	struct server_list closed_nodes;	  /* FUSE_HANDLE_FILE without one, unreferenced */
	struct server_list table_nodes;		  /* FUSE_HANDLE_TABLE, unreferenced */
	struct server_list unlinked_nodes; /* unlinked directories, pipes and the like that clients
					      may still use */
	uint32_t n_open_max, n_table_max;
	uint32_t tick; /* seconds of uptime */
	uint64_t hash_key[2];

	uint64_t trimmed_ns;
	uint32_t permitted[2]; /* the thread's permitted capabilities */
	struct fuse_ids ids;   /* the thread's current identity */
	bool caps_valid;       /* the effective capabilities match it */
	struct server_ping ping;
	struct server_ping_order order;
};

/* server_req.c */
/* Completes the request with len bytes at server_req_data and the tail behind: sends the reply
 * and releases everything. error: negative. */
void server_req_finish(struct server_req *q, int error, size_t len, size_t tail_len);
static inline uint8_t *server_req_data(struct server_req *q)
{
	return (uint8_t *)q + BUF_HEADROOM_BYTES;
}
static inline bool server_req_opens(const struct server_req *q)
{
	return q->in->opcode == FUSE_OPEN || q->in->opcode == FUSE_OPENDIR ||
	       q->in->opcode == FUSE_CREATE || q->in->opcode == FUSE_TMPFILE;
}
static inline const void *server_req_arg(const struct server_req *q)
{
	return q->in + 1;
}
/* The name, or first of two names, behind arg_bytes of arguments; validated. */
static inline const char *server_req_name(const struct server_req *q, size_t arg_bytes)
{
	return (const char *)(q->in + 1) + arg_bytes;
}
/* Starts a validated request, including its data. */
void server_req_take(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len,
		     const struct fuse_server_args *args);
/* Replies with an error to a message that did not become a request. buf: the message. */
void server_req_refuse(struct fuse_server *srv, struct rudp_call *call, const void *buf, size_t len,
		       int err);
void server_wait_run(struct fuse_server *srv);
/* Queues the request for a retry. */
void server_req_requeue(struct server_req *q);
void server_retry_run(struct fuse_server *srv);
void server_wait_drop(struct fuse_server *srv, const struct fuse_server_client *c,
		      const struct rudp_call *call);

/* server_helper.c */
/*
 * A helper call for the request, on its i-th object, as its user. NULL: the request was replied to,
 * or is queued for a retry. A request that must not run twice must not change anything before its
 * record is submitted.
 */
struct helper_call *server_helper_call(struct server_req *q, enum helper_op op, unsigned i);
/* Adds a second object. false: as NULL above, and the call is freed. */
bool server_helper_add_object(struct server_req *q, struct helper_call *call, unsigned i);
/* Uses this open file instead of the handle in the request. */
void server_helper_use_file(struct server_req *q, struct helper_ref *ref, struct server_file *f);
/* Submits the call. once: with the request's record. Errors become the reply, other results are
 * passed to then(), which owns fd (-1: none). */
void server_helper_submit(struct server_req *q, struct helper_call *call, enum helpers_queue queue,
			  bool once,
			  void (*then)(struct server_req *q, const struct helper_result *r,
				       int fd));
/* The same, but then() also gets errors. */
void server_helper_submit_raw(struct server_req *q, struct helper_call *call,
			      enum helpers_queue queue, bool once,
			      void (*then)(struct server_req *q, const struct helper_result *r,
					   int fd));
/* Closes fd in a helper, because closing may take as long as the file is big. */
void server_helper_close(struct server_export *e, int fd);
int server_helpers_init(struct fuse_server *srv); /* obtains the roots' handles */
int server_helpers_poll(struct fuse_server *srv, bool may_sleep);
/* Asks the agent to pin all files that the export's state lists. */
void server_helper_repin(struct server_export *e);

/* server_reply.c */
/* Success with len bytes at server_req_data. */
void server_reply_data(struct server_req *q, size_t len);
/* err: positive errno; 0: success without data. */
void server_reply_err(struct server_req *q, int err);
void server_reply_entry(struct server_req *q, const struct server_entry *e);
void server_reply_attr(struct server_req *q, const struct fuse_attr *attr, bool no_xattrs);
/* Success for a request that changed names in its folder. */
void server_reply_names(struct server_req *q);
/* An open file: e if found or created by name, NULL if the request names the object; attr: NULL
 * if unsuitable for the client's cache check. */
void server_reply_open(struct server_req *q, const struct server_entry *e,
		       const struct fuse_attr *attr, uint64_t fh);
/* attr: of the file after the write, or NULL. */
void server_reply_write(struct server_req *q, uint32_t size, const struct fuse_attr *attr);
/* To a READ with RDMA memory: len bytes at server_req_data, of which `there` were transferred
 * already (all or none). */
void server_reply_bulk(struct server_req *q, uint32_t len, uint32_t there, uint8_t failed);
/* Asks the client to repeat a READ that no leg could transfer. */
void server_reply_retry(struct server_req *q, uint8_t failed);
void server_reply_init(struct server_req *q);
/* len bytes of entries at server_req_data, with n handles (handles_len bytes, each after its
 * length). flags: FUSE_PROTO_RESP_* without data. */
void server_reply_entries(struct server_req *q, size_t len, const uint8_t *handles,
			  size_t handles_len, unsigned n, uint16_t flags);

/* server_rdma.c */
void server_rdma_done(struct fuse_server *srv);
/* FUSE_PROTO_RDMA: creates or checks queue pairs and replies. */
void server_rdma_ask(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len);
/* Fetches the data of a WRITE via RDMA, then starts the request. */
void server_rdma_fetch(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len,
		       const struct fuse_server_args *args);
/* Retries the waiting transfers. */
void server_rdma_run(struct fuse_server *srv);
/* Sends len bytes at server_req_data as the reply to a READ, via RDMA if offered. */
void server_rdma_reply(struct server_req *q, size_t len);
/* The offered legs that do not work; 0: none offered. */
uint8_t server_rdma_failed(const struct server_req *q);
void server_rdma_call_gone(struct fuse_server *srv, const struct rudp_call *call);
void server_rdma_client_gone(struct fuse_server_client *c);

/* server_ping.c */
/* FUSE_PROTO_RDMA_PING: starts a test or refuses it. */
void server_ping_ask(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len);
/* True: poll without sleeping, because a test is measured; limited to PING_WORK_NS. */
bool server_ping_spins(const struct fuse_server *srv, uint64_t now_ns);
/* The client no longer waits for the test's reply. */
void server_ping_call_gone(struct fuse_server *srv, const struct rudp_call *call);
void server_ping_client_gone(struct fuse_server_client *c);
/* Fills in the ordered test, if any, for a client that checks the leg's pair. */
void server_ping_order_get(const struct fuse_server_client *c, unsigned leg, uint8_t ret[16]);

/* server_ring.c */
int server_ring_init(struct fuse_server *srv);
void server_ring_done(struct fuse_server *srv);
/* Queues q->op for io_uring until the next fuse_server_poll, which calls q->done with the
 * result. Everything but reads, and some reads from memory (large ones, those that io_uring
 * returned, and all if server_export.ring_unfit), is done at once and calls q->done before
 * returning. */
void server_ring_start(struct server_req *q);
/* Submits, reaps, calls done. Number of results. */
int server_ring_poll(struct fuse_server *srv);
/* Whether operations wait for the next poll. */
bool server_ring_waits(const struct fuse_server *srv);
/* Submits queued operations with the thread's current identity. */
void server_ring_flush(struct fuse_server *srv);

/* server_rights.c */
/* Permanently gives up the capability to exceed quotas. 0; negative errno. */
int server_creds_init(struct fuse_server *srv);
/* Sets the identity with which this thread writes. 0; negative errno: writing now would use
 * another identity. */
int server_creds_set(struct fuse_server *srv, uint32_t uid, uint32_t gid);
/* Maps the request's users and groups to this host's and sets q->helper_flags. 0; -EINVAL: an
 * unmapped id. */
int server_rights_enter(struct server_req *q);
/* Maps owner and group for the client. */
void server_rights_attr(const struct server_req *q, const struct fuse_attr *from,
			struct fuse_attr *ret);

/* server_lease.c */
/* The key of a file in the shared tables; 0: none. It omits the signature, because several
 * exports may show the same file. */
uint64_t server_lease_key(const struct fuse_server *srv, const uint8_t *handle, size_t len);
/* Call once the predecessor's mounts are known. */
void server_leases_restore(struct fuse_server *srv);
/* Grants a lease on the file with this handle in the request's folder: no other client changes
 * the entry for a second from the client's request. False: refused. */
bool server_lease_grant(struct server_req *q, const uint8_t *handle, size_t len,
			const struct fuse_attr *attr);
/* Grants a lease on a folder that the request created: no other client creates a name there for
 * a second. */
bool server_lease_empty(struct server_req *q, const uint8_t *handle, size_t len);
/* Grants a lease on the names of the folder that the request listed. */
bool server_lease_names(struct server_req *q);
/* Starts a change; prevents new leases on its objects until server_lease_changed. false: other
 * clients still have leases; retry later. */
bool server_lease_change(struct server_req *q);
void server_lease_changed(struct server_req *q);

/* server_mount.c */
/* Adopts the mounts in the export's state. */
int server_mounts_restore(struct server_export *e);
/* Finds or creates the mount. -EBUSY: former requests may still run, here or at another worker. */
int server_mount_get(struct fuse_server *srv, struct server_export *e, const struct fuse_hello *h,
		     struct server_mount **ret);
void server_mount_free(struct server_mount *m, bool forget_state);
void server_mount_put(struct server_mount *m); /* frees it if gone and unused */
/* The mount has reclaimed its open files. */
void server_mount_reclaimed(struct server_mount *m);
/* Frees mounts that had no session for a day or belong to another worker now. */
void server_mounts_expire(struct fuse_server *srv);
/* Makes c the mount's only served session. */
void server_mount_attach(struct server_mount *m, struct fuse_server_client *c);
/* Publishes how many mounts are reclaiming. */
void server_mounts_publish(struct fuse_server *srv);
/* Tells peers that open files stay open until a successor takes over. */
void server_mounts_end(struct fuse_server *srv);
/* Whether mounts of the export belong to a worker that does not represent them: it has not
 * appeared since this worker started (the shared memory may be new), or no longer has the
 * export. */
bool server_mounts_unclaimed(const struct server_export *e);
/*
 * Decides which worker serves the mount of a client at `from` (NULL: unknown). 0: this one;
 * -EREMOTE: another, see srv->elsewhere; -EBUSY: the client should retry.
 */
int server_mount_place(struct server_export *e, const uint8_t id[16], const struct ip_addr *from);
/* Adds an open file; owns fd on success. *ret: the client's file handle. */
int server_file_new(struct server_mount *m, struct server_node *n, int fd, bool dir, uint64_t *ret);
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

/* server_pin.c */
/* Pins the node's file if it is open, because it may lose or has lost its last name. fd: O_PATH. */
void server_pin(struct server_node *n, int fd);
/* Pins an object that is about to lose its last name; provisionally, if another worker's client
 * or one that has yet to reclaim may have it open. */
void server_pin_victim(struct server_export *e, const struct helper_result *r, int fd);
/* Asks the agent again to pin the file with this handle. fd: O_PATH. */
void server_pin_again(struct server_export *e, const uint8_t *handle, uint32_t len, int fd);
/* Whether mounts in their grace period may have files open. */
bool server_pin_in_grace(const struct server_export *e);
/* The node's last open file was closed. */
void server_unpin(struct server_node *n);
/* Releases pins of files that no client has open, after all mounts have reclaimed. */
void server_pins_sweep(struct server_export *e, uint64_t now_ns);
/* Whether clients of other workers or exports have any file, or this file, open. */
bool server_pin_any_open_elsewhere(const struct server_export *e);
bool server_pin_is_open_elsewhere(const struct server_export *e, const uint8_t *handle, size_t len);
/* Pins a file that has just lost its last name if it is open at another worker. */
void server_pin_unlinked(struct server_export *e, const struct helper_result *r, int fd);

/* server_node.c */
int server_nodes_init(struct fuse_server *srv);
void server_nodes_done(struct fuse_server *srv);
/* Closes half of the cached descriptors, because the table is full. */
void server_nodes_shrink(struct fuse_server *srv);
int server_export_init(struct fuse_server *srv, unsigned i, const struct launch_export *cfg);
/* Stores the export's root node. */
int server_root_init(struct server_export *e, const struct helper_result *r);
/* The node of the request's i-th handle; NULL: not cached. */
struct server_node *server_req_node(const struct server_req *q, unsigned i);
/* Its O_PATH descriptor, borrowed until the next node is requested. -1: only a helper can open
 * it. */
int server_node_fd(struct server_node *n);
int server_req_fd(const struct server_req *q,
		  unsigned i); /* the same for the request's i-th object */
/* Reference count: keeps the node cached. */
void server_node_ref(struct server_node *n);
void server_node_put(struct server_node *n);
/* The node with this handle; NULL: not cached. len: without the signature. */
struct server_node *server_node_find(const struct server_export *e, const uint8_t *handle,
				     size_t len);
/* The node with this signed handle; NULL: not cached. */
struct server_node *server_node_signed(const struct server_export *e, const uint8_t *handle,
				       size_t len);
/* An object has lost a name; fd: its O_PATH descriptor (taken over) or -1. Frees an unlinked
 * file's node. Keeps unlinked pipes and directories for a while, because clients may use them
 * and no server tracks that. */
void server_node_removed(struct server_export *e, const struct helper_result *r, int fd);
/* Once a second: closes descriptors not used lately, which may hold unlinked files. */
void server_nodes_idle(struct fuse_server *srv);
/* The node of an object that a helper found or created; fd: its O_PATH descriptor (taken over),
 * or -1 to look it up by handle only. NULL: no memory, or neither handle nor fd. */
struct server_node *server_node_of(struct server_export *e, const struct helper_result *r, int fd);
/* Looks the name up in the kernel's cache. -EAGAIN: a helper is necessary. */
int server_node_cached(struct server_node *dir, const char *name, struct server_entry *ret);
/* Whether the open file has no extended attributes, if known without disk access. */
bool server_has_no_xattrs(const struct server_export *e, int fd);

/* The operations in the table of server_req.c: each ends in one reply, now or later. */
void server_op_lookup(struct server_req *q);
void server_op_getattr(struct server_req *q);
void server_op_setattr(struct server_req *q);
void server_op_readlink(struct server_req *q);
void server_op_mknod(struct server_req *q);
void server_op_mkdir(struct server_req *q);
void server_op_symlink(struct server_req *q);
void server_op_link(struct server_req *q);
void server_op_remove(struct server_req *q); /* unlink, rmdir, rename */
void server_op_statfs(struct server_req *q);
void server_op_open(struct server_req *q);
void server_op_create(struct server_req *q);
void server_op_release(struct server_req *q);
void server_op_read(struct server_req *q);
void server_op_write(struct server_req *q);
void server_op_fsync(struct server_req *q);
void server_op_fallocate(struct server_req *q);
void server_op_lseek(struct server_req *q);
void server_op_copy(struct server_req *q);
void server_op_readdir(struct server_req *q);
void server_op_readdirplus(struct server_req *q);
/* An OPENDIR that wants a complete short listing in its reply. */
bool server_dir_lists(const struct server_req *q);
void server_dir_list_ask(struct server_req *q, struct helper_call *call);
void server_dir_reply_open(struct server_req *q, const struct server_node *n, uint64_t fh);
void server_op_fsyncdir(struct server_req *q);
void server_op_getxattr(struct server_req *q);
void server_op_listxattr(struct server_req *q);
void server_op_removexattr(struct server_req *q);
void server_op_setxattr(struct server_req *q);
/* Replies with the recorded outcome of a request that ran before. */
void server_op_replay(struct server_req *q, const struct helper_result *r);
/* The same for requests that open a file. */
void server_open_replay(struct server_req *q, const struct helper_result *r);
/* Replies with a file that the request has opened in this process. */
void server_open_reply(struct server_req *q, struct server_file *f);
/* A path for calls that take no descriptor; fd may be O_PATH, and a symbolic link is not
 * followed. */
#define SERVER_FD_PATH_MAX 32
const char *server_fd_path(int fd, char path[SERVER_FD_PATH_MAX]);

#endif
