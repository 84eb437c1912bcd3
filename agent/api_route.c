/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths, queries and bodies to messages. Apart from api_http.c so that tests and the fuzzer reach
 * it without a socket. */
#include "agent/api_route.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int fail(struct api_error *e, unsigned status, const char *code, const char *fmt, ...)
	PLENUM_PRINTF(4, 5);

static int fail(struct api_error *e, unsigned status, const char *code, const char *fmt, ...)
{
	va_list ap;

	*e = (struct api_error){.http_status = status, .code = code};
	va_start(ap, fmt);
	vsnprintf(e->message, sizeof(e->message), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

char *api_error_to_json(const struct api_error *e)
{
	json_t *message = json_string(e->message);
	json_t *o = json_pack("{s:{s:s, s:o, s:[]}}", "error", "code", e->code, "message",
			      message ? message : json_string("?"), "details");
	char *text = o ? json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;

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

/* ---- what the messages are filled with ---- */

static int fill_events(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
		       struct api_error *e)
{
	uint64_t wait = 0;

	if (rq->since && number(rq->since, INT64_MAX, &m->get_events.since) < 0)
		return fail(e, 400, "bad-query", "since is not a number");
	if (rq->wait && number(rq->wait, API_WAIT_S_MAX, &wait) < 0)
		return fail(e, 400, "bad-query", "wait is not a number of seconds up to %d",
			    API_WAIT_S_MAX);
	if (rq->instance && hex(rq->instance, &m->get_events.instance) < 0)
		return fail(e, 400, "bad-query", "instance is not what an answer said");
	*wait_s = (unsigned)wait;
	return 0;
}

static int fill_staged(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
		       struct api_error *e)
{
	if (rq->body_len == 0)
		return fail(e, 400, "bad-body", "the body is empty; send the YAML");
	m->put_staged.len = rq->body_len;
	return 0;
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

static int take_ips(const json_t *value, struct privsep_net_add *n, struct api_error *e)
{
	int r = 0;

	if (json_is_string(value))
		return take_text("ips", value, n->ips[0], sizeof(n->ips[0]), e);
	if (!json_is_array(value))
		return fail(e, 400, "bad-body", "ips is not a list of strings");
	if (json_array_size(value) > PRIVSEP_IPS_MAX)
		return fail(e, 400, "bad-body", "ips has more than %d entries; use ranges",
			    PRIVSEP_IPS_MAX);
	for (size_t i = 0; r >= 0 && i < json_array_size(value); i++) {
		r = take_text("ips", json_array_get(value, i), n->ips[i], sizeof(n->ips[i]), e);
		if (r >= 0 && !n->ips[i][0])
			r = fail(e, 400, "bad-body", "ips has an empty entry");
	}
	return r;
}

static int take_net_key(const char *key, const json_t *v, struct privsep_net_add *n,
			struct api_error *e)
{
	if (strcmp(key, "name") == 0)
		return take_text(key, v, n->name, sizeof(n->name), e);
	if (strcmp(key, "device") == 0)
		return take_text(key, v, n->device, sizeof(n->device), e);
	if (strcmp(key, "network") == 0)
		return take_text(key, v, n->network, sizeof(n->network), e);
	if (strcmp(key, "label") == 0)
		return json_is_null(v) ? 0 : take_text(key, v, n->label, sizeof(n->label), e);
	if (strcmp(key, "ips") == 0)
		return json_is_null(v) ? 0 : take_ips(v, n, e);
	return fail(e, 400, "bad-body",
		    "unknown key '%.60s'; known are name, device, network, label, ips", key);
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

static int fill_net_add(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			struct api_error *e)
{
	json_t *o = NULL;
	const char *key;
	json_t *v;
	int r = load_object(rq, &o, e);

	json_object_foreach (o, key, v) {
		if (r >= 0)
			r = take_net_key(key, v, &m->net_add, e);
	}
	json_decref(o);
	if (r >= 0 && (!m->net_add.name[0] || !m->net_add.device[0] || !m->net_add.network[0]))
		r = fail(e, 400, "bad-body", "name, device and network are needed");
	return r;
}

/* The part of the path after the table's. */
static int fill_net_del(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			struct api_error *e)
{
	const char *name = rq->path + strlen("/v1/net/");

	if (!name[0] || strchr(name, '/') || strlen(name) >= sizeof(m->net_del.name))
		return fail(e, 404, "not-found", "there is no such object");
	strcpy(m->net_del.name, name);
	return 0;
}

static int take_force(const json_t *value, struct privsep_apply *a, struct api_error *e)
{
	int r = 0;

	if (!json_is_array(value))
		return fail(e, 400, "bad-body", "force is not a list of strings");
	if (json_array_size(value) > PRIVSEP_FORCES_MAX)
		return fail(e, 400, "bad-body", "force has more than %d entries",
			    PRIVSEP_FORCES_MAX);
	for (size_t i = 0; r >= 0 && i < json_array_size(value); i++) {
		r = take_text("force", json_array_get(value, i), a->forces[i], sizeof(a->forces[i]),
			      e);
		if (r >= 0 && !a->forces[i][0])
			r = fail(e, 400, "bad-body", "force has an empty entry");
	}
	return r;
}

static int take_apply_key(const char *key, const json_t *v, struct privsep_apply *a,
			  struct api_error *e)
{
	if (strcmp(key, "force") == 0)
		return take_force(v, a, e);
	if (strcmp(key, "dry-run") != 0)
		return fail(e, 400, "bad-body", "unknown key '%.60s'; known are dry-run, force",
			    key);
	if (!json_is_boolean(v))
		return fail(e, 400, "bad-body", "dry-run is not true or false");
	a->dry_run = json_is_true(v);
	return 0;
}

/* What goes into force is what is staged: the body says only how. */
static int fill_apply(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
		      struct api_error *e)
{
	json_t *o = NULL;
	const char *key;
	json_t *v;
	int r = rq->body_len > 0 ? load_object(rq, &o, e) : 0;

	json_object_foreach (o, key, v) {
		if (r >= 0)
			r = take_apply_key(key, v, &m->apply, e);
	}
	json_decref(o);
	return r;
}

/* Nothing can be said about a stop. */
static int fill_nothing(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			struct api_error *e)
{
	if (rq->body_len > 0)
		return fail(e, 400, "bad-body", "this request takes no body; leave it out");
	return 0;
}

/* ---- the table ---- */

struct api_row {
	const char *method, *path; /* a path that ends in '/' stands for all below it */
	enum privsep_type type;
	enum privsep_what what; /* of PRIVSEP_GET */
	int (*fill)(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
		    struct api_error *e);
};

static const struct api_row rows[] = {
	{"GET", "/v1/status", PRIVSEP_GET, PRIVSEP_STATUS, NULL},
	{"GET", "/v1/processes", PRIVSEP_GET, PRIVSEP_PROCESSES, NULL},
	{"GET", "/v1/inventory", PRIVSEP_GET, PRIVSEP_INVENTORY, NULL},
	{"GET", "/v1/plan", PRIVSEP_GET, PRIVSEP_PLAN, NULL},
	{"GET", "/v1/metrics", PRIVSEP_GET, PRIVSEP_METRICS, NULL},
	{"GET", "/v1/events", PRIVSEP_GET_EVENTS, 0, fill_events},
	{"GET", "/v1/config/running", PRIVSEP_GET, PRIVSEP_CONFIG_RUNNING, NULL},
	{"GET", "/v1/config/staged", PRIVSEP_GET, PRIVSEP_CONFIG_STAGED, NULL},
	{"PUT", "/v1/config/staged", PRIVSEP_PUT_STAGED, 0, fill_staged},
	{"DELETE", "/v1/config/staged", PRIVSEP_DROP_STAGED, 0, NULL},
	{"GET", "/v1/net", PRIVSEP_GET, PRIVSEP_NET, NULL},
	{"POST", "/v1/net", PRIVSEP_NET_ADD, 0, fill_net_add},
	{"DELETE", "/v1/net/", PRIVSEP_NET_DEL, 0, fill_net_del},
	{"GET", "/v1/history", PRIVSEP_GET, PRIVSEP_HISTORY, NULL},
	{"POST", "/v1/apply", PRIVSEP_APPLY, 0, fill_apply},
	{"POST", "/v1/stop", PRIVSEP_STOP, 0, fill_nothing},
};

static bool path_matches(const struct api_row *row, const char *path)
{
	size_t len = strlen(row->path);

	if (row->path[len - 1] == '/')
		return strncmp(row->path, path, len) == 0;
	return strcmp(row->path, path) == 0;
}

static const char *allowed(const char *path)
{
	if (strcmp(path, "/v1/config/staged") == 0)
		return "GET, PUT, DELETE";
	if (strcmp(path, "/v1/net") == 0)
		return "GET, POST";
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (path_matches(&rows[i], path))
			return rows[i].method;
	return NULL;
}

int api_route(const struct api_request *rq, struct privsep_msg *ret, unsigned *ret_wait_s,
	      struct api_error *ret_error)
{
	const char *allow = allowed(rq->path);
	int r = 0;

	*ret_wait_s = 0;
	if (!allow)
		return fail(ret_error, 404, "not-found", "there is no %.150s", rq->path);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct api_row *row = &rows[i];

		if (!path_matches(row, rq->path) || strcmp(row->method, rq->method) != 0)
			continue;
		if (rq->read_only && strcmp(row->method, "GET") != 0)
			return fail(ret_error, 403, "forbidden",
				    "changes go to plenumd-admin.sock, and are for root and "
				    "for whom the configuration names under 'admin'");
		memset(ret, 0, sizeof(*ret));
		ret->type = row->type;
		if (row->type == PRIVSEP_GET)
			ret->get.what = row->what;
		if (row->fill)
			r = row->fill(rq, ret, ret_wait_s, ret_error);
		return r;
	}
	fail(ret_error, 405, "method", "%.150s takes %s", rq->path, allow);
	ret_error->allow = allow;
	return -EINVAL;
}
