/* SPDX-License-Identifier: BSD-3-Clause */
/* Applies the cluster's document when this host has a turn in a rollout, and decides whether the
 * result is good. */
#include "agent/monitor/rollout_host.h"
#include "agent/base/path.h"
#include "agent/cluster/rollout/rollout_note.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/hash.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LOOK_NS (2 * NSEC_PER_SEC)
#define JUDGE_NS (NSEC_PER_SEC / 2)
/* How often in a row the host must look well before the apply is confirmed. */
#define GOOD_LOOKS 4
/* Shortest time between the begins of two turns, because each turn writes to the state directory.
 */
#define TURN_PAUSE_NS (4 * NSEC_PER_SEC)
/* How often the agent may end before the apply has begun, until the attempt counts as failed. */
#define CUT_MAX 2

struct rollout_host {
	struct loop_source *timer;
	void (*on_problems)(void *user);
	char *path;
	struct rollout_note note;
	char *published;  /* the last report that the role `cluster` got; NULL: none */
	bool asked;	  /* this agent has requested the apply of the turn in note.now */
	bool refused;	  /* the requested apply has failed */
	uint64_t turn_ns; /* when the last turn began; 0: never */
	enum rollout_view view;
	unsigned good_looks;
	char why[CLUSTER_TEXT_MAX]; /* why the apply failed; "": unknown */
	/* The document in the files, read when the file has changed. */
	struct stat seen;
	char hash[ROLLOUT_HASH_MAX]; /* "": the file does not exist */
};

/* ---- the document in the files ---- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Returns the hash of the document in the files, or "" if the files have no document. */
static const char *hash_on_disk(struct agent *a)
{
	struct rollout_host *h = a->rollout_host;
	autofree char *text = NULL;
	struct stat st = {.st_ino = 0};

	if (stat(a->store.document_file, &st) < 0) {
		h->hash[0] = '\0';
		memset(&h->seen, 0, sizeof(h->seen));
	} else if (!h->hash[0] || !is_same_file(&st, &h->seen)) {
		h->hash[0] = '\0';
		if (store_read_document(&a->store, &text) >= 0)
			rollout_hash(text, strlen(text), h->hash);
		h->seen = st;
	}
	return h->hash;
}

/* Returns whether the file with the document differs from the document that the last rollout
 * brought. */
static bool has_drifted(struct agent *a)
{
	const struct rollout_note *n = &a->rollout_host->note;

	return n->number && !n->now.turn && strcmp(hash_on_disk(a), n->has.hash) != 0;
}

/* ---- reports ---- */

static bool follows(const struct agent *a)
{
	const struct spec *s = a->running.spec;

	return s && s->cluster.n_etcd && s->cluster.config == SPEC_CLUSTER_CONFIG_FOLLOW;
}

/* Returns whether the files on disk contain another configuration than the running one. */
static bool has_other_files(struct agent *a)
{
	const char *error, *disk = store_look(&a->store, &error);
	autofree char *runs = spec_to_yaml(a->running.spec);

	return !disk || !runs || strcmp(disk, runs) != 0;
}

/* Returns why this host cannot begin an apply, or NULL. A rollout must not apply changes that an
 * operator has made but not applied, and must not overwrite a file that was not written by a
 * rollout. */
static const char *why_busy(struct agent *a)
{
	const struct reconcile *rec = &a->reconcile;

	if (a->state != AGENT_RUNNING && a->state != AGENT_DEGRADED)
		return "the agent is starting or stopping";
	if (reconcile_is_active(a) || rec->queue.n_clients)
		return "an apply is running";
	if (rec->pending.applier)
		return "an apply waits for 'plenum confirm' or 'plenum rollback'";
	if (store_has_staged(&a->store) || a->store.prepared)
		return "changes are staged: 'plenum apply' or 'plenum restore'";
	if (rec->queue.edited_files || problems_count(&a->problems, PROBLEMS_FILES))
		return "the configuration files could not be applied, see 'plenum status'";
	if (!a->rollout_host->note.number && *hash_on_disk(a))
		return "plenum.d/" STORE_DOCUMENT_FILE
		       " exists, but no rollout has written it: rename it, then 'plenum apply'";
	if (has_other_files(a))
		return "the configuration files have changed and are not applied: 'plenum apply'";
	return NULL;
}

