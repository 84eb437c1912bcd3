/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints inventories as JSON. Writer and reader share the tables of members, so the reader accepts
 * everything that the writer produces.
 */
#include "netcfg/host/inventory_json.h"

#include "netcfg/base/file.h"
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define MEMBER(s, key_, type_, m, ...)                                       \
	{                                                                    \
		.key = key_, .type = type_, .offset = offsetof(struct s, m), \
		.size = sizeof(((struct s *)0)->m), __VA_ARGS__              \
	}

#define SETTING(attr, member, name) MEMBER(inv_link, #member, INV_JSON_TEXT, member),

/* clang-format off */
static const struct inv_json_member link_members[] = {
	MEMBER(inv_link, "ifindex", INV_JSON_NUMBER, ifindex, .required = true),
	MEMBER(inv_link, "name", INV_JSON_TEXT, name, .required = true),
	MEMBER(inv_link, "kind", INV_JSON_KIND, kind, .required = true),
	MEMBER(inv_link, "altnames", INV_JSON_TEXT, altnames),
	MEMBER(inv_link, "kind_text", INV_JSON_TEXT, kind_text),
	MEMBER(inv_link, "driver", INV_JSON_TEXT, driver),
	MEMBER(inv_link, "pci", INV_JSON_TEXT, pci),
	MEMBER(inv_link, "numa_node", INV_JSON_NODE, numa_node),
	MEMBER(inv_link, "mac", INV_JSON_MAC, mac),
	MEMBER(inv_link, "permanent_mac", INV_JSON_MAC, permanent_mac),
	MEMBER(inv_link, "mtu", INV_JSON_NUMBER, mtu),
	MEMBER(inv_link, "mtu_min", INV_JSON_NUMBER, mtu_min),
	MEMBER(inv_link, "mtu_max", INV_JSON_NUMBER, mtu_max),
	MEMBER(inv_link, "speed_mbps", INV_JSON_NUMBER, speed_mbps),
	MEMBER(inv_link, "max_speed_mbps", INV_JSON_NUMBER, max_speed_mbps),
	MEMBER(inv_link, "up", INV_JSON_BOOL, up),
	MEMBER(inv_link, "carrier", INV_JSON_BOOL, carrier),
	MEMBER(inv_link, "master", INV_JSON_NUMBER, master),
	MEMBER(inv_link, "lower", INV_JSON_NUMBER, lower),
	MEMBER(inv_link, "vlan", INV_JSON_NUMBER, vlan),
	MEMBER(inv_link, "vfs", INV_JSON_NUMBER, n_vfs),
	MEMBER(inv_link, "max_vfs", INV_JSON_NUMBER, max_vfs),
	MEMBER(inv_link, "physfn", INV_JSON_TEXT, physfn),
	MEMBER(inv_link, "rdma", INV_JSON_TEXT, rdma),
	MEMBER(inv_link, "alias", INV_JSON_TEXT, alias),
	MEMBER(inv_link, "initialized", INV_JSON_BOOL, initialized),
	MEMBER(inv_link, "dev_port", INV_JSON_NUMBER, dev_port),
	MEMBER(inv_link, "port_name", INV_JSON_TEXT, port_name),
	MEMBER(inv_link, "switch_id", INV_JSON_TEXT, switch_id),
	MEMBER(inv_link, "vrf_table", INV_JSON_NUMBER, vrf_table),
	MEMBER(inv_link, "duplex", INV_JSON_TEXT, duplex),
	MEMBER(inv_link, "fec", INV_JSON_TEXT, fec),
	MEMBER(inv_link, "channels", INV_JSON_NUMBER, channels),
	MEMBER(inv_link, "max_channels", INV_JSON_NUMBER, max_channels),
	MEMBER(inv_link, "firmware", INV_JSON_TEXT, firmware),
	INV_LINK_SETTINGS(SETTING)
	MEMBER(inv_link, "af_xdp", INV_JSON_TEXT, af_xdp),
};
static const struct inv_json_member function_members[] = {
	MEMBER(inv_function, "pci", INV_JSON_TEXT, pci, .required = true),
	MEMBER(inv_function, "driver", INV_JSON_TEXT, driver),
	MEMBER(inv_function, "physfn", INV_JSON_TEXT, physfn),
	MEMBER(inv_function, "vf", INV_JSON_NUMBER, vf),
	MEMBER(inv_function, "vendor", INV_JSON_NUMBER, vendor),
	MEMBER(inv_function, "device", INV_JSON_NUMBER, device),
	MEMBER(inv_function, "numa_node", INV_JSON_NODE, numa_node),
	MEMBER(inv_function, "iommu_group", INV_JSON_NODE, iommu_group),
	MEMBER(inv_function, "vfs", INV_JSON_NUMBER, n_vfs),
	MEMBER(inv_function, "max_vfs", INV_JSON_NUMBER, max_vfs),
	MEMBER(inv_function, "autoprobe", INV_JSON_BOOL, autoprobe),
};
static const struct inv_json_member iommu_members[] = {
	MEMBER(inv_iommu, "group", INV_JSON_NODE, group, .required = true),
	MEMBER(inv_iommu, "pci", INV_JSON_TEXT, pci, .required = true),
	MEMBER(inv_iommu, "driver", INV_JSON_TEXT, driver),
};
static const struct inv_json_member vf_members[] = {
	MEMBER(inv_vf, "ifindex", INV_JSON_NUMBER, ifindex, .required = true),
	MEMBER(inv_vf, "vf", INV_JSON_NUMBER, vf, .required = true),
	MEMBER(inv_vf, "mac", INV_JSON_MAC, mac),
	MEMBER(inv_vf, "vlan", INV_JSON_NUMBER, vlan),
	MEMBER(inv_vf, "spoof_check", INV_JSON_BOOL, spoof_check),
	MEMBER(inv_vf, "trust", INV_JSON_BOOL, trust),
	MEMBER(inv_vf, "min_rate_mbps", INV_JSON_NUMBER, min_rate_mbps),
	MEMBER(inv_vf, "max_rate_mbps", INV_JSON_NUMBER, max_rate_mbps),
};
static const struct inv_json_member bond_members[] = {
	MEMBER(inv_bond, "ifindex", INV_JSON_NUMBER, ifindex, .required = true),
	MEMBER(inv_bond, "mode", INV_JSON_NUMBER, setting.mode, .required = true),
	MEMBER(inv_bond, "hash", INV_JSON_NUMBER, setting.hash),
	MEMBER(inv_bond, "rate", INV_JSON_NUMBER, setting.rate),
	MEMBER(inv_bond, "select", INV_JSON_NUMBER, setting.select),
	MEMBER(inv_bond, "reselect", INV_JSON_NUMBER, setting.reselect),
	MEMBER(inv_bond, "min_links", INV_JSON_NUMBER, setting.min_links),
	MEMBER(inv_bond, "miimon_ms", INV_JSON_NUMBER, setting.miimon_ms),
	MEMBER(inv_bond, "primary", INV_JSON_TEXT, setting.primary),
	MEMBER(inv_bond, "active", INV_JSON_NUMBER, active),
	MEMBER(inv_bond, "aggregator", INV_JSON_NUMBER, aggregator),
	MEMBER(inv_bond, "ports", INV_JSON_NUMBER, n_ports),
	MEMBER(inv_bond, "partner", INV_JSON_MAC, partner),
};
static const struct inv_json_member bond_port_members[] = {
	MEMBER(inv_bond_port, "ifindex", INV_JSON_NUMBER, ifindex, .required = true),
	MEMBER(inv_bond_port, "bond", INV_JSON_NUMBER, bond, .required = true),
	MEMBER(inv_bond_port, "active", INV_JSON_BOOL, active),
	MEMBER(inv_bond_port, "link_up", INV_JSON_BOOL, link_up),
	MEMBER(inv_bond_port, "failures", INV_JSON_NUMBER, failures),
	MEMBER(inv_bond_port, "aggregator", INV_JSON_NUMBER, aggregator),
	MEMBER(inv_bond_port, "actor", INV_JSON_NUMBER, actor),
	MEMBER(inv_bond_port, "partner", INV_JSON_NUMBER, partner),
	MEMBER(inv_bond_port, "partner_mac", INV_JSON_MAC, partner_mac),
	MEMBER(inv_bond_port, "churned", INV_JSON_BOOL, churned),
};
static const struct inv_json_member dcb_members[] = {
	MEMBER(inv_dcb, "ifindex", INV_JSON_NUMBER, ifindex, .required = true),
	MEMBER(inv_dcb, "firmware", INV_JSON_BOOL, firmware),
	MEMBER(inv_dcb, "max_classes", INV_JSON_NUMBER, max_classes),
	MEMBER(inv_dcb, "max_pfc", INV_JSON_NUMBER, max_pfc),
	MEMBER(inv_dcb, "pfc", INV_JSON_TEXT, pfc),
	MEMBER(inv_dcb, "trust", INV_JSON_TEXT, trust),
	MEMBER(inv_dcb, "ets", INV_JSON_TEXT, ets),
	MEMBER(inv_dcb, "dscp", INV_JSON_TEXT, dscp),
};
static const struct inv_json_member devlink_members[] = {
	MEMBER(inv_devlink, "device", INV_JSON_TEXT, device, .required = true),
	MEMBER(inv_devlink, "driver", INV_JSON_TEXT, driver),
	MEMBER(inv_devlink, "serial", INV_JSON_TEXT, serial),
	MEMBER(inv_devlink, "eswitch", INV_JSON_TEXT, eswitch),
};
static const struct inv_json_member devlink_version_members[] = {
	MEMBER(inv_devlink_version, "device", INV_JSON_TEXT, device, .required = true),
	MEMBER(inv_devlink_version, "kind", INV_JSON_TEXT, kind, .required = true),
	MEMBER(inv_devlink_version, "name", INV_JSON_TEXT, name, .required = true),
	MEMBER(inv_devlink_version, "value", INV_JSON_TEXT, value),
};
static const struct inv_json_member devlink_param_members[] = {
	MEMBER(inv_devlink_param, "device", INV_JSON_TEXT, device, .required = true),
	MEMBER(inv_devlink_param, "name", INV_JSON_TEXT, name, .required = true),
	MEMBER(inv_devlink_param, "mode", INV_JSON_TEXT, mode, .required = true),
	MEMBER(inv_devlink_param, "type", INV_JSON_TEXT, type),
	MEMBER(inv_devlink_param, "value", INV_JSON_TEXT, value),
};
static const struct inv_json_member devlink_port_members[] = {
	MEMBER(inv_devlink_port, "device", INV_JSON_TEXT, device, .required = true),
	MEMBER(inv_devlink_port, "index", INV_JSON_NUMBER, index, .required = true),
	MEMBER(inv_devlink_port, "flavour", INV_JSON_TEXT, flavour),
	MEMBER(inv_devlink_port, "ifindex", INV_JSON_NUMBER, ifindex),
	MEMBER(inv_devlink_port, "number", INV_JSON_NUMBER, number),
	MEMBER(inv_devlink_port, "pf", INV_JSON_NUMBER, pf),
	MEMBER(inv_devlink_port, "vf", INV_JSON_NUMBER, vf),
	MEMBER(inv_devlink_port, "sf", INV_JSON_NUMBER, sf),
};
static const struct inv_json_member addr_members[] = {
	MEMBER(inv_addr, "ifindex", INV_JSON_NUMBER, ifindex, .required = true),
	MEMBER(inv_addr, "ip", INV_JSON_PREFIX, ip, .required = true),
	MEMBER(inv_addr, "proto", INV_JSON_NUMBER, proto),
	MEMBER(inv_addr, "tentative", INV_JSON_BOOL, tentative),
	MEMBER(inv_addr, "dad_failed", INV_JSON_BOOL, dad_failed),
	MEMBER(inv_addr, "optimistic", INV_JSON_BOOL, optimistic),
	MEMBER(inv_addr, "secondary", INV_JSON_BOOL, secondary),
	MEMBER(inv_addr, "no_prefix_route", INV_JSON_BOOL, no_prefix_route),
	MEMBER(inv_addr, "broadcast", INV_JSON_BOOL, broadcast),
	MEMBER(inv_addr, "local_missing", INV_JSON_BOOL, local_missing),
	MEMBER(inv_addr, "more", INV_JSON_BOOL, more),
};
static const struct inv_json_member route_members[] = {
	MEMBER(inv_route, "family", INV_JSON_FAMILY, family, .required = true),
	MEMBER(inv_route, "table", INV_JSON_NUMBER, table, .required = true),
	MEMBER(inv_route, "dst", INV_JSON_PREFIX, dst, .required = true),
	MEMBER(inv_route, "gateway", INV_JSON_IP, gateway),
	MEMBER(inv_route, "src", INV_JSON_IP, src),
	MEMBER(inv_route, "ifindex", INV_JSON_NUMBER, oif),
	MEMBER(inv_route, "metric", INV_JSON_NUMBER, metric),
	MEMBER(inv_route, "proto", INV_JSON_NUMBER, proto),
	MEMBER(inv_route, "scope", INV_JSON_NUMBER, scope),
	MEMBER(inv_route, "type", INV_JSON_NUMBER, type),
	MEMBER(inv_route, "linkdown", INV_JSON_BOOL, linkdown),
	MEMBER(inv_route, "more", INV_JSON_BOOL, more),
};
static const struct inv_json_member rule_members[] = {
	MEMBER(inv_rule, "family", INV_JSON_FAMILY, family, .required = true),
	MEMBER(inv_rule, "priority", INV_JSON_NUMBER, priority, .required = true),
	MEMBER(inv_rule, "from", INV_JSON_PREFIX, from),
	MEMBER(inv_rule, "table", INV_JSON_NUMBER, table),
	MEMBER(inv_rule, "proto", INV_JSON_NUMBER, proto),
	MEMBER(inv_rule, "mark", INV_JSON_NUMBER, mark),
	MEMBER(inv_rule, "more", INV_JSON_BOOL, more),
};
static const struct inv_json_member rdma_members[] = {
	MEMBER(inv_rdma, "device", INV_JSON_TEXT, device, .required = true),
	MEMBER(inv_rdma, "port", INV_JSON_NUMBER, port, .required = true),
	MEMBER(inv_rdma, "kind", INV_JSON_TEXT, kind),
	MEMBER(inv_rdma, "state", INV_JSON_TEXT, state),
	MEMBER(inv_rdma, "rate", INV_JSON_TEXT, rate),
	MEMBER(inv_rdma, "ifindex", INV_JSON_NUMBER, ifindex),
	MEMBER(inv_rdma, "roce_mode", INV_JSON_TEXT, roce_mode),
	MEMBER(inv_rdma, "roce_tos", INV_JSON_TEXT, roce_tos),
};
static const struct inv_json_member gid_members[] = {
	MEMBER(inv_gid, "device", INV_JSON_TEXT, device, .required = true),
	MEMBER(inv_gid, "port", INV_JSON_NUMBER, port, .required = true),
	MEMBER(inv_gid, "index", INV_JSON_NUMBER, index, .required = true),
	MEMBER(inv_gid, "gid", INV_JSON_IP, gid),
	MEMBER(inv_gid, "type", INV_JSON_TEXT, type),
	MEMBER(inv_gid, "ifindex", INV_JSON_NUMBER, ifindex),
};
static const struct inv_json_member core_members[] = {
	MEMBER(inv_core, "id", INV_JSON_NUMBER, id, .required = true),
	MEMBER(inv_core, "numa_node", INV_JSON_NODE, numa_node),
	MEMBER(inv_core, "online", INV_JSON_BOOL, online),
	MEMBER(inv_core, "isolated", INV_JSON_BOOL, isolated),
	MEMBER(inv_core, "barred", INV_JSON_BOOL, barred),
};
static const struct inv_json_member hugepages_members[] = {
	MEMBER(inv_hugepages, "size_kib", INV_JSON_NUMBER, size_kib, .required = true),
	MEMBER(inv_hugepages, "numa_node", INV_JSON_NODE, numa_node),
	MEMBER(inv_hugepages, "total", INV_JSON_NUMBER, total),
	MEMBER(inv_hugepages, "free", INV_JSON_NUMBER, free),
};
static const struct inv_json_member conns_members[] = {
	MEMBER(inv_conns, "local", INV_JSON_IP, local, .required = true),
	MEMBER(inv_conns, "established", INV_JSON_NUMBER, n),
	MEMBER(inv_conns, "ssh", INV_JSON_NUMBER, n_ssh),
};
static const struct inv_json_member mount_members[] = {
	MEMBER(inv_mount, "path", INV_JSON_TEXT, path, .required = true),
	MEMBER(inv_mount, "type", INV_JSON_TEXT, type, .required = true),
	MEMBER(inv_mount, "server", INV_JSON_IP, server),
};
/* clang-format on */

