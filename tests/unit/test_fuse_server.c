/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests each operation of the server, as requested by a client's kernel. */
#include "tests/lib/fuse/helper_end.h"
#include "tests/lib/fuse/server_test.h"
#include "tests/lib/fuse/server_turn.h"
#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/xattr.h>

static void lookup_knows_and_misses(void **state)
{
	uint64_t a, b, c;

	rig_put_text(&rig, "a", "x");
	assert_int_equal(link(rig_path(&rig, "a"), "/dev/null"), -1);
	assert_int_equal(rig_lookup(&rig, ROOT, "a", &a), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "a", &b), 0);
	assert_int_equal(a, b);
	assert_int_equal(rig_lookup(&rig, ROOT, "missing", &c), -ENOENT);
	assert_int_equal(rig_lookup(&rig, a, "x", &c), -ENOTDIR);
	assert_int_equal(rig_lookup(&rig, a + (1ULL << 32), "x", &c), -ESTALE);
	assert_int_equal(rig_lookup(&rig, 77777, "x", &c), -ESTALE);
}

static void hard_links_share_a_node(void **state)
{
	struct fuse_link_in in;
	struct fuse_attr attr;
	uint64_t a, b;

	rig_put_text(&rig, "a", "x");
	rig_lookup(&rig, ROOT, "a", &a);
	in.oldnodeid = a;
	assert_int_equal(rig_do(&rig, FUSE_LINK, ROOT, RIG_ARG(in), .name = "b"), 0);
	assert_int_equal(rig_entry_node(&rig), a);
	assert_int_equal(rig_lookup(&rig, ROOT, "b", &b), 0);
	assert_int_equal(a, b);
	assert_int_equal(rig_getattr(&rig, a, &attr), 0);
	assert_int_equal(attr.nlink, 2);
}

static void data_goes_out_and_comes_back(void **state)
{
	static uint8_t big[1 << 20], end[100];
	uint64_t node, fh;

	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (uint8_t)(i * 2654435761U >> 24);
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, big, sizeof(big)), sizeof(big));
	assert_int_equal(rig_write(&rig, node, fh, sizeof(big), O_RDWR, end, sizeof(end)), 100);
	assert_int_equal(rig_read(&rig, node, fh, 0, sizeof(big)), sizeof(big));
	assert_memory_equal(rig.data, big, sizeof(big));
	assert_int_equal(rig_read(&rig, node, fh, 4095, 4096), 4096);
	assert_memory_equal(rig.data, big + 4095, 4096);
	assert_int_equal(rig_read(&rig, node, fh, sizeof(big), 4096), 100);
	assert_int_equal(rig_read(&rig, node, fh, sizeof(big) * 2, 4096), 0);
	assert_int_equal(rig_read(&rig, node, fh + 1, 0, 4096), -EBADF);
	assert_int_equal(rig_read(&rig, ROOT, fh, 0, 4096), -EBADF);
}

static void many_requests_at_once(void **state)
{
	enum { N = 100, LEN = 128 << 10 };
	struct rudp_call *calls = calloc(N, sizeof(*calls));
	uint8_t *bytes = malloc(LEN);
	uint64_t node, fh;

	assert_non_null(calls);
	assert_non_null(bytes);
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	for (unsigned i = 0; i < N; i++) {
		memset(bytes, (int)i, LEN);
		assert_int_equal(rig_write(&rig, node, fh, i * LEN, O_RDWR, bytes, LEN), LEN);
	}
	for (unsigned i = 0; i < N; i++) {
		struct fuse_read_in in = {.fh = fh, .offset = i * LEN, .size = LEN};

		rig_send(&rig, &calls[i],
			 &(struct rig_req){.op = FUSE_READ, .node = node, RIG_ARG(in)});
	}
	for (unsigned i = 0; i < N; i++) {
		assert_int_equal(rig_result(&rig, &calls[i]), 0);
		assert_int_equal(rig.len, LEN);
		memset(bytes, (int)i, LEN);
		assert_memory_equal(rig.data, bytes, LEN);
	}
	assert_int_equal(fuse_server_in_flight(rig.server), 0);
	free(calls);
	free(bytes);
}

