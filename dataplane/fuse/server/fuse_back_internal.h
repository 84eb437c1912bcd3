/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the server end share and nobody else sees: its structures, and who does what.
 *
 *	fuse_back.c	  life of the whole and of sessions; buffers for the transport
 *	fuse_back_req.c	  life of a request, from its message to its answer
 *	fuse_back_hand.c  what is done by hands: the call of a request, and its return
 *	fuse_back_reply.c the bytes of answers
 *	fuse_back_ring.c  io_uring, and the same without it
 *	fuse_back_rights.c as whom a request is executed
 *	fuse_back_rdma.c  bulk data by RDMA
 *	fuse_back_check.c what a request must look like
 *	fuse_back_lease.c what clients may believe without asking
 *	fuse_back_share.c what the workers of a host know of each other
 *	fuse_back_mount.c mounts and their open files
 *	fuse_back_node.c  objects of exports: signed handle <-> descriptor; lookup
 *	fuse_back_hold.c  open files that lose their names: held by the agent
 *	fuse_back_meta.c  operations on names and attributes
 *	fuse_back_file.c  open, create, release; data: read, write, sync, allocate, seek, copy
 *	fuse_back_dir.c	  directory streams
 *	fuse_back_xattr.c extended attributes
 *	fuse_back_state.c, fuse_back_buf.c	  layout of the state; buffers
 */
#ifndef PLENUM_DATAPLANE_FUSE_BACK_INT_H
#define PLENUM_DATAPLANE_FUSE_BACK_INT_H

#include "dataplane/fuse/helper/fuse_handle.h"
#include "dataplane/fuse/helper/fuse_hands.h"
#include "dataplane/fuse/helper/fuse_ids.h"
#include "dataplane/fuse/proto/fuse_hello.h"
#include "dataplane/fuse/server/fuse_back.h"
#include "dataplane/fuse/server/fuse_back_buf.h"
#include "dataplane/fuse/server/fuse_back_check.h"
#include "dataplane/fuse/server/fuse_back_share.h"
#include "dataplane/fuse/server/fuse_back_state.h"
#include "dataplane/fuse/server/fuse_rights.h"
#include "dataplane/port/rdma/port_rdma.h"
#include <fcntl.h>
#include <liburing.h>
#include <sys/stat.h>

struct back_asked {
	uint32_t word; /* that the record had; 0: of none */
	uint64_t key;
};

struct back_export {
	const struct launch_export *cfg;
	struct fuse_back *back;
	struct back_node *root;
	int root_fd;
	dev_t root_dev;
	ino_t root_ino;
	int mount_id;
	bool handles;	   /* the file system gives file handles */
	bool in_memory;	   /* reads and writes never wait for a disk */
	bool alone;	   /* in memory, and yet io_uring has its reads wait: not by that */
	uint64_t verifier; /* as INIT's answer says it */
	struct journal *journal;
	struct state *state;
	unsigned n_unsettled;	  /* mounts */
	unsigned n_suspects;	  /* of these: they may still be about to say what they have open */
	bool holds_due;		  /* some may be let go of */
	uint32_t n_maybe;	  /* holds on suspicion, in this process */
	struct back_asked *asked; /* by record: what this process had the agent hold */
	uint32_t n_again;	  /* holds that the agent was told again */
	uint64_t last_kept;	  /* of the numbers that are in handles of FUSE_HANDLE_KEPT */
	uint32_t n_open;	  /* files that clients have open, directories not counted */
	uint64_t name_hash;	  /* as other workers know it */
	uint64_t sweep_ns;	  /* holds that others need still are looked at again then */
};

/* An object of an export, as long as somebody has it open or it was lately asked for. */
struct back_node {
	struct back_node *next;	    /* in its chain by handle */
	struct back_node *next_ino; /* of FUSE_HANDLE_KEPT: in its chain by number */
	struct back_node *newer, *older;
	struct back_list *list; /* that it is in; NULL: in none, it stays */
	struct back_export *export;
	uint64_t dev, ino;
	mode_t fmt;
	uint32_t tick;	 /* of fuse_back when it was last used */
	uint32_t refs;	 /* open files, and answers that are being made */
	uint32_t n_open; /* files of it that clients have open */
	int fd;		 /* O_PATH; -1: none at present */
	bool nameless;	 /* kept though it was removed */
	struct fuse_handle handle;
	struct state_hold *hold; /* the agent was asked to hold it */
};

