/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leases of mounts on their file locks. A client that was not heard for SERVER_LOCK_LEASE_NS loses
 * all locks. Before they are freed, its session ends, so that no request that relies on the locks
 * is executed; in its next session it learns from the lock epoch that it has lost them. Requests
 * that it has sent before and that are still being executed extend its lease.
 */
#include "dataplane/fuse/server/objects/server_locks.h"
#include <string.h>

#define TICK_NS NSEC_PER_SEC

int server_locks_init(struct fuse_server *srv, int fd)
{
	int r = lock_table_map(fd, &srv->locks);

	if (r == 0)
		lock_mounts_grace(srv->locks, clock_now_ns());
	return r;
}

void server_locks_done(struct fuse_server *srv)
{
	srv->locks = lock_table_unmap(srv->locks);
}

int server_locks_join(struct server_mount *m)
{
	uint8_t id[16];

	/* Ids that differ only in the last bits belong to one kernel. */
	memcpy(id, m->id, sizeof(id));
	id[15] &= 0xf0;
	return lock_mount_join(m->server->locks, id, clock_now_ns(), &m->locks);
}

void server_locks_leave(struct server_mount *m)
{
	lock_mount_leave(m->server->locks, &m->locks);
	m->locks.epoch = 0;
}

/* Returns whether any request of the mount is being executed, perhaps one of a session that has
 * ended. */
static bool is_at_work(const struct server_mount *m)
{
	return m->client ? m->client->n_reqs > 0 || m->n_clients > 1 : m->n_clients > 0;
}

/* Returns until when the client counts as heard. */
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

	if (lock_mount_seen(m->server->locks, &m->locks, heard_ns) &&
	    (!s || now_ns < heard_ns + SERVER_LOCK_LEASE_NS))
		return;
	m->locks.epoch = 0;
	if (s)
		rudp_session_close(s, now_ns);
}

void server_locks_tick(struct fuse_server *srv, uint64_t now_ns)
{
	if (PLENUM_LIKELY(now_ns < srv->locks_ns + TICK_NS))
		return;
	srv->locks_ns = now_ns;
	for (struct server_mount *m = srv->mounts; m; m = m->next)
		if (m->locks.epoch)
			mount_tick(m, now_ns);
	if (now_ns > SERVER_LOCK_LEASE_NS)
		lock_mounts_expire(srv->locks, now_ns - SERVER_LOCK_LEASE_NS);
}
