/* SPDX-License-Identifier: BSD-3-Clause */
/* A route in any table. Plenum recognizes its own routes by their protocol number. */
#include "netcfg/object/object.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROUTE_WORDS_MAX 256

/* Writes "route DST via GATEWAY on WHERE in table N". */
static const char *route_words(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	const struct inv_route *r = &s->change.route;
	char dst[IP_ADDR_STR_MAX] = "default", via[IP_ADDR_STR_MAX + 8] = "";
	char gateway[IP_ADDR_STR_MAX];

	if (r->dst.len)
		ip_prefix_format(&r->dst, dst, sizeof(dst));
	if (r->gateway.family)
		snprintf(via, sizeof(via), " via %s",
			 ip_addr_format(&r->gateway, gateway, sizeof(gateway)));
	if (r->type == INV_ROUTE_UNICAST || r->type == 0)
		snprintf(buf, size, "route %s%s on %s in table %u", dst, via, where, r->table);
	else
		snprintf(buf, size, "unreachable route %s in table %u", dst, r->table);
	return buf;
}

static void route_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	char words[ROUTE_WORDS_MAX];

	snprintf(buf, size, "%s %s", s->verb == PLAN_DEL ? "remove" : "add",
		 route_words(s, where, words, sizeof(words)));
}

static void route_undone(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	char words[ROUTE_WORDS_MAX];

	snprintf(buf, size, "%s was %s", route_words(s, where, words, sizeof(words)),
		 s->verb == PLAN_DEL ? "added with Plenum's protocol number" : "removed");
}

/* Returns the route in the form in which the kernel reports it, with the protocol number
 * `proto`. */
static struct inv_route normal(const struct plan_step *s, uint8_t proto)
{
	struct inv_route r = s->change.route;

	r.oif = s->change.ifindex;
	kernel_route_normalize(&r);
	r.proto = proto;
	return r;
}

static const char *addr_or_dash(const struct ip_addr *a, char *buf)
{
	return a->family ? ip_addr_format(a, buf, IP_ADDR_STR_MAX) : "-";
}

static int route_format(const struct plan_step *s, char *buf, size_t size)
{
	const struct inv_route r = normal(s, s->change.route.proto);
	char dst[IP_ADDR_STR_MAX], gateway[IP_ADDR_STR_MAX], src[IP_ADDR_STR_MAX];

	return snprintf(buf, size, "%u %u %u %u %u %u %s %s %s %d", r.family, r.table, r.metric,
			r.proto, r.scope, r.type, ip_prefix_format(&r.dst, dst, sizeof(dst)),
			addr_or_dash(&r.gateway, gateway), addr_or_dash(&r.src, src),
			s->change.foreign);
}

static int parse_addr(const char *text, struct ip_addr *ret)
{
	return strcmp(text, "-") == 0 ? 0 : ip_addr_parse(text, ret);
}

static int route_parse(const char *text, struct plan_step *s)
{
	char dst[IP_ADDR_STR_MAX], gateway[IP_ADDR_STR_MAX], src[IP_ADDR_STR_MAX];
	struct inv_route *r = &s->change.route;
	int foreign = 0;

	/* Earlier versions did not write the last word. */
	s->change.kind = KERNEL_ROUTE;
	if (sscanf(text,
		   "%" SCNu8 " %" SCNu32 " %" SCNu32 " %" SCNu8 " %" SCNu8 " %" SCNu8
		   " %63s %63s %63s %d",
		   &r->family, &r->table, &r->metric, &r->proto, &r->scope, &r->type, dst, gateway,
		   src, &foreign) < 9 ||
	    ip_prefix_parse(dst, &r->dst) < 0 || parse_addr(gateway, &r->gateway) < 0 ||
	    parse_addr(src, &r->src) < 0)
		return -EBADMSG;
	s->change.foreign = foreign != 0;
	/* All addresses of a route have the same family, which dst always shows. */
	if (r->dst.addr.family != r->family ||
	    (r->gateway.family && r->gateway.family != r->family) ||
	    (r->src.family && r->src.family != r->family))
		return -EBADMSG;
	return 0;
}

static enum object_presence route_present(const struct inventory *inv, const struct plan_step *s)
{
	for (size_t i = 0; i < inv->n_routes; i++) {
		const struct inv_route want = normal(s, inv->routes[i].proto);

		if (kernel_route_equal(&inv->routes[i], &want))
			return inv->routes[i].proto == PLENUM_RTPROT || s->change.foreign
				       ? OBJECT_OURS
				       : OBJECT_PRESENT;
	}
	return OBJECT_ABSENT;
}

static bool route_same(const struct plan_step *a, const struct plan_step *b)
{
	const struct inv_route ra = normal(a, PLENUM_RTPROT), rb = normal(b, PLENUM_RTPROT);

	return kernel_route_equal(&ra, &rb);
}

static int route_ours(const struct object_view *v, size_t i, struct plan_step *ret)
{
	const struct inv_route *have;

	if (i >= v->inv->n_routes)
		return -ENOENT;
	have = &v->inv->routes[i];
	ret->change =
		(struct kernel_change){.kind = KERNEL_ROUTE, .ifindex = have->oif, .route = *have};
	return have->proto == PLENUM_RTPROT;
}

const struct object_kind object_route = {
	.name = "route",
	.verb = PLAN_ADD,
	.phase = {[PLAN_ADD] = OBJECT_PHASE_ROUTE, [PLAN_DEL] = OBJECT_PHASE_ROUTE_DEL},
	.describe = route_describe,
	.undone = route_undone,
	.format = route_format,
	.parse = route_parse,
	.present = route_present,
	.same = route_same,
	.ours = route_ours,
};
