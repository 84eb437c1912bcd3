/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the last answer of each shared object, and decides when the monitor is asked for a new
 * one. */
#include "agent/api/api_snapshot.h"
#include "agent/api/rest/problem.h"

struct snapshot {
	struct api_text *text; /* NULL: none yet */
	const char *type;
	unsigned status;
	uint64_t etag;
	bool is_hash; /* the ETag is a hash of the whole content, so 304 can be used */
	/* generation: value of api.generation when the monitor was asked; asked_ns: time of the
	 * question */
	uint64_t generation, asked_ns;
	/* asked: the monitor has not answered the latest question yet; next_: values of that
	 * question. */
	bool asked;
	uint64_t next_generation, next_asked_ns;
	/* Token bucket that limits the rate of questions. */
	unsigned tokens;
	uint64_t refilled_ns;
};

struct api_snapshots {
	struct snapshot of[PRIVSEP_WHAT_MAX];
};

int api_snapshots_new(struct api_snapshots **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

bool api_snapshot_covers(const struct api_call *c)
{
	return c->question.type == PRIVSEP_GET && privsep_is_shared(c->question.get.what) &&
	       !c->client->barred;
}

/* Returns whether the rate limit lets this process ask the monitor, although it could use the last
 * answer again. */
static bool take_token(struct snapshot *s, uint64_t now)
{
	const uint64_t n = (now - s->refilled_ns) / API_SNAPSHOT_REFILL_NS;

	s->tokens = (unsigned)MIN_OF(s->tokens + n, (uint64_t)API_SNAPSHOT_BURST);
	s->refilled_ns += n * API_SNAPSHOT_REFILL_NS;
	if (s->tokens == 0)
		return false;
	s->tokens--;
	return true;
}

static bool is_current(const struct api *a, const struct snapshot *s, uint32_t what, uint64_t now)
{
	const uint64_t age = what == PRIVSEP_INVENTORY || what == PRIVSEP_SAMPLES
				     ? API_SNAPSHOT_SLOW_AGE_NS
				     : API_SNAPSHOT_AGE_NS;

	return s->text && s->status == 200 && s->generation == a->generation &&
	       now - s->asked_ns <= age;
}

static void ask(struct api *a, struct snapshot *s, uint32_t what)
{
	struct privsep_msg m = {.type = PRIVSEP_SHARED_READ, .shared_read = {.what = what}};

	if (s->asked || api_tell(&m, -1) < 0)
		return;
	s->asked = true;
	s->next_generation = a->generation;
	s->next_asked_ns = clock_now_ns();
}

bool api_snapshot_is_ready(struct api *a, const struct api_call *c)
{
	const uint32_t what = c->question.get.what;
	struct snapshot *s = &a->snapshots->of[what];
	uint64_t now;

	/* The monitor's message about a change may not have been read yet although this client
	 * already knows of the change. */
	a->catch_up(a);
	now = clock_now_ns();
	return is_current(a, s, what, now) && !take_token(s, now);
}

void api_snapshot_ask(struct api *a, struct api_call *c)
{
	const uint32_t what = c->question.get.what;

	c->generation = a->generation;
	ask(a, &a->snapshots->of[what], what);
}

int api_snapshot_answer(struct api *a, struct api_call *c)
{
	const struct snapshot *s = &a->snapshots->of[c->question.get.what];

	if (!s->text)
		return api_answer_refuse(c, 503, "busy", "out of memory for the answer");
	if (c->list.row && s->status == 200)
		return api_answer_page(c, s->text->text, s->text->len, s->is_hash ? 0 : s->etag);
	c->reply.etag = s->etag;
	if (s->is_hash && api_answer_is_known(c, s->etag))
		return api_answer_empty(c, 304, NULL, NULL);
	return api_answer_text(c, s->status, s->type, s->text);
}

void api_snapshot_take(struct api *a, const struct privsep_msg *m, int fd)
{
	struct snapshot *s = &a->snapshots->of[m->shared_answer.what];
	const struct privsep_reply *r = &m->shared_answer.reply;
	char *text = NULL;

	s->text = api_text_unref(s->text);
	s->asked = false;
	s->generation = s->next_generation;
	s->asked_ns = s->next_asked_ns;
	s->status = r->http_status;
	if (privsep_read_memfd(fd, r->len, &text) < 0)
		return;
	s->is_hash = r->http_status == 200 && !r->etag;
	s->etag = s->is_hash ? api_answer_hash(text, r->len) : r->etag;
	s->type = r->http_status >= 400 ? PROBLEM_TYPE : resource_media_type(r->content);
	s->text = api_text_new(text, r->len);
}

bool api_snapshot_is_for(struct api *a, const struct api_call *c)
{
	struct snapshot *s = &a->snapshots->of[c->question.get.what];

	if (c->generation <= s->generation)
		return true;
	ask(a, s, c->question.get.what);
	return false;
}
