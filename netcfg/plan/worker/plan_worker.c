/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the workers of a plan: their ids, cores, addresses, mounts and exports. */
#include "netcfg/plan/plan_conflict.h"
#include "netcfg/plan/plan_feature.h"
#include "netcfg/plan/plan_pools.h"
#include "netcfg/plan/plan_shared.h"
#include "netcfg/plan/planner.h"
#include "netcfg/plan/worker/plan_kernel_port.h"
#include "netcfg/plan/worker/plan_transport.h"
#include "netcfg/plan/worker/plan_worker_ids.h"
#include "netcfg/spec/spec_schema.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Checks the worker's core. If the host does not have the core, only this worker does not run; the
 * plan stays valid. */
static void check_core(struct plan_builder *b, size_t entry, struct plan_worker *w)
{
	const struct spec_worker *sw = &b->spec->workers[entry];
	const struct inv_core *found = NULL;
	char online[128], path[48];

	for (size_t i = 0; i < b->inv->n_cores; i++)
		if (b->inv->cores[i].id == w->core)
			found = &b->inv->cores[i];
	if (found && found->online)
		return;
	inv_format_online(b->inv, online, sizeof(online));
	reason_set(&w->reason, "no-core", "core %u is %s; write one of the online cores: %s",
		   w->core, found ? "offline" : "not on this host",
		   online[0] ? online : "(none is known)");
	w->no_core = true;
	snprintf(path, sizeof(path), "workers[%zu].cores", entry);
	diag_add(b->d, b->spec->on_fallback == SPEC_FALLBACK_REFUSE ? DIAG_ERROR : DIAG_WARNING,
		 &sw->pos, path, "%s", w->reason.text);
}

/* Returns the entry of `net` that provides the leg's addresses. In active-backup without a bond,
 * this is the entry with a list of ips, which all legs share. */
static const struct spec_net *ips_net(const struct plan_builder *b, const struct spec_net *net)
{
	for (size_t i = 0; b->plan->hold_s && i < b->spec->n_nets; i++)
		if (b->spec->nets[i].n_ips)
			return &b->spec->nets[i];
	return net;
}

/* Finds the n-th address of the leg, from the leg's ips or from its network's range or pool.
 * Returns false if there are fewer addresses. */
static bool leg_ip(const struct plan_builder *b, const struct spec_net *net,
		   const struct spec_network *network, uint64_t n, struct ip_prefix *ret)
{
	const struct ip_range *range = &network->range;

	net = ips_net(b, net);
	ret->len = range->prefix_len;
	if (network->pool[0]) {
		if (n >= network->n_taken || !network->taken[n].family)
			return false;
		ret->addr = network->taken[n];
		return true;
	}
	if (!net->n_ips)
		return n < ip_range_count(range) && ip_addr_add(&range->first, n, &ret->addr);
	for (size_t i = 0; i < net->n_ips; i++) {
		uint64_t count = ip_range_count(&net->ips[i]);

		if (n < count)
			return ip_addr_add(&net->ips[i].first, n, &ret->addr);
		n -= count;
	}
	return false;
}

/* Returns true and sets why if another program on this host has added the address: on another link,
 * or on the leg with another prefix. If a worker will answer for the address, the address must not
 * be on the host at all. */
