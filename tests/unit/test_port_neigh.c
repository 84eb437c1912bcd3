/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbour resolution on a virtual clock: resolving, retransmitting, parking, refreshing,
 * evicting, answering, probing and defending our address; for IPv4 and IPv6 alike.
 */
#include "dataplane/port/l2/port_neigh.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct mac_addr mac_us = {{0x02, 0, 0, 0, 0, 0x01}};
static const struct mac_addr mac_peer = {{0x02, 0, 0, 0, 0, 0x02}};
static const struct mac_addr mac_other = {{0x02, 0, 0, 0, 0, 0x03}};

struct fixture {
	struct port_neigh *n;
	struct ip_addr us, peer, far, gateway;
	uint64_t now_ns;
	unsigned emitted;
	uint8_t last[2048];
	size_t last_len;
	struct port_l2_frame last_frame; /* as another host parses it */
};

static void emit(void *user, const uint8_t *frame, size_t len)
{
	struct fixture *x = user;
	struct port_l2_local all = {.mac = mac_other, .ip = x->peer, .udp_port = 4420};

	assert_true(len <= sizeof(x->last));
	memcpy(x->last, frame, len);
	memcpy(all.mac.bytes, frame, 6);
	all.mac.bytes[0] &= 0xfe;
	x->last_len = len;
	x->emitted++;
	(void)port_l2_parse(&all, x->last, len, 0, &x->last_frame);
}

static int fixture_make(void **state, const char *us, const char *peer, const char *far,
			const char *gateway, uint8_t prefix)
{
	struct fixture *x = calloc(1, sizeof(*x));
	struct port_neigh_config cfg = {
		.prefix_len = prefix, .frame_bytes_max = 1514, .emit = emit, .user = x};

	assert_non_null(x);
	assert_int_equal(ip_addr_parse(us, &x->us), 0);
	assert_int_equal(ip_addr_parse(peer, &x->peer), 0);
	assert_int_equal(ip_addr_parse(far, &x->far), 0);
	assert_int_equal(ip_addr_parse(gateway, &x->gateway), 0);
	x->now_ns = 5 * NSEC_PER_SEC;
	cfg.local = (struct port_l2_local){.mac = mac_us, .ip = x->us, .udp_port = 4420};
	cfg.gateway = x->gateway;
	assert_int_equal(port_neigh_new(&cfg, &x->n), 0);
	*state = x;
	return 0;
}

static int setup_v4(void **state)
{
	return fixture_make(state, "192.0.2.1", "192.0.2.2", "198.51.100.9", "192.0.2.254", 24);
}

static int setup_v6(void **state)
{
	return fixture_make(state, "2001:db8::1", "2001:db8::2", "2001:db9::9", "2001:db8::ffff",
			    64);
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	port_neigh_free(x->n);
	free(x);
	return 0;
}

static void feed(struct fixture *x, const uint8_t *frame, size_t len)
{
	struct port_l2_local us = {.mac = mac_us, .ip = x->us, .udp_port = 4420};
	struct port_l2_frame f;

	assert_int_not_equal(port_l2_parse(&us, frame, len, 0, &f), PORT_L2_DROP);
	port_neigh_input(x->n, &f, frame, len, x->now_ns);
}

static void peer_answers(struct fixture *x, const struct ip_addr *ip, const struct mac_addr *mac)
{
	uint8_t frame[PORT_L2_CONTROL_MAX];

	feed(x, frame, port_l2_build_advert(frame, mac, ip, &mac_us, &x->us));
}

static void peer_announces(struct fixture *x, const struct mac_addr *mac)
{
	uint8_t frame[PORT_L2_CONTROL_MAX];

	feed(x, frame, port_l2_build_announce(frame, mac, &x->peer));
}

static int resolve(struct fixture *x, const struct ip_addr *ip, struct mac_addr *ret)
{
	return port_neigh_resolve(x->n, ip, x->now_ns, ret);
}

