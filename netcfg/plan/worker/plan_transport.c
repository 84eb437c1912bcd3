/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses each worker's transport from what it asks for and what the host offers. Ids, addresses
 * and mounts of workers are in plan_worker.c. */
#include "netcfg/plan/worker/plan_transport.h"
#include "netcfg/plan/backend.h"
#include "netcfg/plan/plan_feature.h"
#include "netcfg/plan/plan_shared.h"
#include "netcfg/plan/transport_choice.h"
#include "netcfg/plan/worker/plan_kernel_port.h"
#include "netcfg/plan/worker/plan_vf_assign.h"
#include <stdio.h>
#include <string.h>

/* A path for messages, such as "workers[1].transport". */
struct transport_path {
	char text[48];
};

static struct transport_path transport_path(size_t entry)
{
	struct transport_path p;

	snprintf(p.text, sizeof(p.text), "workers[%zu].transport", entry);
	return p;
}

/* ---- hugepages ---- */

static uint64_t hugepages_free(const struct plan_builder *b)
{
	const struct plan *running = b->ctx->running;
	uint64_t whole = 0, nodes = 0, held = running ? 0 : b->ctx->held_hugepages;
	bool has_whole = false;

	for (size_t i = 0; i < b->inv->n_hugepages; i++) {
		const struct inv_hugepages *h = &b->inv->hugepages[i];

		if (h->size_kib != PLAN_HUGEPAGE_KIB)
			continue;
		if (h->numa_node == INV_NUMA_NONE) {
			whole += h->free;
			has_whole = true;
		} else {
			nodes += h->free;
		}
	}
	for (size_t i = 0; running && i < running->n_workers; i++)
		if (backend_find(running->workers[i].effective)->hugepages)
			held += running->workers[i].hugepages;
	return (has_whole ? whole : nodes) + held;
}

static uint64_t hugepages_asked(const struct plan_builder *b)
{
	uint64_t asked = 0;

	for (size_t i = 0; i < b->plan->n_workers; i++)
		asked += b->plan->workers[i].hugepages;
	return asked;
}

/* Returns the total number of hugepages to configure: those that exist plus those that are missing.
 * The kernel can usually provide the missing hugepages at once; if the memory of the host is
 * fragmented, it can do so only at boot. */
static unsigned long long hugepages_wanted(const struct plan_builder *b)
{
	uint64_t total = 0, free = hugepages_free(b), asked = hugepages_asked(b);

	for (size_t i = 0; i < b->inv->n_hugepages; i++)
		if (b->inv->hugepages[i].size_kib == PLAN_HUGEPAGE_KIB &&
		    (b->inv->hugepages[i].numa_node == INV_NUMA_NONE))
			total = b->inv->hugepages[i].total;
	return total + (asked > free ? asked - free : 0);
}

static void need_hugepages(struct plan_builder *b)
{
	struct plan_need *need;

	need = plan_need_add(b->plan, "hugepages",
			     "DPDK workers need %llu hugepages of 2 MiB, but %llu are free",
			     (unsigned long long)hugepages_asked(b),
			     (unsigned long long)hugepages_free(b));
	if (!need)
		return;
	snprintf(need->command, sizeof(need->command),
		 "echo vm.nr_hugepages=%llu >/etc/sysctl.d/80-plenum.conf && sysctl --system",
		 hugepages_wanted(b));
	snprintf(need->kernel_args, sizeof(need->kernel_args), "hugepages=%llu",
		 hugepages_wanted(b));
}

/* Returns the MTU of the leg, or of its network if the leg is absent. */
static uint32_t net_mtu(const struct plan_builder *b, const struct spec_net *net)
{
	const struct spec_network *network = planner_network_find(b->spec, net->network);

	for (size_t i = 0; i < b->n_legs; i++)
		if (b->legs[i].net == net)
			return b->legs[i].mtu;
	return network ? network->mtu : 0;
}

