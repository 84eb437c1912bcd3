/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration store: staging, commits, and that a kill before any system call of a commit
 * leaves readers the old or the new configuration.
 */
#include "agent/apply/store.h"
#include "agent/supervise/handover/rundir.h"
#include "netcfg/base/file.h"
#include "netcfg/base/os/folder.h"
#include "plugins/plugins.h"
#include "tests/lib/process/kill_steps.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const char base[] = "host: t\n"
			   "networks:\n"
			   "  - {name: data-a, range: 10.91.1.10-10.91.1.20/24}\n"
			   "net:\n"
			   "  - {name: leg-a, device: lega, network: data-a}\n";
static const char dropin[] =
	"net: [{name: leg-x, device: legx, network: data-a, ips: [10.91.1.12]}]\n";

static char dir[64];
static struct store st;

static char *path_of(const char *name)
{
	static char buf[2][160];
	static unsigned i;

	i ^= 1;
	snprintf(buf[i], sizeof(buf[i]), "%s/%s", dir, name);
	return buf[i];
}

static void write_text(const char *name, const char *text)
{
	assert_int_equal(file_write(path_of(name), text, strlen(text), 0644), 0);
}

static bool exists(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

static int setup(void **state)
{
	/* In memory, where there is such a place: hundreds of commits are synced here. */
	snprintf(dir, sizeof(dir), "%s/plenum-test-store-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(dir) || mkdir(path_of("etc"), 0755) < 0 || mkdir(path_of("state"), 0700) < 0)
		return -1;
	write_text("etc/plenum.yaml", base);
	return store_init(&st, path_of("etc/plenum.yaml"), path_of("state"));
}

static int teardown(void **state)
{
	store_done(&st);
	return folder_remove(dir);
}

/* The result of one operation; its message is checked where it matters. */
static int add(const char *name, const char *ips)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	char json[256];

	snprintf(json, sizeof(json),
		 "{\"name\": \"%s\", \"device\": \"dev-%s\", \"network\": \"data-a\", \"label\": "
		 "\"sw-b\", \"ips\": [\"%s\"]}",
		 name, name, ips);
	return store_net_add(&st, json, strlen(json), &d);
}

static int set(const char *name, const char *json)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;

	return store_net_set(&st, name, json, strlen(json), &d);
}

static int del(const char *name)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;

	return store_net_del(&st, name, &d);
}

static int put(const char *text)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;

	return store_put_staged(&st, text, strlen(text), &d);
}

static int apply(void)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	int r = store_prepare(&st, &d);

	if (r >= 0)
		r = store_commit(&st, &d);
	if (r < 0)
		diag_print(&d, stderr);
	return r;
}

/* "leg-a leg-b": the legs of a configuration; "invalid" where it is invalid. */
static const char *nets_of(struct store_source from)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	static char names[256];
	struct spec *spec = NULL;

	strcpy(names, "invalid");
	if (spec_load(from.file, from.dropin_dir, &d, &spec) < 0) {
		diag_print(&d, stderr);
		return names;
	}
	names[0] = '\0';
	for (size_t i = 0; i < spec->n_nets; i++) {
		if (i > 0)
			strcat(names, " ");
		strcat(names, spec->nets[i].name);
	}
	spec_free(spec);
	return names;
}

static const char *on_disk(void)
{
	return nets_of(store_disk(&st));
}

static const char *next(void)
{
	struct store_source from;

	assert_int_equal(store_next(&st, &from), 0);
	return nets_of(from);
}

static mode_t mode_of(const char *name)
{
	struct stat s;

	assert_int_equal(stat(path_of(name), &s), 0);
	return s.st_mode & 07777;
}

static void test_nets_are_staged_until_apply(void **state)
{
	assert_int_equal(add("leg-b", "10.91.1.15-10.91.1.16"), 0);
	assert_int_equal(add("leg-c", "10.91.1.18"), 0);
	assert_string_equal(on_disk(), "leg-a");
	assert_string_equal(next(), "leg-a leg-b leg-c");
	assert_false(exists("etc/plenum.d"));
	assert_int_equal(del("leg-b"), 0);
	assert_string_equal(next(), "leg-a leg-c");
	assert_int_equal(del("leg-b"), -ENOENT);
	assert_int_equal(del("leg-a"), -EPERM);
	assert_int_equal(apply(), 0);
	assert_false(store_has_staged(&st));
	assert_string_equal(on_disk(), "leg-a leg-c");
	assert_int_equal(del("leg-c"), 0);
	assert_string_equal(on_disk(), "leg-a leg-c");
	assert_string_equal(next(), "leg-a");
	assert_int_equal(apply(), 0);
	assert_string_equal(on_disk(), "leg-a");
	assert_false(exists("etc/plenum.d/50-cli.yaml"));
}

