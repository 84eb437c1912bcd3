/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries and sets devlink values by generic netlink. A devlink device is a PCI function, which may
 * have no network link or several.
 */
#include "netcfg/linux/netlink/kernel_devlink.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/netlink/genl.h"
#include <inttypes.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTRS_MAX ((int)DEVLINK_ATTR_MAX)
#define ATTEMPTS_MAX 5
#define BUS "pci"

/* The types of parameter values, with the numbers that devlink uses for them. */
enum param_type { TYPE_U8 = 1, TYPE_U16, TYPE_U32, TYPE_U64, TYPE_STRING, TYPE_FLAG };
static const char *const type_names[] = {
	[TYPE_U8] = "u8",   [TYPE_U16] = "u16",	      [TYPE_U32] = "u32",
	[TYPE_U64] = "u64", [TYPE_STRING] = "string", [TYPE_FLAG] = "bool",
};
static const char *const mode_names[] = {
	[DEVLINK_PARAM_CMODE_RUNTIME] = "runtime",
	[DEVLINK_PARAM_CMODE_DRIVERINIT] = "driverinit",
	[DEVLINK_PARAM_CMODE_PERMANENT] = "permanent",
};
static const char *const flavour_names[] = {
	[DEVLINK_PORT_FLAVOUR_PHYSICAL] = "physical", [DEVLINK_PORT_FLAVOUR_CPU] = "cpu",
	[DEVLINK_PORT_FLAVOUR_DSA] = "dsa",	      [DEVLINK_PORT_FLAVOUR_PCI_PF] = "pcipf",
	[DEVLINK_PORT_FLAVOUR_PCI_VF] = "pcivf",      [DEVLINK_PORT_FLAVOUR_VIRTUAL] = "virtual",
	[DEVLINK_PORT_FLAVOUR_UNUSED] = "unused",     [DEVLINK_PORT_FLAVOUR_PCI_SF] = "pcisf",
};
static const char *const eswitch_names[] = {
	[DEVLINK_ESWITCH_MODE_LEGACY] = "legacy",
	[DEVLINK_ESWITCH_MODE_SWITCHDEV] = "switchdev",
};

/* A message, and the device to which the message belongs. */
struct message {
	struct inventory *inv;
	const struct nlattr *of[ATTRS_MAX + 1];
	char device[INV_TEXT_MAX];
	int r;
};

static const char *name_in(const char *const *names, size_t n, size_t i)
{
	return i < n && names[i] ? names[i] : "";
}

static bool is_nest(const struct nlattr *a)
{
	return a && mnl_attr_validate(a, MNL_TYPE_NESTED) == 0;
}

static uint8_t u8_of(const struct nlattr *a)
{
	return a && mnl_attr_validate(a, MNL_TYPE_U8) == 0 ? mnl_attr_get_u8(a) : UINT8_MAX;
}

/* ---- answers ---- */

static void take_device(struct message *m)
{
	struct inv_devlink *d = inv_devlink_add(m->inv);

	if (d)
		inv_text_set(d->device, sizeof(d->device), m->device);
	m->r = d ? 0 : -ENOMEM;
}

static struct inv_devlink *device_of(const struct message *m)
{
	for (size_t i = 0; i < m->inv->n_devlinks; i++)
		if (strcmp(m->inv->devlinks[i].device, m->device) == 0)
			return &m->inv->devlinks[i];
	return NULL;
}

static void take_version(struct message *m, const struct nlattr *nest, const char *kind)
{
	const struct nlattr *of[ATTRS_MAX + 1] = {NULL};
	struct genl_attrs t = {of, ATTRS_MAX};
	struct inv_devlink_version *v;

	if (!is_nest(nest))
		return;
	genl_attrs_parse_nested(nest, &t);
	v = inv_devlink_version_add(m->inv);
	if (!v) {
		m->r = -ENOMEM;
		return;
	}
	inv_text_set(v->device, sizeof(v->device), m->device);
	inv_text_set(v->kind, sizeof(v->kind), kind);
	inv_text_set(v->name, sizeof(v->name), genl_text(of[DEVLINK_ATTR_INFO_VERSION_NAME]));
	inv_text_set(v->value, sizeof(v->value), genl_text(of[DEVLINK_ATTR_INFO_VERSION_VALUE]));
}

/* Stores the identity and the versions of a device, which may report several versions of each
 * kind. */
