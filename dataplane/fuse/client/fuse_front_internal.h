/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of fuse_front share: its state, its slots and who does what to them.
 * Included by dataplane/fuse_front*.c and nobody else.
 */
#ifndef PLENUM_DATAPLANE_FUSE_FRONT_IMPL_H
#define PLENUM_DATAPLANE_FUSE_FRONT_IMPL_H

#include "dataplane/fuse/client/cache/fuse_front_known.h"
#include "dataplane/fuse/client/fuse_front.h"
#include "dataplane/fuse/client/fuse_front_files.h"
#include "dataplane/fuse/client/fuse_front_pool.h"
#include "dataplane/fuse/client/fuse_front_tail.h"
#include "dataplane/fuse/client/workers/fuse_front_trial.h"
#include "dataplane/fuse/client/workers/fuse_lane.h"
#include "dataplane/fuse/proto/fuse_hello.h"
#include "dataplane/port/rdma/port_rdma.h"

#define FRONT_COOKIE_HELLO UINT64_MAX
#define FRONT_COOKIE_BYE (UINT64_MAX - 1)
#define FRONT_COOKIE_RDMA (UINT64_MAX - 2)
#define FRONT_COOKIE_PING (UINT64_MAX - 3)
#define FRONT_SLOTS FUSE_PROTO_CALLS_MAX
/* Of those, for requests that the frontend makes itself: they must get through where the kernel's
 * fill all others and wait for them. */
#define FRONT_SLOTS_OWN 32
#define FRONT_SMALL_BYTES 8192U /* a request or response up to this size lies in the slot */
/* Large buffers that READs leave free, so that WRITEs and small requests get through. */
#define FRONT_READ_RESERVE 12
/* How long the server may take to end what a killed process waits for. */
#define FRONT_KILLED_NS NSEC_PER_SEC
/* How often those who were signalled are looked at: a signal that kills may follow one that does
 * not, and FUSE tells of the first only. */
#define FRONT_LOOK_NS (200 * NSEC_PER_MSEC)
/* Of who waits for direct I/O FUSE tells no signal: what takes so long is looked at as often. */
#define FRONT_LONG_NS (2 * NSEC_PER_SEC)

enum front_slot_state {
	FRONT_SLOT_FREE,
	FRONT_SLOT_PENDING,
	FRONT_SLOT_SENT,
	FRONT_SLOT_DEALT, /* another worker of the mount has it */
};

enum front_slot_kind {
	FRONT_SLOT_KERNEL,    /* the kernel's request: it has a reply to come */
	FRONT_SLOT_REOPEN,    /* ours, as are the rest: of file */
	FRONT_SLOT_RELEASE,   /* of file, and those that follow it */
	FRONT_SLOT_INTERRUPT, /* of another slot */
	FRONT_SLOT_TOUCH,     /* of what is owed to a node */
};

struct front_slot {
	struct front_slot *prev, *next;	  /* free stack (next only) or pending queue */
	struct front_slot *older, *newer; /* the kernel's in the order they came; until answered */
	enum front_slot_state state;
	enum front_slot_kind kind;
	uint32_t opcode;
	uint32_t pid;
	uint64_t unique;   /* as the kernel gave it, its RESEND bit included: replies carry it */
	uint8_t *req;	   /* small[0..] or from the pool; has room for a tail */
	uint32_t req_len;  /* without the tail */
	uint32_t resp_max; /* the largest answer that is believed */
	uint8_t *resp;	   /* from the pool, when resp_max is above FRONT_SMALL_BYTES and sent */
	uint8_t *small;	   /* FRONT_SMALL_BYTES for the request, as many for the response */
	struct front_refs refs;
	struct front_node *nodes[FRONT_REFS_MAX]; /* of refs, pinned */
	uint32_t file;				  /* REOPEN, RELEASE */
	uint32_t n_changes;			  /* the first node's when it was sent */
	uint32_t n_written;			  /* front_known_written_count() of it then */
	uint64_t n_shown;			  /* front_lists' when it was taken */
	uint64_t born_ns;
	uint64_t killed_ns; /* when its process was seen to be dying; 0: was not */
	bool interrupted;   /* its process had a signal */
	/* Offered over these legs: bulk_len bytes, when front_rdma.serial was that. */
	uint8_t bulk_legs;
	bool bulk_not; /* its data go by packets: RDMA has failed it */
	bool again;    /* it is sent by another session than before */
	uint32_t bulk_len, bulk_serial;
	bool answered; /* the kernel has its reply already; the server's is still to come */
	bool heard;    /* and it took what we said */
	bool back;     /* the lane leaves it to the owner */
	uint32_t lane; /* of one that is dealt out, in either process: its lane_slot and one more */
	uint16_t serial; /* makes the cookie of a slot's next use another one */
};

