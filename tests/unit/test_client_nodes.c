/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of a mount's nodes, with many of them: lookup, release of memory when the kernel
 * forgets them, and unique numbers.
 */
#include "tests/lib/fuse/client_rig.h"

/* Memory that the state uses. */
static size_t state_kib(const struct rig *g)
{
	struct stat st;

	assert_int_equal(fstat(g->cfg->mounts[0].state_fd, &st), 0);
	return (size_t)st.st_blocks / 2;
}

static void test_a_million_nodes_are_found(void **state)
{
	struct rig *g = *state;
	struct client_nodes *t = &g->f->nodes;
	enum { N = 1000000 };
	uint32_t handle[4] = {0}, longest = 0;
	uint64_t third = 0;

	for (uint32_t i = 0; i < N; i++) {
		struct client_node *n;

		handle[2] = i;
		n = client_node_of(t, handle, sizeof(handle));
		assert_non_null(n);
		client_node_looked_up(n);
		if (i == 2)
			third = client_node_id(t, n);
	}
	for (uint32_t i = 0; i < t->n_hash; i++) {
		uint32_t length = 0;

		for (uint32_t k = t->hash[i]; k != 0; k = t->state->nodes[k].next)
			length++;
		longest = MAX_OF(longest, length);
	}
	assert_true(longest < 24);
	handle[2] = 2;
	assert_true(client_node_id(t, client_node_of(t, handle, sizeof(handle))) == third);
	/* A successor has them all. */
	client_nodes_done(t);
	assert_int_equal(client_nodes_init(t, &g->f->state), 0);
	assert_int_equal(t->n_used, N);
	assert_true(client_node_id(t, client_node_of(t, handle, sizeof(handle))) == third);
	for (uint32_t i = 0; i < N; i++) {
		handle[2] = i;
		client_node_forget(t, client_node_of(t, handle, sizeof(handle)), 1);
	}
	assert_int_equal(t->n_used, 0);
	assert_true(g->f->state.head->n_nodes <= N + 2);
	/* When the kernel forgets them all, the client frees them. */
	assert_true(state_kib(g) < 4096);
	assert_int_equal(t->n_hash, 1024);
}

static struct client_node *node_numbered(struct client_nodes *t, uint32_t number)
{
	uint32_t handle[4] = {[2] = number};
	struct client_node *n = client_node_of(t, handle, sizeof(handle));

	assert_non_null(n);
	return n;
}

enum { MANY = 40 * CLIENT_CHUNK_NODES };

/* Looks up all nodes; none reuses an earlier number. Without the root of the mount, which always
 * stays. */
static void look_up_many(struct client_nodes *t, uint32_t *last_reuse, bool *was_used)
{
	for (uint32_t i = 0; i < MANY; i++) {
		struct client_node *n = node_numbered(t, i);
		uint64_t id = client_node_id(t, n);
		uint32_t record = (uint32_t)id, reuse = (uint32_t)(id >> 32);

		client_node_looked_up(n);
		assert_true(record < 2 * MANY);
		assert_true(!was_used[record] || (int32_t)(reuse - last_reuse[record]) > 0);
		assert_true(client_node_get(t, id) == n);
		was_used[record] = true;
		last_reuse[record] = reuse;
	}
	assert_true(t->state->head->n_nodes <= MANY + CLIENT_CHUNK_NODES);
}

