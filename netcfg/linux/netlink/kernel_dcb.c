/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and sets DCB by netlink. DCB messages differ from other rtnetlink messages: they have a
 * header of their kind, structures instead of attributes, and a result code inside the answer.
 */
#include "netcfg/linux/netlink/kernel_dcb.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/netlink/netlink.h"
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

/* The trust table exists since Linux 6.2, so the kernel headers of the oldest supported system lack
 * its number. */
#define IEEE_TRUST_TABLE 11 /* DCB_ATTR_DCB_APP_TRUST_TABLE */
#define IEEE_APP 1	    /* DCB_ATTR_IEEE_APP */
#define DCB_APP 2	    /* DCB_ATTR_DCB_APP: for selectors that IEEE does not define */
#define SELECTOR_PCP 255    /* DCB_APP_SEL_PCP */

/* ---- answers ---- */

/* Copies a kernel structure, which other kernel versions may make longer or shorter. */
static bool take_struct(const struct nlattr *a, void *to, size_t size)
{
	memset(to, 0, size);
	memcpy(to, mnl_attr_get_payload(a), MIN_OF(size, (size_t)mnl_attr_get_payload_len(a)));
	return true;
}

static int take_app(const struct nlattr *a, void *user)
{
	struct dcb_state *s = user;
	struct dcb_app app;

	if (mnl_attr_get_type(a) != IEEE_APP || mnl_attr_get_payload_len(a) < sizeof(app))
		return MNL_CB_OK;
	take_struct(a, &app, sizeof(app));
	if (app.selector == IEEE_8021QAZ_APP_SEL_DSCP && app.protocol < DCB_DSCPS &&
	    app.priority < DCB_PRIOS)
		s->dscp[app.protocol] |= (uint8_t)(1U << app.priority);
	return MNL_CB_OK;
}

static int take_trust(const struct nlattr *a, void *user)
{
	struct dcb_state *s = user;

	if (s->n_trust < DCB_TRUST_MAX && mnl_attr_get_payload_len(a) >= 1)
		s->trust[s->n_trust++] = mnl_attr_get_u8(a);
	return MNL_CB_OK;
}

static int take_ieee(const struct nlattr *a, void *user)
{
	struct dcb_state *s = user;

	switch (mnl_attr_get_type(a)) {
	case DCB_ATTR_IEEE_ETS:
		s->has_ets = take_struct(a, &s->ets, sizeof(s->ets));
		break;
	case DCB_ATTR_IEEE_PFC:
		s->has_pfc = take_struct(a, &s->pfc, sizeof(s->pfc));
		break;
	case DCB_ATTR_IEEE_APP_TABLE:
		mnl_attr_parse_nested(a, take_app, s);
		break;
	case IEEE_TRUST_TABLE:
		s->has_trust = true;
		mnl_attr_parse_nested(a, take_trust, s);
		break;
	default:
		break;
	}
	return MNL_CB_OK;
}

static int take_answer(const struct nlattr *a, void *user)
{
	struct dcb_state *s = user;

	if (mnl_attr_get_type(a) == DCB_ATTR_IEEE)
		mnl_attr_parse_nested(a, take_ieee, s);
	else if (mnl_attr_get_type(a) == DCB_ATTR_DCBX && mnl_attr_get_payload_len(a) >= 1)
		s->dcbx = mnl_attr_get_u8(a);
	return MNL_CB_OK;
}

static bool is_dcb(const struct nlmsghdr *h)
{
	return (h->nlmsg_type == RTM_GETDCB || h->nlmsg_type == RTM_SETDCB) &&
	       h->nlmsg_len >= MNL_NLMSG_HDRLEN + sizeof(struct dcbmsg);
}

bool kernel_dcb_parse(const struct nlmsghdr *h, struct dcb_state *ret)
{
	struct dcb_state s = {.dcbx = 0};

	if (!is_dcb(h))
		return false;
	mnl_attr_parse(h, sizeof(struct dcbmsg), take_answer, &s);
	if (!s.has_ets && !s.has_pfc)
		return false;
	*ret = s;
	return true;
}

static int take_result(const struct nlattr *a, void *user)
{
	int *r = user;

	if (mnl_attr_get_type(a) == DCB_ATTR_IEEE && mnl_attr_get_payload_len(a) >= 1)
		*r = (int8_t)mnl_attr_get_u8(a);
	return MNL_CB_OK;
}

