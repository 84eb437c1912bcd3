/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Public functions of the server: they create and free it, accept and end client sessions, and
 * process its queues in the worker's loop. The other files of this folder pass messages to the
 * folders `request` and `ops`, which execute requests.
 */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "dataplane/fuse/server/objects/server_lease.h"
#include "dataplane/fuse/server/objects/server_locks.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "dataplane/fuse/server/objects/server_node.h"
#include "dataplane/fuse/server/objects/server_pin.h"
#include "dataplane/fuse/server/request/server_fair.h"
#include "dataplane/fuse/server/request/server_helper.h"
#include "dataplane/fuse/server/request/server_hung.h"
#include "dataplane/fuse/server/request/server_lock_wait.h"
#include "dataplane/fuse/server/request/server_quota.h"
#include "dataplane/fuse/server/request/server_rdma.h"
#include "dataplane/fuse/server/request/server_ring.h"
#include "dataplane/fuse/server/request/server_source.h"
#include "dataplane/fuse/server/request/server_steps.h"
#include "netcfg/base/host_name.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define SERVER_TRIM_NS NSEC_PER_SEC
#define END_WAIT_NS NSEC_PER_SEC
#define RETRY_NS NSEC_PER_MSEC

static int exports_init(struct fuse_server *srv, const struct launch_config *cfg)
{
	for (unsigned i = 0; i < cfg->n_exports && i < LAUNCH_EXPORTS_MAX; i++) {
		struct server_export *e = &srv->exports[i];
		int r = server_export_init(srv, i, &cfg->exports[i]);

		srv->n_exports++;
		if (r == 0)
			r = state_map(cfg->exports[i].state_fd, &e->state);
		e->pin_requests = calloc(STATE_PINS_MAX, sizeof(*e->pin_requests));
		if (r == 0 && !e->pin_requests)
			r = -ENOMEM;
		if (r == 0)
			r = server_mounts_restore(e);
		if (r < 0)
			return r;
	}
	return server_helpers_init(srv);
}

static int pools_init(struct fuse_server *srv)
{
	size_t bytes;
	uint8_t *arena = fs_helper_arena(srv->helpers, &bytes);
	int r;

	if (bytes < 2 * buf_pool_bytes())
		return -ENOMEM;
	r = buf_pool_init(&srv->requests, arena);
	return r < 0 ? r : buf_pool_init(&srv->answers, arena + buf_pool_bytes());
}

/* Publishes this worker's state in the shared memory, then makes the worker visible to the other
 * workers. */
static void share_join(struct fuse_server *srv, const struct launch_config *cfg)
{
	struct share_slot *own = srv->share.own;

	server_leases_restore(srv);
	/* Publish the exports before the counts of reclaiming mounts. In the reverse order, another
	 * worker could see a count that lacks the mounts of an export, while it believes that this
	 * worker still serves that export. */
	for (unsigned i = 0; i < LAUNCH_EXPORTS_MAX; i++)
		share_set(&own->exports[i], i < srv->n_exports ? srv->exports[i].name_hash : 0UL);
	server_mounts_publish(srv);
	share_set(&own->n_live, 0U);
	share_set(&own->n_live_max, launch_sessions(cfg));
	share_set(&own->n_addrs, 0U);
	for (unsigned i = 0; i < cfg->n_ports && i < LAUNCH_PORTS_MAX; i++) {
		own->addrs[i].ip = cfg->ports[i].ip;
		own->addrs[i].port = cfg->ports[i].udp_port;
		share_set(&own->n_addrs, i + 1);
	}
	share_join_peers(&srv->share, clock_now_ns());
}

