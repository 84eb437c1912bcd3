/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generates documents from the schema table: a JSON Schema for editors, and the list of keys in
 * plenum.yaml(5).
 */
#include "netcfg/spec/spec_schema.h"

#include "netcfg/base/file.h"
#include <ctype.h>
#include <jansson.h>
#include <string.h>

#define DOC_PATH_MAX 128

/* Creates the JSON Schema. Jansson's functions fail if they get NULL for a value, so one check at
 * the end is enough. */

enum doc_table { DOC_TABLE_ROOT, DOC_TABLE_ENTRY, DOC_TABLE_CHANGE };

static json_t *schema_of_table(const struct spec_table *t, enum doc_table as);
static json_t *schema_of_entries(const struct spec_key *k);

static json_t *schema_of_string(const struct spec_key *k)
{
	json_t *s =
		json_pack("{s:s, s:s*}", "type", "string", "pattern", spec_types[k->type].pattern);

	if (!spec_key_is_built(k, "auto"))
		json_object_set_new(s, "not", json_pack("{s:s}", "const", "auto"));
	return s;
}

static json_t *schema_of_enum(const struct spec_key *k)
{
	json_t *names = json_array();

	for (size_t i = 0; i < k->n_names; i++) {
		if (!k->names[i][0] || !spec_key_is_built(k, k->names[i]))
			continue;
		json_array_append_new(names, json_string(k->names[i]));
		/* Editors that read YAML 1.1 treat "on" and "off" as booleans. */
		if (strcmp(k->names[i], "on") == 0 || strcmp(k->names[i], "off") == 0)
			json_array_append_new(names, json_boolean(k->names[i][1] == 'n'));
	}
	return json_pack("{s:o}", "enum", names);
}

static json_t *schema_of_number(const struct spec_key *k)
{
	return json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum", (json_int_t)k->min,
			 "maximum", (json_int_t)k->max);
}

static json_t *schema_of_cores(void)
{
	const char *range = "^(0|[1-9][0-9]{0,3})(-[1-9][0-9]{0,3})?$";
	json_t *one = json_pack("{s:s, s:i, s:i}", "type", "integer", "minimum", 0, "maximum",
				SPEC_CORES_MAX - 1);
	json_t *text = json_pack("{s:s, s:s}", "type", "string", "pattern", range);

	return json_pack("{s:[O, O, {s:s, s:i, s:i, s:{s:[o, o]}}]}", "anyOf", one, text, "type",
			 "array", "minItems", 1, "maxItems", SPEC_LIST_MAX, "items", "anyOf", one,
			 text);
}

static json_t *schema_of_list(const struct spec_key *k, json_t *item)
{
	json_t *list = json_pack("{s:s, s:i, s:o}", "type", "array", "maxItems",
				 k->max ? (int)k->max : SPEC_LIST_MAX, "items", item);

	if (k->type != SPEC_TYPE_MAPS)
		json_object_set_new(list, "minItems", json_integer(1));
	return list;
}

static json_t *schema_of_value(const struct spec_key *k)
{
	/* An editor rejects the key because of "not", and shows the description, which says that
	 * this version lacks it. */
	if (k->not_built && !k->is_built)
		return json_pack("{s:{}}", "not");
	switch (k->type) {
	case SPEC_TYPE_MAP:
		return schema_of_table(k->table, DOC_TABLE_ENTRY);
	case SPEC_TYPE_MAPS:
		return schema_of_list(k, schema_of_entries(k));
	case SPEC_TYPE_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case SPEC_TYPE_U16:
	case SPEC_TYPE_U32:
	case SPEC_TYPE_INDEX:
		return schema_of_number(k);
	case SPEC_TYPE_VFS:
		if (!spec_key_is_built(k, "1"))
			return json_pack("{s:[s, i]}", "enum", "auto", 0);
		return json_pack("{s:[{s:s}, o]}", "anyOf", "const", "auto", schema_of_number(k));
	case SPEC_TYPE_ENUM:
		return schema_of_enum(k);
	case SPEC_TYPE_CORES:
		return schema_of_cores();
	case SPEC_TYPE_PRIOS:
		return schema_of_list(k, json_pack("{s:s, s:i, s:i}", "type", "integer", "minimum",
						   0, "maximum", SPEC_PRIOS - 1));
	case SPEC_TYPE_IPS:
	case SPEC_TYPE_RANGES:
	case SPEC_TYPE_URLS:
	case SPEC_TYPE_ACCOUNTS:
	case SPEC_TYPE_NAMES:
	case SPEC_TYPE_NETWORKS:
		return schema_of_list(k, schema_of_string(k));
	default:
		return schema_of_string(k);
	}
}

static json_t *schema_of_fallback(const struct spec_key *k)
{
	if (spec_types[k->type].is_number && spec_text_is_number(k->fallback))
		return json_integer(atoll(k->fallback));
	if (spec_types[k->type].is_bool)
		return json_boolean(strcmp(k->fallback, "true") == 0);
	return json_string(k->fallback);
}

/* Writes the text with a capital letter at the beginning, because error texts begin with a small
 * letter. */
static void put_sentence(const char *text, FILE *out)
{
	fputc(toupper((unsigned char)text[0]), out);
	fprintf(out, "%s.\n", text + 1);
}

