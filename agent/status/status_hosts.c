/* SPDX-License-Identifier: BSD-3-Clause */
/* The other hosts: clients of this host's exports, and all hosts that workers have paths to. */
#include "agent/base/stats_page.h"
#include "agent/status/status_internal.h"
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static void add_once(json_t *list, const char *text)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		if (strcmp(json_string_value(item), text) == 0)
			return;
	if (text[0])
		json_array_append_new(list, status_text_to_json(text));
}

static void add_number_once(json_t *list, uint32_t n)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		if (json_integer_value(item) == n)
			return;
	json_array_append_new(list, json_integer((json_int_t)n));
}

/* ---- clients: collected ---- */

static void add_clients_of(struct status *st, const struct sup_worker *w,
			   struct launch_client_stats *read)
{
	const struct launch_config *c = w->started ? w->started : &w->config;
	uint64_t omitted;
	size_t n = stats_page_clients(w->stats, read, &omitted);

	st->clients_omitted += omitted;
	for (size_t i = 0; i < n; i++) {
		const uint32_t k = read[i].export_index;

		if (!read[i].host[0] || read[i].state >= LAUNCH_CLIENT_STATE_MAX)
			continue;
		if (read[i].addr.family != AF_INET && read[i].addr.family != AF_INET6)
			read[i].addr.family = 0;
		st->clients[st->n_clients++] = (struct status_client){
			.worker = w->id,
			.export_name = k < c->n_exports ? c->exports[k].name : "",
			.current = status_page_is_current(w),
			.s = read[i]};
	}
}

/* Adds the mounts of clients that the worker refuses. */
static void add_refused_of(struct status *st, const struct sup_worker *w)
{
	struct launch_refused_client read[LAUNCH_REFUSED_MAX];
	size_t n = stats_page_refused(w->stats, read);

	for (size_t i = 0; i < n; i++) {
		struct status_client *c = &st->clients[st->n_clients];

		if (!read[i].host[0])
			continue;
		*c = (struct status_client){.worker = w->id,
					    .export_name = "",
					    .current = status_page_is_current(w),
					    .refused = true,
					    .s = {.since_ns = read[i].since_ns}};
		memcpy(c->reason, read[i].reason, sizeof(c->reason));
		memcpy(c->s.host, read[i].host, sizeof(c->s.host));
		if (read[i].addr.family == AF_INET || read[i].addr.family == AF_INET6)
			c->s.addr = read[i].addr;
		st->n_clients++;
	}
}

static bool has_clients(const struct sup_worker *w)
{
	return w->wanted && w->config.role == LAUNCH_COMPUTE && w->stats;
}

static int compare_clients(const void *a, const void *b)
{
	return strverscmp(((const struct status_client *)a)->s.host,
			  ((const struct status_client *)b)->s.host);
}

static bool is_connected(const struct status_client *c)
{
	return c->current && !c->refused && c->s.state == LAUNCH_CLIENT_CONNECTED;
}

/* Counts the connected hosts of each export; the clients are sorted by host. */
static void count_clients(struct status *st)
{
	for (size_t e = 0; e < st->n_exports; e++) {
		const char *last = "";

		for (size_t i = 0; i < st->n_clients; i++) {
			const struct status_client *c = &st->clients[i];

			if (!is_connected(c) || strcmp(c->export_name, st->exports[e].name) != 0)
				continue;
			st->exports[e].n_clients += strcmp(c->s.host, last) != 0;
			last = c->s.host;
		}
	}
}

static int add_clients(const struct agent *a, struct status *st)
{
	autofree struct launch_client_stats *read = calloc(LAUNCH_CLIENT_STATS_MAX, sizeof(*read));
	size_t n = 0;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		n += has_clients(w) ? LAUNCH_CLIENT_STATS_MAX + LAUNCH_REFUSED_MAX : 0;
	st->clients = calloc(MAX_OF(n, 1), sizeof(*st->clients));
	if (!read || !st->clients)
		return -ENOMEM;
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		if (has_clients(w)) {
			add_clients_of(st, w, read);
			add_refused_of(st, w);
		}
	qsort(st->clients, st->n_clients, sizeof(*st->clients), compare_clients);
	count_clients(st);
	return 0;
}

