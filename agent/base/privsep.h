/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The privilege boundary between the agent's roles. plenumd runs as several processes of one
 * binary. `monitor` is privileged and takes all decisions. `api`, `admin` and `api-tls` parse
 * clients' requests, `lldp` parses frames from the data network's cables, `cluster` parses answers
 * of the cluster's store, and `links` parses probes from the data network; these six have no
 * privileges, no files and few system calls.
 * Each of them is connected to the monitor by a SOCK_SEQPACKET socketpair, which carries only the
 * messages below. For each message, a table says who may send it, its size, whether a descriptor or
 * a client's connection belongs to it, and how its fields are checked. A message that breaks a rule
 * never reaches a handler, and the monitor kills its sender. Long texts are passed as sealed
 * memfds.
 *
 * Only the monitor has authority. It accepts the clients itself, and asks the kernel for their
 * credentials (SO_PEERCRED, SO_PEERGROUPS). Then it passes each connection, with a random number,
 * to one of three children. `admin` gets clients of this host that may make changes, `api` other
 * clients of this host, and `api-tls` clients of the network. `api` may send no message that
 * changes something. So a client that may only read cannot change anything, even if it has taken
 * over the `api` process.
 *
 * A child may also read once for many clients (PRIVSEP_SHARED_READ). It may ask only for objects
 * that each of its clients may read, and it sends the answer only to clients that the monitor has
 * admitted.
 *
 * `admin` never receives bytes from a client that may not make changes. If an attacker takes it
 * over, for example with bytes that an administrator passes on, the attacker can replace a change
 * that another administrator requests, or make one while that administrator's connection is open.
 * The number of such changes is limited, because a connection carries at most one change, with
 * which it ends. A change without a connection is impossible, because the numbers are random, known
 * to the monitor, and invalid once the client has closed the connection. A change in another user's
 * name is impossible too, because the event of a change has the uid and pid that the kernel
 * reported.
 *
 * `api-tls` has the private key of the API's certificate and receives bytes from any host of the
 * management network. `api-tls` cannot grant a right to a client: for each connection it sends the
 * SHA-256 of the client's token to the monitor, and the monitor looks up the token's role in the
 * monitor's table. An attacker who takes the process over can use the roles of tokens that clients
 * show from then on, on connections that the monitor has accepted, and nothing else; before a
 * client has shown a token, the attacker cannot even read.
 *
 * `lldp` can report only which switch is behind a link and which station claims which address
 * there. An attacker who takes it over can make traffic prefer the wrong leg, and make the host
 * report address conflicts and crossed cables that do not exist. An attacker who can send forged
 * frames on that cable can do the same.
 *
 * `cluster` speaks to the cluster's store, and has the user's password for it. It can report where
 * servers are, and which addresses of its pools this host has, and make lists of hosts for clients.
 * An attacker who takes it over can make this host look for a server at another address, although
 * only a host with the cluster key is accepted there. The attacker can also assign other addresses
 * to legs whose networks use a pool, and show false lists. On a host with cluster.config: follow,
 * the attacker can also make the monitor apply any document, like any program that may write to the
 * store; the monitor validates it, and a document can set only some sections (spec_document.c).
 *
 * `links` probes legs of other hosts, through one UDP socket for each leg, and has keys that are
 * derived from the cluster key. An attacker who takes it over can show false states of legs, and
 * send packets from the data addresses of this host.
 */
#ifndef PLENUM_AGENT_PRIVSEP_H
#define PLENUM_AGENT_PRIVSEP_H

#include "agent/base/address_claim.h"
#include "agent/base/cluster_report.h"
#include "agent/base/links_report.h"
#include "agent/base/lldp_neighbour.h"
#include "dataplane/launch.h"
#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"
#include "netcfg/base/files/access.h"
#include <sys/types.h>

/* Size of the description of a client that requests a change, such as "uid 1000, pid 4242, plenum"
 * or "token ci (operate), 192.0.2.7". */
#define REQUESTER_MAX 96

enum privsep_role {
	PRIVSEP_MONITOR,
	PRIVSEP_API,	 /* serves clients of this host that may only read */
	PRIVSEP_ADMIN,	 /* serves clients of this host that may make changes */
	PRIVSEP_API_TLS, /* serves clients of the management network */
	PRIVSEP_LLDP,	 /* reads LLDP, ARP and neighbour discovery */
	PRIVSEP_CLUSTER, /* speaks to the cluster's store */
	PRIVSEP_LINKS,	 /* probes the legs of other hosts */
	PRIVSEP_ROLE_MAX
};
const char *privsep_role_to_string(enum privsep_role r);

