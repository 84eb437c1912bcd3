/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of events: decides which stream has something to send, and when to ask the monitor for
 * more events. */
#include "agent/api/api_stream.h"
#include "agent/api/api_tail.h"
#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES 4096
/* Tells the client to reconnect one second after a connection was lost. */
#define GREETING "retry: 1000\n\n"

struct api_stream {
	struct api_streams *all;
	struct MHD_Connection *connection;
	uint64_t client; /* number of its connection */
	struct api_tail_cursor cursor;
	char *text; /* text that is being sent; owned */
	size_t sent;
	uint64_t alive_ns; /* time of the next comment */
	bool suspended, dropped;
	struct api_stream *next;
};

struct api_streams {
	struct api_tail tail;
	bool asked; /* a question for more events is open */
	struct api_stream *list;
};

/* ---- sending ---- */

/* Puts the next text in s->text. Returns 1 if there is one, 0 if there is nothing to send now, or
 * negative errno. */
static int next_text(struct api_stream *s)
{
	int r;

	free(s->text);
	s->text = NULL;
	s->sent = 0;
	r = api_tail_next(&s->all->tail, &s->cursor, &s->text);
	if (r != 0 || clock_now_ns() < s->alive_ns)
		return r;
	s->text = api_tail_keep_alive(&s->cursor);
	return s->text ? 1 : -ENOMEM;
}

/* Callback of the library, which takes as many bytes as the client reads. */
static ssize_t on_read(void *user, uint64_t pos, char *buf, size_t max)
{
	struct api_stream *s = user;
	size_t n;
	int r;

	if (s->dropped)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (!s->text || !s->text[s->sent]) {
		r = next_text(s);
		if (r < 0)
			return MHD_CONTENT_READER_END_WITH_ERROR;
		if (r == 0) {
			s->suspended = true;
			MHD_suspend_connection(s->connection);
			return 0;
		}
	}
	n = MIN_OF(strlen(s->text + s->sent), max);
	memcpy(buf, s->text + s->sent, n);
	s->sent += n;
	s->alive_ns = clock_now_ns() + API_STREAM_ALIVE_NS;
	return (ssize_t)n;
}

static void wake(struct api_stream *s)
{
	if (s->suspended)
		MHD_resume_connection(s->connection);
	s->suspended = false;
}

/* Asks for the events after those in the tail, unless an earlier question has no answer yet. */
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
				 .connection = c->connection,
				 .client = c->client->id,
				 .cursor = {.instance = g->instance,
					    .next = g->since,
					    .severity = (enum log_level)g->severity},
				 .text = strdup(GREETING),
				 .alive_ns = clock_now_ns() + API_STREAM_ALIVE_NS,
				 .next = a->streams->list};
	snprintf(s->cursor.source, sizeof(s->cursor.source), "%s", g->source);
	a->streams->list = s;
	return s;
}

enum MHD_Result api_stream_begin(struct api *a, struct api_call *c)
{
	if (c->head_only)
		return api_answer_empty(c, 200, RESOURCE_STREAM_TYPE, NULL);
	c->stream = stream_new(a, c);
	if (!c->stream)
		return api_answer_refuse(c, 503, "busy", "out of memory for the stream");
	if (a->streams->tail.next == 0 || a->streams->tail.next < a->next_event)
		ask(a);
	return api_answer_queue(c, 200,
				MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES,
								  on_read, c->stream, NULL),
				RESOURCE_STREAM_TYPE, NULL);
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
	free(s->text);
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
		wake(s);
	}
	if (r >= 0)
		api_stream_note(a);
	forget_if_unused(a);
}

void api_stream_drop(struct api *a, uint64_t connection)
{
	for (struct api_stream *s = a->streams ? a->streams->list : NULL; s; s = s->next)
		if (s->client == connection) {
			s->dropped = true;
			wake(s);
		}
}

uint64_t api_stream_deadline(const struct api *a)
{
	uint64_t at = UINT64_MAX;

	for (const struct api_stream *s = a->streams ? a->streams->list : NULL; s; s = s->next)
		if (s->suspended)
			at = MIN_OF(at, s->alive_ns);
	return at;
}

void api_stream_tick(struct api *a, uint64_t now_ns)
{
	for (struct api_stream *s = a->streams ? a->streams->list : NULL; s; s = s->next)
		if (s->alive_ns <= now_ns)
			wake(s);
}
