/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores the history of applies and their configurations; unlike events it survives restarts and
 * reboots. */
#include "agent/apply/history.h"
#include "agent/base/path.h"
#include "netcfg/base/file.h"
#include "netcfg/base/log.h"
#include "netcfg/base/reason.h"
#include "netcfg/spec/spec.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define NAME "plenum-history 1"
#define BYTES_MAX (64U << 10)

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

/* Fields are separated by tabs, entries by newlines. */
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

static void save(const struct history *h)
{
	autofree char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int r = f ? 0 : -ENOMEM;

	if (f) {
		fprintf(f, NAME " %" PRIu64 "\n", h->next);
		for (size_t i = 0; i < h->n; i++) {
			const struct history_entry *e = &h->entries[i];

			fprintf(f, "%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t%s\t%s\n",
				e->number, e->time_s, e->steps,
				history_outcome_to_string(e->outcome), e->by, e->what, e->text);
		}
		r = fclose(f) != 0 ? -ENOMEM : file_write(h->path, text, len, 0600);
	}
	if (r < 0)
		log_warning("cannot write %s: %s; 'plenum history' may lose applies", h->path,
			    strerror(-r));
}

/* False: the line is not a valid entry. */
static bool parse_line(char *line, struct history_entry *ret)
{
	char *field[7];

	for (size_t i = 0; i < ARRAY_SIZE(field); i++) {
		field[i] = strsep(&line, "\t");
		if (!field[i])
			return false;
	}
	*ret = (struct history_entry){.number = strtoull(field[0], NULL, 10),
				      .time_s = strtoull(field[1], NULL, 10),
				      .steps = strtoull(field[2], NULL, 10),
				      .outcome = outcome_parse(field[3])};
	set_text(ret->by, sizeof(ret->by), field[4]);
	set_text(ret->what, sizeof(ret->what), field[5]);
	set_text(ret->text, sizeof(ret->text), field[6]);
	return ret->number > 0 && ret->outcome < HISTORY_OUTCOME_MAX;
}

static void parse(struct history *h, char *text)
{
	char *line = strsep(&text, "\n");
	unsigned long long next = 0;

	if (!line || sscanf(line, NAME " %llu", &next) != 1 || next == 0) {
		log_warning("%s has an unknown version; starting a new history", h->path);
		return;
	}
	h->next = next;
	while (h->n < HISTORY_KEPT && (line = strsep(&text, "\n"))) {
		if (!parse_line(line, &h->entries[h->n]))
			continue;
		h->next = MAX_OF(h->next, h->entries[h->n].number + 1);
		h->n++;
	}
}

int history_open(struct history *h, const char *state_dir)
{
	autofree char *text = NULL;
	size_t len;
	int r;

	*h = (struct history){.next = 1};
	h->path = path_join(state_dir, "history");
	h->folder = path_join(state_dir, "history.d");
	if (!h->path || !h->folder) {
		history_done(h);
		return -ENOMEM;
	}
	r = file_read(h->path, BYTES_MAX, &text, &len);
	if (r >= 0)
		parse(h, text);
	else if (r != -ENOENT)
		log_warning("cannot read %s: %s; starting a new history", h->path, strerror(-r));
	return 0;
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
		if (h->entries[i].number == number)
			return (struct history_entry *)&h->entries[i];
	return NULL;
}

const struct history_entry *history_find(const struct history *h, uint64_t number)
{
	return find(h, number);
}

static void forget_config(const struct history *h, uint64_t number)
{
	autofree char *path = config_path(h, number);

	if (path)
		unlink(path);
}

static void forget_oldest(struct history *h)
{
	forget_config(h, h->entries[0].number);
	memmove(h->entries, h->entries + 1, --h->n * sizeof(h->entries[0]));
}

uint64_t history_begin(struct history *h, const char *by, const char *what)
{
	struct history_entry *e;

	if (h->n == HISTORY_KEPT)
		forget_oldest(h);
	e = &h->entries[h->n++];
	*e = (struct history_entry){.number = h->next++, .time_s = (uint64_t)time(NULL)};
	forget_config(h, e->number); /* left over from an entry that was lost */
	set_text(e->by, sizeof(e->by), by[0] ? by : "plenumd");
	set_text(e->what, sizeof(e->what), what);
	save(h);
	return e->number;
}

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
	if (any)
		save(h);
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
	save(h);
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

uint64_t history_kept_other(const struct history *h, const char *yaml)
{
	for (size_t i = h->n; i-- > 0;)
		if (h->entries[i].outcome == HISTORY_APPLIED &&
		    left_other(h, h->entries[i].number, yaml))
			return h->entries[i].number;
	return 0;
}

static json_t *entry_to_json(const struct history *h, const struct history_entry *e)
{
	autofree char *config = history_config(h, e->number);
	const time_t at = (time_t)e->time_s;
	char when[32] = "";
	struct tm tm;

	if (gmtime_r(&at, &tm))
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_pack("{s:I, s:s, s:s, s:s, s:I, s:s, s:s, s:b}", "number",
			 (json_int_t)e->number, "time", when, "by", e->by, "what", e->what, "steps",
			 (json_int_t)e->steps, "outcome", history_outcome_to_string(e->outcome),
			 "text", e->text, "kept", config != NULL);
}

json_t *history_to_json(const struct history *h)
{
	json_t *list = json_array();

	for (size_t i = h->n; list && i-- > 0;)
		json_array_append_new(list, entry_to_json(h, &h->entries[i]));
	return json_pack("{s:o}", "history", list ? list : json_array());
}
