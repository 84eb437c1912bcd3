/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the files on disk for a comparison with the running configuration. Reads them again only
 * after they have changed.
 */
#include "agent/apply/store_internal.h"
#include "netcfg/base/hash.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void mix(uint64_t *mark, const void *data, size_t len)
{
	const uint64_t before[2] = {*mark, 0};

	*mark = hash_keyed(before, data, len);
}

/* Adds the size, times and inode of a file: an edit changes at least one of these values, and so
 * does the replacement of the file. */
static void mix_file(uint64_t *mark, const char *path)
{
	struct stat s;

	mix(mark, path, strlen(path) + 1);
	if (stat(path, &s) < 0) {
		mix(mark, &errno, sizeof(errno));
		return;
	}
	mix(mark, &s.st_dev, sizeof(s.st_dev));
	mix(mark, &s.st_ino, sizeof(s.st_ino));
	mix(mark, &s.st_size, sizeof(s.st_size));
	mix(mark, &s.st_mtim, sizeof(s.st_mtim));
	mix(mark, &s.st_ctim, sizeof(s.st_ctim));
}

static int is_dropin(const struct dirent *e)
{
	return store_is_dropin(e);
}

static uint64_t mark_of_files(const struct store *st)
{
	uint64_t mark = 0;
	struct dirent **entries;
	int n;

	mix_file(&mark, st->file);
	mix_file(&mark, st->next_dir);
	n = scandir(st->dropin_dir, &entries, is_dropin, alphasort);
	for (int i = 0; i < n; i++) {
		autofree char *path = NULL;

		if (asprintf(&path, "%s/%s", st->dropin_dir, entries[i]->d_name) > 0)
			mix_file(&mark, path);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return mark;
}

static char *first_error(const struct store *st, const struct diag *d)
{
	json_t *list = store_diag_to_json(st, d);
	const json_t *item;
	char *text = NULL;
	size_t i;

	json_array_foreach (list, i, item)
		if (!text && strstr(json_string_value(item), "error: "))
			text = strdup(json_string_value(item));
	json_decref(list);
	return text;
}

const char *store_look(struct store *st, const char **ret_error)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	const uint64_t mark = mark_of_files(st);
	struct spec *spec = NULL;

	if (mark != st->look.mark || (!st->look.yaml && !st->look.error)) {
		store_look_done(st);
		if (spec_load(st->file, st->dropin_dir, &d, &spec) >= 0)
			st->look.yaml = spec_to_yaml(spec);
		else
			st->look.error = first_error(st, &d);
		spec_free(spec);
		st->look.mark = mark;
	}
	*ret_error = st->look.error;
	return st->look.yaml;
}

void store_look_done(struct store *st)
{
	free(st->look.yaml);
	free(st->look.error);
	memset(&st->look, 0, sizeof(st->look));
}
