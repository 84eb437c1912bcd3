/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that the client makes by itself, without a request of the kernel: to begin a session, to
 * reopen files that the server has forgotten, and to report closed files and interrupted requests.
 * They lead to no reply to the kernel.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"

#include <fcntl.h>
#include <string.h>

#define INTERNAL_RETRY_NS NSEC_PER_SEC
/* The client waits this long after a file was closed, so that one request can report several closed
 * files. */
#define INTERNAL_RELEASE_NS (20 * NSEC_PER_MSEC)
/* open(2) flags that must not be repeated when a file is reopened */
#define INTERNAL_REOPEN_NOT (O_CREAT | O_EXCL | O_TRUNC | O_NOCTTY)

static void header_set(struct client_slot *s, uint64_t nodeid, uint32_t uid, uint32_t gid)
{
	struct fuse_in_header in;

	memcpy(&in, s->req, sizeof(in));
	in.nodeid = nodeid;
	in.uid = uid;
	in.gid = gid;
	memcpy(s->req, &in, sizeof(in));
}

static void node_set(struct client_slot *s, struct client_node *node)
{
	client_node_pin(node);
	s->nodes[0] = node;
	s->refs.n_nodes = 1;
}

/* Sends the slot's request. Returns false if that is not possible now. */
static bool internal_send(struct fuse_client *f, struct client_slot *s)
{
	const void *msg;
	size_t len;

	if (client_request_seal(f, s, &msg, &len) == 0 &&
	    rudp_call_send(f->session, msg, len, client_slot_cookie(f, s)) == 0) {
		s->state = CLIENT_SLOT_SENT;
		f->n_sent++;
		client_note_sent(f, s->opcode);
		return true;
	}
	client_slot_free(f, s);
	return false;
}

bool client_internal_ask(struct fuse_client *f, enum client_slot_kind kind, uint32_t opcode,
			 struct client_node *node, const void *arg, size_t arg_len)
{
	struct client_slot *s = client_slot_internal(f, kind, opcode, arg, arg_len);

	if (!s)
		return false;
	header_set(s, client_node_id(&f->nodes, node), 0, 0);
	node_set(s, node);
	return internal_send(f, s);
}

bool client_internal_write(struct fuse_client *f, unsigned i, struct client_node *node,
			   uint32_t uid, uint32_t gid, const struct fuse_write_in *in, uint8_t *msg)
{
	struct client_slot *s =
		client_slot_internal(f, CLIENT_SLOT_WRITE_BACK, FUSE_WRITE, in, sizeof(*in));

	if (!s)
		return false;
	s->file = i;
	s->bulk_failed = true; /* the memory is not registered with RDMA devices */
	header_set(s, client_node_id(&f->nodes, node), uid, gid);
	node_set(s, node);
	if (msg) {
		s->req_len += in->size;
		memcpy(s->req + offsetof(struct fuse_in_header, len), &s->req_len,
		       sizeof(s->req_len));
		memcpy(msg, s->req, FUSE_PROTO_WRITE_DATA);
		s->req = msg;
	}
	return internal_send(f, s);
}

/* ------------------------------------------------------------------ the session */

static void hello_send(struct fuse_client *f, uint64_t now_ns)
{
	if (!f->state.head->negotiated || now_ns < f->retry_ns || !rudp_session_is_up(f->session))
		return;
	client_init_compose(f, &f->hello);
	if (rudp_call_send(f->session, &f->hello, sizeof(f->hello), CLIENT_COOKIE_HELLO) == 0)
		f->link = CLIENT_HELLO;
}

void client_internal_hello_answer(struct fuse_client *f, int status, void *msg, size_t len,
				  uint64_t now_ns)
{
	if (f->link != CLIENT_HELLO)
		return;
	if (status == 0 && client_init_served(f, msg, len) == 0) {
		f->link = CLIENT_REOPEN;
		f->reopen_next = 0;
		f->reopen_again = false;
		f->retry_ns = 0;
		return;
	}
	f->link = CLIENT_AWAY;
	/* If the session was lost, the client sends INIT again as soon as it has another session.
	 * If the server refused INIT, wait before the next try. */
	f->retry_ns = status == -ECONNRESET ? 0 : now_ns + INTERNAL_RETRY_NS;
}

