/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests to inject faults. They are refused if the running policy does not allow faults, or if
 * the leg or peer does not exist. */
#include "agent/control/control_internal.h"
#include <string.h>

_Static_assert(FAULTS_BY_MAX >= REQUESTER_MAX, "a client's description fits");

static bool is_leg(const struct agent *a, const char *name)
{
	for (size_t i = 0; i < a->running.plan->n_legs; i++)
		if (strcmp(a->running.plan->legs[i].name, name) == 0)
			return true;
	return false;
}

/* Returns whether a fault may name this peer. It may name a peer in the configuration, the peer of
 * a worker's path, or any IP address. */
static bool is_peer(const struct agent *a, const char *name)
{
	const struct spec *s = a->running.spec;
	struct ip_addr addr;

	if (ip_addr_parse(name, &addr) == 0)
		return true;
	for (size_t i = 0; i < s->n_peers; i++)
		if (strcmp(s->peers[i].name, name) == 0)
			return true;
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		for (size_t i = 0;
		     w->stats && i < LAUNCH_PATHS_MAX && i < launch_stat_get(&w->stats->n_paths);
		     i++)
			if (strncmp(w->stats->paths[i].peer, name, PLENUM_NAME_MAX) == 0)
				return true;
	return false;
}

void control_get_faults(struct agent *a, struct control_reply *r)
{
	control_json(r, 200, faults_to_json(&a->faults));
}

void control_get_fault(struct agent *a, uint32_t id, struct control_reply *r)
{
	json_t *all = faults_to_json(&a->faults), *fault;
	char why[64];
	size_t i;

	snprintf(why, sizeof(why), "no fault %u; see 'plenum fault show'", id);
	control_error(r, 404, "not-found", why, NULL);
	json_array_foreach (json_object_get(all, "faults"), i, fault)
		if (json_integer_value(json_object_get(fault, "id")) == (json_int_t)id) {
			json_decref(r->json);
			control_json(r, 200, json_incref(fault));
			break;
		}
	json_decref(all);
}

void control_fault_add(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r)
{
	const struct privsep_fault *want = &m->fault;
	struct launch_fault f = {.ways = want->ways,
				 .drop_ppm = want->drop_ppm,
				 .duplicate_ppm = want->duplicate_ppm,
				 .reorder_ppm = want->reorder_ppm,
				 .delay_us = want->delay_us};
	char by[REQUESTER_MAX], why[PLENUM_NAME_MAX + 128];
	uint32_t id;

	if (!a->running.spec || !a->running.plan || !a->running.spec->fault_injection) {
		control_error(r, 403, "not-allowed",
			      "fault injection is not allowed; set policy.fault-injection: true "
			      "and apply",
			      NULL);
		return;
	}
	if (want->leg[0] && !is_leg(a, want->leg)) {
		snprintf(why, sizeof(why), "no leg '%s'; see 'plenum net show'", want->leg);
		control_error(r, 404, "not-found", why, NULL);
		return;
	}
	if (want->peer[0] && !is_peer(a, want->peer)) {
		snprintf(why, sizeof(why),
			 "no peer '%s'; give the name of a configured or connected peer, or an "
			 "address",
			 want->peer);
		control_error(r, 404, "not-found", why, NULL);
		return;
	}
	memcpy(f.leg, want->leg, sizeof(f.leg));
	memcpy(f.peer, want->peer, sizeof(f.peer));
	if (faults_add(&a->faults, &f, want->ttl_s, clients_describe(cl, by, sizeof(by)), &id) < 0)
		control_error(r, 409, "too-many",
			      "the maximum number of faults is active; remove a fault first", NULL);
	else
		control_created(r, json_pack("{s:I}", "id", (json_int_t)id), "/v1/faults/%u", id);
}

void control_fault_del(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r)
{
	char by[REQUESTER_MAX], why[REQUESTER_MAX + 64];
	size_t n;

	snprintf(why, sizeof(why), "removed by %s", clients_describe(cl, by, sizeof(by)));
	n = faults_end(&a->faults, m->fault.id, why);
	if (n == 0 && m->fault.id) {
		snprintf(why, sizeof(why), "no fault %u; see 'plenum fault show'", m->fault.id);
		control_error(r, 404, "not-found", why, NULL);
	} else {
		control_json(r, 200, json_pack("{s:I}", "removed", (json_int_t)n));
	}
}
