/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the parts of a spec against each other. Each check reports all violations at the place in
 * the file that the user must change. The checks do not change the spec, except that explicit
 * addresses get the prefix length of their network.
 */
#include "netcfg/spec/check/spec_check_internal.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* A name or path in a list that must be unique. */
struct check_name {
	const char *text;
	const struct diag_pos *pos;
	size_t index;
};

static int check_name_cmp(const void *va, const void *vb)
{
	const struct check_name *a = va, *b = vb;
	int order = strcmp(a->text, b->text);

	return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* Writes the words that follow "is used already": " by" and the path of the earlier entry, such as
 * " by net[leg-a]". Writes "" if `key` is "name", because the path would only repeat that name. */
static const char *earlier_entry(const struct spec_reader *r, const struct diag_pos *pos,
				 const char *key, char *buf, size_t size)
{
	const struct spec_node *n =
		strcmp(key, "name") == 0 ? NULL : spec_check_node(r, pos, NULL, NO_INDEX);
	char path[SPEC_PATH_MAX];

	snprintf(buf, size, "%s%s", n ? " by " : "",
		 n ? spec_node_path(n, path, sizeof(path)) : "");
	return buf;
}

/* Sorts names and reports each name that an earlier entry also has. */
static void check_unique(struct spec_reader *r, struct check_name *names, size_t n, const char *key,
			 const char *what)
{
	char by[SPEC_PATH_MAX + 8];

	qsort(names, n, sizeof(*names), check_name_cmp);
	for (size_t i = 1; i < n; i++) {
		if (!*names[i].text || strcmp(names[i].text, names[i - 1].text) != 0)
			continue;
		check_error(r, names[i].pos, key,
			    "the %s '%.64s' is used already%s on line %u%s%s; choose "
			    "another",
			    what, names[i].text,
			    earlier_entry(r, names[i - 1].pos, key, by, sizeof(by)),
			    names[i - 1].pos->line,
			    names[i].pos->file == names[i - 1].pos->file ? "" : " of ",
			    names[i].pos->file == names[i - 1].pos->file ? ""
									 : names[i - 1].pos->file);
	}
}

static struct check_name *check_names_new(struct spec_reader *r, size_t n)
{
	struct check_name *names = calloc(n ? n : 1, sizeof(*names));

	if (!names)
		r->d->out_of_memory = true;
	return names;
}

static void check_network_names(struct spec_reader *r)
{
	const struct spec *s = r->spec;
	autofree struct check_name *names = check_names_new(r, s->n_networks);

	if (!names)
		return;
	for (size_t i = 0; i < s->n_networks; i++)
		names[i] = (struct check_name){s->networks[i].name, &s->networks[i].pos, i};
	check_unique(r, names, s->n_networks, "name", "name");
}

static void check_net_names(struct spec_reader *r)
{
	const struct spec *s = r->spec;
	autofree struct check_name *names = check_names_new(r, s->n_nets);
	size_t n = 0;

	if (!names)
		return;
	for (size_t i = 0; i < s->n_nets; i++)
		names[i] = (struct check_name){s->nets[i].name, &s->nets[i].pos, i};
	check_unique(r, names, s->n_nets, "name", "name");
	for (size_t i = 0; i < s->n_nets; i++)
		if (s->nets[i].device[0])
			names[n++] = (struct check_name){s->nets[i].device, &s->nets[i].pos, i};
	check_unique(r, names, n, "device", "device");
}

static void check_peer_names(struct spec_reader *r)
{
	const struct spec *s = r->spec;
	autofree struct check_name *names = check_names_new(r, s->n_peers);

	if (!names)
		return;
	for (size_t i = 0; i < s->n_peers; i++) {
		names[i] = (struct check_name){s->peers[i].name, &s->peers[i].pos, i};
		if (*s->host && strcmp(s->peers[i].name, s->host) == 0)
			check_error(r, &s->peers[i].pos, "name",
				    "'%s' is this host itself; list other hosts only", s->host);
	}
	check_unique(r, names, s->n_peers, "name", "name");
}

/* Checks that mount points and export names are unique on the host, even in different workers. */
static void check_mount_and_export_names(struct spec_reader *r)
{
	const struct spec *s = r->spec;
	autofree struct check_name *mounts = NULL, *exports = NULL;
	size_t n_mounts = 0, n_exports = 0;

	for (size_t i = 0; i < s->n_workers; i++) {
		n_mounts += s->workers[i].n_mounts;
		n_exports += s->workers[i].n_exports;
	}
	mounts = check_names_new(r, n_mounts);
	exports = check_names_new(r, n_exports);
	if (!mounts || !exports)
		return;
	n_mounts = n_exports = 0;
	for (size_t i = 0; i < s->n_workers; i++) {
		const struct spec_worker *w = &s->workers[i];

		for (size_t j = 0; j < w->n_mounts; j++, n_mounts++)
			mounts[n_mounts] =
				(struct check_name){w->mounts[j].path ? w->mounts[j].path : "",
						    &w->mounts[j].pos, n_mounts};
		for (size_t j = 0; j < w->n_exports; j++, n_exports++)
			exports[n_exports] = (struct check_name){w->exports[j].name,
								 &w->exports[j].pos, n_exports};
	}
	check_unique(r, mounts, n_mounts, "path", "mount point");
	check_unique(r, exports, n_exports, "name", "export name");
}

/* Rejects the network address and the broadcast address of a subnet, which no host may use. */
static void check_range_ends(struct spec_reader *r, const struct diag_pos *pos, const char *key,
			     size_t index, const struct ip_range *range)
{
	struct ip_addr net, broadcast;
	char buf[IP_ADDR_STR_MAX];

	if (ip_addr_is_unusable(&range->first) || ip_addr_is_unusable(&range->last)) {
		check_error_at(r, pos, key, index,
			       "the addresses are loopback, multicast or reserved ones; write "
			       "addresses of hosts");
		return;
	}
	if (range->first.family != AF_INET || range->prefix_len > 30)
		return;
	net = ip_addr_network(&range->first, range->prefix_len);
	if (!ip_addr_add(&net, (UINT64_C(1) << (32 - range->prefix_len)) - 1, &broadcast))
		return;
	if (ip_range_contains(range, &net))
		check_error_at(r, pos, key, index,
			       "%s is the address of the subnet itself; begin after it",
			       ip_addr_format(&net, buf, sizeof(buf)));
	if (ip_range_contains(range, &broadcast))
		check_error_at(r, pos, key, index,
			       "%s is the broadcast address of the subnet; end before it",
			       ip_addr_format(&broadcast, buf, sizeof(buf)));
}

static void check_network(struct spec_reader *r, const struct spec_network *w)
{
	struct ip_prefix subnet = {w->range.first, w->range.prefix_len};
	char buf[IP_ADDR_STR_MAX], net[IP_ADDR_STR_MAX];

	if (w->range.first.family == 0)
		return;
	check_range_ends(r, &w->pos, "range", NO_INDEX, &w->range);
	if (w->gateway.family == 0)
		return;
	subnet.addr = ip_addr_network(&subnet.addr, subnet.len);
	ip_addr_format(&w->gateway, buf, sizeof(buf));
	if (ip_addr_is_link_local(&w->gateway) && w->range.first.family == AF_INET6)
		return; /* the gateway may be the link-local address of an IPv6 router */
	if (!ip_prefix_contains(&subnet, &w->gateway))
		check_error(r, &w->pos, "gateway", "%s is outside the subnet %s", buf,
			    ip_prefix_format(&subnet, net, sizeof(net)));
	else if (ip_range_contains(&w->range, &w->gateway))
		check_error(r, &w->pos, "gateway",
			    "%s is inside the range; leave the gateway out of the range", buf);
}

static void explain_overlap(struct spec_reader *r, const struct spec_network *a,
			    const struct spec_network *b)
{
	struct ip_range both = {.prefix_len = (uint8_t)ip_addr_bits(&a->range.first)};
	char text[2 * IP_ADDR_STR_MAX];
	uint64_t n;

	both.first =
		ip_addr_cmp(&a->range.first, &b->range.first) > 0 ? a->range.first : b->range.first;
	both.last = ip_addr_cmp(&a->range.last, &b->range.last) < 0 ? a->range.last : b->range.last;
	n = ip_range_count(&both);
	check_error(r, &a->pos, "range",
		    "overlaps the range of network '%s' on line %u in %" PRIu64
		    " address%s, %s; give each network addresses of its own",
		    b->name, b->pos.line, n, n == 1 ? "" : "es",
		    ip_range_format(&both, text, sizeof(text)));
}

static void check_networks(struct spec_reader *r)
{
	const struct spec *s = r->spec;

	for (size_t i = 0; i < s->n_networks; i++) {
		check_network(r, &s->networks[i]);
		for (size_t j = 0; j < i; j++) {
			if (s->networks[i].range.first.family == 0 ||
			    !ip_range_overlaps(&s->networks[i].range, &s->networks[j].range))
				continue;
			explain_overlap(r, &s->networks[i], &s->networks[j]);
			break;
		}
	}
}

static const struct spec_network *network_of(const struct spec *s, const struct spec_net *net)
{
	for (size_t i = 0; i < s->n_networks; i++)
		if (strcmp(s->networks[i].name, net->network) == 0)
			return &s->networks[i];
	return NULL;
}

/* Returns whether the device is on a network with a VLAN: then the VLAN's link has the addresses,
 * and the plan changes only the MTU and link state of the device itself. */
static bool is_tagged(const struct spec *s, const struct spec_net *net)
{
	const struct spec_network *w = network_of(s, net);

	return w && w->vlan;
}

static void check_net_network(struct spec_reader *r, const struct spec_net *net)
{
	const struct spec *s = r->spec;
	autofree const char **names = NULL;
	const char *near;

	if (!*net->network || network_of(s, net))
		return;
	names = calloc(s->n_networks ? s->n_networks : 1, sizeof(*names));
	if (!names) {
		r->d->out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < s->n_networks; i++)
		names[i] = s->networks[i].name;
	near = diag_suggest(net->network, names, s->n_networks);
	if (near)
		check_error(r, &net->pos, "network",
			    "no network is called '%s'; did you mean '%s'?", net->network, near);
	else
		check_error(r, &net->pos, "network",
			    "no network is called '%s'; add the network to 'networks'",
			    net->network);
}

/* Checks that a device either gets its addresses from a network, or shares the host's address. */
static void check_net_shared(struct spec_reader *r, const struct spec_net *net)
{
	/* An invalid value of `network` has been reported already, so only an absent one is
	 * reported here. */
	if (!net->shared_ip && spec_check_node(r, &net->pos, "network", NO_INDEX) ==
				       spec_check_node(r, &net->pos, NULL, NO_INDEX))
		check_error(r, &net->pos, NULL,
			    "the key 'network' is missing; write for example 'network: data-a', or "
			    "'shared-ip: true'");
	if (!net->shared_ip)
		return;
	if (spec_ha_bonds(r->spec->ha))
		check_error(r, &net->pos, "shared-ip",
			    "the ports of a bond have no addresses to share; write an existing "
			    "bond as the device, with mode: none, or leave shared-ip out");
	if (*net->network)
		check_error(r, &net->pos, "network",
			    "with shared-ip the address is the one that the host has on '%s'; "
			    "leave 'network' out",
			    spec_net_device(net));
	if (net->vfs > 0)
		check_error(r, &net->pos, "vfs",
			    "with shared-ip nothing is changed on '%s'; leave 'vfs' out",
			    spec_net_device(net));
	if (net->n_ips > 1 || (net->n_ips == 1 && ip_range_count(&net->ips[0]) != 1))
		check_error(r, &net->pos, "ips",
			    "with shared-ip all workers use one address; write an address of '%s', "
			    "or leave 'ips' out",
			    spec_net_device(net));
}

/* Rejects VF settings of a device that has no VFs. */
static void check_net_vfs(struct spec_reader *r, const struct spec_net *net)
{
	const char *key = net->vf_spoof_check != SPEC_AUTO ? "vf-spoof-check"
			  : net->vf_trust != SPEC_AUTO	   ? "vf-trust"
			  : net->vf_rate_mbps		   ? "vf-rate"
							   : NULL;

	if (key && (net->vfs == 0 || net->shared_ip))
		check_error(r, &net->pos, key, "with %s '%s' has no VFs; remove %s or %s",
			    net->vfs == 0 ? "vfs: 0" : "shared-ip", spec_net_device(net), key,
			    net->vfs == 0 ? "vfs: 0" : "shared-ip");
}

/* Returns whether bulk data wait until RDMA works. The plan uses the same condition for the ports
 * of a worker. */
static bool waits_for_rdma(const struct spec *spec, const struct spec_net *net)
{
	return net->rdma == SPEC_RDMA_ONLY ||
	       (net->rdma == SPEC_RDMA_ON && spec->on_fallback == SPEC_FALLBACK_REFUSE);
}

static void check_net_rdma(struct spec_reader *r, const struct spec_net *net)
{
	if (net->ipoib_mode != SPEC_IPOIB_AS_FOUND && net->shared_ip)
		check_error(r, &net->pos, "ipoib-mode",
			    "with shared-ip the mode of '%s' stays as it is; leave ipoib-mode out",
			    spec_net_device(net));
	if ((net->roce_mode != SPEC_ROCE_AS_FOUND || net->roce_tos) && net->rdma == SPEC_RDMA_OFF)
		check_error(r, &net->pos, net->roce_tos ? "roce-tos" : "roce-mode",
			    "'%s' has rdma: off, so %s would have no effect; remove one of the two",
			    spec_net_device(net), net->roce_tos ? "roce-tos" : "roce-mode");
	if (waits_for_rdma(r->spec, net) && r->spec->cluster.security == SPEC_SECURITY_ENCRYPT)
		check_error(r, &net->pos, "rdma",
			    "RDMA is not used with cluster.security: encrypt, so bulk data of "
			    "mounts would wait forever%s; write rdma: auto, or security: auth",
			    net->rdma == SPEC_RDMA_ON ? ", since policy.on-fallback is refuse"
						      : "");
	if (net->soft_roce && net->rdma == SPEC_RDMA_OFF)
		check_error(r, &net->pos, "soft-roce",
			    "'%s' has rdma: off, so soft-roce would have no effect; remove one of "
			    "the two",
			    spec_net_device(net));
}

static void check_net_kernel_port(struct spec_reader *r, const struct spec_net *net)
{
	if (net->kernel_port != SPEC_KERNEL_PORT_AUTO && net->shared_ip)
		check_error(
			r, &net->pos, "kernel-port",
			"kernel-port has no effect with shared-ip on '%s'; remove kernel-port or "
			"shared-ip",
			spec_net_device(net));
}

/* Checks one entry of ips against its network, and sets the prefix length of the entry. */
static void check_net_ip(struct spec_reader *r, const struct spec_net *net, size_t index,
			 const struct spec_network *w)
{
	struct ip_prefix subnet = {w->range.first, w->range.prefix_len};
	struct ip_range *range = &net->ips[index];
	char have[2 * IP_ADDR_STR_MAX], want[IP_ADDR_STR_MAX];

	if (range->first.family == 0 || w->range.first.family == 0)
		return;
	subnet.addr = ip_addr_network(&subnet.addr, subnet.len);
	ip_range_format(range, have, sizeof(have));
	ip_prefix_format(&subnet, want, sizeof(want));
	if (!ip_prefix_contains(&subnet, &range->first) ||
	    !ip_prefix_contains(&subnet, &range->last)) {
		check_error_at(r, &net->pos, "ips", index,
			       "%s is outside the subnet %s of network '%s'", have, want, w->name);
		return;
	}
	if (strchr(have, '/') && range->prefix_len != w->range.prefix_len) {
		check_error_at(r, &net->pos, "ips", index,
			       "%s has another length than the subnet %s; leave the /%u out", have,
			       want, range->prefix_len);
		return;
	}
	range->prefix_len = w->range.prefix_len;
	check_range_ends(r, &net->pos, "ips", index, range);
	if (w->gateway.family && ip_range_contains(range, &w->gateway))
		check_error_at(r, &net->pos, "ips", index, "%s holds the gateway of network '%s'",
			       have, w->name);
}

struct check_range {
	struct ip_range range;
	const struct spec_net *net;
	/* index in ips; NO_INDEX: the device gets addresses from its network's range */
	size_t index;
};

static int check_range_cmp(const void *va, const void *vb)
{
	const struct check_range *a = va, *b = vb;
	int order = ip_addr_cmp(&a->range.first, &b->range.first);

	if (order == 0)
		order = ip_addr_cmp(&a->range.last, &b->range.last);
	if (order == 0)
		order = (a->net > b->net) - (a->net < b->net);
	return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* Returns whether an earlier device uses the first addresses of the same network's range. Such
 * devices are not compared here, because the HA mode either uses them as one or rejects them in its
 * planner. */
static bool range_is_taken(const struct spec *s, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (s->nets[j].n_ips == 0 && strcmp(s->nets[j].network, s->nets[i].network) == 0)
			return true;
	return false;
}

/* Collects the addresses of every device: its explicit addresses, or the first addresses of its
 * network's range. */
static size_t collect_ranges(const struct spec *s, size_t n_cores, struct check_range *ranges)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_nets; i++) {
		const struct spec_net *net = &s->nets[i];
		const struct spec_network *w = network_of(s, net);
		struct ip_range taken;

		for (size_t j = 0; j < net->n_ips; j++)
			if (net->ips[j].first.family)
				ranges[n++] = (struct check_range){net->ips[j], net, j};
		if (net->n_ips > 0 || range_is_taken(s, i) || !w || !w->range.first.family ||
		    n_cores == 0)
			continue;
		taken = w->range;
		if (ip_addr_add(&taken.first, n_cores - 1, &taken.last))
			ranges[n++] = (struct check_range){taken, net, NO_INDEX};
	}
	return n;
}

