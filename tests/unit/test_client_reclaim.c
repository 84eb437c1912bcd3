/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client reclaims the locks of its programs after a reboot of the server's host: which locks,
 * in which order with other requests, and what programs see if that fails. The ledger of locks is
 * compared with a model that keeps an owner for each byte.
 */
#include "tests/lib/fuse/client_rig.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 24U
#define ROUNDS 200000
#define BACKLOG 100 /* requests; more than the client reads at once */

/* ---- the ledger ---- */

struct model {
	uint8_t is[2][BYTES]; /* by owner: 0 no lock, 1 shared, 2 exclusive */
};

static uint32_t random_below(uint32_t n)
{
	static uint64_t x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 33) % n;
}

static void model_of(const struct client_ledger *l, struct model *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (unsigned i = 0; i < l->n; i++) {
		const struct client_lock *k = &l->all[i];

		assert_true(k->start <= k->end && k->end < BYTES);
		for (uint64_t b = k->start; b <= k->end; b++) {
			assert_int_equal(ret->is[k->owner][b], 0); /* no two cover a byte */
			ret->is[k->owner][b] = k->write ? 2 : 1;
		}
	}
}

static void model_change(struct model *m, unsigned what, const struct client_lock *k)
{
	for (uint64_t b = k->start; b <= k->end; b++) {
		uint8_t *is = &m->is[k->owner][b];

		*is = what == 0 ? (k->write ? 2 : 1) : what == 1 ? 0 : MIN_OF(*is, 1);
	}
}

static void the_ledger_has_what_each_owner_holds(void **state)
{
	struct client_ledger l = {.n = 0};
	struct model is, want = {};

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint64_t a = random_below(BYTES), b = random_below(BYTES);
		const unsigned what = random_below(3);
		const struct client_lock k = {.nodeid = 7,
					      .owner = random_below(2),
					      .start = MIN_OF(a, b),
					      .end = MAX_OF(a, b),
					      .write = random_below(2)};

		if (what == 0)
			client_ledger_set(&l, &k);
		else if (what == 1)
			client_ledger_free(&l, &k);
		else
			client_ledger_weaken(&l, &k);
		model_change(&want, what, &k);
		model_of(&l, &is);
		assert_memory_equal(&is, &want, sizeof(is));
		assert_true(l.n <= 2 * BYTES); /* adjoining ranges are merged */
	}
	client_ledger_done(&l);
}

/* ---- the record of the ledger ---- */

static const uint8_t mount_id[16] = {1, 2, 3};

static void ledger_open(struct client_ledger *l, int fd, bool adopt, int expected)
{
	*l = (struct client_ledger){.n = 0};
	assert_int_equal(client_ledger_open(l, fd, 8192, mount_id, adopt), expected);
}

static void a_successor_has_what_the_ledger_had(void **state)
{
	struct client_ledger l, next;
	struct model is, want;
	const int fd = memfd_create("state", MFD_CLOEXEC);

	(void)state;
	ledger_open(&l, fd, true, 0); /* there is no record yet */
	for (unsigned i = 0; i < 2000; i++) {
		const uint64_t a = random_below(BYTES), b = random_below(BYTES);
		const unsigned what = random_below(3);
		const struct client_lock k = {.nodeid = 7,
					      .owner = random_below(2),
					      .start = MIN_OF(a, b),
					      .end = MAX_OF(a, b),
					      .write = random_below(2)};

		if (what == 0)
			client_ledger_set(&l, &k);
		else if (what == 1)
			client_ledger_free(&l, &k);
		else
			client_ledger_weaken(&l, &k);
		model_of(&l, &want);
		ledger_open(&next, fd, true, 1);
		model_of(&next, &is);
		assert_int_equal(next.n, l.n);
		assert_memory_equal(&is, &want, sizeof(is));
		client_ledger_done(&next);
	}
	client_ledger_doubt(&l, 9);
	ledger_open(&next, fd, true, 1);
	assert_true(client_ledger_is_doubted(&next, 9));
	client_ledger_done(&next);
	ledger_open(&next, fd, false, 0); /* the state of another mount */
	assert_int_equal(next.n, 0);
	client_ledger_done(&next);
	ledger_open(&next, fd, true, 1);
	assert_int_equal(next.n, 0);
	client_ledger_done(&next);
	client_ledger_done(&l);
	close(fd);
}

