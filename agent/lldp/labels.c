/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides the label of each leg, and derives warnings from labels and switches. It makes no system
 * calls; leg_labels.c applies the results. */
#include "agent/lldp/labels.h"
#include "netcfg/base/hash.h"
#include "netcfg/host/bond_setting.h"
#include "netcfg/plan/nic.h"
#include "netcfg/plan/plan.h"
#include "netcfg/spec/spec.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BELOW_MAX 4 /* maximum number of levels of links below a link */
/* A switch usually sends an LLDP frame every 30 s. So only after the time of two frames does
 * silence mean that it sends none. */
#define SILENCE_NS (65 * NSEC_PER_SEC)

const struct label *labels_find(const struct labels *l, const char *leg)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->all[i].leg, leg) == 0)
			return &l->all[i];
	return NULL;
}

const char *label_source_to_string(enum label_source s)
{
	static const char *const names[LABEL_SOURCE_MAX] = {"unknown", "lldp", "configured"};

	return s < LABEL_SOURCE_MAX ? names[s] : "?";
}

enum label_source label_source(const struct label *l)
{
	if (!l->text[0])
		return LABEL_UNKNOWN;
	return l->is_auto ? LABEL_BY_LLDP : LABEL_CONFIGURED;
}

/* ---- cables ---- */

static void add_cable(struct label *l, uint32_t ifindex)
{
	if (l->n_cables < LABELS_CABLES_MAX)
		l->cables[l->n_cables++] = ifindex;
}

/* Lists the physical links of a leg. LLDP frames arrive there, because they are untagged and
 * switches do not forward them. */
static void cables_of(const struct inventory *inv, const struct inv_link *link, struct label *l)
{
	for (unsigned i = 0; link && link->lower && i < BELOW_MAX; i++)
		link = inv_link_by_index(inv, link->lower);
	if (!link)
		return;
	if (link->kind != INV_LINK_BOND) {
		add_cable(l, link->ifindex);
		return;
	}
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].master == link->ifindex)
			add_cable(l, inv->links[i].ifindex);
}

void labels_find_cables(const struct labels_view *v, struct labels *ret)
{
	ret->n = 0;
	for (size_t i = 0; v->plan && i < v->plan->n_legs && i < ARRAY_SIZE(ret->all); i++) {
		const struct plan_leg_info *leg = &v->plan->legs[i];
		struct label *l = &ret->all[ret->n++];

		*l = (struct label){.is_auto = false};
		memcpy(l->leg, leg->name, sizeof(l->leg));
		if (leg->ifindex)
			cables_of(v->inv, inv_link_by_index(v->inv, leg->ifindex), l);
	}
}

/* ---- names ---- */

static bool name_is_taken(const struct neighbours *heard, const struct lldp_neighbour *said)
{
	for (size_t i = 0; i < heard->n; i++)
		for (size_t j = 0; j < heard->links[i].n; j++) {
			const struct lldp_neighbour *other = &heard->links[i].all[j].said;

			if (strcmp(other->name, said->name) == 0 &&
			    strcmp(other->chassis, said->chassis) != 0)
				return true;
		}
	return false;
}

const char *labels_name(const struct neighbours *heard, const struct lldp_neighbour *said,
			char *buf)
{
	size_t len = strlen(said->chassis);

	if (spec_name_is_valid(said->name) && !name_is_taken(heard, said))
		snprintf(buf, PLENUM_NAME_MAX, "%.63s", said->name);
	else if (len < PLENUM_NAME_MAX)
		memcpy(buf, said->chassis, len + 1);
	else /* a hash keeps long names distinct */
		snprintf(buf, PLENUM_NAME_MAX, "%.40s~%016" PRIx64, said->chassis,
			 hash_keyed((const uint64_t[2]){0, 0}, said->chassis, len));
	return buf;
}

/* ---- labels ---- */

static const char *driver_of(const struct labels_view *v, uint32_t ifindex)
{
	const struct inv_link *link = inv_link_by_index(v->inv, ifindex);

	return link ? link->driver : "";
}

static void explain_silence(const struct labels_view *v, const struct neighbours_link *link,
			    struct reason *why)
{
	const char *hint = nic_family_find(driver_of(v, link->ifindex))->lldp_to_host;