static void report_overlap(struct spec_reader *r, const struct check_range *at,
			   const struct check_range *other)
{
	char buf[2 * IP_ADDR_STR_MAX];

	ip_range_format(&other->range, buf, sizeof(buf));
	if (at->index != NO_INDEX)
		check_error_at(r, &at->net->pos, "ips", at->index,
			       "overlaps %s of '%s'; give each address once", buf,
			       other->net->name);
	else
		check_error(r, &at->net->pos, NULL,
			    "it would use the same addresses as '%s' (%s); write 'ips' for one of "
			    "the two",
			    other->net->name, buf);
}

/* Checks that each address belongs to one device only. After sorting by the first address, only
 * neighbours can overlap. */
static void check_ips_overlap(struct spec_reader *r, size_t n_cores)
{
	const struct spec *s = r->spec;
	autofree struct check_range *ranges = NULL;
	const struct check_range *reach = NULL;
	size_t n = s->n_nets;

	for (size_t i = 0; i < s->n_nets; i++)
		n += s->nets[i].n_ips;
	ranges = calloc(n ? n : 1, sizeof(*ranges));
	if (!ranges) {
		r->d->out_of_memory = true;
		return;
	}
	n = collect_ranges(s, n_cores, ranges);
	qsort(ranges, n, sizeof(*ranges), check_range_cmp);
	for (size_t i = 0; i < n; i++) {
		if (reach && ip_range_overlaps(&reach->range, &ranges[i].range))
			report_overlap(r, &ranges[i], reach);
		if (!reach || ip_addr_cmp(&reach->range.last, &ranges[i].range.last) < 0)
			reach = &ranges[i];
	}
}

