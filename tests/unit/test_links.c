/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The probes of legs in a network of up to 1,000 hosts under a virtual clock, where legs, switches
 * and pairs of hosts fail; and hostile packets.
 */
#include "agent/links/links.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOSTS_MAX 1000
#define LEGS 2
#define KNOWN 24 /* hosts that a host knows in a large cluster */
#define LATENCY_NS (200 * NSEC_PER_USEC)
#define QUEUE 65536
#define START (1000 * NSEC_PER_SEC)

struct flight {
	uint64_t at_ns;
	uint32_t to, leg;
	struct ip_addr from;
	size_t len;
	uint8_t head[LINKS_HEAD_BYTES];
};

static struct {
	struct links *hosts;
	uint64_t *due;
	uint32_t n;
	uint64_t now, seed;
	unsigned loss_percent;		    /* of each packet */
	bool full_lost;			    /* packets larger than the head are lost */
	bool dead[HOSTS_MAX][LEGS];	    /* the leg's cable is cut */
	bool mute[HOSTS_MAX][LEGS];	    /* the leg receives, but what it sends is lost */
	uint32_t blocked_to, blocked_below; /* hosts below do not reach blocked_to on leg 0 */
	uint32_t halves; /* on leg 0, hosts below reach only one another, and so do the others */
	uint64_t pings, asks, answers, pings_of[HOSTS_MAX];
	struct flight *queue;
	uint32_t head, tail;
	struct { /* the last packet that was sent */
		uint8_t buf[LINKS_PACKET_MAX];
		size_t len;
		struct ip_addr to;
	} last;
} w;

static uint32_t draw(void *user)
{
	w.seed ^= w.seed << 13;
	w.seed ^= w.seed >> 7;
	w.seed ^= w.seed << 17;
	return (uint32_t)(w.seed >> 16);
}

static struct ip_addr ip_of(uint32_t host, uint32_t leg)
{
	return (struct ip_addr){.family = AF_INET,
				.bytes = {10, (uint8_t)(leg + 1), (uint8_t)((host + 1) / 250),
					  (uint8_t)((host + 1) % 250 + 1)}};
}

static uint32_t host_of(const struct ip_addr *ip)
{
	return ip->bytes[2] * 250U + ip->bytes[3] - 2;
}

static bool is_lost(uint32_t from, uint32_t to, uint32_t leg, size_t len)
{
	if (w.dead[from][leg] || w.mute[from][leg] || w.dead[to][leg] ||
	    (w.full_lost && len > LINKS_HEAD_BYTES))
		return true;
	if (leg == 0 && w.blocked_below &&
	    ((from < w.blocked_below && to == w.blocked_to) ||
	     (to < w.blocked_below && from == w.blocked_to)))
		return true;
	if (leg == 0 && w.halves && (from < w.halves) != (to < w.halves))
		return true;
	return draw(NULL) % 100 < w.loss_percent;
}

static void on_send(void *user, uint32_t ifindex, const struct ip_addr *to, const uint8_t *buf,
		    size_t len)
{
	const uint32_t from = (uint32_t)((struct links *)user - w.hosts), leg = ifindex - 1;
	struct flight *f = &w.queue[w.tail % QUEUE];

	w.pings += buf[5] == LINKS_PING;
	w.pings_of[from] += buf[5] == LINKS_PING || buf[5] == LINKS_ASK;
	w.asks += buf[5] == LINKS_ASK;
	w.answers += buf[5] == LINKS_PONG;
	memcpy(w.last.buf, buf, len);
	w.last.len = len;
	w.last.to = *to;
	if (host_of(to) >= w.n || is_lost(from, host_of(to), leg, len))
		return;
	assert_true(w.tail - w.head < QUEUE);
	*f = (struct flight){.at_ns = w.now + LATENCY_NS,
			     .to = host_of(to),
			     .leg = leg,
			     .from = ip_of(from, leg),
			     .len = len};
	memcpy(f->head, buf, sizeof(f->head));
	w.tail++;
}

