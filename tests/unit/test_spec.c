/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of spec_load and spec_parse. tests/golden/spec covers their messages. */
#include "netcfg/base/os/folder.h"
#include "netcfg/spec/spec.h"
#include "netcfg/spec/spec_schema.h"

#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char *read_text(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	assert_non_null(f);
	assert_true(getdelim(&text, &size, '\0', f) > 0);
	fclose(f);
	return text;
}

static void write_text(const char *dir, const char *name, const char *text)
{
	autofree char *path = NULL;
	FILE *f;

	assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fputs(text, f) < 0, 0);
	assert_int_equal(fclose(f), 0);
}

static struct spec *parse(const char *text)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;

	if (spec_parse("test.yaml", text, strlen(text), &d, &s) < 0) {
		diag_print(&d, stderr);
		fail();
	}
	assert_int_equal(d.n_errors, 0);
	diag_done(&d);
	return s;
}

/* The only error of a text. */
static void assert_error(const char *text, const char *want)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	autofree char *got = NULL;

	assert_int_equal(spec_parse("test.yaml", text, strlen(text), &d, &s), -EINVAL);
	assert_null(s);
	got = diag_format(&d);
	assert_non_null(got);
	if (!strstr(got, want))
		print_error("wanted '%s' in\n%s", want, got);
	assert_non_null(strstr(got, want));
	diag_done(&d);
}

static const char *example_path(const char *name, char *buf, size_t size)
{
	snprintf(buf, size, "%s/etc/%s", TOP_SRCDIR, name);
	return buf;
}

static void test_examples_validate_and_round_trip(void **state)
{
	static const char *const names[] = {
		"plenum.yaml",		"examples/full.yaml",	     "examples/host-a.yaml",
		"examples/host-b.yaml", "examples/host-backup.yaml", "examples/host-lacp.yaml",
		"examples/host-vf.yaml"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		autofree char *once = NULL, *twice = NULL;
		struct diag d = DIAG_INIT;
		struct spec *s = NULL;
		char path[512];
		int r = spec_load(example_path(names[i], path, sizeof(path)), NULL, &d, &s);

		if (r < 0)
			diag_print(&d, stderr);
		assert_int_equal(r, 0);
		/* the shipped file configures nothing, with a warning */
		assert_int_equal(d.n, i == 0);
		once = spec_to_yaml(s);
		assert_non_null(once);
		s = spec_free(s);
		s = parse(once);
		twice = spec_to_yaml(s);
		assert_string_equal(once, twice);
		spec_free(s);
		diag_done(&d);
	}
}

static void assert_ip(const struct ip_addr *a, const char *want)
{
	char buf[IP_ADDR_STR_MAX];

	assert_string_equal(ip_addr_format(a, buf, sizeof(buf)), want);
}

static void assert_full_networks(const struct spec *s)
{
	assert_int_equal(s->n_networks, 2);
	assert_string_equal(s->networks[0].name, "data-a");
	assert_ip(&s->networks[0].range.first, "10.10.1.10");
	assert_ip(&s->networks[0].range.last, "10.10.1.200");
	assert_int_equal(s->networks[0].range.prefix_len, 16);
	assert_ip(&s->networks[0].gateway, "10.10.0.1");
	assert_int_equal(s->networks[0].mtu, 9000);
	assert_int_equal(s->networks[1].gateway.family, 0);
	assert_int_equal(s->n_nets, 2);
	assert_string_equal(s->nets[0].device, "0000:3b:00.0");
	assert_string_equal(s->nets[0].label, "switch-a");
	assert_int_equal(s->nets[0].vfs, SPEC_VFS_AUTO);
	assert_int_equal(s->nets[0].rdma, SPEC_AUTO);
	assert_int_equal(s->nets[0].n_ips, 0);
	assert_int_equal(s->nets[1].n_ips, 1);
	assert_int_equal(s->nets[1].ips[0].prefix_len, 16);
	assert_int_equal(s->nets[1].pos.line, 13);
	assert_int_equal(s->nets[1].pos.column, 5);
	assert_non_null(strstr(s->nets[1].pos.file, "full.yaml"));
}