/* Requests wait for buffers until the client acknowledges replies. */
static void requests_beyond_capacity_wait(void **state)
{
	enum { N = 80, LEN = 1 << 20 };
	struct rudp_call *calls = calloc(N, sizeof(*calls));
	unsigned answered = 0;
	uint64_t node, fh;

	assert_non_null(calls);
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(truncate(rig_path(&rig, "f"), LEN), 0);
	for (unsigned i = 0; i < N; i++) {
		struct fuse_read_in in = {.fh = fh, .offset = 0, .size = LEN};

		calls[i].hold = true;
		rig_send(&rig, &calls[i],
			 &(struct rig_req){.op = FUSE_READ, .node = node, RIG_ARG(in)});
	}
	for (unsigned i = 0; i < N; i++) {
		answered += calls[i].answered;
		assert_int_equal(rig_result(&rig, &calls[i]), 0);
		assert_int_equal(rig.len, LEN);
		fuse_server_sent(rig.server, calls[i].token);
	}
	assert_true(answered < N);
	assert_int_equal(fuse_server_in_flight(rig.server), 0);
	free(calls);
}

static void calls_that_are_gone_are_not_answered(void **state)
{
	struct fuse_read_in in = {.size = 4096};
	uint64_t node, fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	in.fh = fh;
	rig_send(&rig, rig.call, &(struct rig_req){.op = FUSE_READ, .node = node, RIG_ARG(in)});
	if (!rig.call->answered) {
		fuse_server_call_cancelled(rig.client, rig.call);
		while (fuse_server_in_flight(rig.server) > 0)
			rig_poll(&rig);
		assert_false(rig.call->answered);
	}
	/* The session ends while requests are running. */
	rig_send(&rig, rig.call, &(struct rig_req){.op = FUSE_READ, .node = node, RIG_ARG(in)});
	fuse_server_client_gone(rig.client);
	while (fuse_server_in_flight(rig.server) > 0)
		rig_poll(&rig);
	rig_connect(&rig);
	assert_int_equal(rig_read(&rig, node, fh, 0, 10), 0);
}

static void appending_goes_to_the_end(void **state)
{
	uint64_t node, fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR | O_APPEND, 0644, &node, &fh), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR | O_APPEND, "abc", 3), 3);
	rig_put_text(&rig, "g", "");
	assert_int_equal(truncate(rig_path(&rig, "f"), 10), 0);
	assert_int_equal(rig_write(&rig, node, fh, 3, O_RDWR | O_APPEND, "xyz", 3), 3);
	assert_int_equal(rig_read(&rig, node, fh, 10, 100), 3);
	assert_memory_equal(rig.data, "xyz", 3);
}

static void created_files_belong_to_the_user(void **state)
{
	struct fuse_mkdir_in in = {.mode = 0777, .umask = 027};
	uint64_t node, fh, dir;
	struct stat st;

	rig.uid = 1234;
	rig.gid = 4321;
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0666, &node, &fh), 0);
	assert_int_equal(stat(rig_path(&rig, "f"), &st), 0);
	assert_int_equal(st.st_uid, 1234);
	assert_int_equal(st.st_gid, 4321);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(rig_do(&rig, FUSE_MKDIR, ROOT, RIG_ARG(in), .name = "d"), 0);
	dir = rig_entry_node(&rig);
	assert_int_equal(stat(rig_path(&rig, "d"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	/* In a set-group-id directory, new files get the directory's group. */
	assert_int_equal(chown(rig_path(&rig, "d"), 0, 99), 0);
	assert_int_equal(chmod(rig_path(&rig, "d"), 02750), 0);
	assert_int_equal(rig_create(&rig, dir, "f", O_RDWR, 0666, &node, &fh), 0);
	assert_int_equal(stat(rig_path(&rig, "d/f"), &st), 0);
	assert_int_equal(st.st_uid, 1234);
	assert_int_equal(st.st_gid, 99);
	/* The client has checked permissions, so a file of root is writable. */
	rig_put_text(&rig, "r", "root's");
	assert_int_equal(chmod(rig_path(&rig, "r"), 0600), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "r", &node), 0);
	assert_int_equal(rig_open(&rig, node, O_RDWR, &fh), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "a", 1), 1);
}

