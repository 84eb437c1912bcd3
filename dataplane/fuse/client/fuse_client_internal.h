/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private header of fuse_client: its state, its slots, and the functions that its files share.
 * Included by dataplane/fuse/client/ only.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_INTERNAL_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_INTERNAL_H

#include "dataplane/fuse/client/client_stage.h"
#include "dataplane/fuse/client/fuse_client.h"
#include "dataplane/fuse/client/tables/client_cache.h"
#include "dataplane/fuse/client/tables/client_files.h"
#include "dataplane/fuse/client/tables/client_pool.h"
#include "dataplane/fuse/client/tables/client_tail.h"
#include "dataplane/fuse/proto/fuse_hello.h"
#include "dataplane/port/rdma/port_rdma.h"

/* Highest cookie of a slot; larger cookies are the following. */
#define CLIENT_COOKIE_SLOT_MAX UINT32_MAX
#define CLIENT_COOKIE_HELLO UINT64_MAX
#define CLIENT_COOKIE_BYE (UINT64_MAX - 1)
#define CLIENT_COOKIE_RDMA (UINT64_MAX - 2)
#define CLIENT_COOKIE_PING (UINT64_MAX - 3)
#define CLIENT_SLOTS FUSE_PROTO_CALLS_MAX
/* Slots for requests that the client originates: they must get through while the kernel's
 * requests occupy all others and wait for them. */
#define CLIENT_SLOTS_INTERNAL 32
/* Requests and responses up to this size are stored in the slot. */
#define CLIENT_SMALL_BYTES 8192U
/* Large buffers that READs leave free, so that WRITEs and small requests get through. */
#define CLIENT_READ_RESERVE 12
/* How long the server may take to end the request of a killed process. */
#define CLIENT_KILLED_NS NSEC_PER_SEC
/* Interval of checking processes that had a signal: a fatal signal may follow a harmless one,
 * and FUSE reports only the first. */
#define CLIENT_LOOK_NS (200 * NSEC_PER_MSEC)
/* For direct I/O FUSE reports no signal: requests that take this long are checked at this
 * interval. */
#define CLIENT_LONG_NS (2 * NSEC_PER_SEC)

enum client_slot_state {
	CLIENT_SLOT_FREE,
	CLIENT_SLOT_PENDING,
	CLIENT_SLOT_SENT,
	CLIENT_SLOT_DISPATCHED, /* another worker of the mount serves it */
};

enum client_slot_kind {
	CLIENT_SLOT_KERNEL,    /* the kernel's request: a reply is due */
	CLIENT_SLOT_REOPEN,    /* this and the following originate in the client: reopen `file` */
	CLIENT_SLOT_RELEASE,   /* close `file` and the files that follow it */
	CLIENT_SLOT_INTERRUPT, /* interrupt the request of another slot */
	CLIENT_SLOT_TOUCH,     /* carry out a deferred ctime of a node */
};

struct client_slot {
	struct client_slot *prev, *next; /* the free stack uses next only; else the pending queue */
	struct client_slot *older,
		*newer; /* the kernel's unanswered requests in order of arrival */
	enum client_slot_state state;
	enum client_slot_kind kind;
	uint32_t opcode;
	uint32_t pid;
	uint64_t unique;   /* as the kernel sent it, including its RESEND bit: replies carry it */
	uint8_t *req;	   /* &small[0] or a buffer from the pool; has room for a tail */
	uint32_t req_len;  /* without the tail */
	uint32_t resp_max; /* the largest answer that is accepted */
	uint8_t *resp;	/* from the pool, if resp_max is above CLIENT_SMALL_BYTES and the request is
			   sent */
	uint8_t *small; /* CLIENT_SMALL_BYTES for the request, then as many for the response */
	struct client_refs refs;
	struct client_node *nodes[CLIENT_REFS_MAX]; /* nodes named by refs, pinned */
	uint32_t file;				    /* REOPEN, RELEASE */
	uint32_t n_changes; /* n_changes of the first node when the request was sent */
	uint32_t n_written; /* client_cache_written_count() of that node at that time */
	uint64_t n_shown;   /* client_prefetches' count when the request was taken */
	uint64_t arrived_ns;
	uint64_t killed_ns; /* when its process was first seen dying; 0: never */
	bool interrupted;   /* its process had a signal */
	/* Memory of bulk_len bytes was offered for RDMA over these legs, when client_rdma.serial
	 * was bulk_serial. */
	uint8_t bulk_legs;
	bool bulk_failed; /* RDMA failed for this request: send its data in packets */
	bool resent;	  /* resent on another session than before */
	uint32_t bulk_len, bulk_serial;
	bool answered; /* the kernel already has the reply; the server's answer is still due */
	bool accepted; /* the kernel accepted the reply */
	bool returned; /* the mount worker returns it to the owner */
	uint32_t worker_slot; /* mount_worker_slot of a dispatched request plus one, in either
				 process */
	uint16_t serial;      /* incremented for each use of the slot, so that cookies differ */
};

