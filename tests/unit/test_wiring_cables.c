/* SPDX-License-Identifier: BSD-3-Clause */
/* Where cables lead: this host's legs and a peer in a simulated pair of networks, under a virtual
 * clock. */
#include "agent/wiring/wiring.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct ip_addr addr(const char *text)
{
	struct ip_addr ip;

	assert_int_equal(ip_addr_parse(text, &ip), 0);
	return ip;
}

#define MS NSEC_PER_MSEC
#define S NSEC_PER_SEC

static struct address_claim claim_by(const struct mac_addr *by, const struct ip_addr *sender,
				     const struct ip_addr *target)
{
	struct address_claim c = {.by = *by, .from = *by};

	c.sender = sender ? *sender : c.sender;
	c.target = target ? *target : c.target;
	return c;
}

static uint32_t a_random(void)
{
	static uint32_t x = 1;

	return x = x * 1664525 + 1013904223;
}

/* Two networks with a peer that runs Linux and Plenum: it answers a probe for any of its addresses
 * on any link, and a request only on the link by which it would send back. */
struct cables {
	struct wiring w;
	uint64_t now;
	unsigned net[2]; /* the network that each of our legs' cables leads to */
	bool away[2];	 /* the peer's address of that network is missing */
	bool off[2];	 /* the peer's link to that network is down */
	bool linked;	 /* the networks are linked */
	struct address_claim queue[32];
	uint32_t to[32];
	size_t n_queued;
	unsigned n_sent, n_crossed, n_mended, n_one, n_apart;
};

static const struct mac_addr leg_macs[2] = {{{2, 0, 0, 0, 0, 0xa}}, {{2, 0, 0, 0, 0, 0xb}}};
static const struct mac_addr peer_macs[2] = {{{2, 0, 0, 0, 1, 0xa}}, {{2, 0, 0, 0, 1, 0xb}}};
static const char *const leg_ips[2] = {"10.10.1.10", "10.20.1.10"};
static const char *const peer_ips[2] = {"10.10.1.20", "10.20.1.20"};

static void queue(struct cables *d, uint32_t ifindex, struct address_claim c)
{
	assert_true(d->n_queued < 32);
	d->queue[d->n_queued] = c;
	d->to[d->n_queued++] = ifindex;
}

static void cables_send(void *user, const struct wiring_packet *p)
{
	struct cables *d = user;
	const unsigned leg = p->leg->ifindex - 2, net = d->net[leg];

	d->n_sent++;
	if (d->net[!leg] == net ||
	    d->linked) /* the other leg hears the broadcast, and answers for itself */ {
		const struct ip_addr other = addr(leg_ips[!leg]);

		queue(d, 3 - leg, claim_by(&leg_macs[leg], p->from, p->ip));
		if (ip_addr_equal(p->ip, &other))
			queue(d, 2 + leg, claim_by(&leg_macs[!leg], &other, NULL));
	}
	for (unsigned n = 0; n < 2; n++) /* each link of the peer that hears the packet */
		for (unsigned i = 0; i < 2 && !d->off[n] && (n == net || d->linked); i++) {
			const struct ip_addr ip = addr(peer_ips[i]);

			if (!d->away[i] && ip_addr_equal(&ip, p->ip) && (!p->from || i == n))
				queue(d, 2 + leg, claim_by(&peer_macs[n], &ip, NULL));
		}
}

static void no_change(void *user, const struct wiring_leg *leg, const struct wiring_address *a)
{
	fail();
}

static void on_cable(void *user, enum wiring_fault f, bool begins, const struct wiring_leg *leg,
		     const struct wiring_leg *other)
{
	struct cables *d = user;

	assert_ptr_not_equal(leg, other);
	d->n_crossed += f == WIRING_CROSSED && begins;
	d->n_mended += f == WIRING_CROSSED && !begins;
	d->n_one += f == WIRING_ONE_NETWORK && begins;
	d->n_apart += f == WIRING_ONE_NETWORK && !begins;
}

static void add_ask(struct wiring_view *v, enum wiring_question question, unsigned leg,
		    unsigned other, const char *ip)
{
	struct wiring_ask *q = &v->asks[v->n_asks++];

	*q = (struct wiring_ask){.question = question,
				 .ifindex = 2 + leg,
				 .other = 2 + other,
				 .ip = addr(ip),
				 .peer = "host-b"};
	if (question == WIRING_ASK_PEER)
		q->from = addr(leg_ips[leg]);
}

