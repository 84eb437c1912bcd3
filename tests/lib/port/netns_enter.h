/* SPDX-License-Identifier: BSD-3-Clause */
/* Network namespaces that tests make by commands, and enter. */
#ifndef PLENUM_TESTS_NETNS_ENTER_H
#define PLENUM_TESTS_NETNS_ENTER_H

/* The command's exit status; -1: it was killed. */
int sh(const char *cmd);

/* By its name. 0 or negative errno. */
int netns_enter(const char *name);

#endif
