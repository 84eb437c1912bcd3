/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the struct kernel that an applier changes: Linux itself or, in tests, a host in memory. */
#include "agent/apply/applier_internal.h"

int applier_open_kernel(const struct applier_host *host, struct kernel **ret)
{
	return host->open ? host->open(host->user, ret) : kernel_linux_new(ret);
}

void applier_close_kernel(const struct applier_host *host, struct kernel *k)
{
	if (host->close)
		host->close(host->user, k);
	else
		kernel_free(k);
}