static void publish(struct agent *a)
{
	struct rollout_host *h = a->rollout_host;
	const struct rollout_note *n = &h->note;
	const char *busy = n->now.turn ? NULL : why_busy(a);
	struct rollout_self s = {.follows = follows(a),
				 .ready = !busy && !n->now.turn,
				 .has = n->has,
				 .number = n->number,
				 .lineage = n->lineage,
				 .drifted = has_drifted(a),
				 .failed_number = n->failed_number,
				 .failed_attempt = n->failed_attempt,
				 .turn = n->now.turn ? n->now.turn : n->turn,
				 .result = n->now.turn ? ROLLOUT_NO_RESULT : n->result};
	char *text;

	snprintf(s.busy, sizeof(s.busy), "%s", busy ? busy : "");
	snprintf(s.host, sizeof(s.host), "%s", a->running.spec->host);
	memcpy(s.id, a->servers.id, sizeof(s.id));
	if (!n->now.turn)
		memcpy(s.why, n->why, sizeof(s.why));
	text = rollout_self_format(&s);
	if (!text || (h->published && strcmp(text, h->published) == 0)) {
		free(text);
		return;
	}
	free(h->published);
	h->published = text;
	cluster_publish(a->cluster, PRIVSEP_CLUSTER_SELF, text);
	h->on_problems(a);
}

void rollout_host_problems(const struct agent *a, json_t *list)
{
	const struct rollout_host *h = a->rollout_host;

	if (!h || !follows(a))
		return;
	if (has_drifted((struct agent *)a))
		json_array_append_new(
			list,
			json_sprintf(
				"cluster-config-edited: %s is not the file that rollout %" PRIu64
				" brought (generation %" PRIu64
				" of the cluster's document); move other values to plenum.yaml, "
				"then 'plenum rollout start' brings the document again",
				a->store.document_file, h->note.number, h->note.has.generation));
	if (h->view == ROLLOUT_VIEW_OLDER)
		json_array_append_new(
			list, json_sprintf("cluster-config-restored: the record of the rollout in "
					   "etcd is older than rollout %" PRIu64
					   ", which this host has: etcd was restored from a "
					   "backup; check 'plenum document show', then 'plenum "
					   "rollout start'",
					   h->note.number));
	if (h->note.result == ROLLOUT_FAILED && !h->note.now.turn &&
	    (h->view == ROLLOUT_VIEW_RESUME || h->view == ROLLOUT_VIEW_START))
		json_array_append_new(
			list, json_sprintf("cluster-config-failed: the cluster's document of "
					   "rollout %" PRIu64
					   " was not applied: %s; the former configuration runs; "
					   "correct the cause, then 'plenum rollout %s'",
					   h->note.failed_number, h->note.why,
					   h->view == ROLLOUT_VIEW_RESUME ? "resume" : "start"));
}

void rollout_host_on_view(struct agent *a, uint32_t view)
{
	struct rollout_host *h = a->rollout_host;

	if (!h || h->view == (enum rollout_view)view)
		return;
	h->view = (enum rollout_view)view;
	h->on_problems(a);
}

static int save(struct agent *a)
{
	struct rollout_host *h = a->rollout_host;
	int r = rollout_note_save(&h->note, h->path);

	if (r < 0)
		events_add(&a->events, LOG_LEVEL_ERR, "rollout", "cannot write %s: %s", h->path,
			   state_file_error(r));
	return r;
}

/* Ends the turn. Removes characters from the reason that the records of the store must not contain.
 */
static void end_turn(struct agent *a, const struct rollout_turn *t, enum rollout_result result,
		     const char *why)
{
	struct rollout_host *h = a->rollout_host;
	struct rollout_note *n = &h->note;
	const struct rollout_turn turn = *t;

	n->now.turn = 0;
	n->turn = turn.turn;
	n->result = result;
	snprintf(n->why, sizeof(n->why), "%s", why);
	for (char *c = n->why; *c; c++)
		*c = *c == '"' ? '\'' : *c < ' ' || *c > '~' || *c == '\\' ? '?' : *c;
	if (result == ROLLOUT_DONE) {
		n->has = turn.version;
		n->number = turn.number;
		n->lineage = turn.lineage;
		n->now.n_cut = 0;
	} else if (result == ROLLOUT_FAILED) {
		n->failed_number = turn.number;
		n->failed_attempt = turn.attempt;
	}
	h->asked = false;
	h->why[0] = '\0';
	if (result != ROLLOUT_BUSY || n->now.n_cut)
		(void)save(a); /* the failure was reported, and the result is still in memory */
	if (result != ROLLOUT_BUSY)
		events_add(&a->events, result == ROLLOUT_DONE ? LOG_LEVEL_NOTICE : LOG_LEVEL_ERR,
			   "rollout",
			   "rollout %" PRIu64 ": generation %" PRIu64
			   " of the cluster's document %s%s",
			   turn.number, turn.version.generation,
			   result == ROLLOUT_DONE ? "is in force" : "was not applied: ", n->why);
	publish(a);
}

