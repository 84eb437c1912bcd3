/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits the open files of each user, mount and client host to a multiple of the files that are
 * still free (dynamic thresholds, as switches use for their buffers). With factors of 2, 2.5 and 3,
 * a user alone gets at most 2/3 of the files, a mount alone 5/7, and a client host alone 3/4.
 */
#include "dataplane/fuse/server/request/server_quota.h"
#include "dataplane/fuse/server/objects/server_background.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "dataplane/fuse/server/objects/server_pin.h"
#include "dataplane/fuse/server/request/server_reply.h"
#include "netcfg/base/log.h"
#include "netcfg/base/reason.h"
#include <stdio.h>
#include <string.h>

#define SHORT_PERCENT 80U
#define REFUSED_NS (10 * NSEC_PER_SEC) /* how long a refusal is reported */
/* Interval of checks for removed files of clients that are away. */
#define HELD_NS (3 * NSEC_PER_SEC)

/* ------------------------------------------------------------------ limits of open files */

/* Returns whether n files are within the limit, which is twice / 2 times the free files. again: the
 * client had the file open at a predecessor of this process. It is unknown how many files were free
 * then, so the limit is what one user, mount or host may have if there is no other one. */
static bool is_within(uint64_t n, uint64_t free, uint64_t all, unsigned twice, bool again)
{
	return again ? n * (2 + twice) < all * twice : 2 * n < free * twice;
}

/* Returns the limit that one more open file would exceed, or SERVER_SHARE_NONE if it exceeds
 * none. */
static enum server_share limit_of(const struct server_mount *m, uint32_t uid, bool again)
{
	const struct fuse_server *srv = m->server;
	uint64_t all = srv->files_max, used = srv->n_files - srv->n_closing;
	uint64_t free = all - MIN_OF(all, used);

	if (srv->n_files >= all)
		return SERVER_SHARE_ALL;
	if (!is_within(server_quota_of_user(m, uid), free, all, 4, again))
		return SERVER_SHARE_USER;
	if (!is_within(server_mount_files(m), free, all, 5, again))
		return SERVER_SHARE_MOUNT;
	return is_within(m->host ? m->host->n_files : 0, free, all, 6, again) ? SERVER_SHARE_NONE
									      : SERVER_SHARE_CLIENT;
}

static bool away_close(struct fuse_server *srv);

/* Makes room for one more open file. Closes some of the files that wait to be closed, if the
 * server's limit is reached, or if such files of this mount still count for the limit that is
 * exceeded. If that closes none, begins to close the files of a client that is away. Returns false
 * if no file can be closed. */
static bool room_make(const struct server_mount *m, enum server_share limit)
{
	if ((limit == SERVER_SHARE_ALL || m->n_closing > 0) &&
	    server_files_close_some(m->server) > 0)
		return true;
	return away_close(m->server);
}

bool server_quota_allows(struct server_req *q)
{
	struct server_mount *m = q->mount;
	struct fuse_server *srv = m->server;
	bool again = q->args.flags & FUSE_PROTO_REQ_REOPEN;
	enum server_share limit = limit_of(m, q->client_uid, again);

	while (PLENUM_UNLIKELY(limit != SERVER_SHARE_NONE) && room_make(m, limit))
		limit = limit_of(m, q->client_uid, again);
	if (PLENUM_LIKELY(limit == SERVER_SHARE_NONE))
		return true;
	srv->refused_share = limit;
	srv->refused_ns = clock_now_ns();
	srv->refused_uid = q->client_uid;
	memcpy(srv->refused_host, m->host_name, sizeof(srv->refused_host));
	server_reply_err(q, ENFILE);
	return false;
}

/* ------------------------------------------------------------------ clients without a session */

/* A client counts as away after this many seconds without a session; it may come back sooner. */
#define AWAY_S 5U

static uint64_t boot_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec;
}

static bool is_away(const struct server_mount *m, uint64_t now_s)
{
	return m->n_clients == 0 && m->n_refs == 0 && !m->gone && now_s >= m->last_seen_s + AWAY_S;
}

/* Begins to close the files of the client that has been away for longest. Returns false if no
 * client is away. Searches only mounts without a session, because it runs for each open while open
 * files run out. */
static bool away_close(struct fuse_server *srv)
{
	const uint64_t now_s = boot_seconds();
	struct server_mount *oldest =
		now_s < AWAY_S ? NULL : server_mount_away(srv, now_s - AWAY_S);

	if (!oldest)
		return false;
	log_notice("open files run out: closing %u files of %s, which is away",
		   server_mount_files(oldest), oldest->host_name);
	server_mount_drop_files(oldest);
	return true;
}

/* ------------------------------------------------------------------ reports */

static const struct server_mount *largest(const struct fuse_server *srv)
{
	const struct server_mount *most = srv->mounts;

	for (const struct server_mount *m = srv->mounts; m; m = m->next)
		if (m->n_files > most->n_files)
			most = m;
	return most;
}

