/* SPDX-License-Identifier: BSD-3-Clause */
/* Sentences about paths in trouble, with the cause as far as this host can tell, and when they
 * count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/health/health_internal.h"
#include "agent/supervise/supervise_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *loss_text(const struct launch_path_stats *s)
{
	static char text[HEALTH_TEXT_MAX];

	health_explain_loss(s, text, sizeof(text));
	return text;
}

static void a_lossy_path_is_named_with_leg_peer_share_and_direction(void **state)
{
	struct launch_path_stats s = {.leg = "leg-a",
				      .peer = "host-b",
				      .loss_in_ppm = 312000,
				      .loss_out_ppm = 5100,
				      .lossy_in = 1};

	assert_string_equal(loss_text(&s), "path-loss: leg-a loses 31 % of packets from host-b");
	s.lossy_out = 1;
	assert_string_equal(loss_text(&s), "path-loss: leg-a loses 31 % of packets from host-b, "
					   "and 0.5 % of packets to this peer");
	s.lossy_in = 0;
	s.avoided = 1;
	assert_string_equal(
		loss_text(&s),
		"path-loss: leg-a loses 0.5 % of packets to host-b; other legs carry its load");
}

static void a_slow_path_is_named_with_leg_peer_and_both_round_trips(void **state)
{
	struct launch_path_stats s = {.leg = "leg-a",
				      .peer = "host-b",
				      .slow_ns = 12340 * NSEC_PER_USEC,
				      .slow_than_ns = 110 * NSEC_PER_USEC,
				      .slow_than = "leg-b"};
	char text[HEALTH_TEXT_MAX];

	health_explain_slow(&s, text, sizeof(text));
	assert_string_equal(
		text, "path-slow: leg-a has a round trip of 12.3 ms to host-b, leg-b 0.11 ms");
	s.slow_than[0] = '\0';
	health_explain_slow(&s, text, sizeof(text));
	assert_string_equal(
		text, "path-slow: leg-a has a round trip of 12.3 ms to host-b, usually 0.11 ms");
}

/* Seconds in which a place passes and drops that many packets each. */
static void pass(struct health_drops *d, unsigned seconds, uint64_t passed, uint64_t dropped,
		 uint64_t *now)
{
	static uint64_t all_passed, all_dropped;

	if (d->since_ns == 0)
		all_passed = all_dropped = 0;
	for (unsigned i = 0; i < seconds; i++, *now += NSEC_PER_SEC) {
		all_passed += passed;
		all_dropped += dropped;
		health_drops_take(d, all_passed, all_dropped, *now);
	}
}

static void drops_of_this_host_count_if_they_last(void **state)
{
	struct health_drops d = {.is_bad = false};
	uint64_t now = NSEC_PER_SEC;
	char text[64];

	pass(&d, 10, 1000, 0, &now);
	assert_false(d.is_bad);
	pass(&d, 3, 900, 100, &now);
	pass(&d, 10, 1000, 0, &now);
	assert_false(d.is_bad); /* one burst */
	pass(&d, 9, 900, 100, &now);
	assert_true(d.is_bad);
	assert_string_equal(health_drops_format(&d, text, sizeof(text)),
			    "10 % of the packets (100 a second)");
	pass(&d, 3, 1000, 0, &now);
	assert_true(d.is_bad); /* it does not flap */
	pass(&d, 6, 1000, 0, &now);
	assert_false(d.is_bad);
}

static void few_drops_and_new_counters_are_no_drops(void **state)
{
	struct health_drops d = {.is_bad = false};
	uint64_t now = NSEC_PER_SEC;

	pass(&d, 30, 10000, 40, &now); /* 0.4 % */
	assert_false(d.is_bad);
	pass(&d, 30, 5, 1, &now); /* 17 %, of a few packets */
	assert_false(d.is_bad);
	health_drops_take(&d, 5000000, 4000000, now += 3600 * NSEC_PER_SEC);
	health_drops_take(&d, 10, 0, now += 3 * NSEC_PER_SEC); /* the worker was restarted */
	health_drops_take(&d, 20, 0, now += 3 * NSEC_PER_SEC);
	assert_false(d.is_bad);
}

