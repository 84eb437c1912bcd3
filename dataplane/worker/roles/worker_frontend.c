/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The role of a frontend worker: a fuse_client per mount, which sends the mount's requests to its
 * server.
 */
#include "dataplane/fuse/client/fuse_client.h"
#include "dataplane/worker/worker.h"
#include "dataplane/worker/worker_identity.h"
#include "netcfg/base/log.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

/* After this time the worker reports that requests are waiting on a hard mount, where they wait
 * without limit. */
#define ABSENCE_NS (30 * NSEC_PER_SEC)
/* A mount that moves to another worker of the server is refused with EBUSY while requests run at
 * its old worker. So the worker reports refusals with EBUSY only if they last longer than this. */
#define BUSY_NS (4 * NSEC_PER_SEC)

/* Interval of retries while another process still serves as this mount worker. */
#define MOUNT_WORKER_RETRY_NS (100 * NSEC_PER_MSEC)

struct client_mount {
	struct fuse_client *front; /* NULL: this worker does not serve the mount at present */
	bool unmounted;
	uint64_t timeouts_seen;
	bool absence_reported; /* the worker has reported that the server is away; reset when the
				  server is back */
	int refusal_reported;  /* code of the last refusal that was reported; 0: not refused */
	bool reads;	       /* this worker reads the kernel's requests for this mount at
				  present */
	uint64_t busy_ns; /* when the server first refused the mount with EBUSY since it last served
			     the mount; 0: never */
	uint64_t refused_ns; /* time of the last refusal; 0: never */
	char refusal[LAUNCH_REASON_MAX];
};

struct client_end {
	/* First the worker's own mounts, then those that it serves as a mount worker. The last
	 * entry is for a mount worker of one of the worker's own mounts: if the mount worker's
	 * process has ended, this worker finishes its requests. */
	struct client_mount mounts[LAUNCH_MOUNTS_MAX + LAUNCH_SHARED_MOUNTS_MAX + 1];
	uint64_t retry_ns; /* when to try again to serve mounts; 0: all are served */
	unsigned heir_of;
	uint64_t orphan_due_ns; /* when to search again for a mount worker whose process has
				   ended */
	bool orphan_failed;	/* this worker has reported that it cannot finish the requests of an
				   ended mount worker; cleared at the next success */
};

static struct client_end *end_of(const struct worker *w)
{
	return w->end;
}

static unsigned n_fronts(const struct worker *w)
{
	return w->cfg->n_mounts + w->cfg->n_shared + 1;
}

static bool is_mount_worker(const struct worker *w, unsigned i)
{
	return i >= w->cfg->n_mounts;
}

static const struct launch_mount *config_of(const struct worker *w, unsigned i)
{
	if (i == n_fronts(w) - 1)
		return &w->cfg->mounts[end_of(w)->heir_of];
	return is_mount_worker(w, i) ? &w->cfg->shared[i - w->cfg->n_mounts] : &w->cfg->mounts[i];
}

/* Finds the mount to which this session belongs; NULL if it belongs to no mount. */
static struct client_mount *mount_of(const struct worker *w, const struct rudp_session *s,
				     unsigned *ret_index)
{
	for (unsigned i = 0; w->end && i < n_fronts(w); i++) {
		struct client_mount *m = &end_of(w)->mounts[i];

		if (!m->front || rudp_session_user(s) != m->front)
			continue;
		*ret_index = i;
		return m;
	}
	return NULL;
}

/* ------------------------------------------------------------------ rudp's callbacks */

static void *on_buf_get(void *user, struct rudp_session *s, bool is_response, uint64_t cookie,
			size_t len)
{
	/* A frontend gets responses but no requests. */
	return is_response ? fuse_client_buf_get(rudp_session_user(s), cookie, len) : NULL;
}

static void on_buf_put(void *user, struct rudp_session *s, void *buf)
{
	fuse_client_buf_put(rudp_session_user(s), buf);
}

static void on_response(void *user, struct rudp_session *s, uint64_t cookie, int status, void *buf,
			size_t len)
{
	struct worker *w = user;

	fuse_client_response(rudp_session_user(s), cookie, status, buf, len, w->now_ns);
}

