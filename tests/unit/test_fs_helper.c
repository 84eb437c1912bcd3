/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The I/O helpers with real processes: each call, identities, signatures and refusals, and the
 * behaviour when a process ends or hangs. Needs root.
 */
#include "tests/lib/fuse/helper_end.h"
#include "tests/lib/fuse/helper_rig.h"
#include "tests/lib/process/helper_trace.h"

#include <linux/falloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>

static int make_file(struct rig *g, const char *name, uint32_t mode, struct helper_call *ret)
{
	struct helper_call *c = rig_call(g, HELPER_CREATE, g->root_fd, name);

	c->oflags = O_RDWR | O_EXCL;
	c->mode = mode;
	return rig_do(g, c, ret);
}

/* ------------------------------------------------------------------ names */

static void test_names_are_made_and_removed(void **state)
{
	struct rig *g = *state;
	struct helper_call made, again, *c;

	c = rig_call(g, HELPER_MKDIR, g->root_fd, "d");
	c->mode = 0777;
	c->umask = 022;
	c->uid = 1234;
	c->gid = 2345;
	assert_int_equal(rig_do(g, c, &made), 0);
	assert_int_equal(made.result.attr.mode, S_IFDIR | 0755);
	assert_int_equal(made.result.attr.uid, 1234);
	assert_int_equal(made.result.attr.gid, 2345);
	assert_true(made.result.flags & HELPER_RESULT_HANDLE);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_MKDIR, g->root_fd, "d"), NULL), -EEXIST);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_LOOKUP, g->root_fd, "d"), &again), 0);
	assert_int_equal(again.result.handle_len, made.result.handle_len);
	assert_memory_equal(again.result.handle, made.result.handle, made.result.handle_len);

	c = rig_call(g, HELPER_SYMLINK, again.fd, "link");
	c->data = memcpy(g->arena, "over there", 10);
	c->data_size = 10;
	assert_int_equal(rig_do(g, c, &made), 0);
	assert_int_equal(made.result.attr.size, 10);
	c = rig_call(g, HELPER_READLINK, -1, NULL);
	c->a.len = made.result.handle_len;
	memcpy(c->a.handle, made.result.handle, made.result.handle_len);
	c->data = g->arena + 100;
	c->data_size = 4096;
	assert_int_equal(rig_do(g, c, &made), 0);
	assert_int_equal(made.result.count, 10);
	assert_memory_equal(g->arena + 100, "over there", 10);

	c = rig_call(g, HELPER_MKNOD, again.fd, "pipe");
	c->mode = S_IFIFO | 0600;
	assert_int_equal(rig_do(g, c, NULL), 0);
	/* Opening a pipe is refused, because it would block. */
	assert_int_equal(rig_do(g, rig_call(g, HELPER_LOOKUP, again.fd, "pipe"), &made), 0);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_OPEN, made.fd, NULL), NULL), -EINVAL);
	close(made.fd);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_RMDIR, g->root_fd, "d"), NULL), -ENOTEMPTY);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_UNLINK, again.fd, "pipe"), NULL), 0);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_UNLINK, again.fd, "link"), NULL), 0);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_RMDIR, g->root_fd, "d"), NULL), 0);
	close(again.fd);
	/* Not above the export, and not by names of several components. */
	assert_int_equal(rig_do(g, rig_call(g, HELPER_LOOKUP, g->root_fd, ".."), &made), 0);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_LOOKUP, g->root_fd, "."), &again), 0);
	assert_memory_equal(made.result.handle, again.result.handle, made.result.handle_len);
	close(made.fd);
	close(again.fd);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_LOOKUP, g->root_fd, "../x"), NULL), -EINVAL);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_MKDIR, g->root_fd, ".."), NULL), -EINVAL);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_MKDIR, g->root_fd, ""), NULL), -EINVAL);
}

