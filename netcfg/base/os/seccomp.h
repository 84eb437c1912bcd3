/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allow-lists of system calls (seccomp(2)) for processes that read untrusted input. A filter cannot
 * be removed and applies to all threads, including running ones. Each role of a process passes its
 * own list.
 */
#ifndef PLENUM_NETCFG_SECCOMP_H
#define PLENUM_NETCFG_SECCOMP_H

#include "netcfg/base/base.h"

/* Allows a call if (argument number `arg` & mask) == value. The filter compares only the lower 32
 * bits of the argument: the rules are for flags, kinds and process numbers. */
struct seccomp_rule {
	int nr; /* number of the system call (SYS_*) */
	unsigned arg;
	uint32_t mask, value;
};

#define SECCOMP_SET_MAX 3

struct seccomp_filter {
	const int *nrs; /* allowed with any arguments; the most frequent first */
	size_t n_nrs;
	const struct seccomp_rule *rules;
	size_t n_rules;
	/* Each set has up to three rules for one call, and allows the call if all its rules match.
	 * A rule of zeros always matches. */
	const struct seccomp_rule (*sets)[SECCOMP_SET_MAX];
	size_t n_sets;
	uint32_t action; /* SECCOMP_RET_* for all other calls */
};

/*
 * Installs the filter in all threads of the process and sets no_new_privs. A system call in another
 * architecture's convention, such as a 32-bit one, kills the process. Returns 0, -E2BIG if the list
 * is too long, -ESRCH if a thread has a different filter, -ENOSYS if this kernel has no seccomp
 * filters, or another negative errno.
 */
int seccomp_filter_install(const struct seccomp_filter *f);

#endif