static void set_id_bits_are_cleared_on_request(void **state)
{
	struct fuse_write_in in = {.size = 1, .write_flags = FUSE_WRITE_KILL_SUIDGID};
	struct fuse_setattr_in set = {.valid = FATTR_SIZE | FATTR_KILL_SUIDGID};
	uint64_t node, fh;
	struct stat st;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0755, &node, &fh), 0);
	assert_int_equal(chmod(rig_path(&rig, "f"), 06755), 0);
	in.fh = fh;
	assert_int_equal(rig_do(&rig, FUSE_WRITE, node, RIG_ARG(in), .data = "x", .data_len = 1),
			 0);
	assert_int_equal(stat(rig_path(&rig, "f"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(chmod(rig_path(&rig, "f"), 06755), 0);
	assert_int_equal(rig_do(&rig, FUSE_SETATTR, node, RIG_ARG(set)), 0);
	assert_int_equal(stat(rig_path(&rig, "f"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
}

static void attributes_are_set(void **state)
{
	struct fuse_setattr_in in = {
		.valid = FATTR_MODE | FATTR_UID | FATTR_GID | FATTR_SIZE | FATTR_MTIME,
		.mode = 04711,
		.uid = 7,
		.gid = 8,
		.size = 12345,
		.mtime = 1000000,
		.mtimensec = 5,
	};
	struct stat st, before;
	uint64_t node;

	rig_put_text(&rig, "f", "x");
	assert_int_equal(stat(rig_path(&rig, "f"), &before), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), 0);
	assert_int_equal(rig_do(&rig, FUSE_SETATTR, node, RIG_ARG(in)), 0);
	assert_int_equal(stat(rig_path(&rig, "f"), &st), 0);
	assert_int_equal(st.st_uid, 7);
	assert_int_equal(st.st_gid, 8);
	assert_int_equal(st.st_size, 12345);
	assert_int_equal(st.st_mtim.tv_sec, 1000000);
	assert_int_equal(st.st_mtim.tv_nsec, 5);
	assert_int_equal(st.st_atim.tv_sec, before.st_atim.tv_sec);
	in.valid = FATTR_MODE;
	assert_int_equal(rig_do(&rig, FUSE_SETATTR, node, RIG_ARG(in)), 0);
	assert_int_equal(stat(rig_path(&rig, "f"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 04711);
	in.valid = FATTR_MTIME;
	in.mtimensec = UTIME_NOW;
	assert_int_equal(rig_do(&rig, FUSE_SETATTR, node, RIG_ARG(in)), -EINVAL);
	in.valid = FATTR_SIZE;
	assert_int_equal(rig_do(&rig, FUSE_SETATTR, ROOT, RIG_ARG(in)), -EISDIR);
	in.size = UINT64_MAX;
	assert_int_equal(rig_do(&rig, FUSE_SETATTR, node, RIG_ARG(in)), -EFBIG);
}

static void names_are_renamed_and_removed(void **state)
{
	struct fuse_rename2_in in = {.newdir = ROOT, .flags = RENAME_NOREPLACE};
	uint64_t node, dir, found;

	rig_put_text(&rig, "a", "a");
	rig_put_text(&rig, "b", "b");
	assert_int_equal(rig_mkdir(&rig, ROOT, "d", &dir), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "a", &node), 0);
	assert_int_equal(rig_do(&rig, FUSE_RENAME2, ROOT, RIG_ARG(in), .name = "a", .name2 = "b"),
			 -EEXIST);
	in.flags = RENAME_EXCHANGE;
	assert_int_equal(rig_do(&rig, FUSE_RENAME2, ROOT, RIG_ARG(in), .name = "a", .name2 = "b"),
			 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "b", &found), 0);
	assert_int_equal(found, node);
	in.flags = 0;
	in.newdir = dir;
	assert_int_equal(rig_do(&rig, FUSE_RENAME2, ROOT, RIG_ARG(in), .name = "b", .name2 = "c"),
			 0);
	assert_int_equal(rig_lookup(&rig, dir, "c", &found), 0);
	assert_int_equal(found, node);
	assert_int_equal(rig_do(&rig, FUSE_RMDIR, ROOT, .name = "d"), -ENOTEMPTY);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, dir, .name = "c"), 0);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "d"), -EISDIR);
	assert_int_equal(rig_do(&rig, FUSE_RMDIR, ROOT, .name = "d"), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "d", &found), -ENOENT);
}

static void unlinked_files_live_while_open(void **state)
{
	uint64_t node, fh;
	struct fuse_attr attr;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "still", 5), 5);
	assert_int_equal(rig_read(&rig, node, fh, 0, 100), 5);
	assert_int_equal(rig_getattr(&rig, node, &attr), 0);
	assert_int_equal(attr.nlink, 0);
	assert_int_equal(attr.size, 5);
}

