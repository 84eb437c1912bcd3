/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores the last good configuration in the state directory. */
#include "agent/reconcile/reconcile_last_good.h"
#include "netcfg/base/file.h"
#include <stdio.h>
#include <string.h>

bool reconcile_has_last_good(const struct reconcile *rec)
{
	return rec->records.last_good_unsaved || access(rec->records.last_good, F_OK) == 0;
}

int reconcile_last_good_load(struct agent *a, struct diag *d, struct spec **ret)
{
	const struct reconcile *rec = &a->reconcile;

	if (rec->records.last_good_unsaved)
		return spec_parse(rec->records.last_good, rec->records.last_good_unsaved,
				  strlen(rec->records.last_good_unsaved), d, ret);
	return spec_load(rec->records.last_good, NULL, d, ret);
}

/* Saves the normalized spec, which includes the drop-ins. The file is replaced atomically. */
void reconcile_last_good_save(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	autofree char *text = spec_to_yaml(a->running.spec);
	int r;

	if (!text || (!rec->records.last_good_unsaved && rec->records.last_good_text &&
		      strcmp(text, rec->records.last_good_text) == 0))
		return;
	free(ptr_take(rec->records.last_good_unsaved));
	r = file_write(rec->records.last_good, text, strlen(text), 0600);
	if (r < 0) {
		events_add(&a->events, LOG_LEVEL_WARNING, "agent",
			   "cannot write %s: %s; a restart with an invalid configuration would "
			   "have nothing to run",
			   rec->records.last_good, strerror(-r));
		rec->records.last_good_unsaved = ptr_take(text);
		return;
	}
	free(rec->records.last_good_text);
	rec->records.last_good_text = ptr_take(text);
}
