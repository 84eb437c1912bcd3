/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leases of mounts on their file locks. If no packet of a client arrives for SERVER_LOCK_LEASE_NS,
 * the client loses all its locks. Before the server frees the locks, it ends the client's session.
 * Then the server executes no more requests for which the client needs the locks. In the next
 * session, the lock epoch shows the client that its locks are lost. A request that is being
 * executed extends the lease. Any worker may find that a lease has expired. So a worker executes a
 * request only if the mount's lease in the shared table is valid for some time yet.
 *
 * The agent keeps a record of each mount with locks on disk, so that the client can reclaim them
 * after a reboot of this host (lock_grace.c). Locks are taken from a mount only after its record is
 * removed.
 *
 * When an operator breaks a lock, the server grants the range to others only after all earlier
 * requests of the mount have ended. Later requests that use files which the mount had open at the
 * break fail.
 */
#include "dataplane/fuse/server/objects/server_locks.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "netcfg/base/log.h"
#include <inttypes.h>
#include <string.h>

#define TICK_NS NSEC_PER_SEC
/* If the last extension of a lease was longer ago than this, the server extends the lease before it
 * executes a request. */
#define FRESH_NS (5 * NSEC_PER_SEC)
/* How often the server asks the agent for a record until the agent answers, and how long the first
 * lock of a mount waits for the answer. Without a record, the client loses its locks when the host
 * reboots. */
#define RECORD_RETRY_NS (NSEC_PER_SEC / 2)
#define RECORD_WAIT_NS (2 * NSEC_PER_SEC)
#define LEAVING_A_TICK 256U

int server_locks_init(struct fuse_server *srv, int fd)
{
	int r = lock_table_map(fd, srv->cfg->worker_id, &srv->locks);

	if (r == 0)
		srv->locks_grace = lock_mounts_grace(srv->locks, clock_now_ns()) < 0;
	return r;
}

void server_locks_done(struct fuse_server *srv)
{
	srv->locks = lock_table_unmap(srv->locks);
}

int server_locks_join(struct server_mount *m, bool can_reclaim)
{
	const uint64_t epoch = m->locks.epoch;
	uint64_t now_ns = clock_now_ns();
	uint8_t id[16];
	int r;

	/* Mount ids that differ only in the last four bits are those of a mount and its mount
	 * workers, and share their locks. */
	memcpy(id, m->id, sizeof(id));
	id[15] &= 0xf0;
	r = lock_mount_join(m->server->locks, id, m->host_name, m->export->cfg->name, can_reclaim,
			    now_ns, &m->locks);
	if (r < 0)
		return r;
	m->locks_seen_ns = now_ns;
	m->lock_breaks = 0;
	if (m->locks.epoch != epoch)
		m->n_breaking = 0;
	m->lock_recorded = !can_reclaim;
	m->lock_asked_ns = m->lock_asked_last_ns = 0;
	return 0;
}

void server_locks_leave(struct server_mount *m)
{
	lock_mount_leave(m->server->locks, &m->locks);
	m->locks.epoch = 0;
	/* server_locks_tick() asks the agent to remove the record. */
}

/* ------------------------------------------------------------------ records for reclaiming */

static void record_ask(struct fuse_server *srv, bool keep, const struct lock_stable *of)
{
	struct launch_msg msg = {.type = keep ? LAUNCH_MSG_LOCK_KEEP : LAUNCH_MSG_LOCK_FORGET,
				 .index = of->index,
				 .key = of->epoch};

	memcpy(msg.mount_id, of->id, sizeof(msg.mount_id));
	if (srv->lock_record)
		srv->lock_record(srv->lock_record_user, &msg);
}

bool server_locks_recorded(struct server_mount *m)
{
	struct fuse_server *srv = m->server;
	struct lock_stable of;
	int r;

	if (PLENUM_LIKELY(m->lock_recorded))
		return true;
	r = lock_mount_keep(srv->locks, &m->locks, &of);
	m->lock_recorded = r == 0;
	if (r == -EBUSY)
		return false;
	if (r != 1)
		return true; /* after an error, the lock request itself will fail in the same way */
	if (m->lock_asked_ns == 0)
		m->lock_asked_ns = srv->now_ns;
	if (m->lock_asked_last_ns == 0 || srv->now_ns >= m->lock_asked_last_ns + RECORD_RETRY_NS) {
		m->lock_asked_last_ns = srv->now_ns;
		record_ask(srv, true, &of);
	}
	return srv->now_ns >= m->lock_asked_ns + RECORD_WAIT_NS;
}

