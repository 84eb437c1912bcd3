/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the server end share and nobody else sees: its structures, and who does what.
 *
 *	fuse_server.c	  life of the whole and of sessions; buffers for the transport
 *	fuse_server_req.c	  life of a request, from its message to its answer
 *	fuse_server_hand.c  what is done by hands: the call of a request, and its return
 *	fuse_server_reply.c the bytes of answers
 *	fuse_server_ring.c  io_uring, and the same without it
 *	fuse_server_rights.c as whom a request is executed
 *	fuse_server_rdma.c  bulk data by RDMA
 *	fuse_server_check.c what a request must look like
 *	fuse_server_lease.c what clients may believe without asking
 *	fuse_server_share.c what the workers of a host know of each other
 *	fuse_server_mount.c mounts and their open files
 *	fuse_server_node.c  objects of exports: signed handle <-> descriptor; lookup
 *	fuse_server_hold.c  open files that lose their names: held by the agent
 *	fuse_server_meta.c  operations on names and attributes
 *	fuse_server_file.c  open, create, release; data: read, write, sync, allocate, seek, copy
 *	fuse_server_dir.c	  directory streams
 *	fuse_server_xattr.c extended attributes
 *	fuse_server_state.c, fuse_server_buf.c	  layout of the state; buffers
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
	uint32_t word; /* that the record had; 0: of none */
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
	bool handles;	   /* the file system gives file handles */
	bool in_memory;	   /* reads and writes never wait for a disk */
	bool ring_unfit;   /* in memory, and yet io_uring has its reads wait: not by that */
	uint64_t verifier; /* as INIT's answer says it */
	struct journal *journal;
	struct state *state;
	unsigned n_reclaiming;	/* mounts */
	unsigned n_in_grace;	/* of these: they may still be about to say what they have open */
	bool sweep_due;		/* some may be let go of */
	uint32_t n_provisional; /* holds on suspicion, in this process */
	struct server_pin_request
		*pin_requests;	/* by record: what this process had the agent hold */
	uint32_t repin_next;	/* holds that the agent was told again */
	uint64_t last_table_id; /* of the numbers that are in handles of FUSE_HANDLE_KEPT */
	uint32_t n_open;	/* files that clients have open, directories not counted */
	uint64_t name_hash;	/* as other workers know it */
	uint64_t sweep_ns;	/* holds that others need still are looked at again then */
};

/* An object of an export, as long as somebody has it open or it was lately asked for. */
struct server_node {
	struct server_node *next;     /* in its chain by handle */
	struct server_node *next_ino; /* of FUSE_HANDLE_KEPT: in its chain by number */
	struct server_node *newer, *older;
	struct server_list *list; /* that it is in; NULL: in none, it stays */
	struct server_export *export;
	uint64_t dev, ino;
	mode_t fmt;
	uint32_t tick;	 /* of fuse_server when it was last used */
	uint32_t refs;	 /* open files, and answers that are being made */
	uint32_t n_open; /* files of it that clients have open */
	int fd;		 /* O_PATH; -1: none at present */
	bool unlinked;	 /* kept though it was removed */
	struct fuse_handle handle;
	struct state_pin *pin; /* the agent was asked to hold it */
};

struct server_list { /* least recently used first out */
	struct server_node *first, *last;
	uint32_t n;
};

struct server_entry { /* what a name shows */
	struct server_node *node;
	struct fuse_attr attr;
	bool no_xattrs; /* without extended attributes */
};

struct server_file { /* what a client has open */
	struct server_mount *mount;
	struct server_node *node;
	uint32_t index;
	uint32_t reuse; /* upper half of the file handle */
	int fd;		/* of a free record: the next free one */
	uint32_t busy;	/* requests that use fd */
	bool used, is_dir;
	bool released;	 /* to be closed when no longer busy */
	bool nonblock;	 /* O_NONBLOCK is set: reads that come together are done together */
	bool ring_unfit; /* it could not be set: they are not */
	uint64_t known;	 /* bytes that it had when it was last read */
};
#define SERVER_FILES_PER_CHUNK 128U

