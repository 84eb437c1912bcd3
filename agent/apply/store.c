/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staging: validates the changes of clients together with the rest of the configuration and keeps
 * them as one directory tree. A new tree is written beside the staged one and replaces it by one
 * rename. Nothing here writes to the configuration's own folder.
 */
#include "agent/apply/store_internal.h"
#include "agent/base/path.h"
#include "netcfg/base/file.h"
#include "netcfg/base/log.h"
#include "netcfg/plan/plan.h"
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int make_paths(struct store *st, const char *config, const char *state_dir)
{
	autofree char *dir_buf = strdup(config);
	const char *dir;

	/* The file may not exist yet, so its folder gives the paths. */
	st->file = strdup(config);
	if (!st->file || !dir_buf)
		return -ENOMEM;
	dir = dirname(dir_buf);
	st->dropin_dir = path_join(dir, "plenum.d");
	st->next_dir = path_join(dir, "plenum.d" SPEC_NEXT_SUFFIX);
	st->staged = path_join(state_dir, "staged");
	st->check_dir = path_join(state_dir, "check.d");
	st->base_file = path_join(state_dir, "base");
	if (st->dropin_dir)
		st->cli_file = path_join(st->dropin_dir, STORE_CLI_FILE);
	return st->staged && st->check_dir && st->base_file && st->cli_file && st->next_dir
		       ? 0
		       : -ENOMEM;
}

int store_init(struct store *st, const char *config, const char *state_dir)
{
	int r;

	memset(st, 0, sizeof(*st));
	r = make_paths(st, config, state_dir);
	if (r < 0)
		store_done(st);
	return r;
}

void store_done(struct store *st)
{
	free(st->file);
	free(st->dropin_dir);
	free(st->cli_file);
	free(st->next_dir);
	free(st->staged);
	free(st->check_dir);
	free(st->base_file);
	free(st->next_file);
	free(st->next_dropins);
	store_look_done(st);
	memset(st, 0, sizeof(*st));
}

struct store_source store_disk(const struct store *st)
{
	return (struct store_source){.file = st->file, .dropin_dir = st->dropin_dir};
}

bool store_has_staged(const struct store *st)
{
	return access(st->staged, F_OK) == 0;
}

