/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out requests of operators: sets and shows the cluster's document, and starts, controls
 * and shows its rollout. */
#include "agent/cluster/rollout/rollout_edit.h"
#include "netcfg/base/when.h"
#include <stdio.h>
#include <string.h>

#define TRIES_MAX 8
/* If etcd was restored from a backup, hosts may have higher rollout numbers than its record. A
 * number that is higher by this many or more is ignored, because it cannot be genuine. */
#define NUMBERS_LOST_MAX (1U << 20)

struct rollout_edit {
	struct rollout_edit_setup setup;
	char cluster[PLENUM_NAME_MAX], by[ROLLOUT_BY_MAX], now[WHEN_TEXT_MAX];
	char *text;
	unsigned n_tries;
	struct rollout record;
	uint64_t record_revision, document_revision;
	struct rollout_document document;
	char *document_value, *wanted_value; /* values of the two keys in the store; NULL: the key
						does not exist */
	json_t *hosts;			     /* for each host: the document that it has, and its
						state */
	uint32_t n_follow, n_done; /* count of hosts that follow the document, and of those that
				      have it */
	uint64_t number_max;	   /* the highest rollout number of this lineage that any host
				      remembers */
};

static void start(struct rollout_edit *e);

static void end(struct rollout_edit *e, const char *text, enum cluster_trouble trouble,
		const char *why)
{
	e->setup.on_end(e->setup.user, e, text, trouble, why);
}

static void fail(struct rollout_edit *e, int r)
{
	end(e, NULL, CLUSTER_UNREACHABLE, strerror(-r));
}

static void end_json(struct rollout_edit *e, json_t *o)
{
	autofree char *text = o ? json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;

	json_decref(o);
	end(e, text, text ? CLUSTER_FINE : CLUSTER_WRONG, "out of memory");
}

static bool is_fine(struct rollout_edit *e, const struct kv_answer *a)
{
	if (a->trouble == CLUSTER_FINE)
		return true;
	end(e, NULL, a->trouble, a->text);
	return false;
}

/* ---- answers ---- */

static json_t *slots_to_json(const struct rollout *r)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < r->n_slots; i++)
		json_array_append_new(list, json_string(r->slots[i].host));
	return list;
}

/* Returns the answer to a request for the rollout's status. */
static json_t *status(const struct rollout_edit *e)
{
	const struct rollout *r = &e->record;

	return json_pack("{s:I, s:s, s:I, s:I, s:I, s:b, s:s, s:I, s:I, s:o, s:s, s:s, s:s, s:s}",
			 "number", (json_int_t)r->number, "state",
			 rollout_state_to_string(r->state), "generation",
			 (json_int_t)rollout_wanted(r)->generation, "former",
			 (json_int_t)(r->back ? r->target.generation : r->former.generation),
			 "document_generation", (json_int_t)e->document.version.generation,
			 "returns", r->back, "on_failure", r->rolls_back ? "rollback" : "stop",
			 "max_unavailable", (json_int_t)r->max_unavailable, "timeout_s",
			 (json_int_t)r->timeout_s, "in_flight", slots_to_json(r), "failed_host",
			 r->failed, "reason", r->why, "by", r->by, "since", r->since);
}

