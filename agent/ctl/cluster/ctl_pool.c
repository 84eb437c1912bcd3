/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that list and change the cluster's address pools and the owners of addresses. */
#include "agent/ctl/cluster/ctl_cluster.h"

#include <stdio.h>
#include <string.h>

/* ---- lists ---- */

static int print_pools(const struct ctl_args *a, const json_t *pools, const char *columns)
{
	static const char *const headings[] = {"POOL", "RANGE",	    "GATEWAY", "VLAN",
					       "MTU",  "ADDRESSES", "OWNED",   "SQUATTED"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *p;
	size_t i;

	json_array_foreach (pools, i, p) {
		ctl_table_add(&t, "%s", ctl_text(p, "name"));
		ctl_table_add(&t, "%s", ctl_text(p, "range"));
		ctl_table_add(&t, "%s", ctl_text(p, "gateway"));
		ctl_table_add_number(&t, p, "vlan");
		ctl_table_add_number(&t, p, "mtu");
		ctl_table_add_number(&t, p, "addresses");
		ctl_table_add_number(&t, p, "owned");
		ctl_table_add_number(&t, p, "squatted");
	}
	return ctl_view_print(a, &t, columns);
}

static int print_addresses(const struct ctl_args *a, const json_t *addresses, const char *columns)
{
	static const char *const headings[] = {"ADDRESS", "POOL", "HOST", "WORKER", "SQUATTER"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *o;
	size_t i;

	json_array_foreach (addresses, i, o) {
		ctl_table_add(&t, "%s", ctl_text(o, "address"));
		ctl_table_add(&t, "%s", ctl_text(o, "pool"));
		ctl_table_add(&t, "%s", ctl_text(o, "host"));
		ctl_table_add_number(&t, o, "worker");
		ctl_table_add(&t, "%s", ctl_text(o, "squatter"));
	}
	return ctl_view_print(a, &t, columns);
}

int ctl_cmd_pool_show(const struct ctl_args *a)
{
	return ctl_cluster_list(a, RESOURCE_POOLS, print_pools);
}

int ctl_cmd_pool_addresses(const struct ctl_args *a)
{
	return ctl_cluster_list(a, RESOURCE_ADDRESSES, print_addresses);
}

/* ---- changes ---- */

/* Sends a request; on success prints the answer as JSON, or "SUBJECT VERB", with the number of
 * addresses that became free. */
static int change(const struct ctl_args *a, const struct ctl_request *rq, json_t *body,
		  const char *subject, const char *verb)
{
	json_t *o;
	int r = ctl_ask_with(a, rq, body, &o);

	json_decref(body);
	if (r != CTL_OK)
		return r;
	if (a->json)
		r = ctl_put_json(o);
	else if (json_object_get(o, "addresses"))
		printf("%s %s; its %" JSON_INTEGER_FORMAT " addresses of pools are free.\n",
		       subject, verb, ctl_int(o, "addresses"));
	else
		printf("The pool %s %s.\n", subject, verb);
	json_decref(o);
	return r;
}

static int put_number(json_t *o, const char *key, const char *option, const char *text,
		      unsigned long min, unsigned long max)
{
	unsigned long n = 0;
	int r = ctl_take_number(option, text, min, max, &n);

	if (r == CTL_OK && text)
		json_object_set_new(o, key, json_integer((json_int_t)n));
	return r;
}

int ctl_cmd_pool_add(const struct ctl_args *a)
{
	struct ctl_request rq = {.resource = RESOURCE_POOL_ADD};
	json_t *o;
	int r;

	if (!a->range) {
		ctl_complain("--range is missing; write for example --range "
			     "10.10.1.10-10.10.1.200/16");
		return CTL_USAGE;
	}
	o = json_pack("{s:s, s:s}", "name", a->operands[0], "range", a->range);
	if (!o) {
		ctl_complain("an argument is not valid UTF-8");
		return CTL_USAGE;
	}
	if (a->gateway)
		json_object_set_new(o, "gateway", json_string(a->gateway));
	r = put_number(o, "vlan", "--vlan", a->vlan, 1, 4094);
	if (r == CTL_OK)
		r = put_number(o, "mtu", "--mtu", a->mtu, 1280, 65535);
	if (r != CTL_OK) {
		json_decref(o);
		return r;
	}
	return change(a, &rq, o, a->operands[0], "is added");
}

int ctl_cmd_pool_set(const struct ctl_args *a)
{
	struct ctl_request rq = {.resource = RESOURCE_POOL_SET, .name = a->operands[0]};
	json_t *o = json_object();
	int r;

	if (a->range)
		json_object_set_new(o, "range", json_string(a->range));
	if (a->gateway)
		json_object_set_new(o, "gateway", json_string(a->gateway));
	r = put_number(o, "vlan", "--vlan", a->vlan, 1, 4094);
	if (r == CTL_OK)
		r = put_number(o, "mtu", "--mtu", a->mtu, 1280, 65535);
	if (r == CTL_OK && json_object_size(o) == 0) {
		ctl_complain("nothing to change is given; write --range, --gateway, --vlan or "
			     "--mtu");
		r = CTL_USAGE;
	}
	if (r == CTL_OK)
		return change(a, &rq, o, a->operands[0], "is changed");
	json_decref(o);
	return r;
}

int ctl_cmd_pool_remove(const struct ctl_args *a)
{
	struct ctl_request rq = {.resource = RESOURCE_POOL_REMOVE, .name = a->operands[0]};

	return change(a, &rq, NULL, a->operands[0], "is removed");
}

int ctl_cmd_cluster_forget(const struct ctl_args *a)
{
	struct ctl_request rq = {.resource = RESOURCE_CLUSTER_FORGET};
	json_t *o;

	for (int i = 0; i < a->forces.n; i++)
		if (strcmp(a->forces.items[i], "lease") != 0) {
			ctl_complain("--force takes only 'lease' here, found '%.40s'",
				     a->forces.items[i]);
			return CTL_USAGE;
		}
	o = json_pack("{s:s, s:b}", "host", a->operands[0], "force", a->forces.n > 0);
	if (!o) {
		ctl_complain("an argument is not valid UTF-8");
		return CTL_USAGE;
	}
	return change(a, &rq, o, a->operands[0], "is removed from the cluster");
}

int ctl_cmd_cluster_leave(const struct ctl_args *a)
{
	struct ctl_request rq = {.resource = RESOURCE_CLUSTER_LEAVE};

	return change(a, &rq, NULL, "This host", "uses no pool");
}
