/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private header of the FUSE client: its state, its slots, and the functions that its files share.
 * Only dataplane/fuse/client/ and its subfolders include it.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_INTERNAL_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_INTERNAL_H

#include "dataplane/fuse/client/client_kept_files.h"
#include "dataplane/fuse/client/client_limits.h"
#include "dataplane/fuse/client/client_locks.h"
#include "dataplane/fuse/client/client_stage.h"
#include "dataplane/fuse/client/client_write_back.h"
#include "dataplane/fuse/client/fuse_client.h"
#include "dataplane/fuse/client/tables/client_cache.h"
#include "dataplane/fuse/client/tables/client_files.h"
#include "dataplane/fuse/client/tables/client_pool.h"
#include "dataplane/fuse/client/tables/client_rate.h"
#include "dataplane/fuse/client/tables/client_tail.h"
#include "dataplane/fuse/proto/fuse_hello.h"
#include "dataplane/port/rdma/port_rdma.h"

/* A cookie identifies a call to the server. Calls that use a slot have cookies up to this value;
 * the other cookies are for calls without a slot. */
#define CLIENT_COOKIE_SLOT_MAX UINT32_MAX
#define CLIENT_COOKIE_HELLO UINT64_MAX
#define CLIENT_COOKIE_BYE (UINT64_MAX - 1)
#define CLIENT_COOKIE_RDMA (UINT64_MAX - 2)
#define CLIENT_COOKIE_PING (UINT64_MAX - 3)
#define CLIENT_COOKIE_LOCKS (UINT64_MAX - 4)
#define CLIENT_SLOTS FUSE_PROTO_CALLS_MAX
/* Count of slots that are reserved for requests that the client itself makes. The client must be
 * able to send these even if requests of the kernel occupy all other slots and wait for them. */
#define CLIENT_SLOTS_INTERNAL 32
/* Requests and responses up to this size are stored in the slot. */
#define CLIENT_SMALL_BYTES 8192U
/* Count of large buffers that READs leave free for WRITEs and for answers to other requests */
#define CLIENT_READ_RESERVE 12
/* How long the server has to end the request of a killed process before the client ends it. */
#define CLIENT_KILLED_NS NSEC_PER_SEC
/* The client checks processes that got a signal at this interval: a fatal signal may follow a
 * harmless one, and FUSE reports only the first. */
#define CLIENT_LOOK_NS (200 * NSEC_PER_MSEC)
/* The kernel does not report signals while a program waits for direct I/O. So for a request that
 * takes longer than this, the client checks at this interval whether its process is being
 * killed. */
#define CLIENT_LONG_NS (2 * NSEC_PER_SEC)

enum client_slot_state {
	CLIENT_SLOT_FREE,
	CLIENT_SLOT_PENDING,
	CLIENT_SLOT_SENT,
	CLIENT_SLOT_DISPATCHED, /* another worker of the mount handles the request */
};

enum client_slot_kind {
	CLIENT_SLOT_KERNEL,  /* the kernel's request, which needs a reply */
	CLIENT_SLOT_REOPEN,  /* the client's own request, like all kinds that follow: reopen `file`
			      */
	CLIENT_SLOT_RELEASE, /* close `file` and the files that follow it in the list */
	CLIENT_SLOT_INTERRUPT,	  /* interrupt the request of another slot */
	CLIENT_SLOT_LOCK_CANCEL,  /* cancel a waiting lock request */
	CLIENT_SLOT_LOCK_RECLAIM, /* reclaim a lock, or report that all locks are reclaimed */
	CLIENT_SLOT_TOUCH,	  /* update the ctime of a node, see client_deferred_ctime.c */
	CLIENT_SLOT_WRITE_BACK,	  /* send held data of a file, whose index is `file`, or return its
				     lease */
};

