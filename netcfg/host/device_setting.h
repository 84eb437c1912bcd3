/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings of a network device that rtnetlink does not have: priorities and traffic classes (Data
 * Center Bridging) and RDMA settings. Each has a text form, which inventories, plans and journals
 * share. The functions are pure, and independent of netlink and the spec.
 */
#ifndef PLENUM_NETCFG_DEVICE_SETTING_H
#define PLENUM_NETCFG_DEVICE_SETTING_H

#include "netcfg/host/inventory.h"

#define DEVICE_LINK_SETTING(attr, member, name) DEVICE_##attr,
enum device_attr {
	/* header fields that set the priority: "pcp", "dscp", "dscp,pcp" (dscp first) or "none" */
	DEVICE_TRUST,
	DEVICE_DSCP, /* the priority of one DSCP code point, such as "3", or "none" */
	/* traffic classes as class:share:priorities, such as "0:50:0124567;3:50:3"; "strict"
	 * instead of the share (in percent) means strict priority */
	DEVICE_ETS,
	DEVICE_PFC,	  /* priorities with flow control, such as "34" for 3 and 4, or "none" */
	DEVICE_ROCE_MODE, /* RoCE version of the link's RDMA port: "v1" or "v2" */
	DEVICE_ROCE_TOS,  /* the traffic class of RoCE packets, such as "96" */
	INV_LINK_SETTINGS(DEVICE_LINK_SETTING) DEVICE_ATTR_MAX
};

#define DCB_PRIOS 8
#define DCB_DSCPS 64
#define DCB_PRIOS_TEXT_MAX 12

struct dcb_ets {
	uint8_t tc[DCB_PRIOS];	      /* traffic class of each priority */
	uint8_t tsa[DCB_PRIOS];	      /* scheduling of each class, numbered as in IEEE 802.1Q */
	uint8_t bandwidth[DCB_PRIOS]; /* percentage of the bandwidth; only for DCB_TSA_ETS */
};
#define DCB_TSA_STRICT 0
#define DCB_TSA_ETS 2

const char *device_attr_to_string(enum device_attr a);
/* Returns the setting's member of the link, of INV_LINK_SETTING_MAX bytes, or NULL for a setting
 * that INV_LINK_SETTINGS lacks. */
char *device_link_setting(struct inv_link *l, enum device_attr a);
/* Finds the value for the link's device in the inventory and writes it to buf. Returns buf, or NULL
 * if the driver does not have the setting. `dscp` is used only for DEVICE_DSCP. */
const char *device_value_find(const struct inventory *inv, uint32_t ifindex, enum device_attr a,
			      uint8_t dscp, char buf[static INV_DEVICE_VALUE_MAX]);

/* Writes a set of priorities, such as "34" or "none", into buf; returns buf. The parser returns 0
 * or -EINVAL. */
const char *dcb_prios_format(uint8_t bits, char buf[static DCB_PRIOS_TEXT_MAX]);
int dcb_prios_parse(const char *text, uint8_t *ret_bits);
/* Writes the classes that have priorities or a share; returns buf. The parser returns 0 or
 * -EINVAL. */
const char *dcb_ets_format(const struct dcb_ets *e, char buf[static INV_DEVICE_VALUE_MAX]);
int dcb_ets_parse(const char *text, struct dcb_ets *ret);
/* Writes code points with their priorities, such as "24:3,48:6"; returns buf. The parser returns 0
 * or -EINVAL. */
const char *dcb_dscp_format(const uint8_t prios[static DCB_DSCPS],
			    char buf[static INV_DCB_DSCP_MAX]);
int dcb_dscp_parse(const char *text, uint8_t ret_prios[static DCB_DSCPS]);

#endif
