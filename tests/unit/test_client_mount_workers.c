/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data requests that the owner of a mount dispatches to mount workers, from either end: the test
 * plays the other one through the shared memory. Recovery after a death at any word.
 */
#include "tests/lib/fuse/client_mount_workers_rig.h"

static void test_owner_dispatches_excess_requests(void **state)
{
	struct ends e;
	uint64_t unique;

	owner_up(&e, *state);
	ask_read(&e);
	ask_read(&e);
	assert_int_equal(n_calls, 2); /* no mount worker is alive */
	mount_worker_lives(&e);
	unique = ask_read(&e);
	assert_int_equal(n_calls, 2);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED);
	assert_true(e.area->slots[0].unique == unique);
	assert_true(e.area->slots[0].fh == e.fh);
	assert_true(e.area->posted & 1);
	assert_string_equal((const char *)e.area->files[0].handle, "handle-a");
	mount_worker_says(&e, 0, MOUNT_WORKER_DONE);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_FREE);
	assert_int_equal(fuse_client_in_flight(e.g->f), 2);
	expect_silence(e.g);
	ends_down(&e);
}

/* A mount worker may hold a request back for a limit, and ends it by its own timeout. */
static void test_owner_does_not_time_out_what_a_worker_holds(void **state)
{
	struct rig *g = *state;
	struct ends e;

	owner_up(&e, g);
	mount_worker_lives(&e);
	g->f->limits.is_on = true;
	ask_read(&e);
	respond(g, n_calls - 1, -EACCES, NULL, 0);
	expect_reply(g, g->unique, -EACCES);
	ask_read(&e);
	ask_read(&e);
	respond(g, n_calls - 1, -EACCES, NULL, 0);
	expect_reply(g, g->unique - 2, -EACCES);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED);
	g->f->soft_ns = NSEC_PER_SEC;
	for (unsigned i = 0; i < 50; i++) {
		g->now_ns += NSEC_PER_SEC / 10;
		mount_worker_lives(&e);
		(void)fuse_client_tick(g->f, g->now_ns);
	}
	assert_int_equal(fuse_client_timeouts(g->f), 0);
	/* A worker that is away does not hold it: the timeout begins then. */
	e.area->slots[0].word = MOUNT_WORKER_TAKEN;
	e.area->ready = 0;
	g->now_ns += NSEC_PER_SEC / 2;
	(void)fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(fuse_client_timeouts(g->f), 0);
	g->now_ns += NSEC_PER_SEC;
	(void)fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(fuse_client_timeouts(g->f), 1);
	ends_down(&e);
}

/* A name lease without use here would delay other clients. */
static void test_owner_requests_no_name_leases(void **state)
{
	struct rig *g = *state;
	struct ends e;

	bring_up(g);
	assert_int_equal(g->f->hello.init.unused[0],
			 FUSE_PROTO_FEATURES &
				 ~(FUSE_PROTO_FEATURE_LOCKS | FUSE_PROTO_FEATURE_RECLAIM |
				   FUSE_PROTO_FEATURE_WRITE_BACK));
	owner_up(&e, g);
	assert_int_equal(g->f->hello.init.unused[0],
			 FUSE_PROTO_FEATURES &
				 ~(FUSE_PROTO_FEATURE_LOCKS | FUSE_PROTO_FEATURE_RECLAIM |
				   FUSE_PROTO_FEATURE_NAMES));
	ends_down(&e);
}

static void test_owner_keeps_small_requests(void **state)
{
	struct ends e;

	owner_up(&e, *state);
	mount_worker_lives(&e);
	read_size--;
	for (unsigned i = 0; i < 4; i++)
		ask_read(&e);
	read_size++;
	assert_int_equal(n_calls, 4);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_FREE);
	ends_down(&e);
}

/* Whether the client answers the kernel's GETATTR from its cache. */
static bool is_known(struct ends *e)
{
	struct fuse_getattr_in in = {.getattr_flags = FUSE_GETATTR_FH, .fh = e->fh};
	unsigned n = n_calls;
	bool asked;

	kernel_send_to(e->g, FUSE_GETATTR, e->g->unique += 2, e->node, &in, sizeof(in));
	fuse_client_pull(e->g->f, true, e->g->now_ns);
	asked = n_calls > n;
	if (asked)
		respond(e->g, n_calls - 1, -EACCES, NULL, 0);
	expect_reply(e->g, e->g->unique, asked ? -EACCES : 0);
	return !asked;
}