struct client_slot {
	/* Links in the queue of pending requests. The list of free slots uses only `next`. */
	struct client_slot *prev, *next;
	struct client_slot *older,
		*newer; /* the kernel's unanswered requests in order of arrival */
	enum client_slot_state state;
	enum client_slot_kind kind;
	uint32_t opcode;
	uint32_t pid;
	uint64_t unique; /* ID of the request as the kernel sent it, including its RESEND bit; the
			    reply has the same ID */
	uint8_t *req; /* &small[0] or a buffer from the pool; has room for a tail after the request
		       */
	uint32_t req_len;  /* length of the request without the tail */
	uint32_t resp_max; /* maximum number of bytes of the answer */
	uint8_t *resp; /* buffer of the pool for the answer, if resp_max is above CLIENT_SMALL_BYTES
			  and the request was sent */
	uint8_t *small; /* CLIENT_SMALL_BYTES for the request, then as many for the response */
	struct client_refs refs;
	struct client_node *nodes[CLIENT_REFS_MAX]; /* nodes that refs names; each node is
						       pinned, so that its record stays in
						       use */
	uint32_t file;				    /* REOPEN and RELEASE: index of the file */
	uint32_t n_changes; /* value of nodes[0]->n_changes when the request was sent */
	uint32_t n_written; /* value of client_cache_written_count() for nodes[0] when the request
			       was sent */
	uint64_t n_dropped; /* value of client_files.n_dropped when the request was sent */
	/* After ENFILE, the request is sent again when client_files.n_dropped has this value. 0:
	 * the server has not answered ENFILE. */
	uint64_t retry_at;
	uint64_t n_shown;    /* value of client_prefetches.n_shown when the request was taken */
	uint64_t arrived_ns; /* when the request was read or, if a limit held it back, when that
				ended */
	uint64_t held_ns;    /* since when a limit of the mount holds the request back; 0: none
				does */
	bool paid;	     /* the limits of the mount have counted the request */
	uint64_t killed_ns;  /* when the process was first found to be dying; 0: never */
	bool interrupted;    /* the process got a signal */
	/* bulk_legs: a bit for each leg over which RDMA memory was offered to the server. bulk_len:
	 * bytes of that memory. bulk_serial: value of client_rdma.serial when the memory was
	 * offered. */
	uint8_t bulk_legs;
	bool bulk_failed; /* RDMA has failed for this request, so its data must be sent in
			     packets */
	bool resent;	  /* the client sent the request in more than one session */
	uint32_t bulk_len, bulk_serial;
	bool answered; /* the kernel has a reply already, although the server has not answered yet
			*/
	bool lock_granted;    /* SETLKW: the server has granted the lock, but its answer to this
				 request has not arrived */
	uint64_t n_grants;    /* value of client_locks.n_grants when the request was sent */
	bool accepted;	      /* the kernel accepted the reply */
	bool returned;	      /* this mount worker gives the request back to the owner */
	uint32_t worker_slot; /* for a request that was dispatched to a mount worker: index of
				 its mount_worker_slot plus one; at the owner, the index counts
				 the slots of all mount workers */
	uint16_t serial;      /* incremented for each use of the slot, so that cookies differ */
};

enum client_link {
	CLIENT_AWAY,   /* the client has no session, or the session has ended */
	CLIENT_HELLO,  /* the session is up, and INIT was sent */
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
	struct port_rdma *ports; /* the RDMA devices of the legs; NULL: no leg may use RDMA */
	unsigned n_ports;
	uint32_t read_min, write_min;
	struct port_rdma_pool *pool; /* the client's buffers as registered with the devices;
					NULL: the buffers are not registered */
	struct port_rdma_peer *peer; /* queue pairs with the server, by local port */
	uint8_t asked, checked; /* Bit masks of legs. asked: the pending message requests a queue
				   pair for the leg; checked: the message checks the leg's queue
				   pair. */
	bool waits;		/* a message about queue pairs is pending */
	bool encrypted;
	bool only;	  /* the data of READs and WRITEs above the RDMA limits must not be sent in
			     packets */
	bool mixed;	  /* servers mix InfiniBand and Ethernet: RDMA is stopped */
	bool has_waiting; /* requests wait for RDMA */
	uint64_t retry_ns, asked_ns;
	uint32_t n_changes; /* value of port_rdma_changes() when the last message was sent */
	/* serial: count of queue pairs made since the start; made: value of serial when the pair of
	 * each port was made. They show whether a request was sent before the pair was made. */
	uint32_t serial, made[PORT_RDMA_LEGS_MAX];
	enum port_rdma_reason reasons[PORT_RDMA_LEGS_MAX];
	struct client_rdma_leg {
		bool lost; /* the leg's queue pair has failed since the client last tried to create
			      one */
		uint64_t made_ns, wait_ns, due_ns;
		uint32_t n_changes; /* value of port_rdma_changes() when the next attempt was
				       postponed */
		uint32_t qpn;	    /* queue pair number of the server's half */
		uint8_t link;	    /* the client's link type in the last message */
		uint8_t layers;	    /* CLIENT_LAYER_* that the server reported for its side of
				       the leg; 0: not reported */
		uint64_t read_bytes, write_bytes;
	} legs[PORT_RDMA_LEGS_MAX];
	struct client_rdma_msg msg;
	uint8_t resp[sizeof(struct fuse_out_header) + sizeof(struct fuse_proto_rdma)];
};

