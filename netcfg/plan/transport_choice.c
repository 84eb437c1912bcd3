/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes the record of accepted transports, and updates it by a plan. */
#include "netcfg/plan/transport_choice.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/vec.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define VF_MAX 65535

static const struct state_kind kind = {.name = "agreed",
				       .version = 3, /* version 3 added the devices of legs with
							match */
				       .old_until = 1,
				       .scope = STATE_OF_NETNS,
				       .bytes_max = 1U << 20};

void transport_choice_done(struct transport_choice *a)
{
	free(a->entries);
	free(a->devices);
	*a = (struct transport_choice){0};
}

int transport_choice_add(struct transport_choice *a, const struct transport_choice_entry *e)
{
	struct transport_choice_entry *added = vec_add(&a->entries, &a->n, sizeof(*added));

	if (!added)
		return -ENOMEM;
	*added = *e;
	return 0;
}

void transport_choice_identify(const struct inv_link *device, char ret[static PLAN_DEVICE_MAX])
{
	static const struct mac_addr none;

	if (memcmp(&device->permanent_mac, &none, sizeof(none)) != 0)
		mac_addr_format(&device->permanent_mac, ret, PLAN_DEVICE_MAX);
	else
		snprintf(ret, PLAN_DEVICE_MAX, "%.15s", device->pci);
}

enum spec_transport transport_choice_transport(const struct transport_choice *a, unsigned core)
{
	for (size_t i = 0; a && i < a->n; i++)
		if (a->entries[i].core == core && !a->entries[i].leg[0])
			return a->entries[i].transport;
	return SPEC_TRANSPORT_UDP;
}

const struct transport_choice_entry *transport_choice_find(const struct transport_choice *a,
							   unsigned core, const char *leg,
							   const char *device)
{
	for (size_t i = 0; a && i < a->n; i++) {
		const struct transport_choice_entry *e = &a->entries[i];

		if (e->core == core && e->leg[0] && strcmp(e->leg, leg) == 0 &&
		    (!device || strcmp(e->device, device) == 0))
			return e;
	}
	return NULL;
}

const struct transport_choice_device *transport_choice_device(const struct transport_choice *a,
							      const char *leg, const char *match)
{
	for (size_t i = 0; a && i < a->n_devices; i++)
		if (strcmp(a->devices[i].leg, leg) == 0 && strcmp(a->devices[i].match, match) == 0)
			return &a->devices[i];
	return NULL;
}

static int add_device(struct transport_choice *a, const struct transport_choice_device *d)
{
	struct transport_choice_device *added = vec_add(&a->devices, &a->n_devices, sizeof(*added));

	if (!added)
		return -ENOMEM;
	*added = *d;
	return 0;
}

unsigned transport_choice_core(const struct transport_choice *a, const struct plan_worker *w)
{
	for (size_t i = 0; a && i < a->n; i++)
		if (a->entries[i].core == w->core)
			return w->core;
	return w->was_core;
}

bool transport_choice_moves(const struct transport_choice *a, const struct transport_choice *next,
			    unsigned core)
{
	const enum spec_transport to = transport_choice_transport(next, core);

	if (to != transport_choice_transport(a, core))
		return true;
	for (size_t i = 0; next && i < next->n && to != SPEC_TRANSPORT_UDP; i++) {
		const struct transport_choice_entry *e = &next->entries[i];

		if (e->core == core && e->leg[0] &&
		    !transport_choice_find(a, core, e->leg, e->device))
			return true;
	}
	return false;
}

/* ---- text ---- */

/* Parses a transport. Only transports that use VFs are recorded. */
static int parse_transport(const char *word, struct transport_choice_entry *e)
{
	static const enum spec_transport known[] = {SPEC_TRANSPORT_DPDK,
						    SPEC_TRANSPORT_DPDK_INTERRUPT};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(word, spec_transport_to_string(known[i])) != 0)
			continue;
		e->transport = known[i];
		return 0;
	}
	return STATE_TORN;
}

/* Parses a leg's device and VF number. The number is valid for one boot; `stale` says that the
 * record is of an earlier boot. */
static int parse_leg(struct state_file *f, struct transport_choice_entry *e, bool stale)
{
	state_file_copy(f, e->leg, sizeof(e->leg));
	state_file_expect(f, "device");
	state_file_copy(f, e->device, sizeof(e->device));
	if (state_file_has_more(f)) {
		state_file_expect(f, "vf");
		e->vf = (uint32_t)state_file_number(f, VF_MAX);
	}
	if (stale)
		e->vf = TRANSPORT_CHOICE_NO_VF;
	return e->leg[0] ? 0 : STATE_TORN;
}

/* Parses "LEG device IDENTITY name NAME match TEXT". */
static int parse_device(struct transport_choice *a, struct state_file *f)
{
	struct transport_choice_device d = {.leg = ""};
	const char *text;

	state_file_copy(f, d.leg, sizeof(d.leg));
	state_file_expect(f, "device");
	state_file_copy(f, d.device, sizeof(d.device));
	state_file_expect(f, "name");
	state_file_copy(f, d.ifname, sizeof(d.ifname));
	state_file_expect(f, "match");
	text = state_file_text(f);
	if (strlen(text) >= sizeof(d.match))
		return STATE_TORN;
	snprintf(d.match, sizeof(d.match), "%s", text);
	if (!state_file_line_ends(f) || !d.leg[0] || !d.device[0] || !d.match[0])
		return STATE_TORN;
	return add_device(a, &d);
}