static uint64_t count_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Checks that each device has one data IP for each core, from its ips or from its network's
 * range. */
static void check_ip_count(struct spec_reader *r, const struct spec_net *net, size_t n_cores)
{
	const struct spec_network *w = network_of(r->spec, net);
	char range[2 * IP_ADDR_STR_MAX];
	uint64_t have = 0;

	for (size_t i = 0; i < net->n_ips; i++) {
		if (!net->ips[i].first.family)
			return;
		have = count_add(have, ip_range_count(&net->ips[i]));
	}
	if (net->n_ips > 0 && have < n_cores && !net->shared_ip)
		check_error(r, &net->pos, "ips",
			    "%zu cores on '%s' need %zu addresses, but 'ips' has %" PRIu64
			    "; add %" PRIu64,
			    n_cores, net->name, n_cores, have, n_cores - have);
	if (net->n_ips > 0 || !w || !w->range.first.family)
		return;
	have = ip_range_count(&w->range);
	if (have < n_cores)
		check_error(r, &w->pos, "range",
			    "%zu cores on '%s' need %zu addresses, but range %s has %" PRIu64
			    "; write a larger range, or fewer cores",
			    n_cores, net->name, n_cores,
			    ip_range_format(&w->range, range, sizeof(range)), have);
}

static void check_nets(struct spec_reader *r)
{
	const struct spec *s = r->spec;

	if (s->n_nets > SPEC_LEGS_MAX)
		check_error(r, &s->nets[SPEC_LEGS_MAX].pos, NULL,
			    "%zu devices are given, at most %d are allowed", s->n_nets,
			    SPEC_LEGS_MAX);
	for (size_t i = 0; i < s->n_nets; i++) {
		const struct spec_net *net = &s->nets[i];
		const struct spec_network *w = network_of(s, net);

		spec_check_match(r, net);
		check_net_network(r, net);
		check_net_shared(r, net);
		check_net_vfs(r, net);
		check_net_kernel_port(r, net);
		check_net_rdma(r, net);
		spec_check_dcb(r, net);
		for (size_t j = 0; w && j < net->n_ips; j++)
			check_net_ip(r, net, j, w);
		if (*s->management_interface && !is_tagged(s, net) && !net->shared_ip &&
		    strcmp(net->device, s->management_interface) == 0)
			check_error(r, &net->pos, "device",
				    "'%s' is the management interface, which is never "
				    "reconfigured; name another device, give its network a 'vlan', "
				    "or write shared-ip: true",
				    spec_net_device(net));
	}
}