static const char arp[] =
	"IP address       HW type     Flags       HW address            Mask     Device\n"
	"10.10.1.20       0x1         0x2         02:00:00:00:00:20     *        eth1\n"
	"10.10.1.21       0x1         0x0         00:00:00:00:00:00     *        eth1\n"
	"10.10.1.22       0x1         0x6         02:00:00:00:00:22     *        eth1\n";

struct path_case {
	struct plan plan;
	struct launch_config c;
	struct launch_stats page;
};

static const char *path_text(const struct path_case *k, const char *remote)
{
	static char text[HEALTH_TEXT_MAX];

	health_explain_path(&k->c, &k->page, &k->plan, &k->c.ports[1], "host-b", remote, arp, text,
			    sizeof(text));
	return text;
}

static struct path_case *path_case_new(void)
{
	struct path_case *k = calloc(1, sizeof(*k));

	assert_non_null(k);
	k->c.n_ports = 2;
	strcpy(k->c.ports[1].leg, "leg-a");
	strcpy(k->c.ports[1].ifname, "eth1");
	k->c.ports[1].udp_port = 7411;
	assert_int_equal(ip_prefix_parse("10.10.1.10/24", &k->c.ports[1].ip), 0);
	return k;
}

static void neighbour_entries_tell_why_a_path_is_silent(void **state)
{
	struct path_case *k = path_case_new();

	assert_string_equal(
		path_text(k, "10.10.1.20"),
		"no-answer: host-b's 10.10.1.20 answers ARP on eth1, but its UDP port 7411 does "
		"not answer: the peer's leg or the route to it is down, or another host has taken "
		"the address, or a firewall drops the packets (MAC address 02:00:00:00:00:20)");
	assert_ptr_equal(strstr(path_text(k, "10.10.1.21"), "no-neighbour: "),
			 path_text(k, "10.10.1.21"));
	assert_string_equal(path_text(k, "10.10.1.22"),
			    "neighbour-fixed: UDP port 7411 of host-b's 10.10.1.22 does not "
			    "answer, and eth1 has a permanent neighbour entry with MAC address "
			    "02:00:00:00:00:22 for it; if this MAC address is wrong, remove the "
			    "entry (ip neigh del)");
	free(k);
}

static void a_rule_for_marked_packets_may_be_why_a_path_is_silent(void **state)
{
	struct path_case *k = path_case_new();

	k->plan.n_legs = 2;
	strcpy(k->plan.legs[0].name, "leg-b");
	strcpy(k->plan.legs[1].name, "leg-a");
	k->plan.legs[0].mark = 0x71;
	assert_null(strstr(path_text(k, "10.10.1.20"), "mark"));
	k->plan.legs[1].mark = 0x72;
	k->plan.legs[1].mark_rule = 52;
	assert_string_equal(
		path_text(k, "10.10.1.20"),
		"no-answer: host-b's 10.10.1.20 answers ARP on eth1, but its UDP port 7411 does "
		"not answer: routing rule 52 of this host leads packets with mark 0x72 elsewhere, "
		"or the peer's leg or the route to it is down, or another host has taken the "
		"address, or a firewall drops the packets (MAC address 02:00:00:00:00:20)");
	free(k);
}

static void a_refusal_of_this_host_comes_before_all_guesses(void **state)
{
	struct path_case *k = path_case_new();
	struct launch_refusal *r = &k->page.ports[1].refusals[2];

	r->error = EPERM;
	r->at_ns = clock_now_ns();
	assert_int_equal(ip_addr_parse("10.10.1.20", &r->to), 0);
	assert_string_equal(path_text(k, "10.10.1.20"),
			    "send-refused: this host refuses to send from leg-a (eth1) to host-b's "
			    "10.10.1.20: Operation not permitted: a firewall of this host drops "
			    "the packets (nft list ruleset)");
	assert_non_null(strstr(path_text(k, "10.10.1.21"), "no-neighbour: ")); /* another peer */
	r->error = ENETUNREACH;
	assert_non_null(strstr(path_text(k, "10.10.1.20"),
			       "Network is unreachable: there is no route from the leg's address"));
	r->at_ns -= 5 * NSEC_PER_SEC / 2; /* it no longer does */
	assert_non_null(strstr(path_text(k, "10.10.1.20"), "no-answer: "));
	free(k);
}

