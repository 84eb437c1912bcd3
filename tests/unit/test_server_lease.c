/* SPDX-License-Identifier: BSD-3-Clause */
/* What the server end lends to a client, and that nobody else changes it meanwhile. */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "tests/lib/server_rig.h"

static struct rig rig;
static struct fuse_server_client *clients[2];

/* The one who sends from here on. */
static void as(unsigned i)
{
	rig.client = clients[i];
}

/* Another mount, with what it knows. */
static struct fuse_server_client *join(uint8_t mount, uint32_t features)
{
	struct fuse_init_in in = {.major = 7, .minor = 38, .unused = {features}};

	rig.hello.mount_id[0] = mount;
	assert_int_equal(rig_accept(&rig), 0);
	assert_int_equal(rig_do(&rig, FUSE_INIT, 0, RIG_ARG(in)), 0);
	return rig.client;
}

static int setup(void **state)
{
	rig_setup(&rig, *state);
	fuse_server_client_gone(rig.client);
	clients[0] = join('a', FUSE_PROTO_FEATURES);
	clients[1] = join('b', FUSE_PROTO_FEATURES);
	return 0;
}

static int teardown(void **state)
{
	fuse_server_client_gone(clients[0]);
	as(1);
	rig_teardown(&rig);
	return 0;
}

static void put(const char *name)
{
	FILE *f = fopen(rig_path(&rig, name), "we");

	assert_non_null(f);
	fclose(f);
}

static bool is_lent(const char *name)
{
	struct fuse_entry_out e;

	assert_int_equal(rig_do(&rig, FUSE_LOOKUP, ROOT, .name = name), 0);
	memcpy(&e, rig.data, sizeof(e));
	return e.generation & FUSE_PROTO_LEASED;
}

static void only_files_of_one_name_are_lent(void **state)
{
	char path[96];

	as(0);
	put("f");
	put("linked");
	snprintf(path, sizeof(path), "%s/link", rig.dir);
	assert_int_equal(link(rig_path(&rig, "linked"), path), 0);
	snprintf(path, sizeof(path), "%s/d", rig.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_true(is_lent("f"));
	assert_true(is_lent("f"));
	assert_false(is_lent("d"));
	as(1);
	assert_true(is_lent("f")); /* to several at a time */
	assert_false(is_lent("linked"));
	fuse_server_client_gone(clients[1]);
	clients[1] = join('b', 0);
	assert_false(is_lent("f"));
}

/* The request waits; what it is about is lent to nobody meanwhile, nor to any but who changed it.
 */
static void changed_after(struct rig_req r)
{
	uint64_t asked_ns;

	as(0);
	asked_ns = clock_now_ns();
	assert_true(is_lent("f"));
	as(1);
	rig_send(&rig, rig.call, &r);
	for (unsigned i = 0; i < 10; i++)
		rig_poll(&rig);
	if (clock_now_ns() - asked_ns < NSEC_PER_SEC) { /* else this machine was away for long */
		struct rudp_call *other = calloc(1, sizeof(*other));
		struct fuse_entry_out e;

		assert_false(rig.call->answered);
		as(0);
		rig_send(&rig, other,
			 &(struct rig_req){.op = FUSE_LOOKUP, .node = ROOT, .name = "f"});
		assert_int_equal(rig_result(&rig, other), 0);
		memcpy(&e, rig.data, sizeof(e));
		assert_false(e.generation & FUSE_PROTO_LEASED);
		free(other);
	}
	as(1);
	assert_int_equal(rig_result(&rig, rig.call), 0);
	assert_true(clock_now_ns() - asked_ns >= NSEC_PER_SEC);
}

static void attributes_change_when_nobody_believes_them(void **state)
{
	struct fuse_setattr_in in = {.valid = FATTR_MODE, .mode = 0600};
	uint64_t node;

	put("f");
	as(0);
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), 0);
	changed_after((struct rig_req){.op = FUSE_SETATTR, .node = node, RIG_ARG(in)});
}