#define ADDER(name, add)                         \
	static void *name(struct inventory *inv) \
	{                                        \
		return add(inv);                 \
	}
ADDER(add_link, inv_link_add)
ADDER(add_function, inv_function_add)
ADDER(add_iommu, inv_iommu_add)
ADDER(add_vf, inv_vf_add)
ADDER(add_bond, inv_bond_add)
ADDER(add_bond_port, inv_bond_port_add)
ADDER(add_dcb, inv_dcb_add)
ADDER(add_devlink, inv_devlink_add)
ADDER(add_devlink_version, inv_devlink_version_add)
ADDER(add_devlink_param, inv_devlink_param_add)
ADDER(add_devlink_port, inv_devlink_port_add)
ADDER(add_addr, inv_addr_add)
ADDER(add_route, inv_route_add)
ADDER(add_rule, inv_rule_add)
ADDER(add_rdma, inv_rdma_add)
ADDER(add_gid, inv_gid_add)
ADDER(add_core, inv_core_add)
ADDER(add_hugepages, inv_hugepages_add)
ADDER(add_conns, inv_conns_add)
ADDER(add_mount, inv_mount_add)

#define LIST(key_, members_, array, n, add_)                                         \
	{                                                                            \
		.key = key_, .members = members_, .n_members = ARRAY_SIZE(members_), \
		.array_offset = offsetof(struct inventory, array),                   \
		.n_offset = offsetof(struct inventory, n),                           \
		.entry_bytes = sizeof(*((struct inventory *)0)->array), .add = add_  \
	}

