/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts paths, queries and bodies to messages for the monitor, with the table in resource.c.
 * Uses no socket, so that tests and the fuzzer can call it. */
#include "agent/api/rest/api_list.h"
#include "agent/api/rest/api_route_internal.h"
#include "agent/base/events.h"
#include "netcfg/base/when.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- path and parameters ---- */

/* Stores the name that follows the row's path in the message. */
static int take_name(const struct resource *row, const char *path, struct privsep_msg *m,
		     struct api_error *e)
{
	const char *at = path + strlen(row->path);
	const size_t len = strlen(at) - (row->suffix ? strlen(row->suffix) : 0);
	char name[PLENUM_NAME_MAX] = "";
	uint64_t v = 0;
	int r = 0;

	if (len < sizeof(name))
		memcpy(name, at, len);
	if (row->name == RESOURCE_NAME_TEXT) {
		r = name[0] ? 0 : -EINVAL;
		if (r == 0)
			strcpy((char *)m + row->name_offset, name);
	} else if (row->name == RESOURCE_NAME_NUMBER) {
		r = api_number(name, UINT32_MAX, &v) < 0 || v == 0 ? -EINVAL : 0;
		api_put_number(m, row->name_offset, sizeof(uint32_t), v);
	} else if (row->name == RESOURCE_NAME_HEX) {
		r = api_hex(name, &v) < 0 || v == 0 ? -EINVAL : 0;
		api_put_number(m, row->name_offset, sizeof(uint64_t), v);
	}
	return r < 0 ? api_fail(e, 404, "not-found", "there is no %.150s", path) : 0;
}

static int take_wait(const struct api_request *rq, struct privsep_msg *m, unsigned *wait_s,
		     struct api_error *e)
{
	uint64_t wait = 0;

	if (rq->since && api_number(rq->since, INT64_MAX, &m->get_events.since) < 0)
		return api_fail(e, 400, "bad-query",
				"'since' is '%.40s'; write the number of an event", rq->since);
	if (rq->wait && api_number(rq->wait, API_WAIT_S_MAX, &wait) < 0)
		return api_fail(e, 400, "bad-query",
				"'wait' is '%.40s'; write seconds from 0 to %d", rq->wait,
				API_WAIT_S_MAX);
	if (rq->instance && api_hex(rq->instance, &m->get_events.instance) < 0)
		return api_fail(e, 400, "bad-query",
				"'instance' is invalid; send the instance from an earlier answer");
	*wait_s = (unsigned)wait;
	return 0;
}

static int take_when(const char *name, const char *text, uint64_t *ret_ms, struct api_error *e)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!text || when_parse(text, (uint64_t)now.tv_sec * 1000, false, ret_ms) == 0)
		return 0;
	return api_fail(e, 400, "bad-query", "%s is '%.40s'; write " WHEN_FORMS, name, text);
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
			return false;
	return true;
}

/* Stores the parameters that select events in the message. */
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
		return api_fail(e, 400, "bad-query",
				"'severity' is '%.40s'; write error, warning, notice or info",
				rq->severity);
	if (rq->limit && (api_number(rq->limit, EVENTS_KEPT, &limit) < 0 || limit == 0))
		return api_fail(e, 400, "bad-query",
				"'limit' is '%.40s'; write a number from 1 to %d", rq->limit,
				EVENTS_KEPT);
	if (rq->source && (!rq->source[0] || strlen(rq->source) >= sizeof(g->source) ||
			   !is_printable(rq->source)))
		return api_fail(e, 400, "bad-query",
				"'source' is '%.60s'; write a source as in the list of events: "
				"agent, api, worker 2, or the name of a leg",
				rq->source);
	r = take_when("from", rq->from, &g->from_ms, e);
	if (r >= 0)
		r = take_when("until", rq->until, &g->until_ms, e);
	if (r >= 0 && rq->until && g->until_ms <= g->from_ms)
		return api_fail(e, 400, "bad-query", "'until' is '%.40s'; write a time after %s",
				rq->until, rq->from ? "the time in 'from'" : "1970");
	if (r < 0)
		return r;
	g->severity = severity;
	g->limit = (uint32_t)limit;
	snprintf(g->source, sizeof(g->source), "%s", rq->source ? rq->source : "");
	return 0;
}

/*
 * For a stream, Last-Event-ID has priority over `since`: it is the id of the last event that the
 * client has, such as "00000000deadbeef-42".
 */
static int take_stream(const struct api_request *rq, struct privsep_msg *m, struct api_error *e)
{
	const char *id = rq->last_event_id;
	char instance[17] = "";
	uint64_t seq;

	m->type = PRIVSEP_STREAM;
	if (rq->wait || rq->from || rq->until || rq->limit)
		return api_fail(
			e, 400, "bad-query",
			"a stream takes only the parameters since, instance, severity and source");
	if (!id || !*id)
		return 0;
	if (strlen(id) > 17 && id[16] == '-')
		memcpy(instance, id, 16);
	if (api_hex(instance, &m->get_events.instance) < 0 ||
	    api_number(id + 17, INT64_MAX, &seq) < 0)
		return api_fail(e, 400, "bad-request",
				"Last-Event-ID is '%.60s'; send the id of an event of this stream",
				id);
	m->get_events.since = seq + 1;
	return 0;
}