/* A small WRITE that the owner serves, whose answer has the file's attributes. */
static void write_here(struct ends *e)
{
	const struct fuse_attr attr = {.ino = 7, .mode = S_IFREG | 0644, .nlink = 1, .size = 4};
	struct fuse_write_out out = {.size = 4};
	struct tail t = tail_make(FUSE_PROTO_RESP_ATTR, 0);

	tail_add(&t, &attr, sizeof(attr));
	kernel_write(e->g, e->node, e->fh, "data", 4);
	respond_tail(e->g, n_calls - 1, 0, &out, sizeof(out), &t);
	expect_reply(e->g, e->g->unique, 0);
}

/* The kernel gets a mount worker's answers before the owner gets the report. */
static void test_owner_caches_no_file_that_workers_use(void **state)
{
	struct rig *g = *state;
	struct ends e;

	g->features = FUSE_PROTO_FEATURE_WRITTEN;
	owner_up(&e, g);
	mount_worker_lives(&e);
	write_here(&e);
	assert_true(is_known(&e));
	ask_read(&e);
	ask_read(&e);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED);
	write_here(&e);
	assert_false(is_known(&e));
	write_here(&e);
	mount_worker_says(&e, 0, MOUNT_WORKER_DONE);
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_FREE);
	assert_false(is_known(&e)); /* possibly read after that */
	write_here(&e);
	assert_true(is_known(&e));
	ends_down(&e);
}

/* Other files stay cached. */
static void test_owner_caches_files_that_workers_do_not_use(void **state)
{
	struct rig *g = *state;
	struct ends e, other;

	g->features = FUSE_PROTO_FEATURE_WRITTEN;
	owner_up(&e, g);
	mount_worker_lives(&e);
	other = e;
	other.node = lookup(g, "b", "handle-b");
	other.fh = open_file(g, other.node, 51);
	ask_read(&e);
	ask_read(&e);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED);
	write_here(&other);
	assert_true(is_known(&other));
	/* A successor does not know which file its predecessor's requests refer to. */
	e.area->slots[0].word = MOUNT_WORKER_TAKEN;
	for (int taken = 1; taken >= 0; taken--) {
		worker_restarts(g);
		n_calls = 0;
		other.node = lookup(g, "b", "handle-b");
		write_here(&other);
		assert_int_equal(is_known(&other), !taken);
		e.area->slots[0].word = MOUNT_WORKER_FREE;
	}
	ends_down(&e);
}

static void test_owner_keeps_appends(void **state)
{
	struct fuse_open_out o;
	struct ends e;

	owner_up(&e, *state);
	o = open_with(e.g, e.node, O_WRONLY | O_APPEND, 60, &(struct fuse_attr){.mode = S_IFREG});
	mount_worker_lives(&e);
	e.fh = o.fh;
	for (unsigned i = 0; i < 4; i++)
		ask_read(&e);
	assert_int_equal(n_calls, 4);
	ends_down(&e);
}

static void ask_write(struct ends *e, uint32_t flags)
{
	static struct {
		struct fuse_write_in in;
		uint8_t data[64U << 10];
	} arg;

	arg.in = (struct fuse_write_in){.fh = e->fh, .size = sizeof(arg.data), .flags = flags};
	kernel_send_to(e->g, FUSE_WRITE, e->g->unique += 2, e->node, &arg, sizeof(arg));
	fuse_client_pull(e->g->f, true, e->g->now_ns);
}

/* With O_APPEND set by fcntl(2) after the open. */
static void test_owner_keeps_appends_set_by_fcntl(void **state)
{
	struct ends e;

	owner_up(&e, *state);
	mount_worker_lives(&e);
	for (unsigned i = 0; i < 4; i++)
		ask_write(&e, O_RDWR | O_APPEND);
	assert_int_equal(n_calls, 4);
	ask_write(&e, O_RDWR);
	assert_int_equal(n_calls, 4);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED);
	ends_down(&e);
}

