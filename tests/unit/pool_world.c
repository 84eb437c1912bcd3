/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock, the loop and the store of hosts in memory. */
#include "tests/unit/pool_world.h"
#include <sys/random.h>

struct world world;
struct world_did world_did;

uint64_t world_rnd(uint64_t below)
{
	world.state ^= world.state << 13;
	world.state ^= world.state >> 7;
	world.state ^= world.state << 17;
	return (world.state >> 11) % below;
}

uint64_t world_rnd_ms(uint64_t from, uint64_t to)
{
	return (from + world_rnd(to - from + 1)) * NSEC_PER_MSEC;
}

/* Both functions replace those of the C library, so that each history can be repeated. */
int clock_gettime(clockid_t clock, struct timespec *ts)
{
	int64_t ns = (int64_t)world.now_ns + 1000 * (int64_t)NSEC_PER_SEC;

	if (world.current)
		ns += world.current->clock_ns;
	if (clock == CLOCK_REALTIME)
		ns += 1700000000 * (int64_t)NSEC_PER_SEC +
		      (world.current ? world.current->date_ns : 0);
	*ts = (struct timespec){ns / (int64_t)NSEC_PER_SEC, ns % (int64_t)NSEC_PER_SEC};
	return 0;
}

ssize_t getrandom(void *buf, size_t size, unsigned flags)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)buf)[i] = (uint8_t)world_rnd(256);
	return (ssize_t)size;
}

/* ---- the loop ---- */

int loop_add_timer(struct loop *l, uint64_t accuracy_ns, loop_timer_cb cb, void *user,
		   struct loop_source **ret)
{
	struct loop_source *s = calloc(1, sizeof(*s));

	*s = (struct loop_source){.host = l->host, .next = l->host->timers, .cb = cb, .user = user};
	l->host->timers = *ret = s;
	return 0;
}

int loop_timer_arm(struct loop_source *s, uint64_t delay_ns)
{
	s->due_ns = clock_now_ns() + delay_ns;
	s->armed = true;
	return 0;
}

void loop_timer_disarm(struct loop_source *s)
{
	s->armed = false;
}

bool loop_timer_armed(const struct loop_source *s)
{
	return s->armed;
}

struct loop_source *loop_source_free(struct loop_source *s)
{
	for (struct loop_source **at = s ? &s->host->timers : NULL; at && *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	free(s);
	return NULL;
}

/* ---- the store ---- */

static size_t find(const char *key)
{
	size_t from = 0, to = world.n_entries;

	while (from < to) {
		const size_t at = (from + to) / 2;

		if (strcmp(world.entries[at].key, key) < 0)
			from = at + 1;
		else
			to = at;
	}
	return from;
}

struct entry *world_get(const char *key)
{
	const size_t i = find(key);

