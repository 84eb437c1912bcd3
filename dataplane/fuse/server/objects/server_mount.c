/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Manages clients' mounts. A mount outlives its sessions, and its record in the export's state
 * outlives this process. A client that connects to a successor of this process opens its files
 * again.
 */
#include "dataplane/fuse/server/objects/server_mount.h"
#include "dataplane/fuse/server/objects/server_lease.h"
#include "dataplane/fuse/server/objects/server_node.h"
#include "dataplane/fuse/server/objects/server_pin.h"
#include "dataplane/fuse/server/objects/server_quota_count.h"
#include "dataplane/fuse/server/objects/server_types.h"
#include "netcfg/base/hash.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* After this many seconds without a session, a mount and its recorded replies are dropped. Its open
 * files are closed earlier, after SERVER_LEASE_S. */
#define MOUNT_AWAY_S_MAX (24 * 3600)
/* Maximum number of mounts, including those without a session. If there are more, the mount that
 * has been without a session for longest is dropped first. */
#define MOUNTS_MAX (JOURNAL_MOUNTS_MAX - 1U)

static uint64_t boot_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec;
}

/* ------------------------------------------------------------------ mounts */

/* Returns the number by which leases identify the mount. All workers of the host compute the same
 * number. A mount and its mount workers have the same number, because they serve one kernel. */
static uint64_t mount_number(const uint8_t id[16])
{
	static const uint64_t key[2] = {0x6d6f756e74206f66, 0x20636c69656e7473};
	uint8_t of[16];
	uint64_t n;

	memcpy(of, id, sizeof(of));
	of[15] &= 0xf0;
	n = hash_keyed(key, of, sizeof(of));

	return n == 0 || n == UINT64_MAX ? 1 : n;
}

#define ID_CHAINS 16384U
_Static_assert(ID_CHAINS > JOURNAL_MOUNTS_MAX, "more chains than mounts");

int server_mounts_init(struct fuse_server *srv)
{
	list_init(&srv->idle);
	list_init(&srv->idle_files);
	srv->mounts_by_id = calloc(ID_CHAINS, sizeof(*srv->mounts_by_id));
	return srv->mounts_by_id ? 0 : -ENOMEM;
}

void server_mounts_done(struct fuse_server *srv)
{
	while (srv->mounts)
		server_mount_free(srv->mounts, srv->mounts->gone);
	server_files_done(srv);
	free(ptr_take(srv->mounts_by_id));
}

/* Returns the hash chain for the id. The hash is keyed, because clients choose the ids. */
static struct server_mount **id_chain(const struct server_export *e, const uint8_t id[16])
{
	struct {
		uint8_t id[16];
		uint64_t export;
	} of = {.export = server_export_index(e)};

	memcpy(of.id, id, sizeof(of.id));
	return &e->server->mounts_by_id[hash_keyed(e->server->hash_key, &of, sizeof(of)) %
					ID_CHAINS];
}

static void id_chain_drop(struct server_mount *m)
{
	struct server_mount **p = id_chain(m->export, m->id);

	while (*p != m)
		p = &(*p)->next_same;
	*p = m->next_same;
}

static struct server_mount *mount_find(const struct server_export *e, const uint8_t id[16])
{
	struct server_mount *m = *id_chain(e, id);

	while (m && (m->gone || m->export != e || memcmp(m->id, id, sizeof(m->id)) != 0))
		m = m->next_same;
	return m;
}

static struct server_mount *mount_new(struct server_export *e, const uint8_t id[16])
{
	struct server_mount **chain = id_chain(e, id);
	struct fuse_server *srv = e->server;
	struct server_mount *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->server = srv;
	m->export = e;
	memcpy(m->id, id, sizeof(m->id));
	m->number = mount_number(id);
	m->last_seen_s = boot_seconds();
	m->free_file = -1;
	m->next = srv->mounts;
	m->at = &srv->mounts;
	if (m->next)
		m->next->at = &m->next;
	srv->mounts = m;
	srv->n_mounts++;
	m->next_same = *chain;
	*chain = m;
	list_init(&m->idle_files_node);
	list_add_tail(&srv->idle, &m->idle_node);
	return m;
}

