/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor's side of clients of the agent, without an agent: its sockets in a private folder,
 * the children that serve the sockets, and a client. The children are new processes of the test
 * program.
 */
#ifndef PLENUM_TESTS_CLIENTS_RIG_H
#define PLENUM_TESTS_CLIENTS_RIG_H

#include "agent/clients/clients.h"

/* For this request, the agent makes a separate answer for each client. */
#define GET_PLAN "GET /v1/plan HTTP/1.1\r\nHost: plenum\r\n\r\n"
/* For this request, the agent makes one answer for many clients. */
#define GET_STATUS "GET /v1/status HTTP/1.1\r\nHost: plenum\r\n\r\n"
#define POST_APPLY "POST /v1/apply HTTP/1.1\r\nHost: plenum\r\nContent-Length: 0\r\n\r\n"

struct clients_rig {
	char dir[64], read_path[96], admin_path[96];
	struct loop *loop;
	struct loop_source *timer;
	struct events events;
	struct clients *clients;
	uint64_t give_up_ns;
	bool (*done)(struct clients_rig *w); /* called every millisecond; returns true when the test
						is complete */
	const char *expected;		     /* text that an expected event contains */
	int client;			     /* socket from which the answer is read; -1: none */
	char got[2048];
	size_t n_got;
	unsigned n_requests, n_looks, n_looks_before;
	struct privsep_shared_read shared_read;
	/* hold_answer: leave requests unanswered; hold_looks: leave the child's reads of shared
	 * answers unanswered; notes: for use by the test */
	bool may_change, change_allowed, hold_answer, hold_looks, notes;
	int waiting;
	struct clients_peer peer;
	struct privsep_msg last; /* the last request */
	unsigned stage;		 /* for use by `done` */
};

/*
 * Creates a rig. `kind` is the kind of the child that serves `role`, which executes
 * clients_rig_child(). A child of kind "real" is the product's; the child of the other role is
 * always real. With the role "none" or the kind "hoard", a silent client is disconnected after a
 * second. Like all functions here, it ends the test if it fails.
 */
struct clients_rig *clients_rig_new(const char *kind, const char *role);
void clients_rig_free(struct clients_rig *w);

/* Returns whether this process is a child; main() must then return clients_rig_child(). */
bool clients_rig_is_child(int argc, char **argv);
/* Executes the child. `other` is the main function of a child whose kind is not "real"; NULL if
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
 * answer into w->got. */
void clients_rig_next(struct clients_rig *w, const char *request);
/* Returns whether the client has received an answer in JSON. */
bool clients_rig_answered(struct clients_rig *w);
/* Answers the child's latest read of a shared answer. */
void clients_rig_answer_look(struct clients_rig *w);

#endif
