/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the users of generic netlink families: family numbers, which the kernel assigns
 * dynamically, message headers, and attributes by type. Used in this folder alone.
 */
#ifndef PLENUM_NETCFG_GENL_H
#define PLENUM_NETCFG_GENL_H

#include "netcfg/linux/netlink/netlink.h"
#include <libmnl/libmnl.h>

/* The attributes of a message or of a nest: of[type], NULL: absent. The last one of a type
 * counts. */
struct genl_attrs {
	const struct nlattr **of;
	uint16_t max; /* the highest type in the array */
};
void genl_attrs_parse(const struct nlmsghdr *h, struct genl_attrs *t);
void genl_attrs_parse_nested(const struct nlattr *nest, struct genl_attrs *t);
/* 0 where the attribute is absent or of another width. */
uint16_t genl_u16(const struct nlattr *a);
uint32_t genl_u32(const struct nlattr *a);
/* "" where it is not a string. */
const char *genl_text(const struct nlattr *a);

/* A message with its headers and without attributes. */
struct nlmsghdr *genl_head(void *buf, uint16_t family, uint8_t command);
/* The family's number; 0: this kernel lacks it. */
uint16_t genl_family_find(struct netlink *nl, const char *name);
/* The number of the family's multicast group; 0: there is none. */
uint32_t genl_group_find(struct netlink *nl, const char *family, const char *group);

#endif