static void test_every_member_is_filled(void **state)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	char path[512];

	assert_int_equal(
		spec_load(example_path("examples/full.yaml", path, sizeof(path)), NULL, &d, &s), 0);
	assert_string_equal(s->host, "storage-07");
	assert_string_equal(s->management_interface, "eth0");
	assert_int_equal(s->port, SPEC_PORT_DEFAULT);
	assert_int_equal(s->ha, SPEC_HA_DUAL_LEG);
	assert_int_equal(s->on_fallback, SPEC_FALLBACK_DEGRADE);
	assert_full_networks(s);
	assert_int_equal(s->n_workers, 2);
	assert_int_equal(s->workers[0].role, SPEC_ROLE_FRONTEND);
	assert_int_equal(s->workers[0].n_cores, 1);
	assert_int_equal(s->workers[0].cores[0], 2);
	assert_int_equal(s->workers[0].n_mounts, 2);
	assert_string_equal(s->workers[0].mounts[0].path, "/mnt/scratch");
	assert_string_equal(s->workers[0].mounts[0].from_host, "storage-01");
	assert_string_equal(s->workers[0].mounts[0].from_export, "scratch");
	assert_false(s->workers[0].mounts[0].read_only);
	assert_int_equal(s->workers[0].mounts[0].soft_s, 0);
	assert_true(s->workers[0].mounts[0].suid && s->workers[0].mounts[0].dev);
	assert_int_equal(s->workers[0].mounts[0].locks, SPEC_LOCKS_LOCAL);
	assert_true(s->workers[0].mounts[1].read_only);
	assert_int_equal(s->workers[0].mounts[1].soft_s, 600);
	assert_int_equal(s->workers[0].mounts[0].max_kbs, 0);
	assert_int_equal(s->workers[0].mounts[1].max_kbs, 250000);
	assert_int_equal(s->workers[0].mounts[1].max_operations, 5000);
	assert_false(s->workers[0].mounts[1].suid || s->workers[0].mounts[1].dev);
	assert_int_equal(s->workers[1].transport, SPEC_TRANSPORT_DPDK);
	assert_int_equal(s->workers[1].n_cores, 4);
	assert_int_equal(s->workers[1].cores[3], 6);
	assert_int_equal(s->workers[1].n_exports, 2);
	assert_string_equal(s->workers[1].exports[1].path, "/srv/software");
	assert_true(s->workers[1].exports[1].read_only);
	assert_int_equal(s->workers[1].exports[1].n_clients, 0);
	assert_int_equal(s->workers[1].exports[0].n_clients, 2);
	assert_int_equal(s->workers[1].exports[0].clients[0].squash, SPEC_SQUASH_NONE);
	assert_string_equal(s->workers[1].exports[0].clients[0].hosts[0], "storage-01");
	assert_int_equal(s->workers[1].exports[0].clients[1].squash, SPEC_SQUASH_ROOT);
	assert_int_equal(s->workers[1].exports[0].clients[1].anonuid, SPEC_ID_NOBODY);
	assert_int_equal(s->workers[1].exports[0].clients[1].networks[1].len, 16);
	assert_int_equal(s->n_peers, 2);
	assert_int_equal(s->peers[0].port, 0);
	assert_int_equal(s->peers[1].port, 7412);
	assert_int_equal(s->peers[1].n_ips, 2);
	assert_int_equal(s->n_files, 1);
	spec_free(s);
	diag_done(&d);
}

static void test_absent_keys_have_their_defaults(void **state)
{
	struct spec *s = parse("networks: []\n");
	char host[PLENUM_NAME_MAX] = "";

	gethostname(host, sizeof(host) - 1);
	assert_string_equal(s->host, host);
	assert_int_equal(s->port, SPEC_PORT_DEFAULT);
	assert_int_equal(s->ha, SPEC_HA_NONE);
	assert_string_equal(s->management_interface, "");
	assert_string_equal(s->cluster.name, "");
	assert_int_equal(s->n_nets + s->n_workers + s->n_peers + s->n_networks, 0);
	spec_free(s);
}

