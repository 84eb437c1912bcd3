/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores the history of applies with their configurations. It survives restarts and reboots. */
#include "agent/apply/history.h"
#include "agent/base/path.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/log.h"
#include "netcfg/base/reason.h"
#include "netcfg/spec/spec.h"
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int convert(const char *text, struct state_draft *lines);
static const struct state_kind kind = {.name = "history",
				       .version = 2,
				       .old_until = 1,
				       .bytes_max = 64U << 10,
				       .convert = convert};

const char *history_outcome_to_string(enum history_outcome o)
{
	static const char *const names[HISTORY_OUTCOME_MAX] = {"under way",   "waits",	"applied",
							       "rolled back", "failed", "unknown"};

	return o < HISTORY_OUTCOME_MAX ? names[o] : "?";
}

static char *config_path(const struct history *h, uint64_t number)
{
	char *path;

	return asprintf(&path, "%s/%" PRIu64 ".yaml", h->folder, number) < 0 ? NULL : path;
}

/* ---- the file ---- */

/* Copies a text for tables: control characters become spaces. */
static void set_text(char *to, size_t size, const char *text)
{
	reason_copy_text(to, size, text);
	for (char *c = to; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
}

static enum history_outcome outcome_parse(const char *text)
{
	for (enum history_outcome o = HISTORY_OPEN; o < HISTORY_OUTCOME_MAX; o++)
		if (strcmp(text, history_outcome_to_string(o)) == 0)
			return o;
	return HISTORY_OUTCOME_MAX;
}

/* Returns whether the configuration of the entry never ran, was rolled back, or has an unknown
 * result. */
static bool is_attempt(const struct history_entry *e)
{
	return e->outcome > HISTORY_APPLIED;
}

static void put_entry(struct state_draft *d, const struct history_entry *e)
{
	state_draft_put(d, "apply %" PRIu64 " %" PRIu64 " %" PRIu64, e->number, e->time_s,
			e->steps);
	state_draft_word(d, history_outcome_to_string(e->outcome));
	state_draft_word(d, e->by);
	state_draft_word(d, e->what);
	state_draft_text(d, e->text);
	if (e->times == 1)
		return;
	state_draft_put(d, "folded %" PRIu64 " %" PRIu64 " %" PRIu64, e->number, e->first,
			e->times);
	state_draft_end(d);
}

/* Writes kept applies first and failed attempts last, because an agent that keeps fewer entries
 * reads only the first ones. */
static void save(const struct history *h)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;
	int r;

	state_draft_init(&d, &kind);
	state_draft_put(&d, "next %" PRIu64, h->next);
	state_draft_end(&d);
	for (int attempts = 0; attempts <= 1; attempts++)
		for (size_t i = 0; i < h->n; i++)
			if (is_attempt(&h->entries[i]) == attempts)
				put_entry(&d, &h->entries[i]);
	r = state_draft_save(&d, h->path);
	if (r < 0)
		log_warning("cannot write %s: %s; 'plenum history' may lose applies", h->path,
			    state_file_error(r));
}

/* Converts an entry of version 1: "NUMBER\tTIME\tSTEPS\tOUTCOME\tBY\tWHAT\tTEXT". */
static void convert_line(char *line, struct state_draft *lines)
{
	char *field[7];

	for (size_t i = 0; i < ARRAY_SIZE(field); i++) {
		field[i] = strsep(&line, "\t");
		if (!field[i])
			return;
	}
	state_draft_put(lines, "apply");
	for (size_t i = 0; i < ARRAY_SIZE(field) - 1; i++)
		state_draft_word(lines, field[i]);
	state_draft_text(lines, field[6]);
}