static void test_memory_of_forgotten_nodes_is_released(void **state)
{
	struct rig *g = *state;
	struct client_nodes *t = &g->f->nodes;
	uint32_t *last_reuse = calloc(2 * MANY, sizeof(*last_reuse));
	bool *was_used = calloc(2 * MANY, sizeof(*was_used));
	const size_t all_kib = MANY * sizeof(struct client_node) / 1024;
	const size_t before_kib = state_kib(g);
	uint64_t kept = 0;

	for (unsigned round = 0; round < 4; round++) {
		look_up_many(t, last_reuse, was_used);
		if (round == 0) { /* one is known all the time */
			kept = client_node_id(t, node_numbered(t, MANY / 2));
			client_node_looked_up(client_node_get(t, kept));
		}
		was_used[(uint32_t)kept] = false;
		assert_true(state_kib(g) >= all_kib);
		for (uint32_t i = MANY; i-- > 0;) /* in another order than they came */
			client_node_forget(t, node_numbered(t, i * 7 % MANY), 1);
		assert_int_equal(t->n_used, 1);
		/* The remaining memory is bounded: 16 chunks, and those with a known node. The
		 * last chunk is not full, and the head has grown. */
		assert_true(state_kib(g) < before_kib + 20 * CLIENT_CHUNK_NODES *
								sizeof(struct client_node) / 1024);
		/* Neither a search through all nodes, */
		client_nodes_lose(t);
		client_nodes_sweep(t);
		if (round % 2) { /* nor a successor, allocates the released memory. */
			size_t kib = state_kib(g);

			client_nodes_done(t);
			assert_int_equal(client_nodes_init(t, &g->f->state), 0);
			client_nodes_sweep(t);
			assert_true(state_kib(g) <= kib);
		}
		assert_true(client_node_get(t, kept) == node_numbered(t, MANY / 2));
	}
	free(last_reuse);
	free(was_used);
}

/* It died after it had marked the memory as released, or as reused: either way the number of
 * records is the same, and no number is used twice. */
static void test_a_death_during_a_release_keeps_numbers_unique(void **state)
{
	struct rig *g = *state;
	struct client_nodes *t = &g->f->nodes;
	uint32_t *last_reuse = calloc(2 * MANY, sizeof(*last_reuse));
	bool *was_used = calloc(2 * MANY, sizeof(*was_used));

	look_up_many(t, last_reuse, was_used);
	for (uint32_t i = 0; i < MANY; i++)
		client_node_forget(t, node_numbered(t, i), 1);
	assert_true(t->state->head->released[30]);
	/* Marked, not released: the content is still there. */
	memset(&t->state->nodes[30 * CLIENT_CHUNK_NODES], 0xa5, 4096);
	for (uint32_t i = 0; i < CLIENT_CHUNK_NODES; i++)
		t->state->nodes[30 * CLIENT_CHUNK_NODES + i].flags = 0;
	/* Marks on chunks that cannot be released: damaged. */
	t->state->head->released[0] = 1;
	t->state->head->released[t->state->head->n_nodes / CLIENT_CHUNK_NODES] = 1;
	client_nodes_done(t);
	assert_int_equal(client_nodes_init(t, &g->f->state), 0);
	client_nodes_sweep(t);
	look_up_many(t, last_reuse, was_used);
	for (uint32_t c = 0; c < CLIENT_CHUNKS_MAX; c++)
		assert_int_equal(t->state->head->released[c], 0);
	assert_int_equal(t->n_used, MANY);
	free(last_reuse);
	free(was_used);
}

/* A predecessor may have been faulty, or of another version. */
static void test_a_successor_frees_records_that_it_cannot_use(void **state)
{
	static const uint8_t lens[] = {0, FUSE_PROTO_HANDLE_MAX + 1, UINT8_MAX};
	struct rig *g = *state;
	struct client_nodes *t = &g->f->nodes;
	struct client_node *root = client_node_get(t, FUSE_ROOT_ID);

	for (uint32_t i = 0; i < ARRAY_SIZE(lens); i++) {
		struct client_node *n = node_numbered(t, 3 * i);
		const uint64_t id = client_node_id(t, n);

		client_node_looked_up(n);
		n->handle_len = root->handle_len = lens[i];
		client_nodes_done(t);
		assert_int_equal(client_nodes_init(t, &g->f->state), 0);
		assert_null(client_node_get(t, id));
		assert_ptr_equal(client_node_get(t, FUSE_ROOT_ID), root);
		assert_true(root->handle_len <= FUSE_PROTO_HANDLE_MAX);
		assert_ptr_not_equal(node_numbered(t, 3 * i + 1), node_numbered(t, 3 * i + 2));
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_million_nodes_are_found),
		CASE(test_a_successor_frees_records_that_it_cannot_use),
		CASE(test_memory_of_forgotten_nodes_is_released),
		CASE(test_a_death_during_a_release_keeps_numbers_unique),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
