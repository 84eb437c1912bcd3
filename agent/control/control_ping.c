/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA tests (`plenum rdma ping`): chooses the worker that can run the test and reads its result. A
 * worker runs one test at a time. The agent only starts the test and keeps the result.
 */
#include "agent/base/stats_page.h"
#include "agent/control/control_internal.h"
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

/* Copies a word that a worker reported; characters outside a-z, 0-9 and '-' become '?'. */
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

/* Reads path i from the worker's statistics page. Returns false if the worker has fewer paths. */
static bool path_read(const struct sup_worker *w, uint64_t i, struct launch_path_stats *ret)
{
	const struct launch_path_stats *p = &w->stats->paths[i];

	if (i >= LAUNCH_PATHS_MAX || i >= launch_stat_get(&w->stats->n_paths))
		return false;
	stats_page_text(w->stats, p->leg, ret->leg, sizeof(ret->leg));
	stats_page_text(w->stats, p->peer, ret->peer, sizeof(ret->peer));
	stats_page_text(w->stats, p->remote, ret->remote, sizeof(ret->remote));
	return true;
}

static bool serves(const struct sup_worker *w)
{
	return w->stats && w->started && w->state == SUP_UP && w->started->role == LAUNCH_COMPUTE;
}

/* Finds the name of the client that this host's workers serve at that address; without such a
 * client, copies `peer` itself. */
static void client_name(const struct agent *a, const char *peer, char ret[PLENUM_NAME_MAX])
{
	struct launch_path_stats p;

	snprintf(ret, PLENUM_NAME_MAX, "%s", peer);
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		for (uint64_t i = 0; serves(w) && path_read(w, i, &p); i++)
			if (p.peer[0] && is_address(peer, p.remote)) {
				snprintf(ret, PLENUM_NAME_MAX, "%s", p.peer);
				return;
			}
}

/* How likely it is that a worker with that leg has a queue pair to the client, in ascending
 * order. */
enum { NOT_SERVED, NOT_LISTED, BY_OTHER_LEGS, BY_THE_LEG, BY_PAIRS };

static int likely(const struct sup_worker *w, const char *leg, unsigned port, const char *name)
{
	struct launch_path_stats p;
	struct ip_addr ip;
	int found = NOT_SERVED;
	uint64_t i;

	for (i = 0; path_read(w, i, &p) && found < BY_THE_LEG; i++)
		if (strcmp(p.peer, name) == 0)
			found = strcmp(p.leg, leg) == 0 ? BY_THE_LEG : BY_OTHER_LEGS;
	if (found == BY_THE_LEG && launch_stat_get(&w->stats->rdma[port].pairs))
		return BY_PAIRS;
	/* The page is full, so the worker may have more paths than it lists. */
	if (found == NOT_SERVED && i == LAUNCH_PATHS_MAX && ip_addr_parse(name, &ip) < 0)
		return NOT_LISTED;
	return found;
}

/* Finds the worker that most likely serves that peer through the leg and was not asked in this test
 * yet. That worker asks the client to run the test. */
static const struct sup_worker *find_server(const struct agent *a, const char *leg,
					    const char *peer, struct launch_ping *ret)
{
	const struct sup_worker *found = NULL;
	int best = NOT_SERVED;

	client_name(a, peer, ret->peer);
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next) {
		const struct launch_config *c = w->started;
		const struct launch_port *port = serves(w) ? sup_port_find(c, leg) : NULL;
		int is;

		if (!port || (ret->id && w->ping_asked == ret->id))
			continue;
		is = likely(w, leg, (unsigned)(port - c->ports), ret->peer);
		if (is <= best)
			continue;
		best = is;
		found = w;
		ret->port = (uint32_t)(port - c->ports);
	}
	return found;
}