static void test_a_rename_checks_its_victim(void **state)
{
	struct rig *g = *state;
	struct helper_call a, b, gone, *c;

	assert_int_equal(make_file(g, "a", 0644, &a), 0);
	assert_int_equal(make_file(g, "b", 0644, &b), 0);
	/* The victim is not the expected object. */
	c = rig_call(g, HELPER_RENAME, g->root_fd, "a");
	c->b.fd = g->root_fd;
	snprintf(c->name2, sizeof(c->name2), "b");
	c->flags = HELPER_EXPECT;
	assert_int_equal(rig_do(g, c, &gone), -EAGAIN);
	assert_memory_equal(gone.result.handle, b.result.handle, b.result.handle_len);
	c = rig_call(g, HELPER_RENAME, g->root_fd, "a");
	c->b.fd = g->root_fd;
	snprintf(c->name2, sizeof(c->name2), "b");
	c->flags = HELPER_EXPECT;
	rig_once(g, c);
	fs_helper_submit(g->helpers, c, HELPERS_QUICK);
	assert_ptr_equal(rig_wait(g), c);
	assert_int_equal(c->result.error, -EAGAIN);
	c->expect_len = c->result.handle_len;
	memcpy(c->expect, c->result.handle, c->expect_len);
	assert_int_equal(rig_do(g, c, &gone), 0);
	assert_true(gone.fd >= 0);
	assert_int_equal(gone.result.attr.nlink, 0);
	assert_memory_equal(gone.result.handle, b.result.handle, b.result.handle_len);
	close(gone.fd);
	c = rig_call(g, HELPER_RENAME, g->root_fd, "b");
	c->b.fd = g->root_fd;
	snprintf(c->name2, sizeof(c->name2), "c");
	c->rflags = RENAME_NOREPLACE;
	assert_int_equal(rig_do(g, c, NULL), 0);

	c = rig_call(g, HELPER_LINK, g->root_fd, "hard");
	c->b.len = a.result.handle_len;
	memcpy(c->b.handle, a.result.handle, a.result.handle_len);
	assert_int_equal(rig_do(g, c, &gone), 0);
	assert_int_equal(gone.result.attr.nlink, 2);
	/* An object has the same handle under every name. */
	assert_memory_equal(gone.result.handle, a.result.handle, a.result.handle_len);
	close(a.fd);
	close(b.fd);
}

static void test_an_existing_file_is_not_created_again(void **state)
{
	struct rig *g = *state;
	struct helper_call first, c2, *c;
	char text[8] = "";

	assert_int_equal(make_file(g, "f", 0640, &first), 0);
	assert_true(first.result.flags & HELPER_RESULT_CREATED);
	assert_int_equal(write(first.fd, "hello", 5), 5); /* the descriptor table is shared */
	assert_int_equal(make_file(g, "f", 0640, NULL), -EEXIST);
	c = rig_call(g, HELPER_CREATE, g->root_fd, "f");
	c->oflags = O_RDWR;
	assert_int_equal(rig_do(g, c, &c2), 0);
	assert_false(c2.result.flags & HELPER_RESULT_CREATED);
	assert_int_equal(c2.result.attr.size, 5);
	assert_int_equal(pread(c2.fd, text, 5, 0), 5);
	assert_string_equal(text, "hello");
	close(c2.fd);
	c = rig_call(g, HELPER_CREATE, g->root_fd, "f");
	c->oflags = O_WRONLY | O_TRUNC;
	assert_int_equal(rig_do(g, c, &c2), 0);
	assert_int_equal(c2.result.attr.size, 0);
	close(c2.fd);
	c = rig_call(g, HELPER_TMPFILE, g->root_fd, NULL);
	c->oflags = O_RDWR;
	c->mode = 0600;
	assert_int_equal(rig_do(g, c, &c2), 0);
	assert_int_equal(c2.result.attr.nlink, 0);
	close(c2.fd);
	assert_int_equal(symlink("f", rig_path(g, "s")), 0);
	c = rig_call(g, HELPER_CREATE, g->root_fd, "s");
	c->oflags = O_RDWR;
	assert_int_equal(rig_do(g, c, NULL), -ELOOP);
	close(first.fd);
}

/* ------------------------------------------------------------------ files */

