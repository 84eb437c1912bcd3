/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allow-lists of system calls (seccomp(2)): what a process that reads from strangers may still ask
 * of the kernel. A filter is for good and holds for every thread, also those that run already.
 * Owns nothing; knows no list: each role brings its own.
 */
#ifndef PLENUM_NETCFG_SECCOMP_H
#define PLENUM_NETCFG_SECCOMP_H

#include "netcfg/base/base.h"

/* One more allowed call, where its argument number `arg` is right: (argument & mask) == value. Of
 * the argument only the lower 32 bits are looked at: the rules are for flags, kinds and process
 * numbers. */
struct seccomp_rule {
	int nr; /* SYS_* */
	unsigned arg;
	uint32_t mask, value;
};

struct seccomp_filter {
	const int *nrs; /* allowed whatever the arguments; the most frequent first */
	size_t n_nrs;
	const struct seccomp_rule *rules;
	size_t n_rules;
	const struct seccomp_rule (*pairs)[2]; /* of one call; both must be right */
	size_t n_pairs;
	uint32_t action; /* for all others: SECCOMP_RET_* */
};

/*
 * Puts the filter in force in all threads of the process; no_new_privs is set too. A call by
 * another architecture's convention kills the process. 0; -E2BIG: too many calls; -ESRCH: a thread
 * has a filter of its own; -ENOSYS: this kernel has no seccomp filters; negative errno.
 */
int seccomp_filter_install(const struct seccomp_filter *f);
/* The same for a plain list. */
int seccomp_allow_list(const int *nrs, size_t n, uint32_t action);

#endif
