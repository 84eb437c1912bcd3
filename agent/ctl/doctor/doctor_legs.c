/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the legs: their devices, ports, cables and switches. */
#include "agent/ctl/doctor/doctor.h"

#include "netcfg/plan/plan_guard.h"
#include <inttypes.h>
#include <string.h>

#define FLAPS_MAX 50
#define DROPS_PART 1000 /* tolerated loss: one packet of this many */

/* Loops over the legs that have a link at present. */
#define EACH_LINK(p, i, l)                                                                  \
	for (size_t i = 0; i < (p)->plan->n_legs; i++)                                      \
		for (const struct inv_link *l = doctor_leg_link(p, &(p)->plan->legs[i]); l; \
		     l = NULL)

static void run_present(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct plan_leg_info *leg = &p->plan->legs[i];
		char why[REASON_FORMAT_MAX];

		if (strcmp(leg->reason.code, "renamed") == 0) {
			doctor_report(r, DOCTOR_WARN, "leg %s: %s", leg->name, leg->reason.text);
			doctor_advise(r, "write device: %s for leg %s",
				      leg->identity[0] ? leg->identity : leg->ifname, leg->name);
			continue;
		}
		if (leg->state != PLAN_LEG_ABSENT && leg->state != PLAN_LEG_REFUSED)
			continue;
		doctor_report(r, DOCTOR_FAIL, "leg %s (%s) is %s: %s", leg->name,
			      leg->device[0] ? leg->device : leg->match,
			      plan_leg_state_to_string(leg->state),
			      reason_format(&leg->reason, why, sizeof(why)));
		doctor_advise(r, "set net[].device or net[].match to a device that 'plenum "
				 "inventory' shows");
	}
	doctor_report(r, DOCTOR_PASS, "all %zu legs have their devices", p->plan->n_legs);
}

static void run_carrier(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	EACH_LINK(p, i, l)
	{
		struct reason why;

		if (!l->up || l->carrier)
			continue;
		plan_explain_carrier(l, &why);
		doctor_report(r, DOCTOR_FAIL, "leg %s: %s", p->plan->legs[i].name, why.text);
		doctor_advise(r, "check the cable of %s and the switch port", l->name);
	}
	doctor_report(r, DOCTOR_PASS, "all legs that are up have a carrier");
}

static void run_speed(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	const struct inv_link *first = NULL;

	EACH_LINK(p, i, l)
	{
		if (!l->speed_mbps)
			continue;
		if (first && first->speed_mbps != l->speed_mbps) {
			doctor_report(r, DOCTOR_WARN, "%s runs at %" PRIu32 " Mb/s, %s at %" PRIu32,
				      first->name, first->speed_mbps, l->name, l->speed_mbps);
			doctor_advise(r, "ethtool %s; check the cable and the switch port",
				      l->speed_mbps < first->speed_mbps ? l->name : first->name);
		}
		first = l;
	}
	doctor_report(r, DOCTOR_PASS,
		      first ? "all legs run at %" PRIu32 " Mb/s"
			    : "no driver reports a speed (%" PRIu32 ")",
		      first ? first->speed_mbps : 0);
}

static void run_duplex(const struct doctor_host *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	EACH_LINK(p, i, l)
	{
		if (strcmp(l->duplex, "half") != 0)
			continue;
		doctor_report(r, DOCTOR_FAIL, "%s runs at half duplex", l->name);
		doctor_advise(
			r,
			"ethtool -s %s autoneg on; turn autonegotiation on at the switch port too",
			l->name);
	}
	doctor_report(r, DOCTOR_PASS, "no leg runs at half duplex");
}

static void run_mtu_same(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	const struct inv_link *first = NULL;

	EACH_LINK(p, i, l)
	{
		if (first && first->mtu != l->mtu) {
			doctor_report(r, DOCTOR_WARN,
				      "MTUs differ: %s has %" PRIu32 ", %s has %" PRIu32,
				      first->name, first->mtu, l->name, l->mtu);
			doctor_advise(r, "write one mtu for all of networks[]");
		}
		first = l;
	}
	doctor_report(r, DOCTOR_PASS, "all legs have the same MTU");
}