static bool ip_is_taken(const struct plan_builder *b, const struct plan_leg *leg,
			const struct plan_worker *w, const struct ip_prefix *ip, struct reason *why)
{
	char text[IP_ADDR_STR_MAX];
	const struct inv_addr *theirs = NULL;

	for (size_t i = 0; i < b->inv->n_addrs; i++) {
		const struct inv_addr *have = &b->inv->addrs[i];
		bool on_leg = have->ifindex == leg->link->ifindex;

		if (!ip_addr_equal(&have->ip.addr, &ip->addr))
			continue;
		if (on_leg && plan_addr_is_ours(b, have))
			return false; /* Plenum itself has added the address */
		if (!plan_addr_is_ours(b, have) &&
		    !(on_leg && have->ip.len == ip->len && w->effective == SPEC_TRANSPORT_UDP))
			theirs = have;
	}
	if (theirs) {
		const struct inv_link *on = inv_link_by_index(b->inv, theirs->ifindex);

		ip_addr_format(&ip->addr, text, sizeof(text));
		reason_set(why, "address-taken",
			   "worker %u needs %s/%u on %s, but another program added %s/%u to %s; "
			   "remove the address there, or write other 'ips' or another 'pool'",
			   w->id, text, ip->len, leg->link->name, text, theirs->ip.len,
			   on ? on->name : "another interface");
	}
	return theirs != NULL;
}

/* Returns true and sets why if another host was found to use the address. */
static bool ip_is_of_another_host(const struct plan_builder *b, const struct plan_leg *leg,
				  const struct plan_worker *w, const struct ip_prefix *ip,
				  struct reason *why)
{
	const struct plan_conflict *c =
		plan_conflicts_find(b->ctx->conflicts, &ip->addr, leg->link->name);
	char text[160];

	if (!c)
		return false;
	reason_set(why, "address-duplicate",
		   "%s, so worker %u does not use this address; remove the address there, or write "
		   "other 'ips'",
		   plan_conflict_describe(c, text, sizeof(text)), w->id);
	return true;
}

/* Degrades the leg if another host uses an address that Plenum has already added. This can happen
 * if a cable is plugged in after the apply that added the address. The address stays desired,
 * because the other host may leave, but carries no data until then. */
static void check_duplicate(struct plan_builder *b, const struct plan_leg *leg,
			    const struct plan_port *port)
{
	char text[IP_ADDR_STR_MAX];
	struct reason why;

	for (size_t i = 0; i < b->inv->n_addrs; i++) {
		const struct inv_addr *have = &b->inv->addrs[i];

		if (!have->dad_failed || have->ifindex != port->ifindex ||
		    !ip_addr_equal(&have->ip.addr, &port->ip.addr))
			continue;
		reason_set(&why, "address-duplicate",
			   "another host already uses %s (duplicate address detection on %s); "
			   "write other 'ips' or another 'pool'",
			   ip_addr_format(&have->ip.addr, text, sizeof(text)), port->ifname);
		planner_leg_set_state(b, leg->index, PLAN_LEG_DEGRADED, &why);
	}
}

/* Adds the worker's port on the leg, except if another program or host has the address. Returns
 * false if the leg has no address left. */
static bool worker_add_port(struct plan_builder *b, const struct plan_leg *leg, size_t worker)
{
	struct plan_worker *w = &b->plan->workers[worker];
	struct plan_port *port = &w->ports[w->n_ports];
	struct ip_prefix ip;
	struct reason why;

	if (w->no_core)
		return true;
	if (b->plan->hold_s && w->effective == SPEC_TRANSPORT_UDP && w->n_ports)
		return true; /* the kernel can have the address on only one interface */
	if (leg->shared)
		ip = (struct ip_prefix){leg->network->range.first, leg->network->range.prefix_len};
	else if (!leg_ip(b, leg->net, leg->network, w->id - 1, &ip))
		return false;
	if (!leg->shared &&
	    (ip_is_taken(b, leg, w, &ip, &why) || ip_is_of_another_host(b, leg, w, &ip, &why))) {
		planner_leg_set_state(b, leg->index, PLAN_LEG_DEGRADED, &why);
		if (b->spec->on_fallback == SPEC_FALLBACK_REFUSE)
			diag_add(b->d, DIAG_ERROR, &leg->net->pos, NULL, "%s", why.text);
		return true;
	}
	port->ip = ip;
	port->shared = leg->shared;
	port->rdma = leg->net->rdma != SPEC_RDMA_OFF;
	port->rdma_asked = leg->net->rdma == SPEC_RDMA_ON || leg->net->rdma == SPEC_RDMA_ONLY;
	port->udp_sources = (uint8_t)leg->net->udp_sources;
	port->rdma_only = leg->net->rdma == SPEC_RDMA_ONLY ||
			  (port->rdma_asked && b->spec->on_fallback == SPEC_FALLBACK_REFUSE);
	port->stands_by = b->plan->hold_s && w->n_ports;
	memcpy(port->leg, leg->net->name, sizeof(port->leg));
	memcpy(port->label, leg->label, sizeof(port->label));
	memcpy(port->ifname, leg->link->name, sizeof(port->ifname));
	memcpy(port->pci, leg->device->pci, sizeof(port->pci));
	port->ifindex = leg->link->ifindex;
	port->mtu = leg->mtu;
	port->gateway = leg->network->gateway;
	port->mac = leg->link->mac;
	port->kernel_owned = w->effective != SPEC_TRANSPORT_UDP && !leg->shared &&
			     !plan_features_take(b, leg, w, port);
	if (port->kernel_owned && leg->n_vfs)
		plan_transport_explain_sharing(b, w, leg, &w->reason);
	if (port->kernel_owned)
		plan_kernel_port_choose(b, leg, worker, port);
	w->n_ports++;
	check_duplicate(b, leg, port);
	return true;
}