static void deliver(const struct flight *f)
{
	uint8_t buf[LINKS_PACKET_MAX] = {0};

	memcpy(buf, f->head, sizeof(f->head));
	links_hear(&w.hosts[f->to], f->leg + 1, &f->from, buf, f->len, w.now);
	w.due[f->to] = 0;
}

static void run(uint64_t ns)
{
	for (const uint64_t end = w.now + ns; w.now < end; w.now += NSEC_PER_MSEC) {
		while (w.head != w.tail && w.queue[w.head % QUEUE].at_ns <= w.now)
			deliver(&w.queue[w.head++ % QUEUE]);
		for (uint32_t i = 0; i < w.n; i++) {
			uint64_t in_ns;

			if (w.now < w.due[i])
				continue;
			in_ns = links_run(&w.hosts[i], w.now);
			w.due[i] = in_ns == UINT64_MAX ? UINT64_MAX : w.now + in_ns;
		}
	}
}

/* The host learns other hosts: all in a small cluster, some by chance in a large one. */
static void learn(uint32_t host)
{
	struct links_peer peers[KNOWN] = {0};
	uint32_t n = 0;

	for (uint32_t leg = 0; leg < LEGS; leg++) {
		n = 0;
		for (uint32_t i = 0; n < MIN_OF(w.n - 1, (uint32_t)KNOWN); i++) {
			const uint32_t other = w.n > KNOWN ? draw(NULL) % w.n : i;

			if (other == host)
				continue;
			peers[n] = (struct links_peer){.ip = ip_of(other, leg)};
			snprintf(peers[n].host, sizeof(peers[n].host), "host-%u", other);
			snprintf(peers[n].leg, sizeof(peers[n].leg), "leg-%u", leg);
			n++;
		}
		links_set_peers(&w.hosts[host], leg + 1, peers, n, w.now);
	}
}

static void world(uint32_t n, uint64_t seed, const char *secret)
{
	const struct links_setup setup = {.send = on_send, .random = draw};

	free(w.hosts);
	free(w.due);
	free(w.queue);
	memset(&w, 0, sizeof(w));
	w.n = n;
	w.seed = seed;
	w.now = START;
	w.hosts = calloc(n, sizeof(*w.hosts));
	w.due = calloc(n, sizeof(*w.due));
	w.queue = calloc(QUEUE, sizeof(*w.queue));
	assert_true(w.hosts && w.due && w.queue);
	for (uint32_t i = 0; i < n; i++) {
		struct links_leg legs[LEGS] = {0};

		links_init(&w.hosts[i], &setup);
		w.hosts[i].setup.user = &w.hosts[i];
		links_keys_add(&w.hosts[i].keys, "test", (const uint8_t *)secret,
			       secret ? strlen(secret) : 0);
		for (uint32_t leg = 0; leg < LEGS; leg++)
			legs[leg] = (struct links_leg){.ifindex = leg + 1,
						       .ip = {ip_of(i, leg), 16},
						       .mtu = 1500,
						       .open = true};
		links_set_legs(&w.hosts[i], legs, LEGS, w.now);
		learn(i);
	}
}

static const char key[] = "0123456789abcdef0123456789abcdef";

static int teardown(void **state)
{
	free(w.hosts);
	free(w.due);
	free(w.queue);
	memset(&w, 0, sizeof(w));
	return 0;
}

static enum links_verdict own(uint32_t host, uint32_t leg)
{
	return w.hosts[host].legs[leg].verdict;
}

/* What the host says about that leg of the other host, which it may not know. */
static enum links_verdict about(uint32_t host, uint32_t other, uint32_t leg)
{
	const struct links_leg *l = &w.hosts[host].legs[leg];
	const struct ip_addr ip = ip_of(other, leg);

	for (uint32_t i = 0; i < l->n_peers; i++)
		if (ip_addr_equal(&l->peers[i].ip, &ip))
			return links_fault(l, &l->peers[i]);
	return LINKS_UNKNOWN;
}

static bool knows(uint32_t host, uint32_t other)
{
	const struct links_leg *l = &w.hosts[host].legs[0];
	const struct ip_addr ip = ip_of(other, 0);

	for (uint32_t i = 0; i < l->n_peers; i++)
		if (ip_addr_equal(&l->peers[i].ip, &ip))
			return true;
	return false;
}

