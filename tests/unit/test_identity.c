/* SPDX-License-Identifier: BSD-3-Clause */
/* Certificates and revocations of hosts, and the files that keep them. */
#include "netcfg/base/file.h"
#include "netcfg/base/files/identity.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct identity_pair signer, other, host;
static uint8_t permission[IDENTITY_PERMISSION_BYTES], once[IDENTITY_KEY_BYTES];
static uint8_t certificate[IDENTITY_CERTIFICATE_BYTES];
static char dir[] = "/tmp/test_identity.XXXXXX";

static int setup(void **state)
{
	assert_int_equal(identity_new_signer(&signer), 0);
	assert_int_equal(identity_new_signer(&other), 0);
	assert_int_equal(identity_new_host(&host), 0);
	assert_int_equal(identity_permit(&signer, "host-a", 100, 200, permission, once), 0);
	assert_int_equal(identity_certify(permission, once, host.public, certificate), 0);
	return 0;
}

static void a_certificate_says_whose_key_it_is(void **state)
{
	struct identity_card card;

	assert_int_equal(
		identity_check(certificate, sizeof(certificate), signer.public, 199, &card), 0);
	assert_string_equal(card.host, "host-a");
	assert_int_equal(card.epoch, 100);
	assert_int_equal(card.expires_s, 200);
	assert_memory_equal(card.key, host.public, sizeof(card.key));
	assert_int_equal(
		identity_check(certificate, sizeof(certificate), signer.public, 200, &card),
		-EKEYEXPIRED);
	assert_int_equal(identity_check(certificate, sizeof(certificate), other.public, 199, &card),
			 -EBADMSG);
}

static void each_changed_bit_makes_it_invalid(void **state)
{
	struct identity_card card;
	uint8_t bad[sizeof(certificate)];

	for (size_t i = 0; i < sizeof(bad) * 8; i += 3) {
		memcpy(bad, certificate, sizeof(bad));
		bad[i / 8] ^= (uint8_t)(1U << i % 8);
		assert_int_equal(identity_check(bad, sizeof(bad), signer.public, 1, &card),
				 -EBADMSG);
	}
	for (size_t n = 0; n < sizeof(bad); n += 5)
		assert_int_equal(identity_check(certificate, n, signer.public, 1, &card), -EBADMSG);
}

/* Another key than the one of the permission signs the host's key. */
static void a_permission_is_of_use_to_its_holder_alone(void **state)
{
	struct identity_card card;
	uint8_t forged[sizeof(certificate)];

	assert_int_equal(identity_certify(permission, other.secret, host.public, forged), 0);
	assert_int_equal(identity_check(forged, sizeof(forged), signer.public, 1, &card), -EBADMSG);
}

static void names_that_no_host_can_have_are_refused(void **state)
{
	static const char *const bad[] = {
		"", "a b", "a\nb", "\xc3\xa4",
		"0123456789012345678901234567890123456789012345678901234567890123"};
	uint8_t p[IDENTITY_PERMISSION_BYTES];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(identity_permit(&signer, bad[i], 1, 0, p, once), -EINVAL);
}