static void on_event(void *user, struct rudp_session *s, enum rudp_event e, unsigned path, int code)
{
	struct worker *w = user;
	void *front = rudp_session_user(s);

	worker_report(w, s, e, path, code);
	fuse_client_event(front, e, code, w->now_ns);
}

/* Checks that the server is the host that the mount names. */
static int on_accepted(void *user, struct rudp_session *s)
{
	const struct worker *w = user;
	struct rudp_peer peer;
	unsigned i;
	/* A session of no mount expects no host, so only hosts without identities may serve it. */
	int e = worker_identity_check(w->cfg, rudp_session_proof(s),
				      mount_of(w, s, &i) ? config_of(w, i)->peer : "", false,
				      &peer);

	if (e < 0)
		rudp_session_refuse_with(s, peer.word);
	else
		rudp_session_set_peer(s, &peer);
	return e;
}

/* Without the operations `accept` and `request`, rudp refuses all clients. */
static const struct rudp_ops client_ops = {
	.tx = worker_tx,
	.tx_flush = worker_tx_flush,
	.buf_get = on_buf_get,
	.buf_put = on_buf_put,
	.response = on_response,
	.accepted = on_accepted,
	.event = on_event,
};

/* ------------------------------------------------------------------ lifetime */

/* Creates the client of mount i. Returns 0, -EBUSY to retry because another process still serves as
 * this mount worker, or another negative errno. */
static int mount_build(struct worker *w, unsigned i)
{
	struct client_mount *m = &end_of(w)->mounts[i];
	unsigned at = is_mount_worker(w, i) ? i - w->cfg->n_mounts + LAUNCH_MOUNTS_MAX : i;
	int r = fuse_client_new(w->cfg, at, w->sandbox.proc_fd, w->rudp, w->stats, w->now_ns,
				&m->front);

	if (r == -EBUSY && is_mount_worker(w, i))
		end_of(w)->retry_ns = w->now_ns + MOUNT_WORKER_RETRY_NS;
	/* Mount workers do not use RDMA. */
	if (r == 0 && !is_mount_worker(w, i))
		fuse_client_set_rdma(m->front, w->rdma, w->cfg);
	if (r == 0 && w->sandbox.no_selinux)
		fuse_client_set_unlabelled(m->front);
	return r;
}

static int client_build(struct worker *w, struct reason *why)
{
	struct client_end *end = calloc(1, sizeof(*end));

	w->end = end;
	for (unsigned i = 0; end && i < n_fronts(w) - 1; i++) {
		int r = mount_build(w, i);

		if (r < 0 && !(r == -EBUSY && is_mount_worker(w, i))) {
			reason_set_text(why, "cannot serve %.60s: %s", config_of(w, i)->path,
					strerror(-r));
			return r;
		}
	}
	return end ? 0 : -ENOMEM;
}

static void client_rdma_came(struct worker *w)
{
	for (unsigned i = 0; i < w->cfg->n_mounts; i++)
		fuse_client_set_rdma(end_of(w)->mounts[i].front, w->rdma, w->cfg);
}

static void client_free(struct worker *w)
{
	struct client_end *end = w->end;

	for (unsigned i = 0; end && i < n_fronts(w); i++)
		fuse_client_free(end->mounts[i].front);
	free(end);
	w->end = NULL;
}

/* Watches the mount's descriptor edge-triggered, so that requests that wait in the kernel do not
 * wake this worker while all slots are in use. If several workers read from the mount, a request
 * wakes one that sleeps, which may be the owner. */
static void mount_watch(struct worker *w, unsigned i)
{
	const struct fuse_client *f = end_of(w)->mounts[i].front;
	bool shares;

	if (!f)
		return;
	shares = fuse_client_bell(f) >= 0;
	worker_watch(w, fuse_client_fd(f), WORKER_SOURCE_ROLE,
		     EPOLLIN | EPOLLET | (shares ? EPOLLEXCLUSIVE : 0));
	if (shares)
		worker_watch(w, fuse_client_bell(f), WORKER_SOURCE_ROLE, EPOLLIN | EPOLLET);
}

static void mount_worker_watch(struct worker *w, unsigned i)
{
	struct client_mount *m = &end_of(w)->mounts[i];
	bool reads = fuse_client_is_reading(m->front) && !m->unmounted;

	if (PLENUM_LIKELY(reads == m->reads))
		return;
	m->reads = reads;
	if (reads)
		worker_watch(w, fuse_client_kernel_fd(m->front), WORKER_SOURCE_ROLE,
			     EPOLLIN | EPOLLET | EPOLLEXCLUSIVE);
	else
		worker_unwatch(w, fuse_client_kernel_fd(m->front));
}