static void test_cores_have_several_notations(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		unsigned first, last;
	} cases[] = {
		{"0", 1, 0, 0},
		{"5", 1, 5, 5},
		{"3-6", 4, 3, 6},
		{"\"3-6\"", 4, 3, 6},
		{"[7, 2-4, 9]", 5, 7, 9},
		{"[0, 1-3]", 4, 0, 3},
		{"[1023]", 1, 1023, 1023},
		{"4-4", 1, 4, 4},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[128];
		struct spec *s;

		snprintf(text, sizeof(text), "workers: [{role: compute, cores: %s}]\n",
			 cases[i].text);
		s = parse(text);
		assert_int_equal(s->workers[0].n_cores, cases[i].n);
		assert_int_equal(s->workers[0].cores[0], cases[i].first);
		assert_int_equal(s->workers[0].cores[cases[i].n - 1], cases[i].last);
		spec_free(s);
	}
}

static int dir_setup(void **state)
{
	char template[] = "/tmp/plenum-test-spec-XXXXXX";

	if (!mkdtemp(template))
		return -1;
	*state = strdup(template);
	return *state ? 0 : -1;
}

static int dir_teardown(void **state)
{
	int r = folder_remove(*state);

	free(*state);
	return r;
}

static int load(const char *dir, struct diag *d, struct spec **ret)
{
	autofree char *file = NULL, *dropins = NULL;

	assert_true(asprintf(&file, "%s/plenum.yaml", dir) > 0);
	assert_true(asprintf(&dropins, "%s/plenum.d", dir) > 0);
	return spec_load(file, dropins, d, ret);
}

static void make_dropins(const char *dir)
{
	autofree char *path = NULL;

	assert_true(asprintf(&path, "%s/plenum.d", dir) > 0);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void test_dropins_join_lists(void **state)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;

	write_text(*state, "plenum.yaml",
		   "host: h\nnetworks: [{name: n1, range: 10.0.0.1/24}]\n"
		   "net: [{name: a, device: eth1, network: n1}]\n");
	assert_int_equal(load(*state, &d, &s), 0); /* plenum.d need not exist */
	s = spec_free(s);
	make_dropins(*state);
	write_text(*state, "plenum.d/50-cli.yaml", "net: [{name: c, device: eth3, network: n2}]\n");
	write_text(*state, "plenum.d/10-b.yaml",
		   "networks: [{name: n2, range: 10.0.1.1-10.0.1.2/24}]\n"
		   "net: [{name: b, device: eth2, network: n2}]\npolicy: {on-fallback: refuse}\n");
	write_text(*state, "plenum.d/90-empty.yaml", "# nothing yet\n");
	write_text(*state, "plenum.d/README", "not: [yaml\n");
	write_text(*state, "plenum.d/.hidden.yaml", "not: [yaml\n");
	assert_int_equal(load(*state, &d, &s), 0);
	assert_int_equal(d.n, 0);
	assert_int_equal(s->n_nets, 3);
	assert_string_equal(s->nets[0].name, "a");
	assert_string_equal(s->nets[1].name, "b");
	assert_string_equal(s->nets[2].name, "c");
	assert_non_null(strstr(s->nets[2].pos.file, "plenum.d/50-cli.yaml"));
	assert_int_equal(s->on_fallback, SPEC_FALLBACK_REFUSE);
	assert_int_equal(s->n_files, 4);
	spec_free(s);
	diag_done(&d);
}

static void test_contradicting_dropins_are_refused(void **state)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	autofree char *text = NULL;

	write_text(*state, "plenum.yaml",
		   "host: h\nha: {mode: none}\nworkers: [{role: compute, cores: [4]}]\n");
	make_dropins(*state);
	write_text(*state, "plenum.d/a.yaml",
		   "ha: {mode: lacp}\nworkers: [{role: compute, cores: 3-5}]\n");
	write_text(*state, "plenum.d/b.yaml", "host: x\nwrong: 1\n");
	write_text(*state, "plenum.d/c.yml", "host: y\n");
	assert_int_equal(load(*state, &d, &s), -EINVAL);
	assert_null(s);
	text = diag_format(&d);
	assert_int_equal(d.n_errors, 4);
	assert_non_null(strstr(text, "a.yaml:1:5: error: ha: given already on line 2 of "));
	assert_non_null(strstr(text, "a.yaml:2:34: error: workers[0].cores: core 4 is used "
				     "already by workers[0].cores[0] on line 3 of "));
	assert_non_null(strstr(text, "b.yaml:1:7: error: host: given already on line 1"));
	assert_non_null(strstr(text, "b.yaml:2:1: error: wrong: unknown key"));
	assert_non_null(
		strstr(text, "c.yml: warning: the file is not read; rename it to end in .yaml"));
	diag_done(&d);
}