/* An RDMA test that an operator started; it consists of requests with several transfers each. */
struct client_ping {
	struct launch_ping run; /* id 0: no test */
	uint8_t *buf;		/* buffer of the pool */
	uint32_t buf_bytes;	/* how many bytes of buf may have been written */
	bool waits;		/* a request is pending: the server may access buf */
	bool is_stale;		/* the pending request belongs to an earlier test */
	bool over; /* the test has ended, but the worker has not fetched the result from `run` yet
		    */
	bool is_servers;	  /* the server requested the test, and keeps the result */
	struct launch_ping order; /* the next test that the server requested; id 0: none */
	uint32_t serial;	  /* value of client_rdma.serial when the request was sent */
	uint64_t sent_ns;	  /* when the request was sent */
	uint64_t until_ns, due_ns;
	uint64_t pause_until_ns; /* time before which no test that the server requests starts */
	struct fuse_proto_ping asked;
	struct client_ping_msg {
		struct fuse_in_header in;
		uint8_t head[offsetof(struct fuse_proto_ping, each_ns)];
	} msg;
	uint8_t resp[sizeof(struct fuse_out_header) + sizeof(struct fuse_proto_ping)];
	uint32_t each_ns[LAUNCH_PING_COUNT_MAX];
};

/* A redirect: when a server refuses a session, it can name the worker to which the client must
 * connect. */
struct client_redirect {
	struct datagram_addr to;
	uint64_t since_ns; /* when the current attempt began */
	bool pending;	   /* the client must connect to the worker at `to`, as soon as it can
			      end the session */
	bool active;	   /* the session is only with the worker at `to` */
	unsigned n;	   /* count of redirects since the mount was last served */
};

/* A refusal of the session by the server that an operator has to resolve. */
struct client_refusal {
	int error;	   /* negative errno for programs; 0: their requests wait */
	uint64_t since_ns; /* time of the first refusal in a row */
	uint64_t last_ns;  /* time of the latest refusal */
};

#define CLIENT_DEFERRED_CTIME_MAX 16

/* A deferred ctime update: the client has acknowledged a SETATTR that changed nothing but the
 * ctime, and the server still has to update the ctime. */
struct client_deferred_ctime {
	struct client_node *node; /* the node, which is pinned and marked with
				     CLIENT_NODE_CTIME_DEFERRED */
	uint64_t due_ns;
	bool sent;
};

/* How long prefetched entries are used. */
#define CLIENT_PREFETCH_NS (100 * NSEC_PER_MSEC)
/* Up to this age, a cached directory can be opened locally. Above this age, the lease on the names
 * may end before a program has listed the directory and used the entries. The kernel would then
 * look up the expired entries one by one, while the server can return all entries in one answer. */
#define CLIENT_DIR_CACHE_NS (CLIENT_CACHE_NS - CLIENT_PREFETCH_NS)
#define CLIENT_PREFETCHES 8U
#define CLIENT_DIR_CACHE_MAX 1024U
#define CLIENT_SHOWN_MAX 4096U
#define CLIENT_FORGOTTEN 1024U
#define CLIENT_LARGE 64U
#define CLIENT_LOCAL_DIRS_MAX 64U

/* A prefetch: all entries of an open directory, which arrived with the answer to its OPENDIR. */
struct client_prefetch {
	bool used;
	uint64_t fh; /* file handle of the kernel */
	uint64_t opened_ns;
	uint64_t sent_ns, n_shown;
	uint32_t n_changes;	/* value of n_changes of the directory's node when the request was
				   sent */
	uint64_t off;		/* offset at which the reader continues */
	struct client_answer a; /* the unread entries, and their handles */
	uint8_t *bytes;
	bool is_copy; /* a copy of a cached directory */
};

/* Cached entries of a directory for later opens. The server leases the names, so no other client
 * changes them meanwhile. */
struct client_dir_cache {
	uint64_t nodeid; /* ID of the directory's node; 0: the entry is unused */
	uint64_t sent_ns, n_shown;
	uint32_t n_changes;
	uint32_t body_len, handles_len, n_handles;
	uint32_t n_names; /* count of names in the directory, without "." and ".." */
	uint64_t at;	  /* value of dir_cache_at when the entries arrived */
};

/* A directory that is open locally, with entries from the directory cache, but not open at the
 * server. */
struct client_local_dir {
	uint64_t fh;
	uint64_t due_ns;  /* when the server has to open the directory */
	uint32_t n_names; /* lower bound for the number of names left in the directory */
};