	return i < world.n_entries && strcmp(world.entries[i].key, key) == 0 ? &world.entries[i]
									     : NULL;
}

static void put(const struct op *o)
{
	struct entry *e = world_get(o->key);
	struct kv_pair pair = {.value = NULL};

	if (!e) {
		const size_t i = find(o->key);

		vec_add(&world.entries, &world.n_entries, sizeof(*e));
		e = &world.entries[i];
		memmove(e + 1, e, (world.n_entries - 1 - i) * sizeof(*e));
		*e = (struct entry){.value = NULL};
		memcpy(e->key, o->key, sizeof(e->key));
	}
	free(e->value);
	e->value = strdup(o->value);
	e->revision = world.revision;
	e->lease = o->lease;
	pair.value = e->value;
	pair.len = strlen(e->value);
	pair.revision = e->revision;
	memcpy(pair.key, e->key, sizeof(pair.key));
	pool_take_pair(CLUSTER, &pair, &e->owned);
	world.is_changed = true;
}

static void del(struct entry *e)
{
	world.is_changed = true;
	free(e->value);
	memmove(e, e + 1, (size_t)(world.entries + world.n_entries - 1 - e) * sizeof(*e));
	world.n_entries--;
}

static bool lease_lives(uint64_t lease)
{
	return lease && lease <= world.n_leases && world.lease_ends_ns[lease - 1];
}

static void end_leases(void)
{
	while (world.n_ended < world.n_leases && !world.lease_ends_ns[world.n_ended])
		world.n_ended++;
	for (uint64_t k = world.n_ended; k < world.n_leases; k++) {
		if (!world.lease_ends_ns[k] || world.lease_ends_ns[k] > world.now_ns)
			continue;
		world.lease_ends_ns[k] = 0;
		world.revision++;
		for (size_t i = world.n_entries; i-- > 0;)
			if (world.entries[i].lease == k + 1)
				del(&world.entries[i]);
	}
}

static bool compare_holds(const struct compare *c)
{
	const struct entry *e = world_get(c->key);

	if (!c->end[0])
		return (e ? e->revision : 0) == c->revision;
	for (size_t i = find(c->key);
	     i < world.n_entries && strcmp(world.entries[i].key, c->end) < 0; i++)
		if (world.entries[i].revision >= c->revision)
			return false;
	return true;
}

static void add_pair(struct kv_answer *a, const struct entry *e)
{
	struct kv_pair *p = vec_add(&a->pairs, &a->n_pairs, sizeof(*p));

	memcpy(p->key, e->key, sizeof(p->key));
	p->value = strdup(e->value);
	p->len = strlen(e->value);
	p->revision = e->revision;
}

/* Carries out the operations of a transaction, all at one revision. */
static void carry_out(const struct op *ops, size_t n, struct kv_answer *a)
{
	bool changes = false;

	for (size_t i = 0; i < n; i++)
		if (ops[i].kind == KV_PUT && ops[i].lease && !lease_lives(ops[i].lease)) {
			a->lease_gone = true;
			a->succeeded = false;
			return;
		}
	for (size_t i = 0; i < n; i++)
		changes |= ops[i].kind == KV_PUT ||
			   (ops[i].kind == KV_DELETE && world_get(ops[i].key));
	world.revision += changes;
	for (size_t i = 0; i < n; i++) {
		struct entry *e = world_get(ops[i].key);

		if (ops[i].kind == KV_PUT)
			put(&ops[i]);
		else if (e && ops[i].kind == KV_DELETE)
			del(e);
		else if (e)
			add_pair(a, e);
	}
}

static void transact(const struct message *m, struct kv_answer *a)
{
	a->succeeded = true;
	for (size_t i = 0; i < m->n_compares; i++)
		a->succeeded &= compare_holds(&m->compares[i]);
	world_did.conflicts += !a->succeeded;
	if (a->succeeded)
		carry_out(m->ops, m->n_ops, a);
	else
		carry_out(m->otherwise, m->n_otherwise, a);
}

static void read_range(const struct message *m, struct kv_answer *a)
{
	const unsigned limit = m->limit ? m->limit : KV_PAIRS_MAX;

	/* a low limit, so that callers read several pages, between which the keys change */
	if (m->end[0] && limit > 4) {
		a->trouble = CLUSTER_WRONG;
		a->too_large = true;
		return;
	}
	for (size_t i = find(m->first); i < world.n_entries; i++) {
		if (m->end[0] ? strcmp(world.entries[i].key, m->end) >= 0
			      : strcmp(world.entries[i].key, m->first) != 0)
			break;
		if (a->n_pairs == limit) {
			a->more = true;
			break;
		}
		add_pair(a, &world.entries[i]);
	}
}

static struct kv_answer execute(const struct message *m)
{
	struct kv_answer a = {.trouble = CLUSTER_FINE};

	end_leases();
	world_did.reads += m->kind == RANGE && m->end[0] && m->limit <= 4;
	if (m->kind == TXN)
		transact(m, &a);
	else if (m->kind == RANGE)
		read_range(m, &a);
	else if (m->kind == RENEW)
		a.lease_gone = !lease_lives(m->number);
	if (m->kind == GRANT) {
		world_holds(world.n_leases < ARRAY_SIZE(world.lease_ends_ns));
		world.lease_ttl_s[world.n_leases] = m->number;
		a.lease = ++world.n_leases;
		a.ttl_s = m->number;
	}
	if (m->kind == GRANT || (m->kind == RENEW && !a.lease_gone)) {
		const uint64_t k = (m->kind == GRANT ? a.lease : m->number) - 1;

		world.lease_ends_ns[k] = world.now_ns + world.lease_ttl_s[k] * NSEC_PER_SEC;
	}
	a.revision = world.revision;
	return a;
}

/* ---- the world_engine ---- */

static void op_done(struct op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(ops[i].value);
	free(ops);
}

static struct op *op_copy(const struct kv_op *ops, size_t n)
{
	struct op *r = calloc(n + 1, sizeof(*r));

	for (size_t i = 0; i < n; i++) {
		r[i].kind = ops[i].kind;
		r[i].lease = ops[i].lease;
		strcpy(r[i].key, ops[i].key);
		r[i].value = ops[i].kind == KV_PUT ? strdup(ops[i].value) : NULL;
	}
	return r;
}

static struct op *op_clone(const struct op *ops, size_t n)
{
	struct op *r = calloc(n + 1, sizeof(*r));