static bool is_synced_by_fsync(struct ends *e)
{
	struct fuse_fsync_in in = {.fh = e->fh};

	kernel_send_to(e->g, FUSE_FSYNC, e->g->unique += 2, e->node, &in, sizeof(in));
	fuse_client_pull(e->g->f, true, e->g->now_ns);
	respond(e->g, n_calls - 1, 0, NULL, 0);
	expect_reply(e->g, e->g->unique, 0);
	return !(client_node_get(&e->g->f->nodes, e->node)->flags & CLIENT_NODE_UNSYNCED);
}

/* The server may have synced before it had that write, and the kernel may know of it before the
 * owner. */
static void test_fsync_does_not_cover_concurrent_writes_of_workers(void **state)
{
	struct ends e;

	owner_up(&e, *state);
	mount_worker_lives(&e);
	write_here(&e);
	assert_true(is_synced_by_fsync(&e));
	ask_read(&e);
	ask_write(&e, O_RDWR);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED);
	assert_false(is_synced_by_fsync(&e));
	mount_worker_says(&e, 0, MOUNT_WORKER_DONE);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_true(is_synced_by_fsync(&e));
	ends_down(&e);
}

/* As for the owner: a synchronous write is safe once it is acknowledged. */
static void test_synced_writes_of_workers_are_not_lost(void **state)
{
	struct rig *g = *state;
	struct ends e;

	owner_up(&e, g);
	mount_worker_lives(&e);
	ask_read(&e);
	ask_write(&e, O_RDWR | O_DSYNC);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED);
	mount_worker_says(&e, 0, MOUNT_WORKER_DONE);
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_FREE);
	assert_false(client_node_get(&g->f->nodes, e.node)->flags & CLIENT_NODE_UNSYNCED);
	/* A successor's, too. */
	for (unsigned synced = 0; synced < 2; synced++) {
		ask_write(&e, synced ? O_RDWR | O_DSYNC : O_RDWR);
		assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED);
		client_node_get(&g->f->nodes, e.node)->flags &= ~CLIENT_NODE_UNSYNCED;
		worker_restarts(g);
		assert_int_equal(client_node_get(&g->f->nodes, e.node)->flags &
					 CLIENT_NODE_UNSYNCED,
				 synced ? 0 : CLIENT_NODE_UNSYNCED);
		mount_worker_says(&e, 0, MOUNT_WORKER_DONE);
		fuse_client_pull(g->f, true, g->now_ns);
		client_node_get(&g->f->nodes, e.node)->flags &= ~CLIENT_NODE_UNSYNCED;
		mount_worker_lives(&e);
		ask_read(&e);
	}
	ends_down(&e);
}

static void test_owner_takes_back_unsent_requests(void **state)
{
	struct ends e;

	owner_up(&e, *state);
	mount_worker_lives(&e);
	for (unsigned i = 0; i < 4; i++)
		ask_read(&e);
	assert_int_equal(n_calls, 2);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED);
	assert_int_equal(state_of(&e, 1), MOUNT_WORKER_DISPATCHED);
	mount_worker_says(&e, 0, MOUNT_WORKER_RETURNED); /* it cannot open the file */
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(n_calls, 3);
	e.area->slots[1].word = MOUNT_WORKER_TAKEN; /* may have been sent */
	e.g->now_ns += 3 * NSEC_PER_SEC;
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_int_equal(n_calls, 3);
	assert_int_equal(state_of(&e, 1), MOUNT_WORKER_TAKEN);
	e.area->slots[1].word = MOUNT_WORKER_DISPATCHED; /* was not */
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_int_equal(n_calls, 4);
	assert_int_equal(state_of(&e, 1), MOUNT_WORKER_FREE);
	for (unsigned i = 0; i < 4; i++) { /* each unchanged */
		const struct fuse_in_header h = call_header(i);

		assert_true(h.nodeid == e.node && !(h.unique & FUSE_PROTO_UNIQUE_RESEND));
	}
	ends_down(&e);
}

static void again(struct ends *e, uint64_t unique)
{
	kernel_send_to(e->g, FUSE_READ, unique | FUSE_PROTO_UNIQUE_RESEND, e->node,
		       read_of(e->fh, 0), sizeof(struct fuse_read_in));
}