static void cables_watch(struct cables *d)
{
	struct wiring_view v = {.n_legs = 2, .n_addresses = 2, .n_own = 2};

	v.own = calloc(2, sizeof(*v.own));
	assert_non_null(v.own);
	for (unsigned i = 0; i < 2; i++) {
		v.legs[i] = (struct wiring_leg){
			.ifindex = 2 + i, .mac = leg_macs[i], .carrier = true, .n_subnets = 1};
		v.legs[i].subnets[0] = (struct ip_prefix){.addr = addr(leg_ips[i]), .len = 24};
		strcpy(v.legs[i].name, i ? "leg-b" : "leg-a");
		strcpy(v.legs[i].ifname, i ? "eth2" : "eth1");
		v.addresses[i] = (struct wiring_address){
			.ip = addr(leg_ips[i]), .ifindex = 2 + i, .kind = WIRING_OWN};
		v.own[i] = leg_macs[i];
		add_ask(&v, WIRING_ASK_SELF, i, !i, leg_ips[!i]);
		add_ask(&v, WIRING_ASK_PEER, i, i, peer_ips[i]);
		add_ask(&v, WIRING_ASK_PEER_LEG, i, !i, peer_ips[!i]);
	}
	wiring_watch(&d->w, &v, d->now);
}

static void cables_run(struct cables *d, uint64_t ns)
{
	for (uint64_t end = d->now + ns; d->now < end; d->now += 10 * MS) {
		(void)wiring_run(&d->w, d->now);
		for (size_t i = 0; i < d->n_queued; i++)
			wiring_hear(&d->w, d->to[i], &d->queue[i], d->now);
		d->n_queued = 0;
	}
}

static int cables_setup(void **state)
{
	struct cables *d = calloc(1, sizeof(*d));
	const struct wiring_setup s = {.send = cables_send,
				       .on_change = no_change,
				       .on_cable = on_cable,
				       .random = a_random,
				       .user = d};

	assert_non_null(d);
	d->now = 1000 * S;
	d->net[1] = 1;
	wiring_init(&d->w, &s);
	cables_watch(d);
	*state = d;
	return 0;
}

static int cables_teardown(void **state)
{
	struct cables *d = *state;

	wiring_done(&d->w);
	free(d);
	return 0;
}

/* The cables go into these networks; the carriers go and come. */
static void plug(struct cables *d, unsigned a, unsigned b)
{
	for (uint32_t i = 2; i < 4; i++)
		wiring_carrier(&d->w, i, false, d->now);
	d->net[0] = a;
	d->net[1] = b;
	for (uint32_t i = 2; i < 4; i++)
		wiring_carrier(&d->w, i, true, d->now);
}

static void prove_one(struct cables *d, unsigned leg, bool proven)
{
	wiring_prove(&d->w, 2 + leg, proven, d->now);
}

static void prove(struct cables *d, bool proven)
{
	prove_one(d, 0, proven);
	prove_one(d, 1, proven);
}

static bool is_crossed(struct cables *d, const char *leg, const char *advice)
{
	struct reason why;

	return wiring_leg_reason(&d->w, leg, 0, &why) && strcmp(why.code, "crossed-cables") == 0 &&
	       strstr(why.text, advice);
}

static void crossed_cables_are_found_and_mended(void **state)
{
	struct cables *d = *state;

	cables_run(d, 60 * S);
	assert_int_equal(d->n_crossed + d->n_one, 0);
	plug(d, 1, 0);
	cables_run(d, 2 * S);
	assert_int_equal(d->n_crossed, 2);
	assert_true(is_crossed(d, "leg-a", "swap the cables of eth1 and eth2"));
	assert_true(is_crossed(d, "leg-b", "swap the cables of eth2 and eth1"));
	cables_run(d, 600 * S);
	assert_int_equal(d->n_crossed, 2);
	assert_int_equal(d->n_mended, 0);
	plug(d, 0, 1);
	cables_run(d, 2 * S);
	assert_int_equal(d->n_mended, 2);
	cables_run(d, 600 * S);
	assert_int_equal(d->n_crossed, 2);
	assert_int_equal(d->n_one, 0);
}

static void the_station_that_answers_for_a_peer_is_known(void **state)
{
	struct cables *d = *state;
	const struct wiring_ask *q;

	assert_null(wiring_peer_heard(NULL, "leg-a", 0));
	assert_null(wiring_peer_heard(&d->w, "leg-a", 0));
	d->away[1] = true;
	cables_run(d, 2 * S);
	q = wiring_peer_heard(&d->w, "leg-a", 0);
	assert_non_null(q);
	assert_string_equal(q->peer, "host-b");
	assert_memory_equal(&q->by, &peer_macs[0], sizeof(q->by));
	assert_null(wiring_peer_heard(&d->w, "leg-a", 1));
	assert_null(wiring_peer_heard(&d->w, "leg-b", 0));
	prove(d, true);
	assert_null(wiring_peer_heard(&d->w, "leg-a", 0));
}

