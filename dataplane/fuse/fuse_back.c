/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Life of the server end and of its clients' sessions: made, fed, freed. What a request does is in
 * the files that are named after it (fuse_back_internal.h).
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include "dataplane/fuse/fuse_hello.h"
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define BACK_TRIM_NS NSEC_PER_SEC

/* Each open file of each client is a descriptor here. */
static void raise_descriptor_limit(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
}

static int exports_init(struct fuse_back *b, const struct launch_config *cfg, uint32_t handles)
{
	for (unsigned i = 0; i < cfg->n_exports && i < LAUNCH_EXPORTS_MAX; i++) {
		struct back_export *e = &b->exports[i];
		int r = back_export_init(b, i, &cfg->exports[i], handles >> i & 1);

		b->n_exports++;
		if (r == 0)
			r = state_init(&e->state, cfg->exports[i].state_fd);
		if (r == 0)
			r = back_mounts_restore(e);
		if (r < 0)
			return r;
	}
	return 0;
}

int fuse_back_new(const struct launch_config *cfg, struct rudp *r, struct launch_stats *stats,
		  fuse_back_hold_cb hold, void *hold_user, struct fuse_keeper *keeper,
		  uint32_t handles, struct fuse_back **ret)
{
	struct fuse_back *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	b->stats = stats;
	b->hold = hold;
	b->hold_user = hold_user;
	b->keeper = keeper;
	b->host = cfg->host;
	b->wait_tail = &b->wait_head;
	raise_descriptor_limit();
	back_creds_init(b);
	err = buf_pool_init(&b->requests);
	if (err == 0)
		err = buf_pool_init(&b->answers);
	if (err == 0)
		err = back_nodes_init(b);
	if (err == 0)
		err = back_ring_init(b);
	if (err == 0)
		err = exports_init(b, cfg, handles);
	if (err < 0) {
		fuse_back_free(b);
		return err;
	}
	*ret = b;
	return 0;
}

static void client_free(struct fuse_back_client *c)
{
	struct back_mount *m = c->mount;

	free(c);
	m->n_clients--;
	back_mount_put(m);
}

static void clients_reap(struct fuse_back *b)
{
	while (b->dying) {
		struct fuse_back_client *c = b->dying;

		b->dying = c->next_dying;
		client_free(c);
	}
}

/* Sessions must have ended before (rudp_free ends them). */
struct fuse_back *fuse_back_free(struct fuse_back *b)
{
	if (!b)
		return NULL;
	/* What io_uring works on lies in our buffers. */
	while (b->n_ring > 0 && back_ring_poll(b) >= 0)
		;
	clients_reap(b);
	b->ending = true;
	while (b->mounts)
		back_mount_free(b->mounts, b->mounts->gone);
	back_ring_done(b);
	back_nodes_done(b);
	for (unsigned i = 0; i < b->n_exports; i++)
		state_done(&b->exports[i].state);
	buf_pool_done(&b->requests);
	buf_pool_done(&b->answers);
	free(b);
	return NULL;
}

int fuse_back_fd(const struct fuse_back *b)
{
	return b->ring_ok ? b->ring.ring_fd : -1;
}

int fuse_back_poll(struct fuse_back *b, uint64_t now_ns)
{
	int n = back_ring_poll(b), r;

	if (b->wait_head)
		back_wait_run(b);
	clients_reap(b);
	for (unsigned i = 0; i < b->n_exports; i++)
		back_holds_sweep(&b->exports[i]);
	r = back_signs_flush(b); /* before the answers leave, which rudp_poll does after this */
	if (now_ns - b->trimmed_ns > BACK_TRIM_NS) {
		b->trimmed_ns = now_ns;
		buf_pool_trim(&b->requests);
		buf_pool_trim(&b->answers);
		back_nodes_idle(b);
		back_mounts_expire(b);
	}
	return r < 0 || b->keeper_gone ? -EPIPE : n;
}

const char *fuse_back_client_host(const struct fuse_back_client *c)
{
	return c->host;
}

unsigned fuse_back_in_flight(const struct fuse_back *b)
{
	return b->n_active + b->n_wait;
}

int fuse_back_accept(struct fuse_back *b, struct rudp_session *s, const void *hello, size_t len,
		     struct fuse_back_client **ret)
{
	struct fuse_back_client *c;
	struct back_export *e = NULL;
	struct back_mount *m;
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
		return -ENOENT;
	if (e->cfg->read_only && !h.read_only)
		return -EROFS;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	r = back_mount_get(b, e, h.mount_id, &m);
	if (r < 0) {
		free(c);
		return r;
	}
	c->back = b;
	c->peer = fuse_back_peer(s);
	c->mount = m;
	snprintf(c->host, sizeof(c->host), "%s", h.client_host);
	c->read_only = h.read_only || e->cfg->read_only;
	m->n_clients++;
	*ret = c;
	return 0;
}

void fuse_back_client_gone(struct fuse_back_client *c)
{
	struct fuse_back *b = c->back;

	if (c->gone)
		return;
	back_wait_drop(b, c, NULL);
	for (struct back_req *q = b->active; q; q = q->next)
		if (q->client == c)
			q->call = NULL;
	c->gone = true;
	if (c->n_reqs > 0)
		return; /* the last one's end reaps it */
	c->next_dying = b->dying;
	b->dying = c;
}

void *fuse_back_buf_get(struct fuse_back *b, unsigned peer, size_t len)
{
	return buf_pool_get_for(&b->requests, peer, len);
}

void fuse_back_buf_put(struct fuse_back *b, void *buf)
{
	buf_pool_put(&b->requests, buf);
}