	if (link->error)
		reason_set(why, "lldp-unheard", "cannot receive LLDP on %s: %s", link->ifname,
			   strerror(-link->error));
	else if (hint)
		reason_set(why, "lldp-silent",
			   "%s receives no LLDP, because its firmware keeps the frames; run "
			   "ethtool --set-priv-flags %s %s",
			   link->ifname, link->ifname, hint);
	else
		reason_set(why, "lldp-silent",
			   "%s receives no LLDP; enable LLDP on the switch, or set the label",
			   link->ifname);
}

static void explain_several(const struct neighbours_link *link, struct reason *why)
{
	const struct lldp_neighbour *a = &link->all[0].said, *b = a;

	for (size_t i = 1; i < link->n; i++)
		if (strcmp(link->all[i].said.chassis, a->chassis) != 0)
			b = &link->all[i].said;
	reason_set(why, "lldp-several",
		   "%s receives LLDP from more than one system: %.48s and %.48s", link->ifname,
		   a->name[0] ? a->name : a->chassis, b->name[0] ? b->name : b->chassis);
}

/* Returns the system at the other end of a cable, or NULL with the reason in why if it is
 * unknown. */
static const struct lldp_neighbour *at_end(const struct labels_view *v, uint32_t cable,
					   struct reason *why)
{
	const struct neighbours_link *link = neighbours_find(v->heard, cable);
	enum neighbours_verdict verdict;
	const struct neighbour *n = link ? neighbours_judge(link, &verdict) : NULL;

	if (n)
		return &n->said;
	if (!link)
		reason_set(why, "lldp-unheard",
			   "the agent does not listen for LLDP on the leg's link yet");
	else if (verdict == NEIGHBOURS_SEVERAL)
		explain_several(link, why);
	else
		explain_silence(v, link, why);
	return NULL;
}

/* Sets the label of a leg from its cables. A bond has several cables. */
static void label_by_lldp(const struct labels_view *v, struct label *l)
{
	char name[PLENUM_NAME_MAX];

	if (l->n_cables == 0)
		reason_set(&l->why, "lldp-unheard", "the leg's device is missing");
	for (size_t i = 0; i < l->n_cables; i++) {
		const struct lldp_neighbour *said = at_end(v, l->cables[i], &l->why);

		if (!said) {
			l->text[0] = '\0';
			return;
		}
		labels_name(v->heard, said, name);
		if (i > 0 && strcmp(name, l->text) != 0) {
			reason_set(&l->why, "lldp-several",
				   "the leg's members are on %.48s and %.48s", l->text, name);
			l->text[0] = '\0';
			return;
		}
		memcpy(l->text, name, sizeof(l->text));
	}
}

static const struct spec_net *net_find(const struct spec *s, const char *name)
{
	for (size_t i = 0; i < s->n_nets; i++)
		if (strcmp(s->nets[i].name, name) == 0)
			return &s->nets[i];
	return NULL;
}

void labels_decide(const struct labels_view *v, struct labels *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct label *label = &l->all[i];
		const struct spec_net *net = net_find(v->spec, label->leg);
		/* If the leg is a bond, the configuration has no entry for it, and the plan derives
		 * its label from the members. */
		const char *asked = net ? net->label : v->plan->legs[i].label;

		label->is_auto = strcmp(asked, SPEC_LABEL_AUTO) == 0;
		label->why = (struct reason){.code = ""};
		label->text[0] = '\0';
		if (label->is_auto)
			label_by_lldp(v, label);
		else
			snprintf(label->text, sizeof(label->text), "%s",
				 *asked ? asked : label->leg);
	}
}

/* ---- warnings ---- */

static void add_text(json_t *list, const struct reason *why)
{
	char text[REASON_FORMAT_MAX];

	json_array_append_new(list, json_string(reason_format(why, text, sizeof(text))));
}

/* Returns whether two legs share a switch: compares each cable of one leg with each cable of the
 * other. */
static bool share_switch(const struct labels_view *v, const struct label *a, const struct label *b,
			 const struct lldp_neighbour **ret)
{
	struct reason why;

	for (size_t i = 0; i < a->n_cables; i++)
		for (size_t j = 0; j < b->n_cables; j++) {
			const struct lldp_neighbour *at_a = at_end(v, a->cables[i], &why);
			const struct lldp_neighbour *at_b = at_end(v, b->cables[j], &why);

			if (!at_a || !at_b || a->cables[i] == b->cables[j])
				continue;
			*ret = at_a;
			if (strcmp(at_a->chassis, at_b->chassis) == 0)
				return true;
		}
	return false;
}

