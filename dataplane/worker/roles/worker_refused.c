/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps and reports the list of clients that a compute worker refuses. */
#include "dataplane/worker/roles/worker_refused.h"
#include "dataplane/worker/worker_identity.h"
#include "netcfg/base/log.h"
#include "netcfg/base/reason.h"

#include <stdio.h>
#include <string.h>

/* Maximum number of entries for one address: a host that claims many names must leave space for
 * others. */
#define PER_ADDRESS_MAX 8

/* How long an entry is kept after its last refusal, even if it is no longer listed. It is kept to
 * limit reports about the same address. */
#define KEPT_NS (60 * NSEC_PER_SEC)

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

/* Writes the reason for the operator of this host. Returns false for a refusal that ends without
 * action by an operator. */
static bool reason_format_for(const struct fuse_server_asked *q, const char *ip, int error,
			      const char *word, char *text)
{
	if (worker_identity_is_code(error, word)) {
		worker_identity_format(q->host, ip, false, error, word, text, TEXT_MAX);
		return true;
	}
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

static void entry_free(struct worker_refused *r, struct worker_refused_entry *e)
{
	*e = (struct worker_refused_entry){0};
	r->n--;
}

/* Returns the entry of this mount at this address. If the list does not have it, returns a free
 * entry, or one that is no longer listed, or NULL. A client with the same mount id at another
 * address may be another client, so it has its own entry. */
static struct worker_refused_entry *entry_for(struct worker_refused *r,
					      const struct fuse_server_asked *q,
					      const struct ip_addr *from)
{
	struct worker_refused_entry *unused = NULL, *ended = NULL, *others = NULL;
	unsigned n_same = 0;

	for (unsigned i = 0; i < LAUNCH_REFUSED_MAX; i++) {
		struct worker_refused_entry *e = &r->entries[i];
		const bool is_same = e->last_ns && ip_addr_equal(&e->is.addr, from);

		if (is_same && memcmp(e->mount_id, q->mount_id, sizeof(e->mount_id)) == 0)
			return e;
		n_same += is_same;
		if (!e->last_ns)
			unused = unused ? unused : e;
		else if (!e->error)
			*(is_same ? &ended : &others) = e;
	}
	if (n_same >= PER_ADDRESS_MAX || (!unused && ended))
		return ended;
	if (!unused && others)
		entry_free(r, others);
	return unused ? unused : others;
}

static bool is_named(const struct worker_refused_entry *e, const char *host,
		     const char *export_name)
{
	return strcmp(e->is.host, host) == 0 && strcmp(e->is.export_name, export_name) == 0;
}

/* Returns whether the same refusal was already reported for another mount or another address of the
 * same host. */
static bool is_known(const struct worker_refused *r, const struct worker_refused_entry *e)
{
	for (unsigned i = 0; i < LAUNCH_REFUSED_MAX; i++) {
		const struct worker_refused_entry *o = &r->entries[i];

		if (o != e && o->last_ns && o->reported == e->error &&
		    is_named(o, e->is.host, e->is.export_name))
			return true;
	}
	return false;
}

/* Returns whether the entry's refusal may be reported now. A client must not fill the log by
 * alternating names or errors, or by being accepted in between. PER_ADDRESS_MAX and KEPT_NS limit
 * the number of new entries. */
static bool may_report(const struct worker *w, const struct worker_refused *r,
		       const struct worker_refused_entry *e)
{
	for (unsigned i = 0; e->reported_ns && i < LAUNCH_REFUSED_MAX; i++) {
		const struct worker_refused_entry *o = &r->entries[i];

		if (o->reported_ns && w->now_ns < o->reported_ns + WORKER_REFUSED_NS &&
		    ip_addr_equal(&o->is.addr, &e->is.addr))
			return false;
	}
	return true;
}

static void entry_report(struct worker *w, struct worker_refused *r, struct worker_refused_entry *e,
			 const char *text)
{
	if (!is_known(r, e)) {
		if (!may_report(w, r, e))
			return;
		e->reported_ns = w->now_ns;
		log_warning("%s", text);
		/* full_report() reports the lack of sessions, for the worker as a whole. */
		if (e->error != -ENOSPC)
			worker_send(w, LAUNCH_MSG_EVENT, LAUNCH_EVENT_PEER_REFUSED, 0, text);
	}
	e->reported = e->error;
}

static void entry_begin(struct worker *w, struct worker_refused *r, struct worker_refused_entry *e,
			const struct fuse_server_asked *q, int error)
{
	r->n += e->last_ns == 0;
	if (!is_named(e, q->host, q->export_name))
		e->reported = 0;
	memcpy(e->mount_id, q->mount_id, sizeof(e->mount_id));
	memcpy(e->is.host, q->host, sizeof(e->is.host));
	memcpy(e->is.export_name, q->export_name, sizeof(e->is.export_name));
	e->is.times = 0;
	e->is.since_ns = w->now_ns;
	e->error = error;
	w->stats_ns = 0; /* update the statistics page without waiting */
}

void worker_refused_add(struct worker *w, struct worker_refused *r,
			const struct fuse_server_asked *q, const struct ip_addr *from, int error,
			const char *word)
{
	char ip[IP_ADDR_STR_MAX], text[TEXT_MAX];
	struct worker_refused_entry *e;

	ip_addr_format(from, ip, sizeof(ip));
	/* Ignore mount workers, because the mount to which they belong has an entry. */
	if (q->by_mount_worker || !reason_format_for(q, ip, error, word, text))
		return;
	r->refusals++;
	e = entry_for(r, q, from);
	if (!e)
		return;
	if (e->error != error || !is_named(e, q->host, q->export_name))
		entry_begin(w, r, e, q, error);
	e->is.addr = *from;
	e->is.times++;
	e->last_ns = w->now_ns;
	reason_copy_text(e->is.reason, sizeof(e->is.reason), text);
	if (e->reported != error)
		entry_report(w, r, e, text);
}

static bool is_of_mount(const struct worker_refused_entry *e, const uint8_t mount_id[16],
			const char *host, const char *export_name)
{
	return e->last_ns && e->error && memcmp(e->mount_id, mount_id, sizeof(e->mount_id)) == 0 &&
	       is_named(e, host, export_name);
}

static void entry_end(struct worker *w, struct worker_refused_entry *e)
{
	e->error = e->reported = 0;
	w->stats_ns = 0;
}

void worker_refused_drop(struct worker *w, struct worker_refused *r,
			 const struct fuse_server_asked *q)
{
	for (unsigned i = 0; i < LAUNCH_REFUSED_MAX; i++) {
		struct worker_refused_entry *e = &r->entries[i];

		if (is_of_mount(e, q->mount_id, q->host, q->export_name))
			entry_end(w, e);
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

		if (e->error && w->now_ns >= e->last_ns + WORKER_REFUSED_NS)
			entry_end(w, e);
		if (e->last_ns && w->now_ns >= e->last_ns + KEPT_NS)
			entry_free(r, e);
	}
	r->look_ns = w->now_ns + NSEC_PER_SEC;
	return r->n > 0 ? r->look_ns : UINT64_MAX;
}

void worker_refused_publish(const struct worker *w, const struct worker_refused *r)
{
	const struct worker_refused_entry *shown[LAUNCH_REFUSED_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < LAUNCH_REFUSED_MAX && r->n > 0; i++) {
		const struct worker_refused_entry *e = &r->entries[i];
		struct launch_refused_client *to = w->stats->refused;
		unsigned k = 0;

		if (!e->last_ns || !e->error)
			continue;
		while (k < n && !is_of_mount(shown[k], e->mount_id, e->is.host, e->is.export_name))
			k++;
		if (k == n) {
			shown[n++] = e;
			to[k] = e->is;
			continue;
		}
		/* The list has an entry of this mount with another address already, so add the
		 * refusals up. */
		to[k].times += e->is.times;
		to[k].since_ns = MIN_OF(to[k].since_ns, e->is.since_ns);
	}
	launch_stat_set(&w->stats->n_refused, n);
	launch_stat_set(&w->stats->refusals, r->refusals);
}
