/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The identity of requests: squashing, untrusted users, id maps in both directions, set-id bits,
 * privileges and reserved space. Needs root.
 */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "tests/lib/fuse/helper_end.h"
#include "tests/lib/fuse/server_test.h"
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#define NOBODY 65534U

static void as(uint32_t uid, uint32_t gid)
{
	rig.uid = uid;
	rig.gid = gid;
}

/* Reconnects the client under this rule. */
static void rule(enum launch_squash squash)
{
	struct launch_client *c = &rig.cfg.clients[0];

	c->squash = squash;
	c->anonuid = c->anongid = NOBODY;
	fuse_server_client_gone(rig.client);
	rig_connect(&rig);
}

static void put(const char *name, uint32_t uid, uint32_t gid, mode_t mode)
{
	int fd = open(rig_path(&rig, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "text", 4), 4);
	assert_int_equal(fchown(fd, uid, gid), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void put_dir(const char *name, uint32_t uid, uint32_t gid, mode_t mode)
{
	assert_int_equal(mkdir(rig_path(&rig, name), 0700), 0);
	assert_int_equal(chown(rig_path(&rig, name), uid, gid), 0);
	assert_int_equal(chmod(rig_path(&rig, name), mode), 0);
}

/* In a child process: this thread has given up privileges to the server. */
static void set_mode(const char *name, mode_t mode)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	pid_t child = fork();
	int status;

	if (child == 0) {
		setfsuid(0);
		if (syscall(SYS_capget, &head, data) < 0)
			_exit(1);
		for (unsigned i = 0; i < 2; i++)
			data[i].effective = data[i].permitted;
		_exit(syscall(SYS_capset, &head, data) < 0 ||
		      chmod(rig_path(&rig, name), mode) < 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static struct stat stat_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(rig_path(&rig, name), &st), 0);
	return st;
}

static uint64_t find(const char *name)
{
	uint64_t node = 0;

	assert_int_equal(rig_lookup(&rig, ROOT, name, &node), 0);
	return node;
}

static int open_as(const char *name, uint32_t flags, uint32_t uid, uint32_t gid)
{
	uint64_t fh, node;
	int r;

	as(uid, gid);
	node = find(name);
	r = rig_open(&rig, node, flags, &fh);
	if (r == 0)
		assert_int_equal(rig_release(&rig, node, fh), 0);
	return r;
}

static int set(const char *name, uint32_t valid, uint32_t mode, uint32_t uid, uint32_t gid)
{
	struct fuse_setattr_in in = {.valid = valid, .mode = mode, .uid = uid, .gid = gid};

	return rig_do(&rig, FUSE_SETATTR, find(name), RIG_ARG(in));
}

static int make_node(uint64_t dir, const char *name, mode_t mode)
{
	struct fuse_mknod_in in = {.mode = mode, .rdev = (uint32_t)makedev(1, 3)};

	return rig_do(&rig, FUSE_MKNOD, dir, RIG_ARG(in), .name = name);
}

static void root_squash_maps_root(void **state)
{
	uint64_t node, fh, dir;

	put("secret", 0, 0, 0600);
	put("public", 0, 0, 0644);
	put("theirs", 1000, 1000, 0600);
	put_dir("drop", 0, 0, 01777);
	put_dir("hidden", 0, 0, 0700);
	rule(LAUNCH_SQUASH_ROOT);
	as(0, 0);
	assert_int_equal(open_as("secret", O_RDONLY, 0, 0), -EACCES);
	assert_int_equal(open_as("public", O_RDONLY, 0, 0), 0);
	assert_int_equal(open_as("public", O_RDWR, 0, 0), -EACCES);
	assert_int_equal(open_as("public", O_RDONLY | O_TRUNC, 0, 0), -EACCES);
	assert_int_equal(open_as("theirs", O_RDONLY, 0, 0), -EACCES);
	assert_int_equal(rig_create(&rig, ROOT, "new", O_RDWR, 0644, &node, &fh), -EACCES);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "public"), -EACCES);
	assert_int_equal(set("public", FATTR_MODE, 0777, 0, 0), -EPERM);
	assert_int_equal(set("public", FATTR_UID, 0, 1000, 0), -EPERM);
	dir = find("hidden");
	assert_int_equal(rig_lookup(&rig, dir, "any", &node), -EACCES);
	assert_int_equal(rig_open(&rig, dir, O_DIRECTORY, &fh), -EACCES);
	dir = find("drop");
	assert_int_equal(rig_create(&rig, dir, "new", O_RDWR, 0600, &node, &fh), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "x", 1), 1);
	assert_int_equal(stat_of("drop/new").st_uid, NOBODY);
	assert_int_equal(stat_of("drop/new").st_gid, NOBODY);
	assert_int_equal(make_node(dir, "null", S_IFCHR | 0666), -EPERM);
	assert_int_equal(make_node(dir, "pipe", S_IFIFO | 0666), 0);
	as(1000, 1000); /* only the owner removes it from a sticky directory */
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, dir, .name = "new"), -EPERM);
	as(0, 0);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, dir, .name = "new"), 0);
}

