/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an apply is doing just now, by the last line of its journal: the step that was begun and has
 * not ended. Some take long, first of all making VFs, for which the family of the NIC says how long
 * at most. Reads one small file when somebody asks; called by status and walk.
 */
#ifndef PLENUM_AGENT_PROGRESS_H
#define PLENUM_AGENT_PROGRESS_H

#include "netcfg/plan/plan.h"
#include <time.h>

struct agent;

#define PROGRESS_TEXT_MAX 200

enum progress {
	PROGRESS_NONE, /* nothing is known to be on its way; the text is empty */
	PROGRESS_STEP,
	PROGRESS_LATE, /* it takes longer than it should */
};

/* p and inv: those of the apply. now: of CLOCK_REALTIME, as the times of files are. */
enum progress progress_read(const char *journal, const struct plan *p, const struct inventory *inv,
			    time_t now, char buf[static PROGRESS_TEXT_MAX]);
/* Of the walk that is on its way. */
enum progress progress_of(const struct agent *a, char buf[static PROGRESS_TEXT_MAX]);

#endif
