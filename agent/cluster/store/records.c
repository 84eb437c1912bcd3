/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats the keys and values of the cluster's store, and parses the values that other hosts
 * wrote. */
#include "agent/cluster/store/records.h"
#include "netcfg/base/hash.h"
#include "netcfg/base/text.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[RECORD_KIND_MAX] = {"owner", "serving", "state", "links"};

/* ---- keys ---- */

#define HASH_CHARS 5 /* four digits and a dash */

static unsigned hash_of(const char *host)
{
	static const uint64_t key[2] = {0, 0};

	return (unsigned)(hash_keyed(key, host, strlen(host)) & 0xffff);
}

void record_key(enum record_kind kind, const char *cluster, const char *host, char buf[KV_KEY_MAX])
{
	char hash[HASH_CHARS + 1] = "";

	if (kind == RECORD_LINKS && *host)
		snprintf(hash, sizeof(hash), "%04x-", hash_of(host));
	snprintf(buf, KV_KEY_MAX, "/plenum/%.*s/v%d/%s/%s%.*s", PLENUM_NAME_MAX - 1, cluster,
		 RECORDS_VERSION, kinds[kind], hash, PLENUM_NAME_MAX - 1, host);
}

void record_key_random(const char *cluster, uint16_t random, char buf[KV_KEY_MAX])
{
	snprintf(buf, KV_KEY_MAX, "/plenum/%.*s/v%d/%s/%04x", PLENUM_NAME_MAX - 1, cluster,
		 RECORDS_VERSION, kinds[RECORD_LINKS], random);
}

bool record_has_lease(enum record_kind kind)
{
	return kind == RECORD_SERVING || kind == RECORD_LINKS;
}

void record_key_end(enum record_kind kind, const char *cluster, char buf[KV_KEY_MAX])
{
	record_key(kind, cluster, "", buf);
	buf[strlen(buf) - 1]++; /* replaces the last character, '/', by its successor in ASCII */
}

bool record_name_is_valid(const char *name)
{
	const size_t len = strlen(name);

	if (len == 0 || len >= PLENUM_NAME_MAX)
		return false;
	return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
	       len;
}

const char *record_host(enum record_kind kind, const char *cluster, const char *key)
{
	char prefix[KV_KEY_MAX];

	record_key(kind, cluster, "", prefix);
	if (strncmp(key, prefix, strlen(prefix)) != 0)
		return NULL;
	key += strlen(prefix);
	if (kind == RECORD_LINKS) {
		if (strspn(key, "0123456789abcdef") < HASH_CHARS - 1 || key[HASH_CHARS - 1] != '-')
			return NULL;
		key += HASH_CHARS;
	}
	return record_name_is_valid(key) ? key : NULL;
}

/* ---- values ---- */

json_t *record_load(const char *text, size_t len, size_t max)
{
	json_t *o = text && len <= max ? json_loadb(text, len, 0, NULL) : NULL;

	if (json_is_object(o) && json_integer_value(json_object_get(o, "v")) >= RECORDS_VERSION)
		return o;
	json_decref(o);
	return NULL;
}

json_t *record_load_exact(const char *text, size_t len, size_t max)
{
	json_t *o = record_load(text, len, max);

	if (o && json_integer_value(json_object_get(o, "v")) == RECORDS_VERSION)
		return o;
	json_decref(o);
	return NULL;
}

/* Copies the text if it fits, and is printable ASCII without quotes and backslashes. Returns false
 * otherwise. */
static bool take_text(const json_t *o, const char *key, char *buf, size_t size)
{
	const char *text = json_string_value(json_object_get(o, key));

	if (!text || strlen(text) >= size || !text_is_clean(text, size))
		return false;
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
			return false;
	strcpy(buf, text);
	return true;
}

char *record_save(json_t *o)
{
	char *text = o ? json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;

	json_decref(o);
	return text;
}

char *record_owner_format(const struct record_owner *o)
{
	return record_save(json_pack("{s:i, s:s, s:I, s:s, s:s}", "v", RECORDS_VERSION, "id", o->id,
				     "epoch", (json_int_t)o->epoch, "nonce", o->nonce, "since",
				     o->since));
}

int record_owner_parse(const char *text, size_t len, struct record_owner *ret)
{
	struct record_owner o = {.epoch = 0};
	json_t *v = record_load(text, len, RECORDS_BYTES_MAX);
	const json_int_t epoch = json_integer_value(json_object_get(v, "epoch"));
	bool good = take_text(v, "id", o.id, sizeof(o.id)) && o.id[0] && epoch >= 0;

	if (good && !take_text(v, "since", o.since, sizeof(o.since)))
		o.since[0] = '\0';
	if (good && !take_text(v, "nonce", o.nonce, sizeof(o.nonce)))
		o.nonce[0] = '\0';
	o.epoch = (uint64_t)epoch;
	json_decref(v);
	if (!good)
		return -EBADMSG;
	*ret = o;
	return 0;
}

static bool take_address(const json_t *o, struct cluster_addr *ret)
{
	const char *ip = json_string_value(json_object_get(o, "ip"));
	const json_int_t port = json_integer_value(json_object_get(o, "port"));

	*ret = (struct cluster_addr){.port = 0};
	if (!ip || ip_addr_parse(ip, &ret->ip) < 0 || ip_addr_is_unusable(&ret->ip) || port < 1 ||
	    port > UINT16_MAX)
		return false;
	ret->port = (uint16_t)port;
	if (!take_text(o, "label", ret->label, sizeof(ret->label)))
		ret->label[0] = '\0';
	return true;
}

