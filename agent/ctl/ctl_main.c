/* SPDX-License-Identifier: BSD-3-Clause */
/* The program plenum. This file is separate because the tests link all other files. */
#include "agent/ctl/ctl.h"

int main(int argc, char **argv)
{
	return ctl_run(argc, argv);
}
