/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server ends and a successor continues, with recorded replies and pinned files from the state
 * and everything else from the clients.
 */
#include "dataplane/fuse/server/base/server_state.h"
#include "tests/lib/fuse/server_test.h"
#include "tests/lib/fuse/server_turn.h"
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sys/xattr.h>

static void restart(void)
{
	rig_stop(&rig);
	rig_start(&rig);
}

static void nodes_and_open_files_survive(void **state)
{
	uint64_t node, fh, dir, found;
	struct fuse_attr attr;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "before", 6), 6);
	assert_int_equal(rig_mkdir(&rig, ROOT, "d", &dir), 0);
	restart();
	assert_int_equal(rig_read(&rig, node, fh, 0, 100), 6);
	assert_memory_equal(rig.data, "before", 6);
	assert_int_equal(rig_write(&rig, node, fh, 6, O_RDWR, "after", 5), 5);
	assert_int_equal(rig_getattr(&rig, dir, &attr), 0);
	assert_true(S_ISDIR(attr.mode));
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &found), 0);
	assert_int_equal(found, node);
	/* New handles do not collide with old ones. */
	assert_int_equal(rig_create(&rig, dir, "g", O_RDWR, 0644, &found, &fh), 0);
	assert_true(found != node && found != dir);
}

static void renamed_files_are_found(void **state)
{
	char to[256];
	uint64_t node, fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "x", 1), 1);
	rig_stop(&rig);
	snprintf(to, sizeof(to), "%s", rig_path(&rig, "moved"));
	assert_int_equal(rename(rig_path(&rig, "f"), to), 0);
	rig_start(&rig);
	assert_int_equal(rig_read(&rig, node, fh, 0, 100), 1);
}

/* Retries what the agent did not accept. */
static void poll_later(void)
{
	server_turn(rig.server, clock_now_ns() + NSEC_PER_SEC, true);
}

/* Unlinked while open, replaced while open, or created without a name: pinned until closed. */
static void removed_open_files_survive(void **state)
{
	struct fuse_rename2_in ren = {.newdir = ROOT};
	uint64_t node[3], fh[3], other, other_fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node[0], &fh[0]), 0);
	assert_int_equal(rig_create(&rig, ROOT, "g", O_RDWR, 0644, &node[1], &fh[1]), 0);
	assert_int_equal(rig_create(&rig, ROOT, "h", O_RDWR, 0644, &other, &other_fh), 0);
	assert_int_equal(rig_release(&rig, other, other_fh), 0);
	assert_int_equal(rig.n_held, 0);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_int_equal(rig.n_held, 1);
	assert_int_equal(rig_do(&rig, FUSE_RENAME2, ROOT, RIG_ARG(ren), .name = "h", .name2 = "g"),
			 0);
	assert_int_equal(rig.n_held, 2);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(rig_write(&rig, node[i], fh[i], 0, O_RDWR, "held", 4), 4);
	for (unsigned turn = 0; turn < 2; turn++) {
		restart();
		for (unsigned i = 0; i < 2; i++) {
			assert_int_equal(rig_read(&rig, node[i], fh[i], 0, 100), 4);
			assert_memory_equal(rig.data, "held", 4);
		}
	}
	assert_int_equal(rig.n_held, 2);
	assert_int_equal(rig_release(&rig, node[0], fh[0]), 0);
	assert_int_equal(rig.n_held, 1);
	/* The agent accepts nothing now; retried later. */
	rig.deaf = true;
	assert_int_equal(rig_release(&rig, node[1], fh[1]), 0);
	rig.deaf = false;
	poll_later();
	assert_int_equal(rig.n_held, 0);
}