int record_server_parse(const char *host, const char *text, size_t len, struct cluster_server *ret)
{
	json_t *v = record_load(text, len, RECORDS_BYTES_MAX);
	const json_t *list = json_object_get(v, "addresses"), *a;
	size_t i;

	*ret = (struct cluster_server){.registered = 1};
	snprintf(ret->host, sizeof(ret->host), "%s", host);
	if (!json_is_array(list)) {
		json_decref(v);
		return -EBADMSG;
	}
	json_array_foreach (list, i, a) {
		if (ret->n_addrs == CLUSTER_ADDRS_MAX)
			break;
		ret->n_addrs += take_address(a, &ret->addrs[ret->n_addrs]);
	}
	json_decref(v);
	return 0;
}

char *record_server_format(const struct cluster_server *s, const json_t *exports)
{
	json_t *list = json_array();
	char ip[IP_ADDR_STR_MAX];

	for (uint32_t i = 0; list && i < s->n_addrs; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:i, s:s}", "ip",
					ip_addr_format(&s->addrs[i].ip, ip, sizeof(ip)), "port",
					(int)s->addrs[i].port, "label", s->addrs[i].label));
	return record_save(json_pack("{s:i, s:s, s:o, s:O}", "v", RECORDS_VERSION, "host", s->host,
				     "addresses", list, "exports", exports));
}

/* ---- revocations ---- */

void record_revoked_key(const char *cluster, char buf[KV_KEY_MAX])
{
	snprintf(buf, KV_KEY_MAX, "/plenum/%.*s/v%d/revoked", PLENUM_NAME_MAX - 1, cluster,
		 RECORDS_VERSION);
}

/* Calls take() with each revocation of a value that has at most `max` members. */
static int revoked_each(const char *text, size_t len, size_t max,
			void (*take)(void *user, const uint8_t p[IDENTITY_REVOCATION_BYTES]),
			void *user)
{
	json_t *o = record_load(text, len, RECORDS_BYTES_MAX);
	const json_t *list = json_object_get(o, "revoked"), *e;
	uint8_t bytes[IDENTITY_REVOCATION_BYTES];
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > max) {
		json_decref(o);
		return -EBADMSG;
	}
	json_array_foreach (list, i, e)
		if (json_is_string(e) &&
		    identity_unhex(json_string_value(e), bytes, sizeof(bytes)) == 0)
			take(user, bytes);
	json_decref(o);
	return 0;
}

int record_revoked_parse(const char *text, size_t len,
			 void (*take)(void *user, const uint8_t p[IDENTITY_REVOCATION_BYTES]),
			 void *user)
{
	return revoked_each(text, len, IDENTITY_REVOKED_MAX, take, user);
}

static void revoked_append(json_t *list, const uint8_t p[IDENTITY_REVOCATION_BYTES])
{
	char hex[2 * IDENTITY_REVOCATION_BYTES + 1];

	identity_hex(p, IDENTITY_REVOCATION_BYTES, hex);
	json_array_append_new(list, json_string(hex));
}

/* The valid revocations in a value of the key, at most one of each host, with their bytes. */
struct revoked_valid {
	const uint8_t *cluster;
	struct identity_revocation list[IDENTITY_REVOKED_MAX];
	uint8_t bytes[IDENTITY_REVOKED_MAX][IDENTITY_REVOCATION_BYTES];
	unsigned n;
	bool full;
};

static void revoked_take(void *user, const uint8_t p[IDENTITY_REVOCATION_BYTES])
{
	struct revoked_valid *v = user;
	struct identity_revocation r;
	int e;

	if (identity_check_revocation(p, IDENTITY_REVOCATION_BYTES, v->cluster, &r) < 0)
		return;
	e = identity_add_revoked(v->list, &v->n, &r);
	v->full |= e == -ENOSPC;
	for (unsigned i = 0; e == 1 && i < v->n; i++)
		if (strcmp(v->list[i].host, r.host) == 0)
			memcpy(v->bytes[i], p, IDENTITY_REVOCATION_BYTES);
}

/* Parses the value of the revocations' key, which any host may have written. Returns NULL if memory
 * is short. */
static struct revoked_valid *revoked_read(const char *text, size_t len, const uint8_t *cluster,
					  bool *ret_known)
{
	struct revoked_valid *v = calloc(1, sizeof(*v));
	bool known = true;

	if (v) {
		v->cluster = cluster;
		known = len == 0 || revoked_each(text, len, SIZE_MAX, revoked_take, v) == 0;
	}
	if (ret_known)
		*ret_known = known;
	return v;
}

uint64_t record_revoked_epoch(const char *text, size_t len,
			      const uint8_t cluster[IDENTITY_KEY_BYTES], const char *host)
{
	autofree struct revoked_valid *v = revoked_read(text, len, cluster, NULL);

	return v ? identity_revoked_epoch(v->list, v->n, host) : 0;
}

char *record_revoked_add(const char *text, size_t len, const uint8_t cluster[IDENTITY_KEY_BYTES],
			 const uint8_t p[IDENTITY_REVOCATION_BYTES], bool *ret_known)
{
	autofree struct revoked_valid *v = revoked_read(text, len, cluster, ret_known);
	json_t *list = json_array(), *o;
	char *ret = NULL;

	if (v)
		revoked_take(v, p);
	for (unsigned i = 0; v && i < v->n; i++)
		revoked_append(list, v->bytes[i]);
	o = json_pack("{s:i, s:o}", "v", RECORDS_VERSION, "revoked", list);
	if (o && v && !v->full)
		ret = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return ret;
}
