/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rights of clients: looks up the names in the configuration once, and compares clients with the
 * resulting numbers. Also chooses the connection that a new one replaces. Only the look-up makes
 * system calls.
 */
#include "agent/clients/clients.h"
#include <grp.h>
#include <pwd.h>
#include <string.h>

void clients_rights_done(struct clients_rights *r)
{
	free(r->users);
	free(r->groups);
	*r = (struct clients_rights){.readers = (gid_t)-1};
}

static bool is_number(const char *s, unsigned *ret)
{
	unsigned long v;
	char *end;

	if (s[0] < '0' || s[0] > '9')
		return false;
	errno = 0;
	v = strtoul(s, &end, 10);
	if (errno || *end || v >= UINT32_MAX)
		return false;
	*ret = (unsigned)v;
	return true;
}

static bool find_user(const char *name, uid_t *ret)
{
	const struct passwd *pw;
	unsigned number;

	if (is_number(name, &number)) {
		*ret = number;
		return true;
	}
	pw = getpwnam(name);
	if (pw)
		*ret = pw->pw_uid;
	return pw;
}

static bool find_group(const char *name, gid_t *ret)
{
	const struct group *gr;
	unsigned number;

	if (is_number(name, &number)) {
		*ret = number;
		return true;
	}
	gr = getgrnam(name);
	if (gr)
		*ret = gr->gr_gid;
	return gr;
}

int clients_rights_resolve(char *const *users, size_t n_users, char *const *groups, size_t n_groups,
			   struct events *events, struct clients_rights *ret)
{
	struct clients_rights r = {.readers = (gid_t)-1};

	r.users = calloc(n_users + 1, sizeof(*r.users));
	r.groups = calloc(n_groups + 1, sizeof(*r.groups));
	if (!r.users || !r.groups) {
		clients_rights_done(&r);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n_users; i++) {
		if (find_user(users[i], &r.users[r.n_users]))
			r.n_users++;
		else
			events_add(events, LOG_LEVEL_WARNING, "agent", "admin: unknown user %s",
				   users[i]);
	}
	for (size_t i = 0; i < n_groups; i++) {
		if (find_group(groups[i], &r.groups[r.n_groups]))
			r.n_groups++;
		else
			events_add(events, LOG_LEVEL_WARNING, "agent", "admin: unknown group %s",
				   groups[i]);
	}
	find_group("plenum", &r.readers);
	*ret = r;
	return 0;
}

static bool is_member(const struct clients_peer *p, gid_t group)
{
	if (group == (gid_t)-1)
		return false;
	if (p->gid == group)
		return true;
	for (size_t i = 0; i < p->n_groups; i++)
		if (p->groups[i] == group)
			return true;
	return false;
}

bool clients_rights_change(const struct clients_rights *r, const struct clients_peer *p)
{
	if (p->uid == 0)
		return true;
	for (size_t i = 0; i < r->n_users; i++)
		if (p->uid == r->users[i])
			return true;
	for (size_t i = 0; i < r->n_groups; i++)
		if (is_member(p, r->groups[i]))
			return true;
	return false;
}

bool clients_rights_read(const struct clients_rights *r, const struct clients_peer *p)
{
	return clients_rights_change(r, p) || is_member(p, r->readers);
}

/* ---- eviction ---- */

/* Returns whether the client belongs to that user or, on the network, to that address. */
static bool is_of(const struct client *c, enum privsep_role role, const struct clients_peer *p)
{
	return c->role == role && c->peer.uid == p->uid && ip_addr_equal(&c->peer.key, &p->key);
}

/* Returns the connection that was idle longest. If none is idle, returns the oldest one in state
 * CLIENT_HELD: its client retries when the connection is closed. */
static struct client *longest_idle(struct client *list, enum privsep_role role,
				   const struct clients_peer *of)
{
	struct client *held = NULL, *idle = NULL;

	for (struct client *c = list; c; c = c->next) {
		if (!is_of(c, role, of))
			continue;
		if ((c->state == CLIENT_NEW || c->state == CLIENT_ANSWERED) &&
		    (!idle || c->since_ns < idle->since_ns))
			idle = c;
		if (c->state == CLIENT_HELD && !held)
			held = c;
	}
	return idle ? idle : held;
}

static size_t count(const struct client *list, enum privsep_role role,
		    const struct clients_peer *of)
{
	size_t n = 0;

	for (; list; list = list->next)
		n += is_of(list, role, of) && list->state != CLIENT_DROPPED &&
		     list->state != CLIENT_STREAM;
	return n;
}

/* Returns the longest idle connection of the user or address with the most connections. */
static struct client *victim_of_most(struct client *list, enum privsep_role role)
{
	struct client *victim = NULL;
	size_t most = 0;

	for (struct client *c = list; c; c = c->next) {
		const bool counts = c->role == role && c->state != CLIENT_STREAM;
		size_t n = counts ? count(list, role, &c->peer) : 0;
		struct client *idle = n > most ? longest_idle(list, role, &c->peer) : NULL;

		if (idle) {
			victim = idle;
			most = n;
		}
	}
	return victim;
}

struct client *clients_victim(struct client *list, enum privsep_role role,
			      const struct clients_peer *of, bool *ret_full)
{
	struct client *victim = NULL;
	size_t total = 0, dropped = 0;

	*ret_full = false;
	for (struct client *c = list; c; c = c->next) {
		if (c->role == role && c->state == CLIENT_DROPPED)
			dropped++;
		else if (c->role == role && c->state != CLIENT_STREAM)
			total++;
	}
	if (count(list, role, of) >= CLIENTS_UID_MAX) {
		victim = longest_idle(list, role, of);
		*ret_full = !victim;
	} else if (total >= CLIENTS_MAX) {
		victim = victim_of_most(list, role);
		*ret_full = !victim;
	}
	/* Too many closed connections still wait for the child to confirm that it has closed them.
	 * If the child does not, a timer in clients.c ends it. */
	if (dropped >= CLIENTS_MAX)
		*ret_full = true;
	return *ret_full ? NULL : victim;
}

static size_t count_streams(const struct client *list, enum privsep_role role,
			    const struct clients_peer *of)
{
	size_t n = 0;

	for (; list; list = list->next)
		n += list->role == role && list->state == CLIENT_STREAM &&
		     (!of || is_of(list, role, of));
	return n;
}

struct client *clients_stream_victim(struct client *list, enum privsep_role role,
				     const struct clients_peer *of, bool *ret_full)
{
	const size_t own = count_streams(list, role, of);
	struct client *victim = NULL;
	size_t most = own;

	*ret_full = own >= CLIENTS_STREAMS_UID_MAX;
	if (*ret_full || count_streams(list, role, NULL) < CLIENTS_STREAMS_MAX)
		return NULL;
	for (struct client *c = list; c; c = c->next) {
		size_t n = c->role == role && c->state == CLIENT_STREAM
				   ? count_streams(list, role, &c->peer)
				   : 0;

		if (n > most) {
			victim = c;
			most = n;
		}
	}
	*ret_full = !victim;
	return victim;
}
