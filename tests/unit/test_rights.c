/* SPDX-License-Identifier: BSD-3-Clause */
/* Access to an export: rules in order, squashing, maps in both directions, access lists. */
#include "dataplane/fuse/server/base/fuse_rights.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct launch_config *cfg;
static struct launch_export *export;

static int setup(void **state)
{
	cfg = calloc(1, sizeof(*cfg));
	if (!cfg)
		return -1;
	export = &cfg->exports[0];
	cfg->n_exports = 1;
	export->first_client =
		1; /* rule 0 belongs to another export, and would admit every client */
	cfg->clients[0].squash = LAUNCH_SQUASH_NONE;
	cfg->security = LAUNCH_SECURITY_AUTH;
	cfg->n_clients = 1;
	return 0;
}

static int teardown(void **state)
{
	free(cfg);
	return 0;
}

static struct launch_client *rule_add(const char *host, const char *network)
{
	struct launch_client *c = &cfg->clients[cfg->n_clients++];

	export->n_clients++;
	strcpy(c->host, host);
	if (*network)
		assert_int_equal(ip_prefix_parse(network, &c->network), 0);
	c->squash = LAUNCH_SQUASH_ROOT;
	c->anonuid = c->anongid = FUSE_RIGHTS_NOBODY;
	c->first_ids = cfg->n_ids;
	return c;
}

static void map_add(struct launch_client *c, bool groups, uint32_t client, uint32_t server,
		    uint32_t count)
{
	cfg->ids[cfg->n_ids++] = (struct launch_ids){client, server, count};
	if (groups)
		c->n_gids++;
	else
		c->n_uids++;
}

/* The anonuid tells which rule matched. */
static int rule_of(const char *host, const char *a, const char *b)
{
	struct ip_addr addrs[2];
	struct fuse_rights r;
	unsigned n = 0;

	if (a)
		assert_int_equal(ip_addr_parse(a, &addrs[n++]), 0);
	if (b)
		assert_int_equal(ip_addr_parse(b, &addrs[n++]), 0);
	if (fuse_rights_for(cfg, export, host, addrs, n, &r) < 0)
		return -1;
	return (int)r.anonuid;
}

static void the_first_matching_rule_decides(void **state)
{
	rule_add("host-a", "")->anonuid = 1;
	rule_add("", "10.1.2.0/24")->anonuid = 2;
	rule_add("", "10.1.0.0/16")->anonuid = 3;
	rule_add("", "fd00:1::/32")->anonuid = 4;
	rule_add("host-c.example.org", "")->anonuid = 5;
	assert_int_equal(rule_of("host-a", NULL, NULL), 1);
	assert_int_equal(rule_of("host-a.example.org", "10.1.2.3", NULL), 1);
	assert_int_equal(rule_of("host-b", "10.1.2.3", NULL), 2);
	assert_int_equal(rule_of("host-b", "10.1.3.3", NULL), 3);
	assert_int_equal(rule_of("host-b", "192.0.2.1", "10.1.2.255"), 2);
	assert_int_equal(rule_of("host-b", "10.1.3.3", "10.1.2.3"), 2);
	assert_int_equal(rule_of("host-b", "fd00:1::5", NULL), 4);
	assert_int_equal(rule_of("host-c", NULL, NULL), 5);
	assert_int_equal(rule_of("host-c.example.com", "10.2.0.1", NULL), -1);
	assert_int_equal(rule_of("host-b", NULL, NULL), -1);
	assert_int_equal(rule_of("host-a2", "10.2.0.1", "fd00:2::1"), -1);
	/* An address is not accepted as a name. */
	assert_int_equal(rule_of("10.1.2.3", "10.2.0.1", NULL), -1);
	assert_int_equal(rule_of("", "10.2.0.1", NULL), -1);
	rule_add("", "")->anonuid = 6;
	assert_int_equal(rule_of("host-b", NULL, NULL), 6);
	assert_int_equal(rule_of("host-b", "10.1.2.3", NULL), 2);
}

