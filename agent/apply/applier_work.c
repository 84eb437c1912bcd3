/* SPDX-License-Identifier: BSD-3-Clause */
/* The applier's process, from the first step to the report of the end. It does not depend on the
 * monitor, which may exit meanwhile. */
#include "agent/apply/applier_addresses.h"
#include "agent/apply/applier_internal.h"
#include "agent/apply/apply_records.h"
#include "agent/base/child/child_task.h"
#include "agent/base/child/systemd_scope.h"
#include "netcfg/apply/apply_reach.h"
#include "netcfg/base/log.h"
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define PATIENT_NS (3 * NSEC_PER_SEC) /* time before peers that do not answer are reported */
#define AGAIN_NS NSEC_PER_SEC	      /* time between two probes of these peers */

/* Loads kernel modules, which is not possible after privileges are dropped. */
static void prepare(struct kernel *k, const struct plan *p)
{
	for (size_t i = 0; p && k->ops->prepare && i < p->n_steps; i++)
		k->ops->prepare(k, &p->steps[i].change);
}

/* Drops all capabilities but CAP_NET_ADMIN, which netlink and /proc/sys/net need; root owns the
 * files of the journal and sysfs. If this fails, the apply continues. */
static void keep_net_admin(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[2] = {{0}, {0}};

	if (syscall(SYS_capget, &head, caps) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++) {
		uint32_t keep = i == CAP_TO_INDEX(CAP_NET_ADMIN) ? CAP_TO_MASK(CAP_NET_ADMIN) : 0;

		caps[i].permitted &= keep;
		caps[i].effective &= keep;
		caps[i].inheritable = 0;
	}
	/* EINVAL marks the end of the capabilities that the kernel knows. */
	for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capset, &head, caps) < 0)
		log_debug("the applier cannot drop its privileges: %s", strerror(errno));
}

static void send_diag(struct applier_channel *l, const struct diag *d)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct diag_entry *e = &d->entries[i];
		struct applier_message m = {.type = APPLIER_DIAG};

		m.diag.severity = e->severity;
		m.diag.line = e->line;
		m.diag.column = e->column;
		snprintf(m.diag.file, sizeof(m.diag.file), "%s", e->file ? e->file : "");
		snprintf(m.diag.path, sizeof(m.diag.path), "%s", e->path ? e->path : "");
		snprintf(m.diag.text, sizeof(m.diag.text), "%s", e->text ? e->text : "");
		applier_channel_send(l, &m);
	}
}

static void note_rollback(const struct apply_outcome *out, int r, struct applier_result *res,
			  struct diag *d)
{
	res->n_rolled_back += out->n_rolled_back;
	if (r < 0) {
		res->stuck = true;
		diag_add(d, DIAG_ERROR, NULL, NULL,
			 "rollback failed: %s; the host is partially configured",
			 out->why.text[0] ? out->why.text : strerror(-r));
	} else {
		diag_add(d, DIAG_ERROR, NULL, NULL, "all %zu steps were rolled back",
			 out->n_rolled_back);
	}
}

/* Rolls back the journal. Returns 0, -EBUSY if another applier that owns the journal is still
 * running and rolls it back itself, or another negative errno. */
static int recover(const struct applier_task *t, struct kernel *k, struct applier_result *res,
		   struct diag *d)
{
	struct apply_outcome out = {0};
	int r = apply_recover(k, t->journal, &out);

	res->committed = out.committed;
	res->n_rolled_back += out.n_rolled_back;
	if (out.n_rolled_back > 0)
		diag_add(d, DIAG_WARNING, NULL, NULL,
			 "rolled back %zu steps of an interrupted apply", out.n_rolled_back);
	if (r < 0 && r != -EBUSY) {
		res->stuck = true;
		diag_add(d, DIAG_ERROR, NULL, NULL, "cannot roll back an interrupted apply: %s",
			 out.why.text[0] ? out.why.text : strerror(-r));
	} else if (r == 0 && out.why.text[0]) {
		diag_add(d, DIAG_WARNING, NULL, NULL, "%s", out.why.text);
	}
	return r;
}