const struct inv_json_list inv_json_lists[] = {
	LIST("links", link_members, links, n_links, add_link),
	LIST("functions", function_members, functions, n_functions, add_function),
	LIST("iommu_groups", iommu_members, iommu, n_iommu, add_iommu),
	LIST("vfs", vf_members, vfs, n_vfs, add_vf),
	LIST("bonds", bond_members, bonds, n_bonds, add_bond),
	LIST("bond_ports", bond_port_members, bond_ports, n_bond_ports, add_bond_port),
	LIST("dcb", dcb_members, dcb, n_dcb, add_dcb),
	LIST("devlink", devlink_members, devlinks, n_devlinks, add_devlink),
	LIST("devlink_versions", devlink_version_members, devlink_versions, n_devlink_versions,
	     add_devlink_version),
	LIST("devlink_params", devlink_param_members, devlink_params, n_devlink_params,
	     add_devlink_param),
	LIST("devlink_ports", devlink_port_members, devlink_ports, n_devlink_ports,
	     add_devlink_port),
	LIST("addresses", addr_members, addrs, n_addrs, add_addr),
	LIST("routes", route_members, routes, n_routes, add_route),
	LIST("rules", rule_members, rules, n_rules, add_rule),
	LIST("rdma", rdma_members, rdma, n_rdma, add_rdma),
	LIST("gids", gid_members, gids, n_gids, add_gid),
	LIST("cores", core_members, cores, n_cores, add_core),
	LIST("hugepages", hugepages_members, hugepages, n_hugepages, add_hugepages),
	LIST("connections", conns_members, conns, n_conns, add_conns),
	LIST("mounts", mount_members, mounts, n_mounts, add_mount),
};
const size_t inv_json_n_lists = ARRAY_SIZE(inv_json_lists);

