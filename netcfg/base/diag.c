/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collects the errors in a user's files and prints them in the order of the file. Separate from the
 * log, because these messages go to the user who sent the request, possibly on another host.
 */
#include "netcfg/base/diag.h"

#include "netcfg/base/file.h"
#include "netcfg/base/text.h"
#include "netcfg/base/vec.h"
#include <stdarg.h>
#include <string.h>

/* Limits the output and the memory that a huge invalid input can cause. */
#define DIAG_ENTRIES_MAX 200
/* Longer words get no suggestion. */
#define DIAG_WORD_MAX 48

static void entry_done(struct diag_entry *e)
{
	free(e->file);
	free(e->path);
	free(e->text);
}

void diag_done(struct diag *d)
{
	for (size_t i = 0; i < d->n; i++)
		entry_done(&d->entries[i]);
	free(d->entries);
	*d = (struct diag)DIAG_INIT;
}

static int entry_fill(struct diag_entry *e, const struct diag_pos *pos, const char *path,
		      const char *fmt, va_list args)
{
	if (vasprintf(&e->text, fmt, args) < 0) {
		e->text = NULL;
		return -ENOMEM;
	}
	if (pos && pos->file) {
		e->file = strdup(pos->file);
		if (!e->file)
			return -ENOMEM;
	}
	if (path && *path) {
		e->path = strdup(path);
		if (!e->path)
			return -ENOMEM;
	}
	e->line = pos ? pos->line : 0;
	e->column = pos ? pos->column : 0;
	return 0;
}

void diag_add(struct diag *d, enum diag_severity sev, const struct diag_pos *pos, const char *path,
	      const char *fmt, ...)
{
	struct diag_entry e = {.severity = sev}, *added = NULL;
	va_list args;
	int r;

	if (sev == DIAG_ERROR)
		d->n_errors++;
	if (d->n >= DIAG_ENTRIES_MAX)
		return;
	va_start(args, fmt);
	r = entry_fill(&e, pos, path, fmt, args);
	va_end(args);
	if (r == 0)
		added = vec_add(&d->entries, &d->n, sizeof(*added));
	if (!added) {
		entry_done(&e);
		d->out_of_memory = true;
		return;
	}
	*added = e;
}

void diag_append(struct diag *d, const struct diag *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct diag_entry *e = &from->entries[i];
		const struct diag_pos pos = {e->file, e->line, e->column};

		diag_add(d, e->severity, e->file ? &pos : NULL, e->path, "%s", e->text);
	}
}

const char *diag_severity_to_string(enum diag_severity sev)
{
	static const char *const words[DIAG_SEVERITY_MAX] = {
		[DIAG_ERROR] = "error", [DIAG_WARNING] = "warning", [DIAG_NOTE] = "note"};

	return words[sev];
}

bool diag_has_errors(const struct diag *d)
{
	return d->n_errors > 0 || d->out_of_memory;
}

const struct diag_entry *diag_first_error(const struct diag *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->entries[i].severity == DIAG_ERROR && d->entries[i].text)
			return &d->entries[i];
	return NULL;
}

/* Returns the file's position in the order of first mention, by which the main file precedes the
 * files included after it. */
static size_t file_rank(const struct diag *d, const struct diag_entry *e)
{
	if (!e->file)
		return d->n;
	for (size_t i = 0; i < d->n; i++)
		if (d->entries[i].file && strcmp(d->entries[i].file, e->file) == 0)
			return i;
	return d->n;
}

struct order {
	size_t file_rank, index;
	const struct diag_entry *entry;
};

static int order_cmp(const void *va, const void *vb)
{
	const struct order *a = va, *b = vb;

	if (a->file_rank != b->file_rank)
		return a->file_rank < b->file_rank ? -1 : 1;
	if (a->entry->line != b->entry->line)
		return a->entry->line < b->entry->line ? -1 : 1;
	if (a->entry->column != b->entry->column)
		return a->entry->column < b->entry->column ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* The words of a file or of another host must not control the reader's terminal. */
static void put_clean(const char *text, FILE *out)
{
	autofree char *shown = strdup(text);

	if (shown)
		text_clean(shown);
	fputs(shown ? shown : "?", out);
}

static void entry_print(const struct diag_entry *e, FILE *out)
{
	if (e->file)
		put_clean(e->file, out);
	if (e->file && e->line)
		fprintf(out, ":%u:%u", e->line, e->column);
	fprintf(out, "%s%s: ", e->file ? ": " : "", diag_severity_to_string(e->severity));
	if (e->path) {
		put_clean(e->path, out);
		fputs(": ", out);
	}
	put_clean(e->text, out);
	fputc('\n', out);
}

void diag_print(const struct diag *d, FILE *out)
{
	/* If memory for sorting is short, the entries are printed unsorted. */
	autofree struct order *order = calloc(d->n ? d->n : 1, sizeof(*order));
	size_t shown_errors = 0;

	for (size_t i = 0; i < d->n; i++) {
		shown_errors += d->entries[i].severity == DIAG_ERROR;
		if (order)
			order[i] = (struct order){file_rank(d, &d->entries[i]), i, &d->entries[i]};
	}
	if (order)
		qsort(order, d->n, sizeof(*order), order_cmp);
	for (size_t i = 0; i < d->n; i++)
		entry_print(order ? order[i].entry : &d->entries[i], out);
	if (d->n_errors > shown_errors)
		fprintf(out, "error: %zu further errors are not shown\n",
			d->n_errors - shown_errors);
	if (d->out_of_memory)
		fprintf(out, "error: out of memory\n");
}

char *diag_format(const struct diag *d)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	diag_print(d, out);
	return file_text_end(out, &text, 0);
}

/* Returns the edit distance; swapping two neighbouring letters, the most frequent typing error,
 * counts as one edit. */
static unsigned edit_distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned row[3][DIAG_WORD_MAX + 1];
	unsigned *before = row[0], *prev = row[1], *cur = row[2];

	for (size_t j = 0; j <= m; j++)
		prev[j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned *next = before;

		cur[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned change = prev[j - 1] + (a[i - 1] != b[j - 1]);
			unsigned best = MIN_OF(change, MIN_OF(prev[j], cur[j - 1]) + 1);

			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = MIN_OF(best, before[j - 2] + 1);
			cur[j] = best;
		}
		before = prev;
		prev = cur;
		cur = next;
	}
	return prev[m];
}

const char *diag_suggest(const char *word, const char *const *candidates, size_t n)
{
	const char *best = NULL;
	size_t len = strlen(word);
	/* The maximum edit distance of a suggestion: a third of the word's length, but at least
	 * two; one for a word of one or two letters. */
	unsigned limit = len <= 2 ? 1 : (unsigned)MAX_OF(2, len / 3);

	if (len == 0 || len > DIAG_WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t m = strlen(candidates[i]);
		unsigned distance;

		if (m > DIAG_WORD_MAX)
			continue;
		distance = edit_distance(word, len, candidates[i], m);
		if (distance <= limit && distance < MAX_OF(len, m)) {
			best = candidates[i];
			limit = distance ? distance - 1 : 0;
			if (distance == 0)
				break;
		}
	}
	return best;
}