struct server_mount {
	struct server_mount *next;
	struct fuse_server *server;
	struct server_export *export;
	uint8_t id[16];
	uint64_t last_seen_s; /* CLOCK_BOOTTIME when the last session ended */
	unsigned n_clients;
	struct fuse_server_client *client; /* who began last; NULL: it has gone */
	unsigned n_refs;		   /* requests being served or being sent */
	bool gone;			   /* unmounted: freed when nothing refers to it */
	bool mount_worker;		   /* of another mount: that one says what both have open */
	bool reclaiming;	 /* was another's, and has not yet said what it has open */
	bool in_grace;		 /* unsettled, for less than a time */
	uint64_t grace_until_ns; /* until then */
	uint64_t served_by; /* number of the client that began last: none before it is served */
	uint32_t moving_to; /* number of the worker that gets it when nothing is at work; 0: none */
	uint64_t moving_ns; /* since then */
	uint64_t no_move_until_ns; /* it is not moved before */

	struct server_file **file_chunks;
	uint32_t n_file_chunks;
	int free_file; /* list; -1: none */

	unsigned journal; /* number in the export's */
	uint64_t number;  /* of the mount, by its id: the same at every worker of the host */
	struct {
		uint64_t unique, fh;
	} opened[FUSE_PROTO_CALLS_MAX]; /* what came of the latest requests to open, for repetitions
					 */
};

struct fuse_server_client {
	struct fuse_server *server;
	struct server_mount *mount;
	struct fuse_server_client *prev, *next; /* in fuse_server.clients, until it is gone */
	struct fuse_server_client *next_dying;
	char host[PLENUM_NAME_MAX];
	unsigned n_reqs;
	uint64_t number;	      /* of all that came: later ones have higher ones */
	unsigned peer;		      /* whose share of the buffers it uses */
	struct rudp_session *session; /* NULL: it has ended */
	struct port_rdma_peer *rdma;  /* pairs with it, by its numbers; NULL: none were asked for */
	uint64_t rdma_spent_ns;	      /* until then its requests for pairs are paid for */
	struct fuse_rights rights;
	bool init_done;
	bool follows; /* it goes where it is sent */
	enum fuse_hello_purpose purpose;
	bool read_only;
	bool gone;
	bool failed;	   /* a request of its, and that is told */
	uint32_t features; /* FUSE_PROTO_FEATURE_* in force */
	struct {
		uint64_t read_bytes, write_bytes;
	} by_rdma[LAUNCH_PORTS_MAX];
};

#define SERVER_LEASES_MAX 4 /* a request changes two objects, and the names of both */

/* One request being served. Lives in the headroom of its answer's buffer. */
struct server_req {
	struct server_req *prev, *next;	   /* in fuse_server.active */
	struct fuse_server_client *client; /* NULL once answered */
	struct server_mount *mount;
	struct rudp_call *call; /* NULL: nobody waits any more */
	struct fuse_in_header *in;
	size_t in_len;
	size_t out_max;		       /* bytes of data that fit behind the header */
	struct journal_record *record; /* of a request that must not run twice, else NULL */
	uint64_t ticket;	       /* to carry it out; 0: it was, or is */
	uint64_t unique;
	struct fuse_server_args args;
	bool resent;	       /* it may have come before */
	bool ids_mapped;       /* its users and groups are those here */
	uint32_t helper_flags; /* of all its calls */