static void test_unreadable_files_are_errors(void **state)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	autofree char *file = NULL;
	uint64_t begin_ns = clock_now_ns();

	assert_true(asprintf(&file, "%s/plenum.yaml", (char *)*state) > 0);
	assert_int_equal(spec_load(file, NULL, &d, &s), -ENOENT);
	assert_int_equal(d.n_errors, 1);
	assert_int_equal(spec_load(*state, NULL, &d, &s), -EISDIR);
	assert_int_equal(mkfifo(file, 0600), 0);
	assert_int_equal(spec_load(file, NULL, &d, &s), -EINVAL); /* and does not hang */
	assert_int_equal(unlink(file), 0);
	write_text(*state, "plenum.yaml", "host: h\n");
	assert_int_equal(truncate(file, 100 << 20), 0);
	assert_int_equal(spec_load(file, NULL, &d, &s), -EINVAL);
	assert_non_null(strstr(d.entries[d.n - 1].text, "104857600 bytes"));
	assert_int_equal(d.n_errors, 4);
	/* Reading all of it would take longer than this even on a slow machine. */
	assert_true(clock_now_ns() - begin_ns < 5 * NSEC_PER_SEC);
	assert_null(s);
	diag_done(&d);
}

static void test_a_file_that_ends_early_is_refused_or_whole(void **state)
{
	autofree char *text = NULL;
	char path[512];
	size_t len;

	text = read_text(example_path("examples/full.yaml", path, sizeof(path)));
	len = strlen(text);
	for (size_t n = 0; n < len; n += 7) {
		struct diag d = DIAG_INIT;
		struct spec *s = NULL;
		int r = spec_parse("cut.yaml", text, n, &d, &s);

		assert_true(r == 0 || (r == -EINVAL && diag_has_errors(&d) && !s));
		spec_free(s);
		diag_done(&d);
	}
}

static void test_invalid_text_is_refused(void **state)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	static const char nul[] = "host: a\0b\n";

	assert_int_equal(spec_parse("n", nul, sizeof(nul) - 1, &d, &s), -EINVAL);
	assert_string_equal(d.entries[0].text,
			    "a NUL byte was found; write the file as UTF-8 text");
	assert_int_equal(d.entries[0].column, 8);
	diag_done(&d);
	assert_error("\xef\xbb\xbfhost: a\n", "test.yaml:1:1: error: a byte order mark was found");
	assert_error("host: a\nport: \xff\n", "test.yaml:2:7: error: the byte 0xff is not UTF-8");
	assert_error("host: \xc0\x80\n", "the byte 0xc0 is not UTF-8");
	assert_error("host: \xed\xa0\x80\n", "the byte 0xed is not UTF-8");
	assert_error("host: \xf4\x90\x80\x80\n", "the byte 0xf4 is not UTF-8");
	assert_error("# \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 \x1b\n", "test.yaml:1:7: error: the "
								      "character U+001B");
	assert_error("host: \xe2", "the byte 0xe2 is not UTF-8");
	assert_error("host: \"a\\0b\"\n", "the text holds a NUL character");
}

static void test_a_net_is_printed_as_json(void **state)
{
	struct spec *s = parse("networks: [{name: net1, range: 10.0.0.1-10.0.0.9/24}]\n"
			       "net: [{name: a, device: '00:11:22:33:44:55', network: net1,"
			       " ips: [10.0.0.3]},\n"
			       "      {name: b, device: eth1, network: net1, dcb: {pfc: [3, 4],"
			       " dscp: [{dscp: 24, prio: 3}], trust: dscp}}]\n"
			       "ha: {mode: lacp, allow: [several-nics]}\n");
	autofree char *text = spec_net_to_json(&s->nets[0]);
	autofree char *dcb = spec_net_to_json(&s->nets[1]);

	assert_string_equal(
		text,
		"{\"name\": \"a\", \"device\": \"00:11:22:33:44:55\", \"match\": null, "
		"\"network\": "
		"\"net1\", \"label\": null, \"vfs\": \"auto\", "
		"\"vf-spoof-check\": null, \"vf-trust\": null, "
		"\"vf-rate\": null, \"kernel-port\": \"auto\", \"rdma\": \"auto\", "
		"\"soft-roce\": false, \"udp-sources\": 1, \"dcb\": null, "
		"\"ipoib-mode\": null, \"qdisc\": null, \"roce-mode\": null, \"roce-tos\": null, "
		"\"ips\": [\"10.0.0.3/24\"], \"shared-ip\": false, \"enabled\": true}");
	assert_non_null(strstr(dcb, "\"dcb\": {\"pfc\": [3, 4], \"trust\": \"dscp\", \"dscp\": "
				    "[{\"dscp\": 24, \"prio\": 3}], \"ets\": null}"));
	spec_free(s);
}