static void a_neighbour_that_does_not_answer_is_no_refusal_of_this_host(void **state)
{
	struct path_case *k = path_case_new();
	struct launch_refusal *r = &k->page.ports[1].refusals[0];

	r->error = EHOSTUNREACH;
	r->at_ns = clock_now_ns();
	assert_int_equal(ip_addr_parse("10.10.1.21", &r->to), 0);
	assert_non_null(strstr(path_text(k, "10.10.1.21"), "no-neighbour: "));
	assert_int_equal(ip_addr_parse("10.10.1.20", &r->to), 0); /* it answers */
	assert_non_null(strstr(path_text(k, "10.10.1.20"), "the route has the type unreachable"));
	free(k);
}

/* A worker with a working path via leg-b and a silent one via leg-a. */
struct silent_case {
	struct path_case *k;
	struct sup_worker w;
	struct sup sup;
	struct carriers carriers;
	struct plan *plan; /* NULL: none */
	struct spec spec;
	struct health h;
};

static void silent_case_init(struct silent_case *s)
{
	struct launch_path_stats *paths;

	*s = (struct silent_case){.k = path_case_new()};
	paths = s->k->page.paths;
	strcpy(s->k->c.ports[0].leg, "leg-b");
	s->k->page.n_paths = 2;
	for (int i = 0; i < 2; i++) {
		strcpy(paths[i].leg, s->k->c.ports[i].leg);
		strcpy(paths[i].peer, "host-b");
		strcpy(paths[i].remote, i ? "10.10.1.20" : "10.20.1.20");
	}
	paths[0].up = 1;
	s->w = (struct sup_worker){
		.id = 1, .state = SUP_UP, .wanted = true, .stats = &s->k->page, .sup = &s->sup};
	s->w.config = s->k->c;
	s->sup.workers = &s->w;
}

static void silent_case_done(struct silent_case *s)
{
	health_done(&s->h);
	free(s->k);
}

static void refuse(struct silent_case *s, uint64_t at_ns)
{
	struct launch_refusal *r = &s->k->page.ports[1].refusals[0];

	r->error = EPERM;
	r->at_ns = at_ns;
	assert_int_equal(ip_addr_parse("10.10.1.20", &r->to), 0);
}

/* The only problem begins with that code; "": there is none. */
static void expect_problem(struct silent_case *s, const char *code)
{
	const struct health_inputs in = {
		.sup = &s->sup, .carriers = &s->carriers, .spec = &s->spec, .plan = s->plan};
	char want[64];
	json_t *problems;

	health_check(&s->h, &in, &problems);
	assert_int_equal(json_array_size(problems), *code ? 1 : 0);
	snprintf(want, sizeof(want), "worker 1: %s: ", code);
	if (*code)
		assert_ptr_equal(strstr(json_string_value(json_array_get(problems, 0)), want),
				 json_string_value(json_array_get(problems, 0)));
	json_decref(problems);
}

static void a_path_that_is_down_for_less_than_three_seconds_is_no_problem(void **state)
{
	struct silent_case s;

	silent_case_init(&s);
	expect_problem(&s, "");
	assert_int_equal(s.h.n, 1);
	s.h.entries[0].due_ns -= 5 * NSEC_PER_SEC / 2;
	expect_problem(&s, "");
	s.h.entries[0].due_ns -= NSEC_PER_SEC / 2;
	expect_problem(&s, "no-answer");
	silent_case_done(&s);
}

static void a_path_of_a_refused_mount_is_not_blamed_on_the_network(void **state)
{
	struct silent_case s;

	silent_case_init(&s);
	s.w.config.role = LAUNCH_FRONTEND;
	s.k->page.paths[1].serves = 3;
	expect_problem(&s, "");
	assert_int_equal(s.h.n, 1);
	strcpy(s.k->page.mounts[3].reason, "not-allowed: host-b does not let this host use it");
	expect_problem(&s, "");
	assert_int_equal(s.h.n, 0);
	silent_case_done(&s);
}