static struct state_mount *record_of(const struct server_mount *m)
{
	return &m->export->state->mounts[m->journal];
}

/* Returns whether this worker still serves the mount. If another worker has adopted the mount, its
 * record may even belong to another mount now. */
static bool is_ours(const struct server_mount *m)
{
	const struct state_mount *rec = record_of(m);

	return STATE_SERVED_BY(state_served(rec)) == m->server->cfg->worker_id &&
	       memcmp(rec->id, m->id, sizeof(m->id)) == 0;
}

static bool is_in_use(const struct server_mount *m)
{
	return m->n_clients > 0 || m->n_refs > 0;
}

/* Clears the mount's record, so that the next mount in this record has no old state. */
static void record_drop(struct server_mount *m)
{
	struct state_mount *rec = record_of(m);
	uint64_t word = state_served(rec);

	if (!is_ours(m) || !state_served_swap(rec, word, 0, 0))
		return;
	share_set(&rec->mount_worker, 0U);
	state_publish(&rec->used, 0UL);
	journal_mount_drop(m->export->journal, m->journal);
}

void server_mount_free(struct server_mount *m, bool forget_state)
{
	struct fuse_server *srv = m->server;

	server_mount_reclaimed(m);
	srv->n_moving -= m->moving_to > 0;
	if (forget_state)
		record_drop(m);
	*m->at = m->next;
	if (m->next)
		m->next->at = m->at;
	id_chain_drop(m);
	list_del(&m->idle_node);
	list_del(&m->idle_files_node);
	srv->n_mounts--;
	server_files_end(m);
}

/* Grace period: how long the server keeps removed files for a client that may reclaim them. */
#define GRACE_NS (SERVER_LEASE_S * NSEC_PER_SEC)

static void grace_end(struct server_mount *m)
{
	m->export->n_in_grace -= m->in_grace;
	m->in_grace = false;
}

void server_mount_reclaimed(struct server_mount *m)
{
	if (PLENUM_LIKELY(!m->reclaiming))
		return;
	grace_end(m);
	m->export->n_reclaiming--;
	m->reclaiming = false;
	server_mounts_publish(m->server);
}

/* Begins the time in which the client must reclaim its files. Does nothing for a mount worker,
 * whose files are also open in the mount itself. */
static void mount_reclaim_begin(struct server_mount *m)
{
	if (m->mount_worker)
		return;
	m->reclaiming = m->in_grace = true;
	m->grace_until_ns = clock_now_ns() + GRACE_NS;
	m->export->n_reclaiming++;
	m->export->n_in_grace++;
}

void server_mounts_publish(struct fuse_server *srv)
{
	uint32_t n = 0, n_in_grace = 0;

	if (srv->ending)
		return;
	for (unsigned i = 0; i < srv->n_exports; i++) {
		n += srv->exports[i].n_reclaiming;
		n_in_grace += srv->exports[i].n_in_grace;
	}
	share_set(&srv->share.own->n_reclaiming, n);
	share_set(&srv->share.own->n_in_grace, n_in_grace);
}

void server_mounts_end(struct fuse_server *srv)
{
	uint32_t n = 0;

	for (const struct server_mount *m = srv->mounts; m; m = m->next)
		n += !m->gone && !m->mount_worker;
	if (srv->share.own) {
		share_set(&srv->share.own->n_reclaiming, n);
		share_set(&srv->share.own->n_in_grace, n);
	}
	srv->ending = true;
}

void server_mount_add_client(struct server_mount *m)
{
	m->n_clients++;
	list_del(&m->idle_node);
	list_del(&m->idle_files_node);
}