/* The kernel treats interface names and aliases as bytes. Bytes that are not UTF-8 are written as
 * \xNN, so that one such name does not make the whole inventory invalid JSON. */
static json_t *text_new(const char *text)
{
	json_t *j = json_string(text);
	char escaped[512];
	size_t n = 0;

	if (j)
		return j;
	for (const char *c = text; *c && n + 5 < sizeof(escaped); c++) {
		if ((unsigned char)*c < 0x80)
			escaped[n++] = *c;
		else
			n += (size_t)snprintf(escaped + n, 5, "\\x%02x", (unsigned char)*c);
	}
	escaped[n] = '\0';
	return json_string(escaped);
}

static uint64_t number_get(const void *field, size_t size)
{
	switch (size) {
	case 1:
		return *(const uint8_t *)field;
	case 2:
		return *(const uint16_t *)field;
	case 4:
		return *(const uint32_t *)field;
	default:
		return *(const uint64_t *)field;
	}
}

static json_t *member_new(const struct inv_json_member *m, const void *field)
{
	static const struct mac_addr no_mac;
	char buf[IP_ADDR_STR_MAX];

	switch (m->type) {
	case INV_JSON_NUMBER:
		return json_integer((json_int_t)number_get(field, m->size));
	case INV_JSON_NODE:
		return *(const int *)field < 0 ? json_null() : json_integer(*(const int *)field);
	case INV_JSON_BOOL:
		return json_boolean(*(const bool *)field);
	case INV_JSON_TEXT:
		return text_new(field);
	case INV_JSON_KIND:
		return json_string(inv_link_kind_to_string(*(const enum inv_link_kind *)field));
	case INV_JSON_MAC:
		if (memcmp(field, &no_mac, sizeof(no_mac)) == 0)
			return json_null();
		return json_string(mac_addr_format(field, buf, sizeof(buf)));
	case INV_JSON_IP:
		if (((const struct ip_addr *)field)->family == 0)
			return json_null();
		return json_string(ip_addr_format(field, buf, sizeof(buf)));
	case INV_JSON_PREFIX:
		if (((const struct ip_prefix *)field)->addr.family == 0)
			return json_null();
		return json_string(ip_prefix_format(field, buf, sizeof(buf)));
	case INV_JSON_FAMILY:
		return json_integer(*(const uint8_t *)field == AF_INET6 ? 6 : 4);
	}
	return NULL;
}