static int parse_line(struct transport_choice *a, struct state_file *f, bool stale)
{
	struct transport_choice_entry e = {.transport = SPEC_TRANSPORT_UDP,
					   .vf = TRANSPORT_CHOICE_NO_VF};
	const char *what = state_file_word(f);
	int r;

	if (strcmp(what, "select") == 0)
		return parse_device(a, f);
	if (strcmp(what, "core") != 0)
		return STATE_TORN;
	e.core = (unsigned)state_file_number(f, UINT_MAX);
	what = state_file_word(f);
	if (strcmp(what, "transport") == 0)
		r = parse_transport(state_file_word(f), &e);
	else
		r = strcmp(what, "leg") == 0 ? parse_leg(f, &e, stale) : STATE_TORN;
	return r == 0 && state_file_line_ends(f) ? transport_choice_add(a, &e) : STATE_TORN;
}

/* Parses the file f; r is the result of opening it. */
static int parse(struct transport_choice *a, struct state_file *f, int r)
{
	PLENUM_CLEANUP(transport_choice_done) struct transport_choice next = {0};
	const bool stale = r == STATE_OTHER_BOOT;

	if (stale)
		r = 0;
	while (r == 0 && state_file_line(f))
		r = parse_line(&next, f, stale);
	if (r < 0)
		return r;
	transport_choice_done(a);
	*a = next;
	next = (struct transport_choice){0};
	return 0;
}

int transport_choice_parse(struct transport_choice *a, const char *text)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	int r = state_file_parse(&f, &kind, text);

	return parse(a, &f, r);
}

int transport_choice_load(struct transport_choice *a, const char *path)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	int r = state_file_read(&f, &kind, path);

	return parse(a, &f, r);
}

static void put_all(struct state_draft *d, const struct transport_choice *a)
{
	state_draft_init(d, &kind);
	for (size_t i = 0; i < a->n; i++) {
		const struct transport_choice_entry *e = &a->entries[i];

		state_draft_put(d, "core %u", e->core);
		if (!e->leg[0])
			state_draft_put(d, "transport %s", spec_transport_to_string(e->transport));
		else
			state_draft_put(d, "leg %s device %s", e->leg, e->device);
		if (e->leg[0] && e->vf != TRANSPORT_CHOICE_NO_VF)
			state_draft_put(d, "vf %" PRIu32, e->vf);
		state_draft_end(d);
	}
	for (size_t i = 0; i < a->n_devices; i++) {
		const struct transport_choice_device *e = &a->devices[i];

		state_draft_put(d, "select");
		state_draft_word(d, e->leg);
		state_draft_put(d, "device");
		state_draft_word(d, e->device);
		state_draft_put(d, "name");
		state_draft_word(d, e->ifname);
		state_draft_put(d, "match");
		state_draft_text(d, e->match);
	}
}

char *transport_choice_format(const struct transport_choice *a)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;

	put_all(&d, a);
	return state_draft_format(&d);
}

int transport_choice_save(const struct transport_choice *a, const char *path)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;

	put_all(&d, a);
	return state_draft_save(&d, path);
}

/* ---- from a plan ---- */

static int follow_leg(const struct transport_choice *a, const struct plan *plan, size_t leg,
		      const struct plan_worker *w, struct transport_choice *ret)
{
	const struct plan_leg_info *info = &plan->legs[leg];
	const struct transport_choice_entry *had =
		transport_choice_find(a, transport_choice_core(a, w), info->name, NULL);
	struct transport_choice_entry e = {.core = w->core, .transport = SPEC_TRANSPORT_UDP};

	if (!w->vf[leg]) {
		if (!had || w->claim == SPEC_TRANSPORT_UDP)
			return 0;
		e = *had;
		e.core = w->core;
		return transport_choice_add(ret, &e);
	}
	e.vf = w->vf[leg] - 1U;
	memcpy(e.leg, info->name, sizeof(e.leg));
	memcpy(e.device, info->identity, sizeof(e.device));
	return transport_choice_add(ret, &e);
}

/* A leg that has no device now keeps its entry. */
static int follow_device(const struct transport_choice *a, const struct plan_leg_info *info,
			 struct transport_choice *ret)
{
	const struct transport_choice_device *had =
		info->match[0] ? transport_choice_device(a, info->name, info->match) : NULL;
	struct transport_choice_device d = {.leg = ""};

	if (!info->match[0] || !info->selected[0] || info->state == PLAN_LEG_REFUSED)
		return had ? add_device(ret, had) : 0;
	memcpy(d.leg, info->name, sizeof(d.leg));
	memcpy(d.match, info->match, sizeof(d.match));
	memcpy(d.device, info->selected, sizeof(d.device));
	snprintf(d.ifname, sizeof(d.ifname), "%.*s", IFNAMSIZ - 1, info->device);
	return add_device(ret, &d);
}

int transport_choice_follow(const struct transport_choice *a, const struct plan *plan,
			    struct transport_choice *ret)
{
	struct transport_choice next = {0};
	int r = 0;

	for (size_t i = 0; i < plan->n_workers && r == 0; i++) {
		const struct plan_worker *w = &plan->workers[i];
		const struct transport_choice_entry e = {.core = w->core, .transport = w->claim};

		if (w->asked == SPEC_TRANSPORT_AUTO && w->claim != SPEC_TRANSPORT_UDP)
			r = transport_choice_add(&next, &e);
		for (size_t leg = 0; leg < plan->n_legs && r == 0; leg++)
			r = follow_leg(a, plan, leg, w, &next);
	}
	for (size_t i = 0; i < plan->n_legs && r == 0; i++)
		r = follow_device(a, &plan->legs[i], &next);
	if (r < 0) {
		transport_choice_done(&next);
		return r;
	}
	transport_choice_done(ret);
	*ret = next;
	return 0;
}