static void check_rules(struct spec_reader *r, const struct spec_worker *w)
{
	size_t n_rules = 0, n_ids = 0, n_ips = 0;

	for (size_t i = 0; i < w->n_exports; i++) {
		size_t ids;

		spec_check_export(r, &w->exports[i]);
		n_rules += spec_export_rules(&w->exports[i], &ids);
		n_ids += ids;
		n_ips += spec_export_ips(r->spec, &w->exports[i]);
	}
	if (n_ips > SPEC_RULE_IPS_MAX)
		check_error(r, &w->pos, "exports",
			    "'peers' lists %zu 'ips' of the hosts in 'clients', but at most %d are "
			    "allowed without a cluster key; write cluster.secret-file, or name "
			    "networks",
			    n_ips, SPEC_RULE_IPS_MAX);
	if (n_rules > SPEC_RULES_MAX)
		check_error(r, &w->pos, "exports",
			    "the 'clients' lists name %zu hosts and networks, but at most %d are "
			    "allowed; name networks, or move some exports to another worker",
			    n_rules, SPEC_RULES_MAX);
	if (n_ids > SPEC_RULE_IDS_MAX)
		check_error(r, &w->pos, "exports",
			    "the maps of users and groups have %zu ranges, at most %d are allowed; "
			    "move some exports to another worker",
			    n_ids, SPEC_RULE_IDS_MAX);
}

