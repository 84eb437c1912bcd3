/* SPDX-License-Identifier: BSD-3-Clause */
/* Breakages of cables, neighbours and peers. */
#include "tests/unit/doctor_breaks.h"

/* Neither worker nor doctor gets an answer on that leg. */
static void silent_leg(struct rig *g, size_t i)
{
	struct doctor_probe *e = &g->p.probes[i];

	e->small = e->full = e->marked = false;
	e->port.n_answered = e->port_full.n_answered = 0;
	json_object_set_new(rig_paths(g, i), "up", json_false());
	json_object_set_new(rig_paths(g, i), "state", json_string("down"));
}

/* ---- cables and neighbours ---- */

static void one_label(struct rig *g)
{
	rig_change_spec(g, "label: switch-b", "label: switch-a");
}

static void one_switch(struct rig *g)
{
	rig_set_leg(g, 1, "switch", "switch-a");
}

static void no_switches(struct rig *g)
{
	rig_set_leg(g, 0, "switch", "");
	rig_set_leg(g, 1, "switch", "");
}

/* The legs hear each other. */
static void one_segment(struct rig *g)
{
	no_switches(g);
	rig_find_arp(g, DOCTOR_ARP_OTHER_LEG, 0)->q.taken = true;
}

static void crossed(struct rig *g)
{
	rig_set_leg(g, 0, "switch", "switch-b");
	rig_set_leg(g, 1, "switch", "switch-a");
}

/* No switch sends LLDP and no peer answers, but an address of the other network does. */
static void crossed_without_lldp(struct rig *g)
{
	static const char *const legs[] = {"leg-a", "leg-b"}, *const ips[] = {"10.10.2.10",
									      "10.20.2.10"};

	for (uint32_t i = 0; i < 2; i++) {
		struct doctor_arp *a =
			rig_arp(g, DOCTOR_ARP_PEER_LEG, legs[i], HOST_VETH0 + i, ips[1 - i]);

		a->q.taken = true;
		snprintf(a->peer, sizeof(a->peer), "host-b");
		snprintf(a->other, sizeof(a->other), "%s", legs[1 - i]);
		rig_find_arp(g, DOCTOR_ARP_PEER, i)->q.taken = false;
		silent_leg(g, i);
	}
}

/* No leg of the peer has the label. */
static void label_of_no_peer(struct rig *g)
{
	json_object_set_new(rig_paths(g, 1), "standby", json_true());
}

static void duplicate(struct rig *g)
{
	rig_data_ip(g)->dad_failed = true;
}

/* Another host answers for our address, which the kernel does not notice over IPv4. */
static void duplicate_seen(struct rig *g)
{
	struct doctor_arp *a = rig_find_arp(g, DOCTOR_ARP_OWN, 1);

	a->q.taken = true;
	a->q.by = (struct mac_addr){{2, 0, 0, 0, 0, 0x77}};
}

static void no_arp_answer(struct rig *g)
{
	rig_find_arp(g, DOCTOR_ARP_PEER, 0)->q.taken = false;
}

/* The entry is permanent, so the kernel never asks. */
static void wrong_entry(struct rig *g)
{
	rig_put(g, "/proc/net/arp",
		"IP address HW type Flags HW address Mask Device\n"
		"10.10.2.10 0x1 0x6 02:00:00:00:00:99 * veth0\n");
}

/* ---- peers ---- */

static void peer_gone(struct rig *g)
{
	silent_leg(g, 0);
	silent_leg(g, 1);
}

static void peer_on_one_leg(struct rig *g)
{
	silent_leg(g, 0);
}

/* The host answers, its data port does not. */
static void port_dropped(struct rig *g)
{
	for (size_t i = 0; i < 2; i++) {
		peer_gone(g);
		g->p.probes[i].small = g->p.probes[i].full = g->p.probes[i].marked = true;
	}
}

/* A filter drops the packets to the worker, which has the data port; the doctor uses another. */
static void worker_cut_off(struct rig *g)
{
	for (size_t i = 0; i < 2; i++) {
		json_object_set_new(rig_paths(g, i), "up", json_false());
		json_object_set_new(rig_paths(g, i), "state", json_string("down"));
	}
}

static void not_sent(struct rig *g)
{
	silent_leg(g, 0);
	for (size_t i = 0; i < 2; i++) {
		struct port_probe *s = i ? &g->p.probes[0].port_full : &g->p.probes[0].port;

		s->send_error = -EPERM;
		s->n_sent = 0;
	}
}

/* The worker's packets are refused by a filter that the doctor's do not meet. */
static void worker_not_sent(struct rig *g)
{
	json_object_set_new(rig_paths(g, 0), "reason",
			    json_string("send-refused: Operation not permitted"));
}

static void worker_loses(struct rig *g)
{
	json_object_set_new(rig_paths(g, 1), "lossy_from", json_true());
	json_object_set_new(rig_paths(g, 1), "loss_from_percent", json_real(31));
}

static void lossy(struct rig *g)
{
	g->p.probes[1].port.n_answered = 69;
}

static void no_session(struct rig *g)
{
	json_array_remove(json_object_get(g->p.status, "paths"), 1);
}

static void path_too_small(struct rig *g)
{
	g->p.probes[1].full = false;
	g->p.probes[1].port_full.n_answered = 0;
	json_object_set_new(rig_paths(g, 1), "mtu", json_integer(1500));
}

/* Large packets get there, but do not come back. */
static void way_back_too_small(struct rig *g)
{
	g->p.probes[1].full = false;
}

static void gateway_gone(struct rig *g)
{
	g->p.probes[2].small = g->p.probes[2].full = false;
}

const struct breakage doctor_peer_breaks[] = {
	{"leg-labels", DOCTOR_WARN, NULL, one_label},
	{"leg-diverse", DOCTOR_WARN, NULL, one_switch},
	{"leg-diverse", DOCTOR_UNKNOWN, NULL, no_switches},
	{"leg-crossed", DOCTOR_FAIL, NULL, crossed},
	{"leg-diverse", DOCTOR_WARN, NULL, one_segment},
	{"leg-labels", DOCTOR_WARN, NULL, label_of_no_peer},
	{"leg-crossed", DOCTOR_FAIL, NULL, crossed_without_lldp},
	{"address-duplicate", DOCTOR_FAIL, NULL, duplicate},
	{"address-duplicate", DOCTOR_FAIL, NULL, duplicate_seen},
	{"arp-answers", DOCTOR_WARN, NULL, no_arp_answer},
	{"arp-answers", DOCTOR_FAIL, NULL, wrong_entry},
	{"peer-sends", DOCTOR_FAIL, NULL, not_sent},
	{"peer-answers", DOCTOR_FAIL, NULL, peer_gone},
	{"peer-answers", DOCTOR_FAIL, NULL, port_dropped},
	{"peer-answers", DOCTOR_FAIL, NULL, worker_cut_off},
	{"peer-loss", DOCTOR_WARN, NULL, lossy},
	{"peer-loss", DOCTOR_WARN, NULL, worker_loses},
	{"peer-sends", DOCTOR_FAIL, NULL, worker_not_sent},
	{"peer-back", DOCTOR_UNKNOWN, NULL, no_session},
	{"peer-mtu", DOCTOR_FAIL, NULL, way_back_too_small},
	{"peer-legs", DOCTOR_WARN, NULL, peer_on_one_leg},
	{"peer-mtu", DOCTOR_FAIL, NULL, path_too_small},
	{"peer-gateways", DOCTOR_WARN, NULL, gateway_gone},
};
const size_t doctor_n_peer_breaks = ARRAY_SIZE(doctor_peer_breaks);
