/* SPDX-License-Identifier: BSD-3-Clause */
/* Leases of the server: no other client changes what a client may cache. */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "dataplane/fuse/server/objects/server_write_lease.h"
#include "tests/lib/fuse/server_rig.h"

static struct rig rig;
static struct fuse_server_client *clients[2];

/* Selects the client that sends later requests. */
static void as(unsigned i)
{
	rig.client = clients[i];
}

/* Connects another mount with these features. */
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

static bool is_leased(const char *name)
{
	struct fuse_entry_out e;

	assert_int_equal(rig_do(&rig, FUSE_LOOKUP, ROOT, .name = name), 0);
	memcpy(&e, rig.data, sizeof(e));
	return e.generation & FUSE_PROTO_LEASED;
}

static void only_files_with_one_name_are_leased(void **state)
{
	char path[96];

	as(0);
	put("f");
	put("linked");
	snprintf(path, sizeof(path), "%s/link", rig.dir);
	assert_int_equal(link(rig_path(&rig, "linked"), path), 0);
	snprintf(path, sizeof(path), "%s/d", rig.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_true(is_leased("f"));
	assert_true(is_leased("f"));
	assert_false(is_leased("d"));
	as(1);
	assert_true(is_leased("f")); /* several mounts may have a lease */
	assert_false(is_leased("linked"));
	fuse_server_client_gone(clients[1]);
	clients[1] = join('b', 0);
	assert_false(is_leased("f"));
}

/* The request waits for the lease; meanwhile only the changing mount gets a lease on the object. */
static void changed_after(struct rig_req r)
{
	uint64_t asked_ns;

	as(0);
	asked_ns = clock_now_ns();
	assert_true(is_leased("f"));
	as(1);
	rig_send(&rig, rig.call, &r);
	for (unsigned i = 0; i < 10; i++)
		rig_poll(&rig);
	if (clock_now_ns() - asked_ns < NSEC_PER_SEC) { /* unless the machine was slow */
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

static void attribute_changes_wait_for_leases(void **state)
{
	struct fuse_setattr_in in = {.valid = FATTR_MODE, .mode = 0600};
	uint64_t node;

	put("f");
	as(0);
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), 0);
	changed_after((struct rig_req){.op = FUSE_SETATTR, .node = node, RIG_ARG(in)});
}

static void removals_wait_for_leases(void **state)
{
	put("f");
	changed_after((struct rig_req){.op = FUSE_UNLINK, .node = ROOT, .name = "f"});
}

static void renames_wait_for_leases(void **state)
{
	struct fuse_rename2_in in = {.newdir = ROOT};

	put("f");
	put("g");
	changed_after((struct rig_req){
		.op = FUSE_RENAME2, .node = ROOT, RIG_ARG(in), .name = "g", .name2 = "f"});
}

static void truncations_wait_for_leases(void **state)
{
	struct fuse_create_in in = {.flags = O_WRONLY | O_CREAT | O_TRUNC, .mode = S_IFREG | 0644};

	put("f");
	changed_after((struct rig_req){.op = FUSE_CREATE, .node = ROOT, RIG_ARG(in), .name = "f"});
}

/* A renamed entry stays cached under its new name, and other clients wait as long. */
static void renamed_entries_stay_leased(void **state)
{
	struct fuse_mkdir_in mk = {.mode = 0755};
	struct fuse_rename2_in in = {0};
	uint64_t node, asked_ns;

	put("f");
	as(0);
	assert_int_equal(rig_do(&rig, FUSE_MKDIR, ROOT, RIG_ARG(mk), .name = "d"), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "d", &node), 0);
	asked_ns = clock_now_ns();
	assert_true(is_leased("f"));
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

/* The second client waits to create a name in a folder that the first has just made. */
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
	if (clock_now_ns() - asked_ns < NSEC_PER_SEC) /* unless the machine was slow */
		assert_false(rig.call->answered);
	assert_int_equal(rig_result(&rig, rig.call), 0);
	assert_true(clock_now_ns() - asked_ns >= NSEC_PER_SEC);
	/* Further leases are suspended. */
	as(0);
	assert_false(is_made_empty("e"));
}

static void creations_wait_for_leases_on_empty_folders(void **state)
{
	struct fuse_create_in in = {.flags = O_WRONLY | O_CREAT | O_EXCL, .mode = S_IFREG | 0644};

	made_after((struct rig_req){.op = FUSE_CREATE, RIG_ARG(in), .name = "f"}, false);
}

