/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns paths, queries and bodies into messages to the monitor, by the table in resource.c. Needs
 * no socket, so that tests and the fuzzer can call it. */
#include "agent/api/api_route.h"
#include "agent/api/problem.h"
#include "agent/api/resource.h"
#include "agent/base/events.h"
#include "netcfg/base/text.h"
#include "netcfg/base/when.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static int fail(struct api_error *e, unsigned status, const char *code, const char *fmt, ...)
	PLENUM_PRINTF(4, 5);

static int fail(struct api_error *e, unsigned status, const char *code, const char *fmt, ...)
{
	va_list ap;

	*e = (struct api_error){.http_status = status, .code = code};
	va_start(ap, fmt);
	vsnprintf(e->message, sizeof(e->message), fmt, ap);
	va_end(ap);
	text_clean(e->message); /* it may quote the client */
	return -EINVAL;
}

char *api_error_to_json(const struct api_error *e)
{
	json_t *message = json_string(e->message);
	json_t *o = problem_to_json(e->http_status, e->code, message ? e->message : "?", NULL);
	char *text = o ? json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;

	json_decref(message);
	json_decref(o);
	return text;
}

static int number(const char *text, uint64_t max, uint64_t *ret)
{
	unsigned long long v;
	char *end;

	if (!text || text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || *end || v > max)
		return -EINVAL;
	*ret = v;
	return 0;
}

static int hex(const char *text, uint64_t *ret)
{
	size_t len = strlen(text);
	uint64_t v = 0;

	if (len == 0 || len > 16)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		const char *digits = "0123456789abcdef", *d = strchr(digits, text[i]);

		if (!d)
			return -EINVAL;
		v = v << 4 | (uint64_t)(d - digits);
	}
	*ret = v;
	return 0;
}

/* ---- path and parameters ---- */

static void put_number(struct privsep_msg *m, size_t offset, size_t size, uint64_t v)
{
	const uint32_t narrow = (uint32_t)v;

	if (size == sizeof(narrow))
		memcpy((char *)m + offset, &narrow, sizeof(narrow));
	else
		memcpy((char *)m + offset, &v, sizeof(v));
}

/* The name after the row's path. */
static int take_name(const struct resource *row, const char *path, struct privsep_msg *m,
		     struct api_error *e)
{
	const char *name = path + strlen(row->path);
	uint64_t v = 0;
	int r = 0;

	if (row->name == RESOURCE_NAME_TEXT) {
		r = name[0] && !strchr(name, '/') && strlen(name) < PLENUM_NAME_MAX ? 0 : -EINVAL;
		if (r == 0)
			strcpy((char *)m + row->name_offset, name);
	} else if (row->name == RESOURCE_NAME_NUMBER) {
		r = number(name, UINT32_MAX, &v) < 0 || v == 0 ? -EINVAL : 0;
		put_number(m, row->name_offset, sizeof(uint32_t), v);
	} else if (row->name == RESOURCE_NAME_HEX) {
		r = hex(name, &v) < 0 || v == 0 ? -EINVAL : 0;
		put_number(m, row->name_offset, sizeof(uint64_t), v);
	}
	return r < 0 ? fail(e, 404, "not-found", "there is no %.150s", path) : 0;
}

static int take_wait(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
		     struct api_error *e)
{
	uint64_t wait = 0;

	if (rq->since && number(rq->since, INT64_MAX, &m->get_events.since) < 0)
		return fail(e, 400, "bad-query", "since is '%.40s'; write the number of an event",
			    rq->since);
	if (rq->wait && number(rq->wait, API_WAIT_S_MAX, &wait) < 0)
		return fail(e, 400, "bad-query", "wait is '%.40s'; write seconds from 0 to %d",
			    rq->wait, API_WAIT_S_MAX);
	if (rq->instance && hex(rq->instance, &m->get_events.instance) < 0)
		return fail(e, 400, "bad-query",
			    "instance is invalid; send the instance from an earlier answer");
	*wait_s = (unsigned)wait;
	return 0;
}