/* Files unlinked at another place, and files not open, are not pinned. */
static void only_unlinked_open_files_are_pinned(void **state)
{
	struct fuse_link_in link = {0};
	uint64_t node, fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	link.oldnodeid = node;
	assert_int_equal(rig_do(&rig, FUSE_LINK, ROOT, RIG_ARG(link), .name = "l"), 0);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_int_equal(rig.n_held, 0);
	assert_int_equal(rig_release(&rig, node, fh), 0);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "l"), 0);
	assert_int_equal(rig.n_held, 0);
	/* A file unlinked by a local user ends with the process. */
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(unlink(rig_path(&rig, "f")), 0);
	restart();
	assert_int_equal(rig.reopen_r, -ESTALE);
	assert_int_equal(rig_read(&rig, node, fh, 0, 100), -EBADF);
}

/* A predecessor that died between close and release; a mount that ends with its files. */
static void pins_are_released(void **state)
{
	struct fuse_attr attr;
	uint64_t node, fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
	rig.deaf = true;
	assert_int_equal(rig_release(&rig, node, fh), 0);
	rig.deaf = false;
	assert_int_equal(rig.n_held, 1);
	restart();
	assert_int_equal(rig.n_held, 1); /* until all have reclaimed their files */
	assert_int_equal(rig_getattr(&rig, ROOT, &attr), 0);
	server_turn(rig.server, clock_now_ns(), true);
	assert_int_equal(rig.n_held, 0);
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_int_equal(rig.n_held, 1);
	assert_int_equal(rig_do(&rig, FUSE_DESTROY, 0), 0);
	fuse_server_client_gone(rig.client);
	server_turn(rig.server, clock_now_ns(), true);
	assert_int_equal(rig.n_held, 0);
	rig_connect(&rig);
}

static void poll_after_s(unsigned seconds)
{
	server_turn(rig.server, clock_now_ns() + seconds * NSEC_PER_SEC, true);
}

/* A client may return after another one has removed its file, within the grace period. */
static void files_that_may_be_open_are_pinned(void **state)
{
	struct fuse_rename2_in ren = {.newdir = ROOT};
	uint64_t node[3], fh;

	for (unsigned i = 0; i < 3; i++) {
		char name[2] = {(char)('f' + i)};

		assert_int_equal(rig_create(&rig, ROOT, name, O_RDWR, 0644, &node[i], &fh), 0);
		assert_int_equal(rig_release(&rig, node[i], fh), 0);
	}
	rig_stop(&rig);
	rig.hello.mount_id[0]++; /* another client returns first */
	rig_start(&rig);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_int_equal(rig.n_held, 1);
	assert_int_equal(rig_do(&rig, FUSE_RENAME2, ROOT, RIG_ARG(ren), .name = "h", .name2 = "g"),
			 0);
	assert_int_equal(rig.n_held, 2);
	/* This process dies, and its successor grants a new grace period. */
	rig_stop(&rig);
	rig_start(&rig);
	poll_after_s(60);
	assert_int_equal(rig.n_held, 2);
	poll_after_s(100);
	assert_int_equal(rig.n_held, 0);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "g"), 0);
	assert_int_equal(rig.n_held, 0);
	rig.hello.mount_id[0]--;
}

static void directory_streams_survive(void **state)
{
	struct fuse_read_in in = {.size = 1000};
	unsigned count = 0;
	char name[32];
	uint64_t node, fh;

	for (unsigned i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "file-%u", i);
		assert_int_equal(rig_create(&rig, ROOT, name, O_RDWR, 0644, &node, &fh), 0);
	}
	assert_int_equal(rig_open(&rig, ROOT, O_RDONLY | O_DIRECTORY, &in.fh), 0);
	for (;;) {
		const uint8_t *p;

		assert_int_equal(rig_do(&rig, FUSE_READDIR, ROOT, RIG_ARG(in)), 0);
		if (rig.len == 0)
			break;
		for (p = rig.data; p < (const uint8_t *)rig.data + rig.len; count++) {
			struct fuse_dirent de;

			memcpy(&de, p, sizeof(de));
			p += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + de.namelen);
			in.offset = de.off;
		}
		restart();
	}
	assert_int_equal(count, 202);
}

