/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes values of PCI functions in sysfs: number of VFs, driver. PCI has no network
 * namespaces, so this is the machine's sysfs. Used by kernel_linux alone.
 */
#ifndef PLENUM_NETCFG_PCI_H
#define PLENUM_NETCFG_PCI_H

#include "netcfg/host/kernel.h"

/* `pci` below is a descriptor of /sys/bus/pci or a test's copy, writable where something is
 * changed. */

/* struct kernel_ops' function_find. */
int pci_function_find(int pci, const char *ref, char ret[static 16]);
/* struct kernel_ops' read, prepare and change for KERNEL_PCI. */
int pci_read(int pci, struct kernel_change *c);
void pci_prepare(int pci, const struct kernel_change *c);
int pci_change(int pci, const struct kernel_change *c, struct reason *why);

#endif
