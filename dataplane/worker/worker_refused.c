/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the clients that a compute worker refuses. */
#include "dataplane/worker/worker_refused.h"
#include "netcfg/base/log.h"
#include "netcfg/base/reason.h"

#include <stdio.h>
#include <string.h>

/* Most entries of one address, so that a host that claims many names leaves room for others. */
#define PER_ADDRESS_MAX 8

#define TEXT_MAX ((size_t)LAUNCH_REASON_MAX * 3)

/* Writes the reason why the export's rules do not admit the client. */
static void rights_format(const struct fuse_server_asked *q, const char *ip, int error, char *text)
{
	if (error == -EDESTADDRREQ)
		snprintf(
			text, TEXT_MAX,
			WORKER_PEER_UNLISTED
			": %s claims to be %.60s, but 'peers' has no 'ips' for that host; refused. "
			"Add the host to 'peers', or set cluster.secret-file on both hosts",
			ip, q->host);
	else if (error == -EADDRNOTAVAIL)
		snprintf(text, TEXT_MAX,
			 "wrong-address: %s claims to be %.60s, but 'peers' has other 'ips' for "
			 "that host; refused. Add the address there, or set cluster.secret-file on "
			 "both "
			 "hosts",
			 ip, q->host);
	else if (error == -EROFS)
		snprintf(text, TEXT_MAX,
			 "read-only: %.60s (%s) may only read export '%.60s', and mounts it for "
			 "writing",
			 q->host, ip, q->export_name);
	else
		snprintf(text, TEXT_MAX,
			 "not-allowed: %.60s (%s) may not use export '%.60s': no rule of its "
			 "clients matches",
			 q->host, ip, q->export_name);
}

/* Writes the reason for the operator of this host. Returns false if the refusal passes without an
 * operator. */
static bool reason_format_for(const struct fuse_server_asked *q, const char *ip, int error,
			      char *text)
{
	switch (error) {
	case -ENOENT:
		snprintf(text, TEXT_MAX,
			 "no-export: %.60s (%s) asks for export '%.60s', which this host does not "
			 "have",
			 q->host, ip, q->export_name);
		return true;
	case -ENXIO:
		snprintf(text, TEXT_MAX,
			 "export-missing: %.60s (%s) waits for export '%.60s', whose directory is "
			 "missing",
			 q->host, ip, q->export_name);
		return true;
	case -ENOSPC:
		snprintf(text, TEXT_MAX,
			 "server-full: %.60s (%s) waits for a session to use export '%.60s'",
			 q->host, ip, q->export_name);
		return true;
	case -EDESTADDRREQ:
	case -EADDRNOTAVAIL:
	case -EROFS:
	case -EACCES:
	case -EPERM:
		rights_format(q, ip, error, text);
		return true;
	default:
		return false;
	}
}

/* Returns the mount's entry; if it has none, a free one, or NULL if there is no room. */
static struct worker_refused_entry *entry_for(struct worker_refused *r,
					      const struct fuse_server_asked *q,
					      const struct ip_addr *from)
{
	struct worker_refused_entry *unused = NULL;
	unsigned n_same = 0;

	for (unsigned i = 0; i < LAUNCH_REFUSED_MAX; i++) {
		struct worker_refused_entry *e = &r->entries[i];

		if (e->last_ns && memcmp(e->mount_id, q->mount_id, sizeof(e->mount_id)) == 0)
			return e;
		n_same += e->last_ns && ip_addr_equal(&e->is.addr, from);
		if (!e->last_ns && !unused)
			unused = e;
	}
	return n_same < PER_ADDRESS_MAX ? unused : NULL;
}

/* Returns whether another mount of that host is refused for the same reason, so that it needs no
 * event. */
static bool is_known(const struct worker_refused *r, const struct worker_refused_entry *e)
{
	for (unsigned i = 0; i < LAUNCH_REFUSED_MAX; i++) {
		const struct worker_refused_entry *o = &r->entries[i];

		if (o != e && o->last_ns && o->error == e->error &&
		    strcmp(o->is.host, e->is.host) == 0 &&
		    strcmp(o->is.export_name, e->is.export_name) == 0)
			return true;
	}
	return false;
}

static void entry_drop(struct worker *w, struct worker_refused *r, struct worker_refused_entry *e)
{
	*e = (struct worker_refused_entry){0};
	r->n--;
	w->stats_ns = 0; /* update the statistics page soon */
}

static void entry_begin(struct worker *w, struct worker_refused *r, struct worker_refused_entry *e,
			const struct fuse_server_asked *q)
{
	r->n += e->last_ns == 0;
	memcpy(e->mount_id, q->mount_id, sizeof(e->mount_id));
	memcpy(e->is.host, q->host, sizeof(e->is.host));
	memcpy(e->is.export_name, q->export_name, sizeof(e->is.export_name));
	e->is.times = 0;
	e->is.since_ns = w->now_ns;
	w->stats_ns = 0;
}

void worker_refused_add(struct worker *w, struct worker_refused *r,
			const struct fuse_server_asked *q, const struct ip_addr *from, int error)
{
	char ip[IP_ADDR_STR_MAX], text[TEXT_MAX];
	struct worker_refused_entry *e;

	ip_addr_format(from, ip, sizeof(ip));
	/* The mount of a mount worker has its own entry. */
	if (q->by_mount_worker || !reason_format_for(q, ip, error, text))
		return;
	r->refusals++;
	e = entry_for(r, q, from);
	if (!e)
		return;
	if (e->error != error) {
		entry_begin(w, r, e, q);
		e->error = error;
		log_warning("%s", text);
		/* The worker as a whole reports that it lacks sessions. */
		if (error != -ENOSPC && !is_known(r, e))
			worker_send(w, LAUNCH_MSG_EVENT, LAUNCH_EVENT_PEER_REFUSED, 0, text);
	}
	e->is.addr = *from;
	e->is.times++;
	reason_copy_text(e->is.reason, sizeof(e->is.reason), text);
	e->last_ns = w->now_ns;
}

void worker_refused_drop(struct worker *w, struct worker_refused *r,
			 const struct fuse_server_asked *q)
{
	for (unsigned i = 0; i < LAUNCH_REFUSED_MAX; i++) {
		struct worker_refused_entry *e = &r->entries[i];

		if (e->last_ns && memcmp(e->mount_id, q->mount_id, sizeof(e->mount_id)) == 0)
			entry_drop(w, r, e);
	}
}

uint64_t worker_refused_tick(struct worker *w, struct worker_refused *r)
{
	if (PLENUM_LIKELY(r->n == 0))
		return UINT64_MAX;
	if (w->now_ns < r->look_ns)
		return r->look_ns;
	for (unsigned i = 0; i < LAUNCH_REFUSED_MAX; i++) {
		struct worker_refused_entry *e = &r->entries[i];

		if (!e->last_ns || w->now_ns < e->last_ns + WORKER_REFUSED_NS)
			continue;
		entry_drop(w, r, e);
	}
	r->look_ns = w->now_ns + NSEC_PER_SEC;
	return r->n > 0 ? r->look_ns : UINT64_MAX;
}

void worker_refused_publish(const struct worker *w, const struct worker_refused *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < LAUNCH_REFUSED_MAX && n < r->n; i++)
		if (r->entries[i].last_ns)
			w->stats->refused[n++] = r->entries[i].is;
	launch_stat_set(&w->stats->n_refused, n);
	launch_stat_set(&w->stats->refusals, r->refusals);
}
