/* SPDX-License-Identifier: BSD-3-Clause */
/* Launch configurations: the clients of exports, and what proves their names; the servers of
 * mounts. */
#include "agent/desired/worker_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void wants_of(const char *text, struct spec **ret_spec, struct launch_config **ret)
{
	struct diag d = DIAG_INIT;
	struct plan_worker w = {.id = 1, .role = SPEC_ROLE_COMPUTE};
	struct plan plan = {.workers = &w, .n_workers = 1};
	size_t n = 0;

	assert_int_equal(spec_parse("test", text, strlen(text), &d, ret_spec), 0);
	w.exports = (*ret_spec)->workers[0].exports;
	w.n_exports = (*ret_spec)->workers[0].n_exports;
	assert_int_equal(worker_config_build(*ret_spec, &plan, NULL, LOG_LEVEL_INFO, &d, ret, &n),
			 0);
	assert_int_equal(n, 1);
	diag_done(&d);
}

static void exports_have_their_clients(void **state)
{
	const char *text =
		"host: h\nworkers:\n- role: compute\n  cores: [1]\n  exports:\n"
		"  - {name: a, path: /a}\n"
		"  - name: b\n    path: /b\n    submounts: cross\n    clients:\n"
		"    - {hosts: [x, y], networks: [10.0.0.0/8], squash: none, access: ro,\n"
		"       uid-map: [{client: 1, server: 2, count: 3}], gid-map: [{client: 4, server: "
		"5}]}\n"
		"    - {squash: all, anonuid: 7, anongid: 8}\n";
	struct launch_config *c = NULL, *again = NULL;
	struct spec *s = NULL, *s_again = NULL;

	wants_of(text, &s, &c);
	assert_int_equal(c->n_exports, 2);
	assert_int_equal(c->exports[0].n_clients, 1);
	assert_int_equal(c->clients[0].squash, LAUNCH_SQUASH_ROOT);
	assert_int_equal(c->clients[0].anonuid, SPEC_ID_NOBODY);
	assert_false(c->exports[0].crosses);
	assert_true(c->exports[1].crosses);
	assert_int_equal(c->exports[1].first_client, 1);
	assert_int_equal(c->exports[1].n_clients, 4);
	assert_string_equal(c->clients[1].host, "");
	assert_int_equal(c->clients[1].network.len, 8);
	assert_true(c->clients[2].read_only);
	assert_string_equal(c->clients[3].host, "y");
	assert_int_equal(c->clients[3].network.addr.family, 0);
	assert_int_equal(c->clients[3].n_uids, 1);
	assert_int_equal(c->ids[c->clients[3].first_ids].count, 3);
	assert_int_equal(c->ids[c->clients[3].first_ids + 1].server, 5);
	assert_int_equal(c->clients[4].squash, LAUNCH_SQUASH_ALL);
	assert_int_equal(c->clients[4].anongid, 8);
	assert_int_equal(c->clients[4].n_uids + c->clients[4].n_gids, 0);
	/* Fields that are compared byte by byte are equal twice. */
	wants_of(text, &s_again, &again);
	assert_memory_equal(c, again, sizeof(*c));
	free(c);
	free(again);
	spec_free(s);
	spec_free(s_again);
}

static void names_have_their_addresses_without_a_key(void **state)
{
	static const char text[] =
		"host: h\nworkers:\n- role: compute\n  cores: [1]\n  exports:\n"
		"  - {name: a, path: /a, clients: [{hosts: [x, z], networks: [10.0.0.0/8]},\n"
		"     {hosts: [y.lab]}]}\n"
		"peers:\n- {name: y, ips: [10.1.0.1, 10.2.0.1]}\n"
		"- {name: x.lab, ips: [10.1.0.2, 10.2.0.2]}\n- {name: x.home, ips: [10.1.0.3]}\n";
	char keyed[sizeof(text) + 64], ip[IP_ADDR_STR_MAX];
	struct launch_config *c = NULL;
	struct spec *s = NULL;

	wants_of(text, &s, &c);
	assert_int_equal(c->n_clients, 4);
	assert_int_equal(c->clients[0].n_addrs, 0); /* the network */
	assert_string_equal(c->clients[1].host, "x");
	assert_int_equal(c->clients[1].n_addrs, 3);
	assert_string_equal(
		ip_addr_format(&c->client_addrs[c->clients[1].first_addr + 2], ip, sizeof(ip)),
		"10.1.0.3");
	assert_string_equal(c->clients[2].host, "z");
	assert_int_equal(c->clients[2].n_addrs, 0);
	assert_int_equal(c->clients[3].n_addrs, 2);
	assert_string_equal(
		ip_addr_format(&c->client_addrs[c->clients[3].first_addr + 1], ip, sizeof(ip)),
		"10.2.0.1");
	assert_int_equal(c->n_client_addrs, 5);
	free(c);
	spec_free(s);
	snprintf(keyed, sizeof(keyed), "%scluster: {name: c, secret-file: /key}\n", text);
	s = NULL;
	c = NULL;
	wants_of(keyed, &s, &c);
	assert_int_equal(c->n_client_addrs, 0);
	free(c);
	spec_free(s);
}