enum front_link {
	FRONT_AWAY,   /* no session, or it has ended */
	FRONT_HELLO,  /* session is up, INIT sent */
	FRONT_REOPEN, /* the server is being told which files are open */
	FRONT_READY,
};

struct front_init_msg {
	struct fuse_in_header in;
	struct fuse_init_in init;
	struct fuse_proto_req_tail tail;
};

struct front_rdma_msg {
	struct fuse_in_header in;
	struct fuse_proto_rdma rdma;
};

#define FRONT_LAYER_IB 1U
#define FRONT_LAYER_ETHERNET 2U

struct front_rdma {
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
	struct front_rdma_leg {
		bool lost; /* its pair failed since it was looked at last */
		uint64_t made_ns, wait_ns, due_ns;
		uint32_t n_changes; /* of devices, when it was put off */
		uint32_t qpn;	    /* the server's half of its pair */
		uint8_t link;	    /* ours, as it was asked with */
		uint8_t layers;	    /* FRONT_LAYER_*, as the server has said; 0: of none */
		uint64_t read_bytes, write_bytes;
	} legs[PORT_RDMA_LEGS_MAX];
	struct front_rdma_msg msg;
	uint8_t resp[sizeof(struct fuse_out_header) + sizeof(struct fuse_proto_rdma)];
};

/* RDMA is tried, as an operator asked: in requests of so many transfers each. */
struct front_ping {
	struct launch_ping run;	 /* id 0: nobody asked */
	uint8_t *buf;		 /* from the pool */
	uint32_t buf_bytes;	 /* so many of it may have been written */
	bool waits;		 /* the server has it, and may write there */
	bool is_stale;		 /* what it has was asked for an earlier run */
	bool over;		 /* run says what came of it; nobody has taken that yet */
	bool is_servers;	 /* the server asked for it, and has what comes of it */
	struct launch_ping wish; /* of the server's, to be begun; id 0: none */
	uint32_t serial;	 /* front_rdma.serial when it was sent, */
	uint64_t sent_ns;	 /* and the time */
	uint64_t until_ns, due_ns;
	uint64_t rest_ns; /* until then no wish of the server's is begun */
	struct fuse_proto_ping asked;
	struct front_ping_msg {
		struct fuse_in_header in;
		uint8_t head[offsetof(struct fuse_proto_ping, each_ns)];
	} msg;
	uint8_t resp[sizeof(struct fuse_out_header) + sizeof(struct fuse_proto_ping)];
	uint32_t each_ns[LAUNCH_PING_COUNT_MAX];
};

/* To which of the server's workers the mount was sent. */
struct front_guide {
	struct datagram_addr to;
	uint64_t since_ns; /* the session that is begun is with that one alone */
	bool go;	   /* as soon as the session can be ended */
	bool alone;
	unsigned n; /* how often since it was served last */
};

#define FRONT_OWED_MAX 16

/* A change that left a file as it was is acknowledged: the server is to give it the time. */
struct front_owed {
	struct front_node *node; /* pinned; FRONT_NODE_OWED */
	uint64_t due_ns;
	bool sent;
};

#define FRONT_DEAL_NODEIDS 4096U

/* The owner's end of the lanes of its mount. */
struct front_dealt {
	struct lane_area *area;
	struct lane_reads *reads;
	struct lane_more *more;
	uint64_t free;		      /* of the first LANE_SLOTS slots, a bit each */
	uint64_t fhs[LANE_FILES];     /* of its open files; 0: none */
	uint64_t nodeids[LANE_FILES]; /* of those */
	/* NULL: none of ours, or of a predecessor's, or read by the lane itself. */
	struct front_slot *slots[LANE_SLOTS_ALL];
	unsigned n_out;
	bool touched;	  /* its buffers have memory */
	uint64_t away_ns; /* since when nobody has had it; 0: somebody has, or it left nothing */
};

#define FRONT_SIGNALS 32U

