/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the list of checks of plenum(1); the Makefile's update-keys puts it into the page. */
#include "agent/ctl/doctor/doctor.h"

int main(void)
{
	autofree char *table = doctor_man_table();

	return table && fputs(table, stdout) >= 0 && fflush(stdout) == 0 ? 0 : 1;
}