static void links_wait_for_leases_on_empty_folders(void **state)
{
	made_after((struct rig_req){.op = FUSE_SYMLINK, .name = "l", .name2 = "to"}, false);
}

static void renames_wait_for_leases_on_empty_folders(void **state)
{
	struct fuse_rename2_in in = {0};

	put("f");
	made_after(
		(struct rig_req){
			.op = FUSE_RENAME2, .node = ROOT, RIG_ARG(in), .name = "f", .name2 = "f"},
		true);
}

/* The client that made the folder fills it, and others use its entries. */
static void the_maker_of_a_folder_fills_it_at_once(void **state)
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
	/* A client without the feature gets no lease. */
	fuse_server_client_gone(clients[1]);
	clients[1] = join('b', FUSE_PROTO_FEATURES & ~FUSE_PROTO_FEATURE_EMPTY);
	assert_false(is_made_empty("e"));
	assert_true(clock_now_ns() - start_ns < 20 * NSEC_PER_SEC);
}

/* ---- folders that are listed */

/* Opens the folder with a listing. True: with a lease on its names. */
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

/* The second client waits to change what the first has listed; in an empty folder, because files
 * would get leases of their own. */
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
	if (clock_now_ns() - asked_ns < NSEC_PER_SEC) /* unless the machine was slow */
		assert_false(rig.call->answered);
	assert_int_equal(rig_result(&rig, rig.call), 0);
	assert_true(clock_now_ns() - asked_ns >= NSEC_PER_SEC);
}

static void creations_wait_for_leases_on_listings(void **state)
{
	struct fuse_mkdir_in in = {.mode = 0755};

	as(0);
	listed_before((struct rig_req){
		.op = FUSE_MKDIR, .node = folder_make("d"), RIG_ARG(in), .name = "e"});
}

static void rmdir_waits_for_leases_on_listings(void **state)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/d", rig.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	listed_before((struct rig_req){.op = FUSE_RMDIR, .node = ROOT, .name = "d"});
}

/* Files with several names get no lease of their own. */
static void unlink_waits_for_leases_on_listings(void **state)
{
	char path[96];

	put("f");
	snprintf(path, sizeof(path), "%s/link", rig.dir);
	assert_int_equal(link(rig_path(&rig, "f"), path), 0);
	listed_before((struct rig_req){.op = FUSE_UNLINK, .node = ROOT, .name = "f"});
}

static void renames_wait_for_leases_on_the_source_listing(void **state)
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

static void renames_wait_for_leases_on_the_target_listing(void **state)
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

/* The client that listed the folder changes it at once, and so do others with its entries. */
static void the_client_that_listed_a_folder_changes_it_at_once(void **state)
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
	assert_false(is_listed(ROOT)); /* the other client would change it again */
	assert_int_equal(rig_do(&rig, FUSE_CREATE, node, RIG_ARG(in), .name = "f"), 0);
	/* A client without the feature gets no lease. */
	fuse_server_client_gone(clients[0]);
	clients[0] = join('a', FUSE_PROTO_FEATURES & ~FUSE_PROTO_FEATURE_NAMES);
	assert_false(is_listed(ROOT));
	assert_true(clock_now_ns() - start_ns < 10 * NSEC_PER_SEC);
}

/* After a conflict, no leases are granted for a while. */
static void leases_are_suspended_after_a_conflict(void **state)
{
	put("f");
	put("g");
	changed_after((struct rig_req){.op = FUSE_UNLINK, .node = ROOT, .name = "f"});
	as(0);
	assert_false(is_leased("g"));
	as(1);
	assert_false(is_leased("g"));
}

/* A client's kernel knows its own changes, and new names invalidate nothing. */
static void own_changes_do_not_wait(void **state)
{
	struct fuse_setattr_in in = {.valid = FATTR_MODE, .mode = 0600};
	struct fuse_create_in create = {.flags = O_WRONLY | O_CREAT | O_EXCL,
					.mode = S_IFREG | 0644};
	uint64_t node;

	put("f");
	as(0);
	assert_true(is_leased("f"));
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(rig_do(&rig, FUSE_SETATTR, node, RIG_ARG(in)), 0);
		assert_true(is_leased("f"));
	}
	as(1);
	assert_int_equal(rig_do(&rig, FUSE_CREATE, ROOT, RIG_ARG(create), .name = "new"), 0);
	/* An object and its folder are leased only to the client that made it, for now. */
	as(0);
	assert_false(is_leased("new"));
	assert_false(is_leased("f"));
}