/* The process of a request had a signal, and a lane is about to have that, or to pass it to us. */
struct front_signal {
	uint64_t unique;
	uint64_t until_ns; /* then it is left to those who look whose process is dying */
	uint32_t at[LAUNCH_LANES_MAX]; /* in which of each lane's own slots it may be: a bit each */
};

struct front_deal {
	int bell_fd;
	bool settling; /* what a predecessor had dealt out may still be handed out anew */
	bool always;   /* lanes read whenever they can: not what was tried decides */
	struct front_trial trial;
	unsigned passed_by; /* of what is in hand: the lane, and one more; 0: we have read it */
	struct front_signal signals[FRONT_SIGNALS];
	unsigned n_signals;
	uint64_t signals_ns; /* when they are looked at next */
	uint64_t look_ns;    /* when all that lanes have passed is */
	struct front_dealt lanes[LAUNCH_LANES_MAX];
	/* Of so many places the nodes have a number with this remainder. */
	uint16_t n_nodeids[FRONT_DEAL_NODEIDS];
	bool strays; /* files have places where they are not looked for: earlier versions' */
};

#define FRONT_LISTS 8U
#define FRONT_KEPT 1024U
#define FRONT_SHOWN 4096U
#define FRONT_GONE 1024U
#define FRONT_LARGE 64U
#define FRONT_ALONE 64U

/* All entries of an open folder, as they came with the answer to its OPENDIR. */
struct front_list {
	bool used;
	uint64_t fh; /* as the kernel has it */
	uint64_t opened_ns;
	uint64_t sent_ns, n_shown;
	uint32_t n_changes;    /* the node's then */
	uint64_t off;	       /* where it is read on, as its reader will say */
	struct front_answer a; /* the entries that are left of it, and their handles */
	uint8_t *bytes;
	bool is_copy; /* of one that is kept */
};

/* The same for whoever opens the folder next: nobody else changes its names meanwhile. */
struct front_kept {
	uint64_t nodeid; /* 0: none */
	uint64_t sent_ns, n_shown;
	uint32_t n_changes;
	uint32_t body_len, handles_len, n_handles;
	uint32_t n_names; /* but "." and ".." */
	uint64_t at;	  /* front_lists.kept_at when it came */
};

/* A folder that is open here by those, and not at the server. */
struct front_alone {
	uint64_t fh;
	uint64_t due_ns;  /* when the server is to be told */
	uint32_t n_names; /* that are left there at least */
};

struct front_lists {
	uint8_t *memory;
	size_t n_touched;
	struct front_list lists[FRONT_LISTS];
	struct front_kept kept[FRONT_KEPT];
	uint8_t *kept_bytes; /* of those: the oldest go for the next */
	uint64_t kept_at;    /* how many there ever were */
	/* How often the kernel has learnt something of a node, or changed something; by record,
	 * which of these was the node's last; which was of nodes that nobody can name. */
	uint64_t n_shown;
	uint64_t *shown;
	uint64_t n_shown_all;
	uint64_t gone[FRONT_GONE]; /* the same of those that the kernel has forgotten, by hash */
	unsigned n_wasted, n_skip; /* of those that nobody read, in a row; so many are not asked */
	struct {
		uint64_t nodeid, until_ns;
	} large[FRONT_LARGE]; /* folders that came without a list; asked for none until then */
	struct front_alone alone[FRONT_ALONE];
	unsigned n_alone;
};

struct front_bye_msg {
	struct fuse_in_header in;
	struct fuse_proto_req_tail tail;
};

