/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the normal form of a spec with the schema table. The agent stores, compares and shows this
 * form, so its keys are in the order of the table, not of the file.
 */
#include "netcfg/spec/spec_schema.h"

#include "netcfg/base/file.h"
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

		if (unset == member->required) /* an entry is not set if its required key is not
						  set */
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

/* If `item` is true, the map is an item of a list, so its first key follows the dash on the same
 * line. */
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

char *spec_to_yaml(const struct spec *s)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print_table(&spec_schema, (const char *)s, 0, false, out);
	return file_text_end(out, &text, 0);
}

/* ---- JSON ---- */

/* Prints the text that the YAML form has. It is valid JSON too: numbers and booleans look the same,
 * and all other values are printed as strings in quotes, which both quote alike. */
static int print_json_value(const struct spec_key *k, const void *field, FILE *out)
{
	const struct spec_type_ops *ops = &spec_types[k->type];
	autofree char *text = NULL;
	size_t size = 0;
	FILE *value = open_memstream(&text, &size);
	bool bare;

	if (!value)
		return -ENOMEM;
	ops->print(k, field, value);
	if (fclose(value) != 0)
		return -ENOMEM;
	bare = text[0] == '"' || (ops->is_number && spec_text_is_number(text)) || ops->is_bool;
	fprintf(out, bare ? "%s" : "\"%s\"", text);
	return 0;
}

/* nulls: prints keys without a value as null; otherwise these keys are omitted. */
static int print_json_table(const struct spec_table *t, const char *base, bool nulls, FILE *out);

static int print_json_one(const struct spec_key *k, const char *field, bool nulls, FILE *out)
{
	return k->table ? print_json_table(k->table, field, nulls, out)
			: print_json_value(k, field, out);
}

static int print_json_key(const struct spec_key *k, const char *base, bool nulls, FILE *out)
{
	const char *list = base + k->offset;
	bool many = spec_type_is_list(k->type);
	size_t n = 1;
	int r = 0;

	fprintf(out, "\"%s\": ", k->name);
	if (key_is_unset(k, base)) {
		fputs("null", out);
		return 0;
	}
	if (many) {
		list = *(const char *const *)list;
		n = *(const size_t *)(base + k->n_offset);
		fputc('[', out);
	}
	for (size_t i = 0; i < n && r == 0; i++) {
		fputs(i ? ", " : "", out);
		r = print_json_one(k, list + i * k->size, nulls, out);
	}
	fputs(many ? "]" : "", out);
	return r;
}

static int print_json_table(const struct spec_table *t, const char *base, bool nulls, FILE *out)
{
	const char *before = "";
	int r = 0;

	fputc('{', out);
	for (size_t i = 0; i < t->n_keys && r == 0; i++) {
		if (!nulls && key_is_unset(&t->keys[i], base))
			continue;
		fputs(before, out);
		before = ", ";
		r = print_json_key(&t->keys[i], base, nulls, out);
	}
	fputc('}', out);
	return r;
}

char *spec_net_to_json(const struct spec_net *net)
{
	const struct spec_table *t = spec_key_find(&spec_schema, "net")->table;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	return file_text_end(out, &text, print_json_table(t, (const char *)net, true, out));
}

char *spec_to_json(const struct spec *s)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	return file_text_end(out, &text,
			     print_json_table(&spec_schema, (const char *)s, false, out));
}

/* ---- the match of a leg, as a text ---- */

static bool match_has(const struct spec_key *k, const struct spec_match *m)
{
	const char *base = (const char *)m;

	if (spec_type_is_list(k->type))
		return *(const size_t *)(base + k->n_offset) > 0;
	return !spec_types[k->type].is_unset(k, base + k->offset);
}

bool spec_match_is_set(const struct spec_match *m)
{
	for (size_t i = 0; i < spec_match_table.n_keys; i++)
		if (match_has(&spec_match_table.keys[i], m))
			return true;
	return false;
}

const char *spec_net_device(const struct spec_net *net)
{
	return net->device[0] ? net->device : net->name;
}

static void put_key(const struct spec_key *k, const struct spec_match *m, FILE *f)
{
	const char *field = (const char *)m + k->offset;
	size_t n = 1;

	if (spec_type_is_list(k->type)) {
		field = *(const char *const *)field;
		n = *(const size_t *)((const char *)m + k->n_offset);
	}
	fputs(k->name, f);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? " or " : " ", f);
		spec_types[k->type].print(k, field + i * k->size, f);
	}
}

const char *spec_match_format(const struct spec_match *m, char buf[static SPEC_MATCH_TEXT_MAX])
{
	FILE *f = fmemopen(buf, SPEC_MATCH_TEXT_MAX, "w");
	const char *before = "";

	buf[0] = '\0';
	if (!f)
		return buf;
	for (size_t i = 0; i < spec_match_table.n_keys; i++) {
		if (!match_has(&spec_match_table.keys[i], m))
			continue;
		fputs(before, f);
		before = ", ";
		put_key(&spec_match_table.keys[i], m, f);
	}
	fclose(f); /* a longer text is truncated */
	buf[SPEC_MATCH_TEXT_MAX - 1] = '\0';
	return buf;
}
