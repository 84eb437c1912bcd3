/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints inventories as tables for operators. The tables have fewer details than the JSON and fit
 * the terminal's width if possible.
 */
#include "netcfg/base/file.h"
#include "netcfg/host/inventory.h"
#include "netcfg/host/kernel.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS_MAX 12

/* A table that is being written: tabs separate its cells and newlines its rows; table_end() aligns
 * the columns. */
struct table {
	char *text;
	size_t len;
	FILE *f;
};

static int table_begin(struct table *t, const char *heads)
{
	*t = (struct table){0};
	t->f = open_memstream(&t->text, &t->len);
	if (!t->f)
		return -ENOMEM;
	fprintf(t->f, "%s\n", heads);
	return 0;
}

/* Escapes names and aliases, which may contain any byte and could otherwise control the
 * terminal. */
static void put_text(FILE *f, const char *text)
{
	for (const char *c = text; *c; c++)
		fputc(*c > ' ' && *c < 0x7f ? *c : '?', f);
	if (!text[0])
		fputc('-', f);
}

static void cell_text(FILE *f, const char *text)
{
	put_text(f, text);
	fputc('\t', f);
}

/* Writes a text that may contain blanks. */
static void cell_words(FILE *f, const char *text)
{
	for (const char *c = text; *c; c++)
		fputc(*c >= ' ' && *c < 0x7f ? *c : '?', f);
	fputs(text[0] ? "\t" : "-\t", f);
}

static void cell_number(FILE *f, uint64_t v)
{
	fprintf(f, v ? "%" PRIu64 "\t" : "-\t", v);
}

static void cell_node(FILE *f, int node, const char *none)
{
	if (node < 0)
		fprintf(f, "%s\t", none);
	else
		fprintf(f, "%d\t", node);
}

static void row_end(struct table *t)
{
	fputc('\n', t->f);
}

static void measure(const char *text, size_t *widths)
{
	size_t column = 0;

	for (const char *s = text; *s; column++) {
		size_t len = strcspn(s, "\t\n");

		if (column < COLUMNS_MAX)
			widths[column] = MAX_OF(widths[column], len);
		s += len;
		if (*s == '\n')
			column = (size_t)-1;
		s += *s != '\0';
	}
}

/* Writes the title and the rows with aligned columns, and frees the table. */
static int table_end(struct table *t, const char *title, FILE *out)
{
	size_t widths[COLUMNS_MAX] = {0}, column = 0;
	int r = fclose(t->f) == 0 ? 0 : -ENOMEM;

	if (r == 0) {
		measure(t->text, widths);
		fprintf(out, "\n%s\n", title);
		for (const char *s = t->text; *s; column++) {
			size_t len = strcspn(s, "\t\n");
			bool last = s[len] != '\t' || s[len + 1] == '\n' || s[len + 1] == '\0';

			fprintf(out, "  %-*.*s",
				last || column >= COLUMNS_MAX ? 0 : (int)widths[column], (int)len,
				s);
			s += len + (s[len] != '\0');
			if (!last)
				continue;
			fputc('\n', out);
			s += *s == '\n' && s[-1] == '\t';
			column = (size_t)-1;
		}
	}
	free(t->text);
	return r;
}

static const char *link_name(const struct inventory *inv, uint32_t ifindex)
{
	const struct inv_link *l = ifindex ? inv_link_by_index(inv, ifindex) : NULL;

	return l ? l->name : "";
}

static const char *proto_name(uint8_t proto, char *buf, size_t size)
{
	switch (proto) {
	case PLENUM_RTPROT:
		return "plenum";
	case 0:
		return "";
	case INV_PROTO_KERNEL:
		return "kernel";
	case INV_PROTO_BOOT:
		return "boot";
	case INV_PROTO_STATIC:
		return "static";
	case INV_PROTO_RA:
		return "ra";
	case INV_PROTO_DHCP:
		return "dhcp";
	default:
		snprintf(buf, size, "%u", proto);
		return buf;
	}
}