static void names_go_when_nobody_believes_them(void **state)
{
	put("f");
	changed_after((struct rig_req){.op = FUSE_UNLINK, .node = ROOT, .name = "f"});
}

static void names_move_when_nobody_believes_them(void **state)
{
	struct fuse_rename2_in in = {.newdir = ROOT};

	put("f");
	put("g");
	changed_after((struct rig_req){
		.op = FUSE_RENAME2, .node = ROOT, RIG_ARG(in), .name = "g", .name2 = "f"});
}

static void files_are_cut_when_nobody_believes_them(void **state)
{
	struct fuse_create_in in = {.flags = O_WRONLY | O_CREAT | O_TRUNC, .mode = S_IFREG | 0644};

	put("f");
	changed_after((struct rig_req){.op = FUSE_CREATE, .node = ROOT, RIG_ARG(in), .name = "f"});
}

/* Who moves a name believes it where it is now, and others wait for as long. */
static void names_stay_lent_where_they_go(void **state)
{
	struct fuse_mkdir_in mk = {.mode = 0755};
	struct fuse_rename2_in in = {0};
	uint64_t node, asked_ns;

	put("f");
	as(0);
	assert_int_equal(rig_do(&rig, FUSE_MKDIR, ROOT, RIG_ARG(mk), .name = "d"), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "d", &node), 0);
	asked_ns = clock_now_ns();
	assert_true(is_lent("f"));
	in.newdir = node;
	assert_int_equal(rig_do(&rig, FUSE_RENAME2, ROOT, RIG_ARG(in), .name = "f", .name2 = "f"),
			 0);
	as(1);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, node, .name = "f"), 0);
	assert_true(clock_now_ns() - asked_ns >= NSEC_PER_SEC);
}

/* ---- folders that are empty */

static bool is_made_empty(const char *name)
{
	struct fuse_mkdir_in in = {.mode = 0755};
	struct fuse_entry_out e;

	assert_int_equal(rig_do(&rig, FUSE_MKDIR, ROOT, RIG_ARG(in), .name = name), 0);
	memcpy(&e, rig.data, sizeof(e));
	return e.generation & FUSE_PROTO_EMPTY;
}

/* The other makes a name in a folder that the first has just made, and waits. */
static void made_after(struct rig_req r, bool by_second)
{
	uint64_t asked_ns, node;

	as(0);
	asked_ns = clock_now_ns();
	assert_true(is_made_empty("d"));
	as(1);
	assert_int_equal(rig_lookup(&rig, ROOT, "d", &node), 0);
	if (by_second)
		((struct fuse_rename2_in *)(uintptr_t)r.arg)->newdir = node;
	else
		r.node = node;
	rig_send(&rig, rig.call, &r);
	for (unsigned i = 0; i < 10; i++)
		rig_poll(&rig);
	if (clock_now_ns() - asked_ns < NSEC_PER_SEC) /* else this machine was away for long */
		assert_false(rig.call->answered);
	assert_int_equal(rig_result(&rig, rig.call), 0);
	assert_true(clock_now_ns() - asked_ns >= NSEC_PER_SEC);
	/* Peace is kept. */
	as(0);
	assert_false(is_made_empty("e"));
}

static void folders_are_filled_when_nobody_believes_them_empty(void **state)
{
	struct fuse_create_in in = {.flags = O_WRONLY | O_CREAT | O_EXCL, .mode = S_IFREG | 0644};

	made_after((struct rig_req){.op = FUSE_CREATE, RIG_ARG(in), .name = "f"}, false);
}

static void links_are_made_when_nobody_believes_there_are_none(void **state)
{
	made_after((struct rig_req){.op = FUSE_SYMLINK, .name = "l", .name2 = "to"}, false);
}

static void names_move_where_nobody_believes_there_are_none(void **state)
{
	struct fuse_rename2_in in = {0};

	put("f");
	made_after(
		(struct rig_req){
			.op = FUSE_RENAME2, .node = ROOT, RIG_ARG(in), .name = "f", .name2 = "f"},
		true);
}

