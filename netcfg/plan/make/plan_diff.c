/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the steps of a plan. They create missing objects, remove Plenum's objects that are no
 * longer desired, and restore values that Plenum changed and no longer needs. An object that is
 * exactly as desired counts as present, even if another program created it. Objects of other
 * programs are removed only if a desired step says so (bond_takeover.h); values that other programs
 * set after Plenum stay unchanged. The kinds of objects and their order are in object.h; this file
 * does not depend on any kind.
 */
#include "netcfg/base/vec.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/plan_owned.h"
#include "netcfg/plan/planner.h"
#include <stdio.h>
#include <string.h>

/* The steps that were found so far, not sorted yet. */
struct found {
	struct plan_step *steps;
	size_t n, cap;
};

static int emit(struct found *f, const struct plan_step *step, enum object_phase phase)
{
	struct plan_step *s = plan_step_append(&f->steps, &f->n, &f->cap);

	if (!s)
		return -ENOMEM;
	*s = *step;
	s->phase = phase;
	return 0;
}

static int emit_missing(const struct plan_builder *b, struct found *f)
{
	for (size_t i = 0; i < b->want.n; i++) {
		const struct plan_step *w = &b->want.steps[i];
		const bool is_there = w->kind->present(b->inv, w) != OBJECT_ABSENT;

		if (is_there == (w->verb == PLAN_DEL) &&
		    emit(f, w, w->phase ? w->phase : w->kind->phase[w->verb]) < 0)
			return -ENOMEM;
	}
	return 0;
}

static const struct plan_step *wanted(const struct plan_builder *b, const struct plan_step *have)
{
	for (size_t i = 0; i < b->want.n; i++)
		if (b->want.steps[i].kind == have->kind && b->want.steps[i].verb != PLAN_DEL &&
		    have->kind->same(have, &b->want.steps[i]))
			return &b->want.steps[i];
	return NULL;
}

static bool is_in_the_way(const struct plan_builder *b, const struct plan_step *have)
{
	for (size_t i = 0; have->kind->in_the_way && i < b->want.n; i++)
		if (b->want.steps[i].kind == have->kind && b->want.steps[i].verb != PLAN_DEL &&
		    have->kind->in_the_way(have, &b->want.steps[i]))
			return true;
	return false;
}

/* Sets the leg and interface for messages, and the link's name for the kernel. */
static void name_link(const struct plan_builder *b, struct plan_step *s)
{
	const struct inv_link *link = inv_link_by_index(b->inv, s->change.ifindex);

	if (!link)
		return;
	memcpy(s->ifname, link->name, sizeof(s->ifname));
	if (!s->kind->on_function)
		memcpy(s->link, link->name, sizeof(link->name));
	for (size_t i = 0; i < b->n_legs; i++)
		if (b->legs[i].link == link)
			memcpy(s->leg, b->legs[i].net->name, sizeof(s->leg));
}

/* ---- what the kinds of objects may read of the plan ---- */

struct plan_view {
	struct object_view view; /* must be first, because builder_of() casts a pointer to it */
	const struct plan_builder *b;
};

static const struct plan_builder *builder_of(const struct object_view *v)
{
	return ((const struct plan_view *)v)->b;
}

static bool view_addr_is_ours(const struct object_view *v, const struct inv_addr *a)
{
	return plan_addr_is_ours(builder_of(v), a);
}

/* Returns the worker with a port on that address, or NULL. */
static const struct plan_worker *worker_of(const struct plan *p, const struct ip_addr *ip)
{
	for (size_t i = 0; i < p->n_workers; i++)
		for (size_t k = 0; k < p->workers[i].n_ports; k++)
			if (ip_addr_equal(&p->workers[i].ports[k].ip.addr, ip))
				return &p->workers[i];
	return NULL;
}

static bool view_addr_is_workers(const struct object_view *v, const struct ip_addr *ip,
				 struct reason *why)
{
	const struct plan_worker *w = worker_of(builder_of(v)->plan, ip);

	if (!w || w->effective == SPEC_TRANSPORT_UDP)
		return false;
	reason_set_text(why, "worker %u (%s) now answers for this IP, so the kernel must not",
			w->id, spec_transport_to_string(w->effective));
	return true;
}

static bool view_link_serves_others(const struct object_view *v, const struct inv_link *link)
{
	return plan_link_serves_others(builder_of(v), link);
}

static bool view_link_waits(const struct object_view *v, const struct inv_link *link)
{
	return plan_link_waits(builder_of(v), link);
}

