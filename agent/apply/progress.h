/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describes the step that the applier is executing, from the last line of its journal. Some steps
 * take long, above all the creation of VFs, for which each NIC family has a time limit. A call
 * reads one small file. Used by the status and by the queue's progress reports.
 */
#ifndef PLENUM_AGENT_PROGRESS_H
#define PLENUM_AGENT_PROGRESS_H

#include "netcfg/plan/plan.h"
#include <time.h>

#define PROGRESS_TEXT_MAX 200

enum progress {
	PROGRESS_NONE, /* no step is known to be running; the text is empty */
	PROGRESS_STEP,
	PROGRESS_LATE, /* the step takes longer than its time limit */
};

/* Reads the running step and writes its description to buf. p, inv: plan and inventory of the
 * running apply. now: seconds of CLOCK_REALTIME, the clock of file times. */
enum progress progress_read(const char *journal, const struct plan *p, const struct inventory *inv,
			    time_t now, char buf[static PROGRESS_TEXT_MAX]);

#endif
