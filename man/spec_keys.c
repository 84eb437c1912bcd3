/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the key list of plenum.yaml(5); the Makefile's update-keys puts it into the page. */
#include "netcfg/spec/spec.h"

int main(void)
{
	autofree char *table = spec_man_table();

	return table && fputs(table, stdout) >= 0 && fflush(stdout) == 0 ? 0 : 1;
}
