/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests what `plenum doctor` says of peers, cables and neighbours: the evidence names what was
 * seen, the remedy fits just that, and what was not looked at is unknown. */
#include "netcfg/host/inventory_build.h"
#include "tests/unit/doctor_breaks.h"

/* A peer that was not probed is not reported as answering. */
static void test_skipped_probes_are_reported(void **state)
{
	struct rig *g = rig_new(NULL);

	assert_int_equal(rig_state_of(g, "peer-answers"), DOCTOR_PASS);
	g->p.n_skipped = 3;
	assert_int_equal(rig_state_of(g, "peer-answers"), DOCTOR_UNKNOWN);
	assert_int_equal(rig_state_of(g, "peer-legs"), DOCTOR_UNKNOWN);
	rig_free(g);
}

/* The evidence names what was seen, and the remedy fits just that. */
static void test_silence_of_a_data_port_is_explained(void **state)
{
	const struct ip_addr router = host_addr("10.10.0.1");
	struct rig *g = rig_new(NULL);
	struct port_probe *s = &g->p.probes[0].port;
	struct doctor_result r;

	json_array_clear(json_object_get(g->p.status, "paths"));
	s->n_answered = 0;
	r = rig_result_of(g, "peer-legs");
	assert_int_equal(r.state, DOCTOR_WARN);
	assert_non_null(strstr(r.evidence, "its UDP port 7411 is silent"));
	assert_non_null(strstr(r.remedy, "nft list ruleset"));
	g->p.probes[0].small = false;
	r = rig_result_of(g, "peer-legs");
	assert_non_null(strstr(r.evidence, "neither at UDP port 7411 nor to echo requests"));
	assert_null(strstr(r.remedy, "nft"));
	s->icmp_error = ECONNREFUSED;
	s->icmp_by = s->to;
	r = rig_result_of(g, "peer-legs");
	assert_non_null(strstr(r.evidence, "refuses UDP port 7411"));
	assert_non_null(strstr(r.remedy, "systemctl start plenumd"));
	s->icmp_error = EHOSTUNREACH;
	s->icmp_by = router;
	r = rig_result_of(g, "peer-legs");
	assert_non_null(strstr(r.evidence, "10.10.0.1 rejects packets"));
	s->icmp_by = s->from;
	r = rig_result_of(g, "peer-legs");
	assert_non_null(strstr(r.evidence, "answers ARP or neighbour discovery for 10.10.2.10"));
	rig_free(g);
}

/* A refusal of this host must not be reported as a fault of the peer. */
static void test_a_refused_packet_is_named_with_its_errno(void **state)
{
	static const struct {
		int error;
		const char *remedy;
	} cases[] = {{EPERM, "nft list ruleset"},
		     {EACCES, "ip route get 10.10.2.10 from 10.10.1.10"},
		     {ENETUNREACH, "ip route get 10.10.2.10 from 10.10.1.10"},
		     {ENOBUFS, "tc -s qdisc show"}};
	struct rig *g = rig_new(NULL);
	struct doctor_result r;
	char text[32];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		g->p.probes[0].port.send_error = -cases[i].error;
		r = rig_result_of(g, "peer-sends");
		assert_int_equal(r.state, DOCTOR_FAIL);
		snprintf(text, sizeof(text), "(errno %d)", cases[i].error);
		assert_non_null(strstr(r.evidence, text));
		assert_non_null(strstr(r.remedy, cases[i].remedy));
	}
	rig_free(g);
}

/* A worker holds the data IP: only its paths can tell. */
static void test_a_data_ip_of_a_worker_is_judged_by_its_paths(void **state)
{
	struct rig *g = rig_new(NULL);

	for (size_t i = 0; i < 2; i++) {
		g->p.probes[i].held = true;
		g->p.probes[i].echoes = g->p.probes[i].small = g->p.probes[i].full = false;
		g->p.probes[i].port = g->p.probes[i].port_full = (struct port_probe){.port = 7411};
	}
	assert_int_equal(rig_state_of(g, "peer-legs"), DOCTOR_PASS);
	assert_int_equal(rig_state_of(g, "peer-mtu"), DOCTOR_UNKNOWN);
	json_object_set_new(rig_paths(g, 0), "mtu", json_integer(1500));
	assert_int_equal(rig_state_of(g, "peer-mtu"), DOCTOR_FAIL);
	json_array_clear(json_object_get(g->p.status, "paths"));
	assert_int_equal(rig_state_of(g, "peer-answers"), DOCTOR_UNKNOWN);
	assert_int_equal(rig_state_of(g, "peer-legs"), DOCTOR_UNKNOWN);
	rig_free(g);
}