/* Returns how many findings about legs of other hosts there are, but those about one host. */
static unsigned findings_but(uint32_t host)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < w.n; i++)
		for (uint32_t leg = 0; leg < LEGS; leg++) {
			const struct links_leg *l = &w.hosts[i].legs[leg];

			n += i != host && l->verdict == LINKS_OWN_LEG;
			for (uint32_t k = 0; i != host && k < l->n_peers; k++)
				n += links_is_faulty(&l->peers[k]) &&
				     l->peers[k].verdict != LINKS_UNKNOWN &&
				     host_of(&l->peers[k].ip) != host;
		}
	return n;
}

/* ---- traffic ---- */

/* Returns the questions of a leg in ten seconds, in thousandths. */
static uint64_t questions_of_leg(uint32_t n, bool cut)
{
	uint64_t before;

	world(n, 7, key);
	run(5 * NSEC_PER_SEC);
	for (uint32_t i = 0; cut && i < n / 4; i++)
		w.dead[i][0] = true;
	before = w.pings + w.asks;
	run(10 * NSEC_PER_SEC);
	return (w.pings + w.asks - before) * 1000 / (n * LEGS);
}

static void a_leg_asks_as_much_among_1000_hosts_as_among_100(void **state)
{
	const uint64_t few = questions_of_leg(100, false), many = questions_of_leg(1000, false);

	assert_in_range(few, 29000, 31000);
	assert_in_range(many, 29000, 31000);
}

static void a_leg_asks_at_most_six_times_a_second_while_many_legs_are_dead(void **state)
{
	world(100, 7, key);
	for (uint32_t i = 0; i < 25; i++)
		w.dead[i][0] = true;
	run(60 * NSEC_PER_SEC);
	for (uint32_t i = 0; i < w.n; i++)
		/* its questions, those for others, and the first bursts, on two legs */
		assert_in_range(w.pings_of[i], 300, 60 * 2 * (6 + 3 * 6) + 2 * LINKS_BURST * 4);
	assert_true(questions_of_leg(1000, true) < 120000);
}

/* ---- verdicts ---- */

static void a_dead_leg_is_known_to_its_host_in_time(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		world(30, seed, key);
		run(10 * NSEC_PER_SEC + seed * 37 * NSEC_PER_MSEC);
		assert_int_equal(findings_but(UINT32_MAX), 0);
		assert_int_equal(own(5, 0), LINKS_OK);
		w.dead[5][0] = true;
		run(2500 * NSEC_PER_MSEC);
		assert_int_equal(own(5, 0), LINKS_OWN_LEG);
		assert_int_equal(own(5, 1), LINKS_OK);
		w.dead[5][0] = false;
		run(3 * NSEC_PER_SEC);
		assert_int_equal(own(5, 0), LINKS_OK);
	}
}

static void a_dead_leg_is_known_to_all_of_a_few_hosts_in_time(void **state)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		world(4, seed, seed % 2 ? key : NULL);
		run(20 * NSEC_PER_SEC + seed * 37 * NSEC_PER_MSEC);
		w.dead[2][0] = true;
		run(2900 * NSEC_PER_MSEC);
		assert_int_equal(own(2, 0), LINKS_OWN_LEG);
		for (uint32_t i = 0; i < 4; i++)
			if (i != 2)
				assert_int_equal(about(i, 2, 0), LINKS_PEER_LEG);
		assert_int_equal(findings_but(2), 0);
		w.dead[2][0] = false;
		run(3 * NSEC_PER_SEC);
		for (uint32_t i = 0; i < 4; i++)
			if (i != 2)
				assert_int_equal(about(i, 2, 0), LINKS_OK);
	}
}

