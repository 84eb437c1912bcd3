/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The UDP port of the probes between the legs of a cluster. The agent binds it on the addresses of
 * legs, and a configuration must not give it to workers.
 */
#ifndef PLENUM_NETCFG_LINKS_PORT_H
#define PLENUM_NETCFG_LINKS_PORT_H

#define PLENUM_LINKS_PORT 7410

#endif