struct back_list { /* least recently used first out */
	struct back_node *first, *last;
	uint32_t n;
};

struct back_entry { /* what a name shows */
	struct back_node *node;
	struct fuse_attr attr;
	bool is_bare; /* without extended attributes */
};

struct back_file { /* what a client has open */
	struct back_mount *mount;
	struct back_node *node;
	uint32_t index;
	uint32_t reuse; /* upper half of the file handle */
	int fd;		/* of a free record: the next free one */
	uint32_t busy;	/* requests that use fd */
	bool used, is_dir;
	bool released;	/* to be closed when no longer busy */
	bool joins;	/* O_NONBLOCK is set: reads that come together are done together */
	bool alone;	/* it could not be set: they are not */
	uint64_t known; /* bytes that it had when it was last read */
};
#define BACK_FILES_PER_CHUNK 128U

struct back_mount {
	struct back_mount *next;
	struct fuse_back *back;
	struct back_export *export;
	uint8_t id[16];
	uint64_t seen_s; /* CLOCK_BOOTTIME when the last session ended */
	unsigned n_clients;
	struct fuse_back_client *client; /* who began last; NULL: it has gone */
	unsigned n_refs;		 /* requests being served or being sent */
	bool gone;			 /* unmounted: freed when nothing refers to it */
	bool lane;			 /* of another mount: that one says what both have open */
	bool unsettled;			 /* was another's, and has not yet said what it has open */
	bool suspect;			 /* unsettled, for less than a time */
	uint64_t suspect_ns;		 /* until then */
	uint64_t served_by; /* number of the client that began last: none before it is served */
	uint32_t leaving;   /* number of the worker that gets it when nothing is at work; 0: none */
	uint64_t leaving_ns; /* since then */
	uint64_t stays_ns;   /* it is not moved before */

	struct back_file **file_chunks;
	uint32_t n_file_chunks;
	int free_file; /* list; -1: none */

	unsigned journal; /* number in the export's */
	uint64_t number;  /* of the mount, by its id: the same at every worker of the host */
	struct {
		uint64_t unique, fh;
	} opened[FUSE_PROTO_CALLS_MAX]; /* what came of the latest requests to open, for repetitions
					 */
};

struct fuse_back_client {
	struct fuse_back *back;
	struct back_mount *mount;
	struct fuse_back_client *prev, *next; /* in fuse_back.clients, until it is gone */
	struct fuse_back_client *next_dying;
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
	enum fuse_hello_lane lane;
	bool read_only;
	bool gone;
	bool failed;	   /* a request of its, and that is told */
	uint32_t features; /* FUSE_PROTO_FEATURE_* in force */
	struct {
		uint64_t read_bytes, write_bytes;
	} by_rdma[LAUNCH_PORTS_MAX];
};

#define BACK_LEASES_MAX 4 /* a request changes two objects, and the names of both */

/* One request being served. Lives in the headroom of its answer's buffer. */
struct back_req {
	struct back_req *prev, *next;	 /* in fuse_back.active */
	struct fuse_back_client *client; /* NULL once answered */
	struct back_mount *mount;
	struct rudp_call *call; /* NULL: nobody waits any more */
	struct fuse_in_header *in;
	size_t in_len;
	size_t out_max;		       /* bytes of data that fit behind the header */
	struct journal_record *record; /* of a request that must not run twice, else NULL */
	uint64_t ticket;	       /* to carry it out; 0: it was, or is */
	uint64_t unique;
	struct fuse_back_args args;
	bool again;	     /* it may have come before */
	bool entered;	     /* its users and groups are those here */
	uint32_t hand_flags; /* of all its calls */