void server_locks_answer(struct fuse_server *srv, const struct launch_msg *msg)
{
	struct lock_stable of = {.index = msg->index, .epoch = msg->key};

	memcpy(of.id, msg->mount_id, sizeof(of.id));
	/* If another process keeps the table reserved, the answer is lost, and the server asks the
	 * agent again. */
	if (msg->type == LAUNCH_MSG_LOCK_KEPT)
		(void)lock_mount_kept(srv->locks, &of);
	else
		(void)lock_mount_forgotten(srv->locks, &of);
}

/* Asks the agent to remove the records of the mounts whose locks are to be freed. */
static void leaving_ask(struct fuse_server *srv)
{
	struct lock_stable all[LEAVING_A_TICK];
	unsigned n = lock_mounts_leaving(srv->locks, all, LEAVING_A_TICK);

	for (unsigned i = 0; i < n; i++)
		record_ask(srv, false, &all[i]);
}

/* ------------------------------------------------------------------ locks that are broken */

int server_locks_break(struct fuse_server *srv, uint64_t id)
{
	return lock_break(srv->locks, id);
}

static bool is_breaking(const struct server_mount *m, uint64_t id)
{
	for (unsigned i = 0; i < m->n_breaking; i++)
		if (m->breaking[i] == id)
			return true;
	return false;
}

/*
 * Bars the open files of the mount on which an operator breaks locks, but not files that programs
 * have opened after the break. Requests with a barred file that wait for a lock must not get the
 * lock. So they are dropped, and the session ends with -ESTALE: the client then sends them again
 * and gets EIO.
 */
static int breaks_bar(struct server_mount *m, uint32_t breaks)
{
	struct lock_table *t = m->server->locks;
	struct lock_breaking all[LOCK_BREAKS_MAX];
	int n = lock_breaks(t, &m->locks, all), r = 0;
	bool ends = false;

	for (int i = 0; i < n && r >= 0; i++) {
		if (is_breaking(m, all[i].id))
			continue;
		server_files_bar(m, all[i].dev, all[i].ino);
		r = lock_waits_drop(t, &m->locks, all[i].dev, all[i].ino);
		ends |= r > 0;
	}
	if (ends && m->client && m->client->session)
		rudp_session_close(m->client->session, clock_now_ns());
	if (n < 0 || r < 0)
		return n < 0 ? n : r;
	for (int i = 0; i < n; i++)
		m->breaking[i] = all[i].id;
	m->n_breaking = (unsigned)n;
	m->lock_breaks = breaks;
	/* Read the clock here, because requests may have begun since the start of this turn. */
	m->barred_ns = clock_now_ns();
	return ends ? -ESTALE : 0;
}

int server_locks_reopened(struct server_mount *m, const struct server_node *n, int fd)
{
	uint32_t breaks;
	int r;

	if (!lock_mount_is_current(m->server->locks, &m->locks, &breaks))
		return 0;
	r = lock_reopened(m->server->locks, &m->locks, n->dev, n->ino, fd);
	return r == -EBUSY && breaks != 0 ? r : r > 0;
}

/* Returns whether the server executes a request of the mount that arrived before the files were
 * barred. */
static bool has_earlier_request(const struct server_mount *m)
{
	for (const struct server_req *q = m->server->active; q; q = q->next)
		if (q->mount == m && q->args.arrived_ns <= m->barred_ns)
			return true;
	return false;
}

static void breaks_tick(struct server_mount *m)
{
	struct lock_stable of;
	uint32_t breaks;
	int r;

	if (!lock_mount_is_current(m->server->locks, &m->locks, &breaks))
		return;
	if (breaks != m->lock_breaks && breaks_bar(m, breaks) < 0)
		return;
	if (m->n_breaking == 0 || has_earlier_request(m))
		return;
	/* Keep the client from reclaiming the broken lock after a reboot. */
	r = lock_mount_spoil(m->server->locks, &m->locks, &of);
	if (r > 0)
		record_ask(m->server, false, &of);
	if (r != 0)
		return;
	for (unsigned i = m->n_breaking; i > 0; i--) {
		r = lock_break_end(m->server->locks, &m->locks, m->breaking[i - 1]);
		if (r == -EBUSY)
			return;
		if (r == 0) /* any other result: the owner has freed the lock meanwhile */
			log_warning("lock %" PRIx64 " of %.60s on export %.60s is broken",
				    m->breaking[i - 1], m->host_name, m->export->cfg->name);
		m->n_breaking--;
	}
}

/* ------------------------------------------------------------------ leases */

