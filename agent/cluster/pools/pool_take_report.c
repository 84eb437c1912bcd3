/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports to the monitor which addresses of a pool this host has, or why it has none. */
#include "agent/cluster/pools/pool_take_internal.h"
#include <stdio.h>
#include <string.h>

static void send_report(const struct pool_take_setup *setup, struct pool_want *w,
			const struct cluster_pool_report *head)
{
	struct cluster_pool_report r = *head;
	const size_t n = head->n_total;

	if (w->reported && memcmp(&w->head, head, sizeof(*head)) == 0 &&
	    memcmp(w->told, w->choice.addrs, n * sizeof(w->told[0])) == 0)
		return;
	w->reported = true;
	w->head = *head;
	memcpy(w->told, w->choice.addrs, n * sizeof(w->told[0]));
	do {
		r.n = (uint32_t)MIN_OF(n - r.at, (size_t)CLUSTER_POOL_CHUNK);
		memset(r.addrs, 0, sizeof(r.addrs));
		memcpy(r.addrs, &w->choice.addrs[r.at], r.n * sizeof(r.addrs[0]));
		setup->on_pool(setup->user, &r);
		r.at += r.n;
	} while (r.at < n);
}

static void describe_exhausted(const struct pool_want *w, char *buf, size_t size)
{
	const struct pool_choice *c = &w->choice;
	char range[2 * IP_ADDR_STR_MAX];

	snprintf(buf, size,
		 "no free address is left in the pool '%.63s': its range %s has %llu, %zu host%s "
		 "%llu of them, and this host needs %zu more; see 'plenum pool addresses'",
		 w->name, ip_range_format(&w->pool.range, range, sizeof(range)),
		 (unsigned long long)c->n_range, c->n_hosts, c->n_hosts == 1 ? " owns" : "s own",
		 (unsigned long long)c->n_owned, c->n_missing);
}

void pool_report_choice(const struct pool_take_setup *setup, struct pool_want *w, bool holds)
{
	struct cluster_pool_report head;

	memset(&head, 0, sizeof(head)); /* so that memcmp() can compare reports */
	head.pool = w->pool;
	head.n_total = (uint32_t)w->choice.n;
	if (w->choice.n_missing && holds) {
		head.state = CLUSTER_POOL_EXHAUSTED;
		snprintf(head.text, sizeof(head.text),
			 "etcd has lost addresses of the pool '%.63s': for some minutes, each host "
			 "takes back its earlier addresses, and no host gets other addresses",
			 w->name);
	} else if (w->choice.n_missing) {
		head.state = CLUSTER_POOL_EXHAUSTED;
		describe_exhausted(w, head.text, sizeof(head.text));
	}
	send_report(setup, w, &head);
}

void pool_report_failure(const struct pool_take_setup *setup, struct pool_want *w, const char *text)
{
	struct cluster_pool_report head;

	memset(&head, 0, sizeof(head));
	memset(&w->choice, 0, sizeof(w->choice));
	head.state = CLUSTER_POOL_FAILING;
	memcpy(head.pool.name, w->name, sizeof(head.pool.name));
	snprintf(head.text, sizeof(head.text),
		 "the agent cannot take addresses of the pool '%.63s': %.200s", w->name, text);
	send_report(setup, w, &head);
}

void pool_report_unknown(const struct pool_take_setup *setup, struct pool_want *w,
			 const struct reason *why)
{
	struct cluster_pool_report head;

	memset(&head, 0, sizeof(head));
	memset(&w->choice, 0, sizeof(w->choice));
	head.state = CLUSTER_POOL_UNKNOWN;
	memcpy(head.pool.name, w->name, sizeof(head.pool.name));
	if (reason_is_set(why))
		snprintf(head.text, sizeof(head.text),
			 "the cluster's entry of the pool '%s' is not valid: %.160s", w->name,
			 why->text);
	else
		snprintf(head.text, sizeof(head.text),
			 "the cluster has no pool '%s'; 'plenum pool add %s' creates it, 'plenum "
			 "pool show' lists the pools",
			 w->name, w->name);
	send_report(setup, w, &head);
}
