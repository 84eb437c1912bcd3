/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commits the staged tree to the files. If the agent is killed at any point, the old or the new
 * configuration remains. If only legs change, the commit is the rename of one file. A whole
 * configuration replaces both plenum.yaml and plenum.d, and two renames are not atomic. So the new
 * drop-ins are written to plenum.d.next, and the new plenum.yaml begins with a line that makes
 * spec_load read the drop-ins from there. The rename of plenum.yaml is the commit. Afterwards the
 * folders are moved into place and the line is removed.
 */
#include "agent/apply/store_internal.h"
#include "agent/base/path.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/hash.h"
#include "netcfg/base/log.h"
#include "netcfg/base/os/folder.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Returns the mode for a new file, which is the mode of plenum.yaml. */
static mode_t mode_of_file(const struct store *st)
{
	struct stat s;

	return stat(st->file, &s) < 0 ? 0644 : s.st_mode & 0777;
}

/* Returns the path with `~` appended, on the heap. */
static char *former_of(const char *path)
{
	char *name;

	return asprintf(&name, "%s~", path) < 0 ? NULL : name;
}

static bool has_dropins(const struct store *st)
{
	DIR *dir = opendir(st->dropin_dir);
	struct dirent *e;
	bool any = false;

	while (dir && !any && (e = readdir(dir)))
		any = store_is_dropin(e);
	if (dir)
		closedir(dir);
	return any;
}

/* ---- preparation ---- */

static int prepare_dropin(struct store *st, const char *file, const char *text, struct diag *d)
{
	int r;

	if (mkdir(st->dropin_dir, 0755) < 0 && errno != EEXIST)
		return store_error(d, st->dropin_dir, "made", -errno);
	if (strcmp(text, STORE_CLI_NONE) == 0)
		return access(st->dropin_dir, W_OK) < 0
			       ? store_error(d, st->dropin_dir, "written", -errno)
			       : 0;
	r = file_prepare(file, text, strlen(text), mode_of_file(st));
	return r < 0 ? store_error(d, file, "written", r) : 0;
}

/* Makes plenum.d.next with the mode and owner of plenum.d. */
static int prepare_next(struct store *st, const char *cli, struct diag *d)
{
	autofree char *path = path_join(st->next_dir, STORE_CLI_FILE);
	struct stat s;
	int r = folder_remove(st->next_dir);

	if (!path)
		return -ENOMEM;
	if (r >= 0 && mkdir(st->next_dir, 0755) < 0)
		r = -errno;
	if (r >= 0 && stat(st->dropin_dir, &s) == 0 &&
	    (chmod(st->next_dir, s.st_mode & 07777) < 0 ||
	     (chown(st->next_dir, s.st_uid, s.st_gid) < 0 && errno != EPERM)))
		r = -errno;
	if (r < 0)
		return store_error(d, st->next_dir, "made", r);
	if (cli)
		r = file_write(path, cli, strlen(cli), mode_of_file(st));
	return r < 0 ? store_error(d, path, "written", r) : 0;
}

static int prepare_whole(struct store *st, const char *text, size_t len, const char *cli,
			 struct diag *d)
{
	bool folders = cli || has_dropins(st);
	autofree char *marked = NULL;
	int r = folders ? prepare_next(st, cli, d) : 0;

	if (r < 0)
		return r;
	if (asprintf(&marked, "%s%s", folders ? SPEC_COMMIT_MARK : "", text) < 0) {
		marked = NULL;
		return -ENOMEM;
	}
	r = file_prepare(st->file, marked, len + (folders ? strlen(SPEC_COMMIT_MARK) : 0), 0644);
	return r < 0 ? store_error(d, st->file, "written", r) : 0;
}

int store_prepare(struct store *st, struct diag *d)
{
	autofree char *whole = NULL, *cli = NULL, *document = NULL;
	size_t len = 0, cli_len = 0;
	int r;

	if (st->prepared)
		return -EINPROGRESS;
	r = store_finish_commit(st, d);
	if (r >= 0)
		r = store_read_staged(st, STORE_WHOLE, &whole, &len);
	if (r >= 0)
		r = store_read_staged(st, STORE_CLI, &cli, &cli_len);
	if (r >= 0)
		r = store_read_staged(st, STORE_DOCUMENT, &document, &cli_len);
	if (r >= 0 && whole)
		r = prepare_whole(st, whole, len, cli, d);
	else if (r >= 0 && document)
		r = prepare_dropin(st, st->document_file, document, d);
	else if (r >= 0 && cli)
		r = prepare_dropin(st, st->cli_file, cli, d);
	if (r < 0) {
		store_abandon(st);
		return r;
	}
	st->prepared = true;
	return 0;
}

