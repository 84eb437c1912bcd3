/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of events: adds events, with a rate limit per source, and prints them as JSON. So the
 * modules that add events need not know who reads them. */
#include "agent/base/events.h"
#include "netcfg/base/reason.h"
#include "netcfg/base/text.h"
#include "netcfg/base/when.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

void events_init(struct events *ev)
{
	memset(ev, 0, sizeof(*ev));
	ev->next = ev->place = 1;
	ev->now = clock_now_ns;
	while (ev->instance == 0)
		if (getrandom(&ev->instance, sizeof(ev->instance), 0) < 0)
			ev->instance = clock_now_ns();
}

bool events_severity_from_string(const char *text, enum log_level *ret)
{
	for (enum log_level l = LOG_LEVEL_ERR; l <= LOG_LEVEL_DEBUG; l++)
		if (strcmp(text, log_level_to_string(l)) == 0) {
			*ret = l;
			return true;
		}
	return false;
}

static void push(struct events *ev, enum log_level severity, const char *source, const char *text)
{
	struct events_entry *e = &ev->ring[ev->place++ % EVENTS_KEPT];
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	e->seq = ev->next++;
	e->time_ms = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / NSEC_PER_MSEC;
	e->severity = severity;
	snprintf(e->source, sizeof(e->source), "%s", source);
	reason_copy_text(e->text, sizeof(e->text), text);
	text_clean(e->source);
	text_clean(e->text);
	if (ev->on_add)
		ev->on_add(ev->user, ev->next);
}

/* ---- rate limit per source ---- */

static void say_left_out(struct events *ev, struct events_source *s)
{
	char text[EVENTS_TEXT_MAX];

	if (s->left_out == 0)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " events were left out: too many in a row",
		 s->left_out);
	s->left_out = 0;
	log_write(LOG_LEVEL_WARNING, "%s: %s", s->name, text);
	push(ev, LOG_LEVEL_WARNING, s->name, text);
}

static struct events_source *source_get(struct events *ev, const char *name, uint64_t now)
{
	struct events_source *s = &ev->sources[0];

	for (size_t i = 0; i < EVENTS_SOURCES; i++) {
		if (ev->sources[i].last_ns && strcmp(ev->sources[i].name, name) == 0)
			return &ev->sources[i];
		if (ev->sources[i].last_ns < s->last_ns)
			s = &ev->sources[i];
	}
	say_left_out(ev, s);
	*s = (struct events_source){.refilled_ns = now, .tokens = EVENTS_BURST};
	snprintf(s->name, sizeof(s->name), "%s", name);
	return s;
}

static void refill(struct events_source *s, uint64_t now)
{
	uint64_t n = (now - s->refilled_ns) / EVENTS_REFILL_NS;

	s->tokens = (unsigned)MIN_OF(s->tokens + n, (uint64_t)EVENTS_BURST);
	s->refilled_ns += n * EVENTS_REFILL_NS;
}

/* Returns whether the rate limit admits the event. If not, counts it as dropped. */
static bool admit(struct events *ev, enum log_level severity, const char *source)
{
	uint64_t now = ev->now();
	struct events_source *s = source_get(ev, source, now);

	refill(s, now);
	s->last_ns = now;
	if (severity <= LOG_LEVEL_ERR)
		return true;
	if (s->tokens == 0) {
		s->left_out++;
		return false;
	}
	s->tokens--;
	say_left_out(ev, s);
	return true;
}

static void flush(struct events *ev)
{
	uint64_t now = ev->now();

	for (size_t i = 0; i < EVENTS_SOURCES; i++) {
		struct events_source *s = &ev->sources[i];

		refill(s, now);
		if (s->tokens > 0)
			say_left_out(ev, s);
	}
}

void events_keep(struct events *ev, enum log_level severity, const char *source, const char *text)
{
	if (admit(ev, severity, source))
		push(ev, severity, source, text);
}

void events_add_all(struct events *ev, enum log_level severity, const char *source,
		    const char *text)
{
	log_write(severity, "%s: %s", source, text);
	push(ev, severity, source, text);
}

void events_add(struct events *ev, enum log_level severity, const char *source, const char *fmt,
		...)
{
	/* The log gets the whole text, the ring at most EVENTS_TEXT_MAX bytes. */
	char text[4 * EVENTS_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_clean(text);
	if (!admit(ev, severity, source))
		return;
	log_write(severity, "%s: %s", source, text);
	push(ev, severity, source, text);
}

static json_t *entry_to_json(const struct events_entry *e)
{
	char when[WHEN_TEXT_MAX];

	return json_pack("{s:I, s:s, s:s, s:s, s:s}", "seq", (json_int_t)e->seq, "time",
			 when_format(e->time_ms, when), "severity",
			 log_level_to_string(e->severity), "source", e->source, "text", e->text);
}

/* ---- the ring ---- */

static uint64_t oldest_place(const struct events *ev)
{
	return ev->place > EVENTS_KEPT ? ev->place - EVENTS_KEPT : 1;
}

void events_restore(struct events *ev, const struct events_entry *entries, size_t n,
		    uint64_t instance, uint64_t next)
{
	for (size_t i = 0; i < n; i++)
		ev->ring[ev->place++ % EVENTS_KEPT] = entries[i];
	ev->instance = instance;
	ev->next = next;
}

uint64_t events_newest(const struct events *ev)
{
	return ev->place > 1 ? ev->ring[(ev->place - 1) % EVENTS_KEPT].seq : 0;
}

struct events_entry *events_copy(const struct events *ev, uint64_t after, size_t *ret_n)
{
	uint64_t first = ev->place;
	struct events_entry *copy;

	while (first > oldest_place(ev) && ev->ring[(first - 1) % EVENTS_KEPT].seq > after)
		first--;
	*ret_n = (size_t)(ev->place - first);
	copy = calloc(*ret_n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < *ret_n; i++)
		copy[i] = ev->ring[(first + i) % EVENTS_KEPT];
	return copy;
}

static bool matches(const struct events_entry *e, const struct events_filter *f)
{
	return e->seq >= f->since && e->time_ms >= f->from_ms &&
	       (f->until_ms == 0 || e->time_ms < f->until_ms) &&
	       (f->severity == 0 || e->severity <= f->severity) &&
	       (!f->source || !f->source[0] || strcmp(e->source, f->source) == 0);
}

/* Returns the place (events.place) of the first event to return, from which on at most f->limit
 * events match the filter. */
static uint64_t first_place(const struct events *ev, const struct events_filter *f)
{
	uint64_t first = ev->place;
	size_t n = 0;

	for (uint64_t at = ev->place; at > oldest_place(ev); at--) {
		if (!matches(&ev->ring[(at - 1) % EVENTS_KEPT], f))
			continue;
		if (f->limit && n == f->limit)
			break;
		first = at - 1;
		n++;
	}
	return first;
}

json_t *events_to_json(struct events *ev, const struct events_filter *filter)
{
	struct events_filter f = *filter;
	json_t *list = json_array();
	char id[20];

	if (!list)
		return NULL;
	flush(ev);
	if ((f.instance && f.instance != ev->instance) || f.since > ev->next)
		f.since = 0;
	snprintf(id, sizeof(id), "%016" PRIx64, ev->instance);
	for (uint64_t at = first_place(ev, &f); at < ev->place; at++) {
		const struct events_entry *e = &ev->ring[at % EVENTS_KEPT];

		if (matches(e, &f) && json_array_append_new(list, entry_to_json(e)) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return json_pack("{s:I, s:s, s:o}", "next", (json_int_t)ev->next, "instance", id, "events",
			 list);
}
