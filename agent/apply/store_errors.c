/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of the store. Paths of temporary files are replaced by the paths that an operator
 * knows. */
#include "agent/apply/store_internal.h"
#include "agent/base/path.h"
#include "netcfg/base/file.h"
#include "netcfg/base/log.h"
#include <stdio.h>
#include <string.h>

int store_error(struct diag *d, const char *path, const char *done, int error)
{
	struct diag_pos pos = {path, 0, 0};

	diag_add(d, DIAG_ERROR, &pos, NULL, "cannot be %s: %s", done, strerror(-error));
	return error;
}

char *store_shown_file(const struct store *st, const char *file)
{
	const char *name = strrchr(file, '/');
	size_t len = strlen(st->check_dir);

	if (strncmp(file, st->check_dir, len) == 0 && file[len] == '/')
		return path_join(st->dropin_dir, file + len + 1);
	len = strlen(st->staged);
	if (strncmp(file, st->staged, len) != 0 || !strchr("/.", file[len]))
		return strdup(file);
	if (name && strcmp(name + 1, STORE_CLI_FILE) == 0)
		return strdup(st->cli_file);
	return strdup(name && strcmp(name + 1, STORE_WHOLE) == 0 ? "staged.yaml" : file);
}

/* Returns the length of a text such as " on line 7" at the start of `text`, or 0 if `text` does not
 * start so, or a file name follows. */
static size_t bare_line(const char *text)
{
	size_t head = strlen(" on line "), n;

	if (strncmp(text, " on line ", head) != 0)
		return 0;
	n = strspn(text + head, "0123456789");
	return n && strncmp(text + head + n, " of ", 4) != 0 ? head + n : 0;
}

/* Returns the length of the path of a temporary drop-in folder at the start of `text`, or 0 if
 * `text` does not start with such a path. */
static size_t dropins_length(const struct store *st, const char *text)
{
	static const char dropins[] = "/plenum.d/";
	size_t len = strlen(st->check_dir);

	if (strncmp(text, st->check_dir, len) == 0 && text[len] == '/')
		return len;
	len = strlen(st->staged);
	if (strncmp(text, st->staged, len) == 0 &&
	    strncmp(text + len, dropins, strlen(dropins)) == 0)
		return len + strlen(dropins) - 1;
	return 0;
}

/* Prints `text` without the line numbers and paths of temporary files. */
static void print_sentence(const struct store *st, const char *text, bool is_staged, FILE *f)
{
	size_t skip;

	while (*text) {
		skip = is_staged ? bare_line(text) : 0;
		if (!skip) {
			skip = dropins_length(st, text);
			fputs(skip ? st->dropin_dir : "", f);
		}
		if (!skip)
			fputc(*text, f);
		text += skip ? skip : 1;
	}
}

/* Names the entry and the configuration key of an error in a staged leg, because there is no file
 * that the operator could open. */
static char *entry_text(const struct store *st, const struct diag_entry *e)
{
	autofree char *file = e->file ? store_shown_file(st, e->file) : NULL;
	bool is_staged = file && strcmp(file, st->cli_file) == 0 && strcmp(e->file, file) != 0;
	size_t len = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	if (file && !is_staged)
		fprintf(f, e->line ? "%s:%u:%u: " : "%s: ", file, e->line, e->column);
	fprintf(f, "%s: ", diag_severity_to_string(e->severity));
	if (e->path)
		fprintf(f, "%s: ", e->path);
	print_sentence(st, e->text ? e->text : "", is_staged, f);
	return file_text_end(f, &text, 0);
}

json_t *store_diag_to_json(const struct store *st, const struct diag *d)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < d->n; i++) {
		autofree char *text = entry_text(st, &d->entries[i]);
		json_t *s = text ? json_string(text) : NULL;

		if (s && json_array_append_new(list, s) < 0)
			log_debug("out of memory: an error message is missing");
	}
	return list;
}