	for (size_t i = 0; i < n; i++) {
		r[i] = ops[i];
		r[i].value = ops[i].value ? strdup(ops[i].value) : NULL;
	}
	return r;
}

static void message_done(struct message *m)
{
	op_done(m->ops, m->n_ops);
	op_done(m->otherwise, m->n_otherwise);
	free(m->compares);
	kv_answer_done(&m->answer);
}

static void add(const struct message *m, uint64_t in_ns)
{
	struct message *to = vec_add(&world.messages, &world.n_messages, sizeof(*to));

	*to = *m;
	to->at_ns = world.now_ns + in_ns;
	to->seq = world.seq++;
}

static void add_mute(const struct message *m, uint64_t in_ns)
{
	struct message copy = *m;

	copy.is_mute = true;
	copy.ops = op_clone(m->ops, m->n_ops);
	copy.otherwise = op_clone(m->otherwise, m->n_otherwise);
	copy.compares = calloc(m->n_compares + 1, sizeof(*copy.compares));
	for (size_t i = 0; i < m->n_compares; i++)
		copy.compares[i] = m->compares[i];
	add(&copy, in_ns);
}

/* Makes the request fail after its time limit. */
static void add_timeout(const struct message *m)
{
	const struct message end = {.is_answer = true,
				    .kv = m->kv,
				    .cb = m->cb,
				    .user = m->user,
				    .answer = {.trouble = CLUSTER_UNREACHABLE, .text = "timeout"}};

	add(&end, REQUEST_TIMEOUT_NS);
}

void world_pause(struct host *h)
{
	const uint64_t ns = world_rnd(2) ? world_rnd_ms(1, 3000) : world_rnd_ms(1000, 300000);

	world_did.pauses++;
	h->paused_until_ns = world.now_ns + ns;
	if (world_rnd(3) == 0) /* the machine is suspended, so its clock stands still */
		h->clock_ns -= (int64_t)ns;
}

/* Sends a request, which the network may lose, delay or repeat. The world_engine repeats a request
 * at the next endpoint if one does not answer. */
static int transmit(struct kv *kv, struct message *m)
{
	/* a range takes many requests, so few of them fail; a deletion is the most delicate request
	 */
	const uint64_t most = m->kind == RANGE				? 600
			      : m->n_ops && m->ops[0].kind == KV_DELETE ? 30
									: 100;
	const uint64_t luck = world.is_healed ? most : world_rnd(most);

	m->kv = kv;
	if (!world.is_healed && world_rnd(60) == 0)
		world_pause(kv->host);
	if (luck < 6 || kv->host->is_cut_off) { /* the request is lost */
		add_timeout(m);
		message_done(m);
	} else if (luck < 12) { /* its answer is lost */
		world_did.lost++;
		add_timeout(m);
		m->is_mute = true;
		add(m, world_rnd_ms(0, 50));
	} else if (luck < 18) { /* it is carried out after the client has given up */
		world_did.late++;
		add_timeout(m);
		m->is_mute = true;
		add(m, world_rnd(2) ? world_rnd_ms(5000, 8000) : world_rnd_ms(5000, 150000));
	} else if (luck < 24) { /* it is carried out twice */
		world_did.twice++;
		add_mute(m, world_rnd(2) ? world_rnd_ms(0, 6000) : world_rnd_ms(0, 100000));
		add(m, world_rnd_ms(3000, 5000));
	} else {
		add(m, world_rnd(5) ? world_rnd_ms(0, 20) : world_rnd_ms(0, 2000));
	}
	return 0;
}

static int w_range(struct kv *kv, const struct kv_range *r, kv_answer_cb cb, void *user)
{
	struct message m = {.kind = RANGE, .cb = cb, .user = user, .limit = r->limit};

	snprintf(m.first, sizeof(m.first), "%s", r->first);
	snprintf(m.end, sizeof(m.end), "%s", r->end ? r->end : "");
	return transmit(kv, &m);
}

static int w_txn(struct kv *kv, const struct kv_txn *t, kv_answer_cb cb, void *user)
{
	struct message m = {.kind = TXN,
			    .cb = cb,
			    .user = user,
			    .ops = op_copy(t->ops, t->n_ops),
			    .n_ops = t->n_ops,
			    .otherwise = op_copy(t->otherwise, t->n_otherwise),
			    .n_otherwise = t->n_otherwise,
			    .compares = calloc(t->n_also + 1, sizeof(*m.compares))};

	world_holds(t->n_ops <= KV_OPS_MAX && t->n_also < KV_OPS_MAX);
	for (size_t i = 0; i < t->n_also; i++) {
		struct compare *c = &m.compares[m.n_compares++];

		c->revision = t->also[i].revision;
		snprintf(c->key, sizeof(c->key), "%s", t->also[i].key);
		snprintf(c->end, sizeof(c->end), "%s", t->also[i].end ? t->also[i].end : "");
	}
	if (t->key) {
		m.compares[m.n_compares].revision = t->revision;
		strcpy(m.compares[m.n_compares++].key, t->key);
	}
	return transmit(kv, &m);
}

static int w_grant(struct kv *kv, uint64_t ttl_s, kv_answer_cb cb, void *user)
{
	struct message m = {.kind = GRANT, .cb = cb, .user = user, .number = ttl_s};

	return transmit(kv, &m);
}

static int w_renew(struct kv *kv, uint64_t lease, kv_answer_cb cb, void *user)
{
	struct message m = {.kind = RENEW, .cb = cb, .user = user, .number = lease};

	return transmit(kv, &m);
}

struct kv *world_close(struct kv *kv)
{
	for (size_t i = 0; kv && i < world.n_messages; i++)
		if (world.messages[i].kv == kv) {
			world.messages[i].kv = NULL;
			world.messages[i].is_mute = true;
		}
	free(kv);
	return NULL;
}

static const char *w_endpoint(const struct kv *kv)
{
	return "http://store";
}

const struct kv_ops world_engine = {.close = world_close,
				    .range = w_range,
				    .txn = w_txn,
				    .grant = w_grant,
				    .renew = w_renew,
				    .endpoint = w_endpoint};

/* ---- time ---- */

/* Returns the message that arrives next, and when. */
static size_t next_message(uint64_t *ret_ns)
{
	size_t best = SIZE_MAX;

	*ret_ns = UINT64_MAX;
	for (size_t i = 0; i < world.n_messages; i++) {
		const struct message *m = &world.messages[i];
		uint64_t at = m->at_ns;

		if (m->is_answer && m->kv)
			at = MAX_OF(at, m->kv->host->paused_until_ns);
		if (at < *ret_ns || (at == *ret_ns && m->seq < world.messages[best].seq)) {
			*ret_ns = at;
			best = i;
		}
	}
	return best;
}

static struct loop_source *next_timer(uint64_t *ret_ns)
{
	struct loop_source *best = NULL;