/* Finds a worker with the leg and a mount from that peer, preferably one that uses RDMA. */
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
	for (size_t i = 0; a->running.plan && i < a->running.plan->n_legs; i++)
		if (strcmp(a->running.plan->legs[i].name, name) == 0)
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

	w = w ? w : find_server(a, want->leg, want->peer, &p);
	if (!w) {
		control_error(r, 404, "not-found",
			      is_leg(a, want->leg)
				      ? "no running worker with this leg has a mount from this "
					"peer, or serves a client of that name or address. RDMA is "
					"tested in the session of a mount. With many clients not "
					"all addresses are listed: give the name"
				      : "no such leg; see 'plenum net show'",
			      NULL);
		return;
	}
	while (!p.id)
		if (getrandom(&p.id, sizeof(p.id), 0) != sizeof(p.id))
			break;
	e = p.id ? sup_ping(a->sup, w->id, &p) : -EIO;
	if (e < 0) {
		control_error(r, e == -EBUSY ? 409 : 503, e == -EBUSY ? "busy" : "no-worker",
			      e == -EBUSY ? "the worker is already running an RDMA test"
					  : "cannot reach the worker",
			      NULL);
		return;
	}
	snprintf(text, sizeof(text), "%016" PRIx64, p.id);
	control_created(r, json_pack("{s:s, s:I}", "ping", text, "worker", (json_int_t)w->id),
			"/v1/rdma-pings/%s", text);
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

/* Returns whether this worker cannot run the test, so that the test must run on another worker. */
static bool cannot_run_test(const struct sup_worker *w)
{
	const int e = w->pinged.status;

	return w->pinged.id == w->ping_asked && w->ping_want.peer[0] && w->pinged.done == 0 &&
	       (e == -ENOTSUP || e == -ENOTCONN);
}

/* Returns the worker that runs the test now. If none runs it, returns the worker with the most
 * useful answer of those that were asked one after another. */
static const struct sup_worker *find_asked(const struct agent *a, uint64_t id)
{
	const struct sup_worker *found = NULL;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next) {
		if (w->ping_asked != id)
			continue;
		if (!cannot_run_test(w))
			return w;
		if (!found || w->pinged.status == -ENOTSUP)
			found = w;
	}
	return found;
}

/* Asks the next worker. Returns 0, -EBUSY if it cannot be asked now, or -ENOENT if there is no
 * other worker. */
static int ask_next(const struct agent *a, const struct sup_worker *w)
{
	struct launch_ping p = w->ping_want;
	char peer[PLENUM_NAME_MAX], leg[PLENUM_NAME_MAX];

	if (!w->started || p.port >= w->started->n_ports)
		return -ENOENT;
	snprintf(leg, sizeof(leg), "%s", w->started->ports[p.port].leg);
	snprintf(peer, sizeof(peer), "%s", p.peer);
	w = find_server(a, leg, peer, &p);
	return w ? sup_ping(a->sup, w->id, &p) : -ENOENT;
}

/* Status 202 means that there is no result yet. */
void control_rdma_ping(struct agent *a, const struct client *cl, const struct privsep_msg *m,
		       int fd, struct control_reply *r)
{
	const struct sup_worker *w;
	int e;

	if (!m->ping.id) {
		begin(a, &m->ping, r);
		return;
	}
	w = find_asked(a, m->ping.id);
	if (!w)
		control_error(r, 404, "not-found",
			      "unknown RDMA test: its worker exited or the agent restarted", NULL);
	else if (cannot_run_test(w) &&
		 ((e = ask_next(a, w)) == 0 || (e == -EBUSY && clock_now_ns() < w->ping_until_ns)))
		control_json(r, 202, json_pack("{s:b}", "ended", 0));
	else if (w->pinged.id == m->ping.id)
		control_json(r, 200, result(&w->pinged));
	else if (clock_now_ns() < w->ping_until_ns)
		control_json(r, 202, json_pack("{s:b}", "ended", 0));
	else
		control_error(r, 503, "no-worker", "the worker did not answer", NULL);
}
