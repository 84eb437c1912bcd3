/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `plenum top`: shows the screen. If it cannot use the terminal, prints lines with the same
 * numbers.
 */
#include "agent/ctl/top/ctl_top.h"
#include "agent/ctl/ctl_options.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#define SECONDS_MAX 3600
#define COUNT_MAX 1000000000UL

/* ---- output as lines ---- */

static int put_table(const struct top_view *v, enum top_kind k)
{
	const char *headings[TOP_COLUMNS_MAX];
	struct ctl_table t = {.headings = headings, .keep_all = true};
	char cell[TOP_CELL_MAX];
	int r;

	while (top_heading(k, (unsigned)t.n_columns)) {
		headings[t.n_columns] = top_heading(k, (unsigned)t.n_columns);
		t.n_columns++;
	}
	for (size_t i = 0; i < v->tables[k].n; i++)
		for (unsigned j = 0; j < t.n_columns; j++)
			ctl_table_add(&t, "%s", top_cell(k, &v->tables[k].rows[i], j, cell));
	putchar('\n');
	r = ctl_table_print(&t);
	ctl_table_done(&t);
	return r;
}

static void put_head(const struct top_view *v, const char *gone)
{
	char text[32] = "";
	time_t now = time(NULL);
	const json_t *o;
	struct tm tm;
	size_t i;

	if (localtime_r(&now, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	printf("%s  ", text);
	ctl_put(v->host, stdout);
	fputs(": ", stdout);
	ctl_put(v->state, stdout);
	printf(", %" PRIu64 " of %" PRIu64 " workers up\n", v->workers_up, v->workers);
	if (*gone)
		printf("! %s\n", gone);
	json_array_foreach (v->wrong, i, o) {
		fputs("! ", stdout);
		ctl_put(json_string_value(o), stdout);
		putchar('\n');
	}
}

static int put_lines(const struct top_view *v, const char *gone)
{
	int r = CTL_OK;

	put_head(v, gone);
	for (enum top_kind k = 0; k < TOP_KIND_MAX && r == CTL_OK; k++)
		if (v->tables[k].n)
			r = put_table(v, k);
	putchar('\n');
	return r;
}

/* Makes the JSON of a mount or an export. */
static json_t *object_to_json(const struct top_row *r)
{
	json_t *latency = json_object_get(r->object, "latency");

	return json_pack("{s:s, s:s, s:s, s:f, s:o}", "name", r->name, "about", r->about, "state",
			 r->state, "iops", r->ops, "latency",
			 json_is_array(latency) ? json_incref(latency) : json_array());
}

static json_t *row_to_json(enum top_kind k, const struct top_row *r)
{
	json_t *o =
		json_pack("{s:s, s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "name",
			  r->name, "state", r->state, "paths", (int)r->paths, "paths_up",
			  (int)r->paths_up, "tx_bytes_s", r->tx_bytes, "rx_bytes_s", r->rx_bytes,
			  "packets_s", r->packets, "srtt_us", r->rtt_us, "resent_s", r->resent,
			  "lost_s", r->lost, "failovers", (json_int_t)r->failovers);

	if (o)
		json_object_set_new(o, "loss_percent",
				    r->loss_percent < 0 ? json_null() : json_real(r->loss_percent));
	if (k == TOP_WORKERS && o)
		json_object_update_new(o, json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:I}", "role",
						    r->role, "network", r->network, "iops", r->ops,
						    "read_bytes_s", r->read_bytes, "write_bytes_s",
						    r->write_bytes, "errors_s", r->errors,
						    "sessions", (json_int_t)r->sessions));
	return o;
}

/* Prints one line per sample, for programs that read lines as they arrive. */
static int put_json_line(const struct top_view *v, const char *gone)
{
	json_t *o = json_pack("{s:I, s:s, s:s, s:b, s:O}", "time", (json_int_t)time(NULL), "host",
			      v->host, "state", v->state, "agent", !*gone, "wrong", v->wrong);
	int r;

	for (enum top_kind k = 0; o && k < TOP_KIND_MAX; k++) {
		json_t *list = json_array();

		for (size_t i = 0; i < v->tables[k].n; i++)
			json_array_append_new(list,
					      v->tables[k].rows[i].object
						      ? object_to_json(&v->tables[k].rows[i])
						      : row_to_json(k, &v->tables[k].rows[i]));
		json_object_set_new(o, top_kind_names[k], list);
	}
	r = o ? ctl_put_json_line(o) : ctl_put_text(NULL);
	json_decref(o);
	return r;
}

static int put_sample(struct top *t)
{
	struct top_view v;
	char gone[256];
	int r;

	top_gone(t, gone, sizeof(gone));
	top_view_make(&t->before, &t->now, t->sort, &v);
	if (v.out_of_memory)
		r = ctl_put_text(NULL);
	else
		r = t->args->json ? put_json_line(&v, gone) : put_lines(&v, gone);
	top_view_done(&v);
	if (r == CTL_OK && fflush(stdout) != 0)
		r = CTL_IO;
	return r;
}

/* Rates need two answers, so nothing is printed after the first. */
static int lines(struct top *t)
{
	int r = CTL_OK;

	for (uint64_t n = 0; r == CTL_OK && (!t->count || n < t->count); n++) {
		(void)poll(NULL, 0, (int)(t->interval_ns / NSEC_PER_MSEC));
		if (top_interrupted())
			break;
		top_ask(t);
		r = put_sample(t);
	}
	return r;
}

/* ---- arguments ---- */

static int take_sort(const char *text, enum top_sort *ret)
{
	for (size_t i = 0; text && i < TOP_SORT_MAX; i++)
		if (strcmp(text, top_sort_names[i]) == 0) {
			*ret = (enum top_sort)i;
			return CTL_OK;
		}
	if (!text)
		return CTL_OK;
	ctl_complain("--sort needs health, name, traffic, latency or iops, found '%s'", text);
	return CTL_USAGE;
}

static bool can_draw(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

/* Prints lines, once or until interrupted; or, on a terminal, shows the screen. */
static int show(struct top *t)
{
	const struct ctl_args *a = t->args;
	int r = -ENOTTY;

	if (a->once)
		t->count = 1;
	else if (!a->batch && !a->json && !t->count && can_draw())
		r = top_screen(t);
	if (r != -ENOTTY)
		return r;
	if (!a->batch && !t->count && !isatty(STDOUT_FILENO) && !a->json)
		/* output to a file or pipe: print once, unless options say otherwise */
		t->count = 1;
	return lines(t);
}

int ctl_cmd_top(const struct ctl_args *a)
{
	unsigned long seconds = 1, count = 0;
	struct top t = {.args = a};
	int r = take_sort(a->view.sort, &t.sort);

	if (r == CTL_OK)
		r = ctl_take_number("--seconds", a->seconds, 1, SECONDS_MAX, &seconds);
	if (r == CTL_OK)
		r = ctl_take_number("--count", a->count, 1, COUNT_MAX, &count);
	if (r != CTL_OK)
		return r;
	t.interval_ns = seconds * NSEC_PER_SEC;
	t.count = count;
	top_ask(&t);
	if (t.error < 0)
		return ctl_unreachable(a, t.error);
	top_signals();
	r = show(&t);
	top_sample_done(&t.before);
	top_sample_done(&t.now);
	return r;
}
