/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The members of the REST API's JSON answers, for /openapi.json. The functions that make the
 * answers are spread over the agent; the e2e test api_discovery fails if an answer has a member
 * that is not here, or lacks one. Holds data only.
 */
#ifndef PLENUM_AGENT_API_ANSWER_H
#define PLENUM_AGENT_API_ANSWER_H

#include "agent/api/rest/resource.h"

enum answer_type {
	ANSWER_TEXT,
	ANSWER_INTEGER,
	ANSWER_NUMBER,
	ANSWER_BOOLEAN,
	ANSWER_VALUE,  /* of the configuration: of any type */
	ANSWER_OBJECT, /* of the members `of`; NULL: any object */
};

struct answer_member {
	const char *name; /* NULL: the end of the list */
	enum answer_type type;
	bool is_list;  /* a list of that type */
	bool may_lack; /* not in each answer */
	bool may_be_null;
	const struct answer_member *of;
};

/* The members of the operation's answer. NULL: it is not JSON, or an object of unspecified members.
 */
const struct answer_member *answer_of(enum resource_id id);

#endif
