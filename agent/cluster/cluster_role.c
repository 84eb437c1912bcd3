/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The role `cluster`: the process that exchanges requests with the cluster's store, and parses what
 * other hosts have written there. It may use sockets for that, but no files and no privileges, and
 * only few system calls. The monitor sends it the settings with the texts of all files; it reports
 * values of a fixed size to the monitor.
 */
#include "agent/base/child/child_monitor.h"
#include "agent/base/child/child_role.h"
#include "agent/base/child/sandbox.h"
#include "agent/cluster/discovery.h"
#include "agent/cluster/pools/pool.h"
#include "agent/cluster/rollout/rollout_edit.h"
#include "agent/cluster/rollout/rollout_follow.h"
#include "agent/cluster/store/http_client.h"
#include "agent/cluster/store/member.h"
#include "agent/cluster/view/links_members.h"
#include "agent/cluster/view/links_rows.h"
#include "agent/cluster/view/view.h"
#include "netcfg/base/os/memfd.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define DESCRIPTORS_MAX 64
#define VIEWS_MAX 8
#define EDITS_MAX 8
#define FIND_FAILURES_QUIET 4 /* about 7 s */

struct revoked_sent {
	uint8_t bytes[IDENTITY_REVOKED_MAX][IDENTITY_REVOCATION_BYTES];
	unsigned n;
};

struct cluster_role {
	struct loop *loop;
	struct child_monitor monitor;
	const struct kv_ops *ops;
	json_t *setup; /* the settings in use; NULL: none yet */
	struct kv *kv;
	struct member *member;
	struct discovery *discovery;
	struct cluster_report report; /* the latest report of the registration */
	bool looked_up;
	enum cluster_trouble find_trouble; /* result of the latest search for servers */
	char find_text[CLUSTER_TEXT_MAX];
	struct revoked_sent sent; /* the value of revocations that the monitor has received */
	unsigned n_find_failures; /* count of consecutive failures of the search for servers */
	struct pool_take *take;
	struct view *views[VIEWS_MAX];
	struct pool_edit *edits[EDITS_MAX];
	struct rollout_follow *follow;
	struct rollout_self self; /* the server record of this host from the monitor; host "": none
				     was received yet */
	struct rollout_edit *rollouts[EDITS_MAX];
	struct links_members *members;
	char *links; /* the record of this host's links; NULL: it does not probe */
};

/* Sends a report. A report that breaks a rule of privsep.h is a defect of this process: it is not
 * sent, and the process continues. */
static void report(struct privsep_msg *m, int fd)
{
	const int r = child_monitor_tell(PRIVSEP_CLUSTER, m, fd);

	if (r < 0)
		log_err("cannot report to the monitor: %s", strerror(-r));
}

/* ---- reports ---- */

/* Replaces all characters that privsep.h does not allow: those that are not printable ASCII, quotes
 * and backslashes. */
static void copy_plain(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
	for (; *to; to++)
		if (*to < ' ' || *to > '~' || *to == '"' || *to == '\\')
			*to = '?';
}

/* Reports the state of the registration and of the search for servers. A problem of the
 * registration takes precedence. */
static void report_state(const struct cluster_role *c)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_REPORT, .cluster_report = c->report};
	struct cluster_report *r = &m.cluster_report;
	const bool finds = r->trouble != CLUSTER_FINE || c->find_trouble == CLUSTER_FINE;

	r->looked_up = c->looked_up;
	if (!finds)
		r->trouble = c->find_trouble;
	copy_plain(r->text, sizeof(r->text), finds ? c->report.text : c->find_text);
	report(&m, -1);
}

static void on_report(void *user, const struct cluster_report *r)
{
	struct cluster_role *c = user;

	c->report = *r;
	report_state(c);
	if (c->take)
		pool_take_look(c->take);
}

/* Handles the result of a search for servers. The first failures are not reported, because an
 * election of the store's leader takes only seconds. */