enum client_link {
	CLIENT_AWAY,   /* no session, or it has ended */
	CLIENT_HELLO,  /* session is up, INIT sent */
	CLIENT_REOPEN, /* files are being reopened at the server */
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
	struct port_rdma *ports; /* NULL: no leg may use RDMA */
	unsigned n_ports;
	uint32_t read_min, write_min;
	struct port_rdma_pool
		*pool; /* registration of the client's buffers; NULL: not registered */
	struct port_rdma_peer *peer; /* queue pairs with the server, by local port */
	uint8_t asked,
		checked; /* legs whose pairs were requested, and checked, in the pending request */
	bool waits;	 /* a request is pending */
	bool encrypted;
	bool only;	  /* data eligible for RDMA must not use packets */
	bool mixed;	  /* servers mix InfiniBand and Ethernet: RDMA is stopped */
	bool has_waiting; /* requests wait for RDMA */
	uint64_t retry_ns, asked_ns;
	uint32_t n_changes;			   /* port_rdma_changes() at the last request */
	uint32_t serial, made[PORT_RDMA_LEGS_MAX]; /* serial of each pair: tells whether a request
						      was sent before the pair was made */
	enum port_rdma_reason reasons[PORT_RDMA_LEGS_MAX];
	struct client_rdma_leg {
		bool lost; /* its pair failed since the last attempt */
		uint64_t made_ns, wait_ns, due_ns;
		uint32_t n_changes; /* port_rdma_changes() when it was postponed */
		uint32_t qpn;	    /* the server's half of its pair */
		uint8_t link;	    /* our link type in the last request */
		uint8_t layers;	    /* CLIENT_LAYER_* that the server reported; 0: none */
		uint64_t read_bytes, write_bytes;
	} legs[PORT_RDMA_LEGS_MAX];
	struct client_rdma_msg msg;
	uint8_t resp[sizeof(struct fuse_out_header) + sizeof(struct fuse_proto_rdma)];
};

/* An RDMA test that an operator started: in requests of several transfers each. */
struct client_ping {
	struct launch_ping run;	  /* id 0: no test */
	uint8_t *buf;		  /* from the pool */
	uint32_t buf_bytes;	  /* bytes of buf that may have been written */
	bool waits;		  /* a request is pending: the server may access buf */
	bool is_stale;		  /* the pending request belongs to an earlier run */
	bool over;		  /* run has the result, which the worker has not read yet */
	bool is_servers;	  /* the server asked for the test and keeps the result */
	struct launch_ping order; /* the next test that the server asked for; id 0: none */
	uint32_t serial;	  /* client_rdma.serial when the request was sent, */
	uint64_t sent_ns;	  /* and the time */
	uint64_t until_ns, due_ns;
	uint64_t pause_until_ns; /* no test for the server starts earlier */
	struct fuse_proto_ping asked;
	struct client_ping_msg {
		struct fuse_in_header in;
		uint8_t head[offsetof(struct fuse_proto_ping, each_ns)];
	} msg;
	uint8_t resp[sizeof(struct fuse_out_header) + sizeof(struct fuse_proto_ping)];
	uint32_t each_ns[LAUNCH_PING_COUNT_MAX];
};

