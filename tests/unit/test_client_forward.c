/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that mount workers read from the kernel, at the owner: the test plays the mount worker
 * through the shared memory. Recovery after a death at any word.
 */
#include "tests/lib/fuse/client_reads_rig.h"

#include <sched.h>
#include <sys/wait.h>

static void owner_reads_up(struct both *b, struct rig *g)
{
	owner_up(&b->e, g);
	mount_worker_lives(&b->e);
	both_map(b);
	pull(b);
	n_calls = 0;
}

static uint64_t mount_worker_passes(struct both *b, unsigned i, uint32_t opcode, const void *arg,
				    size_t len)
{
	struct fuse_in_header h = {.len = (uint32_t)(sizeof(h) + len),
				   .opcode = opcode,
				   .nodeid = b->e.node,
				   .unique = b->e.g->unique += 2};

	memcpy(mount_worker_reads_buf(b->reads, i), &h, sizeof(h));
	memcpy(mount_worker_reads_buf(b->reads, i) + sizeof(h), arg, len);
	b->reads->slots[i].unique = h.unique;
	b->reads->slots[i].word = MOUNT_WORKER_FORWARDED;
	b->reads->done |= 1ULL << i;
	b->common->done |= 1;
	return h.unique;
}

static void test_owner_takes_forwarded_requests(void **state)
{
	const struct fuse_getattr_in in = {0};
	struct both b;
	uint64_t unique;

	owner_reads_up(&b, *state);
	unique = mount_worker_passes(&b, 2, FUSE_GETATTR, &in, sizeof(in));
	pull(&b);
	assert_int_equal(word_of(&b, 2), MOUNT_WORKER_FREE);
	assert_int_equal(n_calls, 1);
	assert_true(call_header(0).unique == unique);
	both_down(&b);
}

/* The mount worker that forwards a request gets the file, with the request. */
static void test_owner_gives_the_file_to_the_forwarding_worker(void **state)
{
	struct both b;
	uint64_t unique;

	owner_reads_up(&b, *state);
	unique = mount_worker_passes(&b, 0, FUSE_READ, read_of(b.e.fh, 0),
				     sizeof(struct fuse_read_in));
	pull(&b);
	assert_int_equal(n_calls, 0);
	assert_int_equal(word_of(&b, 0), MOUNT_WORKER_FREE);
	assert_int_equal(state_of(&b.e, 0), MOUNT_WORKER_DISPATCHED);
	assert_true(b.e.area->slots[0].unique == unique);
	assert_int_equal(b.e.area->files[0].state, MOUNT_WORKER_FILE_OPEN);
	assert_true(b.e.area->files[0].fh == b.e.fh);
	both_down(&b);
}

static bool is_resent(struct rig *g)
{
	struct fuse_out_header out;

	if (kernel_receive(g, &out, NULL, 0) == 0)
		return false;
	assert_int_equal(out.unique, 0);
	assert_int_equal(out.error, FUSE_PROTO_NOTIFY_RESEND);
	return true;
}

static void owner_begins(struct both *b)
{
	struct rig *g = b->e.g;

	g->f = fuse_client_free(g->f);
	client_start(g);
}

/* The kernel resends everything, which shows whether a dead mount worker had read a request. */
static void test_owner_and_a_reading_worker_die(void **state)
{
	struct fuse_forget_in forget = {.nlookup = 1};
	struct both b;
	struct rig *g = *state;

	owner_reads_up(&b, g);
	b.common->reads = 1;
	left_reading(&b, 0, 4096);
	mount_worker_passes(&b, 1, FUSE_FORGET, &forget, sizeof(forget));
	mount_worker_passes(&b, 2, FUSE_GETATTR, &forget, sizeof(forget));
	owner_begins(&b);
	assert_int_equal(b.common->reads, 0);
	assert_true(is_resent(g));
	assert_int_equal(word_of(&b, 0), MOUNT_WORKER_FREE);
	assert_int_equal(word_of(&b, 1), MOUNT_WORKER_FREE);
	assert_int_equal(word_of(&b, 2), MOUNT_WORKER_FREE); /* it is resent */
	session_up(g);
	respond_init(g);
	assert_int_equal(client_node_get(&g->f->nodes, b.e.node)->n_lookups, 0);
	both_down(&b);
}

