/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random histories of the owners of addresses. Three to eight hosts run the product's registration,
 * taking and editing of addresses (member.c, pool_take.c, pool_edit.c, cluster_pools.c) under a
 * virtual clock, with a store in memory that has etcd's transactions, revisions and leases. Hosts
 * are cut off, paused, suspended, killed, powered off, restarted with and without their state
 * directory; clocks jump; requests are lost, carried out late or twice; answers are lost; operators
 * change pools and needs, and make hosts leave and be forgotten. At each moment:
 *
 *  - no address is used by two hosts, and a host uses only addresses that the store says it owns;
 *  - each address that is owned is in the range of a pool;
 *
 * and at the end, when all faults are over:
 *
 *  - each host has the addresses that it needs, or its report has the numbers of the store;
 *  - each address that is owned belongs to a host that runs; all are free after all hosts leave.
 *
 * An operator forgets only a host without power, and it returns without its state directory, as
 * plenum(1) says. PLENUM_POOL_SEED runs one history; PLENUM_POOL_RUNS sets their number.
 */
#include "tests/unit/pool_world.h"

#ifdef __SANITIZE_ADDRESS__
#define RUNS 100
#else
#define RUNS 1000
#endif

static const char *const pool_names[POOLS] = {"a", "b"};

/* ---- a host ---- */

static bool is_used(const struct host *h, const struct ip_addr *ip)
{
	for (size_t i = 0; i < h->n_used; i++)
		if (ip_addr_equal(&h->used[i], ip))
			return true;
	return false;
}

/* Returns the owner of that address by the store: host "": none. */
static struct pool_owned owner_of(const struct ip_addr *ip)
{
	char key[KV_KEY_MAX];
	const struct entry *e;

	pool_address_key(CLUSTER, ip, key);
	e = world_get(key);
	return e ? e->owned : (struct pool_owned){.index = 0};
}

/* Reads the pools again if they have changed. */
static void look_at_pools(void)
{
	char key[KV_KEY_MAX];
	const struct entry *e;
	json_t *config;

	pool_config_key(CLUSTER, key);
	e = world_get(key);
	if (!e || e->revision == world.pools_revision)
		return;
	world.pools_revision = e->revision;
	config = pools_parse(e->value, strlen(e->value));
	world_holds(config);
	world.n_pools = json_array_size(json_object_get(config, "pools"));
	world_holds(world.n_pools <= POOLS);
	for (size_t i = 0; i < world.n_pools; i++)
		world_holds(pools_at(config, i, &world.pools[i]));
	json_decref(config);
}

static bool is_of_pool(const struct ip_addr *ip)
{
	for (size_t i = 0; i < world.n_pools; i++)
		if (ip_range_contains(&world.pools[i].range, ip))
			return true;
	return false;
}

/* Checks what must hold at each moment. */
static void check(void)
{
	if (!world.is_changed)
		return;
	world.is_changed = false;
	look_at_pools();
	for (size_t i = 0; i < world.n_entries; i++)
		world_holds(!world.entries[i].owned.ip.family ||
			    is_of_pool(&world.entries[i].owned.ip));
	for (size_t i = 0; i < world.n_hosts; i++) {
		const struct host *h = &world.hosts[i];

		for (size_t k = 0; k < h->n_used; k++) {
			const struct pool_owned o = owner_of(&h->used[k]);

			for (size_t j = 0; j < i; j++)
				world_holds(!is_used(&world.hosts[j], &h->used[k]));
			world_holds(strcmp(o.host, h->name) == 0 && strcmp(o.id, h->id) == 0);
		}
	}
}

/* The host puts the addresses of its record that its configuration needs on its links. */
static void use(struct host *h)
{
	h->n_used = 0;
	world.is_changed = true;
	for (size_t i = 0; i < POOLS; i++) {
		const struct plan_pool *p = plan_pools_find(&h->known, pool_names[i]);

		for (size_t k = 0; h->need[i] && p && k < p->n; k++)
			if (p->addrs[k].family)
				h->used[h->n_used++] = p->addrs[k];
	}
	check();
}

