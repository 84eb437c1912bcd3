/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of clients that a compute worker refuses: bounded, with a reason and one event each, and
 * without those that were accepted or have given up. */
#include "dataplane/worker/roles/worker_refused.h"
#include "dataplane/worker/worker_identity.h"
#include "netcfg/base/files/identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
	struct worker w;
	struct worker_refused r;
	struct launch_stats stats;
	int agent; /* the other end of the worker's control channel */
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	int pair[2];

	assert_non_null(b);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	b->w.stats = &b->stats;
	b->w.control_fd = pair[0];
	b->w.now_ns = 1000 * NSEC_PER_SEC;
	b->agent = pair[1];
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	close(b->w.control_fd);
	close(b->agent);
	free(b);
	return 0;
}

static struct fuse_server_asked asked_by(const char *host, const char *export_name, unsigned mount)
{
	struct fuse_server_asked h = {.mount_id = {(uint8_t)mount, 1}};

	snprintf(h.host, sizeof(h.host), "%s", host);
	snprintf(h.export_name, sizeof(h.export_name), "%s", export_name);
	return h;
}

static void refuse(struct bench *b, const struct fuse_server_asked *h, const char *from, int error)
{
	struct ip_addr ip;

	assert_int_equal(ip_addr_parse(from, &ip), 0);
	worker_refused_add(&b->w, &b->r, h, &ip, error, "host-c");
	worker_refused_publish(&b->w, &b->r);
}

static unsigned events(struct bench *b, const char *begin)
{
	struct launch_msg m;
	unsigned n = 0;

	while (recv(b->agent, &m, sizeof(m), MSG_DONTWAIT) == (ssize_t)sizeof(m)) {
		assert_int_equal(m.type, LAUNCH_MSG_EVENT);
		assert_int_equal(m.code, LAUNCH_EVENT_PEER_REFUSED);
		assert_ptr_equal(strstr(m.text, begin), m.text);
		n++;
	}
	return n;
}

static void a_refused_mount_is_listed_with_its_reason_and_one_event(void **state)
{
	static const struct {
		int error;
		const char *reason;
	} rows[] = {
		{-ENOENT, "no-export: host-a (10.1.1.1) asks for export 'x', which this host does "
			  "not have"},
		{-ENXIO, "export-missing: host-a (10.1.1.1) waits for export 'x', whose directory "
			 "is missing"},
		{-EACCES, "not-allowed: host-a (10.1.1.1) may not use export 'x': no rule of its "
			  "clients matches"},
		{-EROFS, "read-only: host-a (10.1.1.1) may only read export 'x', and mounts it for "
			 "writing"},
		{-EDESTADDRREQ, "peer-unlisted: 10.1.1.1 claims to be host-a, but 'peers' has no "
				"'ips' for that host; "},
		{-EADDRNOTAVAIL, "wrong-address: 10.1.1.1 claims to be host-a, but 'peers' has "
				 "other 'ips' for that host; "},
	};
	const struct fuse_server_asked h = asked_by("host-a", "x", 1);
	struct bench *b = *state;

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		const size_t len = MIN_OF(strlen(rows[i].reason), 100);

		refuse(b, &h, "10.1.1.1", rows[i].error);
		b->w.now_ns += 4 * NSEC_PER_SEC;
		refuse(b, &h, "10.2.1.1", rows[i].error); /* by its other leg */
		refuse(b, &h, "10.1.1.1", rows[i].error);
		assert_int_equal(events(b, rows[i].reason), 1);
		assert_int_equal(b->stats.n_refused, 1);
		assert_memory_equal(b->stats.refused[0].reason, rows[i].reason, len);
		assert_string_equal(b->stats.refused[0].host, "host-a");
		assert_string_equal(b->stats.refused[0].export_name, "x");
		assert_int_equal(b->stats.refused[0].times, 3);
		assert_int_equal(b->stats.refusals, 3 * (i + 1));
		b->w.now_ns += WORKER_REFUSED_NS;
	}
}

static void refusals_that_pass_by_themselves_are_not_listed(void **state)
{
	struct fuse_server_asked h = asked_by("host-a", "x", 1);
	struct bench *b = *state;

	refuse(b, &h, "10.1.1.1", -EBUSY);
	refuse(b, &h, "10.1.1.1", -EREMOTE);
	h.by_mount_worker = true; /* the mount itself is listed */
	refuse(b, &h, "10.1.1.1", -EACCES);
	assert_int_equal(b->stats.n_refused, 0);
	assert_int_equal(b->stats.refusals, 0);
	assert_true(worker_refused_tick(&b->w, &b->r) == UINT64_MAX);
}