/* The server's worker to which a refusal redirected the mount. */
struct client_redirect {
	struct datagram_addr to;
	uint64_t since_ns; /* when the current attempt began */
	bool pending;	   /* redirect as soon as the session can be ended */
	bool active;	   /* the session is with the redirect target only */
	unsigned n;	   /* redirects since the mount was last served */
};

#define CLIENT_DEFERRED_CTIME_MAX 16

/* An acknowledged SETATTR that left the file unchanged: the server still has to update the
 * ctime. */
struct client_deferred_ctime {
	struct client_node *node; /* pinned; CLIENT_NODE_CTIME_DEFERRED */
	uint64_t due_ns;
	bool sent;
};

/* How long prefetched entries are used. */
#define CLIENT_PREFETCH_NS (100 * NSEC_PER_MSEC)
/* A directory is opened locally only while its names are leased for long enough to list it and
 * to look at its entries: expired entries would be looked up one by one, while the server
 * returns all at once. */
#define CLIENT_DIR_CACHE_NS (CLIENT_CACHE_NS - CLIENT_PREFETCH_NS)
#define CLIENT_PREFETCHES 8U
#define CLIENT_DIR_CACHE_MAX 1024U
#define CLIENT_SHOWN_MAX 4096U
#define CLIENT_FORGOTTEN 1024U
#define CLIENT_LARGE 64U
#define CLIENT_LOCAL_DIRS_MAX 64U

/* All entries of an open directory, as they came with the answer to its OPENDIR. */
struct client_prefetch {
	bool used;
	uint64_t fh; /* as the kernel knows it */
	uint64_t opened_ns;
	uint64_t sent_ns, n_shown;
	uint32_t n_changes;	/* n_changes of the node when the request was sent */
	uint64_t off;		/* offset at which the reader continues */
	struct client_answer a; /* the unread entries, and their handles */
	uint8_t *bytes;
	bool is_copy; /* a copy of a cached directory */
};

/* Cached entries of a directory whose names the server leases, for later opens: no other client
 * changes the names meanwhile. */
struct client_dir_cache {
	uint64_t nodeid; /* 0: none */
	uint64_t sent_ns, n_shown;
	uint32_t n_changes;
	uint32_t body_len, handles_len, n_handles;
	uint32_t n_names; /* without "." and ".." */
	uint64_t at;	  /* value of dir_cache_at when the entries arrived */
};

/* A directory that is open locally, from the directory cache, and not at the server. */
struct client_local_dir {
	uint64_t fh;
	uint64_t due_ns;  /* when the server has to open it */
	uint32_t n_names; /* lower bound of the number of names left in the directory */
};

