/* SPDX-License-Identifier: BSD-3-Clause */
/* The cluster's store: requests to etcd and its answers, values of hosts, lists of all hosts, and
 * the file of known servers. */
#include "agent/cluster/cluster.h"
#include "agent/cluster/store/etcd_json.h"
#include "agent/cluster/view/rows.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/state_file.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool parse(enum etcd_call c, long status, const char *text, struct kv_answer *a)
{
	static char token[ETCD_TOKEN_MAX];

	return etcd_parse(c, status, text, strlen(text), a, token);
}

/* ---- requests ---- */

static void is_request(char *text, const char *expected)
{
	json_t *a = json_loads(text, 0, NULL), *b = json_loads(expected, 0, NULL);

	assert_non_null(a);
	assert_non_null(b);
	if (!json_equal(a, b))
		fail_msg("%s instead of %s", text, expected);
	json_decref(a);
	json_decref(b);
	free(text);
}

static void test_requests_have_the_form_of_the_gateway(void **state)
{
	const struct kv_op put = {.kind = KV_PUT, .key = "k", .value = "v", .lease = 7};
	const struct kv_op get = {.kind = KV_GET, .key = "k"};

	is_request(etcd_range_request(&(struct kv_range){
			   .first = "a", .end = "b", .limit = 3, .keys_only = true}),
		   "{\"key\":\"YQ==\",\"range_end\":\"Yg==\",\"limit\":\"3\",\"keys_only\":true}");
	is_request(etcd_txn_request(&(struct kv_txn){.key = "ab",
						     .revision = 5,
						     .ops = &put,
						     .n_ops = 1,
						     .otherwise = &get,
						     .n_otherwise = 1}),
		   "{\"compare\":[{\"result\":\"EQUAL\",\"target\":\"MOD\",\"key\":\"YWI=\","
		   "\"modRevision\":\"5\"}],\"success\":[{\"requestPut\":{\"key\":\"aw==\","
		   "\"value\":\"dg==\",\"lease\":\"7\"}}],\"failure\":[{\"requestRange\":{\"key\":"
		   "\"aw==\"}}]}");
	is_request(
		etcd_txn_request(&(struct kv_txn){
			.also =
				(const struct kv_compare[]){
					{.key = "a"}, {.key = "a", .end = "b", .revision = 9}},
			.n_also = 2,
			.ops = &(const struct kv_op){.kind = KV_DELETE, .key = "k"},
			.n_ops = 1}),
		"{\"compare\":[{\"result\":\"EQUAL\",\"target\":\"MOD\",\"key\":\"YQ==\","
		"\"modRevision\":\"0\"},{\"result\":\"LESS\",\"target\":\"MOD\",\"key\":\"YQ==\","
		"\"range_end\":\"Yg==\",\"modRevision\":\"9\"}],\"success\":[{"
		"\"requestDeleteRange\":{\"key\":\"aw==\"}}],\"failure\":[]}");
	is_request(etcd_grant_request(45), "{\"TTL\":\"45\"}");
	is_request(etcd_renew_request(UINT64_C(7587883212297104386)),
		   "{\"ID\":\"7587883212297104386\"}");
}

static void test_one_stream_watches_several_keys(void **state)
{
	const char *const keys[] = {"a", "b"};
	char *text = etcd_watch_request(keys, 2, 9);
	char *second = strchr(text, '\n');

	assert_non_null(second);
	*second++ = '\0';
	is_request(strdup(text),
		   "{\"create_request\":{\"key\":\"YQ==\",\"start_revision\":\"9\"}}");
	is_request(strdup(second),
		   "{\"create_request\":{\"key\":\"Yg==\",\"start_revision\":\"9\"}}");
	free(text);
}

/* ---- answers ---- */

static void test_keys_and_values_of_an_answer_are_decoded(void **state)
{
	struct kv_answer a;

	assert_false(parse(ETCD_RANGE, 200,
			   "{\"header\":{\"revision\":\"12\"},\"more\":true,\"kvs\":[{\"key\":"
			   "\"L3A=\",\"value\":\"aGVsbG8=\",\"mod_revision\":\"11\",\"later\":1}]}",
			   &a));
	assert_int_equal(a.trouble, CLUSTER_FINE);
	assert_int_equal(a.revision, 12);
	assert_true(a.more);
	assert_int_equal(a.n_pairs, 1);
	assert_string_equal(a.pairs[0].key, "/p");
	assert_string_equal(a.pairs[0].value, "hello");
	assert_int_equal(a.pairs[0].len, 5);
	assert_int_equal(a.pairs[0].revision, 11);
	kv_answer_done(&a);
}