struct client_prefetches {
	uint8_t *memory;
	size_t n_touched;
	struct client_prefetch items[CLIENT_PREFETCHES];
	struct client_dir_cache dir_cache[CLIENT_DIR_CACHE_MAX];
	uint8_t *dir_cache_bytes; /* ring buffer of cached entries: new ones overwrite the oldest */
	uint64_t dir_cache_at;	  /* bytes ever written to the ring buffer */
	/* n_shown: counts the events in which the kernel learned or changed attributes of a node.
	 * shown: by node record, the value of n_shown at the last event of this node. n_shown_all:
	 * the value of n_shown at the last event that may concern any node. */
	uint64_t n_shown;
	uint64_t *shown;
	uint64_t n_shown_all;
	uint64_t forgotten[CLIENT_FORGOTTEN]; /* values of `shown` for nodes that the kernel has
						 forgotten, by hash of their handle */
	unsigned n_unread,
		n_skip; /* n_unread: how many consecutive prefetches the programs did not read;
			   n_skip: for how many of the next opens the client requests no prefetch */
	struct {
		uint64_t nodeid, until_ns;
	} large[CLIENT_LARGE]; /* directories too large for a prefetch: none is requested until
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
	struct launch_latencies *latencies;	  /* this mount's latencies on the statistics
						     page */
	uint64_t (*clock_ns)(void);		  /* reads the clock: clock_now_ns(), unless a
						     test replaces it */
	uint64_t soft_ns;			  /* timeout of a soft mount; 0: the mount is
						     hard */
	struct client_stages on;		  /* the active stages, by hook */
	const struct client_stage *const *stages; /* all stages, whether they are active or not */
	size_t n_stages;
	uint64_t state_at;  /* offset of this client's state in the mount's state descriptor */
	uint64_t ledger_at; /* offset of the record of the mount's locks there */
	uint64_t held_at;   /* offset of the mount's held data there */
	bool adopted;	    /* a predecessor served this mount */
	struct client_state state;
	struct client_nodes nodes;
	struct client_files files;
	struct client_cache cache;
	struct client_prefetches prefetch;
	enum client_link link;
	bool unlabelled;
	bool unmounted;
	bool bye_sent, bye_done;
	bool flush_wanted;     /* pending requests may have become sendable */
	uint64_t bye_until_ns; /* until when the client waits for an absent server, to send it
				  DESTROY */
	uint64_t away_since_ns, retry_ns, busy_ns, look_ns, long_ns;
	struct client_deferred_ctime deferred[CLIENT_DEFERRED_CTIME_MAX];
	unsigned n_deferred;
	struct client_kept_files kept;
	struct client_write_back write_back;
	struct client_locks locks;
	uint64_t closing_ns; /* time when the kernel closed the first of the files whose close the
				client has not reported to the server yet */
	uint64_t timeouts, bad_requests, bad_responses;
	/* what the server has reported about its process at the begin of this session */
	struct fuse_proto_server server;
	uint32_t features;    /* FUSE_PROTO_FEATURE_* in force in this session */
	uint32_t reopen_next; /* files with a lower index have been reopened */
	unsigned n_reopening;
	bool reopen_again; /* a file could not be reopened, but may be later */
	struct client_init_msg hello;
	struct client_bye_msg bye;
	uint8_t hello_resp[FUSE_PROTO_RESP_SMALL];
	uint8_t *read_buf; /* buffer of the next request */
	uint8_t *request;  /* the request that is being processed; a small request is a copy, see
			      client_slot_request_copy() */
	uint32_t largest;  /* length of the largest request so far */
	unsigned n_used, n_pending, n_sent, n_interrupted;
	unsigned n_unanswered;	   /* count of the kernel's requests that have no reply yet */
	uint64_t n_read, n_behind; /* n_read: count of requests read since the start; n_behind: how
				      many of them were not the first of their burst */
	bool resend_due;	   /* the kernel must resend a predecessor's unanswered requests */
	/* unanswered_window, unanswered_most: highest number of unanswered requests in the current
	 * window, and in the current and the previous one. */
	unsigned unanswered_most, unanswered_window, n_window;
	/* Limit for the number of requests that keep their slot although the kernel has their
	 * reply, because the server has not answered them yet. */
	unsigned answered_max;
	struct client_slot *free, *free_internal;
	struct client_slot pending; /* list head */
	struct client_slot oldest;  /* head of the list that slot.older and slot.newer form */
	/* pool: buffers of requests and of answers to READ, whose data pages a server may write by
	 * RDMA at any time. parsed: buffers of all other large answers. These are parsed in place,
	 * so their memory is never registered with a device. */
	struct client_pool pool, parsed;
	uint8_t *small_area;
	struct client_rdma rdma;
	struct client_redirect redirect;
	struct client_refusal refusal;
	struct client_limits limits;
	struct client_dispatch *dispatch; /* the owner's state of the mount workers; NULL: the
					     mount has none */
	/* Shared memory of a mount with mount workers, else NULL. */
	struct mount_worker_common *common;
	/* Shared memory of this mount worker; NULL: this is the owner. */
	struct mount_worker_area *area;
	/* Shared memory for requests that this mount worker reads. */
	struct mount_worker_reads *reads;
	struct mount_worker_more *more;
	uint32_t reads_free; /* mount worker: bit mask of the read slots that this worker believes
				to be free */
	uint64_t read_ns;    /* when this worker last read a request */
	bool is_reading;     /* this worker reads requests at present, so for a new request the
				kernel may wake only this worker */
	unsigned mount_worker_number; /* index of this mount worker, from 1; 0: this worker owns the
					 mount */
	struct launch_mount own_mount; /* mount worker: copy of the mount's configuration, but with
					  this mount worker's own id */
	struct client_head *owner;     /* mount worker: the head of the owner's state */
	bool quiescing;		       /* mount worker: takes no more requests */
	uint64_t unserved_ns; /* mount worker: when the owner lost its session with the server; 0:
				 the owner has a session */
	bool finishing;	      /* mount worker: the session only finishes old requests */
	uint64_t connect_ns;  /* mount worker: when to try to connect next */
	struct client_slot slots[CLIENT_SLOTS];
	struct client_ping ping;
};

