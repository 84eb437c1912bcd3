/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads kernel modules that only the configuration asks for. Used in this folder alone. */
#ifndef PLENUM_NETCFG_MODULE_H
#define PLENUM_NETCFG_MODULE_H

/* Waits until modprobe(8) has ended. Where this process may not load modules, modprobe@.service of
 * systemd 245 does. A failure shows when the module is used. */
void module_load(const char *name);

#endif