static int run_steps(const struct applier_task *t, struct kernel *k, struct applier_addresses *w,
		     struct apply **ret, struct applier_result *res, struct diag *d)
{
	struct apply_outcome out = {0};
	int r = apply_run_links(k, t->plan, t->journal, ret, &out);

	if (r == -EEXIST) { /* a rollback has failed before: its journal is rolled back first */
		r = recover(t, k, res, d);
		return r < 0 ? r : -EAGAIN;
	}
	if (r >= 0)
		r = applier_addresses_add(w, t, k, ret, &out, d);
	if (r >= 0)
		return 0;
	res->n_rolled_back = out.n_rolled_back;
	res->stuck = out.stuck;
	res->failed_step = out.failed_step == SIZE_MAX ? 0 : out.failed_step + 1;
	res->unclear = out.failed_step == SIZE_MAX && out.n_done > 0;
	diag_add(d, DIAG_ERROR, NULL, NULL, "apply failed: %s; %zu of %zu steps rolled back%s",
		 out.why.text[0] ? out.why.text : strerror(-r), out.n_rolled_back, out.n_done,
		 out.stuck ? ", and the rollback failed too: the host is partially configured"
			   : "");
	return r;
}

/* ---- confirmation ---- */

static uint64_t boottime_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* Reports new address conflicts. A new subscriber gets all conflicts, because it does not know the
 * earlier conflicts. */
static void send_conflicts(struct applier_channel *l, const struct applier_addresses *w)
{
	l->conflicts = &w->conflicts;
	for (size_t i = w->n_known; i < w->conflicts.n; i++) {
		const struct applier_message m = {.type = APPLIER_CONFLICT,
						  .conflict = w->conflicts.entries[i]};

		applier_channel_send(l, &m);
	}
}

/* The check for peers that answered before the apply and do not answer now. */
struct unreachable {
	const struct apply_reach *before; /* n 0: peers are not checked */
	const struct plan_context *ctx;
	struct kernel *k;
	bool any;
};

/* Probes the peers that did not answer once more, and sends the result to all connections. If a
 * peer still does not answer, sends a message of `type`, otherwise APPLIER_UNREACHABLE without a
 * peer. */
static void probe_again(const struct applier_task *t, struct applier_channel *l,
			struct unreachable *w, enum applier_message_type type)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct applier_message m = {.type = type};
	int r = apply_reach_after(w->k, t->spec, w->ctx, w->before, 0, &d);

	w->any = r < 0;
	if (!w->any)
		m.type = APPLIER_UNREACHABLE;
	else
		snprintf(m.unreachable, sizeof(m.unreachable), "%s",
			 d.n && d.entries[0].text ? d.entries[0].text : strerror(-r));
	if (m.type == APPLIER_NOT_YET)
		applier_channel_send(l, &m);
	else
		applier_channel_try_send(l, &m);
}

/* Waits for an order until the time is over. Refuses confirmations while a peer does not answer. */
static int wait_for_order(const struct applier_task *t, struct applier_channel *l,
			  struct unreachable *w, char by[static REQUESTER_MAX])
{
	const uint64_t until = boottime_now_ns() + t->confirm_s * NSEC_PER_SEC;
	int r;

	if (w->any)
		probe_again(t, l, w, APPLIER_UNREACHABLE);
	do {
		r = applier_channel_wait(l, until,
					 w->any ? boottime_now_ns() + AGAIN_NS : UINT64_MAX, by);
		if (w->any && (r == 0 || r == APPLIER_CONFIRM))
			probe_again(t, l, w, r == 0 ? APPLIER_UNREACHABLE : APPLIER_NOT_YET);
	} while (r == 0 || (r == APPLIER_CONFIRM && w->any));
	return r;
}

