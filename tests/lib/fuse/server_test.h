/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rig of a server's test program. setup() creates it for each test, in the directory that is
 * the test's initial state.
 */
#ifndef PLENUM_TESTS_SERVER_TEST_H
#define PLENUM_TESTS_SERVER_TEST_H

#include "tests/lib/fuse/server_rig.h"

extern struct rig rig;

int setup(void **state);
int teardown(void **state);

#endif
