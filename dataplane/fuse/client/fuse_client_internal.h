/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of fuse_client share: its state, its slots and who does what to them.
 * Included by dataplane/fuse_client*.c and nobody else.
 */
#ifndef PLENUM_DATAPLANE_FUSE_FRONT_IMPL_H
#define PLENUM_DATAPLANE_FUSE_FRONT_IMPL_H

#include "dataplane/fuse/client/cache/client_cache.h"
#include "dataplane/fuse/client/client_files.h"
#include "dataplane/fuse/client/client_pool.h"
#include "dataplane/fuse/client/client_tail.h"
#include "dataplane/fuse/client/fuse_client.h"
#include "dataplane/fuse/client/workers/client_trial.h"
#include "dataplane/fuse/client/workers/mount_worker.h"
#include "dataplane/fuse/proto/fuse_hello.h"
#include "dataplane/port/rdma/port_rdma.h"

#define CLIENT_COOKIE_HELLO UINT64_MAX
#define CLIENT_COOKIE_BYE (UINT64_MAX - 1)
#define CLIENT_COOKIE_RDMA (UINT64_MAX - 2)
#define CLIENT_COOKIE_PING (UINT64_MAX - 3)
#define CLIENT_SLOTS FUSE_PROTO_CALLS_MAX
/* Of those, for requests that the frontend makes itself: they must get through where the kernel's
 * fill all others and wait for them. */
#define CLIENT_SLOTS_OWN 32
#define CLIENT_SMALL_BYTES 8192U /* a request or response up to this size lies in the slot */
/* Large buffers that READs leave free, so that WRITEs and small requests get through. */
#define CLIENT_READ_RESERVE 12
/* How long the server may take to end what a killed process waits for. */
#define CLIENT_KILLED_NS NSEC_PER_SEC
/* How often those who were signalled are looked at: a signal that kills may follow one that does
 * not, and FUSE tells of the first only. */
#define CLIENT_LOOK_NS (200 * NSEC_PER_MSEC)
/* Of who waits for direct I/O FUSE tells no signal: what takes so long is looked at as often. */
#define CLIENT_LONG_NS (2 * NSEC_PER_SEC)

enum client_slot_state {
	CLIENT_SLOT_FREE,
	CLIENT_SLOT_PENDING,
	CLIENT_SLOT_SENT,
	CLIENT_SLOT_DEALT, /* another worker of the mount has it */
};

enum client_slot_kind {
	CLIENT_SLOT_KERNEL,    /* the kernel's request: it has a reply to come */
	CLIENT_SLOT_REOPEN,    /* ours, as are the rest: of file */
	CLIENT_SLOT_RELEASE,   /* of file, and those that follow it */
	CLIENT_SLOT_INTERRUPT, /* of another slot */
	CLIENT_SLOT_TOUCH,     /* of what is owed to a node */
};

struct client_slot {
	struct client_slot *prev, *next;   /* free stack (next only) or pending queue */
	struct client_slot *older, *newer; /* the kernel's in the order they came; until answered */
	enum client_slot_state state;
	enum client_slot_kind kind;
	uint32_t opcode;
	uint32_t pid;
	uint64_t unique;   /* as the kernel gave it, its RESEND bit included: replies carry it */
	uint8_t *req;	   /* small[0..] or from the pool; has room for a tail */
	uint32_t req_len;  /* without the tail */
	uint32_t resp_max; /* the largest answer that is believed */
	uint8_t *resp;	   /* from the pool, when resp_max is above CLIENT_SMALL_BYTES and sent */
	uint8_t *small;	   /* CLIENT_SMALL_BYTES for the request, as many for the response */
	struct client_refs refs;
	struct client_node *nodes[CLIENT_REFS_MAX]; /* of refs, pinned */
	uint32_t file;				    /* REOPEN, RELEASE */
	uint32_t n_changes;			    /* the first node's when it was sent */
	uint32_t n_written;			    /* client_cache_written_count() of it then */
	uint64_t n_shown;			    /* client_prefetches' when it was taken */
	uint64_t born_ns;
	uint64_t killed_ns; /* when its process was seen to be dying; 0: was not */
	bool interrupted;   /* its process had a signal */
	/* Offered over these legs: bulk_len bytes, when client_rdma.serial was that. */
	uint8_t bulk_legs;
	bool bulk_not; /* its data go by packets: RDMA has failed it */
	bool again;    /* it is sent by another session than before */
	uint32_t bulk_len, bulk_serial;
	bool answered; /* the kernel has its reply already; the server's is still to come */
	bool heard;    /* and it took what we said */
	bool back;     /* the lane leaves it to the owner */
	uint32_t lane; /* of one that is dealt out, in either process: its mount_worker_slot and one
			  more */
	uint16_t serial; /* makes the cookie of a slot's next use another one */
};

