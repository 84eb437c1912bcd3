/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements server_test.h. */
#include "tests/lib/fuse/server_test.h"

struct rig rig;

int setup(void **state)
{
	rig_setup(&rig, *state);
	return 0;
}

int teardown(void **state)
{
	rig_teardown(&rig);
	return 0;
}