/* A client that invents users gets only the rights of one of them. */
static void clients_cannot_invent_root(void **state)
{
	put("secret", 0, 0, 0600);
	put("roots", 0, 0, 0660);
	put("mine", 1000, 1000, 0600);
	put("ours", 0, 500, 0660);
	put_dir("dir", 0, 500, 0770);
	rule(LAUNCH_SQUASH_ROOT);
	assert_int_equal(open_as("secret", O_RDONLY, 1000, 1000), -EACCES);
	assert_int_equal(open_as("mine", O_RDWR, 1000, 1000), 0);
	assert_int_equal(open_as("mine", O_RDWR, 1001, 1000), -EACCES);
	/* The client names a user's supplementary groups, except root's. */
	assert_int_equal(open_as("ours", O_RDWR, 1000, 1000), 0);
	assert_int_equal(open_as("roots", O_RDWR, 1000, 1000), -EACCES);
	assert_int_equal(open_as("roots", O_RDWR, 1000, 0), -EACCES);
	assert_int_equal(open_as("ours", O_RDWR, 0, 0), -EACCES);
	as(1000, 1000);
	assert_int_equal(make_node(find("dir"), "f", S_IFREG | 0600), 0);
	assert_int_equal(stat_of("dir/f").st_uid, 1000);
	assert_int_equal(set("mine", FATTR_GID, 0, 0, 500), 0); /* one of the user's groups */
	assert_int_equal(set("mine", FATTR_GID, 0, 0, 0), -EPERM);
	assert_int_equal(set("mine", FATTR_UID, 0, 1001, 0), -EPERM);
}

static void all_squash_maps_every_user(void **state)
{
	uint64_t node, fh;

	put("mine", 1000, 1000, 0600);
	put("squashed", NOBODY, NOBODY, 0600);
	put_dir("dir", NOBODY, NOBODY, 0700);
	put("ours", 0, 500, 0660);
	rule(LAUNCH_SQUASH_ALL);
	assert_int_equal(open_as("mine", O_RDONLY, 1000, 1000), -EACCES);
	assert_int_equal(open_as("ours", O_RDONLY, 1000, 500), -EACCES);
	assert_int_equal(open_as("squashed", O_RDWR, 1000, 1000), 0);
	assert_int_equal(rig_create(&rig, find("dir"), "f", O_RDWR, 0600, &node, &fh), 0);
	assert_int_equal(stat_of("dir/f").st_uid, NOBODY);
}

static void without_squashing_the_client_checks_permissions(void **state)
{
	uint64_t node, fh;

	put("secret", 0, 0, 0600);
	rule(LAUNCH_SQUASH_NONE);
	assert_int_equal(open_as("secret", O_RDWR, 1000, 1000), 0);
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0600, &node, &fh), 0);
	assert_int_equal(stat_of("f").st_uid, 1000);
	as(0, 0);
	assert_int_equal(make_node(ROOT, "null", S_IFCHR | 0666), 0);
	assert_int_equal(set("f", FATTR_UID, 0, 77, 0), 0);
	assert_int_equal(stat_of("f").st_uid, 77);
}

