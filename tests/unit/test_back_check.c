/* SPDX-License-Identifier: BSD-3-Clause */
/* What a peer may send: each wrong length, missing end and bad name is told from the right ones. */
#include "dataplane/fuse/fuse_back_buf.h"
#include "dataplane/fuse/fuse_back_check.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static uint8_t msg[8192];

/* Verdict on a request of this operation with these bytes after the header. */
static int check(uint32_t opcode, const void *body, size_t len)
{
	struct fuse_in_header in = {.len = (uint32_t)(sizeof(in) + len), .opcode = opcode};

	memcpy(msg, &in, sizeof(in));
	memcpy(msg + sizeof(in), body, len);
	return fuse_back_check(msg, in.len);
}

static void headers_are_whole(void **state)
{
	struct fuse_in_header in = {.len = sizeof(in), .opcode = FUSE_STATFS};

	for (size_t i = 0; i < sizeof(in); i++)
		assert_int_equal(fuse_back_check(&in, i), -EBADMSG);
	assert_int_equal(fuse_back_check(&in, sizeof(in)), 0);
	in.len++;
	assert_int_equal(fuse_back_check(&in, sizeof(in)), -EBADMSG);
	assert_int_equal(check(FUSE_POLL, "", 0), -ENOSYS);
	assert_int_equal(check(FUSE_IOCTL, "", 0), -ENOTTY);
	assert_int_equal(check(4711, "", 0), -ENOSYS);
}

static void names_are_one_component(void **state)
{
	char name[300];

	assert_int_equal(check(FUSE_LOOKUP, "a", 2), 0);
	assert_int_equal(check(FUSE_LOOKUP, "a", 1), -EINVAL);
	assert_int_equal(check(FUSE_LOOKUP, "", 0), -EINVAL);
	assert_int_equal(check(FUSE_LOOKUP, "", 1), -EINVAL);
	assert_int_equal(check(FUSE_LOOKUP, "a/b", 4), -EINVAL);
	assert_int_equal(check(FUSE_LOOKUP, "..", 3), 0);
	assert_int_equal(check(FUSE_UNLINK, "..", 3), -EINVAL);
	assert_int_equal(check(FUSE_UNLINK, "...", 4), 0);
	memset(name, 'x', sizeof(name));
	name[255] = '\0';
	assert_int_equal(check(FUSE_LOOKUP, name, 256), 0);
	name[255] = 'x';
	name[256] = '\0';
	assert_int_equal(check(FUSE_LOOKUP, name, 257), -ENAMETOOLONG);
	assert_int_equal(check(FUSE_SYMLINK, "l\0/etc", 7), 0);
	assert_int_equal(check(FUSE_SYMLINK, "l\0/etc", 6), -EINVAL);
	assert_int_equal(check(FUSE_SYMLINK, "l", 2), -EINVAL);
	assert_int_equal(check(FUSE_RENAME, "12345678a\0b", 12), 0);
	assert_int_equal(check(FUSE_RENAME, "12345678a\0b", 11), -EINVAL);
	assert_int_equal(check(FUSE_RENAME, "12345678a\0b/c", 14), -EINVAL);
}

static void data_is_as_long_as_it_says(void **state)
{
	struct {
		struct fuse_write_in in;
		char data[8];
	} w = {.in = {.size = 8}};
	struct {
		struct fuse_batch_forget_in in;
		struct fuse_forget_one one[2];
	} f = {.in = {.count = 2}};
	struct fuse_read_in r = {.size = FUSE_PROTO_MAX_WRITE};
	struct {
		uint32_t size, flags;
		char name[2], value[4];
	} x = {.size = 4, .name = "n"};

	assert_int_equal(check(FUSE_WRITE, &w, sizeof(w)), 0);
	assert_int_equal(check(FUSE_WRITE, &w, sizeof(w) - 1), -EINVAL);
	w.in.size = 7;
	assert_int_equal(check(FUSE_WRITE, &w, sizeof(w)), -EINVAL);
	w.in.size = 8;
	w.in.offset = INT64_MAX - 7;
	assert_int_equal(check(FUSE_WRITE, &w, sizeof(w)), -EFBIG);
	assert_int_equal(check(FUSE_BATCH_FORGET, &f, sizeof(f)), 0);
	f.in.count = 3;
	assert_int_equal(check(FUSE_BATCH_FORGET, &f, sizeof(f)), -EINVAL);
	f.in.count = UINT32_MAX;
	assert_int_equal(check(FUSE_BATCH_FORGET, &f, sizeof(f)), -EINVAL);
	assert_int_equal(check(FUSE_READ, &r, sizeof(r)), 0);
	assert_int_equal(fuse_back_check_reply_bytes(msg, sizeof(msg)), r.size);
	r.size++;
	assert_int_equal(check(FUSE_READ, &r, sizeof(r)), -EINVAL);
	assert_int_equal(check(FUSE_SETXATTR, &x, 14), 0);
	x.size = 5;
	assert_int_equal(check(FUSE_SETXATTR, &x, 14), -EINVAL);
	x.size = 1 << 20;
	assert_int_equal(check(FUSE_SETXATTR, &x, 14), -E2BIG);
}

static void what_must_not_run_twice_is_known(void **state)
{
	struct fuse_write_in w = {.flags = O_APPEND};

	assert_int_equal(check(FUSE_WRITE, &w, sizeof(w)), 0);
	assert_true(fuse_back_check_is_once(msg, sizeof(w)));
	w.write_flags = FUSE_WRITE_CACHE;
	assert_int_equal(check(FUSE_WRITE, &w, sizeof(w)), 0);
	assert_false(fuse_back_check_is_once(msg, sizeof(w)));
	assert_int_equal(check(FUSE_RMDIR, "d", 2), 0);
	assert_true(fuse_back_check_is_once(msg, 0));
	assert_true(fuse_back_check_is_mute(FUSE_FORGET));
	assert_false(fuse_back_check_is_mute(FUSE_READ));
}

static void buffers_are_bounded_and_given_back(void **state)
{
	struct buf_pool p;
	void *bufs[1000];
	unsigned n = 0;

	assert_int_equal(buf_pool_init(&p), 0);
	assert_null(buf_pool_get(&p, (1 << 20) + 65536));
	while (n < ARRAY_SIZE(bufs) && (bufs[n] = buf_pool_get(&p, 1 << 20))) {
		memset(bufs[n], 1, 1 << 20);
		assert_int_equal((uintptr_t)bufs[n] % 64, 0);
		n++;
	}
	assert_true(n > 8 && n < 200);
	assert_false(buf_pool_fits(&p, 1 << 20));
	assert_true(buf_pool_fits(&p, 100));
	while (n > 0)
		buf_pool_put(&p, bufs[--n]);
	assert_true(buf_pool_fits(&p, 1 << 20));
	buf_pool_trim(&p);
	buf_pool_trim(&p);
	bufs[0] = buf_pool_get(&p, 1 << 20);
	assert_int_equal(*(uint8_t *)bufs[0], 0); /* its pages had gone */
	buf_pool_put(&p, bufs[0]);
	buf_pool_put(&p, NULL);
	buf_pool_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_are_whole),
		cmocka_unit_test(names_are_one_component),
		cmocka_unit_test(data_is_as_long_as_it_says),
		cmocka_unit_test(what_must_not_run_twice_is_known),
		cmocka_unit_test(buffers_are_bounded_and_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