/* Restarts the server; the client whose requests follow reconnects. */
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

/* A successor without the table waits, except for a single mount. */
static void a_successor_waits_for_leases_of_several_mounts(void **state)
{
	uint64_t start_ns = clock_now_ns();

	put("f");
	as(0);
	assert_true(is_leased("f"));
	successor('a', 'b');
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_true(clock_now_ns() - start_ns >= NSEC_PER_SEC);
}

/* Other clients that reconnect early still wait. */
static void other_mounts_wait_for_the_lease_of_a_single_one(void **state)
{
	uint64_t start_ns = clock_now_ns();

	put("f");
	as(0);
	assert_true(is_leased("f"));
	for (const struct server_mount *m = rig.server->mounts; m; m = m->next)
		if (m->id[0] != 'a')
			m->export->state->mounts[m->journal].used = 0;
	successor('c', 'd');
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), 0);
	assert_true(clock_now_ns() - start_ns >= NSEC_PER_SEC);
}

/* An object without a slot in a full table has no lease, so a change of it does not wait and
 * leaves nothing behind. */
static void a_full_lease_table_delays_no_change(void **state)
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
	assert_false(is_leased("g"));
	assert_int_equal(own->n_untracked, 0);
	memset(own->keys, 0, sizeof(own->keys));
	memset(own->leases, 0, sizeof(own->leases));
	assert_true(is_leased("g"));
}

/* ---- leases for writing */

static struct rudp_call waiting;

/* Writes to the file, and returns the number of the lease that the client gets. */
static uint32_t write_leased(uint64_t node, uint64_t fh)
{
	struct fuse_write_in in = {.fh = fh, .size = 1, .flags = O_WRONLY};
	struct fuse_write_out out;

	assert_int_equal(rig_do(&rig, FUSE_WRITE, node, RIG_ARG(in), .data = "x", .data_len = 1,
				.flags = FUSE_PROTO_REQ_LEASE),
			 0);
	memcpy(&out, rig.data, sizeof(out));
	return out.padding;
}

static uint32_t create_leased(const char *name, uint64_t *ret_node, uint64_t *ret_fh)
{
	uint32_t lease;

	as(0);
	put(name);
	assert_int_equal(rig_lookup(&rig, ROOT, name, ret_node), 0);
	assert_int_equal(rig_open(&rig, *ret_node, O_WRONLY, ret_fh), 0);
	lease = write_leased(*ret_node, *ret_fh);
	assert_int_not_equal(lease, 0);
	return lease;
}

/* Writes one held byte at the offset, or returns the lease if the offset is 0. */
static int send_held(uint64_t node, uint64_t fh, uint32_t lease, uint64_t offset)
{
	struct fuse_write_in in = {.fh = fh,
				   .offset = offset,
				   .size = offset > 0,
				   .flags = O_WRONLY,
				   .padding = lease};

	as(0);
	return rig_do(&rig, FUSE_WRITE, node, RIG_ARG(in), .data = "y", .data_len = offset > 0,
		      .flags = FUSE_PROTO_REQ_HELD);
}

/* The second client sends the request, which is not answered yet. */
static void begins_to_wait(struct rig_req r)
{
	as(1);
	memset(&waiting, 0, sizeof(waiting));
	rig_send(&rig, &waiting, &r);
	for (unsigned i = 0; i < 50; i++)
		rig_poll(&rig);
	assert_false(waiting.answered);
}

static struct share_write_lease *first_lease(void)
{
	return &rig.server->share.write_leases->all[0];
}

static void a_lookup_shows_the_held_data_of_another_client(void **state)
{
	struct fuse_entry_out e;
	uint64_t node, fh;
	uint32_t lease = create_leased("f", &node, &fh);

	begins_to_wait((struct rig_req){.op = FUSE_LOOKUP, .node = ROOT, .name = "f"});
	assert_int_equal(send_held(node, fh, lease, 99), 0);
	assert_int_equal(send_held(node, fh, lease, 0), 0);
	as(1);
	assert_int_equal(rig_result(&rig, &waiting), 0);
	memcpy(&e, rig.data, sizeof(e));
	assert_int_equal(e.attr.size, 100);
}