static void check_cluster_locks(struct spec_reader *r, const struct spec_mount *m)
{
	if (m->locks != SPEC_LOCKS_CLUSTER)
		return;
	if (m->soft_s)
		check_error(r, &m->pos, "locks", "cluster locks need a hard mount; remove 'soft'");
	if (m->write_back)
		check_error(r, &m->pos, "write-back",
			    "found 'true' with cluster locks, which need each write at the server "
			    "at once; write 'write-back: false'");
}

static void check_worker(struct spec_reader *r, const struct spec_worker *w)
{
	const char *role = spec_role_to_string(w->role);
	const struct spec_node *node =
		spec_node_member(spec_check_node(r, &w->pos, NULL, NO_INDEX), "role");

	/* Without a valid role, the other keys cannot be checked. */
	if (!node || node->bad)
		return;
	if (w->n_mounts > 0 && w->role != SPEC_ROLE_FRONTEND)
		check_error(r, &w->pos, "mounts",
			    "only frontend workers mount, but this role is '%s'; move the mounts "
			    "to a worker with "
			    "'role: frontend'",
			    role);
	if (w->n_exports > 0 && w->role != SPEC_ROLE_COMPUTE)
		check_error(r, &w->pos, "exports",
			    "only compute workers export, but this role is '%s'; move the exports "
			    "to a worker "
			    "with 'role: compute'",
			    role);
	if (w->sessions > 0 && w->role != SPEC_ROLE_COMPUTE)
		check_error(r, &w->pos, "sessions",
			    "only compute workers serve clients, but this role is '%s'; leave "
			    "'sessions' out",
			    role);
	check_rules(r, w);
	if (w->n_mounts > SPEC_MOUNTS_PER_CORE_MAX * MAX_OF(w->n_cores, 1))
		check_error(r, &w->pos, "mounts",
			    "%zu mounts for %zu cores, at most %d per core; add cores", w->n_mounts,
			    w->n_cores, SPEC_MOUNTS_PER_CORE_MAX);
	for (size_t i = 0; i < w->n_mounts; i++)
		if (w->mounts[i].path && strcmp(w->mounts[i].path, "/") == 0)
			check_error(r, &w->mounts[i].pos, "path",
				    "the root directory cannot be a mount point; name another");
	for (size_t i = 0; i < w->n_mounts; i++)
		check_cluster_locks(r, &w->mounts[i]);
}

