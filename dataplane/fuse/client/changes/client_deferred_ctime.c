/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deferred ctime updates: unpackers and copy tools send SETATTRs of an owner, group or mode that
 * the file already has. If the server has leased the file to the client and leaves permission
 * checks to the client's kernel, the client knows that such a request changes only the ctime. As
 * POSIX allows, it only marks the ctime for update. The next change of the file at the server
 * updates the ctime. If no change follows, the client sends an update after a few milliseconds, or
 * earlier if another request would show the file's attributes. Until then the mark is kept in the
 * mount's state.
 */
#include "dataplane/fuse/client/changes/client_changes.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define DEFERRED_NS (5 * NSEC_PER_MSEC)

static struct client_deferred_ctime *deferred_find(struct fuse_client *f,
						   const struct client_node *n)
{
	for (unsigned i = 0; i < f->n_deferred; i++)
		if (f->deferred[i].node == n)
			return &f->deferred[i];
	return NULL;
}

static void deferred_add(struct fuse_client *f, struct client_node *n, uint64_t due_ns)
{
	n->flags |= CLIENT_NODE_CTIME_DEFERRED;
	client_node_pin(n);
	f->deferred[f->n_deferred++] = (struct client_deferred_ctime){.node = n, .due_ns = due_ns};
}

static void deferred_drop(struct fuse_client *f, struct client_deferred_ctime *o)
{
	struct client_node *n = o->node;

	n->flags &= (uint8_t)~CLIENT_NODE_CTIME_DEFERRED;
	*o = f->deferred[--f->n_deferred];
	client_node_unpin(&f->nodes, n);
}

/* Adopts the deferred ctime updates that a predecessor has marked. */
static int deferred_init(struct fuse_client *f)
{
	for (uint32_t i = FUSE_ROOT_ID; i < f->state.head->n_nodes;
	     i = client_nodes_next(&f->nodes, i + 1)) {
		struct client_node *n = &f->state.nodes[i];

		if (n->flags & CLIENT_NODE_USED && n->flags & CLIENT_NODE_CTIME_DEFERRED &&
		    f->n_deferred < CLIENT_DEFERRED_CTIME_MAX)
			deferred_add(f, n, 0);
	}
	return 0;
}

/* ------------------------------------------------------------------ answers from the cache */

/* Returns whether a request in flight may change the file. */
static bool is_busy(const struct fuse_client *f, const struct client_node *n)
{
	for (unsigned i = 0; i < CLIENT_SLOTS; i++) {
		const struct client_slot *s = &f->slots[i];

		if (s->state != CLIENT_SLOT_FREE && s->kind != CLIENT_SLOT_RELEASE &&
		    (s->nodes[0] == n || s->nodes[1] == n))
			return true;
	}
	return client_dispatch_has_pending(f, n);
}

/* Returns whether the request would leave everything but the ctime unchanged. */
static bool changes_nothing(const struct fuse_setattr_in *in, const struct fuse_attr *attr)
{
	const uint32_t what = FATTR_UID | FATTR_GID | FATTR_MODE;

	return in->valid & what && !(in->valid & ~(what | FATTR_FH | FATTR_KILL_SUIDGID)) &&
	       S_ISREG(attr->mode) && !(attr->mode & (S_ISUID | S_ISGID)) &&
	       (!(in->valid & FATTR_UID) || in->uid == attr->uid) &&
	       (!(in->valid & FATTR_GID) || in->gid == attr->gid) &&
	       (!(in->valid & FATTR_MODE) || (in->mode & 07777) == (attr->mode & 07777));
}

/* Answers a SETATTR that is known to leave everything but the ctime unchanged. */
static bool deferred_take(struct fuse_client *f, const struct fuse_in_header *in, size_t len,
			  uint64_t now_ns)
{
	struct {
		struct fuse_out_header out;
		/* Set the validity of the attributes to 0, because the ctime will still change. */
		struct fuse_attr_out attr;
	} reply = {.out = {.len = sizeof(reply)}};
	const struct fuse_attr *attr;
	struct fuse_setattr_in set;
	struct client_node *n;
	struct client_deferred_ctime *o;

	if (f->link != CLIENT_READY || !(f->features & FUSE_PROTO_FEATURE_TOUCH) ||
	    len < sizeof(*in) + sizeof(set))
		return false;
	memcpy(&set, f->request + sizeof(*in), sizeof(set));
	n = client_node_get(&f->nodes, in->nodeid);
	attr = n ? client_cache_created(&f->cache, n, now_ns) : NULL;
	if (!attr || !changes_nothing(&set, attr) || client_write_back_has(f, n) ||
	    !client_cache_no_xattrs(&f->cache, n, now_ns) ||
	    in->unique & FUSE_PROTO_UNIQUE_RESEND || is_busy(f, n))
		return false;
	o = deferred_find(f, n);
	if (!o && f->n_deferred == CLIENT_DEFERRED_CTIME_MAX)
		return false;
	if (!o)
		deferred_add(f, n, now_ns + DEFERRED_NS);
	reply.out.unique = in->unique;
	reply.attr.attr = *attr;
	(void)client_reply(f, &reply, sizeof(reply));
	return true;
}

/* ------------------------------------------------------------------ updates at the server */