static void a_revocation_holds_up_to_its_epoch(void **state)
{
	static struct identity_revocation list[IDENTITY_REVOKED_MAX];
	uint8_t bytes[IDENTITY_REVOCATION_BYTES];
	struct identity_revocation r;
	unsigned n = 0;

	assert_int_equal(identity_revoke(&signer, "host-a", 100, bytes), 0);
	assert_int_equal(identity_check_revocation(bytes, sizeof(bytes), other.public, &r),
			 -EBADMSG);
	assert_int_equal(identity_check_revocation(bytes, sizeof(bytes), signer.public, &r), 0);
	assert_int_equal(identity_add_revoked(list, &n, &r), 1);
	assert_int_equal(identity_add_revoked(list, &n, &r), 0);
	assert_true(identity_is_revoked(list, n, "host-a", 100));
	assert_false(identity_is_revoked(list, n, "host-a", 101));
	assert_false(identity_is_revoked(list, n, "host-b", 1));
	/* as in the rights of clients, the domain may be absent on either side */
	assert_true(identity_is_revoked(list, n, "host-a.lan", 100));
	assert_int_equal(identity_revoked_epoch(list, n, "host-a.lan"), 100);
	assert_int_equal(identity_revoked_epoch(list, n, "host-b"), 0);
	r.epoch = 99; /* an older one does not undo it */
	assert_int_equal(identity_add_revoked(list, &n, &r), 0);
	assert_true(identity_is_revoked(list, n, "host-a", 100));
	r.epoch = 150;
	assert_int_equal(identity_add_revoked(list, &n, &r), 1);
	assert_int_equal(n, 1);
	for (unsigned i = 1; i < IDENTITY_REVOKED_MAX; i++) {
		snprintf(r.host, sizeof(r.host), "host-%u", i);
		assert_int_equal(identity_add_revoked(list, &n, &r), 1);
	}
	snprintf(r.host, sizeof(r.host), "one-more");
	assert_int_equal(identity_add_revoked(list, &n, &r), -ENOSPC);
	for (size_t i = 0; i < sizeof(bytes) * 8; i++) {
		bytes[i / 8] ^= (uint8_t)(1U << i % 8);
		assert_int_equal(identity_check_revocation(bytes, sizeof(bytes), signer.public, &r),
				 -EBADMSG);
		bytes[i / 8] ^= (uint8_t)(1U << i % 8);
	}
}

static void put(const char *name, bool secret, const uint8_t *p, size_t len)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(identity_write_hex(path, secret, p, len), 0);
}

static void refused(const char *name_of_host, const char *text)
{
	struct identity *i = calloc(1, sizeof(*i));
	struct reason why = {.code = ""};

	assert_true(identity_read(dir, name_of_host, i, &why) < 0);
	if (!strstr(why.text, text))
		fail_msg("expected '%s' in '%s'", text, why.text);
	free(i);
}

static void the_files_of_a_host_are_checked(void **state)
{
	struct identity *i = calloc(1, sizeof(*i));
	struct reason why = {.code = ""};
	char path[PATH_MAX];

	assert_non_null(mkdtemp(dir));
	refused("host-a", "plenum cluster identity");
	put(IDENTITY_FILE_KEY, true, host.secret, IDENTITY_KEY_BYTES);
	refused("host-a", IDENTITY_FILE_CLUSTER);
	put(IDENTITY_FILE_CLUSTER, false, signer.public, IDENTITY_KEY_BYTES);
	refused("host-a", IDENTITY_FILE_CERTIFICATE);
	put(IDENTITY_FILE_CERTIFICATE, false, certificate, sizeof(certificate));
	assert_int_equal(identity_read(dir, "host-a", i, &why), 0);
	assert_memory_equal(i->pair.public, host.public, IDENTITY_KEY_BYTES);
	assert_int_equal(i->n_revoked, 0);
	refused("host-b", "is for the host 'host-a', and this host is 'host-b'");
	put(IDENTITY_FILE_KEY, true, other.secret, IDENTITY_KEY_BYTES);
	refused("host-a", "is for another key");
	put(IDENTITY_FILE_KEY, true, host.secret, IDENTITY_KEY_BYTES);
	put(IDENTITY_FILE_CLUSTER, false, other.public, IDENTITY_KEY_BYTES);
	refused("host-a", "not signed");
	put(IDENTITY_FILE_CLUSTER, false, signer.public, IDENTITY_KEY_BYTES);
	snprintf(path, sizeof(path), "%s/" IDENTITY_FILE_KEY, dir);
	assert_int_equal(chmod(path, 0644), 0);
	refused("host-a", "other users can read");
	assert_int_equal(chmod(path, 0600), 0);
	free(i);
}

