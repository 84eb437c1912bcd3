/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The structures that the folders of the server share: exports, objects, mounts, clients, open
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
#include "dataplane/fuse/server/locks/lock_table.h"
#include "dataplane/port/rdma/port_rdma.h"
#include "netcfg/base/list.h"
#include "netcfg/base/reason.h"
#include <fcntl.h>
#include <liburing.h>
#include <sys/stat.h>

struct server_pin_request {
	uint32_t word; /* value of state_pin.used when this worker requested the pin; 0: this worker
			  has not requested the pin */
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
	bool handles;	/* the file system supports file handles */
	bool in_memory; /* the export is on a memory file system, where reads and writes never block
			 */
	bool ring_unfit;   /* io_uring delays reads from memory on this kernel, so the server does
			      not use it for them */
	uint64_t verifier; /* sent in the reply to INIT */
	struct journal *journal;
	struct state *state;
	unsigned n_reclaiming;	/* count of mounts that still have to reclaim their files */
	unsigned n_in_grace;	/* how many of those mounts are in their grace period */
	bool sweep_due;		/* the server must check whether pins can be released */
	uint32_t n_provisional; /* count of provisional pins by this process */
	struct server_pin_request *pin_requests; /* the pins that this process has requested; the
						    index is that of the pin's record in the
						    state */
	uint32_t repin_next;	/* next record that server_helper_repin() handles */
	uint32_t pins_measured; /* count of pins whose space is known or has been requested */
	uint64_t pins_bytes;	/* bytes of the pinned files that no client has open */
	uint64_t last_table_id; /* last number given to a handle of kind FUSE_HANDLE_TABLE */
	uint32_t n_open;	/* files open at clients, without directories */
	uint64_t name_hash;	/* hash of the export's name; other workers find the export by it */
	uint64_t sweep_ns;	/* when to check the pins next */
};

/* An object of an export, cached while it is in use or was recently. */
struct server_node {
	struct server_node *next;     /* next in the chain by handle */
	struct server_node *next_ino; /* next in the chain by inode number, for FUSE_HANDLE_TABLE */
	struct server_node *newer, *older;
	struct server_list *list; /* the LRU list that contains the node; NULL: none */
	struct server_export *export;
	uint64_t dev, ino;
	mode_t fmt;
	uint32_t tick;	    /* fuse_server.tick at the last use */
	uint32_t refs;	    /* count of open files and running requests */
	uint32_t n_open;    /* open files of clients */
	uint32_t held_mark; /* held_mark: value of `mark` of the last server_files_held() that
			       counted this node */
	int fd;		    /* O_PATH; -1: no descriptor now */
	bool unlinked;	    /* the object was unlinked, so the node keeps its descriptor */
	struct fuse_handle handle;
	struct state_pin *pin; /* the record of the pin that was requested for this node; NULL:
				  none */
};

struct server_list { /* LRU list */
	struct server_node *first, *last;
	uint32_t n;
};

struct server_entry { /* the object to which a name refers */
	struct server_node *node;
	struct fuse_attr attr;
	bool no_xattrs; /* the object has no extended attributes */
};

/* Counts of open files, for the shares in server_quota.c. */
struct server_user { /* a user of a mount, with open files */
	struct server_user *next;
	const struct server_mount *mount;
	uint32_t uid; /* user ID at the client */
	uint32_t n_files;
};
/* The limit that a further open file would exceed, see server_quota.h. SERVER_SHARE_ALL: the limit
 * of the whole worker. */
enum server_share {
	SERVER_SHARE_NONE,
	SERVER_SHARE_ALL,
	SERVER_SHARE_USER,
	SERVER_SHARE_MOUNT,
	SERVER_SHARE_CLIENT,
};

struct server_host { /* a client host with mounts, identified by its address */
	struct server_host *next;
	struct ip_addr addr; /* family 0: the address is unknown */
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
	int fd;		/* descriptor of the file; in a free record: index of the next free
			   record */
	uint32_t busy;	/* count of requests that use fd */
	bool used, is_dir;
	bool released;	 /* the client has closed the file: close it when busy is 0 */
	bool barred;	 /* a lock on the file was broken, so requests with the file fail */
	bool nonblock;	 /* O_NONBLOCK is set, so reads can be batched */
	bool ring_unfit; /* O_NONBLOCK could not be set, so reads of this file are not batched */
	uint64_t known;	 /* size of the file when it was last read */
};
#define SERVER_FILES_PER_CHUNK 128U

