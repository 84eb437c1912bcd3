/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts the JSON body of a request to its message, with the fields of its row in resource.c. */
#include "agent/api/rest/api_route_internal.h"
#include <stdio.h>
#include <string.h>

/* Maximum depth of lists and maps. The deepest configuration key, the priorities of a traffic class
 * in "dcb", needs it. */
#define DEPTH_MAX 4

static int check_value(const char *key, const json_t *v, unsigned depth, struct api_error *e)
{
	const char *text = json_string_value(v), *name;
	const json_t *item;
	json_t *member;
	size_t i;
	int r = 0;

	if (json_is_real(v) || (depth > DEPTH_MAX && (json_is_object(v) || json_is_array(v))))
		return api_fail(e, 400, "bad-body", "%.60s has a value that no key accepts", key);
	if (text && json_string_length(v) != strlen(text))
		return api_fail(e, 400, "bad-body", "%.60s may contain only printable ASCII", key);
	for (const char *c = text; c && *c; c++)
		if (*c < ' ' || *c > '~')
			return api_fail(e, 400, "bad-body",
					"%.60s may contain only printable ASCII", key);
	json_array_foreach (v, i, item)
		r = r < 0 ? r : check_value(key, item, depth + 1, e);
	json_object_foreach ((json_t *)v, name, member)
		r = r < 0 ? r : check_value(name, member, depth + 1, e);
	return r;
}

/* Loads the body as an object, a new reference. */
static int load_object(const struct api_request *rq, json_t **ret, struct api_error *e)
{
	json_error_t je;
	json_t *o = json_loadb(rq->body ? rq->body : "", rq->body_len, JSON_REJECT_DUPLICATES, &je);

	if (!o)
		return api_fail(e, 400, "bad-body", "not JSON: line %d: %.150s", je.line, je.text);
	if (!json_is_object(o)) {
		json_decref(o);
		return api_fail(e, 400, "bad-body", "not a JSON object");
	}
	*ret = o;
	return 0;
}

/* Checks the form of a leg's JSON object, and sets its length in the message. The JSON itself
 * travels in a memfd. The monitor checks its configuration keys against the schema. */
static int take_leg(const struct api_request *rq, struct privsep_msg *m, struct api_error *e)
{
	json_t *o = NULL;
	int r = load_object(rq, &o, e);

	if (r < 0)
		return r;
	if (json_object_size(o) == 0)
		r = api_fail(e, 400, "bad-body",
			     "the body is empty; give at least one key of an entry of 'net'");
	else if (rq->body_len > PRIVSEP_JSON_MAX)
		r = api_fail(e, 413, "too-large", "the body is larger than %u bytes",
			     PRIVSEP_JSON_MAX);
	else
		r = check_value("the body", o, 0, e);
	json_decref(o);
	m->net.len = rq->body_len;
	return r;
}

char *api_body_normalise(const char *body, size_t len)
{
	json_t *o = json_loadb(body, len, JSON_REJECT_DUPLICATES, NULL);
	char *text = o ? json_dumps(o, JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII) : NULL;

	json_decref(o);
	return text;
}

static int take_text(const char *key, const json_t *value, char *to, size_t size,
		     struct api_error *e)
{
	const char *s = json_string_value(value);

	if (!s)
		return api_fail(e, 400, "bad-body", "%s is not a string", key);
	if (json_string_length(value) != strlen(s) || strlen(s) >= size)
		return api_fail(e, 400, "bad-body", "%s is longer than %zu characters", key,
				size - 1);
	strcpy(to, s);
	return 0;
}

static int take_list(const struct resource_field *f, const json_t *v, char *to, struct api_error *e)
{
	const size_t size = f->size / PRIVSEP_FORCES_MAX;
	int r = 0;

	if (!json_is_array(v))
		return api_fail(e, 400, "bad-body", "%s is not a list of strings", f->name);
	if (json_array_size(v) > PRIVSEP_FORCES_MAX)
		return api_fail(e, 400, "bad-body", "%s has more than %d entries", f->name,
				PRIVSEP_FORCES_MAX);
	for (size_t i = 0; r >= 0 && i < json_array_size(v); i++) {
		char *text = to + i * size;

		r = take_text(f->name, json_array_get(v, i), text, size, e);
		if (r >= 0 && !text[0])
			r = api_fail(e, 400, "bad-body", "%s has an empty entry", f->name);
		else if (r >= 0 && f->only && strcmp(text, f->only) != 0)
			r = api_fail(e, 400, "bad-body", "this request takes no %s except '%s'",
				     f->name, f->only);
	}
	return r;
}

static int take_choice(const struct resource_field *f, const json_t *v, struct privsep_msg *m,
		       struct api_error *e)
{
	const char *text = json_is_string(v) ? json_string_value(v) : "";
	char known[64] = "";

	for (size_t i = 0; f->choices[i]; i++) {
		const size_t len = strlen(known);

		if (strcmp(text, f->choices[i]) == 0) {
			api_put_number(m, f->offset, f->size, i + 1);
			return 0;
		}
		snprintf(known + len, sizeof(known) - len, "%s%s", i ? ", " : "", f->choices[i]);
	}
	return api_fail(e, 400, "bad-body", "%s is not one of %s: '%.60s'", f->name, known, text);
}

