/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the section `cluster`: its key file, and the endpoints of etcd with their files; and the
 * networks that take their addresses from a pool of the cluster. */
#include "netcfg/base/links_port.h"
#include "netcfg/spec/check/spec_check_internal.h"
#include <stdlib.h>
#include <string.h>

/* Checks whether the URL has an address and a port, and no path: the agent resolves no names, and
 * adds the paths itself. */
static bool is_endpoint(const char *url)
{
	const char *at = strstr(url, "://") + 3, *end;
	char host[IP_ADDR_STR_MAX];
	const bool six = *at == '[';
	struct ip_addr ip;
	char *rest;
	size_t len;

	at += six;
	end = strpbrk(at, six ? "]" : ":");
	len = end ? (size_t)(end - at) : strlen(at);
	if (len >= sizeof(host) || (six && !end))
		return false;
	memcpy(host, at, len);
	host[len] = '\0';
	if (ip_addr_parse(host, &ip) < 0 || (ip.family == AF_INET6) != six)
		return false;
	at += len + six;
	if (*at != ':' || at[1] < '1' || at[1] > '9')
		return false;
	return strtoul(at + 1, &rest, 10) <= UINT16_MAX && *rest == '\0';
}

static void check_etcd(struct spec_reader *r, const struct spec_cluster *c)
{
	bool any_tls = false, all_tls = true;

	for (size_t i = 0; i < c->n_etcd; i++) {
		const bool tls = c->etcd[i] && strncmp(c->etcd[i], "https://", 8) == 0;

		if (!c->etcd[i]) /* skip an invalid URL, for which an error was reported already */
			continue;
		any_tls |= tls;
		all_tls &= tls;
		if (!is_endpoint(c->etcd[i]))
			check_error_at(r, &c->pos, "etcd", i,
				       "'%s' is not an IP address and a port; write for example "
				       "https://10.0.0.11:2379: the agent resolves no names",
				       c->etcd[i]);
	}
	if (any_tls && !c->etcd_ca)
		check_error(
			r, &c->pos, "etcd",
			"https needs etcd-ca, the file with the certificate of etcd's authority");
	if (c->etcd_ca && !any_tls)
		check_error(r, &c->pos, "etcd-ca",
			    "it has no effect without an https:// URL in etcd; remove it");
	if (c->etcd_user[0] && !c->etcd_password_file)
		check_error(r, &c->pos, "etcd-user", "it needs etcd-password-file");
	if (c->etcd_password_file && !c->etcd_user[0])
		check_error(r, &c->pos, "etcd-password-file", "it needs etcd-user");
	if (c->etcd_user[0] && c->n_etcd > 0 && !all_tls)
		check_say_at(DIAG_WARNING, r, &c->pos, "etcd-user", NO_INDEX,
			     "http:// sends the password unencrypted; use https://");
}

/* Both a key file with security: none, and security without a key file, are probably mistakes. */
void spec_check_cluster(struct spec_reader *r)
{
	const struct spec_cluster *c = &r->spec->cluster;
	const struct spec_node *map = spec_check_node(r, &c->pos, NULL, NO_INDEX);

	if (!*c->name)
		return;
	if (c->security != SPEC_SECURITY_NONE && map && !spec_node_member(map, "secret-file"))
		check_error(r, &c->pos, NULL,
			    "the key 'secret-file' is missing; write for example 'secret-file: "
			    "/etc/plenum/cluster.key', or 'security: none' for a network that is "
			    "trusted");
	if (c->security == SPEC_SECURITY_NONE && c->secret_file)
		check_error(r, &c->pos, "secret-file",
			    "it has no effect with security: none; remove secret-file or "
			    "security: none");
	if (c->identity != SPEC_IDENTITY_OFF && c->security == SPEC_SECURITY_NONE)
		check_error(r, &c->pos, "identity",
			    "it needs the key of the cluster, and security is none; write "
			    "secret-file and 'security: auth', or 'identity: off'");
	if (c->identity_dir && c->identity == SPEC_IDENTITY_OFF)
		check_error(r, &c->pos, "identity-dir",
			    "it has no effect with identity: off; remove identity-dir, or write "
			    "'identity: accept'");
	check_etcd(r, c);
	if (c->config == SPEC_CLUSTER_CONFIG_FOLLOW && c->n_etcd == 0)
		check_error(r, &c->pos, "config",
			    "the document is in the cluster's etcd, and this host has no "
			    "cluster.etcd; write cluster.etcd, or remove 'config'");
	if (c->probe_legs && r->spec->port == PLENUM_LINKS_PORT)
		check_error(r, &c->pos, "probe-legs",
			    "the probes use UDP port %u, which is also the port of the workers; "
			    "write another 'port', or remove 'probe-legs'",
			    PLENUM_LINKS_PORT);
	if (c->n_etcd == 0 && c->probe_legs)
		check_error(r, &c->pos, "probe-legs",
			    "legs find one another in the cluster's etcd, and this host has no "
			    "cluster.etcd; write cluster.etcd, or remove 'probe-legs'");
}

/* The agent takes the addresses of a network with a pool, and assigns them in the order of the
 * worker ids. So a leg of such a network cannot list addresses itself. */
static void check_pool_legs(struct spec_reader *r, const struct spec_network *w)
{
	const struct spec *s = r->spec;

	for (size_t i = 0; i < s->n_nets; i++)
		if (s->nets[i].n_ips && strcmp(s->nets[i].network, w->name) == 0)
			check_error(r, &s->nets[i].pos, "ips",
				    "network '%s' has a pool, from which this host takes its "
				    "addresses; remove 'ips', or write 'range' for the network",
				    w->name);
}

static void check_pool(struct spec_reader *r, const struct spec_network *w)
{
	const struct spec *s = r->spec;

	if (w->range.first.family) {
		check_error(r, &w->pos, "pool",
			    "the network has a range and a pool; remove one of the two");
		return;
	}
	if (s->cluster.n_etcd == 0)
		check_error(r, &w->pos, "pool",
			    "a pool is in the cluster's etcd, and this host has no cluster.etcd; "
			    "write cluster.etcd, or 'range' in place of 'pool'");
	for (const struct spec_network *o = s->networks; o < w; o++)
		if (strcmp(o->pool, w->pool) == 0) {
			check_error(r, &w->pos, "pool",
				    "it is the pool of network '%s' on line %u already; give each "
				    "network its own pool",
				    o->name, o->pos.line);
			break;
		}
	check_pool_legs(r, w);
}

void spec_check_pools(struct spec_reader *r)
{
	const struct spec *s = r->spec;

	for (size_t i = 0; i < s->n_networks; i++) {
		const struct spec_network *w = &s->networks[i];
		const struct spec_node *map = spec_check_node(r, &w->pos, NULL, NO_INDEX);

		if (w->pool[0])
			check_pool(r, w);
		else if (!w->range.first.family && map && !spec_node_member(map, "range") &&
			 !spec_node_member(map, "pool"))
			check_error(r, &w->pos, NULL,
				    "the key 'range' is missing; write for example 'range: "
				    "10.10.1.10-10.10.1.200/16', or 'pool: NAME' for a pool of the "
				    "cluster");
	}
}
