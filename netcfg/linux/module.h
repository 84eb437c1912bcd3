/* SPDX-License-Identifier: BSD-3-Clause */
/* Modules of the kernel of which nothing but a user's wish says that they are needed. Used in this
 * folder alone. */
#ifndef PLENUM_NETCFG_MODULE_H
#define PLENUM_NETCFG_MODULE_H

/* Waits until modprobe(8) is done with it. What does not work whoever uses the module will say. */
void module_load(const char *name);

#endif
