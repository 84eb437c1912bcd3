/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent/api_route.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int api_fail(struct api_error *e, unsigned status, const char *code, const char *fmt, ...)
	PLENUM_PRINTF(4, 5);

static int api_fail(struct api_error *e, unsigned status, const char *code, const char *fmt, ...)
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

static int api_number(const char *text, uint64_t max, uint64_t *ret)
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

/* ---- what the messages are filled with ---- */

static int api_fill_events(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			   struct api_error *e)
{
	uint64_t wait = 0;

	if (rq->since && api_number(rq->since, INT64_MAX, &m->get_events.since) < 0)
		return api_fail(e, 400, "bad-query", "since is not a number");
	if (rq->wait && api_number(rq->wait, API_WAIT_S_MAX, &wait) < 0)
		return api_fail(e, 400, "bad-query", "wait is not a number of seconds up to %d",
				API_WAIT_S_MAX);
	*wait_s = (unsigned)wait;
	return 0;
}

static int api_fill_staged(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			   struct api_error *e)
{
	if (rq->body_len == 0)
		return api_fail(e, 400, "bad-body", "the body is empty; send the YAML");
	m->put_staged.len = rq->body_len;
	return 0;
}

static int api_take_text(const char *key, const json_t *value, char *to, size_t size,
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

static int api_take_ips(const json_t *value, struct privsep_net_add *n, struct api_error *e)
{
	int r = 0;

	if (json_is_string(value))
		return api_take_text("ips", value, n->ips[0], sizeof(n->ips[0]), e);
	if (!json_is_array(value))
		return api_fail(e, 400, "bad-body", "ips is not a list of strings");
	if (json_array_size(value) > PRIVSEP_IPS_MAX)
		return api_fail(e, 400, "bad-body", "ips has more than %d entries; use ranges",
				PRIVSEP_IPS_MAX);
	for (size_t i = 0; r >= 0 && i < json_array_size(value); i++) {
		r = api_take_text("ips", json_array_get(value, i), n->ips[i], sizeof(n->ips[i]), e);
		if (r >= 0 && !n->ips[i][0])
			r = api_fail(e, 400, "bad-body", "ips has an empty entry");
	}
	return r;
}

static int api_take_net_key(const char *key, const json_t *v, struct privsep_net_add *n,
			    struct api_error *e)
{
	if (strcmp(key, "name") == 0)
		return api_take_text(key, v, n->name, sizeof(n->name), e);
	if (strcmp(key, "device") == 0)
		return api_take_text(key, v, n->device, sizeof(n->device), e);
	if (strcmp(key, "network") == 0)
		return api_take_text(key, v, n->network, sizeof(n->network), e);
	if (strcmp(key, "label") == 0)
		return json_is_null(v) ? 0 : api_take_text(key, v, n->label, sizeof(n->label), e);
	if (strcmp(key, "ips") == 0)
		return json_is_null(v) ? 0 : api_take_ips(v, n, e);
	return api_fail(e, 400, "bad-body",
			"unknown key '%.60s'; known are name, device, network, label, ips", key);
}

static int api_fill_net_add(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			    struct api_error *e)
{
	json_error_t je;
	json_t *o = json_loadb(rq->body ? rq->body : "", rq->body_len, JSON_REJECT_DUPLICATES, &je);
	const char *key;
	json_t *v;
	int r = 0;

	if (!o)
		return api_fail(e, 400, "bad-body", "not JSON: line %d: %.150s", je.line, je.text);
	if (!json_is_object(o))
		r = api_fail(e, 400, "bad-body", "not a JSON object");
	json_object_foreach(o, key, v)
	{
		if (r >= 0)
			r = api_take_net_key(key, v, &m->net_add, e);
	}
	json_decref(o);
	if (r >= 0 && (!m->net_add.name[0] || !m->net_add.device[0] || !m->net_add.network[0]))
		r = api_fail(e, 400, "bad-body", "name, device and network are needed");
	return r;
}

/* The part of the path after the table's. */
static int api_fill_net_del(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			    struct api_error *e)
{
	const char *name = rq->path + strlen("/v1/net/");

	if (!name[0] || strchr(name, '/') || strlen(name) >= sizeof(m->net_del.name))
		return api_fail(e, 404, "not-found", "there is no such object");
	strcpy(m->net_del.name, name);
	return 0;
}

/* Nothing can be said about an apply: what goes into force is what is staged. */
static int api_fill_apply(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			  struct api_error *e)
{
	if (rq->body_len > 0)
		return api_fail(e, 400, "bad-body", "apply takes no body; leave it out");
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

static const struct api_row api_rows[] = {
	{"GET", "/v1/status", PRIVSEP_GET, PRIVSEP_STATUS, NULL},
	{"GET", "/v1/processes", PRIVSEP_GET, PRIVSEP_PROCESSES, NULL},
	{"GET", "/v1/inventory", PRIVSEP_GET, PRIVSEP_INVENTORY, NULL},
	{"GET", "/v1/plan", PRIVSEP_GET, PRIVSEP_PLAN, NULL},
	{"GET", "/v1/metrics", PRIVSEP_GET, PRIVSEP_METRICS, NULL},
	{"GET", "/v1/events", PRIVSEP_GET_EVENTS, 0, api_fill_events},
	{"GET", "/v1/config/running", PRIVSEP_GET, PRIVSEP_CONFIG_RUNNING, NULL},
	{"GET", "/v1/config/staged", PRIVSEP_GET, PRIVSEP_CONFIG_STAGED, NULL},
	{"PUT", "/v1/config/staged", PRIVSEP_PUT_STAGED, 0, api_fill_staged},
	{"DELETE", "/v1/config/staged", PRIVSEP_DROP_STAGED, 0, NULL},
	{"GET", "/v1/net", PRIVSEP_GET, PRIVSEP_NET, NULL},
	{"POST", "/v1/net", PRIVSEP_NET_ADD, 0, api_fill_net_add},
	{"DELETE", "/v1/net/", PRIVSEP_NET_DEL, 0, api_fill_net_del},
	{"POST", "/v1/apply", PRIVSEP_APPLY, 0, api_fill_apply},
};

static bool api_path_matches(const struct api_row *row, const char *path)
{
	size_t len = strlen(row->path);

	if (row->path[len - 1] == '/')
		return strncmp(row->path, path, len) == 0;
	return strcmp(row->path, path) == 0;
}

static const char *api_allowed(const char *path)
{
	if (strcmp(path, "/v1/config/staged") == 0)
		return "GET, PUT, DELETE";
	if (strcmp(path, "/v1/net") == 0)
		return "GET, POST";
	for (size_t i = 0; i < ARRAY_SIZE(api_rows); i++)
		if (api_path_matches(&api_rows[i], path))
			return api_rows[i].method;
	return NULL;
}

int api_route(const struct api_request *rq, struct privsep_msg *ret, unsigned *ret_wait_s,
	      struct api_error *ret_error)
{
	const char *allow = api_allowed(rq->path);
	int r = 0;

	*ret_wait_s = 0;
	if (!allow)
		return api_fail(ret_error, 404, "not-found", "there is no %.150s", rq->path);
	for (size_t i = 0; i < ARRAY_SIZE(api_rows); i++) {
		const struct api_row *row = &api_rows[i];

		if (!api_path_matches(row, rq->path) || strcmp(row->method, rq->method) != 0)
			continue;
		memset(ret, 0, sizeof(*ret));
		ret->type = row->type;
		if (row->type == PRIVSEP_GET)
			ret->get.what = row->what;
		if (row->fill)
			r = row->fill(rq, ret, ret_wait_s, ret_error);
		return r;
	}
	api_fail(ret_error, 405, "method", "%.150s takes %s", rq->path, allow);
	ret_error->allow = allow;
	return -EINVAL;
}