static void test_a_dropin_changes_an_entry_of_another_file(void **state)
{
	struct spec *s = parse("networks: [{name: net1, range: 10.0.0.1-10.0.0.9/24}]\n"
			       "net-set: [{name: a, label: sw-b, vfs: 2, enabled: false}]\n"
			       "net: [{name: a, device: eth1, network: net1, label: sw-a}]\n");
	autofree char *yaml = spec_to_yaml(s);

	assert_string_equal(s->nets[0].label, "sw-b");
	assert_int_equal(s->nets[0].vfs, 2);
	assert_false(s->nets[0].enabled);
	assert_int_equal(s->n_net_sets, 0);
	assert_null(strstr(yaml, "net-set"));
	spec_free(s);
	assert_error("net: [{name: a, device: eth1, network: n}]\nnet-set: [{name: b, vfs: 1}]\n",
		     "no entry of net is called 'b'; 'plenum net remove b' drops this change");
	assert_error("net: [{name: a, device: eth1, network: n}]\n"
		     "net-set: [{name: a, vfs: 1}, {name: a, vfs: 2}]\n",
		     "'a' is changed already on line 2 of test.yaml; leave one out");
	assert_error("net: [{name: a, device: eth1, network: n}]\nnet-set: [{vfs: 1}]\n",
		     "the key 'name' is missing");
	assert_error("net: [{name: a, device: eth1, network: n}]\nnet-set: [x]\n",
		     "expected a map of keys");
	assert_error("net: [{name: a, device: eth1, network: n}]\nnet-set: {name: a}\n",
		     "expected a list");
	assert_error("net: [{name: a, device: eth1, network: n}]\nnet-set: [{name: a, vsf: 1}]\n",
		     "did you mean 'vfs'?");
}

#define WORKERS                                                \
	"networks: [{name: n, range: 10.0.0.1-10.0.0.9/24}]\n" \
	"net: [{name: a, device: eth1, network: n}]\n"         \
	"workers: [{role: compute, cores: [2, 4-6]}, {role: frontend, cores: 7}]\n"

static void test_a_dropin_changes_the_cores_of_an_entry(void **state)
{
	/* The two entries exchange cores: both are found by the cores in their file. */
	struct spec *s = parse(WORKERS "workers-set: [{core: 5, cores: [7, 4, 5, 6]},"
				       " {core: 7, cores: 2, transport: udp}]\n");
	autofree char *yaml = spec_to_yaml(s);

	assert_int_equal(s->n_workers, 2);
	assert_int_equal(s->n_worker_sets, 0);
	assert_int_equal(s->workers[0].n_cores, 4);
	assert_int_equal(s->workers[0].cores[0], 7);
	assert_int_equal(s->workers[0].transport, SPEC_TRANSPORT_AUTO);
	assert_int_equal(s->workers[1].n_cores, 1);
	assert_int_equal(s->workers[1].cores[0], 2);
	assert_int_equal(s->workers[1].transport, SPEC_TRANSPORT_UDP);
	assert_null(strstr(yaml, "workers-set"));
	spec_free(s);
	assert_error(WORKERS "workers-set: [{core: 3, cores: 9}]\n",
		     "no entry of workers has core '3' in its file; write a core that an entry of "
		     "workers has in its file, or remove this entry of workers-set");
	assert_error(WORKERS "workers-set: [{core: 4-5, cores: 9}]\n", "has core '4-5'");
	assert_error(WORKERS "workers-set: [{core: x, cores: 9}]\n", "has core 'x'");
	assert_error(
		WORKERS "workers-set: [{core: 2, cores: 9}, {core: 6, cores: 10}]\n",
		"the entry of workers with core '6' is changed already on line 4 of test.yaml, by "
		"its core '2'; leave one out");
	/* The worker of core 2 has moved away, and another entry is written for the core. */
	assert_error("workers: [{role: compute, cores: 2}, {role: frontend, cores: [2]}]\n"
		     "workers-set: [{core: 2, cores: 9}]\n",
		     "two entries of workers have core '2' in their files, the second on line 1 of "
		     "test.yaml; write the present cores of each worker into its entry");
	assert_error(WORKERS "workers-set: [{cores: 9}]\n", "the key 'core' is missing");
	assert_error(WORKERS "workers-set: [{core: 7, cores: 4}]\n", "use each core once");
	assert_error(WORKERS "workers-set: [{core: 7, cors: 4}]\n", "did you mean 'cores'?");
	assert_error(WORKERS "workers-set: [{core: 7, cores: [0-1]}]\n", "includes core 0");
}

