/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the agent's events, selected by number, time, severity and source, and waits for new
 * ones. */
#include "agent/ctl/ctl.h"
#include "netcfg/base/when.h"

#include <inttypes.h>
#include <string.h>

#define EVENTS_MAX 1000 /* count of events that the agent keeps */
/* Seconds after which the agent answers even if there is no new event. */
#define EVENTS_WAIT_S 20

static void print_event(const struct ctl_args *a, const json_t *e)
{
	if (a->json) {
		(void)ctl_put_json_line(e);
		return;
	}
	ctl_put(ctl_text(e, "time"), stdout);
	fputs("  ", stdout);
	ctl_put_state(ctl_text(e, "severity"), 7);
	fputs("  ", stdout);
	ctl_put_wide(ctl_text(e, "source"), 10);
	fputs("  ", stdout);
	ctl_put(ctl_text(e, "text"), stdout);
	putchar('\n');
}

/* Position in the events: the next number, and the agent instance to which it belongs. */
struct event_place {
	json_int_t next;
	char instance[24]; /* "": unknown */
};

static void take_events(const struct ctl_args *a, const json_t *o, struct event_place *at)
{
	const json_t *e;
	size_t i;

	json_array_foreach (json_object_get(o, "events"), i, e)
		print_event(a, e);
	at->next = ctl_int(o, "next");
	snprintf(at->instance, sizeof(at->instance), "%.16s", ctl_text(o, "instance"));
}

/* Returns whether the error may be temporary, because the agent may be restarting. */
static bool is_passing(int error, long status)
{
	return error == -ENOENT || error == -ECONNREFUSED || error == -ECONNRESET ||
	       error == -ETIMEDOUT || error == -EHOSTUNREACH || (error == 0 && status == 503);
}

static void pause_before_request(void)
{
	nanosleep(&(struct timespec){0, 500 * (long)NSEC_PER_MSEC}, NULL);
}

/* Waits for the next answer of the agent, which may have restarted meanwhile. */
static int wait_events(const struct ctl_args *a, const char *query, struct ctl_reply *ret)
{
	const struct ctl_request rq = {.resource = RESOURCE_EVENTS, .query = query};
	bool gone = false;

	for (;;) {
		int r = ctl_http(a, &rq, ret);

		if (!is_passing(r, r == 0 ? ret->status : 0)) {
			if (gone && r == 0)
				ctl_complain("the agent answers again");
			return r < 0 ? ctl_unreachable(a, r) : ctl_judge(a, ret);
		}
		if (r == 0)
			ctl_reply_done(ret);
		if (!gone)
			ctl_complain("the agent on %s does not answer; waiting for it",
				     ctl_place(a));
		gone = true;
		pause_before_request();
	}
}

/* ---- the query ---- */

struct events_query {
	char text[512];
};

/* Adds a parameter, in which all characters except letters and digits are escaped. A value that is
 * too long is cut; the agent would refuse such a value. */
static void add(struct events_query *q, const char *name, const char *value)
{
	size_t len = strlen(q->text);

	len += (size_t)snprintf(q->text + len, sizeof(q->text) - len, "%s%s=", len ? "&" : "",
				name);
	for (; *value && len + 4 < sizeof(q->text); value++) {
		const unsigned char c = (unsigned char)*value;
		const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
				   (c >= 'A' && c <= 'Z') || c == '-';

		len += (size_t)snprintf(q->text + len, sizeof(q->text) - len,
					plain ? "%c" : "%%%02X", c);
	}
}

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 18;
}

/* Adds a time. It is converted here, because the agent may have another time zone or clock. */
static int add_when(struct events_query *q, const char *option, const char *name, const char *text)
{
	char when[WHEN_TEXT_MAX];
	struct timespec now;
	uint64_t ms;

	clock_gettime(CLOCK_REALTIME, &now);
	if (when_parse(text, (uint64_t)now.tv_sec * 1000, true, &ms) < 0) {
		ctl_complain("--%s is '%.40s'; write %s" WHEN_FORMS, option, text,
			     strcmp(option, "since") == 0 ? "the number of an event, or " : "");
		return CTL_USAGE;
	}
	add(q, name, when_format(ms, when));
	return CTL_OK;
}