/* Writes one value as text and releases j. Returns 0 or -ENOMEM. */
static int value_write(FILE *f, json_t *j)
{
	int r = j && json_dumpf(j, f, JSON_ENCODE_ANY) == 0 ? 0 : -ENOMEM;

	json_decref(j);
	return r;
}

static int field_write(FILE *f, const char *key, json_t *value)
{
	fprintf(f, " \"%s\": ", key);
	return value_write(f, value);
}

static json_t *entry_new(const struct inv_json_list *list, const char *entry)
{
	json_t *object = json_object();

	for (size_t m = 0; m < list->n_members && object; m++) {
		const struct inv_json_member *member = &list->members[m];

		if (json_object_set_new(object, member->key,
					member_new(member, entry + member->offset)) == 0)
			continue;
		json_decref(object);
		object = NULL;
	}
	return object;
}

/* Writes one line for each entry, so that diff(1) can compare inventories. */
static int list_write(FILE *f, const struct inv_json_list *list, const struct inventory *inv)
{
	const char *entry = *(char *const *)((const char *)inv + list->array_offset);
	size_t n = *(const size_t *)((const char *)inv + list->n_offset);
	int r = 0;

	fprintf(f, " \"%s\": [", list->key);
	for (size_t i = 0; i < n && r == 0; i++, entry += list->entry_bytes) {
		fputs(i ? ",\n  " : "\n  ", f);
		r = value_write(f, entry_new(list, entry));
	}
	fputs(n ? "\n ],\n" : "],\n", f);
	return r;
}