struct client_prefetches {
	uint8_t *memory;
	size_t n_touched;
	struct client_prefetch items[CLIENT_PREFETCHES];
	struct client_dir_cache dir_cache[CLIENT_DIR_CACHE_MAX];
	uint8_t *dir_cache_bytes; /* ring buffer of cached entries: new ones overwrite the oldest */
	uint64_t dir_cache_at;	  /* bytes ever written to the ring buffer */
	/* n_shown counts the events in which the kernel learned or changed attributes of a node;
	 * shown has the count at each node's last event, by record; n_shown_all that of the last
	 * event of an unknown node. */
	uint64_t n_shown;
	uint64_t *shown;
	uint64_t n_shown_all;
	uint64_t forgotten[CLIENT_FORGOTTEN]; /* counts of nodes that the kernel has forgotten, by
						 hash of the handle */
	unsigned n_unread, n_skip; /* consecutive prefetches that were not read; number of opens
				      that will not request one */
	struct {
		uint64_t nodeid, until_ns;
	} large[CLIENT_LARGE]; /* directories too large for a prefetch; none is requested until
				  until_ns */
	struct client_local_dir local_dirs[CLIENT_LOCAL_DIRS_MAX];
	unsigned n_local_dirs;
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
	struct launch_latencies *latencies;	  /* of this mount, in stats */
	uint64_t (*clock_ns)(void);		  /* clock_now_ns; tests replace it */
	uint64_t soft_ns;			  /* timeout of a soft mount; 0: hard */
	struct client_stages on;		  /* the active stages */
	const struct client_stage *const *stages; /* all, active or not */
	size_t n_stages;
	uint64_t state_at; /* offset of the state in its descriptor */
	bool adopted;	   /* a predecessor served this mount */
	struct client_state state;
	struct client_nodes nodes;
	struct client_files files;
	struct client_cache cache;
	struct client_prefetches prefetch;
	enum client_link link;
	bool unlabelled;
	bool unmounted;
	bool bye_sent, bye_done;
	bool flush_wanted;     /* pending slots may be sendable */
	uint64_t bye_until_ns; /* until then, wait for an absent server to send it DESTROY */
	uint64_t away_since_ns, retry_ns, busy_ns, look_ns, long_ns;
	struct client_deferred_ctime deferred[CLIENT_DEFERRED_CTIME_MAX];
	unsigned n_deferred;
	uint64_t closing_ns; /* when the oldest unreported close was queued */
	uint64_t timeouts, bad_requests, bad_responses;
	struct fuse_proto_server server; /* the server's worker of the session */
	uint32_t features;		 /* FUSE_PROTO_FEATURE_* of the session */
	uint32_t reopen_next;		 /* files with a lower index have been reopened */
	unsigned n_reopening;
	bool reopen_again; /* a file could not be reopened yet */
	struct client_init_msg hello;
	struct client_bye_msg bye;
	uint8_t hello_resp[FUSE_PROTO_RESP_SMALL];
	uint8_t *read_buf; /* buffer of the next request */
	uint8_t *request;  /* the request that is being taken: a small one was copied */
	uint32_t largest;  /* length of the largest request so far */
	unsigned n_used, n_pending, n_sent, n_interrupted;
	unsigned n_unanswered;	   /* requests of the kernel without a reply */
	uint64_t n_read, n_behind; /* requests ever read; of these, requests that followed another
				      one in a burst */
	bool resend_due;	   /* the kernel is to resend a predecessor's unanswered requests */
	/* Highest number of unanswered requests in the current and in the previous window. */
	unsigned unanswered_most, unanswered_window, n_window;
	/* Slots that requests with a reply may hold until the server answers. */
	unsigned answered_max;
	struct client_slot *free, *free_internal;
	struct client_slot pending; /* list head */
	struct client_slot oldest;  /* list head of older and newer */
	/* Buffers of requests, and of answers to READ: a server may write the data pages of these
	 * by RDMA at any time. All other large answers are received in memory that is never
	 * registered, because they are parsed in place. */
	struct client_pool pool, parsed;
	uint8_t *small_area;
	struct client_rdma rdma;
	struct client_redirect redirect;
	struct client_dispatch *dispatch;   /* NULL: no mount workers */
	struct mount_worker_common *common; /* NULL: neither has nor is a mount worker */
	struct mount_worker_area *area;	    /* NULL: not a mount worker */
	struct mount_worker_reads *reads;   /* the reads area of a mount worker */
	struct mount_worker_more *more;
	uint32_t reads_free;	       /* free read slots of a mount worker, as far as known */
	uint64_t read_ns;	       /* time of the last request that this worker read */
	bool is_reading;	       /* the kernel may wake only this worker for a new request */
	unsigned mount_worker_number;  /* 0: we own the mount */
	struct launch_mount own_mount; /* copy with our own id */
	struct client_head *owner;     /* a mount worker's: the head of its owner's state */
	bool quiescing;		       /* a mount worker that takes no more requests */
	uint64_t unserved_ns; /* mount worker: since when its owner has had no server; 0: has one */
	bool finishing;	      /* a mount worker's session only finishes old requests */
	uint64_t connect_ns;  /* mount worker: time of the next attempt to connect */
	struct client_slot slots[CLIENT_SLOTS];
	struct client_ping ping;
};

/* client_reply.c: replies to the kernel */