#define PRIVSEP_FD_CONTROL 3 /* descriptor of the monitor's socket in a role's process */

#define PRIVSEP_TEXT_MAX (1U << 20)   /* maximum number of bytes of a request's body */
#define PRIVSEP_REPLY_MAX (16U << 20) /* maximum number of bytes of a reply's body */
#define PRIVSEP_FORCES_MAX 8
#define PRIVSEP_CONFIRM_S_MAX 86400
#define PRIVSEP_JSON_MAX (16U << 10) /* maximum number of bytes of a leg's JSON */
#define PRIVSEP_ETAG_ANY UINT64_MAX  /* value of if_match for the header "If-Match: *" */

enum privsep_type {
	PRIVSEP_GET = 1,
	PRIVSEP_GET_EVENTS,
	PRIVSEP_STREAM, /* the reply is an endless stream of events */
	PRIVSEP_PUT_STAGED,
	PRIVSEP_DROP_STAGED,
	PRIVSEP_GET_NET,
	PRIVSEP_NET_ADD,
	PRIVSEP_NET_SET,
	PRIVSEP_NET_DEL,
	PRIVSEP_APPLY,
	PRIVSEP_CONFIRM,      /* keep the pending apply */
	PRIVSEP_ROLLBACK,     /* undo the pending apply, or apply an earlier configuration again */
	PRIVSEP_RESTART,      /* restart workers, one at a time */
	PRIVSEP_WORKER_STOP,  /* stop a worker until it is started again */
	PRIVSEP_WORKER_START, /* start a worker that PRIVSEP_WORKER_STOP stopped */
	PRIVSEP_GET_WORKER,   /* the running and the staged core of a worker */
	PRIVSEP_WORKER_MOVE,  /* stage another core for a worker */
	PRIVSEP_GET_LOGS,     /* lines of a process in the journal, only for clients that may make
				 changes */
	PRIVSEP_LOG_LEVEL,    /* set the log level of a process */
	PRIVSEP_STOP,	      /* stop the agent with its workers and mounts */
	PRIVSEP_FAULT_ADD,    /* inject a fault */
	PRIVSEP_FAULT_DEL,
	PRIVSEP_CAPTURE,    /* packet capture: begin, fetch, end */
	PRIVSEP_RDMA_PING,  /* RDMA test: begin, or fetch its result */
	PRIVSEP_LOCK_BREAK, /* break a file lock of a client */
	PRIVSEP_DOCTOR,	    /* run the doctor */
	PRIVSEP_MOUNT,	    /* mount an export */
	PRIVSEP_UNMOUNT,    /* unmount a mount that was made by command */
	PRIVSEP_POOL_ADD,   /* add an address pool of the cluster */
	PRIVSEP_POOL_SET,   /* change an address pool; members that are "" or 0 stay unchanged */
	PRIVSEP_POOL_REMOVE,
	PRIVSEP_CLUSTER_FORGET, /* remove the keys of a host that has left the cluster */
	PRIVSEP_CLUSTER_LEAVE,	/* return this host's addresses to the cluster's pools */
	PRIVSEP_DOCUMENT_SET,	/* set the configuration document of the cluster */
	PRIVSEP_ROLLOUT_START,	/* start a rollout, which brings the document to the hosts */
	PRIVSEP_ROLLOUT_PAUSE,
	PRIVSEP_ROLLOUT_RESUME,
	PRIVSEP_ROLLOUT_ABORT,
	PRIVSEP_HELD,  /* the request waits for events, so its connection does not count as idle */
	PRIVSEP_WAITS, /* the request waits for the answer to a PRIVSEP_SHARED_READ */
	PRIVSEP_SHARED_READ, /* the child asks for an object for many clients */
	PRIVSEP_LOGIN,	   /* the token that a network client has shown; sent before each request */
	PRIVSEP_TLS_STATE, /* whether the certificate can be used */
	PRIVSEP_NEXT,	   /* the connection is ready for its next request */
	PRIVSEP_CLOSED,	   /* the connection is closed and its number invalid */
	PRIVSEP_NEIGHBOUR, /* a parsed LLDP frame */
	PRIVSEP_CLAIM,	   /* a parsed ARP or neighbour discovery packet */
	PRIVSEP_CLUSTER_REPORT,	 /* the state of the connection to the cluster's store */
	PRIVSEP_CLUSTER_SERVER,	 /* the addresses of a server */
	PRIVSEP_CLUSTER_POOL,	 /* addresses of this host in a pool */
	PRIVSEP_CLUSTER_TURN,	 /* this host has a turn in a rollout */
	PRIVSEP_CLUSTER_REVOKED, /* a signed revocation, which the monitor verifies */
	PRIVSEP_CLUSTER_VIEW,	 /* the view of this host on the record of the rollout (enum
				    rollout_view) */
	/* answer to PRIVSEP_CLUSTER_READ, PRIVSEP_CLUSTER_EDIT or PRIVSEP_CLUSTER_ROLLOUT */
	PRIVSEP_CLUSTER_ANSWER,
	PRIVSEP_CLUSTER_FAILED, /* the error of such a request */
	/* the legs of other hosts, from the store: `cluster` sends them to the monitor, which
	 * passes them to `links` */
	PRIVSEP_CLUSTER_MEMBERS,
	PRIVSEP_LINKS_REPORT, /* what the probes of a leg have found */
	PRIVSEP_PONG,
	PRIVSEP_VIOLATION, /* the child made a forbidden system call */
	PRIVSEP_REPLY,
	PRIVSEP_SHARED_ANSWER, /* answer to PRIVSEP_SHARED_READ */
	PRIVSEP_EVENT_NOTE,
	PRIVSEP_CONNECTION, /* a client's connection, with its socket */
	PRIVSEP_DROP, /* close that connection, because it is idle or another client needs its place
		       */
	PRIVSEP_ROLE, /* answer to PRIVSEP_LOGIN */
	PRIVSEP_TLS_FILES,	 /* the certificate and its private key */
	PRIVSEP_LISTEN,		 /* read frames from the attached packet socket */
	PRIVSEP_IGNORE,		 /* stop reading these frames */
	PRIVSEP_CLUSTER_SET,	 /* the settings of the connection to the cluster's store */
	PRIVSEP_CLUSTER_PUBLISH, /* publish a value of this host in the cluster's store */
	PRIVSEP_CLUSTER_READ,	 /* list all hosts */
	PRIVSEP_CLUSTER_EDIT,	 /* change the pools, or the owners of addresses */
	PRIVSEP_CLUSTER_ROLLOUT, /* read or change the document, or its rollout */
	PRIVSEP_CLUSTER_SQUAT,	 /* another host uses an address of this host */
	PRIVSEP_LINKS_SET,	 /* the legs to probe, and the keys */
	PRIVSEP_PING,
	PRIVSEP_TYPE_MAX
};