/* Requests that the mount worker serves stay with it when they are resent. */
static void test_owner_dies_and_workers_keep_their_requests(void **state)
{
	uint64_t unique[4];
	struct ends e;

	owner_up(&e, *state);
	mount_worker_lives(&e);
	for (unsigned i = 0; i < 4; i++)
		unique[i] = ask_read(&e);
	assert_int_equal(e.g->f->dispatch->workers[0].n_out, 2);
	e.area->slots[0].word = MOUNT_WORKER_TAKEN;
	mount_worker_says(&e, 1, MOUNT_WORKER_REJECTED); /* it was answered while the kernel had it
							    queued for the resend */
	worker_restarts(e.g);
	mount_worker_lives(&e);
	n_calls = 0;
	again(&e, unique[1]); /* the mount worker's first: the owner had the one before */
	again(&e, unique[3]);
	again(&e, unique[0]); /* that was its predecessor's */
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(e.area->slots[0].word, MOUNT_WORKER_TAKEN | MOUNT_WORKER_RESENT);
	assert_int_equal(state_of(&e, 1), MOUNT_WORKER_DISPATCHED);
	assert_true(e.area->slots[1].unique == (unique[3] | FUSE_PROTO_UNIQUE_RESEND));
	assert_int_equal(n_calls, 1);
	ends_down(&e);
}

static void test_owner_reports_closed_files(void **state)
{
	struct fuse_release_in in = {0};
	struct ends e;

	owner_up(&e, *state);
	mount_worker_lives(&e);
	ask_read(&e);
	ask_read(&e);
	mount_worker_says(&e, 0, MOUNT_WORKER_DONE);
	in.fh = e.fh;
	kernel_send_to(e.g, FUSE_RELEASE, e.g->unique += 2, e.node, &in, sizeof(in));
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(e.area->files[0].state, MOUNT_WORKER_FILE_CLOSING);
	assert_true(e.area->closing & 1);
	ends_down(&e);
}

static void test_worker_answers_the_kernel(void **state)
{
	struct fuse_out_header out;
	struct ends e;
	char data[8];

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	assert_int_equal(e.area->ready, 1);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_TAKEN);
	opened(&e);
	assert_false(call_header(0).unique & FUSE_PROTO_UNIQUE_RESEND);
	respond(e.g, 0, 0, "the data", 8);
	assert_true(kernel_receive(e.g, &out, data, sizeof(data)) > 0);
	assert_true(out.unique == e.g->unique);
	assert_memory_equal(data, "the data", 8);
	assert_int_equal(e.area->slots[0].word, MOUNT_WORKER_DONE);
	assert_true(e.area->done & 1);
	/* The next request needs no reopen. */
	e.area->slots[0].unique = e.g->unique += 2;
	memcpy(mount_worker_buf(e.area, 0) + offsetof(struct fuse_in_header, unique), &e.g->unique,
	       8);
	e.area->slots[0].word = MOUNT_WORKER_DISPATCHED;
	e.area->posted |= 1;
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(call_header(0).opcode, FUSE_READ);
	ends_down(&e);
}

static void test_worker_answers_resent_requests(void **state)
{
	struct fuse_out_header out;
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	opened(&e);
	e.area->slots[0].word |= MOUNT_WORKER_RESENT;
	respond(e.g, 0, 0, "the data", 8);
	assert_true(kernel_receive(e.g, &out, NULL, 0) > 0);
	assert_true(out.unique == (e.g->unique | FUSE_PROTO_UNIQUE_RESEND));
	assert_int_equal(e.area->slots[0].word, MOUNT_WORKER_DONE);
	ends_down(&e);
}

static void test_worker_dies_and_its_successor_repeats(void **state)
{
	struct fuse_out_header out;
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	opened(&e);
	e.g->f = fuse_client_free(e.g->f);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_TAKEN);
	mount_worker_begin(&e); /* the server lives: it still has the file open */
	assert_int_equal(call_header(0).opcode, FUSE_READ);
	assert_true(call_header(0).unique & FUSE_PROTO_UNIQUE_RESEND);
	respond(e.g, 0, 0, "the data", 8);
	assert_true(kernel_receive(e.g, &out, NULL, 0) > 0);
	assert_true(out.unique == e.g->unique); /* as the kernel sent it */
	assert_int_equal(e.area->slots[0].word, MOUNT_WORKER_DONE);
	ends_down(&e);
}

