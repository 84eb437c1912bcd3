/* SPDX-License-Identifier: BSD-3-Clause */
/* Both sides of the applier: what its process does, and what the monitor hears of it. */
#include "agent/applier.h"
#include "agent/applier_addresses.h"
#include "agent/job.h"
#include "netcfg/base/log.h"
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* How often a recovery is begun that is killed itself. */
#define RECOVERIES_MAX 3

struct applier {
	struct applier_task task; /* of what it points to only loop, host and journal */
	struct job *job;
	enum applier_stage stage;
	unsigned n_recoveries; /* begun after it was killed */
	bool has_result;
	struct applier_result result;
	struct diag diag;
	struct plan_conflicts conflicts;
};

enum message_type { MESSAGE_STAGE, MESSAGE_DIAG, MESSAGE_CONFLICT, MESSAGE_RESULT };

struct message {
	enum message_type type;
	union {
		enum applier_stage stage;
		struct applier_result result;
		struct plan_conflict conflict;
		struct {
			enum diag_severity severity;
			unsigned line, column;
			char file[256], path[128], text[768]; /* file, path: "" for none */
		} diag;
	};
};

const char *applier_stage_to_string(enum applier_stage s)
{
	static const char *const names[APPLIER_STAGE_MAX] = {"recovering", "applying", "verifying",
							     "rolling back"};

	return s < APPLIER_STAGE_MAX ? names[s] : "?";
}

int applier_open_kernel(const struct applier_host *host, struct kernel **ret)
{
	return host->open ? host->open(host->user, ret) : kernel_linux_new(ret);
}

void applier_close_kernel(const struct applier_host *host, struct kernel *k)
{
	if (host->close)
		host->close(host->user, k);
	else
		kernel_free(k);
}

/* ---- in the applier's process ---- */

/* Modules are loaded while we may. */
static void prepare(struct kernel *k, const struct plan *p)
{
	for (size_t i = 0; p && k->ops->prepare && i < p->n_steps; i++)
		k->ops->prepare(k, &p->steps[i].change);
}

/* Netlink and /proc/sys/net want CAP_NET_ADMIN; the journal and sysfs are root's own files. Where
 * something forbids giving up the rest it is kept: not applying would be worse. */
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
	/* EINVAL ends the list of those that the kernel knows. */
	for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capset, &head, caps) < 0)
		log_debug("the applier keeps its privileges: %s", strerror(errno));
}

static void say_stage(int channel, enum applier_stage stage)
{
	const struct message m = {.type = MESSAGE_STAGE, .stage = stage};

	job_mention(channel, &m, sizeof(m));
}

static void say_diag(int channel, const struct diag *d)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct diag_entry *e = &d->entries[i];
		struct message m = {.type = MESSAGE_DIAG};

		m.diag.severity = e->severity;
		m.diag.line = e->line;
		m.diag.column = e->column;
		snprintf(m.diag.file, sizeof(m.diag.file), "%s", e->file ? e->file : "");
		snprintf(m.diag.path, sizeof(m.diag.path), "%s", e->path ? e->path : "");
		snprintf(m.diag.text, sizeof(m.diag.text), "%s", e->text ? e->text : "");
		job_send(channel, &m, sizeof(m), -1);
	}
}

static void note_rollback(const struct apply_outcome *out, int r, struct applier_result *res,
			  struct diag *d)
{
	res->n_rolled_back += out->n_rolled_back;
	if (r < 0) {
		res->stuck = true;
		diag_add(d, DIAG_ERROR, NULL, NULL,
			 "what was applied cannot be rolled back: %s; the host is between the two",
			 out->why[0] ? out->why : strerror(-r));
	} else {
		diag_add(d, DIAG_ERROR, NULL, NULL, "all %zu steps were rolled back",
			 out->n_rolled_back);
	}
}

/* -EBUSY is no error of the journal: its writer lives, and rolls back itself if need be. */
static int recover(const struct applier_task *t, struct kernel *k, struct applier_result *res,
		   struct diag *d)
{
	struct apply_outcome out = {0};
	int r = apply_recover(k, t->journal, &out);

