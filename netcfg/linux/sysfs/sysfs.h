/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what only sysfs reports: the device behind a link, CPU cores, hugepages. All paths are
 * relative to the descriptor of a root folder: a sysfs of the caller's network namespace, or a
 * recorded tree in tests. Never writes; used by kernel_linux alone.
 */
#ifndef PLENUM_NETCFG_SYSFS_H
#define PLENUM_NETCFG_SYSFS_H

#include "netcfg/host/inventory.h"

/*
 * Opens the root: with CAP_SYS_ADMIN a detached mount, which shows the caller's network namespace
 * whatever is mounted on /sys; else /sys. A descriptor; negative errno.
 */
int sysfs_open(void);

/* The file's text without its final newline. Its length, or negative errno (-ENOSPC: longer). */
int sysfs_read(int root, const char *path, char *buf, size_t size);
/* 0 and *ret; negative errno, -EINVAL where it is not a number. */
int sysfs_read_number(int root, const char *path, int64_t *ret);
/* The last component of a symbolic link's target. 0; negative errno. */
int sysfs_read_link(int root, const char *path, char *buf, size_t size);

/*
 * Completes a link whose name, kind and flags are known: a device behind it makes a virtual kind
 * physical or a VF, with driver, PCI address, NUMA node, speed and VF counts. Values that the
 * device does not report stay unknown.
 */
void sysfs_fill_link(int root, struct inv_link *l);

/* The name of the link that a reference (KERNEL_LINK_REF_MAX) means; a name means itself. 0;
 * -ENODEV: there is none; -ENOTUNIQ: the function has several links; -EINVAL: not a reference. */
int sysfs_link_name(int root, const char *ref, char ret[static IFNAMSIZ]);

/* Adds the PCI network functions (sysfs_pci.c). 0; negative errno. */
int sysfs_add_functions(int root, struct inventory *inv);

/* Adds the RDMA ports and their GIDs; the links are sorted by ifindex (sysfs_rdma.c). 0; negative
 * errno. */
int sysfs_add_rdma(int root, struct inventory *inv);

/* Adds all present cores, and hugepages of the host and of each NUMA node. 0; negative errno. */
int sysfs_add_cores(int root, struct inventory *inv);
int sysfs_add_hugepages(int root, struct inventory *inv);

/* Calls cb for each name in a folder but "." and ".."; stops at a result < 0 and returns it. */
int sysfs_each_entry(int root, const char *path, int (*cb)(void *user, const char *name),
		     void *user);

/* Sets set[i] for each number of a list as "0-3,8" below n. 0; -EINVAL: not such a list. */
int sysfs_parse_list(const char *text, bool *set, size_t n);

#endif