static void recorded_replies_are_replayed(void **state)
{
	uint64_t node, again, fh, fh2;
	static const uint32_t resent = O_RDWR | O_EXCL;

	assert_int_equal(rig_mkdir(&rig, ROOT, "d", &node), 0);
	rig.resend = true;
	assert_int_equal(rig_mkdir(&rig, ROOT, "d", &again), 0);
	assert_int_equal(node, again);
	restart();
	rig.resend = true;
	assert_int_equal(rig_mkdir(&rig, ROOT, "d", &again), 0);
	assert_int_equal(node, again);
	rig.unique += 2;
	assert_int_equal(rig_mkdir(&rig, ROOT, "d", &again), -EEXIST);
	rig.resend = true;
	assert_int_equal(rig_mkdir(&rig, ROOT, "d", &again), -EEXIST);

	assert_int_equal(rig_create(&rig, ROOT, "f", resent, 0644, &node, &fh), 0);
	rig.resend = true;
	assert_int_equal(rig_create(&rig, ROOT, "f", resent, 0644, &again, &fh2), 0);
	assert_int_equal(node, again);
	assert_int_equal(fh, fh2);
	/* The client reclaims the opened file. */
	restart();
	rig.resend = true;
	assert_int_equal(rig_create(&rig, ROOT, "f", resent, 0644, &again, &fh2), 0);
	assert_int_equal(node, again);
	assert_int_equal(rig_write(&rig, node, fh2, 0, O_RDWR, "", 0), 0);
	rig_release(&rig, node, fh2);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR | O_APPEND, "abc", 3), 3);
	rig.resend = true;
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR | O_APPEND, "abc", 3), 3);
	assert_int_equal(rig_read(&rig, node, fh, 0, 100), 3);

	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
	rig.resend = true;
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), -ENOENT);
}

/* A repeated allocation does not extend a file truncated since. */
static void an_allocation_is_not_repeated(void **state)
{
	struct fuse_fallocate_in in = {.length = 4096};
	uint64_t node;
	struct stat st;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &in.fh), 0);
	assert_int_equal(rig_do(&rig, FUSE_FALLOCATE, node, RIG_ARG(in)), 0);
	assert_int_equal(stat(rig_path(&rig, "f"), &st), 0);
	assert_int_equal(st.st_size, 4096);
	assert_int_equal(truncate(rig_path(&rig, "f"), 7), 0);
	rig.resend = true;
	assert_int_equal(rig_do(&rig, FUSE_FALLOCATE, node, RIG_ARG(in)), 0);
	restart();
	rig.resend = true;
	assert_int_equal(rig_do(&rig, FUSE_FALLOCATE, node, RIG_ARG(in)), 0);
	assert_int_equal(stat(rig_path(&rig, "f"), &st), 0);
	assert_int_equal(st.st_size, 7);
}

/* An error would make the client's kernel create another file. */
static void a_removed_created_file_is_not_created_again(void **state)
{
	uint64_t node, fh;
	struct stat st;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR | O_EXCL, 0644, &node, &fh), 0);
	restart();
	assert_int_equal(unlink(rig_path(&rig, "f")), 0);
	rig.resend = true;
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR | O_EXCL, 0644, &node, &fh), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "abc", 3), 3);
	rig_release(&rig, node, fh);
	assert_int_equal(stat(rig_path(&rig, "f"), &st), -1);
}

/* A repetition of a running request is not executed in parallel. */
static void running_requests_are_adopted(void **state)
{
	struct fuse_write_in in = {.size = 3, .flags = O_RDWR | O_APPEND};
	struct rudp_call *second = calloc(1, sizeof(*second));
	struct rig_req req = {.op = FUSE_WRITE, RIG_ARG(in), .data = "abc", .data_len = 3};
	struct fuse_server_client *old = rig.client;
	uint64_t node, fh;
	struct stat st;

	assert_non_null(second);
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_accept(&rig), 0);
	assert_int_equal(rig_init_session(&rig), 0);
	in.fh = fh;
	req.node = node;
	rig_send(&rig, rig.call, &req);
	rig.resend = true;
	rig_send(&rig, second, &req);
	assert_int_equal(rig_result(&rig, second), 0);
	assert_int_equal(rig.len, sizeof(struct fuse_write_out));
	assert_true(rig.call->answered);
	fuse_server_client_gone(old);
	assert_int_equal(stat(rig_path(&rig, "f"), &st), 0);
	assert_int_equal(st.st_size, 3);
	free(second);
}

