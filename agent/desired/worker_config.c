/* SPDX-License-Identifier: BSD-3-Clause */
/* Translates the workers of a plan into launch configurations. It makes no system calls. */
#include "agent/desired/worker_config.h"
#include "netcfg/plan/backend.h"
#include <stdio.h>
#include <string.h>

/* How long a worker polls before it sleeps: a little more than a round trip, so that the worker is
 * still polling when an answer arrives. */
#define WORKER_SPIN_US 100

/* The plan has replaced the transport auto, so auto is not in the table. */
#define TRANSPORT(name, text) [SPEC_TRANSPORT_##name] = LAUNCH_##name,
static const enum launch_transport transports[] = {SPEC_TRANSPORTS(TRANSPORT)};
#define ROLE(name, text) [SPEC_ROLE_##name] = LAUNCH_##name,
static const enum launch_role roles[] = {SPEC_ROLES(ROLE)};

static void fill_port(const struct plan_worker *pw, const struct plan_port *pp,
		      struct launch_port *lp)
{
	const struct backend *b = backend_find(pw->effective);

	memcpy(lp->leg, pp->leg, sizeof(lp->leg));
	memcpy(lp->ifname, pp->ifname, sizeof(lp->ifname));
	lp->ifindex = pp->ifindex;
	lp->mtu = pp->mtu;
	lp->ip = pp->ip;
	lp->gateway = pp->gateway;
	lp->udp_port = pw->udp_port;
	lp->mac = pp->mac;
	lp->rdma = pp->rdma;
	lp->rdma_asked = pp->rdma_asked;
	lp->rdma_only = pp->rdma_only;
	if (b->device)
		b->device(pp, lp->device, sizeof(lp->device));
	else
		lp->udp_sources = pp->udp_sources;
	lp->shared = b->device && pp->shared;
}

static const struct spec_peer *find_peer(const struct spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->n_peers; i++)
		if (strcmp(spec->peers[i].name, name) == 0)
			return &spec->peers[i];
	return NULL;
}

/* Adds the addresses of a mount whose server is this host: the data IPs of this host's compute
 * workers. */
static void add_own_addrs(const struct plan *plan, struct launch_mount *lm)
{
	for (size_t i = 0; i < plan->n_workers; i++) {
		const struct plan_worker *pw = &plan->workers[i];

		for (size_t j = 0; pw->role == SPEC_ROLE_COMPUTE && j < pw->n_ips; j++) {
			if (lm->n_addrs == LAUNCH_PEER_ADDRS_MAX)
				return;
			lm->addrs[lm->n_addrs].ip = pw->ips[j];
			lm->addrs[lm->n_addrs++].port = pw->udp_port;
		}
	}
}

/* Adds the addresses that a server has published in the cluster. */
static void add_server_addrs(const struct cluster_server *s, struct launch_mount *lm)
{
	for (uint32_t i = 0; s && i < s->n_addrs && lm->n_addrs < LAUNCH_PEER_ADDRS_MAX; i++) {
		lm->addrs[lm->n_addrs].ip = s->addrs[i].ip;
		lm->addrs[lm->n_addrs++].port = s->addrs[i].port;
	}
}

static int copy_path(const char *path, const struct diag_pos *pos, struct diag *d, char *to,
		     size_t size)
{
	if ((size_t)snprintf(to, size, "%s", path) < size)
		return 0;
	diag_add(d, DIAG_ERROR, pos, NULL, "the path is longer than %zu bytes; use a shorter one",
		 size - 1);
	return -EINVAL;
}

/* The inputs of all workers' configurations. */
struct inputs {
	const struct spec *spec;
	const struct plan *plan;
	const struct servers *servers; /* NULL: none */
};

bool worker_config_add_addrs(const struct spec *spec, const struct plan *plan,
			     const struct servers *servers, struct launch_mount *lm)
{
	const struct spec_peer *peer = find_peer(spec, lm->peer);

	for (size_t i = 0; peer && i < peer->n_ips && lm->n_addrs < LAUNCH_PEER_ADDRS_MAX; i++) {
		lm->addrs[lm->n_addrs].ip = peer->ips[i];
		lm->addrs[lm->n_addrs++].port = peer->port ? peer->port : spec->port;
	}
	if (!peer && strcmp(lm->peer, spec->host) == 0)
		add_own_addrs(plan, lm);
	else if (!peer && servers && spec->cluster.n_etcd > 0)
		add_server_addrs(servers_find(servers, spec->cluster.name, lm->peer), lm);
	return lm->n_addrs > 0 || spec->cluster.n_etcd > 0;
}