static const char *table_name(uint32_t table, char *buf, size_t size)
{
	switch (table) {
	case INV_TABLE_MAIN:
		return "main";
	case INV_TABLE_LOCAL:
		return "local";
	case INV_TABLE_DEFAULT:
		return "default";
	default:
		snprintf(buf, size, "%" PRIu32, table);
		return buf;
	}
}

static void cell_speed(FILE *f, uint32_t mbps)
{
	if (mbps >= 1000 && mbps % 1000 == 0)
		fprintf(f, "%" PRIu32 "G\t", mbps / 1000);
	else if (mbps)
		fprintf(f, "%" PRIu32 "M\t", mbps);
	else
		fputs("-\t", f);
}

static void cell_mac(FILE *f, const struct mac_addr *mac)
{
	static const struct mac_addr none;
	char buf[MAC_ADDR_STR_MAX];

	cell_text(f, memcmp(mac, &none, sizeof(none)) == 0
			     ? ""
			     : mac_addr_format(mac, buf, sizeof(buf)));
}

static int print_links(const struct inventory *inv, FILE *out)
{
	struct table t;

	if (table_begin(&t, "NAME\tKIND\tDRIVER\tPCI\tNUMA\tMAC\tMTU\tSPEED\tSTATE\tVFS\tRDMA\tON"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_links; i++) {
		const struct inv_link *l = &inv->links[i];

		cell_text(t.f, l->name);
		cell_text(t.f, l->kind == INV_LINK_VIRTUAL && l->kind_text[0]
				       ? l->kind_text
				       : inv_link_kind_to_string(l->kind));
		cell_text(t.f, l->driver);
		cell_text(t.f, l->pci);
		cell_node(t.f, l->numa_node, "-");
		cell_mac(t.f, &l->mac);
		cell_number(t.f, l->mtu);
		cell_speed(t.f, l->speed_mbps);
		cell_text(t.f, !l->initialized ? "new"
			       : !l->up	       ? "down"
			       : l->carrier    ? "up"
					       : "no-carrier");
		if (l->max_vfs)
			fprintf(t.f, "%" PRIu32 "/%" PRIu32 "\t", l->n_vfs, l->max_vfs);
		else
			cell_text(t.f, l->physfn);
		cell_text(t.f, l->rdma);
		cell_text(t.f, link_name(inv, l->master ? l->master : l->lower));
		row_end(&t);
	}
	return table_end(&t, "LINKS", out);
}

/* Prints the properties and the firmware that the drivers report. */
static int print_ports(const struct inventory *inv, FILE *out)
{
	struct table t;
	size_t n = 0;

	for (size_t i = 0; i < inv->n_links; i++)
		n += inv->links[i].pci[0] != '\0';
	if (n == 0)
		return 0;
	if (table_begin(&t, "NAME\tPORT\tDUPLEX\tFEC\tCHANNELS\tMTU FROM\tTO\tFIRMWARE"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_links; i++) {
		const struct inv_link *l = &inv->links[i];

		if (!l->pci[0])
			continue;
		cell_text(t.f, l->name);
		/* One function may have several links; its representors have port names. */
		if (l->port_name[0])
			cell_text(t.f, l->port_name);
		else
			fprintf(t.f, "%" PRIu32 "\t", l->dev_port);
		cell_text(t.f, l->duplex);
		cell_text(t.f, l->fec);
		if (l->max_channels)
			fprintf(t.f, "%" PRIu32 "/%" PRIu32 "\t", l->channels, l->max_channels);
		else
			cell_text(t.f, "");
		cell_number(t.f, l->mtu_min);
		cell_number(t.f, l->mtu_max);
		cell_words(t.f, l->firmware);
		row_end(&t);
	}
	return table_end(&t, "PORTS", out);
}

static int print_bonds(const struct inventory *inv, FILE *out)
{
	char setting[160];
	struct table t;

	if (inv->n_bonds == 0)
		return 0;
	if (table_begin(&t, "NAME\tACTIVE\tPORTS CARRYING\tPARTNER\tSETTINGS"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_bonds; i++) {
		const struct inv_bond *b = &inv->bonds[i];

		bond_setting_format(&b->setting, setting, sizeof(setting));
		cell_text(t.f, link_name(inv, b->ifindex));
		cell_text(t.f, link_name(inv, b->active));
		cell_number(t.f, b->n_ports);
		cell_mac(t.f, &b->partner);
		cell_words(t.f, setting);
		row_end(&t);
	}
	return table_end(&t, "BONDS", out);
}

/* Returns the LACP state of a port and its switch in the terms of IEEE 802.1AX. */
static const char *lacp_state(const struct inv_bond_port *p)
{
	if (p->actor & INV_LACP_EXPIRED)
		return "expired";
	if (p->actor & INV_LACP_DEFAULTED)
		return "no-partner";
	if (p->actor & INV_LACP_DISTRIBUTING)
		return "distributing";
	return p->actor & INV_LACP_SYNC ? "in-sync" : "out-of-sync";
}

static const struct inv_bond *bond_of(const struct inventory *inv, uint32_t ifindex)
{
	for (size_t i = 0; i < inv->n_bonds; i++)
		if (inv->bonds[i].ifindex == ifindex)
			return &inv->bonds[i];
	return NULL;
}

static int print_bond_ports(const struct inventory *inv, FILE *out)
{
	struct table t;

	if (inv->n_bond_ports == 0)
		return 0;
	if (table_begin(&t, "NAME\tBOND\tLINK\tCARRIES\tFAILURES\tLACP\tPARTNER"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_bond_ports; i++) {
		const struct inv_bond_port *p = &inv->bond_ports[i];
		const struct inv_bond *b = bond_of(inv, p->bond);
		const bool lacp = b && b->setting.mode == INV_BOND_LACP;

		cell_text(t.f, link_name(inv, p->ifindex));
		cell_text(t.f, link_name(inv, p->bond));
		cell_text(t.f, p->link_up ? "up" : "down");
		cell_text(t.f, p->active ? "yes" : "no");
		cell_number(t.f, p->failures);
		cell_text(t.f, lacp ? lacp_state(p) : "");
		cell_mac(t.f, &p->partner_mac);
		row_end(&t);
	}
	return table_end(&t, "BOND PORTS", out);
}

static int print_dcb(const struct inventory *inv, FILE *out)
{
	struct table t;

	if (inv->n_dcb == 0)
		return 0;
	if (table_begin(&t, "NAME\tSET BY\tPFC\tTRUST\tCLASSES\tDSCP"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_dcb; i++) {
		const struct inv_dcb *d = &inv->dcb[i];

		cell_text(t.f, link_name(inv, d->ifindex));
		cell_text(t.f, d->firmware ? "firmware" : "host");
		cell_text(t.f, d->pfc);
		cell_text(t.f, d->trust);
		cell_text(t.f, d->ets);
		cell_text(t.f, d->dscp);
		row_end(&t);
	}
	return table_end(&t, "DATA CENTER BRIDGING", out);
}

/* Writes all versions of a kind, such as "fw.mgmt 7.30, fw.bundle_id 0x8000"; "-" if the device
 * reports no version. */
static void cell_versions(FILE *f, const struct inventory *inv, const char *device,
			  const char *kind)
{
	const char *comma = "";

	for (size_t i = 0; i < inv->n_devlink_versions; i++) {
		const struct inv_devlink_version *v = &inv->devlink_versions[i];

		if (strcmp(v->device, device) != 0 || strcmp(v->kind, kind) != 0)
			continue;
		fputs(comma, f);
		put_text(f, v->name);
		fputc(' ', f);
		put_text(f, v->value);
		comma = ", ";
	}
	fputs(*comma ? "\t" : "-\t", f);
}

static int print_devlinks(const struct inventory *inv, FILE *out)
{
	struct table t;

	if (inv->n_devlinks == 0)
		return 0;
	if (table_begin(&t, "DEVICE\tDRIVER\tSERIAL\tESWITCH\tFIXED\tRUNNING\tSTORED"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_devlinks; i++) {
		const struct inv_devlink *d = &inv->devlinks[i];

		cell_text(t.f, d->device);
		cell_text(t.f, d->driver);
		cell_words(t.f, d->serial);
		cell_text(t.f, d->eswitch);
		cell_versions(t.f, inv, d->device, "fixed");
		cell_versions(t.f, inv, d->device, "running");
		cell_versions(t.f, inv, d->device, "stored");
		row_end(&t);
	}
	return table_end(&t, "DEVLINK DEVICES", out);
}

static int print_devlink_params(const struct inventory *inv, FILE *out)
{
	struct table t;

	if (inv->n_devlink_params == 0)
		return 0;
	if (table_begin(&t, "DEVICE\tPARAMETER\tMODE\tTYPE\tVALUE"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_devlink_params; i++) {
		const struct inv_devlink_param *p = &inv->devlink_params[i];

		cell_text(t.f, p->device);
		cell_text(t.f, p->name);
		cell_text(t.f, p->mode);
		cell_text(t.f, p->type);
		cell_words(t.f, p->value);
		row_end(&t);
	}
	return table_end(&t, "DEVLINK PARAMETERS", out);
}

/* Writes "1" for a physical port, "pf 0 vf 3" for a representor. */
static void cell_port_of(FILE *f, const struct inv_devlink_port *p)
{
	if (strcmp(p->flavour, "pcivf") == 0)
		fprintf(f, "pf %" PRIu32 " vf %" PRIu32 "\t", p->pf, p->vf);
	else if (strcmp(p->flavour, "pcisf") == 0)
		fprintf(f, "pf %" PRIu32 " sf %" PRIu32 "\t", p->pf, p->sf);
	else if (strcmp(p->flavour, "pcipf") == 0)
		fprintf(f, "pf %" PRIu32 "\t", p->pf);
	else
		fprintf(f, "%" PRIu32 "\t", p->number);
}

static int print_devlink_ports(const struct inventory *inv, FILE *out)
{
	struct table t;

	if (inv->n_devlink_ports == 0)
		return 0;
	if (table_begin(&t, "DEVICE\tINDEX\tFLAVOUR\tOF\tLINK"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_devlink_ports; i++) {
		const struct inv_devlink_port *p = &inv->devlink_ports[i];

		cell_text(t.f, p->device);
		fprintf(t.f, "%" PRIu32 "\t", p->index);
		cell_text(t.f, p->flavour);
		cell_port_of(t.f, p);
		cell_text(t.f, link_name(inv, p->ifindex));
		row_end(&t);
	}
	return table_end(&t, "DEVLINK PORTS", out);
}

/* Returns whether the function must be listed. If the function has a link, the table of links
 * already shows the function with its driver. Then this table lists the function only for its IOMMU
 * group. */
static bool function_has_no_link(const struct inventory *inv, const struct inv_function *fn)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (strcmp(inv->links[i].pci, fn->pci) == 0)
			return fn->iommu_group >= 0;
	return true;
}

static int print_functions(const struct inventory *inv, FILE *out)
{
	struct table t;
	char group[512];
	size_t n = 0;

	for (size_t i = 0; i < inv->n_functions; i++)
		n += function_has_no_link(inv, &inv->functions[i]);
	if (n == 0)
		return 0;
	if (table_begin(&t, "PCI\tID\tDRIVER\tNUMA\tPF\tVF\tIOMMU\tGROUP WITH"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_functions; i++) {
		const struct inv_function *fn = &inv->functions[i];

		if (!function_has_no_link(inv, fn))
			continue;
		cell_text(t.f, fn->pci);
		fprintf(t.f, "%04x:%04x\t", fn->vendor, fn->device);
		cell_text(t.f, fn->driver);
		cell_node(t.f, fn->numa_node, "-");
		cell_text(t.f, fn->physfn);
		cell_node(t.f, fn->physfn[0] ? (int)fn->vf : -1, "-");
		cell_node(t.f, fn->iommu_group, "none");
		cell_words(t.f, inv_iommu_format(inv, fn, group, sizeof(group)));
		row_end(&t);
	}
	return table_end(&t, "PCI FUNCTIONS", out);
}

static int print_vfs(const struct inventory *inv, FILE *out)
{
	struct table t;

	if (inv->n_vfs == 0)
		return 0;
	if (table_begin(&t, "PF\tVF\tMAC\tVLAN\tSPOOF CHECK\tTRUST\tRATE"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_vfs; i++) {
		const struct inv_vf *v = &inv->vfs[i];

		cell_text(t.f, link_name(inv, v->ifindex));
		fprintf(t.f, "%" PRIu32 "\t", v->vf);
		cell_mac(t.f, &v->mac);
		cell_number(t.f, v->vlan);
		cell_text(t.f, v->spoof_check ? "on" : "off");
		cell_text(t.f, v->trust ? "on" : "off");
		cell_speed(t.f, v->max_rate_mbps);
		row_end(&t);
	}
	return table_end(&t, "VIRTUAL FUNCTIONS", out);
}

static int print_addrs(const struct inventory *inv, FILE *out)
{
	struct table t;

	if (table_begin(&t, "LINK\tADDRESS\tBY\tSTATE"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_addrs; i++) {
		const struct inv_addr *a = &inv->addrs[i];
		char buf[IP_ADDR_STR_MAX];

		cell_text(t.f, link_name(inv, a->ifindex));
		cell_text(t.f, ip_prefix_format(&a->ip, buf, sizeof(buf)));
		cell_text(t.f, a->proto == PLENUM_RTPROT ? "plenum" : "");
		cell_text(t.f, a->dad_failed   ? "duplicate"
			       : a->optimistic ? "optimistic"
			       : a->tentative  ? "tentative"
			       : a->secondary  ? "secondary"
					       : "");
		row_end(&t);
	}
	return table_end(&t, "ADDRESSES", out);
}

static const char *route_type(const struct inv_route *r)
{
	return r->type == INV_ROUTE_BLACKHOLE	  ? "blackhole"
	       : r->type == INV_ROUTE_UNREACHABLE ? "unreachable"
	       : r->type == INV_ROUTE_THROW	  ? "throw"
	       : r->type == INV_ROUTE_PROHIBIT	  ? "prohibit"
	       : r->linkdown			  ? "linkdown"
						  : "";
}

static int print_routes(const struct inventory *inv, FILE *out)
{
	struct table t;

	if (table_begin(&t, "TABLE\tTO\tVIA\tLINK\tFROM\tMETRIC\tBY\tSTATE"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_routes; i++) {
		const struct inv_route *r = &inv->routes[i];
		char buf[IP_ADDR_STR_MAX];

		cell_text(t.f, table_name(r->table, buf, sizeof(buf)));
		if (r->dst.len == 0)
			cell_text(t.f, r->family == AF_INET ? "default" : "default6");
		else
			cell_text(t.f, ip_prefix_format(&r->dst, buf, sizeof(buf)));
		cell_text(t.f,
			  r->gateway.family ? ip_addr_format(&r->gateway, buf, sizeof(buf)) : "");
		cell_text(t.f, link_name(inv, r->oif));
		cell_text(t.f, r->src.family ? ip_addr_format(&r->src, buf, sizeof(buf)) : "");
		cell_number(t.f, r->metric);
		cell_text(t.f, proto_name(r->proto, buf, sizeof(buf)));
		cell_text(t.f, route_type(r));
		row_end(&t);
	}
	return table_end(&t, "ROUTES", out);
}

static int print_rules(const struct inventory *inv, FILE *out)
{
	struct table t;

	if (table_begin(&t, "PRIORITY\tFAMILY\tFROM\tTABLE\tBY\tMORE"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_rules; i++) {
		const struct inv_rule *r = &inv->rules[i];
		char buf[IP_ADDR_STR_MAX];

		fprintf(t.f, "%" PRIu32 "\t%s\t", r->priority,
			r->family == AF_INET ? "IPv4" : "IPv6");
		cell_text(t.f, r->from.len ? ip_prefix_format(&r->from, buf, sizeof(buf)) : "all");
		cell_text(t.f, table_name(r->table, buf, sizeof(buf)));
		cell_text(t.f, proto_name(r->proto, buf, sizeof(buf)));
		cell_text(t.f, r->more ? "other selectors" : "");
		row_end(&t);
	}
	return table_end(&t, "RULES", out);
}

static int print_rdma(const struct inventory *inv, FILE *out)
{
	struct table t;

	if (inv->n_rdma == 0)
		return 0;
	if (table_begin(&t, "DEVICE\tPORT\tKIND\tSTATE\tRATE\tLINK\tDEFAULT\tTOS"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_rdma; i++) {
		const struct inv_rdma *p = &inv->rdma[i];

		cell_text(t.f, p->device);
		cell_number(t.f, p->port);
		cell_text(t.f, p->kind);
		cell_text(t.f, p->state);
		cell_words(t.f, p->rate);
		cell_text(t.f, link_name(inv, p->ifindex));
		cell_text(t.f, p->roce_mode);
		cell_text(t.f, p->roce_tos);
		row_end(&t);
	}
	return table_end(&t, "RDMA PORTS", out);
}

static int print_gids(const struct inventory *inv, FILE *out)
{
	char buf[IP_ADDR_STR_MAX];
	struct table t;

	if (inv->n_gids == 0)
		return 0;
	if (table_begin(&t, "DEVICE\tPORT\tINDEX\tGID\tTYPE\tLINK"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_gids; i++) {
		const struct inv_gid *g = &inv->gids[i];

		cell_text(t.f, g->device);
		cell_number(t.f, g->port);
		fprintf(t.f, "%" PRIu32 "\t", g->index);
		cell_text(t.f, ip_addr_format(&g->gid, buf, sizeof(buf)));
		cell_words(t.f, g->type);
		cell_text(t.f, link_name(inv, g->ifindex));
		row_end(&t);
	}
	return table_end(&t, "GIDS", out);
}

static int print_hugepages(const struct inventory *inv, FILE *out)
{
	struct table t;

	if (table_begin(&t, "SIZE\tNUMA\tTOTAL\tFREE"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_hugepages; i++) {
		const struct inv_hugepages *h = &inv->hugepages[i];

		if (h->size_kib >= 1048576)
			fprintf(t.f, "%" PRIu32 "G\t", h->size_kib / 1048576);
		else
			fprintf(t.f, "%" PRIu32 "M\t", h->size_kib / 1024);
		cell_node(t.f, h->numa_node, "all");
		fprintf(t.f, "%" PRIu64 "\t%" PRIu64 "\t", h->total, h->free);
		row_end(&t);
	}
	return table_end(&t, "HUGEPAGES", out);
}

/* Prints the table of TCP connections. Prints nothing if the host has no connection. */
static int print_conns(const struct inventory *inv, FILE *out)
{
	char buf[IP_ADDR_STR_MAX];
	struct table t;

	if (inv->n_conns == 0)
		return 0;
	if (table_begin(&t, "ADDRESS\tESTABLISHED\tSSH"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_conns; i++) {
		const struct inv_conns *c = &inv->conns[i];

		cell_text(t.f, ip_addr_format(&c->local, buf, sizeof(buf)));
		cell_number(t.f, c->n);
		cell_number(t.f, c->n_ssh);
		row_end(&t);
	}
	return table_end(&t, "CONNECTIONS", out);
}

static int print_mounts(const struct inventory *inv, FILE *out)
{
	char buf[IP_ADDR_STR_MAX];
	struct table t;

	if (inv->n_mounts == 0)
		return 0;
	if (table_begin(&t, "PATH\tTYPE\tSERVER"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_mounts; i++) {
		const struct inv_mount *m = &inv->mounts[i];

		cell_text(t.f, m->path);
		cell_text(t.f, m->type);
		cell_text(t.f,
			  m->server.family ? ip_addr_format(&m->server, buf, sizeof(buf)) : "");
		row_end(&t);
	}
	return table_end(&t, "NETWORK MOUNTS", out);
}

enum core_list { CORES_ONLINE, CORES_ISOLATED, CORES_ALLOWED };

static bool core_fits(const struct inv_core *c, int node, enum core_list which)
{
	return c->numa_node == node && c->online &&
	       (which == CORES_ONLINE || (which == CORES_ISOLATED ? c->isolated : !c->barred));
}

/* Writes the cores of a NUMA node that are online, isolated or usable by the caller, such as
 * "0-3,8". */
static void print_core_list(const struct inventory *inv, int node, enum core_list which, FILE *f)
{
	const char *comma = "";
	bool any = false;

	for (size_t i = 0; i < inv->n_cores;) {
		size_t end = i;

		while (end < inv->n_cores && core_fits(&inv->cores[end], node, which) &&
		       inv->cores[end].id == inv->cores[i].id + (end - i))
			end++;
		if (end == i) {
			i++;
			continue;
		}
		fprintf(f, "%s%u", comma, inv->cores[i].id);
		if (end > i + 1)
			fprintf(f, "-%u", inv->cores[end - 1].id);
		comma = ",";
		any = true;
		i = end;
	}
	fputs(any ? "\t" : "-\t", f);
}

static int print_cores(const struct inventory *inv, FILE *out)
{
	struct table t;
	int highest = INV_NUMA_NONE;

	if (table_begin(&t, "NUMA\tCORES\tISOLATED\tALLOWED"))
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_cores; i++)
		highest = MAX_OF(highest, inv->cores[i].numa_node);
	for (int node = INV_NUMA_NONE; node <= highest; node++) {
		bool has_any = false;

		for (size_t i = 0; i < inv->n_cores && !has_any; i++)
			has_any = inv->cores[i].numa_node == node;
		if (!has_any)
			continue;
		cell_node(t.f, node, "-");
		for (enum core_list which = CORES_ONLINE; which <= CORES_ALLOWED; which++)
			print_core_list(inv, node, which, t.f);
		row_end(&t);
	}
	return table_end(&t, "CORES", out);
}

char *inv_to_text(const struct inventory *inv)
{
	static int (*const parts[])(const struct inventory *inv, FILE *out) = {
		print_links,	 print_ports,	  print_bonds,		print_bond_ports,
		print_dcb,	 print_devlinks,  print_devlink_params, print_devlink_ports,
		print_functions, print_vfs,	  print_addrs,		print_routes,
		print_rules,	 print_conns,	  print_mounts,		print_rdma,
		print_gids,	 print_hugepages, print_cores,
	};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int r = 0;

	if (!out)
		return NULL;
	fputs("host ", out);
	put_text(out, inv->host);
	fputs(", Linux ", out);
	put_text(out, inv->kernel_release);
	fprintf(out, ", inventory %" PRIu64 "\n", inv->number);
	for (size_t i = 0; i < ARRAY_SIZE(parts) && r == 0; i++)
		r = parts[i](inv, out);
	return file_text_end(out, &text, r);
}
