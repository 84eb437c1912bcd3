/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the client entries of exports against each other. An entry that never matches or that
 * contradicts itself is an error, because entries grant rights and the administrator relies on
 * them.
 */
#include "netcfg/spec/check/spec_check_internal.h"

#include <inttypes.h>
#include <string.h>

static bool is_for_all(const struct spec_client *c)
{
	return c->n_hosts == 0 && c->n_networks == 0;
}

static const struct spec_node *member(const struct spec_reader *r, const struct diag_pos *pos,
				      const char *key)
{
	return spec_node_member(spec_check_node(r, pos, NULL, NO_INDEX), key);
}

/* Returns whether the entry names no hosts and no networks. Invalid hosts and networks count as
 * named. */
static bool is_written_for_all(const struct spec_reader *r, const struct spec_client *c)
{
	return is_for_all(c) && !member(r, &c->pos, "hosts") && !member(r, &c->pos, "networks");
}

/* Returns whether network a contains network b. */
static bool network_covers(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->addr.family == b->addr.family && a->len <= b->len &&
	       ip_prefix_contains(a, &b->addr);
}

/* Returns the entry that already names this host: an earlier entry of the list, or the same entry
 * at an earlier position. */
static const struct spec_client *host_before(const struct spec_export *e, size_t client,
					     size_t index)
{
	const char *name = e->clients[client].hosts[index];

	for (size_t i = 0; name && i <= client; i++)
		for (size_t j = 0; j < (i < client ? e->clients[i].n_hosts : index); j++)
			if (e->clients[i].hosts[j] && strcmp(e->clients[i].hosts[j], name) == 0)
				return &e->clients[i];
	return NULL;
}

static const struct spec_client *network_before(const struct spec_export *e, size_t client,
						size_t index)
{
	const struct ip_prefix *p = &e->clients[client].networks[index];

	for (size_t i = 0; p->addr.family && i <= client; i++)
		for (size_t j = 0; j < (i < client ? e->clients[i].n_networks : index); j++)
			if (e->clients[i].networks[j].addr.family &&
			    network_covers(&e->clients[i].networks[j], p))
				return &e->clients[i];
	return NULL;
}

static void check_hosts(struct spec_reader *r, const struct spec_export *e, size_t client)
{
	const struct spec_client *c = &e->clients[client];

	for (size_t i = 0; i < c->n_hosts; i++) {
		const struct spec_client *before = host_before(e, client, i);

		if (before)
			check_error_at(r, &c->pos, "hosts", i,
				       "'%s' is named already on line %u; name it once",
				       c->hosts[i], before->pos.line);
	}
}

static void check_networks(struct spec_reader *r, const struct spec_export *e, size_t client)
{
	const struct spec_client *c = &e->clients[client];
	char have[IP_ADDR_STR_MAX], want[IP_ADDR_STR_MAX];

	for (size_t i = 0; i < c->n_networks; i++) {
		const struct ip_prefix *p = &c->networks[i];
		struct ip_prefix net = {.len = p->len};
		const struct spec_client *before;

		if (!p->addr.family)
			continue;
		net.addr = ip_addr_network(&p->addr, p->len);
		ip_prefix_format(p, have, sizeof(have));
		if (!ip_addr_equal(&net.addr, &p->addr)) {
			check_error_at(
				r, &c->pos, "networks", i,
				"%s is not a network address; write %s, or the address alone", have,
				ip_prefix_format(&net, want, sizeof(want)));
			continue;
		}
		before = network_before(e, client, i);
		if (before)
			check_error_at(r, &c->pos, "networks", i,
				       "%s is inside a network that is listed before, on line %u; "
				       "list the smaller network first, or remove it",
				       have, before->pos.line);
	}
}

static bool ids_overlap(uint32_t a, uint32_t n_a, uint32_t b, uint32_t n_b)
{
	return (uint64_t)a < (uint64_t)b + n_b && (uint64_t)b < (uint64_t)a + n_a;
}

/* Checks that a map is one to one: otherwise the owner of a file would depend on the client that
 * reads it. */
static void check_ids(struct spec_reader *r, const struct spec_client *c,
		      const struct spec_ids *map, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t last = (uint64_t)MAX_OF(map[i].client, map[i].server) + map[i].count - 1;
		const struct spec_node *first = member(r, &map[i].pos, "client");

		if (!first || first->bad)
			continue;
		if (map[i].count > 0 && last >= UINT32_MAX)
			check_error(r, &map[i].pos, "count",
				    "the ids would end at %" PRIu64
				    "; the largest valid id is %" PRIu32,
				    last, UINT32_MAX - 1);
		if (c->squash == SPEC_SQUASH_ROOT && map[i].client == 0)
			check_error(
				r, &map[i].pos, "client",
				"id 0 is root, which is squashed; begin at 1, or write 'squash: "
				"none' beside the map");
		for (size_t j = 0; j < i; j++) {
			bool client = ids_overlap(map[i].client, map[i].count, map[j].client,
						  map[j].count);

			if (!client &&
			    !ids_overlap(map[i].server, map[i].count, map[j].server, map[j].count))
				continue;
			check_error(r, &map[i].pos, client ? "client" : "server",
				    "the ids overlap those of line %u; give each id once",
				    map[j].pos.line);
			break;
		}
	}
}