struct fuse_front {
	int fd;
	int proc_fd;
	const struct launch_mount *mount;
	const char *host;
	struct rudp *rudp;
	struct rudp_session *session;
	struct launch_stats *stats;
	uint64_t (*clock_ns)(void); /* clock_now_ns; tests have their own */
	uint64_t soft_ns;	    /* 0: hard */
	struct front_state state;
	struct front_nodes nodes;
	struct front_files files;
	struct front_known known;
	struct front_lists lists;
	enum front_link link;
	bool unlabelled;
	bool gone; /* unmounted */
	bool bye_sent, bye_done;
	bool flush_wanted;     /* pending slots may be sendable */
	uint64_t bye_until_ns; /* it is not said to a server that is away for longer */
	uint64_t away_since_ns, retry_ns, busy_ns, look_ns, long_ns;
	struct front_owed owed[FRONT_OWED_MAX];
	unsigned n_owed;
	uint64_t closing_ns; /* since when the first of the closed files waits */
	uint64_t timeouts, bad_requests, bad_responses;
	struct fuse_proto_server server; /* whom the session is with */
	uint32_t features;		 /* FUSE_PROTO_FEATURE_* in force with it */
	uint32_t reopen_next;		 /* files below have been asked for */
	unsigned n_reopening;
	bool reopen_again; /* one could not be opened for now */
	struct front_init_msg hello;
	struct front_bye_msg bye;
	uint8_t hello_resp[FUSE_PROTO_RESP_SMALL];
	uint8_t *read_buf; /* where the next request is read */
	uint32_t largest;  /* of the requests so far */
	unsigned n_used, n_pending, n_sent, n_interrupted;
	unsigned n_unanswered;	   /* of the kernel's */
	uint64_t n_read, n_behind; /* of those, ever; that came with others, behind them */
	bool resend_due;	   /* what a predecessor left unanswered is to be handed out anew */
	/* The most of those lately, in this window and the one before. */
	unsigned unanswered_most, unanswered_window, n_window;
	struct front_slot *free, *free_own;
	struct front_slot pending; /* list head */
	struct front_slot oldest;  /* list head of older and newer */
	struct front_pool pool;
	uint8_t *small_area;
	struct front_rdma rdma;
	struct front_guide guide;
	struct front_deal *deal;    /* NULL: it has no lanes */
	struct lane_common *common; /* NULL: it has none, and is none */
	struct lane_area *lane;	    /* NULL: it is no lane */
	struct lane_reads *reads;   /* a lane's */
	struct lane_more *more;
	uint32_t reads_free;	       /* a lane's slots for them: those that are known to be */
	uint64_t read_ns;	       /* when it has read last */
	bool is_reading;	       /* what comes may wake it alone */
	unsigned lane_number;	       /* 0: the mount is ours */
	struct launch_mount own_mount; /* with the id that is ours */
	struct front_head *owner;      /* a lane's: of its owner's state */
	bool resting;		       /* a lane that takes no more */
	uint64_t unserved_ns;	       /* a lane's: since when its owner has no server; 0: it has */
	bool owing;		       /* a lane's session is for what it has begun alone */
	uint64_t useful_ns;	       /* a lane's: not before then does it ask for another */
	struct front_slot slots[FRONT_SLOTS];
	struct front_ping ping;
};

/* fuse_front.c */

/* One write is one answer. False: the kernel did not want it (any more). */
bool front_reply(struct fuse_front *f, const void *msg, size_t len);
/* A reply without data. */
bool front_reply_error(struct fuse_front *f, uint64_t unique, int error);
/* One has come from the kernel. */
void front_read_note(struct fuse_front *f, const struct fuse_in_header *h);
/* What becomes of it: of n bytes in f->read_buf. */
void front_take(struct fuse_front *f, size_t n, uint64_t now_ns);
/* So many requests are likely to be there; all of them wait where nobody else would ask. */
int front_likely(const struct fuse_front *f);
/* One has been read: how many programs ask at a time shows in how many have waited at a time. */
void front_most_learn(struct fuse_front *f);
/* What it is by now. Requests that are read together share a moment that was before the last of
 * them: who says that nothing has changed since it was told so must look at the clock anew. */
uint64_t front_by_now(const struct fuse_front *f, uint64_t now_ns);
/* Sends what waits. */
void front_flush(struct fuse_front *f, uint64_t now_ns);
/* The session ends, if there is one, and what waits goes on waiting. */
void front_session_drop(struct fuse_front *f, uint64_t now_ns);
/* Unmounted: the server is told. */
void front_goodbye(struct fuse_front *f);
/* A slot and a buffer to move a large request into must be there before a request is read. */
bool front_has_room(const struct fuse_front *f);
/* A request of that opcode has gone to the server. */
void front_asked(struct fuse_front *f, uint32_t opcode);
/* Answers the kernel, if it still waits, and lets the slot go. */
void front_slot_fail(struct fuse_front *f, struct front_slot *s, int error);

/* fuse_front_init.c: the kernel's INIT, and the one that a session starts with. */

