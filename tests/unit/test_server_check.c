/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of a peer: each wrong length, missing end and invalid name is distinguished from the
 * valid ones. */
#include "dataplane/fuse/server/base/server_buf.h"
#include "dataplane/fuse/server/base/server_check.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static _Alignas(8) uint8_t msg[8192];
static struct fuse_server_args args;

/* Verdict on a request of this operation with these bytes after the header, and n handles. */
static int check_n(uint32_t opcode, const void *body, size_t len, uint8_t n)
{
	struct fuse_in_header in = {.len = (uint32_t)(sizeof(in) + len), .opcode = opcode};
	struct fuse_proto_req_tail tail = {.n_handles = n};
	uint8_t *at = msg + in.len + sizeof(tail);

	memcpy(msg, &in, sizeof(in));
	memcpy(msg + sizeof(in), body, len);
	memcpy(msg + in.len, &tail, sizeof(tail));
	for (; n > 0; n--) {
		*at++ = 3;
		memset(at, n, 3);
		at += 3;
	}
	return fuse_server_check(msg, (size_t)(at - msg), &args);
}

/* With as many handles as it needs. */
static int check(uint32_t opcode, const void *body, size_t len)
{
	return check_n(opcode, body, len,
		       opcode == FUSE_RENAME || opcode == FUSE_RENAME2 || opcode == FUSE_LINK ||
				       opcode == FUSE_COPY_FILE_RANGE
			       ? 2
			       : opcode != FUSE_INIT && opcode != FUSE_INTERRUPT);
}

static void headers_must_be_complete(void **state)
{
	struct fuse_in_header in = {.len = sizeof(in), .opcode = FUSE_DESTROY};

	for (size_t i = 0; i < sizeof(in); i++)
		assert_int_equal(fuse_server_check(&in, i, &args), -EBADMSG);
	assert_int_equal(fuse_server_check(&in, sizeof(in), &args), 0);
	in.len++;
	assert_int_equal(fuse_server_check(&in, sizeof(in), &args), -EBADMSG);
	in.len = sizeof(in) - 1;
	assert_int_equal(fuse_server_check(&in, sizeof(in), &args), -EBADMSG);
	assert_int_equal(check(FUSE_POLL, "", 0), -ENOSYS);
	assert_int_equal(check(FUSE_FORGET, "", 0), -ENOSYS);
	assert_int_equal(check(FUSE_IOCTL, "", 0), -ENOTTY);
	assert_int_equal(check(4711, "", 0), -ENOSYS);
}