static void test_nets_can_be_discarded(void **state)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;

	assert_int_equal(store_drop_staged(&st, &d), 0);
	assert_int_equal(add("leg-b", "10.91.1.15"), 0);
	assert_int_equal(store_drop_staged(&st, &d), 1);
	assert_string_equal(next(), "leg-a");
	assert_int_equal(apply(), 0);
	assert_string_equal(on_disk(), "leg-a");
	/* An entry that is added and removed again leaves no change. */
	assert_int_equal(add("leg-b", "10.91.1.15"), 0);
	assert_int_equal(del("leg-b"), 0);
	assert_false(store_has_staged(&st));
}

/* "7:2 8:1": the authors and their numbers of changes. */
static const char *authors(void)
{
	static char text[256];
	json_t *list = store_authors_to_json(&st), *e;
	size_t i;

	*text = '\0';
	json_array_foreach (list, i, e) {
		const size_t at = strlen(text);

		assert_non_null(json_string_value(json_object_get(e, "by")));
		assert_int_equal(strlen(json_string_value(json_object_get(e, "time"))),
				 strlen("2026-11-27T22:00:05.123Z"));
		snprintf(text + at, sizeof(text) - at, "%s%d:%d", i ? " " : "",
			 (int)json_integer_value(json_object_get(e, "uid")),
			 (int)json_integer_value(json_object_get(e, "changes")));
	}
	json_decref(list);
	return text;
}

static void test_staged_changes_have_authors(void **state)
{
	assert_string_equal(authors(), "");
	store_set_author(&st, 7, "uid 7, pid 1");
	assert_int_equal(add("leg-b", "10.91.1.15"), 0);
	assert_false(store_is_staged_by_others(&st, 7));
	assert_true(store_is_staged_by_others(&st, 8));
	store_set_author(&st, 8, "uid 8, pid 2");
	assert_int_equal(add("leg-b", "10.91.1.16"), -EINVAL); /* stages nothing */
	assert_string_equal(authors(), "7:1");
	assert_int_equal(add("leg-c", "10.91.1.16"), 0);
	store_set_author(&st, 7, "uid 7, pid 3");
	assert_int_equal(del("leg-b"), 0);
	assert_string_equal(authors(), "8:1 7:2");
	assert_true(store_is_staged_by_others(&st, 7));
	/* A whole configuration replaces what all others have staged. */
	assert_int_equal(put(base), 0);
	assert_string_equal(authors(), "7:1");
	store_set_author(&st, 9, "uid 9, pid 4");
	assert_int_equal(add("leg-b", "10.91.1.15"), 0);
	assert_string_equal(authors(), "7:1 9:1");
	assert_int_equal(apply(), 0);
	assert_string_equal(authors(), "");
	assert_false(store_is_staged_by_others(&st, 9));
	for (uid_t uid = 100; uid < 100 + 2 * STORE_AUTHORS_MAX; uid++) {
		char label[32];

		store_set_author(&st, uid, "many");
		snprintf(label, sizeof(label), "{\"label\": \"sw-%u\"}", (unsigned)uid);
		assert_int_equal(set("leg-a", label), 0);
	}
	assert_true(strncmp(authors(), "116:1 117:1 ", 12) == 0);
}

static void test_an_invalid_net_changes_nothing(void **state)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	static const char json[] =
		"{\"name\": \"leg-c\", \"device\": \"eth7\", \"network\": \"no-such-network\"}";
	json_t *texts;

	assert_int_equal(add("leg-b", "10.91.1.15"), 0);
	assert_int_equal(store_net_add(&st, json, strlen(json), &d), -EINVAL);
	/* The message names the entry and the key, and not the temporary file that was parsed. */
	texts = store_diag_to_json(&st, &d);
	assert_true(json_array_size(texts) > 0);
	assert_non_null(
		strstr(json_string_value(json_array_get(texts, 0)), "error: net[leg-c].network: "));
	assert_null(strstr(json_string_value(json_array_get(texts, 0)), "yaml:"));
	json_decref(texts);
	assert_int_equal(add("leg-a", "10.91.1.17"), -EINVAL); /* the name is taken */
	assert_int_equal(add("leg-d", "not-an-ip"), -EINVAL);
	assert_string_equal(next(), "leg-a leg-b");
}