static void add_unreachable(const struct applier_task *t, const struct unreachable *w,
			    struct diag *d)
{
	if (w->any)
		(void)apply_reach_after(w->k, t->spec, w->ctx, w->before, 0, d);
}

/* Waits until the apply is confirmed; the host is already as desired. Returns 0, or -ECANCELED with
 * the reason in d if the apply has to be rolled back. */
static int wait_for_confirmation(const struct applier_task *t, struct applier_channel *l,
				 struct unreachable *w, struct applier_result *res, struct diag *d)
{
	char by[REQUESTER_MAX] = "";
	int r;

	if (t->confirm_s == 0)
		return 0;
	r = wait_for_order(t, l, w, by);
	memcpy(res->by, by, sizeof(res->by));
	if (r == -ETIMEDOUT)
		add_unreachable(t, w, d); /* added first, so that users see it as the reason */
	if (r == APPLIER_CONFIRM)
		return 0;
	if (r == APPLIER_ROLL_BACK)
		diag_add(d, DIAG_ERROR, NULL, NULL, "rolled back by %s", by);
	else if (r == -ETIMEDOUT)
		diag_add(d, DIAG_ERROR, NULL, NULL, "not confirmed within %u s", t->confirm_s);
	else
		diag_add(d, DIAG_ERROR, NULL, NULL, "cannot wait for a confirmation: %s",
			 strerror(-r));
	return -ECANCELED;
}

/* ---- end of the process ---- */

/* Writes the outcome file, because there may be no agent that receives the result. It is written
 * before the journal is removed, because a later agent uses the journal if there is one. */
static void write_outcome(const struct applier_task *t, int error, const struct diag *d)
{
	const char *why = "";
	int r;

	if (!t->outcome)
		return;
	for (size_t i = 0; i < d->n && !*why; i++)
		if (d->entries[i].severity == DIAG_ERROR && d->entries[i].text)
			why = d->entries[i].text;
	r = apply_outcome_save(t->outcome, t->number, error, why);
	if (r < 0)
		log_warning("cannot write %s: %s; a restarted agent may not know how this apply "
			    "ended",
			    t->outcome, state_file_error(r));
}

static int roll_back(const struct applier_task *t, struct applier_channel *l, struct apply *apply,
		     int error, struct applier_result *res, struct diag *d)
{
	struct apply_outcome out = {0};
	int r;

	applier_channel_stage(l, APPLIER_ROLLING_BACK, 0);
	write_outcome(t, error, d);
	r = apply_rollback(apply, &out);
	note_rollback(&out, r, res, d);
	return error;
}

static int commit(const struct applier_task *t, struct apply *apply, struct applier_result *res,
		  struct diag *d)
{
	struct apply_outcome out = {0};
	int r;

	write_outcome(t, 0, d);
	r = apply_commit(apply, &out);
	if (r < 0) {
		res->n_rolled_back = out.n_rolled_back;
		res->stuck = out.stuck;
		diag_add(d, DIAG_ERROR, NULL, NULL, "%s",
			 out.why.text[0] ? out.why.text : strerror(-r));
		write_outcome(t, r, d);
	} else if (out.why.text[0]) {
		diag_add(d, DIAG_WARNING, NULL, NULL, "%s", out.why.text);
	}
	return r;
}

/* ---- checks of peers ---- */

static bool probes_are_forced(const struct plan_context *ctx)
{
	for (size_t i = 0; ctx && i < ctx->n_forced; i++)
		if (strcmp(ctx->forced[i], PLAN_FORCE_PROBES) == 0)
			return true;
	return false;
}

/* Finds the peers that answer before the apply. If this fails, no peer is checked afterwards. */
static void find_answering_peers(const struct applier_task *t, struct kernel *k,
				 struct apply_reach *ret, struct diag *d)
{
	int r;

	ret->n = 0;
	if (!t->former || probes_are_forced(t->ctx))
		return;
	r = apply_reach_before(k, t->former, t->ctx, ret);
	if (r < 0)
		diag_add(d, DIAG_WARNING, NULL, NULL,
			 "cannot probe peers: %s; reachability check skipped", strerror(-r));
}