static void test_files_are_opened(void **state)
{
	struct rig *g = *state;
	struct helper_call f, o, *c;

	assert_int_equal(make_file(g, "f", 0644, &f), 0);
	c = rig_call(g, HELPER_OPEN, -1, NULL);
	c->a.len = f.result.handle_len;
	memcpy(c->a.handle, f.result.handle, f.result.handle_len);
	c->oflags = O_RDWR;
	assert_int_equal(rig_do(g, c, &o), 0);
	assert_int_equal(write(o.fd, "x", 1), 1);
	close(o.fd);
	/* An unlinked file: the client's kernel must look up again, unless it had the file open. */
	assert_int_equal(unlink(rig_path(g, "f")), 0);
	for (unsigned i = 0; i < 2; i++) {
		c = rig_call(g, HELPER_OPEN, -1, NULL);
		c->a.len = f.result.handle_len;
		memcpy(c->a.handle, f.result.handle, f.result.handle_len);
		c->flags = i ? HELPER_ALLOW_UNLINKED : 0;
		assert_int_equal(rig_do(g, c, NULL), i ? 0 : -ESTALE);
	}
	close(f.fd);
	/* Now it is freed, and its handle reaches no other file. */
	assert_int_equal(make_file(g, "g", 0644, NULL), 0);
	c = rig_call(g, HELPER_OPEN_PATH, -1, NULL);
	c->a.len = f.result.handle_len;
	memcpy(c->a.handle, f.result.handle, f.result.handle_len);
	assert_int_equal(rig_do(g, c, NULL), -ESTALE);
	c = rig_call(g, HELPER_OPEN, g->root_fd, NULL);
	c->oflags = O_DIRECTORY;
	assert_int_equal(rig_do(g, c, NULL), 0);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_OPEN, g->root_fd, NULL), NULL), -EISDIR);
}

static void test_attributes_are_set(void **state)
{
	struct rig *g = *state;
	struct helper_call f, o, *c;

	assert_int_equal(make_file(g, "f", 0644, &f), 0);
	c = rig_call(g, HELPER_SETATTR, f.fd, NULL);
	c->set = (struct helper_setattr){
		.valid = FATTR_MODE | FATTR_UID | FATTR_GID | FATTR_SIZE | FATTR_MTIME,
		.mode = 0600,
		.uid = 77,
		.gid = 88,
		.size = 12345,
		.mtime = 1000,
		.mtimensec = 5,
	};
	assert_int_equal(rig_do(g, c, &o), 0);
	assert_int_equal(o.result.attr.mode, S_IFREG | 0600);
	assert_int_equal(o.result.attr.uid, 77);
	assert_int_equal(o.result.attr.gid, 88);
	assert_int_equal(o.result.attr.size, 12345);
	assert_int_equal(o.result.attr.mtime, 1000);
	/* The same by handle, without a descriptor. */
	c = rig_call(g, HELPER_SETATTR, -1, NULL);
	c->a.len = f.result.handle_len;
	memcpy(c->a.handle, f.result.handle, f.result.handle_len);
	c->set = (struct helper_setattr){.valid = FATTR_SIZE, .size = 7};
	assert_int_equal(rig_do(g, c, &o), 0);
	assert_int_equal(o.result.attr.size, 7);

	c = rig_call(g, HELPER_SETXATTR, f.fd, "user.a");
	c->data = memcpy(g->arena, "value", 5);
	c->data_size = 5;
	assert_int_equal(rig_do(g, c, NULL), 0);
	c = rig_call(g, HELPER_GETXATTR, f.fd, "user.a");
	assert_int_equal(rig_do(g, c, &o), 0);
	assert_int_equal(o.result.count, 5);
	c = rig_call(g, HELPER_LISTXATTR, f.fd, NULL);
	c->data = g->arena;
	c->data_size = 100;
	assert_int_equal(rig_do(g, c, &o), 0);
	assert_string_equal((char *)g->arena, "user.a");
	assert_int_equal(rig_do(g, rig_call(g, HELPER_REMOVEXATTR, f.fd, "user.a"), NULL), 0);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_REMOVEXATTR, f.fd, "user.a"), NULL),
			 -ENODATA);
	/* The administrator's attributes are hidden from clients. */
	assert_int_equal(setxattr(rig_path(g, "f"), "trusted.x", "1", 1, 0), 0);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_GETXATTR, f.fd, "trusted.x"), NULL),
			 -ENODATA);
	c = rig_call(g, HELPER_STATFS, f.fd, NULL);
	c->data = g->arena;
	c->data_size = sizeof(struct statfs);
	assert_int_equal(rig_do(g, c, NULL), 0);
	assert_true(((struct statfs *)g->arena)->f_blocks > 0);
	close(f.fd);
}