/* Returns the mount of a client whose host is in peers, in the cluster, in both, or in neither. */
static struct launch_mount mount_with(const char *peers, const char *etcd, bool in_cluster,
				      int *ret_r)
{
	struct cluster_server b = {.host = "b", .registered = 1, .n_addrs = 1};
	struct servers servers = {.cluster = "c"};
	struct launch_mount m = {.n_addrs = 0};
	struct plan_worker w = {.id = 1, .role = SPEC_ROLE_FRONTEND};
	struct plan plan = {.workers = &w, .n_workers = 1};
	struct launch_config *c = NULL;
	const struct spec_mount *mount;
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	char text[512];
	size_t n = 0;

	snprintf(text, sizeof(text),
		 "host: a\n%scluster: {name: c, secret-file: /k, %s}\nworkers: [{role: frontend, "
		 "cores: [1], mounts: [{path: /m, from: b/x}]}]\n",
		 peers, etcd);
	assert_int_equal(ip_addr_parse("10.9.9.9", &b.addrs[0].ip), 0);
	b.addrs[0].port = 7000;
	if (in_cluster)
		assert_true(servers_take(&servers, &b));
	if (spec_parse("test", text, strlen(text), &d, &s) < 0)
		diag_print(&d, stderr);
	assert_non_null(s);
	mount = &s->workers[0].mounts[0];
	w.mounts = &mount;
	w.n_mounts = 1;
	*ret_r = worker_config_build(s, &plan, &servers, LOG_LEVEL_INFO, &d, &c, &n);
	if (*ret_r == 0)
		m = c->mounts[0];
	free(c);
	spec_free(s);
	servers_done(&servers);
	diag_done(&d);
	return m;
}

static void mounts_have_the_addresses_of_their_server(void **state)
{
	static const char peers[] = "peers: [{name: b, ips: [10.1.1.1], port: 7001}]\n";
	static const char etcd[] = "etcd: [\"http://10.0.0.1:2379\"]";
	struct ip_addr found, listed;
	struct launch_mount m;
	int r;

	assert_int_equal(ip_addr_parse("10.9.9.9", &found), 0);
	assert_int_equal(ip_addr_parse("10.1.1.1", &listed), 0);
	m = mount_with("", etcd, true, &r);
	assert_int_equal(m.n_addrs, 1);
	assert_true(ip_addr_equal(&m.addrs[0].ip, &found));
	assert_int_equal(m.addrs[0].port, 7000);
	/* peers counts before the cluster */
	m = mount_with(peers, etcd, true, &r);
	assert_int_equal(m.n_addrs, 1);
	assert_true(ip_addr_equal(&m.addrs[0].ip, &listed));
	assert_int_equal(m.addrs[0].port, 7001);
	/* a server that is not known yet is waited for */
	m = mount_with("", etcd, false, &r);
	assert_int_equal(r, 0);
	assert_int_equal(m.n_addrs, 0);
	/* without cluster.etcd, servers that were known before do not count */
	m = mount_with(peers, "security: auth", true, &r);
	assert_true(ip_addr_equal(&m.addrs[0].ip, &listed));
}

static void running_mounts_keep_the_addresses_of_an_unknown_server(void **state)
{
	static const char etcd[] = "etcd: [\"http://10.0.0.1:2379\"]";
	struct launch_config *had = calloc(1, sizeof(*had)), *want = calloc(1, sizeof(*want));
	struct launch_mount is;
	int r;

	assert_non_null(had);
	assert_non_null(want);
	had->mounts[had->n_mounts++] = mount_with("", etcd, true, &r);
	is = had->mounts[0];
	want->mounts[want->n_mounts++] = mount_with("", etcd, false, &r);
	want->shared[want->n_shared++] = want->mounts[0];
	mounts_keep_addrs(had, want, 1);
	assert_memory_equal(&want->mounts[0], &is, sizeof(is));
	assert_memory_equal(&want->shared[0], &is, sizeof(is));
	/* addresses of another server or export, or of another mount, do not count */
	for (unsigned i = 0; i < 3; i++) {
		want->mounts[0] = mount_with("", etcd, false, &r);
		(i == 0	  ? want->mounts[0].peer
		 : i == 1 ? want->mounts[0].export_name
			  : want->mounts[0].path)[0] = 'o';
		mounts_keep_addrs(had, want, 1);
		assert_int_equal(want->mounts[0].n_addrs, 0);
	}
	/* known ones stay */
	had->mounts[0].addrs[0].port = 1;
	want->mounts[0] = is;
	mounts_keep_addrs(had, want, 1);
	assert_int_equal(want->mounts[0].addrs[0].port, 7000);
	free(had);
	free(want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exports_have_their_clients),
		cmocka_unit_test(names_have_their_addresses_without_a_key),
		cmocka_unit_test(mounts_have_the_addresses_of_their_server),
		cmocka_unit_test(running_mounts_keep_the_addresses_of_an_unknown_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