/* Converts version 1: a line "plenum-history 1 NEXT", then lines with tabs. */
static int convert(const char *text, struct state_draft *lines)
{
	autofree char *copy = strdup(text);
	unsigned long long next = 0;
	char *rest = copy;

	if (!copy)
		return -ENOMEM;
	if (sscanf(text, "plenum-history 1 %llu\n", &next) != 1 || next == 0)
		return STATE_TORN;
	state_draft_put(lines, "next %llu", next);
	state_draft_end(lines);
	for (char *line = strsep(&rest, "\n"); rest; line = strsep(&rest, "\n"))
		convert_line(line, lines);
	return 0;
}

/* Returns false if the line is not a valid entry. */
static bool parse_entry(struct state_file *f, struct history_entry *ret)
{
	*ret = (struct history_entry){.number = state_file_number(f, UINT64_MAX - 1)};
	ret->time_s = state_file_number(f, UINT64_MAX);
	ret->steps = state_file_number(f, UINT64_MAX);
	ret->outcome = outcome_parse(state_file_word(f));
	set_text(ret->by, sizeof(ret->by), state_file_word(f));
	set_text(ret->what, sizeof(ret->what), state_file_word(f));
	set_text(ret->text, sizeof(ret->text), state_file_text(f));
	ret->first = ret->number;
	ret->times = 1;
	return state_file_line_ends(f) && ret->number > 0 && ret->outcome < HISTORY_OUTCOME_MAX;
}

/* Parses the line "folded", which follows an entry that several attempts share. */
static void parse_folded(struct history *h, struct state_file *f)
{
	const uint64_t number = state_file_number(f, UINT64_MAX);
	const uint64_t first = state_file_number(f, UINT64_MAX);
	const uint64_t times = state_file_number(f, UINT64_MAX);
	struct history_entry *e = h->n > 0 ? &h->entries[h->n - 1] : NULL;

	if (!state_file_line_ends(f) || !e || e->number != number || first == 0 || first > number ||
	    times == 0)
		return;
	e->first = first;
	e->times = times;
}

static int compare_numbers(const void *a, const void *b)
{
	const struct history_entry *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Skips invalid entries, because each entry is useful without the others. */
static void parse(struct history *h, struct state_file *f)
{
	while (state_file_line(f)) {
		const char *word = state_file_word(f);
		uint64_t next = 0;

		if (strcmp(word, "next") == 0) {
			next = state_file_number(f, UINT64_MAX - 1);
		} else if (strcmp(word, "apply") == 0 && h->n < HISTORY_ENTRIES_MAX &&
			   parse_entry(f, &h->entries[h->n])) {
			next = h->entries[h->n].number + 1;
			h->n++;
		} else if (strcmp(word, "folded") == 0) {
			parse_folded(h, f);
		}
		h->next = MAX_OF(h->next, next);
	}
	qsort(h->entries, h->n, sizeof(h->entries[0]), compare_numbers);
}

/* Raises the next number above all existing configurations. An entry may have been lost although
 * its configuration remains, and a new apply must not replace that configuration. */
static void skip_kept_configs(struct history *h)
{
	DIR *dir = opendir(h->folder);
	const struct dirent *e;
	uint64_t number;
	int at;

	while (dir && (e = readdir(dir))) {
		at = 0;
		if (sscanf(e->d_name, "%" SCNu64 ".yaml%n", &number, &at) == 1 && at &&
		    !e->d_name[at] && number < UINT64_MAX)
			h->next = MAX_OF(h->next, number + 1);
	}
	if (dir)
		closedir(dir);
}

static int load(struct history *h)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	int r = state_file_read(&f, &kind, h->path);

	if (r == 0 || r == STATE_TORN)
		parse(h, &f);
	if (r == 0 || r == STATE_MISSING || r == -ENOMEM)
		return r == -ENOMEM ? r : 0;
	skip_kept_configs(h);
	log_warning("cannot read %s (%s); 'plenum history' has %zu applies of the file", h->path,
		    state_file_error(r), h->n);
	return 0;
}

int history_open(struct history *h, const char *state_dir)
{
	int r;

	*h = (struct history){.next = 1};
	h->path = path_join(state_dir, "history");
	h->folder = path_join(state_dir, "history.d");
	r = h->path && h->folder ? load(h) : -ENOMEM;
	if (r < 0)
		history_done(h);
	return r;
}