static void on_looked(void *user, enum cluster_trouble trouble, const char *text)
{
	struct cluster_role *c = user;
	const bool looked_up = trouble == CLUSTER_FINE;

	c->n_find_failures = looked_up ? 0 : c->n_find_failures + 1;
	if (trouble == CLUSTER_UNREACHABLE && c->n_find_failures < FIND_FAILURES_QUIET)
		trouble = CLUSTER_FINE;
	if (c->looked_up == looked_up && c->find_trouble == trouble)
		return;
	c->looked_up = looked_up;
	c->find_trouble = trouble;
	snprintf(c->find_text, sizeof(c->find_text), "%s", text);
	report_state(c);
}

static void on_server(void *user, const struct cluster_server *s)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_SERVER, .cluster_server = *s};

	report(&m, -1);
}

/* Reports to the monitor that a requested list cannot be made. */
static void answer_failed(uint64_t id, enum cluster_trouble trouble, const char *why)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_FAILED,
				.cluster_failed = {.id = id, .trouble = trouble}};

	copy_plain(m.cluster_failed.text, sizeof(m.cluster_failed.text), why);
	report(&m, -1);
}

/* ---- settings ---- */

static void close_store(struct cluster_role *c)
{
	if (c->kv) /* ends the requests first, because they use the objects that are freed below */
		c->kv = c->ops->close(c->kv);
	c->take = pool_take_free(c->take);
	c->member = member_free(c->member);
	c->discovery = discovery_free(c->discovery);
	for (size_t i = 0; i < VIEWS_MAX; i++) {
		if (c->views[i])
			answer_failed(view_id(c->views[i]), CLUSTER_UNREACHABLE,
				      "the settings have changed meanwhile; try again");
		c->views[i] = view_free(c->views[i]);
	}
	for (size_t i = 0; i < EDITS_MAX; i++) {
		if (c->edits[i])
			answer_failed(pool_edit_id(c->edits[i]), CLUSTER_UNREACHABLE,
				      "the settings have changed meanwhile; try again");
		c->edits[i] = pool_edit_free(c->edits[i]);
	}
	c->members = links_members_free(c->members);
	c->follow = rollout_follow_free(c->follow);
	for (size_t i = 0; i < EDITS_MAX; i++) {
		if (c->rollouts[i])
			answer_failed(rollout_edit_id(c->rollouts[i]), CLUSTER_UNREACHABLE,
				      "the settings have changed meanwhile; try again");
		c->rollouts[i] = rollout_edit_free(c->rollouts[i]);
	}
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static void on_pool(void *user, const struct cluster_pool_report *r)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_POOL, .cluster_pool_report = *r};
	const struct cluster_role *c = user;

	snprintf(m.cluster_pool_report.cluster, sizeof(m.cluster_pool_report.cluster), "%s",
		 text_of(c->setup, "cluster"));
	copy_plain(m.cluster_pool_report.text, sizeof(m.cluster_pool_report.text), r->text);
	report(&m, -1);
}

/* The revocations of a new value of the key, and those of its previous value. */
struct revoked_value {
	const struct revoked_sent *former;
	struct revoked_sent new;
};

static bool was_sent(const struct revoked_sent *l, const uint8_t p[IDENTITY_REVOCATION_BYTES])
{
	for (unsigned i = 0; i < l->n; i++)
		if (memcmp(l->bytes[i], p, IDENTITY_REVOCATION_BYTES) == 0)
			return true;
	return false;
}

/* Passes a revocation to the monitor, which verifies it: this process does not know the cluster's
 * key. The key has all revocations in one value, so each change repeats the old ones. This function
 * skips revocations that the monitor already has, because the monitor reads files for each
 * revocation that it gets. */
static void on_revocation(void *user, const uint8_t p[IDENTITY_REVOCATION_BYTES])
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_REVOKED};
	struct revoked_value *v = user;

	_Static_assert(sizeof(m.cluster_revoked.bytes) == IDENTITY_REVOCATION_BYTES, "one length");
	if (was_sent(&v->new, p) || v->new.n == IDENTITY_REVOKED_MAX)
		return;
	memcpy(v->new.bytes[v->new.n++], p, IDENTITY_REVOCATION_BYTES);
	if (was_sent(v->former, p))
		return;
	memcpy(m.cluster_revoked.bytes, p, IDENTITY_REVOCATION_BYTES);
	report(&m, -1);
}

