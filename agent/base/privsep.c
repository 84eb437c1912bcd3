/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages between the agent's processes: their transport, and the table of their rules, which
 * both sides and the tests use. child_role.c runs the processes.
 */
#include "agent/base/privsep.h"
#include "netcfg/base/log.h"
#include "netcfg/base/os/fdpass.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define HEAD_BYTES offsetof(struct privsep_msg, get)

const char *privsep_role_to_string(enum privsep_role r)
{
	static const char *const names[PRIVSEP_ROLE_MAX] = {
		"monitor", "api", "admin", "api-tls", "lldp", "cluster", "links"};

	return r < PRIVSEP_ROLE_MAX ? names[r] : "?";
}

/* ---- checks of fields; they return NULL or the broken rule ---- */

/* The text must be printable, without quotes and backslashes, and terminated within its field. */
static const char *check_text(const char *s, size_t size, bool may_be_empty)
{
	size_t len = strnlen(s, size);

	if (len == size)
		return "a text field has no end";
	if (len == 0 && !may_be_empty)
		return "a text field is empty";
	for (size_t i = 0; i < len; i++)
		if (s[i] < 0x20 || s[i] > 0x7e || s[i] == '"' || s[i] == '\\')
			return "a text field holds a character that is not allowed";
	return NULL;
}

static const char *check_get(const struct privsep_msg *m)
{
	if (m->get.as_json > 1)
		return "a flag is neither 0 nor 1";
	return m->get.what < PRIVSEP_WHAT_MAX ? NULL : "unknown object";
}

static const char *check_put_staged(const struct privsep_msg *m)
{
	return m->put_staged.len <= PRIVSEP_TEXT_MAX ? NULL : "body too large";
}

static const char *check_net(const struct privsep_msg *m)
{
	return m->net.len ? "unexpected JSON body"
			  : check_text(m->net.name, sizeof(m->net.name), false);
}

static const char *check_net_json(const struct privsep_msg *m)
{
	if (m->net.len == 0 || m->net.len > PRIVSEP_JSON_MAX)
		return "the body is missing or too large";
	return check_text(m->net.name, sizeof(m->net.name), m->type == PRIVSEP_NET_ADD);
}

static const char *check_apply(const struct privsep_msg *m)
{
	const struct privsep_apply *a = &m->apply;
	const char *why = NULL;

	if (a->confirm_s > PRIVSEP_CONFIRM_S_MAX || a->dry_run > 1 || a->async > 1)
		return "a number is too large";
	for (size_t i = 0; !why && i < PRIVSEP_FORCES_MAX; i++)
		why = check_text(a->forces[i], sizeof(a->forces[i]), true);
	return why;
}

static const char *check_restart(const struct privsep_msg *m)
{
	if (m->restart.outdated > 1)
		return "a flag is neither 0 nor 1";
	return m->restart.worker || m->restart.outdated ? NULL : "no worker to restart";
}

static const char *check_worker(const struct privsep_msg *m)
{
	if (m->restart.outdated)
		return "all outdated workers are selected where one worker is expected";
	return m->restart.worker ? NULL : "no worker";
}

static const char *check_move(const struct privsep_msg *m)
{
	if (m->move.worker == 0)
		return "no worker";
	if (m->type == PRIVSEP_GET_WORKER)
		return m->move.core ? "unexpected core" : NULL;
	return m->move.core < PRIVSEP_CORES_MAX ? NULL : "a number is too large";
}

static const char *check_log_level(const struct privsep_msg *m)
{
	if (m->log_level.agent > 1)
		return "a flag is neither 0 nor 1";
	return m->log_level.level >= 1 && m->log_level.level <= PRIVSEP_LOG_LEVELS
		       ? NULL
		       : "a number is out of its range";
}

static const char *check_fault(const struct privsep_msg *m)
{
	const struct privsep_fault *f = &m->fault;
	const char *why = check_text(f->leg, sizeof(f->leg), true);

	if (!why)
		why = check_text(f->peer, sizeof(f->peer), true);
	if (why || m->type == PRIVSEP_FAULT_DEL)
		return why;
	if (f->ways < 1 || f->ways > (LAUNCH_FAULT_IN | LAUNCH_FAULT_OUT))
		return "the fault has no direction";
	if (f->drop_ppm > LAUNCH_FAULT_PPM || f->duplicate_ppm > LAUNCH_FAULT_PPM ||
	    f->reorder_ppm > LAUNCH_FAULT_PPM || f->delay_us > LAUNCH_FAULT_DELAY_US_MAX)
		return "a number is too large";
	if (f->ttl_s < 1 || f->ttl_s > LAUNCH_FAULT_S_MAX)
		return "the duration is missing or too long";
	if (!f->drop_ppm && !f->duplicate_ppm && !f->reorder_ppm && !f->delay_us)
		return "the fault has no effect";
	return NULL;
}