void server_mount_put(struct server_mount *m)
{
	if (m->n_clients > 0)
		return;
	m->last_seen_s = boot_seconds();
	list_del(&m->idle_node);
	list_add_tail(&m->server->idle, &m->idle_node);
	list_del(&m->idle_files_node);
	if (server_mount_files(m) > 0)
		list_add_tail(&m->server->idle_files, &m->idle_files_node);
	if (m->gone && m->n_refs == 0)
		server_mount_free(m, true);
}

struct server_mount *server_mount_away(struct fuse_server *srv, uint64_t until_s)
{
	for (struct list *l = srv->idle_files.next; l != &srv->idle_files; l = l->next) {
		struct server_mount *m = list_entry(l, struct server_mount, idle_files_node);

		if (m->last_seen_s > until_s)
			return NULL;
		if (server_mount_files(m) > 0 && m->n_refs == 0 && !m->gone)
			return m;
	}
	return NULL;
}

int server_mounts_restore(struct server_export *e)
{
	for (unsigned i = 0; i < JOURNAL_MOUNTS_MAX; i++) {
		struct state_mount *rec = &e->state->mounts[i];
		uint64_t word = state_served(rec);
		uint32_t own = e->server->cfg->worker_id;
		struct server_mount *m;

		/* Change the word: a worker that has read the old word then cannot adopt the
		 * mount. */
		if (!rec->used || (STATE_SERVED_BY(word) && STATE_SERVED_BY(word) != own) ||
		    !state_served_swap(rec, word, own, 0))
			continue;
		m = mount_new(e, rec->id);
		if (!m)
			return -ENOMEM;
		m->journal = i;
		m->mount_worker = share_get(&rec->mount_worker);
		mount_reclaim_begin(m);
	}
	/* Count the provisional pins, including the pins of predecessors. */
	for (unsigned i = 0; i < STATE_PINS_MAX; i++)
		e->n_provisional +=
			state_pin_is_used(&e->state->holds[i]) && e->state->holds[i].provisional;
	e->sweep_due = true;
	return 0;
}

void server_mount_drop_files(struct server_mount *m)
{
	/* Keep the pins of removed files as long as the client may reclaim these files. */
	if (!m->reclaiming) {
		mount_reclaim_begin(m);
		server_mounts_publish(m->server);
	}
	m->n_drops++;
	server_files_close(m);
	list_del(&m->idle_files_node);
}

/* Call when the client has been away for SERVER_LEASE_S: closes its files, so that removed files no
 * longer occupy space. */
static void lease_end(struct server_mount *m)
{
	if (server_mount_files(m) > 0)
		server_mount_drop_files(m);
	server_mount_reclaimed(m);
}

/* Ends what has expired: the mount's grace period, its open files, or the mount itself, which is
 * then freed. */
static void mount_expire(struct server_mount *m, uint64_t now_s, uint64_t now_ns)
{
	if (m->in_grace && now_ns >= m->grace_until_ns)
		grace_end(m);
	if (m->n_clients > 0)
		journal_mount_seen(m->export->journal, m->journal);
	else if (m->n_refs == 0 && (now_s - m->last_seen_s > MOUNT_AWAY_S_MAX || !is_ours(m)))
		server_mount_free(m, true);
	else if (m->n_refs == 0 && now_s - m->last_seen_s >= SERVER_LEASE_S)
		lease_end(m);
}

void server_mounts_expire(struct fuse_server *srv)
{
	uint64_t now_s = boot_seconds(), now_ns = MAX_OF(clock_now_ns(), srv->trimmed_ns);
	struct server_mount *next;

	for (struct server_mount *m = srv->mounts; m; m = next) {
		next = m->next;
		mount_expire(m, now_s, now_ns);
	}
	server_mounts_publish(srv);
}

/* Returns whether there is room for another mount. All workers together have a limited number of
 * mounts. If there are peers, mounts without a session may use half of that number, divided among
 * the workers. */