static void a_guess_replaces_a_known_cause_only_after_three_seconds(void **state)
{
	struct silent_case s;

	silent_case_init(&s);
	refuse(&s, clock_now_ns());
	expect_problem(&s, "");
	s.h.entries[0].due_ns = 0;
	expect_problem(&s, "send-refused");
	refuse(&s, clock_now_ns() - 5 * NSEC_PER_SEC / 2); /* it no longer does */
	expect_problem(&s, "send-refused");
	s.h.entries[0].guess_since_ns -= 2 * NSEC_PER_SEC;
	expect_problem(&s, "send-refused");
	s.h.entries[0].guess_since_ns -= NSEC_PER_SEC;
	expect_problem(&s, "no-answer");
	refuse(&s, clock_now_ns()); /* a known cause replaces a guess at once */
	expect_problem(&s, "send-refused");
	s.k->page.paths[1].up = 1;
	expect_problem(&s, "");
	silent_case_done(&s);
}

/* For example, a cable is plugged in again while the other leg is silent: for a moment, both legs
 * are silent. */
static void another_guess_replaces_a_guess_only_after_three_seconds(void **state)
{
	const struct health_inputs in = {.sup = NULL};
	struct health h = {.n = 0};
	struct sup_worker w = {.id = 1};
	struct health_look l = {.h = &h, .in = &in, .w = &w, .now = 10 * NSEC_PER_SEC};
	struct health_entry *e;

	health_note(&l, 0, HEALTH_MOUNT, "/mnt", "no-answer: via leg-b");
	e = health_note(&l, 0, HEALTH_MOUNT, "/mnt", "no-neighbour: via leg-a");
	assert_string_equal(e->text, "no-answer: via leg-b");
	l.now += 2 * NSEC_PER_SEC;
	health_note(&l, 0, HEALTH_MOUNT, "/mnt", "no-answer: via leg-b");
	l.now += 2 * NSEC_PER_SEC;
	health_note(&l, 0, HEALTH_MOUNT, "/mnt", "no-neighbour: via leg-a");
	l.now += 2 * NSEC_PER_SEC;
	health_note(&l, 0, HEALTH_MOUNT, "/mnt", "no-neighbour: via leg-a");
	assert_string_equal(e->text, "no-answer: via leg-b");
	l.now += NSEC_PER_SEC;
	health_note(&l, 0, HEALTH_MOUNT, "/mnt", "no-neighbour: via leg-a");
	assert_string_equal(e->text, "no-neighbour: via leg-a");
	health_note(&l, 0, HEALTH_MOUNT, "/mnt", "send-refused: via leg-b");
	assert_string_equal(e->text, "send-refused: via leg-b");
	health_done(&h);
}

/* As when a server answers again after a while: its mounts are served a moment later. */
static void a_guess_of_another_kind_waits_for_three_seconds_of_its_own(void **state)
{
	const struct health_inputs in = {.sup = NULL};
	struct health h = {.n = 0};
	struct sup_worker w = {.id = 1};
	struct health_look l = {.h = &h, .in = &in, .w = &w, .now = 10 * NSEC_PER_SEC};
	struct health_entry *e;

	health_note(&l, 0, HEALTH_MOUNT, "/mnt", "no-answer: via leg-a");
	health_note(&l, 0, HEALTH_MOUNT, "/mnt", "no-answer: via leg-b");
	l.now += 4 * NSEC_PER_SEC;
	e = health_note(&l, 0, HEALTH_MOUNT, "/mnt", "no-service: the server is reachable");
	assert_string_equal(e->text, "no-answer: via leg-a");
	l.now += 3 * NSEC_PER_SEC;
	e = health_note(&l, 0, HEALTH_MOUNT, "/mnt", "no-service: the server is reachable");
	assert_string_equal(e->text, "no-service: the server is reachable");
	health_done(&h);
}

/* Like a server's worker whose client cannot connect: its page has no path, only the port's
 * refusals. */
