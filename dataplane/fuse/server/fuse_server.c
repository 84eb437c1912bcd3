/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Life of the server end and of its clients' sessions: made, fed, freed. What a request does is in
 * the files that are named after it (fuse_server_internal.h).
 */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define SERVER_TRIM_NS NSEC_PER_SEC
#define END_WAIT_NS NSEC_PER_SEC
#define RETRY_NS NSEC_PER_MSEC

static int exports_init(struct fuse_server *b, const struct launch_config *cfg)
{
	for (unsigned i = 0; i < cfg->n_exports && i < LAUNCH_EXPORTS_MAX; i++) {
		struct server_export *e = &b->exports[i];
		int r = server_export_init(b, i, &cfg->exports[i]);

		b->n_exports++;
		if (r == 0)
			r = state_map(cfg->exports[i].state_fd, &e->state);
		e->asked = calloc(STATE_HOLDS_MAX, sizeof(*e->asked));
		if (r == 0 && !e->asked)
			r = -ENOMEM;
		if (r == 0)
			r = server_mounts_restore(e);
		if (r < 0)
			return r;
	}
	return server_helpers_init(b);
}

static int pools_init(struct fuse_server *b)
{
	size_t bytes;
	uint8_t *arena = fs_helper_arena(b->hands, &bytes);
	int r;

	if (bytes < 2 * buf_pool_bytes())
		return -ENOMEM;
	r = buf_pool_init(&b->requests, arena);
	return r < 0 ? r : buf_pool_init(&b->answers, arena + buf_pool_bytes());
}

/* What the others are to know of us; then they do. */
static void share_join(struct fuse_server *b, const struct launch_config *cfg)
{
	struct share_slot *own = b->share.own;

	server_leases_restored(b);
	/* Who has been told that mounts of an export are ours learns that it is not, before he
	 * learns that none of ours is unsettled. */
	for (unsigned i = 0; i < LAUNCH_EXPORTS_MAX; i++)
		share_set(&own->exports[i], i < b->n_exports ? b->exports[i].name_hash : 0UL);
	server_mounts_tell(b);
	share_set(&own->n_live, 0U);
	share_set(&own->n_live_max, launch_sessions(cfg));
	share_set(&own->n_addrs, 0U);
	for (unsigned i = 0; i < cfg->n_ports && i < LAUNCH_PORTS_MAX; i++) {
		own->addrs[i].ip = cfg->ports[i].ip;
		own->addrs[i].port = cfg->ports[i].udp_port;
		share_set(&own->n_addrs, i + 1);
	}
	share_begin(&b->share, clock_now_ns());
}

int fuse_server_new(const struct launch_config *cfg, struct rudp *r, struct launch_stats *stats,
		    fuse_server_hold_cb hold, void *hold_user, struct fs_helper *hands,
		    uint64_t boot, struct fuse_server **ret)
{
	struct fuse_server *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	b->stats = stats;
	b->hold = hold;
	b->hold_user = hold_user;
	b->hands = hands;
	b->boot = boot;
	b->cfg = cfg;
	b->host = cfg->host;
	b->wait_tail = &b->wait_head;
	b->fetch_tail = &b->fetch_head;
	b->retry_tail = &b->retry_head;
	b->reply_tail = &b->reply_head;
	b->reads_tail = &b->reads;
	err = server_creds_init(b);
	if (err == 0)
		err = pools_init(b);
	if (err == 0)
		err = server_nodes_init(b);
	if (err == 0)
		err = server_ring_init(b);
	if (err == 0)
		err = share_init(&b->share, cfg->share_fd >= LAUNCH_FD_FIRST ? cfg->share_fd : -1,
				 cfg->worker_id);
	if (err == 0)
		err = exports_init(b, cfg);
	if (err == 0)
		share_join(b, cfg);
	if (err < 0) {
		fuse_server_free(b);
		return err;
	}
	*ret = b;
	return 0;
}

size_t fuse_server_arena_bytes(void)
{
	return 2 * buf_pool_bytes();
}

static void client_free(struct fuse_server_client *c)
{
	struct server_mount *m = c->mount;

	port_rdma_peer_free(c->rdma);
	free(c);
	m->n_clients--;
	server_mount_put(m);
}

static void clients_reap(struct fuse_server *b)
{
	while (b->dying) {
		struct fuse_server_client *c = b->dying;

		b->dying = c->next_dying;
		client_free(c);
	}
}

/* What hands work on lies in buffers that go. One that hangs is not waited for: it looks at nothing
 * of this process, and what it works on is the pool's, which stays. */