	/* While a hand has it. */
	struct hand_call *hand;
	void (*then)(struct back_req *q, const struct hand_result *r, int fd);
	struct back_node *pins[2];
	uint8_t tries;
	bool errors_end; /* an error of the call is the answer */
	bool submitted;	 /* with its record: the hand closes that */
	bool no_victim;
	uint16_t name_at; /* in the arguments */
	void (*ops_again)(struct back_req *q);
	void *temp; /* buffer of the answers' pool */
	size_t temp_bytes;
	size_t list_bytes; /* OPENDIR: of all entries, there; 0: they are not */
	/* Next of those that begin anew, of replies that wait, or of reads that came together. */
	struct back_req *retry;
	struct back_lease *leases[BACK_LEASES_MAX]; /* that it changes */
	bool unplaced;				    /* it changes what has no place among them */
	uint64_t changes_before;		    /* our count when it began */
	uint64_t begun_ns;			    /* the time then; 0: there was nobody else */

	/* While its data are on their way by RDMA. */
	struct port_rdma_op bulk;
	uint8_t bulk_leg;
	bool bulk_old; /* another session has asked again: memory of the first means nothing */

	/* While io_uring has it. */
	void (*done)(struct back_req *q, int res);
	struct back_file *file, *file2; /* in use by it */
	uint8_t *data;
	uint64_t offset;
	uint32_t want, got;
	int op, op_flags;
	bool alone;    /* not by io_uring any more */
	uint32_t turn; /* fuse_back.ring_turn when it was handed over */
};
_Static_assert(sizeof(struct back_req) + sizeof(struct fuse_out_header) <= BUF_HEADROOM_BYTES,
	       "a request and its answer's header fit before the data");

/* A request for whose answer there is no buffer yet; in the headroom of its own buffer. */
struct back_wait {
	struct back_wait *next;
	struct fuse_back_client *client;
	struct rudp_call *call;
	size_t len;
};

/* A WRITE whose data are being fetched; in the headroom of the buffer that they go to. */
struct back_fetch {
	struct port_rdma_op op;
	struct back_fetch *prev, *next;
	struct fuse_back_client *client;
	struct rudp_call *call; /* NULL: nobody waits any more */
	struct fuse_proto_bulk bulk;
	size_t len; /* of the whole message */
	uint8_t leg, failed;
	bool waits; /* the legs that work have enough to do */
};
_Static_assert(sizeof(struct back_fetch) <= BUF_HEADROOM_BYTES, "before the data");

/* The one client that has RDMA tried. */
struct back_ping {
	struct fuse_back_client *client; /* NULL: none */
	struct rudp_call *call;		 /* NULL: nobody waits any more */
	uint64_t unique;
	struct fuse_proto_ping ask, answer;
	uint8_t *data; /* of the largest requests: registered */
	struct back_ping_op {
		struct port_rdma_op op;
		struct fuse_back *back;
		uint64_t begun_ns;
	} ops[FUSE_PROTO_PING_DEPTH_MAX];
	unsigned n_begun, n_under_way;
	bool failed, wished;
	uint64_t begun_ns, rest_ns; /* not before then is there another */
};

/* What an operator here wants to have tried, with one client and on its pair of that leg: it is
 * told so when it next asks after its pairs, and what it asks for then is added up. */
struct back_wish {
	struct launch_ping run;		 /* id 0: nobody asked */
	struct fuse_back_client *client; /* NULL: its session has ended */
	unsigned leg;
	bool over; /* run says what came of it; nobody has taken that yet */
	uint64_t until_ns;
	uint32_t each_ns[LAUNCH_PING_COUNT_MAX];
};