static void a_dead_leg_among_1000_hosts_is_known_to_all_that_probe_it(void **state)
{
	unsigned n = 0;

	world(1000, 3, key);
	run(8 * NSEC_PER_SEC);
	w.dead[500][0] = true;
	run(3 * NSEC_PER_SEC);
	assert_int_equal(own(500, 0), LINKS_OWN_LEG);
	for (uint32_t i = 0; i < w.n; i++)
		n += about(i, 500, 0) == LINKS_PEER_LEG;
	assert_true(n > 0);
	run(30 * NSEC_PER_SEC);
	for (uint32_t i = 0; i < w.n; i++)
		if (i != 500 && knows(i, 500))
			assert_int_equal(about(i, 500, 0), LINKS_PEER_LEG);
	assert_int_equal(findings_but(500), 0);
}

static void a_leg_that_others_reach_is_no_dead_leg(void **state)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		world(12, seed, key);
		run(10 * NSEC_PER_SEC);
		w.blocked_to = 9;
		w.blocked_below = 2;
		run(8 * NSEC_PER_SEC);
		for (uint32_t i = 0; i < 2; i++)
			assert_int_equal(about(i, 9, 0), LINKS_SWITCH);
		for (uint32_t i = 2; i < 12; i++)
			assert_true(i == 9 || about(i, 9, 0) == LINKS_OK);
		assert_int_equal(own(9, 0), LINKS_OK);
	}
}

static void many_legs_that_fail_at_once_blame_the_switch(void **state)
{
	world(12, 5, key);
	run(10 * NSEC_PER_SEC);
	for (uint32_t i = 6; i < 12; i++)
		w.dead[i][0] = true;
	run(20 * NSEC_PER_SEC);
	for (uint32_t i = 6; i < 12; i++)
		assert_int_equal(about(0, i, 0), LINKS_SWITCH);
	assert_int_equal(own(0, 0), LINKS_OK);
}

static void a_switch_that_is_cut_in_halves_is_to_blame(void **state)
{
	world(12, 5, key);
	run(10 * NSEC_PER_SEC);
	w.halves = 6;
	run(40 * NSEC_PER_SEC);
	for (uint32_t i = 0; i < 12; i++) {
		assert_int_equal(about(i, i < 6 ? 9 : 3, 0), LINKS_SWITCH);
		assert_int_equal(own(i, 0), LINKS_OK);
		assert_int_equal(own(i, 1), LINKS_OK);
	}
}

static void two_hosts_cannot_tell_whose_leg_is_dead(void **state)
{
	world(2, 5, key);
	run(10 * NSEC_PER_SEC);
	assert_int_equal(own(0, 0), LINKS_OK);
	w.dead[1][0] = true;
	run(5 * NSEC_PER_SEC);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(own(i, 0), LINKS_UNKNOWN);
		assert_int_equal(about(i, 1 - i, 0), LINKS_UNKNOWN);
		assert_true(links_is_faulty(&w.hosts[i].legs[0].peers[0]));
		assert_int_equal(own(i, 1), LINKS_OK);
	}
}

static void a_loss_of_30_percent_is_no_dead_leg(void **state)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		world(50, seed, key);
		w.loss_percent = 30;
		for (int s = 0; s < 120; s++) {
			run(NSEC_PER_SEC);
			assert_int_equal(findings_but(UINT32_MAX), 0);
		}
		/* 30 % of the questions and 30 % of the answers */
		assert_in_range(links_loss_percent(&w.hosts[3].legs[0], false), 30, 72);
	}
}

static void a_dead_leg_is_found_in_a_network_that_loses_packets(void **state)
{
	world(50, 11, key);
	w.loss_percent = 10;
	run(60 * NSEC_PER_SEC);
	assert_int_equal(findings_but(UINT32_MAX), 0);
	w.dead[7][1] = true;
	run(60 * NSEC_PER_SEC);
	assert_int_equal(own(7, 1), LINKS_OWN_LEG);
	for (uint32_t i = 0; i < w.n; i++)
		if (i != 7 && about(i, 7, 1) != LINKS_UNKNOWN)
			assert_int_equal(about(i, 7, 1), LINKS_PEER_LEG);
}

static void full_packets_that_are_lost_are_a_loss_and_no_dead_leg(void **state)
{
	world(10, 2, key);
	w.full_lost = true;
	run(60 * NSEC_PER_SEC);
	assert_int_equal(findings_but(UINT32_MAX), 0);
	assert_int_equal(own(4, 0), LINKS_OK);
	assert_int_equal(links_loss_percent(&w.hosts[4].legs[0], true), 100);
	assert_int_equal(links_loss_percent(&w.hosts[4].legs[0], false), 0);
}