/* Joins the sentences of a help text, which are on separate lines for the manual, to one
 * paragraph. */
static json_t *schema_of_help(const struct spec_key *k)
{
	autofree char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "%s\n", k->help);
	if (k->not_built)
		put_sentence(k->not_built, out);
	if (fclose(out) != 0)
		return NULL;
	text[size - 1] = '\0';
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	return json_string(text);
}

static json_t *schema_of_table(const struct spec_table *t, enum doc_table as)
{
	json_t *schema = json_object(), *properties = json_object(), *required = json_array();

	if (as == DOC_TABLE_ROOT) {
		json_object_set_new(schema, "$schema",
				    json_string("https://json-schema.org/draft/2020-12/schema"));
		json_object_set_new(schema, "title", json_string("plenum.yaml"));
	}
	json_object_set_new(schema, "type", json_string("object"));
	json_object_set_new(schema, "additionalProperties", json_false());
	for (size_t i = 0; i < t->n_keys; i++) {
		const struct spec_key *k = &t->keys[i];
		json_t *value = schema_of_value(k);

		json_object_set_new(value, "description", schema_of_help(k));
		if (k->fallback && as != DOC_TABLE_CHANGE)
			json_object_set_new(value, "default", schema_of_fallback(k));
		json_object_set_new(properties, k->name, value);
		if (as != DOC_TABLE_CHANGE && k->required)
			json_array_append_new(required, json_string(k->name));
	}
	json_object_set_new(schema, "properties", properties);
	if (json_array_size(required) > 0)
		json_object_set(schema, "required", required);
	json_decref(required);
	return schema;
}

/* An entry of `net-set:` or `workers-set:` has the keys to change, and the key that says which
 * entry it changes. */
static json_t *schema_of_entries(const struct spec_key *k)
{
	json_t *schema, *properties;

	if (!k->changes)
		return schema_of_table(k->table, DOC_TABLE_ENTRY);
	schema = schema_of_table(k->table, DOC_TABLE_CHANGE);
	properties = json_object_get(schema, "properties");
	if (!json_object_get(properties, k->by))
		json_object_set_new(properties, k->by,
				    json_pack("{s:s, s:i, s:i, s:s}", "type", "integer", "minimum",
					      0, "maximum", SPEC_CORES_MAX - 1, "description",
					      "A core that the changed entry has in its file."));
	json_object_set_new(schema, "required", json_pack("[s]", k->by));
	return schema;
}

char *spec_json_schema(void)
{
	json_t *schema = schema_of_table(&spec_schema, DOC_TABLE_ROOT);
	char *text = schema ? json_dumps(schema, JSON_INDENT(2)) : NULL;

	json_decref(schema);
	return text;
}

/* The manual has one tagged paragraph for each key. */

/* mdoc(7) needs each sentence on a separate line, and treats a quote at the beginning of a line as
 * a macro. */
static void put_help(const char *help, FILE *out)
{
	bool begins = true;

	for (const char *c = help; *c; c++) {
		if (begins && *c == '\'')
			fputs("\\&", out);
		begins = *c == '\n' || (*c == ' ' && c > help && c[-1] == '.');
		fputc(begins ? '\n' : *c, out);
	}
	fputc('\n', out);
}

/* Prints an example with escaped quotes: YAML needs the quotes, and mdoc(7) would remove them. */
static void put_example(const struct spec_key *k, FILE *out)
{
	fprintf(out, "Example:\n.Ql %s: ", k->name);
	for (const char *c = k->example; *c; c++)
		if (*c == '"')
			fputs("\\(dq", out);
		else
			fputc(*c, out);
	fputs(" .\n", out);
}

static void man_key(const struct spec_key *k, const char *path, FILE *out)
{
	char want[256];

	spec_types[k->type].describe(k, want, sizeof(want));
	fprintf(out, ".It Cm %s\n", path);
	put_help(k->help, out);
	if (k->not_built)
		put_sentence(k->not_built, out);
	/* A key that this version always rejects needs no further text. */
	if (k->not_built && !k->is_built)
		return;
	fprintf(out, ".Pp\nTakes %s.\n", want);
	if (k->required)
		fputs("Required.\n", out);
	else if (k->fallback)
		fprintf(out, "Default:\n.Ql %s .\n", k->fallback);
	else if (k->fallback_doc)
		fprintf(out, "Default: %s.\n", k->fallback_doc);
	if (k->example)
		put_example(k, out);
}

static void man_table(const struct spec_table *t, const char *prefix, FILE *out)
{
	for (size_t i = 0; i < t->n_keys; i++) {
		const struct spec_key *k = &t->keys[i];
		char path[DOC_PATH_MAX];

		snprintf(path, sizeof(path), "%s%s%s%s", prefix, *prefix ? "." : "", k->name,
			 k->type == SPEC_TYPE_MAPS ? "[]" : "");
		man_key(k, path, out);
		if (k->table && !k->changes && spec_key_is_built(k, NULL))
			man_table(k->table, path, out);
	}
}

char *spec_man_table(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs(".Bl -tag -width Ds\n", out);
	man_table(&spec_schema, "", out);
	fputs(".El\n", out);
	return file_text_end(out, &text, 0);
}