static bool has_room(const struct fuse_server *srv)
{
	uint32_t n_at_work = srv->n_live + srv->n_finishing;
	uint32_t n_away = srv->n_mounts > n_at_work ? srv->n_mounts - n_at_work : 0;

	return srv->n_mounts < MOUNTS_MAX &&
	       (srv->share.n_peers == 0 ||
		n_away < JOURNAL_MOUNTS_MAX / 2 / (srv->share.n_peers + 1));
}

static int mounts_make_room(struct fuse_server *srv)
{
	struct list *l = srv->idle.next;

	if (has_room(srv))
		return 0;
	while (l != &srv->idle && is_in_use(list_entry(l, struct server_mount, idle_node)))
		l = l->next; /* skip a mount whose last replies are not acknowledged yet */
	if (l == &srv->idle)
		return srv->n_mounts < MOUNTS_MAX ? 0 : -ENOSPC;
	server_mount_free(list_entry(l, struct server_mount, idle_node), true);
	return 0;
}

/* Returns whether this worker may serve the mount: either the worker that served it last has handed
 * it over, or that worker and all its helpers have ended. */
static bool can_take(const struct server_export *e, uint64_t word)
{
	uint32_t own = e->server->cfg->worker_id, server = STATE_SERVED_BY(word);

	return server == 0 || server == own || STATE_SERVED_GIVEN(word) == own ||
	       !journal_worker_is_alive(e->journal, server);
}

/* After the move of a mount to another worker has failed, the server does not try to move it again
 * for this time. */
#define NO_MOVE_NS (300 * NSEC_PER_SEC)

/* Adopts a mount that another worker or process has served. The client must then reclaim the files
 * that it had open there; peers must see that before they see that this worker serves the mount.
 * Returns 0, or -EBUSY if the other worker may still execute the mount's requests. */
static int mount_take(struct server_mount *m)
{
	struct state_mount *rec = record_of(m);
	uint64_t word = state_served(rec);
	uint32_t own = m->server->cfg->worker_id;

	if (!can_take(m->export, word)) {
		share_set(&rec->wanted, own);
		return -EBUSY;
	}
	if (!m->reclaiming && STATE_SERVED_BY(word) != own) {
		mount_reclaim_begin(m);
		server_mounts_publish(m->server);
	}
	share_set(&rec->wanted, 0U);
	share_set(&rec->mount_worker, (uint32_t)m->mount_worker);
	if (STATE_SERVED_BY(word) == own && STATE_SERVED_GIVEN(word) == 0)
		return 0;
	/* This worker redirected the client, but the client has come back, so do not redirect it
	 * again soon. */
	if (STATE_SERVED_BY(word) == own)
		m->no_move_until_ns = clock_now_ns() + NO_MOVE_NS;
	return state_served_swap(rec, word, own, 0) ? 0 : -EBUSY;
}

/* Writes the mount's record in the export's state, for a successor and for other workers. */
static int mount_record(struct server_mount *m)
{
	uint32_t own = m->server->cfg->worker_id;
	struct state_mount *rec;
	uint64_t word;
	int r = journal_mount_get(m->export->journal, m->id, &m->journal);

	if (r < 0)
		return r;
	rec = record_of(m);
	word = state_served(rec);
	if (share_get(&rec->used) && memcmp(rec->id, m->id, sizeof(rec->id)) == 0)
		return mount_take(m);
	/* The swap fails if another worker creates the same record at this moment. */
	if (!state_served_swap(rec, word, own, 0))
		return -EBUSY;
	memcpy(rec->id, m->id, sizeof(rec->id));
	share_set(&rec->mount_worker, (uint32_t)m->mount_worker);
	share_set(&rec->wanted, 0U);
	state_publish(&rec->used, 1UL);
	return 0;
}

void server_mount_attach(struct server_mount *m, struct fuse_server_client *c)
{
	struct fuse_server_client *was = m->client;

	m->client = c;
	m->served_by = c->number;
	if (was && was != c && was->session)
		rudp_session_close(was->session, clock_now_ns());
}