/* Adds the ports of the leg. The worker with id i gets the i-th address of each leg, so its
 * addresses do not depend on which legs are present. */
static void leg_add_ports(struct plan_builder *b, const struct plan_leg *leg)
{
	size_t have = 0;

	for (size_t i = 0; i < b->plan->n_workers; i++)
		have += worker_add_port(b, leg, i);
	if (have == b->plan->n_workers)
		return;
	/* not an error: the workers that have an address of the pool run, and the others do not */
	if (leg->network->pool[0]) {
		struct reason why;

		plan_pool_reason(b, leg->network, &why);
		planner_leg_set_state(b, leg->index, PLAN_LEG_DEGRADED, &why);
	} else {
		diag_add(
			b->d, DIAG_ERROR, &leg->net->pos, NULL,
			"%zu workers need as many addresses, but leg %s has %zu; write a larger %s",
			b->plan->n_workers, leg->net->name, have,
			leg->net->n_ips ? "list of ips" : "range for its network");
	}
}

static bool worker_has_port(const struct plan_worker *w, const char *leg)
{
	for (size_t i = 0; i < w->n_ports; i++)
		if (strcmp(w->ports[i].leg, leg) == 0)
			return true;
	return false;
}

bool plan_reason_is_note(const struct reason *r)
{
	return strcmp(r->code, "no-vf") == 0 || strcmp(r->code, "vf-unused") == 0 ||
	       strcmp(r->code, "kernel-interface") == 0 || strcmp(r->code, "vf-polled") == 0;
}

bool plan_worker_is_content(const struct plan_worker *w)
{
	return !w->lost && (plan_reason_is_note(&w->reason) ||
			    (w->asked == SPEC_TRANSPORT_AUTO && !w->is_of_legs));
}

/* Returns whether a missing leg may replace the worker's present reason: some failures on this host
 * are more important than missing legs. */
static bool legs_come_first(const struct plan_worker *w)
{
	return w->asked == SPEC_TRANSPORT_AUTO || (strcmp(w->reason.code, "shared-ip") != 0 &&
						   strcmp(w->reason.code, "no-hugepages") != 0 &&
						   strcmp(w->reason.code, "dpdk-failed") != 0);
}

/* Sets the worker's reason to a text such as "leg-missing: leg-b is absent". If the worker has no
 * leg at all, the reason is "no-leg", with all legs. */