struct server_closing { /* files of a mount that are being closed, a limited number of them in each
			   poll */
	struct server_closing *next;
	struct server_mount *mount;
	struct server_file **chunks;
	uint32_t n_chunks, at;
};

/* If a client is away for longer than this many seconds, the server closes its open files. The
 * client must open them again, and its removed files are lost. */
#define SERVER_LEASE_S 90U
/* A client that was not heard for this long loses its file locks. */
#define SERVER_LOCK_LEASE_NS (30 * NSEC_PER_SEC)

struct server_mount {
	/* `next`: next in the list of all mounts. `at`: the pointer in this list that points to
	 * this mount. */
	struct server_mount *next, **at;
	struct server_mount *next_same; /* next mount in the hash chain for export and id */
	struct list idle_node;		/* node in fuse_server.idle while the mount has no
					   session */
	struct list idle_files_node;	/* node in fuse_server.idle_files while the mount has no
					   session but has open files */
	struct fuse_server *server;
	struct server_export *export;
	uint8_t id[16];
	uint64_t last_seen_s; /* when the last session ended (CLOCK_BOOTTIME) */
	uint64_t left_ns,
		heard_ns; /* left_ns: the same time by clock_now_ns(). heard_ns: when the last
			     packet of the last session arrived; 0: there was no session yet */
	unsigned n_clients;
	struct fuse_server_client *client; /* the client of the newest session; NULL: the newest
					      session has ended */
	unsigned n_refs;   /* count of running requests and unacknowledged replies */
	bool gone;	   /* the client has unmounted the mount, which is freed
			      with its last reference */
	bool mount_worker; /* this is the mount of a mount worker, whose files are also open in the
			      mount that it helps */
	bool reclaiming;   /* the client must first reclaim its open files, for example because the
			      mount was adopted */
	bool in_grace;	   /* the mount is reclaiming its files, and its grace period has not
			      ended */
	uint64_t grace_until_ns; /* end of the grace period */
	uint64_t served_by;	 /* ID of the newest client (fuse_server_client.number); requests of
				    older clients are refused */
	uint32_t moving_to;	 /* worker that gets the mount when it is idle; 0: none */
	uint64_t moving_ns;	 /* when the move to another worker began */
	uint64_t no_move_until_ns; /* the mount must not be moved before this time */

	struct server_file **file_chunks;
	uint32_t n_file_chunks;
	int free_file;	  /* first of the free records; -1: none */
	uint32_t n_files; /* count of files, including n_closing files that are being closed */
	uint32_t n_closing;
	uint32_t n_open;     /* how many of the n_files are not directories */
	unsigned n_closings; /* count of server_closing structures with files of the mount */
	bool ended;	     /* the mount is in no list any more, and is freed after the last of its
				files was closed */
	uint32_t n_drops;    /* how often the server has closed the mount's files because its client
				was away */
	struct server_host *host;
	char host_name[PLENUM_NAME_MAX]; /* name that the client gives for its host; "": the client
					    has not connected to this process */

	unsigned journal; /* the mount's number in the export's journal */
	uint64_t number;  /* hash of the mount's id; the same at every worker of the host */
	struct lock_mount_ref locks; /* the mount's entry in the lock table; epoch 0: the server
					does not manage the mount's locks */
	uint64_t locks_seen_ns;	     /* when the mount's lease on its locks was last extended */
	uint32_t lock_breaks; /* the *ret_breaks that lock_mount_is_current() returned when files
				 were last barred */
	unsigned n_breaking;
	uint64_t breaking[LOCK_BREAKS_MAX]; /* locks that are being broken */
	uint64_t barred_ns;		    /* when the server barred the files with the locks in
					       `breaking` */
	/* The record by which the client can reclaim its locks. lock_recorded: the record is on
	 * disk, or the mount needs no record. lock_asked_ns, lock_asked_last_ns: when the server
	 * first and last asked the agent to write the record; 0: never. */
	bool lock_recorded;
	uint64_t lock_asked_ns, lock_asked_last_ns;
	struct {
		uint64_t unique, fh;
	} opened[FUSE_PROTO_CALLS_MAX]; /* results of recent opens, for opens that the client
					   repeats */
};