/* A request that is forwarded while its slot is examined for another reason is not lost. */
static void test_owner_drops_no_forwarded_request(void **state)
{
	struct both b;
	struct rig *g = *state;

	owner_reads_up(&b, g);
	mount_worker_passes(&b, 1, FUSE_GETATTR, &b, 16);
	assert_false(client_dispatch_slot_look(g->f, &g->f->dispatch->workers[0],
					       MOUNT_WORKER_SLOTS + 1));
	assert_int_equal(word_of(&b, 1), MOUNT_WORKER_FORWARDED);
	both_down(&b);
}

/* A write is recorded by the owner or by its successor; the file's place may have been reused. */
static void test_owner_dies_before_it_has_recorded_a_write(void **state)
{
	struct both b;
	struct rig *g = *state;

	owner_reads_up(&b, g);
	mount_worker_passes(&b, 0, FUSE_READ, read_of(b.e.fh, 0), sizeof(struct fuse_read_in));
	pull(&b); /* the mount worker gets the file */
	b.reads->notes[0].wrote = 2;
	owner_begins(&b);
	assert_true(is_resent(g));
	session_up(g);
	respond_init(g);
	assert_true(client_node_get(&g->f->nodes, b.e.node)->flags & CLIENT_NODE_UNSYNCED);
	assert_int_equal(b.reads->notes[0].wrote_seen, 2);
	g->f->dispatch->workers[0].fhs[0] = 0;
	client_node_get(&g->f->nodes, b.e.node)->flags &= ~CLIENT_NODE_UNSYNCED;
	b.reads->notes[0].wrote = 3;
	b.reads->noted = b.common->noted = 1;
	client_forward_apply_notes(g->f);
	assert_true(client_node_get(&g->f->nodes, b.e.node)->flags & CLIENT_NODE_UNSYNCED);
	both_down(&b);
}

