/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the lists of problems. */
#include "agent/base/problems.h"
#include <stdlib.h>
#include <string.h>

static void free_texts(char **texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
	free(texts);
}

/*
 * Builds the list of all problems. If memory is short, this list is empty, but the lists by kind
 * stay complete.
 */
static void flatten(struct problems *p)
{
	size_t n = 0;

	for (size_t i = 0; i < PROBLEMS_MAX; i++)
		n += p->of[i].n;
	free(p->all);
	p->n_all = p->n_degrading = 0;
	p->all = calloc(n ? n : 1, sizeof(*p->all));
	for (size_t i = 0; p->all && i < PROBLEMS_MAX; i++) {
		for (size_t j = 0; j < p->of[i].n; j++)
			p->all[p->n_all++] = p->of[i].texts[j];
		if (i < PROBLEMS_WARNINGS)
			p->n_degrading = p->n_all;
	}
}

void problems_done(struct problems *p)
{
	for (size_t i = 0; i < PROBLEMS_MAX; i++)
		free_texts(p->of[i].texts, p->of[i].n);
	free(p->all);
	memset(p, 0, sizeof(*p));
}

static bool same_texts(const struct problems *p, enum problems_kind kind, char **texts, size_t n)
{
	bool same = p->of[kind].n == n;

	for (size_t i = 0; same && i < n; i++)
		same = strcmp(p->of[kind].texts[i], texts[i]) == 0;
	return same;
}

static void add_text(char **texts, size_t *n, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (copy)
		texts[(*n)++] = copy;
}

bool problems_set(struct problems *p, enum problems_kind kind, const char *head, const json_t *list)
{
	char **texts = calloc(json_array_size(list) + 1, sizeof(*texts));
	size_t n = 0;

	if (!texts)
		return false;
	add_text(texts, &n, head);
	for (size_t i = 0; i < json_array_size(list); i++)
		add_text(texts, &n, json_string_value(json_array_get(list, i)));
	if (same_texts(p, kind, texts, n)) {
		free_texts(texts, n);
		return false;
	}
	free_texts(p->of[kind].texts, p->of[kind].n);
	p->of[kind].texts = texts;
	p->of[kind].n = n;
	flatten(p);
	return true;
}

bool problems_clear(struct problems *p, enum problems_kind kind)
{
	bool any = p->of[kind].n > 0;

	problems_set(p, kind, NULL, NULL);
	return any;
}

json_t *problems_to_json(const struct problems *p, enum problems_kind kind)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < p->of[kind].n; i++)
		json_array_append_new(list, json_string(p->of[kind].texts[i]));
	return list;
}

size_t problems_count(const struct problems *p, enum problems_kind kind)
{
	return p->of[kind].n;
}

bool problems_degrade(const struct problems *p)
{
	for (size_t i = 0; i < PROBLEMS_WARNINGS; i++)
		if (p->of[i].n > 0)
			return true;
	return false;
}