static void mount_workers_retry(struct worker *w)
{
	struct client_end *end = end_of(w);

	if (PLENUM_LIKELY(end->retry_ns == 0) || w->now_ns < end->retry_ns)
		return;
	end->retry_ns = 0;
	for (unsigned i = w->cfg->n_mounts; i < n_fronts(w) - 1; i++) {
		int r = end->mounts[i].front ? 0 : mount_build(w, i);

		if (r == 0)
			mount_watch(w, i);
		else if (r != -EBUSY)
			log_warning("%s: cannot start as a mount worker: %s", config_of(w, i)->path,
				    strerror(-r));
	}
}

static void refusal_forget(struct worker *w, struct client_mount *m)
{
	if (!m->refusal_reported)
		return;
	m->refusal_reported = 0;
	/* Show the refusal of another mount instead, if there is one. */
	w->peer_why[0] = '\0';
	for (unsigned i = 0; i < n_fronts(w) && !w->peer_why[0]; i++)
		if (end_of(w)->mounts[i].refusal_reported)
			memcpy(w->peer_why, end_of(w)->mounts[i].refusal, sizeof(w->peer_why));
	worker_reason_publish(w);
}

/* Forgets a refusal that the server has not repeated for long: then the server is away, and
 * requests wait for it. Returns when to call this function next. */
static uint64_t refusal_expire(struct worker *w, struct client_mount *m)
{
	if (PLENUM_LIKELY(!m->refusal_reported))
		return UINT64_MAX;
	/* While the session works, keep the refusal here: report_absence() decides whether to
	 * forget it. */
	if (fuse_client_is_ready(m->front))
		m->refused_ns = w->now_ns;
	if (w->now_ns < m->refused_ns + FUSE_CLIENT_REFUSAL_LAST_NS)
		return m->refused_ns + FUSE_CLIENT_REFUSAL_LAST_NS;
	m->busy_ns = 0;
	refusal_forget(w, m);
	return UINT64_MAX;
}

/* Reports a refusal; each code is reported once. */
static void refusal_report(struct worker *w, unsigned i, int code, const char *text)
{
	struct client_mount *m = &end_of(w)->mounts[i];

	m->refusal_reported = code;
	reason_copy_text(w->peer_why, sizeof(w->peer_why), text);
	memcpy(m->refusal, w->peer_why, sizeof(m->refusal));
	worker_reason_publish(w);
	log_warning("%s", text);
	worker_send(w, LAUNCH_MSG_EVENT, LAUNCH_EVENT_PEER_REFUSED, i, text);
}

/* Finishes the requests of a mount worker of one of this worker's mounts if the mount worker's
 * process has ended. */
static void orphan_finish(struct worker *w)
{
	struct client_end *end = end_of(w);
	struct client_mount *orphan = &end->mounts[n_fronts(w) - 1];

	if (orphan->front && fuse_client_is_finished(orphan->front)) {
		orphan->front = fuse_client_close(orphan->front, w->now_ns);
		orphan->unmounted = false;
		refusal_forget(w, orphan);
	}
	if (w->now_ns < end->orphan_due_ns || orphan->front || w->stopping)
		return;
	end->orphan_due_ns = w->now_ns + NSEC_PER_SEC;
	for (unsigned i = 0; i < w->cfg->n_mounts && !orphan->front; i++) {
		unsigned number = fuse_client_find_orphan(end->mounts[i].front, w->now_ns);
		int r = number ? fuse_client_new_successor(w->cfg, i, number, w->sandbox.proc_fd,
							   w->rudp, w->stats, w->now_ns,
							   &orphan->front)
			       : -ENOENT;

		if (r < 0 && number && r != -EBUSY && !end->orphan_failed) {
			log_warning("%s: cannot finish the requests of mount worker %u: %s",
				    w->cfg->mounts[i].path, number, strerror(-r));
			end->orphan_failed = true;
		}
		if (r < 0)
			continue;
		end->heir_of = i;
		end->orphan_failed = false;
		log_notice("%s: mount worker %u has gone; finishing its requests",
			   w->cfg->mounts[i].path, number);
	}
}