/* Checks that the host of a mount is one of the peers, unless the cluster's store has its
 * addresses. */
static void check_mount_from(struct spec_reader *r, const struct spec_mount *m)
{
	const struct spec *s = r->spec;
	autofree const char **names = calloc(s->n_peers ? s->n_peers : 1, sizeof(*names));
	const char *near;

	if (!names) {
		r->d->out_of_memory = true;
		return;
	}
	if (!*m->from_host)
		return;
	if (*s->host && strcmp(m->from_host, s->host) == 0) {
		check_error(r, &m->pos, "from",
			    "'%s' is this host itself; name the export of a peer", s->host);
		return;
	}
	for (size_t i = 0; i < s->n_peers; i++) {
		names[i] = s->peers[i].name;
		if (strcmp(names[i], m->from_host) == 0)
			return;
	}
	if (s->cluster.n_etcd > 0)
		return;
	near = diag_suggest(m->from_host, names, s->n_peers);
	if (near)
		check_error(r, &m->pos, "from", "no peer is called '%s'; did you mean '%s'?",
			    m->from_host, near);
	else
		check_error(r, &m->pos, "from",
			    "no peer is called '%s'; add the host to 'peers' with its 'ips', or "
			    "use cluster.etcd",
			    m->from_host);
}

static bool is_own_address(const struct spec *s, const struct ip_addr *a)
{
	for (size_t i = 0; i < s->n_nets; i++) {
		const struct spec_network *w = network_of(s, &s->nets[i]);

		for (size_t j = 0; j < s->nets[i].n_ips; j++)
			if (ip_range_contains(&s->nets[i].ips[j], a))
				return true;
		if (s->nets[i].n_ips == 0 && w && ip_range_contains(&w->range, a))
			return true;
	}
	return false;
}

