/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that all users of generic netlink families need: family numbers, which the kernel
 * assigns dynamically, message headers, and attributes by type. Only this folder uses them.
 */
#ifndef PLENUM_NETCFG_GENL_H
#define PLENUM_NETCFG_GENL_H

#include "netcfg/linux/netlink/netlink.h"
#include <libmnl/libmnl.h>

/* The attributes of a message or of a nested attribute. of[type] is the last attribute of that
 * type, or NULL if the message has no attribute of that type. */
struct genl_attrs {
	const struct nlattr **of;
	uint16_t max; /* the highest valid index in `of` */
};
void genl_attrs_parse(const struct nlmsghdr *h, struct genl_attrs *t);
void genl_attrs_parse_nested(const struct nlattr *nest, struct genl_attrs *t);
/* Return the number in an attribute, or 0 if the attribute is absent or has another width. */
uint16_t genl_u16(const struct nlattr *a);
uint32_t genl_u32(const struct nlattr *a);
/* Returns the text in an attribute, or "" if the attribute is not a string. */
const char *genl_text(const struct nlattr *a);

/* Begins a message: writes its netlink headers into buf, to which the caller then appends
 * attributes. */
struct nlmsghdr *genl_head(void *buf, uint16_t family, uint8_t command);
/* Returns the number of the family, or 0 if this kernel lacks it. */
uint16_t genl_family_find(struct netlink *nl, const char *name);
/* Returns the number of the family's multicast group, or 0 if it has no such group. */
uint32_t genl_group_find(struct netlink *nl, const char *family, const char *group);

#endif
