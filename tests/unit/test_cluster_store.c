/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests parts of the role `cluster` with a store in memory in place of etcd: the registration of
 * hosts, and the search for servers.
 */
#include "agent/cluster/discovery.h"
#include "agent/cluster/store/member.h"
#include "netcfg/base/vec.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define LIMIT_NS (20 * NSEC_PER_SEC) /* of a wait; a test that passes needs a small part of it */

struct entry {
	char key[KV_KEY_MAX], *value;
	uint64_t revision, lease;
};

struct call { /* an answer that the loop delivers */
	struct kv_answer a;
	kv_answer_cb cb;
	void *user;
};

/* The store. All connections to it share it. */
static struct {
	struct loop *loop;
	struct loop_source *timer;
	struct entry *entries;
	size_t n;
	uint64_t revision, lease;
	uint64_t ended_lease; /* renewals of it fail */
	uint64_t ttl_s;
	unsigned n_renewals;
	bool down, full; /* full: writes fail */
	bool mute;	 /* watches are silent */
	struct call calls[64];
	size_t n_calls;
	kv_answer_cb watch_cb;
	void *watch_user;
	unsigned n_watches;
} store;

/* ---- the store ---- */

static struct entry *find(const char *key)
{
	for (size_t i = 0; i < store.n; i++)
		if (strcmp(store.entries[i].key, key) == 0)
			return &store.entries[i];
	return NULL;
}

static struct kv_pair pair_of(const struct entry *e)
{
	struct kv_pair p = {
		.value = strdup(e->value), .len = strlen(e->value), .revision = e->revision};

	strcpy(p.key, e->key);
	return p;
}

static void add_pair(struct kv_answer *a, const struct entry *e)
{
	struct kv_pair *p = vec_add(&a->pairs, &a->n_pairs, sizeof(*p));

	*p = pair_of(e);
}

static void queue(struct kv_answer a, kv_answer_cb cb, void *user)
{
	assert_true(store.n_calls < ARRAY_SIZE(store.calls));
	a.revision = store.revision;
	store.calls[store.n_calls++] = (struct call){a, cb, user};
	loop_timer_arm(store.timer, 0);
}

static void tell_watch(const struct entry *e, bool deleted)
{
	struct kv_answer a = {.n_pairs = 0};

	if (!store.watch_cb || store.mute)
		return;
	add_pair(&a, e);
	a.pairs[0].deleted = deleted;
	queue(a, store.watch_cb, store.watch_user);
}

static void put(const char *key, const char *value, uint64_t lease)
{
	struct entry *e = find(key);

	if (!e)
		e = vec_add(&store.entries, &store.n, sizeof(*e));
	free(e->value);
	strcpy(e->key, key);
	e->value = strdup(value);
	e->revision = ++store.revision;
	e->lease = lease;
	tell_watch(e, false);
}

static void del(const char *key)
{
	struct entry *e = find(key);

	assert_non_null(e);
	e->revision = ++store.revision;
	tell_watch(e, true);
	free(e->value);
	*e = store.entries[--store.n];
}

/* Ends a lease with its keys. */
static void end_lease(uint64_t lease)
{
	store.ended_lease = lease;
	for (size_t i = store.n; i-- > 0;)
		if (store.entries[i].lease == lease)
			del(store.entries[i].key);
}

static int on_timer(void *user)
{
	while (store.n_calls > 0) {
		struct call c = store.calls[0];

		memmove(&store.calls[0], &store.calls[1], --store.n_calls * sizeof(c));
		c.cb(c.user, &c.a);
		kv_answer_done(&c.a);
	}
	return 0;
}

/* Drops the answers to an object that ends, as an engine does when it is closed. */
static void drop_calls(const void *user)
{
	size_t kept = 0;

	for (size_t i = 0; i < store.n_calls; i++) {
		if (store.calls[i].user == user)
			kv_answer_done(&store.calls[i].a);
		else
			store.calls[kept++] = store.calls[i];
	}
	store.n_calls = kept;
}