static bool view_bond_is_planned(const struct object_view *v, const char *name)
{
	return strcmp(name, builder_of(v)->bond.name) == 0;
}

static bool view_function_is_held(const struct object_view *v, const struct inv_function *fn)
{
	return plan_function_is_held(builder_of(v), fn);
}

static struct plan_view view_of(const struct plan_builder *b)
{
	return (struct plan_view){.view = {.inv = b->inv,
					   .addr_is_ours = view_addr_is_ours,
					   .addr_is_workers = view_addr_is_workers,
					   .link_serves_others = view_link_serves_others,
					   .link_waits = view_link_waits,
					   .bond_is_planned = view_bond_is_planned,
					   .function_is_held = view_function_is_held},
				  .b = b};
}

/* ---- stale objects ---- */

static int emit_stale(const struct plan_builder *b, struct found *f, const struct object_kind *kind)
{
	const struct plan_view v = view_of(b);
	int r = 0;

	for (size_t i = 0; kind->ours && r >= 0; i++) {
		struct plan_step s = {.kind = kind, .verb = PLAN_DEL, .disruptive = true};

		snprintf(s.reason, sizeof(s.reason),
			 "Plenum created this object, and the configuration no longer needs it");
		r = kind->ours(&v.view, i, &s);
		if (r <= 0 || wanted(b, &s))
			continue;
		name_link(b, &s);
		r = emit(f, &s,
			 is_in_the_way(b, &s) ? OBJECT_PHASE_MAKE_WAY : kind->phase[PLAN_DEL]);
	}
	return r == -ENOENT ? 0 : r;
}

/* ---- restored values ---- */

static bool addr_is_of_others(const struct plan_builder *b, const struct inv_addr *a)
{
	const bool link_local = a->ip.addr.family == AF_INET6 && a->ip.addr.bytes[0] == 0xfe &&
				(a->ip.addr.bytes[1] & 0xc0) == 0x80;

	return !link_local && !plan_addr_is_ours(b, a);
}

static bool is_bond_of_ours(const struct inv_link *l)
{
	return l && l->kind == INV_LINK_BOND && kernel_link_is_ours(l);
}

bool plan_link_serves_others(const struct plan_builder *b, const struct inv_link *link)
{
	const struct inventory *inv = b->inv;

	/* A bond of Plenum does not prevent the restoration of the value, because the plan makes
	 * the bond release its ports. */
	if ((link->master && !is_bond_of_ours(inv_link_by_index(inv, link->master))) ||
	    strcmp(link->name, b->spec->management_interface) == 0)
		return true;
	for (size_t i = 0; i < inv->n_links; i++) {
		const struct inv_link *l = &inv->links[i];

		/* A VLAN of Plenum on the link counts only if other programs use it; otherwise the
		 * plan removes the VLAN too. */
		if ((l->master == link->ifindex && !is_bond_of_ours(link)) ||
		    (l->lower == link->ifindex &&
		     (!kernel_link_is_ours(l) || plan_link_serves_others(b, l))))
			return true;
	}
	for (size_t i = 0; i < inv->n_addrs; i++)
		if (inv->addrs[i].ifindex == link->ifindex && addr_is_of_others(b, &inv->addrs[i]))
			return true;
	for (size_t i = 0; i < inv->n_routes; i++)
		if (inv->routes[i].oif == link->ifindex && inv->routes[i].proto != PLENUM_RTPROT &&
		    inv->routes[i].proto != INV_PROTO_KERNEL)
			return true;
	return false;
}

bool plan_link_waits(const struct plan_builder *b, const struct inv_link *link)
{
	for (size_t i = 0; link && i < b->plan->n_legs; i++)
		if (b->plan->legs[i].ifindex == link->ifindex &&
		    !plan_leg_is_configured(&b->plan->legs[i]))
			return true;
	return false;
}

bool plan_function_is_held(const struct plan_builder *b, const struct inv_function *fn)
{
	for (size_t i = 0; fn && i < b->ctx->n_held; i++) {
		const struct inv_function *held = inv_function_find(b->inv, b->ctx->held[i]);

		if (held && (held == fn || strcmp(held->physfn, fn->pci) == 0))
			return true;
	}
	return false;
}

/* Finds the link of a recorded value, even after the link was renamed, and updates the name in the
 * record. The ifindex identifies the link, because a new link may have the old name. */