	/* While a hand has it. */
	struct helper_call *helper_call;
	void (*then)(struct server_req *q, const struct helper_result *r, int fd);
	struct server_node *pins[2];
	uint8_t tries;
	bool freed_descriptors; /* the retry after EMFILE; there is only one */
	bool errors_end;	/* an error of the call is the answer */
	bool submitted;		/* with its record: the hand closes that */
	bool no_victim;
	uint16_t name_at; /* in the arguments */
	void (*retry_op)(struct server_req *q);
	void *temp; /* buffer of the answers' pool */
	size_t temp_bytes;
	size_t list_bytes; /* OPENDIR: of all entries, there; 0: they are not */
	/* Next of those that begin anew, of replies that wait, or of reads that came together. */
	struct server_req *retry;
	struct server_lease *leases[SERVER_LEASES_MAX]; /* that it changes */
	bool untracked;		 /* it changes what has no place among them */
	uint64_t changes_before; /* our count when it began */
	uint64_t begun_ns;	 /* the time then; 0: there was nobody else */

	/* While its data are on their way by RDMA. */
	struct port_rdma_op bulk;
	uint8_t bulk_leg;
	bool bulk_stale; /* another session has asked again: memory of the first means nothing */

	/* While io_uring has it. */
	void (*done)(struct server_req *q, int res);
	struct server_file *file, *file2; /* in use by it */
	uint8_t *data;
	uint64_t offset;
	uint32_t want, got;
	int op, op_flags;
	bool ring_unfit; /* not by io_uring any more */
	uint32_t turn;	 /* fuse_server.ring_turn when it was handed over */
};
_Static_assert(sizeof(struct server_req) + sizeof(struct fuse_out_header) <= BUF_HEADROOM_BYTES,
	       "a request and its answer's header fit before the data");

/* A request for whose answer there is no buffer yet; in the headroom of its own buffer. */
struct server_wait {
	struct server_wait *next;
	struct fuse_server_client *client;
	struct rudp_call *call;
	size_t len;
};

/* A WRITE whose data are being fetched; in the headroom of the buffer that they go to. */
struct server_fetch {
	struct port_rdma_op op;
	struct server_fetch *prev, *next;
	struct fuse_server_client *client;
	struct rudp_call *call; /* NULL: nobody waits any more */
	struct fuse_proto_bulk bulk;
	size_t len; /* of the whole message */
	uint8_t leg, failed;
	bool waits; /* the legs that work have enough to do */
};
_Static_assert(sizeof(struct server_fetch) <= BUF_HEADROOM_BYTES, "before the data");

/* The one client that has RDMA tried. */
struct server_ping {
	struct fuse_server_client *client; /* NULL: none */
	struct rudp_call *call;		   /* NULL: nobody waits any more */
	uint64_t unique;
	struct fuse_proto_ping ask, answer;
	uint8_t *data; /* of the largest requests: registered */
	struct server_ping_op {
		struct port_rdma_op op;
		struct fuse_server *server;
		uint64_t begun_ns;
	} ops[FUSE_PROTO_PING_DEPTH_MAX];
	unsigned n_begun, n_under_way;
	bool failed, ordered;
	uint64_t begun_ns, pause_until_ns; /* not before then is there another */
};

/* What an operator here wants to have tried, with one client and on its pair of that leg: it is
 * told so when it next asks after its pairs, and what it asks for then is added up. */
struct server_ping_order {
	struct launch_ping run;		   /* id 0: nobody asked */
	struct fuse_server_client *client; /* NULL: its session has ended */
	unsigned leg;
	bool over; /* run says what came of it; nobody has taken that yet */
	uint64_t until_ns;
	uint32_t each_ns[LAUNCH_PING_COUNT_MAX];
};

