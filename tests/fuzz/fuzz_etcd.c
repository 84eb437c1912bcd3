/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as an answer of etcd, and as values that other hosts wrote: rejected, or complete
 * results within their limits. The first byte selects the call, the second one the HTTP status.
 */
#include "agent/base/privsep.h"
#include "agent/cluster/failover/failover.h"
#include "agent/cluster/pools/pool.h"
#include "agent/cluster/rollout/rollout.h"
#include "agent/cluster/store/etcd_json.h"
#include "agent/cluster/view/links_rows.h"
#include "agent/cluster/view/rows.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void demand(bool good)
{
	if (!good)
		abort();
}

/* What the role reports must pass the privilege boundary. */
static void check_server(const char *value, size_t len)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_SERVER, .size = sizeof(m.cluster_server)};
	const char *why = "";

	if (record_server_parse("host-b", value, len, &m.cluster_server) == 0)
		demand(privsep_check(PRIVSEP_CLUSTER, &m,
				     offsetof(struct privsep_msg, get) + sizeof(m.cluster_server),
				     false, &why) == 0);
}

/* Pools of the key config, and an address with that value: what this host chooses of them must pass
 * the privilege boundary. */
static void check_pools(const char *value, size_t len)
{
	static struct pool_choice choice;
	struct kv_pair pair = {
		.key = "/plenum/test/v1/address/10.0.0.9", .value = (char *)value, .len = len};
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_POOL,
				.size = sizeof(m.cluster_pool_report)};
	struct cluster_pool_report *r = &m.cluster_pool_report;
	json_t *config = pools_parse(value, len);
	const size_t n = json_array_size(json_object_get(config, "pools"));
	struct pool_owned o;
	const char *why = "";

	demand(pool_take_pair("test", &pair, &o) && o.host[0]);
	for (size_t i = 0; i < MIN_OF(n, (size_t)4); i++) {
		memset(r, 0, sizeof(*r));
		strcpy(r->cluster, "test");
		if (!pools_at(config, i, &r->pool))
			continue;
		pool_choose(&r->pool, &o, 1, "host-a", "", NULL, 0, 8, &choice);
		demand(choice.n <= CLUSTER_POOL_ADDRS_MAX);
		r->n_total = r->n = (uint32_t)MIN_OF(choice.n, (size_t)CLUSTER_POOL_CHUNK);
		memcpy(r->addrs, choice.addrs, r->n * sizeof(r->addrs[0]));
		demand(privsep_check(PRIVSEP_CLUSTER, &m,
				     offsetof(struct privsep_msg, get) + m.size, false, &why) == 0);
	}
	json_decref(config);
}

/* Records of rollouts: a parsed record is within its limits, survives another round, and a host can
 * decide by it. */
static void check_rollout(const char *value, size_t len)
{
	struct rollout_self self = {.host = "host-a", .id = "1", .follows = true, .ready = true};
	struct rollout r, again;
	struct rollout_document d;
	char *text;

	if (rollout_parse(value, len, &r) == 0) {
		demand(r.n_slots <= ROLLOUT_SLOTS_MAX && r.state < ROLLOUT_STATE_MAX);
		demand(!r.number || r.max_unavailable - 1 < ROLLOUT_SLOTS_MAX);
		if (rollout_next(&r, &self) == ROLLOUT_TAKE)
			demand(rollout_take(&r, self.host, self.id, 7));
		text = r.number ? rollout_format(&r) : NULL;
		demand(!r.number || (text && rollout_parse(text, strlen(text), &again) == 0));
		demand(!r.number || (again.n_slots == r.n_slots));
		free(text);
	}
	if (rollout_document_parse(value, len, &d) == 0)
		demand(d.text && strlen(d.text) <= ROLLOUT_DOCUMENT_BYTES_MAX);
	rollout_document_done(&d);
	(void)rollout_self_parse(value, len, &self);
}

static void check_failover(const char *value, size_t len)
{
	struct failover_record r, again;
	uint64_t lease;
	char *text;

	if (failover_record_parse(value, len, &r) == 0 && r.epoch) {
		text = failover_record_format(&r);
		demand(text && failover_record_parse(text, strlen(text), &again) == 0);
		demand(again.epoch == r.epoch && again.token == r.token);
		demand(strcmp(again.host, r.host) == 0 && strcmp(again.to, r.to) == 0);
		free(text);
	}
	(void)failover_alive_parse(value, len, &lease);
}

/* Records of links: whatever two hosts have written, the list has rows that can be printed. */
static void check_links(const char *value, size_t len)
{
	json_t *list = json_array(), *rows, *row;
	json_t *member = links_rows_member("host-b", value, len);
	size_t i;

	demand(list && links_rows_add(list, "host-b", value, len, 1000000) == 0);
	demand(links_rows_add(list, "host-c", value, len, 1000000) == 0);
	rows = links_rows_merge(list);
	demand(rows != NULL);
	json_array_foreach (rows, i, row) {
		demand(json_is_string(json_object_get(row, "verdict")));
		demand(json_is_string(json_object_get(row, "source")));
		demand(json_is_string(json_object_get(row, "reason")));
		demand(!json_object_get(row, "session"));
		demand(!json_object_get(row, "probed"));
	}
	json_decref(member);
	json_decref(rows);
	json_decref(list);
}

static void check_value(const char *value, size_t len)
{
	struct record_owner o;

	check_server(value, len);
	check_pools(value, len);
	check_rollout(value, len);
	check_failover(value, len);
	check_links(value, len);
	if (record_owner_parse(value, len, &o) == 0)
		demand(o.id[0] && strlen(o.id) < sizeof(o.id) && strlen(o.since) < sizeof(o.since));
	for (enum rows_kind k = 0; k < ROWS_KIND_MAX; k++) {
		const struct rows_host h = {.host = "host-b", .state = value, .len = len};
		json_t *list = json_array();
		char *text;

		demand(list && rows_add(list, k, &h) == 0);
		text = json_dumps(list, 0);
		demand(text != NULL);
		free(text);
		json_decref(list);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const enum etcd_call call = size ? data[0] % ETCD_CALL_MAX : ETCD_RANGE;
	const long status = size > 1 && data[1] % 2 ? 503 : 200;
	const size_t len = size > 2 ? size - 2 : 0;
	char *text = malloc(len ? len : 1), token[ETCD_TOKEN_MAX] = "";
	struct kv_answer a;

	if (!text)
		return 0;
	if (len)
		memcpy(text, data + 2, len);
	(void)etcd_parse(call, status, text, len, &a, token);
	demand(a.trouble < CLUSTER_TROUBLE_MAX && strlen(a.text) < sizeof(a.text));
	demand(a.n_pairs <= KV_PAIRS_MAX && strlen(token) < sizeof(token));
	demand(a.trouble == CLUSTER_FINE || a.text[0]);
	for (size_t i = 0; i < a.n_pairs; i++) {
		const struct kv_pair *p = &a.pairs[i];
		const char *host = record_host(RECORD_SERVING, "test", p->key);

		demand(memchr(p->key, '\0', sizeof(p->key)) && (!p->value || !p->value[p->len]));
		demand(!host || record_name_is_valid(host));
		if (p->value)
			check_value(p->value, p->len);
	}
	kv_answer_done(&a);
	check_value(text, len);
	free(text);
	return 0;
}