int store_error(struct diag *d, const char *path, const char *done, int error)
{
	struct diag_pos pos = {path, 0, 0};

	diag_add(d, DIAG_ERROR, &pos, NULL, "cannot be %s: %s", done, strerror(-error));
	return error;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

int store_remove_tree(const char *path)
{
	return nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT ? -errno
											: 0;
}

/* ---- the drop-ins of a staged change ---- */

bool store_is_dropin(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return e->d_name[0] != '.' && len > 5 && strcmp(e->d_name + len - 5, ".yaml") == 0;
}

/* Links all drop-ins but 50-cli.yaml into check_dir. */
static int link_dropins(const struct store *st)
{
	autofree char *real = realpath(st->dropin_dir, NULL);
	struct dirent *e;
	DIR *d = real ? opendir(real) : NULL;
	int r = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while (r >= 0 && (e = readdir(d))) {
		autofree char *target = NULL, *name = NULL;

		if (!store_is_dropin(e) || strcmp(e->d_name, STORE_CLI_FILE) == 0)
			continue;
		target = path_join(real, e->d_name);
		name = path_join(st->check_dir, e->d_name);
		if (!target || !name)
			r = -ENOMEM;
		else if (symlink(target, name) < 0)
			r = -errno;
	}
	closedir(d);
	return r;
}

/* Fills check_dir; cli NULL: without 50-cli.yaml. */
static int make_check(const struct store *st, const char *cli)
{
	autofree char *path = path_join(st->check_dir, STORE_CLI_FILE);
	int r = store_remove_tree(st->check_dir);

	if (!path)
		return -ENOMEM;
	if (r >= 0 && mkdir(st->check_dir, 0700) < 0)
		r = -errno;
	if (r >= 0)
		r = link_dropins(st);
	return r >= 0 && cli ? file_write(path, cli, strlen(cli), 0600) : r;
}

/* ---- the staged tree ---- */

int store_read_staged(const struct store *st, const char *name, char **ret_text, size_t *ret_len)
{
	autofree char *path = path_join(st->staged, name);
	int r = path ? file_read(path, SPEC_FILE_BYTES_MAX, ret_text, ret_len) : -ENOMEM;

	return r == -ENOENT ? 0 : r;
}

/* Arguments of spec_load for the tree at `tree`; heap paths. */
struct tree_source {
	char *file, *dropin_dir;
};

static void tree_source_done(struct tree_source *s)
{
	free(s->file);
	free(s->dropin_dir);
}

static int tree_source_init(struct store *st, const char *tree, bool whole, const char *cli,
			    struct tree_source *ret)
{
	int r = 0;

	if (whole) {
		ret->file = path_join(tree, STORE_WHOLE);
		ret->dropin_dir = path_join(tree, "plenum.d");
	} else {
		r = make_check(st, cli);
		ret->file = strdup(st->file);
		ret->dropin_dir = strdup(st->check_dir);
	}
	return ret->file && ret->dropin_dir ? r : -ENOMEM;
}

int store_next(struct store *st, struct store_source *ret)
{
	PLENUM_CLEANUP(tree_source_done) struct tree_source from = {NULL, NULL};
	autofree char *whole = NULL, *cli = NULL;
	size_t len;
	int r = store_read_staged(st, STORE_WHOLE, &whole, &len);

	if (r >= 0)
		r = store_read_staged(st, STORE_CLI, &cli, &len);
	if (r >= 0 && !whole && !cli) {
		*ret = store_disk(st);
		return 0;
	}
	if (r >= 0)
		r = tree_source_init(st, st->staged, whole, cli, &from);
	if (r < 0)
		return r;
	free(st->next_file);
	free(st->next_dropins);
	st->next_file = ptr_take(from.file);
	st->next_dropins = ptr_take(from.dropin_dir);
	*ret = (struct store_source){st->next_file, st->next_dropins};
	return 0;
}

static int write_part(const char *tree, const char *name, const char *text, size_t len)
{
	autofree char *path = path_join(tree, name);

	return path ? file_write(path, text, len, 0600) : -ENOMEM;
}

static int make_tree(const char *tree, const char *whole, size_t len, const char *cli)
{
	autofree char *dropins = path_join(tree, "plenum.d");
	int r = dropins ? store_remove_tree(tree) : -ENOMEM;

	if (r >= 0 && (mkdir(tree, 0700) < 0 || mkdir(dropins, 0700) < 0))
		r = -errno;
	if (r >= 0 && whole)
		r = write_part(tree, STORE_WHOLE, whole, len);
	if (r >= 0 && cli)
		r = write_part(tree, STORE_CLI, cli, strlen(cli));
	return r;
}

static int load_tree(struct store *st, const char *tree, bool whole, const char *cli,
		     struct diag *d, struct spec **ret)
{
	PLENUM_CLEANUP(tree_source_done) struct tree_source from = {NULL, NULL};
	int r = tree_source_init(st, tree, whole, cli, &from);

	if (r < 0)
		return store_error(d, st->check_dir, "made", r);
	return spec_load(from.file, from.dropin_dir, d, ret);
}

static int swap_tree(const struct store *st, const char *tree, struct diag *d)
{
	unsigned flags = store_has_staged(st) ? RENAME_EXCHANGE : 0;

	if (renameat2(AT_FDCWD, tree, AT_FDCWD, st->staged, flags) < 0)
		return store_error(d, st->staged, "replaced", -errno);
	return file_sync_folder(st->staged);
}

/* Whether 50-cli.yaml already has this content. */
static bool cli_is(const struct store *st, const char *cli)
{
	autofree char *text = NULL;
	size_t len;

	if (file_read(st->cli_file, SPEC_FILE_BYTES_MAX, &text, &len) < 0)
		return strcmp(cli, STORE_CLI_NONE) == 0;
	return strcmp(text, cli) == 0;
}

/* Makes the tree of these parts aside and loads it. */
static int try_tree(struct store *st, const char *tree, const char *whole, size_t len,
		    const char *cli, struct diag *d, struct spec **ret)
{
	int r = make_tree(tree, whole, len, cli);

	if (r < 0)
		return store_error(d, tree, "written", r);
	return load_tree(st, tree, whole, cli, d, ret);
}

static char *next_tree(const struct store *st)
{
	char *tree;

	return asprintf(&tree, "%s.new", st->staged) < 0 ? NULL : tree;
}

int store_try(struct store *st, const char *whole, size_t len, const char *cli, struct diag *d,
	      struct spec **ret)
{
	autofree char *tree = next_tree(st);
	int r = tree ? try_tree(st, tree, whole, len, cli, d, ret) : -ENOMEM;

	if (tree)
		store_remove_tree(tree);
	return r;
}

int store_stage(struct store *st, const char *whole, size_t len, const char *cli, struct diag *d)
{
	autofree char *tree = next_tree(st);
	struct spec *spec = NULL;
	int r;

	if (whole && cli && strcmp(cli, STORE_CLI_NONE) == 0)
		cli = NULL;
	if (!whole && cli && cli_is(st, cli)) {
		r = store_drop_staged(st, d);
		return r < 0 ? r : 0;
	}
	if (!tree)
		return -ENOMEM;
	r = try_tree(st, tree, whole, len, cli, d, &spec);
	if (r >= 0)
		r = plan_check(spec, d);
	spec_free(spec);
	if (r >= 0)
		r = swap_tree(st, tree, d);
	store_remove_tree(tree); /* the refused new tree, or the old one */
	return r;
}

int store_put_staged(struct store *st, const char *text, size_t len, struct diag *d)
{
	int r = st->prepared ? -EINPROGRESS : store_finish_commit(st, d);

	if (r >= 0 && len > SPEC_FILE_BYTES_MAX - strlen(SPEC_COMMIT_MARK)) {
		diag_add(d, DIAG_ERROR, NULL, NULL,
			 "the text has %zu bytes, the maximum is %zu; stage a shorter one", len,
			 SPEC_FILE_BYTES_MAX - strlen(SPEC_COMMIT_MARK));
		return -EINVAL;
	}
	return r < 0 ? r : store_stage(st, text, len, NULL, d);
}

int store_drop_staged(struct store *st, struct diag *d)
{
	autofree char *tree = NULL;
	int r;

	if (st->prepared)
		return -EINPROGRESS;
	if (!store_has_staged(st))
		return 0;
	if (asprintf(&tree, "%s.new", st->staged) < 0) {
		tree = NULL;
		return -ENOMEM;
	}
	r = store_remove_tree(tree);
	if (r < 0 || rename(st->staged, tree) < 0)
		return store_error(d, st->staged, "removed", r < 0 ? r : -errno);
	store_remove_tree(tree);
	r = file_sync_folder(st->staged);
	return r < 0 ? store_error(d, st->staged, "removed", r) : 1;
}

/* An agent killed after the commit leaves the staged tree, which is on disk already. */
static void forget_committed(struct store *st)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *whole = NULL, *cli = NULL, *text = NULL;
	size_t len, text_len = 0;

	if (store_read_staged(st, STORE_WHOLE, &whole, &len) < 0 ||
	    store_read_staged(st, STORE_CLI, &cli, &text_len) < 0 || (!whole && !cli))
		return;
	if (whole && (file_read(st->file, SPEC_FILE_BYTES_MAX, &text, &text_len) < 0 ||
		      text_len != len || memcmp(text, whole, len) != 0))
		return;
	if (cli_is(st, cli ? cli : STORE_CLI_NONE) && store_drop_staged(st, &d) > 0)
		log_debug("the staged configuration was already written to the files");
}