enum client_link {
	CLIENT_AWAY,   /* no session, or it has ended */
	CLIENT_HELLO,  /* session is up, INIT sent */
	CLIENT_REOPEN, /* the server is being told which files are open */
	CLIENT_READY,
};

struct client_init_msg {
	struct fuse_in_header in;
	struct fuse_init_in init;
	struct fuse_proto_req_tail tail;
};

struct client_rdma_msg {
	struct fuse_in_header in;
	struct fuse_proto_rdma rdma;
};

#define CLIENT_LAYER_IB 1U
#define CLIENT_LAYER_ETHERNET 2U

struct client_rdma {
	struct port_rdma *ports; /* NULL: no leg is to use it */
	unsigned n_ports;
	uint32_t read_min, write_min;
	struct port_rdma_pool *pool; /* of the front's pool; NULL: none of it is registered */
	struct port_rdma_peer *peer; /* the pairs with the server, by our port */
	uint8_t asked, checked;	     /* for these, and after these, the server is being asked */
	bool waits;		     /* for its answer */
	bool encrypted;
	bool only;  /* data that are for it go by no other way */
	bool mixed; /* servers have it by InfiniBand and by Ethernet: nobody does */
	bool holds; /* some wait for that */
	uint64_t retry_ns, asked_ns;
	uint32_t n_changes;			   /* of devices, when the server was asked last */
	uint32_t serial, made[PORT_RDMA_LEGS_MAX]; /* which pairs are younger than a request */
	enum port_rdma_reason reasons[PORT_RDMA_LEGS_MAX];
	struct client_rdma_leg {
		bool lost; /* its pair failed since it was looked at last */
		uint64_t made_ns, wait_ns, due_ns;
		uint32_t n_changes; /* of devices, when it was put off */
		uint32_t qpn;	    /* the server's half of its pair */
		uint8_t link;	    /* ours, as it was asked with */
		uint8_t layers;	    /* CLIENT_LAYER_*, as the server has said; 0: of none */
		uint64_t read_bytes, write_bytes;
	} legs[PORT_RDMA_LEGS_MAX];
	struct client_rdma_msg msg;
	uint8_t resp[sizeof(struct fuse_out_header) + sizeof(struct fuse_proto_rdma)];
};

/* RDMA is tried, as an operator asked: in requests of so many transfers each. */
struct client_ping {
	struct launch_ping run;	 /* id 0: nobody asked */
	uint8_t *buf;		 /* from the pool */
	uint32_t buf_bytes;	 /* so many of it may have been written */
	bool waits;		 /* the server has it, and may write there */
	bool is_stale;		 /* what it has was asked for an earlier run */
	bool over;		 /* run says what came of it; nobody has taken that yet */
	bool is_servers;	 /* the server asked for it, and has what comes of it */
	struct launch_ping wish; /* of the server's, to be begun; id 0: none */
	uint32_t serial;	 /* client_rdma.serial when it was sent, */
	uint64_t sent_ns;	 /* and the time */
	uint64_t until_ns, due_ns;
	uint64_t rest_ns; /* until then no wish of the server's is begun */
	struct fuse_proto_ping asked;
	struct client_ping_msg {
		struct fuse_in_header in;
		uint8_t head[offsetof(struct fuse_proto_ping, each_ns)];
	} msg;
	uint8_t resp[sizeof(struct fuse_out_header) + sizeof(struct fuse_proto_ping)];
	uint32_t each_ns[LAUNCH_PING_COUNT_MAX];
};

/* To which of the server's workers the mount was sent. */
struct client_guide {
	struct datagram_addr to;
	uint64_t since_ns; /* the session that is begun is with that one alone */
	bool go;	   /* as soon as the session can be ended */
	bool alone;
	unsigned n; /* how often since it was served last */
};

#define CLIENT_DEFERRED_CTIME_MAX 16

/* A change that left a file as it was is acknowledged: the server is to give it the time. */
struct client_deferred_ctime {
	struct client_node *node; /* pinned; CLIENT_NODE_OWED */
	uint64_t due_ns;
	bool sent;
};

#define CLIENT_DEAL_NODEIDS 4096U

