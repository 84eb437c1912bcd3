/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor's clients: its sockets, the connections, and their rights. The monitor accepts a
 * connection, and the kernel reports the peer's credentials; a client of the network, which comes
 * by TCP where the configuration says so, shows a token instead. From then on a random number
 * stands for the connection, and one of the children, which know nothing else, parses its bytes
 * (see privsep.h). A connection carries one request. The monitor reads no byte of a client and
 * resolves no name in a request: rights are compared as numbers.
 *
 * No client can lock out the others: a connection without a request is closed after a while; a uid
 * at its limit loses its own oldest idle connection to its next one; and if the table is full, the
 * uid with the most connections loses its oldest idle one. Streams of events have a table of their
 * own, with the same rules, except that a uid at its limit gets no further stream.
 */
#ifndef PLENUM_AGENT_CLIENTS_H
#define PLENUM_AGENT_CLIENTS_H

#include "agent/base/child/child_role.h"
#include "agent/clients/network.h"

#define CLIENTS_MAX 64			    /* of each child */
#define CLIENTS_UID_MAX 24		    /* of one uid, of each child */
#define CLIENTS_STREAMS_MAX 128		    /* of each child */
#define CLIENTS_STREAMS_UID_MAX 32	    /* of one uid, of each child */
#define CLIENTS_IDLE_NS (10 * NSEC_PER_SEC) /* to send the request, and to read the answer */
#define CLIENTS_HELD_NS \
	(90 * NSEC_PER_SEC) /* limit for waiting for events: longer than API_WAIT_S_MAX */
#define CLIENTS_GROUPS_MAX 1024

struct clients;

#define CLIENTS_NO_UID ((uid_t)-1)

struct clients_peer {		/* as the kernel reported it at connect */
	uid_t uid;		/* CLIENTS_NO_UID: a client of the network */
	struct ip_addr address; /* of such a client */
	struct ip_addr key;	/* what counts as one address, see limits.h */
	gid_t gid;
	pid_t pid;
	gid_t *groups; /* supplementary; owned */
	size_t n_groups;
};

enum client_state {
	CLIENT_NEW,	 /* no request yet */
	CLIENT_HELD,	 /* waits for events */
	CLIENT_ASKED,	 /* waits for the monitor's answer */
	CLIENT_ANSWERED, /* reads the answer */
	CLIENT_STREAM,	 /* reads a stream of events */
	CLIENT_DROPPED,	 /* closed by the monitor; its child has not confirmed the close */
	CLIENT_STATE_MAX
};

struct client {
	uint64_t id;
	struct clients_peer peer;
	enum privsep_role role; /* the child that serves it */
	enum client_state state;
	bool barred;	  /* has no right to read: each answer is a refusal */
	bool needs_right; /* to read: it came by the admin socket, which anyone may reach */
	bool streams;	  /* its answer is a stream */
	bool changes;	  /* its request is for a change */
	/* Of a client of the network, by the token that it showed last. */
	enum access_role access;
	char name[ACCESS_NAME_MAX];
	uint8_t hash[ACCESS_HASH_BYTES];
	int fd; /* a duplicate, with which the monitor can shut down the connection */
	uint64_t since_ns;
	struct client *next; /* next younger */
};

/* Users and groups that may make changes beside root, and the group that may read. */
struct clients_rights {
	uid_t *users;  /* owned */
	gid_t *groups; /* owned */
	size_t n_users, n_groups;
	gid_t readers; /* (gid_t)-1: no such group */
};
void clients_rights_done(struct clients_rights *r);
/*
 * Resolves the names (or numbers) of a configuration; an unknown one is reported as an event and
 * grants nothing. Asks the host's user database, so it may block.
 */
int clients_rights_resolve(char *const *users, size_t n_users, char *const *groups, size_t n_groups,
			   struct events *events, struct clients_rights *ret);
bool clients_rights_change(const struct clients_rights *r, const struct clients_peer *p);
bool clients_rights_read(const struct clients_rights *r, const struct clients_peer *p);

