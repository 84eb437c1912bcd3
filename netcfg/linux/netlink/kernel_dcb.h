/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and sets Data Center Bridging (DCB) by the kernel's dcbnl (RTM_GETDCB, RTM_SETDCB):
 * priority flow control, traffic classes, and how a packet's priority is determined. Only IEEE
 * 802.1Qaz is supported: a driver that offers only the older CEE form counts as having no DCB.
 * kernel_linux uses it.
 */
#ifndef PLENUM_NETCFG_KERNEL_DCB_H
#define PLENUM_NETCFG_KERNEL_DCB_H

#include "netcfg/host/device_setting.h"
#include "netcfg/host/kernel.h"
#include <linux/dcbnl.h>
#include <linux/netlink.h>

#define DCB_TRUST_MAX 8 /* maximum number of entries in a driver's trust order */

/* The DCB state of one link as its driver reports it. */
struct dcb_state {
	bool has_ets, has_pfc, has_trust;
	struct ieee_ets ets;
	struct ieee_pfc pfc;
	uint8_t dcbx;		 /* DCB_CAP_DCBX_*; 0: not reported */
	uint8_t dscp[DCB_DSCPS]; /* one entry for each code point, with one bit for each of its
				    priorities */
	uint8_t trust[DCB_TRUST_MAX];
	size_t n_trust;
};

/* Adds an entry for each link whose driver has DCB. A host without such drivers is not an error.
 * Returns 0 or negative errno. */
int kernel_dcb_collect(struct inventory *inv);
/* Implement change and read of struct kernel_ops for DCB settings. */
int kernel_dcb_change(const struct kernel_change *c, struct reason *why);
int kernel_dcb_read(struct kernel_change *c);

/* Parses one answer to DCB_CMD_IEEE_GET. Returns false if it contains no DCB state. */
bool kernel_dcb_parse(const struct nlmsghdr *h, struct dcb_state *ret);
/* Sets firmware, ets, pfc, trust, dscp, max_classes and max_pfc of *ret from the state. */
void kernel_dcb_fill(const struct dcb_state *s, struct inv_dcb *ret);
/* Writes the request for one step of a change into buf: step 0 adds or sets values, step 1 removes
 * DSCP entries that are no longer wanted. Returns the request's length, 0 if this step changes
 * nothing, or negative errno if the setting or its value is not supported. */
#define DCB_REQUEST_BYTES_MAX 1024
int kernel_dcb_request(const struct dcb_state *now, const struct kernel_change *c,
		       const char *ifname, int step, char buf[static DCB_REQUEST_BYTES_MAX]);
/* Returns the driver's result code, which is inside the answer: 0 or negative errno. */
int kernel_dcb_result(const struct nlmsghdr *h);

#endif