/* ---- the engine ---- */

static struct kv_answer down(void)
{
	return (struct kv_answer){.trouble = CLUSTER_UNREACHABLE, .text = "down"};
}

static int fake_txn(struct kv *kv, const struct kv_txn *t, kv_answer_cb cb, void *user)
{
	const struct entry *e = t->key ? find(t->key) : NULL;
	struct kv_answer a = {.succeeded = !t->key || (e ? e->revision : 0) == t->revision};
	const struct kv_op *ops = a.succeeded ? t->ops : t->otherwise;
	const size_t n = a.succeeded ? t->n_ops : t->n_otherwise;

	if (store.down) {
		queue(down(), cb, user);
		return 0;
	}
	if (store.full && a.succeeded) {
		queue((struct kv_answer){.trouble = CLUSTER_FULL, .text = "full"}, cb, user);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		if (ops[i].kind == KV_PUT && ops[i].lease && ops[i].lease == store.ended_lease) {
			a.lease_gone = true;
			a.succeeded = false;
		} else if (ops[i].kind == KV_PUT) {
			put(ops[i].key, ops[i].value, ops[i].lease);
		} else if (find(ops[i].key)) {
			add_pair(&a, find(ops[i].key));
		}
	}
	queue(a, cb, user);
	return 0;
}

static int fake_grant(struct kv *kv, uint64_t ttl_s, kv_answer_cb cb, void *user)
{
	struct kv_answer a = {.lease = ++store.lease, .ttl_s = store.ttl_s};

	queue(store.down ? down() : a, cb, user);
	return 0;
}

static int fake_renew(struct kv *kv, uint64_t lease, kv_answer_cb cb, void *user)
{
	store.n_renewals++;
	struct kv_answer a = {
		.lease = lease, .ttl_s = store.ttl_s, .lease_gone = lease == store.ended_lease};

	queue(store.down ? down() : a, cb, user);
	return 0;
}

static int fake_watch(struct kv *kv, const char *const *keys, size_t n, uint64_t revision,
		      kv_answer_cb cb, void *user)
{
	store.watch_cb = cb;
	store.watch_user = user;
	store.n_watches++;
	return 0;
}

static void fake_unwatch(struct kv *kv)
{
	store.watch_cb = NULL;
}

static const char *fake_endpoint(const struct kv *kv)
{
	return "http://store";
}

static const struct kv_ops fake = {.txn = fake_txn,
				   .grant = fake_grant,
				   .renew = fake_renew,
				   .watch = fake_watch,
				   .unwatch = fake_unwatch,
				   .endpoint = fake_endpoint};

static int setup(void **state)
{
	memset(&store, 0, sizeof(store));
	store.ttl_s = 3600;
	assert_int_equal(loop_new(&store.loop), 0);
	assert_int_equal(loop_add_timer(store.loop, NSEC_PER_MSEC, on_timer, NULL, &store.timer),
			 0);
	return 0;
}

static int teardown(void **state)
{
	for (size_t i = 0; i < store.n; i++)
		free(store.entries[i].value);
	free(store.entries);
	for (size_t i = 0; i < store.n_calls; i++)
		kv_answer_done(&store.calls[i].a);
	loop_source_free(store.timer);
	loop_free(store.loop);
	return 0;
}

