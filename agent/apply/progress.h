/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describes the step that the applier is running, from the last line of its journal. Some steps
 * take long, above all creating VFs, for which each NIC family has a time limit. Reads one small
 * file per call; used by status and the queue's progress reports.
 */
#ifndef PLENUM_AGENT_PROGRESS_H
#define PLENUM_AGENT_PROGRESS_H

#include "netcfg/plan/plan.h"
#include <time.h>

#define PROGRESS_TEXT_MAX 200

enum progress {
	PROGRESS_NONE, /* no running step is known; the text is empty */
	PROGRESS_STEP,
	PROGRESS_LATE, /* it exceeds its time limit */
};

/* p, inv: of the running apply. now: CLOCK_REALTIME, like file times. */
enum progress progress_read(const char *journal, const struct plan *p, const struct inventory *inv,
			    time_t now, char buf[static PROGRESS_TEXT_MAX]);

#endif
