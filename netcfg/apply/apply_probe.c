/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes the addresses that a plan adds, and records the answers as conflicts. */
#include "netcfg/apply/apply_probe.h"
#include "netcfg/base/base.h"
#include "netcfg/object/object.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* A restarted NIC needs some seconds to negotiate with its switch. */
#define CARRIER_WAIT_NS (5 * NSEC_PER_SEC)
#define CARRIER_POLL_MS 50

struct probing {
	struct kernel_probe *probes;
	size_t n;
	struct mac_addr *own;
	size_t n_own;
};

static void probing_done(struct probing *w)
{
	free(w->probes);
	free(w->own);
}

static bool adds_address(const struct plan_step *s)
{
	return s->kind == &object_addr && s->verb == PLAN_ADD;
}

/* Returns whether the plan brings the link up or changes its MTU. Most NICs negotiate again after
 * either change. */
static bool restarts(const struct plan *p, const char *ifname)
{
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].change.kind == KERNEL_LINK && p->steps[i].verb == PLAN_SET &&
		    strcmp(p->steps[i].link, ifname) == 0)
			return true;
	return false;
}

/* Returns whether a link that the plan restarts and adds addresses to still has no carrier. */
static bool carrier_is_pending(const struct inventory *inv, const struct plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct inv_link *l =
			adds_address(&p->steps[i]) ? inv_link_by_name(inv, p->steps[i].link) : NULL;

		if (l && l->up && !l->carrier && restarts(p, l->name))
			return true;
	}
	return false;
}

/* Waits until no link that the plan restarts lacks its carrier, or until CARRIER_WAIT_NS has
 * passed. Returns the last inventory, which the caller must free, or NULL if it cannot be read. */
static struct inventory *wait_for_carriers(struct kernel *k, const struct plan *p)
{
	const uint64_t deadline = clock_now_ns() + CARRIER_WAIT_NS;

	for (;;) {
		PLENUM_CLEANUP(diag_done) struct diag unused = DIAG_INIT;
		struct inventory *inv = NULL;

		if (inv_collect(k, &unused, &inv) < 0)
			return NULL;
		if (!carrier_is_pending(inv, p) || clock_now_ns() >= deadline)
			return inv;
		inv_free(inv);
		(void)poll(NULL, 0, CARRIER_POLL_MS);
	}
}

/* Collects the MAC addresses of this host, including those of its workers, because a worker that
 * still has an address is not another host. */
static int collect_own(const struct inventory *inv, struct probing *w)
{
	w->own = calloc(inv->n_links + inv->n_vfs + 1, sizeof(*w->own));
	if (!w->own)
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_links; i++)
		w->own[w->n_own++] = inv->links[i].mac;
	for (size_t i = 0; i < inv->n_vfs; i++)
		w->own[w->n_own++] = inv->vfs[i].mac;
	return 0;
}

static void warn_not_probed(const struct plan_step *s, const char *why, struct diag *d)
{
	char ip[IP_ADDR_STR_MAX];

	diag_add(d, DIAG_WARNING, NULL, s->leg[0] ? s->leg : NULL,
		 "cannot check whether another host uses %s on %s: %s",
		 ip_addr_format(&s->change.addr.ip.addr, ip, sizeof(ip)), s->link, why);
}

static int collect_probes(const struct inventory *inv, const struct plan *p, struct probing *w,
			  struct diag *d)
{
	w->probes = calloc(p->n_steps + 1, sizeof(*w->probes));
	if (!w->probes)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_steps; i++) {
		const struct plan_step *s = &p->steps[i];
		const struct inv_link *l = adds_address(s) ? inv_link_by_name(inv, s->link) : NULL;

		if (!l)
			continue;
		if (!l->carrier)
			warn_not_probed(s, "the link has no carrier", d);
		else
			w->probes[w->n++] = (struct kernel_probe){
				.ifindex = l->ifindex, .ip = s->change.addr.ip.addr, .mac = l->mac};
	}
	return 0;
}

static int take_answers(const struct inventory *inv, const struct probing *w,
			struct plan_conflicts *c)
{
	int r = 0;

	for (size_t i = 0; i < w->n && r == 0; i++) {
		const struct kernel_probe *p = &w->probes[i];
		struct plan_conflict e = {.ip = p->ip, .known = true, .by = p->by};

		if (!p->taken)
			continue;
		memcpy(e.ifname, inv_link_by_index(inv, p->ifindex)->name, sizeof(e.ifname));
		r = plan_conflicts_add(c, &e);
	}
	return r;
}

int apply_probe(struct kernel *k, const struct plan *p, struct plan_conflicts *c, struct diag *d)
{
	PLENUM_CLEANUP(probing_done) struct probing w = {.probes = NULL};
	struct inventory *inv = k->ops->probe ? wait_for_carriers(k, p) : NULL;
	int r;

	if (!inv)
		return 0; /* the apply itself reports that the host cannot be read */
	r = collect_own(inv, &w);
	if (r == 0)
		r = collect_probes(inv, p, &w, d);
	if (r == 0 && w.n) {
		int asked = k->ops->probe(k, w.probes, w.n, w.own, w.n_own);

		if (asked == 0)
			r = take_answers(inv, &w, c);
		else
			diag_add(d, DIAG_WARNING, NULL, NULL,
				 "cannot check whether other hosts use the data IPs: %s",
				 strerror(-asked));
	}
	inv_free(inv);
	return r;
}

int apply_probe_kernel(struct kernel *k, const struct plan *p, struct plan_conflicts *c)
{
	PLENUM_CLEANUP(diag_done) struct diag unused = DIAG_INIT;
	struct inventory *inv = NULL;
	int r = inv_collect(k, &unused, &inv);

	for (size_t i = 0; r == 0 && i < p->n_steps; i++) {
		const struct plan_step *s = &p->steps[i];
		const struct inv_link *l = adds_address(s) ? inv_link_by_name(inv, s->link) : NULL;

		for (size_t j = 0; l && r == 0 && j < inv->n_addrs; j++) {
			const struct inv_addr *a = &inv->addrs[j];
			struct plan_conflict e = {.ip = a->ip.addr};

			if (!a->dad_failed || a->ifindex != l->ifindex ||
			    !ip_addr_equal(&a->ip.addr, &s->change.addr.ip.addr))
				continue;
			memcpy(e.ifname, l->name, sizeof(e.ifname));
			r = plan_conflicts_add(c, &e);
		}
	}
	inv_free(inv);
	return r;
}