static void listed_add(struct launch_client *c, const char *addr)
{
	if (c->n_addrs++ == 0)
		c->first_addr = cfg->n_client_addrs;
	assert_int_equal(ip_addr_parse(addr, &cfg->client_addrs[cfg->n_client_addrs++]), 0);
}

static int result_of(const char *host, const char *addr)
{
	struct ip_addr from;
	struct fuse_rights r;

	if (addr)
		assert_int_equal(ip_addr_parse(addr, &from), 0);
	return fuse_rights_for(cfg, export, host, &from, addr ? 1 : 0, &r);
}

static void without_a_key_a_name_counts_from_its_addresses_alone(void **state)
{
	struct launch_client *other = rule_add("host-b", ""), *c = rule_add("host-a", "");

	cfg->security = LAUNCH_SECURITY_NONE;
	listed_add(other, "10.1.0.2");
	listed_add(c, "10.1.0.1");
	listed_add(c, "fd00:1::1");
	c->anonuid = 1;
	rule_add("host-c", "");
	rule_add("", "10.1.0.0/16")->anonuid = 3;
	assert_int_equal(rule_of("host-a", "10.1.0.1", NULL), 1);
	assert_int_equal(rule_of("host-a.example.org", "fd00:1::1", NULL), 1);
	assert_int_equal(result_of("host-a", "10.1.0.2"), -EADDRNOTAVAIL); /* host-b's */
	assert_int_equal(result_of("host-a.example.org", "10.1.0.3"), -EADDRNOTAVAIL);
	assert_int_equal(result_of("host-a", "fd00:1::2"), -EADDRNOTAVAIL);
	assert_int_equal(result_of("host-a", NULL), -EADDRNOTAVAIL);
	assert_int_equal(result_of("host-c", "10.1.0.1"), -EDESTADDRREQ);
	assert_int_equal(rule_of("host-d", "10.1.0.1", NULL), 3); /* claims no listed name */
	assert_int_equal(result_of("host-d", "10.2.0.1"), -EACCES);
	cfg->security = LAUNCH_SECURITY_ENCRYPT;
	assert_int_equal(rule_of("host-a", "10.1.0.3", NULL), 1);
	assert_int_equal(result_of("host-c", "10.2.0.1"), 0);
}

static void without_rules_no_client_is_admitted(void **state)
{
	assert_int_equal(rule_of("host-a", "10.1.2.3", NULL), -1);
}

static void a_read_only_export_is_read_only_for_all(void **state)
{
	struct fuse_rights r;

	rule_add("", "");
	assert_int_equal(fuse_rights_for(cfg, export, "a", NULL, 0, &r), 0);
	assert_false(r.read_only);
	export->read_only = true;
	assert_int_equal(fuse_rights_for(cfg, export, "a", NULL, 0, &r), 0);
	assert_true(r.read_only);
	export->read_only = false;
	cfg->clients[1].read_only = true;
	assert_int_equal(fuse_rights_for(cfg, export, "a", NULL, 0, &r), 0);
	assert_true(r.read_only);
}

static struct fuse_rights rights(void)
{
	struct fuse_rights r;

	assert_int_equal(fuse_rights_for(cfg, export, "a", NULL, 0, &r), 0);
	return r;
}

static void assert_ids(uint32_t uid, uint32_t gid, uint32_t to_uid, uint32_t to_gid, bool checked,
		       bool squashed)
{
	struct fuse_rights r = rights();
	struct fuse_rights_ids ids = fuse_rights_ids(&r, uid, gid);

	assert_int_equal(ids.uid, to_uid);
	assert_int_equal(ids.gid, to_gid);
	assert_int_equal(ids.checked, checked);
	assert_int_equal(ids.squashed, squashed);
}

static void squashed_ids_become_the_anonymous_user(void **state)
{
	struct launch_client *c = rule_add("", "");

	c->anonuid = 77;
	c->anongid = 78;
	c->squash = LAUNCH_SQUASH_NONE;
	assert_ids(0, 0, 0, 0, false, false);
	assert_ids(1000, 100, 1000, 100, false, false);
	c->squash = LAUNCH_SQUASH_ROOT;
	assert_ids(0, 0, 77, 78, true, true);
	assert_ids(0, 100, 77, 78, true, true); /* in none of root's groups */
	assert_ids(1000, 100, 1000, 100, true, false);
	assert_ids(1000, 0, 1000, 78, true, false);
	assert_ids(UINT32_MAX - 1, 5, UINT32_MAX - 1, 5, true, false);
	c->squash = LAUNCH_SQUASH_ALL;
	assert_ids(0, 0, 77, 78, true, true);
	assert_ids(1000, 100, 77, 78, true, true);
	assert_ids(77, 78, 77, 78, true, true);
}