/* Advances the clock tick by tick. */
static void pass(struct fixture *x, uint64_t ns)
{
	uint64_t end = x->now_ns + ns;

	for (;;) {
		uint64_t due = port_neigh_tick(x->n, x->now_ns);

		if (due > end)
			break;
		assert_true(due > x->now_ns);
		x->now_ns = due;
	}
	x->now_ns = end;
}

static bool asked_for(const struct fixture *x, const struct ip_addr *ip)
{
	return (x->last_frame.kind == PORT_L2_ARP || x->last_frame.kind == PORT_L2_SOLICIT ||
		(x->last[0] & 1)) &&
	       memcmp(x->last + (ip->family == AF_INET ? 38 : 62), ip->bytes,
		      ip->family == AF_INET ? 4 : 16) == 0;
}

static void addresses_are_resolved(void **state)
{
	struct fixture *x = *state;
	struct port_neigh_counters c;
	struct mac_addr mac;

	assert_int_equal(resolve(x, &x->peer, &mac), -EINPROGRESS);
	assert_int_equal(x->emitted, 1);
	assert_true(asked_for(x, &x->peer));
	assert_int_equal(resolve(x, &x->peer, &mac), -EINPROGRESS);
	assert_int_equal(x->emitted, 1); /* not for every packet */
	peer_answers(x, &x->peer, &mac_peer);
	assert_int_equal(resolve(x, &x->peer, &mac), 0);
	assert_memory_equal(mac.bytes, mac_peer.bytes, 6);
	port_neigh_counters_get(x->n, &c);
	assert_int_equal(c.resolved, 1);
}

static void remote_addresses_use_the_gateway(void **state)
{
	struct fixture *x = *state;
	struct mac_addr mac;

	assert_int_equal(resolve(x, &x->far, &mac), -EINPROGRESS);
	assert_true(asked_for(x, &x->gateway));
	peer_answers(x, &x->gateway, &mac_other);
	assert_int_equal(resolve(x, &x->far, &mac), 0);
	assert_memory_equal(mac.bytes, mac_other.bytes, 6);
}

static void addresses_without_route_are_refused(void **state)
{
	struct fixture *x = *state;
	struct port_neigh_config cfg = {.emit = emit, .user = x};
	struct port_neigh *n;
	struct ip_addr other;
	struct mac_addr mac;

	cfg.local = (struct port_l2_local){.mac = mac_us, .ip = x->us, .udp_port = 4420};
	cfg.prefix_len = x->us.family == AF_INET ? 24 : 64;
	assert_int_equal(port_neigh_new(&cfg, &n), 0);
	assert_int_equal(port_neigh_resolve(n, &x->far, 1, &mac), -ENETUNREACH);
	assert_int_equal(ip_addr_parse(x->us.family == AF_INET ? "224.0.0.1" : "ff02::1", &other),
			 0);
	assert_int_equal(port_neigh_resolve(n, &other, 1, &mac), -EINVAL);
	other.family = 0;
	assert_int_equal(port_neigh_resolve(n, &other, 1, &mac), -EINVAL);
	assert_int_equal(x->emitted, 0);
	port_neigh_free(n);
}

static void a_parked_frame_leaves_after_the_reply(void **state)
{
	struct fixture *x = *state;
	struct port_l2_local us = {.mac = mac_us, .ip = x->us, .udp_port = 4420};
	struct datagram_addr dst = {.ip = x->peer, .port = 4420};
	struct datagram pkt = {.hdr_len = 20};
	static const struct mac_addr later;
	struct port_neigh_counters c;
	struct mac_addr mac;
	uint8_t *frame;

	assert_int_equal(resolve(x, &x->peer, &mac), -EINPROGRESS);
	frame = port_neigh_park(x->n, &x->peer);
	assert_non_null(frame);
	port_neigh_park_len(x->n, &x->peer, port_l2_build_udp(frame, &us, &later, &dst, &pkt, 0));
	assert_null(port_neigh_park(x->n, &x->peer)); /* one per neighbour */
	peer_answers(x, &x->peer, &mac_peer);
	assert_int_equal(x->emitted, 2);
	assert_memory_equal(x->last, mac_peer.bytes, 6);
	assert_int_equal(x->last_frame.kind, PORT_L2_UDP);
	assert_int_equal(x->last_frame.payload_len, 20);
	peer_answers(x, &x->peer, &mac_peer);
	assert_int_equal(x->emitted, 2); /* once */
	assert_null(port_neigh_park(x->n, &x->peer));
	port_neigh_counters_get(x->n, &c);
	assert_int_equal(c.parked, 1);
	assert_int_equal(c.park_full, 2);
	assert_int_equal(c.park_lost, 0);
}