/* The only message of the overrides in s. */
static void assert_override(const struct spec *s, const struct spec *before, const char *want)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *got = NULL;

	spec_note_overrides(s, before, &d);
	got = diag_format(&d);
	assert_int_equal(d.n, 1);
	assert_string_equal(got, want);
}

static struct spec *parse_override(const char *label, const char *set)
{
	autofree char *text = NULL;

	assert_true(asprintf(&text,
			     "networks: [{name: n, range: 10.0.0.1-10.0.0.9/24}]\n"
			     "net: [{name: a, device: eth1, network: n, label: %s}]\n"
			     "net-set: [{name: a, label: %s, vfs: 2}]\n",
			     label, set) > 0);
	return parse(text);
}

static void test_an_overridden_value_is_named_with_both_places(void **state)
{
	struct spec *s = parse_override("sw-a", "sw-b"), *edited = parse_override("sw-c", "sw-b");
	struct spec *same = parse_override("sw-b", "sw-b");

	assert_override(
		s, NULL,
		"test.yaml:2:50: note: net[a].label: the value 'sw-a' has no effect: net-set "
		"in test.yaml:3:28 overrides it with 'sw-b'; remove 'label' there to make "
		"this value count\n");
	assert_override(
		edited, edited,
		"test.yaml:2:50: note: net[a].label: the value 'sw-c' has no effect: net-set "
		"in test.yaml:3:28 overrides it with 'sw-b'; remove 'label' there to make "
		"this value count\n");
	assert_override(
		edited, s,
		"test.yaml:2:50: warning: net[a].label: the edited value 'sw-c' has no "
		"effect: net-set in test.yaml:3:28 overrides it with 'sw-b'; remove 'label' "
		"there to make this value count\n");
	assert_int_equal(same->n_overrides, 0);
	spec_free(s);
	s = parse(WORKERS "workers-set: [{core: 7, cores: [3]}]\n");
	assert_override(s, NULL,
			"test.yaml:3:69: note: workers[1].cores: the value '7' has no effect: "
			"workers-set in test.yaml:4:32 overrides it with '[3]'; remove 'cores' "
			"there to make this value count\n");
	spec_free(s);
	/* An entry before it changes the place of the entry, but edits no value. */
	spec_free(edited);
	s = parse(WORKERS "workers-set: [{core: 7, cores: [3]}]\n");
	edited = parse("workers: [{role: compute, cores: 1}, {role: compute, cores: [2, 4-6]},"
		       " {role: frontend, cores: 7}]\n"
		       "workers-set: [{core: 7, cores: [3]}, {core: 2, cores: [8]}]\n");
	assert_int_equal(edited->n_overrides, 2);
	assert_false(spec_override_is_edited(&edited->overrides[0], s));
	assert_false(spec_override_is_edited(&edited->overrides[1], s));
	spec_free(s);
	spec_free(edited);
	spec_free(same);
}

