/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements helper_rig.h. */
#include "tests/lib/fuse/helper_rig.h"
#include "netcfg/base/os/folder.h"
#include "tests/lib/fuse/helper_end.h"
#include <poll.h>

static const uint8_t rig_mount_id[16] = {42};

void rig_pool_start(struct rig *g)
{
	struct fs_helper_config cfg = {
		.worker_id = g->worker_id,
		.key_fd = g->key_fd,
		.n_exports = 1,
		.exports = {{.name = "scratch", .state_fd = g->state_fd}},
		.arena_bytes = RIG_ARENA_BYTES,
	};
	struct reason why = {.code = ""};
	size_t bytes;

	if (fs_helper_start(&cfg, &g->helpers, &why) < 0 ||
	    fs_helper_roots(g->helpers, &g->root_fd, 65534, 65534, &why) < 0)
		fail_msg("%s", why.text);
	g->arena = fs_helper_arena(g->helpers, &bytes);
	assert_true(bytes >= RIG_ARENA_BYTES);
	assert_int_equal(
		journal_mount_get(fs_helper_journal(g->helpers, 0), rig_mount_id, &g->mount), 0);
}

struct rig *rig_new(void)
{
	static const uint64_t key[2] = {0x1122334455667788, 0x99aabbccddeeff00};
	struct rig *g = calloc(1, sizeof(*g));

	/* The directory is not in /tmp, because that file system may not support file handles. */
	snprintf(g->dir, sizeof(g->dir), "/var/tmp/plenum-helpers-XXXXXX");
	assert_non_null(mkdtemp(g->dir));
	assert_int_equal(chmod(g->dir, 0777), 0);
	g->root_fd = open(g->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g->state_fd = memfd_create("state", MFD_CLOEXEC);
	g->key_fd = memfd_create("key", MFD_CLOEXEC);
	assert_true(g->root_fd >= 0 && g->state_fd >= 0 && g->key_fd >= 0);
	assert_int_equal(write(g->key_fd, key, sizeof(key)), sizeof(key));
	return g;
}

void rig_free(struct rig *g)
{
	g->helpers = helpers_end(g->helpers);
	close(g->root_fd);
	close(g->state_fd);
	close(g->key_fd);
	folder_remove(g->dir);
	free(g);
}

struct helper_call *rig_call(struct rig *g, enum helper_op op, int fd, const char *name)
{
	struct helper_call *c = fs_helper_call_new(g->helpers, 0);

	assert_non_null(c);
	c->op = op;
	c->a.fd = fd;
	snprintf(c->name, sizeof(c->name), "%s", name ? name : "");
	return c;
}

void rig_on_done(void *user, struct helper_call *call)
{
	*(struct helper_call **)user = call;
}

struct helper_call *rig_wait(struct rig *g)
{
	struct pollfd p = {.fd = fs_helper_fd(g->helpers), .events = POLLIN};
	struct helper_call *done = NULL;

	for (;;) {
		int n = fs_helper_poll(g->helpers, true, rig_on_done, &done);

		assert_true(n == 0 || n == 1);
		if (n == 1)
			return done;
		assert_int_equal(poll(&p, 1, RIG_DEADLINE_MS), 1);
	}
}

int rig_do(struct rig *g, struct helper_call *c, struct helper_call *ret)
{
	int r;

	fs_helper_submit(g->helpers, c, HELPERS_QUICK);
	assert_ptr_equal(rig_wait(g), c);
	r = c->result.error;
	if (ret)
		*ret = *c;
	else if (c->fd >= 0)
		close(c->fd);
	fs_helper_call_free(g->helpers, c);
	return r;
}

void rig_once(struct rig *g, struct helper_call *c)
{
	assert_int_equal(journal_begin(fs_helper_journal(g->helpers, 0), g->mount, ++g->unique,
				       FUSE_MKDIR, false, &c->record, &c->ticket),
			 JOURNAL_RUN);
}

const char *rig_path(const struct rig *g, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", g->dir, name);
	return path;
}

int rig_setup(void **state)
{
	struct rig *g = rig_new();

	rig_pool_start(g);
	*state = g;
	return 0;
}

int rig_teardown(void **state)
{
	rig_free(*state);
	return 0;
}
