/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `plenum rdma devices`: shows what ibv_devinfo(1) and perfquery(8) show, without their packages,
 * and the leg of each port. It reads sysfs itself, because the inventory has no counters.
 */
#include "agent/ctl/net/ctl_rdma.h"
#include "agent/ctl/ctl.h"

#include "netcfg/linux/sysfs/sysfs.h"
#include <inttypes.h>
#include <string.h>

#define PATH_BYTES 256
#define WORD_BYTES 4 /* bytes in a unit of the data counters */

/* Error counters, under the names that drivers give them; without errors they stay zero. */
static const char *const bad_counters[] = {
	"symbol_error",
	"link_error_recovery",
	"link_downed",
	"port_rcv_errors",
	"port_rcv_remote_physical_errors",
	"port_xmit_discards",
	"local_link_integrity_errors",
	"excessive_buffer_overrun_errors",
	"duplicate_request",
	"out_of_sequence",
	"out_of_seq_request",
	"packet_seq_err",
	"implied_nak_seq_err",
	"local_ack_timeout_err",
	"rnr_nak_retry_err",
	"rcvd_rnr_err",
	"send_rnr_err",
	"rcvd_seq_err",
	"ack_deffered",
	"retry_exceeded_err",
	"completer_retry_err",
	"retry_rnr_exceeded_err",
	"rx_icrc_encapsulated",
	"req_cqe_error",
	"resp_cqe_error",
	"req_remote_access_errors",
	"resp_remote_access_errors",
};

/* ---- reading sysfs ---- */

struct counters {
	int sys;
	const char *folder;
	json_t *list; /* an object of names and numbers */
};

static int add_counter(void *user, const char *name)
{
	const struct counters *c = user;
	char path[PATH_BYTES];
	int64_t n;

	snprintf(path, sizeof(path), "%.180s/%.64s", c->folder, name);
	/* "lifespan" is in the same folder but is a setting: the age after which counters are read
	 * again. */
	if (strcmp(name, "lifespan") != 0 && sysfs_read_number(c->sys, path, &n) == 0)
		json_object_set_new(c->list, name, json_integer(n));
	return 0;
}

/* Reads the counters of both folders into one object. No counter name is in both folders. */
static json_t *counters_read(int sys, const char *port_folder)
{
	static const char *const folders[] = {"counters", "hw_counters"};
	json_t *list = json_object();

	for (size_t i = 0; list && i < ARRAY_SIZE(folders); i++) {
		char path[PATH_BYTES];
		struct counters c = {sys, path, list};

		snprintf(path, sizeof(path), "%.200s/%s", port_folder, folders[i]);
		sysfs_each_entry(sys, path, add_counter, &c);
	}
	return list;
}

/* Returns the content of a file, without a number before the text, such as "4: ". Returns NULL,
 * which is JSON null, if the file does not exist. */
static json_t *text_read(int sys, const char *folder, const char *name)
{
	char path[PATH_BYTES], text[128];
	const char *word;

	snprintf(path, sizeof(path), "%.180s/%.64s", folder, name);
	if (sysfs_read(sys, path, text, sizeof(text)) <= 0)
		return json_null();
	word = strstr(text, ": ");
	return json_string(word ? word + 2 : text);
}

static const char *name_of(const struct inventory *inv, uint32_t ifindex)
{
	const struct inv_link *l = ifindex ? inv_link_by_index(inv, ifindex) : NULL;

	return l ? l->name : NULL;
}

/* Returns whether the port belongs to the leg: the leg's link is the port's link, or a VLAN or bond
 * above it. */
static bool is_on(const struct inventory *inv, const struct inv_link *leg, const struct inv_rdma *p)
{
	const struct inv_link *port = p->ifindex ? inv_link_by_index(inv, p->ifindex) : NULL;

	if (!port)
		return strcmp(leg->rdma, p->device) == 0;
	return leg == port || leg->lower == port->ifindex || port->master == leg->ifindex;
}