static bool is_short(const struct fuse_server *srv, uint32_t n_files)
{
	return (uint64_t)n_files * 100 >= (uint64_t)srv->files_max * SHORT_PERCENT;
}

/* Counts the removed files that a predecessor of this process has pinned and that no client has
 * opened since. Measures their space again when their number has changed. */
static void pins_look(struct fuse_server *srv, uint64_t now_s, uint32_t *n, uint64_t *bytes,
		      uint32_t *n_clients)
{
	for (const struct server_mount *m = srv->mounts; m; m = m->next)
		*n_clients += m->reclaiming && server_mount_files(m) == 0 && is_away(m, now_s);
	for (unsigned i = 0; *n_clients > 0 && i < srv->n_exports; i++) {
		struct server_export *e = &srv->exports[i];
		uint32_t n_pins = e->n_reclaiming > 0 ? server_pins_unclaimed(e) : 0;

		if (n_pins > 0 && n_pins != e->pins_measured) {
			e->pins_measured = n_pins;
			e->pins_bytes = 0;
			e->repin_next = 0;
			server_helper_repin(e);
		}
		*n += n_pins;
		*bytes += n_pins > 0 ? e->pins_bytes : 0;
	}
}

static void held_look_pins(struct fuse_server *srv, uint64_t now_s)
{
	uint32_t n = 0, n_clients = 0;
	uint64_t bytes = 0;

	pins_look(srv, now_s, &n, &bytes, &n_clients);
	if (n == 0)
		reason_clear(&srv->held);
	else
		reason_set(&srv->held, "space-held",
			   "%u removed files, %llu MiB, are kept until %u s after this worker's "
			   "start for "
			   "%u clients that have not reconnected",
			   n, (unsigned long long)(bytes >> 20), SERVER_LEASE_S, n_clients);
}

/* Reports a client that is away and may have crashed, if removed files still use space only because
 * it had them open. */
static void held_look(struct fuse_server *srv, uint64_t now_ns)
{
	const struct server_mount *most = NULL;
	uint64_t bytes = 0, most_bytes = 0, now_s = boot_seconds();
	uint32_t n = 0;

	if (now_ns < srv->held_ns)
		return;
	srv->held_ns = now_ns + HELD_NS;
	srv->held_mark++;
	for (struct server_mount *m = srv->mounts; m; m = m->next) {
		uint64_t before = bytes;

		if (server_mount_files(m) == 0 || !is_away(m, now_s))
			continue;
		server_files_held(m, srv->held_mark, &n, &bytes);
		if (!most || bytes - before > most_bytes) {
			most = m;
			most_bytes = bytes - before;
		}
	}
	if (n == 0) {
		held_look_pins(srv, now_s);
		return;
	}
	/* Do not write the remaining seconds: each change of the text would be reported as a new
	 * event. */
	reason_set(&srv->held, "space-held",
		   "%.40s is away and keeps %u removed files open, %llu MiB, until %u s after its "
		   "last "
		   "sign of life",
		   most->host_name, n, (unsigned long long)(bytes >> 20), SERVER_LEASE_S);
}

static void refused_report(struct fuse_server *srv)
{
	char who[96];

	if (srv->refused_share == SERVER_SHARE_ALL) {
		reason_set(&srv->short_of, "files-short",
			   "all %u files that clients may open are open; an open by "
			   "user %u of %.40s was refused",
			   srv->files_max, srv->refused_uid, srv->refused_host);
		return;
	}
	if (srv->refused_share == SERVER_SHARE_USER)
		snprintf(who, sizeof(who), "user %u of %.40s", srv->refused_uid, srv->refused_host);
	else
		snprintf(who, sizeof(who), "%s %.40s",
			 srv->refused_share == SERVER_SHARE_MOUNT ? "a mount of" : "client",
			 srv->refused_host);
	reason_set(&srv->short_of, "files-short",
		   "%s has used up its share of open files: %u of %u are open; the rest is for "
		   "other clients",
		   who, srv->n_files, srv->files_max);
}

void server_quota_tick(struct fuse_server *srv, uint64_t now_ns)
{
	const struct server_mount *m = largest(srv);
	bool refused = srv->refused_ns && now_ns - MIN_OF(now_ns, srv->refused_ns) < REFUSED_NS;

	held_look(srv, now_ns);
	while (is_short(srv, srv->n_files - srv->n_closing) && away_close(srv))
		;
	if (refused)
		refused_report(srv);
	else if (is_short(srv, srv->n_files) && m)
		reason_set(&srv->short_of, "files-short",
			   "clients have %u of %u files open, and %.40s has most of them: %u",
			   srv->n_files, srv->files_max, m->host_name, m->n_files);
	else
		reason_clear(&srv->short_of);
}
