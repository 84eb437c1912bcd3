/* SPDX-License-Identifier: BSD-3-Clause */
/* Network namespaces that tests create by commands and then use. */
#ifndef PLENUM_TESTS_NETNS_ENTER_H
#define PLENUM_TESTS_NETNS_ENTER_H

/* Runs a command. Returns its exit status, or -1 if it was killed. */
int sh(const char *cmd);

/* Enters the network namespace with that name. Returns 0 or negative errno. */
int netns_enter(const char *name);

#endif