/* One leg of the staged configuration, in JSON. */
static char *next_net(const char *name)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct spec *spec = NULL;
	char *json = NULL;

	assert_int_equal(store_load_next(&st, &d, &spec), 0);
	for (size_t i = 0; i < spec->n_nets; i++)
		if (strcmp(spec->nets[i].name, name) == 0)
			json = spec_net_to_json(&spec->nets[i]);
	spec_free(spec);
	assert_non_null(json);
	return json;
}

#define assert_next(name, part)                          \
	do {                                             \
		autofree char *json_ = next_net(name);   \
		if (!strstr(json_, part))                \
			fail_msg("%s: %s", part, json_); \
	} while (0)

static void test_a_leg_of_a_file_is_changed_beside_it(void **state)
{
	autofree char *before = NULL, *after = NULL;
	size_t len;

	assert_int_equal(file_read(path_of("etc/plenum.yaml"), 4096, &before, &len), 0);
	assert_int_equal(
		set("leg-a", "{\"label\": \"sw-x\", \"vfs\": 3, \"ips\": [\"10.91.1.17\"]}"), 0);
	assert_next("leg-a", "\"label\": \"sw-x\", \"vfs\": 3");
	assert_next("leg-a", "\"ips\": [\"10.91.1.17/24\"]");
	assert_int_equal(set("leg-a", "{\"enabled\": false, \"vfs\": null}"), 0);
	assert_next("leg-a", "\"vfs\": \"auto\"");
	assert_next("leg-a", "\"enabled\": false");
	assert_int_equal(apply(), 0);
	assert_true(exists("etc/plenum.d/50-cli.yaml"));
	assert_next("leg-a", "\"label\": \"sw-x\"");
	assert_int_equal(del("leg-a"), -EPERM); /* it is the file's entry all the same */
	/* A change that is reverted leaves nothing staged. */
	assert_int_equal(set("leg-a", "{\"enabled\": true, \"label\": null, \"ips\": null}"), 0);
	assert_int_equal(apply(), 0);
	assert_false(exists("etc/plenum.d/50-cli.yaml"));
	assert_int_equal(file_read(path_of("etc/plenum.yaml"), 4096, &after, &len), 0);
	assert_string_equal(before, after);
	/* Nor does a change to the present value. */
	assert_int_equal(set("leg-a", "{\"enabled\": true, \"device\": \"lega\"}"), 0);
	assert_false(store_has_staged(&st));
}

static void test_change_is_validated_as_a_whole(void **state)
{
	static const struct {
		const char *name, *json;
		int error;
	} bad[] = {
		{"leg-a", "{\"lable\": \"x\"}", -EINVAL},
		{"leg-a", "{\"vfs\": \"3\"}", -EINVAL},
		{"leg-a", "{\"vfs\": 9999}", -EINVAL},
		{"leg-a", "{\"enabled\": \"no\"}", -EINVAL},
		{"leg-a", "{\"network\": \"data-z\"}", -EINVAL},
		{"leg-a", "{\"name\": \"leg-z\"}", -EINVAL},
		{"leg-a", "{\"device\": null, \"ips\": [\"10.99.0.1\"]}", -EINVAL},
		{"leg-a", "{\"network\": {\"range\": \"10.95.1.1-10.95.1.9/24\"}}", -EINVAL},
		{"leg-a", "[]", -EINVAL},
		{"leg-a", "{\"a\"", -EINVAL},
		{"leg-z", "{\"label\": \"x\"}", -ENOENT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (set(bad[i].name, bad[i].json) != bad[i].error)
			fail_msg("%s", bad[i].json);
		assert_false(store_has_staged(&st));
	}
}

static void test_a_network_comes_and_goes_with_its_leg(void **state)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	static const char json[] =
		"{\"name\": \"leg-n\", \"device\": \"eth7\", \"network\": {\"name\": \"data-n\", "
		"\"range\": \"10.95.1.1-10.95.1.9/24\", \"gateway\": \"10.95.1.254\"}}";
	autofree char *text = NULL;
	size_t len;

	assert_int_equal(store_net_add(&st, json, strlen(json), &d), 0);
	assert_next("leg-n", "\"network\": \"data-n\"");
	assert_int_equal(apply(), 0);
	assert_int_equal(file_read(path_of("etc/plenum.d/50-cli.yaml"), 4096, &text, &len), 0);
	assert_non_null(strstr(text, "gateway: 10.95.1.254"));
	/* The staged entry itself is changed in place. */
	assert_int_equal(set("leg-n", "{\"label\": \"sw-n\"}"), 0);
	assert_next("leg-n", "\"label\": \"sw-n\"");
	assert_int_equal(del("leg-n"), 0);
	assert_int_equal(apply(), 0);
	assert_false(exists("etc/plenum.d/50-cli.yaml"));
}