/* client_reply.c: replies to the kernel */

/* Writes one answer to the kernel. Returns false if the kernel rejected it. */
bool client_reply(struct fuse_client *f, const void *msg, size_t len);
/* Sends msg, which begins with a header, to the kernel as the reply to the slot's request, unless
 * the kernel already has a reply. Returns true if the kernel accepted msg. */
bool client_slot_reply(struct fuse_client *f, struct client_slot *s, void *msg, size_t len);
/* Adds the duration of the slot's request to the latencies of the mount. client_slot_reply() does
 * that itself; a caller of client_reply() must do it. */
void client_slot_note_latency(struct fuse_client *f, const struct client_slot *s);
/* Like client_slot_reply(), for an error, which has no data. */
bool client_slot_reply_error(struct fuse_client *f, struct client_slot *s, int error);
/* Sends a reply without data to the kernel: an error, or 0 for success. */
bool client_reply_error(struct fuse_client *f, uint64_t unique, int error);
/* Sends the error to the kernel if the kernel still waits for a reply, and frees the slot. */
void client_slot_fail(struct fuse_client *f, struct client_slot *s, int error);

/* small helpers */

/* Returns whether there are a free slot and a buffer for a large request. Both are needed before a
 * request is read. */
static inline bool client_has_room(const struct fuse_client *f)
{
	return f->free && f->pool.n_free > 0;
}
/* Returns the current time. now_ns is the same for all requests of a burst, so it is earlier than
 * the arrival of the later requests. Use this function for a time that must not be before the
 * arrival of the request. */
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
/* Returns when to try to send something that is due at due_ns. Returns UINT64_MAX if the request is
 * overdue: the client could not send the request when it was due, so the client tries again after
 * the next answer of the server, not at a fixed time. */
static inline uint64_t client_due_after(uint64_t due_ns, uint64_t now_ns)
{
	return due_ns > now_ns ? due_ns : UINT64_MAX;
}

/* Call when a request with this opcode was sent to the server. */
static inline void client_note_sent(struct fuse_client *f, uint32_t opcode)
{
	launch_stat_add(&f->stats->asked[MIN_OF(opcode, LAUNCH_OPCODES_MAX - 1U)], 1);
}

/* client_init.c: the kernel's INIT, and the INIT that begins a session. */

void client_init_compose(const struct fuse_client *f, struct client_init_msg *ret);
/* Makes the kernel resend the requests that a dead predecessor has not answered. Returns 0 or a
 * negative errno. */
int client_init_resend(struct fuse_client *f);
/* Processes the server's answer to INIT: stores the root's handle, and detects whether changes were
 * lost. Returns 0 or -EPROTO. */
int client_init_served(struct fuse_client *f, void *msg, size_t len);

/* client_request.c: requests on their way to the server. */

/* Parses the slot's request and pins the nodes that it names. Returns 0 or the error for the
 * kernel. */
int client_request_bind(struct fuse_client *f, struct client_slot *s);
/* Replaces the kernel's file handles by the server's, and adds the tail. Returns 0 with the message
 * in *ret_msg, or the error for the kernel. */
