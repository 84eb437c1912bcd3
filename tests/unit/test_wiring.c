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

static void a_host_that_leaves_at_once_is_forgotten_soon(void **state)
{
	struct world *d = *state;

	run_for(d, 10 * S);
	d->other = true;
	hear(d, &theirs, &d->ip, &d->ip);
	run_for(d, 300 * MS);
	assert_true(is_taken(d));
	d->other = false;
	run_for(d, 15 * S);
	assert_false(is_taken(d));
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

/* On the management interface too: two packets apart confirm it, and silence ends it. */
static void a_quiet_leg_finds_a_conflict_by_listening_alone(void **state)
{
	struct world *d = *state;

	watch(d, WIRING_OWN, true);
	hear(d, &theirs, &d->ip, &d->ip);
	run_for(d, 30 * S);
	assert_false(is_taken(d));
	for (unsigned i = 0; i < 5; i++) {
		hear(d, &theirs, &d->ip, NULL);
		run_for(d, 60 * S);
		assert_true(is_taken(d));
	}
	run_for(d, 61 * S);
	assert_false(is_taken(d));
	assert_int_equal(d->n_ended, 1);
	assert_int_equal(d->n_probes + d->n_announced, 0);
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
		WORLD_TEST(a_host_that_leaves_at_once_is_forgotten_soon),
		WORLD_TEST(a_silent_host_is_found_by_the_next_probe),
		WORLD_TEST(own_packets_and_old_ones_are_no_conflict),
		WORLD_TEST(probes_of_other_hosts_are_checked_at_a_limited_rate),
		WORLD_TEST(an_address_that_a_worker_has_is_not_defended),
		WORLD_TEST(a_refused_address_is_free_once_the_other_host_has_gone),
		WORLD_TEST(an_address_that_is_given_up_ends_its_conflict),
		WORLD_TEST(a_quiet_leg_finds_a_conflict_by_listening_alone),
		cmocka_unit_test(the_kernel_accepts_filters_of_all_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
