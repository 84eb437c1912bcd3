/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fails the requests of a mount that its server refuses, with the error that NFS gives, because the
 * refusal can last: an operator has to change a configuration. The session retries meanwhile, and
 * the mount works again once the server accepts it. Requests wait, as for an absent server, if the
 * reason for the refusal passes by itself.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"

/* A refusal by one address counts only after the other addresses of the server had time to accept
 * the session: they may belong to workers that serve other exports. */
#define REFUSAL_HOLD_NS NSEC_PER_SEC
/* While a server starts, a worker without the export may answer before the worker that has it. So a
 * mount that was served before waits longer when its export does not exist. */
#define REFUSAL_HOLD_STALE_NS (5 * NSEC_PER_SEC)
/* While a server refuses a mount, it does not hear its session, so it frees the mount's file locks
 * after SERVER_LOCK_LEASE_NS, 30 seconds; the rest is for its checks of the leases. */
#define REFUSAL_LOCKS_NS (35 * NSEC_PER_SEC)

/* Returns the error for programs; 0 if they must wait. */
static int refusal_error(const struct fuse_client *f, int code)
{
	switch (code) {
	case -ENOENT:
		return f->state.head->served ? -ESTALE : -ENOENT;
	case -EACCES:
	case -EPERM:
		return -EACCES;
	case -EROFS:
		return -EROFS;
	default:
		return 0;
	}
}

void client_refusal_note(struct fuse_client *f, int code, uint64_t now_ns)
{
	struct client_refusal *r = &f->refusal;

	/* Following a redirect is part of the same attempt. */
	if (code == -EREMOTE)
		return;
	r->last_ns = now_ns;
	r->error = refusal_error(f, code);
	if (r->error == 0)
		r->since_ns = 0;
	else if (r->since_ns == 0)
		r->since_ns = now_ns;
}

void client_refusal_end(struct fuse_client *f)
{
	f->refusal = (struct client_refusal){0};
}

int client_refusal_get(const struct fuse_client *f, uint64_t now_ns)
{
	const struct client_refusal *r = &f->refusal;
	const uint64_t hold_ns = r->error == -ESTALE ? REFUSAL_HOLD_STALE_NS : REFUSAL_HOLD_NS;

	return r->error && now_ns >= r->since_ns + hold_ns ? r->error : 0;
}

/* Fails the requests of the kernel that wait. A lock request that the server may have granted must
 * wait until the client can free the lock, or the server has freed it. */
static void fail_pending(struct fuse_client *f, int error, uint64_t now_ns)
{
	const bool locks_end = now_ns >= f->refusal.since_ns + REFUSAL_LOCKS_NS;
	struct client_slot *s, *next;

	for (s = f->pending.next; s != &f->pending; s = next) {
		next = s->next;
		if (s->kind != CLIENT_SLOT_KERNEL ||
		    (!locks_end && client_locks_must_end(s->opcode, client_slot_is_resent(s))))
			continue;
		launch_stat_add(&f->stats->request_errors, 1);
		client_locks_fail(f, s, error);
	}
	if (locks_end)
		client_locks_fail_waits(f, error);
}

static uint64_t refusal_expire(struct fuse_client *f, uint64_t now_ns)
{
	int error;

	if (PLENUM_LIKELY(f->refusal.error == 0))
		return UINT64_MAX;
	if (now_ns >= f->refusal.last_ns + FUSE_CLIENT_REFUSAL_LAST_NS) {
		client_refusal_end(f);
		return UINT64_MAX;
	}
	error = client_refusal_get(f, now_ns);
	if (error)
		fail_pending(f, error, now_ns);
	return now_ns + REFUSAL_HOLD_NS / 4;
}

static bool refusal_is_on(const struct fuse_client *f)
{
	return !f->area; /* a mount worker returns waiting requests to the owner of the mount */
}

const struct client_stage client_refusal_stage = {
	.is_on = refusal_is_on,
	.expire = refusal_expire,
};