static const char *check_capture(const struct privsep_msg *m)
{
	const struct privsep_capture *c = &m->capture;

	if (c->act >= PRIVSEP_CAPTURE_DO_MAX)
		return "unknown object";
	if (c->act != PRIVSEP_CAPTURE_BEGIN)
		return NULL;
	if (c->snap_bytes < PRIVSEP_CAPTURE_SNAP_MIN || c->snap_bytes > PRIVSEP_CAPTURE_SNAP_MAX ||
	    c->buffer_bytes < PRIVSEP_CAPTURE_BUFFER_MIN ||
	    c->buffer_bytes > PRIVSEP_CAPTURE_BUFFER_MAX || c->keys > 1)
		return "a number is out of its range";
	return check_text(c->leg, sizeof(c->leg), true);
}

static const char *check_ping(const struct privsep_msg *m)
{
	const struct privsep_ping *p = &m->ping;
	const struct launch_ping as = {
		.id = 1, .what = p->what, .bytes = p->bytes, .count = p->count, .depth = p->depth};
	const char *why = check_text(p->leg, sizeof(p->leg), p->id != 0);

	if (!why)
		why = check_text(p->peer, sizeof(p->peer), p->id != 0);
	if (!why && !p->id && !launch_ping_is_valid(&as))
		why = "a number is out of its range";
	return why;
}

static const char *check_lock(const struct privsep_msg *m)
{
	return m->lock.id ? NULL : "no lock";
}

static const char *check_stop(const struct privsep_msg *m)
{
	return m->stop.force <= 1 ? NULL : "a flag is neither 0 nor 1";
}

static const char *check_mount(const struct privsep_msg *m)
{
	const struct privsep_mount *w = &m->mount;
	const bool ends = m->type == PRIVSEP_UNMOUNT;
	const char *why = check_text(w->path, sizeof(w->path), false);

	if (!why)
		why = check_text(w->peer, sizeof(w->peer), ends);
	if (!why)
		why = check_text(w->export_name, sizeof(w->export_name), ends);
	if (why)
		return why;
	if (w->read_only > 1 || w->nosuid > 1 || w->nodev > 1 || w->noexec > 1 || w->noatime > 1 ||
	    w->remount > 1 || w->force > 1)
		return "a flag is neither 0 nor 1";
	if ((w->max_kbs && w->max_kbs < PRIVSEP_KBS_MIN) || w->max_kbs > PRIVSEP_KBS_MAX ||
	    w->max_operations > PRIVSEP_OPERATIONS_MAX)
		return "a limit is out of its range";
	return w->soft_s <= PRIVSEP_SOFT_S_MAX && w->locks <= LAUNCH_LOCKS_MAX && (ends || w->locks)
		       ? NULL
		       : "a number is out of its range";
}

static const char *check_head(const struct privsep_reply *r)
{
	if (r->http_status < 200 || r->http_status > 599)
		return "not an HTTP status";
	if (r->content >= PRIVSEP_CONTENT_MAX)
		return "unknown content type";
	if (r->len > PRIVSEP_REPLY_MAX)
		return "reply too large";
	return check_text(r->location, sizeof(r->location), true);
}

static const char *check_reply(const struct privsep_msg *m)
{
	return check_head(&m->reply);
}

bool privsep_is_shared(uint32_t what)
{
	static const bool shared[PRIVSEP_WHAT_MAX] = {
		[PRIVSEP_STATUS] = true,  [PRIVSEP_PROCESSES] = true, [PRIVSEP_INVENTORY] = true,
		[PRIVSEP_NET] = true,	  [PRIVSEP_METRICS] = true,   [PRIVSEP_HISTORY] = true,
		[PRIVSEP_FAULTS] = true,  [PRIVSEP_EVENTS] = true,    [PRIVSEP_MOUNTS] = true,
		[PRIVSEP_EXPORTS] = true, [PRIVSEP_CLIENTS] = true,   [PRIVSEP_PEERS] = true,
		[PRIVSEP_PATHS] = true,	  [PRIVSEP_SESSIONS] = true,  [PRIVSEP_LOCKS] = true,
		[PRIVSEP_SAMPLES] = true,
	};

	return what < PRIVSEP_WHAT_MAX && shared[what];
}

