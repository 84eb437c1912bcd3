/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Formats tables. If the line width is limited (ctl_line_width()), a wide last column is broken
 * into lines or printed below its row, and then the columns in `dispensable` are omitted until the
 * table fits, unless the caller keeps all columns (keep_all). Without a limit, as in a file or pipe
 * without COLUMNS, all columns are printed on one line per row.
 */
#include "agent/ctl/ctl.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#define GAP 2		  /* count of blanks between columns */
#define LAST_WIDTH_MIN 24 /* least width of a last column whose text is broken into lines */
#define STACK_INDENT 4	  /* indentation of a text below its row */
/* Greatest width of a cell, so that a single long text does not fill all other rows with blanks. */
#define CELL_WIDTH_MAX ((size_t)512)

/* Headings, in all tables, of the columns that are omitted first on a narrow terminal. */
static const char *const dispensable[] = {
	"WINDOW",  "SWITCHES", "MEMORY",     "RECEIVED", "SENT",      "LAST PAUSE",  "HOST",
	"UPTIME",  "RESTARTS", "MTU",	     "RESENT",	 "FAILOVERS", "LABEL",	     "ASKED",
	"LOCAL",   "PEER",     "NETWORK",    "LANES",	 "SYNC MS",   "METADATA MS", "ACCESS",
	"WORKERS", "FOR",      "REQUESTS/S", "LEASE",	 "IN FLIGHT", "CORE",
};

void ctl_table_add(struct ctl_table *t, const char *fmt, ...)
{
	char *cell;
	va_list args;
	int n;

	if (t->n_cells == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 64;
		char **cells = reallocarray(t->cells, cap, sizeof(*cells));

		if (!cells) {
			t->out_of_memory = true;
			return;
		}
		t->cells = cells;
		t->cap = cap;
	}
	va_start(args, fmt);
	n = vasprintf(&cell, fmt, args);
	va_end(args);
	if (n < 0)
		t->out_of_memory = true;
	else
		t->cells[t->n_cells++] = cell;
}

void ctl_table_add_number(struct ctl_table *t, const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	if (json_is_integer(v))
		ctl_table_add(t, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else
		ctl_table_add(t, "%s", "");
}

void ctl_table_add_list(struct ctl_table *t, const json_t *list)
{
	autofree char *text = NULL;
	size_t size = 0, i;
	FILE *f = open_memstream(&text, &size);
	const json_t *item;

	if (!f) {
		t->out_of_memory = true;
		return;
	}
	json_array_foreach (list, i, item) {
		const char *s = json_string_value(item);

		fprintf(f, "%s%s", i ? ", " : "", s ? s : "?");
	}
	if (fclose(f) != 0)
		t->out_of_memory = true;
	else
		ctl_table_add(t, "%s", text);
}

/* Counts characters instead of bytes: continuation bytes of UTF-8 have no width. */
static size_t width_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static const char *cell_of(const struct ctl_table *t, size_t row, size_t column)
{
	const char *cell =
		row == 0 ? t->headings[column] : t->cells[(row - 1) * t->n_columns + column];

	return *cell ? cell : "-";
}

size_t ctl_line_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	unsigned long n = columns ? strtoul(columns, NULL, 10) : 0;

	if (n > 0 && n < 10000)
		return n;
	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 ||
	    size.ws_col == 0)
		return SIZE_MAX;
	return size.ws_col;
}

struct layout {
	const struct ctl_table *t;
	size_t n_rows, line; /* n_rows: rows with the headings; line: characters per line */
	size_t *widths;	     /* width of each column; 0: omitted */
	bool stacked;	     /* the text of the last column is printed below its row */
};

/* Returns the width of all columns before `column`, with the gaps after them. */
static size_t width_before(const struct layout *l, size_t column)
{
	size_t width = 0;

	for (size_t i = 0; i < column; i++)
		width += l->widths[i] ? l->widths[i] + GAP : 0;
	return width;
}

/* Returns whether the table fits the terminal. A wide last column fits if it can be broken into
 * lines. */
static bool fits(const struct layout *l)
{
	size_t last = l->t->n_columns - 1, width = width_before(l, last);

	if (l->line == SIZE_MAX)
		return true;
	if (l->stacked)
		return width <= l->line + GAP;
	return width + MIN_OF(l->widths[last], (size_t)LAST_WIDTH_MIN) <= l->line;
}