/* A client's waiting requests whose replies have sizes of the same range, in order of arrival. */
struct server_waits {
	struct server_wait *head, **tail;
};

struct fuse_server_client {
	struct fuse_server *server;
	struct server_mount *mount;
	struct fuse_server_client *prev,
		*next; /* next in the list fuse_server.clients, until the client is freed */
	struct fuse_server_client *next_dying;
	char host[PLENUM_NAME_MAX];
	unsigned n_reqs;
	struct server_source *from;	      /* the host from which the client connects */
	struct server_waits waits[BUF_SIZES]; /* requests that have not started */
	unsigned n_waits;	      /* count of the client's waiting requests of all sizes */
	struct list wait_node;	      /* node in host->waiting while the client has waiting
					 requests */
	uint64_t number;	      /* ID of the client; each accepted client gets a larger ID */
	unsigned peer;		      /* the client's number in the limits of buffers */
	struct rudp_session *session; /* the client's session; NULL: the session has ended */
	uint64_t since_ns;	      /* when the session was accepted */
	struct port_rdma_peer *rdma;  /* queue pairs by leg; NULL: the client never requested any */
	/* Time until which the client's budget for creating queue pairs is used up. */
	uint64_t rdma_spent_ns;
	struct fuse_rights rights;
	bool init_done;
	bool follows; /* the client follows redirects */
	enum fuse_hello_purpose purpose;
	bool read_only;
	bool gone;
	bool failed;	   /* the first EIO of the session was logged */
	uint32_t features; /* negotiated FUSE_PROTO_FEATURE_* */
	/* The call that the server answers when waiting lock requests were granted (NULL:
	 * there is none), and the number of this call. */
	struct rudp_call *lock_call;
	uint64_t lock_unique;
	struct {
		uint64_t read_bytes, write_bytes;
	} by_rdma[LAUNCH_PORTS_MAX];
};

#define SERVER_LEASES_MAX 4 /* two objects and, for each of them, the names in it */

/* A running request. It is stored in the headroom of the buffer for its reply. */
struct server_req {
	struct server_req *prev, *next;	   /* list fuse_server.active */
	struct fuse_server_client *client; /* NULL after the reply */
	struct server_mount *mount;
	struct server_source *from; /* the client host for which this reply buffer counts */
	uint8_t class;		    /* class of the buffer for its reply */
	struct rudp_call *call;	    /* the call to answer; NULL: the client no longer waits */
	struct fuse_in_header *in;
	size_t in_len;
	size_t out_max; /* space in bytes for reply data behind the header */
	/* Journal record of the request if it must not be executed twice; else NULL. */
	struct journal_record *record;
	uint64_t ticket; /* allows a helper to execute the request of `record`; 0: the request was
			    executed */
	uint64_t unique;
	uint32_t client_uid; /* the user at the client */
	struct fuse_server_args args;
	bool interrupted;      /* a lock request: the program that waits for it got a signal */
	bool resent;	       /* the client reports that it may have sent the request before */
	bool ids_mapped;       /* uid, gid and arguments are already mapped to ids of this host */
	uint32_t helper_flags; /* flags for all helper calls of the request */

	/* Members for requests that a helper executes. */
	struct helper_call *helper_call;
	uint64_t helper_since_ns; /* when the helper call was submitted */
	uint8_t helper_queue;	  /* enum helpers_queue */
	bool helper_waits;	  /* the call waits until it is the turn of its host, see
				     server_fair.c */
	void (*then)(struct server_req *q, const struct helper_result *r, int fd);
	struct server_node *pins[2];
	uint8_t tries;
	union {
		uint64_t lock_try_ns; /* when to try this lock request again in a grace period */
		uint64_t hidden_key;  /* LOOKUP, CREATE: the file that the request has found, and on
					 which another mount had the lease; 0: none */
	};
	bool freed_descriptors; /* after EMFILE, the server has closed cached descriptors and has
				   retried the request */
	bool errors_end;	/* the server replies with the error of the call, if it fails */
	bool submitted; /* the call was submitted with the journal record, so a helper closes the
			   record */
	bool no_victim;
	uint16_t name_at; /* offset of a name in the request's arguments */
	void (*retry_op)(struct server_req *q);
	void *temp; /* buffer from the pool of replies */
	size_t temp_bytes;
	size_t list_bytes; /* OPENDIR: length in bytes of the directory's listing, if the helper
			      read the whole listing while opening; else 0 */
	struct { /* READDIR: the entries that the helper has read, and how much of them is in the
		    reply */
		uint32_t count, pos, filled, handles_len;
		uint16_t n_handles;
		bool is_last;
	} listing;
	void (*step)(struct server_req *q); /* the next step of a long request, see
					       server_steps.c */
	/* Next in the queue of retries, in the queue of waiting replies, or in the batch of reads.
	 */
	struct server_req *retry;
	/* Leases on the objects that the request changes. */
	struct server_lease *leases[SERVER_LEASES_MAX];
	bool untracked;		 /* the lease table had no free entry for one of the objects that
				    the request changes */
	uint64_t changes_before; /* value of this worker's share_slot.n_changes when the request
				    began */
	uint64_t begun_ns;	 /* when the request began; 0: there are no other workers */
	uint64_t write_leases_ended; /* value of share_write_leases.n_ended when the request began
				      */