/* The attributes in the reply let the client check its cached pages; absent if ctime is too new. */
static void opens_return_attributes_when_they_are_settled(void **state)
{
	struct timespec now;
	uint64_t node, fh;
	struct stat st;

	rig_put_text(&rig, "f", "x");
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), 0);
	do { /* until it is old enough */
		assert_int_equal(rig_open(&rig, node, O_RDONLY, &fh), 0);
		assert_int_equal(rig_release(&rig, node, fh), 0);
		assert_int_equal(stat(rig_path(&rig, "f"), &st), 0);
		clock_gettime(CLOCK_REALTIME, &now);
	} while (!rig.opened && now.tv_sec < st.st_ctim.tv_sec + 10);
	assert_true(rig.opened);
	assert_int_equal(rig.opened_attr.size, 1);
	assert_int_equal(rig.opened_attr.ctime, st.st_ctim.tv_sec);
	assert_int_equal(rig.opened_attr.ctimensec, st.st_ctim.tv_nsec);
	assert_int_equal(chmod(rig_path(&rig, "f"), 0600), 0);
	assert_int_equal(rig_open(&rig, node, O_RDONLY, &fh), 0);
	assert_int_equal(stat(rig_path(&rig, "f"), &st), 0);
	assert_true(!rig.opened || rig.opened_attr.ctimensec == st.st_ctim.tv_nsec);
}

/* This process's descriptors of unlinked objects. */
static unsigned count_unlinked(void)
{
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *de;
	unsigned n = 0;

	assert_non_null(d);
	while ((de = readdir(d))) {
		char to[256] = "";

		if (readlinkat(dirfd(d), de->d_name, to, sizeof(to) - 1) > 0 &&
		    strstr(to, rig.dir) && strstr(to, " (deleted)"))
			n++;
	}
	closedir(d);
	return n;
}

/* At once if a client removed the file, soon if a local user did. */
static void removed_files_free_their_space(void **state)
{
	uint64_t node, fh, now = clock_now_ns(), end = now + RIG_DEADLINE_NS;

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(rig_create(&rig, ROOT, i ? "a" : "b", O_RDWR, 0644, &node, &fh),
				 0);
		assert_int_equal(rig_release(&rig, node, fh), 0);
	}
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "b"), 0);
	while (count_unlinked() > 0 && clock_now_ns() < end) /* a helper closes the last one */
		rig_poll(&rig);
	assert_int_equal(count_unlinked(), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "a", &node), 0);
	assert_int_equal(unlink(rig_path(&rig, "a")), 0);
	assert_int_equal(count_unlinked(), 1);
	for (unsigned i = 0; i < 10; i++) /* seconds pass */
		server_turn(rig.server, now += 2 * NSEC_PER_SEC, true);
	assert_int_equal(count_unlinked(), 0);
}

/* The client's kernel then looks the name up again. */
static void unlinked_files_are_not_opened(void **state)
{
	uint64_t node, dir, fh, x;
	autoclose int fd = -1, dir_fd = -1;

	rig_put_text(&rig, "f", "x");
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), 0);
	assert_int_equal(rig_mkdir(&rig, ROOT, "d", &dir), 0);
	dir_fd = open(rig_path(&rig, "d"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = open(rig_path(&rig, "f"), O_RDONLY | O_CLOEXEC); /* or its inode would be gone */
	assert_true(fd >= 0 && dir_fd >= 0);
	assert_int_equal(unlink(rig_path(&rig, "f")), 0);
	assert_int_equal(rmdir(rig_path(&rig, "d")), 0);
	assert_int_equal(rig_open(&rig, node, O_RDWR | O_TRUNC, &fh), -ESTALE);
	assert_int_equal(rig_open(&rig, dir, O_RDONLY | O_DIRECTORY, &fh), -ESTALE);
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &x), -ENOENT);
	/* Via an open file it works, as via /proc/PID/fd. */
	rig_put_text(&rig, "g", "x");
	assert_int_equal(rig_lookup(&rig, ROOT, "g", &node), 0);
	assert_int_equal(rig_open(&rig, node, O_RDONLY, &x), 0);
	assert_int_equal(unlink(rig_path(&rig, "g")), 0);
	assert_int_equal(rig_open(&rig, node, O_RDWR, &fh), 0);
}

