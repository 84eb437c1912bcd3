/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps copies of the descriptors that must outlive the agent: those of mounts, exports' states,
 * pinned files and workers. Each copy is kept in two places: by the service manager, if it stores
 * descriptors, and by the descriptor holder (fd_holder.h). The agent starts the holder, finds it
 * again after its own restart, and replaces it if it ends. One store per process; called by the
 * monitor only.
 */
#ifndef PLENUM_AGENT_FD_STORE_H
#define PLENUM_AGENT_FD_STORE_H

#include "agent/base/loop.h"
#include "agent/supervise/handover/rundir.h"

struct fd_store_setup {
	struct loop *loop;
	struct events *events;
	struct rundir *rundir; /* has the holder's socket, and its pid in the record */
	enum log_level log_level;
};

/* Connects to the holder of the previous agent, or starts one. If the start fails, an event reports
 * it, and the start is retried; until then only the service manager stores descriptors. Returns 0
 * or negative errno. */
int fd_store_open(const struct fd_store_setup *setup);
/* Passes each descriptor that the previous agent stored to cb, which owns fd. cb calls
 * fd_store_put() for each descriptor to keep, and fd_store_drop() for all others. Call once, before
 * any child process is started. */
void fd_store_take(void (*cb)(void *user, int fd, const char *name), void *user);
/* Stores a copy of fd until fd_store_drop, in place of one with the same name. Names have letters,
 * digits, '-', '_' and '.', and fewer than FD_HOLDER_NAME_MAX characters. Before fd_store_open only
 * the service manager gets it. */
void fd_store_put(int fd, const char *name);
void fd_store_drop(const char *name);
/* Disconnects from the holder. If for_good is set, the holder ends, so that no later agent finds
 * the descriptors. */
void fd_store_close(bool for_good);

#endif