/* Requests of different users alternate on one thread. */
static void identities_do_not_leak_between_requests(void **state)
{
	uint64_t node, fh;

	put_dir("dir", 0, 0, 0777);
	put("ours", 0, 500, 0640);
	rule(LAUNCH_SQUASH_ROOT);
	for (uint32_t uid = 1; uid < 40; uid++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", uid);
		as(uid % 3 ? uid : 0, uid);
		assert_int_equal(rig_create(&rig, find("dir"), name, O_RDWR, 0600, &node, &fh), 0);
		assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "x", 1), 1);
		snprintf(name, sizeof(name), "dir/f%u", uid);
		assert_int_equal(stat_of(name).st_uid, uid % 3 ? uid : NOBODY);
		assert_int_equal(open_as("ours", O_RDONLY, uid, uid), 0);
		assert_int_equal(open_as("ours", O_RDONLY, 0, uid), -EACCES);
	}
	/* The server's own operations keep working. */
	rig_stop(&rig);
	rig_start(&rig);
	as(0, 0);
	assert_int_equal(open_as("ours", O_RDONLY, 1, 1), 0);
}

static void owners_can_reclaim_their_files(void **state)
{
	uint64_t node, fh, other, other_fh;

	put_dir("dir", 0, 0, 0777);
	put("theirs", 2000, 2000, 0644);
	rule(LAUNCH_SQUASH_ROOT);
	as(1000, 1000);
	assert_int_equal(rig_create(&rig, find("dir"), "f", O_RDWR, 0400, &node, &fh), 0);
	other = find("theirs");
	assert_int_equal(rig_open(&rig, other, O_RDONLY, &other_fh), 0);
	assert_int_equal(chmod(rig_path(&rig, "theirs"), 0600), 0);
	rig_stop(&rig);
	rig_start(&rig);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "x", 1), 1);
	assert_int_equal(rig.reopen_r, -EACCES);
	assert_int_equal(rig_open(&rig, node, O_RDWR, &fh), -EACCES);
}

static void map(bool groups, uint32_t client, uint32_t server, uint32_t count)
{
	struct launch_client *c = &rig.cfg.clients[0];

	rig.cfg.ids[rig.cfg.n_ids++] = (struct launch_ids){client, server, count};
	if (groups)
		c->n_gids++;
	else
		c->n_uids++;
}

static void users_are_mapped_both_ways(void **state)
{
	uint8_t acl[] = {2, 0, 0,   0,	 1,   0,   7,  0, 255, 255, 255, 255, 2,   0,  6,
			 0, 9, 0,   0,	 0,   4,   0,  5, 0,   255, 255, 255, 255, 16, 0,
			 7, 0, 255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255};
	struct fuse_setxattr_in xin = {.size = sizeof(acl)};
	struct fuse_getxattr_in gin = {.size = sizeof(acl)};
	const char *name = "system.posix_acl_access";
	uint64_t node, fh;
	struct fuse_attr attr;
	uint8_t there[64];

	put_dir("dir", 0, 0, 0777);
	put("others", 1000, 1000, 0600);
	map(false, 1, 5001, 10);
	map(true, 1, 6001, 10);
	rule(LAUNCH_SQUASH_ROOT);
	as(3, 4);
	assert_int_equal(rig_create(&rig, find("dir"), "f", O_RDWR, 0600, &node, &fh), 0);
	assert_int_equal(stat_of("dir/f").st_uid, 5003);
	assert_int_equal(stat_of("dir/f").st_gid, 6004);
	assert_int_equal(rig_getattr(&rig, node, &attr), 0);
	assert_int_equal(attr.uid, 3);
	assert_int_equal(attr.gid, 4);
	assert_int_equal(rig_getattr(&rig, find("others"), &attr), 0);
	assert_int_equal(attr.uid, NOBODY);
	assert_int_equal(open_as("others", O_RDONLY, 1000, 1000), -EACCES);
	as(3, 4);
	assert_int_equal(rig_do(&rig, FUSE_SETXATTR, node, .arg = &xin, .arg_len = 8, .name = name,
				.data = acl, .data_len = sizeof(acl)),
			 0);
	assert_int_equal(getxattr(rig_path(&rig, "dir/f"), name, there, sizeof(there)),
			 sizeof(acl));
	assert_int_equal(there[16] | there[17] << 8, 5009);
	assert_int_equal(rig_do(&rig, FUSE_GETXATTR, node, RIG_ARG(gin), .name = name), 0);
	assert_memory_equal(rig.data, acl, sizeof(acl));
	acl[16] = 99; /* an unmapped id */
	assert_int_equal(rig_do(&rig, FUSE_SETXATTR, node, .arg = &xin, .arg_len = 8, .name = name,
				.data = acl, .data_len = sizeof(acl)),
			 -EINVAL);
}

