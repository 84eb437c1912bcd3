/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints and parses settings of devices. Inventories, plans, journals and the simulated host share
 * the text forms. */
#include "netcfg/host/device_setting.h"
#include <stdio.h>
#include <string.h>

#define NONE "none"

static const char *const attrs[DEVICE_ATTR_MAX] = {
	[DEVICE_TRUST] = "trust", [DEVICE_DSCP] = "dscp",	    [DEVICE_ETS] = "ets",
	[DEVICE_PFC] = "pfc",	  [DEVICE_ROCE_MODE] = "roce-mode", [DEVICE_ROCE_TOS] = "roce-tos",
#define NAME(attr, member, name) [DEVICE_##attr] = name,
	INV_LINK_SETTINGS(NAME)
#undef NAME
};

/* The ways to schedule a traffic class without a bandwidth share (IEEE 802.1Q, Table D-8). */
static const struct {
	uint8_t tsa;
	const char *name;
} orders[] = {{DCB_TSA_STRICT, "strict"}, {1, "cbs"}, {255, "vendor"}};

const char *device_attr_to_string(enum device_attr a)
{
	return (unsigned)a < DEVICE_ATTR_MAX ? attrs[a] : "?";
}

/* Offsets of the members of struct inv_link; 0 for settings that are not there. */
static const size_t link_offsets[DEVICE_ATTR_MAX] = {
#define OFFSET(attr, member, name) [DEVICE_##attr] = offsetof(struct inv_link, member),
	INV_LINK_SETTINGS(OFFSET)
#undef OFFSET
};

static bool is_of_link(enum device_attr a)
{
	return (unsigned)a < DEVICE_ATTR_MAX && link_offsets[a];
}

char *device_link_setting(struct inv_link *l, enum device_attr a)
{
	return is_of_link(a) ? (char *)l + link_offsets[a] : NULL;
}

static const char *text_or_null(const char *text, char buf[static INV_DEVICE_VALUE_MAX])
{
	snprintf(buf, INV_DEVICE_VALUE_MAX, "%.*s", INV_DEVICE_VALUE_MAX - 1, text);
	return *buf ? buf : NULL;
}

static const char *roce_find(const struct inventory *inv, uint32_t ifindex, enum device_attr a,
			     char buf[static INV_DEVICE_VALUE_MAX])
{
	const struct inv_rdma *p = inv_rdma_find(inv, ifindex);

	return p ? text_or_null(a == DEVICE_ROCE_MODE ? p->roce_mode : p->roce_tos, buf) : NULL;
}

const char *device_value_find(const struct inventory *inv, uint32_t ifindex, enum device_attr a,
			      uint8_t dscp, char buf[static INV_DEVICE_VALUE_MAX])
{
	const struct inv_dcb *dcb = inv_dcb_find(inv, ifindex);
	const struct inv_link *l = inv_link_by_index(inv, ifindex);
	uint8_t prios[DCB_DSCPS];

	if (is_of_link(a))
		return l ? text_or_null((const char *)l + link_offsets[a], buf) : NULL;
	if (a == DEVICE_ROCE_MODE || a == DEVICE_ROCE_TOS)
		return roce_find(inv, ifindex, a, buf);
	if (!dcb)
		return NULL;
	switch (a) {
	case DEVICE_TRUST:
		return text_or_null(dcb->trust, buf);
	case DEVICE_ETS:
		return text_or_null(dcb->ets, buf);
	case DEVICE_PFC:
		return text_or_null(dcb->pfc, buf);
	default:
		if (dscp >= DCB_DSCPS || dcb_dscp_parse(dcb->dscp, prios) < 0)
			return NULL;
		return dcb_prios_format(prios[dscp], buf);
	}
}

const char *dcb_prios_format(uint8_t bits, char buf[static DCB_PRIOS_TEXT_MAX])
{
	size_t n = 0;

	for (unsigned p = 0; p < DCB_PRIOS; p++)
		if (bits & 1U << p)
			buf[n++] = (char)('0' + p);
	memcpy(buf + n, n ? "" : NONE, n ? 1 : sizeof(NONE));
	return buf;
}

int dcb_prios_parse(const char *text, uint8_t *ret_bits)
{
	unsigned bits = 0;

	if (strcmp(text, NONE) == 0)
		text = "";
	else if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text >= '0' + DCB_PRIOS || bits & 1U << (*text - '0'))
			return -EINVAL;
		bits |= 1U << (*text - '0');
	}
	*ret_bits = (uint8_t)bits;
	return 0;
}

static int order_format(const struct dcb_ets *e, unsigned tc, char *buf, size_t size)
{
	if (e->tsa[tc] == DCB_TSA_ETS)
		return snprintf(buf, size, "%u", e->bandwidth[tc]);
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
		if (orders[i].tsa == e->tsa[tc])
			return snprintf(buf, size, "%s", orders[i].name);
	return snprintf(buf, size, "tsa%u", e->tsa[tc]);
}