static void a_silent_neighbour_becomes_unreachable(void **state)
{
	struct fixture *x = *state;
	struct port_neigh_counters c;
	struct mac_addr mac;

	assert_int_equal(resolve(x, &x->peer, &mac), -EINPROGRESS);
	assert_non_null(port_neigh_park(x->n, &x->peer));
	pass(x, 1200 * NSEC_PER_MSEC);
	assert_int_equal(x->emitted, PORT_NEIGH_TRIES);
	pass(x, 500 * NSEC_PER_MSEC);
	assert_int_equal(resolve(x, &x->peer, &mac), -EHOSTUNREACH);
	assert_int_equal(x->emitted, PORT_NEIGH_TRIES);
	port_neigh_counters_get(x->n, &c);
	assert_int_equal(c.unreachable, 1);
	assert_int_equal(c.park_lost, 1);
	/* Its announcement makes it usable at once. */
	peer_announces(x, &mac_peer);
	assert_int_equal(resolve(x, &x->peer, &mac), 0);
}

static void an_unreachable_neighbour_is_retried(void **state)
{
	struct fixture *x = *state;
	struct mac_addr mac;

	assert_int_equal(resolve(x, &x->peer, &mac), -EINPROGRESS);
	pass(x, 4 * NSEC_PER_SEC);
	assert_int_equal(resolve(x, &x->peer, &mac), -EINPROGRESS);
	assert_int_equal(x->emitted, PORT_NEIGH_TRIES + 1);
}

/* An entry in use is refreshed in time and stays usable meanwhile. */
static void an_entry_in_use_is_refreshed(void **state)
{
	struct fixture *x = *state;
	struct mac_addr mac;
	unsigned before;

	assert_int_equal(resolve(x, &x->peer, &mac), -EINPROGRESS);
	peer_answers(x, &x->peer, &mac_peer);
	for (int i = 0; i < 10; i++) {
		pass(x, 2 * NSEC_PER_SEC - 1);
		assert_int_equal(resolve(x, &x->peer, &mac), 0);
	}
	assert_int_equal(x->emitted, 1);
	pass(x, 100);
	assert_int_equal(x->emitted, 2);
	assert_memory_equal(x->last, mac_peer.bytes, 6); /* by unicast, not broadcast */
	assert_int_equal(resolve(x, &x->peer, &mac), 0);
	peer_answers(x, &x->peer, &mac_other); /* it moved to another NIC */
	assert_int_equal(resolve(x, &x->peer, &mac), 0);
	assert_memory_equal(mac.bytes, mac_other.bytes, 6);
	/* No answer to the next refresh: unreachable. */
	before = x->emitted;
	for (int i = 0; i < 11; i++) {
		pass(x, 2 * NSEC_PER_SEC - 1);
		if (i < 10)
			assert_int_equal(resolve(x, &x->peer, &mac), 0);
	}
	assert_int_equal(x->emitted, before + PORT_NEIGH_TRIES);
	assert_int_equal(resolve(x, &x->peer, &mac), -EHOSTUNREACH);
}

