/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of the reconcile in the state and run directories: the last good configuration, the
 * configuration that the last rollback undid, worker ids, and transports that failed since the host
 * booted. Decides which files a kept apply writes, and whether a configuration in the files is
 * applied again.
 */
#include "agent/reconcile/reconcile_records.h"
#include "agent/agent.h"
#include "agent/apply/apply_records.h"
#include "agent/base/path.h"
#include "agent/reconcile/reconcile_choice.h"
#include "agent/reconcile/reconcile_last_good.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/state_file.h"
#include <stdio.h>
#include <string.h>

/* ---- rolled-back configurations ---- */

/* Records a configuration that must not be applied again without a request, with the reason. */
static void refused_write(struct agent *a, const char *why, const struct spec *spec)
{
	autofree char *yaml = spec ? spec_to_yaml(spec) : NULL;

	if (!yaml || apply_refused_save(a->reconcile.records.refused_path, why, yaml) < 0)
		events_add(&a->events, LOG_LEVEL_WARNING, "agent",
			   "cannot write %s: the next start may retry the configuration that was "
			   "rolled back",
			   a->reconcile.records.refused_path);
}

static void forget_refused(struct agent *a)
{
	const char *path = a->reconcile.records.refused_path;
	int r = apply_refused_remove(path);

	if (r < 0)
		log_warning("cannot remove %s: %s", path, strerror(-r));
}

bool reconcile_is_refused(struct agent *a, const struct spec *spec, struct reason *why)
{
	const char *path = a->reconcile.records.refused_path;
	autofree char *refused = NULL, *yaml = NULL;
	struct reason was;
	int r = apply_refused_load(path, &was, &refused);

	if (r < 0 && r != STATE_MISSING)
		log_warning("cannot read %s (%s): a configuration that was rolled back may be "
			    "retried",
			    path, state_file_error(r));
	if (r < 0)
		return false;
	yaml = spec_to_yaml(spec);
	if (yaml && strcmp(yaml, refused) == 0) {
		*why = was;
		return true;
	}
	forget_refused(a); /* the files have changed since */
	return false;
}

static bool is_last_good(struct agent *a, const struct spec *spec)
{
	PLENUM_CLEANUP(diag_done) struct diag ignored = DIAG_INIT;
	autofree char *yaml = spec_to_yaml(spec), *last = NULL;
	struct spec *s = NULL;

	if (reconcile_has_last_good(&a->reconcile) &&
	    reconcile_last_good_load(a, &ignored, &s) >= 0)
		last = spec_to_yaml(s);
	spec_free(s);
	return yaml && last && strcmp(yaml, last) == 0;
}

void reconcile_note_refused(struct agent *a, enum reconcile_source source, uint64_t entry,
			    const char *why, const struct spec *spec)
{
	const struct history_entry *e = history_find(&a->reconcile.records.history, entry);
	char text[RECONCILE_REFUSED_MAX], cause[128];

	reason_copy_text(cause, sizeof(cause), why);
	snprintf(text, sizeof(text),
		 "apply %" PRIu64 " (%s, by %s) was rolled back: %s; 'plenum plan' shows its "
		 "steps, 'plenum apply' retries it",
		 entry, e ? e->what : "?", e ? e->by : "?", cause);
	events_add(&a->events, LOG_LEVEL_ERR, "agent", "%s", text);
	if (spec && is_last_good(a, spec))
		/* The configuration that failed equals the last good configuration, which runs
		 * again, so it is not remembered as refused. */
		return;
	if (source == RECONCILE_FROM_FILES) {
		refused_write(a, text, spec);
		problems_set(&a->problems, PROBLEMS_FILES, text, NULL);
	} else if (source == RECONCILE_FROM_STAGED) {
		problems_set(&a->problems, PROBLEMS_STAGED, text, NULL);
	}
}

/* Reports that the files differ from the running configuration, because an operator returned to an
 * earlier configuration. */
static void note_older_config(struct agent *a, uint64_t entry)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	const struct history_entry *e = history_find(&a->reconcile.records.history, entry);
	struct store_source from = store_disk(&a->store);
	autofree char *files = NULL, *now = spec_to_yaml(a->running.spec);
	char text[RECONCILE_REFUSED_MAX];
	struct spec *spec = NULL;

	forget_refused(a);
	problems_clear(&a->problems, PROBLEMS_FILES);
	if (spec_load(from.file, from.dropin_dir, &d, &spec) >= 0)
		files = spec_to_yaml(spec);
	if (files && now && strcmp(files, now) != 0) {
		snprintf(text, sizeof(text),
			 "the running configuration differs from the files since apply %" PRIu64
			 " (%s, by %s); 'plenum plan' shows the difference, 'plenum apply' returns "
			 "to the files",
			 entry, e ? e->what : "?", e ? e->by : "?");
		refused_write(a, text, spec);
		problems_set(&a->problems, PROBLEMS_FILES, text, NULL);
	}
	spec_free(spec);
}

/* ---- keeping a configuration ---- */