static void test_data_are_written_and_read(void **state)
{
	struct rig *g = *state;
	struct helper_call f, t, o, *c;

	assert_int_equal(make_file(g, "f", 02767, &f), 0);
	assert_int_equal(fchmod(f.fd, 02767), 0);
	memset(g->arena, 'x', 100000);
	for (unsigned i = 0; i < 2; i++) {
		c = rig_call(g, HELPER_APPEND, f.fd, NULL);
		c->data = g->arena;
		c->data_size = 100000;
		c->flags = HELPER_KILL_PRIV;
		c->uid = c->gid = 1000;
		assert_int_equal(rig_do(g, c, &o), 0);
		assert_int_equal(o.result.count, 100000);
		assert_int_equal(o.result.attr.size, 100000 * (i + 1));
	}
	/* As after a local user's write. */
	assert_int_equal(o.result.attr.mode & 07777, 0767);
	assert_int_equal(make_file(g, "t", 0644, &t), 0);
	c = rig_call(g, HELPER_COPY, f.fd, NULL);
	c->b.fd = t.fd;
	c->offset = 5;
	c->length = 1000;
	assert_int_equal(rig_do(g, c, &o), 0);
	assert_int_equal(o.result.count, 1000);
	c = rig_call(g, HELPER_FALLOCATE, t.fd, NULL);
	c->mode = FALLOC_FL_KEEP_SIZE;
	c->length = 1 << 20;
	assert_int_equal(rig_do(g, c, &o), 0);
	assert_int_equal(o.result.attr.size, 1000);
	c = rig_call(g, HELPER_LSEEK, f.fd, NULL);
	c->mode = SEEK_HOLE;
	assert_int_equal(rig_do(g, c, &o), 0);
	assert_int_equal(o.result.count, 200000);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_FSYNC, f.fd, NULL), NULL), 0);
	assert_int_equal(rig_do(g, rig_call(g, HELPER_CLOSE, f.fd, NULL), NULL), 0);
	assert_int_equal(fcntl(f.fd, F_GETFD), -1);
	close(t.fd);
	/* Data outside the arena is refused. */
	c = rig_call(g, HELPER_APPEND, g->root_fd, NULL);
	c->data = &c;
	c->data_size = 8;
	assert_int_equal(rig_do(g, c, NULL), -EFAULT);
	c = rig_call(g, HELPER_APPEND, g->root_fd, NULL);
	c->data = g->arena + RIG_ARENA_BYTES - 4;
	c->data_size = 8;
	assert_int_equal(rig_do(g, c, NULL), -EFAULT);
}

static void test_folders_are_listed(void **state)
{
	struct rig *g = *state;
	struct helper_call dir, o, look, *c;
	unsigned seen = 0, files = 0;
	uint64_t off = 0;

	for (unsigned i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "file-%02u", i);
		assert_int_equal(make_file(g, name, 0644, NULL), 0);
	}
	c = rig_call(g, HELPER_OPEN, g->root_fd, NULL);
	c->oflags = O_DIRECTORY;
	assert_int_equal(rig_do(g, c, &dir), 0);
	for (;;) {
		c = rig_call(g, HELPER_READDIRPLUS, dir.fd, NULL);
		c->offset = off;
		c->data = g->arena;
		c->data_size = 3000;
		assert_int_equal(rig_do(g, c, &o), 0);
		if (o.result.count == 0)
			break;
		for (size_t pos = 0; pos < o.result.count;) {
			const struct helper_dirent *de = (void *)(g->arena + pos);
			char name[HELPERS_NAME_MAX];

			snprintf(name, sizeof(name), "%.*s", de->name_len, (char *)(de + 1));
			off = de->off;
			pos += HELPER_DIRENT_BYTES(de->name_len, de->handle_len);
			seen++;
			if (name[0] == '.')
				continue;
			files++;
			assert_true(de->has_attr);
			assert_int_equal(
				rig_do(g, rig_call(g, HELPER_LOOKUP, g->root_fd, name), &look), 0);
			close(look.fd);
			assert_int_equal(look.result.attr.ino, de->attr.ino);
			assert_int_equal(look.result.handle_len, de->handle_len);
			assert_memory_equal(look.result.handle, (char *)(de + 1) + de->name_len,
					    de->handle_len);
		}
	}
	assert_int_equal(seen, 102);
	assert_int_equal(files, 100);
	close(dir.fd);
}

