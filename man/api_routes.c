/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the list of routes of plenum-api(7); the Makefile's update-keys puts it into the page. */
#include "agent/api/rest/resource.h"

#include <stdio.h>

int main(void)
{
	autofree char *table = resource_man_table();

	return table && fputs(table, stdout) >= 0 && fflush(stdout) == 0 ? 0 : 1;
}