/* The owner's end of the lanes of its mount. */
struct client_dispatched {
	struct mount_worker_area *area;
	struct mount_worker_reads *reads;
	struct mount_worker_more *more;
	uint64_t free;			  /* of the first MOUNT_WORKER_SLOTS slots, a bit each */
	uint64_t fhs[MOUNT_WORKER_FILES]; /* of its open files; 0: none */
	uint64_t nodeids[MOUNT_WORKER_FILES]; /* of those */
	/* NULL: none of ours, or of a predecessor's, or read by the lane itself. */
	struct client_slot *slots[MOUNT_WORKER_SLOTS_ALL];
	unsigned n_out;
	bool touched;	  /* its buffers have memory */
	uint64_t away_ns; /* since when nobody has had it; 0: somebody has, or it left nothing */
};

#define CLIENT_SIGNALS 32U

/* The process of a request had a signal, and a lane is about to have that, or to pass it to us. */
struct client_signal {
	uint64_t unique;
	uint64_t until_ns; /* then it is left to those who look whose process is dying */
	uint32_t at[LAUNCH_LANES_MAX]; /* in which of each lane's own slots it may be: a bit each */
};

struct client_dispatch {
	int bell_fd;
	bool settling; /* what a predecessor had dealt out may still be handed out anew */
	bool always;   /* lanes read whenever they can: not what was tried decides */
	struct client_trial trial;
	unsigned passed_by; /* of what is in hand: the lane, and one more; 0: we have read it */
	struct client_signal signals[CLIENT_SIGNALS];
	unsigned n_signals;
	uint64_t signals_ns; /* when they are looked at next */
	uint64_t look_ns;    /* when all that lanes have passed is */
	struct client_dispatched lanes[LAUNCH_LANES_MAX];
	/* Of so many places the nodes have a number with this remainder. */
	uint16_t n_nodeids[CLIENT_DEAL_NODEIDS];
	bool strays; /* files have places where they are not looked for: earlier versions' */
};

#define CLIENT_PREFETCHES 8U
#define CLIENT_KEPT 1024U
#define CLIENT_SHOWN 4096U
#define CLIENT_GONE 1024U
#define CLIENT_LARGE 64U
#define CLIENT_ALONE 64U

/* All entries of an open folder, as they came with the answer to its OPENDIR. */
struct client_prefetch {
	bool used;
	uint64_t fh; /* as the kernel has it */
	uint64_t opened_ns;
	uint64_t sent_ns, n_shown;
	uint32_t n_changes;	/* the node's then */
	uint64_t off;		/* where it is read on, as its reader will say */
	struct client_answer a; /* the entries that are left of it, and their handles */
	uint8_t *bytes;
	bool is_copy; /* of one that is kept */
};

/* The same for whoever opens the folder next: nobody else changes its names meanwhile. */
struct client_dir_cache {
	uint64_t nodeid; /* 0: none */
	uint64_t sent_ns, n_shown;
	uint32_t n_changes;
	uint32_t body_len, handles_len, n_handles;
	uint32_t n_names; /* but "." and ".." */
	uint64_t at;	  /* client_prefetches.kept_at when it came */
};

/* A folder that is open here by those, and not at the server. */
struct client_local_dir {
	uint64_t fh;
	uint64_t due_ns;  /* when the server is to be told */
	uint32_t n_names; /* that are left there at least */
};

struct client_prefetches {
	uint8_t *memory;
	size_t n_touched;
	struct client_prefetch lists[CLIENT_PREFETCHES];
	struct client_dir_cache kept[CLIENT_KEPT];
	uint8_t *kept_bytes; /* of those: the oldest go for the next */
	uint64_t kept_at;    /* how many there ever were */
	/* How often the kernel has learnt something of a node, or changed something; by record,
	 * which of these was the node's last; which was of nodes that nobody can name. */
	uint64_t n_shown;
	uint64_t *shown;
	uint64_t n_shown_all;
	uint64_t gone[CLIENT_GONE]; /* the same of those that the kernel has forgotten, by hash */
	unsigned n_wasted, n_skip;  /* of those that nobody read, in a row; so many are not asked */
	struct {
		uint64_t nodeid, until_ns;
	} large[CLIENT_LARGE]; /* folders that came without a list; asked for none until then */
	struct client_local_dir alone[CLIENT_ALONE];
	unsigned n_alone;
};

struct client_bye_msg {
	struct fuse_in_header in;
	struct fuse_proto_req_tail tail;
};

