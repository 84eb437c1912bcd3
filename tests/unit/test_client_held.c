/* SPDX-License-Identifier: BSD-3-Clause */
/* Held data: what fits into the buffers, in which order they are sent, and what a successor finds.
 */
#include "dataplane/fuse/client/tables/client_held.h"
#include "netcfg/base/os/memfd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static const uint8_t id[16] = {1, 2, 3}, other_id[16] = {4};
static const struct client_held_file as = {.nodeid = 7, .file = 3, .lease = 9, .uid = 1};
static uint8_t piece[32768];

struct held_test {
	int fd;
	struct client_held h;
};

static int setup(void **state)
{
	struct held_test *t = calloc(1, sizeof(*t));

	t->fd = memfd_new_empty("state");
	assert_true(t->fd >= 0);
	assert_int_equal(client_held_open(&t->h, t->fd, 8192, id, false), 0);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct held_test *t = *state;

	client_held_done(&t->h);
	close(t->fd);
	free(t);
	return 0;
}

static bool add(struct held_test *t, unsigned but, uint64_t offset, uint32_t len)
{
	memset(piece, (int)(offset / 4096 % 251) + 1, sizeof(piece));
	return client_held_add(&t->h, 0, but, offset, piece, len);
}

static void data_gathers_in_two_buffers_until_both_are_full(void **state)
{
	struct held_test *t = *state;
	uint64_t at = 100;

	client_held_begin(&t->h, 0, &as);
	assert_true(client_held_is_empty(&t->h, 0));
	for (unsigned i = 0; i < 2 * CLIENT_HELD_BYTES / 4096; i++, at += 4096) {
		assert_int_equal(client_held_is_full(&t->h, 0, 4096),
				 i >= CLIENT_HELD_BYTES / 4096);
		assert_true(add(t, CLIENT_HELD_BUFS, at, 4096));
	}
	assert_false(add(t, CLIENT_HELD_BUFS, at, 4096));
	assert_int_equal(client_held_first(&t->h, 0), 1); /* the buffer with the lower offset */
	client_held_drop(&t->h, 0, 1);
	assert_int_equal(client_held_first(&t->h, 0), 0);
	assert_true(add(t, 0, at, 4096));
	client_held_drop(&t->h, 0, 0);
	client_held_drop(&t->h, 0, 1);
	assert_true(client_held_is_empty(&t->h, 0));
}

static void data_never_joins_a_buffer_that_is_being_sent(void **state)
{
	struct held_test *t = *state;
	unsigned sent;

	client_held_begin(&t->h, 0, &as);
	assert_true(add(t, CLIENT_HELD_BUFS, 0, 4096));
	sent = client_held_first(&t->h, 0);
	assert_true(add(t, sent, 4096, 4096));
	assert_int_equal(t->h.files[0].bufs[sent].len, 4096);
	assert_int_equal(t->h.files[0].bufs[!sent].len, 4096);
	assert_int_equal(t->h.files[0].bufs[!sent].offset, 4096);
}

static void a_successor_finds_the_data_but_another_mount_does_not(void **state)
{
	struct held_test *t = *state;
	struct client_held next;

	client_held_begin(&t->h, 0, &as);
	assert_true(add(t, CLIENT_HELD_BUFS, 4096, 5000));
	assert_true(add(t, CLIENT_HELD_BUFS, 9096, 10));
	assert_int_equal(client_held_open(&next, t->fd, 8192, id, true), 1);
	assert_int_equal(next.files[0].nodeid, 7);
	assert_int_equal(next.files[0].lease, 9);
	assert_int_equal(client_held_first(&next, 0), client_held_first(&t->h, 0));
	assert_int_equal(next.files[0].bufs[client_held_first(&next, 0)].len, 5010);
	memset(piece, 2, sizeof(piece));
	assert_memory_equal(client_held_msg(&next, 0, client_held_first(&next, 0)) +
				    FUSE_PROTO_WRITE_DATA,
			    piece, 5000);
	client_held_done(&next);
	assert_int_equal(client_held_open(&next, t->fd, 8192, other_id, true), 0);
	assert_int_equal(next.files[0].nodeid, 0);
	client_held_done(&next);
}

static void a_table_with_an_impossible_length_is_not_adopted(void **state)
{
	struct held_test *t = *state;
	struct client_held next;

	client_held_begin(&t->h, 2, &as);
	t->h.files[2].bufs[0].len = CLIENT_HELD_BYTES + 1;
	assert_int_equal(client_held_open(&next, t->fd, 8192, id, true), 0);
	assert_int_equal(next.files[2].nodeid, 0);
	client_held_done(&next);
}

static void files_have_separate_buffers(void **state)
{
	struct held_test *t = *state;
	uint8_t *last = NULL;

	for (unsigned i = 0; i < CLIENT_HELD_FILES; i++)
		for (unsigned b = 0; b < CLIENT_HELD_BUFS; b++) {
			uint8_t *msg = client_held_msg(&t->h, i, b);

			assert_true(!last || msg >= last + FUSE_PROTO_WRITE_DATA +
							     CLIENT_HELD_BYTES +
							     FUSE_PROTO_REQ_TAIL_MAX);
			memset(msg, 1, CLIENT_HELD_BUF_BYTES);
			last = msg;
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(data_gathers_in_two_buffers_until_both_are_full,
						setup, teardown),
		cmocka_unit_test_setup_teardown(data_never_joins_a_buffer_that_is_being_sent, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_successor_finds_the_data_but_another_mount_does_not, setup, teardown),
		cmocka_unit_test_setup_teardown(a_table_with_an_impossible_length_is_not_adopted,
						setup, teardown),
		cmocka_unit_test_setup_teardown(files_have_separate_buffers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