/* As after a change of VLANs: no carrier goes. */
static void cables_that_cross_without_a_link_event_are_found_when_paths_fail(void **state)
{
	struct cables *d = *state;

	wiring_prove(&d->w, 2, true, d->now);
	wiring_prove(&d->w, 3, true, d->now);
	cables_run(d, 600 * S);
	d->net[0] = 1;
	d->net[1] = 0;
	wiring_prove(&d->w, 2, false, d->now);
	wiring_prove(&d->w, 3, false, d->now);
	cables_run(d, 2 * S);
	assert_int_equal(d->n_crossed, 2);
	wiring_prove(&d->w, 2, true, d->now); /* a path works again */
	wiring_prove(&d->w, 3, true, d->now);
	cables_run(d, 10 * MS);
	assert_int_equal(d->n_mended, 2);
}

/* As where the VLANs of two switch ports are exchanged one after the other: for a moment both legs
 * are in one network, and hear each other before any path is known to be down. */
static void legs_that_hear_each_other_for_a_moment_are_found_crossed(void **state)
{
	struct cables *d = *state;

	prove(d, true);
	cables_run(d, 600 * S);
	d->net[0] = 1;
	for (unsigned i = 0; i < 12000 && d->n_one == 0; i++)
		cables_run(d, 10 * MS);
	assert_int_equal(d->n_one, 1);
	d->net[1] = 0;
	cables_run(d, 200 * MS);
	prove(d, false);
	cables_run(d, 2 * S);
	assert_int_equal(d->n_crossed, 2);
}

static void a_leg_at_the_other_legs_switch_is_found(void **state)
{
	struct cables *d = *state;
	const struct wiring_leg *a, *b;
	struct reason why;

	prove(d, true);
	cables_run(d, 60 * S);
	plug(d, 0, 0);
	prove_one(d, 0, true);
	cables_run(d, 2 * S);
	assert_int_equal(d->n_crossed, 1);
	assert_true(is_crossed(d, "leg-b", "connect eth2 to the network of leg-b"));
	assert_false(wiring_leg_reason(&d->w, "leg-a", 0, &why));
	assert_int_equal(d->n_one, 1);
	assert_true(wiring_pair_reason(&d->w, 0, &a, &b, &why));
	assert_string_equal(why.code, "one-network");
	assert_non_null(strstr(why.text, "legs leg-a and leg-b are in one layer-2 network"));
	assert_false(wiring_pair_reason(&d->w, 1, &a, &b, &why));
	d->net[1] = 1; /* mended without a link event */
	cables_run(d, 8 * S);
	assert_int_equal(d->n_apart, 1);
	cables_run(d, 60 * S);
	assert_int_equal(d->n_mended, 1);
	assert_int_equal(d->n_one, 1);
}

/* While cables are exchanged one by one, both legs are at one switch for a moment. */
static void networks_stay_apart_while_cables_are_exchanged(void **state)
{
	struct cables *d = *state;

	prove(d, true);
	cables_run(d, 60 * S);
	plug(d, 1, 1);
	prove(d, true); /* a late answer, from before the exchange */
	cables_run(d, 1 * S);
	plug(d, 0, 1);
	prove(d, true);
	cables_run(d, 200 * MS);
	plug(d, 0, 0); /* and at once another wrong cable */
	prove_one(d, 0, true);
	cables_run(d, 2 * S);
	assert_true(is_crossed(d, "leg-b", "connect eth2 to the network of leg-b"));
	assert_false(is_crossed(d, "leg-a", ""));
}

/* Cables that were crossed from the start have shown that the networks are apart. */
static void the_agent_learns_from_crossed_cables_that_networks_are_apart(void **state)
{
	struct cables *d = *state;

	d->net[0] = 1;
	d->net[1] = 0;
	cables_run(d, 2 * S);
	assert_true(is_crossed(d, "leg-a", "swap the cables of eth1 and eth2"));
	plug(d, 0, 0);
	cables_run(d, 20 * MS);
	plug(d, 0, 1);
	prove(d, true);
	cables_run(d, 200 * MS);
	plug(d, 0, 0);
	prove_one(d, 0, true);
	cables_run(d, 2 * S);
	assert_true(is_crossed(d, "leg-b", "connect eth2 to the network of leg-b"));
	assert_false(is_crossed(d, "leg-a", ""));
}