static void on_pool(void *user, const struct cluster_pool_report *r)
{
	struct cluster_pool_report of = *r;
	struct host *h = user;

	snprintf(of.cluster, sizeof(of.cluster), "%s", CLUSTER);
	for (size_t i = 0; i < POOLS; i++)
		if (strcmp(pool_names[i], r->pool.name) == 0 && h->need[i]) {
			h->told[i] = of;
			world_did.exhausted += r->state == CLUSTER_POOL_EXHAUSTED;
			cluster_pools_own(&h->known, CLUSTER, h->name, h->id);
			cluster_pools_take(&h->known, &h->draft, &of);
			use(h);
		}
}

static void on_report(void *user, const struct cluster_report *r)
{
	struct host *h = user;

	h->registered = r->registered;
	if (h->take)
		pool_take_look(h->take);
}

/* Tells the role which pools the host needs, as cluster.c does. */
static void want(struct host *h)
{
	json_t *list = json_array(), *all;
	autofree char *settings = NULL, *text = NULL;

	for (size_t i = 0; i < POOLS; i++)
		if (h->need[i])
			json_array_append_new(list, json_pack("{s:s, s:I}", "name", pool_names[i],
							      "need", (json_int_t)h->need[i]));
	all = json_pack("{s:o}", "pools", list);
	settings = json_dumps(all, 0);
	json_decref(all);
	text = cluster_pools_refresh(settings, &h->known);
	all = json_loads(text, 0, NULL);
	pool_take_want(h->take, json_object_get(all, "pools"));
	json_decref(all);
}

/* Starts the role; the monitor keeps the number and the nonce of its start. */
static void role_start(struct host *h)
{
	struct record_owner self = {.epoch = h->epoch};
	struct host *was = world.current;

	world.current = h;
	memcpy(self.id, h->id, sizeof(self.id));
	memcpy(self.nonce, h->nonce, sizeof(self.nonce));
	h->kv = calloc(1, sizeof(*h->kv));
	h->kv->host = h;
	const struct member_setup member = {.loop = &h->loop,
					    .ops = &world_engine,
					    .kv = h->kv,
					    .cluster = CLUSTER,
					    .host = h->name,
					    .self = self,
					    .on_report = on_report,
					    .user = h};
	world_holds(member_new(&member, &h->member) == 0);
	const struct pool_take_setup take = {.loop = &h->loop,
					     .ops = &world_engine,
					     .kv = h->kv,
					     .cluster = CLUSTER,
					     .host = h->name,
					     .self = &self,
					     .member = h->member,
					     .check_ns = POOL_CHECK_NS,
					     .on_pool = on_pool,
					     .user = h};
	world_holds(pool_take_new(&take, &h->take) == 0);
	want(h);
	use(h); /* from the record, without an answer of the store */
	member_publish(h->member, RECORD_SERVING, "{\"v\":1}");
	member_publish(h->member, RECORD_STATE, "{\"v\":1}");
	world.current = was;
}

static void host_start(struct host *h)
{
	h->has_power = h->runs = true;
	h->paused_until_ns = 0;
	h->epoch++;
	snprintf(h->nonce, sizeof(h->nonce), "%016llx", (unsigned long long)world_rnd(UINT64_MAX));
	role_start(h);
}

static void role_stop(struct host *h)
{
	if (h->kv)
		h->kv = world_close(h->kv);
	h->edit = pool_edit_free(h->edit);
	h->forgets = NULL;
	h->take = pool_take_free(h->take);
	h->member = member_free(h->member);
	h->stays = h->is_leaving;
	h->registered = h->is_leaving = false;
}

/* Ends the agent. The kernel keeps the addresses while the host has power. */
static void host_stop(struct host *h, bool power)
{
	role_stop(h);
	h->runs = false;
	h->has_power = power;
	if (!power)
		h->n_used = 0;
}

/* The host loses its state directory. */
static void host_wipe(struct host *h)
{
	world_did.wipes++;
	plan_pools_done(&h->known);
	memset(&h->known, 0, sizeof(h->known));
	snprintf(h->id, sizeof(h->id), "%016llx%04u", (unsigned long long)world_rnd(UINT64_MAX),
		 (unsigned)(h - world.hosts));
	h->epoch = 0;
	h->is_forgotten = false;
}

/* A probe on the wire finds another machine at one of the host's addresses. The monitor removes the
 * address from its record, as cluster_squat() does. */