int fuse_server_new(const struct launch_config *cfg, struct rudp *r, struct launch_stats *stats,
		    fuse_server_pin_cb pin, void *pin_user, struct fs_helper *helpers,
		    uint64_t boot, struct fuse_server **ret)
{
	struct fuse_server *srv = calloc(1, sizeof(*srv));
	int err;

	if (!srv)
		return -ENOMEM;
	srv->stats = stats;
	srv->pin = pin;
	srv->pin_user = pin_user;
	srv->helpers = helpers;
	srv->boot = boot;
	srv->cfg = cfg;
	srv->host = cfg->host;
	srv->rudp = r;
	list_init(&srv->sources);
	server_fair_init(srv);
	srv->now_ns = clock_now_ns();
	list_init(&srv->wait_sources);
	list_init(&srv->step_sources);
	srv->fetch_tail = &srv->fetch_head;
	srv->retry_tail = &srv->retry_head;
	srv->reply_tail = &srv->reply_head;
	srv->reads_tail = &srv->reads;
	err = server_creds_init(srv);
	if (err == 0)
		err = pools_init(srv);
	if (err == 0)
		err = server_nodes_init(srv);
	if (err == 0)
		err = server_quota_init(srv);
	if (err == 0)
		err = server_files_init(srv);
	if (err == 0)
		err = server_mounts_init(srv);
	if (err == 0)
		err = server_ring_init(srv);
	if (err == 0)
		err = share_init(&srv->share, cfg->share_fd >= LAUNCH_FD_FIRST ? cfg->share_fd : -1,
				 cfg->worker_id);
	if (err == 0)
		err = server_locks_init(srv, cfg->locks_fd >= LAUNCH_FD_FIRST ? cfg->locks_fd : -1);
	if (err == 0)
		err = exports_init(srv, cfg);
	if (err == 0)
		share_join(srv, cfg);
	if (err < 0) {
		fuse_server_free(srv);
		return err;
	}
	*ret = srv;
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
	server_source_put(c->from);
	free(c);
	m->n_clients--;
	server_mount_put(m);
}

static void clients_reap(struct fuse_server *srv)
{
	while (srv->dying) {
		struct fuse_server_client *c = srv->dying;

		srv->dying = c->next_dying;
		client_free(c);
	}
}

/* Waits until the helpers have returned their calls, because the requests of these calls will be
 * freed. Does not wait for a helper that hangs: such a helper uses only memory of the helper pool,
 * which is not freed here. */
static void helpers_end(struct fuse_server *srv)
{
	struct pollfd p = {.fd = srv->helpers ? fs_helper_fd(srv->helpers) : -1, .events = POLLIN};
	uint64_t until_ns = clock_now_ns() + END_WAIT_NS;

	while (srv->n_helper_calls > 0 && server_helpers_poll(srv, true) >= 0 &&
	       srv->n_helper_calls > 0 && clock_now_ns() < until_ns)
		poll(&p, 1, 10);
}

/* The caller must have ended all sessions, as rudp_free() does. */
struct fuse_server *fuse_server_free(struct fuse_server *srv)
{
	if (!srv)
		return NULL;
	/* Wait for io_uring, whose operations may still use the server's buffers. */
	while ((srv->n_ring > 0 || srv->reads) && server_ring_poll(srv) >= 0)
		;
	helpers_end(srv);
	port_rdma_stop(srv->rdma);
	clients_reap(srv);
	server_mounts_end(srv);
	server_mounts_done(srv);
	server_sources_done(srv);
	server_rdma_done(srv);
	server_ring_done(srv);
	server_nodes_done(srv);
	server_quota_done(srv);
	for (unsigned i = 0; i < srv->n_exports; i++) {
		state_unmap(srv->exports[i].state);
		free(srv->exports[i].pin_requests);
	}
	buf_pool_done(&srv->requests);
	buf_pool_done(&srv->answers);
	share_done(&srv->share);
	server_locks_done(srv);
	free(srv);
	return NULL;
}

int fuse_server_fd(const struct fuse_server *srv)
{
	return srv->ring_ok ? srv->ring.ring_fd : -1;
}

int fuse_server_helpers_fd(const struct fuse_server *srv)
{
	return fs_helper_fd(srv->helpers);
}

/* Returns whether requests wait for RDMA: for a queue pair that is less busy, or for a free
 * buffer. */
static bool rdma_waits(const struct fuse_server *srv)
{
	return srv->reply_head || srv->fetch_head || srv->n_fetches_waiting > 0;
}