static void client_watch(struct worker *w)
{
	for (unsigned i = 0; i < n_fronts(w); i++)
		mount_watch(w, i);
}

/* ------------------------------------------------------------------ one turn of the loop */

static void unmounted(struct worker *w, unsigned i)
{
	end_of(w)->mounts[i].unmounted = true;
	refusal_forget(w, &end_of(w)->mounts[i]);
	log_info("%s: unmounted", config_of(w, i)->path);
}

static unsigned client_turn(struct worker *w)
{
	unsigned total = 0;

	for (unsigned i = 0; i < n_fronts(w); i++) {
		struct client_mount *m = &end_of(w)->mounts[i];
		int n;

		if (!m->front || m->unmounted || w->stopping)
			continue;
		n = fuse_client_pull(m->front, w->looks_all, w->now_ns);
		if (n == -ENODEV)
			unmounted(w, i);
		else if (n > 0)
			total += (unsigned)n;
	}
	return total;
}

static bool client_awaits(const struct worker *w)
{
	for (unsigned i = 0; i < n_fronts(w); i++) {
		const struct client_mount *m = &end_of(w)->mounts[i];

		if (m->front && ((!m->unmounted && !fuse_client_is_ready(m->front)) ||
				 fuse_client_sent(m->front) > 0))
			return true;
	}
	return false;
}

static void report_unsupported(struct worker *w, unsigned i)
{
	const struct launch_mount *cfg = config_of(w, i);
	char text[LAUNCH_REASON_MAX * 2];

	/* Keep the refusal valid: the client does not ask the server meanwhile, so no new refusal
	 * comes. */
	end_of(w)->mounts[i].refused_ns = w->now_ns;
	if (end_of(w)->mounts[i].refusal_reported == -EOPNOTSUPP)
		return;
	snprintf(text, sizeof(text),
		 "lane-unknown: %.30s is of an older version without mount workers; one core "
		 "carries %.60s",
		 cfg->peer, cfg->path);
	refusal_report(w, i, -EOPNOTSUPP, text);
}

/* Reports that a server does not answer: once, however many requests wait or fail. */
static void report_absence(struct worker *w, unsigned i)
{
	const struct launch_mount *cfg = config_of(w, i);
	struct client_mount *m = &end_of(w)->mounts[i];
	bool ready = fuse_client_is_ready(m->front);
	uint64_t n = fuse_client_timeouts(m->front);
	char text[LAUNCH_REASON_MAX * 2];

	if (m->unmounted)
		return;
	if (fuse_client_is_unsupported(m->front, w->now_ns)) {
		report_unsupported(w, i);
		return;
	}
	if (ready && n == m->timeouts_seen) {
		m->absence_reported = false;
		m->busy_ns = 0;
		/* If this mount worker only finishes old requests, keep the refusal, because the
		 * server still refuses new requests. */
		if (!fuse_client_is_finishing(m->front))
			refusal_forget(w, m);
		return;
	}
	/* Only the owner of a mount reports an absent server, not its mount workers. A server that
	 * refuses the mount is not absent. */
	if (m->absence_reported || m->refusal_reported || is_mount_worker(w, i) ||
	    (n == m->timeouts_seen && (fuse_client_waits_ns(m->front, w->now_ns) < ABSENCE_NS ||
				       w->now_ns < m->refused_ns + ABSENCE_NS)))
		return;
	if (n != m->timeouts_seen)
		snprintf(text, sizeof(text),
			 "%.100s: %.60s has not answered for %u s; requests fail (EIO) until it "
			 "does",
			 cfg->path, cfg->peer, cfg->soft_s);
	else
		snprintf(text, sizeof(text),
			 "%.100s: %.60s has not answered for %u s; requests wait until it does",
			 cfg->path, cfg->peer, (unsigned)(ABSENCE_NS / NSEC_PER_SEC));
	m->timeouts_seen = n;
	m->absence_reported = true;
	log_warning("%s", text);
	worker_send(w, LAUNCH_MSG_EVENT, LAUNCH_EVENT_PEER_LOST, i, text);
}

