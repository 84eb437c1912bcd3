/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries the generic netlink family of ethtool. The family does not report the firmware version,
 * so this file reads that by ethtool's ioctl. */
#include "netcfg/linux/netlink/ethtool.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/netlink/genl.h"
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define REQUEST_BYTES_MAX 256

/* ---- answers ---- */

/* In each kind of answer, attribute 1 identifies the link. link_of() relies on that. */
_Static_assert(ETHTOOL_A_LINKMODES_HEADER == 1 && ETHTOOL_A_FEC_HEADER == 1 &&
		       ETHTOOL_A_CHANNELS_HEADER == 1,
	       "the link is in attribute 1 of each answer");

static struct inv_link *link_of(struct inventory *inv, const struct nlattr *header)
{
	const struct nlattr *of[ETHTOOL_A_HEADER_MAX + 1] = {NULL};
	struct genl_attrs t = {of, ETHTOOL_A_HEADER_MAX};

	if (!header || mnl_attr_validate(header, MNL_TYPE_NESTED) < 0)
		return NULL;
	genl_attrs_parse_nested(header, &t);
	/* The cast is safe: only the lookup returns a const pointer, and the inventory itself is
	 * not const. */
	return (struct inv_link *)inv_link_by_index(inv, genl_u32(of[ETHTOOL_A_HEADER_DEV_INDEX]));
}

/* The speeds of link modes: the modes FIRST to LAST of linux/ethtool.h, which has the modes from 93
 * on only since Linux 6.3. Modes that the table lacks are slow or not link modes. */
static const struct {
	uint16_t first, last;
	uint32_t mbps;
} mode_speeds[] = {
	{4, 5, 1000},	  {12, 12, 10000},  {15, 15, 2500},   {17, 17, 1000},	{18, 20, 10000},
	{21, 22, 20000},  {23, 26, 40000},  {27, 30, 56000},  {31, 33, 25000},	{34, 35, 50000},
	{36, 39, 100000}, {40, 40, 50000},  {41, 41, 1000},   {42, 46, 10000},	{47, 47, 2500},
	{48, 48, 5000},	  {52, 56, 50000},  {57, 61, 100000}, {62, 66, 200000}, {68, 68, 1000},
	{69, 73, 400000}, {75, 79, 100000}, {80, 84, 200000}, {85, 89, 400000}, {93, 98, 800000},
};

/* Stores the speed of the fastest supported mode, which is known without a carrier too. */
static void take_max_speed(struct inv_link *l, const struct nlattr *modes)
{
	const struct nlattr *of[ETHTOOL_A_BITSET_MAX + 1] = {NULL};
	struct genl_attrs t = {of, ETHTOOL_A_BITSET_MAX};
	const struct nlattr *mask;
	const uint8_t *bytes;

	if (!modes || mnl_attr_validate(modes, MNL_TYPE_NESTED) < 0)
		return;
	genl_attrs_parse_nested(modes, &t);
	mask = of[ETHTOOL_A_BITSET_MASK];
	if (!mask)
		return;
	bytes = mnl_attr_get_payload(mask);
	for (size_t i = 0; i < ARRAY_SIZE(mode_speeds); i++)
		for (unsigned bit = mode_speeds[i].first; bit <= mode_speeds[i].last; bit++) {
			/* The kernel sends words of 32 bits in the byte order of the host. */
			uint32_t word;
			const size_t at = bit / 32 * sizeof(word);

			if (at + sizeof(word) > mnl_attr_get_payload_len(mask))
				break;
			memcpy(&word, bytes + at, sizeof(word));
			if (word >> bit % 32 & 1)
				l->max_speed_mbps = MAX_OF(l->max_speed_mbps, mode_speeds[i].mbps);
		}
}

static void take_modes(struct inv_link *l, const struct nlattr **of)
{
	const struct nlattr *a = of[ETHTOOL_A_LINKMODES_DUPLEX];

	take_max_speed(l, of[ETHTOOL_A_LINKMODES_OURS]);
	if (!a || mnl_attr_validate(a, MNL_TYPE_U8) < 0)
		return;
	if (mnl_attr_get_u8(a) == DUPLEX_FULL)
		inv_text_set(l->duplex, sizeof(l->duplex), "full");
	else if (mnl_attr_get_u8(a) == DUPLEX_HALF)
		inv_text_set(l->duplex, sizeof(l->duplex), "half");
}

