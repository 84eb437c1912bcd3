/* SPDX-License-Identifier: BSD-3-Clause */
/* What a worker asks for, what the host has for it, and what it gets. Apart from the workers, whose
 * numbers, addresses and mounts have nothing to do with it. */
#include "netcfg/plan/plan_transport.h"
#include "netcfg/feature/plan_kernel_port.h"
#include "netcfg/feature/plan_shared.h"
#include "netcfg/feature/plan_vf.h"
#include "netcfg/plan/backend.h"
#include "netcfg/plan/transport_choice.h"
#include <stdio.h>
#include <string.h>

/* "workers[1].transport" */
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

/* As many as there are, and those that all workers on DPDK need and are not free. Most of the time
 * the kernel finds them at once; where memory is in pieces, only at boot. */
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

	need = plan_need_add(
		b->plan, "hugepages", "workers on DPDK need %llu hugepages of 2 MiB, %llu are free",
		(unsigned long long)hugepages_asked(b), (unsigned long long)hugepages_free(b));
	if (!need)
		return;
	snprintf(need->command, sizeof(need->command),
		 "echo vm.nr_hugepages=%llu >/etc/sysctl.d/80-plenum.conf && sysctl --system",
		 hugepages_wanted(b));
	snprintf(need->kernel_args, sizeof(need->kernel_args), "hugepages=%llu",
		 hugepages_wanted(b));
}

/* Of a leg that is not there: as its network has it, should it come. */
static uint32_t net_mtu(const struct plan_builder *b, const struct spec_net *net)
{
	const struct spec_network *network = planner_network_find(b->spec, net->network);

	for (size_t i = 0; i < b->n_legs; i++)
		if (b->legs[i].net == net)
			return b->legs[i].mtu;
	return network ? network->mtu : 0;
}

/* With a port on each leg. */
static uint32_t hugepages_each(const struct plan_builder *b)
{
	uint32_t mib = PLENUM_DPDK_MIB, pages;

	for (size_t i = 0; i < b->spec->n_nets; i++)
		if (b->spec->nets[i].enabled)
			mib += plenum_dpdk_port_mib(net_mtu(b, &b->spec->nets[i]));
	pages = (mib * 1024 + PLAN_HUGEPAGE_KIB - 1) / PLAN_HUGEPAGE_KIB;
	return MAX_OF(pages, (uint32_t)PLAN_HUGEPAGES_PER_WORKER);
}

/* Interfaces have AF_XDP for one worker: for the first that does not fail at it. */
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

/* It could have a VF of the leg, and nobody has agreed to one of this device. */
static bool is_not_agreed(const struct plan_builder *b, const struct plan_worker *w,
			  const struct plan_leg *leg, struct reason *why)
{
	if (plan_vf_is_agreed(b, leg, w) || plan_vf_may_move(b, w) || !leg->device->max_vfs ||
	    leg->net->vfs == 0 || !plan_vf_fits(leg, w->claim))
		return false;
	reason_set(why, "vf-unused",
		   "%.15s (%.17s) is not what was agreed to for %.32s; 'plenum apply' takes its "
		   "VFs",
		   leg->device->name, b->plan->legs[leg->index].identity, leg->net->name);
	return true;
}

/* DPDK without a VF of its own: on the kernel's interface, where it is slower. */
void plan_transport_explain_sharing(const struct plan_builder *b, const struct plan_worker *w,
				    const struct plan_leg *leg, struct reason *why)
{
	const struct inv_link *link = leg->device;

	if (is_not_agreed(b, w, leg, why))
		return;
	if (link->max_vfs && leg->net->vfs != 0 && !plan_vf_fits(leg, w->claim))
		reason_set(why, "vf-polled",
			   "VFs of %.15s (%.31s) can only be polled, so the worker shares it; "
			   "transport: dpdk takes one",
			   link->name, link->driver);
	else if (leg->why_no_vfs.code[0] && strcmp(leg->why_no_vfs.code, "no-vf") != 0)
		*why = leg->why_no_vfs;
	else if (leg->n_vfs)
		reason_set(why, "vf-limit",
			   "%.15s has %u VFs and more workers than that, DPDK shares its interface",
			   link->name, leg->n_vfs);
	else
		plan_kernel_port_note(why, leg, PLAN_KERNEL_PORT_SHARES);
}