/* The helpers share this process's descriptor table: limits them to it as it is, without holes. */
static void descriptors_fill(void)
{
	struct rlimit limit;
	int last = 0, fd;

	for (fd = 0; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			last = fd;
	while ((fd = dup(0)) < last)
		;
	close(fd);
	for (pid_t pid, i = 0; (pid = fs_helper_pid(rig.helpers, (unsigned)i)) > 0; i++) {
		assert_int_equal(prlimit(pid, RLIMIT_NOFILE, NULL, &limit), 0);
		limit.rlim_cur = (rlim_t)last + 1;
		assert_int_equal(prlimit(pid, RLIMIT_NOFILE, &limit, NULL), 0);
	}
}

static void a_full_descriptor_table_evicts_cached_descriptors(void **state)
{
	enum { N = 100 };
	uint64_t node, fh;
	char name[16];

	rig_put_text(&rig, "one more", "x");
	for (unsigned i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		rig_put_text(&rig, name, "x");
		assert_int_equal(rig_lookup(&rig, ROOT, name, &node), 0);
	}
	descriptors_fill();
	assert_int_equal(rig_lookup(&rig, ROOT, "one more", &node), 0);
	descriptors_fill();
	assert_int_equal(rig_create(&rig, ROOT, "new", O_RDWR, 0644, &node, &fh), 0);
}

/* A request that waits for a buffer is cancelled; one that has started continues. */
static void interrupted_requests_do_not_begin(void **state)
{
	enum { N = 80, LEN = 1 << 20 };
	struct rudp_call *calls = calloc(N, sizeof(*calls));
	struct fuse_interrupt_in intr = {};
	unsigned interrupted = 0;
	uint64_t node, fh;

	assert_non_null(calls);
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	for (unsigned i = 0; i < N; i++) {
		struct fuse_read_in in = {.fh = fh, .size = LEN};

		calls[i].hold = true;
		rig_send(&rig, &calls[i],
			 &(struct rig_req){.op = FUSE_READ, .node = node, RIG_ARG(in)});
		intr.unique = rig.unique;
		assert_int_equal(rig_do(&rig, FUSE_INTERRUPT, 0, RIG_ARG(intr),
					.unique = rig.own_unique += 2),
				 0);
	}
	for (unsigned i = 0; i < N; i++) {
		int r = rig_result(&rig, &calls[i]);

		interrupted += r == -EINTR;
		assert_true(r == 0 || r == -EINTR);
		fuse_server_sent(rig.server, calls[i].token);
	}
	assert_true(interrupted > 0 && interrupted < N);
	assert_int_equal(fuse_server_in_flight(rig.server), 0);
	free(calls);
}

static void symbolic_links_are_never_followed(void **state)
{
	struct fuse_attr attr;
	uint64_t node, fh, x;

	assert_int_equal(rig_do(&rig, FUSE_SYMLINK, ROOT, .name = "l", .name2 = "/etc/passwd"), 0);
	node = rig_entry_node(&rig);
	assert_int_equal(rig_do(&rig, FUSE_READLINK, node), 0);
	assert_int_equal(rig.len, 11);
	assert_memory_equal(rig.data, "/etc/passwd", 11);
	assert_int_equal(rig_getattr(&rig, node, &attr), 0);
	assert_true(S_ISLNK(attr.mode));
	assert_int_equal(rig_open(&rig, node, O_RDONLY, &fh), -ELOOP);
	assert_int_equal(rig_lookup(&rig, node, "x", &x), -ENOTDIR);
	assert_int_equal(symlink("/etc", rig_path(&rig, "e")), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "e", &node), 0);
	assert_int_equal(rig_lookup(&rig, node, "passwd", &x), -ENOTDIR);
	assert_int_equal(rig_create(&rig, ROOT, "l", O_RDWR, 0644, &x, &fh), -ELOOP);
	assert_int_equal(rig_create(&rig, ROOT, "l", O_RDWR | O_EXCL, 0644, &x, &fh), -EEXIST);
}

static void times_and_owners_of_links_are_their_own(void **state)
{
	struct fuse_setattr_in in = {.valid = FATTR_UID | FATTR_MTIME, .uid = 7, .mtime = 1000000};
	struct stat st;
	uint64_t node;

	rig_put_text(&rig, "f", "x");
	assert_int_equal(symlink("f", rig_path(&rig, "l")), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "l", &node), 0);
	assert_int_equal(rig_do(&rig, FUSE_SETATTR, node, RIG_ARG(in)), 0);
	assert_int_equal(lstat(rig_path(&rig, "l"), &st), 0);
	assert_int_equal(st.st_uid, 7);
	assert_int_equal(st.st_mtim.tv_sec, 1000000);
	assert_int_equal(stat(rig_path(&rig, "f"), &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_true(st.st_mtim.tv_sec > 1000000);
}

/* A file system mounted below the export is served, too. */
static void file_systems_below_the_export_are_served(void **state)
{
	uint64_t dir, node, fh, found;
	struct fuse_attr attr, root;

	assert_int_equal(rig_mkdir(&rig, ROOT, "d", &dir), 0);
	assert_int_equal(mount("below", rig_path(&rig, "d"), "tmpfs", 0, NULL), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "d", &found), 0);
	assert_int_not_equal(found, dir);
	assert_int_equal(rig_create(&rig, found, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "x", 1), 1);
	assert_int_equal(rig_open(&rig, node, O_RDONLY, &fh), 0);
	assert_int_equal(rig_read(&rig, node, fh, 0, 9), 1);
	assert_int_equal(rig_lookup(&rig, found, "..", &node), 0);
	assert_int_equal(node, ROOT);
	assert_int_equal(rig_getattr(&rig, ROOT, &root), 0);
	assert_int_equal(rig_getattr(&rig, found, &attr), 0);
	assert_int_equal(rig_do(&rig, FUSE_RMDIR, ROOT, .name = "d"), -EBUSY);
	fuse_server_client_gone(rig.client);
	rig.server = fuse_server_free(rig.server);
	rig.helpers = helpers_end(rig.helpers);
	assert_int_equal(umount(rig_path(&rig, "d")), 0);
	rig_start(&rig);
	assert_int_equal(rig_getattr(&rig, found, &attr), -ESTALE);
	assert_int_equal(rig_getattr(&rig, dir, &attr), 0);
}