struct fuse_client {
	int fd;
	int proc_fd;
	const struct launch_mount *mount;
	const char *host;
	struct rudp *rudp;
	struct rudp_session *session;
	struct launch_stats *stats;
	uint64_t (*clock_ns)(void); /* clock_now_ns; tests have their own */
	uint64_t soft_ns;	    /* 0: hard */
	struct client_state state;
	struct client_nodes nodes;
	struct client_files files;
	struct client_cache known;
	struct client_prefetches lists;
	enum client_link link;
	bool unlabelled;
	bool gone; /* unmounted */
	bool bye_sent, bye_done;
	bool flush_wanted;     /* pending slots may be sendable */
	uint64_t bye_until_ns; /* it is not said to a server that is away for longer */
	uint64_t away_since_ns, retry_ns, busy_ns, look_ns, long_ns;
	struct client_deferred_ctime owed[CLIENT_DEFERRED_CTIME_MAX];
	unsigned n_owed;
	uint64_t closing_ns; /* since when the first of the closed files waits */
	uint64_t timeouts, bad_requests, bad_responses;
	struct fuse_proto_server server; /* whom the session is with */
	uint32_t features;		 /* FUSE_PROTO_FEATURE_* in force with it */
	uint32_t reopen_next;		 /* files below have been asked for */
	unsigned n_reopening;
	bool reopen_again; /* one could not be opened for now */
	struct client_init_msg hello;
	struct client_bye_msg bye;
	uint8_t hello_resp[FUSE_PROTO_RESP_SMALL];
	uint8_t *read_buf; /* where the next request is read */
	uint32_t largest;  /* of the requests so far */
	unsigned n_used, n_pending, n_sent, n_interrupted;
	unsigned n_unanswered;	   /* of the kernel's */
	uint64_t n_read, n_behind; /* of those, ever; that came with others, behind them */
	bool resend_due;	   /* what a predecessor left unanswered is to be handed out anew */
	/* The most of those lately, in this window and the one before. */
	unsigned unanswered_most, unanswered_window, n_window;
	struct client_slot *free, *free_own;
	struct client_slot pending; /* list head */
	struct client_slot oldest;  /* list head of older and newer */
	struct client_pool pool;
	uint8_t *small_area;
	struct client_rdma rdma;
	struct client_guide guide;
	struct client_dispatch *deal;	    /* NULL: it has no lanes */
	struct mount_worker_common *common; /* NULL: it has none, and is none */
	struct mount_worker_area *lane;	    /* NULL: it is no lane */
	struct mount_worker_reads *reads;   /* a lane's */
	struct mount_worker_more *more;
	uint32_t reads_free;	       /* a lane's slots for them: those that are known to be */
	uint64_t read_ns;	       /* when it has read last */
	bool is_reading;	       /* what comes may wake it alone */
	unsigned mount_worker_number;  /* 0: the mount is ours */
	struct launch_mount own_mount; /* with the id that is ours */
	struct client_head *owner;     /* a lane's: of its owner's state */
	bool resting;		       /* a lane that takes no more */
	uint64_t unserved_ns;	       /* a lane's: since when its owner has no server; 0: it has */
	bool owing;		       /* a lane's session is for what it has begun alone */
	uint64_t useful_ns;	       /* a lane's: not before then does it ask for another */
	struct client_slot slots[CLIENT_SLOTS];
	struct client_ping ping;
};

/* fuse_client.c */

/* One write is one answer. False: the kernel did not want it (any more). */
bool client_reply(struct fuse_client *f, const void *msg, size_t len);
/* A reply without data. */
bool client_reply_error(struct fuse_client *f, uint64_t unique, int error);
/* One has come from the kernel. */
void client_read_note(struct fuse_client *f, const struct fuse_in_header *h);
/* What becomes of it: of n bytes in f->read_buf. */
void client_take(struct fuse_client *f, size_t n, uint64_t now_ns);
/* So many requests are likely to be there; all of them wait where nobody else would ask. */
int client_read_burst_hint(const struct fuse_client *f);
/* One has been read: how many programs ask at a time shows in how many have waited at a time. */
void client_queue_depth_update(struct fuse_client *f);
/* What it is by now. Requests that are read together share a moment that was before the last of
 * them: who says that nothing has changed since it was told so must look at the clock anew. */
uint64_t client_clock_refresh(const struct fuse_client *f, uint64_t now_ns);
/* Sends what waits. */
void client_flush(struct fuse_client *f, uint64_t now_ns);
/* The session ends, if there is one, and what waits goes on waiting. */
void client_session_drop(struct fuse_client *f, uint64_t now_ns);
/* Unmounted: the server is told. */
void client_goodbye(struct fuse_client *f);
/* A slot and a buffer to move a large request into must be there before a request is read. */
bool client_has_room(const struct fuse_client *f);
/* A request of that opcode has gone to the server. */
void client_asked(struct fuse_client *f, uint32_t opcode);
/* Answers the kernel, if it still waits, and lets the slot go. */
void client_slot_fail(struct fuse_client *f, struct client_slot *s, int error);