	/* Members for an RDMA transfer of the request's data. */
	struct port_rdma_op bulk;
	uint8_t bulk_leg;
	bool bulk_stale; /* the client has repeated the request in a newer session, so the server
			    must not write to its memory any more */

	/* Members for requests that io_uring executes. */
	void (*done)(struct server_req *q, int res);
	struct server_file *file, *file2; /* files that the io_uring operation uses */
	uint8_t *data;
	uint64_t offset;
	uint32_t want, got;
	int op, op_flags;
	bool ring_unfit;	/* io_uring could not execute the operation, so make a system call
				   instead */
	uint32_t turn;		/* value of fuse_server.ring_turn when the request was submitted */
	uint64_t ring_since_ns; /* when the request was submitted to io_uring; 0: the request is
				   not submitted */
};
_Static_assert(sizeof(struct server_req) + sizeof(struct fuse_out_header) <= BUF_HEADROOM_BYTES,
	       "a request and its reply header fit into the headroom");

/* A request that has not started. It waits for the turn of its host or for a reply buffer. A WRITE
 * may also wait until the server can fetch the data. The structure is in the headroom of the buffer
 * that holds the request. */
struct server_wait {
	struct server_wait *next;
	struct fuse_server_client *client;
	struct rudp_call *call;
	size_t len, reply_bytes;
	uint64_t number; /* ID of the waiting request; a later request has a larger ID */
	uint64_t arrived_ns;
};

/* A WRITE whose data is being fetched; stored in the headroom of the destination buffer. */
struct server_fetch {
	struct port_rdma_op op;
	struct server_fetch *prev, *next;
	struct fuse_server_client *client;
	struct rudp_call *call; /* the call to answer; NULL: the client no longer waits */
	struct fuse_proto_bulk bulk;
	size_t len; /* length of the whole message */
	uint64_t arrived_ns;
	uint8_t leg, failed;
	bool waits; /* the fetch waits, because the queue pairs of all working legs are busy */
};
_Static_assert(sizeof(struct server_fetch) <= BUF_HEADROOM_BYTES, "a fetch fits into the headroom");

/* The running RDMA test, which a client has requested; there is only one at a time. */
struct server_ping {
	struct fuse_server_client *client; /* the client that requested the test; NULL: no test
					      is running */
	struct rudp_call *call;		   /* the call to answer; NULL: the client no longer
					      waits */
	uint64_t unique;
	struct fuse_proto_ping ask, answer;
	uint8_t *data; /* a buffer that is registered with the RDMA device */
	struct server_ping_op {
		struct port_rdma_op op;
		struct fuse_server *server;
		uint64_t begun_ns;
	} ops[FUSE_PROTO_PING_DEPTH_MAX];
	unsigned n_begun, n_under_way;
	bool failed, ordered;
	uint64_t begun_ns, pause_until_ns; /* pause_until_ns: no test begins before this time */
};

/* An RDMA test, with one client on one leg, that an operator at this server has ordered. The client
 * gets the order when it next checks its queue pairs, and then requests several short tests. Their
 * results are added up here. */
struct server_ping_order {
	struct launch_ping run;		   /* id 0: none */
	struct fuse_server_client *client; /* the client that runs the test; NULL: the client's
					      session has ended */
	unsigned leg;
	bool over; /* the test has ended, and the caller has not fetched the result in `run` yet */
	uint64_t until_ns;
	uint32_t each_ns[LAUNCH_PING_COUNT_MAX];
};