enum privsep_what { /* object that PRIVSEP_GET reads */
		    PRIVSEP_STATUS,
		    PRIVSEP_PROCESSES,
		    PRIVSEP_MOUNTS,
		    PRIVSEP_EXPORTS,
		    PRIVSEP_CLIENTS,
		    PRIVSEP_PEERS,
		    PRIVSEP_PATHS,
		    PRIVSEP_SESSIONS,
		    PRIVSEP_SAMPLES,
		    PRIVSEP_LOCKS,
		    PRIVSEP_INVENTORY,
		    PRIVSEP_PLAN,
		    PRIVSEP_PLAN_RUNNING, /* the plan that restores the running configuration */
		    PRIVSEP_NET,
		    PRIVSEP_CONFIG_RUNNING,
		    PRIVSEP_CONFIG_STAGED,
		    PRIVSEP_METRICS,
		    PRIVSEP_HISTORY,
		    PRIVSEP_HISTORY_CONFIG, /* the configuration of an earlier apply */
		    PRIVSEP_PLAN_BACK,	    /* the plan of a rollback; has no path in the API */
		    PRIVSEP_FAULTS,
		    PRIVSEP_FAULT, /* a single fault */
		    PRIVSEP_OPERATIONS,
		    PRIVSEP_OPERATION, /* a single operation */
		    PRIVSEP_CLUSTER_STATUS,
		    PRIVSEP_CLUSTER_HOSTS,
		    PRIVSEP_CLUSTER_PROCESSES,
		    PRIVSEP_CLUSTER_NET,
		    PRIVSEP_CLUSTER_EXPORTS,
		    PRIVSEP_CLUSTER_POOLS,
		    PRIVSEP_CLUSTER_ADDRESSES,
		    PRIVSEP_CLUSTER_LINKS,
		    PRIVSEP_CLUSTER_DOCUMENT,
		    PRIVSEP_ROLLOUT_STATUS,
		    PRIVSEP_CAPTURES,
		    PRIVSEP_LOGS,   /* the answer to PRIVSEP_GET_LOGS; has no path in the API */
		    PRIVSEP_EVENTS, /* only in PRIVSEP_SHARED_READ */
		    PRIVSEP_WHAT_MAX
};