/* fuse_client_init.c: the kernel's INIT, and the one that a session starts with. */

/* Answers an INIT request of len bytes: parameters into the state, the answer to the kernel. */
void client_init_answer(struct fuse_client *f, const void *req, size_t len);
void client_init_compose(const struct fuse_client *f, struct client_init_msg *ret);
/* Has the kernel hand out again what a dead predecessor left unanswered. */
int client_init_resend(struct fuse_client *f);
/* What the server says of itself: root, marks of what is lost. 0; -EPROTO. */
int client_init_served(struct fuse_client *f, void *msg, size_t len);

/* fuse_client_request.c: what becomes of a request on its way to the server. */

/* Reads the slot's request and pins what it names. 0; else what the kernel is told. */
int client_request_bind(struct fuse_client *f, struct client_slot *s);
/* Writes the server's file handles and the tail. 0 and the message; else what the kernel is told.
 */
int client_request_seal(struct fuse_client *f, struct client_slot *s, const void **ret_msg,
			size_t *ret_len);
/* Answers what is known here. False: the server is to be asked. */
bool client_request_known(struct fuse_client *f, const void *req, size_t len, uint64_t now_ns);
/* Requests that end here. */
void client_request_forget(struct fuse_client *f, const void *req, size_t len);
void client_request_release(struct fuse_client *f, const void *req, size_t len, uint64_t now_ns);

/* fuse_client_answer.c: what becomes of an answer on its way to the kernel. */

void client_answer_take(struct fuse_client *f, struct client_slot *s, void *msg, size_t len,
			uint64_t now_ns);

/* fuse_client_own.c: requests that the frontend makes itself. */

/* Sends INIT, reopens what is open, makes the link ready; tells of closed files. */
void client_internal_flush(struct fuse_client *f, uint64_t now_ns);
void client_internal_hello_answer(struct fuse_client *f, int status, void *msg, size_t len,
				  uint64_t now_ns);
/* The answer to one of them; msg NULL: the session ended under it. */
void client_internal_answer(struct fuse_client *f, struct client_slot *s, void *msg, size_t len,
			    uint64_t now_ns);
/* A request of that kind about the node, from root. False: not now. */
bool client_internal_ask(struct fuse_client *f, enum client_slot_kind kind, uint32_t opcode,
			 struct client_node *node, const void *arg, size_t arg_len);
/* When it wants to be called again for files that are closed, or open here alone. */
uint64_t client_internal_due(const struct fuse_client *f, uint64_t now_ns);
/* The server hears of all that are, before it is asked for what depends on it. */
void client_internal_release(struct fuse_client *f);
void client_internal_interrupt(struct fuse_client *f, const struct client_slot *of);
/* Opens one file at the server. False: not now. */
bool client_internal_reopen(struct fuse_client *f, uint32_t file);
bool client_internal_is_reopening(const struct fuse_client *f, uint32_t file);
/* Whether the request waits until the server has opened a folder that was opened without it: the
 * one that it is about, or that could have no name when it is done. */
bool client_internal_holds(struct fuse_client *f, const struct client_slot *s);
/* What the kernel is told of a request that cannot be sent for that reason. */
int client_internal_error(const struct fuse_client *f, const struct client_slot *s, int error);

/* fuse_client_deal.c: the owner's end of lanes. All do nothing where there are none. */

int client_dispatch_init(struct fuse_client *f);
void client_dispatch_done(struct fuse_client *f);
/* Whether a lane has taken the request, which waits nowhere else then. */
bool client_dispatch_give(struct fuse_client *f, struct client_slot *s, uint64_t now_ns);
/* The kernel hands it out again: whether a lane has it in hand. */
bool client_dispatch_claim(struct fuse_client *f, struct client_slot *s);
/* All that the kernel handed out again has been read. */
void client_dispatch_settled(struct fuse_client *f);
/* Ends of what was dealt out; what lanes do not begin is taken back. */
void client_dispatch_reap(struct fuse_client *f);
/* Whether a lane has something that nobody has heard the end of, which may be of the node. */
bool client_dispatch_has(const struct fuse_client *f, const struct client_node *node);
void client_dispatch_tick(struct fuse_client *f, uint64_t now_ns);
/* There is no room for more: an end is waited for. */
void client_dispatch_full(struct fuse_client *f);
/* The kernel is told by us that it is over. */
void client_dispatch_cancel(struct fuse_client *f, const struct client_slot *s);
void client_dispatch_close(struct fuse_client *f, uint64_t fh);
/* Lanes hear whether it has its server. */
void client_dispatch_served(struct fuse_client *f);
void client_dispatch_gone(struct fuse_client *f);
/* Data go by RDMA, which lanes have not. */
bool client_dispatch_by_rdma(const struct fuse_client *f);
/* What a lane says of a slot (of all MOUNT_WORKER_SLOTS_ALL). False: it is to be looked at again.
 */
