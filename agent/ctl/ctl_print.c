/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent/ctl/ctl.h"

#include <stdarg.h>
#include <string.h>

void ctl_complain(const char *fmt, ...)
{
	autofree char *text = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0)
		text = NULL;
	fputs("plenum: ", stderr);
	ctl_put(text ? text : "out of memory", stderr);
	fputc('\n', stderr);
}

void ctl_put(const char *text, FILE *out)
{
	for (const char *c = text; *c; c++)
		fputc((unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c, out);
}

int ctl_put_json(const json_t *o)
{
	if (json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY) < 0) {
		ctl_complain("the result cannot be written");
		return CTL_IO;
	}
	putchar('\n');
	return CTL_OK;
}

int ctl_put_text(const char *text)
{
	if (!text) {
		ctl_complain("out of memory");
		return CTL_OS;
	}
	fputs(text, stdout);
	if (*text && text[strlen(text) - 1] != '\n')
		putchar('\n');
	return CTL_OK;
}

const char *ctl_text(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

json_int_t ctl_int(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_real(v) ? (json_int_t)json_real_value(v) : json_integer_value(v);
}

const char *ctl_format_bytes(json_int_t bytes, char *buf, size_t size)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	double v = (double)bytes;
	size_t unit = 0;

	while (v >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		v /= 1024;
		unit++;
	}
	snprintf(buf, size, unit == 0 || v >= 100 ? "%.0f %s" : "%.1f %s", v, units[unit]);
	return buf;
}

const char *ctl_format_seconds(json_int_t seconds, char *buf, size_t size)
{
	long long s = seconds;

	if (s < 60)
		snprintf(buf, size, "%llds", s);
	else if (s < 3600)
		snprintf(buf, size, "%lldm %llds", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, size, "%lldh %lldm", s / 3600, s % 3600 / 60);
	else
		snprintf(buf, size, "%lldd %lldh", s / 86400, s % 86400 / 3600);
	return buf;
}

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
	json_array_foreach(list, i, item)
	{
		const char *s = json_string_value(item);

		fprintf(f, "%s%s", i ? ", " : "", s ? s : "?");
	}
	if (fclose(f) != 0)
		t->out_of_memory = true;
	else
		ctl_table_add(t, "%s", text);
}

/* Characters, not bytes: continuation bytes of UTF-8 take no place. */
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

int ctl_table_print(const struct ctl_table *t)
{
	size_t n_rows = 1 + t->n_cells / t->n_columns;
	autofree size_t *widths = calloc(t->n_columns, sizeof(*widths));

	if (t->out_of_memory || !widths) {
		ctl_complain("out of memory");
		return CTL_OS;
	}
	for (size_t row = 0; row < n_rows; row++)
		for (size_t column = 0; column < t->n_columns; column++)
			widths[column] = MAX_OF(widths[column], width_of(cell_of(t, row, column)));
	for (size_t row = 0; row < n_rows; row++) {
		for (size_t column = 0; column < t->n_columns; column++) {
			const char *cell = cell_of(t, row, column);

			ctl_put(cell, stdout);
			if (column + 1 < t->n_columns)
				printf("%*s", (int)(widths[column] - width_of(cell) + 2), "");
		}
		putchar('\n');
	}
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