static int check_severity(const char *text)
{
	static const char *const known[] = {"error", "warning", "notice", "info"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(text, known[i]) == 0)
			return CTL_OK;
	ctl_complain("--severity is '%.40s'; write error, warning, notice or info", text);
	return CTL_USAGE;
}

/* Adds the parameters that select events by severity and source. They apply to later events too. */
static int add_kind(const struct ctl_args *a, struct events_query *q)
{
	if (a->severity && check_severity(a->severity) != CTL_OK)
		return CTL_USAGE;
	if (a->source && !a->source[0]) {
		ctl_complain("--source is ''; write a source of the list, such as agent or "
			     "'worker 2'");
		return CTL_USAGE;
	}
	if (a->severity)
		add(q, "severity", a->severity);
	if (a->source)
		add(q, "source", a->source);
	return CTL_OK;
}

static int make_query(const struct ctl_args *a, struct events_query *q)
{
	const bool numbered = !a->since || is_number(a->since);
	unsigned long lines = 0;
	int r = ctl_take_number("--lines", a->lines, 1, EVENTS_MAX, &lines);

	if (r == CTL_OK && a->follow && a->until) {
		ctl_complain("--until cannot be used with --follow; remove one of the two options");
		r = CTL_USAGE;
	}
	add(q, "since", a->since && numbered ? a->since : "0");
	if (r == CTL_OK && !numbered)
		r = add_when(q, "since", "from", a->since);
	if (r == CTL_OK && a->until)
		r = add_when(q, "until", "until", a->until);
	if (r == CTL_OK && a->lines)
		add(q, "limit", a->lines);
	return r == CTL_OK ? add_kind(a, q) : r;
}

/* ---- the command ---- */

static const struct ctl_request events_request = {.resource = RESOURCE_EVENTS, .list = "events"};

static int follow_events(const struct ctl_args *a, struct event_place *at)
{
	for (;;) {
		PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};
		struct events_query q = {""};
		const struct event_place before = *at;
		json_t *o;
		int r;

		snprintf(q.text, sizeof(q.text), "since=%" JSON_INTEGER_FORMAT "&wait=%d", at->next,
			 EVENTS_WAIT_S);
		if (*at->instance)
			add(&q, "instance", at->instance);
		r = add_kind(a, &q);
		if (r == CTL_OK)
			r = wait_events(a, q.text, &reply);
		if (r != CTL_OK)
			return r;
		o = ctl_parse(&events_request, &reply);
		if (!o)
			return CTL_SOFTWARE;
		if (*before.instance && strcmp(before.instance, ctl_text(o, "instance")) != 0)
			ctl_complain("the agent restarted without its earlier events: the events "
				     "that it has are listed from the first on");
		take_events(a, o, at);
		json_decref(o);
		if (fflush(stdout) != 0)
			return CTL_IO;
		/* A working agent answers at once only when there is an event. This answer had
		 * none, so the command pauses before the next request. */
		if (at->next <= before.next)
			pause_before_request();
	}
}

int ctl_cmd_events(const struct ctl_args *a)
{
	struct event_place at = {0};
	struct events_query q = {""};
	struct ctl_request rq = events_request;
	json_t *o;
	int r = make_query(a, &q);

	rq.query = q.text;
	if (r == CTL_OK)
		r = ctl_ask_json(a, &rq, &o);
	if (r != CTL_OK)
		return r;
	if (a->json && !a->follow)
		r = ctl_put_json(o);
	else
		take_events(a, o, &at);
	json_decref(o);
	if (r != CTL_OK || !a->follow)
		return r;
	fflush(stdout);
	return follow_events(a, &at);
}