	res->n_rolled_back += out.n_rolled_back;
	if (out.n_rolled_back > 0)
		diag_add(d, DIAG_WARNING, NULL, NULL,
			 "%zu steps of an apply that was interrupted were rolled back",
			 out.n_rolled_back);
	if (r < 0 && r != -EBUSY) {
		res->stuck = true;
		diag_add(d, DIAG_ERROR, NULL, NULL,
			 "an interrupted apply cannot be rolled back: %s",
			 out.why[0] ? out.why : strerror(-r));
	} else if (r == 0 && out.why[0]) {
		diag_add(d, DIAG_WARNING, NULL, NULL, "%s", out.why);
	}
	return r;
}

static int run_steps(const struct applier_task *t, struct kernel *k, struct applier_addresses *w,
		     struct apply **ret, struct applier_result *res, struct diag *d)
{
	struct apply_outcome out = {0};
	int r = apply_run_links(k, t->plan, t->journal, ret, &out);

	if (r == -EEXIST) { /* a rollback that failed has left it: that comes before anything new */
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
	diag_add(d, DIAG_ERROR, NULL, NULL, "apply failed: %s; %zu of %zu steps rolled back%s",
		 out.why[0] ? out.why : strerror(-r), out.n_rolled_back, out.n_done,
		 out.stuck ? ", and the rollback failed too: the host is between the two" : "");
	return r;
}

/* Between verification and commit is where a confirmation will be waited for. */
static int apply_plan(const struct applier_task *t, struct kernel *k, struct applier_addresses *w,
		      int channel, struct applier_result *res, struct diag *d)
{
	struct apply_outcome out = {0};
	struct apply *apply = NULL;
	int r;

	say_stage(channel, APPLIER_APPLYING);
	r = run_steps(t, k, w, &apply, res, d);
	if (r < 0)
		return r;
	say_stage(channel, APPLIER_VERIFYING);
	r = applier_addresses_verify(w, t, k, &apply, &out, d);
	if (r < 0 && !apply) {
		note_rollback(&out, out.stuck ? r : 0, res, d);
		return r;
	}
	if (r < 0) {
		int undone;

		say_stage(channel, APPLIER_ROLLING_BACK);
		undone = apply_rollback(apply, &out);
		note_rollback(&out, undone, res, d);
		return r;
	}
	r = apply_commit(apply, &out);
	if (r < 0) {
		res->n_rolled_back = out.n_rolled_back;
		res->stuck = out.stuck;
		diag_add(d, DIAG_ERROR, NULL, NULL, "%s", out.why[0] ? out.why : strerror(-r));
	} else if (out.why[0]) {
		diag_add(d, DIAG_WARNING, NULL, NULL, "%s", out.why);
	}
	return r;
}

static int apply_or_recover(const struct applier_task *t, struct kernel *k, int channel,
			    struct applier_result *res, struct diag *d)
{
	PLENUM_CLEANUP(applier_addresses_done) struct applier_addresses w;
	int r = applier_addresses_init(&w, t);