/* Names of a directory, read size bytes at a time; also how many were given as nodes. */
static unsigned read_names(uint64_t node, uint32_t op, uint32_t size, bool *seen, unsigned n,
			   unsigned *ret_nodes)
{
	size_t head = op == FUSE_READDIRPLUS ? sizeof(struct fuse_entry_out) : 0;
	struct fuse_read_in in = {.size = size};
	unsigned count = 0;

	assert_int_equal(rig_open(&rig, node, O_RDONLY | O_DIRECTORY, &in.fh), 0);
	*ret_nodes = 0;
	for (;;) {
		const uint8_t *p, *end;
		unsigned n_tail = 0;

		assert_int_equal(rig_do(&rig, op, node, RIG_ARG(in)), 0);
		if (rig.len == 0)
			break;
		assert_true(rig.len <= size);
		p = rig.data;
		for (end = p + rig.len; p < end;) {
			struct fuse_entry_out e = {};
			struct fuse_dirent de;
			char name[256] = "";
			unsigned i;

			memcpy(&e, p, head);
			memcpy(&de, p + head, sizeof(de));
			memcpy(name, p + head + FUSE_NAME_OFFSET, de.namelen);
			p += FUSE_DIRENT_ALIGN(head + FUSE_NAME_OFFSET + de.namelen);
			in.offset = de.off;
			if (e.nodeid) {
				rig_tail_node(&rig, n_tail++, 0);
				++*ret_nodes;
			}
			count++;
			if (sscanf(name, "file-%u", &i) == 1 && i < n) {
				assert_false(seen[i]);
				seen[i] = true;
			}
		}
	}
	assert_int_equal(rig_do(&rig, FUSE_RELEASEDIR, node,
				RIG_ARG(((struct fuse_release_in){.fh = in.fh}))),
			 0);
	rig.files[in.fh - RIG_FH].fh = 0;
	return count;
}

static void large_directories_are_read_once(void **state)
{
	enum { N = 3000 };
	bool *seen = calloc(N, sizeof(*seen));
	unsigned nodes;
	char name[32];
	uint64_t dir;

	assert_non_null(seen);
	assert_int_equal(rig_mkdir(&rig, ROOT, "d", &dir), 0);
	for (unsigned i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "d/file-%u", i);
		rig_put_text(&rig, name, "");
	}
	assert_int_equal(read_names(dir, FUSE_READDIR, 4096, seen, N, &nodes), N + 2);
	for (unsigned i = 0; i < N; i++)
		assert_true(seen[i]);
	memset(seen, 0, N);
	assert_int_equal(read_names(dir, FUSE_READDIRPLUS, 4096, seen, N, &nodes), N + 2);
	assert_true(nodes == N || nodes == 0); /* those without handles are only named */
	free(seen);
}