/* ---- the judgement ---- */

static uint64_t count_unusable(const struct agent *a)
{
	uint64_t n = 0;

	for (size_t i = 0; a->running.plan && i < a->running.plan->n_legs; i++)
		n += a->running.plan->legs[i].state != PLAN_LEG_USABLE &&
		     a->running.plan->legs[i].state != PLAN_LEG_DISABLED;
	return n;
}

/* The kinds of problems that a document can cause. Other problems, such as an etcd that does not
 * answer, do not lead to a rollback. */
static const enum problems_kind judged[] = {PROBLEMS_HOST, PROBLEMS_LEGS, PROBLEMS_QUEUES,
					    PROBLEMS_WORKERS};

/* Hashes the text of a problem without the numbers after spaces, because counters and times in it
 * change all the time. */
static uint64_t hash_problem(const char *text)
{
	static const uint64_t key[2] = {0x706c656e756d2d70, 0x726f626c656d2d31};
	char buf[CLUSTER_TEXT_MAX];
	size_t n = 0;

	for (; *text && n < sizeof(buf); text++) {
		buf[n++] = *text;
		if (*text == ' ')
			text += strspn(text + 1, "0123456789.");
	}
	return hash_keyed(key, buf, n) & INT64_MAX;
}

/* Stores hashes of the problems that exist before the apply. */
static void note_problems(const struct agent *a, struct rollout_turn *t)
{
	t->n_problems = 0;
	for (size_t k = 0; k < ARRAY_SIZE(judged); k++)
		for (size_t i = 0; i < a->problems.of[judged[k]].n; i++)
			if (t->n_problems < ROLLOUT_PROBLEMS_MAX)
				t->problems[t->n_problems++] =
					hash_problem(a->problems.of[judged[k]].texts[i]);
}

static bool had_problem(const struct rollout_turn *t, const char *text)
{
	const uint64_t hash = hash_problem(text);

	for (uint64_t i = 0; i < t->n_problems; i++)
		if (t->problems[i] == hash)
			return true;
	/* The list was full, so some earlier problems are unknown. Count no problem as new. */
	return t->n_problems == ROLLOUT_PROBLEMS_MAX;
}

/* Returns the first problem that did not exist before the apply, or NULL. */
static const char *new_problem(const struct agent *a, const struct rollout_turn *t)
{
	for (size_t k = 0; k < ARRAY_SIZE(judged); k++)
		for (size_t i = 0; i < a->problems.of[judged[k]].n; i++)
			if (!had_problem(t, a->problems.of[judged[k]].texts[i]))
				return a->problems.of[judged[k]].texts[i];
	return NULL;
}

static const char *describe_by(const struct rollout_turn *t, char buf[REQUESTER_MAX])
{
	snprintf(buf, REQUESTER_MAX, "rollout %" PRIu64 ", turn %" PRIu64, t->number, t->turn);
	return buf;
}

/* Returns whether the host has no new fault since the apply began. Does not check the peers,
 * because the confirmation does. */
