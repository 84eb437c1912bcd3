/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The privilege boundary between the agent's roles. plenumd runs as several processes of one
 * binary. `monitor` is privileged and takes all decisions. `api`, `admin` and `api-tls` parse
 * clients' requests; `lldp` parses frames from the data network's cables; all four have no
 * privileges, no files and few system calls. They talk over a SOCK_SEQPACKET socketpair with the
 * messages below and no others. One table says for each message who may send it, its size, whether
 * a descriptor or a connection comes with it, and how its fields are checked; a message that breaks
 * a rule never reaches a handler, and the monitor kills its sender. Long texts travel as sealed
 * memfds.
 *
 * Only the monitor has authority. It accepts the clients itself, asks the kernel for their
 * credentials (SO_PEERCRED, SO_PEERGROUPS), and hands each connection, under a random number, to
 * one of three children: to `admin` only those of peers who may make changes, to `api` all others
 * of this host, to `api-tls` those of the network. `api` may not send a message that changes
 * something. So a client that may only read can change nothing, not even after it has taken over
 * the `api` process: no message exists for it.
 *
 * A child may also ask for itself, to answer many clients at once (PRIVSEP_SHARED_READ). It may ask
 * only for what every client of the child may read, and sends the answer only to clients that the
 * monitor has admitted.
 *
 * `admin` never sees a byte from a peer that could not change everything openly. If one
 * administrator (or hostile bytes that an administrator relays) takes it over, it can replace a
 * change that another administrator requests, while that administrator's connection is open. It
 * cannot make more changes than there are such connections, since a connection carries one request
 * in all. It cannot make one without a connection, since the numbers are random, known to the
 * monitor and invalid once the peer has closed. It cannot make one in another user's name, since
 * the event of a change names the uid and pid that the kernel gave.
 *
 * `api-tls` holds the private key of the API's certificate and reads the bytes of anyone in the
 * management network. It cannot vouch for a client: for each connection it passes the SHA-256 of
 * the token that the client has shown, and the monitor compares that with its table and decides by
 * the role that it finds. An attacker who takes the process over can act with the roles of the
 * tokens that clients show there from then on, on connections that the monitor has accepted, and
 * with nothing else; until a token was shown, it cannot even read.
 *
 * `lldp` can report which switch is behind a link, and which station claims which address there,
 * and nothing else. An attacker who takes it over can make traffic prefer the wrong leg, and have
 * the host report address conflicts and crossed cables that do not exist; so can one who sends
 * forged frames on that cable.
 */
#ifndef PLENUM_AGENT_PRIVSEP_H
#define PLENUM_AGENT_PRIVSEP_H

#include "agent/base/address_claim.h"
#include "agent/base/lldp_neighbour.h"
#include "dataplane/launch.h"
#include "netcfg/base/access.h"
#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"
#include <sys/types.h>

/* "uid 1000, pid 4242, plenum", "token ci (operate), 192.0.2.7": the client that asked for a change
 */
#define REQUESTER_MAX 96

enum privsep_role {
	PRIVSEP_MONITOR,
	PRIVSEP_API,	 /* serves readers */
	PRIVSEP_ADMIN,	 /* serves peers who may make changes */
	PRIVSEP_API_TLS, /* serves clients of the management network */
	PRIVSEP_LLDP,	 /* reads LLDP, ARP and neighbour discovery */
	PRIVSEP_ROLE_MAX
};
const char *privsep_role_to_string(enum privsep_role r);

#define PRIVSEP_FD_CONTROL 3 /* in a role's process */

#define PRIVSEP_TEXT_MAX (1U << 20)   /* bytes of a body from a client */
#define PRIVSEP_REPLY_MAX (16U << 20) /* bytes of a reply */
#define PRIVSEP_FORCES_MAX 8
#define PRIVSEP_CONFIRM_S_MAX 86400
#define PRIVSEP_JSON_MAX (16U << 10) /* bytes of a leg's JSON */
#define PRIVSEP_ETAG_ANY UINT64_MAX  /* If-Match: * */

