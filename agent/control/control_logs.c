/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lines of a worker or of the agent in the journal, as an answer. Runs in a child of the
 * monitor, because reading the journal may take seconds.
 */
#include "agent/base/journal.h"
#include "agent/control/control_internal.h"
#include <stdio.h>
#include <string.h>

/* Limits of one answer: count of lines, count of journal entries to search, and time. */
#define LINES_MAX 1000
#define ENTRIES_MAX 200000
#define SEARCH_NS (10 * NSEC_PER_SEC)

struct search {
	struct journal_filter filter;
	json_t *lines; /* the latest first */
	size_t n_entries;
	json_int_t number; /* number of the previous line; 0: no line yet */
	bool complete;	   /* the whole journal was searched */
};

/* Sets the number of a line, by which clients request the next page: microseconds since 1970. Lines
 * of the same microsecond get different numbers. */
static void add_number(struct search *s, const json_t *entry, json_t *line)
{
	const char *us = json_string_value(json_object_get(entry, "__REALTIME_TIMESTAMP"));
	json_int_t number = us ? (json_int_t)strtoll(us, NULL, 10) : 0;

	if (s->number && number >= s->number)
		number = s->number - 1;
	s->number = number;
	json_object_set_new(line, "number", json_integer(number));
}

static bool take(void *user, const json_t *entry)
{
	struct search *s = user;
	json_t *line = journal_line(&s->filter, entry);

	s->n_entries++;
	if (line) {
		add_number(s, entry, line);
		json_array_append_new(s->lines, line);
	}
	s->complete = json_array_size(s->lines) < LINES_MAX && s->n_entries < ENTRIES_MAX;
	return s->complete;
}

static const struct sup_worker *find_worker(const struct agent *a, uint32_t id)
{
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		if (w->id == id && w->wanted)
			return w;
	return NULL;
}

/* Explains why the answer has no lines. */
static json_t *explain(pid_t pid, uint32_t worker, int error)
{
	char who[40], place[JOURNAL_PLACE_MAX];

	if (error == -ETIME)
		return json_string("the search of the journal has taken too long; 'plenum worker "
				   "logs' on the host searches all of it");
	if (error == -EIO)
		return json_string("journalctl has failed on this host, so lines may be missing");
	if (error < 0)
		return json_sprintf("cannot run journalctl: %s", strerror(-error));
	if (worker)
		snprintf(who, sizeof(who), "worker %u", worker);
	else
		snprintf(who, sizeof(who), "the agent");
	return json_string(journal_explain_place(who, pid, place));
}

void control_answer_logs(struct agent *a, uint32_t worker, struct control_reply *r)
{
	static const char *const latest_first[] = {"--reverse"};
	const struct sup_worker *w = worker ? find_worker(a, worker) : NULL;
	struct search s = {.lines = json_array(), .complete = true};
	const pid_t pid = worker ? (w ? w->pid : 0) : getppid();
	int e;

	journal_filter_init(&s.filter, worker);
	e = journal_read(latest_first, ARRAY_SIZE(latest_first), clock_now_ns() + SEARCH_NS, take,
			 &s);
	if (json_array_size(s.lines) == 0 && worker && !w) {
		json_decref(s.lines);
		control_unknown_worker(a, worker, "exists", r);
		return;
	}
	control_json(r, 200,
		     json_pack("{s:o, s:o, s:b, s:o}", "worker",
			       worker ? json_integer(worker) : json_null(), "lines", s.lines,
			       "complete", s.complete && e == 0, "note",
			       json_array_size(s.lines) ? json_null() : explain(pid, worker, e)));
}