/* The kernel reports only the lowest byte of the errno, so the function restores a negative number
 * from it. */
int kernel_dcb_result(const struct nlmsghdr *h)
{
	int r = 0;

	if (is_dcb(h))
		mnl_attr_parse(h, sizeof(struct dcbmsg), take_result, &r);
	return MIN_OF(r, 0);
}

static const char *trust_format(const struct dcb_state *s, char *buf, size_t size)
{
	size_t len = 0;

	snprintf(buf, size, "none");
	for (size_t i = 0; i < s->n_trust && len < size; i++) {
		const uint8_t selector = s->trust[i];

		len += (size_t)snprintf(buf + len, size - len, "%s", len ? "," : "");
		if (selector == SELECTOR_PCP || selector == IEEE_8021QAZ_APP_SEL_DSCP)
			len += (size_t)snprintf(buf + len, size - len, "%s",
						selector == SELECTOR_PCP ? "pcp" : "dscp");
		else
			len += (size_t)snprintf(buf + len, size - len, "sel%u", selector);
	}
	return buf;
}

void kernel_dcb_fill(const struct dcb_state *s, struct inv_dcb *ret)
{
	char value[INV_DEVICE_VALUE_MAX], dscp[INV_DCB_DSCP_MAX];
	struct dcb_ets e;

	memcpy(e.tc, s->ets.prio_tc, sizeof(e.tc));
	memcpy(e.tsa, s->ets.tc_tsa, sizeof(e.tsa));
	memcpy(e.bandwidth, s->ets.tc_tx_bw, sizeof(e.bandwidth));
	ret->firmware = (s->dcbx & DCB_CAP_DCBX_LLD_MANAGED) && !(s->dcbx & DCB_CAP_DCBX_HOST);
	if (s->has_ets)
		inv_text_set(ret->ets, sizeof(ret->ets), dcb_ets_format(&e, value));
	if (s->has_pfc)
		inv_text_set(ret->pfc, sizeof(ret->pfc), dcb_prios_format(s->pfc.pfc_en, value));
	if (s->has_trust)
		inv_text_set(ret->trust, sizeof(ret->trust), trust_format(s, value, sizeof(value)));
	inv_text_set(ret->dscp, sizeof(ret->dscp), dcb_dscp_format(s->dscp, dscp));
	ret->max_classes = s->ets.ets_cap;
	ret->max_pfc = s->pfc.pfc_cap;
}

/* ---- requests ---- */

static struct nlmsghdr *request(char *buf, uint16_t type, uint8_t command, const char *ifname)
{
	struct dcbmsg *dcb;
	struct nlmsghdr *h;

	/* the kernel also receives the padding between attributes */
	memset(buf, 0, DCB_REQUEST_BYTES_MAX);
	h = mnl_nlmsg_put_header(buf);
	dcb = mnl_nlmsg_put_extra_header(h, sizeof(*dcb));

	h->nlmsg_type = type;
	dcb->dcb_family = AF_UNSPEC;
	dcb->cmd = command;
	mnl_attr_put_strz(h, DCB_ATTR_IFNAME, ifname);
	return h;
}

/* Appends one table entry for each priority in `bits`; each entry is for the code point `dscp`. */
static void put_apps(struct nlmsghdr *h, uint8_t dscp, uint8_t bits)
{
	struct nlattr *table = mnl_attr_nest_start(h, DCB_ATTR_IEEE_APP_TABLE);

	for (uint8_t p = 0; p < DCB_PRIOS; p++) {
		const struct dcb_app app = {IEEE_8021QAZ_APP_SEL_DSCP, p, dscp};

		if (bits & 1U << p)
			mnl_attr_put(h, IEEE_APP, sizeof(app), &app);
	}
	mnl_attr_nest_end(h, table);
}

