/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages of a list: `?limit=N&after=KEY` for a GET whose row in resource.c has a list. The monitor
 * answers with the whole list, which is shared by all clients, and the api process selects a page.
 * Uses no socket.
 */
#ifndef PLENUM_AGENT_API_LIST_H
#define PLENUM_AGENT_API_LIST_H

#include "agent/api/rest/api_route.h"
#include "agent/api/rest/resource.h"

#define API_LIST_LIMIT_MAX 1000
#define API_LIST_KEY_MAX 288 /* enough for the paths of mounts, which are the longest keys */
#define API_LIST_LINK_MAX (3 * API_LIST_KEY_MAX + 128)

struct api_list {
	const struct resource *row; /* NULL: the whole list was requested */
	char path[64];		    /* path of the request, for the link to the next page */
	uint64_t limit;		    /* greatest number of members; 0: no limit */
	/* Key after which the page begins: a number or a text, depending on row->key_type. */
	uint64_t after_number;
	char after[API_LIST_KEY_MAX]; /* "": from the first member on */
};

/* Returns whether the path has a list with pages. */
bool api_list_has_path(const char *path);
/* Sets *ret to the page that a request asks for, after api_route() has accepted the request;
 * without such parameters, to the whole list (row NULL). Returns 0, or -EINVAL with *e. */
int api_list_take(const struct api_request *rq, struct api_list *ret, struct api_error *e);
/* Reduces the answer `text` to the members of the page, sorted by key. *ret is on the heap.
 * ret_link is the value of the header Link for the next page, or "" for the last page. Returns 0,
 * -ENOMEM, or -EBADMSG if the answer does not have the list. */
int api_list_cut(const struct api_list *l, const char *text, size_t len, char **ret,
		 char ret_link[static API_LIST_LINK_MAX]);

#endif