static const char *check_peer(const struct privsep_msg *m)
{
	return m->peer.barred > 1 ? "a flag is neither 0 nor 1" : NULL;
}

static const char *check_login(const struct privsep_msg *m)
{
	return m->login.has_token > 1 ? "a flag is neither 0 nor 1" : NULL;
}

static const char *check_role_of(const struct privsep_msg *m)
{
	return m->role_of.role < ACCESS_ROLE_MAX && m->role_of.delay_ms <= PRIVSEP_DELAY_MS_MAX
		       ? NULL
		       : "a number is out of its range";
}

static const char *check_tls_files(const struct privsep_msg *m)
{
	return m->tls_files.certificate_len <= PRIVSEP_PEM_MAX &&
			       m->tls_files.key_len <= PRIVSEP_PEM_MAX
		       ? NULL
		       : "body too large";
}

static const char *check_tls_state(const struct privsep_msg *m)
{
	if (m->tls_state.good > 1 || m->tls_state.expires_s > INT64_MAX)
		return "a number is out of its range";
	return check_text(m->tls_state.text, sizeof(m->tls_state.text), m->tls_state.good);
}

static const char *check_shared_read(const struct privsep_msg *m)
{
	return privsep_is_shared(m->shared_read.what) ? NULL : "unknown object";
}

static const char *check_shared_answer(const struct privsep_msg *m)
{
	return privsep_is_shared(m->shared_answer.what) ? check_head(&m->shared_answer.reply)
							: "unknown object";
}

static const char *check_neighbour(const struct privsep_msg *m)
{
	const struct lldp_neighbour *n = &m->neighbour.said;
	const char *why = check_text(n->chassis, sizeof(n->chassis), false);

	if (!why)
		why = check_text(n->port, sizeof(n->port), false);
	if (!why)
		why = check_text(n->name, sizeof(n->name), true);
	if (!why)
		why = check_text(n->port_about, sizeof(n->port_about), true);
	if (!why && n->management.family && n->management.family != AF_INET &&
	    n->management.family != AF_INET6)
		why = "an address has an unknown family";
	return why;
}

static bool is_address(const struct ip_addr *ip)
{
	return ip->family == 0 || ip->family == AF_INET || ip->family == AF_INET6;
}

static const char *check_claim(const struct privsep_msg *m)
{
	const struct address_claim *c = &m->claim.said;

	return is_address(&c->sender) && is_address(&c->target)
		       ? NULL
		       : "an address has an unknown family";
}

static const char *check_link(const struct privsep_msg *m)
{
	return m->link.frames < PRIVSEP_FRAMES_MAX ? NULL : "unknown kind of frames";
}

static const char *check_get_events(const struct privsep_msg *m)
{
	const struct privsep_get_events *g = &m->get_events;

	if (g->severity > LOG_LEVEL_DEBUG || g->limit > PRIVSEP_EVENTS_MAX)
		return "a number is out of its range";
	return check_text(g->source, sizeof(g->source), true);
}

static const char *check_cluster_report(const struct privsep_msg *m)
{
	const struct cluster_report *r = &m->cluster_report;
	const char *why = check_text(r->endpoint, sizeof(r->endpoint), true);

	if (r->registered > 1 || r->looked_up > 1 || r->trouble >= CLUSTER_TROUBLE_MAX ||
	    r->trouble >= CLUSTER_FILES || r->lease_s > UINT32_MAX)
		return "a number is out of its range";
	return why ? why : check_text(r->text, sizeof(r->text), true);
}

static const char *check_cluster_server(const struct privsep_msg *m)
{
	const struct cluster_server *s = &m->cluster_server;
	const char *why = check_text(s->host, sizeof(s->host), false);

	if (s->registered > 1 || s->n_addrs > CLUSTER_ADDRS_MAX || (!s->registered && s->n_addrs))
		return "a number is out of its range";
	for (uint32_t i = 0; !why && i < s->n_addrs; i++) {
		const struct cluster_addr *a = &s->addrs[i];

		if (a->ip.family == 0 || !is_address(&a->ip) || a->port == 0)
			return "an address has an unknown family or no port";
		if (ip_addr_is_unusable(&a->ip))
			return "an address cannot be the address of a host";
		why = check_text(a->label, sizeof(a->label), true);
	}
	return why;
}