static void explain_missing_legs(const struct plan *p, struct plan_worker *w)
{
	char legs[REASON_TEXT_MAX] = "";
	size_t len = 0;

	if (w->no_core)
		return;
	for (size_t i = 0; i < p->n_legs && len < sizeof(legs); i++) {
		const struct plan_leg_info *leg = &p->legs[i];

		if (leg->bond[0] || worker_has_port(w, leg->name) ||
		    (leg->state == PLAN_LEG_DISABLED && w->n_ports > 0))
			continue;
		len += (size_t)snprintf(
			legs + len, sizeof(legs) - len, "%s%.32s %s", len ? ", " : "", leg->name,
			plan_leg_is_configured(leg)	  ? "has no address for the worker"
			: leg->state == PLAN_LEG_ABSENT	  ? "is absent"
			: leg->state == PLAN_LEG_DISABLED ? "is disabled"
							  : "is refused");
	}
	w->is_of_legs = w->n_ports == 0 || (len && legs_come_first(w));
	if (w->n_ports == 0)
		reason_set(&w->reason, "no-leg", "%s", legs);
	else if (w->is_of_legs)
		reason_set(&w->reason, "leg-missing", "%s", legs);
}

/* If the bond is degraded, makes the bond's reason the reason of the workers on it. */
static void explain_bond(const struct plan *p, struct plan_worker *w)
{
	const struct plan_leg_info *leg = &p->legs[0];

	if (p->n_legs > 1 && p->legs[1].bond[0] && leg->state == PLAN_LEG_DEGRADED &&
	    w->n_ports > 0 && legs_come_first(w)) {
		w->reason = leg->reason;
		w->is_of_legs = true;
	}
}

/* Adds a note to an active-backup worker that uses sockets: the worker's address is on only one
 * interface, so no other leg can take over. */
static void note_no_backup(const struct plan *p, struct plan_worker *w)
{
	if (p->hold_s && w->effective == SPEC_TRANSPORT_UDP && w->n_ports && !w->note[0])
		snprintf(w->note, sizeof(w->note),
			 "no backup: the kernel has the worker's IP on %.16s", w->ports[0].leg);
}

/* Maximum number of mount workers of one mount. More would not make the mount faster, because they
 * would wait for each other. */
#define MOUNT_WORKERS_MAX 15

/* Makes a core without a mount a mount worker of one of the mounts, which are chosen in turn. */
static void assign_shared_mount(const struct spec_worker *sw, size_t core, struct plan_worker *w)
{
	const struct spec_mount *m = sw->n_mounts > 0 ? &sw->mounts[core % sw->n_mounts] : NULL;
	size_t n = sw->n_mounts;

	if (sw->role != SPEC_ROLE_FRONTEND || !m)
		return;
	if (m->locks == SPEC_LOCKS_CLUSTER || m->write_back) {
		/* Use a single worker for a mount with cluster locks or write-back: one worker must
		 * see all lock requests or held writes, and all data that depends on them. */
		if (core >= n)
			snprintf(w->note, sizeof(w->note), "idle: a mount with %s has one core",
				 m->write_back ? "write-back" : "cluster locks");
		return;
	}
	w->has_mount_workers = core < n && sw->n_cores > n + core;
	if (core < n || core / n > MOUNT_WORKERS_MAX)
		return;
	w->shared_mount = &sw->mounts[core % n];
	w->mount_worker = (unsigned)(core / n);
	snprintf(w->note, sizeof(w->note), "carries data of %.43s", w->shared_mount->path);
}

/* Assigns the mounts of an entry to its cores in turn. Exports are not distributed: each core
 * serves all of them, and clients distribute their mounts over the cores. */
