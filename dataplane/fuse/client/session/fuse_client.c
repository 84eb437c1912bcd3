/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client's main module: it reads the kernel's requests, and handles the session with the
 * server, redirects, timeouts and shutdown.
 */
#include "dataplane/fuse/client/fuse_client.h"
#include "dataplane/fuse/client/changes/client_changes.h"
#include "dataplane/fuse/client/session/client_session.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define CLIENT_PULL_BURST 64
#define CLIENT_READ_BYTES (CLIENT_POOL_BUF_BYTES - FUSE_PROTO_REQ_TAIL_MAX)
#define CLIENT_TRIM_NS NSEC_PER_SEC
#define CLIENT_BYE_NS (60 * NSEC_PER_SEC)

/* Maximum number of redirects in a row that the client follows. */
#define REDIRECTS_MAX 6U
/* If the worker named by a redirect does not answer within this time, the client tries all
 * addresses of the server again. */
#define REDIRECT_NS (1 * NSEC_PER_SEC)

static int client_connect(struct fuse_client *f, uint64_t now_ns)
{
	const struct launch_mount *m = f->mount;
	struct client_redirect *g = &f->redirect;
	struct datagram_addr addrs[LAUNCH_PEER_ADDRS_MAX];
	unsigned n = MIN_OF(m->n_addrs, (uint32_t)LAUNCH_PEER_ADDRS_MAX);
	struct fuse_hello hello = {.read_only = m->read_only,
				   .follows_redirects = g->n < REDIRECTS_MAX,
				   .purpose = client_mount_worker_hello(f)};
	uint8_t bytes[FUSE_HELLO_BYTES];

	memcpy(hello.mount_id, m->id, sizeof(hello.mount_id));
	memcpy(hello.export_name, m->export_name, sizeof(hello.export_name));
	memcpy(hello.client_host, f->host, sizeof(hello.client_host));
	memcpy(hello.server_host, m->peer, sizeof(hello.server_host));
	fuse_hello_put(bytes, &hello);
	for (unsigned i = 0; i < n; i++)
		addrs[i] = (struct datagram_addr){.ip = m->addrs[i].ip, .port = m->addrs[i].port};
	g->active = g->pending;
	g->pending = false;
	g->since_ns = now_ns;
	if (g->active)
		return rudp_connect(f->rudp, &g->to, 1, bytes, sizeof(bytes), f, now_ns,
				    &f->session);
	return rudp_connect(f->rudp, addrs, n, bytes, sizeof(bytes), f, now_ns, &f->session);
}

/* Call when the server has refused the session and named the worker that serves this mount, as
 * "ADDRESS/PORT". */
static void client_redirected(struct fuse_client *f)
{
	struct client_redirect *g = &f->redirect;
	const char *word = rudp_session_refusal(f->session, &g->to);
	char ip[IP_ADDR_STR_MAX];
	unsigned port;

	if (sscanf(word, "%45[^/]/%4x", ip, &port) != 2 || port == 0 || port > UINT16_MAX ||
	    ip_addr_parse(ip, &g->to.ip) < 0)
		return;
	g->to.port = (uint16_t)port;
	g->pending = true;
	g->n++;
}

/* Ends the session to follow a redirect, or because the worker that a redirect named does not
 * answer. */
static void client_redirect_tick(struct fuse_client *f, uint64_t now_ns)
{
	struct client_redirect *g = &f->redirect;

	if (f->link == CLIENT_READY)
		g->n = 0;
	if (!f->session || (!g->pending && (!g->active || rudp_session_is_up(f->session) ||
					    now_ns < g->since_ns + REDIRECT_NS)))
		return;
	client_session_drop(f, now_ns);
}

/* Makes the kernel resend the requests that a predecessor left unanswered. Returns false if the
 * client must wait because a mount worker may be reading from the kernel. Otherwise the client
 * could not tell whether the kernel resends a request that the mount worker has just read. */
static bool client_resend(struct fuse_client *f)
{
	if (PLENUM_LIKELY(!f->resend_due))
		return true;
	if (!client_forward_quiesce(f))
		return false;
	f->resend_due = false;
	/* A kernel before 6.9 cannot resend. Requests that the dead worker had read stay
	 * unanswered. Requests of mount workers stay with them, or are returned to this worker. */
	if (client_init_resend(f) < 0) {
		f->bad_requests++;
		client_dispatch_resend_done(f);
		client_locks_doubt_all(f);
	} else {
		client_forward_take_forgets(f);
	}
	return true;
}

