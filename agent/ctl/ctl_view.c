/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects and sorts the columns and rows of a table, in the same way for all commands that list
 * objects. ctl_table.c lays out the result.
 */
#include "agent/ctl/ctl.h"
#include "netcfg/base/text.h"

#include <string.h>

#define COLUMNS_MAX 32

struct view {
	const struct ctl_table *t;
	size_t columns[COLUMNS_MAX]; /* the selected columns */
	size_t n_columns;
};

static size_t n_rows(const struct ctl_table *t)
{
	return t->n_columns ? t->n_cells / t->n_columns : 0;
}

static const char *cell(const struct ctl_table *t, size_t row, size_t column)
{
	return t->cells[row * t->n_columns + column];
}

/* Compares without regard to case. A hyphen matches a space of the heading, which would have to be
 * quoted in a shell. */
static bool is_heading(const char *heading, const char *name, size_t len)
{
	if (strlen(heading) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (strncasecmp(&heading[i], &name[i], 1) != 0 &&
		    !(heading[i] == ' ' && name[i] == '-'))
			return false;
	return true;
}

/* Returns the number of the column with that heading, or -1 after printing the error. */
static ssize_t find_column(const struct ctl_table *t, const char *option, const char *name,
			   size_t len)
{
	char known[256] = "";

	for (size_t i = 0; i < t->n_columns; i++) {
		size_t at = strlen(known);

		if (is_heading(t->headings[i], name, len))
			return (ssize_t)i;
		snprintf(known + at, sizeof(known) - at, "%s%s", i ? ", " : "", t->headings[i]);
	}
	ctl_complain("%s: there is no column '%.*s'; columns: %s", option, (int)MIN_OF(len, 40),
		     name, known);
	return -1;
}

/* ---- columns ---- */

static int choose_columns(struct view *v, const char *list)
{
	if (strcmp(list, "wide") == 0) {
		v->n_columns = MIN_OF(v->t->n_columns, (size_t)COLUMNS_MAX);
		for (size_t i = 0; i < v->n_columns; i++)
			v->columns[i] = i;
		return CTL_OK;
	}
	for (const char *at = list;; at++) {
		size_t len = strcspn(at, ",");
		ssize_t column = find_column(v->t, "-o", at, len);

		if (column < 0)
			return CTL_USAGE;
		if (v->n_columns == COLUMNS_MAX) {
			ctl_complain("-o: at most %d columns can be shown", COLUMNS_MAX);
			return CTL_USAGE;
		}
		v->columns[v->n_columns++] = (size_t)column;
		at += len;
		if (!*at)
			return CTL_OK;
	}
}

/* ---- rows ---- */

struct filter {
	size_t column;
	bool not, part;
	const char *want;
};

/* Parses "COLUMN=TEXT", "COLUMN!=TEXT" or "COLUMN~PART". Called before there are rows, so that a
 * wrong filter is an error for an empty table too. "-" matches an empty cell, which is printed as
 * "-". */
static int parse_filter(const struct ctl_table *t, const char *filter, struct filter *ret)
{
	size_t len = strcspn(filter, "=~!");
	bool not = filter[len] == '!' && filter[len + 1] == '=', part = filter[len] == '~';
	const char *want = filter + len + (not ? 2 : 1);
	ssize_t column;

	if (!filter[len] || len == 0 || (filter[len] == '!' && !not )) {
		ctl_complain("--filter: invalid filter '%.60s'; write COLUMN=TEXT, COLUMN!=TEXT or "
			     "COLUMN~PART",
			     filter);
		return CTL_USAGE;
	}
	column = find_column(t, "--filter", filter, len);
	if (column < 0)
		return CTL_USAGE;
	*ret = (struct filter){(size_t)column, not, part,
			       !part && strcmp(want, "-") == 0 ? "" : want};
	return CTL_OK;
}

static bool row_passes(const struct ctl_table *t, size_t row, const struct filter *f)
{
	const char *text = cell(t, row, f->column);

	return f->part ? strstr(text, f->want) != NULL : (strcmp(text, f->want) == 0) != f->not ;
}

/* Parses a size, a time or a number. Returns false for another text. */
static bool quantity(const char *text, double *ret)
{
	static const struct {
		const char *name;
		double factor;
	} units[] = {{"B", 1},
		     {"KiB", 1024},
		     {"MiB", 1048576},
		     {"GiB", 1073741824},
		     {"s", 1},
		     {"m", 60},
		     {"h", 3600},
		     {"d", 86400},
		     {"us", 1e-6},
		     {"ms", 1e-3},
		     {"TiB", 1099511627776.0},
		     {"", 1}};
	double sum = 0;
	bool any = false;

	while (*text) {
		char *end;
		double v = strtod(text, &end);
		size_t len, i = 0;

		if (end == text)
			return false;
		end += strspn(end, " ");
		len = strcspn(end, " ");
		if (*end >= '0' && *end <= '9')
			len = 0;
		while (i < ARRAY_SIZE(units) &&
		       (strlen(units[i].name) != len || strncmp(units[i].name, end, len) != 0))
			i++;
		if (i == ARRAY_SIZE(units))
			return false;
		sum += v * units[i].factor;
		any = true;
		text = end + len;
		text += strspn(text, " ");
	}
	*ret = sum;
	return any;
}

static int compare_cells(const char *a, const char *b)
{
	double va, vb;

	if (quantity(a, &va) && quantity(b, &vb))
		return (va > vb) - (va < vb);
	return strverscmp(a, b); /* natural order: host-a/2 comes before host-a/10 */
}

/* Sorts stably; the tables are short enough for a slow algorithm. */
static void sort_rows(size_t *rows, size_t n, const struct ctl_table *t, size_t column, bool down)
{
	for (size_t i = 1; i < n; i++) {
		size_t row = rows[i], j = i;

		for (; j > 0; j--) {
			int order =
				compare_cells(cell(t, rows[j - 1], column), cell(t, row, column));

			if (down ? order >= 0 : order <= 0)
				break;
			rows[j] = rows[j - 1];
		}
		rows[j] = row;
	}
}

static int choose_rows(const struct ctl_view *view, const struct ctl_table *t, size_t *rows,
		       size_t *ret_n)
{
	bool down = view->sort && view->sort[0] == '-';
	const char *sort = view->sort ? view->sort + down : NULL;
	ssize_t column = sort ? find_column(t, "--sort", sort, strlen(sort)) : 0;
	struct filter filters[CTL_LIST_MAX];
	size_t n = 0;

	if (column < 0)
		return CTL_USAGE;
	for (int j = 0; j < view->filters.n; j++) {
		int r = parse_filter(t, view->filters.items[j], &filters[j]);

		if (r != CTL_OK)
			return r;
	}
	for (size_t i = 0; i < n_rows(t); i++) {
		bool passes = true;

		for (int j = 0; j < view->filters.n && passes; j++)
			passes = row_passes(t, i, &filters[j]);
		if (passes)
			rows[n++] = i;
	}
	if (sort)
		sort_rows(rows, n, t, (size_t)column, down);
	*ret_n = n;
	return CTL_OK;
}

/* ---- printing ---- */

/* Quotes as in RFC 4180. */
static void put_csv(const char *text, bool last)
{
	bool quoted = text[strcspn(text, "\",\r\n")] != '\0';
	autofree char *shown = strdup(text);

	if (shown)
		text_clean(shown);
	if (quoted)
		putchar('"');
	for (const char *c = shown ? shown : "?"; *c; c++) {
		if (*c == '"')
			putchar('"');
		putchar(*c);
	}
	if (quoted)
		putchar('"');
	fputs(last ? "\r\n" : ",", stdout);
}

static int print_csv(const struct ctl_table *t, bool header)
{
	for (size_t i = 0; header && i < t->n_columns; i++)
		put_csv(t->headings[i], i + 1 == t->n_columns);
	for (size_t i = 0; i < t->n_cells; i++)
		put_csv(t->cells[i], (i + 1) % t->n_columns == 0);
	return CTL_OK;
}

int ctl_view_print(const struct ctl_args *a, const struct ctl_table *t, const char *columns)
{
	autofree size_t *rows = calloc(n_rows(t) + 1, sizeof(*rows));
	const char *headings[COLUMNS_MAX];
	struct ctl_table shown = {.headings = headings};
	struct view v = {.t = t};
	size_t n = 0;
	int r;

	if (t->out_of_memory || !rows)
		return ctl_put_text(NULL);
	r = choose_columns(&v, a->view.columns ? a->view.columns : columns);
	if (r == CTL_OK)
		r = choose_rows(&a->view, t, rows, &n);
	if (r != CTL_OK)
		return r;
	for (size_t i = 0; i < v.n_columns; i++)
		headings[i] = t->headings[v.columns[i]];
	shown.n_columns = v.n_columns;
	shown.no_header = a->view.no_header;
	shown.keep_all = a->view.columns != NULL;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < v.n_columns; j++)
			ctl_table_add(&shown, "%s", cell(t, rows[i], v.columns[j]));
	if (shown.out_of_memory)
		r = ctl_put_text(NULL);
	else
		r = a->view.csv ? print_csv(&shown, !a->view.no_header) : ctl_table_print(&shown);
	ctl_table_done(&shown);
	return r;
}