static void owners_are_mapped_when_they_change(void **state)
{
	put("f", 5001, 6001, 0600);
	map(false, 0, 5000, 10);
	map(false, 100, 0, 1);
	rule(LAUNCH_SQUASH_NONE);
	as(100, 3); /* root here */
	assert_int_equal(set("f", FATTR_UID, 0, 7, 0), 0);
	assert_int_equal(stat_of("f").st_uid, 5007);
	assert_int_equal(set("f", FATTR_UID, 0, 10, 0), -EINVAL);
	as(0, 0); /* the client's root is 5000 here */
	assert_int_equal(set("f", FATTR_UID, 0, 1, 0), -EPERM);
}

/* The client's kernel, or its root, claims any of the mapped users; none reaches what these users
 * may not. */
static void a_map_fences_users_in_without_squashing(void **state)
{
	uint64_t node, fh;

	put("roots", 0, 0, 0600);
	put("others", 2000, 2000, 0600);
	put("mine", 5003, 6004, 0600);
	put("ours", 0, 6005, 0660);
	put("theirs", 0, 500, 0660);
	put_dir("hidden", 0, 0, 0700);
	map(false, 1, 5001, 10);
	map(true, 1, 6001, 10);
	rig_stop(&rig);
	rig_start(&rig);
	rule(LAUNCH_SQUASH_NONE);
	assert_int_equal(open_as("roots", O_RDONLY, 3, 4), -EACCES);
	assert_int_equal(open_as("roots", O_RDONLY, 0, 0), -EACCES);
	assert_int_equal(open_as("others", O_RDWR, 3, 4), -EACCES);
	assert_int_equal(open_as("mine", O_RDWR, 3, 4), 0);
	assert_int_equal(open_as("mine", O_RDWR, 4, 4), -EACCES);
	/* Only groups of the map can be the user's. */
	assert_int_equal(open_as("ours", O_RDWR, 3, 4), 0);
	assert_int_equal(open_as("theirs", O_RDWR, 3, 4), -EACCES);
	as(3, 4);
	assert_int_equal(rig_create(&rig, ROOT, "new", O_RDWR, 0600, &node, &fh), -EACCES);
	assert_int_equal(rig_lookup(&rig, find("hidden"), "any", &node), -EACCES);
	assert_int_equal(set("roots", FATTR_MODE, 0777, 0, 0), -EPERM);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "roots"), -EACCES);
}

static int set_xattr(uint64_t node, const char *name)
{
	struct fuse_setxattr_in in = {.size = 4};

	return rig_do(&rig, FUSE_SETXATTR, node, .arg = &in, .arg_len = 8, .name = name,
		      .data = "text", .data_len = 4);
}

/* By them the server's kernel decides what its own programs may do. */
static void security_attributes_are_refused(void **state)
{
	static const enum launch_squash squash[] = {LAUNCH_SQUASH_NONE, LAUNCH_SQUASH_ROOT};
	char value[16];

	put("f", 1000, 1000, 0666);
	for (size_t i = 0; i < ARRAY_SIZE(squash); i++) {
		rule(squash[i]);
		for (uint32_t uid = 0; uid <= 1000; uid += 1000) {
			as(uid, uid);
			assert_int_equal(set_xattr(find("f"), "security.selinux"), -EOPNOTSUPP);
			assert_int_equal(set_xattr(find("f"), "security.x"), -EOPNOTSUPP);
			assert_int_equal(
				rig_do(&rig, FUSE_REMOVEXATTR, find("f"), .name = "security.x"),
				-EOPNOTSUPP);
			assert_int_equal(
				getxattr(rig_path(&rig, "f"), "security.x", value, sizeof(value)),
				-1);
		}
	}
}