/* Returns the hugepages that a worker with a port on each leg needs. */
static uint32_t hugepages_each(const struct plan_builder *b)
{
	uint32_t mib = PLENUM_DPDK_MIB, pages;

	for (size_t i = 0; i < b->spec->n_nets; i++)
		if (b->spec->nets[i].enabled)
			mib += plenum_dpdk_port_mib(net_mtu(b, &b->spec->nets[i]));
	pages = (mib * 1024 + PLAN_HUGEPAGE_KIB - 1) / PLAN_HUGEPAGE_KIB;
	return MAX_OF(pages, (uint32_t)PLAN_HUGEPAGES_PER_WORKER);
}

/* Sets the number of hugepages that each worker needs. The first worker needs none if it has AF_XDP
 * on all legs; a kernel interface supports AF_XDP for only one worker. */
static void count_hugepages(struct plan_builder *b)
{
	bool free = plan_kernel_port_is_all_af_xdp(b);

	for (size_t i = 0; i < b->plan->n_workers; i++) {
		struct plan_worker *w = &b->plan->workers[i];

		if (!backend_find(w->claim)->hugepages)
			continue;
		if (!free || w->asked == SPEC_TRANSPORT_AUTO)
			w->hugepages = hugepages_each(b);
		else if (!plan_failures_find(b->ctx->failures, w))
			free = false;
	}
}

/* ---- the choice ---- */

/* Returns true and sets why if the worker could use a VF of this device, but has to wait until an
 * apply has accepted the device for it. */
static bool device_is_unaccepted(const struct plan_builder *b, const struct plan_worker *w,
				 const struct plan_leg *leg, struct reason *why)
{
	if (plan_vf_is_accepted(b, leg, w) || plan_vf_move_allowed(b, w) || !leg->device->max_vfs ||
	    leg->net->vfs == 0 || !plan_vf_fits(leg, w->claim))
		return false;
	reason_set(
		why, "vf-unused",
		"%.15s (%.17s) is a new device for leg %.32s; 'plenum apply' starts using its VFs",
		leg->device->name, b->plan->legs[leg->index].identity, leg->net->name);
	return true;
}

/* Sets why to the reason why the worker has no VF on the leg, so that DPDK shares the kernel's
 * interface, which is slower. */
void plan_transport_explain_sharing(const struct plan_builder *b, const struct plan_worker *w,
				    const struct plan_leg *leg, struct reason *why)
{
	const struct inv_link *link = leg->device;

	if (device_is_unaccepted(b, w, leg, why))
		return;
	if (link->max_vfs && leg->net->vfs != 0 && !plan_vf_fits(leg, w->claim))
		reason_set(why, "vf-polled",
			   "VFs of %.15s (%.31s) support polling only, so the worker shares the "
			   "interface; transport: dpdk uses a VF",
			   link->name, link->driver);
	else if (leg->why_no_vfs.code[0] && strcmp(leg->why_no_vfs.code, "no-vf") != 0)
		*why = leg->why_no_vfs;
	else if (leg->n_vfs)
		reason_set(
			why, "vf-limit",
			"%.15s has only %u VFs, fewer than its workers; DPDK shares its interface",
			link->name, leg->n_vfs);
	else
		plan_kernel_port_note(why, leg, PLAN_KERNEL_PORT_SHARES);
}

/* Sets the reason for the first leg on which a DPDK worker has no VF. */
static void explain_legs(const struct plan_builder *b, struct plan_worker *w)
{
	for (size_t i = 0; i < b->n_legs; i++)
		if (!b->legs[i].n_vfs && !b->legs[i].shared) {
			plan_transport_explain_sharing(b, w, &b->legs[i], &w->reason);
			return;
		}
}

/* Returns whether the driver can steer a worker's packets to DPDK on every available leg with the
 * host's own address. */
static bool rules_share(const struct plan_builder *b)
{
	bool any = false;

	for (size_t i = 0; i < b->n_legs; i++) {
		if (b->legs[i].shared && !plan_shared_by_rules(&b->legs[i]))
			return false;
		any |= b->legs[i].shared;
	}
	return any;
}

/* Returns true if a leg uses the host's own address and its driver cannot steer packets to DPDK.
 * The worker then uses sockets. */
