/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of events: decides which stream has something to send, and when to ask the monitor for
 * more events. */
#include "agent/api/api_stream.h"
#include "agent/api/api_tail.h"
#include <stdio.h>
#include <string.h>

/* Longest time that a client may not read while there is something to send. */
#define BLOCKED_NS (30 * NSEC_PER_SEC)
/* Tells the client to reconnect one second after a connection was lost. */
#define GREETING "retry: 1000\n\n"

struct api_stream {
	struct api_streams *all;
	struct api_client *client;
	struct api_tail_cursor cursor;
	bool is_greeted;
	uint64_t alive_ns; /* time of the next comment */
	bool dropped;
	struct api_stream *next;
};

struct api_streams {
	struct api_tail tail;
	bool asked; /* a question for more events is open */
	struct api_stream *list;
};

/* ---- sending ---- */

/* Returns 1 with the next text, 0 if there is nothing to send now, or negative errno. */
static int next_text(struct api_stream *s, char **ret)
{
	int r;

	if (s->is_greeted)
		r = api_tail_next(&s->all->tail, &s->cursor, ret);
	else
		r = (*ret = strdup(GREETING)) ? 1 : -ENOMEM;
	s->is_greeted = true;
	if (r != 0 || clock_now_ns() < s->alive_ns)
		return r;
	*ret = api_tail_keep_alive(&s->cursor);
	return *ret ? 1 : -ENOMEM;
}

int api_stream_step(struct api_stream *s)
{
	char *text = NULL;
	struct api_text *t;
	int r = s->dropped ? -ECONNABORTED : next_text(s, &text);

	if (r <= 0)
		return r;
	t = api_text_new(text, strlen(text));
	if (!t)
		return -ENOMEM;
	api_send_begin(s->client, NULL, t, t->text, t->len);
	api_text_unref(t);
	s->alive_ns = clock_now_ns() + API_STREAM_ALIVE_NS;
	return 1;
}

/* Asks for the events after the last one in the tail, unless an earlier question has no answer
 * yet. */
static void ask(struct api *a)
{
	struct api_streams *all = a->streams;
	struct privsep_msg m = {.type = PRIVSEP_SHARED_READ,
				.shared_read = {.what = PRIVSEP_EVENTS,
						.since = all->tail.next,
						.instance = all->tail.instance}};

	if (!all->asked && api_tell(&m, -1) >= 0)
		all->asked = true;
}

/* ---- functions for the other files ---- */

static struct api_stream *stream_new(struct api *a, const struct api_call *c)
{
	const struct privsep_get_events *g = &c->question.get_events;
	struct api_stream *s;

	if (!a->streams)
		a->streams = calloc(1, sizeof(*a->streams));
	s = a->streams ? calloc(1, sizeof(*s)) : NULL;
	if (!s)
		return NULL;
	*s = (struct api_stream){.all = a->streams,
				 .client = c->client,
				 .cursor = {.instance = g->instance,
					    .next = g->since,
					    .severity = (enum log_level)g->severity},
				 .alive_ns = clock_now_ns() + API_STREAM_ALIVE_NS,
				 .next = a->streams->list};
	snprintf(s->cursor.source, sizeof(s->cursor.source), "%s", g->source);
	a->streams->list = s;
	return s;
}

int api_stream_begin(struct api *a, struct api_call *c)
{
	if (c->head_only)
		return api_answer_stream(c, RESOURCE_STREAM_TYPE);
	c->stream = stream_new(a, c);
	if (!c->stream) {
		c->client->closing = true; /* the monitor already treats the connection as a stream,
					      so no request can follow */
		return api_answer_refuse(c, 503, "busy", "out of memory for the stream");
	}
	if (a->streams->tail.next == 0 || a->streams->tail.next < a->next_event)
		ask(a);
	return api_answer_stream(c, RESOURCE_STREAM_TYPE);
}

/* Frees a->streams with its events once no stream is open and no question to the monitor is
 * unanswered. */
static void forget_if_unused(struct api *a)
{
	if (!a->streams || a->streams->list || a->streams->asked)
		return;
	api_tail_done(&a->streams->tail);
	free(a->streams);
	a->streams = NULL;
}

void api_stream_end(struct api *a, struct api_stream *s)
{
	if (!s)
		return;
	for (struct api_stream **at = &a->streams->list; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	free(s);
	forget_if_unused(a);
}

void api_stream_note(struct api *a)
{
	if (a->streams && a->streams->list && a->streams->tail.next != a->next_event)
		ask(a);
}

void api_stream_take(struct api *a, const struct privsep_msg *m, int fd)
{
	struct api_streams *all = a->streams;
	autofree char *text = NULL;
	int r = -EBADMSG;

	if (!all)
		return;
	all->asked = false;
	if (m->shared_answer.reply.http_status == 200)
		r = privsep_read_memfd(fd, m->shared_answer.reply.len, &text);
	if (r >= 0)
		r = api_tail_take(&all->tail, text, m->shared_answer.reply.len);
	/* If the monitor's answer is an error, the streams would get no more events. So they are
	 * ended, and their clients reconnect. */
	for (struct api_stream *s = all->list; s; s = s->next) {
		s->dropped = s->dropped || r < 0;
		api_ready(s->client);
	}
	if (r >= 0)
		api_stream_note(a);
	forget_if_unused(a);
}

/* Returns the time of the next comment or, while the client does not read, the time at which the
 * stream ends. */
static uint64_t deadline_of(const struct api_stream *s)
{
	return s->client->blocked_ns ? s->client->blocked_ns + BLOCKED_NS : s->alive_ns;
}

uint64_t api_stream_deadline(const struct api *a)
{
	uint64_t at = UINT64_MAX;

	for (const struct api_stream *s = a->streams ? a->streams->list : NULL; s; s = s->next)
		at = MIN_OF(at, deadline_of(s));
	return at;
}

void api_stream_tick(struct api *a, uint64_t now_ns)
{
	for (struct api_stream *s = a->streams ? a->streams->list : NULL; s; s = s->next) {
		if (deadline_of(s) > now_ns)
			continue;
		s->client->dropped = s->client->dropped || s->client->blocked_ns;
		api_ready(s->client);
	}
}