struct fuse_server {
	struct launch_stats *stats;
	const struct launch_config *cfg;
	const char *host; /* ours */
	fuse_server_pin_cb pin;
	void *pin_user;
	struct server_export exports[LAUNCH_EXPORTS_MAX];
	unsigned n_exports;
	struct server_mount *mounts; /* list */
	unsigned n_mounts;
	unsigned n_live;      /* clients, of LAUNCH_SESSIONS_MAX at most */
	unsigned n_finishing; /* others: lanes that end what they have begun */
	unsigned n_moving;    /* mounts */
	uint64_t moving_ns;   /* when they were looked at last */
	uint64_t n_accepted;  /* clients */
	bool ending;	      /* what is open stays open for the successor */
	uint64_t incarnation;
	struct buf_pool requests, answers;
	struct server_wait *wait_head, **wait_tail;
	unsigned n_wait;
	struct port_rdma *rdma; /* NULL: none, or its buffers are not registered */
	struct port_rdma_pool *rdma_pool;
	uint64_t rdma_spent_ns; /* until then all requests for pairs are paid for */
	struct server_fetch *fetches;
	unsigned n_fetches, n_fetches_waiting; /* idle: they wait */
	/* WRITEs whose data cannot be fetched now: no buffer, or the pairs have enough to do. */
	struct server_wait *fetch_head, **fetch_tail;
	unsigned n_fetch_wait;
	/* READs whose data go by no other way than pairs that have enough to do. */
	struct server_req *reply_head, **reply_tail;
	struct server_req *active;
	unsigned n_active;
	struct fuse_server_client *clients; /* list */
	struct fuse_server_client *dying;   /* without session and requests: to be freed */

	struct io_uring ring;
	bool ring_ok;
	unsigned n_ring;   /* handed to io_uring, not reaped */
	unsigned n_queued; /* of these, not submitted */
	uint32_t ring_turn;
	/* Small reads in memory that came in this turn: one is done at once, several together. */
	struct server_req *reads, **reads_tail;

	struct fs_helper *helpers;
	unsigned n_helper_calls; /* calls that have not come back */
	bool helpers_ended;
	int root_error; /* when the roots were looked at */
	struct share share;
	char elsewhere[IP_ADDR_STR_MAX + 8];  /* where the last client that was refused is served */
	uint64_t predecessor_leases_until_ns; /* until then a predecessor's clients may believe */
	uint64_t predecessor_mount;	      /* the only mount that may; 0: there are several */
	uint64_t boot;			      /* names this run of the host */
	struct server_req *retry_head, **retry_tail; /* wait for a call or a record */

	struct server_node **by_handle, **by_ino; /* chains */
	struct server_list open_nodes;		  /* FUSE_HANDLE_FILE, with descriptor */
	struct server_list closed_nodes;	  /* the same without, that nobody refers to */
	struct server_list table_nodes;		  /* FUSE_HANDLE_KEPT that nobody refers to */
	struct server_list unlinked_nodes;	  /* no files, removed while clients may use them */
	uint32_t n_open_max, n_table_max;
	uint32_t tick; /* seconds of work */
	uint64_t hash_key[2];

	uint64_t trimmed_ns;
	uint32_t permitted[2]; /* capabilities of the thread, for good */
	struct fuse_ids ids;   /* of the thread at present */
	bool caps_valid;       /* and its capabilities are those of that user */
	struct server_ping ping;
	struct server_ping_order order;
};

/* fuse_server_req.c */
/* The answer stands at server_req_data, len bytes and the tail's: keeps it where needed, sends it,
 * ends the request. error: negative. */
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
/* The name, or first of two, that follows arg_bytes of arguments; the check has seen its end. */
static inline const char *server_req_name(const struct server_req *q, size_t arg_bytes)
{
	return (const char *)(q->in + 1) + arg_bytes;
}
/* A request that passed the check, its data with it. */
void server_req_take(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len,
		     const struct fuse_server_args *args);
/* An answer without data to what never became a request. buf: its message. */
void server_req_refuse(struct fuse_server *srv, struct rudp_call *call, const void *buf, size_t len,
		       int err);
void server_wait_run(struct fuse_server *srv);
/* It begins anew when a call or a record may be free. */
void server_req_requeue(struct server_req *q);
void server_retry_run(struct fuse_server *srv);
void server_wait_drop(struct fuse_server *srv, const struct fuse_server_client *c,
		      const struct rudp_call *call);