/* Formats the server's address: the address at which it first served the mount. */
static const char *server_format(const struct client_mount *m, char *buf, size_t size)
{
	const struct rudp_session *s = fuse_client_session(m->front);
	struct rudp_path_info paths[RUDP_PATHS_MAX];
	unsigned n = s ? rudp_session_paths(s, paths, RUDP_PATHS_MAX) : 0;

	for (unsigned i = 0; i < n; i++)
		if (paths[i].up)
			return ip_addr_format(&paths[i].remote.ip, buf, size);
	return "";
}

static void limits_publish(struct worker *w, unsigned i)
{
	struct launch_mount_stats *st = &w->stats->mounts[i];
	uint64_t waited_ns;
	bool limited;

	fuse_client_get_limited(end_of(w)->mounts[i].front, w->now_ns, &limited, &waited_ns);
	launch_stat_set(&st->limited, limited);
	launch_stat_set(&st->waited_ns, waited_ns);
}

/* Publishes for the agent whether the mount is served and by which server, or why it is not
 * served. */
static void mount_publish(struct worker *w, unsigned i)
{
	const struct client_mount *m = &end_of(w)->mounts[i];
	bool served = fuse_client_is_ready(m->front);
	const char *why = served || !m->refusal_reported ? "" : m->refusal;
	struct launch_mount_stats *st = &w->stats->mounts[i];
	bool was_served = launch_stat_get(&st->served);
	char by[IP_ADDR_STR_MAX] = "";

	launch_stat_set(&st->open_files, fuse_client_open_files(m->front));
	limits_publish(w, i);
	if (served == was_served && strcmp(st->reason, why) == 0 &&
	    launch_stat_get(&st->since_ns) != 0)
		return;
	if (served != was_served || launch_stat_get(&st->since_ns) == 0)
		launch_stat_set(&st->since_ns, w->now_ns);
	launch_stat_set(&st->served, served);
	__atomic_store_n(&w->stats->seq, w->stats->seq + 1, __ATOMIC_RELAXED);
	/* The fence makes `seq` odd before the text changes, so that readers notice the change and
	 * retry (worker_stats_publish()). */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	snprintf(st->reason, sizeof(st->reason), "%s", why);
	snprintf(st->by, sizeof(st->by), "%s", served ? server_format(m, by, sizeof(by)) : "");
	__atomic_store_n(&w->stats->seq, w->stats->seq + 1, __ATOMIC_RELEASE);
}

static void rdma_judge(struct worker *w)
{
	struct fuse_client *fronts[ARRAY_SIZE(((struct client_end *)0)->mounts)];
	unsigned n = 0;

	for (unsigned i = 0; i < n_fronts(w); i++)
		if (!end_of(w)->mounts[i].unmounted)
			fronts[n++] = end_of(w)->mounts[i].front;
	fuse_client_rdma_check_mixed(fronts, n);
}

static uint64_t client_tick(struct worker *w)
{
	uint64_t due = UINT64_MAX;
	struct launch_ping ping;

	mount_workers_retry(w);
	orphan_finish(w);
	if (port_rdma_any(w->rdma))
		rdma_judge(w);
	if (end_of(w)->retry_ns)
		due = end_of(w)->retry_ns;
	for (unsigned i = 0; i < n_fronts(w); i++) {
		struct fuse_client *f = end_of(w)->mounts[i].front;

		if (!f)
			continue;
		due = MIN_OF(due, fuse_client_tick(f, w->now_ns));
		due = MIN_OF(due, refusal_expire(w, &end_of(w)->mounts[i]));
		report_absence(w, i);
		if (is_mount_worker(w, i))
			mount_worker_watch(w, i);
		else
			mount_publish(w, i);
		if (fuse_client_ping_take(f, &ping))
			worker_send_ping(w, &ping);
	}
	return due;
}

static int client_ping(struct worker *w, const struct launch_ping *p)
{
	if (p->mount >= w->cfg->n_mounts || end_of(w)->mounts[p->mount].unmounted)
		return -ENOENT;
	return fuse_client_ping(end_of(w)->mounts[p->mount].front, p, w->now_ns);
}

static void client_limit(struct worker *w, uint32_t mount, const struct launch_limits *to)
{
	if (mount < w->cfg->n_mounts)
		fuse_client_set_limits(end_of(w)->mounts[mount].front, to);
}

/* Returns how many requests a stopping worker must finish first. Requests that wait in the kernel,
 * or for an absent peer, do not count: the successor gets them. */