unsigned fuse_server_begin(struct fuse_server *srv, uint64_t now_ns)
{
	srv->now_ns = now_ns;
	server_locks_tick(srv, now_ns);
	return server_wait_run(srv, now_ns) + server_steps_run(srv);
}

int fuse_server_poll(struct fuse_server *srv, uint64_t now_ns, bool may_sleep)
{
	int n = server_ring_poll(srv), done;
	unsigned moved = port_rdma_poll(srv->rdma);

	srv->now_ns = now_ns;
	done = server_helpers_poll(srv, may_sleep);
	moved += server_ping_spins(srv, now_ns);

	if (srv->retry_head || srv->n_call_waits > 0)
		server_retry_run(srv);
	if (!server_steps_shared(srv))
		moved += server_steps_run(srv); /* this includes requests that the helpers have just
						   returned */
	if (rdma_waits(srv)) {
		server_rdma_run(srv);
		server_fetch_run(srv);
	}
	server_lock_wait_run(srv);
	clients_reap(srv);
	if (PLENUM_UNLIKELY(srv->closing))
		moved += server_files_close_some(srv);
	if (PLENUM_UNLIKELY(srv->n_moving > 0))
		server_mounts_move(srv, now_ns);
	if (now_ns - srv->trimmed_ns > SERVER_TRIM_NS) {
		srv->trimmed_ns = now_ns;
		buf_pool_trim(&srv->requests);
		buf_pool_trim(&srv->answers);
		server_nodes_idle(srv);
		server_mounts_expire(srv);
		server_quota_tick(srv, now_ns);
		server_hung_look(srv, now_ns);
		share_heartbeat(&srv->share, now_ns);
		server_mounts_balance(srv);
	}
	for (unsigned i = 0; i < srv->n_exports; i++)
		server_pins_sweep(&srv->exports[i], now_ns);
	return srv->helpers_ended ? -EPIPE : MAX_OF(n, 0) + MAX_OF(done, 0) + (int)moved;
}

bool fuse_server_arm(struct fuse_server *srv)
{
	return !server_ring_waits(srv) && server_helpers_poll(srv, true) == 0;
}

uint64_t fuse_server_due_ns(const struct fuse_server *srv, uint64_t now_ns)
{
	bool waits = srv->retry_head || srv->n_call_waits > 0 || rdma_waits(srv) ||
		     srv->n_moving > 0 || srv->n_wait > 0 || srv->closing ||
		     (srv->n_lock_waits > 0 && srv->share.n_peers > 0);

	return waits ? now_ns + RETRY_NS : UINT64_MAX;
}

const struct fuse_server_asked *fuse_server_asked(const struct fuse_server *srv)
{
	return srv->has_asked ? &srv->asked : NULL;
}

const char *fuse_server_elsewhere(const struct fuse_server *srv)
{
	return srv->elsewhere;
}

const struct reason *fuse_server_reason(const struct fuse_server *srv)
{
	if (reason_is_set(&srv->hung))
		return &srv->hung;
	if (reason_is_set(&srv->locks_why))
		return &srv->locks_why;
	return reason_is_set(&srv->short_of) ? &srv->short_of : &srv->held;
}

int fuse_server_lock_break(struct fuse_server *srv, uint64_t id)
{
	return server_locks_break(srv, id);
}

void fuse_server_lock_records(struct fuse_server *srv,
			      void (*ask)(void *user, const struct launch_msg *m), void *user)
{
	srv->lock_record = ask;
	srv->lock_record_user = user;
}

void fuse_server_lock_answer(struct fuse_server *srv, const struct launch_msg *m)
{
	server_locks_answer(srv, m);
}

unsigned fuse_server_client_export(const struct fuse_server_client *c)
{
	return server_export_index(c->mount->export);
}

const char *fuse_server_client_host(const struct fuse_server_client *c)
{
	return c->host;
}

/* Reply buffers count as short for this time after a request had to wait for one. rudp uses the
 * same time. */
#define SHORT_NS (20 * NSEC_PER_MSEC)

static bool was_short(const struct fuse_server *srv, uint64_t at_ns)
{
	return at_ns && srv->now_ns < at_ns + SHORT_NS;
}