static void clients_without_a_rule_are_refused(void **state)
{
	struct launch_client *c = &rig.cfg.clients[0];
	struct fuse_server_client *client = NULL;
	uint8_t hello[FUSE_HELLO_BYTES];
	struct ip_addr in, out;

	assert_int_equal(ip_addr_parse("10.1.2.3", &in), 0);
	assert_int_equal(ip_addr_parse("10.2.2.3", &out), 0);
	assert_int_equal(ip_prefix_parse("10.1.0.0/16", &c->network), 0);
	fuse_hello_put(hello, &rig.hello);
	assert_int_equal(fuse_server_accept(rig.server, NULL, &out, hello, sizeof(hello), &client),
			 -EACCES);
	assert_int_equal(fuse_server_accept(rig.server, NULL, NULL, hello, sizeof(hello), &client),
			 -EACCES);
	assert_null(client);
	assert_int_equal(fuse_server_accept(rig.server, NULL, &in, hello, sizeof(hello), &client),
			 0);
	fuse_server_client_gone(client);
	strcpy(c->host, "host-a");
	assert_int_equal(fuse_server_accept(rig.server, NULL, &out, hello, sizeof(hello), &client),
			 -EDESTADDRREQ);
	c->n_addrs = 1;
	rig.cfg.client_addrs[0] = in;
	assert_int_equal(fuse_server_accept(rig.server, NULL, &out, hello, sizeof(hello), &client),
			 -EADDRNOTAVAIL);
	rig.cfg.client_addrs[0] = out;
	assert_int_equal(fuse_server_accept(rig.server, NULL, &out, hello, sizeof(hello), &client),
			 0);
	fuse_server_client_gone(client);
	c->read_only = true;
	assert_int_equal(fuse_server_accept(rig.server, NULL, &in, hello, sizeof(hello), &client),
			 -EROFS);
	rig.cfg.exports[0].n_clients = 0;
	assert_int_equal(fuse_server_accept(rig.server, NULL, &in, hello, sizeof(hello), &client),
			 -EACCES);
}

static void set_id_bits_are_cleared_as_locally(void **state)
{
	static const struct {
		mode_t mode, after;
	} cases[] = {{06755, 0755}, {02767, 0767}, {02755, 0755}, {04644, 0644}};
	uint64_t from, from_fh, to, to_fh;

	put("from", 1000, 1000, 0644);
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++)
		for (unsigned squash = 0; squash < 2; squash++)
			for (unsigned what = 0; what < 3; what++) {
				struct fuse_copy_file_range_in copy = {.len = 4};
				struct fuse_fallocate_in room = {.length = 9000};

				put("to", 2000, 500, 0666);
				rule(squash ? LAUNCH_SQUASH_ROOT : LAUNCH_SQUASH_NONE);
				as(1000, 1000);
				from = find("from");
				to = find("to");
				assert_int_equal(rig_open(&rig, from, O_RDONLY, &from_fh), 0);
				assert_int_equal(rig_open(&rig, to, O_RDWR, &to_fh), 0);
				set_mode("to", cases[i].mode);
				assert_int_equal(stat_of("to").st_mode & 07777, cases[i].mode);
				copy.fh_in = from_fh;
				copy.nodeid_out = to;
				copy.fh_out = room.fh = to_fh;
				if (what == 0)
					assert_int_equal(rig_do(&rig, FUSE_COPY_FILE_RANGE, from,
								RIG_ARG(copy)),
							 0);
				else if (what == 1)
					assert_int_equal(
						rig_do(&rig, FUSE_FALLOCATE, to, RIG_ARG(room)), 0);
				else
					assert_int_equal(
						rig_write(&rig, to, to_fh, 0, O_RDWR, "x", 1), 1);
				assert_int_equal(stat_of("to").st_mode & 07777, cases[i].after);
				assert_int_equal(rig_release(&rig, from, from_fh), 0);
				assert_int_equal(rig_release(&rig, to, to_fh), 0);
				assert_int_equal(unlink(rig_path(&rig, "to")), 0);
			}
}