	if (r < 0)
		return r;
	r = t->plan ? apply_plan(t, k, &w, channel, res, d) : recover(t, k, res, d);
	for (size_t i = w.n_known; r == 0 && i < w.conflicts.n; i++) {
		const struct message m = {.type = MESSAGE_CONFLICT,
					  .conflict = w.conflicts.entries[i]};

		job_send(channel, &m, sizeof(m), -1);
	}
	return r;
}

/* The end is said last, when the host is as it stays. */
static int work(void *user, int channel)
{
	const struct applier_task *t = &((struct applier *)user)->task;
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct message m = {.type = MESSAGE_RESULT};
	struct applier_result *res = &m.result;
	struct kernel *k = NULL;

	res->error = applier_open_kernel(t->host, &k);
	if (res->error == 0)
		prepare(k, t->plan);
	keep_net_admin();
	if (res->error < 0)
		diag_add(&d, DIAG_ERROR, NULL, NULL, "the kernel cannot be spoken to: %s",
			 strerror(-res->error));
	else
		res->error = apply_or_recover(t, k, channel, res, &d);
	if (k) {
		res->n_writes = k->n_writes;
		applier_close_kernel(t->host, k);
	}
	say_diag(channel, &d);
	job_send(channel, &m, sizeof(m), -1);
	return 0;
}

/* ---- in the monitor ---- */

static void take_diag(struct applier *ap, struct message *m)
{
	struct diag_pos pos = {m->diag.file, m->diag.line, m->diag.column};

	m->diag.file[sizeof(m->diag.file) - 1] = '\0';
	m->diag.path[sizeof(m->diag.path) - 1] = '\0';
	m->diag.text[sizeof(m->diag.text) - 1] = '\0';
	diag_add(&ap->diag, m->diag.severity, m->diag.file[0] ? &pos : NULL,
		 m->diag.path[0] ? m->diag.path : NULL, "%s", m->diag.text);
}

static void on_message(void *user, const void *msg, size_t len, int fd)
{
	struct applier *ap = user;
	struct message m;

	if (len != sizeof(m))
		return;
	memcpy(&m, msg, sizeof(m));
	switch (m.type) {
	case MESSAGE_STAGE:
		ap->stage = m.stage;
		break;
	case MESSAGE_DIAG:
		take_diag(ap, &m);
		break;
	case MESSAGE_CONFLICT:
		if (plan_conflicts_add(&ap->conflicts, &m.conflict) < 0)
			ap->diag.out_of_memory = true;
		break;
	case MESSAGE_RESULT:
		if (ap->n_recoveries > 0 && m.result.error == 0)
			m.result.error = -EINTR; /* recovered, but what was asked for is not done */
		m.result.n_writes += ap->result.n_writes;
		ap->result = m.result;
		ap->has_result = true;
		break;
	}
}

static int start_job(struct applier *ap);

/* It was killed. Its journal is rolled back, and only then is there an end to report. */
static bool begin_recovery(struct applier *ap, const char *how)
{
	int r;

	if (ap->n_recoveries == 0)
		diag_add(&ap->diag, DIAG_ERROR, NULL, NULL, "the applier ended: %s", how);
	ap->task.spec = NULL;
	ap->task.plan = NULL;
	ap->stage = APPLIER_RECOVERING;
	ap->result = (struct applier_result){.error = -EINTR, .stuck = true};
	if (ap->n_recoveries++ == RECOVERIES_MAX) {
		diag_add(&ap->diag, DIAG_ERROR, NULL, NULL,
			 "rolling back what it did ended %d times: %s; the next apply tries again",
			 RECOVERIES_MAX, how);
		return false;
	}
	r = start_job(ap);
	if (r < 0)
		diag_add(&ap->diag, DIAG_ERROR, NULL, NULL,
			 "what it did cannot be rolled back: %s; the next apply tries again",
			 strerror(-r));
	return r >= 0;
}

static struct applier *applier_free(struct applier *ap)
{
	if (!ap)
		return NULL;
	job_forget(ap->job);
	diag_done(&ap->diag);
	plan_conflicts_done(&ap->conflicts);
	free(ap);
	return NULL;
}

static void on_end(void *user, int status, const char *how)
{
	struct applier *ap = user;

	ap->job = NULL; /* it has freed itself */
	if (!ap->has_result && begin_recovery(ap, how))
		return;
	ap->result.conflicts = &ap->conflicts;
	ap->task.on_end(ap->task.user, &ap->result, &ap->diag);
	applier_free(ap);
}

static int start_job(struct applier *ap)
{
	const struct job_setup setup = {.loop = ap->task.loop,
					.name = "plenumd-applier",
					.work = work,
					.on_message = on_message,
					.on_end = on_end,
					.user = ap};

	return job_start(&setup, &ap->job);
}

int applier_start(const struct applier_task *task, struct applier **ret)
{
	struct applier *ap = calloc(1, sizeof(*ap));
	int r;

	_Static_assert(sizeof(struct message) <= JOB_MESSAGE_MAX, "a message is one piece");
	if (!ap)
		return -ENOMEM;
	ap->task = *task;
	ap->stage = task->plan ? APPLIER_APPLYING : APPLIER_RECOVERING;
	r = start_job(ap);
	if (r < 0) {
		free(ap);
		return r;
	}
	*ret = ap;
	return 0;
}

struct applier *applier_forget(struct applier *ap)
{
	return applier_free(ap);
}

enum applier_stage applier_stage(const struct applier *ap)
{
	return ap->stage;
}

pid_t applier_pid(const struct applier *ap)
{
	return ap->job ? job_pid(ap->job) : 0;
}