static const struct launch_mount *mount_at(const struct launch_config *cfg, unsigned index)
{
	return index < LAUNCH_MOUNTS_MAX ? &cfg->mounts[index]
					 : &cfg->shared[index - LAUNCH_MOUNTS_MAX];
}

/* index: as for fuse_client_new(). number: 0 for the owner, else the mount worker's number. */
static int client_new(const struct launch_config *cfg, unsigned index, unsigned number, int proc_fd,
		      struct rudp *r, struct launch_stats *stats, uint64_t now_ns,
		      struct fuse_client **ret)
{
	const struct launch_mount *m = mount_at(cfg, index);
	struct fuse_client *f;
	int e, flags;

	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = (struct fuse_client){.fd = m->fuse_fd,
				  .proc_fd = proc_fd,
				  .mount = number ? &f->own_mount : m,
				  .own_mount = *m,
				  .mount_worker_number = number,
				  .host = cfg->host,
				  .rudp = r,
				  .stats = stats,
				  .latencies = &stats->latencies[index],
				  .clock_ns = clock_now_ns,
				  .soft_ns = (uint64_t)m->soft_s * NSEC_PER_SEC,
				  .answered_max = (CLIENT_SLOTS - CLIENT_SLOTS_INTERNAL) / 2,
				  .away_since_ns = now_ns,
				  .busy_ns = now_ns};
	flags = fcntl(f->fd, F_GETFL);
	e = flags < 0 || fcntl(f->fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
	if (e == 0)
		e = client_slots_init(f, number == 0 && launch_takes_rdma(cfg));
	if (e == 0)
		e = client_stages_init(f);
	if (e == 0) {
		client_nodes_sweep(&f->nodes);
		client_limits_start(f, now_ns);
		client_stages_select(f);
	}
	if (e == 0 && f->area) {
		client_mount_worker_start(f, now_ns);
	} else if (e == 0 && f->adopted) {
		client_slots_warm(f);
		f->resend_due = true;
		(void)client_resend(f);
	}
	/* Without an address of the server the mount waits: the agent restarts the worker when it
	 * knows an address. */
	if (e == 0 && m->n_addrs > 0 && client_mount_worker_may_connect(f, now_ns))
		e = client_connect(f, now_ns);
	if (e < 0) {
		fuse_client_free(f);
		return e;
	}
	*ret = f;
	return 0;
}

int fuse_client_new(const struct launch_config *cfg, unsigned index, int proc_fd, struct rudp *r,
		    struct launch_stats *stats, uint64_t now_ns, struct fuse_client **ret)
{
	unsigned number = index < LAUNCH_MOUNTS_MAX ? 0 : mount_at(cfg, index)->mount_worker;