void store_abandon(struct store *st)
{
	file_abandon(st->file);
	file_abandon(st->cli_file);
	file_abandon(st->document_file);
	folder_remove(st->next_dir);
	st->prepared = false;
}

/* ---- edits by operators during an apply ---- */

/* Writes the checksum of a file. A collision does no harm, because a program that can write the
 * file can write any content. */
static void put_base(FILE *f, const char *path)
{
	static const uint64_t key[2] = {0x706c656e756d2d66, 0x696c65732d763100};
	autofree char *text = NULL;
	size_t len = 0;
	int r = file_read(path, SPEC_FILE_BYTES_MAX + sizeof(SPEC_COMMIT_MARK), &text, &len);

	if (r != -ENOENT)
		fprintf(f, "%016" PRIx64 " %s\n", r < 0 ? 0 : hash_keyed(key, text, len), path);
}

static int is_dropin(const struct dirent *e)
{
	return store_is_dropin(e);
}

static int put_dropins(const struct store *st, FILE *f)
{
	struct dirent **list = NULL;
	int n = scandir(st->dropin_dir, &list, is_dropin, alphasort);
	int r = n < 0 && errno != ENOENT ? -errno : 0;

	for (int i = 0; i < n; i++) {
		autofree char *path = path_join(st->dropin_dir, list[i]->d_name);

		if (path)
			put_base(f, path);
		else
			r = -ENOMEM;
		free(list[i]);
	}
	free(list);
	return r;
}

/* Makes the record with a line for each file that the commit will replace. */
static int make_base(const struct store *st, char **ret)
{
	autofree char *whole = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *f;
	int r = store_read_staged(st, STORE_WHOLE, &whole, &len);

	if (r < 0)
		return r;
	f = open_memstream(&text, &len);
	if (!f)
		return -ENOMEM;
	if (whole) {
		put_base(f, st->file);
		r = put_dropins(st, f);
	} else {
		put_base(f, store_has_staged_document(st) ? st->document_file : st->cli_file);
	}
	*ret = file_text_end(f, &text, r);
	return r < 0 ? r : *ret ? 0 : -ENOMEM;
}

/* Converts version 1 of the record, which has the same lines without the word "file". */
static int convert_base(const char *text, struct state_draft *lines)
{
	if (!*text || text[strlen(text) - 1] != '\n' || strspn(text, "0123456789abcdef") != 16 ||
	    text[16] != ' ')
		return STATE_TORN;
	state_draft_block(lines, "file", text);
	return 0;
}

/* The record of file checksums. A line is "file CHECKSUM PATH". */
static const struct state_kind base_kind = {.name = "base",
					    .version = 2,
					    .old_until = 1,
					    .bytes_max = 2 * SPEC_FILE_BYTES_MAX,
					    .convert = convert_base};

int store_note_base(struct store *st, struct diag *d)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft lines = {.kind = &base_kind};
	autofree char *text = NULL;
	int r = make_base(st, &text);

	if (r >= 0) {
		state_draft_init(&lines, &base_kind);
		state_draft_block(&lines, "file", text);
		r = state_draft_save(&lines, st->base_file);
	}
	return r < 0 ? store_error(d, st->base_file, "written", r) : 0;
}

void store_forget_base(struct store *st)
{
	int r = state_file_remove(&base_kind, st->base_file);

	if (r < 0)
		log_debug("%s: %s", st->base_file, strerror(-r));
}

static int load_base(const struct store *st, char **ret)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	int r = state_file_read(&f, &base_kind, st->base_file);

	if (r < 0)
		return r;
	*ret = state_file_block(&f, "file");
	return *ret ? 0 : -ENOMEM;
}

/* Adds an error that names the file in the first line that differs. */
static void report_changed(const char *was, const char *is, struct diag *d)
{
	const char *line = was;
	struct diag_pos pos = {NULL, 0, 0};
	autofree char *path = NULL;
	size_t len;

	while (*was && *was == *is) {
		if (*was == '\n')
			line = was + 1;
		was++;
		is++;
	}
	if (!*line) /* all lines of `was` are unchanged; the next line of `is` is new */
		line = is;
	len = strcspn(line, "\n");
	path = len > 17 ? strndup(line + 17, len - 17) : NULL;
	pos.file = path ? path : "?";
	diag_add(d, DIAG_ERROR, &pos, NULL, "the file was edited after this apply began");
}