/* Also if the first session's end is noticed after the second one's start. */
static void adopted_requests_outlive_their_session(void **state)
{
	struct fuse_write_in in = {.size = 3, .flags = O_RDWR | O_APPEND};
	struct rudp_call *first = calloc(1, sizeof(*first)), *second = calloc(1, sizeof(*second));
	struct rig_req req = {.op = FUSE_WRITE, RIG_ARG(in), .data = "abc", .data_len = 3};
	struct fuse_server_client *old = rig.client, *next;

	assert_non_null(first);
	assert_non_null(second);
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &req.node, &in.fh), 0);
	assert_int_equal(rig_accept(&rig), 0);
	assert_int_equal(rig_init_session(&rig), 0);
	next = rig.client;
	rig.client = old;
	rig_send(&rig, first, &req);
	rig.client = next;
	rig.resend = true;
	rig_send(&rig, second, &req);
	assert_true(first->answered);
	assert_false(second->answered);
	fuse_server_client_gone(old);
	assert_int_equal(rig_result(&rig, second), 0);
	assert_int_equal(rig.len, sizeof(struct fuse_write_out));
	free(first);
	free(second);
}

/* Unacknowledged replies outlive many acknowledged ones. */
static void unacknowledged_replies_are_kept(void **state)
{
	struct rudp_call *held = calloc(1, sizeof(*held));
	struct fuse_mkdir_in in = {.mode = 0755};
	uint64_t unique, node;

	assert_non_null(held);
	held->hold = true;
	rig_send(&rig, held,
		 &(struct rig_req){.op = FUSE_MKDIR, .node = ROOT, RIG_ARG(in), .name = "d"});
	assert_int_equal(rig_result(&rig, held), 0);
	unique = rig.unique;
	for (unsigned i = 0; i < 2 * JOURNAL_RECORDS; i++)
		assert_int_equal(rig_do(&rig, FUSE_RMDIR, ROOT, .name = "missing"), -ENOENT);
	fuse_server_sent(rig.server, held->token);
	rig.unique = unique;
	rig.resend = true;
	assert_int_equal(rig_mkdir(&rig, ROOT, "d", &node), 0);
	free(held);
}

static void many_nodes_survive(void **state)
{
	enum { N = 2000 };
	uint64_t *nodes = calloc(N, sizeof(*nodes)), found;
	struct fuse_attr attr;
	char name[32];

	assert_non_null(nodes);
	for (unsigned i = 0; i < N; i++) {
		int fd;

		snprintf(name, sizeof(name), "file-%u", i);
		fd = open(rig_path(&rig, name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		close(fd);
		assert_int_equal(rig_lookup(&rig, ROOT, name, &nodes[i]), 0);
	}
	restart();
	for (unsigned i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "file-%u", i);
		assert_int_equal(rig_getattr(&rig, nodes[i], &attr), 0);
		assert_int_equal(rig_lookup(&rig, ROOT, name, &found), 0);
		assert_int_equal(found, nodes[i]);
	}
	free(nodes);
}

static void an_unmounted_mount_is_forgotten(void **state)
{
	uint64_t node, fh;
	struct fuse_attr attr;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_do(&rig, FUSE_DESTROY, 0), 0);
	fuse_server_client_gone(rig.client);
	server_turn(rig.server, clock_now_ns(), true);
	rig_connect(&rig);
	assert_int_equal(rig_read(&rig, node, fh, 0, 10), -EBADF);
	assert_int_equal(rig_getattr(&rig, node, &attr), 0);
	rig.files[fh - RIG_FH].fh = 0;
}