/* Commits the staged configuration to the files. If that fails, the configuration runs
 * nevertheless. The failure becomes a problem, because the next start would read the previous
 * files. */
static int commit_staged(struct agent *a, struct diag *d)
{
	int r = a->store.prepared ? 0 : store_prepare(&a->store, d);
	json_t *list;

	if (r >= 0)
		r = store_commit(&a->store, d);
	if (r >= 0)
		return 0;
	if (r == -ESTALE)
		diag_add(d, DIAG_ERROR, NULL, NULL,
			 "the configuration runs, but was not written and stays staged, because "
			 "the files were edited meanwhile; a restart would read the edited files. "
			 "'plenum apply' overwrites these files (and keeps copies with a ~); "
			 "'plenum restore' and then 'plenum apply' use the edited files instead");
	else
		diag_add(d, DIAG_ERROR, NULL, NULL,
			 "the configuration runs, but cannot be written to %s: %s; a restart would "
			 "read the previous configuration. Fix the cause, then 'plenum apply' "
			 "writes the files",
			 a->store.file, strerror(-r));
	list = store_diag_to_json(&a->store, d);
	problems_set(&a->problems, PROBLEMS_STAGED, NULL, list);
	json_decref(list);
	return r;
}

int reconcile_keep_config(struct agent *a, enum reconcile_source source, uint64_t entry,
			  struct diag *d)
{
	struct reconcile *rec = &a->reconcile;

	reconcile_last_good_save(a);
	if (source == RECONCILE_FROM_HISTORY) {
		note_older_config(a, entry);
		return 0;
	}
	problems_clear(&a->problems, PROBLEMS_FILES);
	forget_refused(a);
	rec->pacing.files = (struct reconcile_pace){.pause_ns = RECONCILE_NEWS_NS};
	rec->pacing.retry_files = false;
	if (source != RECONCILE_FROM_STAGED)
		return 0;
	problems_clear(&a->problems, PROBLEMS_STAGED);
	return commit_staged(a, d);
}

/* ---- worker ids and failed transports ---- */

/* Reports a failure as an event, because without this record the next start may assign other ids to
 * the workers. */
void reconcile_save_worker_ids(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	int r = plan_worker_ids_save(&rec->inputs.worker_ids, rec->records.worker_ids_path,
				     a->running.plan);

	reconcile_choice_keep(a);
	if (r < 0)
		events_add(&a->events, LOG_LEVEL_WARNING, "agent",
			   "cannot write %s: %s; after a restart workers may get other ids and "
			   "addresses",
			   rec->records.worker_ids_path, strerror(-r));
}

void reconcile_keep_attempts(struct agent *a)
{
	int r = plan_failures_save(&a->failures, a->reconcile.records.attempts_path);

	if (r < 0)
		log_warning("cannot write %s: %s; the next agent will retry transports that failed "
			    "in this boot",
			    a->reconcile.records.attempts_path, strerror(-r));
}

static void load_attempts(struct agent *a)
{
	int r = plan_failures_load(&a->failures, a->reconcile.records.attempts_path);

	if (r < 0)
		log_warning("cannot read the record %s (%s); transports that failed in this boot "
			    "are retried",
			    a->reconcile.records.attempts_path, state_file_error(r));
}

/* ---- opening and closing ---- */

int reconcile_records_init(struct agent *a)
{
	struct reconcile_records *r = &a->reconcile.records;

	r->last_good = path_join(a->rundir.state, RECONCILE_LAST_GOOD_FILE);
	r->owned_path = path_join(a->rundir.state, RECONCILE_OWNED_FILE);
	r->worker_ids_path = path_join(a->rundir.state, RECONCILE_WORKER_IDS_FILE);
	r->choice_path = path_join(a->rundir.state, RECONCILE_CHOICE_FILE);
	r->pending_path = path_join(a->rundir.state, RECONCILE_PENDING_FILE);
	r->refused_path = path_join(a->rundir.state, RECONCILE_REFUSED_FILE);
	r->attempts_path = path_join(a->rundir.run, RECONCILE_ATTEMPTS_FILE);
	r->applier_socket = path_join(a->rundir.run, RECONCILE_SOCKET_FILE);
	r->outcome_path = path_join(a->rundir.run, RECONCILE_OUTCOME_FILE);
	if (!r->last_good || !r->owned_path || !r->worker_ids_path || !r->choice_path ||
	    !r->pending_path || !r->refused_path || !r->attempts_path || !r->applier_socket ||
	    !r->outcome_path)
		return -ENOMEM;
	load_attempts(a);
	return history_open(&r->history, a->rundir.state);
}

void reconcile_records_done(struct reconcile *rec)
{
	struct reconcile_records *r = &rec->records;

	free(r->last_good);
	free(r->last_good_text);
	free(r->last_good_unsaved);
	free(r->owned_path);
	free(r->worker_ids_path);
	free(r->choice_path);
	free(r->pending_path);
	free(r->refused_path);
	free(r->attempts_path);
	free(r->applier_socket);
	free(r->outcome_path);
	history_done(&r->history);
	*r = (struct reconcile_records){NULL};
}