static void the_loss_of_a_leg_is_unknown_before_four_packets_of_a_size(void **state)
{
	struct links_leg *leg;
	struct links_report r;
	bool small_first = false;

	world(3, 8, key);
	leg = &w.hosts[0].legs[0];
	for (int i = 0; i < 1000; i++) {
		run(10 * NSEC_PER_MSEC);
		links_report_make(leg, &r);
		assert_int_equal(r.has_loss, leg->n_history >= 4);
		assert_int_equal(r.has_full_loss, leg->n_full >= 4);
		small_first |= r.has_loss != r.has_full_loss;
	}
	assert_true(small_first);
	assert_int_equal(r.has_loss + r.has_full_loss, 2);
	assert_int_equal(r.loss_percent + r.full_loss_percent, 0);
}

/* The host must not blame a leg at any moment, and must find a fault of its own leg later. */
static void a_host_that_survives_all_others_does_not_blame_its_legs(void **state)
{
	struct links_report r;

	for (uint64_t seed = 1; seed <= 30; seed++) {
		world(3, seed, seed % 2 ? key : NULL);
		run(10 * NSEC_PER_SEC + seed * 37 * NSEC_PER_MSEC);
		for (uint32_t leg = 0; leg < LEGS; leg++)
			w.dead[1][leg] = w.dead[2][leg] = true;
		for (int i = 0; i < 1000; i++) {
			run(10 * NSEC_PER_MSEC);
			assert_int_not_equal(own(0, 0), LINKS_OWN_LEG);
			assert_int_not_equal(own(0, 1), LINKS_OWN_LEG);
		}
		for (uint32_t leg = 0; leg < LEGS; leg++) {
			links_report_make(&w.hosts[0].legs[leg], &r);
			assert_int_equal(r.verdict, LINKS_UNKNOWN);
			assert_int_equal(r.alone, 1);
			assert_int_equal(r.n_faults, 0);
		}
		w.dead[1][1] = w.dead[2][1] = false;
		run(5 * NSEC_PER_SEC);
		assert_int_equal(own(0, 1), LINKS_OK);
		assert_int_equal(own(0, 0), LINKS_OWN_LEG);
	}
}

/* Either the other hosts are down or the leg is at fault: nothing tells. */
static void a_host_with_one_leg_does_not_blame_it_when_the_others_are_down(void **state)
{
	struct links_report r;

	for (uint64_t seed = 1; seed <= 10; seed++) {
		world(5, seed, key);
		links_set_peers(&w.hosts[0], 2, NULL, 0, w.now);
		run(10 * NSEC_PER_SEC + seed * 37 * NSEC_PER_MSEC);
		assert_int_equal(own(0, 0), LINKS_OK);
		for (uint32_t i = 1; i < 5; i++)
			w.dead[i][0] = w.dead[i][1] = true;
		for (int i = 0; i < 1000; i++) {
			run(10 * NSEC_PER_MSEC);
			assert_int_not_equal(own(0, 0), LINKS_OWN_LEG);
		}
		links_report_make(&w.hosts[0].legs[0], &r);
		assert_int_equal(r.verdict, LINKS_UNKNOWN);
		assert_int_equal(r.alone, 1);
		assert_int_equal(r.n_faults, 0);
		w.dead[1][0] = false;
		run(3 * NSEC_PER_SEC);
		assert_int_equal(own(0, 0), LINKS_OK);
	}
}

/* The questions of the others arrive, but prove nothing about what the leg sends. */
static void a_leg_that_cannot_send_blames_itself_and_no_other(void **state)
{
	struct links_report r;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		world(seed % 2 ? 30 : 6, seed, key);
		run(10 * NSEC_PER_SEC + seed * 37 * NSEC_PER_MSEC);
		w.mute[5][0] = true;
		for (int i = 0; i < 1000; i++) {
			run(10 * NSEC_PER_MSEC);
			links_report_make(&w.hosts[5].legs[0], &r);
			for (uint32_t k = 0; k < r.n_faults; k++)
				assert_int_equal(r.faults[k].verdict, LINKS_UNKNOWN);
			assert_true(i < 400 || own(5, 0) == LINKS_OWN_LEG);
		}
		assert_int_equal(findings_but(5), 0);
		w.mute[5][0] = false;
		run(3 * NSEC_PER_SEC);
		assert_int_equal(own(5, 0), LINKS_OK);
	}
}