/*
 * Clients have only the handles that they were given: from those of two objects, the one of an
 * object created between them cannot be made.
 */
static void handles_without_file_handles_cannot_be_guessed(void **state)
{
	struct fuse_handle *handles[3], hidden;
	uint64_t nodes[3], dir;
	struct fuse_attr attr;

	assert_int_equal(rig_mkdir(&rig, ROOT, "d", &dir), 0);
	assert_int_equal(mount("below", rig_path(&rig, "d"), "tmpfs", 0, NULL), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "d", &dir), 0);
	for (unsigned i = 0; i < 3; i++) {
		const char name[] = {'d', '/', (char)('a' + i), '\0'};

		put(name, 0, 0, 0600);
		assert_int_equal(rig_lookup(&rig, dir, name + 2, &nodes[i]), 0);
		handles[i] = &rig.nodes[nodes[i] - 1];
		assert_int_equal(handles[i]->bytes[0], FUSE_HANDLE_TABLE);
	}
	hidden = *handles[1];
	/* Changes the known handles into the hidden one byte by byte. */
	for (unsigned from = 0; from < 3; from += 2) {
		unsigned n_differ = 0;

		*handles[1] = *handles[from];
		for (unsigned i = 0; i < hidden.len; i++) {
			if (hidden.bytes[i] == handles[1]->bytes[i])
				continue;
			n_differ++;
			handles[1]->bytes[i] = hidden.bytes[i];
			if (memcmp(handles[1]->bytes, hidden.bytes, hidden.len) != 0)
				assert_int_equal(rig_getattr(&rig, nodes[1], &attr), -ESTALE);
		}
		assert_true(n_differ > 4); /* more than a counter */
	}
	assert_int_equal(rig_getattr(&rig, nodes[1], &attr), 0);
	fuse_server_client_gone(rig.client);
	rig.server = fuse_server_free(rig.server);
	rig.helpers = helpers_end(rig.helpers);
	assert_int_equal(umount(rig_path(&rig, "d")), 0);
	rig_start(&rig);
}

/* Users' writes never use root's reserved space. */
static void users_cannot_use_reserved_space(void **state)
{
	char dir[] = "/tmp/back-disk-XXXXXX", cmd[256];
	uint64_t node, fh, off = 0, roots, roots_fh;
	static uint8_t block[65536];
	int n;

	assert_non_null(mkdtemp(dir));
	snprintf(cmd, sizeof(cmd),
		 "truncate -s 16M %s.img && mkfs.ext4 -q -m 20 %s.img && mount -o loop %s.img %s",
		 dir, dir, dir, dir);
	if (system(cmd) != 0) {
		print_message("# no loop device or mkfs.ext4: not tried\n");
		snprintf(cmd, sizeof(cmd), "rm -rf %s %s.img", dir, dir);
		assert_int_equal(system(cmd), 0);
		return;
	}
	rig_teardown(&rig);
	rig_setup(&rig, dir);
	rule(LAUNCH_SQUASH_NONE);
	as(0, 0);
	assert_int_equal(rig_create(&rig, ROOT, "roots", O_RDWR, 0600, &roots, &roots_fh), 0);
	as(1000, 1000);
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0600, &node, &fh), 0);
	do {
		as(0, 0);
		assert_int_equal(rig_write(&rig, roots, roots_fh, 0, O_RDWR, "x", 1), 1);
		as(1000, 1000);
		n = rig_write(&rig, node, fh, off, O_RDWR, block, sizeof(block));
		off += n > 0 ? (uint64_t)n : 0;
	} while (n == (int)sizeof(block));
	assert_true(n == -ENOSPC || n >= 0);
	assert_true(off > 8 << 20 && off < 12 << 20);
	as(0, 0); /* a privileged user keeps the capability */
	assert_int_equal(rig_write(&rig, roots, roots_fh, 0, O_RDWR, block, sizeof(block)),
			 sizeof(block));
	rig_teardown(&rig);
	snprintf(cmd, sizeof(cmd), "umount %s && rm -rf %s %s.img", dir, dir, dir);
	assert_int_equal(system(cmd), 0);
	rig_setup(&rig, NULL);
}