/* ------------------------------------------------------------------ who may what */

static void test_permissions_are_checked(void **state)
{
	struct rig *g = *state;
	struct helper_call f, *c;

	assert_int_equal(make_file(g, "f", 0600, &f), 0);
	assert_int_equal(mkdir(rig_path(g, "d"), 0700), 0);
	/* Calls with and without a permission check alternate on the same helper, which opens
	 * handles with its own privileges each time. */
	for (unsigned i = 0; i < 20; i++) {
		bool checked = i & 1;

		c = rig_call(g, HELPER_OPEN, -1, NULL);
		c->a.len = f.result.handle_len;
		memcpy(c->a.handle, f.result.handle, f.result.handle_len);
		c->uid = c->gid = 65534;
		c->flags = checked ? HELPER_CHECK_PERMS : 0;
		assert_int_equal(rig_do(g, c, NULL), checked ? -EACCES : 0);
		c = rig_call(g, HELPER_SETATTR, f.fd, NULL);
		c->set = (struct helper_setattr){.valid = FATTR_MODE, .mode = 0600};
		c->uid = c->gid = 65534;
		c->flags = checked ? HELPER_CHECK_PERMS : 0;
		assert_int_equal(rig_do(g, c, NULL), checked ? -EPERM : 0);
	}
	close(f.fd);
}

/* An invalid id does nothing in the former user's name. */
static void test_invalid_ids_change_nothing(void **state)
{
	struct rig *g = *state;
	struct helper_call *c;
	int fd;

	for (unsigned i = 0; i < 12; i++) {
		bool is_one = i % 3 == 0;

		c = rig_call(g, HELPER_MKDIR, g->root_fd, "d");
		c->mode = 0777;
		c->uid = i % 3 == 1 ? UINT32_MAX : 1234;
		c->gid = i % 3 == 2 ? UINT32_MAX : 2345;
		assert_int_equal(rig_do(g, c, NULL), is_one ? 0 : -EINVAL);
		if (is_one)
			assert_int_equal(rmdir(rig_path(g, "d")), 0);
	}
	assert_int_equal(mkdir(rig_path(g, "d"), 0777), 0);
	fd = open(rig_path(g, "d"), O_PATH | O_CLOEXEC);
	c = rig_call(g, HELPER_SETATTR, fd, NULL);
	c->flags = HELPER_CHECK_PERMS | HELPER_OBJECT_GROUPS;
	c->set = (struct helper_setattr){.valid = FATTR_GID, .gid = UINT32_MAX};
	assert_int_equal(rig_do(g, c, NULL), -EINVAL);
	close(fd);
}