enum privsep_content {
	PRIVSEP_JSON,
	PRIVSEP_YAML,
	PRIVSEP_PLAIN,
	PRIVSEP_PCAPNG,
	PRIVSEP_CONTENT_MAX
};

struct privsep_get {
	uint32_t what;
	uint32_t as_json; /* 1: return a configuration as JSON instead of YAML */
	/* PRIVSEP_HISTORY_CONFIG: ID of the apply; else ID of the fault or operation */
	uint32_t number;
};
#define PRIVSEP_EVENTS_MAX 1000U /* equals EVENTS_KEPT */
struct privsep_get_events {
	uint64_t since, instance;   /* instance: the instance (struct events) to which `since`
				       belongs; 0: not given */
	uint64_t from_ms, until_ms; /* wall clock; 0: not given */
	uint32_t severity;	    /* lowest enum log_level; 0: all */
	uint32_t limit;		    /* at most this number of the latest events; 0: all */
	char source[48];	    /* "": all sources; size EVENTS_SOURCE_MAX */
};
struct privsep_put_staged { /* the configuration is in a sealed memfd */
	uint64_t len;
};
struct privsep_net { /* a leg by its name; NET_ADD and NET_SET have JSON in a sealed memfd */
	char name[PLENUM_NAME_MAX];
	uint64_t len; /* length of the JSON in bytes; 0: the message has no JSON */
};
struct privsep_apply {
	/* Time in seconds until an unconfirmed apply is rolled back; 0: the policy of the
	 * configuration decides. */
	uint32_t confirm_s;
	uint32_t dry_run; /* 1: change nothing, only report the actions */
	uint32_t async;	  /* 1: the client does not wait for the result */
	/* For confirm and rollback: number in the history; 0: the pending apply. */
	uint64_t back_to;
	/* Blast-radius checks to override; the list ends at the first empty name. */
	char forces[PRIVSEP_FORCES_MAX][PLENUM_NAME_MAX];
};
struct privsep_restart {
	uint32_t worker; /* id of the worker to restart; 0: not chosen by id */
	/* 1: restart all workers that run another program version than the agent's */
	uint32_t outdated;
};
#define PRIVSEP_CORES_MAX 1024U /* equals SPEC_CORES_MAX */
#define PRIVSEP_CORE_NONE UINT32_MAX
struct privsep_move {
	uint32_t worker; /* id of the worker; not 0 */
	uint32_t core;	 /* WORKER_MOVE: the core to use; GET_WORKER: 0 */
};
struct privsep_logs {
	uint32_t worker; /* id of the worker; 0: the agent */
};
#define PRIVSEP_LOG_LEVELS 5
struct privsep_log_level {
	uint32_t worker; /* id of the worker whose level is set; 0: none */
	uint32_t agent;	 /* 1: set the level of the agent */
	uint32_t level;	 /* 1 (error) to PRIVSEP_LOG_LEVELS (debug) */
};
struct privsep_fault {
	uint32_t id; /* FAULT_DEL: the fault to end; 0: all faults */
	/* FAULT_ADD: as in struct launch_fault. */
	uint32_t ways, drop_ppm, duplicate_ppm, reorder_ppm, delay_us, ttl_s;
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX];
};
#define PRIVSEP_CAPTURE_ALL UINT32_MAX
#define PRIVSEP_CAPTURE_SNAP_MIN 64U
#define PRIVSEP_CAPTURE_SNAP_MAX 65535U
#define PRIVSEP_CAPTURE_SNAP 192U /* default: enough for the headers, with almost no file data */
#define PRIVSEP_CAPTURE_BUFFER_MIN (1U << 20)
#define PRIVSEP_CAPTURE_BUFFER_MAX (1U << 30)
#define PRIVSEP_CAPTURE_BUFFER (32U << 20)
enum privsep_capture_do {
	PRIVSEP_CAPTURE_BEGIN,
	PRIVSEP_CAPTURE_TAKE,
	PRIVSEP_CAPTURE_END,
	PRIVSEP_CAPTURE_DO_MAX
};
struct privsep_capture {
	uint32_t act;	       /* enum privsep_capture_do */
	uint32_t worker;       /* BEGIN: id of a worker, or PRIVSEP_CAPTURE_ALL */
	uint32_t snap_bytes;   /* BEGIN: bytes to keep of each packet */
	uint32_t buffer_bytes; /* BEGIN: memory for packets that the client has not fetched yet */
	uint64_t id;	       /* TAKE, END: id of the capture */
	uint32_t keys;	       /* BEGIN: 1: include the keys of encrypted sessions */
	char leg[PLENUM_NAME_MAX]; /* BEGIN: "": all legs */
};
struct privsep_ping {
	/* Id of the test whose result is requested; 0: begin a test with the members below. */
	uint64_t id;
	uint32_t what, bytes, count, depth; /* as in struct launch_ping */
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX];
};
struct privsep_lock {
	uint64_t id; /* id of a lock, as in the list PRIVSEP_LOCKS */
};
struct privsep_stop {
	uint32_t force; /* 1: also if programs use the mounts */
};
#define PRIVSEP_SOFT_S_MAX 86400
/* The limits of a mount; equal to those of plenum.yaml. */
#define PRIVSEP_KBS_MIN 100U
#define PRIVSEP_KBS_MAX 1000000000U
#define PRIVSEP_OPERATIONS_MAX 10000000U
#define PRIVSEP_PATH_MAX 256 /* equals the size of launch_mount.path */
struct privsep_mount {
	char path[PRIVSEP_PATH_MAX];
	/* The other members are only for MOUNT; `force` is only for UNMOUNT. */
	char peer[PLENUM_NAME_MAX], export_name[PLENUM_NAME_MAX];
	uint32_t worker;  /* id of the worker that has to serve the mount; 0: any worker */
	uint32_t soft_s;  /* 0: a hard mount */
	uint32_t locks;	  /* enum launch_locks plus 1 */
	uint32_t remount; /* 1: change the limits of the mount that is there */
	uint32_t max_kbs, max_operations; /* limits in the units of plenum.yaml; 0: no limit */
	uint32_t read_only, nosuid, nodev, noexec, noatime;
	uint32_t force; /* 1: unmount even if programs use the mount */
};
struct privsep_pool {
	/* Name of the pool. Only for PRIVSEP_CLUSTER_FORGET: name of the host. */
	char name[PLENUM_NAME_MAX];
	/* Only for POOL_ADD; gateway "", mtu 0 and vlan 0: none. */
	char range[2 * IP_ADDR_STR_MAX], gateway[IP_ADDR_STR_MAX];
	uint32_t mtu, vlan;
	uint32_t force; /* only for PRIVSEP_CLUSTER_FORGET */
};
#define PRIVSEP_ROLLOUT_HOSTS_MAX 64U /* equals ROLLOUT_SLOTS_MAX */
#define PRIVSEP_ROLLOUT_S_MIN 180U
#define PRIVSEP_ROLLOUT_S_MAX 86400U
struct privsep_rollout {
	/* how many hosts apply at a time; 0: `percent` of the hosts that follow */
	uint32_t max_unavailable, percent;
	uint32_t timeout_s; /* time for a host to report its result */
	uint32_t rollback;  /* what happens after a failure. 1: the hosts keep their documents. 2:
			       they return to the former document */
};
#define PRIVSEP_LOCATION_MAX (PLENUM_NAME_MAX + 32)
struct privsep_reply { /* the body is in a sealed memfd */
	uint32_t http_status, content;
	uint64_t len;
	uint64_t etag; /* version of the returned object; 0: it has no version */
	/* path of the object that the request created; "": none */
	char location[PRIVSEP_LOCATION_MAX];
};
struct privsep_shared_read {
	uint32_t what;		  /* an enum privsep_what for which privsep_is_shared() is true */
	uint64_t since, instance; /* for PRIVSEP_EVENTS, as in struct privsep_get_events */
};
struct privsep_shared_answer { /* the body is in a sealed memfd */
	uint32_t what;
	struct privsep_reply reply;
};
struct privsep_peer {
	uint32_t barred; /* 1: the client may not read */
};
struct privsep_login {
	uint32_t has_token;		 /* 0: the client has shown no token */
	uint8_t hash[ACCESS_HASH_BYTES]; /* SHA-256 of its token */
};
#define PRIVSEP_DELAY_MS_MAX 10000
struct privsep_role_of {
	uint32_t role;	   /* enum access_role */
	uint32_t delay_ms; /* time to wait before a rejected client gets its answer */
};
#define PRIVSEP_PEM_MAX (1U << 20)
struct privsep_tls_files { /* a sealed memfd has the certificates, then the key, in PEM */
	uint64_t certificate_len, key_len;
};
struct privsep_tls_state {
	uint32_t good;	    /* 1: the certificate is valid and in use */
	uint64_t expires_s; /* time of expiry, since 1970; 0: unknown */
	char text[160];	    /* why the certificate is not valid */
};
/* an event was added, or only the state has changed if `next` is the same as before */
struct privsep_event_note {
	uint64_t next, instance;
};
struct privsep_neighbour {
	uint32_t ifindex; /* link that received the frame */
	struct lldp_neighbour said;
};
struct privsep_claim {
	uint32_t ifindex; /* link that received the packet */
	struct address_claim said;
};
enum privsep_frames {
	PRIVSEP_FRAMES_LLDP,
	PRIVSEP_FRAMES_ARP,
	PRIVSEP_FRAMES_ND,
	PRIVSEP_FRAMES_MAX
};
struct privsep_link { /* for LISTEN and IGNORE */
	uint32_t ifindex;
	uint32_t frames; /* enum privsep_frames */
};
struct privsep_violation {
	uint32_t number; /* number of the system call */
};

