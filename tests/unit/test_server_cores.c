/* SPDX-License-Identifier: BSD-3-Clause */
/* Two workers that serve one export together, as the cores of one compute entry do. */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "netcfg/base/os/memfd.h"
#include "tests/lib/fuse/server_rig.h"
#include "tests/lib/fuse/server_turn.h"

#define CORES 2U

static struct rig cores[CORES];

/* Selects the core that later requests go to. */
static struct rig *at(unsigned i)
{
	rig_back = cores[i].server;
	return &cores[i];
}

/* Connects a new mount that supports leases. */
static void join(unsigned i)
{
	struct fuse_init_in in = {.major = 7, .minor = 38, .unused = {FUSE_PROTO_FEATURES}};
	struct rig *g = at(i);

	fuse_server_client_gone(g->client);
	assert_int_equal(rig_accept(g), 0);
	assert_int_equal(rig_do(g, FUSE_INIT, 0, RIG_ARG(in)), 0);
}

static void core_configure(struct rig *g, unsigned i, int share_fd)
{
	g->cfg.worker_id = i + 1;
	g->cfg.share_fd = share_fd;
	g->cfg.n_ports = 1;
	g->cfg.ports[0].udp_port = 0x1234;
	assert_int_equal(ip_prefix_parse(i ? "10.0.0.2/24" : "10.0.0.1/24", &g->cfg.ports[0].ip),
			 0);
	g->hello.mount_id[0] = (uint8_t)('a' + i);
	g->hello.follows_redirects = true;
}