static void ids_are_mapped_both_ways(void **state)
{
	struct launch_client *c = rule_add("", "");
	struct fuse_rights r;
	uint32_t id = 5;

	c->squash = LAUNCH_SQUASH_NONE;
	c->anonuid = 77;
	c->anongid = 78;
	map_add(c, false, 1000, 51000, 100);
	map_add(c, false, UINT32_MAX - 2, 9, 2);
	map_add(c, true, 0, 700, 1);
	r = rights();
	assert_ids(1000, 0, 51000, 700, true, false);
	assert_ids(1099, 0, 51099, 700, true, false);
	assert_ids(UINT32_MAX - 1, 0, 10, 700, true, false);
	assert_ids(1100, 0, 77, 78, true, true);
	assert_ids(999, 0, 77, 78, true, true);
	assert_ids(51000, 0, 77, 78, true, true);
	assert_ids(1000, 100, 51000, 78, true, false);
	assert_int_equal(fuse_rights_uid_out(&r, 51099), 1099);
	assert_int_equal(fuse_rights_uid_out(&r, 10), UINT32_MAX - 1);
	assert_int_equal(fuse_rights_uid_out(&r, 51100), FUSE_RIGHTS_NOBODY);
	assert_int_equal(fuse_rights_uid_out(&r, 1000), FUSE_RIGHTS_NOBODY);
	assert_int_equal(fuse_rights_uid_out(&r, 0), FUSE_RIGHTS_NOBODY);
	assert_int_equal(fuse_rights_gid_out(&r, 700), 0);
	assert_int_equal(fuse_rights_gid_out(&r, 0), FUSE_RIGHTS_NOBODY);
	assert_int_equal(fuse_rights_uid_in(&r, 1001, &id), 0);
	assert_int_equal(id, 51001);
	assert_int_equal(fuse_rights_uid_in(&r, 1100, &id), -EINVAL);
	assert_int_equal(id, 51001);
	assert_int_equal(fuse_rights_gid_in(&r, 0, &id), 0);
	assert_int_equal(id, 700);
}

static void mapped_users_are_checked(void **state)
{
	struct launch_client *c = rule_add("", "");

	c->squash = LAUNCH_SQUASH_NONE;
	map_add(c, false, 0, 5000, 10);
	map_add(c, false, 100, 0, 1);
	assert_ids(0, 0, 5000, 0, true, false);
	assert_ids(3, 0, 5003, 0, true, false);
	assert_ids(100, 0, 0, 0, false, false); /* root here, who passes every check */
}

static void users_are_checked_if_only_groups_are_mapped(void **state)
{
	struct launch_client *c = rule_add("", "");

	c->squash = LAUNCH_SQUASH_NONE;
	map_add(c, true, 100, 700, 10);
	assert_ids(1000, 105, 1000, 705, true, false);
	assert_ids(0, 105, 0, 705, false, false);
}

static void clients_set_no_security_attributes_but_capabilities(void **state)
{
	assert_false(fuse_rights_may_set("security.selinux"));
	assert_false(fuse_rights_may_set("security.ima"));
	assert_false(fuse_rights_may_set("security."));
	assert_false(fuse_rights_may_set("security.capability2"));
	assert_true(fuse_rights_may_set("security.capability"));
	assert_true(fuse_rights_may_set("security"));
	assert_true(fuse_rights_may_set("user.security.selinux"));
	assert_true(fuse_rights_may_set("system.posix_acl_access"));
	assert_true(fuse_rights_may_set("trusted.x"));
}