void history_done(struct history *h)
{
	free(h->path);
	free(h->folder);
	*h = (struct history){.n = 0};
}

/* ---- entries ---- */

static struct history_entry *find(const struct history *h, uint64_t number)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->entries[i].first <= number && number <= h->entries[i].number)
			return (struct history_entry *)&h->entries[i];
	return NULL;
}

const struct history_entry *history_find(const struct history *h, uint64_t number)
{
	return find(h, number);
}

const struct history_entry *history_last(const struct history *h)
{
	for (size_t i = h->n; i-- > 0;)
		if (h->entries[i].outcome == HISTORY_APPLIED ||
		    h->entries[i].outcome == HISTORY_WAITING)
			return &h->entries[i];
	return NULL;
}

static void forget_files(const struct history *h, uint64_t number)
{
	autofree char *path = config_path(h, number);

	if (path)
		unlink(path);
	history_plan_forget(h, number);
}

static void forget(struct history *h, size_t i)
{
	forget_files(h, h->entries[i].number);
	memmove(h->entries + i, h->entries + i + 1, (--h->n - i) * sizeof(h->entries[0]));
}

uint64_t history_begin(struct history *h, const char *by, const char *what)
{
	struct history_entry *e;

	if (h->n == HISTORY_ENTRIES_MAX)
		forget(h, 0);
	e = &h->entries[h->n++];
	*e = (struct history_entry){.number = h->next++, .time_s = (uint64_t)time(NULL)};
	e->first = e->number;
	e->times = 1;
	/* removes files that a lost entry with this number left behind */
	forget_files(h, e->number);
	set_text(e->by, sizeof(e->by), by[0] ? by : "plenumd");
	set_text(e->what, sizeof(e->what), what);
	save(h);
	return e->number;
}

static int save_config(const struct history *h, uint64_t number, const char *yaml)
{
	autofree char *path = config_path(h, number);

	if (!path)
		return -ENOMEM;
	if (mkdir(h->folder, 0700) < 0 && errno != EEXIST)
		return -errno;
	return file_write(path, yaml, strlen(yaml), 0600);
}

char *history_config(const struct history *h, uint64_t number)
{
	autofree char *path = find(h, number) ? config_path(h, number) : NULL;

	return path && access(path, R_OK) == 0 ? ptr_take(path) : NULL;
}

static bool left_other(const struct history *h, uint64_t number, const char *yaml)
{
	autofree char *path = history_config(h, number), *text = NULL;
	size_t len;

	return path && file_read(path, SPEC_FILE_BYTES_MAX, &text, &len) >= 0 &&
	       (!yaml || strcmp(text, yaml) != 0);
}

bool history_is_last(const struct history *h, const char *yaml)
{
	for (size_t i = h->n; i-- > 0;)
		if (h->entries[i].outcome == HISTORY_APPLIED) {
			autofree char *path = history_config(h, h->entries[i].number);

			return path && !left_other(h, h->entries[i].number, yaml);
		}
	return false;
}

/* ---- selection of kept entries ---- */

/* Compares the users without the pid, which differs each time. */
static bool is_same_user(const char *a, const char *b)
{
	const size_t n = strcspn(a, ",");

	return n == strcspn(b, ",") && strncmp(a, b, n) == 0;
}

/* Merges an attempt with the attempt before it if both failed in the same way, because a job that
 * fails every minute must not push out all other entries. */
static void merge_attempt(struct history *h, size_t i)
{
	struct history_entry *e = &h->entries[i], *was = e - 1;

	if (i == 0 || was->outcome != e->outcome || strcmp(was->what, e->what) != 0 ||
	    strcmp(was->text, e->text) != 0 || !is_same_user(was->by, e->by))
		return;
	e->first = was->first;
	e->times += was->times;
	forget(h, i - 1);
}