int status_collect_hosts(const struct agent *a, struct status *st)
{
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next) {
		status_judge_mounts(a, st, w);
		status_judge_exports(a, st, w);
	}
	return add_clients(a, st);
}

/* ---- clients: printed ---- */

/* States of a client host, the best one first. The host has the best state of its mounts. */
enum host_state { HOST_CONNECTED, HOST_SILENT, HOST_UNKNOWN, HOST_REFUSED, HOST_AWAY };

static enum host_state state_of(const struct status_client *c)
{
	static const enum host_state states[LAUNCH_CLIENT_STATE_MAX] = {
		[LAUNCH_CLIENT_CONNECTED] = HOST_CONNECTED,
		[LAUNCH_CLIENT_SILENT] = HOST_SILENT,
		[LAUNCH_CLIENT_AWAY] = HOST_AWAY,
	};

	if (!c->current)
		return HOST_UNKNOWN;
	return c->refused ? HOST_REFUSED : states[c->s.state];
}

/* All n mounts of a host together. The state and the time since the last packet are the best ones,
 * since_s is the longest time in that state, and the numbers are sums. */
struct client_sum {
	enum host_state state;
	int64_t since_s, heard_s, open_files; /* -1: unknown */
	json_int_t n_mounts, n_refused;
	const char *reason; /* reason for the first refused mount; "": none */
};

static struct client_sum client_add_up(const struct status_client *c, size_t n)
{
	struct client_sum sum = {.state = HOST_AWAY, .since_s = -1, .heard_s = -1, .reason = ""};

	for (size_t i = 0; i < n; i++)
		sum.state = MIN_OF(sum.state, state_of(&c[i]));
	for (size_t i = 0; i < n; i++) {
		const int64_t heard = status_age_s(c[i].s.heard_ns);

		sum.n_mounts += !c[i].refused;
		sum.n_refused += c[i].refused;
		if (c[i].refused && !sum.reason[0])
			sum.reason = c[i].reason;
		if (!c[i].current) {
			sum.open_files = -1;
			continue;
		}
		if (state_of(&c[i]) == sum.state)
			sum.since_s = MAX_OF(sum.since_s, status_age_s(c[i].s.since_ns));
		if (heard >= 0 && (sum.heard_s < 0 || heard < sum.heard_s))
			sum.heard_s = heard;
		sum.open_files += sum.open_files < 0 ? 0 : c[i].s.open_files;
	}
	return sum;
}

/* Makes the JSON object of a client host from all of its n mounts. */
static json_t *client_to_json(const struct status_client *c, size_t n)
{
	static const char *const names[] = {"connected", "silent", "unknown", "refused", "away"};
	json_t *addresses = json_array(), *exports = json_array(), *workers = json_array();
	const struct client_sum sum = client_add_up(c, n);
	char text[IP_ADDR_STR_MAX];

	for (size_t i = 0; i < n; i++) {
		if (c[i].s.addr.family)
			add_once(addresses, ip_addr_format(&c[i].s.addr, text, sizeof(text)));
		add_once(exports, c[i].export_name);
		add_number_once(workers, c[i].worker);
	}
	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:I, s:o}", "host",
			 status_text_to_json(c->s.host), "state", names[sum.state], "addresses",
			 addresses, "exports", exports, "workers", workers, "mounts", sum.n_mounts,
			 "open_files", status_number_or_null(sum.open_files), "since_s",
			 status_number_or_null(sum.since_s), "heard_s",
			 status_number_or_null(sum.heard_s), "refused_mounts", sum.n_refused,
			 "reason", status_text_to_json(sum.reason));
}