static void helpers_end(struct fuse_server *b)
{
	struct pollfd p = {.fd = b->hands ? fs_helper_fd(b->hands) : -1, .events = POLLIN};
	uint64_t until_ns = clock_now_ns() + END_WAIT_NS;

	while (b->n_hands > 0 && server_helpers_poll(b, true) >= 0 && b->n_hands > 0 &&
	       clock_now_ns() < until_ns)
		poll(&p, 1, 10);
}

/* Sessions must have ended before (rudp_free ends them). */
struct fuse_server *fuse_server_free(struct fuse_server *b)
{
	if (!b)
		return NULL;
	/* What io_uring works on lies in our buffers. */
	while ((b->n_ring > 0 || b->reads) && server_ring_poll(b) >= 0)
		;
	helpers_end(b);
	port_rdma_stop(b->rdma);
	clients_reap(b);
	server_mounts_end(b);
	while (b->mounts)
		server_mount_free(b->mounts, b->mounts->gone);
	server_rdma_done(b);
	server_ring_done(b);
	server_nodes_done(b);
	for (unsigned i = 0; i < b->n_exports; i++) {
		state_unmap(b->exports[i].state);
		free(b->exports[i].asked);
	}
	buf_pool_done(&b->requests);
	buf_pool_done(&b->answers);
	share_done(&b->share);
	free(b);
	return NULL;
}

int fuse_server_fd(const struct fuse_server *b)
{
	return b->ring_ok ? b->ring.ring_fd : -1;
}

int fuse_server_helpers_fd(const struct fuse_server *b)
{
	return fs_helper_fd(b->hands);
}

/* What goes on as soon as a pair has less to do, or a buffer is free. */
static bool rdma_waits(const struct fuse_server *b)
{
	return b->reply_head || b->fetch_head || b->n_fetches_idle > 0;
}

int fuse_server_poll(struct fuse_server *b, uint64_t now_ns, bool may_sleep)
{
	int n = server_ring_poll(b), done = server_helpers_poll(b, may_sleep);
	unsigned moved = port_rdma_poll(b->rdma);

	moved += server_ping_spins(b, now_ns);

	if (b->retry_head)
		server_retry_run(b);
	if (b->wait_head)
		server_wait_run(b);
	if (rdma_waits(b))
		server_rdma_run(b);
	clients_reap(b);
	if (PLENUM_UNLIKELY(b->n_leaving > 0))
		server_mounts_leave(b, now_ns);
	if (now_ns - b->trimmed_ns > SERVER_TRIM_NS) {
		b->trimmed_ns = now_ns;
		buf_pool_trim(&b->requests);
		buf_pool_trim(&b->answers);
		server_nodes_idle(b);
		server_mounts_expire(b);
		share_tick(&b->share, now_ns);
		server_mounts_balance(b);
	}
	for (unsigned i = 0; i < b->n_exports; i++)
		server_holds_sweep(&b->exports[i], now_ns);
	return b->helpers_gone ? -EPIPE : MAX_OF(n, 0) + MAX_OF(done, 0) + (int)moved;
}

bool fuse_server_arm(struct fuse_server *b)
{
	return !server_ring_waits(b) && server_helpers_poll(b, true) == 0;
}

uint64_t fuse_server_due_ns(const struct fuse_server *b, uint64_t now_ns)
{
	bool waits = b->retry_head || rdma_waits(b) || b->n_leaving > 0;

	return waits ? now_ns + RETRY_NS : UINT64_MAX;
}

const char *fuse_server_elsewhere(const struct fuse_server *b)
{
	return b->elsewhere;
}

const char *fuse_server_client_host(const struct fuse_server_client *c)
{
	return c->host;
}

unsigned fuse_server_in_flight(const struct fuse_server *b)
{
	return b->n_active + b->n_wait + b->n_fetches + b->n_fetch_wait + (b->ping.client != NULL);
}

/* Its directory is not there. */
static bool export_is_missing(const struct fuse_server *b, const char *name)
{
	const struct launch_config *c = b->cfg;

	for (unsigned i = c->n_exports; i < c->n_exports + c->n_missing; i++)
		if (strcmp(c->exports[i].name, name) == 0)
			return true;
	return false;
}

/* The lane that has the least to do gives its place to a mount. What it has asked it asks again by
 * a session that takes no place, as if it had lost this one otherwise. */
static void mount_worker_leave(struct fuse_server *b)
{
	struct fuse_server_client *least = NULL;

	for (struct fuse_server_client *c = b->clients; c; c = c->next)
		if (c->session && c->purpose == FUSE_HELLO_MOUNT_WORKER &&
		    (!least || c->n_reqs < least->n_reqs))
			least = c;
	if (least)
		rudp_session_close(least->session, clock_now_ns());
}