/* Answers an INIT request of len bytes: parameters into the state, the answer to the kernel. */
void front_init_answer(struct fuse_front *f, const void *req, size_t len);
void front_init_compose(const struct fuse_front *f, struct front_init_msg *ret);
/* Has the kernel hand out again what a dead predecessor left unanswered. */
int front_init_resend(struct fuse_front *f);
/* What the server says of itself: root, marks of what is lost. 0; -EPROTO. */
int front_init_served(struct fuse_front *f, void *msg, size_t len);

/* fuse_front_request.c: what becomes of a request on its way to the server. */

/* Reads the slot's request and pins what it names. 0; else what the kernel is told. */
int front_request_bind(struct fuse_front *f, struct front_slot *s);
/* Writes the server's file handles and the tail. 0 and the message; else what the kernel is told.
 */
int front_request_seal(struct fuse_front *f, struct front_slot *s, const void **ret_msg,
		       size_t *ret_len);
/* Answers what is known here. False: the server is to be asked. */
bool front_request_known(struct fuse_front *f, const void *req, size_t len, uint64_t now_ns);
/* Requests that end here. */
void front_request_forget(struct fuse_front *f, const void *req, size_t len);
void front_request_release(struct fuse_front *f, const void *req, size_t len, uint64_t now_ns);

/* fuse_front_answer.c: what becomes of an answer on its way to the kernel. */

void front_answer_take(struct fuse_front *f, struct front_slot *s, void *msg, size_t len,
		       uint64_t now_ns);

/* fuse_front_own.c: requests that the frontend makes itself. */

/* Sends INIT, reopens what is open, makes the link ready; tells of closed files. */
void front_own_flush(struct fuse_front *f, uint64_t now_ns);
void front_own_hello_answer(struct fuse_front *f, int status, void *msg, size_t len,
			    uint64_t now_ns);
/* The answer to one of them; msg NULL: the session ended under it. */
void front_own_answer(struct fuse_front *f, struct front_slot *s, void *msg, size_t len,
		      uint64_t now_ns);
/* A request of that kind about the node, from root. False: not now. */
bool front_own_ask(struct fuse_front *f, enum front_slot_kind kind, uint32_t opcode,
		   struct front_node *node, const void *arg, size_t arg_len);
/* When it wants to be called again for files that are closed, or open here alone. */
uint64_t front_own_due(const struct fuse_front *f, uint64_t now_ns);
/* The server hears of all that are, before it is asked for what depends on it. */
void front_own_release(struct fuse_front *f);
void front_own_interrupt(struct fuse_front *f, const struct front_slot *of);
/* Opens one file at the server. False: not now. */
bool front_own_reopen(struct fuse_front *f, uint32_t file);
bool front_own_is_reopening(const struct fuse_front *f, uint32_t file);
/* Whether the request waits until the server has opened a folder that was opened without it: the
 * one that it is about, or that could have no name when it is done. */
bool front_own_holds(struct fuse_front *f, const struct front_slot *s);
/* What the kernel is told of a request that cannot be sent for that reason. */
int front_own_error(const struct fuse_front *f, const struct front_slot *s, int error);

/* fuse_front_deal.c: the owner's end of lanes. All do nothing where there are none. */

int front_deal_init(struct fuse_front *f);
void front_deal_done(struct fuse_front *f);
/* Whether a lane has taken the request, which waits nowhere else then. */
bool front_deal_give(struct fuse_front *f, struct front_slot *s, uint64_t now_ns);
/* The kernel hands it out again: whether a lane has it in hand. */
bool front_deal_claim(struct fuse_front *f, struct front_slot *s);
/* All that the kernel handed out again has been read. */
void front_deal_settled(struct fuse_front *f);
/* Ends of what was dealt out; what lanes do not begin is taken back. */
void front_deal_reap(struct fuse_front *f);
/* Whether a lane has something that nobody has heard the end of, which may be of the node. */
bool front_deal_has(const struct fuse_front *f, const struct front_node *node);
void front_deal_tick(struct fuse_front *f, uint64_t now_ns);
/* There is no room for more: an end is waited for. */
void front_deal_full(struct fuse_front *f);
/* The kernel is told by us that it is over. */
void front_deal_cancel(struct fuse_front *f, const struct front_slot *s);
void front_deal_close(struct fuse_front *f, uint64_t fh);
/* Lanes hear whether it has its server. */
void front_deal_served(struct fuse_front *f);
void front_deal_gone(struct fuse_front *f);
/* Data go by RDMA, which lanes have not. */
bool front_deal_by_rdma(const struct fuse_front *f);
/* What a lane says of a slot (of all LANE_SLOTS_ALL). False: it is to be looked at again. */
bool front_deal_slot_look(struct fuse_front *f, struct front_dealt *l, unsigned i);
/* Somebody has it, and it is served. */
bool front_deal_is_alive(const struct front_dealt *l, uint64_t now_ns);
/* The lane is to look at the slot. */
void front_deal_post(struct fuse_front *f, struct front_dealt *l, unsigned i);

