/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of the latest events in a child, and their text for streams. */
#include "agent/api/api_tail.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void api_tail_done(struct api_tail *t)
{
	for (size_t i = 0; i < EVENTS_KEPT; i++)
		free(t->ring[i].json);
	*t = (struct api_tail){.n = 0};
}

static const struct api_tail_entry *entry(const struct api_tail *t, size_t i)
{
	return &t->ring[(t->first + i) % EVENTS_KEPT];
}

/* ---- taking events ---- */

static int append(struct api_tail *t, const json_t *event)
{
	const char *severity = json_string_value(json_object_get(event, "severity"));
	const char *source = json_string_value(json_object_get(event, "source"));
	struct api_tail_entry e = {
		.seq = (uint64_t)json_integer_value(json_object_get(event, "seq"))};
	struct api_tail_entry *at = &t->ring[(t->first + t->n) % EVENTS_KEPT];

	if (!severity || !source || !events_severity_from_string(severity, &e.severity))
		return -EBADMSG;
	if (t->n > 0 && e.seq <= entry(t, t->n - 1)->seq)
		return 0; /* the event was stored before */
	e.json = json_dumps(event, JSON_COMPACT | JSON_PRESERVE_ORDER);
	if (!e.json)
		return -ENOMEM;
	snprintf(e.source, sizeof(e.source), "%s", source);
	free(at->json);
	*at = e;
	if (t->n < EVENTS_KEPT)
		t->n++;
	else
		t->first = (t->first + 1) % EVENTS_KEPT;
	return 0;
}

int api_tail_take(struct api_tail *t, const char *answer, size_t len)
{
	json_t *o = json_loadb(answer, len, 0, NULL), *list = json_object_get(o, "events"), *event;
	const char *instance = json_string_value(json_object_get(o, "instance"));
	const json_int_t next = json_integer_value(json_object_get(o, "next"));
	uint64_t id = instance ? strtoull(instance, NULL, 16) : 0;
	size_t i;
	int r = 0;

	if (!json_is_array(list) || id == 0 || next < 1)
		r = -EBADMSG;
	if (r == 0 && t->instance && t->instance != id)
		api_tail_done(t);
	json_array_foreach (list, i, event)
		r = r < 0 ? r : append(t, event);
	if (r == 0) {
		t->instance = id;
		t->next = (uint64_t)next;
	}
	json_decref(o);
	return r;
}

/* ---- the text of a stream ---- */

/* The id with which a client continues after a lost connection: the id of the last event that it
 * received or that was reported as missing. */
#define ID "id: %016" PRIx64 "-%" PRIu64 "\n"

char *api_tail_keep_alive(const struct api_tail_cursor *c)
{
	char *text;

	if (!c->instance || c->next < 1)
		return strdup(": keep-alive\n\n");
	return asprintf(&text, ": keep-alive\n" ID "\n", c->instance, c->next - 1) < 0 ? NULL
										       : text;
}

/* Makes a text that tells the client that the events from its position up to number `until` are
 * missing. */
static int say_gap(const struct api_tail *t, struct api_tail_cursor *c, uint64_t until,
		   const char *why, char **ret)
{
	const uint64_t from = c->next;

	c->instance = t->instance;
	c->next = until;
	if (asprintf(ret,
		     ID "event: gap\ndata: {\"from\":%" PRIu64 ",\"next\":%" PRIu64
			",\"instance\":\"%016" PRIx64 "\",\"reason\":\"%s\"}\n\n",
		     t->instance, until - 1, from, until, t->instance, why) < 0)
		return -ENOMEM;
	return 1;
}

static bool selects(const struct api_tail_cursor *c, const struct api_tail_entry *e)
{
	return (c->severity == 0 || e->severity <= c->severity) &&
	       (!c->source[0] || strcmp(e->source, c->source) == 0);
}

/* Returns the index of the first event whose number is `seq` or higher, or t->n if all events have
 * lower numbers. */
static size_t find(const struct api_tail *t, uint64_t seq)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		const size_t mid = (low + high) / 2;

		if (entry(t, mid)->seq < seq)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int api_tail_next(const struct api_tail *t, struct api_tail_cursor *c, char **ret_text)
{
	const uint64_t oldest = t->n > 0 ? entry(t, 0)->seq : t->next;

	if (!t->instance)
		return 0;
	if (c->next == 0)
		c->instance = t->instance;
	if ((c->instance && c->instance != t->instance) || c->next > t->next)
		return say_gap(t, c, oldest,
			       "the numbers of events began again; events before this one are lost",
			       ret_text);
	c->instance = t->instance;
	if (c->next == 0)
		c->next = oldest;
	while (c->next < t->next) {
		const size_t i = find(t, c->next);
		const struct api_tail_entry *e = i < t->n ? entry(t, i) : NULL;
		const uint64_t at = e ? e->seq : t->next;

		if (at > c->next)
			return say_gap(t, c, at, "these events are not kept", ret_text);
		c->next = at + 1;
		if (!e || !selects(c, e))
			continue;
		return asprintf(ret_text, ID "data: %s\n\n", t->instance, e->seq, e->json) < 0
			       ? -ENOMEM
			       : 1;
	}
	return 0;
}