static void mounts_do_not_share_files(void **state)
{
	struct fuse_server_client *first = rig.client;
	uint64_t node, fh, other;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	rig.hello.mount_id[0]++;
	rig_connect(&rig);
	assert_int_equal(rig_read(&rig, node, fh, 0, 10), -EBADF);
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &other), 0);
	assert_int_equal(other, node);
	fuse_server_client_gone(first);
}

/* Each mount has its own replies, also at a successor. */
static void many_mounts_have_separate_replies(void **state)
{
	enum { N = 100 };
	uint64_t node;
	char name[32];

	for (unsigned turn = 0; turn < 2; turn++) {
		for (unsigned i = 0; i < N; i++) {
			fuse_server_client_gone(rig.client);
			server_turn(rig.server, clock_now_ns(), true);
			memcpy(rig.hello.mount_id, &i, sizeof(i));
			rig_connect(&rig);
			snprintf(name, sizeof(name), "d%u", i);
			rig.unique = turn ? 1002 : 1000; /* the same numbers in each */
			rig.resend = turn;
			assert_int_equal(rig_mkdir(&rig, ROOT, name, &node), 0);
		}
		restart();
	}
}

static void foreign_state_is_discarded(void **state)
{
	static const uint8_t junk[100000] = {1, 2, 3};
	struct fuse_attr attr;

	rig_stop(&rig);
	assert_int_equal(ftruncate(rig.cfg.exports[0].state_fd, 0), 0);
	assert_int_equal(pwrite(rig.cfg.exports[0].state_fd, junk, sizeof(junk), 0), sizeof(junk));
	rig_start(&rig);
	assert_int_equal(rig_getattr(&rig, ROOT, &attr), 0);
	/* Our own format, but damaged: no crash, and the root is served. */
	rig_stop(&rig);
	for (off_t at = 0; at < 1 << 20; at += 4001)
		assert_true(pwrite(rig.cfg.exports[0].state_fd, "\x55\xaa\x7f", 3, at) == 3);
	rig_start(&rig);
	assert_int_equal(rig_getattr(&rig, ROOT, &attr), 0);
}

/* Killed at random points: every reply holds. */
static void a_killed_server_has_a_successor(void **state)
{
	struct {
		uint32_t n, n_nodes, n_files;
		struct {
			uint64_t node, fh;
		} made[2000];
	} * shared;
	int status;
	pid_t pid;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_true(shared != MAP_FAILED);
	for (unsigned turn = 0; turn < 5; turn++) {
		rig_stop(&rig);
		rig.hello.mount_id[0]++;
		shared->n = 0;
		rig.n_files = 0;
		pid = fork();
		if (pid == 0) {
			rig_start(&rig);
			for (unsigned i = 0; i < ARRAY_SIZE(shared->made); i++) {
				uint64_t node, fh;
				char name[32];

				snprintf(name, sizeof(name), "t%u-%u", turn, i);
				if (rig_create(&rig, ROOT, name, O_RDWR, 0644, &node, &fh) < 0 ||
				    rig_write(&rig, node, fh, 0, O_RDWR, name, 4) != 4)
					_exit(1);
				shared->made[i].node = node;
				shared->made[i].fh = fh;
				shared->n_nodes = rig.n_nodes;
				shared->n_files = rig.n_files;
				__atomic_store_n(&shared->n, i + 1, __ATOMIC_RELEASE);
			}
			pause();
		}
		while (__atomic_load_n(&shared->n, __ATOMIC_ACQUIRE) < 20 + turn * 7 &&
		       waitpid(pid, &status, WNOHANG) == 0)
			sched_yield();
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		assert_true(WIFSIGNALED(status));
		rig.n_nodes = shared->n_nodes; /* the client survives */
		rig.n_files = shared->n_files;
		rig_start(&rig);
		for (unsigned i = 0; i < shared->n; i++)
			assert_int_equal(
				rig_read(&rig, shared->made[i].node, shared->made[i].fh, 0, 100),
				4);
	}
	munmap(shared, sizeof(*shared));
}