/* The stream to evict so that this user or address can open another; as below. */
struct client *clients_stream_victim(struct client *list, enum privsep_role role,
				     const struct clients_peer *of, bool *ret_full);
/* The connection to evict so that this user or address can open another. NULL: none has to be
 * evicted or, with *ret_full, none can be. Pure. */
struct client *clients_victim(struct client *list, enum privsep_role role,
			      const struct clients_peer *of, bool *ret_full);

struct clients_setup {
	struct loop *loop;
	struct events *events;
	const char *read_path, *admin_path; /* borrowed */
	enum log_level log_level;
	uint64_t idle_ns; /* CLIENTS_IDLE_NS; shorter in tests */
	/* One request of a client, checked by privsep_check; fd as in role_message_cb. */
	void (*on_request)(void *user, struct client *c, const struct privsep_msg *m, int fd);
	/* A question of a child; clients_answer() to clients_shared_read_id() is its answer. */
	void (*on_shared_read)(void *user, enum privsep_role role,
			       const struct privsep_shared_read *q);
	/* network_problems() may have changed; NULL: no call. */
	void (*on_network)(void *user);
	/* A client has gone, perhaps with its answer; NULL: no call. */
	void (*on_gone)(void *user);
	void *user;
};

int clients_new(const struct clients_setup *setup, struct clients **ret);
struct clients *clients_free(struct clients *c); /* accepts NULL, returns NULL */
/* Creates the sockets again whose files were removed or replaced. The number of them; negative
 * errno: one cannot be created. */
int clients_restore(struct clients *c);
/* Takes rights. Open connections follow the new rights from now on. */
void clients_set_rights(struct clients *c, struct clients_rights *rights);
/* The same configuration: reads its files again. Another one: starts, restarts or ends the service
 * for the network in a later turn of the loop. Takes ownership of the paths. */
void clients_set_network(struct clients *c, struct network_config *config);
/* Reads the files of the network side again. */
void clients_reload_network(struct clients *c);
json_t *clients_network_problems(const struct clients *c); /* see network.h; accepts NULL */
/* Records that a client of the network was refused something. */
void clients_note_refusal(struct clients *c, const struct client *cl, const char *what);
/* Whether the client may make a change now: it has the right and is still connected. What the role
 * of a client of the network may change is the caller's. */
bool clients_may_change(const struct clients *c, const struct client *cl);
/* Stands for the user in records of changes: the uid, or a number above those of most hosts' users
 * for the name of a token. Two names with one number would only be one user in questions such as
 * whose change is staged. */
uid_t clients_user(const struct client *cl);
/* "uid 1000, pid 4242, curl", without the program if it has ended; "token ci (operate), 192.0.2.7"
 * of a client of the network; in buf; returns buf. */
const char *clients_describe(const struct client *cl, char *buf, size_t size);
/* Whether such a text names that user; a request without a client, such as a reload, is root's. */
bool clients_is_by(const char *by, uid_t uid);
/* Answers the one request of a connection; body: a sealed memfd, stays the caller's. -ENOENT: the
 * client is gone. */
int clients_answer(struct clients *c, uint64_t id, const struct privsep_reply *reply, int body);
/* In place of a client's number in clients_answer(): the child itself, for what it asked. */
uint64_t clients_shared_read_id(enum privsep_role role, uint32_t what);
/* Makes the answer of this client a stream, which has no time limit. -EMFILE: its user has too
 * many; -ENOENT: the client is gone. */
int clients_stream(struct clients *c, uint64_t id);
/* Whether a client of the admin socket may not have its answer yet: the answer is with the child,
 * and would be lost with it. */
bool clients_answer_pending(const struct clients *c);
/* Answers the clients that wait for events. */
void clients_note_event(struct clients *c, uint64_t next, uint64_t instance);

pid_t clients_child_pid(const struct clients *c, enum privsep_role role); /* 0: none */

/* A listening unix socket that replaces any file at path; group NULL: root's. */
int listen_open(const char *path, mode_t mode, const char *group, int *ret);

#endif