static bool is_well(struct agent *a)
{
	struct rollout_host *h = a->rollout_host;
	const struct rollout_turn *t = &h->note.now;
	const uint64_t unusable = count_unusable(a);
	const char *problem;

	agent_check_health(a);
	problem = new_problem(a, t);
	if (problem)
		snprintf(h->why, sizeof(h->why), "%.*s", CLUSTER_TEXT_MAX - 1, problem);
	else if (unusable > t->unusable)
		snprintf(h->why, sizeof(h->why),
			 "%" PRIu64 " of %" PRIu64 " legs are not usable; %" PRIu64
			 " were not before the apply",
			 unusable, (uint64_t)a->running.plan->n_legs, t->unusable);
	else if (!a->converged)
		snprintf(h->why, sizeof(h->why), "not all workers have come up");
	else
		h->why[0] = '\0';
	return !h->why[0];
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void first_error(const struct diag *d, int r, char *buf, size_t size)
{
	const struct diag_entry *e = diag_first_error(d);

	if (!e)
		snprintf(buf, size, "%s", strerror(-r));
	else if (e->file)
		snprintf(buf, size, "%s:%u: %s%s%.150s", base_name(e->file), e->line,
			 e->path ? e->path : "", e->path ? ": " : "", e->text);
	else
		snprintf(buf, size, "%.300s", e->text);
}

/* Confirms the pending apply when the host has looked well several times in a row. */
static void judge(struct agent *a)
{
	struct rollout_host *h = a->rollout_host;
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	char by[REQUESTER_MAX];
	int r;

	h->good_looks = is_well(a) ? h->good_looks + 1 : 0;
	if (h->good_looks < GOOD_LOOKS || a->reconcile.pending.client)
		return;
	r = reconcile_pending_check_files(a, &d);
	if (r < 0) {
		first_error(&d, r, h->why, sizeof(h->why));
		h->good_looks = 0;
		return;
	}
	r = reconcile_pending_decide(a, true, ROLLOUT_CLIENT, describe_by(&h->note.now, by));
	if (r == -EHOSTUNREACH)
		snprintf(h->why, sizeof(h->why), "%.*s", CLUSTER_TEXT_MAX - 1,
			 a->reconcile.reachability.lost);
	if (r < 0)
		h->good_looks = 0;
}

/* Returns the entry of this turn's apply in the history, or NULL if the apply has not begun. */
static const struct history_entry *find_entry(const struct agent *a)
{
	const struct history *hist = &a->reconcile.records.history;
	char by[REQUESTER_MAX];

	describe_by(&a->rollout_host->note.now, by);
	for (size_t i = hist->n; i-- > 0;)
		if (strcmp(hist->entries[i].by, by) == 0)
			return &hist->entries[i];
	return NULL;
}

/* Discards the staged document of an apply that has ended. */
static void drop_staged(struct agent *a)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;

	if (!store_has_staged_document(&a->store))
		return;
	(void)store_drop_staged(&a->store, &d); /* the next look retries it */
	reconcile_forget_staged(a);
}

/* Finds out the result of the apply from the configuration files, because the next start of the
 * agent applies these. */
static void conclude(struct agent *a)
{
	struct rollout_host *h = a->rollout_host;
	struct rollout_turn *t = &h->note.now;
	const struct history_entry *e = find_entry(a);
	const bool kept = strcmp(hash_on_disk(a), t->version.hash) == 0;
	char why[2 * CLUSTER_TEXT_MAX];

	drop_staged(a);
	if (kept && !h->refused) {
		end_turn(a, t, ROLLOUT_DONE, "");
	} else if (!h->asked && !e && ++t->n_cut < CUT_MAX) {
		end_turn(a, t, ROLLOUT_BUSY, "the agent ended before the apply had begun");
	} else {
		snprintf(why, sizeof(why), "%s%s%s", h->why[0] ? h->why : "",
			 h->why[0] && e && e->text[0] ? "; " : "",
			 e && e->text[0] ? e->text
			 : h->why[0]	 ? ""
					 : "the agent ended during the apply");
		why[CLUSTER_TEXT_MAX - 1] = '\0';
		end_turn(a, t, ROLLOUT_FAILED, why);
	}
}

static int on_timer(void *user)
{
	struct agent *a = user;
	struct rollout_host *h = a->rollout_host;
	const struct reconcile *rec = &a->reconcile;
	const bool in_turn = h->note.now.turn;

	if (!a->running.spec || a->state == AGENT_STOPPING)
		return 0;
	if (in_turn && rec->pending.applier && !reconcile_is_active(a)) {
		char by[REQUESTER_MAX];

		if (strcmp(rec->pending.by, describe_by(&h->note.now, by)) == 0)
			judge(a);
	} else if (in_turn && !reconcile_is_active(a) && !rec->queue.last_good_pending &&
		   rec->queue.n_clients == 0) {
		conclude(a);
	}
	publish(a);
	/* A host that no longer follows the document only completes a turn that it has begun. */
	return follows(a) || h->note.now.turn
		       ? loop_timer_arm(h->timer, h->note.now.turn ? JUDGE_NS : LOOK_NS)
		       : 0;
}

/* ---- turns ---- */

