/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor's side of clients, without an agent: its sockets in a private folder, the children
 * that serve them, and a client. The children are the test program, started again.
 */
#ifndef PLENUM_TESTS_CLIENTS_RIG_H
#define PLENUM_TESTS_CLIENTS_RIG_H

#include "agent/clients/clients.h"

/* A request whose answer is made for this client alone. */
#define GET_PLAN "GET /v1/plan HTTP/1.1\r\nHost: plenum\r\n\r\n"
/* A request whose answer is made for many clients. */
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
	/* hold_answer, hold_looks: do not answer requests, or reads of the child; notes: free for
	 * the test */
	bool may_change, change_allowed, hold_answer, hold_looks, notes;
	int waiting;
	struct clients_peer peer;
	struct privsep_msg last; /* the last request */
	unsigned stage;		 /* free for `done` */
};

/* kind: of the child that serves `role`; clients_rig_child() is its main function. The kind "real"
 * is the real child, and so is the other child in any case. With the role "none" or the kind
 * "hoard" a silent client is dropped after a second. Like all functions here, it ends the test if
 * it fails. */
struct clients_rig *clients_rig_new(const char *kind, const char *role);
void clients_rig_free(struct clients_rig *w);

/* Whether this process is a child; then main() returns clients_rig_child(). */
bool clients_rig_is_child(int argc, char **argv);
/* other: main function of a child whose kind is not "real"; NULL: there is none. */
int clients_rig_child(char **argv, int (*other)(const char *kind));

/* Runs the monitor until done() is true, or for a minute. Call once per rig. */
void clients_rig_finish(struct clients_rig *w, bool (*done)(struct clients_rig *w));
/* The same, but returns the last result of done(). */
bool clients_rig_run(struct clients_rig *w, bool (*done)(struct clients_rig *w));
int clients_rig_connect(const char *path);
/* Sends the request of a new client, and reads its answer into w->got. */
void clients_rig_ask(struct clients_rig *w, const char *path, const char *request);
/* The same with an empty w->got, at the read-only socket. */
void clients_rig_next(struct clients_rig *w, const char *request);
/* Whether the client has got an answer in JSON. */
bool clients_rig_answered(struct clients_rig *w);
/* Answers the last read of the child. */
void clients_rig_answer_look(struct clients_rig *w);

#endif