struct fuse_back {
	struct launch_stats *stats;
	const struct launch_config *cfg;
	const char *host; /* ours */
	fuse_back_hold_cb hold;
	void *hold_user;
	struct back_export exports[LAUNCH_EXPORTS_MAX];
	unsigned n_exports;
	struct back_mount *mounts; /* list */
	unsigned n_mounts;
	unsigned n_live;     /* clients, of LAUNCH_SESSIONS_MAX at most */
	unsigned n_owing;    /* others: lanes that end what they have begun */
	unsigned n_leaving;  /* mounts */
	uint64_t leaving_ns; /* when they were looked at last */
	uint64_t n_accepted; /* clients */
	bool ending;	     /* what is open stays open for the successor */
	uint64_t incarnation;
	struct buf_pool requests, answers;
	struct back_wait *wait_head, **wait_tail;
	unsigned n_wait;
	struct port_rdma *rdma; /* NULL: none, or its buffers are not registered */
	struct port_rdma_pool *rdma_pool;
	uint64_t rdma_spent_ns; /* until then all requests for pairs are paid for */
	struct back_fetch *fetches;
	unsigned n_fetches, n_fetches_idle; /* idle: they wait */
	/* WRITEs whose data cannot be fetched now: no buffer, or the pairs have enough to do. */
	struct back_wait *fetch_head, **fetch_tail;
	unsigned n_fetch_wait;
	/* READs whose data go by no other way than pairs that have enough to do. */
	struct back_req *reply_head, **reply_tail;
	struct back_req *active;
	unsigned n_active;
	struct fuse_back_client *clients; /* list */
	struct fuse_back_client *dying;	  /* without session and requests: to be freed */

	struct io_uring ring;
	bool ring_ok;
	unsigned n_ring;   /* handed to io_uring, not reaped */
	unsigned n_queued; /* of these, not submitted */
	uint32_t ring_turn;
	/* Small reads in memory that came in this turn: one is done at once, several together. */
	struct back_req *reads, **reads_tail;

	struct fuse_hands *hands;
	unsigned n_hands; /* calls that have not come back */
	bool hands_gone;
	int root_error; /* when the roots were looked at */
	struct share share;
	char elsewhere[IP_ADDR_STR_MAX + 8]; /* where the last client that was refused is served */
	uint64_t blind_ns;		     /* until then a predecessor's clients may believe */
	uint64_t blind_but;		     /* the only mount that may; 0: there are several */
	uint64_t boot;			     /* names this run of the host */
	struct back_req *retry_head, **retry_tail; /* wait for a call or a record */

	struct back_node **by_handle, **by_ino; /* chains */
	struct back_list open_nodes;		/* FUSE_HANDLE_FILE, with descriptor */
	struct back_list closed_nodes;		/* the same without, that nobody refers to */
	struct back_list kept_nodes;		/* FUSE_HANDLE_KEPT that nobody refers to */
	struct back_list nameless_nodes;	/* no files, removed while clients may use them */
	uint32_t n_open_max, n_kept_max;
	uint32_t tick; /* seconds of work */
	uint64_t hash_key[2];

	uint64_t trimmed_ns;
	uint32_t permitted[2]; /* capabilities of the thread, for good */
	struct fuse_ids ids;   /* of the thread at present */
	bool caps_fit;	       /* and its capabilities are those of that user */
	struct back_ping ping;
	struct back_wish wish;
};

/* fuse_back_req.c */
/* The answer stands at back_req_data, len bytes and the tail's: keeps it where needed, sends it,
 * ends the request. error: negative. */
void back_req_finish(struct back_req *q, int error, size_t len, size_t tail_len);
static inline uint8_t *back_req_data(struct back_req *q)
{
	return (uint8_t *)q + BUF_HEADROOM_BYTES;
}
static inline bool back_req_opens(const struct back_req *q)
{
	return q->in->opcode == FUSE_OPEN || q->in->opcode == FUSE_OPENDIR ||
	       q->in->opcode == FUSE_CREATE || q->in->opcode == FUSE_TMPFILE;
}
static inline const void *back_req_arg(const struct back_req *q)
{
	return q->in + 1;
}
/* The name, or first of two, that follows arg_bytes of arguments; the check has seen its end. */
static inline const char *back_req_name(const struct back_req *q, size_t arg_bytes)
{
	return (const char *)(q->in + 1) + arg_bytes;
}
/* A request that passed the check, its data with it. */
void back_req_take(struct fuse_back_client *c, struct rudp_call *call, void *buf, size_t len,
		   const struct fuse_back_args *args);
/* An answer without data to what never became a request. buf: its message. */
void back_req_refuse(struct fuse_back *b, struct rudp_call *call, const void *buf, size_t len,
		     int err);