static const char *check_pool(const struct privsep_msg *m)
{
	const struct privsep_pool *p = &m->pool;
	const char *why = check_text(p->name, sizeof(p->name), m->type == PRIVSEP_CLUSTER_LEAVE);

	if (!why)
		why = check_text(p->range, sizeof(p->range), true);
	if (!why)
		why = check_text(p->gateway, sizeof(p->gateway), true);
	return !why && p->force > 1 ? "a number is out of its range" : why;
}

static const char *check_rollout(const struct privsep_msg *m)
{
	const struct privsep_rollout *r = &m->rollout;

	return r->max_unavailable <= PRIVSEP_ROLLOUT_HOSTS_MAX && r->percent <= 100 &&
			       !r->max_unavailable == !!r->percent &&
			       r->timeout_s >= PRIVSEP_ROLLOUT_S_MIN &&
			       r->timeout_s <= PRIVSEP_ROLLOUT_S_MAX && r->rollback >= 1 &&
			       r->rollback <= 2
		       ? NULL
		       : "a number is out of its range";
}

static const char *check_cluster_rollout(const struct privsep_msg *m)
{
	const struct privsep_cluster_rollout *r = &m->cluster_rollout;

	if (!r->id || r->op >= PRIVSEP_ROLLOUT_OPS || r->len > PRIVSEP_DOCUMENT_MAX)
		return "a number is out of its range";
	return check_text(r->by, sizeof(r->by), true);
}

static const char *check_cluster_view(const struct privsep_msg *m)
{
	return m->cluster_view.view < PRIVSEP_VIEWS ? NULL : "a number is out of its range";
}

static const char *check_cluster_turn(const struct privsep_msg *m)
{
	const struct privsep_cluster_turn *t = &m->cluster_turn;

	if (!t->number || !t->lineage || !t->attempt || !t->turn || t->lineage > INT64_MAX ||
	    t->number > INT64_MAX || t->attempt > INT64_MAX || t->turn > INT64_MAX ||
	    t->generation > INT64_MAX || t->len > PRIVSEP_DOCUMENT_MAX)
		return "a number is out of its range";
	if (strnlen(t->hash, sizeof(t->hash)) != PRIVSEP_HASH_MAX - 1 ||
	    strspn(t->hash, "0123456789abcdef") != PRIVSEP_HASH_MAX - 1)
		return "not a hash";
	return NULL;
}

/* Checks the range and the settings of a pool. */
static const char *check_range(const struct cluster_pool *p)
{
	const struct ip_range *r = &p->range;

	if (!is_address(&r->first) || !is_address(&r->last) || !is_address(&p->gateway))
		return "an address has an unknown family";
	if (!r->first.family || r->first.family != r->last.family ||
	    r->prefix_len > ip_addr_bits(&r->first) || ip_addr_cmp(&r->first, &r->last) > 0)
		return "not a range";
	if (ip_addr_is_unusable(&r->first) || ip_addr_is_unusable(&r->last))
		return "an address cannot be the address of a host";
	if (p->gateway.family && p->gateway.family != r->first.family)
		return "the gateway has another address family than the pool";
	return (p->mtu && (p->mtu < IP6_MTU_MIN || p->mtu > UINT16_MAX)) || p->vlan > 4094
		       ? "a number is out of its range"
		       : NULL;
}

static const char *check_cluster_pool(const struct privsep_msg *m)
{
	const struct cluster_pool_report *r = &m->cluster_pool_report;
	const char *why = check_text(r->pool.name, sizeof(r->pool.name), false);

	if (!why)
		why = check_text(r->cluster, sizeof(r->cluster), false);
	if (!why)
		why = check_text(r->text, sizeof(r->text), true);
	if (why)
		return why;
	if (r->state >= CLUSTER_POOL_STATE_MAX || r->n_total > CLUSTER_POOL_ADDRS_MAX ||
	    r->n > CLUSTER_POOL_CHUNK || r->at > r->n_total || r->n > r->n_total - r->at)
		return "a number is out of its range";
	if (r->state == CLUSTER_POOL_UNKNOWN || r->state == CLUSTER_POOL_FAILING)
		return r->n_total ? "a report about an unknown or failing pool has addresses"
				  : NULL;
	why = check_range(&r->pool);
	for (uint32_t i = 0; !why && i < r->n; i++)
		if (!is_address(&r->addrs[i]) ||
		    (r->addrs[i].family && !ip_range_contains(&r->pool.range, &r->addrs[i])))
			return "an address is outside the pool";
	return why;
}