/* ---- versions ---- */

/* Stores the version in If-Match in the message. Only the form of the ETags that this API sends is
 * valid. */
static int take_if_match(const struct api_request *rq, enum resource_version version,
			 struct privsep_msg *m, struct api_error *e)
{
	const char *text = rq->if_match;
	char digits[17] = "";

	if (!text && version == RESOURCE_VERSION_REQUIRED)
		return api_fail(e, 428, "no-version",
				"If-Match is missing; send the ETag of GET %.100s, so that no "
				"change by another client is lost",
				rq->path);
	if (!text)
		return 0;
	if (version == RESOURCE_VERSION_NONE)
		return api_fail(e, 400, "bad-request",
				"this request takes no If-Match; remove the header");
	if (strcmp(text, "*") == 0) {
		m->if_match = PRIVSEP_ETAG_ANY;
		return 0;
	}
	if (strlen(text) == 18 && text[0] == '"' && text[17] == '"')
		memcpy(digits, text + 1, 16);
	if (api_hex(digits, &m->if_match) < 0)
		return api_fail(
			e, 400, "bad-request",
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

/* Returns whether the path takes the parameters for events. */
static bool path_waits(const char *path)
{
	for (size_t i = 0; i < RESOURCE_MAX; i++)
		if (resources[i].waits && resource_has_path(&resources[i], path))
			return true;
	return false;
}

/* ---- the table ---- */

static int fill(const struct resource *row, const struct api_request *rq, struct privsep_msg *m,
		unsigned *wait_s, struct api_error *e)
{
	int r;

	/* The kind of a PRIVSEP_GET and the action of a PRIVSEP_CAPTURE must have the same
	 * offset. */
	_Static_assert(offsetof(struct privsep_msg, get.what) ==
			       offsetof(struct privsep_msg, capture.act),
		       "struct resource's what fits both");
	memset(m, 0, sizeof(*m));
	r = api_check_accept(row, rq, e);
	if (r >= 0)
		r = api_check_content_type(row, rq, e);
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
	if (r >= 0 && api_wants_stream(row, rq))
		r = take_stream(rq, m, e);
	if (r >= 0)
		r = api_take_body(row, rq, m, e);
	if (r >= 0 && row->as_json)
		m->get.as_json = api_wants_json(row, rq);
	if (r >= 0 && row->async)
		m->apply.async = api_prefers_async(rq);
	return r < 0 ? r : (int)row->local;
}

/*
 * Returns whether a browser sends the request for a page of another site (or of another port of
 * this site). Such a page can send a change to any address that the browser reaches, such as a port
 * forwarded to the admin socket, although it cannot read the answer. Programs other than browsers
 * send neither header.
 */
static bool is_of_another_site(const struct api_request *rq)
{
	const char *site = rq->fetch_site, *host;

	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return true;
	if (!rq->origin)
		return false;
	host = strstr(rq->origin, "://"); /* the origin "null" has no such part */
	return !host || !rq->host || strcasecmp(host + 3, rq->host) != 0;
}

int api_route(const struct api_request *rq, struct privsep_msg *ret, unsigned *ret_wait_s,
	      struct api_error *ret_error)
{
	char allow[API_ALLOW_MAX];

	*ret_wait_s = 0;
	api_route_methods(rq->path, allow);
	if (!allow[0])
		return api_fail(ret_error, 404, "not-found", "there is no %.150s", rq->path);
	if (rq->unknown)
		return api_fail(ret_error, 400, "bad-query", "unknown parameter '%.60s'; %s",
				rq->unknown,
				path_waits(rq->path)
					? "known are since, wait, instance, severity, from, until, "
					  "source, limit"
				: api_list_has_path(rq->path) ? "known are limit, after"
							      : "this path takes none");
	for (size_t i = 0; i < RESOURCE_MAX; i++) {
		const struct resource *row = &resources[i];

		if (!resource_has_path(row, rq->path) || strcmp(row->method, rq->method) != 0)
			continue;
		if (strcmp(row->method, "GET") != 0 && is_of_another_site(rq))
			return api_fail(ret_error, 403, "origin",
					"a page of another site may not make changes; open the "
					"agent's own page");
		if (rq->read_only && resource_role(row) != ACCESS_VIEW)
			return api_fail(
				ret_error, 403, "forbidden",
				"changes and logs need the socket plenumd-admin.sock, and are "
				"allowed for "
				"root and for the users and groups in the configuration's 'admin'");
		return fill(row, rq, ret, ret_wait_s, ret_error);
	}
	api_fail(ret_error, 405, "method", "%.150s takes %s", rq->path, allow);
	snprintf(ret_error->allow, sizeof(ret_error->allow), "%s", allow);
	return -EINVAL;
}