/* All state is lost: clients keep their files and get no others. */
static void clients_keep_files_when_all_state_is_lost(void **state)
{
	uint64_t db, db_fh, today, today_fh;
	struct stat st;

	assert_int_equal(rig_create(&rig, ROOT, "db", O_RDWR, 0644, &db, &db_fh), 0);
	rig_stop(&rig);
	assert_int_equal(ftruncate(rig.cfg.exports[0].state_fd, 0), 0);
	rig_start(&rig);
	assert_int_equal(rig_create(&rig, ROOT, "today", O_RDWR, 0644, &today, &today_fh), 0);
	assert_int_equal(rig_write(&rig, db, db_fh, 0, O_RDWR, "data", 4), 4);
	assert_int_equal(stat(rig_path(&rig, "db"), &st), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(stat(rig_path(&rig, "today"), &st), 0);
	assert_int_equal(st.st_size, 0);
}

/* File handles of a predecessor are invalid. */
static void file_handles_end_with_the_server(void **state)
{
	uint64_t node, fh, was[20];

	for (unsigned i = 0; i < ARRAY_SIZE(was); i++) {
		assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
		was[i] = rig.files[fh - RIG_FH].fh;
	}
	restart();
	for (unsigned i = 0; i < ARRAY_SIZE(was); i++)
		assert_int_equal(rig_read(&rig, node, was[i], 0, 10), -EBADF);
}

/* An inode number is reused: the old handle does not reach the new file. */
static void handles_of_removed_files_reach_no_other(void **state)
{
	struct fuse_attr old = {}, attr;
	uint64_t node, fh, other;
	char name[32];
	bool reused = false;

	assert_int_equal(rig_create(&rig, ROOT, "old", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_release(&rig, node, fh), 0);
	assert_int_equal(rig_getattr(&rig, node, &old), 0);
	rig_stop(&rig);
	assert_int_equal(unlink(rig_path(&rig, "old")), 0);
	for (unsigned i = 0; i < 100 && !reused; i++) {
		struct stat st;
		int fd;

		snprintf(name, sizeof(name), "new-%u", i);
		fd = open(rig_path(&rig, name), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &st), 0);
		reused = st.st_ino == old.ino;
		close(fd);
	}
	rig_start(&rig);
	assert_int_equal(rig_getattr(&rig, node, &attr), -ESTALE);
	assert_int_equal(rig_open(&rig, node, O_RDWR, &fh), -ESTALE);
	assert_int_equal(rig_lookup(&rig, ROOT, name, &other), 0);
	assert_true(other != node);
}

static void a_server_identifies_itself(void **state)
{
	struct fuse_proto_server was = rig.identity;
	char other[] = "/tmp/back-other-XXXXXX";
	int dir_fd = rig.cfg.exports[0].dir_fd;

	fuse_server_client_gone(rig.client);
	rig_connect(&rig);
	assert_memory_equal(&was, &rig.identity, sizeof(was));
	restart();
	assert_true(was.incarnation != rig.identity.incarnation);
	assert_true(was.verifier == rig.identity.verifier);
	/* Another folder under the export's name: fsync cannot promise earlier writes. */
	rig_stop(&rig);
	assert_non_null(mkdtemp(other));
	rig.cfg.exports[0].dir_fd = open(other, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rig_start(&rig);
	assert_true(was.verifier != rig.identity.verifier);
	rig_stop(&rig);
	close(rig.cfg.exports[0].dir_fd);
	rig.cfg.exports[0].dir_fd = dir_fd;
	rmdir(other);
	rig_start(&rig);
}

/* Two clients have an unlinked file open; one returns and closes it before the other returns. */
static void a_pinned_file_waits_for_all_its_clients(void **state)
{
	struct fuse_server_client *first = rig.client;
	struct fuse_open_in in = {.flags = O_RDWR};
	struct fuse_attr attr;
	uint64_t node, fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	rig.hello.mount_id[0]++;
	rig_connect(&rig);
	assert_int_equal(rig_do(&rig, FUSE_OPEN, node, RIG_ARG(in)), 0);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_int_equal(rig.n_held, 1);
	fuse_server_client_gone(first);
	rig.hello.mount_id[0]--;
	restart();
	assert_int_equal(rig_release(&rig, node, fh), 0);
	server_turn(rig.server, clock_now_ns(), true);
	assert_int_equal(rig.n_held, 1);
	first = rig.client;
	rig.hello.mount_id[0]++;
	rig_connect(&rig);
	assert_int_equal(rig_do(&rig, FUSE_OPEN, node, RIG_ARG(in), .flags = FUSE_PROTO_REQ_REOPEN),
			 0);
	assert_int_equal(rig_getattr(&rig, node, &attr), 0);
	server_turn(rig.server, clock_now_ns(), true);
	assert_int_equal(rig.n_held, 1);
	fuse_server_client_gone(first);
}

/* A mount worker does not return: its mount reclaims the files of both. */
static void mount_workers_need_not_reclaim(void **state)
{
	struct fuse_server_client *owner = rig.client;
	uint64_t node, fh;

	rig.hello.mount_id[0]++;
	rig.hello.purpose = FUSE_HELLO_MOUNT_WORKER;
	rig_connect(&rig);
	fuse_server_client_gone(rig.client);
	rig.client = owner;
	rig.hello.mount_id[0]--;
	rig.hello.purpose = FUSE_HELLO_MOUNT;
	for (unsigned turn = 0; turn < 2; turn++) {
		restart();
		assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
		assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
		assert_int_equal(rig.n_held, 1);
		assert_int_equal(rig_release(&rig, node, fh), 0);
		server_turn(rig.server, clock_now_ns(), true);
		assert_int_equal(rig.n_held, 0);
	}
}

/* The mount worker returns first and closes the file. */
static void a_mount_worker_does_not_reclaim_for_its_mount(void **state)
{
	uint64_t node, fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
	rig_stop(&rig);
	rig.hello.mount_id[0]++;
	rig.hello.purpose = FUSE_HELLO_MOUNT_WORKER;
	rig_start(&rig);
	assert_int_equal(rig.reopen_r, 0);
	assert_int_equal(rig_release(&rig, node, fh), 0);
	poll_after_s(1);
	assert_int_equal(rig.n_held, 1);
	fuse_server_client_gone(rig.client);
	rig.hello.mount_id[0]--;
	rig.hello.purpose = FUSE_HELLO_MOUNT;
	rig_connect(&rig);
	server_turn(rig.server, clock_now_ns(), true);
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), -ENOENT);
	poll_after_s(2);
	assert_int_equal(rig.n_held, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(nodes_and_open_files_survive),
		BOTH(renamed_files_are_found),
		BOTH(removed_open_files_survive),
		BOTH(only_unlinked_open_files_are_pinned),
		BOTH(pins_are_released),
		BOTH(files_that_may_be_open_are_pinned),
		ON("/tmp", directory_streams_survive),
		BOTH(recorded_replies_are_replayed),
		BOTH(an_allocation_is_not_repeated),
		BOTH(a_removed_created_file_is_not_created_again),
		BOTH(running_requests_are_adopted),
		BOTH(adopted_requests_outlive_their_session),
		ON("/tmp", unacknowledged_replies_are_kept),
		BOTH(many_nodes_survive),
		ON("/tmp", an_unmounted_mount_is_forgotten),
		ON("/tmp", mounts_do_not_share_files),
		ON("/tmp", many_mounts_have_separate_replies),
		ON("/tmp", foreign_state_is_discarded),
		BOTH(clients_keep_files_when_all_state_is_lost),
		BOTH(file_handles_end_with_the_server),
		BOTH(handles_of_removed_files_reach_no_other),
		ON("/tmp", a_server_identifies_itself),
		BOTH(a_pinned_file_waits_for_all_its_clients),
		BOTH(mount_workers_need_not_reclaim),
		BOTH(a_mount_worker_does_not_reclaim_for_its_mount),
		BOTH(a_killed_server_has_a_successor),
	};

	return !rig_can() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
