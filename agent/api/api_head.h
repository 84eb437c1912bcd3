/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks whether bytes of a connection begin with a valid request head, and splits such a head. A
 * request that two programs could understand differently is invalid: one with two lengths, with
 * Transfer-Encoding, with spaces before a colon, with folded lines or with bare line feeds. So a
 * proxy in front of this process and this process agree where each request ends. Makes no system
 * calls. Runs in the unprivileged children.
 */
#ifndef PLENUM_AGENT_API_HEAD_H
#define PLENUM_AGENT_API_HEAD_H

#include "agent/api/rest/api_route.h"

#define API_HEAD_BYTES_MAX 8192
#define API_TARGET_BYTES_MAX 1024
/* Maximum number of header lines, query parameters and cookies together. */
#define API_FIELDS_MAX 64

enum api_field { /* the headers that have an effect */
		 API_FIELD_ACCEPT,
		 API_FIELD_AUTHORIZATION,
		 API_FIELD_CONNECTION,
		 API_FIELD_CONTENT_LENGTH,
		 API_FIELD_CONTENT_TYPE,
		 API_FIELD_EXPECT,
		 API_FIELD_HOST,
		 API_FIELD_IF_MATCH,
		 API_FIELD_IF_NONE_MATCH,
		 API_FIELD_LAST_EVENT_ID,
		 API_FIELD_ORIGIN,
		 API_FIELD_PREFER,
		 API_FIELD_SEC_FETCH_SITE,
		 API_FIELD_MAX
};

struct api_head {
	const char *method, *path;	   /* path: decoded, without the query */
	char *query;			   /* not decoded, see api_head_next_argument(); "": none */
	const char *fields[API_FIELD_MAX]; /* values; NULL: the header is absent */
	size_t body_len;
	bool is_old;	       /* the client uses HTTP/1.0 */
	bool closes;	       /* the client wants no further request after this one */
	bool keeps;	       /* the connection stays open for further requests */
	bool expects_continue; /* the client sends the body after an answer 100 */
};

/* Returns the length of a valid head, 0 if the head is incomplete, or -EINVAL with *ret_error. */
ssize_t api_head_check(const char *data, size_t len, struct api_error *ret_error);
/* Splits a valid head. Changes the text, into which *ret points. */
void api_head_split(char *head, size_t len, struct api_head *ret);
/* Removes the first argument from a query and decodes the argument. *ret_value is "" if the
 * argument has no value. Returns NULL at the end of the query. */
const char *api_head_next_argument(char **query, const char **ret_value);

#endif