static void an_idle_entry_is_removed(void **state)
{
	struct fixture *x = *state;
	struct mac_addr mac;

	assert_int_equal(resolve(x, &x->peer, &mac), -EINPROGRESS);
	peer_answers(x, &x->peer, &mac_peer);
	pass(x, 61 * NSEC_PER_SEC);
	assert_int_equal(x->emitted, 1);
	assert_int_equal(port_neigh_tick(x->n, x->now_ns), UINT64_MAX);
	assert_int_equal(resolve(x, &x->peer, &mac), -EINPROGRESS);
}

/* A host that asks for us is answered and remembered; one that asks for others is not. */
static void questions_for_our_address_are_answered(void **state)
{
	struct fixture *x = *state;
	uint8_t frame[PORT_L2_CONTROL_MAX];
	struct mac_addr mac;

	feed(x, frame, port_l2_build_solicit(frame, &mac_peer, &x->peer, &x->us, NULL));
	assert_int_equal(x->emitted, 1);
	assert_true(x->last_frame.is_reply && ip_addr_equal(&x->last_frame.sender, &x->us));
	assert_memory_equal(x->last_frame.sender_mac.bytes, mac_us.bytes, 6);
	assert_memory_equal(x->last, mac_peer.bytes, 6);
	assert_int_equal(resolve(x, &x->peer, &mac), 0);
	assert_int_equal(x->emitted, 1);
}

static void announcements_update_known_neighbours(void **state)
{
	struct fixture *x = *state;
	struct mac_addr mac;

	peer_announces(x, &mac_peer); /* unknown: not stored */
	assert_int_equal(resolve(x, &x->peer, &mac), -EINPROGRESS);
	peer_answers(x, &x->peer, &mac_peer);
	peer_announces(x, &mac_other); /* known: updated */
	assert_int_equal(resolve(x, &x->peer, &mac), 0);
	assert_memory_equal(mac.bytes, mac_other.bytes, 6);
}

static void a_free_address_is_taken(void **state)
{
	struct fixture *x = *state;
	struct mac_addr owner;
	uint8_t frame[PORT_L2_CONTROL_MAX];

	port_neigh_probe_start(x->n, x->now_ns);
	assert_int_equal(port_neigh_probe_state(x->n, &owner), PORT_NEIGH_PROBING);
	assert_int_equal(x->emitted, 1);
	/* Not ours yet: requests stay unanswered. */
	feed(x, frame, port_l2_build_solicit(frame, &mac_peer, &x->peer, &x->us, NULL));
	assert_int_equal(x->emitted, 1);
	pass(x, 250 * NSEC_PER_MSEC);
	assert_int_equal(x->emitted, PORT_NEIGH_PROBES);
	assert_int_equal(port_neigh_probe_state(x->n, &owner), PORT_NEIGH_FREE);
	port_neigh_announce(x->n, x->now_ns);
	pass(x, 3 * NSEC_PER_SEC);
	assert_int_equal(x->emitted, PORT_NEIGH_PROBES + 2);
}

static void a_taken_address_is_detected(void **state)
{
	struct fixture *x = *state;
	struct mac_addr owner;
	uint8_t frame[PORT_L2_CONTROL_MAX];

	port_neigh_probe_start(x->n, x->now_ns);
	feed(x, frame, port_l2_build_announce(frame, &mac_other, &x->us));
	assert_int_equal(port_neigh_probe_state(x->n, &owner), PORT_NEIGH_TAKEN);
	assert_memory_equal(owner.bytes, mac_other.bytes, 6);
}