static void test_a_change_of_a_leg_that_is_gone(void **state)
{
	assert_int_equal(add("leg-b", "10.91.1.15"), 0);
	assert_int_equal(apply(), 0);
	write_text("etc/plenum.d/60-more.yaml",
		   "net: [{name: leg-x, device: legx, network: data-a, ips: [10.91.1.12]}]\n");
	assert_int_equal(set("leg-x", "{\"label\": \"sw-x\"}"), 0);
	assert_int_equal(apply(), 0);
	assert_int_equal(unlink(path_of("etc/plenum.d/60-more.yaml")), 0);
	assert_string_equal(on_disk(), "invalid"); /* the error stays visible */
	assert_int_equal(del("leg-x"), 0);
	assert_int_equal(apply(), 0);
	assert_string_equal(on_disk(), "leg-a leg-b");
}

static void test_a_whole_configuration_is_staged(void **state)
{
	static const char better[] = "# mine\nhost: u\n";
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *text = NULL;
	size_t len;

	assert_int_equal(chmod(path_of("etc/plenum.yaml"), 0600), 0);
	assert_int_equal(put("hots: x\n"), -EINVAL);
	assert_int_equal(put("networks: [{name: n, range: 10.0.0.1-10.0.0.9/24}]\n"
			     "net: [{name: a, device: eth1, network: n, ips: [10.0.0.1]},\n"
			     "      {name: b, device: eth2, network: n, ips: [10.0.0.2]}]\n"
			     "ha: {mode: lacp}\n"),
			 -EINVAL); /* no host can have this configuration */
	assert_false(store_has_staged(&st));
	assert_int_equal(add("leg-b", "10.91.1.15"), 0);
	assert_int_equal(put(better), 0);
	assert_string_equal(next(), ""); /* it replaces all that was staged before */
	assert_string_equal(on_disk(), "leg-a");
	assert_int_equal(store_prepare(&st, &d), 0);
	assert_int_equal(add("leg-b", "10.91.1.15"), -EINPROGRESS);
	assert_int_equal(put(better), -EINPROGRESS);
	store_abandon(&st);
	assert_string_equal(on_disk(), "leg-a");
	assert_int_equal(apply(), 0);
	assert_int_equal(file_read(path_of("etc/plenum.yaml"), 1000, &text, &len), 0);
	assert_string_equal(text, better);
	assert_int_equal(mode_of("etc/plenum.yaml"), 0600);
	assert_int_equal(mode_of("etc/plenum.yaml~"), 0600);
	assert_false(exists("etc/plenum.d.next"));
}