static void an_accepted_mount_and_one_that_gave_up_leave_the_list(void **state)
{
	struct fuse_server_asked one = asked_by("host-a", "x", 1), two = asked_by("host-a", "y", 2);
	struct bench *b = *state;

	refuse(b, &one, "10.1.1.1", -EACCES);
	refuse(b, &two, "10.1.1.1", -EACCES);
	assert_int_equal(b->stats.n_refused, 2);
	worker_refused_drop(&b->w, &b->r, &one);
	worker_refused_publish(&b->w, &b->r);
	assert_int_equal(b->stats.n_refused, 1);
	assert_string_equal(b->stats.refused[0].export_name, "y");
	assert_true(worker_refused_tick(&b->w, &b->r) < UINT64_MAX);
	b->w.now_ns += WORKER_REFUSED_NS;
	worker_refused_tick(&b->w, &b->r);
	worker_refused_publish(&b->w, &b->r);
	assert_int_equal(b->stats.n_refused, 0);
	assert_int_equal(events(b, "not-allowed: "), 2);
	refuse(b, &two, "10.1.1.1", -EACCES); /* it is back */
	assert_int_equal(events(b, "not-allowed: "), 1);
	b->w.now_ns += 60 * NSEC_PER_SEC;
	assert_true(worker_refused_tick(&b->w, &b->r) == UINT64_MAX);
}

static void one_address_cannot_fill_the_list(void **state)
{
	struct bench *b = *state;
	char text[32];

	for (unsigned i = 0; i < 200; i++) {
		struct fuse_server_asked h;

		snprintf(text, sizeof(text), "liar-%u", i);
		h = asked_by(text, "x", i);
		refuse(b, &h, "10.1.1.9", -EACCES);
	}
	assert_int_equal(b->stats.n_refused, 8);
	assert_int_equal(events(b, "not-allowed: liar-"), 8);
	for (unsigned i = 0; i < 200; i++) {
		struct fuse_server_asked h = asked_by("host-a", "x", i);

		h.mount_id[1] = 2;
		snprintf(text, sizeof(text), "10.1.2.%u", i);
		refuse(b, &h, text, -EACCES);
	}
	assert_int_equal(b->stats.n_refused, LAUNCH_REFUSED_MAX);
	assert_int_equal(events(b, "not-allowed: host-a"), 1); /* once for all its mounts */
	assert_int_equal(b->stats.refusals, 400);
}

/* Refuses a client at one address 64 times a second for 55 seconds, each time in another way; if
 * `accepts`, the server accepts it in between. The client has n_mounts mounts. Returns the number
 * of events. */
static unsigned flood(struct bench *b, unsigned n_mounts, bool renames, bool accepts)
{
	static const int errors[] = {-EACCES, -EROFS, -ENOENT};
	unsigned n = 0;

	for (unsigned i = 0; i < 55 * 64; i++) {
		struct fuse_server_asked h = asked_by("host-z", "x", i % n_mounts);

		if (renames)
			snprintf(h.host, sizeof(h.host), "host-%u", i);
		refuse(b, &h, "10.1.1.9", errors[i % ARRAY_SIZE(errors)]);
		if (accepts)
			worker_refused_drop(&b->w, &b->r, &h);
		b->w.now_ns += NSEC_PER_SEC / 64;
		worker_refused_tick(&b->w, &b->r);
		n += events(b, "");
	}
	return n;
}

static void a_client_that_alternates_its_refusals_does_not_fill_the_log(void **state)
{
	const struct fuse_server_asked other = asked_by("host-a", "x", 2);
	struct bench *b = *state;

	for (unsigned i = 0; i < 4; i++) {
		assert_in_range(flood(b, 1, i & 1, i & 2), 5, 6); /* one in WORKER_REFUSED_NS */
		refuse(b, &other, "10.1.1.1", -EACCES);
		assert_int_equal(events(b, "not-allowed: host-a"), 1);
		b->w.now_ns += 60 * NSEC_PER_SEC;
		worker_refused_tick(&b->w, &b->r);
	}
	/* With a new mount each time, the entries of the address add eight. */
	assert_in_range(flood(b, 55 * 64, true, false), 8, 8 + 5);
}

static void new_mounts_replace_those_that_are_no_longer_refused(void **state)
{
	struct bench *b = *state;
	unsigned n_events = 0;

	for (unsigned i = 0; i < 40; i++) {
		const struct fuse_server_asked h = asked_by("host-a", "x", i);

		if (i % 8 == 0) {
			b->w.now_ns += WORKER_REFUSED_NS;
			worker_refused_tick(&b->w, &b->r);
		}
		refuse(b, &h, "10.1.1.9", -EACCES);
		assert_int_equal(b->stats.n_refused, i % 8 + 1);
		n_events += events(b, "not-allowed: host-a");
	}
	assert_int_equal(n_events, 5);
	b->w.now_ns += WORKER_REFUSED_NS;
	for (unsigned i = 0; i < LAUNCH_REFUSED_MAX; i++) {
		const struct fuse_server_asked h = asked_by("host-b", "x", 100 + i);
		char ip[32];

		worker_refused_tick(&b->w, &b->r);
		snprintf(ip, sizeof(ip), "10.1.2.%u", i);
		refuse(b, &h, ip, -EACCES);
		assert_int_equal(b->stats.n_refused, i + 1);
	}
}