void back_wait_run(struct fuse_back *b);
/* It begins anew when a call or a record may be free. */
void back_req_later(struct back_req *q);
void back_retry_run(struct fuse_back *b);
void back_wait_drop(struct fuse_back *b, const struct fuse_back_client *c,
		    const struct rudp_call *call);

/* fuse_back_hand.c */
/*
 * The call of a request, about its i-th object, as its user. NULL: the request was answered, or
 * begins anew when a call is free. What a request that must run once has changed before its
 * record goes along is nothing.
 */
struct hand_call *back_hand_new(struct back_req *q, enum hand_op op, unsigned i);
/* The call is about another object as well. false: as NULL above, and the call is gone. */
bool back_hand_second(struct back_req *q, struct hand_call *call, unsigned i);
/* Instead of what the request names: this descriptor; f: it is that open file's. */
void back_hand_file(struct back_req *q, struct hand_ref *ref, struct back_file *f);
/* Gives it away; once: with the request's record. then() is called with what comes back, unless
 * that is an error, which is the answer. fd: the receiver's, -1: none. */
void back_hand_go(struct back_req *q, struct hand_call *call, enum hands_lane lane, bool once,
		  void (*then)(struct back_req *q, const struct hand_result *r, int fd));
/* The same; then() hears of errors, too. */
void back_hand_try(struct back_req *q, struct hand_call *call, enum hands_lane lane, bool once,
		   void (*then)(struct back_req *q, const struct hand_result *r, int fd));
/* Has a hand close it, for that may take as long as the file is big. */
void back_hand_close(struct back_export *e, int fd);
int back_hands_init(struct fuse_back *b); /* asks for the roots' handles */
int back_hands_poll(struct fuse_back *b, bool may_sleep);
/* Has the agent hold what the export's state says is held. */
void back_hand_holds(struct back_export *e);

/* fuse_back_reply.c */
/* Success, with the len bytes that stand at back_req_data. */
void back_reply_data(struct back_req *q, size_t len);
/* err as errno has it: positive; 0: success without data. */
void back_reply_err(struct back_req *q, int err);
void back_reply_entry(struct back_req *q, const struct back_entry *e);
void back_reply_attr(struct back_req *q, const struct fuse_attr *attr, bool is_bare);
/* Success without data, of what changed names in the folder that q names. */
void back_reply_names(struct back_req *q);
/* An open file: of e, which was found or made by name, or (NULL) what q names; attr: as it was
 * opened, where that tells something. Flags are the client's. */
void back_reply_open(struct back_req *q, const struct back_entry *e, const struct fuse_attr *attr,
		     uint64_t fh);
/* attr: of the file after it, for who asks for that; NULL: not to be had. */
void back_reply_write(struct back_req *q, uint32_t size, const struct fuse_attr *attr);
/* To a READ whose memory was offered: len bytes at back_req_data, of which `there` are in that
 * memory already (all or none). */
void back_reply_bulk(struct back_req *q, uint32_t len, uint32_t there, uint8_t failed);
/* The same, where no leg took them and they must not go another way. */
void back_reply_again(struct back_req *q, uint8_t failed);
void back_reply_init(struct back_req *q);
/* The len bytes at back_req_data hold entries with these n handles, in order; each after its
 * length, handles_len bytes. flags: FUSE_PROTO_RESP_*, without data of their own. */
void back_reply_entries(struct back_req *q, size_t len, const uint8_t *handles, size_t handles_len,
			unsigned n, uint16_t flags);

/* fuse_back_rdma.c */
void back_rdma_done(struct fuse_back *b);
/* FUSE_PROTO_RDMA: makes queue pairs and answers. */
void back_rdma_ask(struct fuse_back_client *c, struct rudp_call *call, void *buf, size_t len);
/* Fetches the data of a WRITE that came without them; then it is taken. */
void back_rdma_fetch(struct fuse_back_client *c, struct rudp_call *call, void *buf, size_t len,
		     const struct fuse_back_args *args);