/* Who believes it empty fills it, and others may use what is there. */
static void who_made_a_folder_fills_it(void **state)
{
	struct fuse_create_in in = {.flags = O_WRONLY | O_CREAT | O_EXCL, .mode = S_IFREG | 0644};
	struct fuse_setattr_in set = {.valid = FATTR_MODE, .mode = 0700};
	uint64_t start_ns = clock_now_ns(), node, child;

	as(0);
	assert_true(is_made_empty("d"));
	assert_int_equal(rig_lookup(&rig, ROOT, "d", &node), 0);
	assert_int_equal(rig_do(&rig, FUSE_CREATE, node, RIG_ARG(in), .name = "f"), 0);
	as(1);
	assert_int_equal(rig_lookup(&rig, node, "f", &child), 0);
	assert_int_equal(rig_do(&rig, FUSE_SETATTR, node, RIG_ARG(set)), 0);
	assert_int_equal(rig_do(&rig, FUSE_CREATE, ROOT, RIG_ARG(in), .name = "beside"), 0);
	/* Nothing is said to who would not know what it means. */
	fuse_server_client_gone(clients[1]);
	clients[1] = join('b', FUSE_PROTO_FEATURES & ~FUSE_PROTO_FEATURE_EMPTY);
	assert_false(is_made_empty("e"));
	assert_true(clock_now_ns() - start_ns < 20 * NSEC_PER_SEC);
}

/* ---- folders that are listed */

/* The folder is opened, and the client told what is in it: whether it may believe that. */
static bool is_listed(uint64_t node)
{
	struct fuse_open_in in = {.flags = O_DIRECTORY, .open_flags = FUSE_PROTO_LIST_MAX};
	struct fuse_proto_resp_tail tail;

	assert_int_equal(rig_do(&rig, FUSE_OPENDIR, node, RIG_ARG(in)), 0);
	assert_true(rig.tail_len >= sizeof(tail));
	memcpy(&tail, rig.tail, sizeof(tail));
	assert_true(tail.flags & FUSE_PROTO_RESP_END);
	return tail.flags & FUSE_PROTO_RESP_NAMES;
}

static uint64_t folder_make(const char *name)
{
	struct fuse_mkdir_in in = {.mode = 0755};
	uint64_t node;

	assert_int_equal(rig_do(&rig, FUSE_MKDIR, ROOT, RIG_ARG(in), .name = name), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, name, &node), 0);
	return node;
}

/* What one has listed the other changes, and waits; an empty folder, since files would be lent. */
static void listed_before(struct rig_req r)
{
	uint64_t asked_ns;

	as(0);
	asked_ns = clock_now_ns();
	assert_true(is_listed(r.node));
	as(1);
	rig_send(&rig, rig.call, &r);
	for (unsigned i = 0; i < 10; i++)
		rig_poll(&rig);
	if (clock_now_ns() - asked_ns < NSEC_PER_SEC) /* else this machine was away for long */
		assert_false(rig.call->answered);
	assert_int_equal(rig_result(&rig, rig.call), 0);
	assert_true(clock_now_ns() - asked_ns >= NSEC_PER_SEC);
}

static void names_are_made_when_nobody_has_listed_them(void **state)
{
	struct fuse_mkdir_in in = {.mode = 0755};

	as(0);
	listed_before((struct rig_req){
		.op = FUSE_MKDIR, .node = folder_make("d"), RIG_ARG(in), .name = "e"});
}

static void folders_go_when_nobody_has_listed_them(void **state)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/d", rig.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	listed_before((struct rig_req){.op = FUSE_RMDIR, .node = ROOT, .name = "d"});
}

/* Files of several names, which are not lent themselves. */
static void files_go_when_nobody_has_listed_them(void **state)
{
	char path[96];

	put("f");
	snprintf(path, sizeof(path), "%s/link", rig.dir);
	assert_int_equal(link(rig_path(&rig, "f"), path), 0);
	listed_before((struct rig_req){.op = FUSE_UNLINK, .node = ROOT, .name = "f"});
}

