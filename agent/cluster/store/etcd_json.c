/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the requests to etcd's JSON gateway, and parses its answers. */
#include "agent/cluster/store/etcd_json.h"
#include "netcfg/base/text.h"
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* The gRPC status codes that are handled here. */
enum { GRPC_NOT_FOUND = 5, GRPC_DENIED = 7, GRPC_EXHAUSTED = 8, GRPC_UNAUTHENTICATED = 16 };

const char *etcd_path(enum etcd_call c)
{
	static const char *const paths[ETCD_CALL_MAX] = {
		[ETCD_RANGE] = "/v3/kv/range",		[ETCD_TXN] = "/v3/kv/txn",
		[ETCD_GRANT] = "/v3/lease/grant",	[ETCD_RENEW] = "/v3/lease/keepalive",
		[ETCD_LOGIN] = "/v3/auth/authenticate", [ETCD_WATCH] = "/v3/watch",
	};

	return paths[c];
}

void kv_answer_done(struct kv_answer *a)
{
	for (size_t i = 0; i < a->n_pairs; i++)
		free(a->pairs[i].value);
	free(a->pairs);
	*a = (struct kv_answer){.trouble = CLUSTER_FINE};
}

/* ---- base64 (RFC 4648) ---- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static json_t *encode(const char *text, size_t len)
{
	char *out = malloc((len + 2) / 3 * 4 + 1);
	size_t n = 0;
	json_t *o;

	if (!out)
		return NULL;
	for (size_t i = 0; i < len; i += 3) {
		const size_t left = len - i;
		const uint32_t v = (uint32_t)(uint8_t)text[i] << 16 |
				   (left > 1 ? (uint32_t)(uint8_t)text[i + 1] << 8 : 0) |
				   (left > 2 ? (uint32_t)(uint8_t)text[i + 2] : 0);

		out[n++] = digits[v >> 18];
		out[n++] = digits[v >> 12 & 63];
		out[n++] = left > 1 ? digits[v >> 6 & 63] : '=';
		out[n++] = left > 2 ? digits[v & 63] : '=';
	}
	o = json_stringn(out, n);
	free(out);
	return o;
}

static json_t *encode_text(const char *text)
{
	return encode(text, strlen(text));
}

static int digit(char c)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Decodes `text` to a heap string with a NUL at its end. Returns 0, -ENOMEM, or -EINVAL if it is
 * not base64. */
static int decode(const char *text, char **ret, size_t *ret_len)
{
	const size_t len = strlen(text);
	char *out;
	size_t n = 0;

	if (len % 4)
		return -EINVAL;
	out = malloc(len / 4 * 3 + 1);
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < len; i += 4) {
		const bool last = i + 4 == len;
		const int pads = last ? (text[i + 3] == '=') + (text[i + 2] == '=') : 0;
		const int a = digit(text[i]), b = digit(text[i + 1]);
		const int c = pads > 1 ? 0 : digit(text[i + 2]),
			  d = pads > 0 ? 0 : digit(text[i + 3]);

		if (a < 0 || b < 0 || c < 0 || d < 0) {
			free(out);
			return -EINVAL;
		}
		out[n++] = (char)(a << 2 | b >> 4);
		if (pads < 2)
			out[n++] = (char)((b & 15) << 4 | c >> 2);
		if (pads < 1)
			out[n++] = (char)((c & 3) << 6 | d);
	}
	out[n] = '\0';
	*ret = out;
	*ret_len = n;
	return 0;
}

/* ---- requests ---- */

static json_t *number(uint64_t n)
{
	return json_sprintf("%" PRIu64, n);
}

static char *text_of(json_t *o)
{
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;

	json_decref(o);
	return text;
}

static json_t *range_of(const struct kv_range *r)
{
	json_t *o = json_pack("{s:o, s:o}", "key", encode_text(r->first), "limit",
			      number(r->limit ? r->limit : KV_PAIRS_MAX));

	if (o && r->end)
		json_object_set_new(o, "range_end", encode_text(r->end));
	if (o && r->keys_only)
		json_object_set_new(o, "keys_only", json_true());
	return o;
}

char *etcd_range_request(const struct kv_range *r)
{
	return text_of(range_of(r));
}

static json_t *op_of(const struct kv_op *op)
{
	json_t *o;

	if (op->kind == KV_GET)
		return json_pack("{s:{s:o}}", "requestRange", "key", encode_text(op->key));
	if (op->kind == KV_DELETE)
		return json_pack("{s:{s:o}}", "requestDeleteRange", "key", encode_text(op->key));
	o = json_pack("{s:o, s:o}", "key", encode_text(op->key), "value", encode_text(op->value));
	if (o && op->lease)
		json_object_set_new(o, "lease", number(op->lease));
	return json_pack("{s:o}", "requestPut", o);
}