static int put_ets(struct nlmsghdr *h, const struct dcb_state *now, const char *value)
{
	/* The request replaces all fields, so begin with the driver's current values. */
	struct ieee_ets ets = now->ets;
	struct dcb_ets e;

	if (!now->has_ets)
		return -EOPNOTSUPP;
	if (dcb_ets_parse(value, &e) < 0)
		return -EINVAL;
	memcpy(ets.prio_tc, e.tc, sizeof(e.tc));
	memcpy(ets.tc_tsa, e.tsa, sizeof(e.tsa));
	memcpy(ets.tc_tx_bw, e.bandwidth, sizeof(e.bandwidth));
	mnl_attr_put(h, DCB_ATTR_IEEE_ETS, sizeof(ets), &ets);
	return 0;
}

static int put_pfc(struct nlmsghdr *h, const struct dcb_state *now, const char *value)
{
	struct ieee_pfc pfc = now->pfc;

	if (!now->has_pfc)
		return -EOPNOTSUPP;
	if (dcb_prios_parse(value, &pfc.pfc_en) < 0)
		return -EINVAL;
	mnl_attr_put(h, DCB_ATTR_IEEE_PFC, sizeof(pfc), &pfc);
	return 0;
}

static int put_trust(struct nlmsghdr *h, const struct dcb_state *now, const char *value)
{
	struct nlattr *table;

	if (!now->has_trust)
		return -EOPNOTSUPP;
	table = mnl_attr_nest_start(h, IEEE_TRUST_TABLE);
	for (const char *w = strcmp(value, "none") == 0 ? "" : value; *w;) {
		const size_t len = strcspn(w, ",");
		uint8_t selector;

		if (len == 4 && memcmp(w, "dscp", len) == 0)
			mnl_attr_put_u8(h, IEEE_APP, IEEE_8021QAZ_APP_SEL_DSCP);
		else if (len == 3 && memcmp(w, "pcp", len) == 0)
			mnl_attr_put_u8(h, DCB_APP, SELECTOR_PCP);
		else if (sscanf(w, "sel%3" SCNu8, &selector) == 1)
			mnl_attr_put_u8(h, IEEE_APP, selector);
		else
			return -EINVAL;
		w += len + (w[len] == ',');
	}
	mnl_attr_nest_end(h, table);
	return 0;
}

/* New entries are added before old ones are removed, because some drivers trust DSCP only while
 * they have an entry. */
static int dscp_request(const struct dcb_state *now, const struct kernel_change *c,
			const char *ifname, int step, char *buf)
{
	uint8_t want, bits, have;
	struct nlattr *ieee;
	struct nlmsghdr *h;

	if (c->device.dscp >= DCB_DSCPS || dcb_prios_parse(c->device.value, &want) < 0)
		return -EINVAL;
	have = now->dscp[c->device.dscp];
	bits = step ? have & (uint8_t)~want : want & (uint8_t)~have;
	if (!bits)
		return 0;
	h = request(buf, RTM_SETDCB, step ? DCB_CMD_IEEE_DEL : DCB_CMD_IEEE_SET, ifname);
	ieee = mnl_attr_nest_start(h, DCB_ATTR_IEEE);
	put_apps(h, c->device.dscp, bits);
	mnl_attr_nest_end(h, ieee);
	return (int)h->nlmsg_len;
}

int kernel_dcb_request(const struct dcb_state *now, const struct kernel_change *c,
		       const char *ifname, int step, char buf[static DCB_REQUEST_BYTES_MAX])
{
	static int (*const puts[DEVICE_ATTR_MAX])(struct nlmsghdr * h, const struct dcb_state *now,
						  const char *value) = {
		[DEVICE_TRUST] = put_trust,
		[DEVICE_ETS] = put_ets,
		[DEVICE_PFC] = put_pfc,
	};
	struct nlattr *ieee;
	struct nlmsghdr *h;
	int r;

	if (c->device.attr == DEVICE_DSCP)
		return dscp_request(now, c, ifname, step, buf);
	if (step)
		return 0;
	if (!puts[c->device.attr])
		return -EOPNOTSUPP;
	h = request(buf, RTM_SETDCB, DCB_CMD_IEEE_SET, ifname);
	ieee = mnl_attr_nest_start(h, DCB_ATTR_IEEE);
	r = puts[c->device.attr](h, now, c->device.value);
	mnl_attr_nest_end(h, ieee);
	return r < 0 ? r : (int)h->nlmsg_len;
}

/* ---- requests with their answers ---- */

struct answer {
	struct dcb_state state;
	bool found;
};

