/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses and formats the record of a rollout, changes its state, and decides what a host must do
 * next. */
#include "agent/cluster/rollout/rollout.h"
#include "netcfg/base/hash.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* Limit for the numbers of rollouts, attempts and turns. */
#define COUNT_MAX ((uint64_t)INT64_MAX)

/* ---- keys and names ---- */

void rollout_key(enum rollout_key key, const char *cluster, const char *host, char buf[KV_KEY_MAX])
{
	static const char *const names[ROLLOUT_KEY_MAX] = {"record", "document", "target", "former",
							   "host/"};

	snprintf(buf, KV_KEY_MAX, "/plenum/%.*s/v%d/rollout/%s%.*s", PLENUM_NAME_MAX - 1, cluster,
		 RECORDS_VERSION, names[key], key == ROLLOUT_KEY_HOST ? PLENUM_NAME_MAX - 1 : 0,
		 host);
}

void rollout_hosts_end(const char *cluster, char buf[KV_KEY_MAX])
{
	rollout_key(ROLLOUT_KEY_HOST, cluster, "", buf);
	buf[strlen(buf) - 1]++; /* the character after '/' */
}

static const char *const states[ROLLOUT_STATE_MAX] = {"none", "running", "paused", "stopped",
						      "aborted"};
static const char *const results[ROLLOUT_RESULT_MAX] = {"", "done", "failed", "busy"};

const char *rollout_state_to_string(enum rollout_state s)
{
	return s < ROLLOUT_STATE_MAX ? states[s] : "?";
}

const char *rollout_result_to_string(enum rollout_result r)
{
	return r < ROLLOUT_RESULT_MAX ? results[r] : "?";
}

void rollout_hash(const char *text, size_t len, char buf[ROLLOUT_HASH_MAX])
{
	/* The key of the hash is not secret, because the hash only distinguishes documents. It does
	 * not protect them: a program that can write one document can write any other. */
	static const uint64_t key[2] = {0x706c656e756d2d72, 0x6f6c6c6f75742d31};

	snprintf(buf, ROLLOUT_HASH_MAX, "%016" PRIx64, hash_keyed(key, text, len));
}

uint64_t rollout_draw(void)
{
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = clock_now_ns();
	return 1 + random % (1ULL << 48); /* so that the number is short in messages and can still
					     be incremented often */
}

uint64_t rollout_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- reading values ---- */

/* Copies a text. Characters that messages between the agent's processes must not contain become
 * '?'. */
static bool take_text(const json_t *o, const char *key, char *buf, size_t size)
{
	const char *text = json_string_value(json_object_get(o, key));

	if (!text || strlen(text) >= size)
		return false;
	strcpy(buf, text);
	for (; *buf; buf++)
		if (*buf < ' ' || *buf > '~' || *buf == '"' || *buf == '\\')
			*buf = '?';
	return true;
}