static const char *leg_of(const struct inventory *inv, const json_t *legs, const struct inv_rdma *p)
{
	const json_t *leg;
	size_t i;

	json_array_foreach (json_object_get(legs, "net"), i, leg) {
		const struct inv_link *l = inv_link_by_name(inv, ctl_text(leg, "ifname"));

		if (l && is_on(inv, l, p))
			return ctl_text(leg, "name");
	}
	return NULL;
}

static json_t *gids_of(const struct inventory *inv, const struct inv_rdma *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < inv->n_gids; i++) {
		const struct inv_gid *g = &inv->gids[i];
		char text[IP_ADDR_STR_MAX];

		if (g->port != p->port || strcmp(g->device, p->device) != 0)
			continue;
		json_array_append_new(list, json_pack("{s:i, s:s, s:s, s:s?}", "index",
						      (int)g->index, "type", g->type, "gid",
						      ip_addr_format(&g->gid, text, sizeof(text)),
						      "interface", name_of(inv, g->ifindex)));
	}
	return list;
}

static json_t *port_look(int sys, const struct inventory *inv, const json_t *legs,
			 const struct inv_rdma *p)
{
	char folder[PATH_BYTES];

	snprintf(folder, sizeof(folder), "class/infiniband/%.64s/ports/%u", p->device, p->port);
	return json_pack("{s:i, s:s, s:s, s:o, s:s, s:o, s:o, s:s?, s:s?, s:o, s:o}", "port",
			 (int)p->port, "kind", p->kind, "state", p->state, "physical_state",
			 text_read(sys, folder, "phys_state"), "rate", p->rate, "lid",
			 text_read(sys, folder, "lid"), "subnet_manager_lid",
			 text_read(sys, folder, "sm_lid"), "interface", name_of(inv, p->ifindex),
			 "leg", leg_of(inv, legs, p), "gids", gids_of(inv, p), "counters",
			 counters_read(sys, folder));
}

static json_t *device_look(int sys, const char *device)
{
	char folder[PATH_BYTES];

	snprintf(folder, sizeof(folder), "class/infiniband/%.64s", device);
	return json_pack(
		"{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:[]}", "device", device, "type",
		text_read(sys, folder, "node_type"), "firmware", text_read(sys, folder, "fw_ver"),
		"board", text_read(sys, folder, "board_id"), "hardware",
		text_read(sys, folder, "hw_rev"), "node_guid", text_read(sys, folder, "node_guid"),
		"system_image_guid", text_read(sys, folder, "sys_image_guid"), "ports");
}

json_t *ctl_rdma_look(int sys, const struct inventory *inv, const json_t *legs)
{
	json_t *devices = json_array();

	/* The ports of a device are adjacent in the inventory. */
	for (size_t i = 0; devices && i < inv->n_rdma; i++) {
		const struct inv_rdma *p = &inv->rdma[i];
		const size_t n = json_array_size(devices);
		json_t *last = n ? json_array_get(devices, n - 1) : NULL;

		if (!last || strcmp(ctl_text(last, "device"), p->device) != 0) {
			last = device_look(sys, p->device);
			json_array_append_new(devices, last);
		}
		json_array_append_new(json_object_get(last, "ports"), port_look(sys, inv, legs, p));
	}
	return json_pack("{s:o}", "devices", devices);
}

/* ---- printing ---- */

static void add_traffic(struct ctl_table *t, const json_t *counters, const char *data,
			const char *packets)
{
	const json_t *n = json_object_get(counters, data);
	char text[32];

	if (n)
		ctl_table_add(
			t, "%s",
			ctl_format_bytes(json_integer_value(n) * WORD_BYTES, text, sizeof(text)));
	/* soft-RoCE does not count bytes, only packets */
	else if (json_object_get(counters, packets))
		ctl_table_add(t, "%" JSON_INTEGER_FORMAT " packets", ctl_int(counters, packets));
	else
		ctl_table_add(t, "%s", "");
}