static void run_pcie(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	EACH_LINK(p, i, l)
	{
		int64_t width, max;

		if (doctor_sys_number(p, &width, "class/net/%s/device/current_link_width",
				      l->name) < 0 ||
		    doctor_sys_number(p, &max, "class/net/%s/device/max_link_width", l->name) < 0 ||
		    width >= max)
			continue;
		doctor_report(r, DOCTOR_WARN,
			      "%s uses only %" PRId64 " of its %" PRId64 " PCIe lanes", l->name,
			      width, max);
		doctor_advise(r,
			      "move the NIC of %s to a slot with %" PRId64 " lanes, or reseat it",
			      l->name, max);
	}
	doctor_report(r, DOCTOR_PASS, "all NICs use all their PCIe lanes");
}

/* ---- counters ---- */

static int64_t counter(const struct doctor_host *p, const struct inv_link *l, const char *name)
{
	int64_t n;

	return doctor_sys_number(p, &n, "class/net/%s/statistics/%s", l->name, name) < 0 ? 0 : n;
}

static void run_errors(const struct doctor_host *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	EACH_LINK(p, i, l)
	{
		const int64_t bad =
			counter(p, l, "rx_crc_errors") + counter(p, l, "rx_frame_errors");

		if (bad == 0)
			continue;
		doctor_report(r, DOCTOR_WARN, "%s received %" PRId64 " damaged frames", l->name,
			      bad);
		doctor_advise(r, "change the cable or transceiver of %s", l->name);
	}
	doctor_report(r, DOCTOR_PASS, "no leg has received a damaged frame");
}

/* Reports drops in the kernel's queue before the NIC. */
static void check_queues(const struct doctor_host *p, struct doctor_result *r)
{
	for (size_t i = 0; i < p->n_queues; i++) {
		const struct rtnl_qdisc *q = &p->queues[i];
		const struct inv_link *l = inv_link_by_index(p->inv, q->ifindex);

		if (q->drops * DROPS_PART <= q->packets)
			continue;
		doctor_report(r, DOCTOR_WARN,
			      "the kernel's queue of %s (qdisc %s) dropped %" PRIu64 " of %" PRIu64
			      " packets",
			      l ? l->name : "?", q->kind, q->drops, q->packets + q->drops);
		doctor_advise(
			r,
			"tc -s qdisc show dev %s; remove a qdisc that another program set: tc "
			"qdisc del dev %s root; choose another: plenum net set LEG --qdisc "
			"pfifo; plenum apply",
			l ? l->name : "?", l ? l->name : "?");
	}
	if (p->no_queues[0])
		doctor_report(r, DOCTOR_UNKNOWN, "the kernel's queues cannot be read: %s",
			      p->no_queues);
}

static void run_drops(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	EACH_LINK(p, i, l)
	{
		const int64_t lost = counter(p, l, "rx_missed_errors") +
				     counter(p, l, "rx_fifo_errors") + counter(p, l, "tx_errors");
		const int64_t all = counter(p, l, "rx_packets") + counter(p, l, "tx_packets");

		if (lost * DROPS_PART <= all)
			continue;
		doctor_report(r, DOCTOR_WARN, "%s lost %" PRId64 " of %" PRId64 " packets", l->name,
			      lost, all);
		doctor_advise(r, "ethtool -g %s; ethtool -G %s rx MAXIMUM", l->name, l->name);
	}
	check_queues(p, r);
	doctor_report(r, DOCTOR_PASS, "neither NICs nor the kernel's queues lose packets");
}

static void run_flaps(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	EACH_LINK(p, i, l)
	{
		int64_t n;

		if (doctor_sys_number(p, &n, "class/net/%s/carrier_changes", l->name) < 0 ||
		    n <= FLAPS_MAX)
			continue;
		doctor_report(r, DOCTOR_WARN, "the carrier of %s changed %" PRId64 " times",
			      l->name, n);
		doctor_advise(r, "check the cable of %s and the log of its switch", l->name);
	}
	doctor_report(r, DOCTOR_PASS, "no carrier has changed often");
}

/* ---- switches ---- */