#define WAIT_UNTIL(condition)                                                          \
	do {                                                                           \
		const uint64_t end_ = clock_now_ns() + LIMIT_NS;                       \
		while (!(condition) && clock_now_ns() < end_)                          \
			assert_true(loop_turn(store.loop, NSEC_PER_SEC / 10) >= 0);    \
		if (!(condition))                                                      \
			fail_msg("line %d: not so in time: %s", __LINE__, #condition); \
	} while (0)

/* ---- the registration ---- */

struct host {
	struct member *member;
	struct cluster_report report;
	unsigned n_fine; /* reports without trouble */
};

static void on_report(void *user, const struct cluster_report *r)
{
	struct host *h = user;

	h->report = *r;
	h->n_fine += r->trouble == CLUSTER_FINE;
}

static struct host *host_with(const char *id, uint64_t epoch, const char *nonce)
{
	struct host *h = calloc(1, sizeof(*h));
	struct member_setup s = {.loop = store.loop,
				 .ops = &fake,
				 .cluster = "test",
				 .host = "host-a",
				 .self = {.epoch = epoch},
				 .on_report = on_report,
				 .user = h};

	strcpy(s.self.id, id);
	strcpy(s.self.nonce, nonce);
	assert_int_equal(member_new(&s, &h->member), 0);
	return h;
}

static struct host *host_new(const char *id, uint64_t epoch)
{
	return host_with(id, epoch, "00");
}

static void host_free(struct host *h)
{
	drop_calls(h->member);
	member_free(h->member);
	free(h);
}

static bool has(const char *key, const char *value)
{
	const struct entry *e = find(key);

	return e && strcmp(e->value, value) == 0;
}

#define OWNER "/plenum/test/v1/owner/host-a"
#define SERVING "/plenum/test/v1/serving/host-a"
#define STATE "/plenum/test/v1/state/host-a"

static void test_a_host_registers_and_writes_its_values(void **state)
{
	struct host *h = host_new("aa", 1);

	member_publish(h->member, RECORD_SERVING, "addresses");
	member_publish(h->member, RECORD_STATE, "summary");
	WAIT_UNTIL(h->report.registered && has(STATE, "summary"));
	assert_true(has(SERVING, "addresses"));
	assert_true(find(SERVING)->lease != 0);
	assert_int_equal(find(STATE)->lease, 0);
	assert_int_equal(find(OWNER)->lease, 0);
	assert_int_equal(h->report.trouble, CLUSTER_FINE);
	assert_string_equal(h->report.endpoint, "http://store");
	member_publish(h->member, RECORD_SERVING, "others");
	WAIT_UNTIL(has(SERVING, "others"));
	host_free(h);
}

static void test_a_second_host_with_the_name_is_refused(void **state)
{
	struct host *first = host_new("aa", 1), *second;

	member_publish(first->member, RECORD_SERVING, "first");
	WAIT_UNTIL(first->report.registered);
	second = host_new("bb", 9);
	member_publish(second->member, RECORD_SERVING, "second");
	WAIT_UNTIL(second->report.trouble == CLUSTER_NAME_TAKEN);
	assert_non_null(strstr(second->report.text, "id aa"));
	assert_non_null(strstr(second->report.text, "id bb"));
	assert_false(second->report.registered);
	assert_true(has(SERVING, "first"));
	host_free(first);
	host_free(second);
}

static void test_a_later_start_of_the_host_takes_the_name_over(void **state)
{
	struct host *earlier = host_new("aa", 1), *later;

	member_publish(earlier->member, RECORD_SERVING, "earlier");
	WAIT_UNTIL(earlier->report.registered);
	later = host_new("aa", 2);
	member_publish(later->member, RECORD_SERVING, "later");
	WAIT_UNTIL(later->report.registered && has(SERVING, "later"));
	/* what still runs of the earlier start, or a copy of the host, writes nothing any more */
	member_publish(earlier->member, RECORD_SERVING, "again");
	WAIT_UNTIL(earlier->report.trouble == CLUSTER_NAME_TAKEN);
	assert_non_null(strstr(earlier->report.text, "the same state directory or a copy of it"));
	assert_true(has(SERVING, "later"));
	host_free(earlier);
	host_free(later);
}

static void test_a_host_registers_again_when_its_lease_has_ended(void **state)
{
	struct host *h;

	store.ttl_s = 1;
	h = host_new("aa", 1);
	member_publish(h->member, RECORD_SERVING, "addresses");
	WAIT_UNTIL(h->report.registered);
	end_lease(find(SERVING)->lease);
	assert_null(find(SERVING));
	WAIT_UNTIL(find(SERVING));
	assert_int_not_equal(find(SERVING)->lease, store.ended_lease);
	host_free(h);
}

static void test_a_host_registers_again_when_its_name_was_removed(void **state)
{
	struct host *h = host_new("aa", 1);

	member_publish(h->member, RECORD_SERVING, "addresses");
	WAIT_UNTIL(h->report.registered);
	del(OWNER);
	member_publish(h->member, RECORD_STATE, "summary");
	WAIT_UNTIL(has(STATE, "summary") && find(OWNER));
	host_free(h);
}

/* Two copies of a virtual machine have the same identity and count the same start. */
static void test_a_copy_with_the_same_start_is_refused(void **state)
{
	struct host *first = host_with("aa", 1, "11"), *copy, *again;

	member_publish(first->member, RECORD_SERVING, "first");
	WAIT_UNTIL(first->report.registered);
	copy = host_with("aa", 1, "22");
	member_publish(copy->member, RECORD_SERVING, "copy");
	WAIT_UNTIL(copy->report.trouble == CLUSTER_NAME_TAKEN);
	assert_true(has(SERVING, "first"));
	/* another process of the same agent is not refused */
	again = host_with("aa", 1, "11");
	member_publish(again->member, RECORD_SERVING, "again");
	WAIT_UNTIL(again->report.registered && has(SERVING, "again"));
	host_free(first);
	host_free(copy);
	host_free(again);
}

static void test_a_host_repairs_its_addresses(void **state)
{
	struct host *h = host_new("aa", 1);

	member_publish(h->member, RECORD_SERVING, "addresses");
	WAIT_UNTIL(h->report.registered);
	put(SERVING, "of another program", 0);
	member_publish(h->member, RECORD_STATE, "minute 1");
	WAIT_UNTIL(has(SERVING, "addresses") && has(STATE, "minute 1"));
	del(SERVING);
	member_publish(h->member, RECORD_STATE, "minute 2");
	WAIT_UNTIL(find(SERVING) && has(SERVING, "addresses"));
	assert_int_not_equal(find(SERVING)->lease, 0);
	host_free(h);
}

static void test_a_host_writes_all_again_after_a_conflict(void **state)
{
	struct host *h = host_new("aa", 1);

	member_publish(h->member, RECORD_SERVING, "addresses");
	WAIT_UNTIL(h->report.registered);
	/* another host had the name meanwhile, and its registration was removed */
	put(SERVING, "of another host", 0);
	del(OWNER);
	member_publish(h->member, RECORD_STATE, "summary");
	WAIT_UNTIL(has(STATE, "summary") && has(SERVING, "addresses"));
	del(STATE);
	del(OWNER);
	member_publish(h->member, RECORD_SERVING, "others");
	WAIT_UNTIL(has(SERVING, "others") && find(STATE) && has(STATE, "summary"));
	host_free(h);
}

static void test_a_host_registers_again_in_a_store_from_a_backup(void **state)
{
	struct host *h = host_new("aa", 1);
	uint64_t lease;

	member_publish(h->member, RECORD_SERVING, "addresses");
	WAIT_UNTIL(h->report.registered);
	lease = find(SERVING)->lease;
	/* later writes of others, which the backup lacks; its keys of this host are the same */
	store.revision += 100;
	member_publish(h->member, RECORD_STATE, "summary");
	WAIT_UNTIL(has(STATE, "summary"));
	store.revision -= 100;
	member_publish(h->member, RECORD_STATE, "later");
	WAIT_UNTIL(find(SERVING)->lease != lease && has(SERVING, "addresses"));
	host_free(h);
}

static void test_a_host_registers_when_the_store_is_back(void **state)
{
	struct host *h;

	store.down = true;
	h = host_new("aa", 1);
	member_publish(h->member, RECORD_SERVING, "addresses");
	WAIT_UNTIL(h->report.trouble == CLUSTER_UNREACHABLE);
	assert_string_equal(h->report.text, "down");
	store.down = false;
	WAIT_UNTIL(h->report.registered);
	assert_int_equal(h->report.trouble, CLUSTER_FINE);
	host_free(h);
}

static void test_a_full_store_is_reported_until_a_write_succeeds(void **state)
{
	struct host *h;
	unsigned n;

	store.ttl_s = 1;
	h = host_new("aa", 1);
	member_publish(h->member, RECORD_SERVING, "addresses");
	WAIT_UNTIL(h->report.registered);
	store.full = true;
	member_publish(h->member, RECORD_STATE, "summary");
	WAIT_UNTIL(h->report.trouble == CLUSTER_FULL);
	n = store.n_renewals;
	h->n_fine = 0;
	/* leases are renewed meanwhile, which says nothing about room */
	WAIT_UNTIL(store.n_renewals >= n + 4);
	assert_int_equal(h->n_fine, 0);
	store.full = false;
	WAIT_UNTIL(has(STATE, "summary") && h->report.trouble == CLUSTER_FINE);
	host_free(h);
}

/* ---- servers ---- */

static struct cluster_server seen, found; /* found: the last one with a key */
static unsigned n_seen;

static void on_server(void *user, const struct cluster_server *s)
{
	seen = *s;
	if (s->registered)
		found = *s;
	n_seen++;
}

static enum cluster_trouble looked;
static unsigned n_looked;

static void on_looked(void *user, enum cluster_trouble trouble, const char *text)
{
	looked = trouble;
	n_looked++;
	assert_string_equal(text, trouble == CLUSTER_FINE ? "" : "down");
}

static struct discovery *discover(const char *hosts, uint64_t check_ns)
{
	const struct discovery_setup s = {.loop = store.loop,
					  .ops = &fake,
					  .cluster = "test",
					  .check_ns = check_ns,
					  .on_server = on_server,
					  .on_looked = on_looked};
	json_t *list = json_loads(hosts, 0, NULL);
	struct discovery *d;

	n_seen = n_looked = 0;
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(discovery_new(&s, &d), 0);
	discovery_want(d, list);
	json_decref(list);
	return d;
}

static void serve(const char *host, const char *ip)
{
	char key[KV_KEY_MAX], value[160];

	record_key(RECORD_SERVING, "test", host, key);
	snprintf(value, sizeof(value), "{\"v\":1,\"addresses\":[{\"ip\":\"%s\",\"port\":7411}]}",
		 ip);
	put(key, value, 1);
}

static bool is_at(const char *ip)
{
	struct ip_addr a;

	return ip_addr_parse(ip, &a) == 0 && seen.n_addrs == 1 &&
	       ip_addr_equal(&a, &seen.addrs[0].ip);
}

static void test_a_server_is_found_and_followed(void **state)
{
	struct discovery *d;

	serve("host-b", "10.0.0.1");
	serve("host-q", "10.0.0.9");
	d = discover("[\"host-b\"]", DISCOVERY_CHECK_NS);
	WAIT_UNTIL(is_at("10.0.0.1") && store.watch_cb);
	serve("host-b", "10.0.0.2");
	WAIT_UNTIL(is_at("10.0.0.2"));
	serve("host-q", "10.0.0.8"); /* nothing is mounted from it */
	del("/plenum/test/v1/serving/host-b");
	WAIT_UNTIL(!seen.registered);
	assert_string_equal(seen.host, "host-b");
	assert_int_equal(n_seen, 3);
	serve("host-b", "10.0.0.3");
	WAIT_UNTIL(is_at("10.0.0.3"));
	drop_calls(d);
	discovery_free(d);
}

static void test_a_search_that_fails_is_reported(void **state)
{
	struct discovery *d;

	store.down = true;
	d = discover("[\"host-b\"]", NSEC_PER_SEC / 50);
	WAIT_UNTIL(n_looked == 1);
	assert_int_equal(looked, CLUSTER_UNREACHABLE);
	assert_int_equal(n_seen, 0); /* the server may have a key */
	store.down = false;
	WAIT_UNTIL(looked == CLUSTER_FINE);
	assert_int_equal(n_seen, 1);
	store.down = true;
	WAIT_UNTIL(looked == CLUSTER_UNREACHABLE);
	drop_calls(d);
	discovery_free(d);
}

static void test_more_servers_than_a_transaction_holds_are_found(void **state)
{
	char hosts[DISCOVERY_SERVERS_MAX * 10] = "[", host[16];
	struct discovery *d;

	for (unsigned i = 0; i < KV_OPS_MAX + 6; i++)
		sprintf(hosts + strlen(hosts), "%s\"h%u\"", i ? "," : "", i);
	strcat(hosts, "]");
	snprintf(host, sizeof(host), "h%d", KV_OPS_MAX + 5);
	serve(host, "10.0.0.1");
	d = discover(hosts, DISCOVERY_CHECK_NS);
	WAIT_UNTIL(n_seen == KV_OPS_MAX + 6);
	assert_string_equal(found.host, host);
	drop_calls(d);
	discovery_free(d);
}

static void test_a_silent_watch_is_found_and_replaced(void **state)
{
	struct discovery *d;

	serve("host-b", "10.0.0.1");
	d = discover("[\"host-b\"]", NSEC_PER_SEC / 50);
	WAIT_UNTIL(is_at("10.0.0.1") && store.n_watches == 1);
	store.mute = true;
	serve("host-b", "10.0.0.2");
	WAIT_UNTIL(is_at("10.0.0.2") && store.n_watches == 2);
	/* a store restored from a backup has lower revisions */
	find("/plenum/test/v1/serving/host-b")->revision = 1;
	store.revision = 1;
	WAIT_UNTIL(store.n_watches == 3);
	drop_calls(d);
	discovery_free(d);
}

static void test_an_ended_watch_begins_again(void **state)
{
	struct discovery *d;

	serve("host-b", "10.0.0.1");
	d = discover("[\"host-b\"]", DISCOVERY_CHECK_NS);
	WAIT_UNTIL(store.n_watches == 1);
	queue((struct kv_answer){.compacted = true}, store.watch_cb, store.watch_user);
	store.watch_cb = NULL;
	serve("host-b", "10.0.0.2"); /* while there is no watch */
	WAIT_UNTIL(store.n_watches == 2 && is_at("10.0.0.2"));
	drop_calls(d);
	discovery_free(d);
}

static void test_an_unknown_form_is_ignored(void **state)
{
	struct discovery *d;

	serve("host-b", "10.0.0.1");
	d = discover("[\"host-b\"]", DISCOVERY_CHECK_NS);
	WAIT_UNTIL(store.n_watches == 1);
	put("/plenum/test/v1/serving/host-b", "garbage", 1);
	serve("host-b", "10.0.0.3");
	WAIT_UNTIL(is_at("10.0.0.3"));
	assert_int_equal(n_seen, 2);
	drop_calls(d);
	discovery_free(d);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_a_host_registers_and_writes_its_values),
		TEST(test_a_second_host_with_the_name_is_refused),
		TEST(test_a_later_start_of_the_host_takes_the_name_over),
		TEST(test_a_host_registers_again_when_its_lease_has_ended),
		TEST(test_a_host_registers_again_when_its_name_was_removed),
		TEST(test_a_copy_with_the_same_start_is_refused),
		TEST(test_a_host_repairs_its_addresses),
		TEST(test_a_host_writes_all_again_after_a_conflict),
		TEST(test_a_host_registers_again_in_a_store_from_a_backup),
		TEST(test_a_host_registers_when_the_store_is_back),
		TEST(test_a_full_store_is_reported_until_a_write_succeeds),
		TEST(test_a_server_is_found_and_followed),
		TEST(test_a_search_that_fails_is_reported),
		TEST(test_more_servers_than_a_transaction_holds_are_found),
		TEST(test_a_silent_watch_is_found_and_replaced),
		TEST(test_an_ended_watch_begins_again),
		TEST(test_an_unknown_form_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