static void a_change_of_the_reason_is_reported_later(void **state)
{
	const struct fuse_server_asked h = asked_by("host-a", "x", 1);
	struct bench *b = *state;

	refuse(b, &h, "10.1.1.1", -EACCES);
	assert_int_equal(events(b, "not-allowed: "), 1);
	for (unsigned i = 0; i < 10; i++, b->w.now_ns += NSEC_PER_SEC) {
		refuse(b, &h, "10.1.1.1", -EROFS);
		assert_memory_equal(b->stats.refused[0].reason, "read-only: ", 11);
		assert_int_equal(events(b, ""), 0);
	}
	b->w.now_ns += NSEC_PER_SEC;
	refuse(b, &h, "10.1.1.1", -EROFS);
	refuse(b, &h, "10.1.1.1", -EROFS);
	assert_int_equal(events(b, "read-only: "), 1);
}

static void another_address_does_not_change_the_entry_of_a_mount(void **state)
{
	struct fuse_server_asked h = asked_by("host-a", "x", 1);
	const struct fuse_server_asked liar = asked_by("host-z", "y", 1);
	const struct launch_refused_client *first;
	struct bench *b = *state;
	char ip[IP_ADDR_STR_MAX];

	first = &b->stats.refused[0];
	refuse(b, &h, "10.1.1.1", -EACCES);
	refuse(b, &liar, "10.1.1.9", -EROFS);
	assert_int_equal(b->stats.n_refused, 2);
	assert_string_equal(first->host, "host-a");
	assert_memory_equal(first->reason, "not-allowed: host-a (10.1.1.1)", 30);
	worker_refused_drop(&b->w, &b->r, &liar);
	worker_refused_publish(&b->w, &b->r);
	assert_int_equal(b->stats.n_refused, 1);
	refuse(b, &h, "10.1.1.9", -EROFS); /* as another leg of host-a would be */
	assert_int_equal(b->stats.n_refused, 1);
	assert_string_equal(ip_addr_format(&first->addr, ip, sizeof(ip)), "10.1.1.1");
	assert_memory_equal(first->reason, "not-allowed: host-a (10.1.1.1)", 30);
	assert_int_equal(first->times, 2);
}

/* The word of the refusal is the name in the certificate. */
static void a_host_that_is_another_is_listed_with_both_names(void **state)
{
	static const struct {
		int error;
		const char *begin;
	} cases[] = {
		{-EBADE,
		 "identity-name: 10.1.1.1 claims to be host-a, but its certificate is for the name "
		 "host-c"},
		{-EKEYREVOKED, "identity-revoked: the identity of host-c is revoked (10.1.1.1)"},
		{-EKEYEXPIRED, "identity-expired: the certificate of host-c has expired"},
		{-ENOKEY, "identity-required: host-a (10.1.1.1) has no identity"},
	};
	struct bench *b = *state;

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fuse_server_asked h = asked_by("host-a", "x", i + 1);

		refuse(b, &h, "10.1.1.1", cases[i].error);
		assert_int_equal(b->stats.n_refused, i + 1);
		if (strstr(b->stats.refused[i].reason, cases[i].begin) !=
		    b->stats.refused[i].reason)
			fail_msg("found '%s'", b->stats.refused[i].reason);
	}
}

/* The reason names the host on which the operator must act. */
static void a_refusal_by_the_peer_names_this_host(void **state)
{
	static const struct {
		int code;
		const char *own, *by_peer;
	} cases[] = {
		{-ENOKEY, "host-s (10.1.1.1) has no identity", "this host has none"},
		{-EKEYREVOKED, "the identity of host-c is revoked (10.1.1.1)",
		 "host-s (10.1.1.1) refuses this host"},
		{-EKEYEXPIRED, "the certificate of host-c has expired (10.1.1.1)",
		 "the certificate of this host, host-c, has expired"},
		{-EBADE, "10.1.1.1 claims to be host-s, but its certificate is for the name host-c",
		 "the certificate of this host is for the name host-c"},
		{-EKEYREJECTED, "the certificate of host-s (10.1.1.1) is not",
		 "the certificate of this host is not"},
	};
	char text[LAUNCH_REASON_MAX * 3];

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++)
		for (unsigned by_peer = 0; by_peer < 2; by_peer++) {
			const char *want = by_peer ? cases[i].by_peer : cases[i].own;

			worker_identity_format("host-s", "10.1.1.1", by_peer, cases[i].code,
					       "host-c", text, sizeof(text));
			if (!strstr(text, want))
				fail_msg("expected '%s' in '%s'", want, text);
		}
}

