/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements client_prefetch_rig.h. */
#include "tests/lib/fuse/client_prefetch_rig.h"

void listing_add(struct listing *l, const char *name, const char *handle, uint32_t mode,
		 uint32_t generation)
{
	struct fuse_entry_out e = entry_make(mode);
	struct fuse_dirent d = {.ino = 7, .namelen = (uint32_t)strlen(name)};
	uint8_t *at = l->body + l->len;

	e.generation = generation;
	e.nodeid = handle ? 1 : 0;
	l->len += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + d.namelen);
	d.off = l->len; /* the offset at which the next entry begins */
	memset(at, 0, l->body + l->len - at);
	memcpy(at, &e, sizeof(e));
	memcpy(at + sizeof(e), &d, FUSE_NAME_OFFSET);
	memcpy(at + FUSE_NAME_OFFSET_DIRENTPLUS, name, d.namelen);
	if (handle)
		tail_add_handle(&l->tail, handle);
}

struct listing listing_of_three(void)
{
	struct listing l = {.len = sizeof(struct fuse_open_out),
			    .tail = tail_make(FUSE_PROTO_RESP_END, 3)};

	memcpy(l.body, &(struct fuse_open_out){.fh = 9}, sizeof(struct fuse_open_out));
	listing_add(&l, ".", NULL, S_IFDIR | 0755, 0);
	listing_add(&l, "folder", "handle-d", S_IFDIR | 0755, 0);
	listing_add(&l, "lent", "handle-l", S_IFREG | 0644, FUSE_PROTO_LEASED);
	listing_add(&l, "other", "handle-o", S_IFREG | 0644, 0);
	return l;
}

bool entries_are_requested(void)
{
	struct fuse_open_in in;

	assert_int_equal(call_header(n_calls - 1).opcode, FUSE_OPENDIR);
	memcpy(&in, calls[n_calls - 1].msg + sizeof(struct fuse_in_header), sizeof(in));
	assert_true(in.open_flags == 0 || in.open_flags == FUSE_PROTO_LIST_MAX);
	return in.open_flags > 0;
}

void open_begin(struct rig *g)
{
	struct fuse_open_in in = {.flags = O_DIRECTORY};

	kernel_send(g, FUSE_OPENDIR, g->unique += 2, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
}

uint64_t open_end(struct rig *g)
{
	struct fuse_open_out o = {};
	struct fuse_out_header out;

	/* The kernel would reject a longer answer. */
	assert_int_equal(kernel_receive(g, &out, &o, sizeof(o)), sizeof(out) + sizeof(o));
	assert_int_equal(out.error, 0);
	assert_int_equal(out.len, sizeof(out) + sizeof(o));
	return o.fh;
}

void close_root(struct rig *g, uint64_t fh)
{
	struct fuse_release_in in = {.fh = fh};

	kernel_send(g, FUSE_RELEASEDIR, g->unique += 2, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	expect_reply(g, g->unique, 0);
}

bool read_dir_at(struct rig *g, uint32_t opcode, uint64_t fh, uint64_t off, uint32_t size,
		 struct seen *ret)
{
	const size_t head = opcode == FUSE_READDIRPLUS ? sizeof(struct fuse_entry_out) : 0;
	struct fuse_read_in in = {.fh = fh, .offset = off, .size = size};
	unsigned n = n_calls;
	struct fuse_out_header out;
	uint8_t body[2048];
	struct seen s = {};
	size_t len;

	kernel_send(g, opcode, g->unique += 2, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	if (n_calls > n) {
		respond(g, n, 0, NULL, 0);
		expect_reply(g, g->unique, 0);
		return true;
	}
	len = kernel_receive(g, &out, body, sizeof(body)) - sizeof(out);
	assert_int_equal(out.error, 0);
	assert_true(len <= size);
	for (size_t at = 0; at < len; s.n++) {
		struct fuse_dirent d;

		if (head)
			memcpy(&s.entries[s.n].e, body + at, head);
		memcpy(&d, body + at + head, FUSE_NAME_OFFSET);
		memcpy(s.entries[s.n].name, body + at + head + FUSE_NAME_OFFSET, d.namelen);
		s.end = d.off;
		at += FUSE_DIRENT_ALIGN(head + FUSE_NAME_OFFSET + d.namelen);
	}
	*ret = s;
	return false;
}

bool server_is_asked(struct rig *g, uint64_t fh, uint64_t off)
{
	struct seen s;

	return read_dir_at(g, FUSE_READDIRPLUS, fh, off, 4096, &s);
}

/* ---- directories that are opened locally ---- */

void respond_names_leased(struct rig *g)
{
	struct tail tail = tail_make(FUSE_PROTO_RESP_END | FUSE_PROTO_RESP_NAMES, 3);
	const size_t head = sizeof(struct fuse_proto_resp_tail);
	struct listing l = listing_of_three();

	tail_add(&tail, l.tail.bytes + head, l.tail.len - head);
	respond_tail(g, n_calls - 1, 0, l.body, l.len, &tail);
}

void respond_releases(struct rig *g)
{
	for (unsigned i = n_calls; i-- > 0;)
		if (call_header(i).opcode == FUSE_RELEASEDIR)
			respond(g, i, 0, NULL, 0);
}

/* Opens the directory. Returns whether the client sent a request to the server; the server's answer
 * leases the names. */
static bool is_opened_at_server(struct rig *g, uint64_t *ret_fh)
{
	unsigned n;
	bool asked;

	respond_releases(g);
	n = n_calls;
	open_begin(g);
	respond_releases(g);
	asked = n_calls > n;
	if (asked)
		respond_names_leased(g);
	*ret_fh = open_end(g);
	return asked;
}

uint64_t open_dir_at_server(struct rig *g)
{
	uint64_t fh;

	assert_true(is_opened_at_server(g, &fh));
	return fh;
}

uint64_t open_dir_locally(struct rig *g)
{
	uint64_t fh;

	assert_false(is_opened_at_server(g, &fh));
	return fh;
}

void read_dir(struct rig *g, uint64_t fh, struct seen *ret)
{
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 4096, ret));
	assert_int_equal(ret->n, 4);
	assert_string_equal(ret->entries[2].name, "lent");
}

void list_once(struct rig *g)
{
	uint64_t fh = open_dir_at_server(g);
	struct seen s;

	read_dir(g, fh, &s);
	close_root(g, fh);
}

bool is_cached(struct rig *g)
{
	struct seen s;
	uint64_t fh;
	bool asked = is_opened_at_server(g, &fh);

	if (asked) /* the client has requested the directory's entries with the open */
		assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	close_root(g, fh);
	return !asked;
}

void expect_answer_to(struct rig *g, uint64_t unique, int error)
{
	respond(g, n_calls - 1, error, NULL, 0);
	expect_reply(g, unique, error);
}

void expect_answer(struct rig *g, int error)
{
	expect_answer_to(g, g->unique, error);
}

int names_leased_setup(void **state)
{
	int r = rig_setup(state);
	struct rig *g = *state;

	if (r == 0)
		g->features = FUSE_PROTO_FEATURE_LIST | FUSE_PROTO_FEATURE_RELEASES |
			      FUSE_PROTO_FEATURE_NAMES;
	return r;
}