static void test_handles_are_signed(void **state)
{
	struct rig *g = *state;
	struct helper_call f, o, *c;
	uint8_t secret[128];
	struct file_handle *h = (void *)secret;
	int mount_id;

	assert_int_equal(make_file(g, "f", 0600, &f), 0);
	close(f.fd);
	for (unsigned i = 0; i < f.result.handle_len; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			c = rig_call(g, HELPER_OPEN_PATH, -1, NULL);
			c->a.len = f.result.handle_len;
			memcpy(c->a.handle, f.result.handle, f.result.handle_len);
			c->a.handle[i] ^= (uint8_t)(1U << bit);
			assert_int_equal(rig_do(g, c, NULL), -ESTALE);
		}
	}
	for (unsigned len = 0; len < f.result.handle_len; len++) {
		c = rig_call(g, HELPER_OPEN_PATH, -1, NULL);
		c->a.len = (uint8_t)len;
		memcpy(c->a.handle, f.result.handle, f.result.handle_len);
		assert_int_equal(rig_do(g, c, NULL), -ESTALE);
	}
	/* A file outside the export, with a known handle but without our signature. */
	h->handle_bytes = 64;
	assert_int_equal(name_to_handle_at(AT_FDCWD, "/var/tmp", h, &mount_id, 0), 0);
	c = rig_call(g, HELPER_OPEN_PATH, -1, NULL);
	c->a.handle[0] = HELPERS_HANDLE_SIGNED;
	c->a.handle[1] = (uint8_t)h->handle_type;
	c->a.handle[2] = (uint8_t)h->handle_bytes;
	memcpy(c->a.handle + 3, h->f_handle, h->handle_bytes);
	c->a.len = (uint8_t)(3 + h->handle_bytes + HELPERS_SIGNATURE_BYTES);
	assert_int_equal(rig_do(g, c, NULL), -ESTALE);
	/* A successor with the same key and export accepts it. */
	g->helpers = helpers_end(g->helpers);
	rig_pool_start(g);
	c = rig_call(g, HELPER_OPEN_PATH, -1, NULL);
	c->a.len = f.result.handle_len;
	memcpy(c->a.handle, f.result.handle, f.result.handle_len);
	assert_int_equal(rig_do(g, c, &o), 0);
	close(o.fd);
	assert_memory_equal(o.result.handle, f.result.handle, f.result.handle_len);
	/* Another key or another export does not. */
	g->helpers = helpers_end(g->helpers);
	assert_int_equal(pwrite(g->key_fd, "?", 1, 0), 1);
	rig_pool_start(g);
	c = rig_call(g, HELPER_OPEN_PATH, -1, NULL);
	c->a.len = f.result.handle_len;
	memcpy(c->a.handle, f.result.handle, f.result.handle_len);
	assert_int_equal(rig_do(g, c, NULL), -ESTALE);
}

/* ------------------------------------------------------------------ lives */

static void test_a_request_runs_once(void **state)
{
	struct rig *g = *state;
	struct journal *j = fs_helper_journal(g->helpers, 0);
	struct journal_record *rec;
	struct helper_call *c;
	uint64_t ticket;

	c = rig_call(g, HELPER_MKDIR, g->root_fd, "lock");
	rig_once(g, c);
	assert_int_equal(rig_do(g, c, NULL), 0);
	assert_int_equal(journal_begin(j, g->mount, g->unique, FUSE_MKDIR, true, &rec, &ticket),
			 JOURNAL_ANSWER);
	assert_int_equal(rec->result.error, 0);
	assert_true(rec->result.flags & HELPER_RESULT_HANDLE);
	c = rig_call(g, HELPER_MKDIR, g->root_fd, "lock");
	rig_once(g, c);
	assert_int_equal(rig_do(g, c, NULL), -EEXIST);
	assert_int_equal(journal_begin(j, g->mount, g->unique, FUSE_MKDIR, true, &rec, &ticket),
			 JOURNAL_ANSWER);
	assert_int_equal(rec->result.error, -EEXIST);
	/* A ticket is valid for one call. */
	c = rig_call(g, HELPER_MKDIR, g->root_fd, "other");
	rig_once(g, c);
	rec = c->record;
	ticket = c->ticket;
	assert_int_equal(rig_do(g, c, NULL), 0);
	c = rig_call(g, HELPER_MKDIR, g->root_fd, "third");
	c->record = rec;
	c->ticket = ticket;
	assert_int_equal(rig_do(g, c, NULL), -ECANCELED);
	assert_int_equal(access(rig_path(g, "third"), F_OK), -1);
}