/* fuse_server_hand.c */
/*
 * The call of a request, about its i-th object, as its user. NULL: the request was answered, or
 * begins anew when a call is free. What a request that must run once has changed before its
 * record goes along is nothing.
 */
struct helper_call *server_helper_call(struct server_req *q, enum helper_op op, unsigned i);
/* The call is about another object as well. false: as NULL above, and the call is gone. */
bool server_helper_add_object(struct server_req *q, struct helper_call *call, unsigned i);
/* Instead of what the request names: this descriptor; f: it is that open file's. */
void server_helper_use_file(struct server_req *q, struct helper_ref *ref, struct server_file *f);
/* Gives it away; once: with the request's record. then() is called with what comes back, unless
 * that is an error, which is the answer. fd: the receiver's, -1: none. */
void server_helper_submit(struct server_req *q, struct helper_call *call, enum helpers_queue queue,
			  bool once,
			  void (*then)(struct server_req *q, const struct helper_result *r,
				       int fd));
/* The same; then() hears of errors, too. */
void server_helper_submit_raw(struct server_req *q, struct helper_call *call,
			      enum helpers_queue queue, bool once,
			      void (*then)(struct server_req *q, const struct helper_result *r,
					   int fd));
/* Has a hand close it, for that may take as long as the file is big. */
void server_helper_close(struct server_export *e, int fd);
int server_helpers_init(struct fuse_server *srv); /* asks for the roots' handles */
int server_helpers_poll(struct fuse_server *srv, bool may_sleep);
/* Has the agent hold what the export's state says is held. */
void server_helper_repin(struct server_export *e);

/* fuse_server_reply.c */
/* Success, with the len bytes that stand at server_req_data. */
void server_reply_data(struct server_req *q, size_t len);
/* err as errno has it: positive; 0: success without data. */
void server_reply_err(struct server_req *q, int err);
void server_reply_entry(struct server_req *q, const struct server_entry *e);
void server_reply_attr(struct server_req *q, const struct fuse_attr *attr, bool no_xattrs);
/* Success without data, of what changed names in the folder that q names. */
void server_reply_names(struct server_req *q);
/* An open file: of e, which was found or made by name, or (NULL) what q names; attr: as it was
 * opened, where that tells something. Flags are the client's. */
void server_reply_open(struct server_req *q, const struct server_entry *e,
		       const struct fuse_attr *attr, uint64_t fh);
/* attr: of the file after it, for who asks for that; NULL: not to be had. */
void server_reply_write(struct server_req *q, uint32_t size, const struct fuse_attr *attr);
/* To a READ whose memory was offered: len bytes at server_req_data, of which `there` are in that
 * memory already (all or none). */
void server_reply_bulk(struct server_req *q, uint32_t len, uint32_t there, uint8_t failed);
/* The same, where no leg took them and they must not go another way. */
void server_reply_retry(struct server_req *q, uint8_t failed);
void server_reply_init(struct server_req *q);
/* The len bytes at server_req_data hold entries with these n handles, in order; each after its
 * length, handles_len bytes. flags: FUSE_PROTO_RESP_*, without data of their own. */
void server_reply_entries(struct server_req *q, size_t len, const uint8_t *handles,
			  size_t handles_len, unsigned n, uint16_t flags);

/* fuse_server_rdma.c */
void server_rdma_done(struct fuse_server *srv);
/* FUSE_PROTO_RDMA: makes queue pairs and answers. */
void server_rdma_ask(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len);
/* Fetches the data of a WRITE that came without them; then it is taken. */
void server_rdma_fetch(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len,
		       const struct fuse_server_args *args);