/* The agent reads other hosts from etcd every half minute, other ones each time. */
static void a_dead_leg_stays_dead_while_the_known_hosts_change(void **state)
{
	world(100, 6, key);
	run(10 * NSEC_PER_SEC);
	w.dead[5][0] = true;
	run(3 * NSEC_PER_SEC);
	assert_int_equal(own(5, 0), LINKS_OWN_LEG);
	for (int round = 0; round < 5; round++) {
		learn(5);
		w.due[5] = 0;
		for (int i = 0; i < 300; i++) {
			run(10 * NSEC_PER_MSEC);
			assert_int_equal(own(5, 0), LINKS_OWN_LEG);
		}
	}
	w.dead[5][0] = false;
	run(3 * NSEC_PER_SEC);
	assert_int_equal(own(5, 0), LINKS_OK);
}

/* The process reports whether an answer has ever arrived. */
static void a_leg_knows_whether_a_probe_was_ever_answered(void **state)
{
	struct links_report r;

	world(3, 4, key);
	for (uint32_t leg = 0; leg < LEGS; leg++)
		w.dead[0][leg] = true;
	run(10 * NSEC_PER_SEC);
	links_report_make(&w.hosts[0].legs[0], &r);
	assert_int_equal(r.answered, 0);
	w.dead[0][0] = false;
	run(2 * NSEC_PER_SEC);
	w.dead[0][0] = true;
	run(5 * NSEC_PER_SEC);
	links_report_make(&w.hosts[0].legs[0], &r);
	assert_int_equal(r.answered, 1);
}

static void a_refusal_by_the_kernel_proves_the_leg(void **state)
{
	const struct ip_addr ip = ip_of(1, 0);

	world(3, 2, key);
	run(5 * NSEC_PER_SEC);
	w.dead[1][0] = true;
	for (int i = 0; i < 500; i++) {
		run(10 * NSEC_PER_MSEC);
		links_refused(&w.hosts[0], 1, &ip, w.now);
	}
	assert_int_equal(about(0, 1, 0), LINKS_OK);
	assert_int_equal(about(2, 1, 0), LINKS_PEER_LEG);
}

/* ---- hostile packets ---- */

static bool hear(uint32_t host, const struct ip_addr *from, const struct links_packet *p,
		 const struct links_keys *keys, size_t len)
{
	const struct ip_addr to = ip_of(host, 0);
	uint8_t buf[LINKS_PACKET_MAX];

	links_wire_write(buf, len, p, keys, from, &to);
	return links_hear(&w.hosts[host], 1, from, buf, len, w.now);
}

static void answers_are_as_long_as_the_question_and_limited(void **state)
{
	const struct ip_addr from = ip_of(0, 0);
	const struct links_packet p = {.type = LINKS_PING, .number = 5};

	world(3, 2, key);
	assert_true(hear(1, &from, &p, &w.hosts[0].keys, 1000));
	assert_int_equal(w.last.len, 1000);
	assert_true(ip_addr_equal(&w.last.to, &from));
	w.answers = 0;
	for (int i = 0; i < 10000; i++)
		hear(1, &from, &p, &w.hosts[0].keys, LINKS_HEAD_BYTES);
	assert_in_range(w.answers, 30, 45);
	for (uint32_t i = 0; i < 10000; i++) {
		const struct ip_addr any = ip_of(i % 900, 0);

		hear(1, &any, &p, &w.hosts[0].keys, LINKS_HEAD_BYTES);
	}
	assert_in_range(w.answers, 30, 450);
}

