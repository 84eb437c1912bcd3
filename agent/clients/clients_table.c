/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of clients' connections: the identity of each client, and the end of its connection.
 * clients.c keeps the sockets and the children. */
#include "agent/base/process.h"
#include "agent/clients/clients_internal.h"
#include "netcfg/base/hash.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

/* ---- the table of connections ---- */

struct client *clients_find(const struct clients *c, uint64_t id)
{
	struct client *cl = c->list;

	while (cl && cl->id != id)
		cl = cl->next;
	return cl;
}

bool clients_waits(const struct clients *c, uint64_t id)
{
	const struct client *cl = clients_find(c, id);

	return cl && cl->state == CLIENT_ASKED;
}

void clients_append(struct clients *c, struct client *cl)
{
	struct client **at = &c->list;

	while (*at)
		at = &(*at)->next;
	*at = cl;
}

void clients_client_free(struct client *cl)
{
	cleanup_close(&cl->fd);
	free(cl->peer.groups);
	free(cl);
}

void clients_forget(struct clients *c, struct client *cl)
{
	for (struct client **at = &c->list; *at; at = &(*at)->next)
		if (*at == cl) {
			*at = cl->next;
			clients_client_free(cl);
			return;
		}
}

void clients_set_state(struct client *cl, enum client_state state)
{
	cl->state = state;
	cl->since_ns = clock_now_ns();
}

/* Ends a connection. Its entry becomes free when the child has closed it. The monitor shuts down
 * the socket itself, so the client notices the end at once, even if the child hangs. */
void clients_drop(struct clients *c, struct client *cl)
{
	struct privsep_msg m = {.type = PRIVSEP_DROP, .connection = cl->id};

	shutdown(cl->fd, SHUT_RDWR);
	cleanup_close(&cl->fd);
	cl->fd = -1;
	clients_set_state(cl, CLIENT_DROPPED);
	child_role_send(c->roles[cl->role], &m, -1);
}

int clients_new_id(const struct clients *c, uint64_t *ret)
{
	uint64_t id = 0;

	while (id < SHARED_READ_IDS || clients_find(c, id))
		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			return -EAGAIN;
	*ret = id;
	return 0;
}

/* ---- identity of clients ---- */

static int peer_groups(int fd, struct clients_peer *p)
{
	socklen_t len = CLIENTS_GROUPS_MAX * sizeof(gid_t);
	gid_t *groups = malloc(len), *fit;

	if (!groups)
		return -ENOMEM;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0) {
		int r = -errno;

		free(groups);
		return r;
	}
	fit = realloc(groups, len ? len : 1);
	p->groups = fit ? fit : groups;
	p->n_groups = len / sizeof(gid_t);
	return 0;
}

int clients_peer_of(int fd, struct clients_peer *ret)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	*ret = (struct clients_peer){.uid = cred.uid, .gid = cred.gid, .pid = cred.pid};
	return peer_groups(fd, ret);
}

void clients_forget_all(struct clients *c, enum privsep_role role)
{
	for (struct client *cl = c->list, *next; cl; cl = next) {
		next = cl->next;
		if (cl->role == role)
			clients_forget(c, cl);
	}
}

/* ---- names ---- */

static uid_t user_of_name(const char *name)
{
	const uint64_t key[2] = {0};
	const uint32_t n = (uint32_t)hash_keyed(key, name, strlen(name)) | 0x80000000U;

	return n == CLIENTS_NO_UID ? n - 1 : n;
}

uid_t clients_user(const struct client *cl)
{
	return cl->role == PRIVSEP_API_TLS ? user_of_name(cl->name) : cl->peer.uid;
}

const char *clients_describe(const struct client *cl, char *buf, size_t size)
{
	char address[IP_ADDR_STR_MAX], comm[PROCESS_NAME_MAX];
	const bool named = cl->role != PRIVSEP_API_TLS && process_name(cl->peer.pid, comm);

	if (cl->role != PRIVSEP_API_TLS)
		snprintf(buf, size, "uid %u, pid %d%s%s", (unsigned)cl->peer.uid, (int)cl->peer.pid,
			 named ? ", " : "", named ? comm : "");
	else if (cl->access == ACCESS_NONE)
		snprintf(buf, size, "%s",
			 ip_addr_format(&cl->peer.address, address, sizeof(address)));
	else
		snprintf(buf, size, "token %s (%s), %s", cl->name,
			 access_role_to_string(cl->access),
			 ip_addr_format(&cl->peer.address, address, sizeof(address)));
	return buf;
}

bool clients_is_by(const char *by, uid_t uid)
{
	char name[ACCESS_NAME_MAX];
	unsigned of;

	_Static_assert(ACCESS_NAME_MAX == 32, "the format has this number");
	if (sscanf(by, "token %31s (", name) == 1)
		return user_of_name(name) == uid;
	return sscanf(by, "uid %u,", &of) == 1 ? of == uid : uid == 0;
}