bool client_dispatch_slot_look(struct fuse_client *f, struct client_dispatched *l, unsigned i);
/* Somebody has it, and it is served. */
bool client_dispatch_is_alive(const struct client_dispatched *l, uint64_t now_ns);
/* The lane is to look at the slot. */
void client_dispatch_post(struct fuse_client *f, struct client_dispatched *l, unsigned i);

/* fuse_client_pass.c: the owner's end of what lanes read themselves. All but the first two do
 * nothing where there are no lanes. */

int client_forward_init(struct fuse_client *f);
void client_forward_done(struct fuse_client *f);
/* Whether no lane can be reading: what a predecessor had begun is then to be handed out anew. */
bool client_forward_quiesce(struct fuse_client *f);
/* What lanes had passed to a predecessor: what is not handed out anew ends here. */
void client_forward_forgets(struct fuse_client *f);
/* Takes what they pass; how many requests. */
int client_forward_look(struct fuse_client *f, uint64_t now_ns);
/* What they have begun to do to files, and done: before anything of a file is believed. */
void client_forward_notes(struct fuse_client *f);
bool client_forward_has(const struct client_dispatched *l, uint64_t nodeid);
/* The owner sleeps next, or does not. */
void client_forward_sleeps(struct fuse_client *f, bool sleeps);
/* The process of a request that a lane may have had a signal. */
void client_forward_interrupt(struct fuse_client *f, uint64_t unique, uint64_t now_ns);
/* Looks for those of which no lane could be told yet. When it wants to be called again. */
uint64_t client_forward_signals(struct fuse_client *f, uint64_t now_ns);
/* Whether they are to read. */
void client_forward_judge(struct fuse_client *f, uint64_t now_ns);

/* fuse_client_lane.c: the other end. */

/* What there is of a predecessor is taken over. 0; -EBUSY: another process has the lane. */
int client_mount_worker_init(struct fuse_client *f);
/* When the tables are there. */
void client_mount_worker_start(struct fuse_client *f, uint64_t now_ns);
void client_mount_worker_done(struct fuse_client *f);
int client_mount_worker_pull(struct fuse_client *f, bool all, uint64_t now_ns);
void client_mount_worker_tick(struct fuse_client *f, uint64_t now_ns);
/* A session may be asked for: a lane's owner comes first, but for what has begun. */
bool client_mount_worker_may_connect(const struct fuse_client *f, uint64_t now_ns);
/* On whose behalf a session is asked for, which is noted. */
enum fuse_hello_lane client_mount_worker_hello(struct fuse_client *f);
/* 0: it is to be sent; -ENOMEM: not yet; -ESTALE: its file cannot be had; -ECANCELED. */
int client_mount_worker_ask(struct fuse_client *f, struct client_slot *s);
/* Whether the owner can have it instead; then it is to be freed. */
bool client_mount_worker_back(struct client_slot *s);
/* Which number the kernel wants to see, if it was handed out again meanwhile. */
void client_mount_worker_renumber(struct fuse_client *f, struct client_slot *s);
/* Before the kernel hears it: a successor says the same. */
void client_mount_worker_said(struct fuse_client *f, const struct client_slot *s, const void *msg,
			      size_t len);
void client_mount_worker_said_error(struct fuse_client *f, const struct client_slot *s, int error);
/* It is over here. */
void client_mount_worker_end(struct fuse_client *f, const struct client_slot *s);
/* Of those that lie in slot i (of all MOUNT_WORKER_SLOTS_ALL): it is begun with, which it may have
 * been before; what a predecessor had begun goes on; what the owner has handed is looked at (false:
 * no slot of ours is left); what the kernel wants answered anew is handed to us again. */
void client_mount_worker_take(struct fuse_client *f, unsigned i, bool again, uint64_t now_ns);
void client_mount_worker_resume(struct fuse_client *f, unsigned i, uint64_t now_ns);
bool client_mount_worker_look(struct fuse_client *f, unsigned i, uint64_t now_ns);
bool client_mount_worker_again(struct fuse_client *f, unsigned i, uint32_t word);
/* What it does not take its owner takes back. */
bool client_mount_worker_takes_new(const struct fuse_client *f);