static int fill_mount(const struct inputs *in, const struct spec_mount *sm, struct diag *d,
		      struct launch_mount *lm)
{
	memcpy(lm->export_name, sm->from_export, sizeof(lm->export_name));
	memcpy(lm->peer, sm->from_host, sizeof(lm->peer));
	lm->read_only = sm->read_only;
	lm->soft_s = sm->soft_s;
	lm->locks = sm->locks == SPEC_LOCKS_NONE      ? LAUNCH_LOCKS_NONE
		    : sm->locks == SPEC_LOCKS_CLUSTER ? LAUNCH_LOCKS_CLUSTER
						      : LAUNCH_LOCKS_LOCAL;
	lm->limits = (struct launch_limits){.bytes_per_s = sm->max_kbs * 1000ULL,
					    .operations_per_s = sm->max_operations};
	lm->write_back = sm->write_back;
	lm->suid = sm->suid;
	lm->dev = sm->dev;
	if (!worker_config_add_addrs(in->spec, in->plan, in->servers, lm)) {
		diag_add(d, DIAG_ERROR, &sm->pos, NULL,
			 "mount %s is from host '%s', whose addresses are unknown; add the host "
			 "under peers",
			 sm->path, sm->from_host);
		return -EINVAL;
	}
	return copy_path(sm->path, &sm->pos, d, lm->path, sizeof(lm->path));
}

static enum launch_squash squash_of(enum spec_squash s)
{
	switch (s) {
	case SPEC_SQUASH_NONE:
		return LAUNCH_SQUASH_NONE;
	case SPEC_SQUASH_ALL:
		return LAUNCH_SQUASH_ALL;
	default:
		return LAUNCH_SQUASH_ROOT;
	}
}

static void add_ids(const struct spec_ids *map, size_t n, struct launch_config *c)
{
	for (size_t i = 0; i < n && c->n_ids < LAUNCH_IDS_MAX; i++)
		c->ids[c->n_ids++] =
			(struct launch_ids){map[i].client, map[i].server, map[i].count};
}

/* Without a cluster key, a client's name is accepted only from the addresses that this function
 * adds. The spec check guarantees that they fit into the array. */
static void add_addrs(const struct spec *spec, struct launch_client *to, struct launch_config *c)
{
	const uint32_t max = LAUNCH_CLIENT_ADDRS_MAX - c->n_client_addrs;
	size_t n;

	if (spec_has_key(spec))
		return;
	n = spec_host_ips(spec, to->host, &c->client_addrs[c->n_client_addrs], max);
	to->first_addr = c->n_client_addrs;
	to->n_addrs = (uint32_t)MIN_OF(n, (size_t)max);
	c->n_client_addrs += to->n_addrs;
}

/* Assigns each member separately into zeroed memory, because configurations are compared
 * bytewise. */
static void add_client(const struct spec *spec, const struct spec_client *sc, const char *host,
		       const struct ip_prefix *network, uint32_t first_ids, struct launch_config *c)
{
	struct launch_client *to;

	if (c->n_clients == LAUNCH_CLIENTS_MAX)
		return;
	to = &c->clients[c->n_clients++];
	if (host)
		snprintf(to->host, sizeof(to->host), "%s", host);
	if (host)
		add_addrs(spec, to, c);
	if (network)
		to->network = *network;
	to->read_only = sc->access == SPEC_ACCESS_RO;
	to->squash = squash_of(sc->squash);
	to->anonuid = sc->anonuid;
	to->anongid = sc->anongid;
	to->first_ids = first_ids;
	to->n_uids = (uint32_t)sc->n_uid_map;
	to->n_gids = (uint32_t)sc->n_gid_map;
}

/* Adds one rule per network and host; the spec check guarantees that they fit. An entry's networks
 * come first, because a client in one of them needs no proof of its name. */
static void fill_clients(const struct spec *spec, const struct spec_export *se,
			 struct launch_config *c, struct launch_export *e)
{
	static const struct spec_client anyone = {
		.squash = SPEC_SQUASH_ROOT, .anonuid = SPEC_ID_NOBODY, .anongid = SPEC_ID_NOBODY};
	const struct spec_client *clients = se->n_clients ? se->clients : &anyone;

	e->first_client = c->n_clients;
	for (size_t i = 0; i < MAX_OF(se->n_clients, 1); i++) {
		const struct spec_client *sc = &clients[i];
		uint32_t first_ids = c->n_ids;

		add_ids(sc->uid_map, sc->n_uid_map, c);
		add_ids(sc->gid_map, sc->n_gid_map, c);
		for (size_t j = 0; j < sc->n_networks; j++)
			add_client(spec, sc, NULL, &sc->networks[j], first_ids, c);
		for (size_t j = 0; j < sc->n_hosts; j++)
			add_client(spec, sc, sc->hosts[j], NULL, first_ids, c);
		if (sc->n_hosts == 0 && sc->n_networks == 0)
			add_client(spec, sc, NULL, NULL, first_ids, c);
	}
	e->n_clients = c->n_clients - e->first_client;
}

static int fill_worker(const struct inputs *in, const struct plan_worker *pw, struct diag *d,
		       struct launch_config *c)
{
	const struct spec *spec = in->spec;
	int r = 0;

