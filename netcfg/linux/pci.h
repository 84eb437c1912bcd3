/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of PCI functions, read and written in sysfs: how many VFs, which driver. PCI knows no
 * network namespaces, so the folder is the machine's. Used by kernel_linux alone.
 */
#ifndef PLENUM_NETCFG_HOST_PCI_H
#define PLENUM_NETCFG_HOST_PCI_H

#include "netcfg/host/kernel.h"

/* Below: `pci` is a descriptor of a folder as /sys/bus/pci, writable to who changes something. */

/* struct kernel_ops' function_find. */
int pci_function_find(int pci, const char *ref, char ret[static 16]);
/* struct kernel_ops' read, prepare and change for KERNEL_PCI. */
int pci_read(int pci, struct kernel_change *c);
void pci_prepare(int pci, const struct kernel_change *c);
int pci_change(int pci, const struct kernel_change *c, char *why);

#endif