static void on_revoked(void *user, const char *text, size_t len)
{
	struct cluster_role *c = user;
	autofree struct revoked_value *v = calloc(1, sizeof(*v));

	if (!v)
		return;
	v->former = &c->sent;
	if (record_revoked_parse(text, len, on_revocation, v) < 0)
		log_warning("cannot parse the key of revoked hosts in etcd; ignored");
	else
		c->sent = v->new;
}

/* Tells the monitor that this host has a turn. */
static void on_turn(void *user, const struct rollout *r, uint64_t turn,
		    const struct rollout_document *d)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_TURN,
				.cluster_turn = {.number = r->number,
						 .lineage = r->lineage,
						 .attempt = r->attempt,
						 .turn = turn,
						 .generation = d->version.generation,
						 .len = strlen(d->text)}};
	autoclose int fd = memfd_new_sealed("plenum-cluster", d->text, strlen(d->text));

	(void)user;
	memcpy(m.cluster_turn.hash, d->version.hash, sizeof(m.cluster_turn.hash));
	if (fd >= 0)
		report(&m, fd);
}

static void on_view(void *user, enum rollout_view view)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_VIEW, .cluster_view.view = view};

	(void)user;
	report(&m, -1);
}

static void on_members(void *user, const char *text)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_MEMBERS,
				.cluster_text = {.len = strlen(text)}};
	autoclose int fd = memfd_new_sealed("plenum-cluster", text, strlen(text));

	(void)user;
	if (fd >= 0)
		report(&m, fd);
}

/* Returns whether a leg of this host probes other hosts, so that this host needs the addresses of
 * their legs. */
static bool probes(const struct cluster_role *c)
{
	const char *host = text_of(c->setup, "host");
	json_t *member = c->links ? links_rows_member(host, c->links, strlen(c->links)) : NULL;
	const bool found = member != NULL;

	json_decref(member);
	return found;
}

static int open_links(struct cluster_role *c)
{
	const struct links_members_setup setup = {.loop = c->loop,
						  .ops = c->ops,
						  .kv = c->kv,
						  .cluster = text_of(c->setup, "cluster"),
						  .host = text_of(c->setup, "host"),
						  .on_members = on_members,
						  .user = c};
	int r = links_members_new(&setup, &c->members);

	if (r >= 0 && probes(c))
		links_members_begin(c->members);
	return r;
}

static int open_rollouts(struct cluster_role *c)
{
	const struct rollout_follow_setup setup = {.loop = c->loop,
						   .ops = c->ops,
						   .kv = c->kv,
						   .cluster = text_of(c->setup, "cluster"),
						   .host = text_of(c->setup, "host"),
						   .member = c->member,
						   .on_turn = on_turn,
						   .on_view = on_view,
						   .user = c};
	int r = rollout_follow_new(&setup, &c->follow);

	if (r >= 0 && c->self.host[0])
		rollout_follow_set(c->follow, &c->self);
	return r;
}

