/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lines of one worker, or of the agent, in the journal. All processes of the agent write to its
 * standard error, which the service manager connects to the journal. A worker has its ID in its
 * command line, which the journal stores with each line, so the lines of the worker's earlier
 * processes are found too. Runs journalctl; keeps no state. Called by the command line, and by a
 * child of the monitor.
 */
#ifndef PLENUM_AGENT_JOURNAL_H
#define PLENUM_AGENT_JOURNAL_H

#include "netcfg/base/base.h"
#include <jansson.h>
#include <sys/types.h>

/* Selects lines. Other users can write lines that look the same, so only lines count that were
 * written by the users of the agent and of the workers. */
struct journal_filter {
	unsigned long worker; /* ID of the worker; 0: the agent's lines */
	uid_t uids[2];
};
void journal_filter_init(struct journal_filter *f, unsigned long worker);

/* Returns the entry as {"time", "level", "process", "pid", "text"}, a new reference, or NULL if the
 * filter does not select it. */
json_t *journal_line(const struct journal_filter *f, const json_t *entry);

/* Called with each entry that journalctl prints. Returns whether it wants more entries. */
typedef bool (*journal_take)(void *user, const json_t *entry);
/* Reads the journal with the given further options of journalctl, until `take` wants no more
 * entries. limit_ns: time at which reading ends, by clock_now_ns(); 0: no limit. Returns 0, -ETIME
 * if that time was reached first, -EIO if journalctl failed, so that entries may be missing, or
 * another negative errno if journalctl cannot be run. */
#define JOURNAL_OPTIONS_MAX 6
int journal_read(const char *const *options, size_t n, uint64_t limit_ns, journal_take take,
		 void *user);

/* Writes a sentence to buf that explains where a process writes its log if the journal has no lines
 * of it. who: "worker 7"; pid 0: the process does not run. Returns buf. */
#define JOURNAL_PLACE_MAX 512
const char *journal_explain_place(const char *who, pid_t pid, char buf[static JOURNAL_PLACE_MAX]);

#endif
