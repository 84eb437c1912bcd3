/* SPDX-License-Identifier: BSD-3-Clause */
/* The program mount.plenum. This file is separate because the tests link all other files. */
#include "agent/ctl/ctl.h"

int main(int argc, char **argv)
{
	return ctl_mount_helper(argc, argv);
}