/* ------------------------------------------------------------------ files */

bool client_internal_reopen(struct fuse_client *f, uint32_t i)
{
	struct client_file *file = client_file_at(&f->files, i);
	struct client_node *node = client_node_get(&f->nodes, file->nodeid);
	const struct fuse_open_in in = {.flags = file->open_flags & ~(uint32_t)INTERNAL_REOPEN_NOT};
	struct client_slot *s;

	s = client_slot_internal(f, CLIENT_SLOT_REOPEN,
				 file->flags & CLIENT_FILE_DIR ? FUSE_OPENDIR : FUSE_OPEN, &in,
				 sizeof(in));
	if (!s)
		return false;
	s->file = i;
	header_set(s, file->nodeid, file->uid, file->gid);
	node_set(s, node); /* the node exists: the open file pins it */
	f->n_reopening += internal_send(f, s);
	return s->state == CLIENT_SLOT_SENT;
}

bool client_internal_is_reopening(const struct fuse_client *f, uint32_t file)
{
	for (unsigned i = CLIENT_SLOTS - CLIENT_SLOTS_INTERNAL; i < CLIENT_SLOTS; i++)
		if (f->slots[i].state == CLIENT_SLOT_SENT &&
		    f->slots[i].kind == CLIENT_SLOT_REOPEN && f->slots[i].file == file)
			return true;
	return false;
}

/* Reopens all files before any other request is sent, so that the server knows all open files when
 * it gets a request to remove one of them. */
static void reopen_all(struct fuse_client *f, uint64_t now_ns)
{
	uint32_t i;

	if (now_ns < f->retry_ns)
		return;
	while (!f->unmounted &&
	       (i = client_file_next_stale(&f->files, f->reopen_next, f->server.incarnation)) !=
		       CLIENT_FILE_NONE) {
		if (!client_internal_reopen(f, i))
			return;
		f->reopen_next = i + 1;
	}
	f->reopen_next = UINT32_MAX;
	if (f->n_reopening > 0)
		return;
	if (f->reopen_again) {
		f->reopen_again = false;
		f->reopen_next = 0;
		f->retry_ns = now_ns + INTERNAL_RETRY_NS;
		return;
	}
	for (const struct client_stage *const *st = f->on.begin; *st; st++)
		if (!(*st)->begin(f))
			return;
	f->link = CLIENT_READY;
	f->flush_wanted = true;
	client_dispatch_report_served(f);
}

bool client_internal_is_transient(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EAGAIN ||
	       error == -EINTR || error == -EBUSY;
}

/* Returns the result of reading a local directory that could not be reopened. If the directory was
 * removed in the meantime, readers see an empty directory. If the server has lost the directory, or
 * cannot read it, programs get an error. */
static int reopen_error(const struct fuse_client *f, const struct client_file *file, int error)
{
	return error == -ESTALE && file->server_fh == f->server.verifier ? 0 : error;
}

static void reopen_answer(struct fuse_client *f, const struct client_slot *s, void *msg, size_t len,
			  uint64_t now_ns)
{
	struct client_file *file = client_file_at(&f->files, s->file);
	struct fuse_open_out out;
	struct client_answer a;

	if (client_answer_read(msg, len, &a) < 0 ||
	    (a.out.error == 0 && a.body_len != sizeof(out))) {
		f->bad_responses++;
		client_file_kill(file, -EIO);
	} else if (a.out.error == 0) {
		memcpy(&out, a.body, sizeof(out));
		client_file_reopened(file, out.fh, f->server.incarnation);
	} else if (client_internal_is_transient(a.out.error) &&
		   (f->link == CLIENT_REOPEN || file->opened_by != 0)) {
		if (a.out.error == -ENFILE)
			client_kept_files_stop(f, now_ns);
		f->reopen_again = true;
		if (f->link == CLIENT_READY)
			f->retry_ns = now_ns + INTERNAL_RETRY_NS;
	} else {
		client_file_kill(file, reopen_error(f, file, a.out.error));
	}
}

void client_internal_reopened(struct fuse_client *f, const struct client_slot *s, void *msg,
			      size_t len, uint64_t now_ns)
{
	f->n_reopening--;
	if (msg)
		reopen_answer(f, s, msg, len, now_ns);
	f->flush_wanted = true;
}

