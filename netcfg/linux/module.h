/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads kernel modules that only the configuration asks for. Used in this folder alone. */
#ifndef PLENUM_NETCFG_MODULE_H
#define PLENUM_NETCFG_MODULE_H

/* Runs modprobe(8) and, if that fails, modprobe@.service of systemd 245; waits until it has ended.
 * A failure shows when the module is used. */
void module_load(const char *name);

#endif