static void a_create_waits_only_for_the_lease_of_its_own_file(void **state)
{
	struct fuse_create_in in = {.flags = O_WRONLY | O_CREAT | O_TRUNC, .mode = S_IFREG | 0644};
	uint64_t node, fh, start_ns;
	struct fuse_attr attr;
	uint32_t lease;

	put("there");
	lease = create_leased("f", &node, &fh);
	as(1);
	start_ns = clock_now_ns();
	assert_int_equal(rig_do(&rig, FUSE_CREATE, ROOT, RIG_ARG(in), .name = "new"), 0);
	assert_int_equal(rig_do(&rig, FUSE_CREATE, ROOT, RIG_ARG(in), .name = "there"), 0);
	assert_true(clock_now_ns() - start_ns < 5 * NSEC_PER_SEC);
	begins_to_wait((struct rig_req){.op = FUSE_CREATE, .node = ROOT, RIG_ARG(in), .name = "f"});
	assert_int_equal(send_held(node, fh, lease, 99), 0);
	assert_int_equal(send_held(node, fh, lease, 0), 0);
	as(1);
	assert_int_equal(rig_result(&rig, &waiting), 0);
	as(0);
	assert_int_equal(rig_getattr(&rig, node, &attr), 0);
	assert_int_equal(attr.size, 0);
}

/* The file is not looked up again at each turn: helpers would have no time for other requests. */
static void a_waiting_create_makes_no_helper_calls(void **state)
{
	struct fuse_create_in in = {.flags = O_WRONLY | O_CREAT | O_TRUNC, .mode = S_IFREG | 0644};
	uint64_t node, fh;
	uint32_t lease = create_leased("f", &node, &fh);
	struct server_req *q;

	begins_to_wait((struct rig_req){.op = FUSE_CREATE, .node = ROOT, RIG_ARG(in), .name = "f"});
	q = rig.server->active;
	while (q->hidden_key == 0)
		rig_poll(&rig);
	for (unsigned i = 0; i < 50; i++) {
		assert_null(q->helper_call);
		rig_poll(&rig);
	}
	assert_int_equal(send_held(node, fh, lease, 0), 0);
	as(1);
	assert_int_equal(rig_result(&rig, &waiting), 0);
}

/* The attributes may have been read before the held data arrived. */
static void a_lease_that_ends_during_a_request_hides_the_old_attributes(void **state)
{
	uint64_t node, fh;
	const struct fuse_handle *h;
	struct server_req *q;

	create_leased("f", &node, &fh);
	h = &rig.nodes[node - 1];
	begins_to_wait((struct rig_req){.op = FUSE_LOOKUP, .node = ROOT, .name = "f"});
	q = rig.server->active;
	assert_true(server_write_lease_hides(q, h->bytes, h->len));
	server_write_leases_drop(clients[0]->mount);
	assert_true(server_write_lease_hides(q, h->bytes, h->len));
	assert_false(server_write_lease_waits(q));
	assert_false(server_write_lease_hides(q, h->bytes, h->len));
	assert_int_equal(rig_result(&rig, &waiting), 0);
}

/* Returns the number of changes of the leased file in progress, in the server's own table. */
static uint32_t *busy_of_first_lease(void)
{
	struct share_slot *own = rig.server->share.own;
	uint64_t key = first_lease()->key;

	for (unsigned i = 0; i < SHARE_LEASE_SETS; i++)
		for (unsigned j = 0; j < SHARE_LEASE_WAYS; j++)
			if (own->keys[i][j] == key)
				return &own->leases[i][j].busy;
	fail();
	return NULL;
}

static void a_lease_does_not_end_while_held_data_are_written(void **state)
{
	uint64_t node, fh, node2, fh2;

	create_leased("f", &node, &fh);
	*busy_of_first_lease() += 1;
	first_lease()->since_ns -= 121 * NSEC_PER_SEC;
	/* Each request for a lease looks for leases that are too old. */
	create_leased("g", &node2, &fh2);
	write_leased(node2, fh2);
	assert_int_equal(send_held(node, fh, 1, 99), -ESTALE);
	begins_to_wait((struct rig_req){.op = FUSE_LOOKUP, .node = ROOT, .name = "f"});
	*busy_of_first_lease() -= 1;
	assert_int_equal(rig_result(&rig, &waiting), 0);
}