static const struct inv_link *follow_link(const struct plan_builder *b, struct plan_step *e)
{
	const struct inv_link *link = inv_link_by_index(b->inv, e->change.ifindex);

	if (!link || strcmp(link->name, e->link) == 0)
		return link;
	if (e->kind->rename)
		e->kind->rename(e, e->link, link->name);
	memcpy(e->link, link->name, sizeof(link->name));
	return link;
}

enum verdict {
	VERDICT_KEEP,
	VERDICT_RESTORE,
	VERDICT_DEFER, /* restore the value later, when running workers have released the device */
	/* remove the value from the record without restoring it, for example because the link has
	 * disappeared or another program changed the value */
	VERDICT_DISOWN,
};

/* Returns whether the link or the PCI function with the value has disappeared. */
static bool place_is_gone(const struct plan_builder *b, const struct plan_step *e,
			  const struct inv_link *link)
{
	if (!e->link[0])
		return false;
	return e->kind->on_function ? !inv_function_by_ref(b->inv, e->link) : !link;
}

static enum verdict verdict_of(const struct plan_builder *b, struct plan_step *e)
{
	const struct plan_view v = view_of(b);
	const struct inv_link *link =
		e->link[0] && !e->kind->on_function ? follow_link(b, e) : NULL;
	const struct plan_step *w;

	if (place_is_gone(b, e, link))
		return VERDICT_DISOWN;
	if (e->kind->verb == PLAN_ADD || plan_link_waits(b, link))
		/* an object that Plenum added, which emit_stale() removes */
		return VERDICT_KEEP;
	w = wanted(b, e);
	/* another program has changed the value, so do not restore it */
	if (e->kind->present(b->inv, e) == OBJECT_ABSENT)
		return !w || w->kind->present(b->inv, w) != OBJECT_ABSENT ? VERDICT_DISOWN
									  : VERDICT_KEEP;
	if (w)
		return VERDICT_KEEP;
	if (e->kind->settled(e) ||
	    (e->kind->disruptive && link && plan_link_serves_others(b, link)))
		return VERDICT_DISOWN;
	return e->kind->held && e->kind->held(&v.view, e) ? VERDICT_DEFER : VERDICT_RESTORE;
}

static int disown(struct plan *p, const struct plan_step *e)
{
	struct plan_step *s = vec_add(&p->disowned, &p->n_disowned, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = *e;
	s->verb = PLAN_RESTORE;
	return 0;
}

/* Restores values in the reverse order of their changes, as a rollback does. */
static int emit_restores(const struct plan_builder *b, struct found *f)
{
	const struct plan_owned *owned = b->ctx->owned;
	int r = 0;

	for (size_t i = owned ? owned->n : 0; i-- > 0 && r == 0;) {
		struct plan_step s = owned->steps[i];

		switch (verdict_of(b, &s)) {
		case VERDICT_RESTORE:
			/* The link was renamed, so the entry with the link's old name must be
			 * removed from the record. */
			if (strcmp(s.link, owned->steps[i].link) != 0)
				r = disown(b->plan, &owned->steps[i]);
			object_invert(&s);
			s.verb = PLAN_RESTORE;
			s.disruptive = s.kind->disruptive;
			name_link(b, &s);
			snprintf(s.reason, sizeof(s.reason),
				 "the configuration no longer sets this value; the step restores "
				 "the value found before");
			if (r == 0)
				r = emit(f, &s, s.kind->phase[PLAN_RESTORE]);
			break;
		case VERDICT_DISOWN:
			r = disown(b->plan, &owned->steps[i]);
			break;
		case VERDICT_DEFER:
			b->plan->n_deferred++;
			break;
		case VERDICT_KEEP:
			break;
		}
	}
	return r;
}

static int put_in_order(struct plan *p, const struct found *f)
{
	if (!f->n)
		return 0;
	p->steps = calloc(f->n, sizeof(*p->steps));
	if (!p->steps)
		return -ENOMEM;
	for (unsigned phase = 0; phase < OBJECT_PHASE_MAX; phase++)
		for (size_t i = 0; i < f->n; i++)
			if (f->steps[i].phase == phase)
				p->steps[p->n_steps++] = f->steps[i];
	return 0;
}

int plan_diff_build(struct plan_builder *b)
{
	struct found f = {.steps = NULL};
	int r = emit_missing(b, &f);

	for (size_t i = 0; i < object_kinds_n && r == 0; i++)
		r = emit_stale(b, &f, object_kinds[i]);
	if (r == 0)
		r = emit_restores(b, &f);
	if (r == 0)
		r = put_in_order(b->plan, &f);
	free(f.steps);
	return r;
}
