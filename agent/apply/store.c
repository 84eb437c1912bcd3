/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staging: validates the changes of clients together with the rest of the configuration, and keeps
 * them as a directory tree. A new tree is written beside the staged one and replaces it by a
 * rename. This file never writes to the configuration's own folder.
 */
#include "agent/apply/store_internal.h"
#include "agent/base/path.h"
#include "netcfg/base/file.h"
#include "netcfg/base/log.h"
#include "netcfg/base/os/folder.h"
#include "netcfg/plan/plan.h"
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int make_paths(struct store *st, const char *config, const char *state_dir)
{
	autofree char *dir_buf = strdup(config);
	const char *dir;

	/* The drop-ins are in the folder of the file. */
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
	if (st->dropin_dir)
		st->document_file = path_join(st->dropin_dir, STORE_DOCUMENT_FILE);
	return st->staged && st->check_dir && st->base_file && st->cli_file && st->document_file &&
			       st->next_dir
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
	free(st->document_file);
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

/* ---- drop-ins of a staged change ---- */

/* Links all drop-ins except one into check_dir. */
static int link_dropins(const struct store *st, const char *except)
{
	autofree char *real = realpath(st->dropin_dir, NULL);
	struct dirent *e;
	DIR *d = real ? opendir(real) : NULL;
	int r = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while (r >= 0 && (e = readdir(d))) {
		autofree char *target = NULL, *name = NULL;

		if (!store_is_dropin(e) || strcmp(e->d_name, except) == 0)
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

int store_make_check(const struct store *st, const char *file, const char *text)
{
	autofree char *path = path_join(st->check_dir, file);
	int r = folder_remove(st->check_dir);

	if (!path)
		return -ENOMEM;
	if (r >= 0 && mkdir(st->check_dir, 0700) < 0)
		r = -errno;
	if (r >= 0)
		r = link_dropins(st, file);
	return r >= 0 && text ? file_write(path, text, strlen(text), 0600) : r;
}

/* ---- the staged tree ---- */

/* The paths of the tree at `tree`, as spec_load takes them; on the heap. */
struct tree_source {
	char *file, *dropin_dir;
};

static void tree_source_done(struct tree_source *s)
{
	free(s->file);
	free(s->dropin_dir);
}

static int tree_source_init(struct store *st, const char *tree, bool whole, const char *file,
			    const char *text, struct tree_source *ret)
{
	int r = 0;

	if (whole) {
		ret->file = path_join(tree, STORE_WHOLE);
		ret->dropin_dir = path_join(tree, "plenum.d");
	} else {
		r = store_make_check(st, file, text);
		ret->file = strdup(st->file);
		ret->dropin_dir = strdup(st->check_dir);
	}
	return ret->file && ret->dropin_dir ? r : -ENOMEM;
}

int store_next(struct store *st, struct store_source *ret)
{
	PLENUM_CLEANUP(tree_source_done) struct tree_source from = {NULL, NULL};
	autofree char *whole = NULL, *cli = NULL, *document = NULL;
	size_t len;
	int r = store_read_staged(st, STORE_WHOLE, &whole, &len);

	if (r >= 0)
		r = store_read_staged(st, STORE_CLI, &cli, &len);
	if (r >= 0)
		r = store_read_staged(st, STORE_DOCUMENT, &document, &len);
	if (r >= 0 && !whole && !cli && !document) {
		*ret = store_disk(st);
		return 0;
	}
	if (r >= 0)
		r = tree_source_init(st, st->staged, whole,
				     document ? STORE_DOCUMENT_FILE : STORE_CLI_FILE,
				     document ? document : cli, &from);
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
	int r = dropins ? folder_remove(tree) : -ENOMEM;

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
	int r = tree_source_init(st, tree, whole, STORE_CLI_FILE, cli, &from);

	if (r < 0)
		return store_error(d, st->check_dir, "made", r);
	return spec_load(from.file, from.dropin_dir, d, ret);
}

int store_swap_tree(const struct store *st, const char *tree, struct diag *d)
{
	unsigned flags = store_has_staged(st) ? RENAME_EXCHANGE : 0;

	if (renameat2(AT_FDCWD, tree, AT_FDCWD, st->staged, flags) < 0)
		return store_error(d, st->staged, "replaced", -errno);
	return file_sync_folder(st->staged);
}

/* Returns whether 50-cli.yaml already has this content. */
static bool cli_is(const struct store *st, const char *cli)
{
	autofree char *text = NULL;
	size_t len;

	if (file_read(st->cli_file, SPEC_FILE_BYTES_MAX, &text, &len) < 0)
		return strcmp(cli, STORE_CLI_NONE) == 0;
	return strcmp(text, cli) == 0;
}

/* Writes a configuration (the text of its main file and of its cli part) to a new tree, and loads
 * the result. */
static int try_tree(struct store *st, const char *tree, const char *whole, size_t len,
		    const char *cli, struct diag *d, struct spec **ret)
{
	int r = make_tree(tree, whole, len, cli);

	if (r < 0)
		return store_error(d, tree, "written", r);
	return load_tree(st, tree, whole, cli, d, ret);
}

char *store_next_tree(const struct store *st)
{
	char *tree;

	return asprintf(&tree, "%s.new", st->staged) < 0 ? NULL : tree;
}

int store_try(struct store *st, const char *whole, size_t len, const char *cli, struct diag *d,
	      struct spec **ret)
{
	autofree char *tree = store_next_tree(st);
	int r = tree ? try_tree(st, tree, whole, len, cli, d, ret) : -ENOMEM;

	if (tree)
		folder_remove(tree);
	return r;
}

int store_stage(struct store *st, const char *whole, size_t len, const char *cli, struct diag *d)
{
	autofree char *tree = store_next_tree(st);
	const bool replaces = !cli;
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
	if (r >= 0) {
		r = store_write_authors(st, tree, replaces);
		r = r < 0 ? store_error(d, tree, "written", r) : 0;
	}
	if (r >= 0)
		r = store_swap_tree(st, tree, d);
	folder_remove(tree); /* after an error `tree` is the new tree, otherwise the old one */
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

/* The same for a staged document of the cluster. */
static void forget_document(struct store *st)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *staged = NULL, *is = NULL;
	size_t len;

	if (store_read_staged(st, STORE_DOCUMENT, &staged, &len) < 0 || !staged ||
	    store_read_document(st, &is) < 0 || strcmp(staged, is) != 0)
		return;
	if (store_drop_staged(st, &d) > 0)
		log_debug("the staged document of the cluster was already written to the files");
}

/* Removes the staged tree if an agent was killed after the commit and before it removed the tree.
 * The tree's content is already in the files. */
static void forget_committed(struct store *st)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *whole = NULL, *cli = NULL, *text = NULL;
	size_t len, text_len = 0;

	if (store_read_staged(st, STORE_WHOLE, &whole, &len) < 0 ||
	    store_read_staged(st, STORE_CLI, &cli, &text_len) < 0 || (!whole && !cli)) {
		forget_document(st);
		return;
	}
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
		store_abandon(st); /* removes files that were prepared but not committed */
	forget_committed(st);
}