struct check_ip {
	const struct ip_addr *ip;
	const struct spec_peer *peer;
	size_t index;
};

static int check_ip_cmp(const void *va, const void *vb)
{
	const struct check_ip *a = va, *b = vb;
	int order = ip_addr_cmp(a->ip, b->ip);

	if (order == 0 && a->peer != b->peer)
		order = a->peer < b->peer ? -1 : 1;
	return order ? order : (a->index > b->index) - (a->index < b->index);
}

static void check_peer_ips(struct spec_reader *r)
{
	const struct spec *s = r->spec;
	autofree struct check_ip *ips = NULL;
	char buf[IP_ADDR_STR_MAX];
	size_t n = 0;

	for (size_t i = 0; i < s->n_peers; i++)
		n += s->peers[i].n_ips;
	ips = calloc(n ? n : 1, sizeof(*ips));
	if (!ips) {
		r->d->out_of_memory = true;
		return;
	}
	n = 0;
	for (size_t i = 0; i < s->n_peers; i++)
		for (size_t j = 0; j < s->peers[i].n_ips; j++)
			if (s->peers[i].ips[j].family)
				ips[n++] = (struct check_ip){&s->peers[i].ips[j], &s->peers[i], j};
	qsort(ips, n, sizeof(*ips), check_ip_cmp);
	for (size_t i = 0; i < n; i++) {
		ip_addr_format(ips[i].ip, buf, sizeof(buf));
		if (i > 0 && ip_addr_equal(ips[i].ip, ips[i - 1].ip))
			check_error_at(r, &ips[i].peer->pos, "ips", ips[i].index,
				       "%s is an address of '%s' already; give each address once",
				       buf, ips[i - 1].peer->name);
		else if (ip_addr_is_unusable(ips[i].ip))
			check_error_at(r, &ips[i].peer->pos, "ips", ips[i].index,
				       "%s is not a valid address of another host; write one of "
				       "its data IPs",
				       buf);
		else if (is_own_address(s, ips[i].ip))
			check_error_at(
				r, &ips[i].peer->pos, "ips", ips[i].index,
				"%s is in a range of this host; give each host its own range", buf);
	}
}

