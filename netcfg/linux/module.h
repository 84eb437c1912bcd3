/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads kernel modules that the configuration needs. Only this folder uses it. */
#ifndef PLENUM_NETCFG_MODULE_H
#define PLENUM_NETCFG_MODULE_H

/* Runs modprobe(8) and, if that fails, starts modprobe@.service (systemd 245 or later); waits until
 * it has ended. A failure becomes visible when the module is used. */
void module_load(const char *name);

#endif