static int take_info(const struct nlattr *a, void *user)
{
	struct message *m = user;
	struct inv_devlink *d = device_of(m);

	switch (mnl_attr_get_type(a)) {
	case DEVLINK_ATTR_INFO_DRIVER_NAME:
		if (d)
			inv_text_set(d->driver, sizeof(d->driver), genl_text(a));
		break;
	case DEVLINK_ATTR_INFO_SERIAL_NUMBER:
		if (d)
			inv_text_set(d->serial, sizeof(d->serial), genl_text(a));
		break;
	case DEVLINK_ATTR_INFO_VERSION_FIXED:
		take_version(m, a, "fixed");
		break;
	case DEVLINK_ATTR_INFO_VERSION_RUNNING:
		take_version(m, a, "running");
		break;
	case DEVLINK_ATTR_INFO_VERSION_STORED:
		take_version(m, a, "stored");
		break;
	default:
		break;
	}
	return m->r < 0 ? MNL_CB_ERROR : MNL_CB_OK;
}

static void take_port(struct message *m)
{
	struct inv_devlink_port *p = inv_devlink_port_add(m->inv);

	if (!p) {
		m->r = -ENOMEM;
		return;
	}
	inv_text_set(p->device, sizeof(p->device), m->device);
	p->index = genl_u32(m->of[DEVLINK_ATTR_PORT_INDEX]);
	p->ifindex = genl_u32(m->of[DEVLINK_ATTR_PORT_NETDEV_IFINDEX]);
	if (m->of[DEVLINK_ATTR_PORT_FLAVOUR])
		inv_text_set(p->flavour, sizeof(p->flavour),
			     name_in(flavour_names, ARRAY_SIZE(flavour_names),
				     genl_u16(m->of[DEVLINK_ATTR_PORT_FLAVOUR])));
	p->number = genl_u32(m->of[DEVLINK_ATTR_PORT_NUMBER]);
	p->pf = genl_u16(m->of[DEVLINK_ATTR_PORT_PCI_PF_NUMBER]);
	p->vf = genl_u16(m->of[DEVLINK_ATTR_PORT_PCI_VF_NUMBER]);
	p->sf = genl_u32(m->of[DEVLINK_ATTR_PORT_PCI_SF_NUMBER]);
}

static bool value_format(enum param_type type, const struct nlattr *a, char *buf, size_t size)
{
	if (type == TYPE_FLAG) { /* a flag is true if its attribute is present */
		snprintf(buf, size, "%s", a ? "true" : "false");
		return true;
	}
	if (!a)
		return false;
	if (type == TYPE_STRING)
		snprintf(buf, size, "%s", genl_text(a));
	else if (type == TYPE_U8 && mnl_attr_validate(a, MNL_TYPE_U8) == 0)
		snprintf(buf, size, "%u", mnl_attr_get_u8(a));
	else if (type == TYPE_U16 && mnl_attr_validate(a, MNL_TYPE_U16) == 0)
		snprintf(buf, size, "%u", mnl_attr_get_u16(a));
	else if (type == TYPE_U32 && mnl_attr_validate(a, MNL_TYPE_U32) == 0)
		snprintf(buf, size, "%" PRIu32, mnl_attr_get_u32(a));
	else if (type == TYPE_U64 && mnl_attr_validate(a, MNL_TYPE_U64) == 0)
		snprintf(buf, size, "%" PRIu64, mnl_attr_get_u64(a));
	else
		return false;
	return true;
}

/* State for parsing one parameter. It can have several values, one for each configuration mode. */
struct param {
	struct message *m;
	const char *name;
	enum param_type type;
};

static int take_value(const struct nlattr *a, void *user)
{
	const struct param *p = user;
	const struct nlattr *of[ATTRS_MAX + 1] = {NULL};
	struct genl_attrs t = {of, ATTRS_MAX};
	struct inv_devlink_param *v;
	char value[INV_DEVLINK_VALUE_MAX];
	const char *mode;

	if (mnl_attr_get_type(a) != DEVLINK_ATTR_PARAM_VALUE || !is_nest(a))
		return MNL_CB_OK;
	genl_attrs_parse_nested(a, &t);
	mode = name_in(mode_names, ARRAY_SIZE(mode_names),
		       u8_of(of[DEVLINK_ATTR_PARAM_VALUE_CMODE]));
	if (!*mode ||
	    !value_format(p->type, of[DEVLINK_ATTR_PARAM_VALUE_DATA], value, sizeof(value)))
		return MNL_CB_OK;
	v = inv_devlink_param_add(p->m->inv);
	if (!v) {
		p->m->r = -ENOMEM;
		return MNL_CB_ERROR;
	}
	inv_text_set(v->device, sizeof(v->device), p->m->device);
	inv_text_set(v->name, sizeof(v->name), p->name);
	inv_text_set(v->mode, sizeof(v->mode), mode);
	inv_text_set(v->type, sizeof(v->type), type_names[p->type]);
	inv_text_set(v->value, sizeof(v->value), value);
	return MNL_CB_OK;
}