static void squat(struct host *h)
{
	const struct mac_addr by = {{2, 0, 0, 0, 0, 9}};
	struct plan_pool *p = plan_pools_find(&h->known, pool_names[world_rnd(POOLS)]);
	struct host *was = world.current;
	struct ip_addr ip;
	size_t k;

	if (!p || !p->n || !p->addrs[k = world_rnd(p->n)].family)
		return;
	world.step = "squat";
	world_did.squats++;
	ip = p->addrs[k];
	p->addrs[k].family = 0;
	use(h);
	world.current = h;
	pool_take_squat(h->take, &ip, &by);
	world.current = was;
}

/* ---- operators ---- */

static void on_edit_end(void *user, struct pool_edit *e, const char *text,
			enum cluster_trouble trouble, const char *why)
{
	struct host *h = user;

	world_did.edits += text != NULL;
	world_did.forgets += text && h->forgets;
	world_did.leaves += text && h->is_leaving;
	h->stays = !text && h->is_leaving;
	world_holds(e == h->edit || !h->edit);
	pool_edit_free(e);
	h->edit = NULL;
	h->forgets = NULL;
	h->is_leaving = false;
}

static void edit(struct host *h, struct pool_edit_setup s)
{
	const struct record_owner *none = &(const struct record_owner){.epoch = h->epoch};
	struct record_owner owner = *none;
	struct host *was = world.current;

	memcpy(owner.id, h->id, sizeof(owner.id));
	s.ops = &world_engine;
	s.kv = h->kv;
	s.cluster = CLUSTER;
	s.self = h->name;
	s.owner = &owner;
	s.member = h->member;
	s.on_end = on_edit_end;
	s.user = h;
	world.current = h;
	if (pool_edit_new(&s, &h->edit) < 0) {
		h->forgets = NULL;
		h->is_leaving = false;
	}
	world.current = was;
}

/* Pool i has addresses of 10.i.0.1 to 10.i.0.24, or part of them; its gateway may be one. */
static void edit_pool(struct host *h, unsigned op)
{
	const size_t i = world_rnd(POOLS);
	struct pool_edit_setup s = {.op = op, .force = op == POOL_SET};
	const unsigned first = 1 + (unsigned)world_rnd(4),
		       last = first + 3 + (unsigned)world_rnd(14);
	char range[64], gateway[32] = "";
	struct reason why;

	snprintf(range, sizeof(range), "10.%zu.0.%u-10.%zu.0.%u/24", i, first, i, last);
	if (world_rnd(3) == 0)
		snprintf(gateway, sizeof(gateway), "10.%zu.0.%u", i, last + 1);
	world_holds(pool_make(pool_names[i], range, gateway, 0, 0, &s.pool, &why) == 0);
	world.step = op == POOL_ADD ? "pool add" : op == POOL_SET ? "pool set" : "pool remove";
	edit(h, s);
}

static void forget(struct host *h, struct host *target)
{
	const struct pool_edit_setup s = {
		.op = POOL_FORGET, .force = world.is_healed || world_rnd(2), .host = target->name};

	world.step = "cluster forget";
	target->is_forgotten = true;
	h->forgets = target;
	edit(h, s);
}

static bool is_being_forgotten(const struct host *target)
{
	for (size_t i = 0; i < world.n_hosts; i++)
		if (world.hosts[i].forgets == target)
			return true;
	return false;
}

/* The configuration has no pool; the monitor removes the record before the role begins. */
static void leave(struct host *h)
{
	const struct pool_edit_setup s = {.op = POOL_LEAVE};

	world.step = "cluster leave";
	h->is_leaving = true;
	plan_pools_done(&h->known);
	cluster_pools_own(&h->known, CLUSTER, h->name, h->id);
	edit(h, s);
}

static void set_needs(struct host *h, bool none)
{
	struct host *was = world.current;

	world.step = "apply";
	world.current = h;
	for (size_t i = 0; i < POOLS; i++)
		h->need[i] = none ? 0 : world_rnd(NEED_MAX + 1);
	want(h);
	use(h);
	world.current = was;
}

static bool needs_none(const struct host *h)
{
	return h->need[0] == 0 && h->need[1] == 0;
}

/* ---- histories ---- */

