/* SPDX-License-Identifier: BSD-3-Clause */
/* The cluster's document, merged below a host's own files. */
#include "netcfg/base/file.h"
#include "netcfg/base/os/folder.h"
#include "netcfg/spec/spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static void put_file(const char *path, const char *text)
{
	assert_int_equal(file_write(path, text, strlen(text), 0644), 0);
}

#define OWN                                                               \
	"host: storage-1\n"                                               \
	"networks:\n  - {name: data-a, range: 10.10.1.1/24, mtu: 1400}\n" \
	"net:\n  - {name: leg-a, device: eth1, network: data-a}\n"        \
	"policy: {on-fallback: refuse}\n"                                 \
	"cluster: {name: c, security: none, etcd: [\"http://192.0.2.1:2379\"], config: "
#define DOCUMENT                                                                        \
	"- match: [\"*\"]\n"                                                            \
	"  networks: [{name: data-a, mtu: 9000, gateway: 10.10.1.254}, {name: data-b, " \
	"range: 10.20.1.1/24, mtu: 9000}]\n"                                            \
	"  policy: {on-fallback: degrade, confirm: 90s}\n"                              \
	"- match: [\"other\", \"stor?ge-*\"]\n"                                         \
	"  networks: [{name: data-b, mtu: 4000}]\n"                                     \
	"- match: [\"client-*\"]\n"                                                     \
	"  networks: [{name: data-b, mtu: 2000}]\n"

static int load(const char *follow, const char *document, struct diag *d, struct spec **ret)
{
	char own[1024];

	snprintf(own, sizeof(own), "%s%s}\n", OWN, follow);
	put_file("plenum.yaml", own);
	mkdir("plenum.d", 0755);
	put_file("plenum.d/" SPEC_DOCUMENT_FILE, document);
	return spec_load("plenum.yaml", "plenum.d", d, ret);
}

static void own_values_count_before_those_of_the_document(void **state)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;

	(void)state;
	assert_int_equal(load("follow", DOCUMENT, &d, &s), 0);
	assert_int_equal(s->n_networks, 2);
	assert_int_equal(s->networks[0].mtu, 1400);
	assert_int_equal(s->networks[0].gateway.family, AF_INET);
	assert_int_equal(s->networks[1].mtu, 4000); /* a later section counts first */
	assert_int_equal(s->on_fallback, SPEC_FALLBACK_REFUSE);
	assert_int_equal(s->confirm_s, 90);
	/* the own mtu and on-fallback, and the mtu of data-b in the later section */
	assert_int_equal(s->n_overrides, 3);
	spec_free(s);
	diag_done(&d);
}

static void a_host_that_does_not_follow_ignores_the_document(void **state)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;

	(void)state;
	assert_int_equal(load("off", DOCUMENT, &d, &s), 0);
	assert_int_equal(s->n_networks, 1);
	assert_int_equal(s->confirm_s, 0);
	assert_int_equal(d.n, 1);
	assert_non_null(
		strstr(d.entries[0].text, "has no effect without 'cluster.config: follow'"));
	spec_free(s);
	diag_done(&d);
}

static void an_error_of_the_document_names_its_line(void **state)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;

	(void)state;
	assert_int_equal(load("follow",
			      "- match: [\"*\"]\n"
			      "  networks: [{name: data-b, range: 10.20.1.1/24,\n"
			      "              gateway: 10.99.0.1}]\n",
			      &d, &s),
			 -EINVAL);
	assert_non_null(strstr(diag_first_error(&d)->file, SPEC_DOCUMENT_FILE));
	assert_int_equal(diag_first_error(&d)->line, 3);
	diag_done(&d);
}

static void check_refused(const char *document, const char *error)
{
	struct diag d = DIAG_INIT;

	assert_int_equal(spec_document_check("document", document, strlen(document), &d), -EINVAL);
	if (!strstr(diag_first_error(&d)->text, error))
		fail_msg("'%s' lacks '%s'", diag_first_error(&d)->text, error);
	diag_done(&d);
}

static void a_document_is_checked_before_hosts_have_it(void **state)
{
	struct diag d = DIAG_INIT;
	static const char *const refused[] = {"workers: []",
					      "host: x",
					      "admin: {users: [x]}",
					      "api: {}",
					      "cluster: {}",
					      "net-set: []",
					      "management: {interface: eth0}",
					      "workers-set: []",
					      "policy: {fault-injection: true}"};
	char text[128];

	(void)state;
	assert_int_equal(spec_document_check("document", DOCUMENT, strlen(DOCUMENT), &d), 0);
	assert_int_equal(spec_document_check("document", "[]", 2, &d), 0);
	diag_done(&d);
	check_refused("", "the document is empty");
	check_refused("networks: []", "expected a list of sections");
	check_refused("- networks: []", "the key 'match' is missing");
	check_refused("- match: []", "expected a list of 1 to 64 patterns");
	check_refused("- match: [\"a[bc]\"]", "is not a pattern");
	check_refused("- match: [\"*****\"]", "is not a pattern");
	check_refused("- match: [\"*\"]\n  netwoks: []", "did you mean 'networks'");
	check_refused("- match: [\"*\"]\n  networks: [{name: a, mtu: 5}]", "expected");
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		snprintf(text, sizeof(text), "- match: [\"*\"]\n  %s\n", refused[i]);
		check_refused(text, "a document of the cluster cannot have this key");
	}
}

static int remove_dir(void **state)
{
	(void)state;
	return folder_remove(dir) < 0 ? -1 : 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_values_count_before_those_of_the_document),
		cmocka_unit_test(a_host_that_does_not_follow_ignores_the_document),
		cmocka_unit_test(an_error_of_the_document_names_its_line),
		cmocka_unit_test(a_document_is_checked_before_hosts_have_it),
	};

	strcpy(dir, "/tmp/test_rollout_document.XXXXXX");
	if (!mkdtemp(dir) || chdir(dir) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, remove_dir);
}
