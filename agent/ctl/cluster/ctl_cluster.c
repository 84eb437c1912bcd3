/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands about the cluster: this host's membership, and the lists of all hosts. */
#include "agent/ctl/cluster/ctl_cluster.h"

#include <stdio.h>
#include <string.h>

/* ---- cluster status ---- */

static int print_servers(const json_t *servers)
{
	static const char *const headings[] = {"SERVER", "STATE", "SOURCE", "ADDRESSES", "LABELS"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *s;
	size_t i;

	json_array_foreach (servers, i, s) {
		ctl_table_add(&t, "%s", ctl_text(s, "host"));
		ctl_table_add(&t, "%s", ctl_text(s, "state"));
		ctl_table_add(&t, "%s", ctl_text(s, "source"));
		ctl_table_add_list(&t, json_object_get(s, "addresses"));
		ctl_table_add_list(&t, json_object_get(s, "labels"));
	}
	return ctl_table_print(&t);
}

static int print_pools(const json_t *pools)
{
	static const char *const headings[] = {"POOL", "NETWORK", "NEEDS", "ADDRESSES", "REASON"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *p;
	size_t i;

	json_array_foreach (pools, i, p) {
		ctl_table_add(&t, "%s", ctl_text(p, "pool"));
		ctl_table_add(&t, "%s", ctl_text(p, "network"));
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(p, "needs"));
		ctl_table_add_list(&t, json_object_get(p, "addresses"));
		ctl_table_add(&t, "%s", ctl_text(p, "reason"));
	}
	return ctl_table_print(&t);
}

static void put_text(const char *before, const json_t *o, const char *key)
{
	fputs(before, stdout);
	ctl_put(ctl_text(o, key), stdout);
}

/* Prints a line, unless the answer has no text for it. */
static void put_field(const char *title, const json_t *o, const char *key)
{
	if (!*ctl_text(o, key))
		return;
	put_text(title, o, key);
	putchar('\n');
}

static int print_status(const json_t *o)
{
	const json_t *servers = json_object_get(o, "servers"), *pools = json_object_get(o, "pools");
	int r = CTL_OK;

	put_text("Cluster   ", o, "cluster");
	put_text("\nHost      ", o, "host");
	put_text(", id ", o, "id");
	printf(", start %" JSON_INTEGER_FORMAT, ctl_int(o, "start"));
	put_text("\nState     ", o, "state");
	putchar('\n');
	put_field("Reason    ", o, "reason");
	put_field("Endpoint  ", o, "endpoint");
	if (ctl_int(o, "lease_s"))
		printf("Lease     %" JSON_INTEGER_FORMAT " s\n", ctl_int(o, "lease_s"));
	if (json_array_size(pools)) {
		putchar('\n');
		r = print_pools(pools);
	}
	if (json_array_size(servers) == 0)
		return r;
	putchar('\n');
	return print_servers(servers);
}

int ctl_cmd_cluster_status(const struct ctl_args *a)
{
	const struct ctl_request rq = {.resource = RESOURCE_CLUSTER, .list = "servers"};
	bool well;
	json_t *o;
	int r = ctl_ask_json(a, &rq, &o);

	if (r != CTL_OK)
		return r;
	well = strcmp(ctl_text(o, "state"), "registered") == 0;
	r = a->json ? ctl_put_json(o) : print_status(o);
	json_decref(o);
	return r == CTL_OK && !well && !a->json ? CTL_DEGRADED : r;
}

/* ---- lists of all hosts ---- */

/* Prints on standard error which entries the answer lacks. */
static void warn_omitted(const json_t *answer)
{
	const json_int_t omitted = ctl_int(answer, "omitted_hosts");
	const bool lists_addresses =
		json_is_array(json_object_get(answer, resources[RESOURCE_ADDRESSES].list));

	if (omitted > 0)
		ctl_complain("the list is too long: %" JSON_INTEGER_FORMAT " %s are left out",
			     omitted, lists_addresses ? "addresses" : "hosts");
	if (json_is_false(json_object_get(answer, "complete")))
		ctl_complain("etcd does not answer: the list has only what this host has found");
}

int ctl_cluster_list(const struct ctl_args *a, enum resource_id id,
		     int (*print)(const struct ctl_args *a, const json_t *list,
				  const char *columns))
{
	return ctl_show_list(a, id, print, warn_omitted);
}

static int print_hosts(const struct ctl_args *a, const json_t *hosts, const char *columns)
{
	static const char *const headings[] = {"HOST",	  "STATE",   "AGE",	"WORKERS",
					       "EXPORTS", "VERSION", "REASONS", "SEEN"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *h;
	size_t i;

	json_array_foreach (hosts, i, h) {
		char age[32];

		ctl_table_add(&t, "%s", ctl_text(h, "host"));
		ctl_table_add(&t, "%s", ctl_text(h, "state"));
		ctl_table_add(&t, "%s",
			      json_is_integer(json_object_get(h, "age_s"))
				      ? ctl_format_seconds(ctl_int(h, "age_s"), age, sizeof(age))
				      : "");
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT,
			      ctl_int(h, "workers_up"), ctl_int(h, "workers_total"));
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(h, "exports"));
		ctl_table_add(&t, "%s", ctl_text(h, "version"));
		ctl_table_add_list(&t, json_object_get(h, "reasons"));
		ctl_table_add(&t, "%s", ctl_text(h, "seen"));
	}
	return ctl_view_print(a, &t, columns);
}

