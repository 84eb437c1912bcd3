/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The watch for other hosts that use this host's addresses: packets of ARP and neighbour discovery
 * byte by byte, and the state machine under a virtual clock.
 */
#include "agent/lldp/claim.h"
#include "agent/wiring/wiring.h"
#include "agent/wiring/wiring_socket.h"
#include "netcfg/linux/probe.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct mac_addr ours = {{2, 0, 0, 0, 0, 1}}, theirs = {{2, 0, 0, 0, 0, 0x77}};

static struct ip_addr addr(const char *text)
{
	struct ip_addr ip;

	assert_int_equal(ip_addr_parse(text, &ip), 0);
	return ip;
}

/* ---- packets ---- */

struct frame {
	uint8_t bytes[128];
	size_t len;
};

/* A packet of ours as the other host's: probe.c writes it, the frame's source is `theirs`. */
static struct frame frame_of(const char *from, const char *ip, bool announce)
{
	struct kernel_probe p = {.ip = addr(ip), .mac = theirs};
	struct mac_addr to;
	struct frame f;

	if (from)
		p.from = addr(from);
	f.len = 14 + (announce ? probe_write_announcement(&p, f.bytes + 14, &to)
			       : probe_write(&p, f.bytes + 14, &to));
	memcpy(f.bytes, to.bytes, 6);
	memcpy(f.bytes + 6, theirs.bytes, 6);
	memcpy(f.bytes + 12, p.ip.family == AF_INET ? "\x08\x06" : "\x86\xdd", 2);
	return f;
}

static int parse(const struct frame *f, struct address_claim *ret)
{
	uint8_t *exact = malloc(f->len); /* so that a read past the end is detected */
	int r;

	assert_non_null(exact);
	memcpy(exact, f->bytes, f->len);
	r = claim_parse(exact, f->len, ret);
	free(exact);
	return r;
}

static void arp_tells_who_uses_and_who_asks(void **state)
{
	struct frame f = frame_of(NULL, "10.10.1.10", false);
	const struct ip_addr ip = addr("10.10.1.10"), asker = addr("10.10.1.20");
	struct address_claim c;

	assert_int_equal(parse(&f, &c), 0); /* a probe */
	assert_int_equal(c.sender.family, 0);
	assert_true(ip_addr_equal(&c.target, &ip));
	assert_memory_equal(c.by.bytes, theirs.bytes, 6);
	f = frame_of("10.10.1.20", "10.10.1.10", false); /* a request */
	assert_int_equal(parse(&f, &c), 0);
	assert_true(ip_addr_equal(&c.sender, &asker) && ip_addr_equal(&c.target, &ip));
	f = frame_of(NULL, "10.10.1.10", true);
	assert_int_equal(parse(&f, &c), 0);
	assert_true(ip_addr_equal(&c.sender, &ip) && ip_addr_equal(&c.target, &ip));
}

static void neighbour_discovery_tells_who_uses_and_who_asks(void **state)
{
	struct frame f = frame_of(NULL, "fd00::10", false);
	const struct ip_addr ip = addr("fd00::10"), asker = addr("fd00::20");
	struct address_claim c;

	assert_int_equal(parse(&f, &c), 0);
	assert_int_equal(c.sender.family, 0);
	assert_true(ip_addr_equal(&c.target, &ip));
	f = frame_of("fd00::20", "fd00::10", false);
	assert_int_equal(parse(&f, &c), 0);
	assert_true(ip_addr_equal(&c.sender, &asker) && ip_addr_equal(&c.target, &ip));
	f = frame_of(NULL, "fd00::10", true);
	assert_int_equal(f.len, 14 + 72);
	assert_int_equal(parse(&f, &c), 0);
	assert_true(ip_addr_equal(&c.sender, &ip));
	assert_int_equal(c.target.family, 0);
	assert_memory_equal(c.by.bytes, theirs.bytes, 6);
}

