/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the parts of the staged tree on disk, and removes it. */
#include "agent/apply/store_internal.h"
#include "agent/base/path.h"
#include "netcfg/base/file.h"
#include "netcfg/base/os/folder.h"
#include <stdio.h>
#include <string.h>

bool store_is_dropin(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return e->d_name[0] != '.' && len > 5 && strcmp(e->d_name + len - 5, ".yaml") == 0;
}

bool store_has_staged(const struct store *st)
{
	return access(st->staged, F_OK) == 0;
}

int store_read_staged(const struct store *st, const char *name, char **ret_text, size_t *ret_len)
{
	autofree char *path = path_join(st->staged, name);
	int r = path ? file_read(path, SPEC_FILE_BYTES_MAX, ret_text, ret_len) : -ENOMEM;

	return r == -ENOENT ? 0 : r;
}

int store_read_document(const struct store *st, char **ret)
{
	size_t len;

	return file_read(st->document_file, SPEC_FILE_BYTES_MAX, ret, &len);
}

bool store_has_staged_document(const struct store *st)
{
	autofree char *path = path_join(st->staged, STORE_DOCUMENT);

	return path && access(path, F_OK) == 0;
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
	r = folder_remove(tree);
	if (r < 0 || rename(st->staged, tree) < 0)
		return store_error(d, st->staged, "removed", r < 0 ? r : -errno);
	folder_remove(tree);
	r = file_sync_folder(st->staged);
	return r < 0 ? store_error(d, st->staged, "removed", r) : 1;
}