/* A mount worker that is alive must first mark the requests that it has read. */
static void test_owner_waits_for_a_reading_worker(void **state)
{
	int go[2], fd;
	struct both b;
	struct rig *g = *state;
	pid_t pid;
	char c;

	owner_reads_up(&b, g);
	fd = g->cfg->mounts[0].state_fd;
	assert_int_equal(pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(go[1]);
		if (mount_worker_lock(fd, 1) == 0)
			b.reads->slots[0].word = MOUNT_WORKER_READING;
		_exit(read(go[0], &c, 1) != 0);
	}
	while (__atomic_load_n(&b.reads->slots[0].word, __ATOMIC_ACQUIRE) != MOUNT_WORKER_READING)
		sched_yield();
	owner_begins(&b);
	assert_false(is_resent(g));
	send_getattr(&b);
	assert_int_equal(fuse_client_pull(g->f, true, g->now_ns), 0);
	assert_true(fuse_client_tick(g->f, g->now_ns) <= g->now_ns + NSEC_PER_MSEC);
	b.reads->slots[0].word = MOUNT_WORKER_TAKEN;
	assert_int_equal(fuse_client_pull(g->f, true, g->now_ns), 1);
	assert_true(is_resent(g));
	assert_int_equal(MOUNT_WORKER_STATE(word_of(&b, 0)), MOUNT_WORKER_TAKEN);
	close(go[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(go[0]);
	both_down(&b);
}

/* Requests that a mount worker serves stay with it when they are resent; a forwarded request is
 * executed once. */
/* As test_owner_gives_the_file_to_the_forwarding_worker. Returns the place. */
static unsigned owner_shows(struct both *b, uint64_t fh)
{
	unsigned place;

	mount_worker_passes(b, 0, FUSE_READ, read_of(fh, 0), sizeof(struct fuse_read_in));
	pull(b);
	if (state_of(&b->e, 0) != MOUNT_WORKER_DISPATCHED)
		return MOUNT_WORKER_FILES;
	place = b->e.area->slots[0].file;
	assert_true(mount_worker_file_at(b->e.area, b->more, place)->fh == fh);
	assert_int_equal(mount_worker_file_at(b->e.area, b->more, place)->state,
			 MOUNT_WORKER_FILE_OPEN);
	mount_worker_says(&b->e, 0, MOUNT_WORKER_DONE);
	pull(b);
	assert_int_equal(state_of(&b->e, 0), MOUNT_WORKER_FREE);
	return place;
}

/* A thousand files, each at the place that follows from its number; changes of the last one are
 * reported. */
static void test_owner_gives_many_files_to_a_worker(void **state)
{
	static bool is_taken[MOUNT_WORKER_FILES];
	struct both b;
	struct rig *g = *state;
	unsigned place = 0;
	uint64_t fh = 0;

	owner_reads_up(&b, g);
	memset(is_taken, 0, sizeof(is_taken));
	for (unsigned i = 0; i < MOUNT_WORKER_FILES; i++) {
		fh = i ? open_file(g, b.e.node, 50 + i) : b.e.fh;
		place = owner_shows(&b, fh);
		assert_in_range(place, 0, MOUNT_WORKER_FILES - 1);
		assert_false(is_taken[place]);
		is_taken[place] = true;
		assert_int_equal(owner_shows(&b, fh), place);
	}
	assert_int_equal(owner_shows(&b, open_file(g, b.e.node, 49)), MOUNT_WORKER_FILES);
	assert_true(place >= MOUNT_WORKER_FILES_FIRST);
	b.reads->n_read = 1;
	assert_false(client_dispatch_has_pending(g->f, client_node_get(&g->f->nodes, b.e.node)));
	mount_worker_note_at(b.reads, b.more, place)->out = 1;
	assert_true(client_dispatch_has_pending(g->f, client_node_get(&g->f->nodes, b.e.node)));
	mount_worker_note_at(b.reads, b.more, place)->out = 0;
	mount_worker_note_at(b.reads, b.more, place)->wrote = 1;
	*mount_worker_noted_at(b.reads, b.more, place) = 1ULL << place % 64;
	assert_true(client_dispatch_has_pending(g->f, client_node_get(&g->f->nodes, b.e.node)));
	b.common->noted = 1;
	client_forward_apply_notes(g->f);
	assert_true(client_node_get(&g->f->nodes, b.e.node)->flags & CLIENT_NODE_UNSYNCED);
	assert_int_equal(mount_worker_note_at(b.reads, b.more, place)->wrote_seen, 1);
	b.e.area->closing = 0;
	kernel_release(g, b.e.node, fh);
	assert_int_equal(mount_worker_file_at(b.e.area, b.more, place)->state,
			 MOUNT_WORKER_FILE_CLOSING);
	assert_true(b.e.area->closing == 1ULL << place % 64);
	both_down(&b);
}

static void test_owner_dies_and_requests_are_resent(void **state)
{
	struct both b;
	struct rig *g = *state;
	uint64_t taken = 5001, unheard = 5003, passed = 5005;

	owner_reads_up(&b, g);
	b.reads->slots[0].unique = taken;
	b.reads->slots[0].word = MOUNT_WORKER_TAKEN;
	b.reads->slots[1].unique = unheard;
	b.reads->slots[1].word = MOUNT_WORKER_REJECTED;
	owner_begins(&b);
	assert_true(is_resent(g));
	session_up(g);
	respond_init(g);
	mount_worker_lives(&b.e);
	n_calls = 0;
	/* A mount worker returns an unsent request before the owner has read the resend. */
	g->unique = passed - 2;
	assert_true(mount_worker_passes(&b, 2, FUSE_READ, read_of(b.e.fh, 0),
					sizeof(struct fuse_read_in)) == passed);
	for (uint64_t unique = taken; unique <= passed; unique += 2)
		kernel_send_to(g, FUSE_READ, unique | FUSE_PROTO_UNIQUE_RESEND, b.e.node,
			       read_of(b.e.fh, 0), sizeof(struct fuse_read_in));
	pull(&b);
	assert_int_equal(word_of(&b, 0), MOUNT_WORKER_TAKEN | MOUNT_WORKER_RESENT);
	assert_int_equal(MOUNT_WORKER_STATE(word_of(&b, 1)), MOUNT_WORKER_DISPATCHED);
	assert_true(b.reads->slots[1].unique == (unheard | FUSE_PROTO_UNIQUE_RESEND));
	assert_true(b.reads->posted & 2);
	assert_int_equal(word_of(&b, 2), MOUNT_WORKER_FREE);
	assert_int_equal(n_calls, 1);
	assert_true(call_header(0).unique == (passed | FUSE_PROTO_UNIQUE_RESEND));
	/* The ends of claimed requests are reported. */
	b.reads->slots[0].word = MOUNT_WORKER_DONE | MOUNT_WORKER_RESENT;
	b.reads->slots[1].word = MOUNT_WORKER_DONE;
	b.reads->done |= 3;
	b.common->done |= 1;
	pull(&b);
	assert_int_equal(word_of(&b, 0), MOUNT_WORKER_FREE);
	assert_int_equal(word_of(&b, 1), MOUNT_WORKER_FREE);
	assert_int_equal(g->f->dispatch->workers[0].n_out, 0);
	assert_int_equal(fuse_client_in_flight(g->f), 1);
	both_down(&b);
}

/* While a mount worker serves a file, cached state of it is not used. */
static void test_owner_applies_writes_of_workers(void **state)
{
	const struct fuse_attr attr = {.ino = 7, .mode = S_IFREG | 0644, .nlink = 1, .size = 4};
	const struct fuse_write_out out = {.size = 4};
	struct tail t = tail_make(FUSE_PROTO_RESP_ATTR, 0);
	struct rig *g = *state;
	struct both b;

	g->features = FUSE_PROTO_FEATURE_WRITTEN;
	owner_reads_up(&b, g);
	mount_worker_passes(&b, 0, FUSE_READ, read_of(b.e.fh, 0), sizeof(struct fuse_read_in));
	pull(&b); /* the mount worker gets the file */
	b.e.area->slots[0].word = MOUNT_WORKER_DONE;
	b.e.area->done |= 1;
	pull(&b);
	tail_add(&t, &attr, sizeof(attr));
	b.reads->n_read = 1;
	for (unsigned when = 0; when < 4; when++) {
		bool begun = when == 1, noted = when == 2;

		kernel_write(g, b.e.node, b.e.fh, "data", 4);
		respond_tail(g, n_calls - 1, 0, &out, sizeof(out), &t);
		expect_reply(g, g->unique, 0);
		n_calls = 0;
		b.reads->notes[0].out = begun;
		if (noted) {
			b.reads->notes[0].wrote++;
			b.reads->noted = b.common->noted = 1;
		}
		send_getattr(&b);
		pull(&b);
		assert_int_equal(n_calls, begun || noted);
		if (n_calls > 0)
			respond(g, 0, -EACCES, NULL, 0);
		expect_reply(g, g->unique, n_calls == 0 && (begun || noted) ? -EACCES : 0);
	}
	both_down(&b);
}

/* A signal for a request that a mount worker serves reaches that worker. */
static void test_owner_passes_a_signal_to_the_worker(void **state)
{
	struct fuse_interrupt_in in = {.unique = 7001};
	struct both b;

	owner_reads_up(&b, *state);
	b.reads->slots[4].unique = 7001;
	b.reads->slots[4].word = MOUNT_WORKER_TAKEN;
	b.reads->posted = 0;
	kernel_send(b.e.g, FUSE_INTERRUPT, 7002, &in, sizeof(in));
	pull(&b);
	assert_int_equal(word_of(&b, 4), MOUNT_WORKER_TAKEN | MOUNT_WORKER_SIGNALLED);
	assert_true(b.reads->posted & 1 << 4);
	assert_int_equal(b.e.g->f->dispatch->n_signals, 0);
	both_down(&b);
}

static void interrupt(struct both *b, uint64_t unique)
{
	struct fuse_interrupt_in in = {.unique = unique};

	kernel_send(b->e.g, FUSE_INTERRUPT, unique + 1, &in, sizeof(in));
	pull(b);
	expect_silence(b->e.g); /* the kernel would repeat it, and nothing else */
}

/* A read in progress may deliver that request: it is checked again, for a limited time. */
static void test_owner_retries_signals(void **state)
{
	struct both b;
	struct rig *g = *state;

	owner_reads_up(&b, g);
	b.reads->slots[2].word = b.reads->slots[4].word = MOUNT_WORKER_READING;
	b.reads->posted = 0;
	interrupt(&b, 7001);
	assert_int_equal(g->f->dispatch->n_signals, 1);
	assert_true(fuse_client_tick(g->f, g->now_ns) <= g->now_ns + NSEC_PER_MSEC);
	b.reads->slots[4].unique = 7001 | FUSE_PROTO_UNIQUE_RESEND;
	b.reads->slots[4].word = MOUNT_WORKER_TAKEN;
	g->now_ns += NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(word_of(&b, 4), MOUNT_WORKER_TAKEN | MOUNT_WORKER_SIGNALLED);
	assert_true(b.reads->posted & 1 << 4);
	/* In the slot that was read since. */
	b.reads->slots[2].word = MOUNT_WORKER_FREE;
	g->now_ns += NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(g->f->dispatch->n_signals, 0);
	/* A mount worker that hangs. */
	b.reads->slots[2].word = MOUNT_WORKER_READING;
	for (unsigned i = 0; i < CLIENT_SIGNALS + 2; i++)
		interrupt(&b, 8001 + 2 * i);
	assert_int_equal(g->f->dispatch->n_signals, CLIENT_SIGNALS);
	g->now_ns += CLIENT_LONG_NS;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(g->f->dispatch->n_signals, 0);
	b.reads->slots[2].word = MOUNT_WORKER_FREE;
	both_down(&b);
}

/* Also while another mount worker reads some other request. */
static void test_owner_passes_a_signal_to_the_second_worker(void **state)
{
	struct mount_worker_reads *second;
	struct both b;

	owner_reads_up(&b, *state);
	second = mount_worker_reads_map(b.e.g->cfg->mounts[0].state_fd, 2);
	assert_non_null(second);
	b.reads->slots[0].word = MOUNT_WORKER_READING;
	second->slots[1].unique = 7001;
	second->slots[1].word = MOUNT_WORKER_TAKEN;
	interrupt(&b, 7001);
	assert_int_equal(second->slots[1].word, MOUNT_WORKER_TAKEN | MOUNT_WORKER_SIGNALLED);
	b.reads->slots[0].word = MOUNT_WORKER_FREE;
	mount_worker_reads_unmap(second);
	both_down(&b);
}

/* The signal follows the request to the owner. */
static void test_owner_keeps_signals_of_forwarded_requests(void **state)
{
	struct fuse_getattr_in in = {0};
	struct both b;
	struct rig *g = *state;
	uint64_t unique;

	owner_reads_up(&b, g);
	unique = mount_worker_passes(&b, 0, FUSE_GETATTR, &in, sizeof(in));
	b.common->done = 0; /* the mount worker has not notified the owner yet */
	interrupt(&b, unique);
	assert_int_equal(word_of(&b, 0), MOUNT_WORKER_FORWARDED);
	assert_int_equal(n_calls, 0);
	b.common->done = 1;
	pull(&b);
	assert_int_equal(n_calls, 1);
	g->now_ns += NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(g->f->dispatch->n_signals, 0);
	assert_int_equal(call_header(1).opcode, FUSE_INTERRUPT);
	both_down(&b);
}

/* If the kernel cannot resend (before 6.9), the owner does not wait. */
static void test_owner_does_not_wait_for_an_old_kernel(void **state)
{
	struct fuse_getattr_in in = {0};
	struct both b;
	struct rig *g = *state;
	int only_reads[2], dev = g->dev;

	owner_reads_up(&b, g);
	b.reads->slots[3].word = MOUNT_WORKER_REJECTED;
	mount_worker_passes(&b, 0, FUSE_GETATTR, &in, sizeof(in));
	assert_int_equal(pipe(only_reads), 0);
	g->cfg->mounts[0].fuse_fd = only_reads[0];
	owner_begins(&b);
	g->f->fd = g->cfg->mounts[0].fuse_fd = dev;
	assert_false(is_resent(g));
	session_up(g);
	respond_init(g);
	send_getattr(&b); /* later requests keep the kernel's queue from being empty */
	fuse_client_pull(g->f, false, g->now_ns);
	assert_int_equal(word_of(&b, 0), MOUNT_WORKER_FREE);
	assert_int_equal(word_of(&b, 3), MOUNT_WORKER_FREE);
	assert_true(n_calls > 0);
	close(only_reads[0]);
	close(only_reads[1]);
	both_down(&b);
}

/* A killed mount worker had forwarded a request without notifying the owner, and no process may
 * replace it. */
static void test_owner_finds_unreported_forwarded_requests(void **state)
{
	struct fuse_getattr_in in = {0};
	struct both b;
	struct rig *g = *state;

	owner_reads_up(&b, g);
	mount_worker_passes(&b, 5, FUSE_GETATTR, &in, sizeof(in));
	b.reads->done = b.common->done = 0;
	pull(&b);
	assert_int_equal(word_of(&b, 5), MOUNT_WORKER_FORWARDED);
	g->now_ns += NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	pull(&b);
	assert_int_equal(word_of(&b, 5), MOUNT_WORKER_FREE);
	assert_int_equal(n_calls, 1);
	both_down(&b);
}

/* Dispatched again, but the predecessor died before it notified the worker: the worker looks at
 * it all the same. */
static void test_owner_dies_before_it_has_notified_the_worker(void **state)
{
	struct both b;
	struct rig *g = *state;

	owner_reads_up(&b, g);
	b.reads->slots[6].unique = 5001 | FUSE_PROTO_UNIQUE_RESEND;
	b.reads->slots[6].word = MOUNT_WORKER_DISPATCHED;
	b.reads->posted = 0;
	owner_begins(&b);
	assert_true(b.reads->posted & 1 << 6);
	b.reads->slots[6].word = MOUNT_WORKER_FREE;
	both_down(&b);
}

/* Shorter than a header: cannot come from the kernel. */
static void test_owner_ignores_a_truncated_forwarded_request(void **state)
{
	struct both b;
	uint32_t len = 8;

	owner_reads_up(&b, *state);
	mount_worker_passes(&b, 0, FUSE_LOOKUP, "a", 2);
	memcpy(mount_worker_reads_buf(b.reads, 0), &len, sizeof(len));
	pull(&b);
	assert_int_equal(word_of(&b, 0), MOUNT_WORKER_FREE);
	assert_int_equal(n_calls, 0);
	expect_silence(b.e.g);
	both_down(&b);
}

static void test_owner_lets_workers_read(void **state)
{
	struct both b;
	struct rig *g = *state;

	owner_reads_up(&b, g);
	assert_int_equal(b.common->reads, 0);
	g->f->dispatch->always = true;
	pull(&b);
	assert_int_equal(b.common->reads, 1);
	/* Not without a server, and not after the unmount. */
	fuse_client_event(g->f, RUDP_SESSION_LOST, 0, g->now_ns);
	pull(&b);
	assert_int_equal(b.common->reads, 0);
	both_down(&b);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_owner_takes_forwarded_requests),
		CASE(test_owner_gives_the_file_to_the_forwarding_worker),
		CASE(test_owner_and_a_reading_worker_die),
		CASE(test_owner_drops_no_forwarded_request),
		CASE(test_owner_dies_before_it_has_recorded_a_write),
		CASE(test_owner_waits_for_a_reading_worker),
		CASE(test_owner_gives_many_files_to_a_worker),
		CASE(test_owner_dies_and_requests_are_resent),
		CASE(test_owner_applies_writes_of_workers),
		CASE(test_owner_passes_a_signal_to_the_worker),
		CASE(test_owner_retries_signals),
		CASE(test_owner_passes_a_signal_to_the_second_worker),
		CASE(test_owner_keeps_signals_of_forwarded_requests),
		CASE(test_owner_does_not_wait_for_an_old_kernel),
		CASE(test_owner_finds_unreported_forwarded_requests),
		CASE(test_owner_dies_before_it_has_notified_the_worker),
		CASE(test_owner_ignores_a_truncated_forwarded_request),
		CASE(test_owner_lets_workers_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