static int assign_mounts(const struct spec_worker *sw, size_t core, struct plan_worker *w)
{
	size_t n = sw->n_cores;

	w->sessions = sw->sessions;
	w->exports = sw->exports;
	w->n_exports = sw->n_exports;
	if (sw->n_mounts > core) {
		w->mounts = calloc(sw->n_mounts, sizeof(*w->mounts));
		if (!w->mounts)
			return -ENOMEM;
		for (size_t m = core; m < sw->n_mounts; m += n)
			w->mounts[w->n_mounts++] = &sw->mounts[m];
	}
	assign_shared_mount(sw, core, w);
	if (!w->n_exports && !w->n_mounts && !w->shared_mount && sw->role != SPEC_ROLE_DRIVES &&
	    !w->note[0])
		snprintf(w->note, sizeof(w->note), "idle: its entry has %s",
			 sw->role == SPEC_ROLE_FRONTEND ? "fewer mounts than cores" : "no exports");
	return 0;
}

/* Lists the addresses from the spec alone, so that peers need no update when a leg appears or
 * disappears. Only the host's own addresses come from the inventory. */
static void worker_list_ips(const struct plan_builder *b, struct plan_worker *w)
{
	const struct spec *spec = b->spec;

	for (size_t i = 0; i < spec->n_nets && i < ARRAY_SIZE(w->ips); i++) {
		const struct spec_network *network =
			planner_network_find(spec, spec->nets[i].network);
		struct ip_prefix ip;

		if (spec->nets[i].shared_ip && b->shared[i].range.first.family)
			w->ips[w->n_ips++] = b->shared[i].range.first;
		else if (network && leg_ip(b, &spec->nets[i], network, w->id - 1, &ip))
			w->ips[w->n_ips++] = ip.addr;
		if (b->plan->hold_s)
			return;
	}
}

/* ---- numbers ---- */

/* Returns whether every leg has an address for this id, or will have one from its pool. */
static bool id_has_addresses(const struct plan_builder *b, uint32_t id)
{
	const struct spec *spec = b->spec;
	struct ip_prefix ip;

	for (size_t i = 0; i < spec->n_nets; i++) {
		const struct spec_network *network =
			planner_network_find(spec, spec->nets[i].network);

		if (network && !leg_ip(b, &spec->nets[i], network, id - 1, &ip) &&
		    id > plan_pool_need(spec, network))
			return false;
	}
	return true;
}

static bool id_is_taken(const struct plan *p, uint32_t id)
{
	for (size_t i = 0; i < p->n_workers; i++)
		if (p->workers[i].id == id)
			return true;
	return false;
}

/* Lists the cores of the spec, each with the core that it replaces by `workers-set:`. */
static void list_places(const struct spec *spec, struct plan_worker_place *places)
{
	unsigned was[SPEC_CORES_MAX];

	for (size_t i = 0; i < spec->n_workers; i++) {
		const struct spec_worker *sw = &spec->workers[i];
		const size_t n = spec_override_cores(spec, sw, was, ARRAY_SIZE(was));

		for (size_t c = 0; c < sw->n_cores; c++)
			*places++ = (struct plan_worker_place){.core = sw->cores[c],
							       .moved = n > 0,
							       .was = n == sw->n_cores ? was[c]
										       : UINT_MAX};
	}
}

/* Gives workers their ids from the record, except ids for which a leg has no address. */
static int number_from_record(struct plan_builder *b, const struct plan_worker_ids *record)
{
	const size_t n = b->plan->n_workers;
	autofree struct plan_worker_place *places = calloc(n, sizeof(*places));
	autofree uint32_t *ids = calloc(n, sizeof(*ids));
	int r;

	if (!places || !ids)
		return -ENOMEM;
	list_places(b->spec, places);
	r = plan_worker_ids_match(record, places, n, ids);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct plan_worker *w = &b->plan->workers[i];

		if (!ids[i] || id_is_taken(b->plan, ids[i]) || !id_has_addresses(b, ids[i]))
			continue;
		w->id = ids[i];
		plan_worker_ids_core(record, ids[i], &w->was_core);
	}
	return r;
}

/* Sets the ids of the workers. The worker of a core keeps its id from the record. A worker that has
 * moved keeps its id on the new core. Other workers get the lowest free ids. */
