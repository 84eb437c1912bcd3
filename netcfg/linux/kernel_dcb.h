/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data Center Bridging by the kernel's dcbnl (RTM_GETDCB, RTM_SETDCB): priority flow control,
 * traffic classes, what says a packet's priority. By the IEEE 802.1Qaz form alone; drivers that
 * know only the older CEE form count as having none. Used by kernel_linux.
 */
#ifndef PLENUM_NETCFG_KERNEL_DCB_H
#define PLENUM_NETCFG_KERNEL_DCB_H

#include "netcfg/host/device_setting.h"
#include "netcfg/host/kernel.h"
#include <linux/dcbnl.h>
#include <linux/netlink.h>

#define DCB_TRUST_MAX 8 /* what a driver may trust, one after the other */

/* What a driver says of one link. */
struct dcb_state {
	bool has_ets, has_pfc, has_trust;
	struct ieee_ets ets;
	struct ieee_pfc pfc;
	uint8_t dcbx;		 /* DCB_CAP_DCBX_*; 0: it does not tell */
	uint8_t dscp[DCB_DSCPS]; /* bits of priorities */
	uint8_t trust[DCB_TRUST_MAX];
	size_t n_trust;
};

/* Adds an entry for each link whose driver has DCB. That none has is no error. 0; negative errno.
 */
int kernel_dcb_collect(struct inventory *inv);
/* As struct kernel_ops has change and read, for the settings of DCB. */
int kernel_dcb_change(const struct kernel_change *c, char *why);
int kernel_dcb_read(struct kernel_change *c);

/* One answer to DCB_CMD_IEEE_GET. false: it says nothing of the kind. */
bool kernel_dcb_parse(const struct nlmsghdr *h, struct dcb_state *ret);
/* What is in the inventory of it. */
void kernel_dcb_fill(const struct dcb_state *s, struct inv_dcb *ret);
/* The requests that a change is made of, into buf; how many bytes, 0: nothing is to be done;
 * -EINVAL. step: 0 sets, 1 takes away what a setting leaves behind. */
#define DCB_REQUEST_BYTES_MAX 1024
int kernel_dcb_request(const struct dcb_state *now, const struct kernel_change *c,
		       const char *ifname, int step, char buf[static DCB_REQUEST_BYTES_MAX]);
/* The driver's own result in an answer to a request. */
int kernel_dcb_result(const struct nlmsghdr *h);

#endif
