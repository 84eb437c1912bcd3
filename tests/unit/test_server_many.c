/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server with thousands of mounts: a client that connects, or opens a file while files are short,
 * does not make it look at the mounts of others. And the order in which mounts without a session
 * are dropped.
 */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "dataplane/fuse/server/request/server_quota.h"
#include "tests/lib/fuse/server_test.h"
#include "tests/lib/process/touched.h"

#define MANY 3000U
#define TOUCHED_MAX 16U /* pages; all mounts are in 1,500 or more */
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
	(void)fuse_server_poll(rig.server, clock_now_ns(), true); /* rig_poll() would wait */
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

	many_join(stays, 1, 3);
	for (uint32_t i = 0; i < PLACES - 4; i++) { /* the rig has a mount, too */
		assert_int_equal(join(100 + i, &c), 0);
		leave(c);
	}
	assert_int_equal(rig.server->n_mounts, PLACES);
	assert_int_equal(join(100, &c), 0); /* the first one returns and leaves again */
	leave(c);
	for (uint32_t i = 0; i < 5; i++) { /* malloc() sometimes sorts what was freed before */
		mounts_watch();
		assert_int_equal(join(1000000 + i, &c), 0);
		touched = touched_end();
		least = MIN_OF(least, touched);
		leave(c);
	}
	assert_true(least <= TOUCHED_MAX);
	assert_int_equal(rig.server->n_mounts, PLACES);
	for (uint32_t i = 0; i < 5; i++)
		assert_false(has_mount(101 + i));
	assert_true(has_mount(100) && has_mount(106) && has_mount(1) && has_mount(1000000));
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
	for (unsigned i = 0; i < 10; i++) { /* once a second the server looks at all mounts */
		mounts_watch();
		assert_int_equal(rig_open(&rig, node, O_RDONLY, &fh), -ENFILE);
		touched = touched_end();
		least = MIN_OF(least, touched);
	}
	assert_true(least <= TOUCHED_MAX);
	assert_int_equal(rig_getattr(&rig, node, &(struct fuse_attr){}), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON("/dev/shm", a_client_that_connects_touches_few_other_mounts),
		ON("/dev/shm", a_full_table_drops_the_mount_that_is_away_for_longest),
		ON("/dev/shm", an_open_that_is_refused_touches_few_other_mounts),
	};

	return !rig_can() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
