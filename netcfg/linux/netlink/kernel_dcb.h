/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data Center Bridging by the kernel's dcbnl (RTM_GETDCB, RTM_SETDCB): priority flow control,
 * traffic classes, and how a packet's priority is determined. IEEE 802.1Qaz only: drivers that
 * offer only the older CEE form count as having no DCB. Used by kernel_linux.
 */
#ifndef PLENUM_NETCFG_KERNEL_DCB_H
#define PLENUM_NETCFG_KERNEL_DCB_H

#include "netcfg/host/device_setting.h"
#include "netcfg/host/kernel.h"
#include <linux/dcbnl.h>
#include <linux/netlink.h>

#define DCB_TRUST_MAX 8 /* entries of a driver's trust order */

/* The DCB state that a driver reports for one link. */
struct dcb_state {
	bool has_ets, has_pfc, has_trust;
	struct ieee_ets ets;
	struct ieee_pfc pfc;
	uint8_t dcbx;		 /* DCB_CAP_DCBX_*; 0: not reported */
	uint8_t dscp[DCB_DSCPS]; /* bits of priorities */
	uint8_t trust[DCB_TRUST_MAX];
	size_t n_trust;
};

/* Adds an entry for each link whose driver has DCB. A host without such drivers is not an error.
 * 0; negative errno. */
int kernel_dcb_collect(struct inventory *inv);
/* The change and read operations of struct kernel_ops for DCB settings. */
int kernel_dcb_change(const struct kernel_change *c, struct reason *why);
int kernel_dcb_read(struct kernel_change *c);

/* Parses one answer to DCB_CMD_IEEE_GET. false: it contains no DCB state. */
bool kernel_dcb_parse(const struct nlmsghdr *h, struct dcb_state *ret);
/* Converts the state to the inventory's form. */
void kernel_dcb_fill(const struct dcb_state *s, struct inv_dcb *ret);
/* Writes the requests that make up a change into buf. Returns their length, 0 where nothing has
 * to change; -EINVAL. step 0 sets the values, step 1 removes what a setting leaves behind. */
#define DCB_REQUEST_BYTES_MAX 1024
int kernel_dcb_request(const struct dcb_state *now, const struct kernel_change *c,
		       const char *ifname, int step, char buf[static DCB_REQUEST_BYTES_MAX]);
/* The driver's result code inside an answer. */
int kernel_dcb_result(const struct nlmsghdr *h);

#endif
