/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The normal form: the schema table run backwards over the members. It is what the agent keeps,
 * compares and shows, so the order of its keys is the table's and never the file's.
 */
#include "netcfg/spec/spec_schema.h"

#include <string.h>

static void print_table(const struct spec_table *t, const char *base, unsigned indent, bool item,
			FILE *out);

static bool key_is_unset(const struct spec_key *k, const char *base)
{
	const struct spec_type_ops *ops = &spec_types[k->type];

	if (spec_type_is_list(k->type))
		return *(const size_t *)(base + k->n_offset) == 0;
	if (k->type != SPEC_TYPE_MAP)
		return ops->is_unset && ops->is_unset(k, base + k->offset);
	for (size_t i = 0; i < k->table->n_keys; i++) {
		const struct spec_key *member = &k->table->keys[i];
		bool unset = key_is_unset(member, base + k->offset);

		if (unset ==
		    member->required) /* one that lacks what it must have was not written */
			return unset;
	}
	return true;
}

static void print_list(const struct spec_key *k, const char *base, FILE *out)
{
	const char *list = *(const char *const *)(base + k->offset);
	size_t n = *(const size_t *)(base + k->n_offset);

	fputs(" [", out);
	for (size_t i = 0; i < n; i++) {
		if (i)
			fputs(", ", out);
		spec_types[k->type].print(k, list + i * k->size, out);
	}
	fputs("]\n", out);
}

static void print_maps(const struct spec_key *k, const char *base, unsigned indent, FILE *out)
{
	const char *list = *(const char *const *)(base + k->offset);
	size_t n = *(const size_t *)(base + k->n_offset);

	fputc('\n', out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "%*s- ", (int)indent + 2, "");
		print_table(k->table, list + i * k->size, indent + 4, true, out);
	}
}

/* item: the first key stands on the line of the list's dash. */
static void print_table(const struct spec_table *t, const char *base, unsigned indent, bool item,
			FILE *out)
{
	for (size_t i = 0; i < t->n_keys; i++) {
		const struct spec_key *k = &t->keys[i];

		if (key_is_unset(k, base))
			continue;
		fprintf(out, "%*s%s:", item ? 0 : (int)indent, "", k->name);
		item = false;
		if (k->type == SPEC_TYPE_MAP) {
			fputc('\n', out);
			print_table(k->table, base + k->offset, indent + 2, false, out);
		} else if (k->type == SPEC_TYPE_MAPS) {
			print_maps(k, base, indent, out);
		} else if (spec_type_is_list(k->type)) {
			print_list(k, base, out);
		} else {
			fputc(' ', out);
			spec_types[k->type].print(k, base + k->offset, out);
			fputc('\n', out);
		}
	}
}

/* Prints the keys of a table into a heap string. */
static char *print_to_string(const struct spec_key *only, const char *base)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct spec_table one = {only, 1, false, 0};
	bool failed;

	if (!out)
		return NULL;
	print_table(only ? &one : &spec_schema, base, 0, false, out);
	failed = ferror(out);
	if (fclose(out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return text;
}

char *spec_to_yaml(const struct spec *s)
{
	return print_to_string(NULL, (const char *)s);
}

char *spec_nets_to_yaml(const struct spec_net *nets, size_t n)
{
	const struct spec s = {.nets = (struct spec_net *)nets, .n_nets = n};

	if (n == 0)
		return strdup("net: []\n");
	return print_to_string(spec_key_find(&spec_schema, "net"), (const char *)&s);
}
