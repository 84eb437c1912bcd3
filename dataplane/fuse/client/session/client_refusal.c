/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fails the requests of a mount whose server refuses it, with the error that NFS gives. Such a
 * refusal can last long, because an operator has to change a configuration. The client retries the
 * session meanwhile, and the mount works again when the server accepts the session. If the reason
 * for a refusal soon ends by itself, requests wait, as they do for an absent server.
 */
#include "dataplane/fuse/client/changes/client_changes.h"
#include "dataplane/fuse/client/session/client_session.h"

/* The client waits this long after a refusal, because another address of the server may accept the
 * session: different addresses may belong to workers that serve different exports. */
#define REFUSAL_HOLD_NS NSEC_PER_SEC
/* While a server starts, a worker without the export may answer before the worker that has it. So a
 * mount that was served before waits longer when its export does not exist. */
#define REFUSAL_HOLD_STALE_NS (5 * NSEC_PER_SEC)
/* After this time the server has freed the file locks of a mount that it refuses. The server hears
 * nothing from this mount, so the mount's lock lease expires after 30 seconds
 * (SERVER_LOCK_LEASE_NS). The remaining seconds cover the delay until the server notices that. */
#define REFUSAL_LOCKS_NS (35 * NSEC_PER_SEC)

/* Returns the error that programs get; 0 if their requests must wait. */
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

	/* A redirect is not a refusal: the client connects to the worker that the server names. */
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

/* Fails the kernel's requests that are pending. A lock request that the server may have granted
 * waits until the client can free the lock, or until the server has freed it. */
static void fail_pending(struct fuse_client *f, int error, uint64_t now_ns)
{
	const bool locks_end = now_ns >= f->refusal.since_ns + REFUSAL_LOCKS_NS;
	struct client_slot *s, *next;

	for (s = f->pending.next; s != &f->pending; s = next) {
		next = s->next;
		if (s->kind != CLIENT_SLOT_KERNEL ||
		    (!locks_end && client_locks_wanted(f) &&
		     client_locks_must_end(s->opcode, client_slot_is_resent(s))))
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