static const char *check_cluster_edit(const struct privsep_msg *m)
{
	const struct privsep_cluster_edit *e = &m->cluster_edit;
	const char *why = check_text(e->host, sizeof(e->host), true);

	if (!why)
		why = check_text(e->pool.name, sizeof(e->pool.name), true);
	if (!e->id || e->op >= PRIVSEP_CLUSTER_EDITS || e->force > 1)
		return "a number is out of its range";
	if (!is_address(&e->pool.gateway))
		return "an address has an unknown family";
	return why || !e->pool.range.first.family ? why : check_range(&e->pool);
}

static const char *check_cluster_squat(const struct privsep_msg *m)
{
	const struct ip_addr *ip = &m->cluster_squat.ip;

	return ip->family && is_address(ip) ? NULL : "an address of no known family";
}

static const char *check_cluster_text(const struct privsep_msg *m)
{
	const struct privsep_cluster_text *t = &m->cluster_text;

	if (t->what >= (m->type == PRIVSEP_CLUSTER_PUBLISH ? PRIVSEP_CLUSTER_WHAT_MAX : 1))
		return "unknown object";
	return t->len <= PRIVSEP_CLUSTER_BYTES_MAX ? NULL : "body too large";
}

static const char *check_links_report(const struct privsep_msg *m)
{
	const struct links_report *r = &m->links_report;
	const char *why = NULL;

	if (!r->ifindex || r->verdict >= LINKS_VERDICT_MAX || r->n_faults > LINKS_FAULTS_MAX ||
	    r->answered > 1 || r->alone > 1 || r->has_loss > 1 || r->has_full_loss > 1 ||
	    r->loss_percent > 100 || r->full_loss_percent > 100 || r->asked > r->known ||
	    r->answering > r->asked || r->known > UINT16_MAX || r->n_omitted > UINT16_MAX)
		return "a number is out of its range";
	for (uint32_t i = 0; !why && i < r->n_faults; i++) {
		const struct links_report_fault *f = &r->faults[i];

		why = check_text(f->host, sizeof(f->host), false);
		if (!why)
			why = check_text(f->leg, sizeof(f->leg), false);
		if (!why && (!is_address(&f->ip) || !f->ip.family))
			why = "an address has an unknown family";
		if (!why && (f->verdict >= LINKS_VERDICT_MAX || f->verdict == LINKS_OK))
			why = "not a fault";
	}
	return why;
}

static const char *check_cluster_read(const struct privsep_msg *m)
{
	return m->cluster_read.id && m->cluster_read.what < PRIVSEP_CLUSTER_LISTS
		       ? NULL
		       : "unknown object";
}

static const char *check_cluster_answer(const struct privsep_msg *m)
{
	return m->cluster_answer.len <= PRIVSEP_REPLY_MAX ? NULL : "reply too large";
}

static const char *check_cluster_failed(const struct privsep_msg *m)
{
	if (m->cluster_failed.trouble == CLUSTER_FINE ||
	    m->cluster_failed.trouble >= CLUSTER_TROUBLE_MAX)
		return "a number is out of its range";
	return check_text(m->cluster_failed.text, sizeof(m->cluster_failed.text), true);
}

/* ---- the table ---- */

#define FROM(role) (1U << (role))
#define MONITOR FROM(PRIVSEP_MONITOR)
#define TLS FROM(PRIVSEP_API_TLS)
#define ANY (FROM(PRIVSEP_API) | FROM(PRIVSEP_ADMIN) | TLS)
#define CHANGERS (FROM(PRIVSEP_ADMIN) | TLS)
#define LLDP FROM(PRIVSEP_LLDP)
#define CLUSTER FROM(PRIVSEP_CLUSTER)
#define LINKS FROM(PRIVSEP_LINKS)

struct privsep_rule {
	unsigned senders;
	uint32_t size;	 /* exact number of bytes of the payload */
	bool fd;	 /* a descriptor is attached */
	bool connection; /* the message belongs to a client's connection */
	const char *(*check)(const struct privsep_msg *m);
};

#define SIZE(member) sizeof(((struct privsep_msg *)0)->member)