/* Those that had to wait. */
void back_rdma_run(struct fuse_back *b);
/* The len bytes at back_req_data are the answer to a READ: written to its client and answered. */
void back_rdma_reply(struct back_req *q, size_t len);
/* Legs that the request was offered over and that do not work; 0: it was offered over none. */
uint8_t back_rdma_failed(const struct back_req *q);
void back_rdma_call_gone(struct fuse_back *b, const struct rudp_call *call);
void back_rdma_client_gone(struct fuse_back_client *c);

/* fuse_back_ping.c */
/* FUSE_PROTO_RDMA_PING: begins to try, or refuses. */
void back_ping_ask(struct fuse_back_client *c, struct rudp_call *call, void *buf, size_t len);
/* What is timed is waited for awake, but not for as long as a device may take to fail. */
bool back_ping_spins(const struct fuse_back *b, uint64_t now_ns);
/* Nobody waits for its answer. */
void back_ping_call_gone(struct fuse_back *b, const struct rudp_call *call);
void back_ping_client_gone(struct fuse_back_client *c);
/* What the client is to be told of the leg's pair, of which it asks whether it is still there. */
void back_ping_wish(const struct fuse_back_client *c, unsigned leg, uint8_t ret[16]);

/* fuse_back_ring.c */
int back_ring_init(struct fuse_back *b);
void back_ring_done(struct fuse_back *b);
/* Has io_uring do q->op at the next fuse_back_poll; q->done is called with the result. Where
 * io_uring is not to be had, or not for that, done is called before this returns: for all but
 * reads, and, where the file system is in memory, for reads that are large, that io_uring has sent
 * back, or that it would have wait (back_export.alone). */
void back_ring_start(struct back_req *q);
/* Submits, reaps, calls done. Number that was done. */
int back_ring_poll(struct fuse_back *b);
/* Something waits for the next poll. */
bool back_ring_waits(const struct fuse_back *b);
/* Hands over what was started, which is then done as the user who the thread is now. */
void back_ring_flush(struct fuse_back *b);

/* fuse_back_rights.c */
/* For good: the thread gives up the right to exceed quotas. 0; negative errno. */
int back_creds_init(struct fuse_back *b);
/* What the thread writes from here on, this user writes. 0; negative errno: it would be written as
 * somebody else. */
int back_creds_set(struct fuse_back *b, uint32_t uid, uint32_t gid);
/* By the rights of its client: users and groups that the request names become those here, and
 * q->hand_flags say how it is to be carried out. 0; -EINVAL: it names nobody here. */
int back_rights_enter(struct back_req *q);
/* As the client is shown them. */
void back_rights_attr(const struct back_req *q, const struct fuse_attr *from,
		      struct fuse_attr *ret);

/* fuse_back_lease.c */
/* What others know a file by; 0: nothing is said of such. The signature is left out: exports may
 * show the same file. */
uint64_t back_lease_key(const struct fuse_back *b, const uint8_t *handle, size_t len);
/* The mounts of a predecessor are known. */
void back_leases_restored(struct fuse_back *b);
/* Whether the client may be told that nobody else changes, for a second from when it asked, what
 * the entry shows: of the file with this handle, in the folder that the request names. */
bool back_lease_grant(struct back_req *q, const uint8_t *handle, size_t len,
		      const struct fuse_attr *attr);
/* The same of the folder with this handle, which the request has made: for a second nobody else
 * makes a name there. */
bool back_lease_empty(struct back_req *q, const uint8_t *handle, size_t len);
/* And of the folder that the request has listed: nobody else makes, moves or removes a name. */
bool back_lease_names(struct back_req *q);
/* The request begins; what it makes untrue is lent to nobody else until back_lease_changed. false:
 * others believe it still, so it begins anew later. */
bool back_lease_change(struct back_req *q);
void back_lease_changed(struct back_req *q);

/* fuse_back_mount.c */
/* The mounts that the export's state tells of. */
int back_mounts_restore(struct back_export *e);
/* *ret is ours to serve. -EBUSY: what another worker, or we for it, was asked may be at work. */
int back_mount_get(struct fuse_back *b, struct back_export *e, const struct fuse_hello *h,
		   struct back_mount **ret);