static void directories_are_read_from_where_the_client_says(void **state)
{
	struct fuse_read_in in = {.size = 200};
	struct fuse_dirent first, de;
	char name[32];

	for (unsigned i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		rig_put_text(&rig, name, "");
	}
	assert_int_equal(rig_open(&rig, ROOT, O_RDONLY | O_DIRECTORY, &in.fh), 0);
	assert_int_equal(rig_do(&rig, FUSE_READDIR, ROOT, RIG_ARG(in)), 0);
	memcpy(&first, rig.data, sizeof(first));
	in.offset = first.off;
	assert_int_equal(rig_do(&rig, FUSE_READDIR, ROOT, RIG_ARG(in)), 0);
	memcpy(&first, rig.data, sizeof(first));
	in.offset = first.off;
	assert_int_equal(rig_do(&rig, FUSE_READDIR, ROOT, RIG_ARG(in)), 0);
	memcpy(&first, rig.data, sizeof(first));
	in.offset = 0;
	assert_int_equal(rig_do(&rig, FUSE_READDIR, ROOT, RIG_ARG(in)), 0);
	for (unsigned i = 0; i < 2; i++) {
		memcpy(&de, rig.data, sizeof(de));
		in.offset = de.off;
		assert_int_equal(rig_do(&rig, FUSE_READDIR, ROOT, RIG_ARG(in)), 0);
	}
	memcpy(&de, rig.data, sizeof(de));
	assert_int_equal(de.ino, first.ino);
	assert_int_equal(de.off, first.off);
}

static void extended_attributes_pass(void **state)
{
	struct {
		uint32_t size, flags;
	} set = {.size = 5};
	struct fuse_getxattr_in get = {};
	struct fuse_getxattr_out out;
	uint64_t node;
	char value[8];

	rig_put_text(&rig, "f", "x");
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), 0);
	assert_int_equal(rig_do(&rig, FUSE_SETXATTR, node, RIG_ARG(set), .name = "user.ab",
				.data = "value", .data_len = 5),
			 0);
	assert_int_equal(getxattr(rig_path(&rig, "f"), "user.ab", value, 8), 5);
	set.flags = XATTR_CREATE;
	assert_int_equal(rig_do(&rig, FUSE_SETXATTR, node, RIG_ARG(set), .name = "user.ab",
				.data = "value", .data_len = 5),
			 -EEXIST);
	assert_int_equal(rig_do(&rig, FUSE_GETXATTR, node, RIG_ARG(get), .name = "user.ab"), 0);
	memcpy(&out, rig.data, sizeof(out));
	assert_int_equal(out.size, 5);
	get.size = 3;
	assert_int_equal(rig_do(&rig, FUSE_GETXATTR, node, RIG_ARG(get), .name = "user.ab"),
			 -ERANGE);
	get.size = 100;
	assert_int_equal(rig_do(&rig, FUSE_GETXATTR, node, RIG_ARG(get), .name = "user.ab"), 0);
	assert_int_equal(rig.len, 5);
	assert_memory_equal(rig.data, "value", 5);
	assert_int_equal(rig_do(&rig, FUSE_LISTXATTR, node, RIG_ARG(get)), 0);
	assert_memory_equal(rig.data, "user.ab", 8);
	assert_int_equal(rig_do(&rig, FUSE_REMOVEXATTR, node, .name = "user.ab"), 0);
	assert_int_equal(rig_do(&rig, FUSE_REMOVEXATTR, node, .name = "user.ab"), -ENODATA);
	assert_int_equal(rig_do(&rig, FUSE_GETXATTR, node, RIG_ARG(get), .name = "user.ab"),
			 -ENODATA);
	/* Attributes that only the host's root sees are hidden from clients. */
	assert_int_equal(rig_do(&rig, FUSE_SETXATTR, node, RIG_ARG(set), .name = "trusted.a",
				.data = "value", .data_len = 5),
			 -EPERM);
}

static void space_is_allocated_and_found(void **state)
{
	struct fuse_fallocate_in alloc = {.length = 1 << 20};
	struct fuse_lseek_in seek = {.whence = SEEK_DATA};
	struct fuse_copy_file_range_in copy = {.len = 3};
	struct fuse_lseek_out at;
	struct fuse_fsync_in sync = {};
	uint64_t node, fh;
	struct stat st;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	alloc.fh = seek.fh = sync.fh = copy.fh_in = copy.fh_out = fh;
	assert_int_equal(rig_do(&rig, FUSE_FALLOCATE, node, RIG_ARG(alloc)), 0);
	assert_int_equal(stat(rig_path(&rig, "f"), &st), 0);
	assert_int_equal(st.st_size, 1 << 20);
	alloc.mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	assert_int_equal(rig_do(&rig, FUSE_FALLOCATE, node, RIG_ARG(alloc)), 0);
	assert_int_equal(rig_write(&rig, node, fh, 65536, O_RDWR, "abc", 3), 3);
	assert_int_equal(rig_do(&rig, FUSE_FSYNC, node, RIG_ARG(sync)), 0);
	assert_int_equal(rig_do(&rig, FUSE_LSEEK, node, RIG_ARG(seek)), 0);
	memcpy(&at, rig.data, sizeof(at));
	assert_int_equal(at.offset, 65536);
	seek.whence = SEEK_SET;
	assert_int_equal(rig_do(&rig, FUSE_LSEEK, node, RIG_ARG(seek)), -EINVAL);
	copy.off_in = 65536;
	copy.nodeid_out = node;
	assert_int_equal(rig_do(&rig, FUSE_COPY_FILE_RANGE, node, RIG_ARG(copy)), 0);
	assert_int_equal(rig_read(&rig, node, fh, 0, 3), 3);
	assert_memory_equal(rig.data, "abc", 3);
	assert_int_equal(rig_do(&rig, FUSE_STATFS, ROOT), 0);
	assert_int_equal(rig.len, sizeof(struct fuse_statfs_out));
}