bool fuse_server_client_may_end(const struct fuse_server_client *c)
{
	return was_short(c->server, c->server->short_ns) || was_short(c->server, c->from->short_ns);
}

unsigned fuse_server_in_flight(const struct fuse_server *srv)
{
	return srv->n_active + srv->n_wait + srv->n_fetches + srv->n_fetch_wait +
	       (srv->ping.client != NULL);
}

/* Returns whether the export is configured, but its directory is missing. */
static bool export_is_missing(const struct fuse_server *srv, const char *name)
{
	const struct launch_config *c = srv->cfg;

	for (unsigned i = c->n_exports; i < c->n_exports + c->n_missing; i++)
		if (strcmp(c->exports[i].name, name) == 0)
			return true;
	return false;
}

/* Closes the session of the mount worker that has the fewest requests here, to make room for the
 * session of a mount. The mount worker then opens a session for its unfinished requests only
 * (FUSE_HELLO_MOUNT_WORKER_FINISHING), and sends them again. Such a session does not count against
 * the limit. */
static void mount_worker_leave(struct fuse_server *srv)
{
	struct fuse_server_client *least = NULL;

	for (struct fuse_server_client *c = srv->clients; c; c = c->next)
		if (c->session && c->purpose == FUSE_HELLO_MOUNT_WORKER &&
		    (!least || c->n_reqs < least->n_reqs))
			least = c;
	if (least)
		rudp_session_close(least->session, clock_now_ns());
}

/* Makes room for a new session. Returns 0, -ENOSPC if there are too many sessions, or -EDQUOT if
 * the remaining sessions are reserved for mounts. A session that only finishes requests of a mount
 * worker does not count. But if there are LAUNCH_SESSIONS_OWING such sessions already, *purpose
 * changes: this one counts as the session of a mount worker. */
static int room_make(struct fuse_server *srv, const struct ip_addr *from,
		     enum fuse_hello_purpose *purpose)
{
	uint32_t most = launch_sessions(srv->cfg);

	switch (*purpose) {
	case FUSE_HELLO_MOUNT_WORKER_FINISHING:
		if (srv->n_finishing < LAUNCH_SESSIONS_OWING)
			return 0;
		*purpose = FUSE_HELLO_MOUNT_WORKER;
		/* fallthrough */
	case FUSE_HELLO_MOUNT_WORKER:
		return srv->n_live + launch_sessions_kept(srv->cfg) < most ? 0 : -EDQUOT;
	default:
		if (srv->n_live >= most)
			mount_worker_leave(srv);
		if (srv->n_live >= most)
			server_source_make_room(srv, from);
		return srv->n_live < most ? 0 : -ENOSPC;
	}
}

static void client_count(struct fuse_server *srv, const struct fuse_server_client *c, unsigned by)
{
	if (c->purpose == FUSE_HELLO_MOUNT_WORKER_FINISHING)
		srv->n_finishing += by;
	else
		c->from->n_live += by;
	if (c->purpose != FUSE_HELLO_MOUNT_WORKER_FINISHING)
		share_set(&srv->share.own->n_live, srv->n_live += by);
}

static void client_add(struct fuse_server *srv, struct fuse_server_client *c)
{
	c->next = srv->clients;
	if (c->next)
		c->next->prev = c;
	srv->clients = c;
	client_count(srv, c, 1);
}

static void client_remove(struct fuse_server *srv, struct fuse_server_client *c)
{
	*(c->prev ? &c->prev->next : &srv->clients) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	client_count(srv, c, -1U);
}

static void asked_get(const struct fuse_hello *h, struct fuse_server_asked *ret)
{
	ret->by_mount_worker = h->purpose != FUSE_HELLO_MOUNT;
	memcpy(ret->mount_id, h->mount_id, sizeof(ret->mount_id));
	memcpy(ret->host, h->client_host, sizeof(ret->host));
	memcpy(ret->export_name, h->export_name, sizeof(ret->export_name));
}