int store_check_base(struct store *st, struct diag *d)
{
	struct diag_pos pos = {st->base_file, 0, 0};
	autofree char *was = NULL, *is = NULL;
	int r = load_base(st, &was);

	if (r == STATE_MISSING) /* store_note_base was not called */
		return 0;
	if (r < 0) {
		diag_add(d, DIAG_ERROR, &pos, NULL, "cannot be read: %s", state_file_error(r));
		return r;
	}
	r = make_base(st, &is);
	if (r < 0)
		return store_error(d, st->base_file, "compared", r);
	if (strcmp(was, is) == 0)
		return 0;
	report_changed(was, is, d);
	return -ESTALE;
}

/* ---- the commit ---- */

/* Keeps the replaced file as a copy. Errors are ignored: the commit does not depend on the copy. */
static void keep_former(const struct store *st, const char *path)
{
	autofree char *text = NULL, *former = former_of(path);
	size_t len = 0;
	int r;

	if (!former || file_read(path, SPEC_FILE_BYTES_MAX, &text, &len) < 0)
		return;
	unlink(former); /* the mode of the previous copy may let more users read it */
	r = file_write(former, text, len, mode_of_file(st));
	if (r < 0)
		log_debug("%s: %s", former, strerror(-r));
}

static int commit_dropin(struct store *st, const char *file, const char *text, struct diag *d)
{
	int r;

	keep_former(st, file);
	if (strcmp(text, STORE_CLI_NONE) != 0) {
		r = file_commit(file);
		return r < 0 ? store_error(d, file, "written", r) : 0;
	}
	if (unlink(file) < 0 && errno != ENOENT)
		return store_error(d, file, "removed", -errno);
	return file_sync_folder(file);
}

static int commit_whole(struct store *st, struct diag *d)
{
	int r;

	keep_former(st, st->file);
	r = file_commit(st->file);
	return r < 0 ? store_error(d, st->file, "written", r) : store_finish_commit(st, d);
}

int store_commit(struct store *st, struct diag *d)
{
	autofree char *whole = NULL, *cli = NULL, *document = NULL;
	size_t len;
	int r = store_read_staged(st, STORE_WHOLE, &whole, &len);

	st->prepared = false;
	if (r >= 0)
		r = store_read_staged(st, STORE_CLI, &cli, &len);
	if (r >= 0)
		r = store_read_staged(st, STORE_DOCUMENT, &document, &len);
	if (r >= 0)
		r = store_check_base(st, d);
	if (r == -ESTALE)
		store_abandon(st);
	/* From now on, a restarted agent must complete the commit even if a file has changed, so
	 * the record of the files is removed. */
	if (r >= 0)
		store_forget_base(st);
	if (r >= 0 && whole)
		r = commit_whole(st, d);
	else if (r >= 0 && document)
		r = commit_dropin(st, st->document_file, document, d);
	else if (r >= 0 && cli)
		r = commit_dropin(st, st->cli_file, cli, d);
	if (r < 0)
		return r;
	r = store_drop_staged(st, d);
	return r < 0 ? r : 0;
}

/* ---- after the commit ---- */

/* Moves the new folder of drop-ins into place. Until then spec_load reads it from plenum.d.next. */
static int finish_folders(struct store *st, struct diag *d)
{
	autofree char *former = former_of(st->dropin_dir);
	int r;

	if (!former)
		return -ENOMEM;
	if (access(st->next_dir, F_OK) < 0)
		return 0;
	if (access(st->dropin_dir, F_OK) == 0) {
		r = folder_remove(former);
		if (r < 0 || rename(st->dropin_dir, former) < 0)
			return store_error(d, former, "replaced", r < 0 ? r : -errno);
	}
	if (rename(st->next_dir, st->dropin_dir) < 0)
		return store_error(d, st->dropin_dir, "replaced", -errno);
	return file_sync_folder(st->dropin_dir);
}

int store_finish_commit(struct store *st, struct diag *d)
{
	static const size_t mark_len = sizeof(SPEC_COMMIT_MARK) - 1;
	autofree char *text = NULL;
	size_t len = 0;
	int r = file_read(st->file, SPEC_FILE_BYTES_MAX + mark_len, &text, &len);

	/* If plenum.yaml cannot be read, no commit is completed; loading it reports the
	 * error later. */
	if (r < 0 || strncmp(text, SPEC_COMMIT_MARK, mark_len) != 0)
		return 0;
	r = finish_folders(st, d);
	if (r < 0)
		return r;
	r = file_write(st->file, text + mark_len, len - mark_len, 0644);
	return r < 0 ? store_error(d, st->file, "written", r) : 0;
}
