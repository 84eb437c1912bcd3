/* SPDX-License-Identifier: BSD-3-Clause */
/* The program plenum. Apart so that the tests link all of the rest. */
#include "agent/ctl/ctl.h"

int main(int argc, char **argv)
{
	return ctl_run(argc, argv);
}