static void check_client(struct spec_reader *r, const struct spec_export *e, size_t client)
{
	const struct spec_client *c = &e->clients[client];

	if (is_written_for_all(r, c) && client + 1 < e->n_clients)
		check_error(r, &c->pos, NULL,
			    "it matches every client, so later entries have no effect; put this "
			    "entry last, or name hosts or networks");
	if (c->squash == SPEC_SQUASH_ALL && (c->n_uid_map || c->n_gid_map))
		check_error(r, &c->pos, c->n_uid_map ? "uid-map" : "gid-map",
			    "with 'squash: all' every user is the anonymous one; leave the map "
			    "out, or write 'squash: root'");
	if (e->read_only && c->access == SPEC_ACCESS_RW && member(r, &c->pos, "access"))
		check_error(r, &c->pos, "access",
			    "the export is read-only for all clients; leave rw out, or write "
			    "'read-only: "
			    "false'");
	/* the clients of a read-only export have only read-only rights, which the normal form must
	 * show */
	if (e->read_only)
		e->clients[client].access = SPEC_ACCESS_RO;
	check_hosts(r, e, client);
	check_networks(r, e, client);
	check_ids(r, c, c->uid_map, c->n_uid_map);
	check_ids(r, c, c->gid_map, c->n_gid_map);
}

void spec_check_export(struct spec_reader *r, const struct spec_export *e)
{
	const struct spec_node *list = member(r, &e->pos, "clients");

	if (list && list->kind == SPEC_NODE_LIST && list->n_children == 0)
		check_error(
			r, &e->pos, "clients",
			"the list is empty, which could mean no client or every client; leave the "
			"export out, or write '[{}]' for every client");
	for (size_t i = 0; i < e->n_clients; i++)
		check_client(r, e, i);
}

/* Returns the number of the export's rules, and in *ret_ids the number of id ranges in them. A
 * worker accepts only a limited number of rules (launch.h). */
size_t spec_export_rules(const struct spec_export *e, size_t *ret_ids)
{
	size_t rules = 0, ids = 0;

	for (size_t i = 0; i < e->n_clients; i++) {
		const struct spec_client *c = &e->clients[i];

		rules += is_for_all(c) ? 1 : c->n_hosts + c->n_networks;
		ids += c->n_uid_map + c->n_gid_map;
	}
	*ret_ids = ids;
	return e->n_clients ? rules : 1;
}

size_t spec_export_ips(const struct spec *s, const struct spec_export *e)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n_clients && !spec_has_key(s); i++)
		for (size_t j = 0; j < e->clients[i].n_hosts; j++)
			if (e->clients[i].hosts[j])
				n += spec_host_ips(s, e->clients[i].hosts[j], NULL, 0);
	return n;
}

/* Warns about clients' names that nothing proves. Without a cluster key, a client's name is known
 * only by its source address, which the handshake of a session proves. */
static void check_names_proven(struct spec_reader *r, const struct spec_client *c)
{
	const struct spec *s = r->spec;

	for (size_t i = 0; i < c->n_hosts; i++)
		if (spec_host_ips(s, c->hosts[i], NULL, 0) == 0 && strcmp(c->hosts[i], s->host))
			check_warning_at(r, &c->pos, "hosts", i,
					 "without a cluster key '%s' is refused, because 'peers' "
					 "lists no 'ips' of this host; add the host to 'peers', or "
					 "write cluster.secret-file",
					 c->hosts[i]);
	if (c->n_hosts > 0 && c->squash == SPEC_SQUASH_NONE)
		check_warning_at(r, &c->pos, "squash", NO_INDEX,
				 "without a cluster key any host that takes an address of these "
				 "hosts is root here; run 'plenum secret generate', and write "
				 "cluster.secret-file on all hosts");
}

void spec_check_names_proven(struct spec_reader *r)
{
	const struct spec *s = r->spec;

	for (size_t i = 0; i < s->n_workers && !spec_has_key(s); i++)
		for (size_t j = 0; j < s->workers[i].n_exports; j++)
			for (size_t k = 0; k < s->workers[i].exports[j].n_clients; k++)
				check_names_proven(r, &s->workers[i].exports[j].clients[k]);
}
