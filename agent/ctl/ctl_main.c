/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent/ctl/ctl.h"

int main(int argc, char **argv)
{
	return ctl_run(argc, argv);
}