/* Those that had to wait. */
void server_rdma_run(struct fuse_server *srv);
/* The len bytes at server_req_data are the answer to a READ: written to its client and answered. */
void server_rdma_reply(struct server_req *q, size_t len);
/* Legs that the request was offered over and that do not work; 0: it was offered over none. */
uint8_t server_rdma_failed(const struct server_req *q);
void server_rdma_call_gone(struct fuse_server *srv, const struct rudp_call *call);
void server_rdma_client_gone(struct fuse_server_client *c);

/* fuse_server_ping.c */
/* FUSE_PROTO_RDMA_PING: begins to try, or refuses. */
void server_ping_ask(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len);
/* What is timed is waited for awake, but not for as long as a device may take to fail. */
bool server_ping_spins(const struct fuse_server *srv, uint64_t now_ns);
/* Nobody waits for its answer. */
void server_ping_call_gone(struct fuse_server *srv, const struct rudp_call *call);
void server_ping_client_gone(struct fuse_server_client *c);
/* What the client is to be told of the leg's pair, of which it asks whether it is still there. */
void server_ping_order_get(const struct fuse_server_client *c, unsigned leg, uint8_t ret[16]);

/* fuse_server_ring.c */
int server_ring_init(struct fuse_server *srv);
void server_ring_done(struct fuse_server *srv);
/* Has io_uring do q->op at the next fuse_server_poll; q->done is called with the result. Where
 * io_uring is not to be had, or not for that, done is called before this returns: for all but
 * reads, and, where the file system is in memory, for reads that are large, that io_uring has sent
 * back, or that it would have wait (server_export.alone). */
void server_ring_start(struct server_req *q);
/* Submits, reaps, calls done. Number that was done. */
int server_ring_poll(struct fuse_server *srv);
/* Something waits for the next poll. */
bool server_ring_waits(const struct fuse_server *srv);
/* Hands over what was started, which is then done as the user who the thread is now. */
void server_ring_flush(struct fuse_server *srv);

/* fuse_server_rights.c */
/* For good: the thread gives up the right to exceed quotas. 0; negative errno. */
int server_creds_init(struct fuse_server *srv);
/* What the thread writes from here on, this user writes. 0; negative errno: it would be written as
 * somebody else. */
int server_creds_set(struct fuse_server *srv, uint32_t uid, uint32_t gid);
/* By the rights of its client: users and groups that the request names become those here, and
 * q->helper_flags say how it is to be carried out. 0; -EINVAL: it names nobody here. */
int server_rights_enter(struct server_req *q);
/* As the client is shown them. */
void server_rights_attr(const struct server_req *q, const struct fuse_attr *from,
			struct fuse_attr *ret);

/* fuse_server_lease.c */
/* What others know a file by; 0: nothing is said of such. The signature is left out: exports may
 * show the same file. */
uint64_t server_lease_key(const struct fuse_server *srv, const uint8_t *handle, size_t len);
/* The mounts of a predecessor are known. */
void server_leases_restore(struct fuse_server *srv);
/* Whether the client may be told that nobody else changes, for a second from when it asked, what
 * the entry shows: of the file with this handle, in the folder that the request names. */
bool server_lease_grant(struct server_req *q, const uint8_t *handle, size_t len,
			const struct fuse_attr *attr);
/* The same of the folder with this handle, which the request has made: for a second nobody else
 * makes a name there. */
bool server_lease_empty(struct server_req *q, const uint8_t *handle, size_t len);
/* And of the folder that the request has listed: nobody else makes, moves or removes a name. */
bool server_lease_names(struct server_req *q);
/* The request begins; what it makes untrue is lent to nobody else until server_lease_changed.
 * false: others believe it still, so it begins anew later. */
bool server_lease_change(struct server_req *q);
void server_lease_changed(struct server_req *q);

/* fuse_server_mount.c */
/* The mounts that the export's state tells of. */
int server_mounts_restore(struct server_export *e);
/* *ret is ours to serve. -EBUSY: what another worker, or we for it, was asked may be at work. */
int server_mount_get(struct fuse_server *srv, struct server_export *e, const struct fuse_hello *h,
		     struct server_mount **ret);