/* 0; -ENOSPC; -EDQUOT: what is left is for mounts. Where as many lanes end what they have begun as
 * may without a place, the next takes one, if lanes may have one. */
static int room_make(struct fuse_server *b, enum fuse_hello_purpose *purpose)
{
	uint32_t most = launch_sessions(b->cfg);

	switch (*purpose) {
	case FUSE_HELLO_MOUNT_WORKER_FINISHING:
		if (b->n_owing < LAUNCH_SESSIONS_OWING)
			return 0;
		*purpose = FUSE_HELLO_MOUNT_WORKER;
		/* fallthrough */
	case FUSE_HELLO_MOUNT_WORKER:
		return b->n_live + launch_sessions_kept(b->cfg) < most ? 0 : -EDQUOT;
	default:
		if (b->n_live >= most)
			mount_worker_leave(b);
		return b->n_live < most ? 0 : -ENOSPC;
	}
}

static void client_count(struct fuse_server *b, const struct fuse_server_client *c, unsigned by)
{
	if (c->purpose == FUSE_HELLO_MOUNT_WORKER_FINISHING)
		b->n_owing += by;
	else
		share_set(&b->share.own->n_live, b->n_live += by);
}

static void client_add(struct fuse_server *b, struct fuse_server_client *c)
{
	c->next = b->clients;
	if (c->next)
		c->next->prev = c;
	b->clients = c;
	client_count(b, c, 1);
}

static void client_remove(struct fuse_server *b, struct fuse_server_client *c)
{
	*(c->prev ? &c->prev->next : &b->clients) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	client_count(b, c, -1U);
}

int fuse_server_accept(struct fuse_server *b, struct rudp_session *s, const struct ip_addr *from,
		       const void *hello, size_t len, struct fuse_server_client **ret)
{
	struct fuse_rights rights;
	struct fuse_server_client *c;
	struct server_export *e = NULL;
	struct server_mount *m;
	struct fuse_hello h;
	int r;

	r = fuse_hello_get(hello, len, &h);
	if (r < 0)
		return r;
	if (!fuse_hello_names_host(h.server_host, b->host))
		return -EREMCHG;
	for (unsigned i = 0; i < b->n_exports && !e; i++)
		if (strcmp(b->exports[i].cfg->name, h.export_name) == 0)
			e = &b->exports[i];
	if (!e)
		return export_is_missing(b, h.export_name) ? -ENXIO : -ENOENT;
	r = fuse_rights_for(b->cfg, e->cfg, h.client_host, from, from ? 1 : 0, &rights);
	if (r < 0)
		return r;
	if (rights.read_only && !h.read_only)
		return -EROFS;
	r = h.follows_redirects ? server_mount_place(e, h.mount_id, from) : 0;
	if (r < 0)
		return r;
	r = room_make(b, &h.purpose);
	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	r = server_mount_get(b, e, &h, &m);
	if (r < 0) {
		free(c);
		return r;
	}
	c->back = b;
	c->number = ++b->n_accepted;
	c->session = s;
	c->peer = fuse_server_peer(s);
	c->mount = m;
	snprintf(c->host, sizeof(c->host), "%s", h.client_host);
	c->rights = rights;
	c->follows = h.follows_redirects;
	c->purpose = h.purpose;
	c->read_only = h.read_only || rights.read_only;
	m->n_clients++;
	client_add(b, c);
	*ret = c;
	return 0;
}

void fuse_server_client_gone(struct fuse_server_client *c)
{
	struct fuse_server *b = c->back;

	if (c->gone)
		return;
	c->session = NULL;
	server_wait_drop(b, c, NULL);
	server_ping_client_gone(c);
	server_rdma_client_gone(c);
	/* What its next session has asked for again is that one's. */
	for (struct server_req *q = b->active; q; q = q->next)
		if (q->client == c && !q->bulk_old)
			q->call = NULL;
	c->gone = true;
	if (c->mount->client == c)
		c->mount->client = NULL;
	client_remove(b, c);
	if (c->n_reqs > 0)
		return; /* the last one's end reaps it */
	c->next_dying = b->dying;
	b->dying = c;
}

void *fuse_server_buf_get(struct fuse_server *b, unsigned peer, size_t len)
{
	return buf_pool_get_for(&b->requests, peer, len);
}

void fuse_server_buf_put(struct fuse_server *b, void *buf)
{
	buf_pool_put(&b->requests, buf);
}
