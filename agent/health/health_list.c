/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of problems: adds what a check finds, delays the report of problems that may pass soon,
 * and reads the list for tables. */
#include "agent/health/health_internal.h"
#include "netcfg/base/vec.h"
#include <stdio.h>
#include <string.h>

/* How long a problem keeps its certain cause after this cause has ended, before a guessed cause
 * replaces it. */
#define GUESS_NS (3 * NSEC_PER_SEC)

static struct health_entry *find(struct health *h, uint32_t worker, enum health_kind kind,
				 const char *key)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->entries[i].worker == worker && h->entries[i].kind == kind &&
		    strcmp(h->entries[i].key, key) == 0)
			return &h->entries[i];
	return NULL;
}

static struct health_entry *add(struct health *h)
{
	return vec_add(&h->entries, &h->n, sizeof(*h->entries));
}

/* Returns the number of the kind of guess if the text only lists possible causes of a silent peer,
 * else 0. */
static uint8_t guess_kind(const char *text)
{
	static const char *const codes[] = {"no-answer: ", "no-neighbour: ", "no-service: "};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (strncmp(text, codes[i], strlen(codes[i])) == 0)
			return (uint8_t)(i + 1);
	return 0;
}

/* Returns whether the entry keeps its text for now, because `text` is only a guess at the cause. A
 * certain cause may have ended a moment ago although the path or mount is not up again yet; a guess
 * that the peer is silent would then be wrong. For the same reason, a guess about one leg does not
 * replace a guess about another leg at once: its leg may have just come back. */
static bool keeps_text(struct health_entry *e, const char *text, uint64_t now)
{
	const uint8_t kind = guess_kind(text);

	if (e->due_ns > now || !kind || strcmp(e->text, text) == 0) {
		e->guess_since_ns = 0;
		return false;
	}
	if (!e->guess_since_ns || e->guess_kind != kind)
		e->guess_since_ns = now;
	e->guess_kind = kind;
	return now < e->guess_since_ns + GUESS_NS;
}

struct health_entry *health_note(struct health_look *l, uint64_t hold_ns, enum health_kind kind,
				 const char *key, const char *text)
{
	struct health *h = l->h;
	struct health_entry *e = find(h, l->w->id, kind, key);

	if (!e) {
		e = add(h);
		if (!e) /* if memory is short, the problem is not reported */
			return NULL;
		*e = (struct health_entry){
			.worker = l->w->id, .kind = kind, .due_ns = l->now + hold_ns};
		snprintf(e->key, sizeof(e->key), "%s", key);
	}
	e->seen = true;
	if (e->text[0] && keeps_text(e, text, l->now))
		return e;
	/* the caller sets this to true if another problem includes the text */
	e->reported_elsewhere = false;
	snprintf(e->text, sizeof(e->text), "%s", text);
	return e;
}

bool health_is_noted(const struct health_look *l, enum health_kind kind, const char *key)
{
	const struct health_entry *e = find(l->h, l->w->id, kind, key);

	return e && e->seen;
}

void health_drop_unseen(struct health *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->n; i++)
		if (h->entries[i].seen)
			h->entries[kept++] = h->entries[i];
	h->n = kept;
	for (size_t i = 0; i < h->n; i++)
		h->entries[i].seen = false;
}

static bool is_of_leg(const struct health_entry *e)
{
	return e->kind == HEALTH_CARRIER || e->kind == HEALTH_PORT;
}

/* Appends the problems of the worker's other legs to buf, as far as there is room. */
static void add_legs(const struct health *h, const struct health_entry *best, uint64_t now,
		     char *buf, size_t size)
{
	for (size_t i = 0; i < h->n; i++) {
		const struct health_entry *e = &h->entries[i];
		size_t len = strlen(buf);

		if (e->worker == best->worker && e->due_ns <= now && e != best && is_of_leg(e) &&
		    len + strlen(e->text) + 3 < size)
			snprintf(buf + len, size - len, "; %s", e->text);
	}
}

void health_reason(const struct health *h, uint32_t worker, char *buf, size_t size)
{
	const struct health_entry *best = NULL;
	uint64_t now = clock_now_ns();

	for (size_t i = 0; i < h->n; i++) {
		const struct health_entry *e = &h->entries[i];

		if (e->worker == worker && e->due_ns <= now && (!best || e->kind < best->kind))
			best = e;
	}
	snprintf(buf, size, "%s", best ? best->text : "");
	if (best && is_of_leg(best))
		add_legs(h, best, now, buf, size);
}

void health_key_path(const char *leg, const char *peer, char *buf, size_t size)
{
	snprintf(buf, size, "%s %s", leg, peer);
}

const char *health_path_reason(const struct health *h, uint32_t worker, const char *leg,
			       const char *peer, bool up)
{
	char key[HEALTH_KEY_MAX];

	health_key_path(leg, peer, key, sizeof(key));
	for (size_t i = 0; i < h->n; i++) {
		const struct health_entry *e = &h->entries[i];

		if (e->worker != worker)
			continue;
		if ((e->kind == HEALTH_LOSS || e->kind == HEALTH_SLOW) &&
		    e->due_ns <= clock_now_ns() && strcmp(e->key, key) == 0)
			return e->text;
		if (up)
			continue;
		if ((e->kind == HEALTH_PATH && strcmp(e->key, key) == 0) ||
		    (e->kind == HEALTH_CARRIER && strcmp(e->key, leg) == 0))
			return e->text;
	}
	return NULL;
}

bool health_waits(const struct health *h)
{
	uint64_t now = clock_now_ns();

	for (size_t i = 0; i < h->n; i++) {
		const struct health_entry *e = &h->entries[i];

		/* Problems of paths do not count, because clients of a server come and go all the
		 * time. */
		if ((e->kind == HEALTH_STATE || e->kind == HEALTH_MOUNT) && e->due_ns > now)
			return true;
	}
	return false;
}
