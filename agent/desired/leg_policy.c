/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Legs change often, and workers should not restart because of it. A worker with kernel sockets
 * takes a new leg while it runs. A DPDK worker opens devices only at its start, so a new leg costs
 * a restart. This file avoids restarts for legs that vanish, and limits restarts for legs that
 * return.
 */
#include "agent/desired/leg_policy.h"
#include "netcfg/base/vec.h"
#include <stdio.h>
#include <string.h>

static const struct plan_leg_info *leg_find(const struct plan *p, const char *name)
{
	for (size_t i = 0; p && i < p->n_legs; i++)
		if (strcmp(p->legs[i].name, name) == 0)
			return &p->legs[i];
	return NULL;
}

void leg_policy_describe(const struct plan_leg_info *leg, char *buf, size_t size)
{
	char why[REASON_FORMAT_MAX];

	snprintf(buf, size, "leg %s (%s) is %s%s%s", leg->name,
		 leg->ifname[0]	  ? leg->ifname
		 : leg->device[0] ? leg->device
				  : leg->match,
		 plan_leg_state_to_string(leg->state), reason_is_set(&leg->reason) ? ": " : "",
		 reason_format(&leg->reason, why, sizeof(why)));
}

bool leg_policy_mentions(const json_t *texts, const char *name)
{
	char head[PLENUM_NAME_MAX + 8];
	int len = snprintf(head, sizeof(head), "leg %s (", name);

	for (size_t i = 0; i < json_array_size(texts); i++)
		if (strncmp(json_string_value(json_array_get(texts, i)), head, (size_t)len) == 0)
			return true;
	return false;
}

/* ---- ports ---- */

static const struct sup_worker *worker_find(const struct sup *sup, uint32_t id)
{
	for (const struct sup_worker *w = sup_first(sup); w; w = w->next)
		if (w->id == id)
			return w->state == SUP_UP || w->state == SUP_STARTING ? w : NULL;
	return NULL;
}

/* Returns whether `desired` has a port that `has` lacks or that differs. */
static bool gains_port(const struct launch_config *has, const struct launch_config *desired)
{
	for (uint32_t i = 0; i < desired->n_ports; i++) {
		const struct launch_port *p = sup_port_find(has, desired->ports[i].leg);

		if (!p || !sup_port_equal(p, &desired->ports[i]))
			return true;
	}
	return false;
}

/* Returns whether all ports that are missing in `desired` belong to absent legs. */
static bool loses_absent_only(const struct launch_config *has, const struct launch_config *desired,
			      const struct plan *plan)
{
	for (uint32_t i = 0; i < has->n_ports; i++) {
		const struct plan_leg_info *leg = leg_find(plan, has->ports[i].leg);

		if (!sup_port_find(desired, has->ports[i].leg) &&
		    (!leg || leg->state != PLAN_LEG_ABSENT))
			return false;
	}
	return true;
}

/* Returns whether the configurations differ only in their ports. */
static bool differs_in_ports_only(const struct launch_config *has,
				  const struct launch_config *desired,
				  struct launch_config *scratch)
{
	memcpy(scratch, desired, sizeof(*scratch));
	sup_config_normalise(scratch);
	memcpy(scratch->ports, has->ports, sizeof(scratch->ports));
	scratch->n_ports = has->n_ports;
	return memcmp(scratch, has, sizeof(*has)) == 0;
}

/* Marks a device that the worker has released as a new device: workers open devices only at their
 * start, so only a restart opens it again. */
static void count_releases(const struct sup_worker *w, struct launch_config *desired)
{
	for (uint32_t i = 0; w->started && i < desired->n_ports; i++) {
		const struct launch_port *p = sup_port_find(w->started, desired->ports[i].leg);

		if (p)
			desired->ports[i].again = p->again + w->released[p - w->started->ports];
	}
}

/* Appends the worker's ports of absent legs to the desired ports. */
static void keep_absent(const struct launch_config *has, struct launch_config *desired)
{
	for (uint32_t i = 0; i < has->n_ports && desired->n_ports < LAUNCH_PORTS_MAX; i++) {
		struct launch_port *p = &desired->ports[desired->n_ports];

		if (sup_port_find(desired, has->ports[i].leg))
			continue;
		*p = has->ports[i];
		memset(p->label, 0, sizeof(p->label));
		desired->n_ports++;
	}
}

/* Returns whether all changes can be sent to the running worker, so that it needs no restart. */
static bool can_update_live(const struct launch_config *has, const struct launch_config *desired)
{
	autofree struct launch_config *all = malloc(sizeof(*all));

	if (!all)
		return false;
	memcpy(all, desired, sizeof(*all));
	keep_absent(has, all);
	return sup_ports_follow(has, all);
}

uint64_t leg_policy_keep_ports(const struct sup *sup, const struct plan *plan, bool asked,
			       struct launch_config *desired, size_t n)
{
	autofree struct launch_config *scratch = malloc(sizeof(*scratch));
	uint64_t now = clock_now_ns(), again = 0;

	for (size_t i = 0; scratch && i < n; i++) {
		const struct sup_worker *w = worker_find(sup, desired[i].worker_id);
		const struct launch_config *has = w && w->started ? w->started : NULL;
		uint64_t settles;

		if (w)
			count_releases(w, &desired[i]);
		if (!has || !differs_in_ports_only(&w->config, &desired[i], scratch) ||
		    !loses_absent_only(has, &desired[i], plan))
			continue;
		if (can_update_live(has, &desired[i])) {
			keep_absent(has, &desired[i]);
			continue;
		}
		if (gains_port(&w->config, &desired[i])) {
			settles = w->started_ns + LEG_POLICY_SETTLE_NS;
			if (asked || now >= settles)
				continue;
			again = again ? MIN_OF(again, settles - now) : settles - now;
		}
		memcpy(desired[i].ports, w->config.ports, sizeof(desired[i].ports));
		desired[i].n_ports = w->config.n_ports;
	}
	return again;
}

/* ---- open functions and hugepages ---- */

int leg_policy_held_vfs(const struct sup *sup, char (**ret)[16], size_t *ret_n)
{
	char(*held)[16] = NULL;
	size_t n = 0;

	for (const struct sup_worker *w = sup_first(sup); w; w = w->next)
		for (uint32_t i = 0; w->started && i < w->started->n_ports; i++) {
			char(*name)[16];

			if (!launch_port_is_function(&w->started->ports[i]) || w->released[i])
				continue;
			name = vec_add(&held, &n, sizeof(*name));
			if (!name) {
				free(held);
				return -ENOMEM;
			}
			snprintf(*name, sizeof(*name), "%.15s", w->started->ports[i].device);
		}
	*ret = held;
	*ret_n = n;
	return 0;
}

/* Returns the hugepages of a worker. Must count in the same way as plan_worker.c. */
static uint64_t hugepages_of(const struct launch_config *c)
{
	bool all_xdp = true;

	if (c->transport == LAUNCH_UDP)
		return 0;
	for (uint32_t i = 0; i < c->n_ports; i++)
		all_xdp &= launch_port_is_xdp(&c->ports[i]);
	if (all_xdp)
		return 0;
	return MAX_OF((launch_dpdk_mib(c) + 1) / 2, (uint32_t)PLAN_HUGEPAGES_PER_WORKER);
}

uint64_t leg_policy_held_hugepages(const struct sup *sup)
{
	uint64_t n = 0;

	for (const struct sup_worker *w = sup_first(sup); w; w = w->next)
		n += w->started ? hugepages_of(w->started) : 0;
	return n;
}