int client_request_seal(struct fuse_client *f, struct client_slot *s, const void **ret_msg,
			size_t *ret_len);
/* Processes a FORGET or BATCH_FORGET. */
void client_request_forget(struct fuse_client *f, const void *req, size_t len);

/* client_internal_requests.c: requests that the client itself makes. */

/* Begins the session: sends INIT, reopens files, then sets the link state to CLIENT_READY. */
void client_internal_begin(struct fuse_client *f, uint64_t now_ns);
void client_internal_hello_answer(struct fuse_client *f, int status, void *msg, size_t len,
				  uint64_t now_ns);
/* Processes the answer to an internal OPEN. The file is open at the server again, or is lost. After
 * a transient error, the client opens the file again later. msg is NULL if the session ended before
 * the answer arrived. */
void client_internal_reopened(struct fuse_client *f, const struct client_slot *s, void *msg,
			      size_t len, uint64_t now_ns);
/* Call when a RELEASE of several files has ended. first: the first of these files in their list.
 * closed: the server has closed them, so their records are freed. If the server has not, the files
 * are queued again in the same order. */
void client_internal_released(struct fuse_client *f, uint32_t first, bool closed);
/* Sends a request of the client itself about the node, with root's identity. Returns false if that
 * is not possible now. */
bool client_internal_ask(struct fuse_client *f, enum client_slot_kind kind, uint32_t opcode,
			 struct client_node *node, const void *arg, size_t arg_len);
/* Returns whether the error may go away by itself, so that the request may be tried again later. */
bool client_internal_is_transient(int error);
/* Sends a WRITE of held data. i: index of the file. msg: memory with the data at
 * FUSE_PROTO_WRITE_DATA, and room for a message around them, which stays unchanged until the answer
 * arrives; NULL: no data. Returns false if that is not possible now. */
bool client_internal_write(struct fuse_client *f, unsigned i, struct client_node *node,
			   uint32_t uid, uint32_t gid, const struct fuse_write_in *in,
			   uint8_t *msg);
/* Reports all closed files to the server. Call it before a request whose result depends on which
 * files are open. */
void client_internal_release(struct fuse_client *f);
void client_internal_interrupt(struct fuse_client *f, const struct client_slot *of);
/* Opens one file at the server. Returns false if that is not possible now. */
bool client_internal_reopen(struct fuse_client *f, uint32_t file);
bool client_internal_is_reopening(const struct fuse_client *f, uint32_t file);

/* workers/: functions of that folder that other folders of the client call. If there are no mount
 * workers, the functions for the owner of a mount do nothing. */

/* Returns whether any mount worker has unfinished requests that may refer to the node. */
bool client_dispatch_has_pending(const struct fuse_client *f, const struct client_node *node);
/* Returns when the mount worker that has the slot's request was last able to serve it; UINT64_MAX:
 * it is able to. */
uint64_t client_dispatch_served_ns(const struct fuse_client *f, const struct client_slot *s,
				   uint64_t now_ns);
/* Tells the mount worker not to reply to the kernel when the request ends, because the owner
 * replies. */
void client_dispatch_cancel(struct fuse_client *f, const struct client_slot *s);
void client_dispatch_close(struct fuse_client *f, uint64_t fh);
/* Tells the mount workers whether this worker has a session with the server. */
void client_dispatch_report_served(struct fuse_client *f);
void client_dispatch_report_unmounted(struct fuse_client *f);
/* Call when all resent requests have been read. */
void client_dispatch_resend_done(struct fuse_client *f);
/* Returns whether it is certain that no mount worker is reading from the kernel. If this is not
 * certain, the client must not ask the kernel to resend the requests that a predecessor had
 * begun. */
bool client_forward_quiesce(struct fuse_client *f);
/* Processes FORGETs that were forwarded to a predecessor. The kernel does not resend these, unlike
 * all other requests. */
void client_forward_take_forgets(struct fuse_client *f);
/* Call when a process got a signal whose request may be at a mount worker. */
void client_forward_interrupt(struct fuse_client *f, uint64_t unique, uint64_t now_ns);
/* Resumes a predecessor's requests; call it after all stages are initialized. */
void client_mount_worker_start(struct fuse_client *f, uint64_t now_ns);
int client_mount_worker_pull(struct fuse_client *f, bool all, uint64_t now_ns);
/* Returns whether this mount worker may connect to the server. It waits until the owner of the
 * mount has connected, except when it must finish old requests. */
bool client_mount_worker_may_connect(const struct fuse_client *f, uint64_t now_ns);
/* Returns and records the purpose of the next session; the hello of that session contains the
 * purpose. */