static int take_when(const char *name, const char *text, uint64_t *ret_ms, struct api_error *e)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!text || when_parse(text, (uint64_t)now.tv_sec * 1000, false, ret_ms) == 0)
		return 0;
	return fail(e, 400, "bad-query", "%s is '%.40s'; write " WHEN_FORMS, name, text);
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
			return false;
	return true;
}

/* The parameters that choose events. */
static int take_filter(const struct api_request *rq, struct privsep_get_events *g,
		       struct api_error *e)
{
	enum log_level severity = (enum log_level)0;
	uint64_t limit = 0;
	int r;

	_Static_assert(PRIVSEP_EVENTS_MAX == EVENTS_KEPT && sizeof(g->source) == EVENTS_SOURCE_MAX,
		       "the message holds what the events have");
	if (rq->severity &&
	    (!events_severity_from_string(rq->severity, &severity) || severity > LOG_LEVEL_INFO))
		return fail(e, 400, "bad-query",
			    "severity is '%.40s'; write error, warning, notice or info",
			    rq->severity);
	if (rq->limit && (number(rq->limit, EVENTS_KEPT, &limit) < 0 || limit == 0))
		return fail(e, 400, "bad-query", "limit is '%.40s'; write a number from 1 to %d",
			    rq->limit, EVENTS_KEPT);
	if (rq->source && (!rq->source[0] || strlen(rq->source) >= sizeof(g->source) ||
			   !is_printable(rq->source)))
		return fail(e, 400, "bad-query",
			    "source is '%.60s'; write a source as in the list of events: agent, "
			    "api, worker 2, or the name of a leg",
			    rq->source);
	r = take_when("from", rq->from, &g->from_ms, e);
	if (r >= 0)
		r = take_when("until", rq->until, &g->until_ms, e);
	if (r >= 0 && rq->until && g->until_ms <= g->from_ms)
		return fail(e, 400, "bad-query", "until is '%.40s'; write a time after %s",
			    rq->until, rq->from ? "that of from" : "1970");
	if (r < 0)
		return r;
	g->severity = severity;
	g->limit = (uint32_t)limit;
	snprintf(g->source, sizeof(g->source), "%s", rq->source ? rq->source : "");
	return 0;
}

/* ---- bodies ---- */

/* Allows text, numbers, booleans and null, in lists and maps as deep as the schema's deepest key:
 * the priorities of a traffic class of dcb. */
#define DEPTH_MAX 4

static int check_value(const char *key, const json_t *v, unsigned depth, struct api_error *e)
{
	const char *text = json_string_value(v), *name;
	const json_t *item;
	json_t *member;
	size_t i;
	int r = 0;

	if (json_is_real(v) || (depth > DEPTH_MAX && (json_is_object(v) || json_is_array(v))))
		return fail(e, 400, "bad-body", "%.60s has a value that no key accepts", key);
	if (text && json_string_length(v) != strlen(text))
		return fail(e, 400, "bad-body", "%.60s contains a character that is not allowed",
			    key);
	for (const char *c = text; c && *c; c++)
		if (*c < ' ' || *c > '~')
			return fail(e, 400, "bad-body",
				    "%.60s contains a character that is not allowed", key);
	json_array_foreach (v, i, item)
		r = r < 0 ? r : check_value(key, item, depth + 1, e);
	json_object_foreach ((json_t *)v, name, member)
		r = r < 0 ? r : check_value(name, member, depth + 1, e);
	return r;
}

/* The body as an object, a new reference. */
static int load_object(const struct api_request *rq, json_t **ret, struct api_error *e)
{
	json_error_t je;
	json_t *o = json_loadb(rq->body ? rq->body : "", rq->body_len, JSON_REJECT_DUPLICATES, &je);

	if (!o)
		return fail(e, 400, "bad-body", "not JSON: line %d: %.150s", je.line, je.text);
	if (!json_is_object(o)) {
		json_decref(o);
		return fail(e, 400, "bad-body", "not a JSON object");
	}
	*ret = o;
	return 0;
}