static const struct privsep_rule rules[PRIVSEP_TYPE_MAX] = {
	/* columns: senders, payload, fd, connection, check */
	[PRIVSEP_GET] = {ANY, SIZE(get), false, true, check_get},
	[PRIVSEP_GET_EVENTS] = {ANY, SIZE(get_events), false, true, check_get_events},
	[PRIVSEP_STREAM] = {ANY, SIZE(get_events), false, true, check_get_events},
	[PRIVSEP_PUT_STAGED] = {CHANGERS, SIZE(put_staged), true, true, check_put_staged},
	[PRIVSEP_DROP_STAGED] = {CHANGERS, 0, false, true, NULL},
	[PRIVSEP_GET_NET] = {ANY, SIZE(net), false, true, check_net},
	[PRIVSEP_NET_ADD] = {CHANGERS, SIZE(net), true, true, check_net_json},
	[PRIVSEP_NET_SET] = {CHANGERS, SIZE(net), true, true, check_net_json},
	[PRIVSEP_NET_DEL] = {CHANGERS, SIZE(net), false, true, check_net},
	[PRIVSEP_APPLY] = {CHANGERS, SIZE(apply), false, true, check_apply},
	[PRIVSEP_CONFIRM] = {CHANGERS, SIZE(apply), false, true, check_apply},
	[PRIVSEP_ROLLBACK] = {CHANGERS, SIZE(apply), false, true, check_apply},
	[PRIVSEP_RESTART] = {CHANGERS, SIZE(restart), false, true, check_restart},
	[PRIVSEP_WORKER_STOP] = {CHANGERS, SIZE(restart), false, true, check_worker},
	[PRIVSEP_WORKER_START] = {CHANGERS, SIZE(restart), false, true, check_worker},
	[PRIVSEP_GET_WORKER] = {ANY, SIZE(move), false, true, check_move},
	[PRIVSEP_WORKER_MOVE] = {CHANGERS, SIZE(move), false, true, check_move},
	[PRIVSEP_GET_LOGS] = {CHANGERS, SIZE(logs), false, true, NULL},
	[PRIVSEP_LOG_LEVEL] = {CHANGERS, SIZE(log_level), false, true, check_log_level},
	[PRIVSEP_STOP] = {CHANGERS, SIZE(stop), false, true, check_stop},
	[PRIVSEP_FAULT_ADD] = {CHANGERS, SIZE(fault), false, true, check_fault},
	[PRIVSEP_FAULT_DEL] = {CHANGERS, SIZE(fault), false, true, check_fault},
	[PRIVSEP_CAPTURE] = {CHANGERS, SIZE(capture), false, true, check_capture},
	[PRIVSEP_RDMA_PING] = {CHANGERS, SIZE(ping), false, true, check_ping},
	[PRIVSEP_LOCK_BREAK] = {CHANGERS, SIZE(lock), false, true, check_lock},
	[PRIVSEP_DOCTOR] = {CHANGERS, SIZE(apply), false, true, check_apply},
	[PRIVSEP_MOUNT] = {CHANGERS, SIZE(mount), false, true, check_mount},
	[PRIVSEP_UNMOUNT] = {CHANGERS, SIZE(mount), false, true, check_mount},
	[PRIVSEP_POOL_ADD] = {CHANGERS, SIZE(pool), false, true, check_pool},
	[PRIVSEP_POOL_SET] = {CHANGERS, SIZE(pool), false, true, check_pool},
	[PRIVSEP_POOL_REMOVE] = {CHANGERS, SIZE(pool), false, true, check_pool},
	[PRIVSEP_CLUSTER_FORGET] = {CHANGERS, SIZE(pool), false, true, check_pool},
	[PRIVSEP_CLUSTER_LEAVE] = {CHANGERS, SIZE(pool), false, true, check_pool},
	[PRIVSEP_DOCUMENT_SET] = {CHANGERS, SIZE(put_staged), true, true, check_put_staged},
	[PRIVSEP_ROLLOUT_START] = {CHANGERS, SIZE(rollout), false, true, check_rollout},
	[PRIVSEP_ROLLOUT_PAUSE] = {CHANGERS, 0, false, true, NULL},
	[PRIVSEP_ROLLOUT_RESUME] = {CHANGERS, 0, false, true, NULL},
	[PRIVSEP_ROLLOUT_ABORT] = {CHANGERS, 0, false, true, NULL},
	[PRIVSEP_HELD] = {ANY, 0, false, true, NULL},
	[PRIVSEP_WAITS] = {ANY, 0, false, true, NULL},
	[PRIVSEP_SHARED_READ] = {ANY, SIZE(shared_read), false, false, check_shared_read},
	[PRIVSEP_LOGIN] = {TLS, SIZE(login), false, true, check_login},
	[PRIVSEP_TLS_STATE] = {TLS, SIZE(tls_state), false, false, check_tls_state},
	[PRIVSEP_NEXT] = {ANY, 0, false, true, NULL},
	[PRIVSEP_CLOSED] = {ANY, 0, false, true, NULL},
	[PRIVSEP_NEIGHBOUR] = {LLDP, SIZE(neighbour), false, false, check_neighbour},
	[PRIVSEP_CLAIM] = {LLDP, SIZE(claim), false, false, check_claim},
	[PRIVSEP_CLUSTER_REPORT] = {CLUSTER, SIZE(cluster_report), false, false,
				    check_cluster_report},
	[PRIVSEP_CLUSTER_SERVER] = {CLUSTER, SIZE(cluster_server), false, false,
				    check_cluster_server},
	[PRIVSEP_CLUSTER_POOL] = {CLUSTER, SIZE(cluster_pool_report), false, false,
				  check_cluster_pool},
	[PRIVSEP_CLUSTER_REVOKED] = {CLUSTER, SIZE(cluster_revoked), false, false, NULL},
	[PRIVSEP_CLUSTER_VIEW] = {CLUSTER, SIZE(cluster_view), false, false, check_cluster_view},
	[PRIVSEP_CLUSTER_TURN] = {CLUSTER, SIZE(cluster_turn), true, false, check_cluster_turn},
	[PRIVSEP_CLUSTER_ANSWER] = {CLUSTER, SIZE(cluster_answer), true, false,
				    check_cluster_answer},
	[PRIVSEP_CLUSTER_FAILED] = {CLUSTER, SIZE(cluster_failed), false, false,
				    check_cluster_failed},
	[PRIVSEP_CLUSTER_MEMBERS] = {CLUSTER | MONITOR, SIZE(cluster_text), true, false,
				     check_cluster_text},
	[PRIVSEP_LINKS_REPORT] = {LINKS, SIZE(links_report), false, false, check_links_report},
	[PRIVSEP_PONG] = {ANY | LLDP | CLUSTER | LINKS, 0, false, false, NULL},
	[PRIVSEP_VIOLATION] = {ANY | LLDP | CLUSTER | LINKS, SIZE(violation), false, false, NULL},
	[PRIVSEP_REPLY] = {MONITOR, SIZE(reply), true, true, check_reply},
	[PRIVSEP_SHARED_ANSWER] = {MONITOR, SIZE(shared_answer), true, false, check_shared_answer},
	[PRIVSEP_EVENT_NOTE] = {MONITOR, SIZE(event_note), false, false, NULL},
	[PRIVSEP_CONNECTION] = {MONITOR, SIZE(peer), true, true, check_peer},
	[PRIVSEP_DROP] = {MONITOR, 0, false, true, NULL},
	[PRIVSEP_ROLE] = {MONITOR, SIZE(role_of), false, true, check_role_of},
	[PRIVSEP_TLS_FILES] = {MONITOR, SIZE(tls_files), true, false, check_tls_files},
	[PRIVSEP_LISTEN] = {MONITOR, SIZE(link), true, false, check_link},
	[PRIVSEP_IGNORE] = {MONITOR, SIZE(link), false, false, check_link},
	[PRIVSEP_CLUSTER_SET] = {MONITOR, SIZE(cluster_text), true, false, check_cluster_text},
	[PRIVSEP_CLUSTER_PUBLISH] = {MONITOR, SIZE(cluster_text), true, false, check_cluster_text},
	[PRIVSEP_CLUSTER_READ] = {MONITOR, SIZE(cluster_read), false, false, check_cluster_read},
	[PRIVSEP_CLUSTER_EDIT] = {MONITOR, SIZE(cluster_edit), false, false, check_cluster_edit},
	[PRIVSEP_CLUSTER_ROLLOUT] = {MONITOR, SIZE(cluster_rollout), true, false,
				     check_cluster_rollout},
	[PRIVSEP_CLUSTER_SQUAT] = {MONITOR, SIZE(cluster_squat), false, false, check_cluster_squat},
	[PRIVSEP_LINKS_SET] = {MONITOR, SIZE(cluster_text), true, false, check_cluster_text},
	[PRIVSEP_PING] = {MONITOR, 0, false, false, NULL},
};