/* Stages the document and requests its apply. */
static void apply(struct agent *a, const char *text)
{
	struct rollout_host *h = a->rollout_host;
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct reconcile_client client = {.id = ROLLOUT_CLIENT, .confirm_s = ROLLOUT_CONFIRM_S};
	char why[CLUSTER_TEXT_MAX];
	int r = save(a); /* save the turn before the apply, so that the next agent finds it if this
			    agent is killed */

	if (r < 0) {
		end_turn(a, &h->note.now, ROLLOUT_FAILED,
			 "the host cannot write its state directory");
		return;
	}
	r = store_put_document(&a->store, text, &d);
	if (r < 0) {
		first_error(&d, r, why, sizeof(why));
		end_turn(a, &h->note.now, ROLLOUT_FAILED, why);
		return;
	}
	describe_by(&h->note.now, client.by);
	h->asked = true;
	h->refused = false;
	h->good_looks = 0;
	events_add(&a->events, LOG_LEVEL_NOTICE, "rollout",
		   "rollout %" PRIu64 " applies generation %" PRIu64 " of the cluster's document",
		   h->note.now.number, h->note.now.version.generation);
	reconcile_ask_client(a, &client);
	loop_timer_arm(h->timer, JUDGE_NS);
}

static bool is_same_turn(const struct rollout_note *n, uint64_t turn)
{
	return turn == (n->now.turn ? n->now.turn : n->turn);
}

void rollout_host_on_turn(struct agent *a, const struct privsep_cluster_turn *t, int fd)
{
	struct rollout_host *h = a->rollout_host;
	struct rollout_turn turn = {.number = t->number,
				    .lineage = t->lineage,
				    .attempt = t->attempt,
				    .turn = t->turn,
				    .version.generation = t->generation};
	char hash[ROLLOUT_HASH_MAX];
	autofree char *text = NULL;

	if (!h || !a->running.spec || h->note.now.turn || is_same_turn(&h->note, t->turn))
		return;
	if (h->turn_ns && clock_now_ns() - h->turn_ns < TURN_PAUSE_NS)
		return; /* too early; the role's process sends the turn again */
	h->turn_ns = clock_now_ns();
	memcpy(turn.version.hash, t->hash, sizeof(turn.version.hash));
	if (!follows(a) || why_busy(a)) {
		end_turn(a, &turn, ROLLOUT_BUSY, "");
		return;
	}
	if (privsep_read_memfd(fd, t->len, &text) < 0)
		return;
	rollout_hash(text, strlen(text), hash);
	if (strlen(text) != t->len || strcmp(hash, t->hash) != 0) {
		end_turn(a, &turn, ROLLOUT_FAILED,
			 "the document that this host has read differs from the announced one");
		return;
	}
	turn.n_cut = h->note.now.number == t->number && h->note.now.attempt == t->attempt
			     ? h->note.now.n_cut
			     : 0;
	h->note.now = turn;
	h->on_problems(a); /* the problem that an earlier turn left has ended */
	agent_check_health(a);
	h->note.now.unusable = count_unusable(a);
	note_problems(a, &h->note.now);
	apply(a, text);
	publish(a);
}

bool rollout_host_on_applied(struct agent *a, const struct reconcile_client *c,
			     const struct reconcile_answer *answer)
{
	struct rollout_host *h = a->rollout_host;

	if (c->id != ROLLOUT_CLIENT)
		return false;
	/* Do not handle the result here, because the staged document cannot be discarded during the
	 * run. The next look handles it. */
	h->refused = answer->error < 0;
	if (h->refused)
		first_error(answer->diag, answer->error, h->why, sizeof(h->why));
	return true;
}

bool rollout_host_on_decided(const struct reconcile_decision *d)
{
	return d->client == ROLLOUT_CLIENT;
}

void rollout_host_take_spec(struct agent *a)
{
	if (a->rollout_host && !loop_timer_armed(a->rollout_host->timer))
		loop_timer_arm(a->rollout_host->timer, NSEC_PER_SEC / 2);
}

/* ---- lifetime ---- */

int rollout_host_init(struct agent *a, void (*on_problems)(void *user))
{
	struct rollout_host *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	a->rollout_host = h;
	h->on_problems = on_problems;
	h->path = path_join(a->rundir.state, ROLLOUT_NOTE_FILE);
	r = h->path ? loop_add_timer(a->loop, NSEC_PER_MSEC, on_timer, a, &h->timer) : -ENOMEM;
	if (r < 0)
		return r;
	r = rollout_note_load(&h->note, h->path);
	if (r < 0)
		log_warning("cannot read %s (%s): this host does not know which document of the "
			    "cluster it has",
			    h->path, state_file_error(r));
	return 0;
}

void rollout_host_done(struct agent *a)
{
	struct rollout_host *h = a->rollout_host;

	if (!h)
		return;
	loop_source_free(h->timer);
	free(h->published);
	free(h->path);
	free(ptr_take(a->rollout_host));
}