int server_mount_get(struct fuse_server *srv, struct server_export *e, const struct fuse_hello *h,
		     struct server_mount **ret)
{
	struct server_mount *m = mount_find(e, h->mount_id);
	int r;

	if (m && !is_ours(m)) { /* another worker has adopted the mount */
		mount_expire(m, boot_seconds(), clock_now_ns());
		m = mount_find(e, h->mount_id);
		if (m) /* this worker still executes requests of the mount */
			return -EBUSY;
	}
	if (!m) {
		r = mounts_make_room(srv);
		if (r < 0)
			return r;
		m = mount_new(e, h->mount_id);
		if (!m)
			return -ENOMEM;
		m->mount_worker = h->purpose != FUSE_HELLO_MOUNT;
		r = mount_record(m);
	} else {
		m->mount_worker = h->purpose != FUSE_HELLO_MOUNT;
		r = m->moving_to ? -EBUSY : mount_take(m);
	}
	*ret = m;
	if (r < 0 && !is_in_use(m) && !m->moving_to)
		server_mount_free(m, false);
	return r;
}

/* ------------------------------------------------------------------ choice of the worker */

/* A mount that has had no session for this long does not count when mounts are distributed among
 * workers. */
#define PLACE_AWAY_S 30

/* Counts the mounts of the export for each worker, except the mount with this id (NULL: counts
 * all). *ret: the record of that mount; NULL: it has none yet. */
static void mounts_count(const struct server_export *e, const uint8_t *id, uint32_t n[SHARE_SLOTS],
			 struct state_mount **ret)
{
	uint64_t now_s = boot_seconds();

	*ret = NULL;
	for (unsigned i = 0; i < JOURNAL_MOUNTS_MAX; i++) {
		struct state_mount *rec = &e->state->mounts[i];
		uint64_t word = state_served(rec);
		uint32_t server =
			STATE_SERVED_GIVEN(word) ? STATE_SERVED_GIVEN(word) : STATE_SERVED_BY(word);

		if (!share_get(&rec->used)) {
			if (word == 0)
				break; /* the first record that was never used: all later
					  records are unused too */
			continue;
		}
		if (id && memcmp(rec->id, id, sizeof(rec->id)) == 0)
			*ret = rec;
		else if (server < SHARE_SLOTS &&
			 journal_mount_seen_s(e->journal, i) + PLACE_AWAY_S > now_s)
			n[server]++;
	}
}

/* Stores in srv->elsewhere the address of the other worker to which a client at `from` must
 * connect: an address in the client's network or, if there is none, the first address of the same
 * family. Returns -EREMOTE, or 0 if the other worker has no such address. */
static int redirect_to(struct fuse_server *srv, const struct share_slot *slot,
		       const struct ip_addr *from)
{
	uint32_t n = MIN_OF(share_get(&slot->n_addrs), (uint32_t)LAUNCH_PORTS_MAX), at = n;
	char ip[IP_ADDR_STR_MAX];

	for (uint32_t i = 0; i < n; i++)
		if ((at == n && slot->addrs[i].ip.addr.family == from->family) ||
		    ip_prefix_contains(&slot->addrs[i].ip, from))
			at = i;
	if (at == n)
		return 0; /* the other worker has no such address, so the mount stays here */
	ip_addr_format(&slot->addrs[at].ip.addr, ip, sizeof(ip));
	snprintf(srv->elsewhere, sizeof(srv->elsewhere), "%s/%x", ip, slot->addrs[at].port);
	return -EREMOTE;
}

/* Returns the shared slot of the worker if it is alive and serves the export, else NULL. */
static const struct share_slot *serving(const struct server_export *e, uint32_t worker)
{
	const struct share *share = &e->server->share;
	const struct share_slot *o =
		worker && worker != share->own_index ? share_slot_of(share, worker) : NULL;

	return o && share_serves(o, e->name_hash) &&
			       share_is_alive(o, SHARE_AWAY_NS, clock_now_ns())
		       ? o
		       : NULL;
}

