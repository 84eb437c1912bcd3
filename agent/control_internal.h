/* SPDX-License-Identifier: BSD-3-Clause */
/* What the answers to clients share: control.c makes most of them at once, control_look.c has those
 * made by a child that have to look at the host. */
#ifndef PLENUM_AGENT_CONTROL_INTERNAL_H
#define PLENUM_AGENT_CONTROL_INTERNAL_H

#include "agent/agent.h"

/* What goes back. Exactly one of json and text is set, or neither where memory ran out. */
struct control_reply {
	unsigned http_status;
	enum privsep_content content;
	json_t *json; /* owned */
	char *text;   /* owned */
	bool later;   /* not now: the answer comes when there is one */
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

/* Answers PRIVSEP_PLAN, with what c forces, and PRIVSEP_INVENTORY: begins a child and sets
 * r->later, or makes the error. */
void control_look(struct agent *a, const struct walk_client *c, enum privsep_what what,
		  struct control_reply *r);

#endif