static json_t *ops_of(const struct kv_op *ops, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < n; i++)
		json_array_append_new(list, op_of(&ops[i]));
	return list;
}

static json_t *compare_of(const struct kv_compare *c)
{
	json_t *o =
		json_pack("{s:s, s:s, s:o, s:o}", "result", c->end ? "LESS" : "EQUAL", "target",
			  "MOD", "key", encode_text(c->key), "modRevision", number(c->revision));

	if (o && c->end)
		json_object_set_new(o, "range_end", encode_text(c->end));
	return o;
}

char *etcd_txn_request(const struct kv_txn *t)
{
	json_t *compares = json_array();
	json_t *o = json_pack("{s:o, s:o}", "success", ops_of(t->ops, t->n_ops), "failure",
			      ops_of(t->otherwise, t->n_otherwise));

	if (o && compares && t->key)
		json_array_append_new(compares, compare_of(&(struct kv_compare){
							.key = t->key, .revision = t->revision}));
	for (size_t i = 0; o && compares && i < t->n_also; i++)
		json_array_append_new(compares, compare_of(&t->also[i]));
	if (o && json_array_size(compares))
		json_object_set(o, "compare", compares);
	json_decref(compares);
	return text_of(o);
}

char *etcd_grant_request(uint64_t ttl_s)
{
	return text_of(json_pack("{s:o}", "TTL", number(ttl_s)));
}

char *etcd_renew_request(uint64_t lease)
{
	return text_of(json_pack("{s:o}", "ID", number(lease)));
}

char *etcd_login_request(const char *user, const char *password)
{
	return text_of(json_pack("{s:s, s:s}", "name", user, "password", password));
}