/* fuse_front_pass.c: the owner's end of what lanes read themselves. All but the first two do
 * nothing where there are no lanes. */

int front_pass_init(struct fuse_front *f);
void front_pass_done(struct fuse_front *f);
/* Whether no lane can be reading: what a predecessor had begun is then to be handed out anew. */
bool front_pass_hush(struct fuse_front *f);
/* What lanes had passed to a predecessor: what is not handed out anew ends here. */
void front_pass_forgets(struct fuse_front *f);
/* Takes what they pass; how many requests. */
int front_pass_look(struct fuse_front *f, uint64_t now_ns);
/* What they have begun to do to files, and done: before anything of a file is believed. */
void front_pass_notes(struct fuse_front *f);
bool front_pass_has(const struct front_dealt *l, uint64_t nodeid);
/* The owner sleeps next, or does not. */
void front_pass_sleeps(struct fuse_front *f, bool sleeps);
/* The process of a request that a lane may have had a signal. */
void front_pass_interrupt(struct fuse_front *f, uint64_t unique, uint64_t now_ns);
/* Looks for those of which no lane could be told yet. When it wants to be called again. */
uint64_t front_pass_signals(struct fuse_front *f, uint64_t now_ns);
/* Whether they are to read. */
void front_pass_judge(struct fuse_front *f, uint64_t now_ns);

/* fuse_front_lane.c: the other end. */

/* What there is of a predecessor is taken over. 0; -EBUSY: another process has the lane. */
int front_lane_init(struct fuse_front *f);
/* When the tables are there. */
void front_lane_start(struct fuse_front *f, uint64_t now_ns);
void front_lane_done(struct fuse_front *f);
int front_lane_pull(struct fuse_front *f, bool all, uint64_t now_ns);
void front_lane_tick(struct fuse_front *f, uint64_t now_ns);
/* A session may be asked for: a lane's owner comes first, but for what has begun. */
bool front_lane_may_connect(const struct fuse_front *f, uint64_t now_ns);
/* On whose behalf a session is asked for, which is noted. */
enum fuse_hello_lane front_lane_hello(struct fuse_front *f);
/* 0: it is to be sent; -ENOMEM: not yet; -ESTALE: its file cannot be had; -ECANCELED. */
int front_lane_ask(struct fuse_front *f, struct front_slot *s);
/* Whether the owner can have it instead; then it is to be freed. */
bool front_lane_back(struct front_slot *s);
/* Which number the kernel wants to see, if it was handed out again meanwhile. */
void front_lane_renumber(struct fuse_front *f, struct front_slot *s);
/* Before the kernel hears it: a successor says the same. */
void front_lane_said(struct fuse_front *f, const struct front_slot *s, const void *msg, size_t len);
void front_lane_said_error(struct fuse_front *f, const struct front_slot *s, int error);
/* It is over here. */
void front_lane_end(struct fuse_front *f, const struct front_slot *s);
/* Of those that lie in slot i (of all LANE_SLOTS_ALL): it is begun with, which it may have been
 * before; what a predecessor had begun goes on; what the owner has handed is looked at (false: no
 * slot of ours is left); what the kernel wants answered anew is handed to us again. */
void front_lane_take(struct fuse_front *f, unsigned i, bool again, uint64_t now_ns);
void front_lane_resume(struct fuse_front *f, unsigned i, uint64_t now_ns);
bool front_lane_look(struct fuse_front *f, unsigned i, uint64_t now_ns);
bool front_lane_again(struct fuse_front *f, unsigned i, uint32_t word);
/* What it does not take its owner takes back. */
bool front_lane_takes_new(const struct fuse_front *f);

/* fuse_front_reads.c: what a lane reads from the kernel itself. */