static int open_store(struct cluster_role *c)
{
	static const struct cluster_report none;
	const json_t *list = json_object_get(c->setup, "endpoints"), *o;
	const char *endpoints[KV_ENDPOINTS_MAX];
	struct kv_setup kv = {
		.loop = c->loop,
		.endpoints = endpoints,
		.ca = json_string_value(json_object_get(c->setup, "ca")),
		.user = json_string_value(json_object_get(c->setup, "user")),
		.password = json_string_value(json_object_get(c->setup, "password")),
	};
	struct member_setup member = {
		.loop = c->loop,
		.ops = c->ops,
		.cluster = text_of(c->setup, "cluster"),
		.host = text_of(c->setup, "host"),
		.self.epoch = (uint64_t)json_integer_value(json_object_get(c->setup, "epoch")),
		.on_report = on_report,
		.user = c};
	struct discovery_setup discovery = {.loop = c->loop,
					    .ops = c->ops,
					    .cluster = member.cluster,
					    .check_ns = DISCOVERY_CHECK_NS,
					    .on_server = on_server,
					    .on_looked = on_looked,
					    .user = c};
	struct pool_take_setup take = {.loop = c->loop,
				       .ops = c->ops,
				       .cluster = member.cluster,
				       .host = member.host,
				       .self = &member.self,
				       .check_ns = POOL_CHECK_NS,
				       .on_pool = on_pool,
				       .user = c};
	size_t i;
	int r;

	if (json_is_true(json_object_get(c->setup, "identity")))
		discovery.on_revoked = on_revoked;
	json_array_foreach (list, i, o)
		if (kv.n_endpoints < KV_ENDPOINTS_MAX && json_is_string(o))
			endpoints[kv.n_endpoints++] = json_string_value(o);
	snprintf(member.self.id, sizeof(member.self.id), "%s", text_of(c->setup, "id"));
	snprintf(member.self.nonce, sizeof(member.self.nonce), "%s", text_of(c->setup, "nonce"));
	c->looked_up = false;
	c->find_trouble = CLUSTER_FINE;
	c->n_find_failures = 0;
	on_report(c, &none); /* the earlier reports were about the former connection to etcd */
	r = c->ops->open(&kv, &c->kv);
	member.kv = discovery.kv = take.kv = c->kv;
	if (r >= 0)
		r = member_new(&member, &c->member);
	if (r >= 0)
		r = discovery_new(&discovery, &c->discovery);
	take.member = c->member;
	if (r >= 0)
		r = pool_take_new(&take, &c->take);
	if (r >= 0)
		r = open_links(c);
	return r < 0 ? r : open_rollouts(c);
}

/* Applies new settings. Servers and pools may change without a new connection; any other change
 * makes a new one. */
static int take_settings(struct cluster_role *c, uint64_t len, int fd)
{
	autofree char *text = NULL;
	json_t *o = NULL, *servers, *pools;
	int r = privsep_read_memfd(fd, len, &text);

	if (r < 0)
		return r;
	o = json_loadb(text, len, 0, NULL);
	explicit_bzero(text, len);
	if (!json_is_object(o)) {
		json_decref(o);
		return -EBADMSG;
	}
	servers = json_incref(json_object_get(o, "servers"));
	json_object_del(o, "servers");
	pools = json_incref(json_object_get(o, "pools"));
	json_object_del(o, "pools");
	if (!c->setup || !json_equal(o, c->setup)) {
		close_store(c);
		json_decref(c->setup);
		c->setup = json_incref(o);
		r = open_store(c);
	}
	if (r >= 0) {
		discovery_want(c->discovery, servers);
		pool_take_want(c->take, pools);
	}
	json_decref(servers);
	json_decref(pools);
	json_decref(o);
	return r;
}

static int publish(struct cluster_role *c, const struct privsep_cluster_text *m, int fd)
{
	static const enum record_kind kinds[PRIVSEP_CLUSTER_WHAT_MAX] = {
		[PRIVSEP_CLUSTER_SERVING] = RECORD_SERVING,
		[PRIVSEP_CLUSTER_STATE] = RECORD_STATE,
		[PRIVSEP_CLUSTER_LINKS_RECORD] = RECORD_LINKS};
	autofree char *text = NULL;
	int r = privsep_read_memfd(fd, m->len, &text);

	if (r >= 0 && m->what == PRIVSEP_CLUSTER_SELF) {
		r = rollout_self_parse(text, m->len, &c->self);
		if (r >= 0 && c->follow)
			rollout_follow_set(c->follow, &c->self);
		return r;
	}
	if (r >= 0 && m->what == PRIVSEP_CLUSTER_LINKS_RECORD) {
		free(c->links);
		c->links = strdup(text);
		if (c->members && probes(c))
			links_members_begin(c->members);
	}
	if (r < 0 || !c->member)
		return r;
	return member_publish(c->member, kinds[m->what], text);
}

/* Answers a request of the monitor with the text. If text is NULL, answers with the reason why the
 * role could not make it. */
static void answer(uint64_t id, const char *text, enum cluster_trouble trouble, const char *why)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_ANSWER, .cluster_answer = {.id = id}};
	autoclose int fd = -1;

	if (!text) {
		answer_failed(id, trouble, why);
		return;
	}
	m.cluster_answer.len = strlen(text);
	fd = memfd_new_sealed("plenum-cluster", text, strlen(text));
	if (fd >= 0)
		report(&m, fd);
	else
		answer_failed(id, CLUSTER_WRONG, "out of memory");
}