static bool shares_host_ip(struct plan_builder *b, size_t entry, struct plan_worker *w)
{
	const struct spec_net *net = plan_shared_net(b->spec);

	if (!net || rules_share(b))
		return false;
	w->effective = SPEC_TRANSPORT_UDP;
	reason_set(&w->reason, "shared-ip",
		   "leg %.32s uses the host's own address, so the kernel receives its packets; "
		   "give the leg a network to use %s",
		   net->name, spec_transport_to_string(w->asked));
	if (b->spec->on_fallback == SPEC_FALLBACK_REFUSE)
		diag_add(b->d, DIAG_ERROR, &b->spec->workers[entry].pos, transport_path(entry).text,
			 "%s; policy.on-fallback is refuse; write transport: udp", w->reason.text);
	return true;
}

/* Chooses the transport that the spec names. If hugepages for DPDK are missing, the worker falls
 * back to UDP, or the plan has an error. */
static void choose_asked(struct plan_builder *b, size_t entry, struct plan_worker *w,
			 uint64_t *hugepages)
{
	const struct plan_failure *failed = plan_failures_find(b->ctx->failures, w);

	if (shares_host_ip(b, entry, w)) {
		w->hugepages = 0;
		return;
	}
	if (failed && b->spec->on_fallback == SPEC_FALLBACK_DEGRADE) {
		w->effective = SPEC_TRANSPORT_UDP;
		reason_set(&w->reason, "dpdk-failed", "%s", failed->why);
		return;
	}
	if (*hugepages < w->hugepages) {
		w->effective = SPEC_TRANSPORT_UDP;
		reason_set(&w->reason, "no-hugepages",
			   "%llu hugepages of 2 MiB are free, the worker needs %u",
			   (unsigned long long)*hugepages, w->hugepages);
		need_hugepages(b);
		if (b->spec->on_fallback == SPEC_FALLBACK_REFUSE)
			diag_add(b->d, DIAG_ERROR, &b->spec->workers[entry].pos,
				 transport_path(entry).text,
				 "%s on core %u needs %u hugepages of 2 MiB, but %llu are free and "
				 "policy.on-fallback is refuse; run 'sysctl -w "
				 "vm.nr_hugepages=%llu' and reload, or write transport: udp",
				 spec_transport_to_string(w->asked), w->core, w->hugepages,
				 (unsigned long long)*hugepages, hugepages_wanted(b));
		return;
	}
	*hugepages -= w->hugepages;
	w->effective = w->asked;
	explain_legs(b, w);
}

/* ---- auto ---- */

static const struct inv_core *core_find(const struct inventory *inv, unsigned id)
{
	for (size_t i = 0; i < inv->n_cores; i++)
		if (inv->cores[i].id == id)
			return &inv->cores[i];
	return NULL;
}

/* Returns the accepted transport of the worker. A spec with vfs: 0 or with the host's own address
 * revokes the acceptance. */
static enum spec_transport accepted_claim(const struct plan_builder *b, const struct plan_worker *w)
{
	if (plan_shared_net(b->spec))
		return SPEC_TRANSPORT_UDP;
	for (size_t i = 0; i < b->spec->n_nets; i++)
		if (b->spec->nets[i].enabled && b->spec->nets[i].vfs == 0)
			return SPEC_TRANSPORT_UDP;
	return transport_choice_transport(b->ctx->accepted,
					  transport_choice_core(b->ctx->accepted, w));
}

/* Returns false and sets why if a leg is absent: the leg may have no VFs, and a worker with VFs on
 * only some legs could be slower on the other legs than before. */
static bool all_legs_available(const struct plan_builder *b, struct reason *why)
{
	for (size_t i = 0; i < b->spec->n_nets; i++) {
		const struct spec_net *net = &b->spec->nets[i];
		bool there = !net->enabled;

		for (size_t j = 0; j < b->n_legs && !there; j++)
			there = b->legs[j].net == net;
		if (there)
			continue;
		reason_set(why, "leg-missing",
			   "leg %.32s is absent, so it is unknown whether it has VFs", net->name);
		return false;
	}
	return b->n_legs > 0;
}