/* Checks the peers that answered before. Returns 0 if all answer, 1 if a peer does not answer yet
 * but has more time, -ECANCELED if a peer does not answer in time, or another negative errno if the
 * probes failed. */
static int check_answering_peers(const struct applier_task *t, struct kernel *k,
				 const struct applier_addresses *w,
				 const struct apply_reach *before, struct applier_channel *l,
				 struct diag *d)
{
	PLENUM_CLEANUP(diag_done) struct diag found = DIAG_INIT;
	const bool patient = t->confirm_s && t->patient;
	int r;

	if (before->n == 0)
		return 0;
	applier_channel_stage(l, APPLIER_PROBING, 0);
	r = apply_reach_after(k, t->spec, &w->ctx, before,
			      clock_now_ns() + (patient ? PATIENT_NS : t->probe_ns), &found);
	if (r == -EHOSTUNREACH && patient)
		return 1;
	diag_append(d, &found);
	return r == -EHOSTUNREACH ? -ECANCELED : r;
}

static int apply_plan(const struct applier_task *t, struct kernel *k, struct applier_addresses *w,
		      struct applier_channel *l, struct applier_result *res, struct diag *d)
{
	struct apply_outcome out = {0};
	struct apply *apply = NULL;
	struct apply_reach before;
	int r;

	find_answering_peers(t, k, &before, d);
	applier_channel_stage(l, APPLIER_APPLYING, 0);
	r = run_steps(t, k, w, &apply, res, d);
	if (r < 0) {
		write_outcome(t, r, d);
		return r;
	}
	applier_channel_stage(l, APPLIER_VERIFYING, 0);
	r = applier_addresses_verify(w, t, k, &apply, &out, d);
	if (r < 0 && !apply) {
		note_rollback(&out, out.stuck ? r : 0, res, d);
		write_outcome(t, r, d);
		return r;
	}
	if (r == 0)
		r = check_answering_peers(t, k, w, &before, l, d);
	if (r >= 0) {
		struct unreachable peers = {
			.before = &before, .ctx = &w->ctx, .k = k, .any = r > 0};

		send_conflicts(l, w);
		r = wait_for_confirmation(t, l, &peers, res, d);
	}
	return r < 0 ? roll_back(t, l, apply, r, res, d) : commit(t, apply, res, d);
}

static int apply_or_recover(const struct applier_task *t, struct kernel *k,
			    struct applier_channel *l, struct applier_result *res, struct diag *d)
{
	PLENUM_CLEANUP(applier_addresses_done) struct applier_addresses w;
	int r = applier_addresses_init(&w, t);

	if (r < 0)
		return r;
	r = t->plan ? apply_plan(t, k, &w, l, res, d) : recover(t, k, res, d);
	l->conflicts = NULL; /* the conflicts are freed here */
	return r;
}

/* Runs the apply. Reports the end when the host no longer changes. */
int applier_work(const struct applier_task *t, int channel, int listener)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct applier_message m = {.type = APPLIER_RESULT};
	struct applier_result *res = &m.result;
	struct applier_channel line;
	struct kernel *k = NULL;

	applier_channel_open(&line, channel, listener, t->socket);
	if (t->plan && t->socket)
		systemd_scope_enter("plenum-apply");
	res->error = applier_open_kernel(t->host, &k);
	if (res->error == 0)
		prepare(k, t->plan);
	keep_net_admin();
	if (res->error < 0)
		diag_add(&d, DIAG_ERROR, NULL, NULL, "cannot open netlink: %s",
			 strerror(-res->error));
	else
		res->error = apply_or_recover(t, k, &line, res, &d);
	if (k) {
		res->n_writes = k->n_writes;
		applier_close_kernel(t->host, k);
	}
	send_diag(&line, &d);
	applier_channel_send(&line, &m);
	applier_channel_close(&line);
	return 0;
}