static void test_each_error_has_its_trouble(void **state)
{
	static const struct {
		enum etcd_call call;
		long status;
		const char *text;
		enum cluster_trouble trouble;
		bool expired;
	} cases[] = {
		{ETCD_TXN, 503, "{\"error\":\"etcdserver: no leader\",\"code\":14}",
		 CLUSTER_UNREACHABLE, false},
		{ETCD_TXN, 429,
		 "{\"error\":\"etcdserver: mvcc: database space exceeded\",\"code\":8}",
		 CLUSTER_FULL, false},
		{ETCD_RANGE, 401, "{\"error\":\"etcdserver: invalid auth token\",\"code\":16}",
		 CLUSTER_REFUSED, true},
		{ETCD_RANGE, 400,
		 "{\"error\":\"etcdserver: revision of auth store is old\",\"code\":3}",
		 CLUSTER_REFUSED, true},
		{ETCD_RANGE, 400, "{\"error\":\"auth: revision in header is old\",\"code\":3}",
		 CLUSTER_REFUSED, true},
		{ETCD_RANGE, 403, "{\"error\":\"etcdserver: permission denied\",\"code\":7}",
		 CLUSTER_REFUSED, false},
		{ETCD_LOGIN, 400,
		 "{\"error\":\"etcdserver: authentication failed, invalid user ID or "
		 "password\",\"code\":3}",
		 CLUSTER_REFUSED, false},
		{ETCD_RANGE, 200, "<html>", CLUSTER_WRONG, false},
		{ETCD_RANGE, 404, "404 page not found", CLUSTER_WRONG, false},
		{ETCD_RANGE, 502, "bad gateway", CLUSTER_UNREACHABLE, false},
		{ETCD_GRANT, 200, "{\"header\":{\"revision\":\"1\"},\"TTL\":\"45\"}", CLUSTER_WRONG,
		 false},
		{ETCD_RANGE, 200, "{\"kvs\":[{\"key\":\"no base64\"}]}", CLUSTER_WRONG, false},
		{ETCD_RANGE, 200, "{\"header\":{\"revision\":\"-1\"}}", CLUSTER_WRONG, false},
		{ETCD_LOGIN, 200, "{\"token\":\"a\\nb\"}", CLUSTER_WRONG, false},
		{ETCD_WATCH, 200,
		 "{\"error\":{\"grpc_code\":14,\"message\":\"etcdserver: no leader\"}}",
		 CLUSTER_UNREACHABLE, false},
		{ETCD_WATCH, 200, "{\"result\":{\"canceled\":true,\"cancel_reason\":\"x\"}}",
		 CLUSTER_UNREACHABLE, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kv_answer a;
		const bool expired = parse(cases[i].call, cases[i].status, cases[i].text, &a);

		if (a.trouble != cases[i].trouble || expired != cases[i].expired || !a.text[0])
			fail_msg("%s: trouble %d, %s", cases[i].text, a.trouble, a.text);
		assert_int_equal(a.n_pairs, 0);
		kv_answer_done(&a);
	}
}

static void test_a_token_may_be_a_long_jwt(void **state)
{
	char text[8192], token[ETCD_TOKEN_MAX], jwt[4097];
	struct kv_answer a;

	memset(jwt, 'x', sizeof(jwt) - 1);
	jwt[sizeof(jwt) - 1] = '\0';
	snprintf(text, sizeof(text), "{\"header\":{},\"token\":\"%s\"}", jwt);
	etcd_parse(ETCD_LOGIN, 200, text, strlen(text), &a, token);
	assert_int_equal(a.trouble, CLUSTER_FINE);
	assert_string_equal(token, jwt);
	snprintf(text, sizeof(text), "{\"header\":{},\"token\":\"%sx\"}", jwt);
	etcd_parse(ETCD_LOGIN, 200, text, strlen(text), &a, token);
	assert_int_equal(a.trouble, CLUSTER_WRONG);
}

static void test_an_ended_lease_is_no_error(void **state)
{
	struct kv_answer a;

	parse(ETCD_RENEW, 200, "{\"result\":{\"header\":{},\"ID\":\"5\"}}", &a);
	assert_int_equal(a.trouble, CLUSTER_FINE);
	assert_true(a.lease_gone);
	parse(ETCD_TXN, 404, "{\"error\":\"etcdserver: requested lease not found\",\"code\":5}",
	      &a);
	assert_int_equal(a.trouble, CLUSTER_FINE);
	assert_true(a.lease_gone && !a.succeeded);
	parse(ETCD_RENEW, 200, "{\"result\":{\"header\":{},\"ID\":\"5\",\"TTL\":\"45\"}}", &a);
	assert_false(a.lease_gone);
	assert_int_equal(a.ttl_s, 45);
}

static void test_events_of_a_watch_name_deleted_keys(void **state)
{
	struct kv_answer a;

	parse(ETCD_WATCH, 200,
	      "{\"result\":{\"header\":{\"revision\":\"9\"},\"events\":[{\"kv\":{\"key\":\"YQ==\","
	      "\"value\":\"eA==\",\"mod_revision\":\"8\"}},{\"type\":\"DELETE\",\"kv\":{\"key\":"
	      "\"Yg==\",\"mod_revision\":\"9\"}}]}}",
	      &a);
	assert_int_equal(a.n_pairs, 2);
	assert_false(a.pairs[0].deleted);
	assert_true(a.pairs[1].deleted);
	kv_answer_done(&a);
	parse(ETCD_WATCH, 200, "{\"result\":{\"canceled\":true,\"compact_revision\":\"7\"}}", &a);
	assert_true(a.compacted);
	assert_int_equal(a.trouble, CLUSTER_FINE);
	kv_answer_done(&a);
}

/* ---- keys and values ---- */

static void test_keys_lead_back_to_their_hosts(void **state)
{
	char key[KV_KEY_MAX], end[KV_KEY_MAX];

	record_key(RECORD_SERVING, "prod", "host-b", key);
	assert_string_equal(key, "/plenum/prod/v1/serving/host-b");
	assert_string_equal(record_host(RECORD_SERVING, "prod", key), "host-b");
	assert_null(record_host(RECORD_STATE, "prod", key));
	assert_null(record_host(RECORD_SERVING, "other", key));
	assert_null(record_host(RECORD_SERVING, "prod", "/plenum/prod/v1/serving/a/b"));
	assert_null(record_host(RECORD_SERVING, "prod", "/plenum/prod/v1/serving/"));
	record_key_end(RECORD_SERVING, "prod", end);
	assert_true(strcmp(key, end) < 0);
}

static struct cluster_server a_server(const char *ip)
{
	struct cluster_server s = {.host = "host-b", .registered = 1, .n_addrs = 1};

	assert_int_equal(ip_addr_parse(ip, &s.addrs[0].ip), 0);
	s.addrs[0].port = 7411;
	strcpy(s.addrs[0].label, "switch-a");
	return s;
}

static void test_a_server_is_read_as_it_was_written(void **state)
{
	const struct cluster_server s = a_server("fd00::20");
	json_t *exports = json_pack("[s]", "scratch");
	char *text = record_server_format(&s, exports);
	struct cluster_server back;

	assert_int_equal(record_server_parse("host-b", text, strlen(text), &back), 0);
	assert_memory_equal(&back, &s, sizeof(s));
	free(text);
	json_decref(exports);
}

static void test_bad_addresses_of_a_server_are_left_out(void **state)
{
	static const char text[] =
		"{\"v\":2,\"later\":{},\"addresses\":[{\"ip\":\"10.0.0.1\",\"port\":0},{\"ip\":"
		"\"x\","
		"\"port\":1},{\"ip\":\"127.0.0.1\",\"port\":1},{\"ip\":\"0.0.0.1\",\"port\":1},{"
		"\"ip\":\"224.0.0.1\",\"port\":1},{\"ip\":\"::1\",\"port\":1},7,{\"ip\":\"10.0.0."
		"2\",\"port\":70000},{\"ip\":\"10.0.0.3\",\"port\":"
		"7411,\"label\":\"a\\u0007\"}]}";
	static const char *const bad[] = {"", "[]", "{}", "{\"v\":0,\"addresses\":[]}",
					  "{\"v\":1}"};
	struct cluster_server s;

	assert_int_equal(record_server_parse("host-b", text, strlen(text), &s), 0);
	assert_int_equal(s.n_addrs, 1);
	assert_string_equal(s.addrs[0].label, "");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(record_server_parse("host-b", bad[i], strlen(bad[i]), &s),
				 -EBADMSG);
}

static void test_an_owner_is_read_as_it_was_written(void **state)
{
	const struct record_owner o = {
		.id = "00ff", .epoch = 3, .nonce = "0123456789abcdef", .since = "now"};
	char *text = record_owner_format(&o);
	struct record_owner back;

	assert_int_equal(record_owner_parse(text, strlen(text), &back), 0);
	assert_string_equal(back.id, "00ff");
	assert_int_equal(back.epoch, 3);
	assert_string_equal(back.since, "now");
	assert_string_equal(back.nonce, "0123456789abcdef");
	free(text);
	assert_int_equal(record_owner_parse("{\"v\":1}", 7, &back), -EBADMSG);
}

/* ---- lists ---- */

static const char summary[] =
	"{\"v\":1,\"time_ms\":1000000000000,\"state\":\"running\",\"version\":\"9\",\"workers_up\":"
	"2,"
	"\"workers_total\":3,\"reasons\":[\"no-carrier\",4],\"later\":1,\"processes\":[{\"id\":"
	"\"1\","
	"\"status\":\"UP\",\"ips\":[\"10.0.0.1\",7],\"core\":\"x\",\"reason\":\"a\\u001b[2J\","
	"\"secret\":\"s\"},{}],\"net\":[{\"name\":\"leg-a\",\"state\":\"usable\"}],\"exports\":[]}";

static json_t *rows_at(enum rows_kind kind, bool alive, const char *text, uint64_t now_ms)
{
	const struct rows_host h = {.host = "host-b",
				    .alive = alive,
				    .state = text,
				    .len = text ? strlen(text) : 0,
				    .now_ms = now_ms};
	json_t *list = json_array();

	assert_int_equal(rows_add(list, kind, &h), 0);
	return list;
}

static json_t *rows(enum rows_kind kind, bool alive, const char *text)
{
	return rows_at(kind, alive, text, 1000000007000);
}

static const char *text_at(const json_t *list, size_t i, const char *key)
{
	return json_string_value(json_object_get(json_array_get(list, i), key));
}

static void test_rows_have_only_clean_known_members(void **state)
{
	json_t *list = rows(ROWS_PROCESSES, true, summary);
	const json_t *row = json_array_get(list, 0);

	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(text_at(list, 0, "id"), "host-b/1");
	assert_string_equal(text_at(list, 0, "host"), "host-b");
	assert_string_equal(text_at(list, 0, "status"), "UP");
	assert_string_equal(text_at(list, 0, "reason"), "a?[2J");
	assert_int_equal(json_array_size(json_object_get(row, "ips")), 1);
	assert_true(json_is_null(json_object_get(row, "core")));
	assert_null(json_object_get(row, "secret"));
	assert_string_equal(text_at(list, 1, "status"), "");
	json_decref(list);
}

static void test_a_host_without_a_lease_is_never_up(void **state)
{
	json_t *hosts = rows(ROWS_HOSTS, false, summary),
	       *all = rows(ROWS_PROCESSES, false, summary);
	json_t *net = rows(ROWS_NET, false, summary);

	assert_string_equal(text_at(hosts, 0, "state"), "unknown");
	assert_string_equal(text_at(hosts, 0, "seen"), "2001-09-09T01:46:40.000Z");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(hosts, 0), "age_s")), 7);
	assert_string_equal(text_at(all, 0, "status"), "UNKNOWN");
	assert_non_null(strstr(text_at(all, 0, "reason"), "2001-09-09"));
	assert_string_equal(text_at(net, 0, "state"), "unknown");
	json_decref(hosts);
	json_decref(all);
	json_decref(net);
	hosts = rows(ROWS_HOSTS, true, summary);
	assert_string_equal(text_at(hosts, 0, "state"), "running");
	json_decref(hosts);
	hosts = rows(ROWS_HOSTS, true, NULL);
	assert_string_equal(text_at(hosts, 0, "state"), "unknown");
	assert_true(json_is_null(json_object_get(json_array_get(hosts, 0), "seen")));
	json_decref(hosts);
}