static bool is_shared(const struct plan_builder *b, struct reason *why)
{
	const struct spec_net *net = plan_shared_net(b->spec);

	if (net)
		reason_set(
			why, "shared-ip",
			"leg %.32s uses the host's own address, so the kernel receives its packets",
			net->name);
	return net != NULL;
}

static bool has_failed(const struct plan_builder *b, const struct plan_worker *w,
		       struct reason *why)
{
	const struct plan_failure *failed = plan_failures_find(b->ctx->failures, w);

	if (failed)
		reason_set(why, "dpdk-failed", "%s", failed->why);
	return failed != NULL;
}

static bool lacks_memory(uint64_t left, uint32_t needed, struct reason *why)
{
	if (left < needed)
		reason_set(why, "no-hugepages",
			   "%llu hugepages of 2 MiB are free, the worker needs %u",
			   (unsigned long long)left, needed);
	return left < needed;
}

/* Returns the additional hugepages for a move. A worker that already has hugepages keeps using
 * them. */
static uint32_t more_hugepages(const struct plan_builder *b, const struct plan_worker *w)
{
	return backend_find(w->claim)->hugepages ? 0 : hugepages_each(b);
}

/* Returns whether the worker can have a VF on each leg, a suitable core and memory; if not, sets
 * why. */
static bool can_move(struct plan_builder *b, struct plan_worker *w, const struct backend *e,
		     uint64_t left, struct reason *why)
{
	const struct inv_core *core = core_find(b->inv, w->core);

	if (is_shared(b, why))
		return false;
	for (size_t i = 0; i < b->n_legs; i++)
		if (!plan_features_offer(b, &b->legs[i], w, why))
			return false;
	if (!all_legs_available(b, why))
		return false;
	for (size_t i = 0; i < b->n_legs; i++)
		if (e->probe && !e->probe(core, b->legs[i].device, why))
			return false;
	return !has_failed(b, w, why) && !lacks_memory(left, more_hugepages(b, w), why);
}

/* Appends the reason why this transport is unavailable, unless the reason is the same as the
 * previous one or does not fit. */
static void add_refusal(struct reason *all, const struct backend *e, const struct reason *why)
{
	size_t len = strlen(all->text);

	if (!reason_is_set(all))
		*all = *why;
	else if (!reason_equal(all, why))
		snprintf(all->text + len, sizeof(all->text) - len, "; %s: %s",
			 spec_transport_to_string(e->transport), why->text);
}

/* The VFs of the legs and of a worker, saved before a transport is tried. */
struct offers {
	uint32_t n_vfs[PLAN_PORTS_MAX];
	uint16_t vf[PLAN_PORTS_MAX + 1];
};

static void offers_save(const struct plan_builder *b, const struct plan_worker *w, struct offers *o)
{
	for (size_t i = 0; i < b->n_legs; i++)
		o->n_vfs[i] = b->legs[i].n_vfs;
	memcpy(o->vf, w->vf, sizeof(o->vf));
}

static void offers_restore(struct plan_builder *b, struct plan_worker *w, const struct offers *o)
{
	for (size_t i = 0; i < b->n_legs; i++)
		b->legs[i].n_vfs = o->n_vfs[i];
	memcpy(w->vf, o->vf, sizeof(w->vf));
}

/* Moves the worker to the best available transport, and gives the reasons why better transports are
 * unavailable. */
static void move_worker(struct plan_builder *b, struct plan_worker *w, uint64_t *left)
{
	const struct backend *is = backend_find(w->claim);

	for (const struct backend *e = backend_below(NULL); e && e->score > is->score;
	     e = backend_below(e)) {
		struct reason why = {0};
		struct offers before;

		offers_save(b, w, &before);
		if (can_move(b, w, e, *left, &why)) {
			*left -= more_hugepages(b, w);
			w->claim = e->transport;
			w->moves = true;
			return;
		}
		offers_restore(b, w, &before);
		add_refusal(&w->reason, e, &why);
	}
}

/* Keeps the present transport until an operator applies the move, and sets the reason. A move
 * without an operator would put mounts at risk only because a device gained VFs or a new version
 * supports more. */
