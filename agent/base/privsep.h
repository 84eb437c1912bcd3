/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wall between the agent's roles. plenumd runs as several processes of one binary: `monitor` is
 * privileged and decides everything; `api` and `admin` have no privileges, no files and few system
 * calls, and parse what clients send; so does `lldp` with what arrives on the data network's
 * cables. They talk over a SOCK_SEQPACKET socketpair by the messages below and no others. One table
 * says who may send which, how large it is, whether a descriptor or a connection comes with it, and
 * how its fields are checked; a message that breaks a rule never reaches a handler, and its sender
 * is ended. Long texts travel as sealed memfds.
 *
 * Authority is the monitor's alone. It accepts the clients itself, asks the kernel who they are
 * (SO_PEERCRED, SO_PEERGROUPS), and hands a connection under a random number to one of the two
 * children: to `admin` only those of peers who may make changes, to `api` all others. Messages that
 * change something are not `api`'s to send, so who can only read, and whoever takes over the
 * process that parses a reader's bytes, can change nothing: no message exists for it.
 *
 * `admin` never sees a byte of anybody who could not change everything openly. What remains where
 * it is taken over by one administrator (or by hostile bytes that an administrator relays): it can
 * put a change of its own in the place of one that another administrator asks for while that one's
 * connection is open. It cannot make more changes than there are such connections, since a
 * connection carries one request in all; nor any without one, since numbers are random, known to
 * the monitor and dead once the peer is gone; nor in anybody else's name, since the event of a
 * change names the uid and pid that the kernel gave.
 *
 * `lldp` can say which switch is behind a link, and nothing else: who takes it over can have
 * traffic prefer the wrong leg, as can whoever sends false frames on that cable.
 */
#ifndef PLENUM_AGENT_PRIVSEP_H
#define PLENUM_AGENT_PRIVSEP_H

#include "agent/lldp/lldp_parse.h"
#include "dataplane/launch.h"
#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"
#include <sys/types.h>

enum privsep_role {
	PRIVSEP_MONITOR,
	PRIVSEP_API,   /* serves those who look */
	PRIVSEP_ADMIN, /* serves those who may make changes */
	PRIVSEP_LLDP,  /* reads what switches say of themselves */
	PRIVSEP_ROLE_MAX
};
const char *privsep_role_to_string(enum privsep_role r);

#define PRIVSEP_FD_CONTROL 3 /* in a role's process */

#define PRIVSEP_TEXT_MAX (1U << 20)   /* bytes of a body from a client */
#define PRIVSEP_REPLY_MAX (16U << 20) /* bytes of a reply */
#define PRIVSEP_FORCES_MAX 8
#define PRIVSEP_CONFIRM_S_MAX 86400
#define PRIVSEP_JSON_MAX (16U << 10) /* bytes of a data device's JSON */
#define PRIVSEP_ETAG_ANY UINT64_MAX  /* If-Match: * */

enum privsep_type {
	PRIVSEP_GET = 1,
	PRIVSEP_GET_EVENTS,
	PRIVSEP_PUT_STAGED,
	PRIVSEP_DROP_STAGED,
	PRIVSEP_GET_NET,
	PRIVSEP_NET_ADD,
	PRIVSEP_NET_SET,
	PRIVSEP_NET_DEL,
	PRIVSEP_APPLY,
	PRIVSEP_CONFIRM,   /* keep the apply that waits */
	PRIVSEP_ROLLBACK,  /* undo it, or go back to an earlier one */
	PRIVSEP_STOP,	   /* workers and mounts too */
	PRIVSEP_FAULT_ADD, /* on purpose */
	PRIVSEP_FAULT_DEL,
	PRIVSEP_CAPTURE,   /* what workers send and receive: begin, take, end */
	PRIVSEP_RDMA_PING, /* a try of RDMA: begin, and what came of it */
	PRIVSEP_HELD,	   /* its client waits for events: not idle */
	PRIVSEP_CLOSED,	   /* the connection is gone, and its number with it */
	PRIVSEP_NEIGHBOUR, /* one LLDP frame, read */
	PRIVSEP_PONG,
	PRIVSEP_VIOLATION, /* a system call that is not on the list */
	PRIVSEP_REPLY,
	PRIVSEP_EVENT_NOTE,
	PRIVSEP_CONNECTION, /* a client, with its socket */
	PRIVSEP_DROP,	    /* close that connection, to make room or because it idles */
	PRIVSEP_LISTEN,	    /* read LLDP frames from this packet socket of a link */
	PRIVSEP_IGNORE,	    /* no longer */
	PRIVSEP_PING,
	PRIVSEP_TYPE_MAX
};