static unsigned client_left(struct worker *w)
{
	unsigned left = 0;

	for (unsigned i = 0; i < n_fronts(w); i++) {
		struct client_mount *m = &end_of(w)->mounts[i];
		struct pollfd p = {.events = POLLIN};

		if (!m->front)
			continue;
		fuse_client_quiesce(m->front);
		p.fd = fuse_client_kernel_fd(m->front);
		if (!m->unmounted && poll(&p, 1, 0) == 1 && p.revents & POLLERR) {
			fuse_client_set_unmounted(m->front);
			if (fuse_client_pull(m->front, true, w->now_ns) == -ENODEV)
				unmounted(w, i);
		}
		left += fuse_client_sent(m->front) + fuse_client_owes_goodbye(m->front, w->now_ns) +
			fuse_client_owes_data(m->front);
	}
	return left;
}

/* ------------------------------------------------------------------ reports */

/* Returns the best state of RDMA on this port among the worker's mounts. */
static enum port_rdma_reason client_rdma(const struct worker *w, unsigned port)
{
	enum port_rdma_reason why = port_rdma_reason(w->rdma, port);
	bool any = false;

	for (unsigned i = 0; i < w->cfg->n_mounts; i++) {
		enum port_rdma_reason of;

		if (end_of(w)->mounts[i].unmounted)
			continue;
		of = fuse_client_rdma_reason(end_of(w)->mounts[i].front, port);
		if (of == PORT_RDMA_OK || !any)
			why = of;
		any = true;
	}
	return why;
}

static void client_rdma_bytes(const struct worker *w, const struct rudp_session *s, unsigned port,
			      uint64_t *ret_read, uint64_t *ret_write)
{
	fuse_client_rdma_bytes(rudp_session_user(s), port, ret_read, ret_write);
}

static uint64_t client_serves(const struct worker *w, const struct rudp_session *s)
{
	unsigned i;

	if (!mount_of(w, s, &i))
		return LAUNCH_SERVES_NONE;
	if (i == n_fronts(w) - 1)
		return end_of(w)->heir_of;
	return is_mount_worker(w, i) ? i - w->cfg->n_mounts + LAUNCH_MOUNTS_MAX : i;
}

static const char *client_peer_name(const struct worker *w, const struct rudp_session *s)
{
	unsigned i;

	return mount_of(w, s, &i) ? config_of(w, i)->peer : "";
}

/* A server that cannot verify a client's name refuses the client with EACCES, which older clients
 * know, and adds a word: the client's address, or WORKER_PEER_UNLISTED. Maps each of these words to
 * a separate code. */
static int refusal_code(const struct rudp_session *s, int code)
{
	struct datagram_addr from;
	struct ip_addr claimed;
	const char *word = rudp_session_refusal(s, &from);

	if (code != -EACCES)
		return code;
	if (ip_addr_parse(word, &claimed) == 0)
		return -EADDRNOTAVAIL;
	return strcmp(word, WORKER_PEER_UNLISTED) == 0 ? -EDESTADDRREQ : code;
}

/* Writes the sentence that explains why the server does not let this host use the export. */
static void access_format(const struct launch_mount *m, const char *word, int code, char *text,
			  size_t size)
{
	if (code == -EACCES || code == -EPERM)
		snprintf(text, size,
			 "not-allowed: %.30s does not let this host use export '%.30s'; see "
			 "'clients' of the export there",
			 m->peer, m->export_name);
	else if (code == -EADDRNOTAVAIL)
		snprintf(text, size,
			 "wrong-address: %.30s does not list %s as this host's IP; add the IP to "
			 "'peers' there, or set cluster.secret-file",
			 m->peer, word);
	else
		snprintf(text, size,
			 WORKER_PEER_UNLISTED ": %.30s lists no IP of this host; add this host's "
					      "IPs to 'peers' there, or set cluster.secret-file",
			 m->peer);
}

