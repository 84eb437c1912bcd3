/* SPDX-License-Identifier: BSD-3-Clause */
/* Selects pages of lists. A page begins after the key of an entry instead of at a position, so that
 * members which are added or removed between two requests do not shift others to another page. */
#include "agent/api/rest/api_list.h"
#include "agent/api/rest/api_route_internal.h"
#include "netcfg/base/text.h"
#include <stdio.h>
#include <string.h>

/* Flags for printing a page: the same as for the monitor's answers. */
#define JSON_FLAGS (JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15))

static const struct resource *find_row(const char *path)
{
	for (size_t i = 0; i < RESOURCE_MAX; i++)
		if (resources[i].list && resource_has_path(&resources[i], path))
			return &resources[i];
	return NULL;
}

bool api_list_has_path(const char *path)
{
	return find_row(path) != NULL;
}

/* ---- the request ---- */

static int take_after(const struct resource *row, const char *text, struct api_list *l,
		      struct api_error *e)
{
	const bool is_number = row->key_type == RESOURCE_NAME_NUMBER;

	if (!text[0] || strlen(text) >= sizeof(l->after) ||
	    !text_is_clean(text, sizeof(l->after)) ||
	    (is_number && api_number(text, INT64_MAX, &l->after_number) < 0))
		return api_fail(
			e, 400, "bad-query",
			"'after' is '%.40s'; write the %s of the previous page's last member", text,
			row->key);
	strcpy(l->after, text);
	return 0;
}

int api_list_take(const struct api_request *rq, struct api_list *ret, struct api_error *e)
{
	const struct resource *row = find_row(rq->path);
	struct api_list l = {.row = row};
	int r = 0;

	*ret = (struct api_list){.row = NULL};
	if (!row || (!rq->limit && !rq->after))
		return 0;
	if (strcmp(rq->method, row->method) != 0)
		return api_fail(e, 400, "bad-query",
				"only %s takes 'limit' and 'after'; remove these parameters",
				row->method);
	if (rq->limit && (api_number(rq->limit, API_LIST_LIMIT_MAX, &l.limit) < 0 || l.limit == 0))
		r = api_fail(e, 400, "bad-query", "'limit' is '%.40s'; write a number from 1 to %d",
			     rq->limit, API_LIST_LIMIT_MAX);
	if (r == 0 && rq->after)
		r = take_after(row, rq->after, &l, e);
	snprintf(l.path, sizeof(l.path), "%s", rq->path);
	if (r == 0)
		*ret = l;
	return r;
}

/* ---- the answer ---- */

struct member {
	json_t *object;
	const char *text; /* the entry's key */
	uint64_t number;
};

/* Natural order: "host-a/2" comes before "host-a/10". */
static int compare_texts(const void *a, const void *b)
{
	return strverscmp(((const struct member *)a)->text, ((const struct member *)b)->text);
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t x = ((const struct member *)a)->number,
		       y = ((const struct member *)b)->number;

	return (x > y) - (x < y);
}

static int compare_numbers_down(const void *a, const void *b)
{
	return compare_numbers(b, a);
}

static int (*order_of(const struct resource *row))(const void *, const void *)
{
	if (row->key_type != RESOURCE_NAME_NUMBER)
		return compare_texts;
	return row->latest_first ? compare_numbers_down : compare_numbers;
}

/* Returns the members sorted by key, on the heap, or NULL if memory is short. */
static struct member *sort_members(const struct resource *row, const json_t *list, size_t *ret_n)
{
	struct member *all = calloc(json_array_size(list) + 1, sizeof(*all));
	json_t *o;
	size_t i;

	*ret_n = 0;
	if (!all)
		return NULL;
	json_array_foreach (list, i, o) {
		const json_t *key = json_object_get(o, row->key);
		const char *text = json_string_value(key);

		all[(*ret_n)++] =
			(struct member){o, text ? text : "", (uint64_t)json_integer_value(key)};
	}
	qsort(all, *ret_n, sizeof(*all), order_of(row));
	return all;
}

/* Escapes characters that a URL may not have as %XX. */
static void put_key(char *buf, size_t size, const char *key)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~/";
	size_t n = 0;

	for (; *key && n + 4 < size; key++)
		n += (size_t)snprintf(buf + n, size - n, strchr(plain, *key) ? "%c" : "%%%02X",
				      (unsigned char)*key);
	buf[n] = '\0';
}

static void put_link(const struct api_list *l, const struct member *last,
		     char link[static API_LIST_LINK_MAX])
{
	char key[3 * API_LIST_KEY_MAX], number[24];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)last->number);
	put_key(key, sizeof(key), l->row->key_type == RESOURCE_NAME_NUMBER ? number : last->text);
	snprintf(link, API_LIST_LINK_MAX, "<%s?limit=%llu&after=%s>; rel=\"next\"", l->path,
		 (unsigned long long)l->limit, key);
}

int api_list_cut(const struct api_list *l, const char *text, size_t len, char **ret,
		 char ret_link[static API_LIST_LINK_MAX])
{
	const struct member after = {.text = l->after, .number = l->after_number};
	json_t *o = json_loadb(text, len, 0, NULL), *page = json_array();
	const json_t *list = json_object_get(o, l->row->list);
	size_t n = 0, i = 0;
	autofree struct member *all = sort_members(l->row, list, &n);
	int r = !json_is_array(list) ? -EBADMSG : !all || !page ? -ENOMEM : 0;

	ret_link[0] = '\0';
	*ret = NULL;
	while (r == 0 && l->after[0] && i < n && order_of(l->row)(&all[i], &after) <= 0)
		i++;
	for (; r == 0 && i < n && (l->limit == 0 || json_array_size(page) < l->limit); i++)
		r = json_array_append(page, all[i].object) < 0 ? -ENOMEM : 0;
	if (r == 0 && i < n)
		put_link(l, &all[i - 1], ret_link);
	if (r == 0 && json_object_set(o, l->row->list, page) < 0)
		r = -ENOMEM;
	if (r == 0 && !(*ret = json_dumps(o, JSON_FLAGS)))
		r = -ENOMEM;
	json_decref(page);
	json_decref(o);
	return r;
}
