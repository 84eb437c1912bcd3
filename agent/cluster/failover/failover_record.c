/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats and parses the keys and values of an export that several hosts can serve. */
#include "agent/cluster/failover/failover.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BYTES_MAX 4096

void failover_key(enum failover_key key, const char *cluster, const char *export_name,
		  char buf[KV_KEY_MAX])
{
	static const char *const names[FAILOVER_KEY_MAX] = {"record", "alive"};

	snprintf(buf, KV_KEY_MAX, "/plenum/%.*s/v%d/failover/%.*s/%s", PLENUM_NAME_MAX - 1, cluster,
		 RECORDS_VERSION, PLENUM_NAME_MAX - 1, export_name, names[key]);
}

/* Copies a name, which may be empty. */
static bool take_name(const json_t *o, const char *key, char *buf, size_t size)
{
	const char *text = json_string_value(json_object_get(o, key));

	if (!text || strlen(text) >= size || (*text && !record_name_is_valid(text)))
		return false;
	strcpy(buf, text);
	return true;
}

/* Numbers of 64 bits are written as texts of hexadecimal digits, because many JSON parsers round
 * large numbers. */
static bool take_hex(const json_t *o, const char *key, uint64_t *ret)
{
	const char *text = json_string_value(json_object_get(o, key));

	if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
		return false;
	*ret = strtoull(text, NULL, 16);
	return true;
}

int failover_record_parse(const char *text, size_t len, struct failover_record *ret)
{
	struct failover_record r = {.epoch = 0};
	json_t *o = len ? record_load_exact(text, len, BYTES_MAX) : NULL;
	const json_t *epoch = json_object_get(o, "epoch");
	bool good = json_is_integer(epoch) && json_integer_value(epoch) > 0 &&
		    take_name(o, "host", r.host, sizeof(r.host)) &&
		    take_name(o, "id", r.id, sizeof(r.id)) &&
		    take_name(o, "to", r.to, sizeof(r.to)) && take_hex(o, "token", &r.token);

	if (good)
		r.epoch = (uint64_t)json_integer_value(epoch);
	json_decref(o);
	*ret = good ? r : (struct failover_record){.epoch = 0};
	return good || len == 0 ? 0 : -EBADMSG;
}

int failover_alive_parse(const char *text, size_t len, uint64_t *ret_lease)
{
	json_t *o = len ? record_load_exact(text, len, BYTES_MAX) : NULL;
	bool good;

	*ret_lease = 0;
	good = take_hex(o, "lease", ret_lease);
	json_decref(o);
	return good || len == 0 ? 0 : -EBADMSG;
}

char *failover_record_format(const struct failover_record *r)
{
	char token[17];

	snprintf(token, sizeof(token), "%016" PRIx64, r->token);
	return record_save(json_pack("{s:i, s:I, s:s, s:s, s:s, s:s}", "v", RECORDS_VERSION,
				     "epoch", (json_int_t)r->epoch, "host", r->host, "id", r->id,
				     "token", token, "to", r->to));
}

char *failover_alive_format(uint64_t lease)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, lease);
	return record_save(json_pack("{s:i, s:s}", "v", RECORDS_VERSION, "lease", text));
}