/* One write is one answer. False: the kernel rejected it. */
bool client_reply(struct fuse_client *f, const void *msg, size_t len);
/* Sends msg, which has a header, as the reply to the slot's request, unless the kernel already
 * has a reply. True: the kernel accepted it. */
bool client_slot_reply(struct fuse_client *f, struct client_slot *s, void *msg, size_t len);
/* Counts how long the slot's request took; for a reply by client_reply(). */
void client_slot_note_latency(struct fuse_client *f, const struct client_slot *s);
/* As client_slot_reply, with an error and no data. */
bool client_slot_reply_error(struct fuse_client *f, struct client_slot *s, int error);
/* A reply without data. */
bool client_reply_error(struct fuse_client *f, uint64_t unique, int error);
/* Answers the kernel, if it still waits, and frees the slot. */
void client_slot_fail(struct fuse_client *f, struct client_slot *s, int error);

/* client_load.c: how much is pending in the kernel */

/* Counts a request of the kernel. */
void client_note_read(struct fuse_client *f, const struct fuse_in_header *h);
/* How many requests are likely pending; at least one while nothing is unanswered. */
int client_read_burst_hint(const struct fuse_client *f);
/* Call after each read: the peak of unanswered requests shows how many programs are active. */
void client_queue_depth_update(struct fuse_client *f);

/* client_take.c: requests of the kernel */

/* Processes a request of n bytes in f->read_buf; sets f->request. */
void client_take_request(struct fuse_client *f, size_t n, uint64_t now_ns);
/* There must be a free slot and a buffer for a large request before a request is read. */
static inline bool client_has_room(const struct fuse_client *f)
{
	return f->free && f->pool.n_free > 0;
}
/* The current time. Requests of one burst share a time stamp that precedes the last of them: a
 * check that nothing has changed since needs a fresh one. */
static inline uint64_t client_clock_refresh(const struct fuse_client *f, uint64_t now_ns)
{
	uint64_t is_ns = f->clock_ns();

	return MAX_OF(now_ns, is_ns);
}
/* Call before any cached state of a file is used: applies changes that other workers made. */
static inline void client_sync(struct fuse_client *f)
{
	for (const struct client_stage *const *st = f->on.sync; *st; st++)
		(*st)->sync(f);
}
/* Deadline of work that is due: what could not be sent when due is retried with the next answer. */
static inline uint64_t client_due_after(uint64_t due_ns, uint64_t now_ns)
{
	return due_ns > now_ns ? due_ns : UINT64_MAX;
}

/* client_send.c: requests to the server */

/* Sends pending requests. */
void client_flush(struct fuse_client *f, uint64_t now_ns);
/* Begins the session; once the server is ready, stages send what is due. */
void client_flush_stages(struct fuse_client *f, uint64_t now_ns);
/* Ends the session, if any; pending requests keep waiting. */
void client_session_drop(struct fuse_client *f, uint64_t now_ns);
/* Unmounted: sends DESTROY to the server. */
void client_goodbye(struct fuse_client *f);
/* A request of that opcode was sent to the server. */
static inline void client_note_sent(struct fuse_client *f, uint32_t opcode)
{
	launch_stat_add(&f->stats->asked[MIN_OF(opcode, LAUNCH_OPCODES_MAX - 1U)], 1);
}

/* client_init.c: the kernel's INIT, and the INIT that starts a session. */

void client_init_compose(const struct fuse_client *f, struct client_init_msg *ret);
/* Makes the kernel resend the requests that a dead predecessor left unanswered. */
int client_init_resend(struct fuse_client *f);
/* Handles the server's answer to INIT: root handle, marks of lost changes. 0; -EPROTO. */
int client_init_served(struct fuse_client *f, void *msg, size_t len);

/* client_request.c: requests on their way to the server. */

/* Parses the slot's request and pins the nodes that it names. 0; else the error for the kernel. */
int client_request_bind(struct fuse_client *f, struct client_slot *s);
/* Writes the server's file handles and the tail. 0 and the message; else the error for the
 * kernel. */
