/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of nodes of a mount, however many there are: how they are found, that their memory goes
 * back when the kernel forgets them, and that no number ever means two of them.
 */
#include "tests/lib/client_rig.h"

/* Memory that the state takes. */
static size_t state_kib(const struct rig *g)
{
	struct stat st;

	assert_int_equal(fstat(g->cfg->mounts[0].state_fd, &st), 0);
	return (size_t)st.st_blocks / 2;
}

static void test_a_million_nodes(void **state)
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
	/* Nor has a kernel that forgets them all a client that keeps them. */
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

/* All are looked up; no number is one that any of them had. The root of the mount is not asked for
 * here, as it is the only one that stays. */
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

static void test_memory_of_nodes_goes_back(void **state)
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
		/* What stays is bounded: 16 chunks, and those with one that is known. The last is
		 * not full, and the head has become larger. */
		assert_true(state_kib(g) < before_kib + 20 * CLIENT_CHUNK_NODES *
								sizeof(struct client_node) / 1024);
		/* Neither those who look through all of them, */
		client_nodes_lose(t);
		client_nodes_sweep(t);
		if (round % 2) { /* nor a successor, need what is not there. */
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

/* It died after it had said that the memory goes back, or that it is used again: either way there
 * are as many records as before, and none means two. */
static void test_death_while_memory_goes_back(void **state)
{
	struct rig *g = *state;
	struct client_nodes *t = &g->f->nodes;
	uint32_t *last_reuse = calloc(2 * MANY, sizeof(*last_reuse));
	bool *was_used = calloc(2 * MANY, sizeof(*was_used));

	look_up_many(t, last_reuse, was_used);
	for (uint32_t i = 0; i < MANY; i++)
		client_node_forget(t, node_numbered(t, i), 1);
	assert_true(t->state->head->released[30]);
	/* Said, not done; what was there is there. */
	memset(&t->state->nodes[30 * CLIENT_CHUNK_NODES], 0xa5, 4096);
	for (uint32_t i = 0; i < CLIENT_CHUNK_NODES; i++)
		t->state->nodes[30 * CLIENT_CHUNK_NODES + i].flags = 0;
	/* Said of those that cannot be: damaged. */
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

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_million_nodes),
		CASE(test_memory_of_nodes_goes_back),
		CASE(test_death_while_memory_goes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
