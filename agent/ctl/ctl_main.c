/* SPDX-License-Identifier: BSD-3-Clause */
/* The program plenum. Its own file so that the tests can link everything else. */
#include "agent/ctl/ctl.h"

int main(int argc, char **argv)
{
	return ctl_run(argc, argv);
}