static void test_worker_returns_requests_of_files_it_cannot_open(void **state)
{
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(call_header(0).opcode, FUSE_OPEN);
	respond(e.g, 0, -ESTALE, NULL, 0);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(n_calls, 0);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_RETURNED);
	assert_int_equal(e.area->files[0].state, MOUNT_WORKER_FILE_REFUSED);
	expect_silence(e.g);
	ends_down(&e);
}

static void test_worker_does_not_send_cancelled_requests(void **state)
{
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	e.area->slots[0].word |= MOUNT_WORKER_CANCELLED;
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(n_calls, 0);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_REJECTED);
	ends_down(&e);
}

/* Its server does not know that mount workers belong to one kernel. */
static void test_worker_of_an_old_server_takes_no_requests(void **state)
{
	struct ends e;

	mount_worker_up(&e, *state, 0);
	assert_int_equal(e.area->ready, 0);
	assert_true(fuse_client_is_unsupported(e.g->f, e.g->now_ns));
	assert_true(session.closed); /* it takes no place there */
	assert_null(fuse_client_session(e.g->f));
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED); /* the owner takes it back */
	e.g->now_ns += 59 * NSEC_PER_SEC;
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_null(fuse_client_session(e.g->f));
	e.g->now_ns += NSEC_PER_SEC;
	assert_false(fuse_client_is_unsupported(e.g->f, e.g->now_ns));
	e.g->features = FUSE_PROTO_FEATURE_MOUNT_WORKERS;
	fuse_client_tick(e.g->f, e.g->now_ns);
	session_up(e.g);
	respond_init(e.g);
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_int_equal(e.area->ready, 1);
	ends_down(&e);
}

static void test_owner_of_an_old_server_reports_not_served(void **state)
{
	const struct fuse_open_out reopened = {.fh = 51};
	struct ends e;

	owner_up(&e, *state);
	assert_int_equal(e.area->served, 1);
	e.g->features = 0;
	server_restarts(e.g, 2, 2);
	respond(e.g, 0, 0, &reopened, sizeof(reopened));
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_true(fuse_client_is_ready(e.g->f));
	assert_int_equal(e.area->served, 0);
	ends_down(&e);
}

/* A full server accepts it only to finish its old requests. */
static void test_worker_finishes_old_requests_in_a_separate_session(void **state)
{
	struct fuse_out_header out;
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	assert_int_equal(said.purpose, FUSE_HELLO_MOUNT_WORKER);
	memcpy(mount_worker_buf(e.area, 1), mount_worker_buf(e.area, 0),
	       4096); /* of another, below */
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	opened(&e);
	session.up = false; /* its place belongs to a mount now */
	reset_all(e.g, e.g->now_ns);
	fuse_client_event(e.g->f, RUDP_SESSION_ENDED, 0, e.g->now_ns);
	assert_int_equal(e.area->slots[0].word, MOUNT_WORKER_TAKEN);
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_int_equal(said.purpose, FUSE_HELLO_MOUNT_WORKER_FINISHING);
	e.area->slots[1] = e.area->slots[0];
	e.area->slots[1].word = MOUNT_WORKER_DISPATCHED;
	e.area->posted |= 2;
	session_up(e.g);
	respond_init(e.g);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(state_of(&e, 1), MOUNT_WORKER_DISPATCHED);
	assert_int_equal(e.area->ready, 0);
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, FUSE_READ);
	assert_true(call_header(0).unique == (e.g->unique | FUSE_PROTO_UNIQUE_RESEND));
	assert_false(session.closed);
	respond(e.g, 0, 0, "the data", 8);
	assert_true(kernel_receive(e.g, &out, NULL, 0) > 0);
	assert_int_equal(e.area->slots[0].word, MOUNT_WORKER_DONE);
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_int_equal(said.purpose, FUSE_HELLO_MOUNT_WORKER);
	session_up(e.g);
	respond_init(e.g);
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_int_equal(e.area->ready, 1);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(state_of(&e, 1), MOUNT_WORKER_TAKEN);
	ends_down(&e);
}

