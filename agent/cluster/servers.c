/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of known servers and its file (state_file.h), with the lines:
 *
 * host ID EPOCH
 * cluster NAME
 * address SERVER IP PORT LABEL
 */
#include "agent/cluster/servers.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/vec.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static const struct state_kind kind = {
	.name = "cluster", .version = 1, .scope = STATE_OF_HOST, .bytes_max = 1U << 20};

void servers_done(struct servers *s)
{
	free(s->all);
	*s = (struct servers){.n = 0};
}

/* ---- the table ---- */

static struct servers_entry *find(const struct servers *s, const char *host)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->all[i].is.host, host) == 0)
			return &s->all[i];
	return NULL;
}

const struct servers_entry *servers_entry(const struct servers *s, const char *host)
{
	return find(s, host);
}

const struct cluster_server *servers_find(const struct servers *s, const char *cluster,
					  const char *host)
{
	const struct servers_entry *e = strcmp(s->cluster, cluster) == 0 ? find(s, host) : NULL;

	return e && e->is.n_addrs ? &e->is : NULL;
}

bool servers_same_addrs(const struct cluster_server *a, const struct cluster_server *b)
{
	if (a->n_addrs != b->n_addrs)
		return false;
	for (uint32_t i = 0; i < a->n_addrs; i++)
		if (!ip_addr_equal(&a->addrs[i].ip, &b->addrs[i].ip) ||
		    a->addrs[i].port != b->addrs[i].port)
			return false;
	return true;
}

static struct servers_entry *add(struct servers *s, const char *host)
{
	struct servers_entry *e =
		s->n < SERVERS_MAX ? vec_add(&s->all, &s->n, sizeof(*s->all)) : NULL;

	if (e)
		snprintf(e->is.host, sizeof(e->is.host), "%s", host);
	return e;
}

bool servers_take(struct servers *s, const struct cluster_server *news)
{
	struct servers_entry *e = find(s, news->host);
	bool changed;

	if (!e)
		e = add(s, news->host);
	if (!e)
		return false;
	e->remembered = false;
	if (news->n_addrs == 0) {
		e->is.registered = news->registered;
		return false;
	}
	changed = !servers_same_addrs(&e->is, news);
	e->is = *news;
	return changed;
}

bool servers_set_cluster(struct servers *s, const char *cluster)
{
	const bool any = s->n > 0 && strcmp(s->cluster, cluster) != 0;

	if (strcmp(s->cluster, cluster) != 0)
		s->n = 0;
	snprintf(s->cluster, sizeof(s->cluster), "%s", cluster);
	return any;
}

bool servers_lists(const json_t *hosts, const char *host)
{
	const json_t *o;
	size_t i;

	json_array_foreach (hosts, i, o)
		if (strcmp(json_string_value(o), host) == 0)
			return true;
	return false;
}

void servers_keep(struct servers *s, const json_t *hosts)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++)
		if (servers_lists(hosts, s->all[i].is.host))
			s->all[kept++] = s->all[i];
	s->n = kept;
}

/* ---- the file ---- */

/* Fills buf with random hexadecimal digits and a NUL. `size` must be odd. */
static int draw(char *buf, size_t size)
{
	uint8_t random[(CLUSTER_ID_MAX - 1) / 2];
	const size_t n = (size - 1) / 2;

	if (getrandom(random, n, 0) != (ssize_t)n)
		return -EIO;
	for (size_t i = 0; i < n; i++)
		snprintf(&buf[2 * i], 3, "%02x", random[i]);
	return 0;
}

static int read_address(struct servers *s, struct state_file *f)
{
	struct cluster_addr a = {.port = 0};
	char host[PLENUM_NAME_MAX], ip[IP_ADDR_STR_MAX];
	struct servers_entry *e;

	state_file_copy(f, host, sizeof(host));
	state_file_copy(f, ip, sizeof(ip));
	a.port = (uint16_t)state_file_number(f, UINT16_MAX);
	state_file_copy(f, a.label, sizeof(a.label));
	if (!state_file_line_ends(f) || !host[0] || a.port == 0 || ip_addr_parse(ip, &a.ip) < 0)
		return STATE_TORN;
	e = find(s, host);
	if (!e)
		e = add(s, host);
	if (e)
		e->remembered = true;
	if (e && e->is.n_addrs < CLUSTER_ADDRS_MAX)
		e->is.addrs[e->is.n_addrs++] = a;
	return 0;
}

static int read_line(struct servers *s, struct state_file *f)
{
	const char *word = state_file_word(f);

	if (strcmp(word, "address") == 0)
		return read_address(s, f);
	if (strcmp(word, "host") == 0) {
		state_file_copy(f, s->id, sizeof(s->id));
		s->epoch = state_file_number(f, INT64_MAX);
	} else if (strcmp(word, "cluster") == 0) {
		state_file_copy(f, s->cluster, sizeof(s->cluster));
	} else {
		return STATE_TORN;
	}
	return state_file_line_ends(f) ? 0 : STATE_TORN;
}

int servers_load(struct servers *s, const char *path)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	int r = state_file_read(&f, &kind, path), e = 0;

	while (r == 0 && state_file_line(&f))
		r = read_line(s, &f);
	if (r == 0 && strlen(s->id) != CLUSTER_ID_MAX - 1)
		r = STATE_TORN;
	if (r < 0) {
		servers_done(s);
		e = draw(s->id, sizeof(s->id));
	}
	s->epoch++;
	if (e == 0)
		e = draw(s->nonce, sizeof(s->nonce));
	return r == STATE_MISSING || r == 0 ? e : r;
}

int servers_save(const struct servers *s, const char *path)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;
	char ip[IP_ADDR_STR_MAX];

	state_draft_init(&d, &kind);
	state_draft_put(&d, "host %s %" PRIu64, s->id, s->epoch);
	state_draft_end(&d);
	if (s->cluster[0]) {
		state_draft_put(&d, "cluster");
		state_draft_word(&d, s->cluster);
		state_draft_end(&d);
	}
	for (size_t i = 0; i < s->n; i++)
		for (uint32_t k = 0; k < s->all[i].is.n_addrs; k++) {
			const struct cluster_addr *a = &s->all[i].is.addrs[k];

			state_draft_put(&d, "address");
			state_draft_word(&d, s->all[i].is.host);
			state_draft_word(&d, ip_addr_format(&a->ip, ip, sizeof(ip)));
			state_draft_put(&d, "%u", a->port);
			state_draft_word(&d, a->label);
			state_draft_end(&d);
		}
	return state_draft_save(&d, path);
}

json_t *servers_addrs_to_json(const struct cluster_server *server)
{
	json_t *list = json_array();
	char ip[IP_ADDR_STR_MAX], text[IP_ADDR_STR_MAX + 16];

	for (uint32_t i = 0; list && server && i < server->n_addrs; i++) {
		const struct cluster_addr *a = &server->addrs[i];

		ip_addr_format(&a->ip, ip, sizeof(ip));
		snprintf(text, sizeof(text), a->ip.family == AF_INET6 ? "[%s]:%u" : "%s:%u", ip,
			 a->port);
		json_array_append_new(list, json_string(text));
	}
	return list;
}

json_t *servers_labels_to_json(const struct cluster_server *server)
{
	json_t *list = json_array();

	for (uint32_t i = 0; list && server && i < server->n_addrs; i++)
		json_array_append_new(list, json_string(server->addrs[i].label));
	return list;
}