#define PRIVSEP_CLUSTER_BYTES_MAX (2U << 20)
enum privsep_cluster_what {
	PRIVSEP_CLUSTER_SERVING,
	PRIVSEP_CLUSTER_STATE,
	PRIVSEP_CLUSTER_SELF,	      /* report for rollouts: struct rollout_self */
	PRIVSEP_CLUSTER_LINKS_RECORD, /* this host's legs, and what their probes have found */
	PRIVSEP_CLUSTER_WHAT_MAX
};
struct privsep_cluster_text { /* a sealed memfd has JSON; for CLUSTER_SET, CLUSTER_PUBLISH,
			       * CLUSTER_MEMBERS and LINKS_SET */
	uint32_t what;	      /* CLUSTER_PUBLISH: enum privsep_cluster_what; else 0 */
	uint64_t len;
};
#define PRIVSEP_CLUSTER_LISTS 7 /* lists of all hosts: enum rows_kind */
struct privsep_cluster_read {
	uint64_t id; /* id of the request; the answer repeats it; not 0 */
	uint32_t what;
};
#define PRIVSEP_CLUSTER_EDITS 5 /* kinds of changes: enum pool_edit_op */
struct privsep_cluster_edit {
	uint64_t id; /* id of the request; the answer repeats it; not 0 */
	uint32_t op, force;
	struct cluster_pool pool;
	char host[PLENUM_NAME_MAX]; /* host that the edit concerns; "": none */
};
#define PRIVSEP_ROLLOUT_OPS 7 /* enum rollout_edit_op */
#define PRIVSEP_DOCUMENT_MAX (64U << 10)
struct privsep_cluster_rollout { /* a sealed memfd has the document, or is empty */
	uint64_t id;		 /* ID of the request; the answer repeats it; not 0 */
	uint32_t op;
	struct privsep_rollout how; /* only for the start of a rollout; otherwise zeroed */
	char by[REQUESTER_MAX];
	uint64_t len;
};
struct privsep_cluster_squat {
	struct ip_addr ip;
	struct mac_addr by; /* of the host that uses the address without owning it */
};
#define PRIVSEP_HASH_MAX 17
struct privsep_cluster_turn { /* a sealed memfd has the document */
	uint64_t number, lineage, attempt, turn, generation;
	char hash[PRIVSEP_HASH_MAX]; /* of the document */
	uint64_t len;
};
#define PRIVSEP_VIEWS 5 /* enum rollout_view */
struct privsep_cluster_view {
	uint32_t view;
};
#define PRIVSEP_REVOCATION_BYTES 140 /* IDENTITY_REVOCATION_BYTES */
struct privsep_cluster_revoked {
	uint8_t bytes[PRIVSEP_REVOCATION_BYTES];
};
struct privsep_cluster_answer { /* the list is in a sealed memfd */
	uint64_t id, len;
};
struct privsep_cluster_failed {
	uint64_t id;
	uint32_t trouble; /* enum cluster_trouble */
	char text[CLUSTER_TEXT_MAX];
};

