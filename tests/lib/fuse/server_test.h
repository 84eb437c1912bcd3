/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rig for tests of the server. It is created for each test whose initial state is the name of a
 * directory.
 */
#ifndef PLENUM_TESTS_SERVER_TEST_H
#define PLENUM_TESTS_SERVER_TEST_H

#include "tests/lib/fuse/server_rig.h"

extern struct rig rig;

int setup(void **state);
int teardown(void **state);

#endif