	return client_new(cfg, index, number, proc_fd, r, stats, now_ns, ret);
}

int fuse_client_new_successor(const struct launch_config *cfg, unsigned index, unsigned number,
			      int proc_fd, struct rudp *r, struct launch_stats *stats,
			      uint64_t now_ns, struct fuse_client **ret)
{
	int e = client_new(cfg, index, number, proc_fd, r, stats, now_ns, ret);

	if (e == 0)
		fuse_client_quiesce(*ret);
	return e;
}

struct fuse_client *fuse_client_free(struct fuse_client *f)
{
	if (!f)
		return NULL;
	client_stages_done(f);
	client_slots_done(f);
	free(f);
	return NULL;
}

struct fuse_client *fuse_client_close(struct fuse_client *f, uint64_t now_ns)
{
	if (f->session)
		rudp_session_close(f->session, now_ns);
	return fuse_client_free(f);
}

void fuse_client_set_unlabelled(struct fuse_client *f)
{
	f->unlabelled = true;
}

void fuse_client_set_unmounted(struct fuse_client *f)
{
	f->unmounted = true;
}

int fuse_client_fd(const struct fuse_client *f)
{
	return f->area ? f->mount->bell_fd : f->fd;
}

int fuse_client_kernel_fd(const struct fuse_client *f)
{
	return f->fd;
}

int fuse_client_bell(const struct fuse_client *f)
{
	return f->dispatch && f->mount->has_mount_workers ? f->mount->bell_fd : -1;
}

unsigned fuse_client_in_flight(const struct fuse_client *f)
{
	return f->n_used;
}

unsigned fuse_client_sent(const struct fuse_client *f)
{
	const unsigned starting =
		f->limits.stopping && f->link == CLIENT_READY ? client_limits_held(f) : 0;

	return f->n_sent + starting + (f->bye_sent && !f->bye_done);
}

bool fuse_client_owes_goodbye(const struct fuse_client *f, uint64_t now_ns)
{
	/* A server that refuses the mount does not accept DESTROY either. */
	const bool given_up = (f->bye_until_ns && now_ns >= f->bye_until_ns) ||
			      client_refusal_get(f, now_ns) != 0;

	return f->unmounted && f->state.head->served && !f->bye_done && !given_up;
}

bool fuse_client_owes_data(struct fuse_client *f)
{
	return f->link == CLIENT_READY && client_write_back_delays_goodbye(f);
}

bool fuse_client_is_ready(const struct fuse_client *f)
{
	return f->link == CLIENT_READY;
}

uint32_t fuse_client_open_files(const struct fuse_client *f)
{
	return f->files.n_open;
}

const struct rudp_session *fuse_client_session(const struct fuse_client *f)
{
	return f->session;
}

uint64_t fuse_client_waits_ns(const struct fuse_client *f, uint64_t now_ns)
{
	return f->link == CLIENT_READY || f->n_pending == 0 ? 0 : now_ns - f->away_since_ns;
}

uint64_t fuse_client_timeouts(const struct fuse_client *f)
{
	return f->timeouts;
}

int fuse_client_pull(struct fuse_client *f, bool all, uint64_t now_ns)
{
	const struct client_stage *const *st;
	int taken = 0, n_forwarded = 0, most;

	if (f->area)
		return client_mount_worker_pull(f, all, now_ns);
	if (!client_resend(f))
		return 0;
	for (st = f->on.poll; *st; st++)
		n_forwarded += (*st)->poll(f, all, now_ns);
	most = all ? CLIENT_PULL_BURST : MIN_OF(client_read_burst_hint(f), CLIENT_PULL_BURST);
	while (!f->unmounted && taken < most && client_has_room(f)) {
		ssize_t n = read(f->fd, f->read_buf, CLIENT_READ_BYTES);
		struct fuse_in_header h;

		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue; /* ENOENT: the request ended before it was read */
		if (n < 0 && errno == EAGAIN) {
			for (st = f->on.drained; *st; st++)
				(*st)->drained(f);
			break;
		}
		if (n <= 0) {
			f->unmounted = true;
			break;
		}
		f->n_read++;
		f->n_behind += taken++ > 0;
		if ((size_t)n >= sizeof(h))
			memcpy(&h, f->read_buf, sizeof(h));
		client_note_read(f, &h);
		if ((size_t)n < sizeof(h) || h.len != (size_t)n)
			f->bad_requests++; /* a malformed request has no number to which an answer
					      could be sent */
		else
			client_take_request(f, (size_t)n, now_ns);
		client_queue_depth_update(f);
	}
	if (taken + n_forwarded > 0)
		f->busy_ns = now_ns;
	for (st = f->on.polled; *st; st++)
		(*st)->polled(f, taken + n_forwarded, now_ns);
	for (st = f->on.full; *st && !client_has_room(f); st++)
		(*st)->full(f);
	if (f->unmounted) {
		client_goodbye(f);
		return -ENODEV;
	}
	client_flush(f, now_ns);
	return taken + n_forwarded;
}

/*
 * If a request was interrupted or timed out, the kernel already has a reply. Such a request holds
 * its slot until the server answers or the session ends. Ends the session if such requests hold too
 * many slots, because the server may answer in a new session.
 */
static void client_end_stuck_session(struct fuse_client *f, uint64_t now_ns)
{
	unsigned n = 0;

	if ((f->free && !f->area) || f->link != CLIENT_READY || f->n_used < f->answered_max)
		return;
	for (unsigned i = 0; i < CLIENT_SLOTS - CLIENT_SLOTS_INTERNAL; i++)
		n += f->slots[i].answered && f->slots[i].state == CLIENT_SLOT_SENT;
	if (n < f->answered_max)
		return;
	client_session_drop(f, now_ns);
}

/* If the server is away when the mount ends, the client waits a moment for the server, to send it
 * DESTROY. Otherwise the server would keep memory for a mount that no longer exists. */
static uint64_t client_unmounted_tick(struct fuse_client *f, uint64_t now_ns)
{
	bool is_unfinished =
		f->session ? f->link != CLIENT_READY : f->state.head->served && !f->bye_done;

	if (!is_unfinished)
		return UINT64_MAX;
	if (f->bye_until_ns == 0)
		f->bye_until_ns = now_ns + CLIENT_BYE_NS;
	if (now_ns >= f->bye_until_ns) {
		client_write_back_give_up(f);
		client_session_drop(f, now_ns);
		return UINT64_MAX;
	}
	client_redirect_tick(f, now_ns);
	if (f->session || client_connect(f, now_ns) == 0)
		client_flush_stages(f, now_ns);
	client_goodbye(f);
	return MIN_OF(f->bye_until_ns, now_ns + NSEC_PER_SEC);
}

uint64_t fuse_client_tick(struct fuse_client *f, uint64_t now_ns)
{
	const struct client_stage *const *st;
	bool was_full = !client_has_room(f);
	uint64_t due = UINT64_MAX;

	if (f->bye_done)
		client_session_drop(f, now_ns);
	for (st = f->on.tick; *st; st++)
		(*st)->tick(f, now_ns);
	if (f->unmounted) {
		client_goodbye(f);
		return client_unmounted_tick(f, now_ns);
	}
	for (st = f->on.expire; *st; st++)
		due = MIN_OF(due, (*st)->expire(f, now_ns));
	client_end_stuck_session(f, now_ns);
	client_redirect_tick(f, now_ns);
	if (!f->session &&
	    (!client_mount_worker_may_connect(f, now_ns) || client_connect(f, now_ns) < 0))
		return MIN_OF(due, now_ns + NSEC_PER_SEC);
	client_flush(f, now_ns);
	if (f->retry_ns > now_ns)
		due = MIN_OF(due, f->retry_ns);
	if (f->resend_due)
		due = MIN_OF(due, now_ns + NSEC_PER_MSEC);
	if (f->redirect.active && !rudp_session_is_up(f->session))
		due = MIN_OF(due, f->redirect.since_ns + REDIRECT_NS);
	for (st = f->on.due; *st; st++)
		due = MIN_OF(due, (*st)->due(f, now_ns));
	if (f->n_used == 0 &&
	    (f->pool.free_touched > 0 || f->parsed.free_touched > 0 || f->prefetch.n_touched > 0)) {
		if (now_ns - f->busy_ns >= CLIENT_TRIM_NS) {
			client_pool_trim(&f->pool);
			client_pool_trim(&f->parsed);
			client_prefetches_trim(f);
		} else
			due = MIN_OF(due, f->busy_ns + CLIENT_TRIM_NS);
	}
	/* Pull now if there is space again, because the kernel signals pending requests only
	 * once. */
	return was_full && client_has_room(f) ? now_ns : due;
}

void *fuse_client_buf_get(struct fuse_client *f, uint64_t cookie, size_t len)
{
	const struct client_stage *stage =
		cookie > CLIENT_COOKIE_SLOT_MAX ? client_stage_of_cookie(f, cookie) : NULL;
	struct client_slot *s;

	if (stage)
		return len <= stage->resp_bytes ? (uint8_t *)f + stage->resp_at : NULL;
	if (cookie == CLIENT_COOKIE_HELLO || cookie == CLIENT_COOKIE_BYE)
		return len <= sizeof(f->hello_resp) ? f->hello_resp : NULL;
	s = client_slot_from_cookie(f, cookie);
	if (!s || len > MAX_OF(s->resp_max, CLIENT_SMALL_BYTES))
		return NULL;
	return len <= CLIENT_SMALL_BYTES ? s->small + CLIENT_SMALL_BYTES : s->resp;
}

/* Called when the remaining packets of a message will not arrive. The memory belongs to a slot, so
 * do not free it. */
void fuse_client_buf_put(struct fuse_client *f, void *buf)
{
	(void)f;
	(void)buf;
}

static void client_away(struct fuse_client *f, uint64_t now_ns)
{
	if (f->link == CLIENT_READY || f->link == CLIENT_REOPEN)
		f->away_since_ns = now_ns;
	f->link = CLIENT_AWAY;
	for (const struct client_stage *const *st = f->on.down; *st; st++)
		(*st)->down(f, now_ns);
}

/* Queues a request again because its session ended before the server answered. It is unknown
 * whether the server has executed the request. */
static void client_requeue(struct fuse_client *f, struct client_slot *s, uint64_t now_ns)
{
	struct fuse_in_header h;

	if (s->opcode == FUSE_SETXATTR || s->opcode == FUSE_REMOVEXATTR)
		client_cache_no_xattrs_drop(&f->cache, s->nodes[0], now_ns);
	if (s->opcode == FUSE_OPENDIR) /* do not ask for prefetched entries again, because the
					  answer may be a repeated, old one */
		client_prefetch_request(s, 0);
	if (s->answered) {
		client_slot_free(f, s);
		return;
	}
	memcpy(&h, s->req, sizeof(h));
	h.unique |= FUSE_PROTO_UNIQUE_RESEND;
	memcpy(s->req, &h, sizeof(h));
	s->resent = true;
	client_slot_queue(f, s);
}

/* Processes the answer to a request of the client's own; msg is NULL if the session ended before
 * the answer arrived. */
static void internal_answer(struct fuse_client *f, struct client_slot *s, void *msg, size_t len,
			    uint64_t now_ns)
{
	switch (s->kind) {
	case CLIENT_SLOT_REOPEN:
		client_internal_reopened(f, s, msg, len, now_ns);
		break;
	case CLIENT_SLOT_RELEASE:
		client_internal_released(f, s->file, msg);
		break;
	case CLIENT_SLOT_TOUCH:
		client_deferred_ctime_answered(f, s, msg, len);
		break;
	case CLIENT_SLOT_WRITE_BACK:
		client_write_back_answered(f, s, msg, len);
		break;
	case CLIENT_SLOT_LOCK_CANCEL:
		client_locks_cancelled(f, s, msg, len);
		break;
	case CLIENT_SLOT_LOCK_RECLAIM:
		client_locks_reclaimed(f, s, msg, len, now_ns);
		break;
	case CLIENT_SLOT_INTERRUPT:
	case CLIENT_SLOT_KERNEL:
		break;
	}
	client_slot_free(f, s);
}

void fuse_client_response(struct fuse_client *f, uint64_t cookie, int status, void *buf, size_t len,
			  uint64_t now_ns)
{
	const struct client_stage *stage =
		cookie > CLIENT_COOKIE_SLOT_MAX ? client_stage_of_cookie(f, cookie) : NULL;
	struct client_slot *s;

	client_sync(f);
	if (!stage || !stage->is_background)
		f->busy_ns = now_ns;
	if (cookie == CLIENT_COOKIE_HELLO) {
		client_internal_hello_answer(f, status, buf, len, now_ns);
		return;
	}
	if (cookie == CLIENT_COOKIE_BYE) {
		f->bye_done = status == 0;
		f->bye_sent = f->bye_done;
		if (status != 0)
			client_away(f, now_ns);
		return;
	}
	if (stage) {
		if (status != 0)
			client_away(f, now_ns);
		else
			stage->answer(f, buf, len, now_ns);
		return;
	}
	s = client_slot_from_cookie(f, cookie);
	if (!s)
		return;
	if (status != 0)
		client_away(f, now_ns);
	if (s->kind != CLIENT_SLOT_KERNEL) {
		internal_answer(f, s, status == 0 ? buf : NULL, len, now_ns);
		if (f->unmounted)
			client_goodbye(f);
	} else if (status == 0)
		client_answer_take(f, s, buf, len, now_ns);
	else
		client_requeue(f, s, now_ns);
}

void fuse_client_event(struct fuse_client *f, enum rudp_event e, int code, uint64_t now_ns)
{
	/* After too many redirects, the client handles a redirect like any other refusal: it
	 * pauses, and then says in its hello that it does not follow redirects. */
	if (e == RUDP_SESSION_REFUSED && code == -EREMOTE && f->session &&
	    f->redirect.n < REDIRECTS_MAX)
		client_redirected(f);
	if (e == RUDP_SESSION_REFUSED)
		client_refusal_note(f, code, now_ns);
	else if (e == RUDP_SESSION_UP)
		client_refusal_end(f);
	/* The next session may be with another worker of the server. */
	if (e == RUDP_SESSION_LOST || e == RUDP_SESSION_RESTARTED || e == RUDP_SESSION_ENDED)
		f->redirect.since_ns = now_ns;
	switch (e) {
	case RUDP_SESSION_UP:
	case RUDP_SESSION_RESTARTED:
	case RUDP_SESSION_LOST:
	case RUDP_SESSION_ENDED:
	case RUDP_SESSION_CLOSED:
	case RUDP_SESSION_REFUSED:
		f->retry_ns = 0;
		client_away(f, now_ns);
		break;
	default:
		break;
	}
}