static int on_state(void *user, struct nlmsghdr *h)
{
	struct answer *a = user;

	a->found = kernel_dcb_parse(h, &a->state) || a->found;
	return 0;
}

static int on_result(void *user, struct nlmsghdr *h)
{
	return kernel_dcb_result(h);
}

/* Queries the DCB state of a link. Returns -EOPNOTSUPP if the driver has no DCB. */
static int ask(struct netlink *nl, const char *ifname, struct dcb_state *ret, struct reason *why)
{
	char buf[DCB_REQUEST_BYTES_MAX];
	struct reason said;
	struct answer a = {.found = false};
	int r = netlink_talk(nl, request(buf, RTM_GETDCB, DCB_CMD_IEEE_GET, ifname), NLM_F_ACK,
			     on_state, &a, &said);

	if (r == 0 && !a.found)
		r = -EOPNOTSUPP;
	if (r == -EOPNOTSUPP)
		return kernel_fail(why, r, "the driver has no DCB (dcbnl)");
	if (r < 0)
		return kernel_fail(why, r, said.text);
	*ret = a.state;
	return 0;
}

int kernel_dcb_change(const struct kernel_change *c, struct reason *why)
{
	char buf[DCB_REQUEST_BYTES_MAX], ifname[IFNAMSIZ];
	struct reason said = {.code = ""};
	struct netlink *nl;
	int r = netlink_open(NETLINK_ROUTE, &nl);

	if (r < 0)
		return kernel_fail(why, r, strerror(-r));
	for (int step = 0; step < 2 && r == 0; step++) {
		struct dcb_state now;

		if (!if_indextoname(c->ifindex, ifname))
			r = kernel_fail(why, -ENODEV, strerror(ENODEV));
		else
			r = ask(nl, ifname, &now, why);
		if (r < 0)
			break;
		r = kernel_dcb_request(&now, c, ifname, step, buf);
		if (r > 0)
			r = netlink_talk(nl, (struct nlmsghdr *)buf, NLM_F_ACK, on_result, NULL,
					 &said);
		if (r < 0)
			kernel_fail(why, r, said.text);
	}
	netlink_close(nl);
	return r;
}

int kernel_dcb_read(struct kernel_change *c)
{
	struct inv_dcb dcb = {.ifindex = c->ifindex};
	struct inventory one = {.dcb = &dcb, .n_dcb = 1};
	char ifname[IFNAMSIZ], buf[INV_DEVICE_VALUE_MAX];
	struct dcb_state now;
	const char *value;
	struct netlink *nl;
	int r;

	if (!if_indextoname(c->ifindex, ifname))
		return -ENODEV;
	r = netlink_open(NETLINK_ROUTE, &nl);
	if (r < 0)
		return r;
	r = ask(nl, ifname, &now, NULL);
	netlink_close(nl);
	if (r < 0)
		return r;
	kernel_dcb_fill(&now, &dcb);
	value = device_value_find(&one, c->ifindex, c->device.attr, c->device.dscp, buf);
	if (!value)
		return -EOPNOTSUPP;
	inv_text_set(c->device.was, sizeof(c->device.was), value);
	return 0;
}

/* Returns whether the link may be a port of a NIC. Virtual links have no DCB. */
static bool may_have_dcb(const struct inv_link *l)
{
	return l->kind == INV_LINK_PHYSICAL || l->kind == INV_LINK_VIRTUAL;
}

int kernel_dcb_collect(struct inventory *inv)
{
	struct netlink *nl;
	int r = netlink_open(NETLINK_ROUTE, &nl);

	if (r < 0)
		return r;
	for (size_t i = 0; i < inv->n_links && r == 0; i++) {
		const struct inv_link *l = &inv->links[i];
		struct dcb_state now;
		struct inv_dcb *dcb;

		/* A link that has disappeared, or whose driver returns an error, counts as having
		 * no DCB. */
		if (!may_have_dcb(l) || ask(nl, l->name, &now, NULL) < 0)
			continue;
		dcb = inv_dcb_add(inv);
		if (!dcb) {
			r = -ENOMEM;
			break;
		}
		dcb->ifindex = l->ifindex;
		kernel_dcb_fill(&now, dcb);
	}
	netlink_close(nl);
	return r;
}
