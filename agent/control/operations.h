/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations: changes that take long and for which the client does not wait (Prefer:
 * respond-async). An operation is an object that clients can read until a newer one takes its
 * place. Owns the answers. In each agent the numbers begin at random, so that the number of an
 * earlier agent's operation does not refer to another change.
 */
#ifndef PLENUM_AGENT_OPERATIONS_H
#define PLENUM_AGENT_OPERATIONS_H

#include "agent/base/privsep.h"
#include <jansson.h>

#define OPERATIONS_MAX 32    /* a further operation replaces the oldest one that has ended */
#define OPERATIONS_UID_MAX 8 /* maximum number of running operations of one user */

struct operation {
	uint32_t number; /* 0: the entry is free */
	/* ID of the client's connection; operations_end() finds the operation by this ID */
	uint64_t client;
	uid_t uid;
	const char *request; /* static text, such as "apply" */
	char by[REQUESTER_MAX];
	uint64_t begun_ms, ended_ms; /* wall clock; ended_ms 0: it is still running */
	unsigned status;	     /* HTTP status of the answer; 0: it is still running */
	json_t *answer;		     /* owned; NULL: it is still running */
};

struct operations {
	struct operation list[OPERATIONS_MAX];
	uint32_t last; /* last assigned number; 0: none yet */
};

void operations_done(struct operations *ops);
/* Adds an operation and returns its number, or 0 if too many are running. */
uint32_t operations_begin(struct operations *ops, const char *request, uint64_t client, uid_t uid,
			  const char *by);
/* Removes an operation that was refused at once. */
void operations_forget(struct operations *ops, uint32_t number);
/* Ends the operation of that client and stores its answer, a JSON text. Returns false if that
 * client has no running operation. */
bool operations_end(struct operations *ops, uint64_t client, unsigned status, const char *text);
/* Returns the operation as JSON, a new reference, or NULL if there is no such number or memory is
 * short. */
json_t *operation_to_json(const struct operations *ops, uint32_t number);
/* Returns {"operations": [...]} with the latest first, a new reference, or NULL if memory is
 * short. */
json_t *operations_to_json(const struct operations *ops);

#endif
