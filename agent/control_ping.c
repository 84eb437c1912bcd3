/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tries of RDMA (`plenum rdma ping`): which worker can make one, and what came of it. The worker
 * does one at a time and ends it by itself, so the agent keeps nothing but its answer. Apart
 * because no other request of a client waits for a worker.
 */
#include "agent/control_internal.h"
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

/* Of the worker's text only what can be shown. */
static const char *word(const char *text, char *buf, size_t size)
{
	size_t n = 0;

	for (; n + 1 < size && text[n]; n++)
		buf[n] = text[n];
	buf[n] = '\0';
	for (char *c = buf; *c; c++)
		if ((*c < 'a' || *c > 'z') && (*c < '0' || *c > '9') && *c != '-')
			*c = '?';
	return buf;
}

static bool is_address(const char *text, const char *of)
{
	struct ip_addr a, b;

	return ip_addr_parse(text, &a) == 0 && ip_addr_parse(of, &b) == 0 && ip_addr_equal(&a, &b);
}

static bool is_peer(const struct launch_mount *m, const char *peer)
{
	struct ip_addr ip;

	if (strcmp(m->peer, peer) == 0)
		return true;
	if (ip_addr_parse(peer, &ip) < 0)
		return false;
	for (uint32_t i = 0; i < m->n_addrs && i < LAUNCH_PEER_ADDRS_MAX; i++)
		if (m->addrs[i].ip.family == ip.family &&
		    memcmp(&m->addrs[i].ip, &ip, sizeof(ip)) == 0)
			return true;
	return false;
}

/* A client of a worker here, by the name or an address that it has on the leg. */
static bool is_client(const struct sup_worker *w, const struct privsep_ping *want,
		      struct launch_ping *ret)
{
	const uint64_t n = MIN_OF(launch_stat_get(&w->stats->n_paths), (uint64_t)LAUNCH_PATHS_MAX);

	for (uint64_t i = 0; i < n; i++) {
		const struct launch_path_stats *p = &w->stats->paths[i];
		char leg[sizeof(p->leg)], peer[sizeof(p->peer)], remote[sizeof(p->remote)];

		status_read_text(w->stats, p->leg, leg, sizeof(leg));
		status_read_text(w->stats, p->peer, peer, sizeof(peer));
		status_read_text(w->stats, p->remote, remote, sizeof(remote));
		if (strcmp(leg, want->leg) != 0 || !peer[0] ||
		    (strcmp(peer, want->peer) != 0 && !is_address(want->peer, remote)))
			continue;
		snprintf(ret->peer, sizeof(ret->peer), "%s", peer);
		return true;
	}
	return false;
}

/* A worker that serves that peer by the leg: it has its client ask for the try. */
static const struct sup_worker *find_server(const struct agent *a, const struct privsep_ping *want,
					    struct launch_ping *ret)
{
	const struct sup_worker *found = NULL;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next) {
		const struct launch_config *c = w->started;
		const struct launch_port *port = c ? sup_port_find(c, want->leg) : NULL;

		if (!port || !w->stats || w->state != SUP_UP || c->role != LAUNCH_COMPUTE ||
		    (found && !launch_stat_get(&w->stats->rdma[port - c->ports].pairs)) ||
		    !is_client(w, want, ret))
			continue;
		found = w;
		ret->port = (uint32_t)(port - c->ports);
	}
	return found;
}

/* A mount from that peer, of a worker that has the leg; better one that is served by RDMA. */
static const struct sup_worker *find(const struct agent *a, const struct privsep_ping *want,
				     struct launch_ping *ret)
{
	const struct sup_worker *found = NULL;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next) {
		const struct launch_config *c = w->started;
		const struct launch_port *port = c ? sup_port_find(c, want->leg) : NULL;

		for (uint32_t i = 0; port && w->state == SUP_UP && i < c->n_mounts; i++) {
			const uint32_t n = (uint32_t)(port - c->ports);

			if (!is_peer(&c->mounts[i], want->peer))
				continue;
			if (found && !(w->stats && launch_stat_get(&w->stats->rdma[n].pairs)))
				continue;
			found = w;
			ret->mount = i;
			ret->port = n;
		}
	}
	return found;
}

static bool is_leg(const struct agent *a, const char *name)
{
	for (size_t i = 0; a->now.plan && i < a->now.plan->n_legs; i++)
		if (strcmp(a->now.plan->legs[i].name, name) == 0)
			return true;
	return false;
}

static void begin(struct agent *a, const struct privsep_ping *want, struct control_reply *r)
{
	struct launch_ping p = {.what = want->what,
				.bytes = want->bytes,
				.count = want->count,
				.depth = want->depth};
	const struct sup_worker *w = find(a, want, &p);
	char text[17];
	int e;

	w = w ? w : find_server(a, want, &p);
	if (!w) {
		control_error(r, 404, "not-found",
			      is_leg(a, want->leg)
				      ? "no worker that runs has a mount from this peer or a path "
					"to a client of that name or address by that leg; RDMA is "
					"spoken over the sessions of mounts"
				      : "there is no leg of that name",
			      NULL);
		return;
	}
	while (!p.id)
		if (getrandom(&p.id, sizeof(p.id), 0) != sizeof(p.id))
			break;
	e = p.id ? sup_ping(a->sup, w->id, &p) : -EIO;
	if (e < 0) {
		control_error(r, e == -EBUSY ? 409 : 503, e == -EBUSY ? "busy" : "no-worker",
			      e == -EBUSY ? "RDMA is being tried already, for another client"
					  : "the worker cannot be asked",
			      NULL);
		return;
	}
	snprintf(text, sizeof(text), "%016" PRIx64, p.id);
	control_json(r, 200, json_pack("{s:s, s:I}", "ping", text, "worker", (json_int_t)w->id));
}

static json_t *result(const struct launch_ping *p)
{
	char buf[sizeof(p->reason)];

	return json_pack("{s:b, s:i, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "ended", 1, "error",
			 (int)p->status, "reason", word(p->reason, buf, sizeof(buf)), "done",
			 (json_int_t)p->done, "bytes", (json_int_t)p->bytes, "took_ns",
			 (json_int_t)(p->took_ns & INT64_MAX), "min_ns", (json_int_t)p->min_ns,
			 "median_ns", (json_int_t)p->median_ns, "p99_ns", (json_int_t)p->p99_ns,
			 "max_ns", (json_int_t)p->max_ns);
}

/* 202: not yet. */
void control_rdma_ping(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r)
{
	if (!m->ping.id) {
		begin(a, &m->ping, r);
		return;
	}
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next) {
		if (w->ping_asked != m->ping.id)
			continue;
		if (w->pinged.id == m->ping.id)
			control_json(r, 200, result(&w->pinged));
		else if (clock_now_ns() < w->ping_until_ns)
			control_json(r, 202, json_pack("{s:b}", "ended", 0));
		else
			control_error(r, 503, "no-worker", "the worker has not answered", NULL);
		return;
	}
	control_error(r, 404, "not-found",
		      "there is no such try: its worker has ended, or it was another agent's",
		      NULL);
}