static void changes_of_other_files_do_not_delay_the_return_of_a_lease(void **state)
{
	struct share_slot *own = rig.server->share.own;
	uint64_t node, fh, start_ns = clock_now_ns();
	uint32_t lease = create_leased("f", &node, &fh);

	own->n_untracked++;
	assert_int_equal(send_held(node, fh, lease, 0), 0);
	assert_true(clock_now_ns() - start_ns < 5 * NSEC_PER_SEC);
	own->n_untracked--;
}

static void a_client_that_returns_no_lease_loses_it_after_ten_seconds(void **state)
{
	uint64_t node, fh;
	uint32_t lease = create_leased("f", &node, &fh);

	begins_to_wait((struct rig_req){.op = FUSE_LOOKUP, .node = ROOT, .name = "f"});
	first_lease()->wanted_ns -= 10 * NSEC_PER_SEC;
	assert_int_equal(rig_result(&rig, &waiting), 0);
	assert_int_equal(send_held(node, fh, lease, 99), -ESTALE);
	assert_int_equal(write_leased(node, fh), 0); /* the server grants none for two seconds */
}

/* A worker may be stopped for longer than ten seconds while it fills in an entry. When it
 * continues, it must not overwrite the members of a newer lease. */
static void an_entry_stays_with_the_worker_that_fills_it_in(void **state)
{
	struct share_slot *own = rig.server->share.own;
	uint64_t node, fh, node2, fh2, key;
	struct share_write_lease *l;

	create_leased("f", &node, &fh);
	l = first_lease();
	key = l->key;
	l->word = (l->word & ~7UL) | 1; /* STATE_FILLING */
	l->since_ns -= 1000 * NSEC_PER_SEC;
	create_leased("g", &node2, &fh2);
	assert_int_equal(l->key, key);
	assert_int_equal(l->word & 7, 1);
	/* After a restart of this worker, another lease may use the entry. */
	own->incarnation++;
	own->write_leases = own->incarnation;
	create_leased("h", &node2, &fh2);
	assert_int_not_equal(l->key, key);
	assert_int_not_equal(l->word & 7, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON("/tmp", only_files_with_one_name_are_leased),
		ON("/dev/shm", only_files_with_one_name_are_leased),
		ON("/dev/shm", attribute_changes_wait_for_leases),
		ON("/tmp", removals_wait_for_leases),
		ON("/dev/shm", renames_wait_for_leases),
		ON("/dev/shm", truncations_wait_for_leases),
		ON("/dev/shm", renamed_entries_stay_leased),
		ON("/dev/shm", creations_wait_for_leases_on_empty_folders),
		ON("/dev/shm", links_wait_for_leases_on_empty_folders),
		ON("/tmp", renames_wait_for_leases_on_empty_folders),
		ON("/tmp", the_maker_of_a_folder_fills_it_at_once),
		ON("/dev/shm", creations_wait_for_leases_on_listings),
		ON("/tmp", rmdir_waits_for_leases_on_listings),
		ON("/dev/shm", unlink_waits_for_leases_on_listings),
		ON("/dev/shm", renames_wait_for_leases_on_the_source_listing),
		ON("/dev/shm", renames_wait_for_leases_on_the_target_listing),
		ON("/dev/shm", the_client_that_listed_a_folder_changes_it_at_once),
		ON("/dev/shm", leases_are_suspended_after_a_conflict),
		ON("/dev/shm", own_changes_do_not_wait),
		ON("/dev/shm", a_successor_waits_for_leases_of_several_mounts),
		ON("/dev/shm", other_mounts_wait_for_the_lease_of_a_single_one),
		ON("/dev/shm", a_full_lease_table_delays_no_change),
		ON("/dev/shm", a_lookup_shows_the_held_data_of_another_client),
		ON("/tmp", a_create_waits_only_for_the_lease_of_its_own_file),
		ON("/tmp", a_waiting_create_makes_no_helper_calls),
		ON("/dev/shm", a_lease_that_ends_during_a_request_hides_the_old_attributes),
		ON("/dev/shm", a_lease_does_not_end_while_held_data_are_written),
		ON("/dev/shm", changes_of_other_files_do_not_delay_the_return_of_a_lease),
		ON("/dev/shm", a_client_that_returns_no_lease_loses_it_after_ten_seconds),
		ON("/dev/shm", an_entry_stays_with_the_worker_that_fills_it_in),
	};

	return !rig_can() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
