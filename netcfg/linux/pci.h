/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and sets two values of PCI functions in sysfs: the number of VFs and the driver. PCI has no
 * namespaces, so the functions are those of the whole machine. kernel_linux alone uses it.
 */
#ifndef PLENUM_NETCFG_PCI_H
#define PLENUM_NETCFG_PCI_H

#include "netcfg/host/kernel.h"

/* In all functions, `pci` is a descriptor of /sys/bus/pci or of a test's copy of that folder.
 * Changes need write permission. */

/* Implements function_find of struct kernel_ops. */
int pci_function_find(int pci, const char *ref, char ret[static 16]);
/* Implement read, prepare and change of struct kernel_ops for KERNEL_PCI. */
int pci_read(int pci, struct kernel_change *c);
void pci_prepare(int pci, const struct kernel_change *c);
int pci_change(int pci, const struct kernel_change *c, struct reason *why);

#endif