void server_mount_free(struct server_mount *m, bool forget_state);
void server_mount_put(struct server_mount *m); /* frees it if it is gone and unused */
/* It has said what it has open. */
void server_mount_reclaimed(struct server_mount *m);
/* Frees the mounts whose clients have been away for a day, or are another worker's now. */
void server_mounts_expire(struct fuse_server *srv);
/* The mount's client speaks in this session from now on, and in none that came before. */
void server_mount_attach(struct server_mount *m, struct fuse_server_client *c);
/* How many have not said what they have open, for the other workers to see. */
void server_mounts_publish(struct fuse_server *srv);
/* Until a successor says otherwise the others are to believe that what is open stays so. */
void server_mounts_end(struct fuse_server *srv);
/* Whether mounts of the export are with a worker that does not speak for them: it has not been here
 * since we are, for the memory that all share may be new, or has no such export any more. */
bool server_mounts_unclaimed(const struct server_export *e);
/*
 * Who is to serve the mount of this client, which speaks from `from` (NULL: not known): 0: we;
 * -EREMOTE: another worker, b->elsewhere says where; -EBUSY: it is to ask again.
 */
int server_mount_place(struct server_export *e, const uint8_t id[16], const struct ip_addr *from);
/* A new open file. Owns fd on success. fh for the client in *ret. */
int server_file_new(struct server_mount *m, struct server_node *n, int fd, bool dir, uint64_t *ret);
/* The open file fh, which must be of the object that the request names as its i-th. -EBADF. */
int server_file_get(const struct server_req *q, unsigned i, uint64_t fh, bool dir,
		    struct server_file **ret);
void server_file_release(struct server_mount *m, uint64_t fh);
void server_file_put(struct server_file *f); /* one request less uses it */
/* Whether the client has the node (NULL: no) open. */
bool server_file_has_open(const struct server_mount *m, const struct server_node *n);
/* The request, if it opened something in this process, and that is still open: its file. */
struct server_file *server_file_opened(const struct server_req *q);

/* Where another worker has fewer mounts of an export, or a client of a mount that is ours, one of
 * ours is to go there. Once a second. */
void server_mounts_balance(struct fuse_server *srv);
/* Those go that are to, once nothing is at work for them. */
void server_mounts_move(struct fuse_server *srv, uint64_t now_ns);

/* fuse_server_hold.c */
/* The node may be about to lose its last name, or has none: if it is open it is held. fd: O_PATH.
 */
void server_pin(struct server_node *n, int fd);
/* The same of what is about to lose its last name, which a client that has not come back since the
 * predecessor's end may have open, too. */
void server_pin_victim(struct server_export *e, const struct helper_result *r, int fd);
/* The agent is asked again to hold what has this handle, if it is held still. fd: O_PATH. */
void server_pin_again(struct server_export *e, const uint8_t *handle, uint32_t len, int fd);
/* Whether somebody may have open what is not open here. */
bool server_pin_in_grace(const struct server_export *e);
/* Nobody has the node open any more. */
void server_unpin(struct server_node *n);
/* Lets go of what nobody has open, once all that a predecessor served have said what they have. */
void server_pins_sweep(struct server_export *e, uint64_t now_ns);
/* Clients of other workers, or of another export, have anything open; have this file open. */
bool server_pin_any_open_elsewhere(const struct server_export *e);
bool server_pin_is_open_elsewhere(const struct server_export *e, const uint8_t *handle, size_t len);
/* The last name of what r tells of is gone: is anybody's at another worker who has it open? */
void server_pin_unlinked(struct server_export *e, const struct helper_result *r, int fd);