/* The running configuration, staged as one file, replaces the drop-ins that it came from. */
static void test_the_running_one_can_be_staged(void **state)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *yaml = NULL;
	struct spec *spec = NULL;

	assert_int_equal(mkdir(path_of("etc/plenum.d"), 0750), 0);
	write_text("etc/plenum.d/10-x.yaml", dropin);
	write_text("etc/plenum.d/README", "mine");
	assert_int_equal(add("leg-b", "10.91.1.15"), 0);
	assert_int_equal(apply(), 0);
	assert_string_equal(on_disk(), "leg-a leg-x leg-b");
	assert_int_equal(spec_load(st.file, st.dropin_dir, &d, &spec), 0);
	yaml = spec_to_yaml(spec);
	spec_free(spec);
	assert_int_equal(put(yaml), 0);
	assert_string_equal(next(), "leg-a leg-x leg-b");
	assert_int_equal(add("leg-c", "10.91.1.17"), 0);
	assert_string_equal(next(), "leg-a leg-x leg-b leg-c");
	assert_int_equal(apply(), 0);
	assert_string_equal(on_disk(), "leg-a leg-x leg-b leg-c");
	assert_int_equal(mode_of("etc/plenum.d"), 0750);
	assert_false(exists("etc/plenum.d/10-x.yaml"));
	assert_true(exists("etc/plenum.d/50-cli.yaml"));
	assert_true(exists("etc/plenum.d~/10-x.yaml")); /* an edit by another program is not lost */
	assert_true(exists("etc/plenum.d~/README"));
}

static void test_unwritable_path_is_named_before_the_apply(void **state)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *text = NULL;

	assert_int_equal(add("leg-b", "10.91.1.15"), 0);
	write_text("etc/plenum.d", "a file is in the way");
	assert_int_equal(store_prepare(&st, &d), -ENOTDIR);
	text = diag_format(&d);
	assert_non_null(strstr(text, "/etc/plenum.d/50-cli.yaml: error: cannot be written: "));
	assert_false(st.prepared);
	assert_true(store_has_staged(&st));
}

/* ---- kills ---- */

static void do_apply(void *arg)
{
	if (apply() < 0)
		_exit(1);
}

static void do_stage(void *arg)
{
	if (add("leg-c", "10.91.1.17") < 0)
		_exit(1);
}

/* Notes the base as an apply does when it begins. A kill meanwhile must not look like another
 * program's edit. */
static void note_base(void)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;

	assert_int_equal(store_note_base(&st, &d), 0);
}

/* Kills `change` at each of its system calls, starting each time from the state that `make`
 * creates. */
static void kill_each(void **state, void (*make)(void), void (*change)(void *),
		      const char *(*look)(void), const char *old, const char *new)
{
	unsigned n_old = 0, n_new = 0;
	int r = 0;

	for (unsigned n = 1; r == 0; n++) {
		const char *now;
		bool is_new;

		make();
		note_base();
		r = kill_steps_run(change, NULL, n);
		if (r == -EPERM)
			skip();
		assert_true(r >= 0);
		now = look();
		is_new = strcmp(now, new) == 0;
		if (!is_new)
			assert_string_equal(now, old);
		n_new += is_new;
		n_old += !is_new;
		/* The next agent finds the same state, and can continue. */
		store_recover(&st);
		assert_string_equal(look(), is_new ? new : old);
		assert_int_equal(apply(), 0);
		assert_string_equal(on_disk(), new);
		assert_false(store_has_staged(&st));
		assert_int_equal(add("leg-z", "10.91.1.19"), 0);
		teardown(NULL);
		assert_int_equal(setup(NULL), 0);
	}
	assert_true(n_old > 2 && n_new > 2);
}

static void make_staged_nets(void)
{
	assert_int_equal(add("leg-b", "10.91.1.15"), 0);
}

static void make_staged_removal(void)
{
	make_staged_nets();
	assert_int_equal(apply(), 0);
	assert_int_equal(del("leg-b"), 0);
}

static void make_staged_whole(void)
{
	assert_int_equal(mkdir(path_of("etc/plenum.d"), 0755), 0);
	write_text("etc/plenum.d/10-x.yaml", dropin);
	assert_int_equal(
		put("host: u\nnetworks: [{name: data-a, range: 10.91.1.10-10.91.1.20/24}]\n"
		    "net: [{name: leg-a, device: lega, network: data-a},\n"
		    "      {name: leg-x, device: legy, network: data-a, ips: [10.91.1.14]}]\n"),
		0);
	assert_int_equal(add("leg-b", "10.91.1.15"), 0);
}

static void make_staged_whole_alone(void)
{
	assert_int_equal(put("networks: [{name: data-a, range: 10.91.1.10-10.91.1.20/24}]\n"), 0);
}

static void test_kill_while_legs_are_committed(void **state)
{
	kill_each(state, make_staged_nets, do_apply, on_disk, "leg-a", "leg-a leg-b");
}