/* On DPDK, with no VF on a leg: of the first of those. */
static void explain_legs(const struct plan_builder *b, struct plan_worker *w)
{
	for (size_t i = 0; i < b->n_legs; i++)
		if (!b->legs[i].n_vfs && !b->legs[i].shared) {
			plan_transport_explain_sharing(b, w, &b->legs[i], &w->reason);
			return;
		}
}

/* Whether every leg on the host's own address, of those that are there, has a device whose driver
 * gives DPDK what is for a worker. */
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

/* True where a leg is on the host's own address and the kernel has to have what comes to it, so the
 * worker uses its sockets. */
static bool shares_host_ip(struct plan_builder *b, size_t entry, struct plan_worker *w)
{
	const struct spec_net *net = plan_shared_net(b->spec);

	if (!net || rules_share(b))
		return false;
	w->effective = SPEC_TRANSPORT_UDP;
	reason_set(
		&w->reason, "shared-ip",
		"%.32s is on the host's own address, which the kernel has; give it a network for "
		"%s",
		net->name, spec_transport_to_string(w->asked));
	if (b->spec->on_fallback == SPEC_FALLBACK_REFUSE)
		diag_add(b->d, DIAG_ERROR, &b->spec->workers[entry].pos, transport_path(entry).text,
			 "%s; policy.on-fallback is refuse; write transport: udp", w->reason.text);
	return true;
}

/* Whether DPDK has the memory it needs; else the worker falls back to UDP, or that is an error. */
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
		reason_set(&w->reason, "no-hugepages", "%llu free of 2 MiB, %u needed",
			   (unsigned long long)*hugepages, w->hugepages);
		need_hugepages(b);
		if (b->spec->on_fallback == SPEC_FALLBACK_REFUSE)
			diag_add(b->d, DIAG_ERROR, &b->spec->workers[entry].pos,
				 transport_path(entry).text,
				 "%s on core %u has too few hugepages: %llu of 2 MiB are free, %u "
				 "are needed and policy.on-fallback is refuse; 'sysctl -w "
				 "vm.nr_hugepages=%llu' and reload, or write transport: udp",
				 spec_transport_to_string(w->asked), w->core,
				 (unsigned long long)*hugepages, w->hugepages, hugepages_wanted(b));
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

/* What was agreed for the worker. Who writes that a device has no VFs, or is on the host's own
 * address, takes that back. */
static enum spec_transport claim_agreed(const struct plan_builder *b, const struct plan_worker *w)
{
	if (plan_shared_net(b->spec))
		return SPEC_TRANSPORT_UDP;
	for (size_t i = 0; i < b->spec->n_nets; i++)
		if (b->spec->nets[i].enabled && b->spec->nets[i].vfs == 0)
			return SPEC_TRANSPORT_UDP;
	return transport_choice_transport(b->ctx->agreed, w->core);
}

/* A leg that is not there may have no VFs, and a worker that has them on some legs alone would be
 * slower on the others than it was. */
static bool all_legs_are_there(const struct plan_builder *b, struct reason *why)
{
	for (size_t i = 0; i < b->spec->n_nets; i++) {
		const struct spec_net *net = &b->spec->nets[i];
		bool there = !net->enabled;

		for (size_t j = 0; j < b->n_legs && !there; j++)
			there = b->legs[j].net == net;
		if (there)
			continue;
		reason_set(why, "leg-missing", "%.32s is not there, and may have no VFs",
			   net->name);
		return false;
	}
	return b->n_legs > 0;
}

static bool is_shared(const struct plan_builder *b, struct reason *why)
{
	const struct spec_net *net = plan_shared_net(b->spec);

	if (net)
		reason_set(why, "shared-ip",
			   "%.32s is on the host's own address, which the kernel has", net->name);
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
		reason_set(why, "no-hugepages", "%llu free of 2 MiB, %u needed",
			   (unsigned long long)left, needed);
	return left < needed;
}

