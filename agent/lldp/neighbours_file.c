/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores the table of neighbours as a record file (state_file.h). With it, a restarted agent knows
 * the labels at once, although switches announce themselves only every 30 s. A neighbour is a line:
 *
 * neighbour IFINDEX IFNAME HEARD-NS UNTIL-NS CHASSIS PORT NAME DESCRIPTION MANAGEMENT-IP VLAN
 * MAX-FRAME CAPABILITIES AGGREGATION PFC
 */
#include "agent/lldp/neighbours.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/host/device_setting.h"
#include <inttypes.h>
#include <string.h>

static int convert(const char *text, struct state_draft *lines);
static const struct state_kind kind = {.name = "neighbours",
				       .version = 2,
				       .old_until = 1,
				       .scope = STATE_OF_NETNS,
				       .bytes_max = 1U << 20,
				       .convert = convert};

static void put(struct state_draft *d, uint32_t ifindex, const char *ifname,
		const struct neighbour *n)
{
	const struct lldp_neighbour *s = &n->said;
	char ip[IP_ADDR_STR_MAX] = "";

	if (s->management.family)
		ip_addr_format(&s->management, ip, sizeof(ip));
	state_draft_put(d, "neighbour %" PRIu32, ifindex);
	state_draft_word(d, ifname);
	state_draft_put(d, "%" PRIu64 " %" PRIu64, n->heard_ns, n->until_ns);
	state_draft_word(d, s->chassis);
	state_draft_word(d, s->port);
	state_draft_word(d, s->name);
	state_draft_word(d, s->port_about);
	state_draft_word(d, ip);
	state_draft_put(d, "%u %u %u %" PRIu32 " %u", s->vlan, s->mtu, s->capabilities,
			s->aggregation, s->pfc);
	state_draft_end(d);
}

int neighbours_save(const struct neighbours *t, const char *path)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;

	state_draft_init(&d, &kind);
	for (size_t i = 0; i < t->n; i++)
		for (size_t j = 0; j < t->links[i].n; j++)
			put(&d, t->links[i].ifindex, t->links[i].ifname, &t->links[i].all[j]);
	return state_draft_save(&d, path);
}

static int add(struct neighbours *t, uint32_t ifindex, const char *ifname,
	       const struct neighbour *n)
{
	struct neighbours_link *l = neighbours_find(t, ifindex);

	if (!l)
		l = neighbours_add(t, ifindex, ifname, 0);
	if (!l)
		return -ENOMEM;
	if (l->n < NEIGHBOURS_MAX)
		l->all[l->n++] = *n;
	return 0;
}

static int parse_line(struct neighbours *t, struct state_file *f)
{
	struct neighbour n = {.remembered = true};
	struct lldp_neighbour *s = &n.said;
	char ifname[IFNAMSIZ], ip[IP_ADDR_STR_MAX];
	uint32_t ifindex;

	state_file_expect(f, "neighbour");
	ifindex = (uint32_t)state_file_number(f, UINT32_MAX);
	state_file_copy(f, ifname, sizeof(ifname));
	n.heard_ns = state_file_number(f, UINT64_MAX);
	n.until_ns = state_file_number(f, UINT64_MAX);
	state_file_copy(f, s->chassis, sizeof(s->chassis));
	state_file_copy(f, s->port, sizeof(s->port));
	state_file_copy(f, s->name, sizeof(s->name));
	state_file_copy(f, s->port_about, sizeof(s->port_about));
	state_file_copy(f, ip, sizeof(ip));
	s->vlan = (uint16_t)state_file_number(f, UINT16_MAX);
	s->mtu = (uint16_t)state_file_number(f, UINT16_MAX);
	s->capabilities = (uint16_t)state_file_number(f, UINT16_MAX);
	s->aggregation = (uint32_t)state_file_number(f, UINT32_MAX);
	s->pfc = (uint16_t)state_file_number(f, UINT16_MAX);
	if (!state_file_line_ends(f) || (ip[0] && ip_addr_parse(ip, &s->management) < 0))
		return STATE_TORN;
	return add(t, ifindex, ifname, &n);
}

int neighbours_load(struct neighbours *t, const char *path)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	int r = state_file_read(&f, &kind, path);

	while (r == 0 && state_file_line(&f))
		r = parse_line(t, &f);
	if (r < 0)
		neighbours_done(t);
	return r;
}

/* ---- version 1: an array of JSON objects ---- */

static void get_text(const json_t *o, const char *key, char ret[LLDP_TEXT_MAX])
{
	const char *s = json_string_value(json_object_get(o, key));

	snprintf(ret, LLDP_TEXT_MAX, "%s", s ? s : "");
}

static uint64_t get_number(const json_t *o, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(o, key));

	return n > 0 ? (uint64_t)n : 0;
}

static struct neighbour neighbour_from_json(const json_t *o)
{
	struct neighbour n = {.heard_ns = get_number(o, "heard_ns"),
			      .until_ns = get_number(o, "until_ns")};
	const char *ip = json_string_value(json_object_get(o, "management"));
	const char *pfc = json_string_value(json_object_get(o, "pfc"));
	uint8_t bits;

	get_text(o, "chassis", n.said.chassis);
	get_text(o, "port", n.said.port);
	get_text(o, "name", n.said.name);
	get_text(o, "port_description", n.said.port_about);
	if (ip)
		(void)ip_addr_parse(ip, &n.said.management);
	if (pfc && dcb_prios_parse(pfc, &bits) == 0)
		n.said.pfc = LLDP_PFC_SAID | bits;
	n.said.vlan = (uint16_t)get_number(o, "vlan");
	n.said.mtu = (uint16_t)get_number(o, "max_frame_bytes");
	n.said.capabilities = (uint16_t)get_number(o, "capabilities");
	n.said.aggregation = (uint32_t)get_number(o, "aggregation");
	return n;
}

static int convert(const char *text, struct state_draft *lines)
{
	json_t *table = json_loads(text, 0, NULL);
	const json_t *o;
	size_t i;

	if (!json_is_array(table)) {
		json_decref(table);
		return STATE_TORN;
	}
	json_array_foreach (table, i, o) {
		const char *ifname = json_string_value(json_object_get(o, "ifname"));
		const struct neighbour n = neighbour_from_json(o);

		if (ifname)
			put(lines, (uint32_t)get_number(o, "ifindex"), ifname, &n);
	}
	json_decref(table);
	return 0;
}