static void packets_with_another_key_or_of_another_pair_are_dropped(void **state)
{
	const struct ip_addr a = ip_of(0, 0), b = ip_of(1, 0), c = ip_of(2, 0);
	const struct links_packet p = {.type = LINKS_PING, .number = 5};
	struct links_keys other = {.n = 0}, cluster = {.n = 0};
	uint8_t buf[LINKS_PACKET_MAX];

	world(3, 2, key);
	links_keys_add(&other, "test", (const uint8_t *)"another key of 32 bytes as it is", 32);
	links_keys_add(&cluster, "other", (const uint8_t *)key, 32);
	w.answers = 0;
	assert_false(hear(1, &a, &p, &other, LINKS_HEAD_BYTES));
	assert_false(hear(1, &a, &p, &cluster, LINKS_HEAD_BYTES));
	links_wire_write(buf, LINKS_HEAD_BYTES, &p, &w.hosts[0].keys, &a, &b);
	assert_false(links_hear(&w.hosts[1], 1, &c, buf, LINKS_HEAD_BYTES, w.now));
	assert_false(links_hear(&w.hosts[2], 1, &a, buf, LINKS_HEAD_BYTES, w.now));
	assert_int_equal(w.answers, 0);
	/* The first key of the others is accepted while this host has it as its second one. */
	links_keys_add(&w.hosts[1].keys, "test",
		       (const uint8_t *)"another key of 32 bytes as it is", 32);
	assert_true(hear(1, &a, &p, &other, LINKS_HEAD_BYTES));
}

static void made_up_late_and_repeated_answers_change_nothing(void **state)
{
	const struct ip_addr from = ip_of(1, 0), target = ip_of(2, 0);
	struct links_packet p = {.type = LINKS_PONG, .number = 12345};
	struct links_leg *leg;

	world(3, 2, key);
	leg = &w.hosts[0].legs[0];
	assert_false(hear(0, &from, &p, &w.hosts[1].keys, LINKS_HEAD_BYTES));
	p = (struct links_packet){.type = LINKS_TOLD, .number = 12345, .target = target};
	assert_false(hear(0, &from, &p, &w.hosts[1].keys, LINKS_HEAD_BYTES));
	assert_int_equal(leg->verdict, LINKS_UNKNOWN);
	/* A recorded answer: the first is accepted, its copy is not. */
	w.dead[1][0] = w.dead[2][0] = true;
	run(400 * NSEC_PER_MSEC);
	for (size_t i = 0; i < LINKS_PENDING_MAX; i++)
		if (leg->pending[i].number && leg->pending[i].via == leg->pending[i].peer) {
			const struct ip_addr of = leg->peers[leg->pending[i].peer].ip;
			const struct ip_addr wrong = ip_of(host_of(&of) == 1 ? 2 : 1, 0);

			p = (struct links_packet){.type = LINKS_PONG,
						  .number = leg->pending[i].number};
			assert_false(hear(0, &wrong, &p, &w.hosts[1].keys, LINKS_HEAD_BYTES));
			assert_true(hear(0, &of, &p, &w.hosts[1].keys, LINKS_HEAD_BYTES));
			assert_false(hear(0, &of, &p, &w.hosts[1].keys, LINKS_HEAD_BYTES));
			w.now += NSEC_PER_SEC;
			w.due[0] = 0;
			run(10 * NSEC_PER_MSEC);
			assert_false(hear(0, &of, &p, &w.hosts[1].keys, LINKS_HEAD_BYTES));
			return;
		}
	fail();
}