/* One call repeatedly; probes before a pause do not count. */
static void probing_restarts_after_a_pause(void **state)
{
	struct fixture *x = *state;
	uint8_t frame[PORT_L2_CONTROL_MAX];
	struct reason why = {.code = ""};

	assert_int_equal(port_neigh_probe(x->n, x->now_ns, &why), -EAGAIN);
	assert_int_equal(x->emitted, 1);
	pass(x, 2 * NSEC_PER_SEC);
	assert_int_equal(x->emitted, PORT_NEIGH_PROBES);
	assert_int_equal(port_neigh_probe(x->n, x->now_ns, &why), -EAGAIN);
	assert_int_equal(x->emitted, PORT_NEIGH_PROBES + 1);
	pass(x, 250 * NSEC_PER_MSEC);
	assert_int_equal(port_neigh_probe(x->n, x->now_ns, &why), 0);
	assert_int_equal(x->emitted, 2 * PORT_NEIGH_PROBES + 1); /* and announced */
	assert_string_equal(why.text, "");
	assert_int_equal(port_neigh_probe(x->n, x->now_ns, &why), -EAGAIN);
	feed(x, frame, port_l2_build_announce(frame, &mac_other, &x->us));
	assert_int_equal(port_neigh_probe(x->n, x->now_ns, &why), -EADDRINUSE);
	assert_non_null(strstr(why.text, "is in use by"));
}

/* Early probes: it waits for the last one's time, and replies count. */
static void early_probes_count(void **state)
{
	struct fixture *x = *state;
	uint8_t frame[PORT_L2_CONTROL_MAX];
	struct reason why = {.code = ""};

	port_neigh_probe_sent_early(x->n, x->now_ns);
	assert_int_equal(port_neigh_probe(x->n, x->now_ns, &why), -EAGAIN);
	pass(x, PORT_NEIGH_PROBE_NS - NSEC_PER_MSEC);
	assert_int_equal(port_neigh_probe(x->n, x->now_ns, &why), -EAGAIN);
	assert_int_equal(x->emitted, 0);
	pass(x, 2 * NSEC_PER_MSEC);
	assert_int_equal(port_neigh_probe(x->n, x->now_ns, &why), 0);
	assert_int_equal(x->emitted, 1); /* announced */
	port_neigh_probe_sent_early(x->n, x->now_ns - PORT_NEIGH_PROBE_NS);
	feed(x, frame, port_l2_build_announce(frame, &mac_other, &x->us));
	assert_int_equal(port_neigh_probe(x->n, x->now_ns, &why), -EADDRINUSE);
}

/* Too long ago: those probes do not count. */
static void old_early_probes_do_not_count(void **state)
{
	struct fixture *x = *state;
	struct reason why = {.code = ""};

	port_neigh_probe_sent_early(x->n, x->now_ns - 2 * NSEC_PER_SEC);
	assert_int_equal(port_neigh_probe(x->n, x->now_ns, &why), -EAGAIN);
	assert_int_equal(x->emitted, 1);
	pass(x, 250 * NSEC_PER_MSEC);
	assert_int_equal(x->emitted, PORT_NEIGH_PROBES);
	assert_int_equal(port_neigh_probe(x->n, x->now_ns, &why), 0);
}

/* Two hosts that start at the same time see each other's probes. */
static void simultaneous_probes_are_detected(void **state)
{
	struct fixture *x = *state;
	static const struct ip_addr unspecified;
	uint8_t frame[PORT_L2_CONTROL_MAX];
	struct mac_addr owner;

	port_neigh_probe_start(x->n, x->now_ns);
	feed(x, frame, port_l2_build_solicit(frame, &mac_other, &unspecified, &x->us, NULL));
	assert_int_equal(port_neigh_probe_state(x->n, &owner), PORT_NEIGH_TAKEN);
	assert_memory_equal(owner.bytes, mac_other.bytes, 6);
}

static void our_address_is_defended_once(void **state)
{
	struct fixture *x = *state;
	struct port_neigh_counters c;
	uint8_t frame[PORT_L2_CONTROL_MAX];

	for (int i = 0; i < 5; i++)
		feed(x, frame, port_l2_build_announce(frame, &mac_other, &x->us));
	assert_int_equal(x->emitted, 1); /* reported once */
	x->now_ns += 11 * NSEC_PER_SEC;
	feed(x, frame, port_l2_build_announce(frame, &mac_other, &x->us));
	assert_int_equal(x->emitted, 2);
	port_neigh_counters_get(x->n, &c);
	assert_int_equal(c.conflicts, 6);
}