static void defer_move(struct plan_builder *b, struct plan_worker *w)
{
	const struct inv_link *link = b->legs[0].device;
	const char *to = spec_transport_to_string(w->claim);

	if (b->ctx->may_move)
		reason_set(&w->reason, "no-witness",
			   "no reachable peer can verify moving worker %u to VFs (%s); use 'plenum "
			   "apply --confirm 120s'",
			   w->id, to);
	else
		reason_set(
			&w->reason, "vf-unused",
			"%.15s (%.31s) offers %u VFs; 'plenum apply' moves the worker to them (%s)",
			link->name,
			link->driver[0] ? link->driver : inv_link_kind_to_string(link->kind),
			link->max_vfs, to);
	w->moves = false;
	w->claim = accepted_claim(b, w);
	for (size_t i = 0; i < b->n_legs; i++)
		if (!plan_vf_fits(&b->legs[i], w->claim) || !plan_vf_is_accepted(b, &b->legs[i], w))
			w->vf[b->legs[i].index] = 0;
}

/* Returns the hugepages that remain free after all present claims. */
static uint64_t hugepages_left(const struct plan_builder *b)
{
	uint64_t free = hugepages_free(b), taken = 0;

	for (size_t i = 0; i < b->plan->n_workers; i++)
		if (backend_find(b->plan->workers[i].claim)->hugepages)
			taken += hugepages_each(b);
	return free > taken ? free - taken : 0;
}

static bool has_vf_of(const struct plan_worker *w, const struct plan_leg *leg)
{
	return w->vf[leg->index] && w->vf[leg->index] <= leg->n_vfs;
}

/* Returns whether the worker gets a VF on a leg or device that no apply has accepted. */
static bool gets_unaccepted_vf(const struct plan_builder *b, const struct plan_worker *w)
{
	for (size_t i = 0; i < b->n_legs; i++) {
		const struct plan_leg *leg = &b->legs[i];

		if (has_vf_of(w, leg) && !plan_vf_is_accepted(b, leg, w))
			return true;
	}
	return false;
}

/* Moves the workers that may move. For the other workers, only sets the reason, which names the
 * transport that they could have. */
static void move_all(struct plan_builder *b)
{
	uint32_t n_vfs[PLAN_PORTS_MAX];
	uint64_t left = hugepages_left(b);

	for (int may = 1; may >= 0; may--) {
		for (size_t i = 0; i < b->n_legs; i++)
			n_vfs[i] = b->legs[i].n_vfs;
		for (size_t i = 0; i < b->plan->n_workers; i++) {
			struct plan_worker *w = &b->plan->workers[i];

			if (w->asked != SPEC_TRANSPORT_AUTO || plan_vf_move_allowed(b, w) != may)
				continue;
			move_worker(b, w, &left);
			w->moves |= gets_unaccepted_vf(b, w);
			b->plan->n_moves += may && w->moves;
		}
	}
	for (size_t i = 0; i < b->plan->n_workers; i++)
		if (b->plan->workers[i].moves && !plan_vf_move_allowed(b, &b->plan->workers[i]))
			defer_move(b, &b->plan->workers[i]);
	for (size_t i = 0; i < b->n_legs; i++)
		b->legs[i].n_vfs = n_vfs[i];
}

void plan_transport_claim(struct plan_builder *b)
{
	for (size_t i = 0; i < b->plan->n_workers; i++) {
		struct plan_worker *w = &b->plan->workers[i];

		w->claim = w->asked == SPEC_TRANSPORT_AUTO ? accepted_claim(b, w) : w->asked;
	}
	for (size_t i = 0; i < b->n_legs; i++)
		transport_choice_identify(b->legs[i].device,
					  b->plan->legs[b->legs[i].index].identity);
	for (size_t i = 0; i < b->n_legs; i++)
		plan_features_claim(b, &b->legs[i]);
	move_all(b);
	count_hugepages(b);
}

static void explain_no_vf(const struct plan_builder *b, const struct plan_worker *w,
			  const struct plan_leg *leg, struct reason *why)
{
	if (device_is_unaccepted(b, w, leg, why))
		return;
	if (reason_is_set(&leg->why_no_vfs))
		*why = leg->why_no_vfs;
	else
		reason_set(why, leg->n_vfs ? "vf-limit" : "no-vf",
			   "%.15s has no VF for this worker", leg->device->name);
}

