/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server with thousands of mounts: a client that connects, or opens a file while files are short,
 * does not make it look at the mounts of others. The order in which mounts without a session are
 * dropped. And a mount with thousands of open files.
 */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "dataplane/fuse/server/objects/server_node.h"
#include "dataplane/fuse/server/request/server_quota.h"
#include "tests/lib/fuse/server_test.h"
#include "tests/lib/fuse/server_turn.h"
#include "tests/lib/process/touched.h"

#define MANY 3000U
#define TOUCHED_MAX 64U /* pages; all mounts are in 1,500 or more */
#define TRIES 100U
#define PLACES (JOURNAL_MOUNTS_MAX - 1U)

static int join(uint32_t mount, struct fuse_server_client **ret)
{
	uint8_t hello[FUSE_HELLO_BYTES];
	struct ip_addr from;

	assert_int_equal(ip_addr_parse("10.0.0.9", &from), 0);
	memcpy(rig.hello.mount_id, &mount, sizeof(mount));
	fuse_hello_put(hello, &rig.hello);
	return fuse_server_accept(rig.server, NULL, &from, hello, sizeof(hello), ret);
}

static void many_join(struct fuse_server_client **ret, uint32_t first, unsigned n)
{
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(join(first + i, &ret[i]), 0);
}

static void leave(struct fuse_server_client *c)
{
	fuse_server_client_gone(c);
	(void)server_turn(rig.server, clock_now_ns(), true); /* rig_poll() would wait */
}

/* Watches the memory that the mounts are in. */
static void mounts_watch(void)
{
	const struct server_mount *first = rig.server->mounts, *last = first;

	for (const struct server_mount *m = rig.server->mounts; m; m = m->next) {
		first = m < first ? m : first;
		last = m > last ? m : last;
	}
	assert_true((const char *)last - (const char *)first > (long)MANY * 2048);
	touched_watch(first, (size_t)((const char *)(last + 1) - (const char *)first));
}

static bool has_mount(uint32_t id)
{
	for (const struct server_mount *m = rig.server->mounts; m; m = m->next)
		if (memcmp(m->id, &id, sizeof(id)) == 0)
			return true;
	return false;
}

static void all_gone(struct fuse_server_client **all, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fuse_server_client_gone(all[i]);
	rig_poll(&rig);
}

static void a_client_that_connects_touches_few_other_mounts(void **state)
{
	static struct fuse_server_client *all[MANY + 2];

	many_join(all, 1, MANY);
	mounts_watch();
	assert_int_equal(join(MANY + 1, &all[MANY]), 0); /* a new mount */
	assert_true(touched_end() <= TOUCHED_MAX);
	leave(all[7]);
	mounts_watch();
	assert_int_equal(join(8, &all[7]), 0); /* a known one */
	assert_true(touched_end() <= TOUCHED_MAX);
	assert_int_equal(rig.server->n_mounts, MANY + 2);
	all_gone(all, MANY + 1);
}

/* A host that connects with ever more mounts fills all places with mounts without a session. */
static void a_full_table_drops_the_mount_that_is_away_for_longest(void **state)
{
	struct fuse_server_client *c, *stays[3];
	unsigned least = UINT32_MAX, touched;
	uint32_t joined = 0;

	many_join(stays, 1, 3);
	for (uint32_t i = 0; i < PLACES - 4; i++) { /* the rig has a mount, too */
		assert_int_equal(join(100 + i, &c), 0);
		leave(c);
	}
	assert_int_equal(rig.server->n_mounts, PLACES);
	assert_int_equal(join(100, &c), 0); /* the first one returns and leaves again */
	leave(c);
	/* malloc() sometimes sorts what was freed before, and once a second the server looks at all
	 * mounts. */
	while (joined < TRIES && least > TOUCHED_MAX) {
		mounts_watch();
		assert_int_equal(join(1000000 + joined++, &c), 0);
		touched = touched_end();
		least = MIN_OF(least, touched);
		leave(c);
	}
	assert_true(least <= TOUCHED_MAX);
	assert_int_equal(rig.server->n_mounts, PLACES);
	for (uint32_t i = 0; i < joined; i++)
		assert_false(has_mount(101 + i));
	assert_true(has_mount(100) && has_mount(101 + joined) && has_mount(1) &&
		    has_mount(1000000));
	all_gone(stays, 3);
}