static void lay_out(struct layout *l)
{
	size_t last = l->t->n_columns - 1;
	bool text;

	for (size_t row = l->t->no_header; row < l->n_rows; row++)
		for (size_t i = 0; i <= last; i++)
			l->widths[i] = MAX_OF(l->widths[i], MIN_OF(width_of(cell_of(l->t, row, i)),
								   CELL_WIDTH_MAX));
	text = l->widths[last] > LAST_WIDTH_MIN;
	l->stacked = text && !fits(l);
	for (size_t k = 0; k < ARRAY_SIZE(dispensable) && !l->t->keep_all && !fits(l); k++)
		for (size_t i = 0; i <= last; i++)
			if (!(text && i == last) && strcmp(l->t->headings[i], dispensable[k]) == 0)
				l->widths[i] = 0;
	l->stacked = l->stacked || !fits(l);
}

/* Returns how many bytes of the text to print on a line of `width` characters. The line ends at a
 * blank if there is one. */
static size_t line_bytes(const char *text, size_t width)
{
	size_t n = 0, blank = 0, i = 0;

	for (; text[i]; i++) {
		bool begins = ((unsigned char)text[i] & 0xc0) != 0x80;

		if (begins && n == width)
			return blank ? blank : i;
		n += begins;
		if (text[i] == ' ')
			blank = i;
	}
	return i;
}

/* Prints text on as many lines as it needs, each beginning at column `at`. */
static void print_text(const struct layout *l, const char *text, size_t at)
{
	size_t width = l->line == SIZE_MAX ? SIZE_MAX : l->line - MIN_OF(l->line, at);

	for (;;) {
		size_t n = line_bytes(text, MAX_OF(width, (size_t)LAST_WIDTH_MIN));
		autofree char *line = strndup(text, n);

		ctl_put(line ? line : "?", stdout);
		putchar('\n');
		text += n;
		text += strspn(text, " ");
		if (!*text)
			return;
		printf("%*s", (int)at, "");
	}
}

static void print_below(const struct layout *l, size_t row)
{
	const char *text = cell_of(l->t, row, l->t->n_columns - 1);

	putchar('\n');
	if (strcmp(text, "-") == 0)
		return;
	printf("%*s", STACK_INDENT, "");
	print_text(l, text, STACK_INDENT);
}

static void put_cell(const struct ctl_table *t, size_t row, size_t column)
{
	const char *heading = t->headings[column], *cell = cell_of(t, row, column);

	if (row == 0)
		ctl_put_heading(cell);
	else if (strcmp(heading, "STATE") == 0 || strcmp(heading, "STATUS") == 0)
		ctl_put_state(cell, 0);
	else
		ctl_put(cell, stdout);
}

static void print_row(const struct layout *l, size_t row)
{
	size_t last = l->t->n_columns - 1, blanks = 0;

	for (size_t i = 0; i < last; i++) {
		const char *cell = cell_of(l->t, row, i);

		if (!l->widths[i])
			continue;
		printf("%*s", (int)blanks, "");
		put_cell(l->t, row, i);
		blanks = l->widths[i] - MIN_OF(width_of(cell), l->widths[i]) + GAP;
	}
	if (l->stacked) {
		print_below(l, row);
	} else if (l->widths[last]) {
		printf("%*s", (int)blanks, "");
		print_text(l, cell_of(l->t, row, last), width_before(l, last));
	} else {
		putchar('\n');
	}
}

static void print_left_out(const struct layout *l)
{
	char text[512] = "";
	size_t len = 0;

	for (size_t i = 0; i < l->t->n_columns && len < sizeof(text); i++)
		if (!l->widths[i])
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						len ? ", "
						    : "(left out, the terminal is too narrow: ",
						l->t->headings[i]);
	if (len == 0)
		return;
	if (len < sizeof(text))
		snprintf(text + len, sizeof(text) - len, ")");
	print_text(l, text, 0);
}

int ctl_table_print(const struct ctl_table *t)
{
	autofree size_t *widths = calloc(t->n_columns, sizeof(*widths));
	struct layout l = {.t = t,
			   .n_rows = 1 + t->n_cells / t->n_columns,
			   .line = ctl_line_width(),
			   .widths = widths};

	if (t->out_of_memory || !widths) {
		ctl_complain("out of memory");
		return CTL_OS;
	}
	lay_out(&l);
	for (size_t row = t->no_header; row < l.n_rows; row++)
		print_row(&l, row);
	if (l.n_rows > (size_t)t->no_header) /* else no column has a width */
		print_left_out(&l);
	return CTL_OK;
}

void ctl_table_done(struct ctl_table *t)
{
	for (size_t i = 0; i < t->n_cells; i++)
		free(t->cells[i]);
	free(t->cells);
	t->cells = NULL;
	t->n_cells = t->cap = 0;
}
