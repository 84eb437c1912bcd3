/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads data that only sysfs has: the device behind a link, CPU cores, hugepages. All paths are
 * relative to the descriptor of a root folder: the sysfs of the caller's network namespace or, in
 * tests, a recorded copy. Never writes; kernel_linux alone uses it.
 */
#ifndef PLENUM_NETCFG_SYSFS_H
#define PLENUM_NETCFG_SYSFS_H

#include "netcfg/host/inventory.h"

/*
 * Opens the root folder. With CAP_SYS_ADMIN this is a new, detached mount, which shows the caller's
 * network namespace even if /sys shows another one. Without that privilege it is /sys. Returns a
 * descriptor or negative errno.
 */
int sysfs_open(void);

/* Reads a file's text without the final newline. Returns its length, -ENOSPC if the text is longer
 * than buf, or another negative errno. */
int sysfs_read(int root, const char *path, char *buf, size_t size);
/* Reads a number. Returns 0 and *ret, -EINVAL if the text is not a number, or another negative
 * errno. */
int sysfs_read_number(int root, const char *path, int64_t *ret);
/* Reads the last component of a symbolic link's target. Returns 0 or negative errno. */
int sysfs_read_link(int root, const char *path, char *buf, size_t size);

/*
 * Sets members of a link whose name, kind and flags are known. If there is a device behind it, the
 * kind changes from virtual to physical or VF, and the driver, PCI address, NUMA node, speed, VF
 * counts, dev_port and physfn are set. Values that the device does not report stay unknown.
 */
void sysfs_fill_link(int root, struct inv_link *l);

/* Finds the name of the link that a reference (KERNEL_LINK_REF_MAX) identifies; a reference may be
 * a link's name. Returns 0; -ENODEV if the link does not exist; -ENOTUNIQ if the function has
 * several links; or -EINVAL if the text is not a reference. */
int sysfs_link_name(int root, const char *ref, char ret[static IFNAMSIZ]);

/* Adds the PCI network functions (sysfs_pci.c). Returns 0 or negative errno. */
int sysfs_add_functions(int root, struct inventory *inv);

/* Adds the RDMA ports and their GIDs (sysfs_rdma.c). Links must be sorted by ifindex. Returns 0 or
 * negative errno. */
int sysfs_add_rdma(int root, struct inventory *inv);

/* Adds all present cores, and the hugepages of the host and of each NUMA node. Returns 0 or
 * negative errno. */
int sysfs_add_cores(int root, struct inventory *inv);
int sysfs_add_hugepages(int root, struct inventory *inv);

/* Calls cb for each name in a folder except "." and "..". It stops when cb returns a negative
 * result, and returns this result. */
int sysfs_each_entry(int root, const char *path, int (*cb)(void *user, const char *name),
		     void *user);

/* Sets set[i] for each number i < n of a list such as "0-3,8". Returns 0, or -EINVAL if the text is
 * not such a list. */
int sysfs_parse_list(const char *text, bool *set, size_t n);

#endif
