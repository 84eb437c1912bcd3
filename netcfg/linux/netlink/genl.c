/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions for generic netlink that do not depend on a family. */
#include "netcfg/linux/netlink/genl.h"
#include <linux/genetlink.h>
#include <string.h>

#define REQUEST_BYTES_MAX 256

static int take_attr(const struct nlattr *a, void *user)
{
	const struct genl_attrs *t = user;

	if (mnl_attr_get_type(a) <= t->max)
		t->of[mnl_attr_get_type(a)] = a;
	return MNL_CB_OK;
}

void genl_attrs_parse(const struct nlmsghdr *h, struct genl_attrs *t)
{
	mnl_attr_parse(h, sizeof(struct genlmsghdr), take_attr, t);
}

void genl_attrs_parse_nested(const struct nlattr *nest, struct genl_attrs *t)
{
	mnl_attr_parse_nested(nest, take_attr, t);
}

uint16_t genl_u16(const struct nlattr *a)
{
	return a && mnl_attr_validate(a, MNL_TYPE_U16) == 0 ? mnl_attr_get_u16(a) : 0;
}

uint32_t genl_u32(const struct nlattr *a)
{
	return a && mnl_attr_validate(a, MNL_TYPE_U32) == 0 ? mnl_attr_get_u32(a) : 0;
}

const char *genl_text(const struct nlattr *a)
{
	return a && mnl_attr_validate(a, MNL_TYPE_NUL_STRING) == 0 ? mnl_attr_get_str(a) : "";
}

struct nlmsghdr *genl_head(void *buf, uint16_t family, uint8_t command)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	h->nlmsg_type = family;
	g->cmd = command;
	g->version = 1;
	return h;
}

static int on_family(void *user, struct nlmsghdr *h)
{
	const struct nlattr *of[CTRL_ATTR_MAX + 1] = {NULL};
	struct genl_attrs t = {of, CTRL_ATTR_MAX};

	genl_attrs_parse(h, &t);
	if (genl_u16(of[CTRL_ATTR_FAMILY_ID]))
		*(uint16_t *)user = genl_u16(of[CTRL_ATTR_FAMILY_ID]);
	return 0;
}

uint16_t genl_family_find(struct netlink *nl, const char *name)
{
	char buf[REQUEST_BYTES_MAX];
	struct nlmsghdr *h = genl_head(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	uint16_t id = 0;

	mnl_attr_put_strz(h, CTRL_ATTR_FAMILY_NAME, name);
	return netlink_talk(nl, h, NLM_F_ACK, on_family, &id, NULL) < 0 ? 0 : id;
}

struct group {
	const char *name;
	uint32_t id;
};

static int take_group(const struct nlattr *a, void *user)
{
	struct group *g = user;
	const struct nlattr *of[CTRL_ATTR_MCAST_GRP_MAX + 1] = {NULL};
	struct genl_attrs t = {of, CTRL_ATTR_MCAST_GRP_MAX};

	if (mnl_attr_validate(a, MNL_TYPE_NESTED) < 0)
		return MNL_CB_OK;
	genl_attrs_parse_nested(a, &t);
	if (strcmp(genl_text(of[CTRL_ATTR_MCAST_GRP_NAME]), g->name) == 0)
		g->id = genl_u32(of[CTRL_ATTR_MCAST_GRP_ID]);
	return MNL_CB_OK;
}

static int on_groups(void *user, struct nlmsghdr *h)
{
	const struct nlattr *of[CTRL_ATTR_MAX + 1] = {NULL};
	struct genl_attrs t = {of, CTRL_ATTR_MAX};

	genl_attrs_parse(h, &t);
	if (of[CTRL_ATTR_MCAST_GROUPS] &&
	    mnl_attr_validate(of[CTRL_ATTR_MCAST_GROUPS], MNL_TYPE_NESTED) == 0)
		mnl_attr_parse_nested(of[CTRL_ATTR_MCAST_GROUPS], take_group, user);
	return 0;
}

uint32_t genl_group_find(struct netlink *nl, const char *family, const char *group)
{
	char buf[REQUEST_BYTES_MAX];
	struct nlmsghdr *h = genl_head(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	struct group g = {.name = group};

	mnl_attr_put_strz(h, CTRL_ATTR_FAMILY_NAME, family);
	return netlink_talk(nl, h, NLM_F_ACK, on_groups, &g, NULL) < 0 ? 0 : g.id;
}