static const struct rollout_slot *slot_of(const struct rollout *r, const char *host)
{
	for (size_t i = 0; i < r->n_slots; i++)
		if (strcmp(r->slots[i].host, host) == 0)
			return &r->slots[i];
	return NULL;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

/* Returns whether the host has the document that it must have. While hosts return to the former
 * document, hosts that never had the new document are done already. */
static bool is_done(const struct rollout *r, const char *host, const json_t *v)
{
	return !slot_of(r, host) && !json_is_true(json_object_get(v, "drifted")) &&
	       (r->state == ROLLOUT_NONE ||
		(strcmp(text_of(v, "hash"), r->target.hash) == 0) != r->back);
}

/* Returns why the host failed in this rollout, or "" if it did not fail. */
static const char *failure_of(const struct rollout *r, const json_t *v)
{
	return (uint64_t)json_integer_value(json_object_get(v, "failed_number")) == r->number
		       ? text_of(v, "failed")
		       : "";
}

/* Returns the state of a host in the rollout, in one word. */
static const char *state_of(const struct rollout *r, const char *host, const json_t *v)
{
	const struct rollout_slot *slot = slot_of(r, host);

	if (slot)
		return slot->expired ? "late" : "applying";
	if (!json_is_true(json_object_get(v, "follows")))
		return "not-following";
	if (*failure_of(r, v))
		return "failed";
	if (json_is_true(json_object_get(v, "drifted")))
		return "drifted";
	if (is_done(r, host, v))
		return "done";
	return json_is_true(json_object_get(v, "ready")) ? "waiting" : "busy";
}

/* Notes the number of the rollout that brought the host's document. The next rollout must get a
 * higher number, even if etcd was restored from an older backup. */
static void take_number(struct rollout_edit *e, const json_t *v)
{
	const json_int_t number = json_integer_value(json_object_get(v, "number"));
	const json_int_t lineage = json_integer_value(json_object_get(v, "lineage"));

	/* ignore a much higher number, so that a faulty host cannot use up the numbers of
	 * rollouts */
	if (number > 0 && lineage > 0 && (uint64_t)lineage == e->record.lineage &&
	    (uint64_t)number < e->record.number + NUMBERS_LOST_MAX)
		e->number_max = MAX_OF(e->number_max, (uint64_t)number);
}

static void add_host(struct rollout_edit *e, const struct kv_pair *p)
{
	char prefix[KV_KEY_MAX];
	const char *host = p->key;
	json_t *v;

	rollout_key(ROLLOUT_KEY_HOST, e->cluster, "", prefix);
	if (strncmp(host, prefix, strlen(prefix)) != 0 || !p->value)
		return;
	host += strlen(prefix);
	v = p->len <= RECORDS_BYTES_MAX ? json_loadb(p->value, p->len, 0, NULL) : NULL;
	if (record_name_is_valid(host) && json_is_object(v)) {
		const char *state = state_of(&e->record, host, v);
		const bool follows = json_is_true(json_object_get(v, "follows"));

		e->n_follow += follows;
		e->n_done += follows && is_done(&e->record, host, v);
		take_number(e, v);
		json_array_append_new(
			e->hosts,
			json_pack("{s:s, s:s, s:I, s:s, s:s}", "host", host, "state", state,
				  "generation",
				  json_integer_value(json_object_get(v, "generation")), "reason",
				  strcmp(state, "busy") == 0 ? text_of(v, "busy")
							     : failure_of(&e->record, v),
				  "time", text_of(v, "time")));
	}
	json_decref(v);
}

/* Returns whether all hosts that follow the document have the document that they must have. */
static bool is_complete(const struct rollout_edit *e)
{
	return e->record.state == ROLLOUT_RUNNING && !e->record.n_slots && e->n_follow &&
	       e->n_done == e->n_follow;
}

static void end_status(struct rollout_edit *e)
{
	json_t *o = status(e);

	if (is_complete(e))
		json_object_set_new(o, "state", json_string("complete"));
	json_object_set_new(o, "hosts_done", json_integer(e->n_done));
	json_object_set_new(o, "hosts_following", json_integer(e->n_follow));
	json_object_set(o, "hosts", e->hosts);
	end_json(e, o);
}

/* Returns whether the host has a lease, so that its agent is running. */
static bool is_alive(const struct rollout_edit *e, const struct kv_answer *a, const char *host)
{
	char key[KV_KEY_MAX];

	record_key(RECORD_SERVING, e->cluster, host, key);
	for (size_t i = 0; i < a->n_pairs; i++)
		if (strcmp(a->pairs[i].key, key) == 0)
			return true;
	return false;
}

/* Marks the hosts that lack the document and have no lease: they are away. */
static void on_leases(void *user, const struct kv_answer *a)
{
	struct rollout_edit *e = user;
	json_t *h;
	size_t i;

	if (!is_fine(e, a))
		return;
	json_array_foreach (e->hosts, i, h) {
		const char *state = text_of(h, "state");

		if (!a->more && strcmp(state, "done") != 0 && strcmp(state, "late") != 0 &&
		    strcmp(state, "not-following") != 0 && !is_alive(e, a, text_of(h, "host")))
			json_object_set_new(h, "state", json_string("away"));
	}
	end_status(e);
}

static int read_leases(struct rollout_edit *e)
{
	char first[KV_KEY_MAX], last[KV_KEY_MAX];
	const struct kv_range range = {.first = first, .end = last, .keys_only = true};

	record_key(RECORD_SERVING, e->cluster, "", first);
	record_key_end(RECORD_SERVING, e->cluster, last);
	return e->setup.ops->range(e->setup.kv, &range, on_leases, e);
}

static void end_document(struct rollout_edit *e)
{
	const struct rollout_document *d = &e->document;

	end_json(e,
		 json_pack("{s:I, s:s, s:s, s:s}", "generation", (json_int_t)d->version.generation,
			   "by", d->by, "time", d->time, "text", d->text));
}

/* ---- changes ---- */

static void on_written(void *user, const struct kv_answer *a)
{
	struct rollout_edit *e = user;

	if (!is_fine(e, a))
		return;
	if (a->succeeded)
		end_json(e, status(e));
	else if (++e->n_tries < TRIES_MAX)
		start(e);
	else
		end(e, NULL, CLUSTER_CONFLICT,
		    "other programs have changed the keys of the rollout at the same time, several "
		    "times in a row; try again");
}

/* Writes these keys, unless another program has changed the record or the document since they were
 * read. */
static int write_all(struct rollout_edit *e, const struct kv_op *ops, size_t n_ops)
{
	char record[KV_KEY_MAX], document[KV_KEY_MAX];
	const struct kv_compare also = {.key = document, .revision = e->document_revision};
	const struct kv_txn txn = {.key = record,
				   .revision = e->record_revision,
				   .also = &also,
				   .n_also = 1,
				   .ops = ops,
				   .n_ops = n_ops};

	rollout_key(ROLLOUT_KEY_RECORD, e->cluster, "", record);
	rollout_key(ROLLOUT_KEY_DOCUMENT, e->cluster, "", document);
	return e->setup.ops->txn(e->setup.kv, &txn, on_written, e);
}

static int set_document(struct rollout_edit *e)
{
	struct rollout_document d = {.text = e->text};
	char key[KV_KEY_MAX];
	autofree char *value = NULL;

	d.version.generation = e->document.version.generation + 1;
	rollout_hash(d.text, strlen(d.text), d.version.hash);
	snprintf(d.by, sizeof(d.by), "%s", e->by);
	memcpy(d.time, e->now, sizeof(d.time));
	value = rollout_document_format(&d);
	if (!value)
		return -ENOMEM;
	e->document.version = d.version;
	rollout_key(ROLLOUT_KEY_DOCUMENT, e->cluster, "", key);
	return write_all(e, &(struct kv_op){.kind = KV_PUT, .key = key, .value = value}, 1);
}

static int write_record(struct rollout_edit *e)
{
	autofree char *value = rollout_format(&e->record);
	char key[KV_KEY_MAX];

	rollout_key(ROLLOUT_KEY_RECORD, e->cluster, "", key);
	return value ? write_all(e, &(struct kv_op){.kind = KV_PUT, .key = key, .value = value}, 1)
		     : -ENOMEM;
}

/* Begins a rollout of the latest document. The document of the previous rollout becomes the former
 * document. */
static int begin_rollout(struct rollout_edit *e)
{
	char keys[3][KV_KEY_MAX];
	struct rollout_request rq = {.max_unavailable = e->setup.max_unavailable,
				     .timeout_s = e->setup.timeout_s,
				     .rolls_back = e->setup.rolls_back,
				     .random = rollout_draw(),
				     .number_min = e->number_max,
				     .by = e->by,
				     .now = e->now};
	autofree char *value = NULL;
	struct kv_op ops[3] = {{.kind = KV_PUT, .key = keys[0]},
			       {.kind = KV_PUT, .key = keys[1], .value = e->document_value},
			       {.kind = KV_PUT, .key = keys[2], .value = e->wanted_value}};
	bool again;

	if (!rq.max_unavailable) {
		const uint32_t n = e->n_follow * e->setup.percent / 100;

		rq.max_unavailable = MIN_OF(MAX_OF(n, 1U), (uint32_t)ROLLOUT_SLOTS_MAX);
	}
	again = rollout_is_again(&e->record, &e->document.version);
	if (!rollout_start(&e->record, &e->document.version, &rq))
		return -ERANGE; /* no number for a new rollout is left, because a faulty host has
				   written a very high number */
	rollout_key(ROLLOUT_KEY_RECORD, e->cluster, "", keys[0]);
	rollout_key(ROLLOUT_KEY_TARGET, e->cluster, "", keys[1]);
	rollout_key(ROLLOUT_KEY_FORMER, e->cluster, "", keys[2]);
	value = rollout_format(&e->record);
	ops[0].value = value;
	if (!e->wanted_value)
		ops[2] = (struct kv_op){.kind = KV_DELETE, .key = keys[2]};
	return value ? write_all(e, ops, again ? 2 : 3) : -ENOMEM;
}

/* Returns why the rollout cannot begin, or NULL. */
static const char *why_not_start(const struct rollout_edit *e)
{
	if (!e->document_value)
		return "the cluster has no document yet; write one with 'plenum document set FILE'";
	if (!rollout_count_applying(&e->record))
		return NULL;
	return e->record.state == ROLLOUT_RUNNING
		       ? "hosts are applying an earlier document just now; 'plenum rollout pause', "
			 "wait until 'plenum rollout status' shows none in flight, then start again"
		       : "hosts are applying an earlier document just now; wait until 'plenum "
			 "rollout status' shows none in flight, then start again";
}

static void change_state(struct rollout_edit *e)
{
	struct rollout *r = &e->record;
	char why[CLUSTER_TEXT_MAX];
	const bool done = e->setup.op == ROLLOUT_PAUSE	  ? rollout_pause(r)
			  : e->setup.op == ROLLOUT_RESUME ? rollout_resume(r)
							  : rollout_abort(r);
	int k;

	if (!done) {
		snprintf(why, sizeof(why),
			 "the state of the rollout is '%s'; see 'plenum rollout status'",
			 rollout_state_to_string(r->state));
		end(e, NULL, CLUSTER_CONFLICT, why);
		return;
	}
	k = write_record(e);
	if (k < 0)
		fail(e, k);
}

/* ---- reads ---- */

static void on_hosts(void *user, const struct kv_answer *a)
{
	struct rollout_edit *e = user;
	int r;

	if (!is_fine(e, a))
		return;
	for (size_t i = 0; i < a->n_pairs; i++)
		add_host(e, &a->pairs[i]);
	r = e->setup.op == ROLLOUT_STATUS ? read_leases(e) : begin_rollout(e);
	if (r < 0)
		fail(e, r);
}

static int read_hosts(struct rollout_edit *e)
{
	char first[KV_KEY_MAX], last[KV_KEY_MAX];
	const struct kv_range range = {.first = first, .end = last};

	json_decref(e->hosts);
	e->hosts = json_array();
	e->n_follow = e->n_done = 0;
	e->number_max = 0;
	rollout_key(ROLLOUT_KEY_HOST, e->cluster, "", first);
	rollout_hosts_end(e->cluster, last);
	return e->setup.ops->range(e->setup.kv, &range, on_hosts, e);
}

static void go_on(struct rollout_edit *e)
{
	const char *why = e->setup.op == ROLLOUT_START ? why_not_start(e) : NULL;
	int r = 0;

	if (why) {
		end(e, NULL, CLUSTER_CONFLICT, why);
		return;
	}
	if (e->setup.op == ROLLOUT_SHOW) {
		end_document(e);
		return;
	}
	if (e->setup.op == ROLLOUT_STATUS || e->setup.op == ROLLOUT_START)
		r = read_hosts(e);
	else if (e->setup.op == ROLLOUT_SET)
		r = set_document(e);
	else
		change_state(e);
	if (r < 0)
		fail(e, r);
}

static const struct kv_pair *find(const struct kv_answer *a, const struct rollout_edit *e,
				  enum rollout_key which)
{
	char key[KV_KEY_MAX];

	rollout_key(which, e->cluster, "", key);
	for (size_t i = 0; i < a->n_pairs; i++)
		if (strcmp(a->pairs[i].key, key) == 0 && a->pairs[i].value)
			return &a->pairs[i];
	return NULL;
}

static void keep(char **to, const struct kv_pair *p)
{
	free(*to);
	*to = p ? strdup(p->value) : NULL;
}

static void on_read(void *user, const struct kv_answer *a)
{
	const struct kv_pair *record, *document;
	struct rollout_edit *e = user;
	int r;

	if (!is_fine(e, a))
		return;
	record = find(a, e, ROLLOUT_KEY_RECORD);
	document = find(a, e, ROLLOUT_KEY_DOCUMENT);
	e->record_revision = record ? record->revision : 0;
	e->document_revision = document ? document->revision : 0;
	rollout_document_done(&e->document);
	r = rollout_parse(record ? record->value : "", record ? record->len : 0, &e->record);
	if (r == 0)
		r = rollout_document_parse(document ? document->value : "",
					   document ? document->len : 0, &e->document);
	if (r < 0) {
		end(e, NULL, CLUSTER_CONFLICT,
		    "this version cannot parse the keys below rollout/ in etcd; another version of "
		    "Plenum may have written it");
		return;
	}
	keep(&e->document_value, document);
	keep(&e->wanted_value,
	     find(a, e, e->record.back ? ROLLOUT_KEY_FORMER : ROLLOUT_KEY_TARGET));
	go_on(e);
}

static int begin(struct rollout_edit *e)
{
	static const enum rollout_key which[] = {ROLLOUT_KEY_RECORD, ROLLOUT_KEY_DOCUMENT,
						 ROLLOUT_KEY_TARGET, ROLLOUT_KEY_FORMER};
	char keys[ARRAY_SIZE(which)][KV_KEY_MAX];
	struct kv_op ops[ARRAY_SIZE(which)];
	const struct kv_txn txn = {.ops = ops, .n_ops = ARRAY_SIZE(ops)};

	for (size_t i = 0; i < ARRAY_SIZE(which); i++) {
		rollout_key(which[i], e->cluster, "", keys[i]);
		ops[i] = (struct kv_op){.kind = KV_GET, .key = keys[i]};
	}
	return e->setup.ops->txn(e->setup.kv, &txn, on_read, e);
}

static void start(struct rollout_edit *e)
{
	int r = begin(e);

	if (r < 0)
		fail(e, r);
}

/* ---- lifetime ---- */

int rollout_edit_new(const struct rollout_edit_setup *setup, struct rollout_edit **ret)
{
	struct rollout_edit *e = calloc(1, sizeof(*e));
	int r = -ENOMEM;

	if (!e)
		return -ENOMEM;
	e->setup = *setup;
	snprintf(e->cluster, sizeof(e->cluster), "%s", setup->cluster);
	snprintf(e->by, sizeof(e->by), "%s", setup->by);
	when_format(rollout_now_ms(), e->now);
	e->text = setup->text ? strdup(setup->text) : NULL;
	if (e->text || !setup->text)
		r = begin(e);
	if (r < 0) {
		rollout_edit_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

struct rollout_edit *rollout_edit_free(struct rollout_edit *e)
{
	if (!e)
		return NULL;
	rollout_document_done(&e->document);
	json_decref(e->hosts);
	free(e->text);
	free(e->document_value);
	free(e->wanted_value);
	free(e);
	return NULL;
}

uint64_t rollout_edit_id(const struct rollout_edit *e)
{
	return e->setup.id;
}