static void a_refusal_to_send_without_a_path_is_named(void **state)
{
	struct silent_case s;

	silent_case_init(&s);
	s.k->page.n_paths = 0;
	refuse(&s, clock_now_ns());
	expect_problem(&s, "");
	assert_int_equal(s.h.n, 1);
	s.h.entries[0].due_ns = 0;
	expect_problem(&s, "send-refused");
	assert_string_equal(s.h.entries[0].text,
			    "send-refused: this host refuses to send from leg-a (eth1) to a "
			    "client's 10.10.1.20: Operation not permitted: a firewall of this host "
			    "drops the packets (nft list ruleset)");
	s.spec.peers = &(struct spec_peer){
		.name = "host-b", .ips = &s.k->page.ports[1].refusals[0].to, .n_ips = 1};
	s.spec.n_peers = 1;
	expect_problem(&s, "send-refused");
	assert_non_null(strstr(s.h.entries[0].text, "to host-b's 10.10.1.20: "));
	refuse(&s, clock_now_ns() - 5 * NSEC_PER_SEC / 2); /* it no longer does */
	expect_problem(&s, "");
	silent_case_done(&s);
}

/* A server's client that answers on no path may be off, so its paths are no problem. */
static void a_refusal_to_send_to_a_silent_client_is_named_once(void **state)
{
	struct silent_case s;

	silent_case_init(&s);
	s.k->page.paths[0].up = 0;
	expect_problem(&s, "");
	refuse(&s, clock_now_ns());
	expect_problem(&s, "");
	assert_int_equal(s.h.n, 1);
	s.h.entries[0].due_ns = 0;
	expect_problem(&s, "send-refused");
	s.k->page.paths[0].up = 1; /* the reason of the path that is down names it */
	refuse(&s, clock_now_ns());
	expect_problem(&s, "");
	s.h.entries[0].due_ns = 0;
	expect_problem(&s, "send-refused");
	assert_int_equal(s.h.n, 1);
	assert_int_equal(s.h.entries[0].kind, HEALTH_PATH);
	s.k->page.paths[1].up = 1;
	expect_problem(&s, "");
	silent_case_done(&s);
}

static const char *neighbour_problem(struct silent_case *s, struct wiring *wiring)
{
	const struct health_inputs in = {
		.sup = &s->sup, .carriers = &s->carriers, .wiring = wiring};
	struct health_look l = {.h = &s->h, .in = &in, .w = &s->w, .arp = strdup(arp)};

	health_look_at_neighbours(&l);
	free(l.arp);
	health_drop_unseen(&s->h);
	return s->h.n ? s->h.entries[0].text : "";
}

/* Like a server with that entry: it hears the client, which gets none of its answers. */
static void a_permanent_neighbour_entry_is_named_if_another_station_answers(void **state)
{
	struct wiring *w = calloc(1, sizeof(*w));
	struct wiring_ask *q = &w->v.asks[0];
	struct silent_case s;

	assert_non_null(w);
	silent_case_init(&s);
	s.k->page.n_paths = 0;
	w->v.n_legs = w->v.n_asks = 1;
	strcpy(w->v.legs[0].name, "leg-a");
	w->v.legs[0].ifindex = 7;
	*q = (struct wiring_ask){.question = WIRING_ASK_PEER, .ifindex = 7, .answered = true};
	strcpy(q->peer, "host-b");
	assert_int_equal(ip_addr_parse("10.10.1.22", &q->ip), 0);
	q->by = (struct mac_addr){{2, 0, 0, 0, 0, 0x99}};
	assert_string_equal(neighbour_problem(&s, w),
			    "neighbour-fixed: host-b's 10.10.1.22 answers ARP on eth1 with MAC "
			    "address 02:00:00:00:00:99, but eth1 has a permanent neighbour entry "
			    "with MAC address 02:00:00:00:00:22 for it: remove the entry (ip neigh "
			    "del)");
	assert_int_equal(s.h.entries[0].kind, HEALTH_PATH);
	q->by.bytes[5] = 0x22;
	assert_string_equal(neighbour_problem(&s, w), "");
	q->by.bytes[5] = 0x99;
	assert_string_not_equal(neighbour_problem(&s, w), "");
	q->answered = false;
	assert_string_equal(neighbour_problem(&s, w), "");
	q->answered = true;
	assert_int_equal(ip_addr_parse("10.10.1.20", &q->ip), 0); /* not a permanent entry */
	assert_string_equal(neighbour_problem(&s, w), "");
	free(w);
	silent_case_done(&s);
}