static void without_maps_ids_are_unchanged(void **state)
{
	struct fuse_rights r;
	uint32_t id;

	rule_add("", "");
	r = rights();
	assert_int_equal(fuse_rights_uid_out(&r, 0), 0);
	assert_int_equal(fuse_rights_gid_out(&r, 4711), 4711);
	assert_int_equal(fuse_rights_uid_in(&r, 0, &id), 0);
	assert_int_equal(id, 0);
}

/* Version 2, then tag, permissions and id of each entry. */
#define ACL(user, group)                                                                      \
	{                                                                                     \
		2, 0, 0, 0, 0x01, 0, 7, 0, 0xff, 0xff, 0xff, 0xff,     /* owner */            \
			0x02, 0, 6, 0, (user)&0xff, (user) >> 8, 0, 0, /* user */             \
			0x04, 0, 5, 0, 0xff, 0xff, 0xff, 0xff,	       /* group */            \
			0x08, 0, 4, 0, (group)&0xff, (group) >> 8, 0, 0, 0x10, 0, 7, 0, 0xff, \
			0xff, 0xff, 0xff, 0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff               \
	}

static void access_lists_are_mapped(void **state)
{
	uint8_t list[] = ACL(1000, 20), there[] = ACL(5000, 30), unknown[] = ACL(65534, 30);
	struct launch_client *c = rule_add("", "");
	struct fuse_rights r;

	assert_true(fuse_rights_is_acl("system.posix_acl_access"));
	assert_true(fuse_rights_is_acl("system.posix_acl_default"));
	assert_false(fuse_rights_is_acl("user.posix_acl_access"));
	r = rights();
	assert_int_equal(fuse_rights_acl_in(&r, list, 3), 0); /* left to the file system */
	map_add(c, false, 1000, 5000, 1);
	map_add(c, true, 20, 30, 1);
	r = rights();
	assert_int_equal(fuse_rights_acl_in(&r, list, sizeof(list)), 0);
	assert_memory_equal(list, there, sizeof(list));
	assert_int_equal(fuse_rights_acl_out(&r, list, sizeof(list)), 0);
	assert_memory_equal(list, ((uint8_t[])ACL(1000, 20)), sizeof(list));
	assert_int_equal(fuse_rights_acl_in(&r, there, sizeof(there)), -EINVAL);
	memcpy(there, unknown, sizeof(there));
	there[16] = 1;
	there[17] = 0;
	assert_int_equal(fuse_rights_acl_out(&r, there, sizeof(there)), 0);
	assert_memory_equal(there + 12, unknown + 12, 8);
	assert_int_equal(fuse_rights_acl_in(&r, list, sizeof(list) - 1), -EINVAL);
	assert_int_equal(fuse_rights_acl_in(&r, list, 2), -EINVAL);
	assert_int_equal(fuse_rights_acl_in(&r, list, 4), 0);
	list[0] = 1;
	assert_int_equal(fuse_rights_acl_in(&r, list, sizeof(list)), -EINVAL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* A proven name is one host's, so host-c.evil does not get the rights of host-c. */
static void a_proven_name_must_be_equal(void **state)
{
	struct fuse_rights r;

	rule_add("host-c", "");
	assert_int_equal(fuse_rights_for(cfg, export, "host-c.evil", NULL, 0, &r), 0);
	cfg->identity = LAUNCH_IDENTITY_REQUIRE;
	assert_int_equal(fuse_rights_for(cfg, export, "host-c", NULL, 0, &r), 0);
	assert_int_equal(fuse_rights_for(cfg, export, "host-c.evil", NULL, 0, &r), -EACCES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_matching_rule_decides),
		TEST(without_a_key_a_name_counts_from_its_addresses_alone),
		TEST(without_rules_no_client_is_admitted),
		TEST(a_read_only_export_is_read_only_for_all),
		TEST(squashed_ids_become_the_anonymous_user),
		TEST(ids_are_mapped_both_ways),
		TEST(mapped_users_are_checked),
		TEST(users_are_checked_if_only_groups_are_mapped),
		TEST(clients_set_no_security_attributes_but_capabilities),
		TEST(without_maps_ids_are_unchanged),
		TEST(access_lists_are_mapped),
		TEST(a_proven_name_must_be_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