static int setup(void **state)
{
	struct rig *first = &cores[0], *second = &cores[1];
	autoclose int fd = memfd_new_shared("share", LAUNCH_SHARE_BYTES);
	int share_fd = fcntl(fd, F_DUPFD_CLOEXEC, LAUNCH_FD_FIRST);

	assert_true(share_fd >= LAUNCH_FD_FIRST);
	rig_setup(first, *state);
	rig_do(first, FUSE_DESTROY, 0);
	rig_stop(first);
	core_configure(first, 0, share_fd);
	rig_start(first);
	*second = *first;
	second->holder = first;
	second->own_unique = 1ULL << 61;
	second->nodes = mmap(NULL, RIG_NODES_MAX * sizeof(*second->nodes), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	second->files = mmap(NULL, RIG_FILES_MAX * sizeof(*second->files), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	second->call = calloc(1, sizeof(*second->call));
	assert_true(second->nodes != MAP_FAILED && second->files != MAP_FAILED && second->call);
	second->n_nodes = second->n_files = 0;
	core_configure(second, 1, share_fd);
	rig_start(second);
	return 0;
}

static int teardown(void **state)
{
	struct rig *second = &cores[1];

	at(1);
	rig_stop(second);
	free(second->call);
	munmap(second->nodes, RIG_NODES_MAX * sizeof(*second->nodes));
	munmap(second->files, RIG_FILES_MAX * sizeof(*second->files));
	close(cores[0].cfg.share_fd);
	at(0);
	rig_teardown(&cores[0]);
	return 0;
}

static void put(const char *name)
{
	FILE *f = fopen(rig_path(&cores[0], name), "we");

	assert_non_null(f);
	fclose(f);
}

static bool is_leased(unsigned i, const char *name)
{
	struct rig *g = at(i);
	struct fuse_entry_out e;

	assert_int_equal(rig_do(g, FUSE_LOOKUP, ROOT, .name = name), 0);
	memcpy(&e, g->data, sizeof(e));
	return e.generation & FUSE_PROTO_LEASED;
}

/* A core delays a change until a lease that its peer granted has expired. */
static void changes_wait_for_leases_of_another_core(void **state)
{
	uint64_t asked_ns;
	struct rig *g;

	put("f");
	join(0);
	join(1);
	asked_ns = clock_now_ns();
	assert_true(is_leased(0, "f"));
	g = at(1);
	rig_send(g, g->call, &(struct rig_req){.op = FUSE_UNLINK, .node = ROOT, .name = "f"});
	for (unsigned i = 0; i < 10; i++)
		rig_poll(g);
	if (clock_now_ns() - asked_ns < NSEC_PER_SEC) {
		assert_false(g->call->answered);
		assert_false(is_leased(0, "f")); /* no further grants */
	}
	g = at(1);
	assert_int_equal(rig_result(g, g->call), 0);
	assert_true(clock_now_ns() - asked_ns >= NSEC_PER_SEC);
	assert_int_equal(rig_do(at(0), FUSE_LOOKUP, ROOT, .name = "f"), -ENOENT);
}

/* After a change at one core, its peer grants leases only to the mount that made it. */
static void objects_changed_by_another_core_are_not_leased(void **state)
{
	struct fuse_setattr_in in = {.valid = FATTR_MODE, .mode = 0600};
	struct share_slot *other = cores[1].server->share.own;
	uint64_t node;

	put("f");
	put("g");
	join(0);
	join(1);
	assert_int_equal(rig_lookup(at(1), ROOT, "f", &node), 0);
	assert_int_equal(rig_do(at(1), FUSE_SETATTR, node, RIG_ARG(in)), 0);
	assert_false(is_leased(0, "f"));
	assert_true(is_leased(0, "g"));
	/* A change without a slot is in progress there: it could be this object. */
	share_set(&other->n_untracked, 1U);
	assert_false(is_leased(0, "g"));
	share_set(&other->n_untracked, 0U);
	assert_true(is_leased(0, "g"));
}

/* A change in progress ends with the incarnation of the killed core. */
static void changes_end_with_their_killed_core(void **state)
{
	struct share_slot *other;
	uint64_t node;

	put("f");
	join(0);
	join(1);
	assert_int_equal(rig_lookup(at(1), ROOT, "f", &node), 0);
	other = cores[1].server->share.own;
	for (unsigned i = 0; i < SHARE_LEASE_SETS; i++)
		for (unsigned j = 0; j < SHARE_LEASE_WAYS; j++)
			if (other->keys[i][j])
				share_set(&other->leases[i][j].busy, 1U);
	assert_false(is_leased(0, "f"));
	at(1);
	rig_stop(&cores[1]);
	rig_start(&cores[1]);
	assert_true(is_leased(0, "f"));
}

/* Unlinked at one core while open at the other: pinned, and released when closed there. */
static void files_open_at_another_core_are_pinned(void **state)
{
	uint64_t node, fh, end_ns = clock_now_ns() + RIG_DEADLINE_NS;

	assert_int_equal(rig_create(at(0), ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_write(at(0), node, fh, 0, O_RDWR, "held", 4), 4);
	put("g");
	assert_int_equal(rig_do(at(1), FUSE_UNLINK, ROOT, .name = "g"), 0);
	assert_int_equal(cores[0].n_held, 0);
	assert_int_equal(rig_do(at(1), FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_int_equal(cores[0].n_held, 1);
	at(0);
	rig_stop(&cores[0]);
	rig_start(&cores[0]);
	assert_int_equal(rig_read(at(0), node, fh, 0, 100), 4);
	assert_int_equal(rig_release(at(0), node, fh), 0);
	while (cores[0].n_held > 0) {
		assert_true(clock_now_ns() < end_ns);
		rig_poll(at(0));
		rig_poll(at(1));
	}
}

static void poll_for(unsigned i, uint64_t ns)
{
	uint64_t end_ns = clock_now_ns() + ns;

	while (clock_now_ns() < end_ns)
		rig_poll(at(i));
}

static void begin_again(unsigned i, int share_fd)
{
	struct fuse_attr attr;

	at(i);
	rig_stop(&cores[i]);
	cores[i].cfg.share_fd = share_fd;
	rig_start(&cores[i]);
	assert_int_equal(rig_getattr(&cores[i], ROOT, &attr), 0); /* it has reclaimed its files */
}

/* A new core without clients must not release the files of an ended core whose successor comes
 * later. */
static void files_of_an_ended_core_stay_pinned(void **state)
{
	autoclose int fd = memfd_new_shared("share", LAUNCH_SHARE_BYTES);
	int other_fd = fcntl(fd, F_DUPFD_CLOEXEC, LAUNCH_FD_FIRST),
	    share_fd = cores[0].cfg.share_fd;
	struct share_slot *slot;
	uint64_t node, fh, end_ns;

	assert_int_equal(rig_create(at(0), ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_write(at(0), node, fh, 0, O_RDWR, "held", 4), 4);
	assert_int_equal(rig_do(at(0), FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_int_equal(cores[0].n_held, 1);
	at(0);
	rig_stop(&cores[0]);
	begin_again(1, share_fd);
	poll_for(1, 300 * NSEC_PER_MSEC);
	assert_int_equal(cores[0].n_held, 1);
	/* A core that returns without the export does not represent it. */
	slot = share_slot_of(&cores[1].server->share, cores[0].cfg.worker_id);
	share_set(&slot->n_reclaiming, 0U);
	share_set(&slot->n_in_grace, 0U);
	share_set(&slot->exports[0], 0UL);
	poll_for(1, 300 * NSEC_PER_MSEC);
	assert_int_equal(cores[0].n_held, 1);
	begin_again(1, other_fd);
	poll_for(1, 300 * NSEC_PER_MSEC);
	assert_int_equal(cores[0].n_held, 1);
	begin_again(1, share_fd);
	at(0);
	rig_start(&cores[0]);
	assert_int_equal(rig_read(at(0), node, fh, 0, 100), 4);
	assert_int_equal(rig_release(at(0), node, fh), 0);
	end_ns = clock_now_ns() + RIG_DEADLINE_NS;
	while (cores[0].n_held > 0) {
		assert_true(clock_now_ns() < end_ns);
		rig_poll(at(0));
		rig_poll(at(1));
	}
	close(other_fd);
}

/* The agent reads the release before the late request to pin. */
static void late_pins_are_released(void **state)
{
	uint64_t node[2], fh[2], end_ns = clock_now_ns() + RIG_DEADLINE_NS;

	assert_int_equal(rig_create(at(0), ROOT, "f", O_RDWR, 0644, &node[0], &fh[0]), 0);
	assert_int_equal(rig_create(at(0), ROOT, "g", O_RDWR, 0644, &node[1], &fh[1]), 0);
	assert_int_equal(rig_do(at(0), FUSE_UNLINK, ROOT, .name = "f"), 0);
	cores[1].holds_late = true;
	assert_int_equal(rig_do(at(1), FUSE_UNLINK, ROOT, .name = "g"), 0);
	assert_int_equal(cores[0].n_held, 1);
	assert_int_equal(rig_release(at(0), node[1], fh[1]), 0);
	while (state_pin_is_used(&cores[0].server->exports[0].state->holds[1])) {
		assert_true(clock_now_ns() < end_ns);
		rig_poll(at(0));
	}
	rig_hear_late(&cores[1]);
	assert_int_equal(cores[0].n_held, 2);
	while (cores[0].n_held > 1) {
		assert_true(clock_now_ns() < end_ns);
		rig_poll(at(1));
	}
	assert_int_equal(rig_release(at(0), node[0], fh[0]), 0);
	while (cores[0].n_held > 0) {
		assert_true(clock_now_ns() < end_ns);
		rig_poll(at(0));
	}
}

/* Marks so many mounts of each core as reclaiming and in grace. */
static void suspect(unsigned n)
{
	for (unsigned i = 0; i < CORES; i++) {
		struct fuse_server *b = cores[i].server;

		b->exports[0].n_in_grace = b->exports[0].n_reclaiming = n;
		server_mounts_publish(b);
		share_refresh(&b->share);
	}
}

/* The limit of provisional pins covers all cores. */
static void provisional_pins_have_one_limit(void **state)
{
	struct state_pin *held = cores[0].server->exports[0].state->holds;

	put("f");
	put("g");
	for (unsigned i = 0; i < 511; i++) {
		held[i].len = 20;
		held[i].handle[0] = FUSE_HANDLE_FILE;
		memcpy(held[i].handle + 12, &i, sizeof(i));
		held[i].provisional = 1;
		held[i].used = STATE_PIN_USED;
	}
	suspect(1);
	assert_int_equal(rig_do(at(0), FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_int_equal(cores[0].n_held, 1);
	assert_int_equal(rig_do(at(1), FUSE_UNLINK, ROOT, .name = "g"), 0);
	assert_int_equal(cores[0].n_held, 1);
	suspect(0);
}

static int accept_at(unsigned i, const struct fuse_hello *h, struct fuse_server_client **ret)
{
	uint8_t hello[FUSE_HELLO_BYTES];
	struct ip_addr from;

	assert_int_equal(ip_addr_parse("10.0.0.9", &from), 0);
	fuse_hello_put(hello, h);
	return fuse_server_accept(at(i)->server, NULL, &from, hello, sizeof(hello), ret);
}

/* A mount stays with its core while that may return; then a peer adopts it and replays its
 * requests. */
static void another_core_adopts_mounts_and_replays(void **state)
{
	struct fuse_mkdir_in in = {.mode = 0755};
	struct fuse_hello hello = cores[0].hello;
	struct rig *g = at(0);
	uint64_t unique = g->own_unique += 2;
	struct share_slot *slot = share_slot_of(&cores[1].server->share, 1);
	struct fuse_server_client *keep = cores[1].client;

	assert_int_equal(rig_do(g, FUSE_MKDIR, ROOT, RIG_ARG(in), .name = "d", .unique = unique),
			 0);
	assert_int_equal(accept_at(1, &hello, &cores[1].client), -EREMOTE);
	assert_string_equal(fuse_server_elsewhere(cores[1].server), "10.0.0.1/1234");
	/* A silent core may still run requests. */
	share_set(&slot->seen_ns, clock_now_ns() - 2 * SHARE_AWAY_NS);
	assert_int_equal(accept_at(1, &hello, &cores[1].client), -EBUSY);
	at(0);
	rig_stop(&cores[0]);
	share_set(&slot->seen_ns, clock_now_ns() - 2 * SHARE_AWAY_NS);
	g = at(1);
	cores[1].client = keep;
	fuse_server_client_gone(g->client);
	assert_int_equal(accept_at(1, &hello, &g->client), 0);
	assert_int_equal(rig_init_session(g), 0);
	g->resend = true;
	assert_int_equal(rig_do(g, FUSE_MKDIR, ROOT, RIG_ARG(in), .name = "d", .unique = unique),
			 0);
	assert_int_equal(rig_do(g, FUSE_MKDIR, ROOT, RIG_ARG(in), .name = "d"), -EEXIST);
	/* The peer keeps it when the first core returns. */
	g = &cores[0];
	g->hello.mount_id[0] = 'y';
	rig_start(g);
	keep = g->client;
	assert_int_equal(accept_at(0, &hello, &g->client), -EREMOTE);
	assert_string_equal(fuse_server_elsewhere(g->server), "10.0.0.2/1234");
	g->client = keep;
}

/* The part of server_turn() that runs once a second. */
static void tick(struct fuse_server *b)
{
	b->trimmed_ns = b->moving_ns = 0;
	rig_back = b;
	server_turn(b, clock_now_ns(), true);
}

/* Adds another mount to the first core. */
static void another_mount(struct rig *g)
{
	g->hello.mount_id[0] = 'y';
	assert_int_equal(rig_accept(at(0)), 0);
}

/* A client that does not follow redirects is refused while a peer runs requests of its mount,
 * and served afterwards. */
static void mounts_move_when_idle(void **state)
{
	struct fuse_server *first = at(0)->server;
	struct server_mount *m = first->mounts;
	struct fuse_hello hello = cores[0].hello;
	struct fuse_server_client *client;

	hello.follows_redirects = false;
	assert_int_equal(accept_at(1, &hello, &client), -EBUSY);
	m->n_refs++;
	fuse_server_client_gone(cores[0].client);
	tick(first);
	tick(first);
	assert_int_equal(accept_at(1, &hello, &client), -EBUSY);
	assert_int_equal(accept_at(0, &hello, &client), -EBUSY);
	m->n_refs--;
	tick(first);
	assert_int_equal(first->n_moving, 0);
	tick(cores[1].server);
	hello.follows_redirects = true;
	assert_int_equal(accept_at(0, &hello, &client), -EREMOTE);
	assert_string_equal(fuse_server_elsewhere(first), "10.0.0.2/1234");
	assert_int_equal(accept_at(1, &hello, &client), 0);
	fuse_server_client_gone(client);
	tick(first);
	assert_int_equal(first->n_mounts, 0);
	hello.follows_redirects = false;
	assert_int_equal(accept_at(0, &hello, &client), -EBUSY);
	another_mount(&cores[0]);
}

/* On a hanging disk the requests never end, and the mount stays at its core. */
static void mounts_with_hanging_requests_stay(void **state)
{
	struct fuse_server *first = at(0)->server;
	struct server_mount *m = first->mounts;
	struct fuse_hello hello = cores[0].hello;
	struct fuse_server_client *client;

	hello.follows_redirects = false;
	assert_int_equal(accept_at(1, &hello, &client), -EBUSY);
	m->n_refs++;
	fuse_server_client_gone(cores[0].client);
	tick(first);
	assert_int_equal(first->n_moving, 1);
	m->moving_ns -= 10 * NSEC_PER_SEC;
	tick(first);
	assert_int_equal(first->n_moving, 0);
	assert_int_equal(rig_accept(at(0)), 0);
	m->n_refs--;
}

/* A late request in an older session must not run again. */
static void older_sessions_are_not_served(void **state)
{
	struct fuse_mkdir_in in = {.mode = 0755};
	struct rig *g = at(0);
	struct fuse_server_client *older = g->client, *newer;

	assert_int_equal(rig_accept(g), 0);
	newer = g->client;
	assert_int_equal(rig_init_session(g), 0);
	g->client = older;
	assert_int_equal(rig_do(g, FUSE_MKDIR, ROOT, RIG_ARG(in), .name = "d"), 0);
	assert_int_equal(g->call->len, 0);
	assert_int_equal(access(rig_path(g, "d"), F_OK), -1);
	fuse_server_client_gone(older);
	g->client = newer;
	assert_int_equal(rig_do(g, FUSE_MKDIR, ROOT, RIG_ARG(in), .name = "d"), 0);
	assert_int_equal(access(rig_path(g, "d"), F_OK), 0);
}

/* The file is unlinked, and open nowhere while the mount moves. */
static void open_files_move_with_their_mount(void **state)
{
	uint64_t node, fh, end_ns = clock_now_ns() + RIG_DEADLINE_NS;
	struct fuse_server *first = at(0)->server, *second = cores[1].server;
	struct rig *g = &cores[0];

	assert_int_equal(rig_create(g, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_write(g, node, fh, 0, O_RDWR, "held", 4), 4);
	assert_int_equal(rig_do(at(1), FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_int_equal(g->n_held, 1);
	first->mounts->export->state->mounts[first->mounts->journal].wanted = 2;
	fuse_server_client_gone(g->client);
	tick(first);
	tick(first);
	g->server = rig_back = second;
	assert_int_equal(rig_accept(g), 0);
	assert_int_equal(rig_init_session(g), 0);
	tick(first);
	assert_int_equal(first->n_mounts, 0);
	tick(second);
	assert_int_equal(g->n_held, 1);
	rig_reopen(g);
	assert_int_equal(g->reopen_r, 0);
	assert_int_equal(rig_read(g, node, fh, 0, 100), 4);
	tick(first);
	assert_int_equal(g->n_held, 1);
	assert_int_equal(rig_release(g, node, fh), 0);
	while (g->n_held > 0) {
		assert_true(clock_now_ns() < end_ns);
		tick(first);
		tick(second);
	}
	fuse_server_client_gone(g->client);
	g->server = first;
	another_mount(g);
}

/* A record that was reused for another mount is left alone. */
static void reused_mount_records_are_left_alone(void **state)
{
	struct server_mount *m = at(0)->server->mounts;
	struct state_mount *rec = &m->export->state->mounts[m->journal];

	rec->id[1] ^= 1;
	fuse_server_client_gone(cores[0].client);
	tick(cores[0].server);
	tick(cores[0].server);
	assert_int_equal(cores[0].server->n_mounts, 0);
	assert_int_equal(rec->used, 1);
	rec->id[1] ^= 1;
	assert_int_equal(rig_accept(at(0)), 0);
}

static void set_busy(struct share_slot *o, uint32_t busy)
{
	for (unsigned i = 0; i < SHARE_LEASE_SETS; i++)
		for (unsigned j = 0; j < SHARE_LEASE_WAYS; j++)
			if (o->keys[i][j])
				share_set(&o->leases[i][j].busy, busy);
}

/* A renaming client caches the entry in the target folder, so it waits for a peer's change of
 * that folder. */
static void renames_wait_for_changes_by_another_core(void **state)
{
	struct fuse_setattr_in mode = {.valid = FATTR_MODE, .mode = 0700};
	struct fuse_rename2_in in = {};
	uint64_t node, asked_ns;
	struct rig *g;

	put("f");
	join(0);
	join(1);
	assert_int_equal(mkdir(rig_path(at(1), "d"), 0755),
			 0); /* no client has a lease on its names */
	assert_int_equal(rig_lookup(at(1), ROOT, "d", &node), 0);
	assert_int_equal(rig_do(at(1), FUSE_SETATTR, node, RIG_ARG(mode)), 0);
	set_busy(cores[1].server->share.own, 1);
	asked_ns = clock_now_ns();
	assert_true(is_leased(0, "f"));
	g = at(0);
	assert_int_equal(rig_lookup(g, ROOT, "d", &in.newdir), 0);
	rig_send(g, g->call,
		 &(struct rig_req){
			 .op = FUSE_RENAME2, .node = ROOT, RIG_ARG(in), .name = "f", .name2 = "f"});
	for (unsigned i = 0; i < 10; i++)
		rig_poll(g);
	if (clock_now_ns() - asked_ns < NSEC_PER_SEC)
		assert_false(g->call->answered);
	set_busy(cores[1].server->share.own, 0);
	assert_int_equal(rig_result(g, g->call), 0);
	assert_true(clock_now_ns() - asked_ns < NSEC_PER_SEC);
}

/* A helper that outlived its core may have executed the request while a peer granted leases. */
static void replays_wait_for_leases(void **state)
{
	struct share_slot *own = cores[0].server->share.own;
	uint64_t unique = cores[0].own_unique += 2, asked_ns;
	struct rig *g;

	put("f");
	join(0);
	join(1);
	assert_int_equal(rig_do(at(0), FUSE_UNLINK, ROOT, .name = "f", .unique = unique), 0);
	put("f");
	for (unsigned i = 0; i < SHARE_LEASE_SETS; i++)
		for (unsigned j = 0; j < SHARE_LEASE_WAYS; j++)
			share_set(&own->leases[i][j].changed_ns, 0UL);
	asked_ns = clock_now_ns();
	assert_true(is_leased(1, "f"));
	g = at(0);
	g->resend = true;
	assert_int_equal(rig_do(g, FUSE_UNLINK, ROOT, .name = "f", .unique = unique), 0);
	assert_true(clock_now_ns() - asked_ns >= NSEC_PER_SEC);
	assert_int_equal(access(rig_path(g, "f"), F_OK), 0);
}

/* New mounts go to the core with the fewest; clients that do not follow redirects stay. */
static void mounts_are_balanced_across_cores(void **state)
{
	struct fuse_hello hello = cores[0].hello;
	struct fuse_server_client *client;

	for (unsigned i = 0; i < 3; i++) {
		hello.mount_id[0] = (uint8_t)('p' + i);
		assert_int_equal(accept_at(0, &hello, &client), i % 2 ? -EREMOTE : 0);
		if (i % 2)
			assert_int_equal(accept_at(1, &hello, &client), 0);
		fuse_server_client_gone(client);
	}
	hello.mount_id[0] = 's';
	hello.follows_redirects = false;
	assert_int_equal(accept_at(0, &hello, &client), 0);
	fuse_server_client_gone(client);
	/* Nor to a core that has no place left. */
	share_set(&cores[1].server->share.own->n_live_max, cores[1].server->n_live);
	hello.mount_id[0] = 't';
	hello.follows_redirects = true;
	assert_int_equal(accept_at(0, &hello, &client), 0);
	fuse_server_client_gone(client);
}

/* Workers of several entries have different exports, and clients know only the host. */
static void a_client_of_an_export_of_another_core_is_redirected(void **state)
{
	struct share_slot *slot = share_slot_of(&cores[0].server->share, 2);
	struct fuse_hello hello = cores[0].hello;
	struct fuse_server_client *client;

	strcpy(hello.export_name, "other");
	hello.mount_id[0] = 'o';
	assert_int_equal(accept_at(0, &hello, &client), -ENOENT);
	share_set(&slot->exports[1], share_name_hash("other"));
	assert_int_equal(accept_at(0, &hello, &client), -EREMOTE);
	assert_string_equal(fuse_server_elsewhere(cores[0].server), "10.0.0.2/1234");
	hello.follows_redirects = false;
	assert_int_equal(accept_at(0, &hello, &client), -EBUSY);
	hello.follows_redirects = true;
	share_set(&slot->seen_ns, clock_now_ns() - 2 * SHARE_AWAY_NS); /* it may be restarting */
	assert_int_equal(accept_at(0, &hello, &client), -EBUSY);
	share_set(&slot->seen_ns, clock_now_ns() - 2 * SHARE_GONE_NS);
	assert_int_equal(accept_at(0, &hello, &client), -ENOENT);
}

/* A mount that was handed over and returns, because its client cannot reach the peer, stays. */
static void mounts_that_return_stay(void **state)
{
	struct fuse_server *first = at(0)->server;
	struct fuse_hello hello = cores[0].hello;
	struct server_mount *m = first->mounts;

	m->export->state->mounts[m->journal].wanted = 2;
	fuse_server_client_gone(cores[0].client);
	tick(first);
	tick(first);
	assert_int_equal(accept_at(0, &hello, &cores[0].client), -EREMOTE);
	hello.follows_redirects = false;
	assert_int_equal(accept_at(0, &hello, &cores[0].client), 0);
	fuse_server_client_gone(cores[0].client);
	tick(first);
	hello.follows_redirects = true;
	assert_int_equal(accept_at(0, &hello, &cores[0].client), 0);
}

/* A core never truncates memory that its peers have mapped, and touches no memory of another
 * layout. */
static void no_core_truncates_shared_memory(void **state)
{
	const int fd = cores[0].cfg.share_fd;
	autoclose int other = memfd_new_shared("other", 8192);
	autoclose int journal = memfd_new_growing("journal");
	uint64_t there = 0x1122334455667788;
	struct state *s = NULL;
	struct share share;

	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(pwrite(other, &there, sizeof(there), 0), sizeof(there));
	assert_int_equal(share_init(&share, other, 3), -EPROTO);
	there = 0;
	assert_int_equal(pread(other, &there, sizeof(there), 0), sizeof(there));
	assert_int_equal(there, 0x1122334455667788);
	assert_int_equal(state_map(journal, &s), 0);
	assert_int_equal(ftruncate(journal, 0), -1);
	assert_int_equal(ftruncate(journal, 4096), -1);
	state_unmap(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON("/dev/shm", changes_wait_for_leases_of_another_core),
		ON("/dev/shm", objects_changed_by_another_core_are_not_leased),
		ON("/dev/shm", changes_end_with_their_killed_core),
		ON("/tmp", files_open_at_another_core_are_pinned),
		ON("/dev/shm", files_open_at_another_core_are_pinned),
		ON("/tmp", files_of_an_ended_core_stay_pinned),
		ON("/dev/shm", files_of_an_ended_core_stay_pinned),
		ON("/tmp", late_pins_are_released),
		ON("/tmp", provisional_pins_have_one_limit),
		ON("/dev/shm", another_core_adopts_mounts_and_replays),
		ON("/dev/shm", a_client_of_an_export_of_another_core_is_redirected),
		ON("/dev/shm", no_core_truncates_shared_memory),
		ON("/dev/shm", mounts_are_balanced_across_cores),
		ON("/dev/shm", mounts_that_return_stay),
		ON("/dev/shm", mounts_move_when_idle),
		ON("/dev/shm", mounts_with_hanging_requests_stay),
		ON("/dev/shm", older_sessions_are_not_served),
		ON("/tmp", open_files_move_with_their_mount),
		ON("/dev/shm", open_files_move_with_their_mount),
		ON("/dev/shm", reused_mount_records_are_left_alone),
		ON("/dev/shm", renames_wait_for_changes_by_another_core),
		ON("/dev/shm", replays_wait_for_leases),
	};

	return !rig_can() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