/* Without the right to send ARP, nothing is known of neighbours. */
static void test_neighbours_that_were_not_asked_are_unknown(void **state)
{
	static const char *const ids[] = {"address-duplicate", "arp-answers"};
	struct rig *g = rig_new(NULL);

	strcpy(g->p.no_arps, "needs root (CAP_NET_RAW)");
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		assert_int_equal(rig_state_of(g, ids[i]), DOCTOR_UNKNOWN);
		assert_non_null(strstr(rig_result_of(g, ids[i]).evidence, "CAP_NET_RAW"));
	}
	rig_free(g);
}

/* Linux answers probes for any of its addresses on any link: that alone proves no crossed cables.
 */
static void test_an_answer_for_another_leg_is_no_crossed_cable(void **state)
{
	struct rig *g = rig_new(NULL);
	struct doctor_arp *a = rig_arp(g, DOCTOR_ARP_PEER_LEG, "leg-a", HOST_VETH0, "10.20.2.10");

	a->q.taken = true;
	a->q.by = (struct mac_addr){{2, 0, 0, 0, 0, 0xb0}};
	strcpy(a->peer, "host-b");
	strcpy(a->other, "leg-b");
	assert_false(doctor_is_crossed(&g->p, "leg-a"));
	/* The peer lacks its address of leg-a; the other one answers on leg-b by another link. */
	rig_find_arp(g, DOCTOR_ARP_PEER, 0)->q.taken = false;
	assert_false(doctor_is_crossed(&g->p, "leg-a"));
	rig_find_arp(g, DOCTOR_ARP_PEER, 1)->q.taken = false;
	assert_true(doctor_is_crossed(&g->p, "leg-a"));
	rig_free(g);
}

/* Without LLDP a leg on which a peer answers is right; one where none does is not known. */
static void test_crossed_cables_need_no_lldp(void **state)
{
	struct rig *g = rig_new(NULL);

	json_array_clear(json_object_get(g->p.status, "legs"));
	assert_int_equal(rig_state_of(g, "leg-crossed"), DOCTOR_PASS);
	json_array_clear(json_object_get(g->p.status, "paths"));
	g->p.probes[1].port.n_answered = 0;
	assert_int_equal(rig_state_of(g, "leg-crossed"), DOCTOR_UNKNOWN);
	assert_non_null(strstr(rig_result_of(g, "leg-crossed").evidence, "leg leg-b"));
	rig_free(g);
}

/* The inventory does not tell which packets such a rule matches; answers of peers do. */
static void test_a_rule_by_mark_is_judged_by_the_answers(void **state)
{
	struct rig *g = rig_new(NULL);
	struct inv_rule *rule = inv_rule_add(g->p.inv);

	*rule = (struct inv_rule){.priority = 100, .table = 99, .family = AF_INET, .more = true};
	assert_int_equal(rig_state_of(g, "route-foreign"), DOCTOR_PASS);
	json_array_clear(json_object_get(g->p.status, "paths"));
	g->p.probes[0].port.n_answered = 0;
	assert_int_equal(rig_state_of(g, "route-foreign"), DOCTOR_UNKNOWN);
	assert_non_null(strstr(rig_result_of(g, "route-foreign").evidence, "rule 100"));
	rig_free(g);
}

static void tagged(struct rig *g)
{
	rig_change_spec(g, "10.20.1.40/16, mtu: 9000", "10.20.1.40/16, mtu: 9000, vlan: 100");
}