	memcpy(c->host, spec->host, sizeof(c->host));
	c->worker_id = pw->id;
	c->role = roles[pw->role];
	c->transport = transports[pw->effective];
	c->core = pw->core;
	c->spin_us = WORKER_SPIN_US;
	c->sessions = pw->sessions;
	if (c->role == LAUNCH_FRONTEND) {
		c->rdma_read_min = spec->rdma_read_min_kib << 10;
		c->rdma_write_min = spec->rdma_write_min_kib << 10;
	}
	for (size_t i = 0; i < pw->n_ports && i < LAUNCH_PORTS_MAX; i++)
		fill_port(pw, &pw->ports[i], &c->ports[c->n_ports++]);
	c->failover = in->plan->hold_s && c->transport != LAUNCH_UDP;
	c->hold_ms = c->failover ? in->plan->hold_s * 1000 : 0;
	if (pw->n_mounts > LAUNCH_MOUNTS_MAX) {
		diag_add(d, DIAG_ERROR, NULL, NULL,
			 "worker %u has more than %d mounts; give the entry more cores", pw->id,
			 LAUNCH_MOUNTS_MAX);
		return -EINVAL;
	}
	if (pw->n_exports > LAUNCH_EXPORTS_MAX) {
		diag_add(d, DIAG_ERROR, NULL, NULL,
			 "worker %u has %zu exports, the maximum is %d; divide them among more "
			 "entries",
			 pw->id, pw->n_exports, LAUNCH_EXPORTS_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; r >= 0 && i < pw->n_mounts; i++)
		r = fill_mount(in, pw->mounts[i], d, &c->mounts[c->n_mounts++]);
	for (uint32_t i = 0; i < c->n_mounts; i++)
		c->mounts[i].has_mount_workers = pw->has_mount_workers;
	if (r >= 0 && pw->shared_mount) {
		c->shared[0].mount_worker = pw->mount_worker;
		r = fill_mount(in, pw->shared_mount, d, &c->shared[c->n_shared++]);
		/* The mount workers get the limits from the owner of the mount. */
		memset(&c->shared[0].limits, 0, sizeof(c->shared[0].limits));
	}
	for (size_t i = 0; r >= 0 && i < pw->n_exports; i++) {
		struct launch_export *e = &c->exports[c->n_exports++];

		memcpy(e->name, pw->exports[i].name, sizeof(e->name));
		e->read_only = pw->exports[i].read_only;
		e->crosses = pw->exports[i].submounts == SPEC_SUBMOUNTS_CROSS;
		fill_clients(spec, &pw->exports[i], c, e);
		r = copy_path(pw->exports[i].path, &pw->exports[i].pos, d, e->path,
			      sizeof(e->path));
	}
	return r;
}

/* ---- addresses of running mounts ---- */

static void keep_addrs(const struct launch_mount *from, uint32_t n_from, struct launch_mount *to)
{
	for (uint32_t i = 0; i < n_from && to->n_addrs == 0; i++) {
		if (strcmp(from[i].path, to->path) != 0 || strcmp(from[i].peer, to->peer) != 0 ||
		    strcmp(from[i].export_name, to->export_name) != 0)
			continue;
		memcpy(to->addrs, from[i].addrs, sizeof(to->addrs));
		to->n_addrs = from[i].n_addrs;
	}
}

static void keep_addrs_of_all(const struct launch_config *from, struct launch_mount *to, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		keep_addrs(from->mounts, from->n_mounts, &to[i]);
		keep_addrs(from->shared, from->n_shared, &to[i]);
	}
}

void mounts_keep_addrs(const struct launch_config *from, struct launch_config *desired, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		keep_addrs_of_all(from, desired[i].mounts, desired[i].n_mounts);
		keep_addrs_of_all(from, desired[i].shared, desired[i].n_shared);
	}
}

void mounts_keep_running_addrs(const struct sup *sup, struct launch_config *desired, size_t n)
{
	for (const struct sup_worker *w = sup_first(sup); w; w = w->next) {
		if (w->started)
			mounts_keep_addrs(w->started, desired, n);
		mounts_keep_addrs(&w->config, desired, n);
	}
}

int worker_config_build(const struct spec *spec, const struct plan *plan,
			const struct servers *servers, enum log_level level, struct diag *d,
			struct launch_config **ret, size_t *ret_n)
{
	const struct inputs in = {spec, plan, servers};
	autofree struct launch_config *c = calloc(MAX_OF(plan->n_workers, 1), sizeof(*c));
	int r = 0;

	if (!c)
		return -ENOMEM;
	for (size_t i = 0; i < plan->n_workers; i++) {
		int one = fill_worker(&in, &plan->workers[i], d, &c[i]);

		c[i].log_level = level;
		r = one < 0 ? one : r;
	}
	if (r < 0)
		return r;
	*ret = ptr_take(c);
	*ret_n = plan->n_workers;
	return 0;
}
