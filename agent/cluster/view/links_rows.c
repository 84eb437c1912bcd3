/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the rows of the list of links, and merges what several hosts say about a leg. */
#include "agent/cluster/view/links_rows.h"
#include "agent/base/links_report.h"
#include "netcfg/base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 384
#define LEGS_MAX 16   /* legs of a record */
#define FAULTS_MAX 64 /* faults of a record */
/* If the time in a record is at least this many seconds before this host's time, or after it, the
 * record's age is shown as unknown: the clocks of the two hosts probably differ. */
#define AGE_MAX_S 86400

static json_t *text_of(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));
	char buf[TEXT_MAX];

	snprintf(buf, sizeof(buf), "%s", text ? text : "");
	text_trim(buf);
	text_clean(buf);
	return json_string(buf);
}

static json_t *number_of(const json_t *o, const char *name)
{
	const json_int_t n = json_integer_value(json_object_get(o, name));

	return json_integer(MAX_OF(n, 0));
}

/* Returns null if the record lacks the number. */
static json_t *measured_of(const json_t *o, const char *name)
{
	return json_is_integer(json_object_get(o, name)) ? number_of(o, name) : json_null();
}

static const char *verdict_of(const json_t *o)
{
	static const char *const names[] = {"ok", "own-leg", "peer-leg", "switch-between"};
	const char *text = json_string_value(json_object_get(o, "verdict"));

	for (size_t i = 0; text && i < ARRAY_SIZE(names); i++)
		if (strcmp(text, names[i]) == 0)
			return names[i];
	return "unknown";
}

static json_t *age_of(const json_t *record, uint64_t now_ms)
{
	const json_int_t at = json_integer_value(json_object_get(record, "time_ms"));
	json_int_t age;

	if (at <= 0) /* the difference of the two times could overflow */
		return json_null();
	age = ((json_int_t)now_ms - at) / 1000;
	return age < AGE_MAX_S && age > -AGE_MAX_S ? json_integer(MAX_OF(age, 0)) : json_null();
}

static json_t *id_of(const json_t *host, const json_t *leg)
{
	return json_sprintf("%s/%s", json_string_value(host), json_string_value(leg));
}

/* Writes the source of a verdict that comes from sessions of the host's workers. */
static json_t *session_of(const char *host)
{
	return json_sprintf("session of %s", host);
}

static bool is_by_session(const json_t *row)
{
	const char *source = json_string_value(json_object_get(row, "source"));

	return source && strncmp(source, "session of ", strlen("session of ")) == 0;
}

/* Returns whether the leg's host has no socket for probes on this leg, so that the leg answers no
 * probes. Records of older agents lack this member. */
static bool is_unprobed(const json_t *leg)
{
	return json_is_false(json_object_get(leg, "probed"));
}

/* ---- the rows of a record ---- */

static json_t *own_row(const char *host, const json_t *leg, const json_t *record, uint64_t now_ms)
{
	json_t *name = text_of(leg, "name"), *of = json_string(host), *row;
	const char *verdict = verdict_of(leg);
	bool by_session;

	/* Of what a host writes about its own leg, only these members are used. */
	if (strcmp(verdict, "ok") != 0 && strcmp(verdict, "own-leg") != 0)
		verdict = "unknown";
	by_session = strcmp(verdict, "ok") == 0 && json_is_true(json_object_get(leg, "session"));
	row = json_pack("{s:o, s:s, s:O, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "id",
			id_of(of, name), "host", host, "leg", name, "address", text_of(leg, "ip"),
			"known", number_of(leg, "known"), "asked", number_of(leg, "asked"),
			"answering", number_of(leg, "answering"), "loss_percent",
			measured_of(leg, "loss_percent"), "full_loss_percent",
			measured_of(leg, "full_loss_percent"), "verdict", verdict, "source",
			by_session ? session_of(host) : json_string(host), "age_s",
			age_of(record, now_ms), "reason", text_of(leg, "reason"));
	if (row)
		json_object_set_new(row, "rtt_us", measured_of(leg, "rtt_us"));
	if (row && by_session)
		json_object_set_new(row, "session", json_true());
	if (row && is_unprobed(leg))
		json_object_set_new(row, "probed", json_false());
	json_decref(name);
	json_decref(of);
	return row;
}