/* An invalid id writes nothing in the former user's name. */
static void invalid_ids_write_nothing(void **state)
{
	uint64_t node, fh;
	char text[8] = "";

	put_dir("shared", 0, 0, 0777);
	node = find("shared");
	as(1000, 1000);
	assert_int_equal(rig_create(&rig, node, "file", O_RDWR, 0666, &node, &fh), 0);
	for (unsigned i = 0; i < 12; i++) {
		bool is_one = i % 3 == 0;

		as(i % 3 == 1 ? UINT32_MAX : 1000 + i, i % 3 == 2 ? UINT32_MAX : 1000);
		assert_int_equal(rig_write(&rig, node, fh, i, O_RDWR, is_one ? "y" : "n", 1),
				 is_one ? 1 : -EINVAL);
	}
	as(1000, 1000);
	assert_int_equal(rig_read(&rig, node, fh, 0, sizeof(text)), sizeof(text));
	assert_memory_equal(rig.data, "y\0\0y\0\0y", sizeof(text) - 1);
	assert_int_equal(rig_release(&rig, node, fh), 0);
}

/* Permanently for this process, which does not need it. */
static void capability_drop(unsigned cap)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	assert_int_equal(syscall(SYS_capget, &head, data), 0);
	data[cap / 32].permitted &= ~(1U << cap % 32);
	data[cap / 32].effective &= ~(1U << cap % 32);
	assert_int_equal(syscall(SYS_capset, &head, data), 0);
}

/* A failure to drop privileges prevents the write; the next request retries. */
static void a_failed_privilege_drop_prevents_writes(void **state)
{
	uint32_t *permitted = &rig.server->permitted[CAP_SYS_PACCT / 32];
	uint64_t node, fh;

	put_dir("shared", 0, 0, 0777);
	node = find("shared");
	as(1000, 1000);
	assert_int_equal(rig_create(&rig, node, "file", O_RDWR, 0666, &node, &fh), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "x", 1), 1);
	capability_drop(CAP_SYS_PACCT);
	*permitted |= 1U << CAP_SYS_PACCT; /* makes it believe that it still has them */
	as(1001, 1000);
	assert_int_equal(rig_write(&rig, node, fh, 1, O_RDWR, "x", 1), -EPERM);
	assert_int_equal(rig_write(&rig, node, fh, 1, O_RDWR, "x", 1), -EPERM);
	assert_int_equal(stat_of("shared/file").st_size, 1);
	*permitted &= ~(1U << CAP_SYS_PACCT);
	assert_int_equal(rig_write(&rig, node, fh, 1, O_RDWR, "x", 1), 1);
	assert_int_equal(rig_release(&rig, node, fh), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(root_squash_maps_root),
		BOTH(clients_cannot_invent_root),
		BOTH(all_squash_maps_every_user),
		BOTH(without_squashing_the_client_checks_permissions),
		BOTH(identities_do_not_leak_between_requests),
		BOTH(owners_can_reclaim_their_files),
		BOTH(users_are_mapped_both_ways),
		BOTH(owners_are_mapped_when_they_change),
		BOTH(a_map_fences_users_in_without_squashing),
		BOTH(security_attributes_are_refused),
		BOTH(clients_without_a_rule_are_refused),
		BOTH(set_id_bits_are_cleared_as_locally),
		BOTH(invalid_ids_write_nothing),
		ON("/dev/shm", a_failed_privilege_drop_prevents_writes), /* on other file systems
									    helpers write */
		ON("/tmp", users_cannot_use_reserved_space),
		ON("/tmp", handles_without_file_handles_cannot_be_guessed),
	};

	return !rig_can() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