static void add_errors(struct ctl_table *t, const json_t *counters)
{
	char text[512] = "";

	for (size_t i = 0; i < ARRAY_SIZE(bad_counters); i++) {
		const json_int_t n = ctl_int(counters, bad_counters[i]);
		const size_t len = strlen(text);

		if (n > 0)
			snprintf(text + len, sizeof(text) - len, "%s%s %" JSON_INTEGER_FORMAT,
				 len ? ", " : "", bad_counters[i], n);
	}
	ctl_table_add(t, "%s", text);
}

static void add_port(struct ctl_table *t, const json_t *device, const json_t *port)
{
	static const char *const texts[] = {"kind", "state",	 "physical_state",
					    "rate", "interface", "leg"};
	const json_t *counters = json_object_get(port, "counters");

	ctl_table_add(t, "%s", ctl_text(device, "device"));
	ctl_table_add(t, "%" JSON_INTEGER_FORMAT, ctl_int(port, "port"));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		ctl_table_add(t, "%s", ctl_text(port, texts[i]));
	ctl_table_add(t, "%s", ctl_text(device, "firmware"));
	ctl_table_add(t, "%s", ctl_text(device, "node_guid"));
	ctl_table_add(t, "%s", ctl_text(port, "lid"));
	add_traffic(t, counters, "port_xmit_data", "sent_pkts");
	add_traffic(t, counters, "port_rcv_data", "rcvd_pkts");
	add_errors(t, counters);
}

static int print_gids(const json_t *devices)
{
	static const char *const headings[] = {"DEVICE", "PORT", "INDEX",
					       "TYPE",	 "GID",	 "INTERFACE"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *device, *port, *gid;
	size_t i, j, k;

	json_array_foreach (devices, i, device)
		json_array_foreach (json_object_get(device, "ports"), j, port)
			json_array_foreach (json_object_get(port, "gids"), k, gid) {
				ctl_table_add(&t, "%s", ctl_text(device, "device"));
				ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(port, "port"));
				ctl_table_add(&t, "%" JSON_INTEGER_FORMAT, ctl_int(gid, "index"));
				ctl_table_add(&t, "%s", ctl_text(gid, "type"));
				ctl_table_add(&t, "%s", ctl_text(gid, "gid"));
				ctl_table_add(&t, "%s", ctl_text(gid, "interface"));
			}
	if (t.n_cells == 0)
		return CTL_OK;
	puts("\nGIDS");
	return ctl_table_print(&t);
}

static int print_ports(const struct ctl_args *a, const json_t *devices)
{
	static const char *const headings[] = {"DEVICE",	 "PORT",      "KIND",	   "STATE",
					       "PHYSICAL STATE", "RATE",      "INTERFACE", "LEG",
					       "FIRMWARE",	 "NODE GUID", "LID",	   "SENT",
					       "RECEIVED",	 "ERRORS"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *device, *port;
	size_t i, j;

	json_array_foreach (devices, i, device)
		json_array_foreach (json_object_get(device, "ports"), j, port)
			add_port(&t, device, port);
	return ctl_view_print(a, &t,
			      "DEVICE,PORT,KIND,STATE,RATE,INTERFACE,LEG,SENT,RECEIVED,ERRORS");
}

int ctl_cmd_rdma_devices(const struct ctl_args *a)
{
	autoclose int sys = sysfs_open();
	json_t *legs = NULL, *o = NULL;
	struct inventory *inv;
	int r = ctl_collect(&inv);

	if (r != CTL_OK)
		return r;
	legs = ctl_legs_if_any(a);
	o = ctl_rdma_look(sys, inv, legs);
	inv_free(inv);
	json_decref(legs);
	if (!o)
		r = ctl_put_text(NULL);
	else if (a->json)
		r = ctl_put_json(o);
	else
		r = print_ports(a, json_object_get(o, "devices"));
	if (r == CTL_OK && !a->json && !a->view.csv && !a->view.columns && !a->view.filters.n)
		r = print_gids(json_object_get(o, "devices"));
	json_decref(o);
	return r;
}