static int print_net(const struct ctl_args *a, const json_t *legs, const char *columns)
{
	static const char *const headings[] = {"HOST",	"LEG",	   "DEVICE", "NETWORK", "LABEL",
					       "STATE", "CARRIER", "MTU",    "IPS",	"REASON"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *leg;
	size_t i;

	json_array_foreach (legs, i, leg) {
		ctl_table_add(&t, "%s", ctl_text(leg, "host"));
		ctl_table_add(&t, "%s", ctl_text(leg, "name"));
		ctl_table_add(&t, "%s", ctl_text(leg, "device"));
		ctl_table_add(&t, "%s", ctl_text(leg, "network"));
		ctl_table_add(&t, "%s",
			      json_is_null(json_object_get(leg, "label")) ? "unknown"
									  : ctl_text(leg, "label"));
		ctl_table_add(&t, "%s", ctl_text(leg, "state"));
		ctl_table_add(&t, "%s", ctl_carrier_of(leg));
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(leg, "mtu"));
		ctl_table_add_list(&t, json_object_get(leg, "ips"));
		ctl_table_add(&t, "%s", ctl_text(leg, "reason"));
	}
	return ctl_view_print(a, &t, columns);
}

static int print_exports(const struct ctl_args *a, const json_t *exports, const char *columns)
{
	static const char *const headings[] = {"HOST",	 "EXPORT",  "PATH",  "STATE",
					       "ACCESS", "CLIENTS", "REASON"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *e;
	size_t i;

	json_array_foreach (exports, i, e) {
		ctl_table_add(&t, "%s", ctl_text(e, "host"));
		ctl_table_add(&t, "%s", ctl_text(e, "name"));
		ctl_table_add(&t, "%s", ctl_text(e, "path"));
		ctl_table_add(&t, "%s", ctl_text(e, "state"));
		ctl_table_add(&t, "%s",
			      json_is_true(json_object_get(e, "read_only")) ? "read-only"
									    : "read-write");
		ctl_table_add_number(&t, e, "clients");
		ctl_table_add(&t, "%s", ctl_text(e, "reason"));
	}
	return ctl_view_print(a, &t, columns);
}

/* Adds the loss of small packets and of full ones, each if it is known. */
static void add_losses(struct ctl_table *t, const json_t *o)
{
	const bool small = json_is_integer(json_object_get(o, "loss_percent"));
	const bool full = json_is_integer(json_object_get(o, "full_loss_percent"));
	char small_text[32] = "", full_text[32] = "";

	if (small)
		snprintf(small_text, sizeof(small_text), "%" JSON_INTEGER_FORMAT "%%",
			 ctl_int(o, "loss_percent"));
	if (full)
		snprintf(full_text, sizeof(full_text), "%" JSON_INTEGER_FORMAT "%% full",
			 ctl_int(o, "full_loss_percent"));
	ctl_table_add(t, "%s%s%s", small_text, small && full ? ", " : "", full_text);
}

static int print_links(const struct ctl_args *a, const json_t *links, const char *columns)
{
	static const char *const headings[] = {"HOST", "LEG",	  "ADDRESS", "PEERS",
					       "LOSS", "RTT",	  "VERDICT", "SOURCE",
					       "AGE",  "REPORTS", "REASON"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *o;
	char age[32];
	size_t i;

	json_array_foreach (links, i, o) {
		ctl_table_add(&t, "%s", ctl_text(o, "host"));
		ctl_table_add(&t, "%s", ctl_text(o, "leg"));
		ctl_table_add(&t, "%s", ctl_text(o, "address"));
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT,
			      ctl_int(o, "answering"), ctl_int(o, "asked"));
		add_losses(&t, o);
		if (json_is_integer(json_object_get(o, "rtt_us")))
			ctl_table_add(&t, "%" JSON_INTEGER_FORMAT " us", ctl_int(o, "rtt_us"));
		else
			ctl_table_add(&t, "%s", "");
		ctl_table_add(&t, "%s", ctl_text(o, "verdict"));
		ctl_table_add(&t, "%s", ctl_text(o, "source"));
		ctl_table_add(&t, "%s",
			      json_is_integer(json_object_get(o, "age_s"))
				      ? ctl_format_seconds(ctl_int(o, "age_s"), age, sizeof(age))
				      : "");
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(o, "reports"));
		ctl_table_add(&t, "%s", ctl_text(o, "reason"));
	}
	return ctl_view_print(a, &t, columns);
}

int ctl_cmd_cluster_hosts(const struct ctl_args *a)
{
	return ctl_cluster_list(a, RESOURCE_CLUSTER_HOSTS, print_hosts);
}

int ctl_cmd_cluster_processes(const struct ctl_args *a)
{
	return ctl_cluster_list(a, RESOURCE_CLUSTER_PROCESSES, ctl_put_processes);
}

int ctl_cmd_cluster_links(const struct ctl_args *a)
{
	return ctl_cluster_list(a, RESOURCE_CLUSTER_LINKS, print_links);
}

int ctl_cmd_cluster_net(const struct ctl_args *a)
{
	return ctl_cluster_list(a, RESOURCE_CLUSTER_NET, print_net);
}

int ctl_cmd_cluster_exports(const struct ctl_args *a)
{
	return ctl_cluster_list(a, RESOURCE_CLUSTER_EXPORTS, print_exports);
}
