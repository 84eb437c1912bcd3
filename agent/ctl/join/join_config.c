/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the configuration of a host that joins a cluster. The legs come from --nic, from the
 * invitation, or from interfaces that have an address in the subnet of a pool. */
#include "agent/ctl/join/ctl_join.h"
#include "netcfg/base/file.h"
#include "netcfg/host/kernel.h"
#include "netcfg/plan/show/generate.h"
#include "netcfg/spec/spec.h"
#include "netcfg/spec/spec_schema.h"
#include <string.h>

struct leg {
	const struct cluster_pool *pool;
	char device[64]; /* "": by match */
	char *match;	 /* a map as YAML; heap */
};

struct legs {
	struct leg all[PLENUM_LEGS_MAX];
	size_t n;
};

static void legs_done(struct legs *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->all[i].match);
}

/* ---- legs ---- */

static const struct cluster_pool *pool_find(const struct cluster_pool *pools, size_t n,
					    const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(pools[i].name) == len && strncmp(pools[i].name, name, len) == 0)
			return &pools[i];
	return NULL;
}

/* Writes the names of all pools with their ranges, truncated to size. */
static const char *pools_format(const struct cluster_pool *pools, size_t n, char *buf, size_t size)
{
	char range[2 * IP_ADDR_STR_MAX];
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s (%s)", i ? ", " : "",
					pools[i].name,
					ip_range_format(&pools[i].range, range, sizeof(range)));
	return buf;
}

static int complain_pool(const char *from, const char *name, const struct cluster_pool *pools,
			 size_t n)
{
	char list[400];

	ctl_complain("%s: the cluster has no pool '%.63s'; it has %s", from, name,
		     pools_format(pools, n, list, sizeof(list)));
	return CTL_DATA;
}

static int complain_count(void)
{
	ctl_complain("a host has at most %d legs", PLENUM_LEGS_MAX);
	return CTL_DATA;
}

/* Adds a leg from the text POOL=DEVICE or POOL={MATCH}. */
static int add_nic(struct legs *l, const char *text, const struct cluster_pool *pools, size_t n)
{
	const size_t len = strcspn(text, "=");
	const char *value = text[len] ? text + len + 1 : "";
	struct leg *leg = &l->all[l->n];
	char name[PLENUM_NAME_MAX];

	if (!*value || (*value != '{' && strlen(value) >= sizeof(leg->device))) {
		ctl_complain("--nic needs POOL=DEVICE or POOL={MATCH}, such as data-a=eth1 or "
			     "'data-a={driver: mlx5_core}', found '%.60s'",
			     text);
		return CTL_USAGE;
	}
	if (l->n == PLENUM_LEGS_MAX)
		return complain_count();
	*leg = (struct leg){.pool = pool_find(pools, n, text, len)};
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	if (!leg->pool)
		return complain_pool("--nic", name, pools, n);
	if (*value == '{')
		leg->match = strdup(value);
	else
		snprintf(leg->device, sizeof(leg->device), "%s", value);
	if (*value == '{' && !leg->match)
		return ctl_put_text(NULL);
	l->n++;
	return CTL_OK;
}

/* Adds a leg from the invitation, whose JSON is valid YAML too. */
static int add_invited(struct legs *l, const json_t *o, const struct cluster_pool *pools, size_t n)
{
	const char *name = json_string_value(json_object_get(o, "pool"));
	struct leg *leg = &l->all[l->n];

	if (!name || !json_is_object(json_object_get(o, "match"))) {
		ctl_complain("legs: expected entries with 'pool' and 'match', as 'plenum cluster "
			     "invite' writes them");
		return CTL_DATA;
	}
	if (l->n == PLENUM_LEGS_MAX)
		return complain_count();
	*leg = (struct leg){.pool = pool_find(pools, n, name, strlen(name))};
	if (!leg->pool)
		return complain_pool("legs of the invitation", name, pools, n);
	leg->match = json_dumps(json_object_get(o, "match"), JSON_PRESERVE_ORDER);
	if (!leg->match)
		return ctl_put_text(NULL);
	l->n++;
	return CTL_OK;
}

/* Returns whether another program has given this host an address in the subnet. */
static bool has_address_in(const struct inventory *inv, const struct ip_prefix *subnet)
{
	for (size_t i = 0; i < inv->n_addrs; i++)
		if (inv->addrs[i].proto != PLENUM_RTPROT &&
		    ip_prefix_contains(subnet, &inv->addrs[i].ip.addr))
			return true;
	return false;
}

/* Adds a leg for each pool in whose subnet this host has an address. */
static int add_by_subnet(struct legs *l, const struct cluster_pool *pools, size_t n,
			 const struct inventory *inv)
{
	char list[400], text[IP_ADDR_STR_MAX];

	for (size_t i = 0; i < n; i++) {
		const struct ip_range *range = &pools[i].range;
		const struct ip_prefix subnet = {ip_addr_network(&range->first, range->prefix_len),
						 range->prefix_len};
		struct leg *leg = &l->all[l->n];

		if (!has_address_in(inv, &subnet))
			continue;
		if (l->n == PLENUM_LEGS_MAX)
			return complain_count();
		*leg = (struct leg){.pool = &pools[i]};
		if (asprintf(&leg->match, "{subnet: [\"%s\"]}",
			     ip_prefix_format(&subnet, text, sizeof(text))) < 0)
			return ctl_put_text(NULL);
		l->n++;
	}
	if (l->n)
		return CTL_OK;
	ctl_complain("no interface of this host has an address in the subnet of a pool: %s; name "
		     "the device for each pool with --nic POOL=DEVICE or --nic POOL={MATCH}; "
		     "'plenum inventory' lists the devices",
		     pools_format(pools, n, list, sizeof(list)));
	return CTL_DATA;
}