/* Chooses the least useful kept apply: the first apply without a configuration, or with the same
 * configuration as the next kept apply. If there is no such apply, chooses the oldest. h must have
 * a kept apply. */
static size_t least_kept(const struct history *h)
{
	size_t oldest = h->n, before = h->n;

	for (size_t i = 0; i < h->n; i++) {
		autofree char *path = NULL, *yaml = NULL;
		size_t len;

		if (h->entries[i].outcome != HISTORY_APPLIED)
			continue;
		if (oldest == h->n)
			oldest = i;
		path = history_config(h, h->entries[i].number);
		if (!path && i + 1 < h->n)
			return i;
		if (path && before < h->n &&
		    file_read(path, SPEC_FILE_BYTES_MAX, &yaml, &len) >= 0 &&
		    !left_other(h, h->entries[before].number, yaml))
			return before;
		before = i;
	}
	return oldest;
}

static size_t count(const struct history *h, bool attempts, size_t *ret_oldest)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++) {
		const struct history_entry *e = &h->entries[i];

		if (e->outcome < HISTORY_APPLIED || is_attempt(e) != attempts)
			continue;
		if (n++ == 0)
			*ret_oldest = i;
	}
	return n;
}

static void trim(struct history *h)
{
	size_t oldest = 0;

	while (count(h, true, &oldest) > HISTORY_ATTEMPTS)
		forget(h, oldest);
	while (count(h, false, &oldest) > HISTORY_KEPT)
		forget(h, least_kept(h));
}

/* ---- result of an apply ---- */

void history_close_stale(struct history *h, uint64_t but)
{
	bool any = false;

	for (size_t i = 0; i < h->n; i++) {
		struct history_entry *e = &h->entries[i];

		if (e->number == but || e->outcome > HISTORY_WAITING)
			continue;
		e->outcome = HISTORY_UNKNOWN;
		set_text(e->text, sizeof(e->text), "the outcome was not recorded");
		any = true;
	}
	if (!any)
		return;
	trim(h);
	save(h);
}

void history_end(struct history *h, uint64_t number, enum history_outcome outcome, uint64_t steps,
		 const char *text, const char *yaml)
{
	struct history_entry *e = find(h, number);
	int r;

	if (!e)
		return;
	e->outcome = outcome;
	e->steps = steps;
	set_text(e->text, sizeof(e->text), text ? text : "");
	r = yaml ? save_config(h, number, yaml) : 0;
	if (r < 0)
		log_warning("cannot save the configuration of apply %" PRIu64 ": %s", number,
			    strerror(-r));
	if (is_attempt(e))
		merge_attempt(h, (size_t)(e - h->entries));
	trim(h);
	save(h);
}

uint64_t history_kept_other(const struct history *h, const char *yaml)
{
	for (size_t i = h->n; i-- > 0;)
		if (h->entries[i].outcome == HISTORY_APPLIED &&
		    left_other(h, h->entries[i].number, yaml))
			return h->entries[i].number;
	return 0;
}

json_t *history_entry_to_json(const struct history *h, const struct history_entry *e)
{
	autofree char *config = history_config(h, e->number);
	const time_t at = (time_t)e->time_s;
	char when[32] = "";
	struct tm tm;

	if (gmtime_r(&at, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_pack("{s:I, s:s, s:s, s:s, s:I, s:s, s:s, s:b, s:I}", "number",
			 (json_int_t)e->number, "time", when, "by", e->by, "what", e->what, "steps",
			 (json_int_t)e->steps, "outcome", history_outcome_to_string(e->outcome),
			 "text", e->text, "kept", config != NULL, "times", (json_int_t)e->times);
}

json_t *history_to_json(const struct history *h)
{
	json_t *list = json_array();

	for (size_t i = h->n; list && i-- > 0;)
		json_array_append_new(list, history_entry_to_json(h, &h->entries[i]));
	return json_pack("{s:o}", "history", list ? list : json_array());
}
