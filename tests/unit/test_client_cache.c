/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's caches: which requests it answers itself, for how long, and what invalidates an
 * entry. */
#include "tests/lib/fuse/client_rig.h"
#include <fcntl.h>

/* A LOOKUP whose answer says whether the file has extended attributes. */
static uint64_t lookup_bare(struct rig *g, const char *handle, bool no_xattrs)
{
	struct fuse_entry_out e = entry_make(S_IFREG | 0644);
	struct tail t = tail_make(0, 1);
	struct fuse_out_header out;

	e.generation = no_xattrs ? FUSE_PROTO_NO_XATTRS : 0;
	kernel_send(g, FUSE_LOOKUP, g->unique += 2, "name", 5);
	assert_true(fuse_client_pull(g->f, true, g->now_ns) > 0);
	tail_add_handle(&t, handle);
	respond_tail(g, n_calls - 1, 0, &e, sizeof(e), &t);
	assert_true(kernel_receive(g, &out, &e, sizeof(e)) > 0);
	assert_true(e.generation == g->f->state.head->generation);
	return e.nodeid;
}

static void getxattr(struct rig *g, uint64_t node, const char *name)
{
	uint8_t arg[64];
	struct fuse_getxattr_in in = {.size = 20};

	memcpy(arg, &in, sizeof(in));
	strcpy((char *)arg + sizeof(in), name);
	kernel_send_to(g, FUSE_GETXATTR, g->unique += 2, node, arg, sizeof(in) + strlen(name) + 1);
	fuse_client_pull(g->f, true, g->now_ns);
}

/* Whether a GETXATTR of that name reaches the server; it is answered in any case. */
static bool is_asked(struct rig *g, uint64_t node, const char *name)
{
	bool asked;

	getxattr(g, node, name);
	asked = n_calls > 0;
	if (asked)
		respond(g, 0, -ENODATA, NULL, 0);
	expect_reply(g, g->unique, -ENODATA);
	return asked;
}