static int legs_choose(struct legs *l, const struct ctl_args *a, const struct invitation *i,
		       const struct cluster_pool *pools, size_t n, const struct inventory *inv)
{
	const json_t *o;
	int r = CTL_OK;
	size_t k;

	for (int nic = 0; nic < a->nics.n && r == CTL_OK; nic++)
		r = add_nic(l, a->nics.items[nic], pools, n);
	if (r != CTL_OK || l->n)
		return r;
	json_array_foreach (i->legs, k, o)
		if (r == CTL_OK)
			r = add_invited(l, o, pools, n);
	return r != CTL_OK || l->n ? r : add_by_subnet(l, pools, n, inv);
}

/* ---- the text ---- */

static void put_member(FILE *f, const char *key, const char *text)
{
	fprintf(f, ", %s: ", key);
	spec_print_text(text, f);
}

static void put_cluster(FILE *f, const struct invitation *i)
{
	const char *security = i->security ? i->security : "auth";
	const json_t *url;
	size_t k;

	fputs("cluster: {name: ", f);
	spec_print_text(i->cluster, f);
	fputs(", etcd: [", f);
	json_array_foreach (i->etcd, k, url) {
		fputs(k ? ", " : "", f);
		spec_print_text(json_is_string(url) ? json_string_value(url) : "?", f);
	}
	fputs("]", f);
	if (i->ca)
		put_member(f, "etcd-ca", JOIN_CA_FILE);
	if (i->user) {
		put_member(f, "etcd-user", i->user);
		put_member(f, "etcd-password-file", JOIN_PASSWORD_FILE);
	}
	if (strcmp(security, "none") != 0)
		put_member(f, "secret-file", CTL_SECRET_FILE);
	put_member(f, "security", security);
	if (i->permission)
		put_member(f, "identity", i->identity ? i->identity : "require");
	fputs("}\n", f);
}

static void put_legs(FILE *f, const struct legs *l)
{
	fputs("networks:\n", f);
	for (size_t i = 0; i < l->n; i++) {
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again |= l->all[k].pool == l->all[i].pool;
		if (again)
			continue;
		fputs("  - {name: ", f);
		spec_print_text(l->all[i].pool->name, f);
		put_member(f, "pool", l->all[i].pool->name);
		fputs("}\n", f);
	}
	fputs("net:\n", f);
	for (size_t i = 0; i < l->n; i++) {
		const struct leg *leg = &l->all[i];

		fprintf(f, "  - {name: leg-%zu", i + 1);
		if (leg->match)
			fprintf(f, ", match: %s", leg->match);
		else
			put_member(f, "device", leg->device);
		put_member(f, "network", leg->pool->name);
		fputs(", label: auto}\n", f);
	}
	fprintf(f, "ha: {mode: %s}\n", l->n > 1 ? "dual-leg" : "none");
}

static bool any_match(const struct legs *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->all[i].match)
			return true;
	return false;
}

/* Writes the management interface, so that a leg with match never selects it. */
static int put_management(FILE *f, const struct legs *l, const struct inventory *inv)
{
	const struct inv_link *management = generate_management(inv);

	if (!management && any_match(l)) {
		ctl_complain(
			"the management interface is unknown, because this host has no "
			"default route and no SSH connection, so a leg could select it by mistake; "
			"repeat the join when there is a default route, or name the device of each "
			"leg with --nic POOL=DEVICE");
		return CTL_DATA;
	}
	if (management) {
		fputs("management: {interface: ", f);
		spec_print_text(management->name, f);
		fputs("}\n", f);
	}
	return CTL_OK;
}

int join_config_make(const struct ctl_args *a, const struct invitation *i,
		     const struct cluster_pool *pools, size_t n, const struct inventory *inv,
		     char **ret)
{
	struct legs l = {.n = 0};
	char cores[64];
	size_t size = 0;
	FILE *f;
	int r = legs_choose(&l, a, i, pools, n, inv);

	f = r == CTL_OK ? open_memstream(ret, &size) : NULL;
	if (r == CTL_OK && !f)
		r = ctl_put_text(NULL);
	if (f) {
		ctl_setup_cores(inv, 1, cores, sizeof(cores));
		fputs("# Made by 'plenum join'; see plenum.yaml(5) for all keys.\nhost: ", f);
		spec_print_text(inv->host, f);
		fputc('\n', f);
		r = put_management(f, &l, inv);
		put_cluster(f, i);
		put_legs(f, &l);
		fputs("workers:\n  - {role: ", f);
		spec_print_text(a->role ? a->role : "frontend", f);
		fprintf(f, ", cores: [%s], transport: auto}\n", a->cores ? a->cores : cores);
		*ret = file_text_end(f, ret, 0);
		r = r == CTL_OK && !*ret ? ctl_put_text(NULL) : r;
	}
	legs_done(&l);
	return r;
}