static void test_worker_quiesces(void **state)
{
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	fuse_client_pull(e.g->f, true, e.g->now_ns); /* waits for its file */
	fuse_client_quiesce(e.g->f);
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_int_equal(e.area->ready, 0);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_RETURNED);
	ends_down(&e);
}

/* A server with room for one session serves the owner. */
static void test_worker_lets_its_owner_connect_first(void **state)
{
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	opened(&e);
	e.area->served = 0;
	e.g->now_ns += 3 * NSEC_PER_SEC;
	fuse_client_tick(e.g->f, e.g->now_ns); /* it finishes old requests */
	respond(e.g, 0, 0, "the data", 8);
	assert_int_equal(e.area->slots[0].word, MOUNT_WORKER_DONE);
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_int_equal(e.area->ready, 1); /* the owner may be back soon */
	e.g->now_ns += 3 * NSEC_PER_SEC;
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_true(session.closed);
	assert_null(fuse_client_session(e.g->f));
	assert_int_equal(e.area->ready, 0);
	e.g->now_ns += 3 * NSEC_PER_SEC;
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_null(fuse_client_session(e.g->f));
	e.area->served = 1;
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_non_null(fuse_client_session(e.g->f));
	session_up(e.g);
	respond_init(e.g);
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_int_equal(e.area->ready, 1);
	ends_down(&e);
}

static void test_owner_reports_whether_it_is_served(void **state)
{
	struct ends e;

	owner_up(&e, *state);
	assert_int_equal(e.area->served, 1);
	fuse_client_event(e.g->f, RUDP_SESSION_LOST, 0, e.g->now_ns);
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_int_equal(e.area->served, 0);
	ends_down(&e);
}

static void goodbye_ends_it(struct ends *e)
{
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, FUSE_DESTROY);
	fuse_client_tick(e->g->f, e->g->now_ns);
	assert_false(session.closed);
	respond_empty(e->g, 0);
	for (unsigned i = 0; i < 2; i++) {
		fuse_client_tick(e->g->f, e->g->now_ns);
		assert_true(session.closed);
		assert_null(fuse_client_session(e->g->f));
	}
	ends_down(e);
}

/* In a session that takes no place and would end by itself. */
static void test_finishing_worker_says_goodbye(void **state)
{
	struct fuse_out_header out;
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	opened(&e);
	assert_false(fuse_client_is_finishing(e.g->f));
	session.up = false;
	reset_all(e.g, e.g->now_ns);
	fuse_client_event(e.g->f, RUDP_SESSION_ENDED, 0, e.g->now_ns);
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_true(fuse_client_is_finishing(e.g->f));
	session_up(e.g);
	respond_init(e.g);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(call_header(0).opcode, FUSE_READ);
	respond(e.g, 0, 0, "the data", 8);
	assert_true(kernel_receive(e.g, &out, NULL, 0) > 0);
	e.area->unmounted = 1;
	assert_int_equal(fuse_client_pull(e.g->f, true, e.g->now_ns), -ENODEV);
	goodbye_ends_it(&e);
}

/* Its owner had no server for a while, so it gave up its session; then the mount ends. */
static void test_worker_without_a_session_says_goodbye(void **state)
{
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	e.area->served = 0;
	fuse_client_tick(e.g->f, e.g->now_ns);
	e.g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_null(fuse_client_session(e.g->f));
	e.area->unmounted = 1;
	reset_all(e.g, e.g->now_ns);
	session.up = session.closed = false;
	assert_int_equal(fuse_client_pull(e.g->f, true, e.g->now_ns), -ENODEV);
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_non_null(fuse_client_session(e.g->f));
	assert_true(fuse_client_is_finishing(e.g->f));
	session_up(e.g);
	respond_init(e.g);
	fuse_client_tick(e.g->f, e.g->now_ns);
	goodbye_ends_it(&e);
}

/* It stops, and so does its owner, without having reported the unmount. */
static void test_quiescing_worker_says_goodbye(void **state)
{
	struct fuse_out_header out;
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	opened(&e);
	respond(e.g, 0, 0, "the data", 8);
	assert_true(kernel_receive(e.g, &out, NULL, 0) > 0);
	fuse_client_quiesce(e.g->f);
	assert_int_equal(fuse_client_pull(e.g->f, true, e.g->now_ns), 0);
	fuse_client_set_unmounted(e.g->f);
	assert_int_equal(fuse_client_pull(e.g->f, true, e.g->now_ns), -ENODEV);
	assert_int_equal(fuse_client_sent(e.g->f), 1);
	goodbye_ends_it(&e);
}