enum privsep_what { /* of PRIVSEP_GET */
		    PRIVSEP_STATUS,
		    PRIVSEP_PROCESSES,
		    PRIVSEP_INVENTORY,
		    PRIVSEP_PLAN,
		    PRIVSEP_PLAN_RUNNING, /* what would bring back what runs */
		    PRIVSEP_NET,
		    PRIVSEP_CONFIG_RUNNING,
		    PRIVSEP_CONFIG_STAGED,
		    PRIVSEP_METRICS,
		    PRIVSEP_HISTORY,
		    PRIVSEP_FAULTS,
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
};
struct privsep_get_events {
	uint64_t since, instance; /* instance: of the agent that `since` counts in; 0: not said */
};
struct privsep_put_staged { /* with a sealed memfd */
	uint64_t len;
};
struct privsep_net { /* one data device by its name; for NET_SET with a sealed memfd */
	char name[PLENUM_NAME_MAX];
	uint64_t len; /* of the JSON; 0: none comes along */
};
struct privsep_apply {
	uint32_t confirm_s; /* rolled back unless confirmed in this time; 0: as the policy says */
	uint32_t dry_run;   /* 1: only what would be done */
	uint64_t back_to;   /* confirm, rollback: number in the history; 0: what comes next */
	char forces[PRIVSEP_FORCES_MAX][PLENUM_NAME_MAX]; /* empty from the first empty one */
};
struct privsep_fault {
	uint32_t id; /* of DEL; 0: all */
	/* Of ADD, as struct launch_fault has them. */
	uint32_t ways, drop_ppm, duplicate_ppm, reorder_ppm, delay_us, ttl_s;
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX];
};
#define PRIVSEP_CAPTURE_ALL UINT32_MAX
#define PRIVSEP_CAPTURE_SNAP_MIN 64U
#define PRIVSEP_CAPTURE_SNAP_MAX 65535U
#define PRIVSEP_CAPTURE_SNAP 192U /* the headers, and of file data next to nothing */
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
	uint32_t worker;	   /* BEGIN: PRIVSEP_CAPTURE_ALL, or one by its number */
	uint32_t snap_bytes;	   /* BEGIN: of each packet, the first */
	uint32_t buffer_bytes;	   /* BEGIN: for packets that nobody has come for yet */
	uint64_t id;		   /* TAKE, END */
	uint32_t keys;		   /* BEGIN: 1: those of encrypted sessions, too */
	char leg[PLENUM_NAME_MAX]; /* BEGIN: "": all */
};
struct privsep_ping {
	uint64_t id; /* whose result is asked for; 0: one is to begin, by what follows */
	uint32_t what, bytes, count, depth; /* as struct launch_ping has them */
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX];
};
struct privsep_reply { /* with a sealed memfd */
	uint32_t http_status, content;
	uint64_t len;
	uint64_t etag; /* the version of what it shows; 0: it has none */
};
struct privsep_event_note {
	uint64_t next, instance;
};
struct privsep_neighbour {
	uint32_t ifindex; /* of the link that the frame came in by */
	struct lldp_neighbour said;
};
struct privsep_link { /* of LISTEN, IGNORE */
	uint32_t ifindex;
};
struct privsep_violation {
	uint32_t number; /* of the system call */
};

struct privsep_msg {
	uint32_t type, size; /* size: bytes of the payload that follow */
	uint64_t connection; /* the monitor's number for the client's connection; 0: of none */
	uint64_t if_match;   /* of a change: the version that it is for; 0: whichever there is */
	union {
		struct privsep_get get;
		struct privsep_get_events get_events;
		struct privsep_put_staged put_staged;
		struct privsep_apply apply;
		struct privsep_net net;
		struct privsep_fault fault;
		struct privsep_capture capture;
		struct privsep_ping ping;
		struct privsep_reply reply;
		struct privsep_event_note event_note;
		struct privsep_violation violation;
		struct privsep_neighbour neighbour;
		struct privsep_link link;
	};
};

/* Whether it asks for more than to look. */
bool privsep_is_change(enum privsep_type t);
/*
 * Whether a message of `len` bytes with (has_fd) or without a descriptor may come from `sender`. 0;
 * -EBADMSG with the broken rule in *ret_why (static text). Pure.
 */
int privsep_check(enum privsep_role sender, const struct privsep_msg *m, size_t len, bool has_fd,
		  const char **ret_why);
/* Size, type and sender are filled in from the table. fd: -1 or one that is sent along (stays the
 * caller's). 0 or negative errno; -EAGAIN: the other side does not read. */
int privsep_send(int sock, enum privsep_role sender, struct privsep_msg *m, int fd);
/*
 * Receives one message and checks it. 1 with *m and *ret_fd (-1: none; the caller closes it); 0 at
 * end of file; -EAGAIN: none there; -EBADMSG with the broken rule in *ret_why.
 */
int privsep_recv(int sock, enum privsep_role sender, struct privsep_msg *m, int *ret_fd,
		 const char **ret_why);
/* Reads len bytes of a sealed memfd that the other side sent into a heap string with a NUL.
 * -EBADMSG: not sealed (it could change or shrink under us, or be no memory at all), or of another
 * size. */
int privsep_read_memfd(int fd, uint64_t len, char **ret);

/* "41 (socket)" in buf; the number alone where the call has no name here. Returns buf. */
const char *privsep_syscall_to_string(uint32_t number, char *buf, size_t size);

#endif
