/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of LLDP neighbours and its rules. It has no sockets and no clock, so that tests can
 * pass a virtual time.
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

/* Drops remembered entries of other chassis than the one that was just received: the cable may have
 * been moved while no agent ran. */
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

/* Returns the entry of a chassis and port, which is added if there is none. */
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

/* Makes an object, in which absent values have no member. */
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

/* ---- an earlier agent's table ---- */

/* Returns whether an entry of an earlier agent's table is still valid. An entry with a time in the
 * future is from another boot. */
static bool still_holds(const struct neighbour *n, uint64_t now)
{
	return n->said.chassis[0] && n->said.port[0] && n->heard_ns <= now && n->until_ns > now &&
	       n->until_ns - n->heard_ns <= UINT16_MAX * NSEC_PER_SEC;
}

void neighbours_remember(struct neighbours_link *l, const struct neighbours *saved, uint64_t now)
{
	const struct neighbours_link *was = neighbours_find(saved, l->ifindex);

	if (!was || strcmp(was->ifname, l->ifname) != 0)
		return;
	for (size_t i = 0; i < was->n && l->n < NEIGHBOURS_MAX; i++)
		if (still_holds(&was->all[i], now))
			l->all[l->n++] = was->all[i];
}