struct privsep_msg {
	uint32_t type, size; /* size: bytes of the payload after this header */
	uint64_t connection; /* ID of the client's connection; 0: none */
	uint64_t if_match;   /* for a change: version to which it applies; 0: any */
	union {
		struct privsep_get get;
		struct privsep_get_events get_events;
		struct privsep_put_staged put_staged;
		struct privsep_apply apply;
		struct privsep_net net;
		struct privsep_restart restart;
		struct privsep_move move;
		struct privsep_logs logs;
		struct privsep_log_level log_level;
		struct privsep_fault fault;
		struct privsep_capture capture;
		struct privsep_ping ping;
		struct privsep_lock lock;
		struct privsep_stop stop;
		struct privsep_mount mount;
		struct privsep_pool pool;
		struct privsep_rollout rollout;
		struct privsep_reply reply;
		struct privsep_shared_read shared_read;
		struct privsep_shared_answer shared_answer;
		struct privsep_peer peer;
		struct privsep_login login;
		struct privsep_role_of role_of;
		struct privsep_tls_files tls_files;
		struct privsep_tls_state tls_state;
		struct privsep_event_note event_note;
		struct privsep_violation violation;
		struct privsep_neighbour neighbour;
		struct privsep_claim claim;
		struct privsep_link link;
		struct cluster_report cluster_report;
		struct cluster_server cluster_server;
		struct cluster_pool_report cluster_pool_report;
		struct privsep_cluster_text cluster_text;
		struct privsep_cluster_read cluster_read;
		struct privsep_cluster_edit cluster_edit;
		struct privsep_cluster_rollout cluster_rollout;
		struct privsep_cluster_squat cluster_squat;
		struct privsep_cluster_turn cluster_turn;
		struct privsep_cluster_view cluster_view;
		struct privsep_cluster_revoked cluster_revoked;
		struct privsep_cluster_answer cluster_answer;
		struct privsep_cluster_failed cluster_failed;
		struct links_report links_report;
	};
};