/* Warns about a configuration without devices or workers: it is valid but probably a mistake, and
 * nothing else would report it. */
static void check_not_empty(struct spec_reader *r)
{
	const struct spec *s = r->spec;
	struct diag_pos pos = {s->files[0], 0, 0};

	if (s->n_nets == 0 && s->n_workers == 0 && !diag_has_errors(r->d))
		diag_add(r->d, DIAG_WARNING, &pos, NULL,
			 "this configures nothing: there is no device under 'net' and no worker "
			 "under 'workers'; 'plenum config generate' writes a first file");
}

void spec_check(struct spec_reader *r)
{
	const struct spec *s = r->spec;
	size_t n_cores = 0;

	check_network_names(r);
	check_net_names(r);
	check_peer_names(r);
	check_mount_and_export_names(r);
	check_networks(r);
	check_nets(r);
	for (size_t i = 0; i < s->n_workers; i++) {
		const struct spec_worker *w = &s->workers[i];

		n_cores += w->n_cores;
		check_worker(r, w);
		for (size_t j = 0; j < w->n_mounts; j++)
			check_mount_from(r, &w->mounts[j]);
	}
	check_ips_overlap(r, n_cores);
	for (size_t i = 0; i < s->n_nets; i++)
		check_ip_count(r, &s->nets[i], n_cores);
	check_peer_ips(r);
	spec_check_cluster(r);
	spec_check_pools(r);
	spec_check_api(r);
	check_not_empty(r);
	if (!diag_has_errors(r->d))
		spec_check_names_proven(r);
}
