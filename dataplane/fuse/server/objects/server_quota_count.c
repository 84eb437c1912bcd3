/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts open files by user, mount and client. */
#include "dataplane/fuse/server/objects/server_quota_count.h"
#include "netcfg/base/hash.h"
#include <stdio.h>
#include <string.h>

#define USER_CHAINS 4096U

int server_quota_init(struct fuse_server *srv)
{
	long max = sysconf(_SC_OPEN_MAX);

	/* Leave the other descriptors for exported directories, for the worker itself, and for
	 * caches, which give descriptors back when necessary. */
	srv->files_max = max < 4096 ? (uint32_t)MAX_OF(max / 2, 16)
				    : (uint32_t)MIN_OF(max - max / 8 - 1024, INT32_MAX);
	srv->users = calloc(USER_CHAINS, sizeof(srv->users[0]));
	return srv->users ? 0 : -ENOMEM;
}

void server_quota_done(struct fuse_server *srv)
{
	free(srv->users);
	srv->users = NULL;
}

static struct server_user **user_at(const struct server_mount *m, uint32_t uid)
{
	const uint64_t what[2] = {(uintptr_t)m, uid};
	struct fuse_server *srv = m->server;
	struct server_user **at =
		&srv->users[hash_keyed(srv->hash_key, what, sizeof(what)) % USER_CHAINS];

	while (*at && ((*at)->mount != m || (*at)->uid != uid))
		at = &(*at)->next;
	return at;
}

uint32_t server_quota_of_user(const struct server_mount *m, uint32_t uid)
{
	const struct server_user *u = *user_at(m, uid);

	return u ? u->n_files : 0;
}

static bool is_same_host(const struct ip_addr *a, const struct ip_addr *b)
{
	/* An IPv6 host may use any address of its subnet, so the subnet stands for the host. */
	size_t n = a->family == AF_INET6 ? 8 : sizeof(a->bytes);

	return a->family == b->family && memcmp(a->bytes, b->bytes, n) == 0;
}

static struct server_host *host_get(struct fuse_server *srv, const struct ip_addr *from)
{
	static const struct ip_addr unknown;
	struct server_host *h = srv->hosts;

	from = from ? from : &unknown;
	while (h && !is_same_host(&h->addr, from))
		h = h->next;
	if (h)
		return h;
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->addr = *from;
	h->next = srv->hosts;
	srv->hosts = h;
	return h;
}

static void host_put(struct fuse_server *srv, struct server_host *h)
{
	struct server_host **at = &srv->hosts;

	if (!h || --h->n_mounts > 0)
		return;
	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	free(h);
}

int server_quota_client(struct server_mount *m, const struct ip_addr *from, const char *host)
{
	struct server_host *h = host_get(m->server, from);

	if (!h)
		return -ENOMEM;
	snprintf(m->host_name, sizeof(m->host_name), "%s", host);
	if (h == m->host)
		return 0;
	h->n_mounts++;
	h->n_files += server_mount_files(m);
	if (m->host)
		m->host->n_files -= server_mount_files(m);
	host_put(m->server, m->host);
	m->host = h;
	return 0;
}

void server_quota_leave(struct server_mount *m)
{
	host_put(m->server, m->host);
	m->host = NULL;
}

struct server_user *server_quota_take(struct server_mount *m, uint32_t uid)
{
	struct server_user **at = user_at(m, uid), *u = *at;

	if (!u) {
		u = *at = calloc(1, sizeof(*u));
		if (!u)
			return NULL;
		u->mount = m;
		u->uid = uid;
	}
	u->n_files++;
	m->n_files++;
	m->server->n_files++;
	if (m->host)
		m->host->n_files++;
	return u;
}

void server_quota_closing(struct server_mount *m)
{
	uint32_t n = server_mount_files(m);

	m->n_closing += n;
	m->server->n_closing += n;
	if (m->host)
		m->host->n_files -= n;
}

void server_quota_give(struct server_mount *m, struct server_user *u, bool closing)
{
	struct server_user **at;

	m->n_files--;
	m->server->n_files--;
	if (closing) {
		m->n_closing--;
		m->server->n_closing--;
	} else if (m->host) {
		m->host->n_files--;
	}
	if (--u->n_files > 0)
		return;
	at = user_at(m, u->uid);
	*at = u->next;
	free(u);
}
