/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rig of tests of the server end that want no more than one, made anew for each of them where
 * its initial state says. Included by one file of a program.
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