void back_mount_free(struct back_mount *m, bool forget_state);
void back_mount_put(struct back_mount *m); /* frees it if it is gone and unused */
/* It has said what it has open. */
void back_mount_settle(struct back_mount *m);
/* Frees the mounts whose clients have been away for a day, or are another worker's now. */
void back_mounts_expire(struct fuse_back *b);
/* The mount's client speaks in this session from now on, and in none that came before. */
void back_mount_serve(struct back_mount *m, struct fuse_back_client *c);
/* How many have not said what they have open, for the other workers to see. */
void back_mounts_tell(struct fuse_back *b);
/* Until a successor says otherwise the others are to believe that what is open stays so. */
void back_mounts_end(struct fuse_back *b);
/* Whether mounts of the export are with a worker that does not speak for them: it has not been here
 * since we are, for the memory that all share may be new, or has no such export any more. */
bool back_mounts_awaited(const struct back_export *e);
/*
 * Who is to serve the mount of this client, which speaks from `from` (NULL: not known): 0: we;
 * -EREMOTE: another worker, b->elsewhere says where; -EBUSY: it is to ask again.
 */
int back_mount_place(struct back_export *e, const uint8_t id[16], const struct ip_addr *from);
/* A new open file. Owns fd on success. fh for the client in *ret. */
int back_file_new(struct back_mount *m, struct back_node *n, int fd, bool dir, uint64_t *ret);
/* The open file fh, which must be of the object that the request names as its i-th. -EBADF. */
int back_file_get(const struct back_req *q, unsigned i, uint64_t fh, bool dir,
		  struct back_file **ret);
void back_file_release(struct back_mount *m, uint64_t fh);
void back_file_put(struct back_file *f); /* one request less uses it */
/* Whether the client has the node (NULL: no) open. */
bool back_file_has_open(const struct back_mount *m, const struct back_node *n);
/* The request, if it opened something in this process, and that is still open: its file. */
struct back_file *back_file_opened(const struct back_req *q);

/* Where another worker has fewer mounts of an export, or a client of a mount that is ours, one of
 * ours is to go there. Once a second. */
void back_mounts_balance(struct fuse_back *b);
/* Those go that are to, once nothing is at work for them. */
void back_mounts_leave(struct fuse_back *b, uint64_t now_ns);

/* fuse_back_hold.c */
/* The node may be about to lose its last name, or has none: if it is open it is held. fd: O_PATH.
 */
void back_hold(struct back_node *n, int fd);
/* The same of what is about to lose its last name, which a client that has not come back since the
 * predecessor's end may have open, too. */
void back_hold_victim(struct back_export *e, const struct hand_result *r, int fd);
/* The agent is asked again to hold what has this handle, if it is held still. fd: O_PATH. */
void back_hold_anew(struct back_export *e, const uint8_t *handle, uint32_t len, int fd);
/* Whether somebody may have open what is not open here. */
bool back_hold_suspects(const struct back_export *e);
/* Nobody has the node open any more. */
void back_unhold(struct back_node *n);
/* Lets go of what nobody has open, once all that a predecessor served have said what they have. */
void back_holds_sweep(struct back_export *e, uint64_t now_ns);
/* Clients of other workers, or of another export, have anything open; have this file open. */
bool back_hold_any_elsewhere(const struct back_export *e);
bool back_hold_is_open_elsewhere(const struct back_export *e, const uint8_t *handle, size_t len);
/* The last name of what r tells of is gone: is anybody's at another worker who has it open? */
void back_hold_gone(struct back_export *e, const struct hand_result *r, int fd);

/* fuse_back_node.c */
int back_nodes_init(struct fuse_back *b);
void back_nodes_done(struct fuse_back *b);
/* Closes half of the cached descriptors: the process has run out of them. */
void back_nodes_shrink(struct fuse_back *b);
int back_export_init(struct fuse_back *b, unsigned i, const struct launch_export *cfg);
/* Of the export: its root is known. */
int back_root_known(struct back_export *e, const struct hand_result *r);
/* What the i-th handle of the request names, if it is in memory; else NULL. */
struct back_node *back_req_node(const struct back_req *q, unsigned i);
/* Its O_PATH descriptor if there is one, borrowed: stays open until the next node is asked for. -1:
 * a hand must open it. */