/* A hanging call blocks its helper; two block their queue, but no other queue. */
static void test_a_hanging_call_blocks_only_its_queue(void **state)
{
	struct rig *g = *state;
	struct helper_call *hung[2], *stuck, *c;
	pid_t pids[2] = {fs_helper_pid(g->helpers, 1), fs_helper_pid(g->helpers, 2)};
	char name[16];

	for (unsigned i = 0; i < 2; i++)
		if (helper_trace_begin(pids[i]) < 0)
			skip();
	for (unsigned i = 0; i < 2; i++) {
		hung[i] = rig_call(g, HELPER_FSYNC, g->root_fd, NULL);
		fs_helper_submit(g->helpers, hung[i], HELPERS_QUICK);
		assert_true(helper_trace_until(pids[i], SYS_fsync));
		for (unsigned k = 0; k < 20 && i == 0; k++) {
			ptrace(PTRACE_CONT, pids[1], NULL, NULL);
			snprintf(name, sizeof(name), "d%u", k);
			assert_int_equal(
				rig_do(g, rig_call(g, HELPER_MKDIR, g->root_fd, name), NULL), 0);
		}
		if (i == 0) {
			ptrace(PTRACE_INTERRUPT, pids[1], NULL, NULL);
			waitpid(pids[1], NULL, __WALL);
		}
	}
	stuck = rig_call(g, HELPER_MKDIR, g->root_fd, "stuck");
	fs_helper_submit(g->helpers, stuck, HELPERS_QUICK);
	c = rig_call(g, HELPER_MKDIR, g->root_fd, "slow");
	fs_helper_submit(g->helpers, c, HELPERS_SLOW);
	assert_ptr_equal(rig_wait(g), c);
	fs_helper_call_free(g->helpers, c);
	/* A client may interrupt a call, but not one that has started. */
	fs_helper_interrupt(g->helpers, stuck);
	fs_helper_interrupt(g->helpers, hung[0]);
	assert_ptr_equal(rig_wait(g), stuck);
	assert_int_equal(stuck->result.error, -EINTR);
	fs_helper_call_free(g->helpers, stuck);
	for (unsigned i = 0; i < 2; i++) {
		helper_trace_end(pids[i]);
		assert_ptr_equal(rig_wait(g), hung[i]);
		assert_int_equal(hung[i]->result.error, 0);
		fs_helper_call_free(g->helpers, hung[i]);
	}
	assert_int_equal(rig_do(g, rig_call(g, HELPER_MKDIR, g->root_fd, "end"), NULL), 0);
	assert_int_equal(access(rig_path(g, "stuck"), F_OK), -1);
}

/* The watcher first runs after the worker has freed the pool: it exits without touching the
 * worker's descriptors. */
static void test_a_late_watcher_exits(void **state)
{
	struct rig *g = *state;
	pid_t watcher = fs_helper_pid(g->helpers, 0);
	struct signalfd_siginfo none;
	int fds[HELPERS_END_MAX];
	sigset_t set;

	kill(watcher, SIGSTOP);
	assert_int_equal(waitpid(watcher, NULL, WUNTRACED), watcher);
	g->helpers = fs_helper_free(g->helpers);
	sigemptyset(&set);
	for (unsigned i = 0; i < ARRAY_SIZE(fds);
	     i++) /* also reuses the pool's descriptor numbers */
		fds[i] = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	kill(watcher, SIGCONT);
	assert_int_equal(waitpid(watcher, NULL, 0), watcher);
	for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
		assert_int_equal(read(fds[i], &none, sizeof(none)), -1);
		assert_int_equal(errno, EAGAIN);
		close(fds[i]);
	}
	rig_pool_start(g);
}

static const char *const late_names[] = {"late0", "late1", "late2"};

/* In a child: binds the name, starts one call, queues another and waits. */
static void worker_run(struct rig *g, const struct sockaddr_un *name, int ready)
{
	int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	pid_t pids[3];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (bind(s, (void *)name, sizeof(*name)) < 0)
		_exit(1);
	rig_pool_start(g);
	for (unsigned i = 0; i < 3; i++)
		pids[i] = fs_helper_pid(g->helpers, i);
	if (write(ready, pids, sizeof(pids)) != sizeof(pids))
		_exit(1);
	raise(SIGSTOP);
	for (unsigned i = 0; i < 3; i++) {
		struct helper_call *c;
		int fd = open(rig_path(g, late_names[i]), O_PATH | O_CLOEXEC);

		c = rig_call(g, HELPER_SETATTR, fd, NULL);
		c->set = (struct helper_setattr){.valid = FATTR_MODE, .mode = 0600};
		rig_once(g, c);
		fs_helper_submit(g->helpers, c, HELPERS_QUICK);
	}
	pause();
}