int client_request_seal(struct fuse_client *f, struct client_slot *s, const void **ret_msg,
			size_t *ret_len);
/* A FORGET or BATCH_FORGET. */
void client_request_forget(struct fuse_client *f, const void *req, size_t len);

/* client_answer.c: answers on their way to the kernel. */

void client_answer_take(struct fuse_client *f, struct client_slot *s, void *msg, size_t len,
			uint64_t now_ns);

/* client_internal_requests.c: requests that the client originates. */

/* Begins the session: sends INIT, reopens files, makes the link ready. */
void client_internal_begin(struct fuse_client *f, uint64_t now_ns);
void client_internal_hello_answer(struct fuse_client *f, int status, void *msg, size_t len,
				  uint64_t now_ns);
/* The answer to an internal OPEN; msg NULL: the session ended before it came. */
void client_internal_reopened(struct fuse_client *f, const struct client_slot *s, void *msg,
			      size_t len, uint64_t now_ns);
/* Ends the files of a RELEASE, in order. closed: the server has closed them. */
void client_internal_released(struct fuse_client *f, uint32_t first, bool closed);
/* Sends a request of that kind about the node, as root. False: not possible now. */
bool client_internal_ask(struct fuse_client *f, enum client_slot_kind kind, uint32_t opcode,
			 struct client_node *node, const void *arg, size_t arg_len);
/* Reports all closed files to the server, before a request that depends on it. */
void client_internal_release(struct fuse_client *f);
void client_internal_interrupt(struct fuse_client *f, const struct client_slot *of);
/* Opens one file at the server. False: not possible now. */
bool client_internal_reopen(struct fuse_client *f, uint32_t file);
bool client_internal_is_reopening(const struct fuse_client *f, uint32_t file);

/* workers/: what the rest of the client calls. Those of the owner do nothing without mount
 * workers. */

/* Whether a mount worker has unfinished requests that may refer to the node. */
bool client_dispatch_has_pending(const struct fuse_client *f, const struct client_node *node);
/* The owner itself reports the end of the request to the kernel: the mount worker must not. */
void client_dispatch_cancel(struct fuse_client *f, const struct client_slot *s);
void client_dispatch_close(struct fuse_client *f, uint64_t fh);
/* Reports to the mount workers whether this worker has a session with the server. */
void client_dispatch_report_served(struct fuse_client *f);
void client_dispatch_report_unmounted(struct fuse_client *f);
/* All resent requests have been read. */
void client_dispatch_resend_done(struct fuse_client *f);
/* Whether no mount worker can be reading: then the kernel can resend what a predecessor had
 * begun. */
bool client_forward_quiesce(struct fuse_client *f);
/* Handles FORGETs that were forwarded to a predecessor; the kernel resends the other requests. */
void client_forward_take_forgets(struct fuse_client *f);
/* The process of a request that a mount worker may have had a signal. */
void client_forward_interrupt(struct fuse_client *f, uint64_t unique, uint64_t now_ns);
/* Resumes a predecessor's requests, once all stages are initialized. */
void client_mount_worker_start(struct fuse_client *f, uint64_t now_ns);
int client_mount_worker_pull(struct fuse_client *f, bool all, uint64_t now_ns);
/* Whether this mount worker may request a session: the owner connects first, except if old
 * requests must be finished. */
bool client_mount_worker_may_connect(const struct fuse_client *f, uint64_t now_ns);
/* The purpose of the next session for the hello, which is noted. */
enum fuse_hello_purpose client_mount_worker_hello(struct fuse_client *f);
/* Whether the owner can serve the request instead; then the caller frees it. */
bool client_mount_worker_return(struct client_slot *s);
/* The request has ended here. */
void client_mount_worker_end(struct fuse_client *f, const struct client_slot *s);
/* The owner has already reported the end of the request to the kernel. */
bool client_mount_worker_is_cancelled(const struct fuse_client *f, const struct client_slot *s);

/* client_entry.c: entries for the kernel */

/* Makes the kernel's entry from the server's. 0 and the node; NULL for a name that does not
 * exist or that the kernel already caches. Else the error for the kernel. */