static void a_refusal_that_is_no_fault_of_this_host_is_not_named(void **state)
{
	struct path_case *k = path_case_new();
	struct launch_refusal *r = &k->page.ports[1].refusals[0];
	char text[HEALTH_TEXT_MAX];
	struct ip_addr to;

	r->error = EHOSTUNREACH;
	r->at_ns = clock_now_ns();
	for (unsigned i = 0; i < 3; i++) {
		static const char *const ips[] = {"10.10.1.20", "10.10.1.21", "10.99.0.1"};

		assert_int_equal(ip_addr_parse(ips[i], &to), 0);
		r->to = to;
		/* no ARP reply; an address that no network of the leg leads to */
		assert_int_equal(health_explain_refusal(&k->c, &k->page, &k->c.ports[1], "host-b",
							&to, arp, text, sizeof(text)),
				 i == 0);
	}
	free(k);
}

/* The worker's socket drops a fifth of what arrives; the page has only its counters. */
static void a_full_receive_queue_is_named_with_leg_and_rate(void **state)
{
	struct silent_case s;
	struct launch_port_stats *st;
	struct health_port *p;

	silent_case_init(&s);
	s.k->page.paths[1].up = 1;
	st = &s.k->page.ports[1];
	st->counts = 1;
	strcpy(st->by, "udp");
	expect_problem(&s, "");
	for (unsigned i = 0; i < 2; i++) {
		st->counters.rx_packets += 800;
		st->counters.rx_missed += 200;
		assert_int_equal(s.h.n_ports, 1);
		p = &s.h.ports[0];
		p->missed.since_ns -= 3 * NSEC_PER_SEC;
		expect_problem(&s, i ? "rx-drops" : "");
	}
	assert_non_null(strstr(s.h.entries[0].text, "leg-a (eth1) drops 20 % of the packets"));
	assert_non_null(strstr(s.h.entries[0].text, "the worker's socket is full"));
	silent_case_done(&s);
}

static void a_slow_leg_is_a_problem_while_its_path_is_up(void **state)
{
	struct silent_case s;
	struct launch_path_stats *p;

	silent_case_init(&s);
	p = &s.k->page.paths[1];
	p->up = 1;
	p->slow_ns = 10 * NSEC_PER_MSEC;
	p->slow_than_ns = NSEC_PER_MSEC;
	expect_problem(&s, "path-slow");
	assert_string_equal(health_path_reason(&s.h, 1, "leg-a", "host-b", true),
			    s.h.entries[0].text);
	p->slow_ns = 0;
	expect_problem(&s, "");
	silent_case_done(&s);
}

static void small_frames_of_a_diverted_leg_are_no_problem_of_their_own(void **state)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	struct silent_case s;

	assert_non_null(plan);
	plan->n_legs = 2;
	strcpy(plan->legs[0].name, "leg-a");
	strcpy(plan->legs[1].name, "leg-b");

	silent_case_init(&s);
	s.plan = plan;
	s.k->page.paths[1].up = 1;
	strcpy(s.k->page.reason, "path-mtu: leg-a: frames of 9000 bytes do not reach host-b");
	expect_problem(&s, ""); /* the agent may just have reset the MTU of the leg */
	s.h.entries[0].due_ns -= 3 * NSEC_PER_SEC;
	expect_problem(&s, "path-mtu");
	reason_set(&plan->legs[1].reason, "diverted", "packets from 10.20.1.10 go via eth0");
	expect_problem(&s, "path-mtu");
	reason_set(&plan->legs[0].reason, "diverted", "packets from 10.10.1.10 go via eth0");
	expect_problem(&s, "");
	reason_clear(&plan->legs[0].reason); /* the path still has to find its MTU */
	expect_problem(&s, "");
	s.h.entries[0].due_ns -= 10 * NSEC_PER_SEC;
	expect_problem(&s, "path-mtu");
	silent_case_done(&s);
	free(plan);
}

