/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The structures of the server that its folders share: exports, objects, mounts, clients, open
 * files, requests and the server itself. The headers beside the code declare the functions.
 */
#ifndef PLENUM_FUSE_SERVER_TYPES_H
#define PLENUM_FUSE_SERVER_TYPES_H

#include "dataplane/fuse/helper/fs_helper.h"
#include "dataplane/fuse/helper/fuse_handle.h"
#include "dataplane/fuse/helper/fuse_ids.h"
#include "dataplane/fuse/proto/fuse_hello.h"
#include "dataplane/fuse/server/base/fuse_rights.h"
#include "dataplane/fuse/server/base/server_buf.h"
#include "dataplane/fuse/server/base/server_check.h"
#include "dataplane/fuse/server/base/server_share.h"
#include "dataplane/fuse/server/base/server_state.h"
#include "dataplane/fuse/server/fuse_server.h"
#include "dataplane/port/rdma/port_rdma.h"
#include "netcfg/base/list.h"
#include "netcfg/base/reason.h"
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
	uint32_t pins_measured; /* pins whose space is known, or asked for */
	uint64_t pins_bytes;	/* ... of those that no client has open */
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
	uint32_t tick;	    /* fuse_server.tick at the last use */
	uint32_t refs;	    /* open files, and running requests */
	uint32_t n_open;    /* open files of clients */
	uint32_t held_mark; /* of server_files_held() */
	int fd;		    /* O_PATH; -1: none now */
	bool unlinked;	    /* keeps its descriptor although unlinked */
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

/* Counts of open files, for their shares: server_quota.c. */
struct server_user { /* of a mount, with open files */
	struct server_user *next;
	const struct server_mount *mount;
	uint32_t uid; /* at the client */
	uint32_t n_files;
};
/* Limits of open files, see server_quota.h; ALL: the worker's own limit is reached. */
enum server_share {
	SERVER_SHARE_NONE,
	SERVER_SHARE_ALL,
	SERVER_SHARE_USER,
	SERVER_SHARE_MOUNT,
	SERVER_SHARE_CLIENT,
};

struct server_host { /* a client with mounts, by its address */
	struct server_host *next;
	struct ip_addr addr; /* family 0: unknown */
	uint32_t n_mounts, n_files;
};

struct server_open { /* an object that a mount has open */
	struct server_open *next;
	const struct server_mount *mount;
	const struct server_node *node;
	uint32_t n_files;
};

struct server_file { /* an open file of a client */
	struct server_mount *mount;
	struct server_node *node;
	struct server_user *user;
	struct server_open *open;
	uint32_t index;
	uint32_t reuse; /* upper half of the file handle */
	int fd;		/* free record: index of the next free one */
	uint32_t busy;	/* requests that use fd */
	bool used, is_dir;
	bool released;	 /* close when busy is 0 */
	bool nonblock;	 /* O_NONBLOCK is set, so reads can be batched */
	bool ring_unfit; /* setting O_NONBLOCK failed: no batches */
	uint64_t known;	 /* size known from the last read */
};
#define SERVER_FILES_PER_CHUNK 128U

struct server_closing { /* files of a mount that are being closed, some in each poll */
	struct server_closing *next;
	struct server_mount *mount;
	struct server_file **chunks;
	uint32_t n_chunks, at;
};

/* A client that is away for longer than this loses its removed files, and opens the others again.
 */
#define SERVER_LEASE_S 90U

struct server_mount {
	struct server_mount *next, **at; /* list of all mounts; the pointer there to this one */
	struct server_mount *next_same;	 /* in the chain by export and id */
	struct list idle_node;		 /* in fuse_server.idle while it has no session */
	struct list idle_files_node;	 /* in fuse_server.idle_files while it has files as well */
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
	int free_file;	  /* free list; -1: empty */
	uint32_t n_files; /* with those that are being closed: */
	uint32_t n_closing;
	unsigned n_closings; /* server_closing with files of it */
	bool ended;	     /* freed with the last of them; in no list any more */
	uint32_t n_drops;    /* how often its files were closed while its client was away */
	struct server_host *host;
	char host_name[PLENUM_NAME_MAX]; /* as the client reported; "": not connected to this
					    process yet */

	unsigned journal; /* number in the export's journal */
	uint64_t number;  /* hash of the mount's id: the same at every worker of the host */
	struct {
		uint64_t unique, fh;
	} opened[FUSE_PROTO_CALLS_MAX]; /* results of recent opens, for repeated requests */
};