static void test_a_kill_while_a_removal_is_committed(void **state)
{
	kill_each(state, make_staged_removal, do_apply, on_disk, "leg-a leg-b", "leg-a");
}

static void test_a_kill_while_all_is_committed(void **state)
{
	kill_each(state, make_staged_whole, do_apply, on_disk, "leg-a leg-x", "leg-a leg-x leg-b");
}

static void test_a_kill_while_one_file_is_committed(void **state)
{
	kill_each(state, make_staged_whole_alone, do_apply, on_disk, "leg-a", "");
}

/* Staging is atomic too. */
static void test_a_kill_while_a_net_is_staged(void **state)
{
	int r = 0;

	for (unsigned n = 1; r == 0; n++) {
		make_staged_nets();
		r = kill_steps_run(do_stage, NULL, n);
		if (r == -EPERM)
			skip();
		assert_true(r >= 0);
		if (strcmp(next(), "leg-a leg-b leg-c") != 0)
			assert_string_equal(next(), "leg-a leg-b");
		else
			assert_int_equal(del("leg-c"), 0);
		assert_int_equal(del("leg-b"), 0);
		assert_false(store_has_staged(&st));
	}
}

/* Edits, new files and removed files are noticed at the next comparison. */
static void test_edited_files_are_seen(void **state)
{
	const char *error = NULL, *text = store_look(&st, &error);

	assert_null(error);
	assert_non_null(strstr(text, "leg-a"));
	assert_ptr_equal(store_look(&st, &error), text); /* not read again */
	assert_int_equal(mkdir(path_of("etc/plenum.d"), 0755), 0);
	write_text("etc/plenum.d/10-x.yaml", dropin);
	text = store_look(&st, &error);
	assert_non_null(strstr(text, "leg-x"));
	write_text("etc/plenum.d/10-x.yaml", "bogus: 1\n");
	assert_null(store_look(&st, &error));
	assert_non_null(strstr(error, "plenum.d/10-x.yaml:1:1: error: bogus: unknown key"));
	assert_int_equal(unlink(path_of("etc/plenum.d/10-x.yaml")), 0);
	text = store_look(&st, &error);
	assert_null(error);
	assert_null(strstr(text, "leg-x"));
	assert_int_equal(unlink(path_of("etc/plenum.yaml")), 0);
	assert_null(store_look(&st, &error));
	assert_non_null(strstr(error, "cannot be read"));
}

static int move(unsigned from, unsigned to)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;

	return store_worker_move(&st, from, to, NULL, NULL, &d);
}

/* "5 4,5": the cores of the entries of the configuration that would be applied next. */
static const char *cores(void)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	static char text[256];
	struct spec *spec = NULL;
	size_t len = 0;

	assert_int_equal(store_load_next(&st, &d, &spec), 0);
	text[0] = '\0';
	for (size_t i = 0; i < spec->n_workers; i++)
		for (size_t j = 0; j < spec->workers[i].n_cores; j++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u",
						j   ? ","
						: i ? " "
						    : "",
						spec->workers[i].cores[j]);
	spec_free(spec);
	return text;
}

#define WORKERS(first)                                                  \
	"host: t\n"                                                     \
	"networks: [{name: data-a, range: 10.91.1.10-10.91.1.20/24}]\n" \
	"net: [{name: leg-a, device: lega, network: data-a}]\n"         \
	"workers: [{role: compute, cores: " first "}, {role: frontend, cores: [7]}]\n"

static void test_a_worker_is_moved_beside_its_file(void **state)
{
	write_text("etc/plenum.yaml", WORKERS("[2, 4-5]"));
	assert_int_equal(move(5, 0), 0);
	assert_string_equal(cores(), "2,4,0 7");
	assert_int_equal(move(7, 5), 0); /* the core that the staged move frees */
	assert_int_equal(move(2, 9), 0); /* of the entry that is changed already */
	assert_string_equal(cores(), "9,4,0 5");
	assert_int_equal(apply(), 0);
	assert_false(store_has_staged(&st));
	assert_string_equal(cores(), "9,4,0 5");
	/* The file of an operator may get a further core, and the change keeps its effect. */
	write_text("etc/plenum.yaml", WORKERS("[2-5]"));
	assert_string_equal(cores(), "9,4,0 5");
	write_text("etc/plenum.yaml", WORKERS("[2, 4-5]"));
	/* Each move back leaves out its change, the last one the whole file. */
	assert_int_equal(move(5, 7), 0);
	assert_int_equal(move(0, 5), 0);
	assert_int_equal(move(9, 2), 0);
	assert_string_equal(cores(), "2,4,5 7");
	assert_int_equal(apply(), 0);
	assert_false(exists("etc/plenum.d/50-cli.yaml"));
}