static int sysctls_write(FILE *f, const struct inventory *inv)
{
	int r = 0;

	fputs(" \"sysctls\": {", f);
	for (size_t i = 0; i < inv->n_sysctls && r == 0; i++) {
		fputs(i ? ",\n  " : "\n  ", f);
		r = value_write(f, text_new(inv->sysctls[i].key));
		fputs(": ", f);
		if (r == 0)
			r = value_write(f, text_new(inv->sysctls[i].value));
	}
	fputs(inv->n_sysctls ? "\n }\n" : "}\n", f);
	return r;
}

char *inv_to_json(const struct inventory *inv)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int r = 0;

	if (!f)
		return NULL;
	fputs("{\n", f);
	r |= field_write(f, "number", json_integer((json_int_t)inv->number));
	fputs(",\n", f);
	r |= field_write(f, "host", text_new(inv->host));
	fputs(",\n", f);
	r |= field_write(f, "kernel_release", text_new(inv->kernel_release));
	fputs(",\n", f);
	r |= field_write(f, "addr_owner_known", json_boolean(inv->addr_owner_known));
	fputs(",\n", f);
	r |= field_write(f, "soft_roce", json_boolean(inv->soft_roce));
	fputs(",\n", f);
	for (size_t i = 0; i < inv_json_n_lists && r == 0; i++)
		r = list_write(f, &inv_json_lists[i], inv);
	if (r == 0)
		r = sysctls_write(f, inv);
	fputs("}\n", f);
	return file_text_end(f, &text, r);
}