static uint8_t prios_of(const struct dcb_ets *e, unsigned tc)
{
	unsigned bits = 0;

	for (unsigned p = 0; p < DCB_PRIOS; p++)
		bits |= e->tc[p] == tc ? 1U << p : 0;
	return (uint8_t)bits;
}

const char *dcb_ets_format(const struct dcb_ets *e, char buf[static INV_DEVICE_VALUE_MAX])
{
	char order[8], prios[DCB_PRIOS_TEXT_MAX];
	size_t len = 0;

	_Static_assert(DCB_PRIOS * sizeof("7:strict;") + DCB_PRIOS < INV_DEVICE_VALUE_MAX,
		       "the longest text of all classes fits");
	buf[0] = '\0';
	for (unsigned tc = 0; tc < DCB_PRIOS; tc++) {
		const uint8_t bits = prios_of(e, tc);

		if (!bits && (e->tsa[tc] != DCB_TSA_ETS || !e->bandwidth[tc]))
			continue;
		order_format(e, tc, order, sizeof(order));
		dcb_prios_format(bits, prios);
		len += (size_t)snprintf(buf + len, INV_DEVICE_VALUE_MAX - len, "%s%u:%.6s:%.8s",
					len ? ";" : "", tc, order, bits ? prios : "");
	}
	return buf;
}

static int order_parse(const char *text, uint8_t *ret_tsa, uint8_t *ret_bandwidth)
{
	unsigned n;
	int at = 0;

	*ret_bandwidth = 0;
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
		if (strcmp(text, orders[i].name) == 0) {
			*ret_tsa = orders[i].tsa;
			return 0;
		}
	if (sscanf(text, "tsa%3u%n", &n, &at) == 1 && !text[at] && n <= UINT8_MAX) {
		*ret_tsa = (uint8_t)n;
		return 0;
	}
	if (sscanf(text, "%3u%n", &n, &at) != 1 || text[at] || n > UINT8_MAX)
		return -EINVAL;
	*ret_tsa = DCB_TSA_ETS;
	*ret_bandwidth = (uint8_t)n;
	return 0;
}

int dcb_ets_parse(const char *text, struct dcb_ets *ret)
{
	struct dcb_ets e = {.tc = {0}};
	unsigned seen = 0;

	for (bool more = true; more;) {
		char order[8], prios[DCB_PRIOS_TEXT_MAX] = "";
		uint8_t bits = 0;
		unsigned tc;
		int at = 0;

		if (sscanf(text, "%1u:%7[^:;]:%n", &tc, order, &at) != 2 || !at ||
		    tc >= DCB_PRIOS || order_parse(order, &e.tsa[tc], &e.bandwidth[tc]) < 0)
			return -EINVAL;
		text += at;
		if (sscanf(text, "%11[^;]%n", prios, &at) == 1) {
			if (dcb_prios_parse(prios, &bits) < 0 || bits & seen)
				return -EINVAL;
			text += at;
		}
		seen |= bits;
		for (unsigned p = 0; p < DCB_PRIOS; p++)
			if (bits & 1U << p)
				e.tc[p] = (uint8_t)tc;
		more = *text == ';';
		if (!more && *text)
			return -EINVAL;
		text += more;
	}
	if (seen != (1U << DCB_PRIOS) - 1)
		return -EINVAL;
	*ret = e;
	return 0;
}

const char *dcb_dscp_format(const uint8_t prios[static DCB_DSCPS],
			    char buf[static INV_DCB_DSCP_MAX])
{
	char text[DCB_PRIOS_TEXT_MAX];
	size_t len = 0;

	_Static_assert(DCB_DSCPS * sizeof("63:01234567") < INV_DCB_DSCP_MAX, "all code points fit");
	buf[0] = '\0';
	for (unsigned i = 0; i < DCB_DSCPS; i++)
		if (prios[i])
			len += (size_t)snprintf(buf + len, INV_DCB_DSCP_MAX - len, "%s%u:%s",
						len ? "," : "", i,
						dcb_prios_format(prios[i], text));
	return buf;
}

int dcb_dscp_parse(const char *text, uint8_t ret_prios[static DCB_DSCPS])
{
	memset(ret_prios, 0, DCB_DSCPS);
	while (*text) {
		char prios[DCB_PRIOS_TEXT_MAX];
		unsigned dscp;
		int at = 0;

		if (sscanf(text, "%2u:%11[0-7]%n", &dscp, prios, &at) != 2 || dscp >= DCB_DSCPS ||
		    dcb_prios_parse(prios, &ret_prios[dscp]) < 0)
			return -EINVAL;
		text += at;
		if (*text == ',' && text[1])
			text++;
		else if (*text)
			return -EINVAL;
	}
	return 0;
}