static const char *first_reason(const json_t *hosts)
{
	const json_t *list = json_object_get(json_array_get(hosts, 0), "reasons");

	return json_string_value(json_array_get(list, 0));
}

static void test_an_old_summary_is_never_up(void **state)
{
	/* later than the summary by more than counts; earlier; and at the limits */
	static const struct {
		uint64_t now_ms;
		const char *state;
		int age_s; /* -1: unknown */
	} cases[] = {
		{1000000000000 + 181000, "unknown", 181},
		{1000000000000 + 180000, "running", 180},
		{1000000000000 - 180000, "running", 0},
		{1000000000000 - 181000, "unknown", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *hosts = rows_at(ROWS_HOSTS, true, summary, cases[i].now_ms);
		json_t *all = rows_at(ROWS_PROCESSES, true, summary, cases[i].now_ms);
		const json_t *age = json_object_get(json_array_get(hosts, 0), "age_s");
		const bool old = strcmp(cases[i].state, "unknown") == 0;

		assert_string_equal(text_at(hosts, 0, "state"), cases[i].state);
		assert_int_equal(json_is_null(age) ? -1 : json_integer_value(age), cases[i].age_s);
		assert_string_equal(first_reason(hosts), old ? "summary-old" : "no-carrier");
		assert_string_equal(text_at(all, 0, "status"), old ? "UNKNOWN" : "UP");
		assert_true(!old || strstr(text_at(all, 0, "reason"), "summary-old: "));
		json_decref(hosts);
		json_decref(all);
	}
}

/* ---- known servers ---- */

static void test_known_servers_outlive_the_agent(void **state)
{
	struct cluster_server s = a_server("10.10.1.20"), gone = {.host = "host-b"};
	char path[] = "/tmp/plenum-servers.XXXXXX";
	struct servers a = {.n = 0}, b = {.n = 0};
	char id[CLUSTER_ID_MAX], file[64];

	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/cluster", path);
	assert_int_equal(servers_load(&a, file), 0);
	assert_int_equal(a.epoch, 1);
	strcpy(id, a.id);
	servers_set_cluster(&a, "prod");
	assert_true(servers_take(&a, &s));
	assert_false(servers_take(&a, &s));
	/* a server that has gone keeps its addresses */
	assert_false(servers_take(&a, &gone));
	assert_non_null(servers_find(&a, "prod", "host-b"));
	assert_null(servers_find(&a, "other", "host-b"));
	assert_int_equal(servers_save(&a, file), 0);
	assert_int_equal(servers_load(&b, file), 0);
	assert_string_equal(b.id, id);
	assert_int_equal(b.epoch, 2);
	assert_int_equal(strlen(b.nonce), CLUSTER_NONCE_MAX - 1);
	assert_string_not_equal(b.nonce, a.nonce);
	assert_true(servers_same_addrs(servers_find(&b, "prod", "host-b"), &s));
	assert_true(servers_entry(&b, "host-b")->remembered);
	assert_true(servers_set_cluster(&b, "other"));
	assert_null(servers_entry(&b, "host-b"));
	assert_int_equal(file_write(file, "plenum-cluster 1 bytes 3 sum 0\nx\n", 33, 0600), 0);
	servers_done(&b);
	assert_int_equal(servers_load(&b, file), STATE_TORN);
	assert_int_equal(strlen(b.id), CLUSTER_ID_MAX - 1);
	assert_string_not_equal(b.id, id);
	servers_done(&a);
	servers_done(&b);
	unlink(file);
	rmdir(path);
}

static void test_each_trouble_has_a_code_and_a_remedy(void **state)
{
	const struct spec_cluster s = {.name = "prod"};
	struct cluster_report r = {.text = "why"};
	struct reason why;

	for (r.trouble = CLUSTER_FINE + 1; r.trouble <= CLUSTER_FILES; r.trouble++) {
		cluster_reason(&r, &s, "host-a", &why);
		assert_true(why.code[0]);
		assert_non_null(strstr(why.text, "why"));
		assert_non_null(strchr(why.text, ';'));
	}
	r.trouble = CLUSTER_FINE;
	cluster_reason(&r, &s, "host-a", &why);
	assert_false(reason_is_set(&why));
}

static unsigned revoked_n;

static void revoked_append(json_t *list, const uint8_t bytes[IDENTITY_REVOCATION_BYTES])
{
	char hex[2 * IDENTITY_REVOCATION_BYTES + 1];

	identity_hex(bytes, IDENTITY_REVOCATION_BYTES, hex);
	json_array_append_new(list, json_string(hex));
}

static void revoked_count(void *user, const uint8_t p[IDENTITY_REVOCATION_BYTES])
{
	struct identity_revocation r;

	assert_int_equal(identity_check_revocation(p, IDENTITY_REVOCATION_BYTES, user, &r), 0);
	revoked_n++;
	if (strcmp(r.host, "host-b") == 0)
		assert_int_equal(r.epoch, 900);
}

/* Any host may write junk to etcd; the signing key tells it from revocations. */
static void test_junk_in_etcd_prevents_no_revocation(void **state)
{
	uint8_t bytes[IDENTITY_REVOCATION_BYTES];
	struct identity_pair signer, other;
	json_t *list = json_array(), *o;
	char *text, *added;
	bool known;

	assert_int_equal(identity_new_signer(&signer), 0);
	assert_int_equal(identity_new_signer(&other), 0);
	for (unsigned i = 0; i < 256; i++) {
		char name[32];

		snprintf(name, sizeof(name), "junk-%u", i);
		assert_int_equal(identity_revoke(&other, name, 5000, bytes), 0);
		revoked_append(list, bytes);
	}
	assert_int_equal(identity_revoke(&other, "host-c", 5000, bytes), 0);
	revoked_append(list, bytes);
	for (uint64_t epoch = 899; epoch <= 900; epoch++) { /* two of one host */
		assert_int_equal(identity_revoke(&signer, "host-b", epoch, bytes), 0);
		revoked_append(list, bytes);
	}
	assert_int_equal(identity_revoke(&signer, "host-c.lan", 700, bytes), 0);
	revoked_append(list, bytes);
	o = json_pack("{s:i, s:o}", "v", 1, "revoked", list);
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	assert_int_equal(record_revoked_epoch(text, strlen(text), signer.public, "host-c"), 700);
	assert_int_equal(identity_revoke(&signer, "host-c", 701, bytes), 0);
	added = record_revoked_add(text, strlen(text), signer.public, bytes, &known);
	assert_non_null(added);
	assert_true(known);
	revoked_n = 0;
	assert_int_equal(record_revoked_parse(added, strlen(added), revoked_count, signer.public),
			 0);
	assert_int_equal(revoked_n, 3);
	free(added);
	free(text);
	added = record_revoked_add("junk", 4, signer.public, bytes, &known);
	assert_non_null(added);
	assert_false(known);
	free(added);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_have_the_form_of_the_gateway),
		cmocka_unit_test(test_one_stream_watches_several_keys),
		cmocka_unit_test(test_keys_and_values_of_an_answer_are_decoded),
		cmocka_unit_test(test_each_error_has_its_trouble),
		cmocka_unit_test(test_a_token_may_be_a_long_jwt),
		cmocka_unit_test(test_an_ended_lease_is_no_error),
		cmocka_unit_test(test_events_of_a_watch_name_deleted_keys),
		cmocka_unit_test(test_keys_lead_back_to_their_hosts),
		cmocka_unit_test(test_a_server_is_read_as_it_was_written),
		cmocka_unit_test(test_bad_addresses_of_a_server_are_left_out),
		cmocka_unit_test(test_an_owner_is_read_as_it_was_written),
		cmocka_unit_test(test_rows_have_only_clean_known_members),
		cmocka_unit_test(test_a_host_without_a_lease_is_never_up),
		cmocka_unit_test(test_an_old_summary_is_never_up),
		cmocka_unit_test(test_known_servers_outlive_the_agent),
		cmocka_unit_test(test_junk_in_etcd_prevents_no_revocation),
		cmocka_unit_test(test_each_trouble_has_a_code_and_a_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