/* One event of a host without a working agent. */
static void step_down(struct host *h)
{
	if (h->has_power && world_rnd(3) == 0) {
		world.step = "power off";
		host_stop(h, false);
	}
	if (is_being_forgotten(h))
		return;
	if (h->is_forgotten || (!h->has_power && world_rnd(6) == 0))
		host_wipe(h);
	world.step = "start";
	host_start(h);
}

static void step_fault(struct host *h)
{
	switch (h->is_leaving && world_rnd(2) ? 6 : world_rnd(7)) {
	case 6:
		world.step = "death of the role";
		role_stop(h);
		role_start(h);
		break;
	case 0:
	case 1:
		world_did.cuts++;
		h->is_cut_off = !h->is_cut_off;
		world.step = h->is_cut_off ? "cut off" : "reconnect";
		break;
	case 2:
		world.step = "pause";
		world_pause(h);
		break;
	case 3:
		world.step = "date";
		h->date_ns += (int64_t)world_rnd_ms(0, 7200000) - 3600 * (int64_t)NSEC_PER_SEC;
		break;
	default:
		world_did.kills++;
		world.step = "kill";
		host_stop(h, world_rnd(3) != 0);
		if (h->has_power && world_rnd(2))
			host_start(h);
	}
}

static void step_operator(struct host *h)
{
	struct host *target = &world.hosts[world_rnd(world.n_hosts)];

	if (h->paused_until_ns > world.now_ns || h->edit)
		return;
	if (!target->has_power && !is_being_forgotten(target) && world_rnd(2))
		forget(h, target);
	else if (needs_none(h) && world_rnd(2))
		leave(h);
	else if (world_rnd(2))
		set_needs(h, world_rnd(3) == 0);
	else
		edit_pool(h, (unsigned)world_rnd(POOL_REMOVE + 1));
}

/* n_hosts 0: a random number of hosts, and faults. */
static void begin(uint64_t seed, size_t n_hosts)
{
	memset(&world, 0, sizeof(world));
	world.seed = seed;
	world.state = seed * 0x9e3779b97f4a7c15ULL | 1;
	world.revision = 1;
	world.check = check;
	world.step = "begin";
	world.is_healed = n_hosts;
	world.n_hosts = n_hosts ? n_hosts : 3 + world_rnd(HOSTS_MAX - 2);
	for (size_t i = 0; i < world.n_hosts; i++) {
		struct host *h = &world.hosts[i];

		h->loop.host = h;
		snprintf(h->name, sizeof(h->name), "host-%zu", i);
		snprintf(h->id, sizeof(h->id), "%04zu", i);
		h->clock_ns = (int64_t)world_rnd_ms(0, 100000);
		for (size_t k = 0; k < POOLS; k++)
			h->need[k] = world_rnd(NEED_MAX + 1);
		host_start(h);
	}
}

/* Waits until the operation of that host has ended. */
static void run_edit(struct host *h)
{
	for (unsigned i = 0; h->edit && i < 100; i++)
		world_run(NSEC_PER_SEC);
	world_holds(!h->edit);
}

/* Ends all faults: every host runs, and names that belong to lost state directories are free. */
static void heal(void)
{
	world.step = "heal";
	for (size_t i = 0; i < world.n_hosts; i++)
		world.hosts[i].is_cut_off = false;
	world_run(300 * NSEC_PER_SEC);
	world.is_healed = true;
	world_run(320 * NSEC_PER_SEC); /* the last late requests and pauses */
	for (size_t i = 0; i < world.n_hosts; i++) {
		struct host *h = &world.hosts[i];

		if (h->edit)
			run_edit(h);
		if (!h->runs && h->is_forgotten)
			host_wipe(h);
		if (!h->runs)
			host_start(h);
	}
	world_run(200 * NSEC_PER_SEC);
	for (size_t i = 0; i < world.n_hosts; i++) {
		struct host *h = &world.hosts[i], *by = &world.hosts[i == 0];

		if (h->registered)
			continue;
		host_stop(h, false);
		world_run(3 * NSEC_PER_SEC); /* requests that are on their way */
		forget(by, h);
		run_edit(by);
		host_wipe(h);
		host_start(h);
		world_run(100 * NSEC_PER_SEC);
	}
	world_run(600 * NSEC_PER_SEC);
}