static json_t *fault_row(const char *by, const json_t *fault, const json_t *record, uint64_t now_ms)
{
	json_t *host = text_of(fault, "host"), *leg = text_of(fault, "leg"), *row;
	const char *verdict = verdict_of(fault);

	/* Of what a host writes about another host's leg, only these members are used. The verdict
	 * is "ok" if sessions of the writing host use the leg. */
	if (strcmp(verdict, "peer-leg") != 0 && strcmp(verdict, "switch-between") != 0 &&
	    strcmp(verdict, "ok") != 0)
		verdict = "unknown";
	row = json_pack("{s:s, s:o, s:O, s:O, s:o, s:s, s:o}", "by", by, "id", id_of(host, leg),
			"host", host, "leg", leg, "address", text_of(fault, "ip"), "verdict",
			verdict, "age_s", age_of(record, now_ms));
	json_decref(host);
	json_decref(leg);
	return row;
}

int links_rows_add(json_t *list, const char *host, const char *text, size_t len, uint64_t now_ms)
{
	json_t *record = record_load(text, len, LINKS_ROWS_BYTES_MAX), *o;
	int r = 0;
	size_t i;

	json_array_foreach (json_object_get(record, "legs"), i, o)
		if (r == 0 && i < LEGS_MAX)
			r = json_array_append_new(list, own_row(host, o, record, now_ms));
	json_array_foreach (json_object_get(record, "faults"), i, o)
		/* Skips entries about the writing host's own legs, because those come from its list
		 * of own legs. */
		if (r == 0 && i < FAULTS_MAX &&
		    strcmp(json_string_value(json_object_get(o, "host")) ?: "", host) != 0)
			r = json_array_append_new(list, fault_row(host, o, record, now_ms));
	json_decref(record);
	return r < 0 ? -ENOMEM : 0;
}

char *links_rows_dump(json_t *record)
{
	json_t *faults = json_object_get(record, "faults");

	for (;;) {
		char *text = json_dumps(record, JSON_COMPACT | JSON_PRESERVE_ORDER);
		const size_t n = json_array_size(faults);

		if (!text || strlen(text) <= LINKS_ROWS_BYTES_MAX || n == 0)
			return text;
		free(text);
		json_array_remove(faults, n - 1);
	}
}

json_t *links_rows_member(const char *host, const char *text, size_t len)
{
	json_t *record = record_load(text, len, LINKS_ROWS_BYTES_MAX), *legs = json_array(), *o;
	size_t i;

	json_array_foreach (json_object_get(record, "legs"), i, o)
		if (i < LEGS_MAX && !is_unprobed(o))
			json_array_append_new(legs,
					      json_pack("{s:o, s:o, s:o}", "name",
							text_of(o, "name"), "ip", text_of(o, "ip"),
							"network", text_of(o, "network")));
	json_decref(record);
	if (json_array_size(legs) == 0) {
		json_decref(legs);
		return NULL;
	}
	return json_pack("{s:s, s:o}", "host", host, "legs", legs);
}

/* ---- merging ---- */

static const char *get(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text ? text : "";
}

/* Returns a row with the verdict unknown, for a leg that its own host has not published. */
static json_t *empty_row(const json_t *fault)
{
	json_t *leg = json_pack("{s:i, s:s, s:s, s:s, s:s}", "v", RECORDS_VERSION, "name",
				get(fault, "leg"), "ip", get(fault, "address"), "verdict",
				"unknown", "reason", "");
	json_t *row = leg ? own_row(get(fault, "host"), leg, NULL, 0) : NULL;

	json_decref(leg);
	return row;
}

static int rank(const char *verdict)
{
	return strcmp(verdict, "peer-leg") == 0 ? 2 : strcmp(verdict, "switch-between") == 0;
}

/* A session of another host uses the leg, so the leg works and only probes are lost. */
static void take_session(json_t *row, const json_t *fault)
{
	if (strcmp(get(row, "verdict"), "own-leg") == 0)
		return;
	json_object_set_new(row, "verdict", json_string("ok"));
	json_object_set_new(row, "source", session_of(get(fault, "by")));
	json_object_set_new(row, "reason",
			    json_sprintf("by sessions: %s has a session with this leg, although "
					 "the leg answers no probes on UDP port 7410",
					 get(fault, "by")));
	json_object_set(row, "age_s", json_object_get(fault, "age_s"));
}