/* On standby another port of this host has the address: this one sends and stores nothing until it
 * becomes active. */
static void a_standby_port_is_silent(void **state)
{
	struct fixture *x = *state;
	struct port_neigh_counters c;
	struct mac_addr mac, owner;
	uint8_t frame[PORT_L2_CONTROL_MAX];

	assert_int_equal(resolve(x, &x->peer, &mac), -EINPROGRESS);
	peer_answers(x, &x->peer, &mac_peer);
	assert_int_equal(resolve(x, &x->far, &mac), -EINPROGRESS);
	port_neigh_announce(x->n, x->now_ns);
	port_neigh_stand_by(x->n, true);
	x->emitted = 0;
	port_neigh_announce(x->n, x->now_ns);
	feed(x, frame, port_l2_build_announce(frame, &mac_other, &x->us));
	feed(x, frame, port_l2_build_solicit(frame, &mac_peer, &x->peer, &x->us, NULL));
	assert_true(port_neigh_tick(x->n, x->now_ns + 100 * NSEC_PER_SEC) == UINT64_MAX);
	assert_int_equal(x->emitted, 0);
	port_neigh_counters_get(x->n, &c);
	assert_int_equal(c.conflicts, 0);
	assert_int_equal(port_neigh_probe_state(x->n, &owner), PORT_NEIGH_FREE);

	port_neigh_stand_by(x->n, false);
	feed(x, frame, port_l2_build_solicit(frame, &mac_peer, &x->peer, &x->us, NULL));
	assert_int_equal(x->emitted, 1);
	assert_int_equal(resolve(x, &x->gateway, &mac), -EINPROGRESS); /* removed */
	assert_int_equal(resolve(x, &x->peer, &mac), 0); /* the asking host is stored again */
}

/* The host's kernel has the address too: it answers and defends, while neighbours are learnt here.
 */
static void the_hosts_kernel_answers_for_a_shared_address(void **state)
{
	struct fixture *x = *state;
	struct port_neigh_config cfg = {.local = {.mac = mac_us, .ip = x->us, .udp_port = 4420},
					.prefix_len = x->us.family == AF_INET ? 24 : 64,
					.host_answers = true,
					.frame_bytes_max = 1514,
					.emit = emit,
					.user = x};
	struct port_l2_frame echo = {.kind = PORT_L2_ECHO};
	struct port_neigh_counters c;
	uint8_t frame[PORT_L2_CONTROL_MAX] = {0};
	struct mac_addr mac;

	port_neigh_free(x->n);
	assert_int_equal(port_neigh_new(&cfg, &x->n), 0);
	feed(x, frame, port_l2_build_solicit(frame, &mac_peer, &x->peer, &x->us, NULL));
	feed(x, frame, port_l2_build_announce(frame, &mac_other, &x->us));
	port_neigh_input(x->n, &echo, frame, sizeof(frame), x->now_ns);
	assert_int_equal(x->emitted, 0);
	port_neigh_counters_get(x->n, &c);
	assert_int_equal(c.conflicts, 1);
	assert_int_equal(c.answered + c.echoes, 0);
	assert_int_equal(resolve(x, &x->peer, &mac), 0);
	assert_memory_equal(mac.bytes, mac_peer.bytes, 6);
}

/* More neighbours than the table holds: the least recently used one is evicted; unknown hosts that
 * ask evict none. */