/* The monitor checks the keys against the schema. */
static int take_leg(const struct api_request *rq, struct privsep_msg *m, struct api_error *e)
{
	json_t *o = NULL;
	int r = load_object(rq, &o, e);

	if (r < 0)
		return r;
	if (json_object_size(o) == 0)
		r = fail(e, 400, "bad-body", "the body contains no key of a net entry");
	else if (rq->body_len > PRIVSEP_JSON_MAX)
		r = fail(e, 413, "too-large", "the body is larger than %u bytes", PRIVSEP_JSON_MAX);
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
		return fail(e, 400, "bad-body", "%s is not a string", key);
	if (json_string_length(value) != strlen(s) || strlen(s) >= size)
		return fail(e, 400, "bad-body", "%s is longer than %zu characters", key, size - 1);
	strcpy(to, s);
	return 0;
}

static int take_list(const struct resource_field *f, const json_t *v, char *to, struct api_error *e)
{
	const size_t size = f->size / PRIVSEP_FORCES_MAX;
	int r = 0;

	if (!json_is_array(v))
		return fail(e, 400, "bad-body", "%s is not a list of strings", f->name);
	if (json_array_size(v) > PRIVSEP_FORCES_MAX)
		return fail(e, 400, "bad-body", "%s has more than %d entries", f->name,
			    PRIVSEP_FORCES_MAX);
	for (size_t i = 0; r >= 0 && i < json_array_size(v); i++) {
		char *text = to + i * size;

		r = take_text(f->name, json_array_get(v, i), text, size, e);
		if (r >= 0 && !text[0])
			r = fail(e, 400, "bad-body", "%s has an empty entry", f->name);
		else if (r >= 0 && f->only && strcmp(text, f->only) != 0)
			r = fail(e, 400, "bad-body", "this request takes no %s except '%s'",
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
			put_number(m, f->offset, f->size, i + 1);
			return 0;
		}
		snprintf(known + len, sizeof(known) - len, "%s%s", i ? ", " : "", f->choices[i]);
	}
	return fail(e, 400, "bad-body", "%s is not one of %s: '%.60s'", f->name, known, text);
}

static int take_number(const struct resource_field *f, const json_t *v, struct privsep_msg *m,
		       struct api_error *e)
{
	const json_int_t n = json_integer_value(v);

	if (!json_is_integer(v) || n < (json_int_t)f->min || (uint64_t)n > f->max)
		return fail(e, 400, "bad-body", "%s is not a number from %llu to %llu", f->name,
			    (unsigned long long)f->min, (unsigned long long)f->max);
	put_number(m, f->offset, f->size, (uint64_t)n);
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
		put_number(m, f->offset, f->size, json_is_true(v));
		return json_is_boolean(v)
			       ? 0
			       : fail(e, 400, "bad-body", "%s is not true or false", f->name);
	case RESOURCE_CHOICE:
		return take_choice(f, v, m, e);
	case RESOURCE_LIST:
		return take_list(f, v, to, e);
	}
	return -EINVAL;
}

/* The names of the row's fields, or of those of which one is required. */
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
	return fail(e, 400, "bad-body", "unknown key '%.60s'; known are %s", key, known);
}

/* Whether a number is not 0, or a text not empty. */
static bool is_set(const struct resource_field *f, const struct privsep_msg *m)
{
	const char *at = (const char *)m + f->offset;

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
			return fail(e, 400, "bad-body", "%s is missing%s", f->name, f->required);
		asks = asks || f->one_of;
		given = given || (f->one_of && is_set(f, m));
	}
	if (!asks || given)
		return 0;
	list_fields(row, true, known, sizeof(known));
	return fail(e, 400, "bad-body", "nothing is set; give at least one of %s", known);
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
			put_number(m, row->fields[i].offset, row->fields[i].size,
				   row->fields[i].preset);
	json_object_foreach (o, key, v) {
		if (r >= 0)
			r = take_member(row, key, v, m, e);
	}
	json_decref(o);
	return r < 0 ? r : check_required(row, m, e);
}