/* That a module is installed does not prove that it loads. */
static void test_an_installed_module_passes_only_in_use(void **state)
{
	static const char list[] = "/lib/modules/" RIG_KERNEL "/modules.dep";
	struct rig *g = rig_new(tagged);

	assert_int_equal(rig_state_of(g, "kernel-vlan"), DOCTOR_FAIL);
	rig_put(g, list, "kernel/net/8021q/8021q.ko.xz: kernel/net/802/garp.ko.xz\n");
	assert_int_equal(rig_state_of(g, "kernel-vlan"), DOCTOR_PASS); /* there is a VLAN link */
	for (size_t i = 0; i < g->p.inv->n_links; i++)
		if (g->p.inv->links[i].kind == INV_LINK_VLAN)
			g->p.inv->links[i].kind = INV_LINK_VETH;
	assert_int_equal(rig_state_of(g, "kernel-vlan"), DOCTOR_UNKNOWN);
	rig_put(g, "/proc/sys/kernel/modules_disabled", "1\n");
	assert_int_equal(rig_state_of(g, "kernel-vlan"), DOCTOR_FAIL);
	rig_put(g, "/sys/module/8021q/refcnt", "0\n");
	assert_int_equal(rig_state_of(g, "kernel-vlan"), DOCTOR_PASS);
	rig_free(g);
}

/* An address without its local route is repaired like one that is not there. */
static void test_a_missing_local_route_is_repaired(void **state)
{
	struct rig *g = rig_new(NULL);

	rig_data_ip(g)->local_missing = true;
	assert_int_equal(kernel_fake_replace(g->kernel, g->p.inv), 0);
	rig_plan(g);
	assert_int_equal(g->p.plan->n_steps, 1);
	assert_int_equal(rig_state_of(g, "address-set"), DOCTOR_FAIL);
	rig_apply(g);
	assert_false(rig_data_ip(g)->local_missing);
	assert_int_equal(rig_state_of(g, "address-set"), DOCTOR_PASS);
	rig_free(g);
}

/* A peer with one leg has no partner for the second leg here: its label is not wrong. */
static void test_a_peer_with_one_leg_shares_all_its_labels(void **state)
{
	struct rig *g = rig_new(NULL);

	json_object_set_new(rig_paths(g, 1), "standby", json_true());
	assert_int_equal(rig_state_of(g, "leg-labels"), DOCTOR_WARN);
	json_object_set_new(rig_paths(g, 1), "remote", json_string("10.10.2.10"));
	assert_int_equal(rig_state_of(g, "leg-labels"), DOCTOR_PASS);
	rig_free(g);
}

static void test_evidence_ends_with_a_whole_word(void **state)
{
	struct doctor_result r = {.state = DOCTOR_PASS};
	char text[2048] = "";

	for (size_t i = 0; i + 8 < sizeof(text); i += 5)
		strcat(text, "word ");
	doctor_report(&r, DOCTOR_FAIL, "%s", text);
	doctor_advise(&r, "%s", text);
	assert_string_equal(r.evidence + strlen(r.evidence) - 9, " word ...");
	assert_string_equal(r.remedy + strlen(r.remedy) - 9, " word ...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_skipped_probes_are_reported),
		cmocka_unit_test(test_silence_of_a_data_port_is_explained),
		cmocka_unit_test(test_a_refused_packet_is_named_with_its_errno),
		cmocka_unit_test(test_a_data_ip_of_a_worker_is_judged_by_its_paths),
		cmocka_unit_test(test_neighbours_that_were_not_asked_are_unknown),
		cmocka_unit_test(test_an_answer_for_another_leg_is_no_crossed_cable),
		cmocka_unit_test(test_crossed_cables_need_no_lldp),
		cmocka_unit_test(test_a_rule_by_mark_is_judged_by_the_answers),
		cmocka_unit_test(test_an_installed_module_passes_only_in_use),
		cmocka_unit_test(test_a_missing_local_route_is_repaired),
		cmocka_unit_test(test_a_peer_with_one_leg_shares_all_its_labels),
		cmocka_unit_test(test_evidence_ends_with_a_whole_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