#define STEADY 9U /* locks on node 1 that the process does not change */

/* Changes the locks of other nodes until it is killed. */
static void __attribute__((noreturn)) change_always(int fd, unsigned *n_changes)
{
	struct client_ledger l;

	ledger_open(&l, fd, true, 1);
	for (;;) {
		const uint32_t at = random_below(200);
		const struct client_lock k = {.nodeid = 2 + random_below(4),
					      .owner = 4,
					      .start = at,
					      .end = at + random_below(9),
					      .write = random_below(2)};

		switch (random_below(4)) {
		case 0:
			client_ledger_drop_node(&l, k.nodeid);
			break;
		case 1:
			client_ledger_free(&l, &k);
			break;
		default:
			client_ledger_set(&l, &k);
		}
		__atomic_fetch_add(n_changes, 1, __ATOMIC_RELAXED);
	}
}

static unsigned count_node(const struct client_ledger *l, uint64_t nodeid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->n; i++)
		n += l->all[i].nodeid == nodeid;
	return n;
}

static unsigned count_doubts(const struct client_ledger *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->n; i++)
		n += l->all[i].doubt;
	return n;
}

/* No two locks on a node without a doubt overlap, because all have the same owner. */
static void expect_no_overlap(const struct client_ledger *l)
{
	for (unsigned i = 0; i < l->n; i++)
		for (unsigned j = 0; j < i; j++) {
			const struct client_lock *a = &l->all[i], *b = &l->all[j];

			if (a->nodeid == b->nodeid && !client_ledger_is_doubted(l, a->nodeid))
				assert_false(a->start <= b->end && b->start <= a->end);
		}
}

