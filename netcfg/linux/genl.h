/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the families of generic netlink have in common: their numbers, which the kernel gives as
 * they come, the head of a message, and attributes by their types. Used in this folder alone.
 */
#ifndef PLENUM_NETCFG_GENL_H
#define PLENUM_NETCFG_GENL_H

#include "netcfg/linux/netlink.h"
#include <libmnl/libmnl.h>

/* The attributes of a message or of a nest: of[type], NULL: it has none. A later one of the same
 * type counts. */
struct genl_attrs {
	const struct nlattr **of;
	uint16_t max; /* the highest type that there is room for */
};
void genl_attrs_parse(const struct nlmsghdr *h, struct genl_attrs *t);
void genl_attrs_parse_nested(const struct nlattr *nest, struct genl_attrs *t);
/* 0 where there is none of that width. */
uint16_t genl_u16(const struct nlattr *a);
uint32_t genl_u32(const struct nlattr *a);
/* "" where it is no text. */
const char *genl_text(const struct nlattr *a);

/* A message with its heads and no attributes yet. */
struct nlmsghdr *genl_head(void *buf, uint16_t family, uint8_t command);
/* The family's number; 0: this kernel does not have it. */
uint16_t genl_family_find(struct netlink *nl, const char *name);
/* That of its multicast group of notifications; 0: there is none. */
uint32_t genl_group_find(struct netlink *nl, const char *family, const char *group);

#endif
