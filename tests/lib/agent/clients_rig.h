/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor's side of clients without an agent: its sockets in a folder of their own, the
 * children that serve them, and a client. The children are the test program, started again.
 */
#ifndef PLENUM_TESTS_CLIENTS_RIG_H
#define PLENUM_TESTS_CLIENTS_RIG_H

#include "agent/clients/clients.h"

#define GET_PLAN "GET /v1/plan HTTP/1.1\r\nHost: plenum\r\n\r\n"     /* an answer of its own */
#define GET_STATUS "GET /v1/status HTTP/1.1\r\nHost: plenum\r\n\r\n" /* one for many clients */
#define POST_APPLY "POST /v1/apply HTTP/1.1\r\nHost: plenum\r\nContent-Length: 0\r\n\r\n"

struct clients_rig {
	char dir[64], read_path[96], admin_path[96];
	struct loop *loop;
	struct loop_source *timer;
	struct events events;
	struct clients *clients;
	uint64_t give_up_ns;
	bool (*done)(struct clients_rig *w); /* called each millisecond */
	const char *expected;		     /* text of an event */
	int client;			     /* whose answer is read; -1: none */
	char got[2048];
	size_t n_got;
	unsigned n_requests, n_looks, n_looks_before;
	struct privsep_shared_read shared_read;
	/* hold_answer, hold_looks: no answer to requests, or to questions of the child; notes: for
	 * the test */
	bool may_change, change_allowed, hold_answer, hold_looks, notes;
	int waiting;
	struct clients_peer peer;
	struct privsep_msg last; /* request */
	unsigned stage;		 /* of `done` */
};

/* kind: of the child that serves `role`, for clients_rig_child(); the other child is the real one,
 * and so is that of the kind "real". With the role "none" or the kind "hoard" a silent client has
 * one second. Ends the test where it fails, as all functions here do. */
struct clients_rig *clients_rig_new(const char *kind, const char *role);
void clients_rig_free(struct clients_rig *w);

/* Whether this process is a child; then main() returns clients_rig_child(). */
bool clients_rig_is_child(int argc, char **argv);
/* other: the process of another kind than "real"; NULL: there is none. */
int clients_rig_child(char **argv, int (*other)(const char *kind));

/* Lets the monitor work until done() is true, or for a minute. Once for each rig. */
void clients_rig_finish(struct clients_rig *w, bool (*done)(struct clients_rig *w));
/* The same; returns what done() says then. */
bool clients_rig_run(struct clients_rig *w, bool (*done)(struct clients_rig *w));
int clients_rig_connect(const char *path);
/* The request of a new client, whose answer is then read into w->got. */
void clients_rig_ask(struct clients_rig *w, const char *path, const char *request);
/* The same with an empty w->got, at the socket for reading. */
void clients_rig_next(struct clients_rig *w, const char *request);
/* Whether the client has an answer in JSON. */
bool clients_rig_answered(struct clients_rig *w);
/* Answers the child's last question. */
void clients_rig_answer_look(struct clients_rig *w);

#endif
