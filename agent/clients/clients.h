/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clients of the monitor: its sockets, the connections and their rights. The monitor accepts
 * each connection, and the kernel reports the credentials of a client of this host. A network
 * client connects by TCP, if the configuration allows it, and shows a token instead. From then on a
 * random number identifies the connection, and a child process, which knows only that number,
 * parses its bytes (privsep.h). A connection carries several requests, one after the other, and its
 * rights are checked for each of them. The monitor reads no byte from a client and looks up no name
 * during a request: rights are compared as numbers.
 *
 * No client can lock out others. A connection without a request is closed after a while. If a uid
 * has reached its limit, its next connection replaces the connection of that uid that has been idle
 * longest. If the table is full, the longest idle connection of the uid with the most connections
 * is replaced. A connection whose request waits for an answer is not idle, and is not replaced.
 * Streams of events have their own table with the same rules, except that a uid that has reached
 * its limit gets no further stream.
 */
#ifndef PLENUM_AGENT_CLIENTS_H
#define PLENUM_AGENT_CLIENTS_H

#include "agent/base/child/child_role.h"
#include "agent/clients/network.h"

#define CLIENTS_MAX 64		    /* maximum number of connections of each child */
#define CLIENTS_UID_MAX 24	    /* maximum number of connections of one uid at each child */
#define CLIENTS_STREAMS_MAX 1024    /* maximum number of streams of each child */
#define CLIENTS_STREAMS_UID_MAX 256 /* maximum number of streams of one uid at each child */
/* Time limit for each of these: sending a request, reading the answer, and the pause between two
 * requests. */
#define CLIENTS_IDLE_NS (10 * NSEC_PER_SEC)
/* Longest time in CLIENT_HELD: longer than API_WAIT_S_MAX. */
#define CLIENTS_HELD_NS (90 * NSEC_PER_SEC)
/* Longest wait for an answer that is made for many clients. It is longer than API_ANSWER_LIMIT_NS,
 * after which the child sends an error. */
#define CLIENTS_WAITS_NS (120 * NSEC_PER_SEC)
#define CLIENTS_GROUPS_MAX 1024

struct clients;

#define CLIENTS_NO_UID ((uid_t)-1)

struct clients_peer {		/* identity of a client */
	uid_t uid;		/* CLIENTS_NO_UID: a network client */
	struct ip_addr address; /* address of a network client */
	struct ip_addr key;	/* the address or network that counts as one client, see limits.h */
	gid_t gid;
	pid_t pid;
	gid_t *groups; /* supplementary groups; owned */
	size_t n_groups;
};

enum client_state {
	CLIENT_NEW,   /* has not sent its first or next request yet */
	CLIENT_HELD,  /* waits for events */
	CLIENT_WAITS, /* the client's request waits for an answer that is made for many clients */
	CLIENT_ASKED, /* the client's request waits for the monitor's answer */
	CLIENT_ANSWERED, /* is reading the answer */
	CLIENT_STREAM,	 /* is reading a stream of events */
	CLIENT_DROPPED,	 /* closed by the monitor; the child has not confirmed that yet */
	CLIENT_STATE_MAX
};

struct client {
	uint64_t id;
	struct clients_peer peer;
	enum privsep_role role; /* the child that serves the client */
	enum client_state state;
	bool barred; /* the client may not read, so it gets only errors */
	/* The client must have the right to read, because it connected to the admin socket, which
	 * any user can do. */
	bool needs_right;
	bool streams; /* the client gets a stream of events as its answer */
	bool changes; /* its request is for a change, and is the last request of the connection */
	/* Role, name and hash of the last token of a network client. */
	enum access_role access;
	char name[ACCESS_NAME_MAX];
	uint8_t hash[ACCESS_HASH_BYTES];
	int fd; /* a duplicate of the socket, so that the monitor can shut down the connection */
	uint64_t since_ns;
	struct client *next; /* the next younger client */
};

/* Users and groups that may make changes in addition to root, and the group that may read. */
struct clients_rights {
	uid_t *users;  /* owned */
	gid_t *groups; /* owned */
	size_t n_users, n_groups;
	gid_t readers; /* (gid_t)-1: the group does not exist */
};
void clients_rights_done(struct clients_rights *r);
/*
 * Looks up the names or numbers of a configuration. An unknown one is reported as an event and gets
 * no rights. Uses the host's user database, so it may block.
 */
int clients_rights_resolve(char *const *users, size_t n_users, char *const *groups, size_t n_groups,
			   struct events *events, struct clients_rights *ret);
bool clients_rights_change(const struct clients_rights *r, const struct clients_peer *p);
bool clients_rights_read(const struct clients_rights *r, const struct clients_peer *p);

/* Like clients_victim(), for a stream of events. */
struct client *clients_stream_victim(struct client *list, enum privsep_role role,
				     const struct clients_peer *of, bool *ret_full);