static void a_worker_without_legs_has_the_reason_of_the_plan(void **state)
{
	struct plan_worker pw = {.id = 1};
	struct plan plan = {.workers = &pw, .n_workers = 1};
	struct silent_case s;
	struct health_inputs in = {.sup = &s.sup, .carriers = &s.carriers, .plan = &plan};
	json_t *problems;

	silent_case_init(&s);
	s.w.state = SUP_FAILED;
	s.w.config.n_ports = 0;
	strcpy(s.w.reason, "its core or all of its legs are missing");
	reason_set(&pw.reason, "no-core", "core 63 is not on this host");
	health_check(&s.h, &in, &problems);
	assert_int_equal(json_array_size(problems), 1);
	assert_string_equal(json_string_value(json_array_get(problems, 0)),
			    "worker 1: is FAILED: no-core: core 63 is not on this host");
	json_decref(problems);
	silent_case_done(&s);
}

/* Each line a path: leg, peer, address of the peer; up and standby by its letters. */
struct label_case {
	const char *leg, *peer, *remote, *is;
};

static bool is_unshared(const struct label_case *c, size_t n, const char *leg, bool mounts)
{
	struct launch_path_stats paths[8];

	assert_true(n <= 8);
	for (size_t i = 0; i < n; i++) {
		paths[i] = (struct launch_path_stats){.up = strchr(c[i].is, 'u') != NULL,
						      .standby = strchr(c[i].is, 's') != NULL};
		strcpy(paths[i].leg, c[i].leg);
		strcpy(paths[i].peer, c[i].peer);
		strcpy(paths[i].remote, c[i].remote);
	}
	return health_label_is_unshared(paths, n, leg, "host-b", mounts);
}

#define IS_UNSHARED(leg, mounts, ...)                                                             \
	is_unshared((const struct label_case[]){__VA_ARGS__},                                     \
		    sizeof((const struct label_case[]){__VA_ARGS__}) / sizeof(struct label_case), \
		    leg, mounts)

static void a_leg_whose_label_no_leg_of_the_peer_has_is_found(void **state)
{
	/* A typing error in the label of leg-a, on separate networks, and on linked ones. */
	assert_true(IS_UNSHARED("leg-a", true, {"leg-a", "host-b", "10.10.1.20", "us"},
				{"leg-b", "host-b", "10.20.1.20", "u"},
				{"leg-a", "host-b", "10.20.1.20", "s"}));
	assert_false(IS_UNSHARED("leg-b", true, {"leg-a", "host-b", "10.10.1.20", "us"},
				 {"leg-b", "host-b", "10.20.1.20", "u"}));
	assert_true(IS_UNSHARED("leg-a", true, {"leg-a", "host-b", "10.10.1.20", "us"},
				{"leg-b", "host-b", "10.20.1.20", "u"},
				{"leg-a", "host-b", "10.20.1.20", "us"},
				{"leg-b", "host-b", "10.10.1.20", "us"}));
	/* In the labels of both legs. */
	assert_true(IS_UNSHARED("leg-a", true, {"leg-a", "host-b", "10.10.1.20", "us"},
				{"leg-b", "host-b", "10.20.1.20", "us"}));
	/* The other leg is down. */
	assert_true(IS_UNSHARED("leg-a", true, {"leg-a", "host-b", "10.10.1.20", "us"},
				{"leg-b", "host-b", "10.20.1.20", ""}));
	/* The same on a client whose other server shares the label. */
	assert_true(IS_UNSHARED("leg-a", true, {"leg-a", "host-b", "10.10.1.20", "us"},
				{"leg-b", "host-b", "10.20.1.20", "u"},
				{"leg-a", "host-c", "10.10.1.30", "u"}));
}