static void take_param(struct message *m)
{
	const struct nlattr *of[ATTRS_MAX + 1] = {NULL};
	struct genl_attrs t = {of, ATTRS_MAX};
	struct param p = {.m = m};

	if (!is_nest(m->of[DEVLINK_ATTR_PARAM]))
		return;
	genl_attrs_parse_nested(m->of[DEVLINK_ATTR_PARAM], &t);
	p.name = genl_text(of[DEVLINK_ATTR_PARAM_NAME]);
	p.type = u8_of(of[DEVLINK_ATTR_PARAM_TYPE]);
	if (*p.name && *name_in(type_names, ARRAY_SIZE(type_names), p.type) &&
	    is_nest(of[DEVLINK_ATTR_PARAM_VALUES_LIST]))
		mnl_attr_parse_nested(of[DEVLINK_ATTR_PARAM_VALUES_LIST], take_value, &p);
}

static void take_eswitch(struct message *m)
{
	struct inv_devlink *d = device_of(m);

	if (d && m->of[DEVLINK_ATTR_ESWITCH_MODE])
		inv_text_set(d->eswitch, sizeof(d->eswitch),
			     name_in(eswitch_names, ARRAY_SIZE(eswitch_names),
				     genl_u16(m->of[DEVLINK_ATTR_ESWITCH_MODE])));
}

int kernel_devlink_parse(struct inventory *inv, const struct nlmsghdr *h)
{
	const struct genlmsghdr *g = mnl_nlmsg_get_payload(h);
	struct message m = {.inv = inv};
	struct genl_attrs t = {m.of, ATTRS_MAX};
	const char *bus, *name;

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*g))
		return 0;
	genl_attrs_parse(h, &t);
	bus = genl_text(m.of[DEVLINK_ATTR_BUS_NAME]);
	name = genl_text(m.of[DEVLINK_ATTR_DEV_NAME]);
	if (!*bus || !*name)
		return 0;
	snprintf(m.device, sizeof(m.device), "%.20s/%.40s", bus, name);
	switch (g->cmd) {
	case DEVLINK_CMD_NEW:
		take_device(&m);
		break;
	case DEVLINK_CMD_INFO_GET:
		mnl_attr_parse(h, sizeof(*g), take_info, &m);
		break;
	case DEVLINK_CMD_PORT_NEW:
		take_port(&m);
		break;
	case DEVLINK_CMD_PARAM_GET: /* older kernels use this number in answers too */
	case DEVLINK_CMD_PARAM_NEW:
		take_param(&m);
		break;
	case DEVLINK_CMD_ESWITCH_GET:
		take_eswitch(&m);
		break;
	default:
		break;
	}
	return m.r;
}

/* ---- queries ---- */

static int on_answer(void *user, struct nlmsghdr *h)
{
	return kernel_devlink_parse(user, h);
}

/* Begins a message about a device, which is given as "BUS/NAME". */
static struct nlmsghdr *put_device(char *buf, uint16_t family, uint8_t command, const char *device)
{
	struct nlmsghdr *h = genl_head(buf, family, command);
	const size_t len = strcspn(device, "/");
	char bus[INV_TEXT_MAX];

	snprintf(bus, sizeof(bus), "%.*s", (int)len, device);
	mnl_attr_put_strz(h, DEVLINK_ATTR_BUS_NAME, bus);
	mnl_attr_put_strz(h, DEVLINK_ATTR_DEV_NAME, device + len + (device[len] != '\0'));
	return h;
}