/* Returns whether a child may send PRIVSEP_SHARED_READ for that enum privsep_what. */
bool privsep_is_shared(uint32_t what);
/* Returns whether the message requests a change. */
bool privsep_is_change(enum privsep_type t);
/*
 * Checks whether `sender` may send a message of `len` bytes, with (has_fd) or without a descriptor.
 * Returns 0, or -EBADMSG with the broken rule in *ret_why, a static text. Uses its arguments only.
 */
int privsep_check(enum privsep_role sender, const struct privsep_msg *m, size_t len, bool has_fd,
		  const char **ret_why);
/* Sets m->size and, if `sender` may send the message, sends it. fd: a descriptor to send, which
 * stays the caller's; -1: none. Returns 0, -EAGAIN if the socket is full, or another negative
 * errno. */
int privsep_send(int sock, enum privsep_role sender, struct privsep_msg *m, int fd);
/*
 * Receives and checks a message. Returns 1 with *m and *ret_fd (-1: no descriptor), which the
 * caller closes; 0 at the end of the connection; -EAGAIN if there is no message; or -EBADMSG with
 * the broken rule in *ret_why.
 */
int privsep_recv(int sock, enum privsep_role sender, struct privsep_msg *m, int *ret_fd,
		 const char **ret_why);
/* Reads len bytes of a sealed memfd that the other process has sent, into a heap string with a NUL.
 * Returns -EBADMSG if the file has another size or is not sealed: an unsealed file may change
 * during the read, or may not be in memory. */
int privsep_read_memfd(int fd, uint64_t len, char **ret);

/* Writes a system call such as "41 (socket)" to buf, or only the number if the name is unknown.
 * Returns buf. */
const char *privsep_syscall_to_string(uint32_t number, char *buf, size_t size);

#endif
