/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The members of the REST API's JSON answers, for /openapi.json. Many parts of the agent make the
 * answers themselves. The e2e test api_discovery fails if an answer and this list do not have the
 * same members. Holds only data.
 */
#ifndef PLENUM_AGENT_API_ANSWER_H
#define PLENUM_AGENT_API_ANSWER_H

#include "agent/api/rest/resource.h"

enum answer_type {
	ANSWER_TEXT,
	ANSWER_INTEGER,
	ANSWER_NUMBER,
	ANSWER_BOOLEAN,
	ANSWER_VALUE,  /* a value of the configuration, of any type */
	ANSWER_OBJECT, /* an object with the members `of`; NULL: any members */
};

struct answer_member {
	const char *name; /* NULL: end of the list */
	enum answer_type type;
	bool is_list;  /* a list of values of that type */
	bool may_lack; /* the member is absent in some answers */
	bool may_be_null;
	const struct answer_member *of;
};

/* Returns the members of the operation's answer. Returns NULL if the answer is not JSON, or may be
 * an object with any members. */
const struct answer_member *answer_of(enum resource_id id);

#endif
