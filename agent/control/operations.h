/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes that last and whose client does not wait (Prefer: respond-async): each is an object that
 * clients can read until it is one of the oldest. Owns the answers. Numbers begin at random in each
 * agent, so that one of an earlier agent is not mistaken for another change.
 */
#ifndef PLENUM_AGENT_OPERATIONS_H
#define PLENUM_AGENT_OPERATIONS_H

#include "agent/base/privsep.h"
#include <jansson.h>

#define OPERATIONS_MAX 32    /* the oldest one that has ended makes room */
#define OPERATIONS_UID_MAX 8 /* that run, of one user */

struct operation {
	uint32_t number; /* 0: the place is free */
	uint64_t client; /* the number of the connection that asked; its answer is meant */
	uid_t uid;
	const char *request; /* static text: "apply" */
	char by[REQUESTER_MAX];
	uint64_t begun_ms, ended_ms; /* wall clock; ended_ms 0: it runs */
	unsigned status;	     /* HTTP status of the answer; 0: it runs */
	json_t *answer;		     /* owned; NULL: it runs */
};

struct operations {
	struct operation list[OPERATIONS_MAX];
	uint32_t last; /* number; 0: none yet */
};

void operations_done(struct operations *ops);
/* The number of a new one; 0: too many run. */
uint32_t operations_begin(struct operations *ops, const char *request, uint64_t client, uid_t uid,
			  const char *by);
/* Removes one that was refused at once. */
void operations_forget(struct operations *ops, uint32_t number);
/* Keeps the answer of the one of that client, a JSON text. false: none of its runs. */
bool operations_end(struct operations *ops, uint64_t client, unsigned status, const char *text);
/* A new reference; NULL: no operation has that number, or out of memory. */
json_t *operation_to_json(const struct operations *ops, uint32_t number);
/* {"operations": [...]}, latest first. A new reference; NULL: out of memory. */
json_t *operations_to_json(const struct operations *ops);

#endif