static void an_open_that_is_refused_touches_few_other_mounts(void **state)
{
	static struct fuse_server_client *all[MANY];
	unsigned least = UINT32_MAX, touched;
	uint64_t node, fh;

	rig_put_text(&rig, "f", "text");
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), 0);
	rig.server->files_max = 16;
	many_join(all, 1, MANY);
	all_gone(all, MANY);
	rig_poll(&rig);
	while (rig_open(&rig, node, O_RDONLY, &fh) == 0)
		;
	for (unsigned i = 0; i < TRIES && least > TOUCHED_MAX;
	     i++) { /* once a second the server looks at all mounts */
		mounts_watch();
		assert_int_equal(rig_open(&rig, node, O_RDONLY, &fh), -ENFILE);
		touched = touched_end();
		least = MIN_OF(least, touched);
	}
	assert_true(least <= TOUCHED_MAX);
	assert_int_equal(rig_getattr(&rig, node, &(struct fuse_attr){}), 0);
}

/* Open files without a descriptor, as closing them closes nothing. */
static void files_add(struct server_node *n, unsigned count)
{
	uint64_t fh;

	for (unsigned i = 0; i < count; i++)
		assert_int_equal(server_file_new(rig.client->mount, n, -1, true, 0, &fh), 0);
}

static struct server_node *new_node(const char *name)
{
	struct server_export *e = &rig.server->exports[0];
	const struct fuse_handle *h;
	uint64_t node;

	assert_int_equal(rig_mkdir(&rig, ROOT, name, &node), 0);
	h = &rig.nodes[node - 1];
	return server_node_signed(e, h->bytes, h->len);
}

static void an_object_is_found_open_without_a_look_at_other_open_files(void **state)
{
	struct server_mount *m = rig.client->mount;
	struct server_node *a = new_node("a"), *b = new_node("b"), *c = new_node("c");

	assert_true(a && b && c);
	files_add(a, MANY);
	files_add(b, 1);
	c->n_open++; /* by another mount */
	for (unsigned i = 0; i < m->n_file_chunks; i++)
		touched_watch(m->file_chunks[i],
			      SERVER_FILES_PER_CHUNK * sizeof(struct server_file));
	assert_true(server_file_has_open(m, b));
	assert_false(server_file_has_open(m, c));
	assert_true(touched_end() <= 4); /* pages; the files are in 50 or more */
	c->n_open--;
	assert_true(server_file_has_open(m, a));
}

static void files_of_a_mount_that_ended_are_closed_in_parts(void **state)
{
	struct fuse_server *srv = rig.server;
	unsigned n_mounts = srv->n_mounts, polls = 0;

	files_add(new_node("a"), MANY);
	files_add(new_node("b"), 1);
	assert_int_equal(rig_do(&rig, FUSE_DESTROY, ROOT), 0);
	leave(rig.client);
	assert_int_equal(srv->n_mounts, n_mounts - 1);
	assert_in_range(srv->n_files, MANY - 100, MANY);
	for (; srv->n_files > 0 && polls < MANY; polls++)
		(void)server_turn(srv, clock_now_ns(), true);
	assert_int_equal(srv->n_files, 0);
	assert_null(srv->closing);
	assert_null(srv->hosts);
	assert_int_equal(join(1, &rig.client), 0); /* for the teardown */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON("/dev/shm", a_client_that_connects_touches_few_other_mounts),
		ON("/dev/shm", a_full_table_drops_the_mount_that_is_away_for_longest),
		ON("/dev/shm", an_object_is_found_open_without_a_look_at_other_open_files),
		ON("/dev/shm", files_of_a_mount_that_ended_are_closed_in_parts),
		ON("/dev/shm", an_open_that_is_refused_touches_few_other_mounts),
	};

	return !rig_can() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