	*ret_ns = UINT64_MAX;
	for (size_t i = 0; i < world.n_hosts; i++)
		for (struct loop_source *s = world.hosts[i].timers; s; s = s->next) {
			const int64_t due = (int64_t)s->due_ns - 1000 * (int64_t)NSEC_PER_SEC -
					    s->host->clock_ns;
			uint64_t at = due < 0 ? 0 : (uint64_t)due;

			at = MAX_OF(at, s->host->paused_until_ns);
			if (s->armed && at < *ret_ns) {
				*ret_ns = at;
				best = s;
			}
		}
	return best;
}

static void deliver(size_t i)
{
	struct message m = world.messages[i];
	const struct host *h = m.kv ? m.kv->host : NULL;

	world.messages[i] = world.messages[--world.n_messages];
	if (m.is_answer && m.kv) {
		world.current = m.kv->host;
		m.cb(m.user, &m.answer);
		world.current = NULL;
	} else if (!m.is_answer) {
		struct message answer = {.is_answer = true, .kv = m.kv, .cb = m.cb, .user = m.user};

		answer.answer = execute(&m);
		if (m.is_mute)
			message_done(&answer);
		else if (h->is_cut_off)
			add_timeout(&m), message_done(&answer);
		else
			add(&answer, world_rnd_ms(0, 20));
	}
	message_done(&m);
	world.check();
}

void world_run(uint64_t ns)
{
	const uint64_t until = world.now_ns + ns;

	for (;;) {
		uint64_t message_ns, timer_ns;
		const size_t i = next_message(&message_ns);
		struct loop_source *s = next_timer(&timer_ns);
		const uint64_t at = MIN_OF(message_ns, timer_ns);

		if (at > until)
			break;
		world.now_ns = MAX_OF(world.now_ns, at);
		if (message_ns <= timer_ns) {
			deliver(i);
			continue;
		}
		s->armed = false;
		world.current = s->host;
		s->cb(s->user);
		world.current = NULL;
	}
	world.now_ns = until;
}

void world_done(void)
{
	for (size_t i = 0; i < world.n_messages; i++)
		message_done(&world.messages[i]);
	free(world.messages);
	for (size_t i = 0; i < world.n_entries; i++)
		free(world.entries[i].value);
	free(world.entries);
	memset(&world, 0, sizeof(world));
}
