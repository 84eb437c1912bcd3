/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of LLDP neighbours and its rules. No sockets and no clock: tests pass a virtual time.
 */
#include "agent/lldp/neighbours.h"

#include "netcfg/base/vec.h"
#include "netcfg/host/device_setting.h"
#include <stdio.h>
#include <string.h>

void neighbours_done(struct neighbours *t)
{
	free(t->links);
	*t = (struct neighbours){0};
}

struct neighbours_link *neighbours_find(const struct neighbours *t, uint32_t ifindex)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->links[i].ifindex == ifindex)
			return &t->links[i];
	return NULL;
}

struct neighbours_link *neighbours_add(struct neighbours *t, uint32_t ifindex, const char *ifname,
				       uint64_t now)
{
	struct neighbours_link *l = vec_add(&t->links, &t->n, sizeof(*l));

	if (!l)
		return NULL;
	*l = (struct neighbours_link){.ifindex = ifindex, .since_ns = now};
	snprintf(l->ifname, sizeof(l->ifname), "%s", ifname);
	return l;
}

void neighbours_remove(struct neighbours *t, uint32_t ifindex)
{
	struct neighbours_link *l = neighbours_find(t, ifindex);

	if (!l)
		return;
	memmove(l, l + 1, (size_t)(t->links + t->n - (l + 1)) * sizeof(*l));
	t->n--;
}

/* ---- receiving ---- */

static void drop(struct neighbours_link *l, size_t i)
{
	l->n--;
	memmove(&l->all[i], &l->all[i + 1], (l->n - i) * sizeof(l->all[0]));
}

static bool same_facts(const struct lldp_neighbour *a, const struct lldp_neighbour *b)
{
	return strcmp(a->chassis, b->chassis) == 0 && strcmp(a->port, b->port) == 0 &&
	       strcmp(a->name, b->name) == 0 && strcmp(a->port_about, b->port_about) == 0 &&
	       ip_addr_equal(&a->management, &b->management) && a->vlan == b->vlan &&
	       a->mtu == b->mtu && a->capabilities == b->capabilities &&
	       a->aggregation == b->aggregation && a->pfc == b->pfc;
}

/* The cable may have been moved while no agent ran. */
static bool drop_remembered(struct neighbours_link *l, const char *chassis)
{
	bool any = false;

	for (size_t i = l->n; i-- > 0;)
		if (l->all[i].remembered && strcmp(l->all[i].said.chassis, chassis) != 0) {
			drop(l, i);
			any = true;
		}
	return any;
}

/* The entry of a chassis and port, a new one if it has none. */
static struct neighbour *place(struct neighbours_link *l, const struct lldp_neighbour *said)
{
	size_t first = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->all[i].said.chassis, said->chassis) == 0 &&
		    strcmp(l->all[i].said.port, said->port) == 0)
			return &l->all[i];
		if (l->all[i].until_ns < l->all[first].until_ns)
			first = i;
	}
	if (l->n == NEIGHBOURS_MAX)
		drop(l, first);
	l->all[l->n] = (struct neighbour){.heard_ns = 0};
	return &l->all[l->n++];
}

bool neighbours_hear(struct neighbours_link *l, const struct lldp_neighbour *said, uint64_t now)
{
	bool news = drop_remembered(l, said->chassis);
	struct neighbour *n = place(l, said);

	news = news || !same_facts(&n->said, said);
	*n = (struct neighbour){
		.said = *said, .heard_ns = now, .until_ns = now + said->ttl_s * NSEC_PER_SEC};
	if (said->ttl_s > 0)
		return news;
	drop(l, (size_t)(n - l->all));
	return true;
}

bool neighbours_forget(struct neighbours_link *l, uint64_t now)
{
	bool any = l->n > 0;

	l->n = 0;
	l->since_ns = now;
	return any;
}

bool neighbours_expire(struct neighbours *t, uint64_t now, uint64_t *ret_next)
{
	uint64_t next = UINT64_MAX;
	bool any = false;

	for (size_t i = 0; i < t->n; i++) {
		struct neighbours_link *l = &t->links[i];

		for (size_t j = l->n; j-- > 0;) {
			if (l->all[j].until_ns > now) {
				next = MIN_OF(next, l->all[j].until_ns);
				continue;
			}
			drop(l, j);
			l->since_ns = now;
			any = true;
		}
	}
	*ret_next = next;
	return any;
}

const struct neighbour *neighbours_judge(const struct neighbours_link *l,
					 enum neighbours_verdict *ret)
{
	const struct neighbour *last = l->n ? &l->all[0] : NULL;

	*ret = last ? NEIGHBOURS_ONE : NEIGHBOURS_NONE;
	for (size_t i = 1; i < l->n; i++) {
		if (strcmp(l->all[i].said.chassis, last->said.chassis) != 0) {
			*ret = NEIGHBOURS_SEVERAL;
			return NULL;
		}
		if (l->all[i].heard_ns > last->heard_ns)
			last = &l->all[i];
	}
	return last;
}