static void run_lldp(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		if (strcmp(doctor_leg_text(p, i, "label_source"), "unknown") != 0)
			continue;
		doctor_report(r, DOCTOR_WARN, "leg %s has no label: %s", p->plan->legs[i].name,
			      doctor_leg_text(p, i, "label_reason"));
		doctor_advise(r, "turn on LLDP at the switch, or plenum net label %s SWITCH",
			      p->plan->legs[i].name);
	}
	doctor_report(r, DOCTOR_PASS, "all labels are known");
}

/* Compares the frame sizes that switches report. They should include header and checksum, but some
 * switches report their MTU. So only a value below this host's MTU is certainly wrong. */
static void run_frames(const struct doctor_host *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct inv_link *l = doctor_leg_link(p, &p->plan->legs[i]);
		const char *leg = p->plan->legs[i].name, *name;
		const json_t *n;

		for (size_t k = 0; l && (n = doctor_neighbour(p, leg, k)); k++) {
			json_int_t most = json_integer_value(json_object_get(n, "max_frame_bytes"));

			if (most <= 0 || most >= (json_int_t)l->mtu)
				continue;
			name = json_string_value(json_object_get(n, "name"));
			doctor_report(r, DOCTOR_WARN,
				      "%.60s reports a maximum frame size of %" JSON_INTEGER_FORMAT
				      " bytes, but the MTU of leg %s is %" PRIu32,
				      name ? name : "the switch", most, leg, l->mtu);
			doctor_advise(r,
				      "set the MTU of the switch port to at least %" PRIu32
				      ", or write a smaller networks[].mtu on all hosts",
				      l->mtu);
		}
	}
	doctor_report(r, DOCTOR_PASS, "no switch reports a smaller frame size than the legs send");
}

static void run_two(const struct doctor_host *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	size_t n = 0;

	for (size_t i = 0; i < p->spec->n_nets; i++)
		n += p->spec->nets[i].enabled;
	if (n >= 2) {
		doctor_report(r, DOCTOR_PASS, "%zu legs are in use", n);
		return;
	}
	if (n == 1 && p->spec->ha == SPEC_HA_NONE) {
		doctor_report(r, DOCTOR_NOTE,
			      "one leg is in use, as ha.mode: none says: if it fails, the data "
			      "network stops");
		return;
	}
	doctor_report(r, DOCTOR_WARN, "%zu legs are in use: if one fails, the data network stops",
		      n);
	doctor_advise(r, "plenum net enable NAME, or plenum net add DEVICE");
}

static void run_management(const struct doctor_host *p, const struct doctor_check *c,
			   struct doctor_result *r)
{
	const char *name = p->spec->management_interface;
	const struct inv_link *l = inv_link_by_name(p->inv, name);

	if (!name[0]) {
		doctor_report(r, DOCTOR_PASS, "no management interface is configured");
	} else if (l && l->up && l->carrier) {
		doctor_report(r, DOCTOR_PASS, "%s is up", name);
	} else {
		doctor_report(r, DOCTOR_FAIL, "%s %s", name,
			      !l       ? "does not exist"
			      : !l->up ? "is down"
				       : "has no carrier");
		doctor_advise(r,
			      l ? "ip link set %s up; check its cable"
				: "write the right management.interface instead of %s",
			      name);
	}
}

/* Returns the device that sends the leg's packets; ethtool(8) shows its offloads. */
static const struct inv_link *leg_device(const struct doctor_host *p, const char *leg)
{
	const struct inv_link *below;

	EACH_LINK(p, i, l)
	{
		if (strcmp(p->plan->legs[i].name, leg) != 0)
			continue;
		below = l->lower ? inv_link_by_index(p->inv, l->lower) : NULL;
		return below ? below : l;
	}
	return NULL;
}

/* Uses the result of workers: they detect paths that lose packets because the NIC segments them. */
static void run_segmentation(const struct doctor_host *p, const struct doctor_check *c,
			     struct doctor_result *r)
{
	const json_t *path;
	size_t i;