void store_recover(struct store *st)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *why = NULL;
	int r = store_finish_commit(st, &d);

	why = r < 0 ? diag_format(&d) : NULL;
	if (r < 0)
		log_warning("cannot complete the interrupted commit of the configuration: %s",
			    why ? why : strerror(-r));
	else
		store_abandon(st); /* files prepared and not committed */
	forget_committed(st);
}

/* ---- errors ---- */

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

/* Length of " on line 7" at the start of text, unless a file name follows; else 0. */
static size_t bare_line(const char *text)
{
	size_t head = strlen(" on line "), n;

	if (strncmp(text, " on line ", head) != 0)
		return 0;
	n = strspn(text + head, "0123456789");
	return n && strncmp(text + head + n, " of ", 4) != 0 ? head + n : 0;
}

/* Prints text without the line numbers and paths of temporary files. */
static void print_sentence(const struct store *st, const char *text, bool is_staged, FILE *f)
{
	size_t dir = strlen(st->check_dir), skip;

	while (*text) {
		skip = is_staged ? bare_line(text) : 0;
		if (!skip && strncmp(text, st->check_dir, dir) == 0 && text[dir] == '/') {
			fputs(st->dropin_dir, f);
			skip = dir;
		}
		if (!skip)
			fputc(*text, f);
		text += skip ? skip : 1;
	}
}

/* Staged legs are in no file that the operator could open: the entry's name and key locate the
 * error. */
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
	fprintf(f, "%s: ", e->severity == DIAG_ERROR ? "error" : "warning");
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