static void descriptors_are_not_leaked(void **state)
{
	unsigned before = 0, after = 0;
	uint64_t node, fh;
	char name[32];
	DIR *d;

	rig_stop(&rig);
	for (unsigned turn = 0; turn < 2; turn++) {
		d = opendir("/proc/self/fd");
		while (readdir(d))
			*(turn ? &after : &before) += 1;
		closedir(d);
		if (turn)
			break;
		rig_start(&rig);
		for (unsigned i = 0; i < 100; i++) {
			snprintf(name, sizeof(name), "f%u", i);
			assert_int_equal(rig_create(&rig, ROOT, name, O_RDWR, 0644, &node, &fh), 0);
		}
		rig_stop(&rig);
	}
	assert_int_equal(before, after);
	rig_start(&rig);
}

/* On a disk, in memory, and where the file system gives no handles. */
#define EVERYWHERE(f)                                            \
	BOTH(f),                                                 \
	{                                                        \
#f " on an overlay", f, setup, teardown, overlay \
	}

/* Mounts an overlay in a private mount namespace. */
static int make_overlay(char *dir)
{
	char opts[256], path[128];
	static const char *const parts[] = {"lower", "upper", "work", "merged"};

	if (!mkdtemp(dir) || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("back", dir, "tmpfs", 0, NULL) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, parts[i]);
		if (mkdir(path, 0755) < 0)
			return -errno;
	}
	snprintf(opts, sizeof(opts), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", dir,
		 dir, dir);
	if (mount("back", path, "overlay", 0, opts) < 0)
		return -errno;
	strcat(dir, "/merged");
	return 0;
}

int main(void)
{
	char overlay[64] = "/tmp/back-overlay-XXXXXX";
	bool have = geteuid() == 0 && make_overlay(overlay) == 0;
	int r;
	const struct CMUnitTest tests[] = {
		EVERYWHERE(lookup_knows_and_misses),
		EVERYWHERE(hard_links_share_a_node),
		EVERYWHERE(data_goes_out_and_comes_back),
		EVERYWHERE(many_requests_at_once),
		EVERYWHERE(requests_beyond_capacity_wait),
		EVERYWHERE(calls_that_are_gone_are_not_answered),
		EVERYWHERE(appending_goes_to_the_end),
		EVERYWHERE(created_files_belong_to_the_user),
		EVERYWHERE(set_id_bits_are_cleared_on_request),
		EVERYWHERE(attributes_are_set),
		EVERYWHERE(names_are_renamed_and_removed),
		EVERYWHERE(unlinked_files_live_while_open),
		EVERYWHERE(opens_return_attributes_when_they_are_settled),
		ON("/tmp", removed_files_free_their_space),
		ON("/dev/shm", removed_files_free_their_space),
		EVERYWHERE(unlinked_files_are_not_opened),
		BOTH(a_full_descriptor_table_evicts_cached_descriptors),
		ON("/tmp", interrupted_requests_do_not_begin),
		EVERYWHERE(symbolic_links_are_never_followed),
		EVERYWHERE(times_and_owners_of_links_are_their_own),
		ON("/tmp", file_systems_below_the_export_are_served),
		EVERYWHERE(large_directories_are_read_once),
		EVERYWHERE(directories_are_read_from_where_the_client_says),
		EVERYWHERE(extended_attributes_pass),
		EVERYWHERE(space_is_allocated_and_found),
		EVERYWHERE(descriptors_are_not_leaked),
	};

	if (!rig_can())
		return 0;
	if (!have)
		strcpy(overlay, "/tmp"); /* no overlay in this kernel: test the disk twice */
	r = cmocka_run_group_tests(tests, NULL, NULL);
	if (have) {
		*strrchr(overlay, '/') = '\0';
		umount2(overlay, MNT_DETACH);
		rmdir(overlay);
	}
	return r;
}