/* Returns whether the answer may contain attributes of files that the request does not name. */
static bool may_show_any_file(const struct client_slot *s)
{
	struct fuse_create_in in;

	if (s->opcode != FUSE_CREATE)
		return s->opcode == FUSE_LOOKUP || s->opcode == FUSE_READDIRPLUS ||
		       s->opcode == FUSE_OPENDIR;
	memcpy(&in, s->req + sizeof(struct fuse_in_header), sizeof(in));
	return !(in.flags & O_EXCL);
}

/* Makes a request that would show or change a file with a deferred ctime wait until the server has
 * updated the ctime. A READ does not wait. A WRITE or SETATTR updates the ctime itself, so it waits
 * only while an update is in flight. */
static int deferred_holds(struct fuse_client *f, struct client_slot *s)
{
	bool any = may_show_any_file(s), holds = false;
	bool applies = s->opcode == FUSE_SETATTR || s->opcode == FUSE_WRITE;

	if (f->n_deferred == 0)
		return 0;
	for (unsigned i = 0; i < f->n_deferred; i++) {
		struct client_deferred_ctime *o = &f->deferred[i];
		bool of_it = s->nodes[0] == o->node || s->nodes[1] == o->node;

		if (!any && (!of_it || s->opcode == FUSE_READ || (applies && !o->sent)))
			continue;
		o->due_ns = 0;
		holds = true;
	}
	if (holds)
		client_deferred_ctime_flush(f, 0);
	return holds ? -ENOMEM : 0;
}

/* A file is marked only while no request for it is in flight. So the request that has changed the
 * file now was sent after the SETATTR, and has updated the ctime as well. */
void client_deferred_ctime_applied(struct fuse_client *f, const struct client_slot *s)
{
	struct client_deferred_ctime *o = f->n_deferred > 0 ? deferred_find(f, s->nodes[0]) : NULL;
	struct fuse_setattr_in set;
	struct fuse_write_in write;

	if (!o || o->sent)
		return;
	if (s->opcode == FUSE_SETATTR) {
		memcpy(&set, s->req + sizeof(struct fuse_in_header), sizeof(set));
		if (set.valid & (FATTR_UID | FATTR_GID | FATTR_MODE | FATTR_ATIME | FATTR_MTIME |
				 FATTR_ATIME_NOW | FATTR_MTIME_NOW))
			deferred_drop(f, o);
	} else if (s->opcode == FUSE_WRITE) {
		memcpy(&write, s->req + sizeof(struct fuse_in_header), sizeof(write));
		if (write.size > 0)
			deferred_drop(f, o);
	}
}

void client_deferred_ctime_flush(struct fuse_client *f, uint64_t until_ns)
{
	const struct fuse_setattr_in in = {.valid = FATTR_CTIME};

	if (f->link != CLIENT_READY)
		return;
	if (!(f->features & FUSE_PROTO_FEATURE_TOUCH)) { /* this server does not support updates of
							    the ctime alone */
		while (f->n_deferred > 0)
			deferred_drop(f, &f->deferred[0]);
		return;
	}
	for (unsigned i = 0; i < f->n_deferred; i++) {
		struct client_deferred_ctime *o = &f->deferred[i];

		if (!o->sent && o->due_ns <= until_ns)
			o->sent = client_internal_ask(f, CLIENT_SLOT_TOUCH, FUSE_SETATTR, o->node,
						      &in, sizeof(in));
	}
}

void client_deferred_ctime_answered(struct fuse_client *f, const struct client_slot *s, void *msg,
				    size_t len)
{
	struct client_deferred_ctime *o = deferred_find(f, s->nodes[0]);
	struct client_answer a;

	if (!o)
		return;
	o->sent = false;
	o->due_ns = 0;
	/* After a transient error the client sends the update again. */
	if (!msg || (client_answer_read(msg, len, &a) == 0 &&
		     (a.out.error == -EINTR || a.out.error == -ENOMEM)))
		return;
	client_node_changed(s->nodes[0]);
	client_cache_written_drop(&f->cache, s->nodes[0]);
	client_shown_note(f, client_node_id(&f->nodes, s->nodes[0]));
	deferred_drop(f, o);
}

static uint64_t deferred_due(struct fuse_client *f, uint64_t now_ns)
{
	uint64_t due = UINT64_MAX;

	for (unsigned i = 0; i < f->n_deferred; i++)
		if (!f->deferred[i].sent)
			due = MIN_OF(due, f->deferred[i].due_ns);
	return client_due_after(due, now_ns);
}

static void deferred_flush(struct fuse_client *f, uint64_t now_ns)
{
	if (f->n_deferred > 0)
		client_deferred_ctime_flush(f, now_ns);
}

/* Only the owner of the mount uses this stage: mount workers get no SETATTRs. */
static bool deferred_is_on(const struct fuse_client *f)
{
	return !f->area;
}

const struct client_stage client_deferred_ctime_stage = {
	.is_on = deferred_is_on,
	.init = deferred_init,
	.opcodes = CLIENT_STAGE_OPCODE(FUSE_SETATTR),
	.take = deferred_take,
	.holds = deferred_holds,
	.flush = deferred_flush,
	.due = deferred_due,
};