/*
 * A worker with a socket is killed while its helpers hang, one before its change and one after: the
 * successor gets the address at once, waits for the started calls and runs the queued one.
 */
static void test_a_successor_waits_only_for_started_calls(void **state)
{
	struct rig *g = *state;
	struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0plenum-helpers-test"};
	struct journal_record *rec;
	struct journal *j;
	pid_t worker, pids[3];
	int ready[2], s;
	uint64_t ticket;
	struct stat st;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(make_file(g, late_names[i], 0644, NULL), 0);
	g->helpers = helpers_end(g->helpers);
	worker = fork();
	if (worker == 0)
		worker_run(g, &name, ready[1]);
	assert_int_equal(read(ready[0], pids, sizeof(pids)), sizeof(pids));
	assert_int_equal(waitpid(worker, NULL, WUNTRACED), worker);
	for (unsigned i = 1; i < 3; i++)
		assert_int_equal(helper_trace_begin(pids[i]), 0);
	kill(worker, SIGCONT);
	for (unsigned i = 1; i < 3; i++)
		assert_true(helper_trace_until(pids[i], SYS_fchmodat));
	helper_trace_next(pids[2]);
	kill(worker, SIGKILL);
	waitpid(worker, NULL, 0);
	rig_pool_start(g);
	s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s, (void *)&name, sizeof(name)), 0);
	close(s);
	j = fs_helper_journal(g->helpers, 0);
	for (uint64_t i = 1; i < 3; i++)
		assert_int_equal(journal_begin(j, g->mount, i, FUSE_MKDIR, true, &rec, &ticket),
				 JOURNAL_WAIT);
	/* No helper has started it, nor will: the successor runs it. */
	assert_int_equal(journal_begin(j, g->mount, 3, FUSE_MKDIR, true, &rec, &ticket),
			 JOURNAL_RUN);
	for (unsigned i = 1; i < 3; i++) {
		struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pids[i], 0),
				   .events = POLLIN};

		/* It completes its call and exits, because its worker has ended. */
		helper_trace_end(pids[i]);
		assert_int_equal(poll(&p, 1, RIG_DEADLINE_MS), 1);
		close(p.fd);
		assert_int_equal(journal_begin(j, g->mount, i, FUSE_MKDIR, true, &rec, &ticket),
				 JOURNAL_ANSWER);
		assert_int_equal(rec->result.error, 0);
	}
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(stat(rig_path(g, late_names[i]), &st), 0);
		assert_int_equal(st.st_mode & 0777, i < 2 ? 0600 : 0644);
	}
	close(ready[0]);
	close(ready[1]);
}

static void test_helpers_have_little_private_memory(void **state)
{
	struct rig *g = *state;
	char path[64], line[256];
	unsigned long kib, sum = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", fs_helper_pid(g->helpers, 1));
	f = fopen(path, "re");
	if (!f)
		skip();
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Private_Dirty: %lu", &kib) == 1 ||
		    sscanf(line, "Private_Clean: %lu", &kib) == 1)
			sum += kib;
	fclose(f);
	print_message("# a helper has %lu KiB of private memory\n", sum);
#ifndef __SANITIZE_ADDRESS__
	assert_true(sum < 1024);
#endif
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_names_are_made_and_removed),
		T(test_a_rename_checks_its_victim),
		T(test_an_existing_file_is_not_created_again),
		T(test_files_are_opened),
		T(test_data_are_written_and_read),
		T(test_attributes_are_set),
		T(test_folders_are_listed),
		T(test_permissions_are_checked),
		T(test_a_request_runs_once),
		T(test_handles_are_signed),
		T(test_a_hanging_call_blocks_only_its_queue),
		T(test_a_late_watcher_exits),
		T(test_helpers_have_little_private_memory),
		T(test_a_successor_waits_only_for_started_calls),
		T(test_invalid_ids_change_nothing),
	};

	if (geteuid() != 0) {
		print_message("1..0 # SKIP needs root\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