/* ---- the schema ---- */

static json_t *member_schema(enum inv_json_type type)
{
	switch (type) {
	case INV_JSON_NUMBER:
		return json_pack("{s:s, s:i}", "type", "integer", "minimum", 0);
	case INV_JSON_NODE:
		return json_pack("{s:[s,s]}", "type", "integer", "null");
	case INV_JSON_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case INV_JSON_TEXT:
	case INV_JSON_KIND:
		return json_pack("{s:s}", "type", "string");
	case INV_JSON_MAC:
	case INV_JSON_IP:
	case INV_JSON_PREFIX:
		return json_pack("{s:[s,s]}", "type", "string", "null");
	case INV_JSON_FAMILY:
		return json_pack("{s:[i,i]}", "enum", 4, 6);
	}
	return NULL;
}

/* Adds a member that every object has. */
static void schema_add(json_t *object, const char *key, json_t *schema)
{
	json_object_set_new(json_object_get(object, "properties"), key, schema);
	json_array_append_new(json_object_get(object, "required"), json_string(key));
}

static json_t *object_schema(void)
{
	return json_pack("{s:s, s:{}, s:[]}", "type", "object", "properties", "required");
}

static json_t *list_schema(const struct inv_json_list *list)
{
	json_t *entry = object_schema();

	for (size_t i = 0; i < list->n_members; i++)
		schema_add(entry, list->members[i].key, member_schema(list->members[i].type));
	return json_pack("{s:s, s:o}", "type", "array", "items", entry);
}

char *inv_json_schema(void)
{
	json_t *schema = object_schema();
	char *text;

	schema_add(schema, "number", member_schema(INV_JSON_NUMBER));
	schema_add(schema, "host", member_schema(INV_JSON_TEXT));
	schema_add(schema, "kernel_release", member_schema(INV_JSON_TEXT));
	schema_add(schema, "addr_owner_known", member_schema(INV_JSON_BOOL));
	schema_add(schema, "soft_roce", member_schema(INV_JSON_BOOL));
	for (size_t i = 0; i < inv_json_n_lists; i++)
		schema_add(schema, inv_json_lists[i].key, list_schema(&inv_json_lists[i]));
	schema_add(schema, "sysctls",
		   json_pack("{s:s, s:{s:s}}", "type", "object", "additionalProperties", "type",
			     "string"));
	text = json_dumps(schema, JSON_COMPACT);
	json_decref(schema);
	return text;
}
