/* SPDX-License-Identifier: BSD-3-Clause */
/* What a worker asks for, what the host has for it, and what it gets. Apart from the workers, whose
 * numbers, addresses and mounts have nothing to do with it. */
#include "netcfg/plan/plan_transport.h"
#include "netcfg/plan/backend.h"
#include "netcfg/plan/plan_kernel_port.h"
#include "netcfg/plan/plan_shared.h"
#include "netcfg/plan/plan_vf.h"
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

uint64_t plan_transport_hugepages(const struct plan_builder *b)
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

/* As many as there are, and those that all workers on DPDK need and are not free. Most of the time
 * the kernel finds them at once; where memory is in pieces, only at boot. */
static void need_hugepages(struct plan_builder *b)
{
	uint64_t total = 0, free = plan_transport_hugepages(b), asked = 0;
	struct plan_need *need;

	for (size_t i = 0; i < b->inv->n_hugepages; i++)
		if (b->inv->hugepages[i].size_kib == PLAN_HUGEPAGE_KIB &&
		    (b->inv->hugepages[i].numa_node == INV_NUMA_NONE))
			total = b->inv->hugepages[i].total;
	for (size_t i = 0; i < b->plan->n_workers; i++)
		asked += b->plan->workers[i].hugepages;
	total += asked > free ? asked - free : 0;
	need = plan_need_add(b->plan, "hugepages",
			     "workers on DPDK need %llu hugepages of 2 MiB, %llu are free",
			     (unsigned long long)asked, (unsigned long long)free);
	if (!need)
		return;
	snprintf(need->command, sizeof(need->command),
		 "echo vm.nr_hugepages=%llu >/etc/sysctl.d/80-plenum.conf && sysctl --system",
		 (unsigned long long)total);
	snprintf(need->kernel_args, sizeof(need->kernel_args), "hugepages=%llu",
		 (unsigned long long)total);
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
void plan_transport_count(struct plan_builder *b)
{
	bool free = plan_kernel_port_is_all_af_xdp(b);

	for (size_t i = 0; i < b->plan->n_workers; i++) {
		struct plan_worker *w = &b->plan->workers[i];

		if (!backend_find(w->asked)->hugepages)
			continue;
		if (!free)
			w->hugepages = hugepages_each(b);
		else if (!plan_failures_find(b->ctx->failures, w))
			free = false;
	}
}

/* ---- the choice ---- */

/* DPDK without a VF of its own: on the kernel's interface, where it is slower. */
void plan_transport_explain_sharing(struct plan_worker *w, const struct plan_leg *leg)
{
	const struct inv_link *link = leg->device;

	if (link->max_vfs && leg->net->vfs != 0 && !plan_vf_fits(leg, w->asked))
		reason_set(&w->reason, "vf-polled",
			   "VFs of %.15s (%.31s) can only be polled, so the worker shares it; "
			   "transport: dpdk takes one",
			   link->name, link->driver);
	else if (leg->why_no_vfs.code[0] && strcmp(leg->why_no_vfs.code, "no-vf") != 0)
		w->reason = leg->why_no_vfs;
	else
		plan_kernel_port_note(&w->reason, leg, PLAN_KERNEL_PORT_SHARES);
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
				 "are needed and policy.on-fallback is refuse; raise "
				 "vm.nr_hugepages or write transport: udp",
				 spec_transport_to_string(w->asked), w->core,
				 (unsigned long long)*hugepages, w->hugepages);
		return;
	}
	*hugepages -= w->hugepages;
	w->effective = w->asked;
	for (size_t i = 0; i < b->n_legs; i++)
		if (!b->legs[i].n_vfs && !b->legs[i].shared) {
			plan_transport_explain_sharing(w, &b->legs[i]);
			break;
		}
}

static void choose_auto(struct plan_builder *b, struct plan_worker *w)
{
	w->effective = SPEC_TRANSPORT_UDP;
	for (size_t i = 0; i < b->n_legs; i++) {
		const struct inv_link *link = b->legs[i].device;
		const char *driver =
			link->driver[0] ? link->driver : inv_link_kind_to_string(link->kind);

		if (link->max_vfs == 0) {
			reason_set(&w->reason, "no-vf", "%.15s (%.31s) offers no SR-IOV",
				   link->name, driver);
			return;
		}
		reason_set(&w->reason, "vf-unused",
			   "%.15s (%.31s) offers %u VFs; workers use them where transport: dpdk "
			   "is written",
			   link->name, driver, link->max_vfs);
	}
}

void plan_transport_choose(struct plan_builder *b, size_t entry, struct plan_worker *w,
			   uint64_t *hugepages)
{
	w->effective = SPEC_TRANSPORT_UDP;
	if (w->asked == SPEC_TRANSPORT_AUTO)
		choose_auto(b, w);
	else if (backend_find(w->asked)->hugepages)
		choose_asked(b, entry, w, hugepages);
}