/* Waiting requests of a client whose replies have similar sizes, the oldest first. */
struct server_waits {
	struct server_wait *head, **tail;
};

struct fuse_server_client {
	struct fuse_server *server;
	struct server_mount *mount;
	struct fuse_server_client *prev,
		*next; /* in the list fuse_server.clients until the client is gone */
	struct fuse_server_client *next_dying;
	char host[PLENUM_NAME_MAX];
	unsigned n_reqs;
	struct server_source *from;	      /* where it connects from */
	struct server_waits waits[BUF_SIZES]; /* requests that have not started */
	unsigned n_waits;		      /* of all sizes */
	struct list wait_node;		      /* in host->waiting while there are any */
	uint64_t number;		      /* increases with each accepted client */
	unsigned peer;			      /* its number for buffer shares */
	struct rudp_session *session;	      /* NULL: ended */
	struct port_rdma_peer *rdma;	      /* queue pairs by leg; NULL: never requested */
	uint64_t rdma_spent_ns;		      /* budget for making queue pairs used until then */
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
	struct server_source *from; /* whose share of reply buffers it counts in */
	uint8_t class;		    /* of its buffer */
	struct rudp_call *call;	    /* NULL: the client no longer waits */
	struct fuse_in_header *in;
	size_t in_len;
	size_t out_max; /* room for reply data behind the header */
	struct journal_record
		*record; /* the record of a request that must not run twice; else NULL */
	uint64_t ticket; /* right to execute the record's request; 0: it has run */
	uint64_t unique;
	uint32_t client_uid; /* the user at the client */
	struct fuse_server_args args;
	bool resent;	       /* marked as possibly sent before */
	bool ids_mapped;       /* uid, gid and arguments are mapped to this host's */
	uint32_t helper_flags; /* flags of all helper calls of the request */

	/* While a helper executes it. */
	struct helper_call *helper_call;
	uint64_t helper_since_ns; /* when it was submitted */
	uint8_t helper_queue;	  /* enum helpers_queue */
	bool helper_waits;	  /* for its host's turn, in server_fair.c */
	void (*then)(struct server_req *q, const struct helper_result *r, int fd);
	struct server_node *pins[2];
	uint8_t tries;
	bool freed_descriptors; /* one retry after EMFILE */
	bool errors_end;	/* an error of the call becomes the reply */
	bool submitted;		/* submitted with the record, which the helper closes */
	bool no_victim;
	uint16_t name_at; /* offset of a name in the arguments */
	void (*retry_op)(struct server_req *q);
	void *temp; /* from the reply pool */
	size_t temp_bytes;
	size_t list_bytes; /* OPENDIR: bytes of the complete listing; 0: none */
	struct {	   /* READDIR: what the helper has read, and how far the reply is */
		uint32_t count, pos, filled, handles_len;
		uint16_t n_handles;
		bool is_last;
	} listing;
	void (*step)(struct server_req *q); /* while it waits in server_steps.c */
	/* Next in the retry queue, the queue of waiting replies or the batch of reads. */
	struct server_req *retry;
	struct server_lease
		*leases[SERVER_LEASES_MAX]; /* leases on the objects that the request changes */
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
	struct server_file *file, *file2; /* files that the io_uring operation uses */
	uint8_t *data;
	uint64_t offset;
	uint32_t want, got;
	int op, op_flags;
	bool ring_unfit;	/* io_uring could not execute the request: use a system call */
	uint32_t turn;		/* fuse_server.ring_turn at submission */
	uint64_t ring_since_ns; /* when it was submitted; 0: io_uring does not execute it */
};
_Static_assert(sizeof(struct server_req) + sizeof(struct fuse_out_header) <= BUF_HEADROOM_BYTES,
	       "a request and its reply header fit into the headroom");

/* A request that waits for a buffer, in the headroom of its own buffer. */
struct server_wait {
	struct server_wait *next;
	struct fuse_server_client *client;
	struct rudp_call *call;
	size_t len, reply_bytes;
	uint64_t number; /* increases with each request that waits */
	uint64_t arrived_ns;
};