static void folders_move_when_nobody_has_listed_them(void **state)
{
	struct fuse_rename2_in in = {0};
	char path[96];

	snprintf(path, sizeof(path), "%s/d", rig.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/e", rig.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	as(0);
	assert_int_equal(rig_lookup(&rig, ROOT, "d", &in.newdir), 0);
	listed_before((struct rig_req){
		.op = FUSE_RENAME2, .node = ROOT, RIG_ARG(in), .name = "e", .name2 = "f"});
}

static void folders_move_to_where_nobody_has_listed_them(void **state)
{
	struct fuse_rename2_in in = {.newdir = ROOT};
	uint64_t asked_ns, node;
	char path[96];

	snprintf(path, sizeof(path), "%s/d", rig.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/d/e", rig.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	as(1);
	assert_int_equal(rig_lookup(&rig, ROOT, "d", &node), 0);
	as(0);
	asked_ns = clock_now_ns();
	assert_true(is_listed(ROOT));
	as(1);
	assert_int_equal(rig_do(&rig, FUSE_RENAME2, node, RIG_ARG(in), .name = "e", .name2 = "f"),
			 0);
	assert_true(clock_now_ns() - asked_ns >= NSEC_PER_SEC);
}

/* Who has listed it goes on with it at once, and so do others with what is in it. */
static void who_has_listed_a_folder_changes_it(void **state)
{
	struct fuse_create_in in = {.flags = O_WRONLY | O_CREAT | O_EXCL, .mode = S_IFREG | 0644};
	uint64_t start_ns = clock_now_ns(), node;

	as(0);
	node = folder_make("d");
	for (unsigned i = 0; i < 10; i++) {
		char name[8];

		snprintf(name, sizeof(name), "f%u", i);
		assert_true(is_listed(ROOT));
		assert_int_equal(rig_do(&rig, FUSE_CREATE, ROOT, RIG_ARG(in), .name = name), 0);
	}
	assert_true(is_listed(ROOT));
	as(1);
	assert_false(is_listed(ROOT)); /* what the other is about to do again */
	assert_int_equal(rig_do(&rig, FUSE_CREATE, node, RIG_ARG(in), .name = "f"), 0);
	/* Nothing is said to who would not know what it means. */
	fuse_server_client_gone(clients[0]);
	clients[0] = join('a', FUSE_PROTO_FEATURES & ~FUSE_PROTO_FEATURE_NAMES);
	assert_false(is_listed(ROOT));
	assert_true(clock_now_ns() - start_ns < 10 * NSEC_PER_SEC);
}

/* Then nothing is lent for a while, lest many have to wait. */
static void peace_is_kept(void **state)
{
	put("f");
	put("g");
	changed_after((struct rig_req){.op = FUSE_UNLINK, .node = ROOT, .name = "f"});
	as(0);
	assert_false(is_lent("g"));
	as(1);
	assert_false(is_lent("g"));
}

/* Its own changes the client's kernel knows, and new names make nothing untrue. */
static void own_changes_do_not_wait(void **state)
{
	struct fuse_setattr_in in = {.valid = FATTR_MODE, .mode = 0600};
	struct fuse_create_in create = {.flags = O_WRONLY | O_CREAT | O_EXCL,
					.mode = S_IFREG | 0644};
	uint64_t node;

	put("f");
	as(0);
	assert_true(is_lent("f"));
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(rig_do(&rig, FUSE_SETATTR, node, RIG_ARG(in)), 0);
		assert_true(is_lent("f"));
	}
	as(1);
	assert_int_equal(rig_do(&rig, FUSE_CREATE, ROOT, RIG_ARG(create), .name = "new"), 0);
	/* What another has made, and where, is its own for now. */
	as(0);
	assert_false(is_lent("new"));
	assert_false(is_lent("f"));
}

/* The server end is another process; whose requests follow comes again. */
static void successor(uint8_t first, uint8_t second)
{
	fuse_server_client_gone(clients[0]);
	as(1);
	rig_stop(&rig);
	rig_hands(&rig);
	assert_int_equal(fuse_server_new(&rig.cfg, NULL, &rig.stats, rig_hold, &rig, rig.helpers,
					 rig.boot, &rig.server),
			 0);
	rig_back = rig.server;
	clients[0] = join(first, FUSE_PROTO_FEATURES);
	clients[1] = join(second, FUSE_PROTO_FEATURES);
}

/* A successor cannot know what was lent, but to a single mount. */
static void a_successor_waits_for_what_was_lent(void **state)
{
	uint64_t start_ns = clock_now_ns();

	put("f");
	as(0);
	assert_true(is_lent("f"));
	successor('a', 'b');
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_true(clock_now_ns() - start_ns >= NSEC_PER_SEC);
}

/* And then others who come soon enough may not change it. */
static void a_successor_waits_for_what_was_lent_to_one(void **state)
{
	uint64_t start_ns = clock_now_ns();

	put("f");
	as(0);
	assert_true(is_lent("f"));
	for (const struct server_mount *m = rig.server->mounts; m; m = m->next)
		if (m->id[0] != 'a')
			m->export->state->mounts[m->journal].used = 0;
	successor('c', 'd');
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_true(clock_now_ns() - start_ns >= NSEC_PER_SEC);
}

/* What has no place among all that others believe is believed by nobody: who changes it does not
 * wait for a place, which others could keep for ever, and leaves nothing behind. */
static void a_full_table_holds_up_nobody(void **state)
{
	struct fuse_rename2_in in = {.newdir = ROOT};
	struct share_slot *own = rig.server->share.own;

	put("f");
	put("g");
	memset(own->keys, 0xff, sizeof(own->keys));
	memset(own->leases, 0xff, sizeof(own->leases));
	for (unsigned i = 0; i < SHARE_LEASE_SETS; i++)
		for (unsigned j = 0; j < SHARE_LEASE_WAYS; j++)
			own->leases[i][j].incarnation = own->incarnation;
	as(1);
	assert_int_equal(rig_do(&rig, FUSE_RENAME2, ROOT, RIG_ARG(in), .name = "f", .name2 = "h"),
			 0);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "h"), 0);
	assert_false(is_lent("g"));
	assert_int_equal(own->n_untracked, 0);
	memset(own->keys, 0, sizeof(own->keys));
	memset(own->leases, 0, sizeof(own->leases));
	assert_true(is_lent("g"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON("/tmp", only_files_of_one_name_are_lent),
		ON("/dev/shm", only_files_of_one_name_are_lent),
		ON("/dev/shm", attributes_change_when_nobody_believes_them),
		ON("/tmp", names_go_when_nobody_believes_them),
		ON("/dev/shm", names_move_when_nobody_believes_them),
		ON("/dev/shm", files_are_cut_when_nobody_believes_them),
		ON("/dev/shm", names_stay_lent_where_they_go),
		ON("/dev/shm", folders_are_filled_when_nobody_believes_them_empty),
		ON("/dev/shm", links_are_made_when_nobody_believes_there_are_none),
		ON("/tmp", names_move_where_nobody_believes_there_are_none),
		ON("/tmp", who_made_a_folder_fills_it),
		ON("/dev/shm", names_are_made_when_nobody_has_listed_them),
		ON("/tmp", folders_go_when_nobody_has_listed_them),
		ON("/dev/shm", files_go_when_nobody_has_listed_them),
		ON("/dev/shm", folders_move_when_nobody_has_listed_them),
		ON("/dev/shm", folders_move_to_where_nobody_has_listed_them),
		ON("/dev/shm", who_has_listed_a_folder_changes_it),
		ON("/dev/shm", peace_is_kept),
		ON("/dev/shm", own_changes_do_not_wait),
		ON("/dev/shm", a_successor_waits_for_what_was_lent),
		ON("/dev/shm", a_successor_waits_for_what_was_lent_to_one),
		ON("/dev/shm", a_full_table_holds_up_nobody),
	};

	return !rig_can() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