static uint64_t n_rung(const struct ends *e)
{
	uint64_t n = 0;

	return read(e->g->cfg->mounts[0].bell_fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

static void test_owner_wakes_a_worker_once(void **state)
{
	struct ends e;

	owner_up(&e, *state);
	mount_worker_lives(&e);
	for (unsigned i = 0; i < 4; i++)
		ask_read(&e);
	(void)n_rung(&e);
	e.area->posted = 0;
	ask_read(&e);
	ask_read(&e);
	assert_int_equal(n_rung(&e), 0); /* it looks by itself */
	e.area->asleep = 1;
	for (unsigned i = 0; i < 6; i++)
		ask_read(&e);
	assert_in_range(__builtin_popcountll(e.area->posted), 3, 8);
	assert_int_equal(n_rung(&e), 1);
	assert_int_equal(e.area->asleep, 0);
	e.area->asleep = 1; /* again: it has looked before */
	for (unsigned i = 0; i < 2; i++)
		ask_read(&e);
	assert_int_equal(n_rung(&e), 1);
	ends_down(&e);
}

/* Its predecessor may have cleared a mount worker's `asleep` and died before it rang. */
static void test_owner_wakes_workers_when_it_starts(void **state)
{
	struct ends e;

	owner_up(&e, *state);
	(void)n_rung(&e);
	fuse_client_free(e.g->f);
	client_start(e.g);
	assert_int_equal(n_rung(&e), 1);
	ends_down(&e);
}

/* After taking a request it looks again before it sleeps, and needs no bell. */
static void test_worker_reports_when_it_sleeps(void **state)
{
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	assert_int_equal(fuse_client_pull(e.g->f, true, e.g->now_ns), 1);
	assert_int_equal(e.area->asleep, 0);
	assert_int_equal(fuse_client_pull(e.g->f, true, e.g->now_ns), 0);
	assert_int_equal(e.area->asleep, 1);
	assert_int_equal(fuse_client_pull(e.g->f, false, e.g->now_ns), 0);
	assert_int_equal(e.area->asleep, 0);
	ends_down(&e);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_owner_dispatches_excess_requests),
		CASE(test_owner_does_not_time_out_what_a_worker_holds),
		CASE(test_owner_requests_no_name_leases),
		CASE(test_owner_keeps_small_requests),
		CASE(test_owner_caches_no_file_that_workers_use),
		CASE(test_owner_caches_files_that_workers_do_not_use),
		CASE(test_owner_keeps_appends),
		CASE(test_owner_keeps_appends_set_by_fcntl),
		CASE(test_fsync_does_not_cover_concurrent_writes_of_workers),
		CASE(test_synced_writes_of_workers_are_not_lost),
		CASE(test_owner_takes_back_unsent_requests),
		CASE(test_owner_dies_and_workers_keep_their_requests),
		CASE(test_owner_reports_closed_files),
		CASE(test_worker_answers_the_kernel),
		CASE(test_worker_answers_resent_requests),
		CASE(test_worker_dies_and_its_successor_repeats),
		CASE(test_worker_returns_requests_of_files_it_cannot_open),
		CASE(test_worker_does_not_send_cancelled_requests),
		CASE(test_worker_of_an_old_server_takes_no_requests),
		CASE(test_owner_of_an_old_server_reports_not_served),
		CASE(test_worker_finishes_old_requests_in_a_separate_session),
		CASE(test_finishing_worker_says_goodbye),
		CASE(test_worker_without_a_session_says_goodbye),
		CASE(test_quiescing_worker_says_goodbye),
		CASE(test_worker_quiesces),
		CASE(test_worker_lets_its_owner_connect_first),
		CASE(test_owner_reports_whether_it_is_served),
		CASE(test_owner_wakes_a_worker_once),
		CASE(test_owner_wakes_workers_when_it_starts),
		CASE(test_worker_reports_when_it_sleeps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