/* ---- JSON ---- */

static void put_text(json_t *o, const char *key, const char *text)
{
	if (text[0])
		json_object_set_new(o, key, json_string(text));
}

static void put_number(json_t *o, const char *key, uint64_t n)
{
	if (n)
		json_object_set_new(o, key, json_integer((json_int_t)n));
}

/* Absent values are left out. */
static json_t *said_to_json(const struct lldp_neighbour *s)
{
	json_t *o = json_object();
	char ip[IP_ADDR_STR_MAX] = "", pfc[DCB_PRIOS_TEXT_MAX];

	if (s->management.family)
		ip_addr_format(&s->management, ip, sizeof(ip));
	put_text(o, "chassis", s->chassis);
	put_text(o, "port", s->port);
	put_text(o, "name", s->name);
	put_text(o, "port_description", s->port_about);
	put_text(o, "management", ip);
	put_number(o, "vlan", s->vlan);
	put_number(o, "max_frame_bytes", s->mtu);
	put_number(o, "capabilities", s->capabilities);
	put_number(o, "aggregation", s->aggregation);
	if (s->pfc)
		put_text(o, "pfc", dcb_prios_format((uint8_t)s->pfc, pfc));
	return o;
}

json_t *neighbour_to_json(const struct neighbour *n, uint64_t now)
{
	json_t *o = said_to_json(&n->said);

	if (!o)
		return NULL;
	json_object_set_new(o, "heard_s",
			    json_integer((json_int_t)((now - n->heard_ns) / NSEC_PER_SEC)));
	json_object_set_new(o, "expires_s",
			    json_integer(n->until_ns > now
						 ? (json_int_t)((n->until_ns - now) / NSEC_PER_SEC)
						 : 0));
	return o;
}

json_t *neighbours_to_json(const struct neighbours *t)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < t->n; i++)
		for (size_t j = 0; j < t->links[i].n; j++) {
			const struct neighbour *n = &t->links[i].all[j];
			json_t *o = said_to_json(&n->said);

			put_number(o, "ifindex", t->links[i].ifindex);
			put_text(o, "ifname", t->links[i].ifname);
			put_number(o, "heard_ns", n->heard_ns);
			put_number(o, "until_ns", n->until_ns);
			json_array_append_new(list, o);
		}
	return list;
}

static void get_text(const json_t *o, const char *key, char ret[LLDP_TEXT_MAX])
{
	const char *s = json_string_value(json_object_get(o, key));

	snprintf(ret, LLDP_TEXT_MAX, "%s", s ? s : "");
}

static uint64_t get_number(const json_t *o, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(o, key));

	return n > 0 ? (uint64_t)n : 0;
}

static struct neighbour neighbour_from_json(const json_t *o)
{
	struct neighbour n = {.heard_ns = get_number(o, "heard_ns"),
			      .until_ns = get_number(o, "until_ns"),
			      .remembered = true};
	const char *ip = json_string_value(json_object_get(o, "management"));
	const char *pfc = json_string_value(json_object_get(o, "pfc"));
	uint8_t bits;

	get_text(o, "chassis", n.said.chassis);
	get_text(o, "port", n.said.port);
	get_text(o, "name", n.said.name);
	get_text(o, "port_description", n.said.port_about);
	if (ip)
		(void)ip_addr_parse(ip, &n.said.management);
	if (pfc && dcb_prios_parse(pfc, &bits) == 0)
		n.said.pfc = LLDP_PFC_SAID | bits;
	n.said.vlan = (uint16_t)get_number(o, "vlan");
	n.said.mtu = (uint16_t)get_number(o, "max_frame_bytes");
	n.said.capabilities = (uint16_t)get_number(o, "capabilities");
	n.said.aggregation = (uint32_t)get_number(o, "aggregation");
	return n;
}

/* The clock counts from the boot, and the file is deleted with it; a time in the future
 * nevertheless belongs to another boot. */
static bool still_holds(const struct neighbour *n, uint64_t now)
{
	return n->said.chassis[0] && n->said.port[0] && n->heard_ns <= now && n->until_ns > now &&
	       n->until_ns - n->heard_ns <= UINT16_MAX * NSEC_PER_SEC;
}

void neighbours_remember(struct neighbours_link *l, const json_t *table, uint64_t now)
{
	for (size_t i = 0; i < json_array_size(table); i++) {
		const json_t *o = json_array_get(table, i);
		const char *name = json_string_value(json_object_get(o, "ifname"));
		struct neighbour n = neighbour_from_json(o);

		if (!name || strcmp(name, l->ifname) != 0 ||
		    get_number(o, "ifindex") != l->ifindex || !still_holds(&n, now) ||
		    l->n == NEIGHBOURS_MAX)
			continue;
		l->all[l->n++] = n;
	}
}