json_t *status_clients_to_json(const struct status *st)
{
	const json_int_t omitted = (json_int_t)MIN_OF(st->clients_omitted, (uint64_t)UINT32_MAX);
	json_t *list = json_array();
	size_t n;

	for (size_t i = 0; list && i < st->n_clients; i += n) {
		const struct status_client *c = &st->clients[i];

		for (n = 1; i + n < st->n_clients && strcmp(c[n].s.host, c->s.host) == 0;)
			n++;
		if (!status_append(list, client_to_json(c, n))) {
			json_decref(list);
			return NULL;
		}
	}
	return json_pack("{s:o, s:o, s:I}", "host", status_text_to_json(st->host), "clients", list,
			 "omitted_mounts", omitted);
}

/* ---- peers ---- */

/* A place that mentions a host: a path, a mount or a peer of the configuration. One of the three
 * pointers is set. */
struct mention {
	const char *host;
	const struct status_path *path;
	const struct status_mount *mount;
	const struct spec_peer *peer;
};

struct peer { /* one host, as the sum of its mentions */
	json_t *addresses, *legs_up, *legs_down, *mounts, *exports;
	unsigned n_paths, n_up, n_told;
	int64_t up_s, down_s, heard_s, mtu; /* -1: unknown */
	double rtt_us, loss_to, loss_from;  /* below 0: unknown */
	const char *reason, *mount_reason;
};

/* A round-trip time that is older than 10 s, or that was measured only by probes between idle
 * hosts, says little about the network. */
bool status_rtt_is_current(uint64_t srtt_ns, uint64_t rtt_at_ns)
{
	return rtt_at_ns && srtt_ns && clock_now_ns() < rtt_at_ns + 10 * NSEC_PER_SEC;
}

static double larger_loss(double than, uint64_t ppm)
{
	return ppm == UINT64_MAX ? than : MAX_OF(than, (double)ppm / 10000);
}

static void add_path_up(struct peer *p, const struct status_path *path)
{
	const struct launch_path_stats *s = &path->s;
	const double rtt_us = (double)s->srtt_ns / NSEC_PER_USEC;

	p->n_up++;
	p->up_s = MAX_OF(p->up_s, (int64_t)path->since_s);
	add_once(p->legs_up, s->leg);
	if (status_rtt_is_current(s->srtt_ns, s->rtt_at_ns) &&
	    (p->rtt_us < 0 || rtt_us < p->rtt_us))
		p->rtt_us = rtt_us;
	if (s->mtu && (p->mtu < 0 || (int64_t)s->mtu < p->mtu))
		p->mtu = (int64_t)s->mtu;
	p->loss_to = larger_loss(p->loss_to, s->loss_out_ppm);
	p->loss_from = larger_loss(p->loss_from, s->loss_in_ppm);
}

static void add_path(struct peer *p, const struct status_path *path)
{
	const int64_t heard = status_age_s(path->s.heard_ns);

	p->n_paths++;
	add_once(p->addresses, path->s.remote);
	add_once(p->exports, path->export_name);
	if (!path->current)
		return;
	p->n_told++;
	if (heard >= 0 && (p->heard_s < 0 || heard < p->heard_s))
		p->heard_s = heard;
	if (path->s.up) {
		add_path_up(p, path);
		return;
	}
	if (p->down_s < 0 || (int64_t)path->since_s < p->down_s)
		p->down_s = (int64_t)path->since_s;
	if (!p->reason)
		p->reason = path->reason;
}

/* Lists the leg of the path as down, unless another path through this leg to the host is up. */
static void add_leg_down(struct peer *p, const struct status_path *path)
{
	const json_t *leg;
	size_t i;

	json_array_foreach (p->legs_up, i, leg)
		if (strcmp(json_string_value(leg), path->s.leg) == 0)
			return;
	if (path->current)
		add_once(p->legs_down, path->s.leg);
}