/* A WRITE whose data is being fetched, in the headroom of the destination buffer. */
struct server_fetch {
	struct port_rdma_op op;
	struct server_fetch *prev, *next;
	struct fuse_server_client *client;
	struct rudp_call *call; /* NULL: the client no longer waits */
	struct fuse_proto_bulk bulk;
	size_t len; /* of the whole message */
	uint64_t arrived_ns;
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

/* One queue of an export's I/O helpers: server_fair.c. */
struct server_fair {
	struct list waiting; /* server_source_queue: hosts whose calls wait for their turn */
	const struct server_source *last; /* host of the latest call; NULL: none */
	uint64_t several_ns;		  /* when calls last came from another host than before */
	uint64_t spent_ns;		  /* of the host served last: newcomers start with it */
};

struct fuse_server {
	uint64_t now_ns; /* of the latest poll */
	/* By queue; the last entry is for all queues of the export together. */
	struct server_fair fair[LAUNCH_EXPORTS_MAX][HELPERS_QUEUE_MAX + 1];
	struct launch_stats *stats;
	const struct launch_config *cfg;
	const char *host; /* this host's name */
	fuse_server_pin_cb pin;
	void *pin_user;
	struct server_export exports[LAUNCH_EXPORTS_MAX];
	unsigned n_exports;
	struct server_mount *mounts; /* list */
	unsigned n_mounts;
	struct server_mount **mounts_by_id; /* hash chains */
	/* Mounts without a session, away for longest first; of these, those with open files. */
	struct list idle, idle_files;
	unsigned n_live;      /* sessions, at most LAUNCH_SESSIONS_MAX */
	unsigned n_finishing; /* further sessions that finish a mount worker's requests */
	unsigned n_moving;    /* mounts */
	uint64_t moving_ns;   /* last check */
	uint64_t n_accepted;  /* clients ever accepted */
	bool ending;	      /* shutting down: pins and open files stay for the successor */
	uint64_t incarnation;
	uint64_t table_key[2]; /* signs FUSE_HANDLE_TABLE handles; of this process, as they are */
	struct buf_pool requests, answers;
	struct rudp *rudp;
	struct list sources;	  /* server_source.h */
	struct list wait_sources; /* those with waiting requests, in turn */
	struct list step_sources; /* those with requests that go in steps, in turn */
	struct {		  /* the two hosts that sent short requests last */
		const struct server_source *from; /* NULL: none */
		uint64_t at_ns;
	} latest[2];
	/* Hosts with requests that wait for a free helper call, in turn: server_fair.c. */
	struct list call_waits[LAUNCH_EXPORTS_MAX];
	unsigned n_call_waits; /* requests */
	int work_begun; /* units of work started at once since the last poll, server_wait.c */
	unsigned n_wait;
	uint64_t n_waited;	/* requests that had to wait, since the start */
	uint64_t short_ns;	/* when reply buffers were last short for all hosts; 0: never */
	bool wait_due;		/* requests that wait may start now */
	uint64_t wait_again_ns; /* otherwise they are tried again then */
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
	struct server_host *hosts;   /* list */
	struct server_user **users;  /* hash chains */
	uint32_t n_files, files_max; /* open at clients, with directories */
	struct server_open **opens;  /* hash chains */
	struct server_closing *closing, **closing_tail;
	uint32_t n_closing;  /* files in it */
	uint64_t refused_ns; /* last open beyond a share; 0: none */
	uint32_t refused_uid;
	enum server_share refused_share; /* the limit that the refused open met */
	char refused_host[PLENUM_NAME_MAX];
	struct reason short_of; /* files; not set: enough */
	struct reason hung;	/* the file system of an export; not set: all answer */
	struct reason held;	/* space, by clients that are away; not set: none */
	uint64_t held_ns;	/* when that is looked at next */
	uint32_t held_mark;
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
	char claimed[PLENUM_NAME_MAX];	      /* by the last client whose name was not proven */
	char elsewhere[IP_ADDR_STR_MAX + 8];  /* worker for the last redirected client */
	uint64_t predecessor_leases_until_ns; /* a predecessor's leases may last until then */
	uint64_t predecessor_mount;	      /* the only mount that may have one; 0: several */
	uint64_t boot;			      /* identifies the host's boot */
	struct server_req *retry_head,
		**retry_tail; /* requests that wait for a free record or a lease */

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
	bool caps_of_writer;   /* they are those with which a user writes */
	struct server_ping ping;
	struct server_ping_order order;
};

static inline unsigned server_export_index(const struct server_export *e)
{
	return (unsigned)(e - e->server->exports);
}

/* Without files that are being closed. */
static inline uint32_t server_mount_files(const struct server_mount *m)
{
	return m->n_files - m->n_closing;
}

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

#endif