static void right_cables_are_not_reported_whatever_the_peer_lacks(void **state)
{
	for (unsigned lacks = 0; lacks < 16; lacks++) {
		struct cables *d;

		assert_int_equal(cables_setup((void **)&d), 0);
		d->away[0] = lacks & 1;
		d->away[1] = lacks & 2;
		d->off[0] = lacks & 4;
		d->off[1] = lacks & 8;
		cables_run(d, 60 * S);
		plug(d, 0, 1);
		cables_run(d, 60 * S);
		wiring_carrier(&d->w, 3, false, d->now);
		cables_run(d, 60 * S);
		assert_int_equal(d->n_crossed + d->n_one, 0);
		cables_teardown((void **)&d);
	}
}

/* Each leg of linked networks reaches both, so that the peer's other leg answers while one is down.
 */
static void legs_of_linked_networks_are_not_crossed_when_the_peer_loses_one(void **state)
{
	struct cables *d = *state;

	prove(d, true);
	cables_run(d, 60 * S); /* apart, until the networks are linked */
	d->linked = true;
	cables_run(d, 80 * S);
	assert_int_equal(d->n_one, 1);
	d->off[1] = true;
	prove_one(d, 1, false);
	cables_run(d, 60 * S);
	assert_int_equal(d->n_crossed, 0);
	plug(d, 0, 1);
	prove_one(d, 0, true);
	cables_run(d, 60 * S);
	assert_int_equal(d->n_crossed, 0);
}

static void linked_networks_are_not_crossed_at_the_start(void **state)
{
	struct cables *d = *state;

	d->linked = d->off[1] = true;
	cables_run(d, 600 * S);
	assert_int_equal(d->n_one, 1);
	assert_int_equal(d->n_crossed, 0);
}

static void legs_of_one_subnet_or_one_device_hear_each_other_by_intention(void **state)
{
	struct wiring_leg a = {.ifindex = 2, .mac = leg_macs[0], .n_subnets = 1}, b = a;

	a.subnets[0] = (struct ip_prefix){.addr = addr("10.10.1.10"), .len = 24};
	b.ifindex = 3;
	b.subnets[0] = (struct ip_prefix){.addr = addr("10.20.1.10"), .len = 24};
	assert_false(wiring_legs_are_apart(&a, &b)); /* VLANs of one NIC */
	b.mac = leg_macs[1];
	assert_true(wiring_legs_are_apart(&a, &b));
	b.subnets[0].addr = addr("10.10.1.11");
	assert_false(wiring_legs_are_apart(&a, &b));
	b.n_subnets = 0;
	assert_false(wiring_legs_are_apart(&a, &b));
}

/* In the worst case, where no peer ever answers; and with working paths. */
static void the_number_of_packets_is_limited(void **state)
{
	struct cables *d = *state;

	d->off[0] = d->off[1] = true;
	cables_run(d, 60 * S);
	assert_in_range(d->n_sent, 20, 60);
	d->n_sent = 0;
	cables_run(d, 3600 * S);
	assert_true(d->n_sent < 3600 * 8 / 22 + 8); /* eight addresses, 22.5 s or more for each */
	wiring_prove(&d->w, 2, true, d->now);
	wiring_prove(&d->w, 3, true, d->now);
	d->n_sent = 0;
	cables_run(d, 3600 * S);
	assert_in_range(d->n_sent, 4 * 48, 4 * 81); /* this host's addresses alone */
}

#define CABLES_TEST(f) cmocka_unit_test_setup_teardown(f, cables_setup, cables_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CABLES_TEST(the_station_that_answers_for_a_peer_is_known),
		CABLES_TEST(crossed_cables_are_found_and_mended),
		CABLES_TEST(cables_that_cross_without_a_link_event_are_found_when_paths_fail),
		CABLES_TEST(legs_that_hear_each_other_for_a_moment_are_found_crossed),
		CABLES_TEST(a_leg_at_the_other_legs_switch_is_found),
		CABLES_TEST(networks_stay_apart_while_cables_are_exchanged),
		CABLES_TEST(the_agent_learns_from_crossed_cables_that_networks_are_apart),
		CABLES_TEST(legs_of_linked_networks_are_not_crossed_when_the_peer_loses_one),
		CABLES_TEST(linked_networks_are_not_crossed_at_the_start),
		CABLES_TEST(the_number_of_packets_is_limited),
		cmocka_unit_test(right_cables_are_not_reported_whatever_the_peer_lacks),
		cmocka_unit_test(legs_of_one_subnet_or_one_device_hear_each_other_by_intention),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
