/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wall between the agent's roles. plenumd runs as several processes of one binary: `monitor` is
 * privileged and decides everything, `api` has no privileges and parses what clients send. They
 * talk over a SOCK_SEQPACKET socketpair by the messages below and no others. One table says who may
 * send which, how large it is, whether a descriptor comes along, and how its fields are checked; a
 * message that breaks a rule never reaches a handler. Long texts travel as sealed memfds.
 * A further role (an undo process for disruptive changes) is a further row of the role table.
 */
#ifndef PLENUM_AGENT_PRIVSEP_H
#define PLENUM_AGENT_PRIVSEP_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"
#include <sys/types.h>

enum privsep_role { PRIVSEP_MONITOR, PRIVSEP_API, PRIVSEP_ROLE_MAX };
const char *privsep_role_to_string(enum privsep_role r);

/* Descriptors of a role's process. */
#define PRIVSEP_FD_CONTROL 3
#define PRIVSEP_FD_LISTEN 4

#define PRIVSEP_TEXT_MAX (1U << 20)   /* bytes of a body from a client */
#define PRIVSEP_REPLY_MAX (16U << 20) /* bytes of a reply */
#define PRIVSEP_IPS_MAX 16

enum privsep_type {
	PRIVSEP_GET = 1,
	PRIVSEP_GET_EVENTS,
	PRIVSEP_PUT_STAGED,
	PRIVSEP_DROP_STAGED,
	PRIVSEP_NET_ADD,
	PRIVSEP_NET_DEL,
	PRIVSEP_APPLY,
	PRIVSEP_REPLY,
	PRIVSEP_EVENT_NOTE,
	PRIVSEP_TYPE_MAX
};

enum privsep_what { /* of PRIVSEP_GET */
		    PRIVSEP_STATUS,
		    PRIVSEP_PROCESSES,
		    PRIVSEP_INVENTORY,
		    PRIVSEP_PLAN,
		    PRIVSEP_NET,
		    PRIVSEP_CONFIG_RUNNING,
		    PRIVSEP_CONFIG_STAGED,
		    PRIVSEP_METRICS,
		    PRIVSEP_WHAT_MAX
};

enum privsep_content { PRIVSEP_JSON, PRIVSEP_YAML, PRIVSEP_PLAIN, PRIVSEP_CONTENT_MAX };

struct privsep_get {
	uint32_t what;
};
struct privsep_get_events {
	uint64_t since;
};
struct privsep_put_staged { /* with a sealed memfd */
	uint64_t len;
};
struct privsep_net_add {
	char name[PLENUM_NAME_MAX], device[PLENUM_NAME_MAX];
	char network[PLENUM_NAME_MAX], label[PLENUM_NAME_MAX]; /* label: may be empty */
	char ips[PRIVSEP_IPS_MAX][2 * IP_ADDR_STR_MAX];	       /* empty from the first empty one */
};
struct privsep_net_del {
	char name[PLENUM_NAME_MAX];
};
struct privsep_reply { /* with a sealed memfd */
	uint32_t http_status, content;
	uint64_t len;
};
struct privsep_event_note {
	uint64_t next;
};

struct privsep_msg {
	uint32_t type, size; /* size: bytes of the payload that follow */
	uint64_t request;    /* chosen by the asking side, repeated in the reply; 0: a note */
	union {
		struct privsep_get get;
		struct privsep_get_events get_events;
		struct privsep_put_staged put_staged;
		struct privsep_net_add net_add;
		struct privsep_net_del net_del;
		struct privsep_reply reply;
		struct privsep_event_note event_note;
	};
};

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

/* Gives up all privileges for good: groups, user (`plenum`, else `nobody`), capabilities, the
 * gaining of new ones. 0 or negative errno; a process without privileges to begin with keeps its
 * user. */
int privsep_drop_privileges(void);

#endif