static int dump_all(struct netlink *nl, uint16_t family, struct inventory *inv)
{
	/* The query for the devices comes first, because the answers to the other queries are
	 * stored in the devices' entries. */
	static const uint8_t commands[] = {DEVLINK_CMD_GET, DEVLINK_CMD_INFO_GET,
					   DEVLINK_CMD_PORT_GET, DEVLINK_CMD_PARAM_GET};
	char buf[DEVLINK_REQUEST_BYTES_MAX];
	int r = 0;

	inv->n_devlinks = inv->n_devlink_versions = 0;
	inv->n_devlink_params = inv->n_devlink_ports = 0;
	for (size_t i = 0; i < ARRAY_SIZE(commands) && r == 0; i++) {
		r = netlink_talk(nl, genl_head(buf, family, commands[i]), NLM_F_DUMP, on_answer,
				 inv, NULL);
		/* A failed later query is accepted: only its part of the data is missing. */
		if (r < 0 && r != -ENOMEM && r != -EAGAIN && i > 0)
			r = 0;
	}
	return r;
}

/* Queries the mode of the embedded switch separately, because no dump contains it. The query needs
 * CAP_NET_ADMIN, and some devices have no switch. */
static void ask_eswitch(struct netlink *nl, uint16_t family, struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_devlinks; i++) {
		char buf[DEVLINK_REQUEST_BYTES_MAX];

		(void)netlink_talk(
			nl,
			put_device(buf, family, DEVLINK_CMD_ESWITCH_GET, inv->devlinks[i].device),
			NLM_F_ACK, on_answer, inv, NULL);
	}
}

int kernel_devlink_collect(struct inventory *inv)
{
	struct netlink *nl;
	uint16_t family;
	int r = netlink_open(NETLINK_GENERIC, &nl);

	if (r < 0)
		return r == -EPROTONOSUPPORT ? 0 : r;
	family = genl_family_find(nl, DEVLINK_GENL_NAME);
	r = family ? -EAGAIN : 0; /* EAGAIN: devices changed during the dump */
	for (int attempt = 0; attempt < ATTEMPTS_MAX && r == -EAGAIN; attempt++)
		r = dump_all(nl, family, inv);
	if (r == 0)
		ask_eswitch(nl, family, inv);
	netlink_close(nl);
	return r;
}

/* ---- a parameter ---- */

/* Converts the value to the given type and appends it. Returns an error if the type cannot hold
 * exactly this value, so that the caller sends nothing. */
static bool put_value(struct nlmsghdr *h, enum param_type type, const char *value)
{
	static const uint64_t limits[] = {[TYPE_U8] = UINT8_MAX,
					  [TYPE_U16] = UINT16_MAX,
					  [TYPE_U32] = UINT32_MAX,
					  [TYPE_U64] = UINT64_MAX};
	char *end;
	uint64_t v;

	if (type == TYPE_STRING) {
		mnl_attr_put_strz(h, DEVLINK_ATTR_PARAM_VALUE_DATA, value);
		return true;
	}
	if (type == TYPE_FLAG) {
		if (strcmp(value, "true") == 0)
			mnl_attr_put(h, DEVLINK_ATTR_PARAM_VALUE_DATA, 0, NULL);
		return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
	}
	v = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || v > limits[type])
		return false;
	if (type == TYPE_U8)
		mnl_attr_put_u8(h, DEVLINK_ATTR_PARAM_VALUE_DATA, (uint8_t)v);
	else if (type == TYPE_U16)
		mnl_attr_put_u16(h, DEVLINK_ATTR_PARAM_VALUE_DATA, (uint16_t)v);
	else if (type == TYPE_U32)
		mnl_attr_put_u32(h, DEVLINK_ATTR_PARAM_VALUE_DATA, (uint32_t)v);
	else
		mnl_attr_put_u64(h, DEVLINK_ATTR_PARAM_VALUE_DATA, v);
	return true;
}

static int index_in(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (names[i] && strcmp(names[i], name) == 0)
			return (int)i;
	return -EINVAL;
}

int kernel_devlink_request(uint16_t family, const char *device, const struct kernel_devlink *v,
			   const char *type, char buf[static DEVLINK_REQUEST_BYTES_MAX])
{
	const int t = index_in(type_names, ARRAY_SIZE(type_names), type);
	const int mode = index_in(mode_names, ARRAY_SIZE(mode_names), v->mode);
	struct nlmsghdr *h;

	if (t < 0 || mode < 0)
		return -EINVAL;
	h = put_device(buf, family, DEVLINK_CMD_PARAM_SET, device);
	mnl_attr_put_strz(h, DEVLINK_ATTR_PARAM_NAME, v->name);
	mnl_attr_put_u8(h, DEVLINK_ATTR_PARAM_TYPE, (uint8_t)t);
	mnl_attr_put_u8(h, DEVLINK_ATTR_PARAM_VALUE_CMODE, (uint8_t)mode);
	return put_value(h, (enum param_type)t, v->value) ? (int)h->nlmsg_len : -EINVAL;
}