static void test_files_without_xattrs_are_answered_locally(void **state)
{
	struct fuse_getxattr_in in = {.size = 0};
	struct fuse_getxattr_out none = {.size = 7};
	struct rig *g = *state;
	struct fuse_out_header out;
	uint64_t a, b;

	bring_up(g);
	a = lookup_bare(g, "handle-a", true);
	b = lookup_bare(g, "handle-b", false);
	assert_false(is_asked(g, a, "security.capability"));
	assert_false(is_asked(g, a, "system.posix_acl_access"));
	assert_true(is_asked(g, a, "trusted.overlay.opaque")); /* no listing shows these */
	assert_true(is_asked(g, b, "security.capability"));
	kernel_send_to(g, FUSE_LISTXATTR, 4, a, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(kernel_receive(g, &out, &none, sizeof(none)), sizeof(out) + sizeof(none));
	assert_true(out.error == 0 && none.size == 0);
	in.size = 100;
	kernel_send_to(g, FUSE_LISTXATTR, 6, a, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(kernel_receive(g, &out, NULL, 0), sizeof(out));
	assert_int_equal(n_calls, 0);
	/* Only as long as attributes may be cached, and only in the same session. */
	g->now_ns += NSEC_PER_SEC;
	assert_true(is_asked(g, a, "security.capability"));
	assert_true(lookup_bare(g, "handle-a", true) == a);
	assert_false(is_asked(g, a, "security.capability"));
	server_restarts(g, 2, 1);
	assert_true(is_asked(g, a, "security.capability"));
}

/* Where the kernel does not label files, a request for a label gets EOPNOTSUPP. */
static void test_label_requests_get_eopnotsupp_without_selinux(void **state)
{
	struct rig *g = *state;
	uint64_t a, b;

	bring_up(g);
	a = lookup_bare(g, "handle-a", true);
	b = lookup_bare(g, "handle-b", false);
	assert_false(is_asked(g, a, "security.selinux"));
	fuse_client_set_unlabelled(g->f);
	getxattr(g, a, "security.selinux");
	assert_int_equal(n_calls, 0);
	expect_reply(g, g->unique, -EOPNOTSUPP);
	assert_false(is_asked(g, a, "security.selinu"));
	assert_false(is_asked(g, a, "security.selinux2"));
	assert_true(is_asked(g, b, "security.selinux"));
}

/* An attribute that this client sets invalidates the cache, whatever else is in flight. */
static void test_late_answers_are_not_cached(void **state)
{
	static const uint8_t set[] = {1, 0, 0, 0, 0, 0, 0, 0, 'u', '.', 'x', 0, 'v'};
	struct fuse_entry_out e = entry_make(S_IFREG | 0644);
	struct tail t = tail_make(0, 1);
	struct rig *g = *state;
	uint64_t a;

	bring_up(g);
	e.generation = FUSE_PROTO_NO_XATTRS;
	tail_add_handle(&t, "handle-a");
	a = lookup_bare(g, "handle-a", true);
	g->now_ns += 10;
	kernel_send(g, FUSE_LOOKUP, 4, "name", 5);
	kernel_send_to(g, FUSE_SETXATTR, 6, a, set, sizeof(set));
	fuse_client_pull(g->f, true, g->now_ns);
	g->now_ns += 10;
	respond(g, 1, 0, NULL, 0);
	expect_reply(g, 6, 0);
	respond_tail(g, 0, 0, &e, sizeof(e), &t);
	expect_reply(g, 4, 0);
	assert_true(is_asked(g, a, "user.x"));
	/* Nor does a repeated answer, which may be old. */
	g->now_ns += 10;
	kernel_send(g, FUSE_LOOKUP, 8 | FUSE_PROTO_UNIQUE_RESEND, "name", 5);
	fuse_client_pull(g->f, true, g->now_ns);
	respond_tail(g, 0, 0, &e, sizeof(e), &t);
	expect_reply(g, 8 | FUSE_PROTO_UNIQUE_RESEND, 0);
	assert_true(is_asked(g, a, "user.x"));
	/* Nor after another session has asked again. */
	g->now_ns += 10;
	kernel_send(g, FUSE_LOOKUP, 10, "name", 5);
	fuse_client_pull(g->f, true, g->now_ns);
	server_restarts(g, 1, 1);
	respond_tail(g, 0, 0, &e, sizeof(e), &t);
	expect_reply(g, 10, 0);
	assert_true(is_asked(g, a, "user.x"));
	/* But an answer to a later request does. */
	g->now_ns += 10;
	assert_true(lookup_bare(g, "handle-a", true) == a);
	assert_false(is_asked(g, a, "user.x"));
}

/* A record that another file had before. */
static void test_a_reused_record_has_no_cached_xattrs(void **state)
{
	struct rig *g = *state;
	uint64_t a, b;

	bring_up(g);
	a = lookup_bare(g, "handle-a", true);
	forget(g, a, 1);
	b = lookup_bare(g, "handle-b", false);
	assert_int_equal((uint32_t)a, (uint32_t)b);
	assert_true(is_asked(g, b, "user.x"));
}

/* ---- directories ---- */

static const struct fuse_attr folder = {.ino = 1, .mode = S_IFDIR | 0755, .nlink = 2, .size = 60};

static void unlink_send(struct rig *g, uint64_t unique)
{
	kernel_send(g, FUSE_UNLINK, unique, "name", 5);
	fuse_client_pull(g->f, true, g->now_ns);
}

static void unlink_answer(struct rig *g, unsigned call, uint64_t unique, uint64_t size)
{
	struct tail t = tail_make(FUSE_PROTO_RESP_DIR_ATTR, 0);
	struct fuse_attr attr = folder;

	attr.size = size;
	tail_add(&t, &attr, sizeof(attr));
	respond_tail(g, call, 0, NULL, 0, &t);
	expect_reply(g, unique, 0);
}

/* The size of the root that the kernel gets; 0: the server is asked. */
static uint64_t root_size(struct rig *g)
{
	struct fuse_getattr_in in = {.getattr_flags = 0};
	struct fuse_attr_out out = {.attr.size = 0};
	struct fuse_out_header h;
	unsigned n = n_calls;

	kernel_send(g, FUSE_GETATTR, g->unique += 2, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	if (n_calls > n) {
		respond(g, n_calls - 1, -EACCES, NULL, 0);
		expect_reply(g, g->unique, -EACCES);
		return 0;
	}
	assert_int_equal(kernel_receive(g, &h, &out, sizeof(out)), sizeof(h) + sizeof(out));
	assert_true(out.attr_valid == 0 || out.attr_valid_nsec == 0); /* one second at most */
	return out.attr.size;
}

static void test_dir_attributes_follow_the_last_change(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	assert_int_equal(root_size(g), 0);
	unlink_send(g, 4);
	unlink_answer(g, 0, 4, 60);
	g->now_ns += NSEC_PER_SEC / 2;
	assert_int_equal(root_size(g), 60);
	g->now_ns += NSEC_PER_SEC / 2;
	assert_int_equal(root_size(g), 0);
	/* A change whose answer has no directory attributes. */
	unlink_send(g, 6);
	unlink_answer(g, 0, 6, 50);
	assert_int_equal(root_size(g), 50);
	unlink_send(g, 8);
	respond(g, 0, 0, NULL, 0);
	expect_reply(g, 8, 0);
	assert_int_equal(root_size(g), 0);
}

/* Of two concurrent changes, the order of the answers is unknown. */
static void test_concurrent_changes_are_not_cached(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	unlink_send(g, 4);
	unlink_send(g, 6);
	unlink_answer(g, 1, 6, 50);
	assert_int_equal(root_size(g), 50); /* the other has not been acknowledged */
	unlink_answer(g, 0, 4, 60);
	assert_int_equal(root_size(g), 0);
}

static void test_bad_dir_attributes_are_not_cached(void **state)
{
	struct tail t = tail_make(FUSE_PROTO_RESP_DIR_ATTR, 0), cut = t;
	struct fuse_attr attr = folder;
	struct rig *g = *state;

	bring_up(g);
	attr.mode = S_IFREG | 0644;
	tail_add(&t, &attr, sizeof(attr));
	unlink_send(g, 4);
	respond_tail(g, 0, 0, NULL, 0, &t);
	expect_reply(g, 4, 0);
	assert_int_equal(root_size(g), 0);
	tail_add(&cut, &folder, sizeof(folder) - 1);
	unlink_send(g, 6);
	respond_tail(g, 0, 0, NULL, 0, &cut);
	expect_reply(g, 6, -EIO);
}

/* ---- ends of directories ---- */

static uint64_t open_root(struct rig *g)
{
	struct fuse_open_in in = {.flags = O_DIRECTORY};
	struct fuse_open_out o = {.fh = 9};
	struct fuse_out_header out;

	kernel_send(g, FUSE_OPENDIR, g->unique += 2, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	respond(g, n_calls - 1, 0, &o, sizeof(o));
	assert_int_equal(kernel_receive(g, &out, &o, sizeof(o)), sizeof(out) + sizeof(o));
	return o.fh;
}

/* Whether the server was asked. */
static bool read_root(struct rig *g, uint64_t fh, uint64_t off)
{
	struct fuse_read_in in = {.fh = fh, .offset = off, .size = 4096};
	unsigned n = n_calls;

	kernel_send(g, FUSE_READDIR, g->unique += 2, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	return n_calls > n;
}

/* One entry, behind which the directory ends at offset 7. */
static void read_to_end(struct rig *g, uint64_t fh, uint32_t name_len)
{
	struct {
		struct fuse_dirent d;
		char name[8];
	} body = {.d = {.ino = 3, .off = 7, .namelen = name_len}, .name = "x"};
	struct tail t = tail_make(FUSE_PROTO_RESP_END, 0);

	assert_true(read_root(g, fh, 0));
	respond_tail(g, n_calls - 1, 0, &body, sizeof(body), &t);
	expect_reply(g, g->unique, 0);
}

static bool end_is_known(struct rig *g, uint64_t fh)
{
	bool asked = read_root(g, fh, 7);

	if (asked)
		respond(g, n_calls - 1, 0, NULL, 0);
	expect_reply(g, g->unique, 0);
	return !asked;
}

static void test_the_end_of_a_directory_is_answered_locally(void **state)
{
	struct rig *g = *state;
	uint64_t fh, other;

	bring_up(g);
	fh = open_root(g);
	other = open_root(g);
	read_to_end(g, fh, 1);
	assert_false(end_is_known(g, other));
	assert_true(end_is_known(g, fh));
	assert_false(end_is_known(g, fh)); /* a second read may be intended */
	read_to_end(g, fh, 1);
	g->now_ns += NSEC_PER_SEC;
	assert_false(end_is_known(g, fh));
	/* This client's own changes are visible. */
	read_to_end(g, fh, 1);
	unlink_send(g, 90);
	unlink_answer(g, n_calls - 1, 90, 4);
	assert_false(end_is_known(g, fh));
	/* An entry that is longer than the answer. */
	read_to_end(g, fh, 200);
	assert_false(end_is_known(g, fh));
}

/* ---- absent names ---- */

/* A directory that the server reports as empty and leased. */
static uint64_t mkdir_empty(struct rig *g, const char *handle, uint64_t again)
{
	uint8_t arg[sizeof(struct fuse_mkdir_in) + 2] = {[sizeof(struct fuse_mkdir_in)] = 'd'};
	struct fuse_entry_out e = entry_make(S_IFDIR | 0755);
	struct tail t = tail_make(0, 1);
	struct fuse_out_header out;

	e.generation = FUSE_PROTO_EMPTY;
	kernel_send(g, FUSE_MKDIR, (g->unique += 2) | again, arg, sizeof(arg));
	assert_true(fuse_client_pull(g->f, true, g->now_ns) > 0);
	tail_add_handle(&t, handle);
	respond_tail(g, n_calls - 1, 0, &e, sizeof(e), &t);
	assert_true(kernel_receive(g, &out, &e, sizeof(e)) > 0);
	assert_int_equal(out.error, 0);
	return e.nodeid;
}

/* Whether a LOOKUP of the name reaches the server. */
static bool name_is_asked(struct rig *g, uint64_t node, const char *name)
{
	bool asked;

	kernel_send_to(g, FUSE_LOOKUP, g->unique += 2, node, name, strlen(name) + 1);
	fuse_client_pull(g->f, true, g->now_ns);
	asked = n_calls > 0;
	if (asked)
		respond(g, n_calls - 1, -ENOENT, NULL, 0);
	expect_reply(g, g->unique, -ENOENT);
	return asked;
}

/* Tries to create the name and fails: it may exist all the same. */
static void name_make(struct rig *g, uint32_t opcode, uint64_t node, size_t arg_bytes,
		      uint64_t newdir, const char *names, size_t names_bytes)
{
	uint8_t arg[128] = {0};

	if (arg_bytes > 0)
		memcpy(arg, &newdir, sizeof(newdir));
	memcpy(arg + arg_bytes, names, names_bytes);
	kernel_send_to(g, opcode, g->unique += 2, node, arg, arg_bytes + names_bytes);
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(n_calls, 1);
	respond(g, 0, -EIO, NULL, 0);
	expect_reply(g, g->unique, -EIO);
}

static void test_a_new_directory_has_no_names(void **state)
{
	struct rig *g = *state;
	uint64_t d;

	bring_up(g);
	d = mkdir_empty(g, "handle-d", 0);
	assert_false(name_is_asked(g, d, "f"));
	assert_true(name_is_asked(g, FUSE_ROOT_ID, "f"));
	later_ns = g->now_ns + NSEC_PER_SEC; /* created meanwhile, but not seen yet */
	assert_true(name_is_asked(g, d, "f"));
	later_ns = 0;
	assert_false(name_is_asked(g, d, "f"));
	g->now_ns += NSEC_PER_SEC;
	assert_true(name_is_asked(g, d, "f"));
	/* A repeated answer may be old; nor does another session's answer count. */
	d = mkdir_empty(g, "handle-e", FUSE_PROTO_UNIQUE_RESEND);
	assert_true(name_is_asked(g, d, "f"));
	d = mkdir_empty(g, "handle-g", 0);
	assert_false(name_is_asked(g, d, "f"));
	server_restarts(g, 2, 1);
	assert_true(name_is_asked(g, d, "f"));
}

static void test_created_names_are_looked_up(void **state)
{
	struct rig *g = *state;
	uint64_t d;

	bring_up(g);
	d = mkdir_empty(g, "handle-d", 0);
	name_make(g, FUSE_CREATE, d, sizeof(struct fuse_create_in), 0, "create", 7);
	name_make(g, FUSE_MKNOD, d, sizeof(struct fuse_mknod_in), 0, "mknod", 6);
	name_make(g, FUSE_MKDIR, d, sizeof(struct fuse_mkdir_in), 0, "mkdir", 6);
	name_make(g, FUSE_SYMLINK, d, 0, 0, "symlink\0to", 11);
	name_make(g, FUSE_LINK, d, sizeof(struct fuse_link_in), FUSE_ROOT_ID, "link", 5);
	name_make(g, FUSE_RENAME, FUSE_ROOT_ID, sizeof(struct fuse_rename_in), d, "old\0rename",
		  11);
	name_make(g, FUSE_RENAME2, FUSE_ROOT_ID, sizeof(struct fuse_rename2_in), d, "old\0rename2",
		  12);
	assert_true(name_is_asked(g, d, "create"));
	assert_true(name_is_asked(g, d, "mknod"));
	assert_true(name_is_asked(g, d, "mkdir"));
	assert_true(name_is_asked(g, d, "symlink"));
	assert_true(name_is_asked(g, d, "link"));
	assert_true(name_is_asked(g, d, "rename"));
	assert_true(name_is_asked(g, d, "rename2"));
	assert_true(name_is_asked(g, d, "CREATE")); /* one name for some file systems */
	assert_false(name_is_asked(g, d, "old"));
	assert_false(name_is_asked(g, d, "to"));
}

/* Only the server can tell which names its file system treats as equal. */
static void test_only_plain_names_are_cached(void **state)
{
	struct rig *g = *state;
	uint64_t d;

	bring_up(g);
	d = mkdir_empty(g, "handle-d", 0);
	assert_true(name_is_asked(g, d, "stra\xc3\x9f\x65"));
	assert_true(name_is_asked(g, d, "LONGNA~1"));
	assert_true(name_is_asked(g, d, "end."));
	assert_true(name_is_asked(g, d, "end "));
	assert_false(name_is_asked(g, d, "strasse"));
	name_make(g, FUSE_CREATE, d, sizeof(struct fuse_create_in), 0, "stra\xc3\x9f\x65", 8);
	assert_true(name_is_asked(g, d, "strasse"));
	/* Directories do not share entries. */
	d = mkdir_empty(g, "handle-e", 0);
	assert_false(name_is_asked(g, d, "strasse"));
}

/* ---- changes that change nothing ---- */

#define CHOWN (FATTR_UID | FATTR_GID | FATTR_KILL_SUIDGID)

static uint64_t created_fh; /* of the last */

/* A file that the client creates, with a lease. */
static uint64_t create_lent(struct rig *g, const char *handle, uint32_t mode, uint32_t flags,
			    uint64_t generation)
{
	uint8_t arg[sizeof(struct fuse_create_in) + 2] = {[sizeof(struct fuse_create_in)] = 'f'};
	const struct fuse_create_in in = {.flags = O_WRONLY | O_CREAT | flags};
	struct {
		struct fuse_entry_out e;
		struct fuse_open_out o;
	} body = {.e = entry_make(S_IFREG | mode), .o = {.fh = 5}};
	struct tail t = tail_make(0, 1);
	struct fuse_out_header out;

	memcpy(arg, &in, sizeof(in));
	body.e.generation = generation;
	body.e.attr.uid = 3;
	body.e.attr.gid = 4;
	kernel_send(g, FUSE_CREATE, g->unique += 2, arg, sizeof(arg));
	fuse_client_pull(g->f, true, g->now_ns);
	tail_add_handle(&t, handle);
	respond_tail(g, n_calls - 1, 0, &body, sizeof(body), &t);
	assert_true(kernel_receive(g, &out, &body, sizeof(body)) > 0);
	assert_int_equal(out.error, 0);
	created_fh = body.o.fh;
	return body.e.nodeid;
}

static uint64_t create_plain(struct rig *g, const char *handle)
{
	return create_lent(g, handle, 0644, O_EXCL, FUSE_PROTO_LEASED | FUSE_PROTO_NO_XATTRS);
}

/* chown to 3:4 and chmod to 644. Whether the server is asked. */
static bool set(struct rig *g, uint64_t node, uint32_t valid)
{
	const struct fuse_setattr_in in = {.valid = valid, .uid = 3, .gid = 4, .mode = 0644};
	unsigned n = n_calls;

	kernel_send_to(g, FUSE_SETATTR, g->unique += 2, node, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	return n_calls > n;
}

/* Its answer; *ret_valid: whether the kernel may cache it. */
static struct fuse_attr set_reply(struct rig *g, bool *ret_valid)
{
	struct fuse_attr_out a = {.attr_valid = 0};
	struct fuse_out_header out;

	assert_int_equal(kernel_receive(g, &out, &a, sizeof(a)), sizeof(out) + sizeof(a));
	assert_true(out.unique == g->unique && out.error == 0);
	*ret_valid = a.attr_valid > 0 || a.attr_valid_nsec > 0;
	return a.attr;
}

static bool set_here(struct rig *g, uint64_t node, uint32_t valid)
{
	bool keeps;

	if (set(g, node, valid)) {
		respond(g, n_calls - 1, -EACCES, NULL, 0);
		expect_reply(g, g->unique, -EACCES);
		return false;
	}
	assert_int_equal(set_reply(g, &keeps).uid, 3);
	assert_false(keeps);
	return true;
}

static void set_done(struct rig *g, unsigned call, uint32_t mode)
{
	struct fuse_attr_out a = {
		.attr = {.ino = 7, .mode = S_IFREG | mode, .nlink = 1, .uid = 3, .gid = 4},
		.dummy = FUSE_PROTO_NO_XATTRS};

	respond(g, call, 0, &a, sizeof(a));
}

/* The call is an internal request, for the ctime only. */
static bool is_touch(unsigned call)
{
	struct fuse_setattr_in in;

	memcpy(&in, calls[call].msg + sizeof(struct fuse_in_header), sizeof(in));
	return call_header(call).opcode == FUSE_SETATTR && in.valid == FATTR_CTIME &&
	       call_header(call).unique & 1ULL << 62;
}

static void test_a_setattr_that_changes_nothing_is_answered_locally(void **state)
{
	struct rig *g = *state;
	uint64_t n;

	g->features = FUSE_PROTO_FEATURE_TOUCH;
	bring_up(g);
	n = create_plain(g, "handle-a");
	assert_true(set_here(g, n, CHOWN));
	assert_true(set_here(g, n, FATTR_MODE));
	/* After a while the server updates the ctime, once. */
	assert_int_equal(n_calls, 0);
	assert_int_equal(fuse_client_tick(g->f, g->now_ns), g->now_ns + 5 * NSEC_PER_MSEC);
	g->now_ns += 5 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_true(n_calls == 1 && is_touch(0));
	expect_handle(0, 0, "handle-a");
	/* Requests that set or show attributes wait for it. */
	assert_false(set(g, n, FATTR_MODE));
	set_done(g, 0, 0644);
	fuse_client_tick(g->f, g->now_ns);
	assert_true(n_calls == 1 && !is_touch(0));
	set_done(g, 0, 0644);
	expect_reply(g, g->unique, 0);
	g->now_ns += NSEC_PER_SEC / 2;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
}

static void test_a_later_change_updates_the_ctime(void **state)
{
	struct rig *g = *state;
	uint64_t n;

	g->features = FUSE_PROTO_FEATURE_TOUCH;
	bring_up(g);
	n = create_plain(g, "handle-a");
	assert_true(set(g, n, FATTR_MTIME));
	set_done(g, 0, 0644);
	expect_reply(g, g->unique, 0);
	assert_true(set_here(g, n, CHOWN));
	assert_true(set(g, n, FATTR_MTIME));
	set_done(g, 0, 0600);
	expect_reply(g, g->unique, 0);
	g->now_ns += 50 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
	assert_false(set_here(g, n, FATTR_MODE)); /* the file has changed now */
	/* After a failed request the state is unknown. */
	assert_false(set_here(g, n, CHOWN));
}

static void test_a_reader_sees_the_deferred_ctime(void **state)
{
	const struct fuse_getattr_in in = {.getattr_flags = 0};
	const struct fuse_open_out o = {.fh = 6};
	struct rig *g = *state;
	uint64_t n;

	g->features = FUSE_PROTO_FEATURE_TOUCH;
	bring_up(g);
	n = create_plain(g, "handle-a");
	assert_true(set_here(g, n, CHOWN));
	kernel_send_to(g, FUSE_GETATTR, g->unique += 2, n, &in, sizeof(in));
	kernel_send(g, FUSE_LOOKUP, g->unique += 2, "f", 2);
	kernel_send(g, FUSE_UNLINK, g->unique += 2, "x", 2);
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(n_calls, 2);
	assert_true(is_touch(0));
	assert_int_equal(call_header(1).opcode, FUSE_UNLINK);
	/* If a session or a worker ends before the update, it is sent again. */
	server_restarts(g, 2, 1);
	assert_int_equal(call_header(0).opcode, FUSE_OPEN);
	respond(g, 0, 0, &o, sizeof(o));
	fuse_client_tick(g->f, g->now_ns);
	assert_true(is_touch(0));
	worker_restarts(g);
	fuse_client_tick(g->f, g->now_ns);
	assert_true(n_calls == 1 && is_touch(0));
	expect_handle(0, 0, "handle-a");
	set_done(g, 0, 0644);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
	worker_restarts(g);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
}

static void test_setattr_of_an_uncached_file_reaches_the_server(void **state)
{
	const unsigned lent = FUSE_PROTO_LEASED | FUSE_PROTO_NO_XATTRS;
	struct rig *g = *state;
	uint64_t n;

	g->features = FUSE_PROTO_FEATURE_TOUCH;
	bring_up(g);
	assert_false(
		set_here(g, create_lent(g, "a", 0644, 0, lent), CHOWN)); /* the answer may be old */
	assert_false(set_here(g, create_lent(g, "b", 0644, O_EXCL, FUSE_PROTO_LEASED), CHOWN));
	assert_false(set_here(g, create_lent(g, "c", 0644, O_EXCL, FUSE_PROTO_NO_XATTRS), CHOWN));
	assert_false(set_here(g, create_lent(g, "d", 04644, O_EXCL, lent), CHOWN));
	assert_false(set_here(g, create_plain(g, "e"), CHOWN | FATTR_MTIME_NOW));
	assert_false(set_here(g, create_lent(g, "f", 0600, O_EXCL, lent), FATTR_MODE));
	n = create_plain(g, "h");
	assert_true(set(g, n, FATTR_MTIME)); /* in flight, and possibly executed first */
	assert_true(set(g, n, CHOWN));
	set_done(g, 1, 0644);
	expect_reply(g, g->unique, 0);
	set_done(g, 0, 0644);
	expect_reply(g, g->unique - 2, 0);
	assert_false(set_here(g, n, CHOWN));
	n = create_plain(g, "j");
	g->now_ns += NSEC_PER_SEC;
	assert_false(set_here(g, n, CHOWN));
}

static uint64_t create_and_write_through(struct rig *g, const char *handle)
{
	const struct fuse_write_out done = {.size = 1};
	uint64_t n = create_plain(g, handle);
	struct {
		struct fuse_write_in in;
		char data[8];
	} w = {.in = {.fh = created_fh, .size = 1, .flags = O_DSYNC}};

	kernel_send_to(g, FUSE_WRITE, g->unique += 2, n, &w, sizeof(w.in) + 1);
	fuse_client_pull(g->f, true, g->now_ns);
	respond(g, n_calls - 1, 0, &done, sizeof(done));
	expect_reply(g, g->unique, 0);
	return n;
}

/* No written data may be lost, although the size differs from CREATE's answer. */
static void test_setattr_after_a_write_reaches_the_server(void **state)
{
	struct rig *g = *state;
	uint64_t n;

	g->features = FUSE_PROTO_FEATURE_TOUCH;
	bring_up(g);
	assert_false(set_here(g, create_and_write_through(g, "handle-a"), CHOWN));
	n = create_and_write_through(g, "handle-b");
	assert_true(set(g, n, FATTR_MTIME));
	set_done(g, 0, 0644);
	expect_reply(g, g->unique, 0);
	assert_true(set_here(g, n, CHOWN)); /* its attributes are known */
}

static void test_a_server_that_checks_rights_gets_setattr(void **state)
{
	struct rig *g = *state;

	g->features = FUSE_PROTO_FEATURES & ~FUSE_PROTO_FEATURE_TOUCH;
	bring_up(g);
	assert_false(set_here(g, create_plain(g, "a"), CHOWN));
}

static void test_init_lists_our_features(void **state)
{
	struct fuse_init_in in;
	struct rig *g = *state;

	kernel_init(g, 38, FUSE_PROTO_FLAGS);
	fuse_client_pull(g->f, true, NOW0);
	session_up(g);
	memcpy(&in, calls[0].msg + sizeof(struct fuse_in_header), sizeof(in));
	/* Locks only for a mount with locks: cluster, and write-back only if it is configured. */
	assert_int_equal(in.unused[0], FUSE_PROTO_FEATURES & ~(FUSE_PROTO_FEATURE_LOCKS |
							       FUSE_PROTO_FEATURE_RECLAIM |
							       FUSE_PROTO_FEATURE_WRITE_BACK));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_files_without_xattrs_are_answered_locally),
		CASE(test_label_requests_get_eopnotsupp_without_selinux),
		CASE(test_late_answers_are_not_cached),
		CASE(test_a_reused_record_has_no_cached_xattrs),
		CASE(test_dir_attributes_follow_the_last_change),
		CASE(test_concurrent_changes_are_not_cached),
		CASE(test_bad_dir_attributes_are_not_cached),
		CASE(test_the_end_of_a_directory_is_answered_locally),
		CASE(test_a_new_directory_has_no_names),
		CASE(test_created_names_are_looked_up),
		CASE(test_only_plain_names_are_cached),
		CASE(test_a_setattr_that_changes_nothing_is_answered_locally),
		CASE(test_a_later_change_updates_the_ctime),
		CASE(test_a_reader_sees_the_deferred_ctime),
		CASE(test_setattr_of_an_uncached_file_reaches_the_server),
		CASE(test_setattr_after_a_write_reaches_the_server),
		CASE(test_a_server_that_checks_rights_gets_setattr),
		CASE(test_init_lists_our_features),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