static int take_number(const struct resource_field *f, const json_t *v, struct privsep_msg *m,
		       struct api_error *e)
{
	const json_int_t n = json_integer_value(v);

	if (!json_is_integer(v) || n < (json_int_t)f->min || (uint64_t)n > f->max)
		return api_fail(e, 400, "bad-body", "%s is not a number from %llu to %llu", f->name,
				(unsigned long long)f->min, (unsigned long long)f->max);
	api_put_number(m, f->offset, f->size, (uint64_t)n);
	return 0;
}

static int take_field(const struct resource_field *f, const json_t *v, struct privsep_msg *m,
		      struct api_error *e)
{
	char *to = (char *)m + f->offset;

	switch (f->type) {
	case RESOURCE_TEXT:
		return take_text(f->name, v, to, f->size, e);
	case RESOURCE_NUMBER:
		return take_number(f, v, m, e);
	case RESOURCE_BOOLEAN:
		api_put_number(m, f->offset, f->size, json_is_true(v));
		return json_is_boolean(v)
			       ? 0
			       : api_fail(e, 400, "bad-body", "%s is not true or false", f->name);
	case RESOURCE_CHOICE:
		return take_choice(f, v, m, e);
	case RESOURCE_LIST:
		return take_list(f, v, to, e);
	}
	return -EINVAL;
}

/* Lists the names of the row's fields or, with one_of, only of those fields that have the flag
 * one_of. */
static void list_fields(const struct resource *row, bool one_of, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < row->n_fields && len < size; i++)
		if (!one_of || row->fields[i].one_of)
			len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? ", " : "",
						row->fields[i].name);
}

static int take_member(const struct resource *row, const char *key, const json_t *v,
		       struct privsep_msg *m, struct api_error *e)
{
	char known[160];

	for (size_t i = 0; i < row->n_fields; i++)
		if (strcmp(row->fields[i].name, key) == 0)
			return take_field(&row->fields[i], v, m, e);
	list_fields(row, false, known, sizeof(known));
	return api_fail(e, 400, "bad-body", "unknown key '%.60s'; known are %s", key, known);
}

/* Returns whether the field has a value: a number that is not its preset, such as 0, or a text that
 * is not empty. */
static bool is_set(const struct resource_field *f, const struct privsep_msg *m)
{
	const char *at = (const char *)m + f->offset;

	if (f->preset && f->size == sizeof(uint32_t)) {
		uint32_t v;

		memcpy(&v, at, sizeof(v));
		return v != f->preset;
	}
	for (size_t i = 0; i < (f->type == RESOURCE_TEXT ? 1 : f->size); i++)
		if (at[i])
			return true;
	return false;
}

static int check_required(const struct resource *row, const struct privsep_msg *m,
			  struct api_error *e)
{
	bool asks = false, given = false;
	char known[160];

	for (size_t i = 0; i < row->n_fields; i++) {
		const struct resource_field *f = &row->fields[i];

		if (f->required && !is_set(f, m))
			return api_fail(e, 400, "bad-body", "%s is missing%s", f->name,
					f->required);
		asks = asks || f->one_of;
		given = given || (f->one_of && is_set(f, m));
	}
	if (!asks || given)
		return 0;
	list_fields(row, true, known, sizeof(known));
	return api_fail(e, 400, "bad-body", "nothing is set; give at least one of %s", known);
}

static int take_fields(const struct resource *row, const struct api_request *rq,
		       struct privsep_msg *m, struct api_error *e)
{
	json_t *o = NULL;
	const char *key;
	json_t *v;
	int r = rq->body_len > 0 ? load_object(rq, &o, e) : 0;

	for (size_t i = 0; i < row->n_fields; i++)
		if (row->fields[i].preset)
			api_put_number(m, row->fields[i].offset, row->fields[i].size,
				       row->fields[i].preset);
	json_object_foreach (o, key, v) {
		if (r >= 0)
			r = take_member(row, key, v, m, e);
	}
	json_decref(o);
	return r < 0 ? r : check_required(row, m, e);
}

int api_take_body(const struct resource *row, const struct api_request *rq, struct privsep_msg *m,
		  struct api_error *e)
{
	switch (row->body) {
	case RESOURCE_BODY_IGNORED:
		break;
	case RESOURCE_BODY_NONE:
		if (rq->body_len > 0)
			return api_fail(e, 400, "bad-body",
					"this request takes no body; remove the body");
		break;
	case RESOURCE_BODY_FIELDS:
		return take_fields(row, rq, m, e);
	case RESOURCE_BODY_LEG:
		return take_leg(rq, m, e);
	case RESOURCE_BODY_YAML:
		if (rq->body_len == 0)
			return api_fail(e, 400, "bad-body", "the body is empty; send the YAML");
		m->put_staged.len = rq->body_len;
		break;
	}
	return 0;
}