/* Counts by the store the addresses of the pool that hosts own, and these hosts. */
static void count_owned(const struct cluster_pool *p, size_t *ret_n, size_t *ret_hosts)
{
	bool owns[HOSTS_MAX] = {false};
	struct ip_addr ip = p->range.first;

	*ret_n = *ret_hosts = 0;
	for (uint64_t k = 0; k < ip_range_count(&p->range); k++) {
		const struct pool_owned o = owner_of(&ip);

		*ret_n += o.host[0] != '\0';
		for (size_t i = 0; i < world.n_hosts; i++)
			owns[i] |= strcmp(world.hosts[i].name, o.host) == 0;
		ip_addr_add(&ip, 1, &ip);
	}
	for (size_t i = 0; i < world.n_hosts; i++)
		*ret_hosts += owns[i];
}

/* The report of a host whose needs are not met has the numbers of the store. */
static void check_need(const struct host *h, size_t i, const json_t *config)
{
	const struct plan_pool *p = plan_pools_find(&h->known, pool_names[i]);
	const size_t has = p ? plan_pool_count(p->addrs, p->n) : 0;
	struct cluster_pool pool;
	char text[CLUSTER_TEXT_MAX], range[2 * IP_ADDR_STR_MAX];
	struct reason why;
	size_t n, n_hosts, missing = 0;

	if (pools_find(config, pool_names[i], &pool, &why) < 0) {
		world_holds(h->told[i].state == CLUSTER_POOL_UNKNOWN);
		return;
	}
	for (size_t k = 0; k < h->need[i]; k++)
		missing += !p || k >= p->n || !p->addrs[k].family;
	if (missing == 0) {
		world_holds(h->told[i].state == CLUSTER_POOL_FINE && has >= h->need[i]);
		return;
	}
	count_owned(&pool, &n, &n_hosts);
	world_holds(n == ip_range_count(&pool.range));
	snprintf(text, sizeof(text),
		 "its range %s has %llu, %zu host%s %zu of them, and this host needs %zu more;",
		 ip_range_format(&pool.range, range, sizeof(range)),
		 (unsigned long long)ip_range_count(&pool.range), n_hosts,
		 n_hosts == 1 ? " owns" : "s own", n, missing);
	world_holds(h->told[i].state == CLUSTER_POOL_EXHAUSTED && strstr(h->told[i].text, text));
}

static size_t count_addresses(bool of_others)
{
	char first[KV_KEY_MAX], end[KV_KEY_MAX];
	struct ip_addr ip;
	size_t n = 0;

	pool_address_keys(CLUSTER, first, end);
	for (size_t i = 0; i < world.n_entries; i++) {
		bool lives = false;

		if (!pool_key_address(CLUSTER, world.entries[i].key, &ip))
			continue;
		const struct pool_owned o = owner_of(&ip);

		for (size_t k = 0; k < world.n_hosts; k++)
			lives |= strcmp(world.hosts[k].name, o.host) == 0 &&
				 strcmp(world.hosts[k].id, o.id) == 0;
		n += !of_others || !lives;
	}
	return n;
}

static void check_end(void)
{
	char key[KV_KEY_MAX];
	const struct entry *e;
	json_t *config;

	pool_config_key(CLUSTER, key);
	e = world_get(key);
	config = pools_parse(e ? e->value : "", e ? strlen(e->value) : 0);
	world_holds(config);
	for (size_t i = 0; i < world.n_hosts; i++) {
		world_holds(world.hosts[i].registered);
		world_did.taken += world.hosts[i].n_used;
		for (size_t k = 0; k < POOLS; k++)
			if (world.hosts[i].need[k])
				check_need(&world.hosts[i], k, config);
	}
	json_decref(config);
	world_holds(count_addresses(true) == 0);
	for (size_t i = 0; i < world.n_hosts; i++) {
		set_needs(&world.hosts[i], true);
		world_run(10 *
			  NSEC_PER_SEC); /* a transaction that takes addresses may be in progress */
		leave(&world.hosts[i]);
		run_edit(&world.hosts[i]);
	}
	world_holds(count_addresses(false) == 0);
}

static void end(void)
{
	for (size_t i = 0; i < world.n_hosts; i++) {
		host_stop(&world.hosts[i], false);
		plan_pools_done(&world.hosts[i].known);
		free(world.hosts[i].draft.addrs);
	}
	world_done();
}