static void a_question_for_others_cannot_be_misused(void **state)
{
	const struct ip_addr from = ip_of(1, 0);
	struct links_packet p = {.type = LINKS_ASK, .number = 9, .target = {.family = AF_INET}};
	uint64_t before;

	/* Without a key, no packet goes to an address outside the subnet. */
	world(3, 2, NULL);
	memcpy(p.target.bytes, (const uint8_t[]){192, 0, 2, 7}, 4);
	hear(0, &from, &p, &w.hosts[1].keys, LINKS_HEAD_BYTES);
	for (size_t i = 0; i < LINKS_DUTIES_MAX; i++)
		assert_int_equal(w.hosts[0].legs[0].duties[i].asker.family, 0);
	/* With a key, few go to any address. */
	world(3, 2, key);
	before = w.pings;
	for (uint64_t i = 1; i < 1000; i++) {
		p.number = i;
		hear(0, &from, &p, &w.hosts[1].keys, LINKS_HEAD_BYTES);
	}
	run(NSEC_PER_SEC);
	assert_true(w.pings - before < 60);
	/* Multicast, the own address and packets of another length are refused. */
	world(3, 2, key);
	p.target = ip_of(0, 0);
	hear(0, &from, &p, &w.hosts[1].keys, LINKS_HEAD_BYTES);
	memcpy(p.target.bytes, (const uint8_t[]){224, 0, 0, 1}, 4);
	assert_false(hear(0, &from, &p, &w.hosts[1].keys, LINKS_HEAD_BYTES));
	p.target = ip_of(2, 0);
	assert_false(hear(0, &from, &p, &w.hosts[1].keys, 100));
	for (size_t i = 0; i < LINKS_DUTIES_MAX; i++)
		assert_int_equal(w.hosts[0].legs[0].duties[i].asker.family, 0);
}

static void a_host_that_leaves_the_list_is_forgotten(void **state)
{
	world(4, 2, key);
	run(10 * NSEC_PER_SEC);
	w.dead[3][0] = w.dead[3][1] = true;
	run(5 * NSEC_PER_SEC);
	assert_int_equal(about(0, 3, 0), LINKS_PEER_LEG);
	links_set_peers(&w.hosts[0], 1, w.hosts[0].legs[0].peers, 2, w.now);
	assert_int_equal(about(0, 3, 0), LINKS_UNKNOWN);
	run(5 * NSEC_PER_SEC);
	assert_int_equal(own(0, 0), LINKS_OK);
	links_set_peers(&w.hosts[0], 1, NULL, 0, w.now);
	run(5 * NSEC_PER_SEC);
	assert_int_equal(own(0, 0), LINKS_UNKNOWN);
}

#define WORLD_TEST(f) cmocka_unit_test_teardown(f, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_leg_asks_as_much_among_1000_hosts_as_among_100),
		WORLD_TEST(a_leg_asks_at_most_six_times_a_second_while_many_legs_are_dead),
		WORLD_TEST(a_dead_leg_is_known_to_its_host_in_time),
		WORLD_TEST(a_dead_leg_is_known_to_all_of_a_few_hosts_in_time),
		WORLD_TEST(a_dead_leg_among_1000_hosts_is_known_to_all_that_probe_it),
		WORLD_TEST(a_leg_that_others_reach_is_no_dead_leg),
		WORLD_TEST(many_legs_that_fail_at_once_blame_the_switch),
		WORLD_TEST(a_switch_that_is_cut_in_halves_is_to_blame),
		WORLD_TEST(two_hosts_cannot_tell_whose_leg_is_dead),
		WORLD_TEST(a_loss_of_30_percent_is_no_dead_leg),
		WORLD_TEST(a_dead_leg_is_found_in_a_network_that_loses_packets),
		WORLD_TEST(full_packets_that_are_lost_are_a_loss_and_no_dead_leg),
		WORLD_TEST(the_loss_of_a_leg_is_unknown_before_four_packets_of_a_size),
		WORLD_TEST(a_host_that_survives_all_others_does_not_blame_its_legs),
		WORLD_TEST(a_host_with_one_leg_does_not_blame_it_when_the_others_are_down),
		WORLD_TEST(a_leg_that_cannot_send_blames_itself_and_no_other),
		WORLD_TEST(a_dead_leg_stays_dead_while_the_known_hosts_change),
		WORLD_TEST(a_leg_knows_whether_a_probe_was_ever_answered),
		WORLD_TEST(a_refusal_by_the_kernel_proves_the_leg),
		WORLD_TEST(answers_are_as_long_as_the_question_and_limited),
		WORLD_TEST(packets_with_another_key_or_of_another_pair_are_dropped),
		WORLD_TEST(made_up_late_and_repeated_answers_change_nothing),
		WORLD_TEST(a_question_for_others_cannot_be_misused),
		WORLD_TEST(a_host_that_leaves_the_list_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