/* One queue of an export's I/O helpers, see server_fair.c. */
struct server_fair {
	struct list waiting;		  /* hosts with waiting calls, as nodes of struct
					     server_source_queue */
	const struct server_source *last; /* host of the latest call; NULL: none */
	uint64_t several_ns; /* when a call last came from another host than the call before it */
	uint64_t spent_ns; /* server_source_queue.spent_ns of the host that was served last; a host
			      that begins to wait starts with at least this value */
};

struct fuse_server {
	uint64_t now_ns; /* time of the latest poll */
	/* Index: export and queue. The last entry of an export stands for all queues of the export
	 * together. */
	struct server_fair fair[LAUNCH_EXPORTS_MAX][HELPERS_QUEUE_MAX + 1];
	struct launch_stats *stats;
	const struct launch_config *cfg;
	const char *host; /* name of this host */
	fuse_server_pin_cb pin;
	void *pin_user;
	struct server_export exports[LAUNCH_EXPORTS_MAX];
	unsigned n_exports;
	struct server_mount *mounts; /* list */
	unsigned n_mounts;
	struct lock_table *locks;
	uint64_t locks_ns; /* when server_locks_tick() last ran */
	/* Asks the agent to write or to remove the record of a mount on disk, see
	 * fuse_server_lock_records(); NULL: this worker has no agent. */
	void (*lock_record)(void *user, const struct launch_msg *m);
	void *lock_record_user;
	bool locks_reclaimed;	 /* the server has logged a grace period that has not ended yet */
	bool locks_grace;	 /* this worker has started and must still call
				    lock_mounts_grace() */
	struct reason locks_why; /* why lock requests fail; not set while they succeed */
	uint64_t lock_grants;	 /* value of lock_grants() when clients were last informed of
				    granted locks */
	unsigned n_lock_waits;	 /* count of clients with a lock_call */
	struct server_mount **mounts_by_id; /* hash chains */
	/* idle: mounts without a session; the first has been away for longest. idle_files: those of
	 * them that have open files. */
	struct list idle, idle_files;
	unsigned n_live;      /* count of sessions, at most LAUNCH_SESSIONS_MAX */
	unsigned n_finishing; /* count of further sessions that only finish the requests of mount
				 workers */
	unsigned n_moving;    /* count of mounts that are being moved */
	uint64_t moving_ns;   /* when the moving mounts were last checked */
	uint64_t n_accepted;  /* count of clients accepted since the start */
	bool ending;	      /* the server is shutting down; pins and open files stay for the
				 successor */
	uint64_t incarnation;
	uint64_t table_key[2]; /* key of the signatures of FUSE_HANDLE_TABLE handles, which are
				  valid only in this process */
	struct buf_pool requests, answers;
	struct rudp *rudp;
	struct list sources;	  /* all client hosts, see server_source.h */
	struct list wait_sources; /* hosts with waiting requests, in the order of their turns */
	struct list step_sources; /* hosts that have requests which are executed in steps, in the
				     order of their turns */
	struct {		  /* the two hosts that last sent short requests */
		const struct server_source *from; /* the host; NULL: the entry is unused */
		uint64_t at_ns;
	} latest[2];
	/* For each export: hosts with requests that wait for a free helper call, in the order of
	 * their turns; see server_fair.c. */
	struct list call_waits[LAUNCH_EXPORTS_MAX];
	unsigned n_call_waits; /* count of requests in call_waits */
	uint64_t n_turns;      /* count of turns of the worker since the start */
	int work_begun; /* count of work units (server_wait.c) that were started without waiting
			   since the last poll */
	unsigned n_wait;
	uint64_t n_waited;	/* count of requests since the start that had to wait */
	uint64_t short_ns;	/* when only few reply buffers were free for all hosts together; 0:
				   never */
	bool wait_due;		/* waiting requests may be able to start now */
	uint64_t wait_again_ns; /* when to try again to start waiting requests if wait_due is not
				   set */
	struct port_rdma *rdma; /* the RDMA devices; NULL: RDMA is not used, or the buffers
				   could not be registered */
	struct port_rdma_pool *rdma_pool;
	uint64_t rdma_spent_ns; /* time until which the budget of all clients for creating queue
				   pairs is used up */
	struct server_fetch *fetches;
	unsigned n_fetches,
		n_fetches_waiting; /* n_fetches: count of fetches; n_fetches_waiting: how many of
				      them wait until a queue pair is less busy */
	/* WRITEs whose data cannot be fetched yet, because no buffer is free or the queue pairs are
	 * busy. */
	struct server_wait *fetch_head, **fetch_tail;
	unsigned n_fetch_wait;
	/* READs whose data must be sent via RDMA, but whose queue pairs are busy. */
	struct server_req *reply_head, **reply_tail;
	struct server_req *active;
	unsigned n_active;
	struct server_host *hosts;   /* list */
	struct server_user **users;  /* hash chains */
	uint32_t n_files, files_max; /* count of files and directories that clients have open, and
					its limit */
	struct server_open **opens;  /* hash chains */
	struct server_closing *closing, **closing_tail;
	uint32_t n_closing;  /* count of files that are being closed */
	uint64_t refused_ns; /* when an open was last refused by a limit; 0: never */
	uint32_t refused_uid;
	enum server_share refused_share; /* the limit that the refused open would have exceeded */
	char refused_host[PLENUM_NAME_MAX];
	struct reason short_of; /* why clients cannot open further files; not set while they can */
	struct reason hung;	/* the export whose file system hangs; not set if none does */
	struct reason held;	/* removed files that still use space, because absent clients had
				   them open; not set if there are none */
	uint64_t held_ns;	/* when to check `held` next */
	uint32_t held_mark;
	struct fuse_server_client *clients; /* list */
	struct fuse_server_client *dying;   /* clients whose session has ended, to be freed */