/* Returns a host that leaves, or whose leave has failed, or any host. */
static struct host *next_host(void)
{
	for (size_t i = 0; i < world.n_hosts; i++)
		if ((world.hosts[i].stays || world.hosts[i].is_leaving) && world_rnd(2))
			return &world.hosts[i];
	return &world.hosts[world_rnd(world.n_hosts)];
}

static bool is_to_stay(struct host *h)
{
	const bool stays = h->stays && h->paused_until_ns <= world.now_ns && !h->edit;

	h->stays &= !stays;
	return stays;
}

static void play(uint64_t seed)
{
	begin(seed, 0);
	for (size_t i = 0; i < POOLS; i++)
		if (!world.hosts[i].edit)
			edit_pool(&world.hosts[i], POOL_ADD);
	for (unsigned n = 40 + (unsigned)world_rnd(80); n > 0; n--) {
		struct host *h = next_host();

		world_run(world_rnd(3) ? world_rnd_ms(0, 3000) : world_rnd_ms(0, 60000));
		if (!h->runs)
			step_down(h);
		else if (is_to_stay(h))
			set_needs(h, false);
		else if (world_rnd(8) == 0)
			squat(h);
		else if (h->is_leaving || world_rnd(2))
			step_fault(h);
		else
			step_operator(h);
	}
	heal();
	check_end();
	end();
}

static void test_no_address_belongs_to_two_hosts_or_to_none(void **state)
{
	const char *only = getenv("PLENUM_POOL_SEED"), *runs = getenv("PLENUM_POOL_RUNS");
	const uint64_t n = runs ? strtoull(runs, NULL, 10) : RUNS;

	if (only) {
		play(strtoull(only, NULL, 10));
		return;
	}
	for (uint64_t seed = 1; seed <= n; seed++)
		play(seed);
	print_message("%llu histories: %u addresses at the end, %u reports of exhaustion, %u late, "
		      "%u repeated, %u lost, %u conflicts, %u pauses, %u cuts, %u kills, %u lost "
		      "directories, %u edits, %u of them forget, %u leave, %u squatters\n",
		      (unsigned long long)n, world_did.taken, world_did.exhausted, world_did.late,
		      world_did.twice, world_did.lost, world_did.conflicts, world_did.pauses,
		      world_did.cuts, world_did.kills, world_did.wipes, world_did.edits,
		      world_did.forgets, world_did.leaves, world_did.squats);
	assert_true(world_did.taken >= n && world_did.exhausted && world_did.wipes &&
		    world_did.forgets && world_did.leaves);
}

/* Eight hosts share exactly what a pool has. To read its 32 addresses takes nine requests. */
static void test_hosts_that_join_at_once_do_not_read_all_addresses_again(void **state)
{
	struct pool_edit_setup s = {.op = POOL_ADD};
	struct reason why;
	unsigned conflicts = 0, reads = 0;

	for (uint64_t seed = 1; seed <= 50; seed++) {
		begin(seed, HOSTS_MAX);
		world_holds(pool_make("a", "10.0.0.1-10.0.0.32/24", "", 0, 0, &s.pool, &why) == 0);
		for (size_t i = 0; i < HOSTS_MAX; i++) {
			world.hosts[i].need[0] = world.hosts[i].need[1] = 0;
			want(&world.hosts[i]);
		}
		edit(&world.hosts[0], s);
		world_run(20 * NSEC_PER_SEC);
		world_did.conflicts = world_did.reads = 0;
		for (size_t i = 0; i < HOSTS_MAX; i++) {
			world.hosts[i].need[0] = 4;
			world.current = &world.hosts[i];
			want(&world.hosts[i]);
			world.current = NULL;
		}
		world_run(40 * NSEC_PER_SEC);
		for (size_t i = 0; i < HOSTS_MAX; i++)
			world_holds(world.hosts[i].n_used == 4);
		conflicts += world_did.conflicts;
		reads += world_did.reads;
		end();
	}
	print_message("%u conflicts, %u reads of a page\n", conflicts, reads);
	assert_true(conflicts > 20);
	assert_in_range(reads, 0, 50 * HOSTS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts_that_join_at_once_do_not_read_all_addresses_again),
		cmocka_unit_test(test_no_address_belongs_to_two_hosts_or_to_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