int back_node_fd(struct back_node *n);
int back_req_fd(const struct back_req *q, unsigned i); /* the same of what it names */
/* It stays in memory until it is put as often. */
void back_node_ref(struct back_node *n);
void back_node_put(struct back_node *n);
/* The node whose handle begins so; NULL: not in memory. len: without signature. */
struct back_node *back_node_find(const struct back_export *e, const uint8_t *handle, size_t len);
/* The node with this signed handle; NULL: not in memory. */
struct back_node *back_node_signed(const struct back_export *e, const uint8_t *handle, size_t len);
/* A name of what r tells of is gone; fd: its O_PATH descriptor, given away, or -1. If it was the
 * last nothing here keeps its space; what has none, which a client may use and no server knows, a
 * pipe that is open or a directory where a program stands, is there for a while. */
void back_node_removed(struct back_export *e, const struct hand_result *r, int fd);
/* Once a second: descriptors that nobody asked for lately are closed, for what they show may have
 * been removed behind our back. */
void back_nodes_idle(struct fuse_back *b);
/* The node of what a hand has found or made; fd: its O_PATH descriptor, given away, or -1, where it
 * may only be found by its handle. NULL: no memory; or it has no handle, and there is no fd. */
struct back_node *back_node_of(struct back_export *e, const struct hand_result *r, int fd);
/* What the name in the directory shows, without a hand. -EAGAIN: that needs one; what the name
 * says. */
int back_node_cached(struct back_node *dir, const char *name, struct back_entry *ret);
/* Whether the open file has no extended attributes, where that can be said without a disk. */
bool back_is_bare(const struct back_export *e, int fd);

/* Operations, in the table of fuse_back_req.c: each ends in one answer, now or later. */
void back_op_lookup(struct back_req *q);
void back_op_getattr(struct back_req *q);
void back_op_setattr(struct back_req *q);
void back_op_readlink(struct back_req *q);
void back_op_mknod(struct back_req *q);
void back_op_mkdir(struct back_req *q);
void back_op_symlink(struct back_req *q);
void back_op_link(struct back_req *q);
void back_op_remove(struct back_req *q); /* names that go, or move */
void back_op_statfs(struct back_req *q);
void back_op_open(struct back_req *q);
void back_op_create(struct back_req *q);
void back_op_release(struct back_req *q);
void back_op_read(struct back_req *q);
void back_op_write(struct back_req *q);
void back_op_fsync(struct back_req *q);
void back_op_fallocate(struct back_req *q);
void back_op_lseek(struct back_req *q);
void back_op_copy(struct back_req *q);
void back_op_opendir(struct back_req *q);
void back_op_readdir(struct back_req *q);
void back_op_readdirplus(struct back_req *q);
/* An OPENDIR whose answer is to have all entries, where they are few. */
bool back_dir_lists(const struct back_req *q);
void back_dir_list_ask(struct back_req *q, struct hand_call *call);
void back_dir_reply_open(struct back_req *q, const struct back_node *n, uint64_t fh);
void back_op_fsyncdir(struct back_req *q);
void back_op_getxattr(struct back_req *q);
void back_op_listxattr(struct back_req *q);
void back_op_removexattr(struct back_req *q);
void back_op_setxattr(struct back_req *q);
/* It ran, maybe at a predecessor: answers with the outcome. */
void back_op_again(struct back_req *q, const struct hand_result *r);
/* The same of what opened something. */
void back_open_again(struct back_req *q, const struct hand_result *r);
/* It opened something in this process, and that is open: answers so. */
void back_open_answer(struct back_req *q, struct back_file *f);
/* The path of a descriptor for calls that take no descriptor; it may be an O_PATH one, and is not
 * followed further where it shows a symbolic link. */
#define BACK_FD_PATH_MAX 32
const char *back_fd_path(int fd, char path[BACK_FD_PATH_MAX]);

#endif