/* Returns the worker with the fewest mounts of the export, if it has fewer than `ours`; otherwise
 * NULL. */
static const struct share_slot *least_loaded(const struct server_export *e,
					     const uint32_t n[SHARE_SLOTS], uint32_t ours)
{
	const struct share *share = &e->server->share;
	const struct share_slot *best = NULL;
	uint64_t now_ns = clock_now_ns();
	uint32_t least = ours;

	for (uint32_t i = 0; i < share->n_peers; i++) {
		const struct share_slot *o = share->peers[i];

		/* Skip a worker that has no free session, because mounts of other exports use its
		 * sessions. */
		if (n[share_index(share, o)] >= least || !share_serves(o, e->name_hash) ||
		    share_get(&o->n_live) >= share_get(&o->n_live_max) ||
		    !share_is_alive(o, SHARE_AWAY_NS, now_ns))
			continue;
		best = o;
		least = n[share_index(share, o)];
	}
	return best;
}

/* Hands the mount over to worker `o` if the client can reach that worker. The other worker adopts
 * the mount when the client connects to it. */
static int place_give(struct server_export *e, struct state_mount *rec, uint64_t word,
		      const struct share_slot *o, const struct ip_addr *from)
{
	int r = o ? redirect_to(e->server, o, from) : 0;

	if (r < 0 &&
	    !state_served_swap(rec, word, STATE_SERVED_BY(word), share_index(&e->server->share, o)))
		return -EBUSY;
	return r;
}

/* Chooses the worker for a mount that was served before. The mount stays with the worker that
 * served it, which has its state, as long as that worker may return. Otherwise the worker with the
 * fewest mounts gets the mount; this worker gets it if no other one has fewer. */
static int place_known(struct server_export *e, struct state_mount *rec,
		       const uint32_t n[SHARE_SLOTS], const struct ip_addr *from)
{
	uint32_t own = e->server->share.own_index;
	uint64_t word = state_served(rec);
	const struct share_slot *o = serving(e, STATE_SERVED_GIVEN(word));
	const struct server_mount *m;

	if (STATE_SERVED_GIVEN(word) == own)
		return 0;
	if (o)
		return redirect_to(e->server, o, from);
	if (STATE_SERVED_BY(word) == own) {
		m = mount_find(e, rec->id);
		if (m && (m->moving_to || is_in_use(m) || clock_now_ns() < m->no_move_until_ns))
			return 0;
	} else {
		o = serving(e, STATE_SERVED_BY(word));
		if (o)
			return redirect_to(e->server, o, from);
		if (!can_take(e, word))
			return 0;
	}
	o = e->handles ? least_loaded(e, n, n[own]) : NULL;
	return place_give(e, rec, word, o, from);
}

int server_mount_place(struct server_export *e, const uint8_t id[16], const struct ip_addr *from)
{
	struct share *share = &e->server->share;
	uint32_t n[SHARE_SLOTS] = {};
	const struct share_slot *o;
	struct state_mount *rec;

	share_refresh(share);
	if (share->n_peers == 0 || !from)
		return 0;
	mounts_count(e, id, n, &rec);
	if (rec)
		return place_known(e, rec, n, from);
	o = least_loaded(e, n, n[share->own_index]);
	return o ? redirect_to(e->server, o, from) : 0;
}

int server_mount_elsewhere(struct fuse_server *srv, const char *export_name,
			   const struct ip_addr *from, bool follows)
{
	const uint64_t hash = share_name_hash(export_name), now_ns = clock_now_ns();
	struct share *share = &srv->share;
	int r = -ENOENT;

	share_refresh(share);
	for (uint32_t i = 0; i < share->n_peers; i++) {
		const struct share_slot *o = share->peers[i];

		if (!share_serves(o, hash) || !share_is_alive(o, SHARE_GONE_NS, now_ns))
			continue;
		r = -EBUSY; /* the worker that served the mount may be restarting */
		if (follows && from && share_is_alive(o, SHARE_AWAY_NS, now_ns) &&
		    redirect_to(srv, o, from) < 0)
			return -EREMOTE;
	}
	return r;
}

