/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 'plenum worker logs': prints the lines of one worker, or of the agent, from the systemd journal.
 * If the journal has no lines, prints where the log is. Needs no agent for the lines, but the right
 * to read the journal. The log of another host comes from that host's agent.
 */
#include "agent/base/journal.h"
#include "agent/ctl/ctl.h"

#include <string.h>

#define LINES_DEFAULT 100
#define LINES_MAX 100000
#define REMOTE_LINES_MAX 1000 /* maximum number of lines in an answer */
#define CURSOR_MAX 256

struct logs {
	const struct ctl_args *args;
	bool agent;	  /* print the agent's lines instead of those of a worker */
	unsigned long id; /* id of the worker; 0: the agent */
	struct journal_filter filter;
	json_t *lines; /* lines read so far, the latest first; NULL: each line is printed when it is
			  read */
	size_t lines_max;
	/* position in the journal of the latest entry that was read; "": none was read */
	char cursor[CURSOR_MAX];
};

/* ---- entries of the journal ---- */

static void print_line(const struct ctl_args *a, const json_t *line)
{
	if (a->json) {
		ctl_put_json_line(line);
		return;
	}
	ctl_put(ctl_text(line, "time"), stdout);
	fputs("  ", stdout);
	ctl_put_wide(ctl_text(line, "level"), 7);
	fputs("  ", stdout);
	ctl_put(ctl_text(line, "process"), stdout);
	printf("[%" JSON_INTEGER_FORMAT "]  ", ctl_int(line, "pid"));
	ctl_put(ctl_text(line, "text"), stdout);
	putchar('\n');
}

/* Handles an entry of the journal. Returns whether more entries are wanted. */
static bool take_entry(void *user, const json_t *entry)
{
	struct logs *l = user;
	json_t *line = journal_line(&l->filter, entry);

	if (l->lines && !l->cursor[0])
		snprintf(l->cursor, sizeof(l->cursor), "%s", ctl_text(entry, "__CURSOR"));
	if (line && l->lines) {
		json_array_append_new(l->lines, line);
	} else if (line) {
		print_line(l->args, line);
		fflush(stdout);
		json_decref(line);
	}
	return !ferror(stdout) && (!l->lines || json_array_size(l->lines) < l->lines_max);
}

static int follow(struct logs *l)
{
	char after[CURSOR_MAX + 32];
	const char *const options[] = {"--follow", "--no-tail", after};
	int r;

	/* Without a position, all entries from now on are new. */
	snprintf(after, sizeof(after), l->cursor[0] ? "--after-cursor=%s" : "--since=now",
		 l->cursor);
	json_decref(l->lines);
	l->lines = NULL;
	fflush(stdout);
	r = journal_read(options, ARRAY_SIZE(options), 0, take_entry, l);
	if (r < 0 && r != -EIO)
		return CTL_OS;
	if (ferror(stdout))
		return CTL_IO;
	ctl_complain("journalctl has ended");
	return CTL_OS;
}

/* ---- the place of the log without a journal ---- */

/* Finds the process in the list. Returns false if no process has that ID. */
static bool find_process(const struct logs *l, const json_t *processes, json_int_t *ret_pid)
{
	const json_t *p;
	size_t i;

	json_array_foreach (json_object_get(processes, "processes"), i, p) {
		const char *slash = strrchr(ctl_text(p, "id"), '/');

		if (slash && strtoul(slash + 1, NULL, 10) == l->id) {
			*ret_pid = ctl_int(p, "pid");
			return true;
		}
	}
	return false;
}

/* Explains why the journal has no lines of the process. Returns the exit status. */
static int explain(const struct logs *l, int error)
{
	const struct ctl_request rq = {.resource = RESOURCE_PROCESSES, .list = "processes"};
	char who[40], place[JOURNAL_PLACE_MAX];
	json_int_t pid = 0;
	json_t *o = NULL;
	bool found;
	int r = ctl_ask_json(l->args, &rq, &o);

	if (error == -EIO)
		ctl_complain("journalctl has failed, so lines may be missing");
	else if (error < 0)
		ctl_complain("cannot run journalctl: %s", strerror(-error));
	if (r != CTL_OK)
		return r;
	snprintf(who, sizeof(who), l->agent ? "the agent" : "worker %lu", l->id);
	found = find_process(l, o, &pid);
	json_decref(o);
	if (found || l->agent)
		ctl_complain("%s", journal_explain_place(who, (pid_t)pid, place));
	else
		ctl_complain("no worker has the ID %lu; see 'plenum processes'", l->id);
	return CTL_NO_INPUT;
}

/* ---- the agent of another host ---- */

/* Prints the lines that the agent of another host finds in its journal. */
static int ask_lines(const struct logs *l)
{
	char query[32], id[24];
	const struct ctl_request rq = {.resource = l->agent ? RESOURCE_AGENT_LOGS
							    : RESOURCE_WORKER_LOGS,
				       .name = l->agent ? NULL : id,
				       .query = query,
				       .list = "lines"};
	const json_t *lines;
	json_t *o = NULL;
	int r;

	snprintf(id, sizeof(id), "%lu", l->id);
	snprintf(query, sizeof(query), "limit=%zu", l->lines_max);
	r = ctl_ask_json(l->args, &rq, &o);
	if (r != CTL_OK)
		return r;
	lines = json_object_get(o, "lines");
	for (size_t i = json_array_size(lines); i > 0; i--)
		print_line(l->args, json_array_get(lines, i - 1));
	if (*ctl_text(o, "note"))
		ctl_complain("%s", ctl_text(o, "note"));
	r = json_array_size(lines) ? CTL_OK : CTL_NO_INPUT;
	json_decref(o);
	return r;
}

/* ---- the command ---- */

static int take_arguments(struct logs *l)
{
	const struct ctl_args *a = l->args;
	unsigned long lines = LINES_DEFAULT;
	int r = ctl_take_number("--lines", a->lines, 1, a->remote ? REMOTE_LINES_MAX : LINES_MAX,
				&lines);

	if (r == CTL_OK)
		r = ctl_take_process(a->operands[0], &l->id);
	l->agent = l->id == 0;
	l->lines_max = lines;
	return r;
}

int ctl_cmd_worker_logs(const struct ctl_args *a)
{
	static const char *const latest_first[] = {"--reverse"};
	struct logs l = {.args = a};
	int e, r = take_arguments(&l);

	if (r == CTL_OK && a->remote && a->follow) {
		ctl_complain("--follow reads the journal of this host; run it on that host, "
			     "without --host");
		r = CTL_USAGE;
	}
	if (r != CTL_OK || a->remote)
		return r != CTL_OK ? r : ask_lines(&l);
	journal_filter_init(&l.filter, l.id);
	l.lines = json_array();
	if (!l.lines)
		return CTL_OS;
	e = journal_read(latest_first, ARRAY_SIZE(latest_first), 0, take_entry, &l);
	for (size_t i = json_array_size(l.lines); i > 0; i--)
		print_line(a, json_array_get(l.lines, i - 1));
	if (e == -EIO && json_array_size(l.lines) > 0) {
		ctl_complain("journalctl has failed, so lines may be missing");
		r = CTL_OS;
	} else if (e < 0 || (json_array_size(l.lines) == 0 && !a->follow)) {
		r = explain(&l, e);
	} else if (a->follow) {
		r = follow(&l);
	}
	json_decref(l.lines);
	return r;
}
