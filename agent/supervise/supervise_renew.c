/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the next worker to restart among those for which a restart was requested; one restarts at
 * a time. After an upgrade, workers run the earlier program until they restart. Mounts and exports
 * wait for the successor, as after a crash.
 */
#include "agent/supervise/supervise_internal.h"
#include <stdio.h>
#include <sys/stat.h>

bool sup_is_outdated(const struct sup_worker *w)
{
	char path[40];
	struct stat ours, theirs;

	if (!w->adopted || w->pid <= 0 || w->sup->program_fd < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/exe", w->pid);
	return fstat(w->sup->program_fd, &ours) == 0 && stat(path, &theirs) == 0 &&
	       (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino);
}

struct sup_worker *sup_renew_choose(struct sup *s)
{
	struct sup_worker *next = NULL;

	for (struct sup_worker *w = s->workers; w; w = w->next) {
		if (w->wanted && w->state != SUP_UP && !w->held)
			return NULL; /* a worker is down, so no other worker may restart now */
		if (w->wanted && w->renew && !next)
			next = w;
	}
	if (next)
		next->renew = false;
	return next;
}
