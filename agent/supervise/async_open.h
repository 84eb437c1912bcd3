/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens directories of file systems that may hang (a server that is gone, a disk that fails): by a
 * job each, so that the monitor waits for none longer than DIRS_PATIENCE_MS, of many only for
 * the first, and for one that did not answer then not again until it has. Of a directory one job at
 * a time. Owned by who asks.
 */
#ifndef PLENUM_AGENT_DIRS_H
#define PLENUM_AGENT_DIRS_H

#include "agent/base/loop.h"

#define DIRS_PATIENCE_MS 1000

struct dir;
struct async_open { /* the rest zeroed: none */
	struct loop *loop;
	struct dir *first;
	unsigned n_late; /* that kept us waiting in vain since late_ns */
	uint64_t late_ns;
};

/* Begins to open it, so that several are waited for at once. */
void async_open_ask(struct async_open *d, const char *path);
/* A descriptor, the caller's; negative errno; -ETIMEDOUT: its file system does not answer. */
int async_open_open(struct async_open *d, const char *path);
/* The same of a mount point, by another job: its last component is no link, and it is empty: else
 * -ENOTDIR, -ENOTEMPTY. */
int async_open_open_empty(struct async_open *d, const char *path);
/* Whether it could be opened when it was last asked; asks. Never waits, so the first answer is
 * no. */
bool async_open_is_there(struct async_open *d, const char *path);
void async_open_done(struct async_open *d);

#endif
