/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stages the cluster's configuration document as a separate drop-in, which a rollout applies. It is
 * staged only while nothing else is: changes of operators are neither applied with it nor lost.
 */
#include "agent/apply/store_internal.h"
#include "agent/base/path.h"
#include "netcfg/base/file.h"
#include "netcfg/base/os/folder.h"
#include "netcfg/plan/plan.h"
#include <string.h>
#include <sys/stat.h>

/* Writes the tree, and checks the configuration that it gives. */
static int try_tree(struct store *st, const char *tree, const char *text, struct diag *d)
{
	autofree char *dropins = path_join(tree, "plenum.d"),
		      *path = path_join(tree, STORE_DOCUMENT);
	struct spec *spec = NULL;
	int r = dropins && path ? folder_remove(tree) : -ENOMEM;

	if (r >= 0 && (mkdir(tree, 0700) < 0 || mkdir(dropins, 0700) < 0))
		r = -errno;
	if (r >= 0)
		r = file_write(path, text, strlen(text), 0600);
	if (r >= 0)
		r = store_make_check(st, STORE_DOCUMENT_FILE, text);
	if (r < 0)
		return store_error(d, tree, "written", r);
	r = spec_load(st->file, st->check_dir, d, &spec);
	if (r >= 0)
		r = plan_check(spec, d);
	spec_free(spec);
	return r;
}

int store_put_document(struct store *st, const char *text, struct diag *d)
{
	autofree char *tree = store_next_tree(st);
	int r = st->prepared ? -EINPROGRESS : store_has_staged(st) ? -EBUSY : 0;

	if (r >= 0)
		r = tree ? spec_document_check(STORE_DOCUMENT_FILE, text, strlen(text), d)
			 : -ENOMEM;
	if (r >= 0)
		r = store_finish_commit(st, d);
	if (r < 0)
		return r;
	r = try_tree(st, tree, text, d);
	if (r >= 0)
		r = store_swap_tree(st, tree, d);
	folder_remove(tree);
	return r;
}