enum privsep_type {
	PRIVSEP_GET = 1,
	PRIVSEP_GET_EVENTS,
	PRIVSEP_STREAM, /* the client's answer does not end: a stream of events */
	PRIVSEP_PUT_STAGED,
	PRIVSEP_DROP_STAGED,
	PRIVSEP_GET_NET,
	PRIVSEP_NET_ADD,
	PRIVSEP_NET_SET,
	PRIVSEP_NET_DEL,
	PRIVSEP_APPLY,
	PRIVSEP_CONFIRM,      /* keep the pending apply */
	PRIVSEP_ROLLBACK,     /* undo the pending apply, or go back to an earlier one */
	PRIVSEP_RESTART,      /* restart workers, one at a time */
	PRIVSEP_WORKER_STOP,  /* stop a worker, and keep it so */
	PRIVSEP_WORKER_START, /* start a worker that was stopped */
	PRIVSEP_STOP,	      /* also ends workers and mounts */
	PRIVSEP_FAULT_ADD,    /* inject a fault */
	PRIVSEP_FAULT_DEL,
	PRIVSEP_CAPTURE,     /* capture of workers' packets: begin, take, end */
	PRIVSEP_RDMA_PING,   /* RDMA test: begin, or fetch its result */
	PRIVSEP_HELD,	     /* the client waits for events: its connection is not idle */
	PRIVSEP_SHARED_READ, /* a question of the child, whose answer serves many clients */
	PRIVSEP_LOGIN,	     /* what a client of the network has shown, before each request */
	PRIVSEP_TLS_STATE,   /* whether the certificate can be used */
	PRIVSEP_CLOSED,	     /* the connection is closed, its number invalid */
	PRIVSEP_NEIGHBOUR,   /* one LLDP frame, parsed */
	PRIVSEP_CLAIM,	     /* one packet of ARP or neighbour discovery, parsed */
	PRIVSEP_PONG,
	PRIVSEP_VIOLATION, /* a forbidden system call */
	PRIVSEP_REPLY,
	PRIVSEP_SHARED_ANSWER, /* answer of a PRIVSEP_SHARED_READ */
	PRIVSEP_EVENT_NOTE,
	PRIVSEP_CONNECTION, /* a client's connection, with its socket */
	PRIVSEP_DROP,	    /* close that connection: it is idle or its place is needed */
	PRIVSEP_ROLE,	    /* answer of a PRIVSEP_LOGIN */
	PRIVSEP_TLS_FILES,  /* the certificate and its key */
	PRIVSEP_LISTEN,	    /* read frames from this packet socket of a link */
	PRIVSEP_IGNORE,	    /* stop reading them */
	PRIVSEP_PING,
	PRIVSEP_TYPE_MAX
};

enum privsep_what { /* of PRIVSEP_GET */
		    PRIVSEP_STATUS,
		    PRIVSEP_PROCESSES,
		    PRIVSEP_INVENTORY,
		    PRIVSEP_PLAN,
		    PRIVSEP_PLAN_RUNNING, /* the plan that restores the running configuration */
		    PRIVSEP_NET,
		    PRIVSEP_CONFIG_RUNNING,
		    PRIVSEP_CONFIG_STAGED,
		    PRIVSEP_METRICS,
		    PRIVSEP_HISTORY,
		    PRIVSEP_HISTORY_CONFIG, /* the configuration of one apply */
		    PRIVSEP_PLAN_BACK,	    /* the plan of a rollback; no path of the API */
		    PRIVSEP_FAULTS,
		    PRIVSEP_FAULT, /* one of them */
		    PRIVSEP_OPERATIONS,
		    PRIVSEP_OPERATION, /* one of them */
		    PRIVSEP_EVENTS,    /* of PRIVSEP_SHARED_READ only */
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
	uint32_t as_json; /* 1: a configuration as JSON instead of YAML */
	uint32_t number;  /* of an apply, for PRIVSEP_HISTORY_CONFIG; of a PRIVSEP_FAULT, a
			     PRIVSEP_OPERATION */
};
#define PRIVSEP_EVENTS_MAX 1000U /* EVENTS_KEPT */
struct privsep_get_events {
	uint64_t since, instance;   /* instance: in which `since` counts; 0: not given */
	uint64_t from_ms, until_ms; /* wall clock; 0: not given */
	uint32_t severity;	    /* at least this enum log_level; 0: all */
	uint32_t limit;		    /* only the latest ones; 0: all */
	char source[48];	    /* "": all; EVENTS_SOURCE_MAX */
};
struct privsep_put_staged { /* with a sealed memfd */
	uint64_t len;
};
struct privsep_net { /* one leg by its name; NET_ADD and NET_SET come with a sealed memfd */
	char name[PLENUM_NAME_MAX];
	uint64_t len; /* of the JSON; 0: no JSON */
};
struct privsep_apply {
	uint32_t confirm_s; /* time until the rollback unless confirmed; 0: as the policy says */
	uint32_t dry_run;   /* 1: only report the actions */
	uint32_t async;	    /* 1: the client does not wait for the end */
	uint64_t back_to;   /* confirm, rollback: number in the history; 0: the pending one */
	char forces[PRIVSEP_FORCES_MAX][PLENUM_NAME_MAX]; /* the list ends at the first empty one */
};
struct privsep_restart {
	uint32_t worker;   /* its id; 0: not by id */
	uint32_t outdated; /* 1: all that run another program than the agent's */
};
struct privsep_fault {
	uint32_t id; /* of DEL; 0: all faults */
	/* Of ADD, as in struct launch_fault. */
	uint32_t ways, drop_ppm, duplicate_ppm, reorder_ppm, delay_us, ttl_s;
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX];
};
#define PRIVSEP_CAPTURE_ALL UINT32_MAX
#define PRIVSEP_CAPTURE_SNAP_MIN 64U
#define PRIVSEP_CAPTURE_SNAP_MAX 65535U
#define PRIVSEP_CAPTURE_SNAP 192U /* keeps the headers and almost no file data */
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
	uint32_t act;		   /* enum privsep_capture_do */
	uint32_t worker;	   /* BEGIN: PRIVSEP_CAPTURE_ALL, or a worker's number */
	uint32_t snap_bytes;	   /* BEGIN: kept of each packet */
	uint32_t buffer_bytes;	   /* BEGIN: for packets that the client has not fetched yet */
	uint64_t id;		   /* TAKE, END */
	uint32_t keys;		   /* BEGIN: 1: with the keys of encrypted sessions */
	char leg[PLENUM_NAME_MAX]; /* BEGIN: "": all legs */
};
struct privsep_ping {
	uint64_t id; /* of the test whose result is requested; 0: begin a test with the fields
		      * below */
	uint32_t what, bytes, count, depth; /* as in struct launch_ping */
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX];
};
#define PRIVSEP_LOCATION_MAX (PLENUM_NAME_MAX + 32)
struct privsep_reply { /* with a sealed memfd */
	uint32_t http_status, content;
	uint64_t len;
	uint64_t etag;			     /* version of the object shown; 0: none */
	char location[PRIVSEP_LOCATION_MAX]; /* path of what the request created; "": nothing */
};
struct privsep_shared_read {
	uint32_t what;		  /* enum privsep_what, for which privsep_is_shared() */
	uint64_t since, instance; /* of PRIVSEP_EVENTS, as in struct privsep_get_events */
};
struct privsep_shared_answer { /* with a sealed memfd */
	uint32_t what;
	struct privsep_reply reply;
};
struct privsep_peer {
	uint32_t barred; /* 1: it has no right to read */
};
struct privsep_login {
	uint32_t has_token;		 /* 0: the client has shown nothing */
	uint8_t hash[ACCESS_HASH_BYTES]; /* SHA-256 of its token */
};
#define PRIVSEP_DELAY_MS_MAX 10000
struct privsep_role_of {
	uint32_t role;	   /* enum access_role */
	uint32_t delay_ms; /* before the client hears of a refusal */
};
#define PRIVSEP_PEM_MAX (1U << 20)
struct privsep_tls_files { /* with a sealed memfd: the certificates, then the key, in PEM */
	uint64_t certificate_len, key_len;
};
struct privsep_tls_state {
	uint32_t good;	    /* 1: the certificate is in use */
	uint64_t expires_s; /* since 1970; 0: unknown */
	char text[160];	    /* why it is not good */
};
struct privsep_event_note { /* an event, or with the former number a change without one */
	uint64_t next, instance;
};
struct privsep_neighbour {
	uint32_t ifindex; /* of the link that received the frame */
	struct lldp_neighbour said;
};
struct privsep_claim {
	uint32_t ifindex; /* of the link that received the packet */
	struct address_claim said;
};
enum privsep_frames {
	PRIVSEP_FRAMES_LLDP,
	PRIVSEP_FRAMES_ARP,
	PRIVSEP_FRAMES_ND,
	PRIVSEP_FRAMES_MAX
};
struct privsep_link { /* of LISTEN, IGNORE */
	uint32_t ifindex;
	uint32_t frames; /* enum privsep_frames */
};
struct privsep_violation {
	uint32_t number; /* of the system call */
};