/* Sum over pseudo header and message: all ones with a right checksum (RFC 1071). */
static void an_advertisement_has_a_checksum(void **state)
{
	struct frame f = frame_of(NULL, "fd00::10", true);
	uint32_t sum = (uint32_t)(f.len - 14 - 40) + 58;

	for (size_t i = 14 + 8; i < f.len; i += 2)
		sum += (uint32_t)(f.bytes[i] << 8 | f.bytes[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	assert_int_equal(sum, 0xffff);
	assert_int_equal(f.bytes[14 + 40 + 4], 0x20); /* override */
	assert_memory_equal(f.bytes + 14 + 64, "\x02\x01", 2);
	assert_memory_equal(f.bytes + 14 + 66, theirs.bytes, 6);
}

/* One byte changed, at `at`, makes the frame invalid. */
static void refuse(struct frame f, size_t at, uint8_t value)
{
	struct address_claim c;

	assert_int_equal(parse(&f, &c), 0);
	f.bytes[at] = value;
	assert_int_equal(parse(&f, &c), -EBADMSG);
}

static void invalid_packets_are_refused(void **state)
{
	static const char *const ips[] = {"10.10.1.10", "fd00::10"};
	const struct frame arp = frame_of(NULL, ips[0], true), nd = frame_of(NULL, ips[1], false);
	struct address_claim c;

	for (size_t i = 0; i < 2; i++) { /* cut anywhere */
		struct frame f = frame_of(NULL, ips[i], false);

		for (f.len--; f.len > 0; f.len--)
			assert_int_equal(parse(&f, &c), -EBADMSG);
	}
	refuse(arp, 12, 0x88);	   /* another protocol */
	refuse(arp, 14 + 1, 32);   /* InfiniBand */
	refuse(arp, 14 + 2, 0x86); /* another network protocol */
	refuse(arp, 14 + 4, 20);   /* longer hardware addresses */
	refuse(arp, 14 + 5, 16);
	refuse(arp, 14 + 7, 3); /* neither request nor reply */
	refuse(arp, 14 + 8, 1); /* a group's address as the sender's */
	refuse(arp, 6, 0x33);
	refuse(nd, 14, 0x40);	   /* IPv4 */
	refuse(nd, 14 + 6, 17);	   /* UDP */
	refuse(nd, 14 + 7, 254);   /* from another network */
	refuse(nd, 14 + 40, 134);  /* a router's advertisement */
	refuse(nd, 14 + 41, 1);	   /* unknown code */
	refuse(nd, 14 + 48, 0xff); /* a group's address as the target */
}

/* ---- the state machine ---- */

#define MS NSEC_PER_MSEC
#define S NSEC_PER_SEC

struct world {
	struct wiring w;
	uint64_t now;
	unsigned n_probes, n_announced;
	uint64_t probed_ns, announced_ns; /* the last one */
	unsigned n_begun, n_ended;
	/* The other host: it answers probes while it is there. */
	bool other, heard;
	struct ip_addr ip;
};

static struct address_claim claim_by(const struct mac_addr *by, const struct ip_addr *sender,
				     const struct ip_addr *target)
{
	struct address_claim c = {.by = *by, .from = *by};

	c.sender = sender ? *sender : c.sender;
	c.target = target ? *target : c.target;
	return c;
}

static void on_send(void *user, const struct wiring_packet *p)
{
	struct world *d = user;

	assert_true(p->leg->carrier && !p->leg->quiet);
	if (p->announce) {
		assert_true(d->n_announced == 0 || d->now >= d->announced_ns + 10 * S ||
			    d->n_ended > 0);
		d->n_announced++;
		d->announced_ns = d->now;
		return;
	}
	d->n_probes++;
	d->probed_ns = d->now;
	d->heard = d->heard || (d->other && ip_addr_equal(p->ip, &d->ip));
}

static void on_change(void *user, const struct wiring_leg *leg, const struct wiring_address *a)
{
	struct world *d = user;

	assert_string_equal(leg->name, "leg-a");
	if (a->taken)
		d->n_begun++;
	else
		d->n_ended++;
}

static uint32_t a_random(void)
{
	static uint32_t x = 1;

	return x = x * 1664525 + 1013904223;
}

static void watch(struct world *d, enum wiring_kind kind, bool quiet)
{
	struct wiring_view v = {.n_legs = 1, .n_addresses = 2, .n_own = 1};

	v.legs[0] = (struct wiring_leg){.name = "leg-a",
					.ifname = "eth1",
					.ifindex = 2,
					.mac = ours,
					.carrier = true,
					.quiet = quiet};
	v.addresses[0] = (struct wiring_address){.ip = d->ip, .ifindex = 2, .kind = kind};
	v.addresses[1] =
		(struct wiring_address){.ip = addr("10.10.1.11"), .ifindex = 2, .kind = WIRING_OWN};
	v.own = calloc(1, sizeof(*v.own));
	assert_non_null(v.own);
	v.own[0] = ours;
	wiring_watch(&d->w, &v, d->now);
	assert_null(v.own);
}

static void run_for(struct world *d, uint64_t ns)
{
	for (uint64_t end = d->now + ns; d->now < end; d->now += 10 * MS) {
		(void)wiring_run(&d->w, d->now);
		if (d->heard) { /* its answer */
			const struct address_claim c = claim_by(&theirs, &d->ip, NULL);

			d->heard = false;
			wiring_hear(&d->w, 2, &c, d->now);
		}
	}
}

static int setup(void **state)
{
	struct world *d = calloc(1, sizeof(*d));
	const struct wiring_setup s = {
		.send = on_send, .on_change = on_change, .random = a_random, .user = d};

	assert_non_null(d);
	d->now = 1000 * S;
	d->ip = addr("10.10.1.10");
	wiring_init(&d->w, &s);
	watch(d, WIRING_OWN, false);
	*state = d;
	return 0;
}

static int teardown(void **state)
{
	struct world *d = *state;

	wiring_done(&d->w);
	free(d);
	return 0;
}

static void hear(struct world *d, const struct mac_addr *by, const struct ip_addr *sender,
		 const struct ip_addr *target)
{
	const struct address_claim c = claim_by(by, sender, target);

	wiring_hear(&d->w, 2, &c, d->now);
}

static bool is_taken(struct world *d)
{
	return wiring_explains(&d->w, "leg-a", &d->ip, &(struct reason){.code = ""});
}

static void addresses_are_probed_rarely_while_all_is_well(void **state)
{
	struct world *d = *state;

	run_for(d, 2 * S);
	assert_int_equal(d->n_probes, 2 * WIRING_BURST);
	d->n_probes = 0;
	run_for(d, 3600 * S);
	assert_in_range(d->n_probes, 2 * 48, 2 * 80); /* 60 s, more or less a quarter */
	assert_int_equal(d->n_announced, 0);
	wiring_carrier(&d->w, 2, false, d->now);
	d->n_probes = 0;
	run_for(d, 120 * S);
	assert_int_equal(d->n_probes, 0); /* nothing without a carrier */
	wiring_carrier(&d->w, 2, true, d->now);
	run_for(d, 2 * S);
	assert_int_equal(d->n_probes, 2 * WIRING_BURST);
	watch(d, WIRING_OWN, true); /* it is the management interface too */
	d->n_probes = 0;
	run_for(d, 120 * S);
	assert_int_equal(d->n_probes, 0);
}

static void another_host_is_found_named_and_forgotten(void **state)
{
	struct world *d = *state;
	struct reason why;

	run_for(d, 10 * S);
	d->other = true;
	hear(d, &theirs, &d->ip, &d->ip);
	assert_false(is_taken(d));	     /* one packet alone proves nothing */
	assert_int_equal(d->n_announced, 1); /* but the address is defended at once */
	run_for(d, 300 * MS);
	assert_true(is_taken(d));
	assert_int_equal(d->n_begun, 1);
	assert_true(wiring_leg_reason(&d->w, "leg-a", 0, &why));
	assert_string_equal(why.code, "address-conflict");
	assert_non_null(strstr(why.text, "02:00:00:00:00:77"));
	assert_non_null(strstr(why.text, "10.10.1.10"));
	assert_false(wiring_leg_reason(&d->w, "leg-a", 1, &why));
	assert_false(wiring_leg_reason(&d->w, "leg-b", 0, &why));
	watch(d, WIRING_OWN, false); /* a new plan keeps it */
	assert_true(is_taken(d));
	d->n_probes = 0;
	run_for(d, 600 * S);
	assert_true(is_taken(d));
	assert_in_range(d->n_probes, 90, 200);
	assert_in_range(d->n_announced, 30, 61); /* not more than one in ten seconds */
	d->other = false;
	d->n_announced = 0;
	run_for(d, 15 * S);
	assert_false(is_taken(d));
	assert_int_equal(d->n_ended, 1);
	assert_true(d->n_announced >= 1); /* neighbours learn who has it */
	run_for(d, 600 * S);
	assert_int_equal(d->n_begun, 1);
}

static void a_silent_host_is_found_by_the_next_probe(void **state)
{
	struct world *d = *state;

	run_for(d, 10 * S);
	d->other = true;
	run_for(d, 76 * S);
	assert_true(is_taken(d));
}

static void own_packets_and_old_ones_are_no_conflict(void **state)
{
	struct world *d = *state;
	const struct ip_addr peer = addr("10.10.1.20");

	for (unsigned i = 0; i < 50; i++) {
		hear(d, &ours, &d->ip, &d->ip);	 /* of another own leg, or reflected */
		hear(d, &theirs, &peer, &d->ip); /* a neighbour asks for us */
		run_for(d, 100 * MS);
	}
	assert_int_equal(d->n_announced, 0);
	hear(d, &theirs, &d->ip, &d->ip); /* the last packet of an exchanged NIC */
	run_for(d, 10 * S);
	assert_false(is_taken(d));
	assert_int_equal(d->n_begun, 0);
}

/* A host that checks whether the address is free causes one check of ours; a flood no more. */
static void probes_of_other_hosts_are_checked_at_a_limited_rate(void **state)
{
	struct world *d = *state;

	run_for(d, 10 * S);
	d->n_probes = 0;
	hear(d, &theirs, NULL, &d->ip);
	run_for(d, 1100 * MS);
	assert_int_equal(d->n_probes, 1);
	assert_false(is_taken(d));
	d->n_probes = 0;
	for (unsigned i = 0; i < 1000; i++) {
		hear(d, &theirs, NULL, &d->ip);
		run_for(d, 10 * MS);
	}
	assert_in_range(d->n_probes, 3, 7);
	d->other = true; /* it uses the address in spite of our answer */
	run_for(d, 5 * S);
	hear(d, &theirs, NULL, &d->ip);
	run_for(d, 4 * S);
	assert_true(is_taken(d));
}

static void an_address_that_a_worker_has_is_not_defended(void **state)
{
	struct world *d = *state;

	watch(d, WIRING_HELD, false);
	d->other = true;
	hear(d, &theirs, &d->ip, &d->ip);
	run_for(d, 30 * S);
	assert_true(is_taken(d));
	assert_int_equal(d->n_announced, 0);
}

static void a_refused_address_is_free_once_the_other_host_has_gone(void **state)
{
	struct world *d = *state;

	d->other = true;
	watch(d, WIRING_REFUSED, false);
	run_for(d, 60 * S);
	assert_false(is_taken(d)); /* the plan's reason tells */
	assert_int_equal(d->n_ended, 0);
	d->other = false;
	run_for(d, 15 * S);
	assert_int_equal(d->n_ended, 1);
	assert_int_equal(d->n_begun, 0);
	assert_int_equal(d->n_announced, 0);
}

static void an_address_that_is_given_up_ends_its_conflict(void **state)
{
	struct world *d = *state;
	struct wiring_view none = {.n_legs = 0};

	d->other = true;
	hear(d, &theirs, &d->ip, &d->ip);
	run_for(d, 1 * S);
	assert_true(is_taken(d));
	wiring_watch(&d->w, &none, d->now);
	assert_int_equal(d->n_ended, 1);
	assert_false(is_taken(d));
	assert_int_equal(wiring_run(&d->w, d->now), UINT64_MAX);
}

/* ---- cables ---- */

/* Two networks with a peer that runs Linux and Plenum: it answers a probe for any of its addresses
 * on any link, and a request only on the link by which it would send back. */
struct cables {
	struct wiring w;
	uint64_t now;
	unsigned net[2]; /* the network that each of our legs' cables leads to */
	bool away[2];	 /* the peer's address of that network is missing */
	bool off[2];	 /* the peer's link to that network is down */
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
	if (d->net[!leg] == net) /* the other leg hears the broadcast, and answers for itself */ {
		const struct ip_addr other = addr(leg_ips[!leg]);

		queue(d, 3 - leg, claim_by(&leg_macs[leg], p->from, p->ip));
		if (ip_addr_equal(p->ip, &other))
			queue(d, 2 + leg, claim_by(&leg_macs[!leg], &other, NULL));
	}
	for (unsigned i = 0; i < 2 && !d->off[net]; i++) {
		const struct ip_addr ip = addr(peer_ips[i]);

		if (!d->away[i] && ip_addr_equal(&ip, p->ip) && (!p->from || i == net))
			queue(d, 2 + leg, claim_by(&peer_macs[net], &ip, NULL));
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

static void a_leg_at_the_other_legs_switch_is_found(void **state)
{
	struct cables *d = *state;
	const struct wiring_leg *a, *b;
	struct reason why;

	plug(d, 0, 0);
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
	cables_run(d, 60 * S);
	assert_int_equal(d->n_apart, 1);
	assert_int_equal(d->n_mended, 1);
	assert_int_equal(d->n_one, 1);
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

/* ---- sockets ---- */

static void the_kernel_accepts_filters_of_all_sizes(void **state)
{
	struct ip_addr four[WIRING_FILTER_MAX + 1], six[WIRING_FILTER_MAX + 1];
	const size_t sizes[] = {1, WIRING_FILTER_MAX, WIRING_FILTER_MAX + 1};

	for (size_t i = 0; i <= WIRING_FILTER_MAX; i++) {
		const struct ip_addr v4 = addr("10.0.0.1"), v6 = addr("fd00::1");

		assert_true(ip_addr_add(&v4, i, &four[i]) && ip_addr_add(&v6, i, &six[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct wiring_filter f = {.watched = four, .n_watched = sizes[i]};
		int fd = wiring_socket_open(1, AF_INET, &f);

		if (fd == -EPERM)
			skip();
		assert_true(fd >= 0);
		close(fd);
		f.watched = six;
		fd = wiring_socket_open(1, AF_INET6, &f);
		assert_true(fd >= 0);
		close(fd);
	}
}

#define CABLES_TEST(f) cmocka_unit_test_setup_teardown(f, cables_setup, cables_teardown)
#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arp_tells_who_uses_and_who_asks),
		cmocka_unit_test(neighbour_discovery_tells_who_uses_and_who_asks),
		cmocka_unit_test(an_advertisement_has_a_checksum),
		cmocka_unit_test(invalid_packets_are_refused),
		WORLD_TEST(addresses_are_probed_rarely_while_all_is_well),
		WORLD_TEST(another_host_is_found_named_and_forgotten),
		WORLD_TEST(a_silent_host_is_found_by_the_next_probe),
		WORLD_TEST(own_packets_and_old_ones_are_no_conflict),
		WORLD_TEST(probes_of_other_hosts_are_checked_at_a_limited_rate),
		WORLD_TEST(an_address_that_a_worker_has_is_not_defended),
		WORLD_TEST(a_refused_address_is_free_once_the_other_host_has_gone),
		WORLD_TEST(an_address_that_is_given_up_ends_its_conflict),
		CABLES_TEST(crossed_cables_are_found_and_mended),
		CABLES_TEST(cables_that_cross_without_a_link_event_are_found_when_paths_fail),
		CABLES_TEST(a_leg_at_the_other_legs_switch_is_found),
		cmocka_unit_test(right_cables_are_not_reported_whatever_the_peer_lacks),
		cmocka_unit_test(legs_of_one_subnet_or_one_device_hear_each_other_by_intention),
		CABLES_TEST(the_number_of_packets_is_limited),
		cmocka_unit_test(the_kernel_accepts_filters_of_all_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
