/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares two specs key by key with the schema table. It names differences as the configuration
 * file does.
 */
#include "netcfg/spec/spec_schema.h"

#include <string.h>

#define TEXT_MAX 96

struct compare {
	spec_difference each;
	void *user;
};

/* Returns the value in the notation of the configuration file, truncated if it is long; "" if it is
 * not set. */
static const char *value_text(const struct spec_key *k, const char *base, char *buf, size_t size)
{
	const struct spec_type_ops *ops = &spec_types[k->type];
	bool many = spec_type_is_list(k->type);
	const char *field = base + k->offset;
	size_t n = 1;
	FILE *f = fmemopen(buf, size, "w");

	buf[0] = '\0';
	if (!f)
		return buf;
	if (many) {
		n = *(const size_t *)(base + k->n_offset);
		field = *(const char *const *)field;
	} else if (ops->is_unset && ops->is_unset(k, field)) {
		n = 0;
	}
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", f);
		ops->print(k, field + i * k->size, f);
	}
	fclose(f); /* a longer value is truncated */
	buf[size - 1] = '\0';
	return buf;
}

static bool values_equal(const struct spec_key *k, const char *a, const char *b)
{
	autofree char *ta = NULL, *tb = NULL;
	size_t sa, sb, n_a = 1, n_b = 1;
	const struct spec_type_ops *ops = &spec_types[k->type];
	bool many = spec_type_is_list(k->type);
	const char *fa = a + k->offset, *fb = b + k->offset;
	FILE *f, *g;

	if (many) {
		n_a = *(const size_t *)(a + k->n_offset);
		n_b = *(const size_t *)(b + k->n_offset);
		fa = *(const char *const *)fa;
		fb = *(const char *const *)fb;
	} else if (ops->is_unset) {
		n_a = !ops->is_unset(k, fa);
		n_b = !ops->is_unset(k, fb);
	}
	if (n_a != n_b)
		return false;
	f = open_memstream(&ta, &sa);
	g = open_memstream(&tb, &sb);
	for (size_t i = 0; f && g && i < n_a; i++) {
		ops->print(k, fa + i * k->size, f);
		ops->print(k, fb + i * k->size, g);
		fputc('\n', f);
		fputc('\n', g);
	}
	if (f && fclose(f) != 0)
		f = NULL;
	if (g && fclose(g) != 0)
		g = NULL;
	return f && g && sa == sb && memcmp(ta, tb, sa) == 0;
}

static void compare_table(const struct compare *c, const struct spec_table *t, const char *path,
			  const char *a, const char *b);

/* Returns the name of an entry, which is unique in the list: the value of its key `name` or `path`
 * or, if it has neither, its index. */
static const char *entry_name(const struct spec_table *t, const char *entry, size_t index,
			      char *buf, size_t size)
{
	const struct spec_key *name = spec_key_find(t, "name");

	if (!name)
		name = spec_key_find(t, "path");
	if (name)
		return value_text(name, entry, buf, size);
	snprintf(buf, size, "%zu", index);
	return buf;
}

static const char *find_entry(const struct spec_key *k, const char *base, const char *name)
{
	const char *list = *(const char *const *)(base + k->offset);
	size_t n = *(const size_t *)(base + k->n_offset);
	char have[TEXT_MAX];

	for (size_t i = 0; i < n; i++)
		if (strcmp(entry_name(k->table, list + i * k->size, i, have, sizeof(have)), name) ==
		    0)
			return list + i * k->size;
	return NULL;
}

static void compare_maps(const struct compare *c, const struct spec_key *k, const char *path,
			 const char *a, const char *b)
{
	char name[TEXT_MAX], entry_path[SPEC_PATH_MAX];

	for (int side = 0; side < 2; side++) {
		const char *base = side ? b : a, *other = side ? a : b;
		const char *list = *(const char *const *)(base + k->offset);
		size_t n = *(const size_t *)(base + k->n_offset);

		for (size_t i = 0; i < n; i++) {
			const char *entry = list + i * k->size, *twin;

			entry_name(k->table, entry, i, name, sizeof(name));
			snprintf(entry_path, sizeof(entry_path), "%.120s[%s]", path, name);
			twin = find_entry(k, other, name);
			if (!twin)
				c->each(c->user, entry_path, side ? "" : name, side ? name : "");
			else if (side)
				compare_table(c, k->table, entry_path, twin, entry);
		}
	}
}

static void compare_table(const struct compare *c, const struct spec_table *t, const char *path,
			  const char *a, const char *b)
{
	for (size_t i = 0; i < t->n_keys; i++) {
		const struct spec_key *k = &t->keys[i];
		char key_path[SPEC_PATH_MAX], was[TEXT_MAX], will[TEXT_MAX];

		snprintf(key_path, sizeof(key_path), "%.180s%s%s", path, *path ? "." : "", k->name);
		if (k->type == SPEC_TYPE_MAP)
			compare_table(c, k->table, key_path, a + k->offset, b + k->offset);
		else if (k->type == SPEC_TYPE_MAPS)
			compare_maps(c, k, key_path, a, b);
		else if (!values_equal(k, a, b))
			c->each(c->user, key_path, value_text(k, a, was, sizeof(was)),
				value_text(k, b, will, sizeof(will)));
	}
}

void spec_compare(const struct spec *a, const struct spec *b, spec_difference each, void *user)
{
	const struct compare c = {each, user};

	compare_table(&c, &spec_schema, "", (const char *)a, (const char *)b);
}
