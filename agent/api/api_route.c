/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns paths, queries and bodies into messages to the monitor. Needs no socket, so that tests and
 * the fuzzer can call it. */
#include "agent/api/api_route.h"
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

/* ---- bodies and parameters ---- */

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
		return fail(e, 400, "bad-query", "instance is not one that an answer contained");
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

static int body_none(const struct api_request *rq, struct api_error *e)
{
	return rq->body_len > 0 ? fail(e, 400, "bad-body", "this request takes no body; remove it")
				: 0;
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
static int fill_net_json(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			 struct api_error *e)
{
	json_t *o = NULL;
	int r = load_object(rq, &o, e);

	if (r < 0)
		return r;
	if (json_object_size(o) == 0)
		r = fail(e, 400, "bad-body", "the body has no key of an entry of net");
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

/* The part of the path after the row's. */
static int fill_net_name(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			 struct api_error *e)
{
	const char *name = rq->path + strlen("/v1/net/");

	if (!name[0] || strchr(name, '/') || strlen(name) >= sizeof(m->net.name))
		return fail(e, 404, "not-found", "there is no such object");
	strcpy(m->net.name, name);
	return 0;
}

static int fill_net_set(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			struct api_error *e)
{
	int r = fill_net_name(rq, m, wait_s, e);

	return r < 0 ? r : fill_net_json(rq, m, wait_s, e);
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

static int take_number(const char *key, const json_t *v, uint64_t max, uint64_t *ret,
		       struct api_error *e)
{
	json_int_t n = json_integer_value(v);

	if (!json_is_integer(v) || n < 1 || (uint64_t)n > max)
		return fail(e, 400, "bad-body", "%s is not a number from 1 to %llu", key,
			    (unsigned long long)max);
	*ret = (uint64_t)n;
	return 0;
}

static int take_apply_key(const char *key, const json_t *v, struct privsep_msg *m,
			  struct api_error *e)
{
	struct privsep_apply *a = &m->apply;
	const bool apply = m->type == PRIVSEP_APPLY;
	uint64_t confirm_s = 0;
	int r;

	if (strcmp(key, "force") == 0)
		return take_force(v, a, e);
	if (strcmp(key, "confirm") == 0) {
		r = take_number(key, v, PRIVSEP_CONFIRM_S_MAX, &confirm_s, e);
		a->confirm_s = (uint32_t)confirm_s;
		return r;
	}
	if (m->type == PRIVSEP_ROLLBACK && strcmp(key, "to") == 0)
		return take_number(key, v, INT64_MAX, &a->back_to, e);
	if (!apply || strcmp(key, "dry-run") != 0)
		return fail(e, 400, "bad-body", "unknown key '%.60s'; known are confirm, force, %s",
			    key, apply ? "dry-run" : "to");
	if (!json_is_boolean(v))
		return fail(e, 400, "bad-body", "dry-run is not true or false");
	a->dry_run = json_is_true(v);
	return 0;
}

static int take_confirm_key(const char *key, const json_t *v, struct privsep_msg *m,
			    struct api_error *e)
{
	if (strcmp(key, "number") == 0)
		return take_number(key, v, INT64_MAX, &m->apply.back_to, e);
	if (strcmp(key, "force") != 0)
		return fail(e, 400, "bad-body", "unknown key '%.60s'; known are number, force",
			    key);
	for (size_t i = 0; i < json_array_size(v); i++)
		if (strcmp(json_string_value(json_array_get(v, i)) ?: "", "files") != 0)
			return fail(e, 400, "bad-body",
				    "a confirmation takes no force except 'files'");
	return take_force(v, &m->apply, e);
}

/* Reads the body key by key; an empty body sets nothing. */
static int take_keys(const struct api_request *rq, struct privsep_msg *m,
		     int (*take)(const char *, const json_t *, struct privsep_msg *,
				 struct api_error *),
		     struct api_error *e)
{
	json_t *o = NULL;
	const char *key;
	json_t *v;
	int r = rq->body_len > 0 ? load_object(rq, &o, e) : 0;

	json_object_foreach (o, key, v) {
		if (r >= 0)
			r = take(key, v, m, e);
	}
	json_decref(o);
	return r;
}

/* An apply or a rollback takes the staged configuration, or that with a number, and the body's
 * options. A confirmation takes the number of an apply. */
static int fill_apply(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
		      struct api_error *e)
{
	return take_keys(rq, m, m->type == PRIVSEP_CONFIRM ? take_confirm_key : take_apply_key, e);
}

static const struct fault_key {
	const char *name;
	size_t offset;
	uint32_t max;
} fault_keys[] = {
	{"drop_ppm", offsetof(struct privsep_fault, drop_ppm), LAUNCH_FAULT_PPM},
	{"duplicate_ppm", offsetof(struct privsep_fault, duplicate_ppm), LAUNCH_FAULT_PPM},
	{"reorder_ppm", offsetof(struct privsep_fault, reorder_ppm), LAUNCH_FAULT_PPM},
	{"delay_us", offsetof(struct privsep_fault, delay_us), LAUNCH_FAULT_DELAY_US_MAX},
	{"ttl_s", offsetof(struct privsep_fault, ttl_s), LAUNCH_FAULT_S_MAX},
};

static int take_direction(const json_t *v, struct privsep_fault *f, struct api_error *e)
{
	static const char *const ways[] = {"", "in", "out", "both"};

	for (uint32_t i = 1; i < ARRAY_SIZE(ways); i++)
		if (json_is_string(v) && strcmp(json_string_value(v), ways[i]) == 0)
			f->ways = i;
	return f->ways ? 0
		       : fail(e, 400, "bad-body", "direction is in, out or both, not '%.60s'",
			      json_is_string(v) ? json_string_value(v)
						: "a value that is not a string");
}

static int take_fault_key(const char *key, const json_t *v, struct privsep_msg *m,
			  struct api_error *e)
{
	struct privsep_fault *f = &m->fault;
	uint64_t n = 0;
	int r;

	if (strcmp(key, "leg") == 0)
		return take_text(key, v, f->leg, sizeof(f->leg), e);
	if (strcmp(key, "peer") == 0)
		return take_text(key, v, f->peer, sizeof(f->peer), e);
	if (strcmp(key, "direction") == 0)
		return take_direction(v, f, e);
	for (size_t i = 0; i < ARRAY_SIZE(fault_keys); i++) {
		if (strcmp(key, fault_keys[i].name) != 0)
			continue;
		r = take_number(key, v, fault_keys[i].max, &n, e);
		if (r >= 0)
			*(uint32_t *)((char *)f + fault_keys[i].offset) = (uint32_t)n;
		return r;
	}
	return fail(e, 400, "bad-body",
		    "unknown key '%.60s'; known are leg, peer, direction, drop_ppm, "
		    "duplicate_ppm, reorder_ppm, delay_us, ttl_s",
		    key);
}

static int fill_fault(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
		      struct api_error *e)
{
	struct privsep_fault *f = &m->fault;
	int r = take_keys(rq, m, take_fault_key, e);

	if (r < 0)
		return r;
	if (!f->ways)
		f->ways = LAUNCH_FAULT_IN | LAUNCH_FAULT_OUT;
	if (!f->ttl_s)
		return fail(e, 400, "bad-body", "ttl_s is missing: every fault has an end");
	if (!f->drop_ppm && !f->duplicate_ppm && !f->reorder_ppm && !f->delay_us)
		return fail(e, 400, "bad-body",
			    "no fault given; set drop_ppm, duplicate_ppm, reorder_ppm or delay_us");
	return 0;
}

static int fill_fault_id(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			 struct api_error *e)
{
	uint64_t id = 0;

	const char *text = rq->path + strlen("/v1/faults/");

	if (number(text, UINT32_MAX, &id) < 0 || id == 0)
		return fail(e, 404, "not-found",
			    "there is no such fault: '%.60s'; see GET /v1/faults", text);
	m->fault.id = (uint32_t)id;
	return 0;
}

static int take_capture_key(const char *key, const json_t *v, struct privsep_msg *m,
			    struct api_error *e)
{
	struct privsep_capture *c = &m->capture;
	static const struct {
		const char *key;
		uint64_t max;
		size_t offset;
	} numbers[] = {
		{"snap", PRIVSEP_CAPTURE_SNAP_MAX, offsetof(struct privsep_capture, snap_bytes)},
		{"buffer", PRIVSEP_CAPTURE_BUFFER_MAX,
		 offsetof(struct privsep_capture, buffer_bytes)},
	};
	json_int_t worker = json_integer_value(v);
	uint64_t n = 0;
	int r;

	if (strcmp(key, "leg") == 0)
		return take_text(key, v, c->leg, sizeof(c->leg), e);
	if (strcmp(key, "worker") == 0) {
		if (!json_is_integer(v) || worker < 0 || worker >= PRIVSEP_CAPTURE_ALL)
			return fail(e, 400, "bad-body", "worker is not the ID of a worker");
		c->worker = (uint32_t)worker;
		return 0;
	}
	if (strcmp(key, "keys") == 0) {
		c->keys = json_is_true(v);
		return json_is_boolean(v) ? 0
					  : fail(e, 400, "bad-body", "keys is not true or false");
	}
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (strcmp(key, numbers[i].key) != 0)
			continue;
		r = take_number(key, v, numbers[i].max, &n, e);
		memcpy((char *)c + numbers[i].offset, &(uint32_t){(uint32_t)n}, sizeof(uint32_t));
		return r;
	}
	return fail(e, 400, "bad-body",
		    "unknown key '%.60s'; known are leg, worker, snap, buffer and keys", key);
}

static int fill_capture(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			struct api_error *e)
{
	int r;

	m->capture = (struct privsep_capture){.act = PRIVSEP_CAPTURE_BEGIN,
					      .worker = PRIVSEP_CAPTURE_ALL,
					      .snap_bytes = PRIVSEP_CAPTURE_SNAP,
					      .buffer_bytes = PRIVSEP_CAPTURE_BUFFER};
	r = take_keys(rq, m, take_capture_key, e);
	if (r >= 0 && (m->capture.snap_bytes < PRIVSEP_CAPTURE_SNAP_MIN ||
		       m->capture.buffer_bytes < PRIVSEP_CAPTURE_BUFFER_MIN))
		return fail(e, 400, "bad-body", "snap is at least %u, buffer at least %u",
			    PRIVSEP_CAPTURE_SNAP_MIN, PRIVSEP_CAPTURE_BUFFER_MIN);
	return r;
}

/* A running capture, by the number in the answer that started it. */
static int fill_capture_id(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			   struct api_error *e)
{
	m->capture.act =
		strcmp(rq->method, "DELETE") == 0 ? PRIVSEP_CAPTURE_END : PRIVSEP_CAPTURE_TAKE;
	if (hex(rq->path + strlen("/v1/captures/"), &m->capture.id) < 0 || !m->capture.id)
		return fail(e, 404, "not-found", "there is no such object");
	return body_none(rq, e);
}

static int take_ping_what(const json_t *v, struct privsep_ping *p, struct api_error *e)
{
	const char *text = json_string_value(v);

	p->what = !text			 ? 0
		  : !strcmp(text, "in")	 ? LAUNCH_PING_IN
		  : !strcmp(text, "out") ? LAUNCH_PING_OUT
					 : 0;
	return p->what ? 0 : fail(e, 400, "bad-body", "direction is not in or out");
}

static int take_ping_key(const char *key, const json_t *v, struct privsep_msg *m,
			 struct api_error *e)
{
	struct privsep_ping *p = &m->ping;
	const struct {
		const char *key;
		uint64_t max;
		uint32_t *to;
	} numbers[] = {
		{"bytes", LAUNCH_PING_BYTES_MAX, &p->bytes},
		{"count", LAUNCH_PING_COUNT_MAX, &p->count},
		{"depth", LAUNCH_PING_DEPTH_MAX, &p->depth},
	};
	uint64_t n = 0;
	int r;

	if (strcmp(key, "leg") == 0)
		return take_text(key, v, p->leg, sizeof(p->leg), e);
	if (strcmp(key, "peer") == 0)
		return take_text(key, v, p->peer, sizeof(p->peer), e);
	if (strcmp(key, "direction") == 0)
		return take_ping_what(v, p, e);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (strcmp(key, numbers[i].key) != 0)
			continue;
		r = take_number(key, v, numbers[i].max, &n, e);
		*numbers[i].to = (uint32_t)n;
		return r == 0 && n == 0 ? fail(e, 400, "bad-body", "%s is at least 1", key) : r;
	}
	return fail(e, 400, "bad-body",
		    "unknown key '%.60s'; known are peer, leg, direction, bytes, count and depth",
		    key);
}

static int fill_ping(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
		     struct api_error *e)
{
	struct privsep_ping *p = &m->ping;
	int r;

	*p = (struct privsep_ping){.what = LAUNCH_PING_IN, .bytes = 64, .count = 100, .depth = 1};
	r = take_keys(rq, m, take_ping_key, e);
	if (r >= 0 && (!p->leg[0] || !p->peer[0]))
		return fail(e, 400, "bad-body", "%s is missing", p->peer[0] ? "leg" : "peer");
	return r;
}

static int fill_ping_id(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			struct api_error *e)
{
	if (hex(rq->path + strlen("/v1/rdma-pings/"), &m->ping.id) < 0 || !m->ping.id)
		return fail(e, 404, "not-found", "there is no such object");
	return body_none(rq, e);
}

/* A stop takes no options. */
static int fill_nothing(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
			struct api_error *e)
{
	return body_none(rq, e);
}

/* ---- versions ---- */

enum api_tag {
	API_TAG_NONE,	/* the resource has no version */
	API_TAG_MAY,	/* only for the version in If-Match, if it is given */
	API_TAG_NEEDED, /* If-Match is required: no change of another client is lost */
};

/* Accepts only the form that our answers have, so that any other text is refused as invalid. */
static int take_if_match(const struct api_request *rq, enum api_tag tag, struct privsep_msg *m,
			 struct api_error *e)
{
	const char *text = rq->if_match;
	char digits[17] = "";

	if (!text && tag == API_TAG_NEEDED)
		return fail(e, 428, "no-version",
			    "If-Match is missing; send the ETag of GET %.100s, so that no change "
			    "of another client is lost",
			    rq->path);
	if (!text)
		return 0;
	if (tag == API_TAG_NONE)
		return fail(e, 400, "bad-request", "this request takes no If-Match; remove it");
	if (strcmp(text, "*") == 0) {
		m->if_match = PRIVSEP_ETAG_ANY;
		return 0;
	}
	if (strlen(text) == 18 && text[0] == '"' && text[17] == '"')
		memcpy(digits, text + 1, 16);
	if (hex(digits, &m->if_match) < 0)
		return fail(e, 400, "bad-request",
			    "If-Match is not one ETag as in an answer, with its quotes, nor *");
	return 0;
}

/* ---- the table ---- */

struct api_row {
	const char *method, *path; /* a path that ends in '/' matches all paths below it */
	enum privsep_type type;
	enum privsep_what what; /* of PRIVSEP_GET */
	int (*fill)(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
		    struct api_error *e);
	enum api_tag tag;
};

static const struct api_row rows[] = {
	{"GET", "/v1/status", PRIVSEP_GET, PRIVSEP_STATUS, NULL, API_TAG_NONE},
	{"GET", "/v1/processes", PRIVSEP_GET, PRIVSEP_PROCESSES, NULL, API_TAG_NONE},
	{"GET", "/v1/inventory", PRIVSEP_GET, PRIVSEP_INVENTORY, NULL, API_TAG_NONE},
	{"GET", "/v1/plan", PRIVSEP_GET, PRIVSEP_PLAN, NULL, API_TAG_NONE},
	{"GET", "/v1/plan/running", PRIVSEP_GET, PRIVSEP_PLAN_RUNNING, NULL, API_TAG_NONE},
	{"GET", "/v1/metrics", PRIVSEP_GET, PRIVSEP_METRICS, NULL, API_TAG_NONE},
	{"GET", "/v1/events", PRIVSEP_GET_EVENTS, 0, fill_events, API_TAG_NONE},
	{"GET", "/v1/config/running", PRIVSEP_GET, PRIVSEP_CONFIG_RUNNING, NULL, API_TAG_NONE},
	{"GET", "/v1/config/staged", PRIVSEP_GET, PRIVSEP_CONFIG_STAGED, NULL, API_TAG_NONE},
	{"PUT", "/v1/config/staged", PRIVSEP_PUT_STAGED, 0, fill_staged, API_TAG_MAY},
	{"DELETE", "/v1/config/staged", PRIVSEP_DROP_STAGED, 0, NULL, API_TAG_MAY},
	{"GET", "/v1/net", PRIVSEP_GET, PRIVSEP_NET, NULL, API_TAG_NONE},
	{"POST", "/v1/net", PRIVSEP_NET_ADD, 0, fill_net_json, API_TAG_MAY},
	{"GET", "/v1/net/", PRIVSEP_GET_NET, 0, fill_net_name, API_TAG_NONE},
	{"PATCH", "/v1/net/", PRIVSEP_NET_SET, 0, fill_net_set, API_TAG_NEEDED},
	{"DELETE", "/v1/net/", PRIVSEP_NET_DEL, 0, fill_net_name, API_TAG_MAY},
	{"GET", "/v1/history", PRIVSEP_GET, PRIVSEP_HISTORY, NULL, API_TAG_NONE},
	{"POST", "/v1/apply", PRIVSEP_APPLY, 0, fill_apply, API_TAG_MAY},
	{"POST", "/v1/confirm", PRIVSEP_CONFIRM, 0, fill_apply, API_TAG_NONE},
	{"POST", "/v1/rollback", PRIVSEP_ROLLBACK, 0, fill_apply, API_TAG_NONE},
	{"GET", "/v1/faults", PRIVSEP_GET, PRIVSEP_FAULTS, NULL, API_TAG_NONE},
	{"POST", "/v1/faults", PRIVSEP_FAULT_ADD, 0, fill_fault, API_TAG_NONE},
	{"DELETE", "/v1/faults", PRIVSEP_FAULT_DEL, 0, fill_nothing, API_TAG_NONE},
	{"DELETE", "/v1/faults/", PRIVSEP_FAULT_DEL, 0, fill_fault_id, API_TAG_NONE},
	{"POST", "/v1/captures", PRIVSEP_CAPTURE, 0, fill_capture, API_TAG_NONE},
	{"POST", "/v1/captures/", PRIVSEP_CAPTURE, 0, fill_capture_id, API_TAG_NONE},
	{"DELETE", "/v1/captures/", PRIVSEP_CAPTURE, 0, fill_capture_id, API_TAG_NONE},
	{"POST", "/v1/rdma-pings", PRIVSEP_RDMA_PING, 0, fill_ping, API_TAG_NONE},
	{"POST", "/v1/rdma-pings/", PRIVSEP_RDMA_PING, 0, fill_ping_id, API_TAG_NONE},
	{"POST", "/v1/stop", PRIVSEP_STOP, 0, fill_nothing, API_TAG_NONE},
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
	if (strncmp(path, "/v1/captures/", strlen("/v1/captures/")) == 0)
		return "POST, DELETE";
	if (strncmp(path, "/v1/net/", strlen("/v1/net/")) == 0)
		return "GET, PATCH, DELETE";
	if (strcmp(path, "/v1/faults") == 0)
		return "GET, POST, DELETE";
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
	if (rq->unknown)
		return fail(ret_error, 400, "bad-query", "unknown parameter '%.60s'; %s",
			    rq->unknown,
			    strcmp(rq->path, "/v1/events") == 0 ? "known are since, wait, instance"
								: "this path takes none");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct api_row *row = &rows[i];

		if (!path_matches(row, rq->path) || strcmp(row->method, rq->method) != 0)
			continue;
		if (rq->read_only && strcmp(row->method, "GET") != 0)
			return fail(
				ret_error, 403, "forbidden",
				"changes need the socket plenumd-admin.sock, and are allowed for "
				"root and for the users and groups in the configuration's 'admin'");
		memset(ret, 0, sizeof(*ret));
		ret->type = row->type;
		if (row->type == PRIVSEP_GET)
			ret->get.what = row->what;
		r = take_if_match(rq, row->tag, ret, ret_error);
		if (r >= 0 && row->fill)
			r = row->fill(rq, ret, ret_wait_s, ret_error);
		return r;
	}
	fail(ret_error, 405, "method", "%.150s takes %s", rq->path, allow);
	ret_error->allow = allow;
	return -EINVAL;
}