/* ------------------------------------------------------------------ mounts that move to another
 * worker */

/* How long a moving mount waits for its requests to end. Requests that take longer, for example
 * because a disk hangs, may never end, so the mount then stays at this worker. */
#define MOVE_MAX_NS (2 * NSEC_PER_SEC)
#define MOVE_POLL_NS NSEC_PER_MSEC

/* Begins to move the mount: makes the client reconnect, and refuses the client until the client's
 * requests have ended. Otherwise an old write at this worker, which is not in the journal, could
 * overwrite newer data that the client writes via the next worker. */
static void mount_move(struct server_mount *m, uint32_t worker)
{
	m->moving_to = worker;
	m->moving_ns = clock_now_ns();
	m->server->n_moving++;
	if (m->client && m->client->session)
		rudp_session_close(m->client->session, m->moving_ns);
}

/* Moves the mount to the worker that has asked for it. That worker asks because the client, which
 * does not follow redirects, has connected to it. */
static void move_to_wanted(struct server_mount *m)
{
	struct state_mount *rec = record_of(m);
	uint32_t wanted = share_get(&rec->wanted);

	if (PLENUM_LIKELY(wanted == 0) || !is_ours(m))
		return;
	share_set(&rec->wanted, 0U);
	if (!m->moving_to && !m->gone && STATE_SERVED_GIVEN(state_served(rec)) != wanted &&
	    serving(m->export, wanted))
		mount_move(m, wanted);
}

void server_mounts_move(struct fuse_server *srv, uint64_t now_ns)
{
	if (now_ns - srv->moving_ns < MOVE_POLL_NS)
		return;
	srv->moving_ns = now_ns;
	for (struct server_mount *m = srv->mounts; m; m = m->next) {
		struct state_mount *rec = record_of(m);
		uint64_t word = state_served(rec);

		if (!m->moving_to || (is_in_use(m) && now_ns < m->moving_ns + MOVE_MAX_NS))
			continue;
		if (!is_in_use(m) && is_ours(m) && serving(m->export, m->moving_to))
			state_served_swap(rec, word, STATE_SERVED_BY(word), m->moving_to);
		else
			m->no_move_until_ns = now_ns + NO_MOVE_NS;
		m->moving_to = 0;
		srv->n_moving--;
	}
}

/* Moves mounts to workers that have started or returned after the clients connected. Asks one mount
 * at a time to reconnect. */
static void export_balance(struct server_export *e)
{
	struct fuse_server *srv = e->server;
	uint32_t n[SHARE_SLOTS] = {}, own = srv->share.own_index;
	uint64_t now_ns = clock_now_ns();
	const struct share_slot *o;
	struct state_mount *none;

	/* Without file handles, only the worker that has found an object can serve it, so mounts do
	 * not move. */
	if (!e->handles)
		return;
	mounts_count(e, NULL, n, &none);
	o = n[own] >= 2 ? least_loaded(e, n, n[own] - 1) : NULL;
	for (struct server_mount *m = srv->mounts; o && m; m = m->next) {
		if (m->export != e || !m->client || !m->client->follows || m->reclaiming ||
		    m->gone || m->moving_to || now_ns < m->no_move_until_ns || !m->client->session)
			continue;
		mount_move(m, share_index(&srv->share, o));
		return;
	}
}

void server_mounts_balance(struct fuse_server *srv)
{
	if (srv->share.n_peers == 0)
		return;
	for (struct server_mount *m = srv->mounts; m; m = m->next)
		move_to_wanted(m);
	for (unsigned i = 0; i < srv->n_exports; i++)
		export_balance(&srv->exports[i]);
}