static const struct inv_devlink_param *find_mode(const struct inventory *answer,
						 const struct kernel_devlink *v)
{
	for (size_t i = 0; i < answer->n_devlink_params; i++)
		if (strcmp(answer->devlink_params[i].mode, v->mode) == 0 &&
		    strcmp(answer->devlink_params[i].name, v->name) == 0)
			return &answer->devlink_params[i];
	return NULL;
}

/* Reads the current value of a parameter. Returns -EOPNOTSUPP if the device does not have it. */
static int param_ask(struct netlink *nl, uint16_t family, const char *device,
		     const struct kernel_devlink *v, struct inv_devlink_param *ret,
		     struct reason *why)
{
	char buf[DEVLINK_REQUEST_BYTES_MAX];
	struct reason said = {.code = ""};
	struct nlmsghdr *h = put_device(buf, family, DEVLINK_CMD_PARAM_GET, device);
	struct inventory *answer = inv_new();
	const struct inv_devlink_param *p;
	int r;

	if (!answer)
		return kernel_fail(why, -ENOMEM, strerror(ENOMEM));
	mnl_attr_put_strz(h, DEVLINK_ATTR_PARAM_NAME, v->name);
	r = netlink_talk(nl, h, NLM_F_ACK, on_answer, answer, &said);
	p = r == 0 ? find_mode(answer, v) : NULL;
	if (p)
		*ret = *p;
	else if (r == 0 || r == -EINVAL) /* EINVAL is the kernel's answer for a missing parameter */
		r = kernel_fail(why, -EOPNOTSUPP, "the driver has no such parameter (devlink)");
	else
		kernel_fail(why, r, said.text);
	inv_free(answer);
	return r;
}

static int talk_open(struct netlink **ret_nl, uint16_t *ret_family, struct reason *why)
{
	struct netlink *nl;
	uint16_t family;
	int r = netlink_open(NETLINK_GENERIC, &nl);

	if (r < 0)
		return kernel_fail(why, r, strerror(-r));
	family = genl_family_find(nl, DEVLINK_GENL_NAME);
	if (!family) {
		netlink_close(nl);
		return kernel_fail(why, -EOPNOTSUPP, "this kernel has no devlink");
	}
	*ret_nl = nl;
	*ret_family = family;
	return 0;
}

int kernel_devlink_set(const char *device, const struct kernel_devlink *v, struct reason *why)
{
	char buf[DEVLINK_REQUEST_BYTES_MAX];
	struct reason said = {.code = ""};
	struct inv_devlink_param now;
	struct netlink *nl;
	uint16_t family;
	int r = talk_open(&nl, &family, why);

	if (r < 0)
		return r;
	r = param_ask(nl, family, device, v, &now, why);
	if (r == 0) {
		r = kernel_devlink_request(family, device, v, now.type, buf);
		if (r > 0)
			r = netlink_talk(nl, (struct nlmsghdr *)buf, NLM_F_ACK, NULL, NULL, &said);
		if (r < 0)
			kernel_fail(why, r, said.text);
	}
	netlink_close(nl);
	return r;
}

int kernel_devlink_get(const char *device, struct kernel_devlink *v)
{
	struct inv_devlink_param now;
	struct netlink *nl;
	uint16_t family;
	int r = talk_open(&nl, &family, NULL);

	if (r < 0)
		return r;
	r = param_ask(nl, family, device, v, &now, NULL);
	netlink_close(nl);
	if (r == 0)
		memcpy(v->was, now.value, sizeof(v->was));
	return r;
}

int kernel_devlink_change(const struct kernel_change *c, struct reason *why)
{
	char device[INV_TEXT_MAX];

	snprintf(device, sizeof(device), BUS "/%s", c->pci);
	return kernel_devlink_set(device, &c->devlink, why);
}

int kernel_devlink_read(struct kernel_change *c)
{
	char device[INV_TEXT_MAX];

	snprintf(device, sizeof(device), BUS "/%s", c->pci);
	return kernel_devlink_get(device, &c->devlink);
}