/* What it has by its claim goes with it to another. */
static uint32_t more_hugepages(const struct plan_builder *b, const struct plan_worker *w)
{
	return backend_find(w->claim)->hugepages ? 0 : hugepages_each(b);
}

/* A VF of each leg, a core and memory for it. False: not, and why. */
static bool can_have(struct plan_builder *b, struct plan_worker *w, const struct backend *e,
		     uint64_t left, struct reason *why)
{
	const struct inv_core *core = core_find(b->inv, w->core);

	if (is_shared(b, why))
		return false;
	for (size_t i = 0; i < b->n_legs; i++)
		if (!plan_vf_offer(b, &b->legs[i], w, why))
			return false;
	if (!all_legs_are_there(b, why))
		return false;
	for (size_t i = 0; i < b->n_legs; i++)
		if (e->probe && !e->probe(core, b->legs[i].device, why))
			return false;
	return !has_failed(b, w, why) && !lacks_memory(left, more_hugepages(b, w), why);
}

/* One for all that are refused for the same, else each in its turn, as far as there is room. */
static void add_refusal(struct reason *all, const struct backend *e, const struct reason *why)
{
	size_t len = strlen(all->text);

	if (!reason_is_set(all))
		*all = *why;
	else if (!reason_equal(all, why))
		snprintf(all->text + len, sizeof(all->text) - len, "; %s: %s",
			 spec_transport_to_string(e->transport), why->text);
}

/* What the legs have to give, as it is before a worker is tried. */
struct offers {
	uint32_t n_vfs[PLAN_PORTS_MAX];
	uint16_t vf[PLAN_PORTS_MAX + 1];
};

static void offers_note(const struct plan_builder *b, const struct plan_worker *w, struct offers *o)
{
	for (size_t i = 0; i < b->n_legs; i++)
		o->n_vfs[i] = b->legs[i].n_vfs;
	memcpy(o->vf, w->vf, sizeof(o->vf));
}

static void offers_return(struct plan_builder *b, struct plan_worker *w, const struct offers *o)
{
	for (size_t i = 0; i < b->n_legs; i++)
		b->legs[i].n_vfs = o->n_vfs[i];
	memcpy(w->vf, o->vf, sizeof(w->vf));
}

/* To the best that can be had; of the better ones it says why not. */
static void move_worker(struct plan_builder *b, struct plan_worker *w, uint64_t *left)
{
	const struct backend *is = backend_find(w->claim);

	for (const struct backend *e = backend_below(NULL); e && e->score > is->score;
	     e = backend_below(e)) {
		struct reason why = {0};
		struct offers before;

		offers_note(b, w, &before);
		if (can_have(b, w, e, *left, &why)) {
			*left -= more_hugepages(b, w);
			w->claim = e->transport;
			w->moves = true;
			return;
		}
		offers_return(b, w, &before);
		add_refusal(&w->reason, e, &why);
	}
}

/* What they could have waits for somebody who asks: nobody's mounts are to be at stake for what a
 * device came to offer, or a program to know; nor where nobody could tell that they are. */
static void stay(struct plan_builder *b, struct plan_worker *w)
{
	const struct inv_link *link = b->legs[0].device;
	const char *to = spec_transport_to_string(w->claim);

	if (b->ctx->may_move)
		reason_set(&w->reason, "no-witness",
			   "no peer answers worker %u now, so none could tell whether it goes on; "
			   "'plenum apply --confirm 120s' takes it to VFs (%s)",
			   w->id, to);
	else
		reason_set(&w->reason, "vf-unused",
			   "%.15s (%.31s) offers %u VFs; 'plenum apply' takes them (%s)",
			   link->name,
			   link->driver[0] ? link->driver : inv_link_kind_to_string(link->kind),
			   link->max_vfs, to);
	w->moves = false;
	w->claim = claim_agreed(b, w);
	for (size_t i = 0; i < b->n_legs; i++)
		if (!plan_vf_fits(&b->legs[i], w->claim) || !plan_vf_is_agreed(b, &b->legs[i], w))
			w->vf[b->legs[i].index] = 0;
}

