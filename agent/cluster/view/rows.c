/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the rows of the cluster's lists from hosts' summaries. */
#include "agent/cluster/view/rows.h"
#include "netcfg/base/text.h"
#include "netcfg/base/when.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 512 /* maximum length of a text in a row */
#define TEXTS_MAX 64 /* maximum number of entries of a list in a row */

enum type { TEXT, TEXT_OR_NULL, INTEGER, INTEGER_OR_NULL, BOOLEAN, TEXTS, SWITCHES };
struct member {
	const char *name;
	enum type type;
};

static const struct member process_members[] = {
	{"role", TEXT},
	{"ips", TEXTS},
	{"switches", SWITCHES},
	{"status", TEXT},
	{"network", TEXT},
	{"core", INTEGER_OR_NULL},
	{"memory_bytes", INTEGER},
	{"uptime_s", INTEGER},
	{"restarts", INTEGER},
	{"reason", TEXT},
	{"note", TEXT},
	{"version", TEXT_OR_NULL},
	{NULL, TEXT},
};
static const struct member net_members[] = {
	{"name", TEXT},	   {"device", TEXT}, {"ifname", TEXT}, {"label", TEXT_OR_NULL},
	{"network", TEXT}, {"state", TEXT},  {"reason", TEXT}, {"carrier", BOOLEAN},
	{"up", BOOLEAN},   {"mtu", INTEGER}, {"ips", TEXTS},   {NULL, TEXT},
};
static const struct member export_members[] = {
	{"name", TEXT},	  {"path", TEXT},	  {"state", TEXT},
	{"reason", TEXT}, {"read_only", BOOLEAN}, {"clients", INTEGER_OR_NULL},
	{NULL, TEXT},
};
static const struct member switch_members[] = {
	{"leg", TEXT}, {"label", TEXT_OR_NULL}, {"switch", TEXT_OR_NULL}, {"port", TEXT_OR_NULL},
	{NULL, TEXT},
};

static const struct {
	const char *list;
	const struct member *members;
	const char *name;    /* the member that identifies a row among those of one host */
	const char *state;   /* the member with the state of the object */
	const char *unknown; /* the value of that member if the host's state is unknown */
} kinds[ROWS_KIND_MAX] = {
	[ROWS_HOSTS] = {.list = "hosts"},
	[ROWS_PROCESSES] = {"processes", process_members, "id", "status", "UNKNOWN"},
	[ROWS_NET] = {"net", net_members, "name", "state", "unknown"},
	[ROWS_EXPORTS] = {"exports", export_members, "name", "state", "unknown"},
	[ROWS_POOLS] = {.list = "pools"},
	[ROWS_ADDRESSES] = {.list = "addresses"},
	[ROWS_LINKS] = {.list = "links"},
};

const char *rows_list(enum rows_kind kind)
{
	return kinds[kind].list;
}

/* ---- members ---- */

static json_t *text_of(const json_t *v, bool or_null)
{
	char buf[TEXT_MAX];

	if (!json_is_string(v))
		return or_null ? json_null() : json_string("");
	snprintf(buf, sizeof(buf), "%s", json_string_value(v));
	text_trim(buf);
	text_clean(buf);
	return json_string(buf);
}

static json_t *filter(const json_t *o, const struct member *members);

static json_t *list_of(const json_t *v, enum type type)
{
	json_t *list = json_array();
	const json_t *e;
	size_t i;

	json_array_foreach (v, i, e) {
		if (json_array_size(list) == TEXTS_MAX)
			break;
		if (type == TEXTS ? json_is_string(e) : json_is_object(e))
			json_array_append_new(list, type == TEXTS ? text_of(e, false)
								  : filter(e, switch_members));
	}
	return list;
}

static json_t *value_of(const json_t *v, enum type type)
{
	switch (type) {
	case TEXT:
	case TEXT_OR_NULL:
		return text_of(v, type == TEXT_OR_NULL);
	case INTEGER:
	case INTEGER_OR_NULL:
		if (json_is_integer(v))
			return json_integer(MAX_OF(json_integer_value(v), 0));
		return type == INTEGER ? json_integer(0) : json_null();
	case BOOLEAN:
		return json_boolean(json_is_true(v));
	case TEXTS:
	case SWITCHES:
		return list_of(v, type);
	}
	return NULL;
}

/* Returns a new object with exactly the listed members; the values come from o. */
static json_t *filter(const json_t *o, const struct member *members)
{
	json_t *row = json_object();

	for (; row && members->name; members++)
		if (json_object_set_new(
			    row, members->name,
			    value_of(json_object_get(o, members->name), members->type)) < 0) {
			json_decref(row);
			return NULL;
		}
	return row;
}