static void revocations_are_kept_on_disk(void **state)
{
	struct identity *i = calloc(1, sizeof(*i));
	struct reason why = {.code = ""};
	struct identity_revocation r;
	uint8_t bytes[IDENTITY_REVOCATION_BYTES];

	for (uint64_t epoch = 100; epoch <= 102; epoch++) {
		assert_int_equal(identity_revoke(&signer, "host-x", epoch, bytes), 0);
		assert_int_equal(identity_keep_revocation(dir, signer.public, bytes, &r), 1);
		assert_int_equal(identity_keep_revocation(dir, signer.public, bytes, &r), 0);
	}
	assert_int_equal(identity_revoke(&signer, "host-y", 7, bytes), 0);
	assert_int_equal(identity_keep_revocation(dir, signer.public, bytes, &r), 1);
	assert_int_equal(identity_revoke(&other, "host-z", 7, bytes), 0);
	assert_int_equal(identity_keep_revocation(dir, signer.public, bytes, &r), -EBADMSG);
	assert_int_equal(identity_read(dir, "host-a", i, &why), 0);
	assert_int_equal(i->n_revoked, 2);
	assert_true(identity_is_revoked(i->revoked, i->n_revoked, "host-x", 102));
	assert_true(identity_is_revoked(i->revoked, i->n_revoked, "host-y", 7));
	assert_false(identity_is_revoked(i->revoked, i->n_revoked, "host-x", 103));
	free(i);
}

static void make_certificate(const uint8_t *public, uint8_t *ret)
{
	uint8_t allowed[IDENTITY_PERMISSION_BYTES], key[IDENTITY_KEY_BYTES];

	assert_int_equal(identity_permit(&signer, "host-a", 100, 0, allowed, key), 0);
	assert_int_equal(identity_certify(allowed, key, public, ret), 0);
}

/* Also if a command was killed before it had finished, and with revocations that stay. */
static void a_new_identity_replaces_the_files_in_one_step(void **state)
{
	struct identity *i = calloc(1, sizeof(*i)), *back = calloc(1, sizeof(*back));
	char name[PATH_MAX], path[PATH_MAX + 64];
	struct reason why = {.code = ""};

	assert_int_equal(identity_read(dir, "host-a", i, &why), 0);
	assert_int_equal(i->n_revoked, 2);
	assert_int_equal(identity_new_host(&i->pair), 0);
	snprintf(name, sizeof(name), "%s.new", dir);
	assert_int_equal(mkdir(name, 0700), 0);
	snprintf(path, sizeof(path), "%s/" IDENTITY_FILE_KEY, name);
	assert_int_equal(identity_write_hex(path, false, other.secret, IDENTITY_KEY_BYTES), 0);
	make_certificate(i->pair.public, i->certificate);
	assert_int_equal(identity_write(dir, i), 0);
	assert_int_equal(access(name, F_OK), -1);
	assert_int_equal(identity_read(dir, "host-a", back, &why), 0);
	assert_memory_equal(back->pair.secret, i->pair.secret, IDENTITY_KEY_BYTES);
	assert_int_equal(back->n_revoked, 2);
	memcpy(i->cluster, other.public, sizeof(i->cluster)); /* another cluster */
	i->pair.secret[0] ^= 1;
	assert_int_equal(identity_write(dir, i), -EEXIST);
	assert_int_equal(identity_read(dir, "host-a", i, &why), 0);
	assert_memory_equal(back->pair.secret, i->pair.secret, IDENTITY_KEY_BYTES);
	free(back);
	free(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_certificate_says_whose_key_it_is),
		cmocka_unit_test(each_changed_bit_makes_it_invalid),
		cmocka_unit_test(a_permission_is_of_use_to_its_holder_alone),
		cmocka_unit_test(names_that_no_host_can_have_are_refused),
		cmocka_unit_test(a_revocation_holds_up_to_its_epoch),
		cmocka_unit_test(the_files_of_a_host_are_checked),
		cmocka_unit_test(revocations_are_kept_on_disk),
		cmocka_unit_test(a_new_identity_replaces_the_files_in_one_step),
	};
	int r = cmocka_run_group_tests(tests, setup, NULL);
	char path[PATH_MAX];
	static const char *const files[] = {IDENTITY_FILE_KEY, IDENTITY_FILE_CLUSTER,
					    IDENTITY_FILE_CERTIFICATE, IDENTITY_FILE_REVOKED};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		unlink(path);
	}
	rmdir(dir);
	return r;
}
