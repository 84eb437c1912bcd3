/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of a network device that rtnetlink lacks: priorities and traffic classes (Data
 * Center Bridging) and RDMA settings, each as a text. Inventories, plans and journals share this
 * form. Knows no netlink and no spec; pure.
 */
#ifndef PLENUM_NETCFG_DEVICE_SETTING_H
#define PLENUM_NETCFG_DEVICE_SETTING_H

#include "netcfg/host/inventory.h"

enum device_attr {
	DEVICE_TRUST, /* "pcp", "dscp", or both in their order: "dscp,pcp"; "none" */
	DEVICE_DSCP,  /* the priorities of one code point: "3"; "none" */
	DEVICE_ETS,   /* "0:50:0124567;3:50:3;6:strict:6" without 6 in the first: class, bandwidth
			 share, priorities */
	DEVICE_PFC,   /* priorities: "34"; "none" */
	DEVICE_IPOIB_MODE, /* "datagram", "connected" */
	DEVICE_ROCE_MODE,  /* of the link's RDMA port: "v1", "v2" */
	DEVICE_ROCE_TOS,   /* "96" */
	DEVICE_ATTR_MAX
};

#define DCB_PRIOS 8
#define DCB_DSCPS 64
#define DCB_PRIOS_TEXT_MAX 12

struct dcb_ets {
	uint8_t tc[DCB_PRIOS];	      /* traffic class of each priority */
	uint8_t tsa[DCB_PRIOS];	      /* scheduling of each class, numbered as in IEEE 802.1Q */
	uint8_t bandwidth[DCB_PRIOS]; /* percent; only for DCB_TSA_ETS */
};
#define DCB_TSA_STRICT 0
#define DCB_TSA_ETS 2

const char *device_attr_to_string(enum device_attr a);
/* The value of a link's device in the inventory, in buf; dscp counts only for DEVICE_DSCP. NULL:
 * its driver lacks the setting. */
const char *device_value_find(const struct inventory *inv, uint32_t ifindex, enum device_attr a,
			      uint8_t dscp, char buf[static INV_DEVICE_VALUE_MAX]);

/* Writes "34", or "none", into buf; returns buf. The parser: 0, -EINVAL. */
const char *dcb_prios_format(uint8_t bits, char buf[static DCB_PRIOS_TEXT_MAX]);
int dcb_prios_parse(const char *text, uint8_t *ret_bits);
/* The classes that have priorities or a share; returns buf. The parser: 0, -EINVAL. */
const char *dcb_ets_format(const struct dcb_ets *e, char buf[static INV_DEVICE_VALUE_MAX]);
int dcb_ets_parse(const char *text, struct dcb_ets *ret);
/* "24:3,48:6": code points with their priorities; returns buf. The parser: 0, -EINVAL. */
const char *dcb_dscp_format(const uint8_t prios[static DCB_DSCPS],
			    char buf[static INV_DCB_DSCP_MAX]);
int dcb_dscp_parse(const char *text, uint8_t ret_prios[static DCB_DSCPS]);

#endif