static int take_body(const struct resource *row, const struct api_request *rq,
		     struct privsep_msg *m, struct api_error *e)
{
	switch (row->body) {
	case RESOURCE_BODY_IGNORED:
		break;
	case RESOURCE_BODY_NONE:
		if (rq->body_len > 0)
			return fail(e, 400, "bad-body", "this request takes no body; remove it");
		break;
	case RESOURCE_BODY_FIELDS:
		return take_fields(row, rq, m, e);
	case RESOURCE_BODY_LEG:
		return take_leg(rq, m, e);
	case RESOURCE_BODY_YAML:
		if (rq->body_len == 0)
			return fail(e, 400, "bad-body", "the body is empty; send the YAML");
		m->put_staged.len = rq->body_len;
		break;
	}
	return 0;
}

/* ---- versions ---- */

/* Accepts only the form that our answers have, so that any other text is refused as invalid. */
static int take_if_match(const struct api_request *rq, enum resource_version version,
			 struct privsep_msg *m, struct api_error *e)
{
	const char *text = rq->if_match;
	char digits[17] = "";

	if (!text && version == RESOURCE_VERSION_REQUIRED)
		return fail(e, 428, "no-version",
			    "If-Match is missing; send the ETag of GET %.100s, so that no change "
			    "of another client is lost",
			    rq->path);
	if (!text)
		return 0;
	if (version == RESOURCE_VERSION_NONE)
		return fail(e, 400, "bad-request", "this request takes no If-Match; remove it");
	if (strcmp(text, "*") == 0) {
		m->if_match = PRIVSEP_ETAG_ANY;
		return 0;
	}
	if (strlen(text) == 18 && text[0] == '"' && text[17] == '"')
		memcpy(digits, text + 1, 16);
	if (hex(digits, &m->if_match) < 0)
		return fail(e, 400, "bad-request",
			    "If-Match must be * or one ETag of an earlier answer, with its quotes");
	return 0;
}

/* ---- methods ---- */

static void add_method(char *buf, const char *method)
{
	const size_t len = strlen(buf);

	snprintf(buf + len, API_ALLOW_MAX - len, "%s%s", len ? ", " : "", method);
}

void api_route_methods(const char *path, char buf[static API_ALLOW_MAX])
{
	buf[0] = '\0';
	for (size_t i = 0; i < RESOURCE_MAX; i++) {
		if (!resource_has_path(&resources[i], path))
			continue;
		add_method(buf, resources[i].method);
		if (strcmp(resources[i].method, "GET") == 0)
			add_method(buf, "HEAD");
	}
	if (buf[0])
		add_method(buf, "OPTIONS");
}

/* Whether the path takes the parameters of events. */
static bool path_waits(const char *path)
{
	for (size_t i = 0; i < RESOURCE_MAX; i++)
		if (resources[i].waits && resource_has_path(&resources[i], path))
			return true;
	return false;
}

/* ---- media types ---- */

/* Whether the media type at text, up to a comma or its end, without its parameters, is type. */
static bool is_type(const char *text, const char *type)
{
	const size_t len = strcspn(type, ";");

	return strncasecmp(text, type, len) == 0 && strchr(" \t;,", text[len]);
}

/* Whether a range of Accept, len bytes long, has the quality 0: "text/html;q=0.0". */
static bool is_excluded(const char *range, size_t len)
{
	const char *q = memmem(range, len, "q=0", 3);
	size_t digits;

	if (!q)
		return false;
	digits = (size_t)(q - range) + 3 + strspn(q + 3, ".0");
	return digits >= len || strchr(" \t;", range[digits]);
}

/* Other qualities are not compared: each path has one media type. */
static bool range_accepts(const char *range, const char *type)
{
	const size_t main_type = strcspn(type, "/") + 1;

	if (is_excluded(range, strcspn(range, ",")))
		return false;
	return is_type(range, "*/*") || is_type(range, type) ||
	       (strncasecmp(range, type, main_type) == 0 && range[main_type] == '*');
}