/* Chooses the connection to close so that the user or address `of` can open another one. Returns
 * NULL if no connection has to be closed, or if none can be closed; *ret_full is true in the second
 * case. Makes no system call. */
struct client *clients_victim(struct client *list, enum privsep_role role,
			      const struct clients_peer *of, bool *ret_full);

struct clients_setup {
	struct loop *loop;
	struct events *events;
	const char *read_path, *admin_path; /* borrowed */
	enum log_level log_level;
	uint64_t idle_ns; /* CLIENTS_IDLE_NS; tests set a shorter time */
	/* Called for a client's request that privsep_check has accepted. The handler may use fd but
	 * does not close it. */
	void (*on_request)(void *user, struct client *c, const struct privsep_msg *m, int fd);
	/* Called when a child asks for an object for many clients. Answer with clients_answer() and
	 * the id from clients_shared_read_id(). */
	void (*on_shared_read)(void *user, enum privsep_role role,
			       const struct privsep_shared_read *q);
	/* Called when the result of network_problems() may have changed; may be NULL. */
	void (*on_network)(void *user);
	/* Called when a client's connection has ended, with or without an answer; may be NULL. */
	void (*on_gone)(void *user);
	void *user;
};

int clients_new(const struct clients_setup *setup, struct clients **ret);
struct clients *clients_free(struct clients *c); /* accepts NULL, returns NULL */
/* Creates sockets again whose files were removed or replaced. Returns how many were created, or
 * negative errno if one cannot be created. */
int clients_restore(struct clients *c);
/* Replaces the rights, and takes ownership of the contents of `rights`. Open connections get the
 * new rights at once. */
void clients_set_rights(struct clients *c, struct clients_rights *rights);
/* Sets how the API is served over the network, and takes ownership of the paths. If nothing has
 * changed, reads the files again. Otherwise starts, restarts or ends that service in a later turn
 * of the event loop. */
void clients_set_network(struct clients *c, struct network_config *config);
/* Reads the files for the network service again. */
void clients_reload_network(struct clients *c);
/* Returns the same as network_problems(). Accepts NULL. */
json_t *clients_network_problems(const struct clients *c);
/* Adds an event that a request of a network client was refused, with the number of earlier refusals
 * without an event. The rate of these events is limited for each address (limits.h). */
void clients_note_refusal(struct clients *c, const struct client *cl, const char *what);
/* Returns whether the client may make a change now: it has the right and is still connected. For a
 * network client, the caller also has to check its role. */
bool clients_may_change(const struct clients *c, const struct client *cl);
/* Returns a number that identifies the user in records of changes: the uid or, for a token, a
 * number above the uids of most hosts that is computed from the token's name. Two names may have
 * the same number; they then count as one user, for example as author of staged changes. */
uid_t clients_user(const struct client *cl);
/* Describes the client in buf, and returns buf. A client of this host is described as "uid 1000,
 * pid 4242, curl", without the program if it has ended; a network client as "token ci (operate),
 * 192.0.2.7". */
const char *clients_describe(const struct client *cl, char *buf, size_t size);
/* Returns whether `by`, a text by clients_describe(), describes that user. A request without a
 * client, such as a reload, counts as root's. */
bool clients_is_by(const char *by, uid_t uid);
/* Sends the answer to the request of a connection. body: a sealed memfd, which stays the caller's.
 * Returns -ENOENT if the connection has ended. */
int clients_answer(struct clients *c, uint64_t id, const struct privsep_reply *reply, int body);
/* Returns whether the connection is open and its request waits for an answer. */
bool clients_waits(const struct clients *c, uint64_t id);
/* Returns the id by which clients_answer() answers a PRIVSEP_SHARED_READ of that child. */
uint64_t clients_shared_read_id(enum privsep_role role, uint32_t what);
/* Makes the client's answer a stream, which has no time limit. Returns -EMFILE if the client's user
 * has too many streams, or -ENOENT if the connection has ended. */
int clients_stream(struct clients *c, uint64_t id);
/* Returns whether the answer of a client of the admin socket may not have been delivered yet. The
 * child that has the answer must not end before that, because the answer would be lost. */
bool clients_answer_pending(const struct clients *c);
/* Tells the children that there is an event or another change, so that they answer the requests
 * that wait for it. */
void clients_note_event(struct clients *c, uint64_t next, uint64_t instance);

/* Returns the pid of the child, or 0 if the child does not run. */
pid_t clients_child_pid(const struct clients *c, enum privsep_role role);

/* Opens a listening Unix socket, which replaces any file at path. group: group of the file; NULL:
 * root's. *ret is the caller's. Returns 0 or negative errno. */
int listen_open(const char *path, mode_t mode, const char *group, int *ret);

#endif