static bool take_number(const json_t *o, const char *key, uint64_t min, uint64_t max, uint64_t *ret)
{
	const json_t *n = json_object_get(o, key);

	if (!json_is_integer(n) || json_integer_value(n) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(n);
	return *ret >= min && *ret <= max;
}

static bool take_bool(const json_t *o, const char *key, bool *ret)
{
	const json_t *b = json_object_get(o, key);

	*ret = json_is_true(b);
	return json_is_boolean(b);
}

static bool take_word(const json_t *o, const char *key, const char *const *words, size_t n,
		      unsigned *ret)
{
	const char *text = json_string_value(json_object_get(o, key));

	for (unsigned i = 0; text && i < n; i++)
		if (strcmp(words[i], text) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

bool rollout_hash_is_valid(const char *hash)
{
	return strlen(hash) == ROLLOUT_HASH_MAX - 1 &&
	       strspn(hash, "0123456789abcdef") == ROLLOUT_HASH_MAX - 1;
}

static bool take_version(const json_t *o, struct rollout_version *ret)
{
	return take_number(o, "generation", 0, INT64_MAX, &ret->generation) &&
	       take_text(o, "hash", ret->hash, sizeof(ret->hash)) &&
	       rollout_hash_is_valid(ret->hash);
}

static json_t *version_to_json(const struct rollout_version *v)
{
	return json_pack("{s:I, s:s}", "generation", (json_int_t)v->generation, "hash", v->hash);
}

/* Sets *v to generation 0 and the hash of an empty document. This stands for "the store has no
 * document". */
static void set_none(struct rollout_version *v)
{
	v->generation = 0;
	rollout_hash("[]\n", 3, v->hash);
}

/* ---- the record ---- */

static bool take_slots(const json_t *list, struct rollout *r)
{
	const json_t *o;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > ROLLOUT_SLOTS_MAX)
		return false;
	json_array_foreach (list, i, o) {
		struct rollout_slot *s = &r->slots[r->n_slots++];

		if (!take_text(o, "host", s->host, sizeof(s->host)) ||
		    !record_name_is_valid(s->host) || !take_text(o, "id", s->id, sizeof(s->id)) ||
		    !take_number(o, "turn", 1, COUNT_MAX, &s->turn) ||
		    !take_bool(o, "back", &s->back) || !take_bool(o, "expired", &s->expired))
			return false;
	}
	return true;
}

static bool take_record(const json_t *o, struct rollout *r)
{
	uint64_t max_unavailable = 0, timeout_s = 0;
	unsigned state = 0;
	const bool good =
		take_number(o, "number", 1, COUNT_MAX, &r->number) &&
		take_number(o, "lineage", 1, COUNT_MAX, &r->lineage) &&
		take_number(o, "attempt", 1, COUNT_MAX, &r->attempt) &&
		take_word(o, "state", states, ROLLOUT_STATE_MAX, &state) && state != ROLLOUT_NONE &&
		take_version(json_object_get(o, "target"), &r->target) &&
		take_version(json_object_get(o, "former"), &r->former) &&
		take_bool(o, "back", &r->back) && take_bool(o, "rolls_back", &r->rolls_back) &&
		take_number(o, "max_unavailable", 1, ROLLOUT_SLOTS_MAX, &max_unavailable) &&
		take_number(o, "timeout_s", ROLLOUT_TIMEOUT_MIN_S, ROLLOUT_TIMEOUT_MAX_S,
			    &timeout_s) &&
		take_slots(json_object_get(o, "slots"), r) &&
		take_text(o, "failed", r->failed, sizeof(r->failed)) &&
		take_text(o, "why", r->why, sizeof(r->why)) &&
		take_text(o, "by", r->by, sizeof(r->by)) &&
		take_text(o, "since", r->since, sizeof(r->since));

	r->state = (enum rollout_state)state;
	r->max_unavailable = (uint32_t)max_unavailable;
	r->timeout_s = (uint32_t)timeout_s;
	return good;
}

int rollout_parse(const char *text, size_t len, struct rollout *ret)
{
	json_t *o;
	bool good;

	*ret = (struct rollout){.number = 0};
	set_none(&ret->target);
	set_none(&ret->former);
	if (len == 0)
		return 0;
	o = record_load_exact(text, len, RECORDS_BYTES_MAX);
	good = o && take_record(o, ret);
	json_decref(o);
	if (!good)
		*ret = (struct rollout){.number = 0};
	return good ? 0 : -EBADMSG;
}

json_t *rollout_to_json(const struct rollout *r)
{
	json_t *slots = json_array();

	for (size_t i = 0; slots && i < r->n_slots; i++)
		json_array_append_new(
			slots, json_pack("{s:s, s:s, s:I, s:b, s:b}", "host", r->slots[i].host,
					 "id", r->slots[i].id, "turn", (json_int_t)r->slots[i].turn,
					 "back", r->slots[i].back, "expired", r->slots[i].expired));
	return json_pack("{s:i, s:I, s:I, s:I, s:s, s:o, s:o, s:b, s:b, s:I, s:I, s:o, s:s, s:s, "
			 "s:s, s:s}",
			 "v", RECORDS_VERSION, "number", (json_int_t)r->number, "lineage",
			 (json_int_t)r->lineage, "attempt", (json_int_t)r->attempt, "state",
			 rollout_state_to_string(r->state), "target", version_to_json(&r->target),
			 "former", version_to_json(&r->former), "back", r->back, "rolls_back",
			 r->rolls_back, "max_unavailable", (json_int_t)r->max_unavailable,
			 "timeout_s", (json_int_t)r->timeout_s, "slots", slots, "failed", r->failed,
			 "why", r->why, "by", r->by, "since", r->since);
}

char *rollout_format(const struct rollout *r)
{
	return record_save(rollout_to_json(r));
}

/* ---- documents ---- */

void rollout_document_done(struct rollout_document *d)
{
	free(ptr_take(d->text));
}

int rollout_document_parse(const char *text, size_t len, struct rollout_document *ret)
{
	char hash[ROLLOUT_HASH_MAX];
	const char *body;
	json_t *o = NULL;
	bool good = true;

	*ret = (struct rollout_document){.text = NULL};
	set_none(&ret->version);
	if (len == 0) {
		ret->text = strdup("[]\n");
		return ret->text ? 0 : -ENOMEM;
	}
	/* in JSON, one byte of the text may take six bytes */
	o = record_load_exact(text, len, 8 * ROLLOUT_DOCUMENT_BYTES_MAX);
	body = json_string_value(json_object_get(o, "text"));
	good = body && json_string_length(json_object_get(o, "text")) == strlen(body) &&
	       strlen(body) <= ROLLOUT_DOCUMENT_BYTES_MAX && take_version(o, &ret->version) &&
	       ret->version.generation && take_text(o, "by", ret->by, sizeof(ret->by)) &&
	       take_text(o, "time", ret->time, sizeof(ret->time));
	if (good) {
		rollout_hash(body, strlen(body), hash);
		good = strcmp(hash, ret->version.hash) == 0;
	}
	ret->text = good ? strdup(body) : NULL;
	json_decref(o);
	return !good ? -EBADMSG : ret->text ? 0 : -ENOMEM;
}

char *rollout_document_format(const struct rollout_document *d)
{
	return record_save(json_pack("{s:i, s:I, s:s, s:s, s:s, s:s}", "v", RECORDS_VERSION,
				     "generation", (json_int_t)d->version.generation, "hash",
				     d->version.hash, "by", d->by, "time", d->time, "text",
				     d->text));
}

/* ---- transitions ---- */

const struct rollout_version *rollout_wanted(const struct rollout *r)
{
	return r->back ? &r->former : &r->target;
}

bool rollout_is_again(const struct rollout *r, const struct rollout_version *target)
{
	return !r->back && strcmp(r->target.hash, target->hash) == 0;
}

size_t rollout_count_applying(const struct rollout *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_slots; i++)
		n += !r->slots[i].expired;
	return n;
}

bool rollout_start(struct rollout *r, const struct rollout_version *target,
		   const struct rollout_request *rq)
{
	struct rollout_version former = *rollout_wanted(r);

	const uint64_t last = MAX_OF(r->number, rq->number_min);

	if (rollout_count_applying(r) || last >= COUNT_MAX)
		return false;
	if (rollout_is_again(r, target))
		former = r->former;
	*r = (struct rollout){.number = last + 1,
			      .lineage = r->lineage ? r->lineage : rq->random,
			      .attempt = rq->random,
			      .state = ROLLOUT_RUNNING,
			      .target = *target,
			      .former = former,
			      .rolls_back = rq->rolls_back,
			      .max_unavailable = rq->max_unavailable,
			      .timeout_s = rq->timeout_s};
	snprintf(r->by, sizeof(r->by), "%s", rq->by);
	snprintf(r->since, sizeof(r->since), "%s", rq->now);
	return true;
}

bool rollout_pause(struct rollout *r)
{
	if (r->state != ROLLOUT_RUNNING)
		return false;
	r->state = ROLLOUT_PAUSED;
	return true;
}

bool rollout_resume(struct rollout *r)
{
	const bool waits = rollout_count_applying(r) < r->n_slots;
	size_t n = 0;

	if (r->state != ROLLOUT_PAUSED && r->state != ROLLOUT_STOPPED &&
	    (r->state != ROLLOUT_RUNNING || !waits))
		return false;
	/* also discard the failure that a host has reported during a pause */
	if (r->failed[0] && r->state != ROLLOUT_RUNNING) {
		r->attempt += r->attempt < COUNT_MAX;
		r->failed[0] = r->why[0] = '\0';
	}
	for (size_t i = 0; i < r->n_slots; i++)
		if (!r->slots[i].expired)
			r->slots[n++] = r->slots[i];
	r->n_slots = n;
	r->state = ROLLOUT_RUNNING;
	return true;
}

bool rollout_abort(struct rollout *r)
{
	if (r->state == ROLLOUT_NONE || r->state == ROLLOUT_ABORTED)
		return false;
	r->state = ROLLOUT_ABORTED;
	return true;
}

static const struct rollout_slot *find_slot(const struct rollout *r, const char *host)
{
	for (size_t i = 0; i < r->n_slots; i++)
		if (strcmp(r->slots[i].host, host) == 0)
			return &r->slots[i];
	return NULL;
}

bool rollout_take(struct rollout *r, const char *host, const char *id, uint64_t turn)
{
	struct rollout_slot *s = &r->slots[r->n_slots];

	if (r->state != ROLLOUT_RUNNING || r->n_slots >= r->max_unavailable ||
	    r->n_slots == ROLLOUT_SLOTS_MAX || find_slot(r, host))
		return false;
	*s = (struct rollout_slot){.turn = turn, .back = r->back};
	snprintf(s->host, sizeof(s->host), "%s", host);
	snprintf(s->id, sizeof(s->id), "%s", id);
	r->n_slots++;
	return true;
}

/* Stops the rollout after a failure or, if the rollout rolls back, makes the hosts return to the
 * former document. A paused or aborted rollout keeps its state. If a host fails to return, the
 * rollout stops. If the hosts are returning and a further host fails with the new document, the
 * rollout continues, because that host has the former document already. */
static void fail(struct rollout *r, const struct rollout_slot *slot, const char *why)
{
	const bool runs = r->state == ROLLOUT_RUNNING;

	if (r->back && !slot->back)
		return;
	snprintf(r->failed, sizeof(r->failed), "%s", slot->host);
	snprintf(r->why, sizeof(r->why), "%s", why);
	if (!r->rolls_back || r->back || r->state == ROLLOUT_ABORTED) {
		r->state = runs ? ROLLOUT_STOPPED : r->state;
		return;
	}
	r->back = true;
	r->attempt += r->attempt < COUNT_MAX;
}

bool rollout_give(struct rollout *r, const char *host, uint64_t turn, enum rollout_result result,
		  const char *why)
{
	const struct rollout_slot *s = find_slot(r, host);
	struct rollout_slot was;

	if (!s || s->turn != turn || result == ROLLOUT_NO_RESULT)
		return false;
	was = *s;
	r->slots[s - r->slots] = r->slots[--r->n_slots];
	if (result == ROLLOUT_FAILED && !was.expired)
		fail(r, &was, why);
	return true;
}

bool rollout_expire(struct rollout *r, const char *host, uint64_t turn, const char *why)
{
	const struct rollout_slot *s = find_slot(r, host);

	if (!s || s->turn != turn || s->expired)
		return false;
	r->slots[s - r->slots].expired = true;
	fail(r, s, why);
	return true;
}

/* ---- what a host does ---- */

bool rollout_is_older(const struct rollout *r, const struct rollout_self *self)
{
	return r->lineage == self->lineage && r->number < self->number;
}

bool rollout_is_behind(const struct rollout *r, const struct rollout_self *self)
{
	if (r->state == ROLLOUT_NONE)
		return false;
	/* A host that never had the new document, such as the host that failed, need not return. */
	if (r->back)
		return strcmp(self->has.hash, r->target.hash) == 0 &&
		       strcmp(r->target.hash, r->former.hash) != 0;
	return strcmp(self->has.hash, r->target.hash) != 0 ||
	       (self->drifted && self->number != r->number);
}

enum rollout_step rollout_next(const struct rollout *r, const struct rollout_self *self)
{
	const struct rollout_slot *s = find_slot(r, self->host);

	if (s && strcmp(s->id, self->id) != 0)
		return ROLLOUT_REST; /* another agent with the same host name has this turn: let it
					expire */
	/* The host has not begun this turn. It gives the turn back if it must not apply any more,
	 * or if the rollout has begun to return to the former document since, because the turn was
	 * for the other document. */
	if (s && self->turn != s->turn)
		return self->follows && r->state == ROLLOUT_RUNNING && s->back == r->back &&
				       !s->expired
			       ? ROLLOUT_APPLY
			       : ROLLOUT_RETURN;
	if (s)
		return self->result == ROLLOUT_NO_RESULT ? ROLLOUT_REST : ROLLOUT_GIVE;
	if (!self->follows || !self->ready || r->state != ROLLOUT_RUNNING ||
	    r->n_slots >= r->max_unavailable || !rollout_is_behind(r, self) ||
	    rollout_is_older(r, self) ||
	    (self->failed_number == r->number && self->failed_attempt == r->attempt))
		return ROLLOUT_REST;
	return ROLLOUT_TAKE;
}

enum rollout_view rollout_look(const struct rollout *r, const struct rollout_self *self)
{
	if (rollout_is_older(r, self))
		return ROLLOUT_VIEW_OLDER;
	if (!self->failed_number || self->failed_number != r->number ||
	    self->failed_attempt != r->attempt || !rollout_is_behind(r, self))
		return ROLLOUT_VIEW_NONE;
	return r->state == ROLLOUT_STOPPED || r->state == ROLLOUT_PAUSED ? ROLLOUT_VIEW_RESUME
	       : r->state == ROLLOUT_RUNNING				 ? ROLLOUT_VIEW_START
									 : ROLLOUT_VIEW_NONE;
}

int rollout_self_parse(const char *text, size_t len, struct rollout_self *ret)
{
	json_t *o = record_load_exact(text, len, RECORDS_BYTES_MAX);
	unsigned result = 0;
	const bool good = take_text(o, "host", ret->host, sizeof(ret->host)) &&
			  take_text(o, "id", ret->id, sizeof(ret->id)) &&
			  take_bool(o, "follows", &ret->follows) &&
			  take_bool(o, "ready", &ret->ready) && take_version(o, &ret->has) &&
			  take_text(o, "busy", ret->busy, sizeof(ret->busy)) &&
			  take_number(o, "number", 0, INT64_MAX, &ret->number) &&
			  take_number(o, "lineage", 0, INT64_MAX, &ret->lineage) &&
			  take_bool(o, "drifted", &ret->drifted) &&
			  take_number(o, "failed_number", 0, INT64_MAX, &ret->failed_number) &&
			  take_number(o, "failed_attempt", 0, INT64_MAX, &ret->failed_attempt) &&
			  take_number(o, "turn", 0, INT64_MAX, &ret->turn) &&
			  take_word(o, "result", results, ROLLOUT_RESULT_MAX, &result) &&
			  take_text(o, "why", ret->why, sizeof(ret->why));

	ret->result = (enum rollout_result)result;
	json_decref(o);
	return good ? 0 : -EBADMSG;
}

char *rollout_self_format(const struct rollout_self *s)
{
	return record_save(json_pack(
		"{s:i, s:s, s:s, s:b, s:b, s:s, s:I, s:s, s:I, s:I, s:b, s:I, s:I, s:I, s:s, s:s}",
		"v", RECORDS_VERSION, "host", s->host, "id", s->id, "follows", s->follows, "ready",
		s->ready, "busy", s->busy, "generation", (json_int_t)s->has.generation, "hash",
		s->has.hash, "number", (json_int_t)s->number, "lineage", (json_int_t)s->lineage,
		"drifted", s->drifted, "failed_number", (json_int_t)s->failed_number,
		"failed_attempt", (json_int_t)s->failed_attempt, "turn", (json_int_t)s->turn,
		"result", rollout_result_to_string(s->result), "why", s->why));
}