int client_entry_take(struct fuse_client *f, const struct client_slot *s, struct client_answer *a,
		      struct fuse_entry_out *entry, struct client_node **ret);
/* Makes the kernel's entry of the prefetch's next one; nodeid 0: the kernel gets the name only. */
void client_entry_prefetched(struct fuse_client *f, struct client_prefetch *l, bool special,
			     struct fuse_entry_out *entry);
/* The kernel rejected these entries: undoes their lookups. */
void client_entries_undo(struct fuse_client *f, const struct client_answer *a);

/* client_shown.c: what the kernel knows of nodes */

/* Call before the kernel learns attributes of the node; of unknown nodes. */
void client_shown_note(struct fuse_client *f, uint64_t nodeid);
void client_shown_note_all(struct fuse_client *f);
/* The kernel forgets the node. */
void client_shown_forgotten(struct fuse_client *f, const struct client_node *node);
/* Whether the kernel learned something of the node after that count. */
bool client_shown_since(const struct fuse_client *f, const struct client_node *node,
			uint64_t n_shown);

/* client_prefetch.c: entries that come with the opening of a directory. */

/* Returns the prefetches' pages to the system. */
void client_prefetches_trim(struct fuse_client *f);
/* How many bytes of entries the OPENDIR of the directory is to ask for. */
uint32_t client_prefetch_bytes(struct fuse_client *f, uint64_t nodeid, uint64_t now_ns);
/* Sets that number in the request. */
void client_prefetch_request(struct client_slot *s, uint32_t bytes);
/* Moves the entries from the answer into the prefetch of the kernel's file handle. 0; -EIO:
 * malformed. */
int client_prefetch_take(struct fuse_client *f, const struct client_slot *s,
			 struct client_answer *a, uint64_t fh);
/* The answer had no entries: if they were requested, the directory is too large. */
void client_prefetch_none(struct fuse_client *f, const struct client_slot *s);
/* Answers a READDIR or READDIRPLUS from the prefetch. False: ask the server. */
bool client_prefetch_answer(struct fuse_client *f, const struct fuse_in_header *in,
			    const struct client_node *node, const struct fuse_read_in *read,
			    uint64_t now_ns);
void client_prefetch_close(struct fuse_client *f, uint64_t fh);
/* The names in the directory may have changed. */
void client_dir_cache_drop(struct fuse_client *f, uint64_t nodeid);

/* The cached entries of the directory. NULL: not cached, or the kernel knows newer entries. */
const struct client_dir_cache *client_dir_cache_get(struct fuse_client *f, uint64_t nodeid,
						    const struct client_node *node,
						    uint64_t now_ns);
/* A prefetch for the new file handle, copied from the cache. */
void client_prefetch_from_cache(struct fuse_client *f, const struct client_dir_cache *k,
				uint64_t fh, uint64_t now_ns);

/* client_local_dir.c: directories that are open locally. */

/* The error that the kernel gets for a request that failed with `error`, which differs for local
 * directories. */
int client_local_dir_error(const struct fuse_client *f, const struct client_slot *s, int error);

/* client_deferred_ctime.c: SETATTRs that change nothing but the ctime. */

/* The server has executed the request after the SETATTR was deferred, which updates the ctime. */
void client_deferred_ctime_applied(struct fuse_client *f, const struct client_slot *s);
/* The answer to a TOUCH; msg NULL: the session ended before it came. */
void client_deferred_ctime_answered(struct fuse_client *f, const struct client_slot *s, void *msg,
				    size_t len);
/* Sends the updates that are due by until_ns. */
void client_deferred_ctime_flush(struct fuse_client *f, uint64_t until_ns);

/* client_interrupt.c: timeouts of soft mounts, and requests of killed processes. */

void client_interrupt_request(struct fuse_client *f, const void *req, size_t len, uint64_t now_ns);

/* client_killed.c: requests of killed processes. */