/* ---- lists ---- */

static void on_view_end(void *user, struct view *v, const char *text, enum cluster_trouble trouble,
			const char *why)
{
	struct cluster_role *c = user;

	for (size_t i = 0; i < VIEWS_MAX; i++)
		if (c->views[i] == v)
			c->views[i] = NULL;
	answer(view_id(v), text, trouble, why);
	view_free(v);
}

static int read_list(struct cluster_role *c, const struct privsep_cluster_read *m)
{
	const struct view_setup setup = {.ops = c->ops,
					 .kv = c->kv,
					 .cluster = text_of(c->setup, "cluster"),
					 .host = text_of(c->setup, "host"),
					 .id = m->id,
					 .kind = (enum rows_kind)m->what,
					 .own = c->links,
					 .on_end = on_view_end,
					 .user = c};

	for (size_t i = 0; c->kv && i < VIEWS_MAX; i++)
		if (!c->views[i]) {
			if (view_new(&setup, &c->views[i]) < 0)
				break;
			return 0;
		}
	answer_failed(m->id, CLUSTER_UNREACHABLE,
		      c->kv ? "too many lists are read at once" : "not started yet");
	return 0;
}

/* ---- changes of pools ---- */

static void on_edit_end(void *user, struct pool_edit *e, const char *text,
			enum cluster_trouble trouble, const char *why)
{
	struct cluster_role *c = user;

	for (size_t i = 0; i < EDITS_MAX; i++)
		if (c->edits[i] == e)
			c->edits[i] = NULL;
	answer(pool_edit_id(e), text, trouble, why);
	pool_edit_free(e);
}

static int edit(struct cluster_role *c, const struct privsep_cluster_edit *m)
{
	struct record_owner owner = {.epoch = 0};
	const struct pool_edit_setup setup = {.ops = c->ops,
					      .kv = c->kv,
					      .cluster = text_of(c->setup, "cluster"),
					      .self = text_of(c->setup, "host"),
					      .owner = &owner,
					      .member = c->member,
					      .id = m->id,
					      .op = (enum pool_edit_op)m->op,
					      .force = m->force,
					      .pool = m->pool,
					      .host = m->host,
					      .on_end = on_edit_end,
					      .user = c};

	int r = -EBUSY;

	snprintf(owner.id, sizeof(owner.id), "%s", text_of(c->setup, "id"));
	for (size_t i = 0; c->kv && c->member && i < EDITS_MAX; i++)
		if (!c->edits[i]) {
			r = pool_edit_new(&setup, &c->edits[i]);
			if (r < 0)
				break;
			return 0;
		}
	if (r == -EPERM)
		answer_failed(m->id, CLUSTER_CONFLICT, POOL_NOT_REGISTERED);
	else
		answer_failed(m->id, CLUSTER_UNREACHABLE,
			      c->kv ? "too many requests about the document at once; try again"
				    : "not started yet");
	return 0;
}

/* ---- rollouts ---- */

static void on_rollout_end(void *user, struct rollout_edit *e, const char *text,
			   enum cluster_trouble trouble, const char *why)
{
	struct cluster_role *c = user;

	for (size_t i = 0; i < EDITS_MAX; i++)
		if (c->rollouts[i] == e)
			c->rollouts[i] = NULL;
	answer(rollout_edit_id(e), text, trouble, why);
	rollout_edit_free(e);
}

static int edit_rollout(struct cluster_role *c, const struct privsep_cluster_rollout *m, int fd)
{
	autofree char *text = NULL;
	struct rollout_edit_setup setup = {.ops = c->ops,
					   .kv = c->kv,
					   .cluster = text_of(c->setup, "cluster"),
					   .id = m->id,
					   .op = (enum rollout_edit_op)m->op,
					   .max_unavailable = m->how.max_unavailable,
					   .percent = m->how.percent,
					   .timeout_s = m->how.timeout_s,
					   .rolls_back = m->how.rollback == 2,
					   .by = m->by,
					   .on_end = on_rollout_end,
					   .user = c};
	int r = privsep_read_memfd(fd, m->len, &text);

	if (r < 0)
		return r;
	if (setup.op == ROLLOUT_SET)
		setup.text = text;
	for (size_t i = 0; c->kv && i < EDITS_MAX; i++)
		if (!c->rollouts[i]) {
			if (rollout_edit_new(&setup, &c->rollouts[i]) < 0)
				break;
			return 0;
		}
	answer_failed(m->id, CLUSTER_UNREACHABLE,
		      c->kv ? "too many changes are made at once" : "not started yet");
	return 0;
}