static void add_mention(struct peer *p, const struct mention *m)
{
	char text[IP_ADDR_STR_MAX];

	if (m->path)
		add_path(p, m->path);
	if (m->mount) {
		add_once(p->mounts, m->mount->path);
		if (!p->mount_reason && m->mount->reason[0])
			p->mount_reason = m->mount->reason;
	}
	for (size_t i = 0; m->peer && i < m->peer->n_ips; i++)
		add_once(p->addresses, ip_addr_format(&m->peer->ips[i], text, sizeof(text)));
}

static json_t *real_or_null(double v)
{
	return v < 0 ? json_null() : json_real(v);
}

static json_t *peer_to_json(const struct mention *m, size_t n)
{
	struct peer p = {.addresses = json_array(),
			 .legs_up = json_array(),
			 .legs_down = json_array(),
			 .mounts = json_array(),
			 .exports = json_array(),
			 .up_s = -1,
			 .down_s = -1,
			 .heard_s = -1,
			 .mtu = -1,
			 .rtt_us = -1,
			 .loss_to = -1,
			 .loss_from = -1};
	const char *state, *why;

	for (size_t i = 0; i < n; i++)
		add_mention(&p, &m[i]);
	for (size_t i = 0; i < n; i++)
		if (m[i].path)
			add_leg_down(&p, m[i].path);
	state = p.n_up ? "up" : p.n_told ? "down" : "unknown";
	why = p.reason ? p.reason : !p.n_up && p.mount_reason ? p.mount_reason : "";
	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, "
			 "s:o, s:o}",
			 "host", status_text_to_json(m->host), "state", state, "reason",
			 status_text_to_json(why), "addresses", p.addresses, "legs_up", p.legs_up,
			 "legs_down", p.legs_down, "mounts", p.mounts, "exports", p.exports,
			 "paths", (json_int_t)p.n_paths, "paths_up", (json_int_t)p.n_up, "rtt_us",
			 real_or_null(p.rtt_us), "loss_to_percent", real_or_null(p.loss_to),
			 "loss_from_percent", real_or_null(p.loss_from), "mtu",
			 status_number_or_null(p.mtu), "since_s",
			 status_number_or_null(p.n_up ? p.up_s : p.down_s), "heard_s",
			 status_number_or_null(p.heard_s));
}

static int compare_mentions(const void *a, const void *b)
{
	return strverscmp(((const struct mention *)a)->host, ((const struct mention *)b)->host);
}

/* Lists all mentions of hosts on the heap, sorted by host. Returns NULL if memory is short. */
static struct mention *find_mentions(const struct agent *a, const struct status *st, size_t *ret_n)
{
	const struct spec *spec = a->running.spec;
	const size_t n_peers = spec ? spec->n_peers : 0;
	struct mention *all = calloc(st->n_paths + st->n_mounts + n_peers + 1, sizeof(*all));
	size_t n = 0;

	if (!all)
		return NULL;
	for (size_t i = 0; i < st->n_paths; i++)
		if (st->paths[i].s.peer[0])
			all[n++] = (struct mention){.host = st->paths[i].s.peer,
						    .path = &st->paths[i]};
	for (size_t i = 0; i < st->n_mounts; i++)
		all[n++] = (struct mention){.host = st->mounts[i].peer, .mount = &st->mounts[i]};
	for (size_t i = 0; i < n_peers; i++)
		all[n++] = (struct mention){.host = spec->peers[i].name, .peer = &spec->peers[i]};
	qsort(all, n, sizeof(*all), compare_mentions);
	*ret_n = n;
	return all;
}

json_t *status_peers_to_json(const struct agent *a, const struct status *st)
{
	size_t n_all = 0, n;
	autofree struct mention *all = find_mentions(a, st, &n_all);
	json_t *list = all ? json_array() : NULL;

	for (size_t i = 0; list && i < n_all; i += n) {
		for (n = 1; i + n < n_all && strcmp(all[i + n].host, all[i].host) == 0;)
			n++;
		if (!status_append(list, peer_to_json(&all[i], n))) {
			json_decref(list);
			return NULL;
		}
	}
	return list ? json_pack("{s:o, s:o}", "host", status_text_to_json(st->host), "peers", list)
		    : NULL;
}