/* ---- rows ---- */

static uint64_t time_of(const json_t *summary)
{
	const json_int_t ms = json_integer_value(json_object_get(summary, "time_ms"));

	/* 9999-12-31, the last year that when_format() prints */
	return ms > 0 && ms < 253402300800000 ? (uint64_t)ms : 0;
}

static json_t *seen(const json_t *summary)
{
	const uint64_t ms = time_of(summary);
	char buf[WHEN_TEXT_MAX];

	return ms ? json_string(when_format(ms, buf)) : json_null();
}

/* Returns the age of a summary in seconds by this host's clock, or -1 if the age is unknown because
 * the summary has no time or the clocks of the two hosts differ too much. */
static int64_t age_s(const struct rows_host *h, const json_t *summary)
{
	const uint64_t ms = time_of(summary);

	if (ms == 0 || ms > h->now_ms + ROWS_AGE_MAX_S * 1000)
		return -1;
	return (int64_t)((h->now_ms - MIN_OF(ms, h->now_ms)) / 1000);
}

/* Returns the code of the reason why the host's state is unknown, or NULL if the summary is
 * valid. */
static const char *doubt(const struct rows_host *h, const json_t *summary)
{
	const int64_t age = age_s(h, summary);

	if (!h->alive)
		return "lease-ended";
	return age < 0 || age > ROWS_AGE_MAX_S ? "summary-old" : NULL;
}

static json_t *why_unknown(const struct rows_host *h, const json_t *summary)
{
	char buf[WHEN_TEXT_MAX];
	const uint64_t ms = time_of(summary);
	const char *of = ms ? when_format(ms, buf) : "an unknown time";

	if (!h->alive)
		return json_sprintf("lease-ended: the agent of this host has not renewed its "
				    "lease; the row shows the last values, of %s",
				    of);
	return json_sprintf("summary-old: the agent of this host has not written a summary in the "
			    "last %d s, or its clock differs; the row shows the last values, of %s",
			    ROWS_AGE_MAX_S, of);
}

static json_t *host_row(const struct rows_host *h, const json_t *s)
{
	static const struct member members[] = {
		{"state", TEXT},	 {"version", TEXT},
		{"workers_up", INTEGER}, {"workers_total", INTEGER},
		{"reasons", TEXTS},	 {NULL, TEXT},
	};
	const int64_t age = age_s(h, s);
	json_t *row = filter(s, members);

	if (!row)
		return NULL;
	json_object_set_new(row, "host", json_string(h->host));
	json_object_set_new(row, "seen", seen(s));
	json_object_set_new(row, "age_s", age >= 0 ? json_integer(age) : json_null());
	json_object_set_new(
		row, "exports",
		json_integer((json_int_t)json_array_size(json_object_get(s, "exports"))));
	if (doubt(h, s)) {
		json_object_set_new(row, "state", json_string("unknown"));
		if (s)
			json_array_insert_new(json_object_get(row, "reasons"), 0,
					      json_string(doubt(h, s)));
	}
	return row;
}

static int add_row(json_t *list, enum rows_kind kind, const struct rows_host *h, const json_t *s,
		   const json_t *o)
{
	json_t *row = filter(o, kinds[kind].members), *name;

	if (!row)
		return -ENOMEM;
	name = text_of(json_object_get(o, kinds[kind].name), false);
	json_object_set_new(row, "host", json_string(h->host));
	json_object_set_new(row, "id",
			    json_sprintf("%s/%s", h->host, name ? json_string_value(name) : ""));
	json_decref(name);
	if (doubt(h, s)) {
		json_object_set_new(row, kinds[kind].state, json_string(kinds[kind].unknown));
		json_object_set_new(row, "reason", why_unknown(h, s));
	}
	return json_array_append_new(list, row) < 0 ? -ENOMEM : 0;
}

int rows_add(json_t *list, enum rows_kind kind, const struct rows_host *h)
{
	json_t *s = h->state && h->len <= RECORDS_BYTES_MAX ? json_loadb(h->state, h->len, 0, NULL)
							    : NULL;
	const json_t *o;
	size_t i;
	int r = 0;

	if (!json_is_object(s)) {
		json_decref(s);
		s = NULL;
	}
	if (kind == ROWS_HOSTS) {
		r = json_array_append_new(list, host_row(h, s)) < 0 ? -ENOMEM : 0;
		json_decref(s);
		return r;
	}
	json_array_foreach (json_object_get(s, kinds[kind].list), i, o) {
		if (r < 0 || !kinds[kind].members || i == RECORDS_ROWS_MAX)
			break;
		r = add_row(list, kind, h, s, o);
	}
	json_decref(s);
	return r;
}