static int number_workers(struct plan_builder *b)
{
	struct plan *p = b->plan;
	uint32_t id = 1;
	int r = b->ctx->worker_ids ? number_from_record(b, b->ctx->worker_ids) : 0;

	for (size_t i = 0; i < p->n_workers; i++) {
		while (!p->workers[i].id && id_is_taken(p, id))
			id++;
		if (!p->workers[i].id)
			p->workers[i].id = id;
	}
	return r;
}

/* ---- plan_workers_build ---- */

static int worker_build(struct plan_builder *b, size_t entry, size_t core, struct plan_worker *w)
{
	const struct spec_worker *sw = &b->spec->workers[entry];

	w->role = sw->role;
	w->udp_port = plan_shared_port(b, w->id);
	check_core(b, entry, w);
	worker_list_ips(b, w);
	return assign_mounts(sw, core, w);
}

static int workers_alloc(struct plan_builder *b, size_t n)
{
	const struct spec *spec = b->spec;
	struct plan *p = b->plan;

	p->workers = calloc(n, sizeof(*p->workers));
	if (!p->workers)
		return -ENOMEM;
	for (size_t i = 0; i < spec->n_workers; i++)
		for (size_t c = 0; c < spec->workers[i].n_cores; c++) {
			p->workers[p->n_workers].asked = spec->workers[i].transport;
			p->workers[p->n_workers].was_core = spec->workers[i].cores[c];
			p->workers[p->n_workers++].core = spec->workers[i].cores[c];
		}
	return number_workers(b);
}

static size_t count_cores(const struct spec *spec)
{
	size_t n = 0;

	for (size_t i = 0; i < spec->n_workers; i++)
		n += spec->workers[i].n_cores;
	return n;
}

int plan_worker_numbers(const struct spec *spec, const struct plan_worker_ids *p,
			uint32_t **ret_ids)
{
	const struct plan_context ctx = {.worker_ids = p};
	struct plan plan = {.hold_s = spec->ha == SPEC_HA_ACTIVE_BACKUP && spec->n_nets &&
				      spec->nets[0].vfs > 0};
	struct plan_builder b = {.spec = spec, .given = spec, .ctx = &ctx, .plan = &plan};
	const size_t n = count_cores(spec);
	autofree uint32_t *ids = calloc(MAX_OF(n, 1), sizeof(*ids));
	int r = ids ? 0 : -ENOMEM;

	if (r == 0 && n)
		r = workers_alloc(&b, n);
	for (size_t i = 0; i < n && r == 0; i++)
		ids[i] = plan.workers[i].id;
	free(plan.workers);
	if (r == 0)
		*ret_ids = ptr_take(ids);
	return r;
}

int plan_workers_build(struct plan_builder *b)
{
	const struct spec *spec = b->spec;
	const size_t n = count_cores(spec);
	size_t next = 0;
	int r;

	r = n ? workers_alloc(b, n) : 0;
	if (r < 0)
		return r;
	plan_transport_claim(b);
	if (n == 0)
		return 0;
	if (spec->n_nets == 0)
		diag_add(b->d, DIAG_ERROR, &spec->workers[0].pos, "net",
			 "the workers have no leg; write a leg under 'net'");
	plan_transport_choose(b);
	for (size_t i = 0; i < spec->n_workers && r == 0; i++)
		for (size_t c = 0; c < spec->workers[i].n_cores && r == 0; c++)
			r = worker_build(b, i, c, &b->plan->workers[next++]);
	if (r < 0)
		return r;
	for (size_t leg = 0; leg < b->n_legs; leg++)
		leg_add_ports(b, &b->legs[leg]);
	for (size_t i = 0; i < b->plan->n_workers; i++) {
		explain_missing_legs(b->plan, &b->plan->workers[i]);
		explain_bond(b->plan, &b->plan->workers[i]);
		note_no_backup(b->plan, &b->plan->workers[i]);
	}
	return 0;
}