static bool both_known(const struct labels_view *v, const struct label *a, const struct label *b)
{
	struct reason why;

	return a->n_cables == 1 && b->n_cables == 1 && at_end(v, a->cables[0], &why) &&
	       at_end(v, b->cables[0], &why);
}

static void warn_pair(const struct labels_view *v, const struct label *a, const struct label *b,
		      json_t *list)
{
	const struct lldp_neighbour *said = NULL;
	char name[PLENUM_NAME_MAX];
	struct reason why;
	bool one = share_switch(v, a, b, &said);

	if (one)
		reason_set(&why, "one-switch",
			   "legs %.40s and %.40s are both on %.48s: if this switch fails, both "
			   "legs fail",
			   a->leg, b->leg, labels_name(v->heard, said, name));
	else if (both_known(v, a, b) && a->text[0] && strcmp(a->text, b->text) == 0)
		reason_set(&why, "label-wrong",
			   "legs %.40s and %.40s have the same label, %.32s, but are on different "
			   "switches",
			   a->leg, b->leg, a->text);
	else
		return;
	add_text(list, &why);
}

/* Returns whether the label is still unknown although the switch had time to send LLDP. */
static bool is_late(const struct labels_view *v, const struct label *l)
{
	for (size_t i = 0; i < l->n_cables; i++) {
		const struct neighbours_link *link = neighbours_find(v->heard, l->cables[i]);

		if (link && link->n == 0 && !link->error && v->now_ns < link->since_ns + SILENCE_NS)
			return false;
	}
	return l->n_cables > 0;
}

static bool has_carrier(const struct labels_view *v, const struct label *l)
{
	for (size_t i = 0; i < l->n_cables; i++) {
		const struct inv_link *link = inv_link_by_index(v->inv, l->cables[i]);

		if (link && link->up && link->carrier)
			return true;
	}
	return false;
}

/* Warns about a bond whose ports are on different switches: a LAG needs one switch, or two switches
 * that form an MLAG pair. */
static void warn_bond(const struct labels_view *v, const struct label *l, uint32_t ifindex,
		      json_t *list)
{
	const struct lldp_neighbour *first = NULL, *said;
	char a[PLENUM_NAME_MAX], b[PLENUM_NAME_MAX];
	struct reason why;

	for (size_t i = 0; i < v->inv->n_bonds; i++) {
		if (v->inv->bonds[i].ifindex != ifindex ||
		    !bond_mode_is_lag(v->inv->bonds[i].setting.mode))
			continue;
		for (size_t j = 0; j < l->n_cables; j++) {
			said = at_end(v, l->cables[j], &why);
			if (!said || (first && strcmp(first->chassis, said->chassis) == 0))
				continue;
			if (!first) {
				first = said;
				continue;
			}
			reason_set(&why, "bond-split",
				   "the members of %.40s are on the switches %.40s and %.40s: "
				   "unless these two switches are an MLAG pair, only the members "
				   "on one switch carry data",
				   l->leg, labels_name(v->heard, first, a),
				   labels_name(v->heard, said, b));
			add_text(list, &why);
			return;
		}
	}
}

json_t *labels_to_warnings(const struct labels_view *v, const struct labels *l)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < l->n; i++) {
		const struct label *a = &l->all[i];
		struct reason why;

		if (v->plan->legs[i].bond[0]) /* a member of a bond: the bond is the leg */
			continue;
		warn_bond(v, a, v->plan->legs[i].ifindex, list);
		if (a->is_auto && !a->text[0] && has_carrier(v, a) && is_late(v, a)) {
			reason_set(&why, a->why.code, "the label of leg %.40s is unknown: %.140s",
				   a->leg, a->why.text);
			add_text(list, &why);
		}
		for (size_t j = i + 1; j < l->n; j++)
			if (!v->plan->legs[j].bond[0])
				warn_pair(v, a, &l->all[j], list);
	}
	return list;
}

json_t *label_neighbours_to_json(const struct labels_view *v, const struct label *l)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < l->n_cables; i++) {
		const struct neighbours_link *link = neighbours_find(v->heard, l->cables[i]);

		for (size_t j = 0; link && j < link->n; j++) {
			json_t *o = neighbour_to_json(&link->all[j], v->now_ns);

			json_object_set_new(o, "ifname", json_string(link->ifname));
			json_array_append_new(list, o);
		}
	}
	return list;
}
