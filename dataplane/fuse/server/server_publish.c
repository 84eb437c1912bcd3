/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the mounts of clients and the number of their open files to the worker's statistics page,
 * and describes sessions for the list of sessions. */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "dataplane/fuse/server/objects/server_locks.h"
#include <stdio.h>

/* Returns whether to list the mount. A mount without a session is listed only if its client has
 * been connected to this process, because an earlier process leaves only the mount's id. */
static bool is_listed(const struct server_mount *m)
{
	return !m->gone && !m->mount_worker && m->host_name[0];
}

static const struct rudp_session *session_of(const struct server_mount *m)
{
	return m->client ? m->client->session : NULL;
}

static void mount_publish(struct launch_client_stats *st, const struct server_mount *m)
{
	const struct rudp_session *s = session_of(m);

	snprintf(st->host, sizeof(st->host), "%s", m->host_name);
	st->addr = m->host ? m->host->addr : (struct ip_addr){0};
	st->export_index = server_export_index(m->export);
	st->open_files = m->n_open;
	st->state = !s			      ? LAUNCH_CLIENT_AWAY
		    : rudp_session_answers(s) ? LAUNCH_CLIENT_CONNECTED
					      : LAUNCH_CLIENT_SILENT;
	st->since_ns = s ? m->client->since_ns : m->left_ns;
	st->heard_ns = s ? rudp_session_heard_ns(s) : m->heard_ns;
}

void fuse_server_describe(const struct fuse_server_client *c, uint64_t now_ns,
			  uint32_t *ret_in_flight, uint32_t *ret_waiting, uint64_t *ret_lease_ns)
{
	*ret_in_flight = c->n_reqs;
	*ret_waiting = c->n_waits;
	*ret_lease_ns = server_locks_end_ns(c->mount, now_ns);
}

void fuse_server_publish(struct fuse_server *srv)
{
	uint64_t n = 0, open_files[LAUNCH_EXPORTS_MAX] = {0};
	struct launch_stats *st = srv->stats;

	for (const struct server_mount *m = srv->mounts; m; m = m->next) {
		/* Do not count files of mount workers, because these files are open in the mount
		 * itself too. */
		if (!m->mount_worker)
			open_files[server_export_index(m->export)] += m->n_open;
		if (!is_listed(m))
			continue;
		if (n < LAUNCH_CLIENT_STATS_MAX)
			mount_publish(&st->clients[n], m);
		n++;
	}
	for (unsigned i = 0; i < srv->n_exports; i++)
		launch_stat_set(&st->open_files[i], open_files[i]);
	launch_stat_set(&st->n_clients, n);
}