int front_reads_init(struct fuse_front *f);
void front_reads_done(struct fuse_front *f);
/* What a predecessor has left. */
void front_reads_start(struct fuse_front *f, uint64_t now_ns);
/* The number of requests that were read. */
int front_reads_pull(struct fuse_front *f, bool all, uint64_t now_ns);
/* The request in slot i (of LANE_READS) is about to be begun with. */
void front_reads_begin(struct fuse_front *f, unsigned i);
void front_reads_end(struct fuse_front *f, unsigned i, enum lane_state state);
bool front_reads_is_spent(const struct fuse_front *f);
void front_reads_tick(struct fuse_front *f, uint64_t now_ns);
/* Its owner has told the kernel that it is over. */
bool front_lane_is_over(const struct fuse_front *f, const struct front_slot *s);

/* Makes the kernel's entry of the list's next one; nodeid 0 where it is told no more than the name.
 */
void front_answer_listed(struct fuse_front *f, struct front_list *l, bool special,
			 struct fuse_entry_out *entry);
/* The kernel did not want these entries. */
void front_answer_unlist(struct fuse_front *f, const struct front_answer *a);

/* fuse_front_list.c: entries that come with the opening of a folder. */

int front_lists_init(struct fuse_front *f);
void front_lists_done(struct fuse_front *f);
/* Its pages go back. */
void front_lists_trim(struct fuse_front *f);
/* How many bytes of entries the OPENDIR of the folder is to ask for. */
uint32_t front_list_wish(struct fuse_front *f, uint64_t nodeid, uint64_t now_ns);
/* Has the request ask for so many. */
void front_list_ask(struct front_slot *s, uint32_t bytes);
/* Takes what came with the answer for the kernel's file handle, and off it. 0; -EIO: it makes no
 * sense. */
int front_list_take(struct fuse_front *f, const struct front_slot *s, struct front_answer *a,
		    uint64_t fh);
/* None came: the folder is too large, if one was asked for. */
void front_list_none(struct fuse_front *f, const struct front_slot *s);
/* Answers a READDIR or READDIRPLUS by what is there. False: the server is to be asked. */
bool front_list_answer(struct fuse_front *f, const struct fuse_in_header *in,
		       const struct front_node *node, const struct fuse_read_in *read,
		       uint64_t now_ns);
void front_list_close(struct fuse_front *f, uint64_t fh);
/* Opens a folder whose entries are known to be what they were. False: the server is to be asked. */
bool front_list_open(struct fuse_front *f, const void *req, size_t len, uint64_t now_ns);
/* The server is told of those that were opened so, before others may remove them. */
void front_list_flush(struct fuse_front *f, uint64_t now_ns);
uint64_t front_list_due(const struct fuse_front *f, uint64_t now_ns);
bool front_list_holds(struct fuse_front *f, const struct front_slot *s);
void front_lists_drop(struct fuse_front *f);
/* The kernel is about to hear something of the node; of what nobody can say. */
void front_list_shown(struct fuse_front *f, uint64_t nodeid);
void front_list_shown_all(struct fuse_front *f);
/* The folder may have other names than are known. */
void front_list_forget(struct fuse_front *f, uint64_t nodeid);
/* The kernel forgets the node. */
void front_list_forgotten(struct fuse_front *f, const struct front_node *node);
/* Whether it has heard of it since the count was that. */
bool front_list_is_shown(const struct fuse_front *f, const struct front_node *node,
			 uint64_t n_shown);

/* fuse_front_owed.c: changes that change nothing. */

/* Of a predecessor. */
void front_owed_restore(struct fuse_front *f);
/* Answers a SETATTR after which the file is as it was, where that is known. False: the server is to
 * be asked. */
bool front_owed_answer(struct fuse_front *f, const void *req, size_t len, uint64_t now_ns);
/* Whether the request waits until the server has given what is owed. */
bool front_owed_holds(struct fuse_front *f, const struct front_slot *s);
/* The server has carried it out, and nothing that was asked for before is on its way. */
void front_owed_paid(struct fuse_front *f, const struct front_slot *s);
/* The answer to a TOUCH; msg NULL: the session ended under it. */
void front_owed_told(struct fuse_front *f, const struct front_slot *s, void *msg, size_t len);
/* Has the server asked for what is due by then. */
void front_owed_flush(struct fuse_front *f, uint64_t until_ns);
/* When it wants to be called again. */
uint64_t front_owed_due(const struct fuse_front *f);

