/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages of a list: `?limit=N&after=KEY` of a GET whose row in resource.c names a list. The monitor
 * answers with the whole list, which all clients share; the api process cuts a page out of it.
 * Pure: no socket, no HTTP library.
 */
#ifndef PLENUM_AGENT_API_LIST_H
#define PLENUM_AGENT_API_LIST_H

#include "agent/api/rest/api_route.h"
#include "agent/api/rest/resource.h"

#define API_LIST_LIMIT_MAX 1000
#define API_LIST_KEY_MAX 128
#define API_LIST_LINK_MAX (3 * API_LIST_KEY_MAX + 128)

struct api_list {
	const struct resource *row;   /* NULL: the answer is the whole list */
	uint64_t limit;		      /* 0: all that follow */
	uint64_t after_number;	      /* by the row's type of keys */
	char after[API_LIST_KEY_MAX]; /* "": from the first one */
};

/* Whether the path has a list that is given in pages. */
bool api_list_has_path(const char *path);
/* The page that a request which api_route() has accepted asks for. 0; -EINVAL with *e. */
int api_list_take(const struct api_request *rq, struct api_list *ret, struct api_error *e);
/* The answer `text` with the members of the page alone, sorted by key; *ret: heap. ret_link: the
 * value of the header Link that leads to the next page; "": this is the last one. 0; -ENOMEM;
 * -EBADMSG: the answer has no such list. */
int api_list_cut(const struct api_list *l, const char *text, size_t len, char **ret,
		 char ret_link[static API_LIST_LINK_MAX]);

#endif