int server_locks_check(struct server_mount *m, uint64_t now_ns)
{
	struct lock_table *t = m->server->locks;
	uint32_t breaks;
	int r;

	if (PLENUM_UNLIKELY(!lock_mount_is_current(t, &m->locks, &breaks)))
		return -ESTALE;
	if (PLENUM_UNLIKELY(breaks != m->lock_breaks)) {
		r = breaks_bar(m, breaks);
		if (r < 0)
			return r == -EBUSY ? -EAGAIN : r;
	}
	if (PLENUM_LIKELY(now_ns < m->locks_seen_ns + FRESH_NS))
		return 0;
	r = lock_mount_seen(t, &m->locks, now_ns);
	if (r == 0)
		m->locks_seen_ns = now_ns;
	else if (r == -EBUSY)
		r = now_ns < m->locks_seen_ns + SERVER_LOCK_LEASE_NS / 2 ? 0 : -EAGAIN;
	return r;
}

/* Returns whether the server executes any request of the mount, including requests of ended
 * sessions. */
static bool is_at_work(const struct server_mount *m)
{
	return m->client ? m->client->n_reqs > 0 || m->n_clients > 1 : m->n_clients > 0;
}

/* Returns when the last packet of the client arrived. If a request of the mount is running, returns
 * the current time. */
static uint64_t heard_until(const struct server_mount *m, uint64_t now_ns)
{
	const struct rudp_session *s = m->client ? m->client->session : NULL;

	return is_at_work(m) ? now_ns : s ? rudp_session_heard_ns(s) : 0;
}

uint64_t server_locks_end_ns(const struct server_mount *m, uint64_t now_ns)
{
	return m->locks.epoch ? heard_until(m, now_ns) + SERVER_LOCK_LEASE_NS : 0;
}

static void mount_tick(struct server_mount *m, uint64_t now_ns)
{
	struct rudp_session *s = m->client ? m->client->session : NULL;
	const uint64_t heard_ns = heard_until(m, now_ns);
	int r = lock_mount_seen(m->server->locks, &m->locks, heard_ns);

	if (r == 0)
		m->locks_seen_ns = MAX_OF(m->locks_seen_ns, heard_ns);
	if (r != -ESTALE && (!s || now_ns < heard_ns + SERVER_LOCK_LEASE_NS)) {
		breaks_tick(m);
		return;
	}
	m->locks.epoch = 0;
	if (s)
		rudp_session_close(s, now_ns);
}

static void trouble_tell(struct fuse_server *srv, uint64_t now_ns)
{
	const unsigned n_overdue = lock_grace_overdue(srv->locks, now_ns);
	uint32_t worker;

	if (lock_table_is_occupied(srv->locks, &worker))
		reason_set(
			&srv->locks_why, "locks-occupied",
			"worker %u keeps the table of file locks, so that lock requests of other "
			"workers fail; restart it with 'plenum worker restart %u'",
			worker, worker);
	else if (n_overdue > 0 && lock_in_grace(srv->locks))
		reason_set(
			&srv->locks_why, "locks-record",
			"requests for new file locks wait for up to %u s more, because the agent "
			"cannot remove %u clients that did not come back from its record of "
			"locks; see the agent's reason about its state directory",
			(unsigned)(LOCK_GRACE_RECORDS_NS / NSEC_PER_SEC), n_overdue);
	else if (n_overdue > 0)
		reason_set(
			&srv->locks_why, "locks-record",
			"the agent cannot remove %u clients that did not come back from its "
			"record of locks; after a reboot of this host, they could reclaim locks "
			"that other clients have acquired since; see the agent's reason about its "
			"state directory",
			n_overdue);
	else
		reason_clear(&srv->locks_why);
}

static void grace_tell(struct fuse_server *srv)
{
	const bool is = lock_in_grace(srv->locks);

	if (is == srv->locks_reclaimed)
		return;
	srv->locks_reclaimed = is;
	if (is)
		log_notice("clients reclaim their file locks; requests for new locks wait");
	else
		log_notice("no client can reclaim file locks any more");
}

void server_locks_tick(struct fuse_server *srv, uint64_t now_ns)
{
	if (PLENUM_LIKELY(now_ns < srv->locks_ns + TICK_NS))
		return;
	srv->locks_ns = now_ns;
	if (srv->locks_grace)
		srv->locks_grace = lock_mounts_grace(srv->locks, now_ns) < 0;
	for (struct server_mount *m = srv->mounts; m; m = m->next)
		if (m->locks.epoch)
			mount_tick(m, now_ns);
	if (now_ns > SERVER_LOCK_LEASE_NS && !srv->locks_grace)
		lock_mounts_expire(srv->locks, now_ns - SERVER_LOCK_LEASE_NS);
	lock_grace_tick(srv->locks, now_ns);
	grace_tell(srv);
	leaving_ask(srv);
	trouble_tell(srv, now_ns);
}