/* Without proof, a peer counts as the host that it claims to be, with or without the domain. */
static void a_revocation_applies_to_hosts_that_prove_nothing(void **state)
{
	struct launch_config *cfg = calloc(1, sizeof(*cfg));
	struct rudp_peer peer;

	assert_non_null(cfg);
	cfg->identity = LAUNCH_IDENTITY_ACCEPT;
	assert_int_equal(worker_identity_check(cfg, NULL, "host-c", true, &peer), 0);
	assert_string_equal(peer.host, "host-c");
	assert_false(peer.proven);
	snprintf(cfg->revoked[0].host, sizeof(cfg->revoked[0].host), "host-c.lan");
	cfg->revoked[0].epoch = 7;
	cfg->n_revoked = 1;
	assert_int_equal(worker_identity_check(cfg, NULL, "host-c.lan", true, &peer), -EKEYREVOKED);
	assert_string_equal(peer.word, "host-c.lan");
	assert_int_equal(worker_identity_check(cfg, NULL, "host-c", true, &peer), -EKEYREVOKED);
	assert_int_equal(worker_identity_check(cfg, NULL, "host-b", true, &peer), 0);
	cfg->identity = LAUNCH_IDENTITY_REQUIRE;
	assert_int_equal(worker_identity_check(cfg, NULL, "host-b", true, &peer), -ENOKEY);
	free(cfg);
}

/* Two hosts whose short names are equal are revoked one by one; the short name means both. */
static void a_revocation_applies_with_and_without_the_domain(void **state)
{
	struct launch_config *cfg = calloc(1, sizeof(*cfg));
	uint8_t permission[IDENTITY_PERMISSION_BYTES], once[IDENTITY_KEY_BYTES];
	uint8_t certificate[IDENTITY_CERTIFICATE_BYTES];
	static const char *const names[] = {"host-c.a", "host-c.b", "host-c"};
	struct identity_pair signer, host;
	struct rudp_peer peer;
	struct rudp_proof proof = {.certificate = certificate,
				   .certificate_len = sizeof(certificate)};

	assert_non_null(cfg);
	assert_int_equal(identity_new_signer(&signer), 0);
	assert_int_equal(identity_new_host(&host), 0);
	memcpy(proof.key, host.public, sizeof(proof.key));
	memcpy(cfg->cluster_key, signer.public, sizeof(cfg->cluster_key));
	cfg->identity = LAUNCH_IDENTITY_REQUIRE;
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(identity_permit(&signer, names[i], 7, 0, permission, once), 0);
		assert_int_equal(identity_certify(permission, once, host.public, certificate), 0);
		cfg->n_revoked = 0;
		assert_int_equal(worker_identity_check(cfg, &proof, names[i], true, &peer), 0);
		assert_true(peer.proven && peer.epoch == 7);
		for (unsigned j = 0; j < ARRAY_SIZE(names); j++) {
			bool same = i == j || i == 2 || j == 2;

			/* An older entry of the same host does not hide a newer one. */
			snprintf(cfg->revoked[0].host, PLENUM_NAME_MAX, "%s", names[i]);
			cfg->revoked[0].epoch = 6;
			snprintf(cfg->revoked[1].host, PLENUM_NAME_MAX, "%s", names[j]);
			cfg->revoked[1].epoch = 7;
			cfg->n_revoked = 2;
			assert_int_equal(worker_identity_check(cfg, &proof, names[i], true, &peer),
					 same ? -EKEYREVOKED : 0);
		}
	}
	free(cfg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_refused_mount_is_listed_with_its_reason_and_one_event),
		TEST(refusals_that_pass_by_themselves_are_not_listed),
		TEST(an_accepted_mount_and_one_that_gave_up_leave_the_list),
		TEST(one_address_cannot_fill_the_list),
		TEST(a_client_that_alternates_its_refusals_does_not_fill_the_log),
		TEST(new_mounts_replace_those_that_are_no_longer_refused),
		TEST(a_change_of_the_reason_is_reported_later),
		TEST(another_address_does_not_change_the_entry_of_a_mount),
		TEST(a_host_that_is_another_is_listed_with_both_names),
		cmocka_unit_test(a_refusal_by_the_peer_names_this_host),
		cmocka_unit_test(a_revocation_applies_to_hosts_that_prove_nothing),
		cmocka_unit_test(a_revocation_applies_with_and_without_the_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
