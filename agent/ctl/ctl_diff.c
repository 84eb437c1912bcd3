/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two configurations compared line by line. Of our own because diff(1) is another program, which a
 * host need not have, and the texts are small: the plain algorithm will do.
 */
#include "agent/ctl/ctl.h"

#include <string.h>

/* Lines beyond this are not compared one by one: the table of lengths grows with the square. */
#define DIFF_LINES_MAX 4096
/* Common lines that are shown around a change. */
#define DIFF_CONTEXT 3

struct diff_text {
	char *copy;
	const char **lines;
	size_t n;
};

static void diff_text_done(struct diff_text *t)
{
	free(t->copy);
	free(t->lines);
}

static int diff_text_init(struct diff_text *t, const char *text)
{
	size_t n = 0;
	char *line, *rest;

	*t = (struct diff_text){.copy = strdup(text)};
	for (const char *c = text; *c; c++)
		n += *c == '\n';
	t->lines = calloc(n + 2, sizeof(*t->lines));
	if (!t->copy || !t->lines)
		return -ENOMEM;
	rest = t->copy;
	while ((line = strsep(&rest, "\n")))
		if (rest || *line)
			t->lines[t->n++] = line;
	return 0;
}

struct diff_line {
	char sign; /* '-', '+' or ' ' */
	const char *text;
};

/* Longest common subsequence, from the ends: length[i][j] is that of a from i and b from j. */
static size_t diff_lines(const struct diff_text *a, const struct diff_text *b, uint16_t *length,
			 struct diff_line *out)
{
	size_t width = b->n + 1, i = 0, j = 0, n = 0;

	for (size_t x = a->n; x-- > 0;) {
		for (size_t y = b->n; y-- > 0;) {
			uint16_t skip_a = length[(x + 1) * width + y];
			uint16_t skip_b = length[x * width + y + 1];

			if (strcmp(a->lines[x], b->lines[y]) == 0)
				length[x * width + y] =
					(uint16_t)(length[(x + 1) * width + y + 1] + 1);
			else
				length[x * width + y] = MAX_OF(skip_a, skip_b);
		}
	}
	while (i < a->n || j < b->n) {
		if (i < a->n && j < b->n && strcmp(a->lines[i], b->lines[j]) == 0) {
			out[n++] = (struct diff_line){' ', a->lines[i++]};
			j++;
		} else if (j == b->n ||
			   (i < a->n && length[(i + 1) * width + j] >= length[i * width + j + 1])) {
			out[n++] = (struct diff_line){'-', a->lines[i++]};
		} else {
			out[n++] = (struct diff_line){'+', b->lines[j++]};
		}
	}
	return n;
}

static bool near_change(const struct diff_line *lines, size_t n, size_t at)
{
	size_t from = at > DIFF_CONTEXT ? at - DIFF_CONTEXT : 0;
	size_t to = MIN_OF(n, at + DIFF_CONTEXT + 1);

	for (size_t i = from; i < to; i++)
		if (lines[i].sign != ' ')
			return true;
	return false;
}

static void diff_print(const struct diff_line *lines, size_t n, FILE *out)
{
	bool gap = false;

	for (size_t i = 0; i < n; i++) {
		if (!near_change(lines, n, i)) {
			gap = true;
			continue;
		}
		if (gap)
			fputs("...\n", out);
		gap = false;
		fprintf(out, "%c", lines[i].sign);
		ctl_put(lines[i].text, out);
		fputc('\n', out);
	}
}

int ctl_diff(const char *a, const char *b, FILE *out)
{
	PLENUM_CLEANUP(diff_text_done) struct diff_text ta = {0};
	PLENUM_CLEANUP(diff_text_done) struct diff_text tb = {0};
	autofree struct diff_line *lines = NULL;
	autofree uint16_t *length = NULL;

	if (strcmp(a, b) == 0)
		return 0;
	if (diff_text_init(&ta, a) < 0 || diff_text_init(&tb, b) < 0)
		return -ENOMEM;
	if (ta.n > DIFF_LINES_MAX || tb.n > DIFF_LINES_MAX) {
		fputs("The configurations differ; they are too long to be compared by lines.\n",
		      out);
		return 1;
	}
	length = calloc((ta.n + 1) * (tb.n + 1), sizeof(*length));
	lines = calloc(ta.n + tb.n + 1, sizeof(*lines));
	if (!length || !lines)
		return -ENOMEM;
	diff_print(lines, diff_lines(&ta, &tb, length, lines), out);
	return 1;
}