/* fuse_client_reads.c: what a lane reads from the kernel itself. */

int client_reads_init(struct fuse_client *f);
void client_reads_done(struct fuse_client *f);
/* What a predecessor has left. */
void client_reads_start(struct fuse_client *f, uint64_t now_ns);
/* The number of requests that were read. */
int client_reads_pull(struct fuse_client *f, bool all, uint64_t now_ns);
/* The request in slot i (of MOUNT_WORKER_READS) is about to be begun with. */
void client_reads_begin(struct fuse_client *f, unsigned i);
void client_reads_end(struct fuse_client *f, unsigned i, enum mount_worker_state state);
bool client_reads_is_spent(const struct fuse_client *f);
void client_reads_tick(struct fuse_client *f, uint64_t now_ns);
/* Its owner has told the kernel that it is over. */
bool client_mount_worker_is_over(const struct fuse_client *f, const struct client_slot *s);

/* Makes the kernel's entry of the list's next one; nodeid 0 where it is told no more than the name.
 */
void client_answer_listed(struct fuse_client *f, struct client_prefetch *l, bool special,
			  struct fuse_entry_out *entry);
/* The kernel did not want these entries. */
void client_answer_unlist(struct fuse_client *f, const struct client_answer *a);

/* fuse_client_list.c: entries that come with the opening of a folder. */

int client_prefetches_init(struct fuse_client *f);
void client_prefetches_done(struct fuse_client *f);
/* Its pages go back. */
void client_prefetches_trim(struct fuse_client *f);
/* How many bytes of entries the OPENDIR of the folder is to ask for. */
uint32_t client_prefetch_wish(struct fuse_client *f, uint64_t nodeid, uint64_t now_ns);
/* Has the request ask for so many. */
void client_prefetch_ask(struct client_slot *s, uint32_t bytes);
/* Takes what came with the answer for the kernel's file handle, and off it. 0; -EIO: it makes no
 * sense. */
int client_prefetch_take(struct fuse_client *f, const struct client_slot *s,
			 struct client_answer *a, uint64_t fh);
/* None came: the folder is too large, if one was asked for. */
void client_prefetch_none(struct fuse_client *f, const struct client_slot *s);
/* Answers a READDIR or READDIRPLUS by what is there. False: the server is to be asked. */
bool client_prefetch_answer(struct fuse_client *f, const struct fuse_in_header *in,
			    const struct client_node *node, const struct fuse_read_in *read,
			    uint64_t now_ns);
void client_prefetch_close(struct fuse_client *f, uint64_t fh);
/* Opens a folder whose entries are known to be what they were. False: the server is to be asked. */
bool client_prefetch_open(struct fuse_client *f, const void *req, size_t len, uint64_t now_ns);
/* The server is told of those that were opened so, before others may remove them. */
void client_prefetch_flush(struct fuse_client *f, uint64_t now_ns);
uint64_t client_prefetch_due(const struct fuse_client *f, uint64_t now_ns);
bool client_prefetch_holds(struct fuse_client *f, const struct client_slot *s);
void client_prefetches_drop(struct fuse_client *f);
/* The kernel is about to hear something of the node; of what nobody can say. */
void client_prefetch_shown(struct fuse_client *f, uint64_t nodeid);
void client_prefetch_shown_all(struct fuse_client *f);
/* The folder may have other names than are known. */
void client_prefetch_forget(struct fuse_client *f, uint64_t nodeid);
/* The kernel forgets the node. */
void client_prefetch_forgotten(struct fuse_client *f, const struct client_node *node);
/* Whether it has heard of it since the count was that. */
bool client_prefetch_is_shown(const struct fuse_client *f, const struct client_node *node,
			      uint64_t n_shown);

/* fuse_client_owed.c: changes that change nothing. */

/* Of a predecessor. */
void client_deferred_ctime_restore(struct fuse_client *f);
/* Answers a SETATTR after which the file is as it was, where that is known. False: the server is to
 * be asked. */
bool client_deferred_ctime_answer(struct fuse_client *f, const void *req, size_t len,
				  uint64_t now_ns);
/* Whether the request waits until the server has given what is owed. */
bool client_deferred_ctime_holds(struct fuse_client *f, const struct client_slot *s);
/* The server has carried it out, and nothing that was asked for before is on its way. */
void client_deferred_ctime_paid(struct fuse_client *f, const struct client_slot *s);
/* The answer to a TOUCH; msg NULL: the session ended under it. */
void client_deferred_ctime_told(struct fuse_client *f, const struct client_slot *s, void *msg,
				size_t len);