static void a_kill_makes_only_the_changed_node_uncertain(void **state)
{
	struct client_ledger l;
	unsigned n_doubts = 0;
	unsigned *n_changes = mmap(NULL, sizeof(*n_changes), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(n_changes != MAP_FAILED);
	for (unsigned round = 0; round < 300; round++) {
		const int fd = memfd_create("state", MFD_CLOEXEC);
		const unsigned until = 1 + random_below(300);
		pid_t pid;

		*n_changes = 0;
		ledger_open(&l, fd, false, 0);
		for (unsigned i = 0; i < 5 * STEADY; i++) /* others move when these are freed */
			client_ledger_set(&l, &(struct client_lock){.nodeid = 1 + i % 5,
								    .owner = 4,
								    .start = 10 * i,
								    .end = 10 * i + 5});
		client_ledger_done(&l);
		pid = fork();
		if (pid == 0)
			change_always(fd, n_changes);
		assert_true(pid > 0);
		while (__atomic_load_n(n_changes, __ATOMIC_RELAXED) < until)
			assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* it lives */
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		ledger_open(&l, fd, true, 1);
		assert_int_equal(count_node(&l, 1), STEADY);
		assert_true(count_doubts(&l) <= 1);
		n_doubts += count_doubts(&l);
		expect_no_overlap(&l);
		client_ledger_done(&l);
		close(fd);
	}
	print_message("%u kills during a change\n", n_doubts);
	assert_true(n_doubts > 0);
	munmap(n_changes, sizeof(*n_changes));
}

static void too_many_locks_make_all_uncertain(void **state)
{
	struct client_ledger l = {.n = 0};

	(void)state;
	for (unsigned i = 0; i < CLIENT_LEDGER_MAX; i++)
		client_ledger_doubt(&l, 1000 + (i == 0)); /* two nodes only */
	assert_int_equal(l.n, 2);
	for (uint32_t i = 0; i <= CLIENT_LEDGER_MAX; i++) {
		const struct client_lock k = {.nodeid = 7, .owner = i};

		if (l.n < CLIENT_LEDGER_MAX - 1) { /* fills the array at once */
			l.all = realloc(l.all, CLIENT_LEDGER_MAX * sizeof(*l.all));
			assert_non_null(l.all);
			l.room = CLIENT_LEDGER_MAX;
			memset(l.all + l.n, 0, (CLIENT_LEDGER_MAX - 1 - l.n) * sizeof(*l.all));
			l.n = CLIENT_LEDGER_MAX - 1;
		}
		client_ledger_set(&l, &k);
		if (l.overflown)
			break;
	}
	assert_true(l.overflown);
	client_ledger_clear(&l);
	assert_false(l.overflown);
	client_ledger_done(&l);
}

/* ---- the client ---- */

static uint64_t node, fh;

static int setup_locks(void **state)
{
	struct rig *g;

	rig_setup(state);
	g = *state;
	g->cfg->mounts[0].locks = LAUNCH_LOCKS_CLUSTER;
	fuse_client_free(g->f); /* a client learns of the locks only when it starts */
	close(g->cfg->mounts[0].state_fd);
	g->cfg->mounts[0].state_fd = memfd_create("state", MFD_CLOEXEC);
	client_start(g);
	g->f->soft_ns = 0;
	g->features = FUSE_PROTO_FEATURE_LOCKS | FUSE_PROTO_FEATURE_RECLAIM;
	g->lock_epoch = 77;
	bring_up(g);
	node = lookup(g, "a", "handle-a");
	fh = open_file(g, node, 70);
	return 0;
}

static void kernel_set(struct rig *g, uint64_t unique, uint32_t opcode, uint32_t type,
		       uint64_t first, uint64_t last, bool flock)
{
	const struct fuse_lk_in in = {.fh = fh,
				      .owner = 5,
				      .lk = {.start = first, .end = last, .type = type, .pid = 3},
				      .lk_flags = flock ? FUSE_LK_FLOCK : 0};

	kernel_send_to(g, opcode, unique, node, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
}

/* Receives the next reply, and skips notices. */
static void expect_answer(struct rig *g, uint64_t unique, int error)
{
	struct fuse_out_header out;

	do
		assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	while (out.unique == 0);
	assert_int_equal(out.unique, unique);
	assert_int_equal(out.error, error);
}

static void get_lock(struct rig *g, uint64_t unique, uint32_t type, uint64_t first, uint64_t last,
		     bool flock)
{
	kernel_set(g, unique, FUSE_SETLK, type, first, last, flock);
	respond(g, 0, 0, NULL, 0);
	expect_answer(g, unique, 0);
}

/* The calls of the ended session fail, as rudp does. */
static void lose_calls(struct rig *g)
{
	while (n_calls > 0)
		fuse_client_response(g->f, call_take(0).cookie, -ECONNRESET, NULL, 0, g->now_ns);
}

/* The server's host reboots. Its next session reopens the file. */
static void reboot(struct rig *g)
{
	const struct fuse_open_out again = {.fh = 170};

	g->reclaims = true;
	g->server.incarnation++;
	g->server.verifier++;
	lose_calls(g);
	fuse_client_event(g->f, RUDP_SESSION_RESTARTED, 0, g->now_ns);
	fuse_client_tick(g->f, g->now_ns);
	respond_init(g);
	assert_int_equal(call_header(0).opcode, FUSE_OPEN);
	respond(g, 0, 0, &again, sizeof(again));
	fuse_client_tick(g->f, g->now_ns);
}

static struct fuse_lk_in call_lock(unsigned i)
{
	struct fuse_lk_in lk;

	assert_int_equal(call_header(i).opcode, FUSE_SETLK);
	memcpy(&lk, calls[i].msg + sizeof(struct fuse_in_header), sizeof(lk));
	return lk;
}

static void expect_reclaim(unsigned i, uint32_t type, uint64_t first, uint64_t last)
{
	const struct fuse_lk_in lk = call_lock(i);

	assert_true(lk.lk_flags & FUSE_PROTO_LK_RECLAIM);
	assert_int_equal(lk.fh, 170);
	assert_int_equal(lk.owner, 5);
	assert_int_equal(lk.lk.type, type);
	assert_int_equal(lk.lk.start, first);
	assert_int_equal(lk.lk.end, last);
	assert_true(lk.padding != 0);
}

/* The client says that it has reclaimed all, and is ready. */
static void expect_end(struct rig *g)
{
	assert_int_equal(n_calls, 1);
	assert_true(call_lock(0).lk_flags == FUSE_PROTO_LK_RECLAIMED);
	assert_false(fuse_client_is_ready(g->f));
	respond(g, 0, 0, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	assert_true(fuse_client_is_ready(g->f));
}

static void reclaim_answer(struct rig *g, int error)
{
	respond(g, 0, error, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
}

static void locks_are_reclaimed_before_other_requests(void **state)
{
	struct rig *g = *state;

	get_lock(g, 50, F_WRLCK, 10, 19, false);
	kernel_write(g, node, fh, "x", 1);
	reboot(g);
	assert_int_equal(n_calls, 1);
	expect_reclaim(0, F_WRLCK, 10, 19);
	reclaim_answer(g, 0);
	expect_end(g);
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, FUSE_WRITE);
	assert_true(g->f->state.head->lock_epoch == 77);
}

static void a_client_without_locks_only_says_so(void **state)
{
	struct rig *g = *state;

	reboot(g);
	expect_end(g);
}

static void a_lock_that_cannot_be_reclaimed_fails_the_open_file(void **state)
{
	struct rig *g = *state;

	get_lock(g, 50, F_WRLCK, 10, 19, false);
	reboot(g);
	reclaim_answer(g, -EAGAIN);
	expect_end(g);
	kernel_write(g, node, fh, "x", 1);
	assert_int_equal(n_calls, 0);
	expect_answer(g, g->unique, -EIO);
}

static void a_session_that_ends_meanwhile_begins_again(void **state)
{
	struct rig *g = *state;

	get_lock(g, 50, F_WRLCK, 10, 19, false);
	reboot(g);
	expect_reclaim(0, F_WRLCK, 10, 19);
	reboot(g);
	expect_reclaim(0, F_WRLCK, 10, 19);
	reclaim_answer(g, 0);
	expect_end(g);
}

static void a_lock_that_may_have_been_freed_is_not_reclaimed(void **state)
{
	struct rig *g = *state;

	get_lock(g, 50, F_WRLCK, 10, 19, false);
	kernel_set(g, 52, FUSE_SETLK, F_UNLCK, 15, 19, false);
	reboot(g);
	expect_reclaim(0, F_WRLCK, 10, 14);
	reclaim_answer(g, 0);
	expect_end(g);
	assert_int_equal(call_lock(0).lk.type, F_UNLCK); /* it is sent again */
}

static void a_lock_that_may_have_become_shared_is_reclaimed_as_shared(void **state)
{
	struct rig *g = *state;

	get_lock(g, 50, F_WRLCK, 10, 19, false);
	kernel_set(g, 52, FUSE_SETLK, F_RDLCK, 10, 19, false);
	reboot(g);
	expect_reclaim(0, F_RDLCK, 10, 19);
	reclaim_answer(g, 0);
	expect_end(g);
}

/* flock(2) gives up the shared lock before it waits for the exclusive one. */
static void a_shared_flock_that_waits_to_become_exclusive_is_not_reclaimed(void **state)
{
	struct rig *g = *state;

	get_lock(g, 50, F_RDLCK, 0, INT64_MAX, true);
	kernel_set(g, 52, FUSE_SETLKW, F_WRLCK, 0, INT64_MAX, true);
	respond(g, 0, -EINPROGRESS, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	reboot(g);
	expect_end(g);
}

static void a_lock_of_uncertain_order_fails_the_open_file(void **state)
{
	struct rig *g = *state;

	get_lock(g, 50, F_WRLCK, 10, 19, false);
	kernel_set(g, 52, FUSE_SETLK, F_UNLCK, 10, 19, false); /* two threads */
	kernel_set(g, 54, FUSE_SETLK, F_WRLCK, 12, 13, false);
	respond(g, 1, 0, NULL, 0);
	respond(g, 0, 0, NULL, 0);
	reboot(g);
	expect_end(g);
	kernel_write(g, node, fh, "x", 1);
	assert_int_equal(n_calls, 0);
}

static void a_freed_lock_is_not_reclaimed(void **state)
{
	struct rig *g = *state;

	get_lock(g, 50, F_WRLCK, 10, 19, false);
	kernel_set(g, 52, FUSE_SETLK, F_UNLCK, 0, INT64_MAX, false);
	respond(g, 0, 0, NULL, 0);
	reboot(g);
	expect_end(g);
}

static void another_epoch_means_that_all_locks_are_lost(void **state)
{
	struct rig *g = *state;

	get_lock(g, 50, F_WRLCK, 10, 19, false);
	g->lock_epoch = 78;
	reboot(g);
	expect_end(g);
	kernel_write(g, node, fh, "x", 1);
	assert_int_equal(n_calls, 0);
}

static void restart_worker(struct rig *g)
{
	struct fuse_out_header out;

	reset_all(g, g->now_ns);
	worker_restarts(g);
	while (kernel_receive(g, &out, NULL, 0) > 0)
		;
	n_calls = 0;
}

/* The server's host reboots while the client's worker restarts: the kernel's requests that the
 * dead worker has sent are resent, and are not read yet. */
static void restart_and_reboot(struct rig *g)
{
	restart_worker(g);
	reboot(g);
	assert_int_equal(n_calls, 0);
	assert_false(fuse_client_is_ready(g->f));
}

/* The server has executed an unlock, and another client has acquired the lock, but this client's
 * worker died before it read the answer. */
static void a_lock_that_a_resent_request_may_have_freed_is_not_reclaimed(void **state)
{
	struct rig *g = *state;

	get_lock(g, 50, F_WRLCK, 10, 19, false);
	kernel_set(g, 52, FUSE_SETLK, F_UNLCK, 15, 19, false);
	restart_and_reboot(g);
	kernel_set(g, 52 | FUSE_PROTO_UNIQUE_RESEND, FUSE_SETLK, F_UNLCK, 15, 19, false);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	expect_reclaim(0, F_WRLCK, 10, 14);
	reclaim_answer(g, 0);
	expect_end(g);
	assert_int_equal(call_lock(0).lk.type, F_UNLCK); /* it is sent again */
}

/* Then the client reads no more requests before it has reclaimed the locks. */
static void more_resent_requests_than_slots_make_all_locks_uncertain(void **state)
{
	struct rig *g = *state;
	const struct fuse_fsync_in in = {.fh = fh};

	get_lock(g, 50, F_WRLCK, 10, 19, false);
	restart_and_reboot(g);
	for (int n = BACKLOG; client_has_room(g->f);) {
		while (n-- > 0) /* the kernel always has one more request */
			kernel_send_to(g, FUSE_FSYNC, (g->unique += 2) | FUSE_PROTO_UNIQUE_RESEND,
				       node, &in, sizeof(in));
		n = fuse_client_pull(g->f, true, g->now_ns);
		assert_true(n > 0);
	}
	fuse_client_tick(g->f, g->now_ns);
	expect_end(g);
}

static void locks_from_before_a_restart_of_the_worker_are_reclaimed(void **state)
{
	struct rig *g = *state;

	get_lock(g, 50, F_WRLCK, 10, 19, false);
	restart_worker(g);
	fuse_client_pull(g->f, true, g->now_ns); /* the kernel has no request to resend */
	reboot(g);
	expect_reclaim(0, F_WRLCK, 10, 19);
	reclaim_answer(g, 0);
	expect_end(g);
	kernel_write(g, node, fh, "x", 1);
	assert_int_equal(n_calls, 1);
}

/* An earlier program version kept no record of the locks. */
static void locks_without_a_record_fail_the_open_file(void **state)
{
	struct rig *g = *state;
	const off_t at = (off_t)g->f->ledger_at;

	get_lock(g, 50, F_WRLCK, 10, 19, false);
	reset_all(g, g->now_ns);
	assert_int_equal(pwrite(g->cfg->mounts[0].state_fd, "\0\0\0\0\0\0\0", 8, at), 8);
	restart_worker(g);
	fuse_client_pull(g->f, true, g->now_ns);
	reboot(g);
	expect_end(g);
	kernel_write(g, node, fh, "x", 1);
	assert_int_equal(n_calls, 0);
}

/* Another open file of the node, which has a lock, is closed while a program waits for a lock. */
static void the_close_of_another_file_leaves_a_lock_certain(void **state)
{
	struct rig *g = *state;
	const uint64_t first = fh, other = open_file(g, node, 71), waits = open_file(g, node, 72);
	const struct fuse_release_in release = {.fh = other};

	get_lock(g, 50, F_WRLCK, 10, 19, false);
	fh = other;
	get_lock(g, 52, F_WRLCK, 40, 49, true);
	fh = waits;
	kernel_set(g, 54, FUSE_SETLKW, F_WRLCK, 0, INT64_MAX, true);
	respond(g, 0, -EINPROGRESS, NULL, 0);
	while (n_calls > 0 && call_header(0).opcode == FUSE_PROTO_LOCK_WAIT)
		(void)call_take(0);
	kernel_send_to(g, FUSE_RELEASE, 56, node, &release, sizeof(release));
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(call_header(n_calls - 1).opcode, FUSE_FLUSH);
	respond(g, n_calls - 1, 0, NULL, 0);
	fh = first;
	assert_false(client_ledger_is_doubted(&g->f->locks.ledger, node));
	assert_int_equal(g->f->locks.ledger.n, 1);
	assert_int_equal(g->f->locks.ledger.all[0].start, 10);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_locks, rig_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ledger_has_what_each_owner_holds),
		cmocka_unit_test(too_many_locks_make_all_uncertain),
		cmocka_unit_test(a_successor_has_what_the_ledger_had),
		cmocka_unit_test(a_kill_makes_only_the_changed_node_uncertain),
		TEST(locks_are_reclaimed_before_other_requests),
		TEST(a_client_without_locks_only_says_so),
		TEST(a_lock_that_cannot_be_reclaimed_fails_the_open_file),
		TEST(a_session_that_ends_meanwhile_begins_again),
		TEST(a_lock_that_may_have_been_freed_is_not_reclaimed),
		TEST(a_lock_that_may_have_become_shared_is_reclaimed_as_shared),
		TEST(a_shared_flock_that_waits_to_become_exclusive_is_not_reclaimed),
		TEST(a_lock_of_uncertain_order_fails_the_open_file),
		TEST(a_freed_lock_is_not_reclaimed),
		TEST(another_epoch_means_that_all_locks_are_lost),
		TEST(locks_from_before_a_restart_of_the_worker_are_reclaimed),
		TEST(a_lock_that_a_resent_request_may_have_freed_is_not_reclaimed),
		TEST(more_resent_requests_than_slots_make_all_locks_uncertain),
		TEST(locks_without_a_record_fail_the_open_file),
		TEST(the_close_of_another_file_leaves_a_lock_certain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