static void a_full_table_evicts_the_least_used_entry(void **state)
{
	struct fixture *x = *state;
	uint8_t frame[PORT_L2_CONTROL_MAX];
	struct ip_addr ip = x->us;
	struct mac_addr mac;
	struct ip_addr first;

	for (unsigned i = 0; i < PORT_NEIGH_MAX; i++) {
		ip.bytes[13] = (uint8_t)(i >> 8);
		ip.bytes[14] = (uint8_t)i;
		ip.bytes[15] = 7;
		if (i == 0)
			first = ip;
		x->now_ns++;
		assert_int_equal(resolve(x, &ip, &mac), -EINPROGRESS);
		peer_answers(x, &ip, &mac_peer);
		assert_int_equal(resolve(x, &ip, &mac), 0);
	}
	x->emitted = 0;
	feed(x, frame, port_l2_build_solicit(frame, &mac_other, &x->peer, &x->us, NULL));
	assert_int_equal(x->emitted, 1); /* answered, not stored */
	x->now_ns++;
	assert_int_equal(resolve(x, &first, &mac), 0);
	assert_int_equal(resolve(x, &x->peer, &mac), -EINPROGRESS);
	assert_int_equal(resolve(x, &first, &mac), 0);
	ip.bytes[13] = 0;
	ip.bytes[14] = 1; /* the second was the oldest */
	assert_int_equal(resolve(x, &ip, &mac), -EINPROGRESS);
}

/* The cache entry of an evicted neighbour is invalid, also behind a gateway, and after its slot was
 * reused. */
static void a_reused_slot_resolves_again(void **state)
{
	struct fixture *x = *state;
	struct mac_addr mac;

	assert_int_equal(resolve(x, &x->far, &mac), -EINPROGRESS);
	peer_answers(x, &x->gateway, &mac_other);
	assert_int_equal(resolve(x, &x->far, &mac), 0);
	assert_memory_equal(mac.bytes, mac_other.bytes, 6);
	pass(x, 3 * PORT_NEIGH_IDLE_NS);
	assert_int_equal(resolve(x, &x->peer, &mac), -EINPROGRESS);
	peer_answers(x, &x->peer, &mac_peer);
	assert_int_equal(resolve(x, &x->peer, &mac), 0);
	assert_memory_equal(mac.bytes, mac_peer.bytes, 6);
	assert_int_equal(resolve(x, &x->far, &mac), -EINPROGRESS);
	peer_answers(x, &x->gateway, &mac_other);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(resolve(x, &x->far, &mac), 0);
		assert_memory_equal(mac.bytes, mac_other.bytes, 6);
		assert_int_equal(resolve(x, &x->peer, &mac), 0);
		assert_memory_equal(mac.bytes, mac_peer.bytes, 6);
	}
	/* It has another MAC from now on. */
	peer_announces(x, &mac_other);
	assert_int_equal(resolve(x, &x->peer, &mac), 0);
	assert_memory_equal(mac.bytes, mac_other.bytes, 6);
}

#define BOTH(test)                                                 \
	cmocka_unit_test_setup_teardown(test, setup_v4, teardown), \
	{                                                          \
#test "_v6", test, setup_v6, teardown, NULL        \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(addresses_are_resolved),
		BOTH(remote_addresses_use_the_gateway),
		BOTH(addresses_without_route_are_refused),
		BOTH(a_parked_frame_leaves_after_the_reply),
		BOTH(a_silent_neighbour_becomes_unreachable),
		BOTH(an_unreachable_neighbour_is_retried),
		BOTH(an_entry_in_use_is_refreshed),
		BOTH(an_idle_entry_is_removed),
		BOTH(a_reused_slot_resolves_again),
		BOTH(questions_for_our_address_are_answered),
		BOTH(announcements_update_known_neighbours),
		BOTH(a_free_address_is_taken),
		BOTH(a_taken_address_is_detected),
		BOTH(probing_restarts_after_a_pause),
		BOTH(early_probes_count),
		BOTH(old_early_probes_do_not_count),
		BOTH(simultaneous_probes_are_detected),
		BOTH(our_address_is_defended_once),
		BOTH(a_standby_port_is_silent),
		BOTH(the_hosts_kernel_answers_for_a_shared_address),
		{"a_full_table_evicts_the_least_used_entry",
		 a_full_table_evicts_the_least_used_entry, setup_v6, teardown, NULL},
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