/* ---- the monitor ---- */

static int handle(void *user, const struct privsep_msg *m, int *fd)
{
	struct cluster_role *c = user;

	switch ((enum privsep_type)m->type) {
	case PRIVSEP_CLUSTER_SET:
		return take_settings(c, m->cluster_text.len, *fd);
	case PRIVSEP_CLUSTER_PUBLISH:
		return publish(c, &m->cluster_text, *fd);
	case PRIVSEP_CLUSTER_READ:
		return read_list(c, &m->cluster_read);
	case PRIVSEP_CLUSTER_EDIT:
		return edit(c, &m->cluster_edit);
	case PRIVSEP_CLUSTER_SQUAT:
		if (c->take)
			pool_take_squat(c->take, &m->cluster_squat.ip, &m->cluster_squat.by);
		return 0;
	case PRIVSEP_CLUSTER_ROLLOUT:
		return edit_rollout(c, &m->cluster_rollout, *fd);
	default: /* messages for other roles */
		return 0;
	}
}

/* ---- the process ---- */

/* Completes the sandbox: the process may connect to addresses, and open nothing else. */
static int seal(void)
{
	static const int allowed[] = {
		SYS_connect,  SYS_getsockname, SYS_getpeername,	 SYS_getsockopt, SYS_setsockopt,
		SYS_sendto,   SYS_recvfrom,    SYS_sendmsg,	 SYS_write,	 SYS_writev,
		SYS_shutdown, SYS_close,       SYS_memfd_create, SYS_fcntl,	 SYS_lseek,
		SYS_fstat,    SYS_newfstatat,  SYS_pread64,	 SYS_eventfd2,	 SYS_pipe2,
	};
	static const struct seccomp_rule sockets[] = {
		{SYS_socket, 0, UINT32_MAX, AF_INET},
		{SYS_socket, 0, UINT32_MAX, AF_INET6},
		{SYS_socketpair, 0, UINT32_MAX, AF_UNIX}, /* libcurl uses it to wake its loop */
	};

	return sandbox_seal(allowed, ARRAY_SIZE(allowed), sockets, ARRAY_SIZE(sockets));
}

static int open_all(struct cluster_role *c)
{
	struct loop_source *timer;
	int r = loop_new(&c->loop);

	c->monitor = (struct child_monitor){
		.loop = c->loop, .role = PRIVSEP_CLUSTER, .handle = handle, .user = c};
	/* The first timer opens a descriptor, which is not allowed later. */
	if (r >= 0)
		r = loop_add_timer(c->loop, NSEC_PER_MSEC, NULL, NULL, &timer);
	if (r >= 0)
		r = http_client_prepare();
	if (r >= 0)
		r = child_monitor_watch(&c->monitor);
	return r;
}

int cluster_main(enum log_level level)
{
	const struct rlimit files = {DESCRIPTORS_MAX, DESCRIPTORS_MAX}, no_core = {0, 0};
	struct cluster_role c = {.ops = &kv_etcd};
	int r;

	(void)level; /* the log already has this level */
	prctl(PR_SET_NAME, "plenumd-cluster");
	signal(SIGPIPE, SIG_IGN);
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_CORE, &no_core);
	json_object_seed(0); /* this may read a file, which the sandbox does not allow later */
	r = open_all(&c);
	if (r >= 0)
		r = sandbox_enter();
	if (r >= 0)
		r = seal();
	if (r >= 0)
		r = loop_run(c.loop);
	if (r < 0)
		log_err("plenumd-cluster: %s", strerror(-r));
	/* At a regular exit a sanitizer makes system calls that the filter does not allow. */
	_exit(r < 0 ? 1 : 0);
}