bool privsep_is_change(enum privsep_type t)
{
	return t < PRIVSEP_TYPE_MAX && rules[t].senders == CHANGERS;
}

int privsep_check(enum privsep_role sender, const struct privsep_msg *m, size_t len, bool has_fd,
		  const char **ret_why)
{
	const struct privsep_rule *rule;
	const char *why = NULL;

	if (len < HEAD_BYTES) {
		*ret_why = "the message is shorter than a header";
		return -EBADMSG;
	}
	if (m->type == 0 || m->type >= PRIVSEP_TYPE_MAX) {
		*ret_why = "unknown type";
		return -EBADMSG;
	}
	rule = &rules[m->type];
	if (sender >= PRIVSEP_ROLE_MAX || !(rule->senders & FROM(sender)))
		why = "this sender may not send messages of this type";
	else if (m->size != rule->size || len != HEAD_BYTES + rule->size)
		why = "wrong size";
	else if (rule->fd != has_fd)
		why = rule->fd ? "descriptor missing" : "descriptor not expected";
	else if (rule->connection != (m->connection != 0))
		why = "the connection number is missing or unexpected";
	else if (m->if_match && rule->senders != CHANGERS)
		why = "a request that changes nothing has If-Match";
	else if (rule->check)
		why = rule->check(m);
	if (!why)
		return 0;
	*ret_why = why;
	return -EBADMSG;
}