struct privsep_msg {
	uint32_t type, size; /* size: bytes of the payload that follow */
	uint64_t connection; /* the monitor's number of the client's connection; 0: none */
	uint64_t if_match;   /* of a change: the version it applies to; 0: any */
	union {
		struct privsep_get get;
		struct privsep_get_events get_events;
		struct privsep_put_staged put_staged;
		struct privsep_apply apply;
		struct privsep_net net;
		struct privsep_restart restart;
		struct privsep_fault fault;
		struct privsep_capture capture;
		struct privsep_ping ping;
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
	};
};

/* Whether a child may ask for that enum privsep_what for all its clients. */
bool privsep_is_shared(uint32_t what);
/* Whether the message asks for a change. */
bool privsep_is_change(enum privsep_type t);
/*
 * Whether `sender` may send a message of `len` bytes with (has_fd) or without a descriptor. 0;
 * -EBADMSG with the broken rule in *ret_why (static text). Pure.
 */
int privsep_check(enum privsep_role sender, const struct privsep_msg *m, size_t len, bool has_fd,
		  const char **ret_why);
/* Fills in size, type and sender from the table. fd: -1, or a descriptor to send along (stays the
 * caller's). 0 or negative errno; -EAGAIN: the other side does not read. */
int privsep_send(int sock, enum privsep_role sender, struct privsep_msg *m, int fd);
/*
 * Receives one message and checks it. 1 with *m and *ret_fd (-1: none; the caller closes it); 0 at
 * end of file; -EAGAIN: no message; -EBADMSG with the broken rule in *ret_why.
 */
int privsep_recv(int sock, enum privsep_role sender, struct privsep_msg *m, int *ret_fd,
		 const char **ret_why);
/* Reads len bytes of a sealed memfd from the other side into a heap string with a NUL. -EBADMSG: it
 * is of another size, or not sealed: it could change or shrink during the read, or not be memory at
 * all. */
int privsep_read_memfd(int fd, uint64_t len, char **ret);

/* "41 (socket)" in buf; the number alone if the call has no name here. Returns buf. */
const char *privsep_syscall_to_string(uint32_t number, char *buf, size_t size);

#endif