/* Counts the hosts that report the leg, and keeps the most certain verdict. If the leg's own host
 * has found the fault, its verdict takes precedence. */
static void take_fault(json_t *row, const json_t *fault)
{
	const json_int_t n = json_integer_value(json_object_get(row, "reports"));
	const char *verdict = get(fault, "verdict");

	if (is_unprobed(row))
		return;
	json_object_set_new(row, "reports", json_integer(n + 1));
	if (strcmp(get(row, "verdict"), "own-leg") == 0)
		return;
	/* The host may have stopped since it wrote its record. So its record about its own sessions
	 * cannot prove that the leg works; it only prevents the verdict that the leg is at
	 * fault. */
	if (json_is_true(json_object_get(row, "session")) && strcmp(verdict, "peer-leg") == 0)
		verdict = "unknown";
	if (n == 0 || rank(verdict) > rank(get(row, "verdict"))) {
		json_object_set_new(row, "verdict", json_string(verdict));
		json_object_set_new(row, "source", json_string(get(fault, "by")));
		json_object_set(row, "age_s", json_object_get(fault, "age_s"));
	}
}

/* Returns whether other hosts have given all legs of the row's host that verdict. */
static bool all_silent(const json_t *rows, const char *host)
{
	const json_t *row;
	const char *id;
	unsigned n = 0;

	json_object_foreach ((json_t *)rows, id, row) {
		if (strcmp(get(row, "host"), host) != 0)
			continue;
		if (strcmp(get(row, "verdict"), "peer-leg") != 0)
			return false;
		n++;
	}
	return n > 1;
}

static json_t *explain(const json_t *rows, const json_t *row)
{
	const json_int_t n = json_integer_value(json_object_get(row, "reports"));
	const char *verdict = get(row, "verdict");

	if (strcmp(verdict, "own-leg") == 0 || n == 0 || is_by_session(row))
		return json_string(get(row, "reason"));
	if (strcmp(verdict, "switch-between") == 0)
		return json_sprintf("leg-unreachable: other hosts reach this leg, but %s%s not: "
				    "check the switches and cables between them",
				    get(row, "source"), n > 1 ? " and others do" : " does");
	if (json_is_true(json_object_get(row, "session")))
		return json_sprintf("leg-unreachable: sessions of this host use the leg, but %s "
				    "gets no answer on UDP port 7410: check that no firewall drops "
				    "it",
				    get(row, "source"));
	if (strcmp(verdict, "peer-leg") != 0)
		return json_sprintf(
			"leg-unreachable: %s gets no answer from this leg, and no third host was "
			"available to find out which of the two legs is at fault",
			get(row, "source"));
	if (all_silent(rows, get(row, "host")))
		return json_string("leg-unreachable: no leg of this host answers: the host is "
				   "down, or its agent is stopped");
	return json_sprintf("leg-unreachable: this leg answers none of the hosts that asked it "
			    "(%" JSON_INTEGER_FORMAT " %s): check its cable and its switch port",
			    n, n > 1 ? "report that" : "reports that");
}

json_t *links_rows_merge(const json_t *list)
{
	json_t *rows = json_object(), *merged = json_array();
	json_t *o, *row;
	const char *id;
	size_t i;

	json_array_foreach (list, i, o)
		if (!json_object_get(o, "by"))
			json_object_set(rows, get(o, "id"), o);
	json_array_foreach (list, i, o) {
		if (!json_object_get(o, "by"))
			continue;
		row = json_object_get(rows, get(o, "id"));
		if (!row) {
			row = empty_row(o);
			json_object_set_new(rows, get(o, "id"), row);
		}
		if (row && strcmp(get(o, "verdict"), "ok") != 0)
			take_fault(row, o);
	}
	json_array_foreach (list, i, o) {
		row = json_object_get(rows, get(o, "id"));
		if (json_object_get(o, "by") && row && strcmp(get(o, "verdict"), "ok") == 0)
			take_session(row, o);
	}
	json_object_foreach (rows, id, row) {
		json_object_set_new(row, "reason", explain(rows, row));
		json_object_del(row, "session");
		json_object_del(row, "probed");
		if (!json_object_get(row, "reports"))
			json_object_set_new(row, "reports", json_integer(0));
		json_array_append(merged, row);
	}
	json_decref(rows);
	return merged;
}