/* ---- transport ---- */

int privsep_send(int sock, enum privsep_role sender, struct privsep_msg *m, int fd)
{
	const char *why;
	size_t len;
	int r;

	if (m->type == 0 || m->type >= PRIVSEP_TYPE_MAX)
		return -EINVAL;
	m->size = rules[m->type].size;
	len = HEAD_BYTES + m->size;
	r = privsep_check(sender, m, len, fd >= 0, &why);
	return r < 0 ? r : fdpass_send(sock, m, len, fd);
}

int privsep_recv(int sock, enum privsep_role sender, struct privsep_msg *m, int *ret_fd,
		 const char **ret_why)
{
	autoclose int fd = -1;
	bool whole;
	ssize_t n;
	int r;

	memset(m, 0, sizeof(*m));
	n = fdpass_recv(sock, m, sizeof(*m), &fd, &whole);
	if (n < 0)
		return n == -EINTR ? -EAGAIN : (int)n;
	if (n == 0 && fd < 0)
		return 0;
	if (!whole) {
		*ret_why = "the message is too long, or has too many descriptors";
		return -EBADMSG;
	}
	r = privsep_check(sender, m, (size_t)n, fd >= 0, ret_why);
	if (r < 0)
		return r;
	*ret_fd = fd_take(fd);
	return 1;
}

int privsep_read_memfd(int fd, uint64_t len, char **ret)
{
	const int need = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	autofree char *text = NULL;
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	uint64_t at = 0;

	/* Only files in memory have seals, so reading one cannot block on a file system. */
	if (seals < 0 || (seals & need) != need)
		return -EBADMSG;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != len)
		return -EBADMSG;
	text = malloc(len + 1);
	if (!text)
		return -ENOMEM;
	while (at < len) {
		ssize_t n = pread(fd, text + at, len - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		at += (uint64_t)n;
	}
	text[len] = '\0';
	*ret = ptr_take(text);
	return 0;
}

/* ---- names ---- */

const char *privsep_syscall_to_string(uint32_t number, char *buf, size_t size)
{
	static const struct {
		long number;
		const char *name;
	} named[] = {
		{SYS_openat, "openat"}, {SYS_socket, "socket"},		{SYS_connect, "connect"},
		{SYS_execve, "execve"}, {SYS_clone, "clone"},		{SYS_clone3, "clone3"},
		{SYS_ptrace, "ptrace"}, {SYS_mprotect, "mprotect"},	{SYS_kill, "kill"},
		{SYS_bind, "bind"},	{SYS_unlinkat, "unlinkat"},	{SYS_prctl, "prctl"},
		{SYS_ioctl, "ioctl"},	{SYS_readlinkat, "readlinkat"}, {SYS_fcntl, "fcntl"},
	};

	snprintf(buf, size, "%u", number);
	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		if ((uint32_t)named[i].number == number)
			snprintf(buf, size, "%u (%s)", number, named[i].name);
	return buf;
}