enum fuse_hello_purpose client_mount_worker_hello(struct fuse_client *f);
/* Gives the slot's request back to the owner of the mount, if possible. Returns whether it did; the
 * caller must then free the slot. */
bool client_mount_worker_return(struct client_slot *s);
/* Call when the request has ended at this mount worker. */
void client_mount_worker_end(struct fuse_client *f, const struct client_slot *s);
/* Returns whether the owner has already reported the end of the request to the kernel. */
bool client_mount_worker_is_cancelled(const struct fuse_client *f, const struct client_slot *s);

/* client_entry.c: the entries (names with nodes and attributes) that the kernel gets. */

/* Makes the kernel's entry from the server's entry. Returns 0 with the node in *ret, or the error
 * for the kernel. *ret is NULL if the name does not exist, or if the kernel already caches the
 * entry. */
int client_entry_take(struct fuse_client *f, const struct client_slot *s, struct client_answer *a,
		      struct fuse_entry_out *entry, struct client_node **ret);
/* Makes the kernel's entry from the next entry of the prefetch. If entry->nodeid is 0 afterwards,
 * the kernel gets only the name. */
void client_entry_prefetched(struct fuse_client *f, struct client_prefetch *l, bool special,
			     struct fuse_entry_out *entry);
/* Undoes the lookups of the entries in the answer, because the kernel rejected the answer. */
void client_entries_undo(struct fuse_client *f, const struct client_answer *a);

/* client_shown.c: when the kernel last learned something about a node */

/* Call before the kernel learns attributes of the node, or (_all) may learn attributes of any
 * node. */
void client_shown_note(struct fuse_client *f, uint64_t nodeid);
void client_shown_note_all(struct fuse_client *f);
/* Call when the kernel forgets the node. */
void client_shown_forgotten(struct fuse_client *f, const struct client_node *node);
/* Returns whether the kernel has learned something about the node since client_prefetches.n_shown
 * had the value n_shown. */
bool client_shown_since(const struct fuse_client *f, const struct client_node *node,
			uint64_t n_shown);

/* client_prefetch.c: entries of a directory that arrive with the answer to OPENDIR. */

/* Returns the memory of prefetches to the system. */
void client_prefetches_trim(struct fuse_client *f);
/* Returns how many bytes of entries the OPENDIR of the directory should request. */
uint32_t client_prefetch_bytes(struct fuse_client *f, uint64_t nodeid, uint64_t now_ns);
/* Sets in an OPENDIR request how many bytes of directory entries the client wants. */
void client_prefetch_request(struct client_slot *s, uint32_t bytes);
/* Moves the entries from the answer into the prefetch of the kernel's file handle. Returns 0, or
 * -EIO if they are malformed. */
int client_prefetch_take(struct fuse_client *f, const struct client_slot *s,
			 struct client_answer *a, uint64_t fh);
/* Call when the answer to an OPENDIR had no entries. If the request asked for entries, the
 * directory is too large for a prefetch. */
void client_prefetch_none(struct fuse_client *f, const struct client_slot *s);
/* Answers a READDIR or READDIRPLUS from the prefetch. Returns false if the server must be asked. */
bool client_prefetch_answer(struct fuse_client *f, const struct fuse_in_header *in,
			    const struct client_node *node, const struct fuse_read_in *read,
			    uint64_t now_ns);
void client_prefetch_close(struct fuse_client *f, uint64_t fh);
/* Call when the names in the directory may have changed. */
void client_dir_cache_drop(struct fuse_client *f, uint64_t nodeid);

/* Returns the cached entries of the directory. Returns NULL if it is not cached, or if the kernel
 * knows something newer. */
const struct client_dir_cache *client_dir_cache_get(struct fuse_client *f, uint64_t nodeid,
						    const struct client_node *node,
						    uint64_t now_ns);
/* Fills the prefetch of the new file handle from the cache. */
void client_prefetch_from_cache(struct fuse_client *f, const struct client_dir_cache *k,
				uint64_t fh, uint64_t now_ns);

/* client_local_dir.c: directories that are open locally. */

/* Returns the error that the kernel gets for a request that failed with `error`. This error differs
 * from `error` only for a request that uses a local directory which could not be reopened at the
 * server. */
int client_local_dir_error(const struct fuse_client *f, const struct client_slot *s, int error);

/* client_local_open.c: opens that the client answers without the server. */

/* Returns a short identifier of the request, made of the lowest bits of its number. The result is
 * never 0. */
uint32_t client_local_open_id(const struct fuse_in_header *in);
/* Replies to the open in->unique with this file. Closes the file if the kernel rejects the
 * reply. */