int fuse_server_read_asked(const void *hello, size_t len, struct fuse_server_asked *ret)
{
	struct fuse_hello h;
	int r = fuse_hello_get(hello, len, &h);

	if (r == 0)
		asked_get(&h, ret);
	return r;
}

static void asked_note(struct fuse_server *srv, const struct fuse_hello *h)
{
	srv->has_asked = h;
	if (h)
		asked_get(h, &srv->asked);
}

static struct server_export *find_export(struct fuse_server *srv, const char *name)
{
	for (unsigned i = 0; i < srv->n_exports; i++)
		if (strcmp(srv->exports[i].cfg->name, name) == 0)
			return &srv->exports[i];
	return NULL;
}

int fuse_server_accept(struct fuse_server *srv, struct rudp_session *s, const struct ip_addr *from,
		       const void *hello, size_t len, struct fuse_server_client **ret)
{
	struct fuse_rights rights;
	struct fuse_server_client *c;
	struct server_export *e;
	struct server_mount *m;
	struct fuse_hello h;
	int r;

	r = fuse_hello_get(hello, len, &h);
	asked_note(srv, r < 0 ? NULL : &h);
	if (r < 0)
		return r;
	if (!host_name_matches(h.server_host, srv->host))
		return -EREMCHG;
	e = find_export(srv, h.export_name);
	if (!e)
		return export_is_missing(srv, h.export_name)
			       ? -ENXIO
			       : server_mount_elsewhere(srv, h.export_name, from,
							h.follows_redirects);
	r = fuse_rights_for(srv->cfg, e->cfg, h.client_host, from, from ? 1 : 0, &rights);
	if (r < 0)
		return r;
	if (rights.read_only && !h.read_only)
		return -EROFS;
	r = h.follows_redirects ? server_mount_place(e, h.mount_id, from) : 0;
	if (r < 0)
		return r;
	r = room_make(srv, from, &h.purpose);
	if (r < 0)
		return r;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->from = server_source_get(srv, from);
	r = c->from ? server_mount_get(srv, e, &h, &m) : -ENOMEM;
	if (r == 0)
		r = server_quota_client(m, from, h.client_host);
	if (r < 0) {
		server_source_put(c->from);
		free(c);
		return r;
	}
	list_init(&c->wait_node);
	c->server = srv;
	c->number = ++srv->n_accepted;
	c->session = s;
	c->since_ns = clock_now_ns();
	c->peer = fuse_server_peer(s);
	c->mount = m;
	snprintf(c->host, sizeof(c->host), "%s", h.client_host);
	c->rights = rights;
	c->follows = h.follows_redirects;
	c->purpose = h.purpose;
	c->read_only = h.read_only || rights.read_only;
	server_mount_add_client(m);
	client_add(srv, c);
	*ret = c;
	return 0;
}

void fuse_server_client_gone(struct fuse_server_client *c)
{
	struct fuse_server *srv = c->server;

	if (c->gone)
		return;
	if (c->mount->client == c || !c->mount->client) {
		c->mount->left_ns = clock_now_ns();
		if (c->session)
			c->mount->heard_ns = rudp_session_heard_ns(c->session);
	}
	c->session = NULL;
	server_wait_drop(srv, c, NULL);
	server_lock_wait_gone(c, NULL);
	server_ping_client_gone(c);
	server_fetch_client_gone(c);
	server_rdma_client_gone(c);
	/* Detach only requests of this session. A request that the next session has sent again
	 * belongs to the next session. */
	for (struct server_req *q = srv->active; q; q = q->next)
		if (q->client == c && !q->bulk_stale)
			q->call = NULL;
	c->gone = true;
	if (c->mount->client == c)
		c->mount->client = NULL;
	client_remove(srv, c);
	if (c->n_reqs > 0)
		return; /* the client is freed when its last request has ended */
	c->next_dying = srv->dying;
	srv->dying = c;
}

void *fuse_server_buf_get(struct fuse_server *srv, unsigned peer, size_t len)
{
	return buf_pool_get_for(&srv->requests, peer, len);
}

void fuse_server_buf_put(struct fuse_server *srv, void *buf)
{
	buf_pool_put(&srv->requests, buf);
}
