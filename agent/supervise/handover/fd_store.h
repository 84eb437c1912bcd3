/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of the descriptors that must outlive the agent: of mounts, exports' states, pinned files
 * and workers. Each copy is kept twice: by the service manager, if it stores descriptors, and by
 * the descriptor holder (fd_holder.h), which the agent starts, finds again after its own restart,
 * and replaces if it ends. One store per process; called by the monitor only.
 */
#ifndef PLENUM_AGENT_FD_STORE_H
#define PLENUM_AGENT_FD_STORE_H

#include "agent/base/loop.h"
#include "agent/supervise/handover/rundir.h"

struct fd_store_setup {
	struct loop *loop;
	struct events *events;
	struct rundir
		*rundir; /* the holder's socket is in its run directory, its pid in its record */
	enum log_level log_level;
};

/* Connects to the holder of the previous agent, or starts one. Without a holder, which is reported
 * as an event and tried again, the store still works with the service manager. 0; -ENOMEM. */
int fd_store_open(const struct fd_store_setup *setup);
/* Delivers the descriptors that the previous agent has stored; cb owns fd and calls fd_store_put
 * again for those that it keeps, and fd_store_drop for the others. Call once, before any child is
 * started. */
void fd_store_take(void (*cb)(void *user, int fd, const char *name), void *user);
/* Stores a copy of fd until fd_store_drop; replaces that of the same name. Names: letters, digits,
 * '-', '_', '.', fewer than FD_HOLDER_NAME_MAX. Before fd_store_open: with the service manager
 * only. */
void fd_store_put(int fd, const char *name);
void fd_store_drop(const char *name);
/* Disconnects. for_good: no agent shall find the descriptors again, and the holder ends. */
void fd_store_close(bool for_good);

#endif
