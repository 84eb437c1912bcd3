/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor's side of clients, without an agent: its sockets in a private folder, the children
 * that serve them, and a client. The children are the test program, started again.
 */
#ifndef PLENUM_TESTS_CLIENTS_RIG_H
#define PLENUM_TESTS_CLIENTS_RIG_H

#include "agent/clients/clients.h"

/* The agent makes a separate answer to this request for each client. */
#define GET_PLAN "GET /v1/plan HTTP/1.1\r\nHost: plenum\r\n\r\n"
/* The agent makes one answer to this request for many clients. */
#define GET_STATUS "GET /v1/status HTTP/1.1\r\nHost: plenum\r\n\r\n"
#define POST_APPLY "POST /v1/apply HTTP/1.1\r\nHost: plenum\r\nContent-Length: 0\r\n\r\n"

struct clients_rig {
	char dir[64], read_path[96], admin_path[96];
	struct loop *loop;
	struct loop_source *timer;
	struct events events;
	struct clients *clients;
	uint64_t give_up_ns;
	bool (*done)(struct clients_rig *w); /* called every millisecond */
	const char *expected;		     /* text of an expected event */
	int client;			     /* socket from which the answer is read; -1: none */
	char got[2048];
	size_t n_got;
	unsigned n_requests, n_looks, n_looks_before;
	struct privsep_shared_read shared_read;
	/* hold_answer: leave requests unanswered; hold_looks: leave the child's reads of shared
	 * answers unanswered; notes: free for the test */
	bool may_change, change_allowed, hold_answer, hold_looks, notes;
	int waiting;
	struct clients_peer peer;
	struct privsep_msg last; /* the last request */
	unsigned stage;		 /* free for `done` */
};

/*
 * Creates a rig. `kind` is the kind of the child that serves `role`, with clients_rig_child() as
 * its main function. The child of kind "real" is the product's; the child of the other role always
 * is. With the role "none" or the kind "hoard", a silent client is dropped after a second. Like all
 * functions here, it ends the test if it fails.
 */
struct clients_rig *clients_rig_new(const char *kind, const char *role);
void clients_rig_free(struct clients_rig *w);

/* Returns whether this process is a child; main() must then return clients_rig_child(). */
bool clients_rig_is_child(int argc, char **argv);
/* Runs the child. `other` is the main function of a child whose kind is not "real", or NULL if
 * there is no such child. */
int clients_rig_child(char **argv, int (*other)(const char *kind));

/* Runs the monitor until done() returns true, at most a minute. Call it once per rig. */
void clients_rig_finish(struct clients_rig *w, bool (*done)(struct clients_rig *w));
/* Like clients_rig_finish, but returns the last result of done(). */
bool clients_rig_run(struct clients_rig *w, bool (*done)(struct clients_rig *w));
int clients_rig_connect(const char *path);
/* Sends the request of a new client, and reads its answer into w->got. */
void clients_rig_ask(struct clients_rig *w, const char *path, const char *request);
/* Empties w->got, then sends the request of a new client to the read-only socket and reads the
 * answer. */
void clients_rig_next(struct clients_rig *w, const char *request);
/* Returns whether the client has received an answer in JSON. */
bool clients_rig_answered(struct clients_rig *w);
/* Answers the child's last read of a shared answer. */
void clients_rig_answer_look(struct clients_rig *w);

#endif