	struct io_uring ring;
	bool ring_ok;
	unsigned n_ring; /* count of operations that were queued or submitted and have not completed
			  */
	unsigned n_queued; /* count of operations that are queued but not submitted yet */
	uint32_t ring_turn;
	/* Small reads from memory that arrived in this turn. A single read is executed by a system
	 * call; several reads are submitted to io_uring together. */
	struct server_req *reads, **reads_tail;

	struct fs_helper *helpers;
	unsigned n_helper_calls; /* count of calls in flight */
	bool helpers_ended;
	int root_error; /* result of server_root_init() */
	struct share share;
	struct fuse_server_asked asked; /* the mount for which the last client asked; valid if
					   has_asked is set */
	bool has_asked;
	char elsewhere[IP_ADDR_STR_MAX + 8];  /* address of the worker to which a client was last
						 redirected */
	uint64_t predecessor_leases_until_ns; /* until when leases of a predecessor may be valid */
	uint64_t predecessor_mount; /* ID of the only mount that may have leases of a predecessor;
				       0: several mounts may have such leases */
	uint64_t boot;		    /* number that identifies this boot of the host */
	struct server_req *retry_head,
		**retry_tail; /* requests that wait for a free record or a lease */

	struct server_node **by_handle, **by_ino; /* hash chains */
	struct server_list open_nodes;		  /* nodes with FUSE_HANDLE_FILE and a descriptor */
	struct server_list closed_nodes;	  /* nodes with FUSE_HANDLE_FILE that have no
						     descriptor and are not referenced */
	struct server_list table_nodes;		  /* nodes with FUSE_HANDLE_TABLE that are not
						     referenced */
	struct server_list unlinked_nodes; /* unlinked directories, pipes and similar objects that
					      clients may still use */
	uint32_t n_open_max, n_table_max;
	uint32_t tick; /* seconds since the start */
	uint64_t hash_key[2];

	uint64_t trimmed_ns;
	uint32_t permitted[2]; /* the thread's permitted capabilities */
	struct fuse_ids ids;   /* the thread's current identity */
	bool caps_valid;       /* the thread's effective capabilities are those for `ids` */
	bool caps_of_writer; /* whether these capabilities are those for writing as a client's user
			      */
	struct server_ping ping;
	struct server_ping_order order;
};

static inline unsigned server_export_index(const struct server_export *e)
{
	return (unsigned)(e - e->server->exports);
}

/* Returns the number of the mount's files, without those that are being closed. */
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
/* Returns the name (the first one, if there are two) that follows arg_bytes of arguments.
 * server_check.c has checked it. */
static inline const char *server_req_name(const struct server_req *q, size_t arg_bytes)
{
	return (const char *)(q->in + 1) + arg_bytes;
}

#endif