/* Stores the name of the FEC code that the port uses. A port that is down uses none. */
static void take_fec(struct inv_link *l, const struct nlattr **of)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} codes[] = {
		{ETHTOOL_LINK_MODE_FEC_NONE_BIT, "off"},
		{ETHTOOL_LINK_MODE_FEC_RS_BIT, "rs"},
		{ETHTOOL_LINK_MODE_FEC_BASER_BIT, "baser"},
		{ETHTOOL_LINK_MODE_FEC_LLRS_BIT, "llrs"},
	};
	uint32_t bit = genl_u32(of[ETHTOOL_A_FEC_ACTIVE]);

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].bit == bit)
			inv_text_set(l->fec, sizeof(l->fec), codes[i].name);
}

/* Stores the number of channels. Some drivers count pairs of queues (combined), others count each
 * direction separately, so combined and receive channels are added up. */
static void take_channels(struct inv_link *l, const struct nlattr **of)
{
	l->channels = genl_u32(of[ETHTOOL_A_CHANNELS_COMBINED_COUNT]) +
		      genl_u32(of[ETHTOOL_A_CHANNELS_RX_COUNT]);
	l->max_channels = MAX_OF(genl_u32(of[ETHTOOL_A_CHANNELS_COMBINED_MAX]),
				 genl_u32(of[ETHTOOL_A_CHANNELS_RX_MAX]));
}

#define ATTRS_MAX ((int)ETHTOOL_A_CHANNELS_MAX)
_Static_assert(ATTRS_MAX >= (int)ETHTOOL_A_LINKMODES_DUPLEX &&
		       ATTRS_MAX >= (int)ETHTOOL_A_FEC_ACTIVE,
	       "all attributes that are read have an entry");

int ethtool_parse(struct inventory *inv, struct nlmsghdr *h)
{
	const struct genlmsghdr *g = mnl_nlmsg_get_payload(h);
	const struct nlattr *of[ATTRS_MAX + 1] = {NULL};
	struct genl_attrs t = {of, ATTRS_MAX};
	struct inv_link *l;

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*g))
		return 0;
	genl_attrs_parse(h, &t);
	l = link_of(inv, of[1]);
	if (!l)
		return 0;
	if (g->cmd == ETHTOOL_MSG_LINKMODES_GET_REPLY)
		take_modes(l, of);
	else if (g->cmd == ETHTOOL_MSG_FEC_GET_REPLY)
		take_fec(l, of);
	else if (g->cmd == ETHTOOL_MSG_CHANNELS_GET_REPLY)
		take_channels(l, of);
	return 0;
}

/* ---- queries ---- */

static int on_answer(void *user, struct nlmsghdr *h)
{
	return ethtool_parse(user, h);
}

/* Sends one query about a link and stores the answer in inv. Drivers that do not report a value
 * answer with an error, which is ignored. */
static void ask(struct netlink *nl, uint16_t family, uint8_t command, uint32_t ifindex,
		struct inventory *inv)
{
	char buf[REQUEST_BYTES_MAX];
	struct nlmsghdr *h = genl_head(buf, family, command);
	struct nlattr *header = mnl_attr_nest_start(h, 1);

	mnl_attr_put_u32(h, ETHTOOL_A_HEADER_DEV_INDEX, ifindex);
	mnl_attr_put_u32(h, ETHTOOL_A_HEADER_FLAGS, ETHTOOL_FLAG_COMPACT_BITSETS);
	mnl_attr_nest_end(h, header);
	(void)netlink_talk(nl, h, NLM_F_ACK, on_answer, inv, NULL);
}

static void ask_firmware(int fd, struct inv_link *l)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq ifr = {.ifr_data = (void *)&info};

	memcpy(ifr.ifr_name, l->name, sizeof(ifr.ifr_name));
	if (ioctl(fd, SIOCETHTOOL, &ifr) < 0)
		return;
	info.fw_version[sizeof(info.fw_version) - 1] = '\0';
	inv_text_set(l->firmware, sizeof(l->firmware), info.fw_version);
}

/* Sends a query for each link with a PCI function instead of one dump, because thousands of virtual
 * links would report nothing. */
int ethtool_fill_links(struct inventory *inv)
{
	static const uint8_t commands[] = {ETHTOOL_MSG_LINKMODES_GET, ETHTOOL_MSG_FEC_GET,
					   ETHTOOL_MSG_CHANNELS_GET};
	autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct netlink *nl;
	uint16_t family;
	int r = netlink_open(NETLINK_GENERIC, &nl);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	family = genl_family_find(nl, ETHTOOL_GENL_NAME);
	for (size_t i = 0; i < inv->n_links; i++) {
		struct inv_link *l = &inv->links[i];

		if (!l->pci[0])
			continue;
		for (size_t j = 0; family && j < ARRAY_SIZE(commands); j++)
			ask(nl, family, commands[j], l->ifindex, inv);
		if (fd >= 0)
			ask_firmware(fd, l);
	}
	netlink_close(nl);
	return 0;
}