/* fuse_server_node.c */
int server_nodes_init(struct fuse_server *srv);
void server_nodes_done(struct fuse_server *srv);
/* Closes half of the cached descriptors: the process has run out of them. */
void server_nodes_shrink(struct fuse_server *srv);
int server_export_init(struct fuse_server *srv, unsigned i, const struct launch_export *cfg);
/* Of the export: its root is known. */
int server_root_init(struct server_export *e, const struct helper_result *r);
/* What the i-th handle of the request names, if it is in memory; else NULL. */
struct server_node *server_req_node(const struct server_req *q, unsigned i);
/* Its O_PATH descriptor if there is one, borrowed: stays open until the next node is asked for. -1:
 * a hand must open it. */
int server_node_fd(struct server_node *n);
int server_req_fd(const struct server_req *q, unsigned i); /* the same of what it names */
/* It stays in memory until it is put as often. */
void server_node_ref(struct server_node *n);
void server_node_put(struct server_node *n);
/* The node whose handle begins so; NULL: not in memory. len: without signature. */
struct server_node *server_node_find(const struct server_export *e, const uint8_t *handle,
				     size_t len);
/* The node with this signed handle; NULL: not in memory. */
struct server_node *server_node_signed(const struct server_export *e, const uint8_t *handle,
				       size_t len);
/* A name of what r tells of is gone; fd: its O_PATH descriptor, given away, or -1. If it was the
 * last nothing here keeps its space; what has none, which a client may use and no server knows, a
 * pipe that is open or a directory where a program stands, is there for a while. */
void server_node_removed(struct server_export *e, const struct helper_result *r, int fd);
/* Once a second: descriptors that nobody asked for lately are closed, for what they show may have
 * been removed behind our back. */
void server_nodes_idle(struct fuse_server *srv);
/* The node of what a hand has found or made; fd: its O_PATH descriptor, given away, or -1, where it
 * may only be found by its handle. NULL: no memory; or it has no handle, and there is no fd. */
struct server_node *server_node_of(struct server_export *e, const struct helper_result *r, int fd);
/* What the name in the directory shows, without a hand. -EAGAIN: that needs one; what the name
 * says. */
int server_node_cached(struct server_node *dir, const char *name, struct server_entry *ret);
/* Whether the open file has no extended attributes, where that can be said without a disk. */
bool server_has_no_xattrs(const struct server_export *e, int fd);

/* Operations, in the table of fuse_server_req.c: each ends in one answer, now or later. */
void server_op_lookup(struct server_req *q);
void server_op_getattr(struct server_req *q);
void server_op_setattr(struct server_req *q);
void server_op_readlink(struct server_req *q);
void server_op_mknod(struct server_req *q);
void server_op_mkdir(struct server_req *q);
void server_op_symlink(struct server_req *q);
void server_op_link(struct server_req *q);
void server_op_remove(struct server_req *q); /* names that go, or move */
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
/* An OPENDIR whose answer is to have all entries, where they are few. */
bool server_dir_lists(const struct server_req *q);
void server_dir_list_ask(struct server_req *q, struct helper_call *call);
void server_dir_reply_open(struct server_req *q, const struct server_node *n, uint64_t fh);
void server_op_fsyncdir(struct server_req *q);
void server_op_getxattr(struct server_req *q);
void server_op_listxattr(struct server_req *q);
void server_op_removexattr(struct server_req *q);
void server_op_setxattr(struct server_req *q);
/* It ran, maybe at a predecessor: answers with the outcome. */
void server_op_replay(struct server_req *q, const struct helper_result *r);
/* The same of what opened something. */
void server_open_replay(struct server_req *q, const struct helper_result *r);
/* It opened something in this process, and that is open: answers so. */
void server_open_reply(struct server_req *q, struct server_file *f);
/* The path of a descriptor for calls that take no descriptor; it may be an O_PATH one, and is not
 * followed further where it shows a symbolic link. */
#define SERVER_FD_PATH_MAX 32
const char *server_fd_path(int fd, char path[SERVER_FD_PATH_MAX]);

#endif
