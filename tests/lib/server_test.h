/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rig for tests of the server, created for each test whose initial state names a directory.
 * Included by one file of a program.
 */
#ifndef PLENUM_TESTS_SERVER_TEST_H
#define PLENUM_TESTS_SERVER_TEST_H

#include "tests/lib/server_rig.h"

static struct rig rig;

static int setup(void **state)
{
	rig_setup(&rig, *state);
	return 0;
}

static int teardown(void **state)
{
	rig_teardown(&rig);
	return 0;
}

#endif