/* Returns the next closed file to report. Files that only a previous incarnation of the server had
 * open, and files that the server never opened, need no report. A file that the server is opening
 * now is reported later. */
static struct client_file *release_next(struct fuse_client *f)
{
	struct client_file *file;

	while ((file = client_file_closing_take(&f->files)) &&
	       file->incarnation != f->server.incarnation) {
		if (client_internal_is_reopening(f, client_file_index(&f->files, file))) {
			client_file_close(&f->files, file);
			return NULL;
		}
		client_file_drop(&f->files, file);
	}
	return file;
}

void client_internal_released(struct fuse_client *f, uint32_t first, bool closed)
{
	for (uint32_t i = first, next; i != CLIENT_FILE_NONE; i = next) {
		struct client_file *file = client_file_at(&f->files, i);

		next = file->next;
		if (closed)
			client_file_drop(&f->files, file);
		else
			client_file_close(&f->files, file);
	}
}

/* Reports this closed file to the server, and with it as many others as the request can name.
 * Returns false if that is not possible now. */
static bool release_some(struct fuse_client *f, struct client_file *file)
{
	struct {
		struct fuse_release_in in;
		uint64_t more[FUSE_PROTO_RELEASES_MAX - 1];
	} arg = {.in = {.fh = file->server_fh, .flags = file->open_flags}};
	unsigned most = f->features & FUSE_PROTO_FEATURE_RELEASES ? ARRAY_SIZE(arg.more) : 0, n = 0;
	uint32_t first = client_file_index(&f->files, file);
	struct client_node *node = client_node_get(&f->nodes, file->nodeid);
	bool dir = file->flags & CLIENT_FILE_DIR;
	struct client_file *last = file;
	struct client_slot *s;

	for (; n < most && (file = release_next(f)); last = file, n++) {
		last->next = client_file_index(&f->files, file);
		arg.more[n] = file->server_fh;
	}
	last->next = CLIENT_FILE_NONE;
	s = client_slot_internal(f, CLIENT_SLOT_RELEASE, dir ? FUSE_RELEASEDIR : FUSE_RELEASE, &arg,
				 sizeof(arg.in) + n * sizeof(arg.more[0]));
	s->file = first;
	header_set(s, client_node_id(&f->nodes, node), 0, 0);
	node_set(s, node);
	if (internal_send(f, s))
		return true;
	client_internal_released(f, first, false);
	return false;
}

void client_internal_release(struct fuse_client *f)
{
	struct client_file *file;

	if (client_write_back_delays_release(f))
		return;
	while (f->link == CLIENT_READY && f->free_internal && (file = release_next(f)))
		if (!release_some(f, file))
			return;
}

static uint64_t release_due(const struct fuse_client *f)
{
	bool waits = f->features & FUSE_PROTO_FEATURE_RELEASES &&
		     f->files.n_closing < FUSE_PROTO_RELEASES_MAX;

	return waits ? f->closing_ns + INTERNAL_RELEASE_NS : 0;
}

static uint64_t closed_files_due(struct fuse_client *f, uint64_t now_ns)
{
	return f->files.n_closing > 0 ? client_due_after(release_due(f), now_ns) : UINT64_MAX;
}

static void closed_files_flush(struct fuse_client *f, uint64_t now_ns)
{
	if (f->files.n_closing > 0 && now_ns >= release_due(f))
		client_internal_release(f);
}

const struct client_stage client_closed_files_stage = {
	.flush = closed_files_flush,
	.due = closed_files_due,
};

void client_internal_interrupt(struct fuse_client *f, const struct client_slot *of)
{
	const struct fuse_interrupt_in in = {.unique = of->unique & ~FUSE_PROTO_UNIQUE_RESEND};
	struct client_slot *s =
		client_slot_internal(f, CLIENT_SLOT_INTERRUPT, FUSE_INTERRUPT, &in, sizeof(in));

	if (s)
		(void)internal_send(f, s);
}

void client_internal_begin(struct fuse_client *f, uint64_t now_ns)
{
	if (f->link == CLIENT_AWAY)
		hello_send(f, now_ns);
	if (f->link == CLIENT_REOPEN)
		reopen_all(f, now_ns);
}
