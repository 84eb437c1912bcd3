/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the request handlers: control.c answers most requests at once, control_net.c those
 * about legs; control_query.c has a child process answer those that read the host. */
#ifndef PLENUM_AGENT_CONTROL_INTERNAL_H
#define PLENUM_AGENT_CONTROL_INTERNAL_H

#include "agent/agent.h"
#include "agent/clients/clients.h"
#include "agent/status.h"

/* The reply. Exactly one of json and text is set, or neither where memory ran out. */
struct control_reply {
	unsigned http_status;
	enum privsep_content content;
	json_t *json;  /* owned */
	char *text;    /* owned */
	size_t len;    /* of a binary reply; else 0 */
	uint64_t etag; /* version of the object in the reply; 0: it has none */
	char location[PRIVSEP_LOCATION_MAX]; /* of what the request created */
	bool later;			     /* the reply follows later */
};

void control_json(struct control_reply *r, unsigned status, json_t *json);
/* 201: the request has created the object at that path. */
void control_created(struct control_reply *r, json_t *json, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
/* details: taken; may be NULL. */
void control_error(struct control_reply *r, unsigned status, const char *code, const char *message,
		   json_t *details);
/* Makes the reply for an error of the store, the plan or the reconcile; details come from d. */
void control_failure(struct agent *a, struct control_reply *r, int error, const struct diag *d);
/* Makes the reply's text; never fails. The caller frees r->text. */
const char *control_text(struct control_reply *r);
/* Sends the reply to a request that is being handled, and frees what it owns. */
void control_answer_now(struct agent *a, uint64_t client, struct control_reply *r);
/* The same for a later reply; that of an operation is kept in it. */
void control_answer(struct agent *a, uint64_t client, struct control_reply *r);

/* Adds an event that names the request and its client. */
void control_note(struct agent *a, const struct client *cl, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
/* Whether m may change the staged configuration. 0; -EINPROGRESS: an apply of it is running;
 * -ESTALE: m names another version of it; another negative errno where it cannot be read. */
int control_may_stage(struct agent *a, const struct privsep_msg *m);
/* The same before a change by this client, which becomes the author of what it stages. */
int control_begin_stage(struct agent *a, const struct client *cl, const struct privsep_msg *m);

/* ---- legs (control_net.c) ---- */

/* GET /v1/net: the running legs, and the staged change of each. */
void control_net(struct agent *a, const struct status *st, struct control_reply *r);
/* The version (ETag) of the leg, or of the whole configuration, that m would change; 0: not found.
 */
int control_tag(struct agent *a, const struct privsep_msg *m, uint64_t *ret);
uint64_t control_tag_of_tree(const struct spec *next);
void control_get_net(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r);
void control_net_add(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r);
void control_net_set(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r);
void control_net_del(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r);

/* ---- configurations (control_config.c) ---- */

/* Answers PRIVSEP_CONFIG_RUNNING, PRIVSEP_CONFIG_STAGED and PRIVSEP_HISTORY_CONFIG. */
void control_get_config(struct agent *a, const struct privsep_msg *m, struct control_reply *r);
/* The apply with that number, if its configuration is kept. Borrowed; NULL: r has the error. */
const struct history_entry *control_kept_entry(struct agent *a, uint64_t number,
					       struct control_reply *r);

/* ---- fault injection (control_fault.c) ---- */

void control_get_faults(struct agent *a, struct control_reply *r);
void control_get_fault(struct agent *a, uint32_t id, struct control_reply *r);
void control_fault_add(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r);
void control_fault_del(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r);

/* ---- workers (control_workers.c) ---- */

void control_restart(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r);
void control_worker_stop(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			 int fd, struct control_reply *r);
void control_worker_start(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			  int fd, struct control_reply *r);
/* Appends a note if workers run an earlier program. */
void control_note_outdated(const struct agent *a, json_t *notes);

/* ---- RDMA tests (control_ping.c) ---- */

void control_rdma_ping(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r);

/* Answers with the events that the client chooses; at once. */
void control_get_events(struct agent *a, const struct client *cl, const struct privsep_msg *m,
			int fd, struct control_reply *r);
/* Admits a stream of events: 200 without content, which the child replaces with the stream. */
void control_stream(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		    struct control_reply *r);
/* Answers PRIVSEP_PLAN (with c's --force), PRIVSEP_PLAN_BACK (of a rollback to apply c->back_to, 0:
 * of the pending apply) and PRIVSEP_INVENTORY: starts a child process and sets
 * r->later, or makes the error. */
void control_query_host(struct agent *a, const struct reconcile_client *c, enum privsep_what what,
			struct control_reply *r);

#endif