void client_local_open_reply(struct fuse_client *f, const struct fuse_in_header *in,
			     struct client_file *file, uint32_t open_flags);
/* Handles an open that a predecessor may have answered although the kernel never got the answer:
 * replies with the same file. Returns false if the predecessor has not answered it. */
bool client_local_open_repeat(struct fuse_client *f, const struct fuse_in_header *in,
			      uint32_t open_flags);

/* client_rdma.c: bulk data via RDMA. */

/* Call when the server reports that the pair of a leg has failed. serial: value of
 * client_rdma.serial when the client sent the request to whose answer the report belongs. */
void client_rdma_pair_failed(struct fuse_client *f, unsigned leg, uint32_t serial);
/* Returns whether a request for a pair of the port is pending. */
bool client_rdma_is_asking(const struct fuse_client *f, unsigned port);
/* Decides whether to offer memory for the request's data via RDMA. If so, returns true with the
 * offer in *ret. For a READ, the buffer for the answer must be allocated already. */
bool client_rdma_offer(struct fuse_client *f, struct client_slot *s, struct fuse_proto_bulk *ret);
/* Call when RDMA could not transfer the data of a READ or WRITE. Queues the request again, with its
 * data in packets if that is allowed. */
bool client_rdma_retry(struct fuse_client *f, struct client_slot *s, const struct client_answer *a);
/* Processes what the answer says about offered memory: drops failed pairs, and adds the data that
 * arrived by RDMA to the answer. Returns 0, or -EIO if this part of the answer is malformed. */
int client_rdma_take(struct fuse_client *f, struct client_slot *s, struct client_answer *a,
		     void **msg);

/* client_slot.c */

/* takes_rdma: whether the memory for data may be registered with RDMA devices. */
int client_slots_init(struct fuse_client *f, bool takes_rdma);
/* Allocates, in advance, memory for the first large request: as much as the predecessor's largest
 * request needed. */
void client_slots_warm(struct fuse_client *f);
void client_slots_done(struct fuse_client *f);
/* Returns a buffer for a large request, or NULL if none is free. */
uint8_t *client_slot_req_buf(struct fuse_client *f);
/* Gets a buffer for a large answer to the slot's request. Returns false if none is free. */
bool client_slot_resp_get(struct fuse_client *f, struct client_slot *s);
/* Sets f->request to the request of n bytes in f->read_buf. A small request is copied to the first
 * free slot, so that a server's RDMA device cannot change the request while the client checks and
 * uses it. Of larger requests (WRITE, SETXATTR and BATCH_FORGET) the device can change only the
 * data. */
void client_slot_request_copy(struct fuse_client *f, size_t n);
/* Moves the request of len bytes in f->request into a slot; for a large request the slot takes
 * f->read_buf. Returns NULL if no slot or buffer is free. */
struct client_slot *client_slot_take(struct fuse_client *f, uint32_t len, uint64_t now_ns);
/* Returns a slot for a request whose bytes stay where they are. The caller must make sure that
 * there is a free slot. */
struct client_slot *client_slot_borrow(struct fuse_client *f, uint8_t *req, uint32_t len,
				       uint64_t now_ns);
/* Returns a slot with an internal request: a header with that opcode and a new request number, and
 * an argument of arg_len bytes. Returns NULL if no slot is free. */
struct client_slot *client_slot_internal(struct fuse_client *f, enum client_slot_kind kind,
					 uint32_t opcode, const void *arg, size_t arg_len);
void client_slot_free(struct fuse_client *f, struct client_slot *s);
void client_slot_queue(struct fuse_client *f, struct client_slot *s);
void client_slot_unqueue(struct fuse_client *f, struct client_slot *s);
/* Marks the slot's request as answered: the kernel has a reply, or expects none. */
void client_slot_answered(struct fuse_client *f, struct client_slot *s);
/* Returns whether the request was sent more than once. The server may then have repeated an earlier
 * answer, which does not show later changes. */
static inline bool client_slot_is_resent(const struct client_slot *s)
{
	return s->resent || s->unique & FUSE_PROTO_UNIQUE_RESEND;
}
struct client_slot *client_slot_find(struct fuse_client *f, uint64_t unique);
/* client_slot_cookie: returns the cookie of the slot's current call. client_slot_from_cookie:
 * returns the slot of a cookie, or NULL if that call is not in flight. */
uint64_t client_slot_cookie(const struct fuse_client *f, const struct client_slot *s);
struct client_slot *client_slot_from_cookie(struct fuse_client *f, uint64_t cookie);

#endif