static void test_an_invalid_move_stages_nothing(void **state)
{
	write_text("etc/plenum.yaml", WORKERS("[2, 4-5]"));
	assert_int_equal(move(3, 0), -ENOENT);
	assert_int_equal(move(5, 7), -EINVAL);
	assert_int_equal(move(5, 1024), -EINVAL);
	assert_false(store_has_staged(&st));
	assert_int_equal(add("leg-b", "10.91.1.15-10.91.1.18"), 0);
	assert_int_equal(move(5, 6), 0);
	assert_int_equal(move(4, 6), -EINVAL);
	assert_string_equal(next(), "leg-a leg-b");
	assert_string_equal(cores(), "2,4,6 7");
	assert_int_equal(move(6, 5), 0);
	assert_string_equal(next(), "leg-a leg-b");
}

/* An entry of an operator changes the workers already. */
static void test_a_move_of_an_entry_that_is_changed_by_hand(void **state)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct spec *spec = NULL;

	write_text("etc/plenum.yaml", WORKERS("[2, 4-5]"));
	assert_int_equal(mkdir(path_of("etc/plenum.d"), 0755), 0);
	write_text("etc/plenum.d/50-cli.yaml", "workers-set: [{core: 4, transport: udp}]\n");
	assert_int_equal(move(2, 9), 0);
	assert_string_equal(cores(), "9,4,5 7");
	assert_int_equal(move(9, 2), 0);
	write_text("etc/plenum.d/10-x.yaml", "workers-set: [{core: 7, cores: [8]}]\n");
	assert_int_equal(store_worker_move(&st, 8, 9, NULL, NULL, &d), -EINVAL);
	assert_non_null(strstr(diag_first_error(&d)->text, "workers-set changes the entry of this "
							   "worker here; write its cores here"));
	diag_done(&d);
	/* The moved entry has its core in its file, so another one cannot have it there. */
	assert_int_equal(unlink(path_of("etc/plenum.d/10-x.yaml")), 0);
	assert_int_equal(move(7, 9), 0);
	assert_int_equal(apply(), 0);
	write_text("etc/plenum.yaml", WORKERS("[2, 4-5, 7]"));
	assert_int_equal(store_load_next(&st, &d, &spec), -EINVAL);
	assert_non_null(strstr(diag_first_error(&d)->text, "two entries of workers have core '7'"));
}

int main(void)
{
#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(test_nets_are_staged_until_apply),
		IN_A_FOLDER(test_nets_can_be_discarded),
		IN_A_FOLDER(test_staged_changes_have_authors),
		IN_A_FOLDER(test_a_leg_of_a_file_is_changed_beside_it),
		IN_A_FOLDER(test_change_is_validated_as_a_whole),
		IN_A_FOLDER(test_a_network_comes_and_goes_with_its_leg),
		IN_A_FOLDER(test_a_change_of_a_leg_that_is_gone),
		IN_A_FOLDER(test_an_invalid_net_changes_nothing),
		IN_A_FOLDER(test_a_whole_configuration_is_staged),
		IN_A_FOLDER(test_the_running_one_can_be_staged),
		IN_A_FOLDER(test_unwritable_path_is_named_before_the_apply),
		IN_A_FOLDER(test_a_worker_is_moved_beside_its_file),
		IN_A_FOLDER(test_an_invalid_move_stages_nothing),
		IN_A_FOLDER(test_a_move_of_an_entry_that_is_changed_by_hand),
		IN_A_FOLDER(test_edited_files_are_seen),
		IN_A_FOLDER(test_kill_while_legs_are_committed),
		IN_A_FOLDER(test_a_kill_while_a_removal_is_committed),
		IN_A_FOLDER(test_a_kill_while_all_is_committed),
		IN_A_FOLDER(test_a_kill_while_one_file_is_committed),
		IN_A_FOLDER(test_a_kill_while_a_net_is_staged),
	};

	plugins_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