static void refusal_format(const struct launch_mount *m, const struct rudp_session *s, int code,
			   char *text, size_t size)
{
	char ip[IP_ADDR_STR_MAX];
	struct datagram_addr from;
	const char *word = rudp_session_refusal(s, &from);

	ip_addr_format(&from.ip, ip, sizeof(ip));
	if (worker_identity_is_code(code, word))
		worker_identity_format(m->peer, ip, !rudp_session_refused_here(s), code, word, text,
				       size);
	else if (code == -EREMCHG)
		snprintf(text, size,
			 "wrong-peer: the peer at %s is named %.30s, not %.30s as configured", ip,
			 word[0] ? word : "otherwise", m->peer);
	else if (code == -EKEYREJECTED)
		snprintf(text, size, "%s: the peer at %s %s", word[0] ? word : "key-mismatch", ip,
			 !strcmp(word, "key-required") ? "requires a key; set cluster.secret-file"
			 : !strcmp(word, "no-key-here")
				 ? "has no key; set cluster.secret-file there too"
				 : "has another cluster key; copy the file of cluster.secret-file");
	else if (code == -EPROTONOSUPPORT)
		snprintf(text, size,
			 "wrong-version: the peer at %s speaks another version of the protocol "
			 "(%s)",
			 ip, word);
	else if (code == -ENOENT)
		snprintf(text, size,
			 "no-export: %.30s has no export '%.30s'; write the name of another export",
			 m->peer, m->export_name);
	else if (code == -ENXIO)
		snprintf(text, size,
			 "export-missing: the directory of export '%.30s' is missing or replaced "
			 "on %.30s; see the status there",
			 m->export_name, m->peer);
	else if (code == -EACCES || code == -EPERM || code == -EADDRNOTAVAIL ||
		 code == -EDESTADDRREQ)
		access_format(m, word, code, text, size);
	else if (code == -ENOSPC && m->mount_worker)
		snprintf(text, size,
			 "server-full: %.30s reserves its free sessions for mounts, not mount "
			 "workers; raise 'sessions' of the worker there",
			 m->peer);
	else if (code == -ENOSPC)
		snprintf(text, size,
			 "server-full: %.30s serves its maximum number of mounts; raise 'sessions' "
			 "of the worker there",
			 m->peer);
	else if (code == -EBUSY)
		snprintf(text, size,
			 "server-busy: the worker of %.30s that served export '%.30s' earlier "
			 "still executes requests or is hung; retrying",
			 m->peer, m->export_name);
	else if (code == -EROFS)
		snprintf(text, size,
			 "read-only: %.30s lets this host only read export '%.30s'; set "
			 "'read-only: true' here",
			 m->peer, m->export_name);
	else
		snprintf(text, size, "refused: %.30s refuses export '%.30s': %.40s", m->peer,
			 m->export_name, strerror(-code));
}

/* Reports that a server refuses a mount's session. Does not report the same code twice. Never
 * reports EREMOTE, and reports EBUSY only when it has lasted for BUSY_NS. The refusal is the
 * worker's reason until the mount is served. Returns whether the session belongs to a mount. */
static bool client_report_refusal(struct worker *w, struct rudp_session *s, int code)
{
	char text[LAUNCH_REASON_MAX * 2];
	struct client_mount *m;
	unsigned i;

	m = mount_of(w, s, &i);
	/* Do not report EREMOTE: the session moves to another worker of the server, which serves
	 * the mount. */
	if (code == -EREMOTE)
		return true;
	if (m)
		m->refused_ns = w->now_ns;
	code = refusal_code(s, code);
	if (m && code == -EBUSY) {
		m->busy_ns = m->busy_ns ? m->busy_ns : w->now_ns;
		if (w->now_ns - m->busy_ns < BUSY_NS)
			return true;
	}
	if (!m || m->unmounted || code == m->refusal_reported)
		return m != NULL;
	refusal_format(config_of(w, i), s, code, text, sizeof(text));
	refusal_report(w, i, code, text);
	return true;
}

const struct worker_role worker_role_front = {
	.name = "front",
	.sandbox = SANDBOX_DESCRIPTORS,
	.ops = &client_ops,
	.build = client_build,
	.watch = client_watch,
	.turn = client_turn,
	.awaits = client_awaits,
	.tick = client_tick,
	.rdma = client_rdma,
	.rdma_came = client_rdma_came,
	.rdma_bytes = client_rdma_bytes,
	.ping = client_ping,
	.limit = client_limit,
	.left = client_left,
	.serves = client_serves,
	.peer_name = client_peer_name,
	.report_refusal = client_report_refusal,
	.free = client_free,
};
