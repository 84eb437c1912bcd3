/* SPDX-License-Identifier: BSD-3-Clause */
/* Records which users have staged changes. The record is a part of the staged tree, so that it is
 * replaced and removed together with the tree. */
#include "agent/apply/store_internal.h"
#include "agent/base/path.h"
#include "netcfg/base/file.h"
#include "netcfg/base/when.h"
#include <string.h>
#include <time.h>

#define AUTHORS "authors"

void store_set_author(struct store *st, uid_t uid, const char *by)
{
	st->author.uid = uid;
	snprintf(st->author.by, sizeof(st->author.by), "%s", by);
}

json_t *store_authors_to_json(const struct store *st)
{
	autofree char *text = NULL;
	size_t len = 0;
	json_t *list;

	if (store_read_staged(st, AUTHORS, &text, &len) < 0 || !text)
		return json_array();
	list = json_loadb(text, len, 0, NULL);
	if (json_is_array(list))
		return list;
	json_decref(list);
	return json_array();
}

static bool is_of(const json_t *author, uid_t uid)
{
	return json_integer_value(json_object_get(author, "uid")) == (json_int_t)uid;
}

bool store_is_staged_by_others(const struct store *st, uid_t uid)
{
	json_t *list = store_authors_to_json(st), *author;
	bool others = false;
	size_t i;

	json_array_foreach (list, i, author)
		others = others || !is_of(author, uid);
	json_decref(list);
	return others;
}

/* Moves the present author to the end of the list. If the list is full, removes the author with the
 * oldest change. */
static void add_author(const struct store *st, json_t *list)
{
	char time_text[WHEN_TEXT_MAX];
	json_int_t n = 1;

	for (size_t i = json_array_size(list); i-- > 0;) {
		const json_t *author = json_array_get(list, i);

		if (!is_of(author, st->author.uid))
			continue;
		n += json_integer_value(json_object_get(author, "changes"));
		json_array_remove(list, i);
	}
	if (json_array_size(list) >= STORE_AUTHORS_MAX)
		json_array_remove(list, 0);
	json_array_append_new(
		list, json_pack("{s:I, s:s, s:s, s:I}", "uid", (json_int_t)st->author.uid, "by",
				st->author.by, "time",
				when_format((uint64_t)time(NULL) * 1000, time_text), "changes", n));
}

int store_write_authors(const struct store *st, const char *tree, bool replaces)
{
	json_t *list = replaces ? json_array() : store_authors_to_json(st);
	autofree char *path = path_join(tree, AUTHORS), *text = NULL;
	int r = -ENOMEM;

	if (list)
		add_author(st, list);
	text = list ? json_dumps(list, JSON_COMPACT) : NULL;
	if (path && text)
		r = file_write(path, text, strlen(text), 0600);
	json_decref(list);
	return r;
}