static int check_accept(const struct resource *row, const struct api_request *rq,
			struct api_error *e)
{
	const char *type = resource_media_type(row->content), *range = rq->accept;

	if (!range)
		return 0;
	for (;;) {
		range += strspn(range, " \t,");
		if (!*range)
			break;
		if (range_accepts(range, type))
			return 0;
		range += strcspn(range, ",");
	}
	return fail(e, 406, "not-acceptable", "%.100s answers with %s, which Accept excludes",
		    rq->path, type);
}

/* curl -d labels every body as a form, so that label is ignored. */
static int check_content_type(const struct resource *row, const struct api_request *rq,
			      struct api_error *e)
{
	static const char *const json[] = {"application/json", "application/merge-patch+json",
					   "application/x-www-form-urlencoded", NULL};
	static const char *const yaml[] = {"application/yaml",
					   "application/x-yaml",
					   "text/yaml",
					   "text/x-yaml",
					   "text/plain",
					   "application/json",
					   "application/octet-stream",
					   "application/x-www-form-urlencoded",
					   NULL};
	const bool is_yaml = row->body == RESOURCE_BODY_YAML;

	if (!rq->content_type || rq->body_len == 0)
		return 0;
	for (const char *const *type = is_yaml ? yaml : json; *type; type++)
		if (is_type(rq->content_type, *type))
			return 0;
	return fail(e, 415, "media-type", "the body is '%.60s'; send %s", rq->content_type,
		    is_yaml ? yaml[0] : json[0]);
}

/* ---- the table ---- */

static int fill(const struct resource *row, const struct api_request *rq, struct privsep_msg *m,
		unsigned *wait_s, struct api_error *e)
{
	int r;

	/* The kind of a PRIVSEP_GET and the action of a PRIVSEP_CAPTURE are at the same place. */
	_Static_assert(offsetof(struct privsep_msg, get.what) ==
			       offsetof(struct privsep_msg, capture.act),
		       "struct resource's what fits both");
	memset(m, 0, sizeof(*m));
	r = check_accept(row, rq, e);
	if (r >= 0)
		r = check_content_type(row, rq, e);
	if (r < 0)
		return r;
	m->type = row->type;
	if (row->what)
		m->get.what = row->what;
	r = take_if_match(rq, row->version, m, e);
	if (r >= 0 && row->name)
		r = take_name(row, rq->path, m, e);
	if (r >= 0 && row->waits)
		r = take_wait(rq, m, wait_s, e);
	if (r >= 0 && row->waits)
		r = take_filter(rq, &m->get_events, e);
	if (r >= 0)
		r = take_body(row, rq, m, e);
	return r < 0 ? r : (int)row->local;
}

int api_route(const struct api_request *rq, struct privsep_msg *ret, unsigned *ret_wait_s,
	      struct api_error *ret_error)
{
	char allow[API_ALLOW_MAX];

	*ret_wait_s = 0;
	api_route_methods(rq->path, allow);
	if (!allow[0])
		return fail(ret_error, 404, "not-found", "there is no %.150s", rq->path);
	if (rq->unknown)
		return fail(ret_error, 400, "bad-query", "unknown parameter '%.60s'; %s",
			    rq->unknown,
			    path_waits(rq->path)
				    ? "known are since, wait, instance, severity, from, until, "
				      "source, limit"
				    : "this path takes none");
	for (size_t i = 0; i < RESOURCE_MAX; i++) {
		const struct resource *row = &resources[i];

		if (!resource_has_path(row, rq->path) || strcmp(row->method, rq->method) != 0)
			continue;
		if (rq->read_only && strcmp(row->method, "GET") != 0)
			return fail(
				ret_error, 403, "forbidden",
				"changes need the socket plenumd-admin.sock, and are allowed for "
				"root and for the users and groups in the configuration's 'admin'");
		return fill(row, rq, ret, ret_wait_s, ret_error);
	}
	fail(ret_error, 405, "method", "%.150s takes %s", rq->path, allow);
	snprintf(ret_error->allow, sizeof(ret_error->allow), "%s", allow);
	return -EINVAL;
}
