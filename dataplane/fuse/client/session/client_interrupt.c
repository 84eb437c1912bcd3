/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles the kernel's INTERRUPT requests and the timeouts of soft mounts, and checks regularly for
 * processes that were killed. */
#include "dataplane/fuse/client/changes/client_changes.h"
#include "dataplane/fuse/client/session/client_session.h"

#include <string.h>

void client_interrupt_request(struct fuse_client *f, const void *req, size_t len, uint64_t now_ns)
{
	struct fuse_interrupt_in in;
	struct client_slot *s;

	if (len < sizeof(struct fuse_in_header) + sizeof(in))
		return;
	memcpy(&in, (const uint8_t *)req + sizeof(struct fuse_in_header), sizeof(in));
	s = client_slot_find(f, in.unique);
	if (s)
		client_killed_signalled(f, s, now_ns);
	else if (!client_locks_interrupt(f, in.unique))
		client_forward_interrupt(f, in.unique, now_ns);
}

/* Checks the requests of all processes that got a signal. full: also checks all requests that have
 * been in progress for long. FUSE may send no INTERRUPT for these, or the client may have no free
 * slot to read it. */
static void look_all(struct fuse_client *f, bool full, uint64_t now_ns)
{
	struct client_slot *s, *newer;

	for (s = f->oldest.newer; s != &f->oldest; s = newer) {
		newer = s->newer;
		if (s->interrupted || (full && now_ns - s->arrived_ns >= CLIENT_KILLED_NS))
			client_killed_look(f, s, now_ns);
	}
}

static void soft_expire(struct fuse_client *f, struct client_slot *s)
{
	f->timeouts++;
	launch_stat_add(&f->stats->request_errors, 1);
	if (s->state == CLIENT_SLOT_PENDING) {
		client_slot_fail(f, s, -EIO);
		return;
	}
	client_killed_abandon(f, s, -EIO);
}

/* Returns when the request of a soft mount times out. A request that a limit of the mount holds
 * back waits for its turn, not for the server. A mount worker may hold a request too, and ends it
 * by the same timeout. */
static uint64_t soft_due(const struct fuse_client *f, const struct client_slot *s, uint64_t now_ns)
{
	uint64_t from_ns = s->arrived_ns;
	/* Requests of a mount worker that wait for an absent server go back to the owner, so they
	 * have no common timeout here. */
	const bool away = f->link != CLIENT_READY && !f->area && s->state == CLIENT_SLOT_PENDING;
	const uint64_t gone_ns = away ? f->away_since_ns + f->soft_ns : UINT64_MAX;

	if (client_limits_hold(s))
		return gone_ns;
	if (f->limits.is_on && s->state == CLIENT_SLOT_DISPATCHED)
		from_ns = MAX_OF(from_ns, client_dispatch_served_ns(f, s, now_ns));
	return from_ns == UINT64_MAX ? gone_ns : MIN_OF(from_ns + f->soft_ns, gone_ns);
}

/* Fails requests of a soft mount that have timed out. While the server is known to be away, all
 * queued requests share one timeout, which began when it went away. */
static uint64_t soft_tick(struct fuse_client *f, uint64_t now_ns)
{
	struct client_slot *s, *newer;
	uint64_t due = UINT64_MAX;

	for (s = f->oldest.newer; s != &f->oldest; s = newer) {
		const uint64_t at = soft_due(f, s, now_ns);

		newer = s->newer;
		if (now_ns >= at)
			soft_expire(f, s);
		else
			due = MIN_OF(due, at);
		/* Without limits the requests are in the order of their timeouts. */
		if (now_ns < at && !f->limits.is_on)
			break;
	}
	return due;
}

static uint64_t interrupt_expire(struct fuse_client *f, uint64_t now_ns)
{
	uint64_t due = f->soft_ns > 0 ? soft_tick(f, now_ns) : UINT64_MAX;
	bool full = !client_has_room(f);

	if (f->n_interrupted > 0 || full) {
		if (now_ns >= f->look_ns) {
			look_all(f, full, now_ns);
			f->look_ns = now_ns + CLIENT_LOOK_NS;
		}
		due = MIN_OF(due, f->look_ns);
	}
	if (f->oldest.newer != &f->oldest) {
		uint64_t long_ns = MAX_OF(f->oldest.newer->arrived_ns + CLIENT_LONG_NS, f->long_ns);

		if (now_ns >= long_ns) {
			look_all(f, true, now_ns);
			long_ns = f->long_ns = now_ns + CLIENT_LONG_NS;
		}
		due = MIN_OF(due, long_ns);
	}
	return due;
}

static bool interrupt_take(struct fuse_client *f, const struct fuse_in_header *in, size_t n,
			   uint64_t now_ns)
{
	(void)in;
	client_interrupt_request(f, f->request, n, now_ns);
	return true;
}

const struct client_stage client_interrupt_stage = {
	.opcodes = CLIENT_STAGE_OPCODE(FUSE_INTERRUPT),
	.take = interrupt_take,
	.expire = interrupt_expire,
};