static void the_number_of_handles_is_checked(void **state)
{
	struct fuse_rename_in ren = {.newdir = 1};
	struct fuse_write_in write = {};
	struct fuse_open_in open = {};
	char body[64] = {};
	size_t len;

	assert_int_equal(check_n(FUSE_STATFS, "", 0, 0), -EBADMSG);
	assert_int_equal(check_n(FUSE_STATFS, "", 0, 1), 0);
	assert_int_equal(args.handles[0].len, 3);
	assert_memory_equal(args.handles[0].bytes, "\1\1\1", 3);
	assert_int_equal(check_n(FUSE_STATFS, "", 0, 2), -EBADMSG);
	assert_int_equal(check_n(FUSE_DESTROY, "", 0, 1), -EBADMSG);
	memcpy(body, &ren, sizeof(ren));
	memcpy(body + sizeof(ren), "a\0b", 4);
	assert_int_equal(check_n(FUSE_RENAME, body, sizeof(ren) + 4, 1), -EBADMSG);
	assert_int_equal(check_n(FUSE_RENAME, body, sizeof(ren) + 4, 2), 0);
	assert_memory_equal(args.handles[0].bytes, "\2\2\2", 3);
	assert_memory_equal(args.handles[1].bytes, "\1\1\1", 3);
	/* Each cut and each byte too many. */
	len = sizeof(struct fuse_in_header) + sizeof(ren) + 4;
	for (size_t i = 0; i < sizeof(struct fuse_proto_req_tail) + 8; i++)
		assert_int_equal(fuse_server_check(msg, len + i, &args), -EBADMSG);
	assert_int_equal(
		fuse_server_check(msg, len + sizeof(struct fuse_proto_req_tail) + 9, &args),
		-EBADMSG);
	/* No bytes, or more than there may be. */
	msg[len + sizeof(struct fuse_proto_req_tail)] = 0;
	assert_int_equal(
		fuse_server_check(msg, len + sizeof(struct fuse_proto_req_tail) + 8, &args),
		-EBADMSG);
	msg[len + sizeof(struct fuse_proto_req_tail)] = FUSE_PROTO_HANDLE_MAX + 1;
	assert_int_equal(fuse_server_check(msg, sizeof(msg), &args), -EBADMSG);
	/* Only what is opened is opened again. */
	assert_int_equal(check(FUSE_OPEN, &open, sizeof(open)), 0);
	len = sizeof(struct fuse_in_header) + sizeof(open);
	msg[len] = FUSE_PROTO_REQ_REOPEN;
	assert_int_equal(fuse_server_check(msg, len + 12, &args), 0);
	assert_int_equal(args.flags, FUSE_PROTO_REQ_REOPEN);
	msg[len] = 2;
	assert_int_equal(fuse_server_check(msg, len + 12, &args), -EBADMSG);
	/* Only writes carry attributes. */
	msg[len] = FUSE_PROTO_REQ_ATTR;
	assert_int_equal(fuse_server_check(msg, len + 12, &args), -EBADMSG);
	assert_int_equal(check(FUSE_WRITE, &write, sizeof(write)), 0);
	len = FUSE_PROTO_WRITE_DATA;
	msg[len] = FUSE_PROTO_REQ_ATTR;
	assert_int_equal(fuse_server_check(msg, len + 12, &args), 0);
	assert_int_equal(args.flags, FUSE_PROTO_REQ_ATTR);
	msg[len] = FUSE_PROTO_REQ_ATTR | FUSE_PROTO_REQ_REOPEN;
	assert_int_equal(fuse_server_check(msg, len + 12, &args), -EBADMSG);
	assert_int_equal(check(FUSE_STATFS, "", 0), 0);
	msg[sizeof(struct fuse_in_header)] = FUSE_PROTO_REQ_REOPEN;
	assert_int_equal(fuse_server_check(msg, sizeof(struct fuse_in_header) + 12, &args),
			 -EBADMSG);
}

static void names_with_slashes_are_refused(void **state)
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

static void the_data_length_is_checked(void **state)
{
	struct {
		struct fuse_write_in in;
		char data[8];
	} w = {.in = {.size = 8}};
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
	assert_int_equal(check(FUSE_READ, &r, sizeof(r)), 0);
	assert_int_equal(fuse_server_check_reply_bytes((void *)msg),
			 r.size + sizeof(struct fuse_proto_resp_tail) +
				 sizeof(struct fuse_proto_bulk_done));
	r.size++;
	assert_int_equal(check(FUSE_READ, &r, sizeof(r)), -EINVAL);
	assert_int_equal(check(FUSE_SETXATTR, &x, 14), 0);
	x.size = 5;
	assert_int_equal(check(FUSE_SETXATTR, &x, 14), -EINVAL);
	x.size = 1 << 20;
	assert_int_equal(check(FUSE_SETXATTR, &x, 14), -E2BIG);
}

static void requests_that_must_not_run_twice_are_known(void **state)
{
	struct fuse_write_in w = {.flags = O_APPEND};
	struct fuse_fallocate_in f = {.length = 1};

	assert_int_equal(check(FUSE_FALLOCATE, &f, sizeof(f)), 0);
	assert_true(fuse_server_check_is_non_idempotent((void *)msg));
	assert_int_equal(check(FUSE_WRITE, &w, sizeof(w)), 0);
	assert_true(fuse_server_check_is_non_idempotent((void *)msg));
	w.write_flags = FUSE_WRITE_CACHE;
	assert_int_equal(check(FUSE_WRITE, &w, sizeof(w)), 0);
	assert_false(fuse_server_check_is_non_idempotent((void *)msg));
	assert_int_equal(check(FUSE_RMDIR, "d", 2), 0);
	assert_true(fuse_server_check_is_non_idempotent((void *)msg));
}