	json_array_foreach (json_object_get(p->status, "paths"), i, path) {
		const char *leg = json_string_value(json_object_get(path, "leg"));
		const char *peer = json_string_value(json_object_get(path, "peer"));
		const struct inv_link *l = leg ? leg_device(p, leg) : NULL;
		const char *driver;

		if (!l || !json_is_true(json_object_get(path, "segmentation_lost")))
			continue;
		driver = l->driver[0] ? l->driver : inv_link_kind_to_string(l->kind);
		doctor_report(
			r, DOCTOR_WARN,
			"%s of leg %s (driver %s) segments packets itself, but the segmented "
			"packets do not reach %s: the worker sends packets one by one instead",
			l->name, leg, driver, peer && peer[0] ? peer : "a peer");
		doctor_advise(r,
			      "ethtool -K %s tx-udp-segmentation off (also in the boot-time "
			      "network setup), or install a driver %s without this defect",
			      l->name, driver);
	}
	doctor_report(r, DOCTOR_PASS, "UDP segmentation offload works");
}

/* Uses the result of workers: a worker probes the peer from each of its source ports. */
static void run_sources(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	const json_t *path;
	size_t i;

	json_array_foreach (json_object_get(p->status, "paths"), i, path) {
		const char *leg = json_string_value(json_object_get(path, "leg"));
		const char *peer = json_string_value(json_object_get(path, "peer"));
		json_int_t lost = json_integer_value(json_object_get(path, "sources_lost"));

		if (!leg || lost <= 0)
			continue;
		doctor_report(r, DOCTOR_WARN,
			      "packets from %d of the UDP source ports of leg %s do not reach %s: "
			      "bulk data use the other ports",
			      (int)lost, leg, peer && peer[0] ? peer : "a peer");
		doctor_advise(
			r,
			"make firewalls between the hosts match these packets by destination port, "
			"not by source port; or write udp-sources: 1 under net, then plenum apply");
	}
	doctor_report(r, DOCTOR_PASS, "packets from all UDP source ports arrive");
}

static const struct doctor_check checks[] = {
	{"leg-present", "All legs have their devices", DOCTOR_NEEDS_PLAN, run_present, NULL},
	{"leg-up", "All legs are up", DOCTOR_NEEDS_PLAN, doctor_run_steps, "link  up ("},
	{"leg-carrier", "All legs have a carrier", DOCTOR_NEEDS_PLAN, run_carrier, NULL},
	{"leg-mtu", "All legs have the MTU of their networks", DOCTOR_NEEDS_PLAN, doctor_run_steps,
	 "link  mtu "},
	{"leg-frames", "Switches accept frames as large as the legs send",
	 DOCTOR_NEEDS_PLAN | DOCTOR_NEEDS_AGENT, run_frames, NULL},
	{"leg-mtu-same", "All legs have the same MTU", DOCTOR_NEEDS_PLAN, run_mtu_same, NULL},
	{"leg-speed", "All legs run at the same speed", DOCTOR_NEEDS_PLAN, run_speed, NULL},
	{"leg-duplex", "All legs run at full duplex", DOCTOR_NEEDS_PLAN, run_duplex, NULL},
	{"leg-pcie", "All NICs of legs use all their PCIe lanes", DOCTOR_NEEDS_PLAN, run_pcie,
	 NULL},
	{"leg-errors", "No frame arrives damaged", DOCTOR_NEEDS_PLAN, run_errors, NULL},
	{"leg-drops", "NICs and the kernel's queues lose no packets", DOCTOR_NEEDS_PLAN, run_drops,
	 NULL},
	{"leg-segmentation", "UDP segmentation offload works",
	 DOCTOR_NEEDS_PLAN | DOCTOR_NEEDS_AGENT, run_segmentation, NULL},
	{"leg-sources", "Packets from all UDP source ports arrive", DOCTOR_NEEDS_AGENT, run_sources,
	 NULL},
	{"leg-flaps", "The carriers are stable", DOCTOR_NEEDS_PLAN, run_flaps, NULL},
	{"leg-lldp", "All labels that come from switches are known",
	 DOCTOR_NEEDS_PLAN | DOCTOR_NEEDS_AGENT, run_lldp, NULL},
	{"leg-two", "A second leg is in use", DOCTOR_NEEDS_SPEC, run_two, NULL},
	{"leg-management", "The management interface is up",
	 DOCTOR_NEEDS_SPEC | DOCTOR_NEEDS_INVENTORY, run_management, NULL},
};

const struct doctor_subject doctor_legs = DOCTOR_SUBJECT("legs", checks);
