/* SPDX-License-Identifier: BSD-3-Clause */
/* What the answers to clients share: control.c makes most of them at once, control_net.c those
 * about data devices, control_query_host.c has those made by a child that have to look at the host.
 */
#ifndef PLENUM_AGENT_CONTROL_INTERNAL_H
#define PLENUM_AGENT_CONTROL_INTERNAL_H

#include "agent/agent.h"
#include "agent/api/clients.h"
#include "agent/status.h"

/* What goes back. Exactly one of json and text is set, or neither where memory ran out. */
struct control_reply {
	unsigned http_status;
	enum privsep_content content;
	json_t *json;  /* owned */
	char *text;    /* owned */
	size_t len;    /* of a text that is none; else 0 */
	uint64_t etag; /* the version of what it shows; 0: it has none */
	bool later;    /* not now: the answer comes when there is one */
};

void control_json(struct control_reply *r, unsigned status, json_t *json);
/* details is taken, may be NULL. */
void control_error(struct control_reply *r, unsigned status, const char *code, const char *message,
		   json_t *details);
/* An error of the store, the plan or the walk, with what the diag says. */
void control_failure(struct agent *a, struct control_reply *r, int error, const struct diag *d);
/* Makes the text of the reply, whatever happens; the caller frees r->text. */
const char *control_text(struct control_reply *r);
/* Sends the reply and frees what it owns. */
void control_answer(struct agent *a, uint64_t client, struct control_reply *r);

/* An event that says what was asked for, and by whom. */
void control_note(struct agent *a, const struct client *cl, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);
/* 0: what is staged may be replaced by what m asks for; -EINPROGRESS: the end of an apply puts it
 * in the files' place, so it must be what was applied; -ESTALE: it is not the version that m is
 * for; another negative errno where it cannot be read. */
int control_may_stage(struct agent *a, const struct privsep_msg *m);

/* ---- the data devices (control_net.c) ---- */

/* GET /v1/net: the legs that run, and what is staged for each. */
void control_net(struct agent *a, const struct status *st, struct control_reply *r);
/* The version that m would change: one device's, or that of the whole; 0: it is not there. */
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

/* ---- faults on purpose (control_fault.c) ---- */

void control_get_faults(struct agent *a, struct control_reply *r);
void control_fault_add(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r);
void control_fault_del(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r);

/* ---- tries of RDMA (control_ping.c) ---- */

void control_rdma_ping(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r);

/* Answers PRIVSEP_PLAN, with what c forces, and PRIVSEP_INVENTORY: begins a child and sets
 * r->later, or makes the error. */
void control_query_host(struct agent *a, const struct reconcile_client *c, enum privsep_what what,
			struct control_reply *r);

#endif