static void buffers_are_bounded_and_return_their_pages(void **state)
{
	struct buf_pool p;
	uint8_t *memory;
	void *bufs[1000];
	unsigned n = 0;

	memory = mmap(NULL, buf_pool_bytes(), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(buf_pool_init(&p, memory), 0);
	assert_null(buf_pool_get(&p, (1 << 20) + 65536));
	while (n < ARRAY_SIZE(bufs) && (bufs[n] = buf_pool_get(&p, 1 << 20))) {
		memset(bufs[n], 1, 1 << 20);
		assert_int_equal((uintptr_t)bufs[n] % 64, 0);
		n++;
	}
	assert_true(n > 8 && n < 200);
	assert_false(buf_pool_fits_for(&p, BUF_NOBODY, 1 << 20));
	assert_true(buf_pool_fits_for(&p, BUF_NOBODY, 100));
	while (n > 0)
		buf_pool_put(&p, bufs[--n]);
	assert_true(buf_pool_fits_for(&p, BUF_NOBODY, 1 << 20));
	buf_pool_trim(&p);
	buf_pool_trim(&p);
	bufs[0] = buf_pool_get(&p, 1 << 20);
	assert_int_equal(*(uint8_t *)bufs[0], 0); /* its pages had gone */
	buf_pool_put(&p, bufs[0]);
	buf_pool_put(&p, NULL);
	buf_pool_done(&p);
	munmap(memory, buf_pool_bytes());
}

/* Peers that keep what they get leave something to each other one. */
static void buffers_are_shared(void **state)
{
	static const size_t sizes[] = {1000, 16000, 100000, 1 << 20};
	static void *bufs[40000];
	struct buf_pool p;
	uint8_t *memory;
	unsigned n = 0;

	memory = mmap(NULL, buf_pool_bytes(), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(buf_pool_init(&p, memory), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		unsigned before = 0;

		for (unsigned peer = 1; peer <= 8; peer++) {
			unsigned first = n;

			while ((bufs[n] = buf_pool_get_for(&p, peer, sizes[i])))
				n++;
			assert_true(n > first);
			assert_true(peer == 1 || n - first <= before);
			before = n - first;
		}
		assert_true(buf_pool_fits_for(&p, 9, sizes[i]));
		while (n > 0)
			buf_pool_put(&p, bufs[--n]);
	}
	/* Large ones leave some to small ones of the same size of slot. */
	for (unsigned peer = 1; peer < 200; peer++)
		while ((bufs[n] = buf_pool_get_for(&p, peer, 100000)))
			n++;
	assert_false(buf_pool_fits_for(&p, 300, 100000));
	for (unsigned i = 0; i < 40; i++)
		assert_non_null(bufs[n++] = buf_pool_get_for(&p, 1, 16000));
	while (n > 0)
		buf_pool_put(&p, bufs[--n]);
	for (unsigned i = 0; i < BUF_CLASSES; i++)
		assert_int_equal(p.classes[i].n_free, p.classes[i].n_slots);
	buf_pool_done(&p);
	munmap(memory, buf_pool_bytes());
}

static void files_are_closed_together(void **state)
{
	static const uint8_t
		body[sizeof(struct fuse_release_in) + FUSE_PROTO_RELEASES_MAX * sizeof(uint64_t)];
	const size_t one = sizeof(struct fuse_release_in);

	for (size_t n = 0; n < sizeof(body); n++)
		assert_int_equal(check(n % 2 ? FUSE_RELEASE : FUSE_RELEASEDIR, body, n),
				 n < one || (n - one) % sizeof(uint64_t) ? -EINVAL : 0);
	assert_int_equal(check(FUSE_RELEASE, body, sizeof(body)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_must_be_complete),
		cmocka_unit_test(files_are_closed_together),
		cmocka_unit_test(the_number_of_handles_is_checked),
		cmocka_unit_test(buffers_are_shared),
		cmocka_unit_test(names_with_slashes_are_refused),
		cmocka_unit_test(the_data_length_is_checked),
		cmocka_unit_test(requests_that_must_not_run_twice_are_known),
		cmocka_unit_test(buffers_are_bounded_and_return_their_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