/* fuse_front_patience.c: who waits no longer. */

void front_patience_interrupt(struct fuse_front *f, const void *req, size_t len, uint64_t now_ns);
/* Its process had a signal. */
void front_patience_signalled(struct fuse_front *f, struct front_slot *s, uint64_t now_ns);
/* Returns when it wants to be called again. */
uint64_t front_patience_tick(struct fuse_front *f, uint64_t now_ns);

/* fuse_front_rdma.c: bulk data by RDMA. */

void front_rdma_done(struct fuse_front *f);
/* The session has ended: what it was offered is the front's alone when this returns. */
void front_rdma_down(struct fuse_front *f);
void front_rdma_flush(struct fuse_front *f, uint64_t now_ns);
uint64_t front_rdma_due(const struct fuse_front *f);
void front_rdma_answer(struct fuse_front *f, int status, const void *msg, size_t len);
/* The server says that the pair of a leg, as it was when front_rdma.serial was that, has failed. */
void front_rdma_lost(struct fuse_front *f, unsigned leg, uint32_t serial);
/* The server's answer about a pair for the port is waited for. */
bool front_rdma_is_asking(const struct fuse_front *f, unsigned port);
/* Whether the request, which has the buffer of its answer, is to go with its data offered so. */
bool front_rdma_offer(struct fuse_front *f, struct front_slot *s, struct fuse_proto_bulk *ret);
/* Whether the request waits until there is RDMA. */
bool front_rdma_holds(struct fuse_front *f, const struct front_slot *s);
/* The server could not get the data of a WRITE, or must not send those of a READ: it is sent again,
 * by packets where they may take them. */
bool front_rdma_again(struct fuse_front *f, struct front_slot *s, const struct front_answer *a);
/* What the answer says of offered memory: pairs that failed are dropped, and data that are there
 * become the answer's. 0; -EIO: it makes no sense. */
int front_rdma_take(struct fuse_front *f, struct front_slot *s, struct front_answer *a, void **msg);

/* fuse_front_ping.c: tries of RDMA that an operator asks for. */

/* Returns when it wants to be called again. */
uint64_t front_ping_flush(struct fuse_front *f, uint64_t now_ns);
/* What a server that was asked after the pair of that port says besides: struct fuse_proto_wish. */
void front_ping_wished(struct fuse_front *f, unsigned port, const uint8_t said[16]);
void front_ping_answer(struct fuse_front *f, const void *msg, size_t len, uint64_t now_ns);
/* The session has ended, and with it all pairs. */
void front_ping_down(struct fuse_front *f, uint64_t now_ns);

/* fuse_front_slot.c */

int front_slots_init(struct fuse_front *f);
/* The first request finds as much memory as the predecessor's largest took. */
void front_slots_warm(struct fuse_front *f);
void front_slots_done(struct fuse_front *f);
/* Takes the request of len bytes in f->read_buf into a slot: copied when small, else the buffer
 * changes hands. NULL: no slot or no buffer. */
struct front_slot *front_slot_take(struct fuse_front *f, uint32_t len, uint64_t now_ns);
/* One for a request whose bytes stay where they are; there must be a free one. */
struct front_slot *front_slot_lend(struct fuse_front *f, uint8_t *req, uint32_t len,
				   uint64_t now_ns);
/* A slot for a request of our own, with a header of that opcode and a number of its own in place
 * and room for an argument of arg_len bytes. NULL: none. */
struct front_slot *front_slot_own(struct fuse_front *f, enum front_slot_kind kind, uint32_t opcode,
				  const void *arg, size_t arg_len);
void front_slot_free(struct fuse_front *f, struct front_slot *s);
void front_slot_queue(struct fuse_front *f, struct front_slot *s);
void front_slot_unqueue(struct fuse_front *f, struct front_slot *s);
/* The kernel has its reply, or nobody waits for one. */
void front_slot_answered(struct fuse_front *f, struct front_slot *s);
struct front_slot *front_slot_find(struct fuse_front *f, uint64_t unique);
/* The cookie of the slot's present call, and back; NULL: not a call in flight. */
uint64_t front_slot_cookie(const struct fuse_front *f, const struct front_slot *s);
struct front_slot *front_slot_from_cookie(struct fuse_front *f, uint64_t cookie);

#endif