/* Has the server asked for what is due by then. */
void client_deferred_ctime_flush(struct fuse_client *f, uint64_t until_ns);
/* When it wants to be called again. */
uint64_t client_deferred_ctime_due(const struct fuse_client *f);

/* fuse_client_patience.c: who waits no longer. */

void client_interrupt_interrupt(struct fuse_client *f, const void *req, size_t len,
				uint64_t now_ns);
/* Its process had a signal. */
void client_interrupt_signalled(struct fuse_client *f, struct client_slot *s, uint64_t now_ns);
/* Returns when it wants to be called again. */
uint64_t client_interrupt_tick(struct fuse_client *f, uint64_t now_ns);

/* fuse_client_rdma.c: bulk data by RDMA. */

void client_rdma_done(struct fuse_client *f);
/* The session has ended: what it was offered is the front's alone when this returns. */
void client_rdma_down(struct fuse_client *f);
void client_rdma_flush(struct fuse_client *f, uint64_t now_ns);
uint64_t client_rdma_due(const struct fuse_client *f);
void client_rdma_answer(struct fuse_client *f, int status, const void *msg, size_t len);
/* The server says that the pair of a leg, as it was when client_rdma.serial was that, has failed.
 */
void client_rdma_lost(struct fuse_client *f, unsigned leg, uint32_t serial);
/* The server's answer about a pair for the port is waited for. */
bool client_rdma_is_asking(const struct fuse_client *f, unsigned port);
/* Whether the request, which has the buffer of its answer, is to go with its data offered so. */
bool client_rdma_offer(struct fuse_client *f, struct client_slot *s, struct fuse_proto_bulk *ret);
/* Whether the request waits until there is RDMA. */
bool client_rdma_holds(struct fuse_client *f, const struct client_slot *s);
/* The server could not get the data of a WRITE, or must not send those of a READ: it is sent again,
 * by packets where they may take them. */
bool client_rdma_again(struct fuse_client *f, struct client_slot *s, const struct client_answer *a);
/* What the answer says of offered memory: pairs that failed are dropped, and data that are there
 * become the answer's. 0; -EIO: it makes no sense. */
int client_rdma_take(struct fuse_client *f, struct client_slot *s, struct client_answer *a,
		     void **msg);

/* fuse_client_ping.c: tries of RDMA that an operator asks for. */

/* Returns when it wants to be called again. */
uint64_t client_ping_flush(struct fuse_client *f, uint64_t now_ns);
/* What a server that was asked after the pair of that port says besides: struct fuse_proto_wish. */
void client_ping_wished(struct fuse_client *f, unsigned port, const uint8_t said[16]);
void client_ping_answer(struct fuse_client *f, const void *msg, size_t len, uint64_t now_ns);
/* The session has ended, and with it all pairs. */
void client_ping_down(struct fuse_client *f, uint64_t now_ns);

/* fuse_client_slot.c */

int client_slots_init(struct fuse_client *f);
/* The first request finds as much memory as the predecessor's largest took. */
void client_slots_warm(struct fuse_client *f);
void client_slots_done(struct fuse_client *f);
/* Takes the request of len bytes in f->read_buf into a slot: copied when small, else the buffer
 * changes hands. NULL: no slot or no buffer. */
struct client_slot *client_slot_take(struct fuse_client *f, uint32_t len, uint64_t now_ns);
/* One for a request whose bytes stay where they are; there must be a free one. */
struct client_slot *client_slot_lend(struct fuse_client *f, uint8_t *req, uint32_t len,
				     uint64_t now_ns);
/* A slot for a request of our own, with a header of that opcode and a number of its own in place
 * and room for an argument of arg_len bytes. NULL: none. */
struct client_slot *client_slot_own(struct fuse_client *f, enum client_slot_kind kind,
				    uint32_t opcode, const void *arg, size_t arg_len);
void client_slot_free(struct fuse_client *f, struct client_slot *s);
void client_slot_queue(struct fuse_client *f, struct client_slot *s);
void client_slot_unqueue(struct fuse_client *f, struct client_slot *s);
/* The kernel has its reply, or nobody waits for one. */
void client_slot_answered(struct fuse_client *f, struct client_slot *s);
struct client_slot *client_slot_find(struct fuse_client *f, uint64_t unique);
/* The cookie of the slot's present call, and back; NULL: not a call in flight. */
uint64_t client_slot_cookie(const struct fuse_client *f, const struct client_slot *s);
struct client_slot *client_slot_from_cookie(struct fuse_client *f, uint64_t cookie);

#endif