/* The process of the slot's request had a signal. */
void client_killed_signalled(struct fuse_client *f, struct client_slot *s, uint64_t now_ns);
/* Looks whether the process of the slot's request is being killed, and ends the request then. A
 * request that waits here ends at once. For a request at the server, the client sends an interrupt
 * and waits for a moment, so that a dead process leaves nothing in progress. */
void client_killed_look(struct fuse_client *f, struct client_slot *s, uint64_t now_ns);
/* Answers the program, whatever the server does with the request. */
void client_killed_abandon(struct fuse_client *f, struct client_slot *s, int error);

/* client_rdma.c: bulk data via RDMA. */

/* The server reports that the pair of a leg, as of that client_rdma.serial, has failed. */
void client_rdma_pair_failed(struct fuse_client *f, unsigned leg, uint32_t serial);
/* Whether a request for a pair of the port is pending. */
bool client_rdma_is_asking(const struct fuse_client *f, unsigned port);
/* Whether to offer the request's data via RDMA; its answer has its buffer. */
bool client_rdma_offer(struct fuse_client *f, struct client_slot *s, struct fuse_proto_bulk *ret);
/* The server could not fetch the data of a WRITE, or must not send those of a READ: queues the
 * request again, in packets if allowed. */
bool client_rdma_retry(struct fuse_client *f, struct client_slot *s, const struct client_answer *a);
/* Handles the answer's report on offered memory: drops failed pairs, and adds the transferred
 * data to the answer. 0; -EIO: malformed. */
int client_rdma_take(struct fuse_client *f, struct client_slot *s, struct client_answer *a,
		     void **msg);

/* client_slot.c */

/* takes_rdma: memory for data may be registered. */
int client_slots_init(struct fuse_client *f, bool takes_rdma);
/* Populates as much memory for the first request as the predecessor's largest needed. */
void client_slots_warm(struct fuse_client *f);
void client_slots_done(struct fuse_client *f);
/* A buffer for a large request. NULL: none. */
uint8_t *client_slot_req_buf(struct fuse_client *f);
/* A buffer for a large answer to the slot's request. False: none. */
bool client_slot_resp_get(struct fuse_client *f, struct client_slot *s);
/* Sets f->request to the request of n bytes in f->read_buf; a small one is copied to the first free
 * slot, so that a server's device cannot change it while it is checked and used. Of larger ones
 * (WRITE, SETXATTR and BATCH_FORGET) the device can change only the data. */
void client_slot_request_copy(struct fuse_client *f, size_t n);
/* Takes the request of len bytes in f->request into a slot; for a large one f->read_buf changes
 * hands. NULL: no slot or no buffer. */
struct client_slot *client_slot_take(struct fuse_client *f, uint32_t len, uint64_t now_ns);
/* A slot for a request whose bytes stay where they are; there must be a free one. */
struct client_slot *client_slot_borrow(struct fuse_client *f, uint8_t *req, uint32_t len,
				       uint64_t now_ns);
/* A slot for an internal request, with a header of that opcode, a new request number and an
 * argument of arg_len bytes. NULL: none. */
struct client_slot *client_slot_internal(struct fuse_client *f, enum client_slot_kind kind,
					 uint32_t opcode, const void *arg, size_t arg_len);
void client_slot_free(struct fuse_client *f, struct client_slot *s);
void client_slot_queue(struct fuse_client *f, struct client_slot *s);
void client_slot_unqueue(struct fuse_client *f, struct client_slot *s);
/* Marks the slot's request as answered: the kernel has a reply, or expects none. */
void client_slot_answered(struct fuse_client *f, struct client_slot *s);
/* Whether the request was resent: its answer may then be older than later changes. */
static inline bool client_slot_is_resent(const struct client_slot *s)
{
	return s->resent || s->unique & FUSE_PROTO_UNIQUE_RESEND;
}
struct client_slot *client_slot_find(struct fuse_client *f, uint64_t unique);
/* The cookie of the slot's current call, and back; NULL: not a call in flight. */
uint64_t client_slot_cookie(const struct fuse_client *f, const struct client_slot *s);
struct client_slot *client_slot_from_cookie(struct fuse_client *f, uint64_t cookie);

#endif