char *etcd_watch_request(const char *const *keys, size_t n, uint64_t revision)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	for (size_t i = 0; f && i < n; i++) {
		autofree char *line = text_of(json_pack("{s:{s:o, s:o}}", "create_request", "key",
							encode_text(keys[i]), "start_revision",
							number(revision)));

		fprintf(f, "%s\n", line ? line : "");
	}
	if (!f || fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- answers ---- */

/* Reads a 64-bit number, which is a JSON string or integer. An absent member means 0. */
static bool take_number(const json_t *o, const char *key, uint64_t *ret)
{
	const json_t *v = json_object_get(o, key);
	const char *text = json_string_value(v);

	*ret = 0;
	if (!v)
		return true;
	if (json_is_integer(v)) {
		*ret = (uint64_t)json_integer_value(v);
		return json_integer_value(v) >= 0;
	}
	/* 19 digits are enough, because etcd's numbers are signed. */
	if (!text || !text[0] || strlen(text) > 19 || text[strspn(text, "0123456789")])
		return false;
	*ret = strtoull(text, NULL, 10);
	return true;
}

static void fail(struct kv_answer *ret, enum cluster_trouble trouble, const char *text)
{
	ret->trouble = trouble;
	snprintf(ret->text, sizeof(ret->text), "%s", text);
	text_clean(ret->text);
	text_trim(ret->text);
}

static bool take_pair(const json_t *kv, bool deleted, struct kv_answer *ret)
{
	const char *key = json_string_value(json_object_get(kv, "key"));
	const char *value = json_string_value(json_object_get(kv, "value"));
	struct kv_pair *p = &ret->pairs[ret->n_pairs];
	autofree char *name = NULL;
	size_t len;

	*p = (struct kv_pair){.deleted = deleted};
	if (!key || decode(key, &name, &len) < 0 || !take_number(kv, "mod_revision", &p->revision))
		return false;
	if (len < sizeof(p->key) && text_is_clean(name, len + 1))
		memcpy(p->key, name, len + 1);
	if (value && decode(value, &p->value, &p->len) < 0)
		return false;
	ret->n_pairs++;
	return true;
}

/* Makes room for n more pairs. */
static bool grow(struct kv_answer *ret, size_t n)
{
	struct kv_pair *pairs;

	if (n > KV_PAIRS_MAX - ret->n_pairs)
		return false;
	pairs = reallocarray(ret->pairs, ret->n_pairs + n + 1, sizeof(*pairs));
	if (!pairs)
		return false;
	ret->pairs = pairs;
	return true;
}

static bool take_range(const json_t *o, struct kv_answer *ret)
{
	const json_t *kvs = json_object_get(o, "kvs"), *kv;
	size_t i;

	ret->more = json_is_true(json_object_get(o, "more"));
	if (!grow(ret, json_array_size(kvs)))
		return false;
	json_array_foreach (kvs, i, kv)
		if (!take_pair(kv, false, ret))
			return false;
	return true;
}

static bool take_txn(const json_t *o, struct kv_answer *ret)
{
	const json_t *r;
	size_t i;

	ret->succeeded = json_is_true(json_object_get(o, "succeeded"));
	json_array_foreach (json_object_get(o, "responses"), i, r)
		if (!take_range(json_object_get(r, "response_range"), ret))
			return false;
	return true;
}

static bool take_lease(const json_t *o, struct kv_answer *ret)
{
	if (!take_number(o, "ID", &ret->lease) || !take_number(o, "TTL", &ret->ttl_s))
		return false;
	ret->lease_gone = ret->ttl_s == 0;
	return ret->lease != 0;
}

static bool take_events(const json_t *o, struct kv_answer *ret)
{
	const json_t *events = json_object_get(o, "events"), *e;
	uint64_t compacted;
	size_t i;

	if (!take_number(o, "compact_revision", &compacted))
		return false;
	ret->compacted = compacted != 0;
	if (!ret->compacted && json_is_true(json_object_get(o, "canceled"))) {
		const char *why = json_string_value(json_object_get(o, "cancel_reason"));

		fail(ret, CLUSTER_UNREACHABLE, why ? why : "the store ended the watch");
		return true;
	}
	if (!grow(ret, json_array_size(events)))
		return false;
	json_array_foreach (events, i, e) {
		const char *type = json_string_value(json_object_get(e, "type"));

		if (!take_pair(json_object_get(e, "kv"), type && strcmp(type, "DELETE") == 0, ret))
			return false;
	}
	return true;
}

static bool take_token(const json_t *o, char ret_token[ETCD_TOKEN_MAX])
{
	const char *token = json_string_value(json_object_get(o, "token"));

	if (!token || !*token || strlen(token) >= ETCD_TOKEN_MAX)
		return false;
	for (const char *c = token; *c; c++)
		if (*c <= ' ' || *c > '~')
			return false;
	strcpy(ret_token, token);
	return true;
}

/* Finds the error of an answer: {"error": TEXT, "code": N}, or in a stream {"error": {...}}. */
static bool take_error(const json_t *o, struct kv_answer *ret)
{
	const json_t *e = json_object_get(o, "error"), *in = json_is_object(e) ? e : o;
	const char *text = json_string_value(e);
	uint64_t code;
	bool expired;

	if (!text)
		text = json_string_value(json_object_get(in, "message"));
	if (!text)
		text = "an error without a text";
	if (!take_number(in, json_is_object(e) ? "grpc_code" : "code", &code))
		code = 0;
	if (code == GRPC_NOT_FOUND) {
		ret->lease_gone = true;
		return false;
	}
	/* etcd refuses a token that is older than the last change of users and roles. */
	expired = code == GRPC_UNAUTHENTICATED || strstr(text, "revision of auth store is old") ||
		  strstr(text, "revision in header is old");
	if (expired || code == GRPC_DENIED || strstr(text, "authentication failed") ||
	    strstr(text, "user name is empty") || strstr(text, "authentication is not enabled"))
		fail(ret, CLUSTER_REFUSED, text);
	else if (code == GRPC_EXHAUSTED && strstr(text, "space exceeded"))
		fail(ret, CLUSTER_FULL, text);
	else
		fail(ret, CLUSTER_UNREACHABLE, text);
	return expired;
}

static bool take(enum etcd_call c, const json_t *o, struct kv_answer *ret, char *ret_token)
{
	switch (c) {
	case ETCD_RANGE:
		return take_range(o, ret);
	case ETCD_TXN:
		return take_txn(o, ret);
	case ETCD_GRANT:
	case ETCD_RENEW:
		return take_lease(o, ret);
	case ETCD_WATCH:
		return take_events(o, ret);
	case ETCD_LOGIN:
		return take_token(o, ret_token);
	case ETCD_CALL_MAX:
		break;
	}
	return false;
}

bool etcd_parse(enum etcd_call c, long http_status, const char *text, size_t len,
		struct kv_answer *ret, char ret_token[ETCD_TOKEN_MAX])
{
	json_t *root = json_loadb(text, len, 0, NULL), *o = root;
	bool expired = false;

	*ret = (struct kv_answer){.trouble = CLUSTER_FINE};
	if (c == ETCD_RENEW || c == ETCD_WATCH) /* answers of streams are in an object */
		o = json_object_get(root, "result");
	if (json_is_object(root) && json_object_get(root, "error")) {
		expired = take_error(root, ret);
	} else if (!json_is_object(o) || http_status != 200 ||
		   !take_number(json_object_get(o, "header"), "revision", &ret->revision) ||
		   !take(c, o, ret, ret_token)) {
		kv_answer_done(ret);
		if (http_status == 200)
			fail(ret, CLUSTER_WRONG,
			     "the answer does not have the form of etcd's answers");
		else
			snprintf(ret->text, sizeof(ret->text), "the answer has HTTP status %ld",
				 http_status);
		ret->trouble = http_status >= 500 ? CLUSTER_UNREACHABLE : CLUSTER_WRONG;
	}
	json_decref(root);
	return expired;
}
