/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads kernel modules that the configuration needs. Only this folder uses it. */
#ifndef PLENUM_NETCFG_MODULE_H
#define PLENUM_NETCFG_MODULE_H

/* Runs modprobe(8) and, if that fails, starts modprobe@.service (systemd 245 or later). Waits until
 * the program or the service has ended. Reports no failure: the first use of a missing module
 * fails. */
void module_load(const char *name);

#endif