static bool accepted_vf(const struct plan_builder *b, const struct plan_worker *w, const char *leg)
{
	const struct transport_choice *accepted = b->ctx->accepted;

	return transport_choice_find(accepted, transport_choice_core(accepted, w), leg, NULL);
}

/* Returns whether all legs for which the worker has an accepted VF are absent. When such a leg
 * returns, the worker uses its VF again. */
static bool waits_for_leg(const struct plan_builder *b, const struct plan_worker *w)
{
	bool away = b->n_legs == 0;

	for (size_t i = 0; i < b->plan->n_legs; i++) {
		const struct plan_leg_info *leg = &b->plan->legs[i];

		if (!accepted_vf(b, w, leg->name))
			continue;
		if (plan_leg_is_configured(leg))
			return false;
		away = true;
	}
	return away;
}

/* Returns whether the leg is available but the worker's accepted VF on it is not. */
static bool lacks_vf_of(const struct plan_builder *b, const struct plan_worker *w,
			const struct plan_leg *leg)
{
	return !has_vf_of(w, leg) && accepted_vf(b, w, leg->net->name);
}

static bool lacks_vf(const struct plan_builder *b, const struct plan_worker *w)
{
	for (size_t i = 0; i < b->n_legs; i++)
		if (lacks_vf_of(b, w, &b->legs[i]))
			return true;
	return false;
}

/* Returns whether the worker has its VF on at least one leg and its core is still suitable. */
static bool has_vf(const struct plan_builder *b, const struct plan_worker *w, struct reason *why)
{
	const struct backend *e = backend_find(w->claim);
	bool any = waits_for_leg(b, w);

	for (size_t i = 0; i < b->n_legs; i++) {
		const struct plan_leg *leg = &b->legs[i];

		if (has_vf_of(w, leg)) {
			if (e->probe && !e->probe(core_find(b->inv, w->core), leg->device, why))
				return false;
			any = true;
		} else if (!any && (!reason_is_set(why) || lacks_vf_of(b, w, leg))) {
			explain_no_vf(b, w, leg, why);
		}
	}
	return any;
}

/* Uses the claimed transport if it is available, even if legs are absent. If the worker has no VF
 * on a leg, DPDK shares the interface with the kernel, as it does when the spec names the
 * transport. */
static void choose_claimed(struct plan_builder *b, struct plan_worker *w, uint64_t *hugepages)
{
	struct reason why = {0};

	w->lost = true;
	if (has_failed(b, w, &why) || !has_vf(b, w, &why)) {
		if (reason_is_set(&why))
			w->reason = why;
		return;
	}
	if (lacks_memory(*hugepages, w->hugepages, &w->reason)) {
		need_hugepages(b);
		return;
	}
	*hugepages -= w->hugepages;
	w->effective = w->claim;
	w->lost = lacks_vf(b, w);
	explain_legs(b, w);
}

static void choose(struct plan_builder *b, size_t entry, struct plan_worker *w, uint64_t *hugepages)
{
	w->effective = SPEC_TRANSPORT_UDP;
	if (!backend_find(w->claim)->hugepages)
		return;
	if (w->asked == SPEC_TRANSPORT_AUTO)
		choose_claimed(b, w, hugepages);
	else
		choose_asked(b, entry, w, hugepages);
}

/* Makes two passes, so that workers whose entry names a transport get hugepages before workers with
 * transport: auto. */
void plan_transport_choose(struct plan_builder *b)
{
	uint64_t hugepages = hugepages_free(b);

	for (int by_auto = 0; by_auto < 2; by_auto++) {
		struct plan_worker *w = b->plan->workers;

		for (size_t i = 0; i < b->spec->n_workers; i++)
			for (size_t c = 0; c < b->spec->workers[i].n_cores; c++, w++)
				if ((w->asked == SPEC_TRANSPORT_AUTO) == by_auto)
					choose(b, i, w, &hugepages);
	}
}