static void legs_that_stand_by_as_configured_are_accepted(void **state)
{
	/* Equal labels, on linked networks. */
	assert_false(IS_UNSHARED("leg-a", true, {"leg-a", "host-b", "10.10.1.20", "u"},
				 {"leg-b", "host-b", "10.20.1.20", "u"},
				 {"leg-a", "host-b", "10.20.1.20", "us"},
				 {"leg-b", "host-b", "10.10.1.20", "us"}));
	/* The peer has one leg, or one of its legs is disabled or down. */
	assert_false(IS_UNSHARED("leg-b", true, {"leg-a", "host-b", "10.10.1.20", "u"},
				 {"leg-b", "host-b", "10.10.1.20", "us"}));
	/* One leg, at a third switch. */
	assert_false(IS_UNSHARED("leg-b", true, {"leg-a", "host-b", "10.30.1.20", "us"},
				 {"leg-b", "host-b", "10.30.1.20", "us"}));
	/* This host's leg-a and the peer's leg-b are down. */
	assert_false(IS_UNSHARED("leg-b", true, {"leg-b", "host-b", "10.10.1.20", "us"},
				 {"leg-a", "host-b", "10.10.1.20", ""},
				 {"leg-b", "host-b", "10.20.1.20", ""}));
	/* The peer's leg-a is down, and so is this host's leg-b. */
	assert_false(IS_UNSHARED("leg-a", true, {"leg-a", "host-b", "10.20.1.20", "us"},
				 {"leg-a", "host-b", "10.10.1.20", ""},
				 {"leg-b", "host-b", "10.20.1.20", ""}));
	/* This host's leg-a is down, or it has no other leg. */
	assert_false(IS_UNSHARED("leg-b", true, {"leg-b", "host-b", "10.10.1.20", "us"},
				 {"leg-b", "host-b", "10.20.1.20", "u"}));
	/* A server of several clients: the label of the client is the wrong one. */
	assert_false(IS_UNSHARED("leg-a", false, {"leg-a", "host-b", "10.10.1.10", "us"},
				 {"leg-b", "host-b", "10.20.1.10", "u"},
				 {"leg-a", "host-c", "10.10.1.11", "u"}));
	assert_true(IS_UNSHARED("leg-a", false, {"leg-a", "host-b", "10.10.1.10", "us"},
				{"leg-b", "host-b", "10.20.1.10", "u"}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbour_entries_tell_why_a_path_is_silent),
		cmocka_unit_test(a_rule_for_marked_packets_may_be_why_a_path_is_silent),
		cmocka_unit_test(a_refusal_of_this_host_comes_before_all_guesses),
		cmocka_unit_test(a_neighbour_that_does_not_answer_is_no_refusal_of_this_host),
		cmocka_unit_test(small_frames_of_a_diverted_leg_are_no_problem_of_their_own),
		cmocka_unit_test(a_worker_without_legs_has_the_reason_of_the_plan),
		cmocka_unit_test(a_path_that_is_down_for_less_than_three_seconds_is_no_problem),
		cmocka_unit_test(a_path_of_a_refused_mount_is_not_blamed_on_the_network),
		cmocka_unit_test(a_guess_replaces_a_known_cause_only_after_three_seconds),
		cmocka_unit_test(another_guess_replaces_a_guess_only_after_three_seconds),
		cmocka_unit_test(a_guess_of_another_kind_waits_for_three_seconds_of_its_own),
		cmocka_unit_test(a_refusal_to_send_without_a_path_is_named),
		cmocka_unit_test(a_refusal_to_send_to_a_silent_client_is_named_once),
		cmocka_unit_test(a_refusal_that_is_no_fault_of_this_host_is_not_named),
		cmocka_unit_test(a_permanent_neighbour_entry_is_named_if_another_station_answers),
		cmocka_unit_test(a_leg_whose_label_no_leg_of_the_peer_has_is_found),
		cmocka_unit_test(legs_that_stand_by_as_configured_are_accepted),
		cmocka_unit_test(a_lossy_path_is_named_with_leg_peer_share_and_direction),
		cmocka_unit_test(a_slow_path_is_named_with_leg_peer_and_both_round_trips),
		cmocka_unit_test(drops_of_this_host_count_if_they_last),
		cmocka_unit_test(few_drops_and_new_counters_are_no_drops),
		cmocka_unit_test(a_full_receive_queue_is_named_with_leg_and_rate),
		cmocka_unit_test(a_slow_leg_is_a_problem_while_its_path_is_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