static void test_ambiguous_text_is_quoted(void **state)
{
	struct spec *s = parse("host: \"12\"\nmanagement: {interface: 'on'}\nnetworks:\n"
			       "  - {name: 'null', range: 'fd00::1-fd00::9/64'}\n"
			       "workers: [{role: compute, cores: 1, exports: [{name: \"1e5\","
			       " path: '/srv/a \"b\" \\'}]}]\n");
	autofree char *text = spec_to_yaml(s), *again = NULL;
	struct spec *back = parse(text);

	assert_non_null(strstr(text, "host: \"12\"\n"));
	assert_non_null(strstr(text, "interface: \"on\"\n"));
	assert_non_null(strstr(text, "name: \"null\"\n"));
	assert_non_null(strstr(text, "path: \"/srv/a \\\"b\\\" \\\\\"\n"));
	again = spec_to_yaml(back);
	assert_string_equal(text, again);
	spec_free(s);
	spec_free(back);
}

static void test_manual_has_the_table_of_the_schema(void **state)
{
	autofree char *table = spec_man_table(), *manual = NULL;

	manual = read_text(TOP_SRCDIR "/man/plenum.yaml.5");
	assert_non_null(table);
	if (!strstr(manual, table))
		print_error("plenum.yaml.5 is not up to date; run 'make -C man update-keys'\n");
	assert_non_null(strstr(manual, table));
}

static void test_schema_is_json_and_names_every_key(void **state)
{
	static const char *const keys[] = {"\"on-fallback\"", "\"cluster\"", "\"peers\"",
					   "\"read-only\"",   "\"$schema\"", "\"squash\""};
	autofree char *schema = spec_json_schema();

	assert_non_null(schema);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_non_null(strstr(schema, keys[i]));
}

/* The schema for editors accepts the same values as the reader. */
static void test_the_schema_refuses_unsupported_values(void **state)
{
	static const char *const roles[] = {"frontend", "compute"};
	autofree char *text = spec_json_schema();
	json_t *schema = json_loads(text, 0, NULL), *net, *top, *enums;

	top = json_object_get(schema, "properties");
	net = json_object_get(json_object_get(top, "cluster"), "properties");
	assert_null(json_object_get(json_object_get(net, "etcd"), "not"));
	assert_null(json_object_get(json_object_get(net, "secret-file"), "not"));
	net = json_object_get(json_object_get(json_object_get(top, "workers"), "items"),
			      "properties");
	enums = json_object_get(json_object_get(net, "role"), "enum");
	assert_int_equal(json_array_size(enums), ARRAY_SIZE(roles));
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		assert_string_equal(json_string_value(json_array_get(enums, i)), roles[i]);
	json_decref(schema);
}

static void test_urls_are_checked(void **state)
{
	static const char *const bad[] = {"10.0.0.1:2379", "ftp://x", "http://", "https://a b"};
	const struct spec_type_ops *ops = &spec_types[SPEC_TYPE_URLS];
	char *url = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(ops->parse(bad[i], NULL, &url), -EINVAL);
	assert_int_equal(ops->parse("https://[fd00::1]:2379", NULL, &url), 0);
	assert_string_equal(url, "https://[fd00::1]:2379");
	free(url);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples_validate_and_round_trip),
		cmocka_unit_test(test_every_member_is_filled),
		cmocka_unit_test(test_absent_keys_have_their_defaults),
		cmocka_unit_test(test_cores_have_several_notations),
		cmocka_unit_test_setup_teardown(test_dropins_join_lists, dir_setup, dir_teardown),
		cmocka_unit_test_setup_teardown(test_contradicting_dropins_are_refused, dir_setup,
						dir_teardown),
		cmocka_unit_test_setup_teardown(test_unreadable_files_are_errors, dir_setup,
						dir_teardown),
		cmocka_unit_test(test_a_file_that_ends_early_is_refused_or_whole),
		cmocka_unit_test(test_invalid_text_is_refused),
		cmocka_unit_test(test_a_net_is_printed_as_json),
		cmocka_unit_test(test_a_dropin_changes_an_entry_of_another_file),
		cmocka_unit_test(test_a_dropin_changes_the_cores_of_an_entry),
		cmocka_unit_test(test_an_overridden_value_is_named_with_both_places),
		cmocka_unit_test(test_ambiguous_text_is_quoted),
		cmocka_unit_test(test_manual_has_the_table_of_the_schema),
		cmocka_unit_test(test_schema_is_json_and_names_every_key),
		cmocka_unit_test(test_the_schema_refuses_unsupported_values),
		cmocka_unit_test(test_urls_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