/* Hugepages that are left by those who come first. */
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

/* It has been agreed to, on other legs or devices than these. */
static bool takes_more(const struct plan_builder *b, const struct plan_worker *w)
{
	for (size_t i = 0; i < b->n_legs; i++) {
		const struct plan_leg *leg = &b->legs[i];

		if (has_vf_of(w, leg) && !plan_vf_is_agreed(b, leg, w))
			return true;
	}
	return false;
}

/* First those who may; what the others could have is only said. */
static void move_all(struct plan_builder *b)
{
	uint32_t n_vfs[PLAN_PORTS_MAX];
	uint64_t left = hugepages_left(b);

	for (int may = 1; may >= 0; may--) {
		for (size_t i = 0; i < b->n_legs; i++)
			n_vfs[i] = b->legs[i].n_vfs;
		for (size_t i = 0; i < b->plan->n_workers; i++) {
			struct plan_worker *w = &b->plan->workers[i];

			if (w->asked != SPEC_TRANSPORT_AUTO || plan_vf_may_move(b, w) != may)
				continue;
			move_worker(b, w, &left);
			w->moves |= takes_more(b, w);
			b->plan->n_moves += may && w->moves;
		}
	}
	for (size_t i = 0; i < b->plan->n_workers; i++)
		if (b->plan->workers[i].moves && !plan_vf_may_move(b, &b->plan->workers[i]))
			stay(b, &b->plan->workers[i]);
	for (size_t i = 0; i < b->n_legs; i++)
		b->legs[i].n_vfs = n_vfs[i];
}

void plan_transport_claim(struct plan_builder *b)
{
	for (size_t i = 0; i < b->plan->n_workers; i++) {
		struct plan_worker *w = &b->plan->workers[i];

		w->claim = w->asked == SPEC_TRANSPORT_AUTO ? claim_agreed(b, w) : w->asked;
	}
	for (size_t i = 0; i < b->n_legs; i++)
		transport_choice_identify(b->legs[i].device,
					  b->plan->legs[b->legs[i].index].identity);
	for (size_t i = 0; i < b->n_legs; i++)
		plan_vf_check_leg(b, &b->legs[i]);
	move_all(b);
	count_hugepages(b);
}

static void explain_no_vf(const struct plan_builder *b, const struct plan_worker *w,
			  const struct plan_leg *leg, struct reason *why)
{
	if (is_not_agreed(b, w, leg, why))
		return;
	if (reason_is_set(&leg->why_no_vfs))
		*why = leg->why_no_vfs;
	else
		reason_set(why, leg->n_vfs ? "vf-limit" : "no-vf", "%.15s has no VF for it",
			   leg->device->name);
}

/* Something was agreed of a leg that is not there, and of none that is: when that comes back the
 * worker has its VF again. */
static bool waits_for_leg(const struct plan_builder *b, const struct plan_worker *w)
{
	bool away = b->n_legs == 0;

	for (size_t i = 0; i < b->plan->n_legs; i++) {
		const struct plan_leg_info *leg = &b->plan->legs[i];

		if (!transport_choice_find(b->ctx->agreed, w->core, leg->name, NULL))
			continue;
		if (plan_leg_is_configured(leg))
			return false;
		away = true;
	}
	return away;
}

/* The leg is there without the VF that was agreed to. */
static bool lacks_vf_of(const struct plan_builder *b, const struct plan_worker *w,
			const struct plan_leg *leg)
{
	return !has_vf_of(w, leg) &&
	       transport_choice_find(b->ctx->agreed, w->core, leg->net->name, NULL);
}

static bool lacks_vf(const struct plan_builder *b, const struct plan_worker *w)
{
	for (size_t i = 0; i < b->n_legs; i++)
		if (lacks_vf_of(b, w, &b->legs[i]))
			return true;
	return false;
}

/* Its own VF on one leg at least, where its core is still fit for it. */
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

/* What it claims, as long as that can be had: what is late or away is no reason to forget it. A leg
 * without a VF for it is shared with the kernel, as for those who ask by name. */
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

/* Those who ask by name come first. */
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
