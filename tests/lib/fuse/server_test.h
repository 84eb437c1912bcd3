/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rig of a test program for the server. setup() creates it for each test, in the directory that
 * is the initial state of the test.
 */
#ifndef PLENUM_TESTS_SERVER_TEST_H
#define PLENUM_TESTS_SERVER_TEST_H

#include "tests/lib/fuse/server_rig.h"

extern struct rig rig;

int setup(void **state);
int teardown(void **state);

#endif
